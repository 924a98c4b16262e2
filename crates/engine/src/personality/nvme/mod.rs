//! NVMe commands straight to the namespace, by io_uring's command operation on its generic device (Linux 5.19): past the
//! file cache and the block layer's scheduler and merging, many at a time. Needs a whole namespace without metadata,
//! requests of whole blocks and no larger than a command may be: none is split, so that a request is a command.

mod command;
mod namespace;
mod outcome;

use super::device::{DeviceError, WriteDone, not_writable};
use super::{Completion, Personality, Setup, Transfer};
use crate::worker::buffers::Buffers;
use command::{Command, Data};
use halfpower_model::stream::Direction;
use io_uring::{IoUring, Probe, cqueue, opcode, squeue, types};
use namespace::Generic;
use outcome::Status;
use std::io;
use std::os::fd::AsRawFd;

/// A ring whose entries have room for a command and its answer.
type Ring = IoUring<squeue::Entry128, cqueue::Entry32>;

/// `_IOWR('N', 0x80, struct nvme_uring_cmd)`: a command to the namespace.
const NVME_URING_CMD_IO: u32 = 0xc048_4e80;

pub(crate) struct Nvme {
    // Dropped first, so that the kernel has let go of the buffers when they are unmapped.
    ring: Ring,
    buffers: Buffers,
    generic: Generic,
    registered_buffers: bool,
    write_done: WriteDone,
    /// Transfers that were never sent.
    refused: Vec<Completion>,
    cause: Option<String>,
    obtained: Vec<String>,
}

/// Why it does not work here, with the remedy; none when it does.
pub(crate) fn unavailable() -> Option<String> {
    let mut disks = std::fs::read_dir("/sys/class/nvme-generic").into_iter().flatten();
    if disks.next().is_none() {
        return Some("this host has no NVMe disk with a generic device; attach one, or use io_uring".to_owned());
    }
    let old = "the kernel's io_uring takes no commands for devices; Linux 5.19 or later does".to_owned();
    let ring = match build_ring(2) {
        Ok((ring, _)) => ring,
        // A plain ring tells why there is none at all.
        Err(_) => return Some(super::uring::unavailable().unwrap_or(old)),
    };
    let mut probe = Probe::new();
    let known = ring.submitter().register_probe(&mut probe).is_ok() && probe.is_supported(opcode::UringCmd80::CODE);
    (!known).then_some(old)
}

fn build_ring(entries: u32) -> io::Result<(Ring, Vec<String>)> {
    let entries = entries.next_power_of_two();
    let best = Ring::builder().setup_single_issuer().setup_defer_taskrun().build(entries);
    match best {
        Ok(ring) => Ok((ring, vec!["single_issuer".to_owned(), "defer_taskrun".to_owned()])),
        Err(_) => Ok((Ring::builder().build(entries)?, Vec::new())),
    }
}

impl Personality for Nvme {
    fn open(setup: Setup<'_>) -> io::Result<Self> {
        let generic = Generic::beside(&setup.file()?)?;
        generic.geometry.check(setup.workload.request_size)?;
        let (ring, mut obtained) = build_ring(setup.workload.depth)?;
        // SAFETY: the region stays mapped and in place until after the ring is dropped: field order sees to it.
        let registration = unsafe { ring.submitter().register_buffers(&[setup.buffers.region()]) };
        obtained.extend(registration.is_ok().then(|| "registered_buffers".to_owned()));
        Ok(Nvme {
            ring,
            buffers: setup.buffers,
            generic,
            registered_buffers: registration.is_ok(),
            write_done: WriteDone::asked_by(setup.workload),
            refused: Vec::with_capacity(setup.workload.depth as usize),
            cause: None,
            obtained,
        })
    }

    #[inline]
    fn submit(&mut self, transfer: Transfer) {
        match self.command(&transfer) {
            Ok(command) => self.push(command, &transfer),
            Err(error) => self.refuse(transfer.slot, error),
        }
    }

    #[inline]
    fn start(&mut self) {
        // Refused for want of memory or room, the entries stay queued and go with the next call.
        let _ = self.ring.submit();
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Completion>) -> io::Result<()> {
        done.append(&mut self.refused);
        while done.is_empty() {
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {}
                Err(error) => return Err(error),
            }
            let cause = &mut self.cause;
            done.extend(self.ring.completion().map(|entry| completion(&entry, cause)));
        }
        Ok(())
    }

    fn obtained(&self) -> Vec<String> {
        self.obtained.clone()
    }

    fn cause(&mut self) -> Option<String> {
        self.cause.take()
    }
}

impl Nvme {
    #[inline]
    fn command(&self, transfer: &Transfer) -> Result<Command, DeviceError> {
        let blocks = self.generic.geometry.blocks(transfer.offset, transfer.length)?;
        let address = self.buffers.address(transfer.slot as usize, transfer.from as usize) as u64;
        let data = Data { address, length: transfer.length };
        let namespace = self.generic.namespace;
        match transfer.direction {
            Direction::Read => Ok(Command::read(namespace, blocks, data)),
            Direction::Write if !self.generic.is_writable => Err(not_writable()),
            Direction::Write => Ok(Command::write(namespace, blocks, data, self.write_done)),
        }
    }

    #[inline]
    fn push(&mut self, command: Command, transfer: &Transfer) {
        let file = types::Fd(self.generic.file.as_raw_fd());
        let entry = opcode::UringCmd80::new(file, NVME_URING_CMD_IO)
            .buf_index(self.registered_buffers.then_some(0))
            .cmd(command.to_bytes())
            .build()
            .user_data(u64::from(transfer.length) << 32 | u64::from(transfer.slot));
        // SAFETY: the entry's buffer is the slot's, which is not used by another transfer until this one completes,
        // and outlives the ring. The queue has room: it is as deep as there are slots.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        debug_assert!(pushed.is_ok(), "the queue has an entry for each slot");
    }

    #[cold]
    fn refuse(&mut self, slot: u32, error: DeviceError) {
        self.refused.push(Completion { slot, result: -error.errno });
        self.cause = Some(error.cause);
    }
}

impl Drop for Nvme {
    fn drop(&mut self) {
        // The kernel tears a ring down some time after it is closed; until then it would keep the memory.
        if self.registered_buffers {
            let _ = self.ring.submitter().unregister_buffers();
        }
    }
}

/// A command's end: the entry has its slot and length, and the status or the kernel's error number.
#[inline]
fn completion(entry: &cqueue::Entry32, cause: &mut Option<String>) -> Completion {
    let (slot, length) = (entry.user_data() as u32, (entry.user_data() >> 32) as i32);
    match entry.result() {
        0 => Completion { slot, result: length },
        result => {
            let error = failure(result);
            let result = error.as_ref().map_or(length, |error| -error.errno);
            *cause = error.map(|error| error.cause);
            Completion { slot, result }
        }
    }
}

/// What a result other than nought means.
#[cold]
fn failure(result: i32) -> Option<DeviceError> {
    let error = |errno, cause: &str| Some(DeviceError { errno, cause: cause.to_owned() });
    if let Ok(status) = u16::try_from(result) {
        return Status::decode(status).failure();
    }
    match -result {
        libc::EPERM | libc::EACCES => {
            error(libc::EPERM, "the kernel does not let this user send commands; run as root (CAP_SYS_ADMIN)")
        }
        libc::EINTR => error(libc::EIO, "the command was called off: the device was reset or removed"),
        libc::ENODEV | libc::ENXIO => error(libc::ENODEV, "the device is gone; was it removed?"),
        errno => {
            let message = io::Error::from_raw_os_error(errno);
            error(errno, &format!("the kernel did not send the command: {message}"))
        }
    }
}
