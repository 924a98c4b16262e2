//! NVMe commands straight to the namespace, by io_uring's command operation on its generic device (Linux 5.19): past the
//! file cache and the block layer's scheduler and merging, many at a time. Needs a whole namespace without metadata,
//! requests of whole blocks and no larger than a command may be: none is split, so that a request is a command.

mod command;
mod namespace;
mod outcome;

use super::device::{DeviceError, WriteDone, not_writable};
use super::uring::Uring;
use super::{Completion, Personality, Setup, Transfer};
use command::{Command, Data, RANGE_BYTES, range};
use halfpower_model::stream::RequestKind;
use io_uring::{IoUring, Probe, cqueue, opcode, squeue, types};
use namespace::Generic;
use outcome::Status;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// A ring whose entries have room for a command and its answer.
type Ring = IoUring<squeue::Entry128, cqueue::Entry32>;

/// `_IOWR('N', 0x80, struct nvme_uring_cmd)`: a command to the namespace.
const NVME_URING_CMD_IO: u32 = 0xc048_4e80;

pub(crate) struct Nvme {
    // Dropped first, so that the kernel has let go of the ranges.
    ring: Ring,
    generics: Vec<Generic>,
    registered: Option<Registered>,
    write_done: WriteDone,
    /// The list of a trim, for each tag.
    ranges: Vec<[u8; RANGE_BYTES]>,
    /// Transfers that were never sent.
    refused: Vec<Completion>,
    cause: Option<String>,
    obtained: Vec<String>,
}

/// Buffers that the kernel keeps mapped, by number from 0.
#[derive(Clone, Copy, Debug)]
struct Registered {
    /// Address of the first.
    base: usize,
    /// From one to the next.
    stride: usize,
}

impl Registered {
    /// Registers each slot by itself: Linux 6.1 refuses a command of a registered buffer (EINVAL) where the rest of
    /// that buffer, not the command, has more pages than a command may name.
    fn with(ring: &Ring, regions: &[libc::iovec]) -> Option<Registered> {
        let first = regions.first()?;
        // SAFETY: the caller's buffers outlive the personality, and so the ring.
        unsafe { ring.submitter().register_buffers(regions) }.ok()?;
        Some(Registered { base: first.iov_base as usize, stride: first.iov_len })
    }

    /// The number of the buffer that an address lies in.
    #[inline]
    fn number(self, address: *mut u8) -> u16 {
        ((address as usize - self.base) / self.stride) as u16
    }
}

fn build_ring(entries: u32) -> io::Result<(Ring, Vec<String>)> {
    let entries = entries.next_power_of_two();
    match Ring::builder().setup_single_issuer().setup_defer_taskrun().build(entries) {
        Ok(ring) => Ok((ring, vec!["single_issuer".to_owned(), "defer_taskrun".to_owned()])),
        Err(_) => Ok((Ring::builder().build(entries)?, Vec::new())),
    }
}

impl Personality for Nvme {
    fn unavailable() -> Option<String> {
        let mut disks = std::fs::read_dir("/sys/class/nvme-generic").into_iter().flatten();
        if disks.next().is_none() {
            return Some("this host has no NVMe disk with a generic device; attach one, or use io_uring".to_owned());
        }
        let old = "the kernel's io_uring takes no commands for devices; Linux 5.19 or later does".to_owned();
        let Ok((ring, _)) = build_ring(2) else {
            // A plain ring tells why there is none at all.
            return Some(Uring::unavailable().unwrap_or(old));
        };
        let mut probe = Probe::new();
        let is_known =
            ring.submitter().register_probe(&mut probe).is_ok() && probe.is_supported(opcode::UringCmd80::CODE);
        (!is_known).then_some(old)
    }

    fn open(setup: Setup<'_>) -> io::Result<Self> {
        let targets = setup.own_targets()?;
        let generics = targets.iter().map(|target| Generic::beside(&target.file)).collect::<io::Result<Vec<_>>>()?;
        generics.iter().try_for_each(|generic| generic.geometry.check(setup.workload))?;
        let (ring, mut obtained) = build_ring(setup.outstanding)?;
        let registered = Registered::with(&ring, &setup.buffers.regions());
        obtained.extend(registered.map(|_| "registered_buffers".to_owned()));
        Ok(Nvme {
            ring,
            generics,
            registered,
            write_done: WriteDone::asked_by(setup.workload),
            ranges: vec![[0; RANGE_BYTES]; setup.outstanding as usize],
            refused: Vec::with_capacity(setup.outstanding as usize),
            cause: None,
            obtained,
        })
    }

    #[inline]
    unsafe fn submit(&mut self, transfer: Transfer) {
        match self.command(&transfer) {
            // SAFETY: whoever submitted the transfer keeps its bytes for it until it comes back; a trim's range is its
            // tag's, which outlives the ring.
            Ok(command) => unsafe { self.push(command, &transfer) },
            Err(error) => self.refuse(&transfer, error),
        }
    }

    #[inline]
    fn start(&mut self) {
        // Refused for want of memory or room, the entries stay queued and go with the next call.
        let _ = self.ring.submit();
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Completion>, at_least: u32) -> io::Result<()> {
        done.append(&mut self.refused);
        while done.len() < at_least as usize {
            passing(self.ring.submit_and_wait(at_least as usize - done.len()))?;
            self.collect(done);
        }
        Ok(())
    }

    fn poll(&mut self, done: &mut Vec<Completion>, at_most: Duration) -> io::Result<()> {
        done.append(&mut self.refused);
        if done.is_empty() {
            let at_most = types::Timespec::from(at_most);
            passing(self.ring.submitter().submit_with_args(1, &types::SubmitArgs::new().timespec(&at_most)))?;
        }
        self.collect(done);
        Ok(())
    }

    fn cause(&mut self) -> Option<String> {
        self.cause.take()
    }

    fn obtained(&self) -> Vec<String> {
        self.obtained.clone()
    }
}

impl Nvme {
    #[inline]
    fn collect(&mut self, done: &mut Vec<Completion>) {
        let Nvme { ring, generics, cause, .. } = self;
        done.extend(ring.completion().map(|entry| completion(&entry, generics, cause)));
    }

    #[inline]
    fn command(&mut self, transfer: &Transfer) -> Result<Command, DeviceError> {
        let generic = &self.generics[usize::from(transfer.target)];
        let blocks = || generic.geometry.blocks(transfer.offset, transfer.length);
        let data = Data { address: transfer.address as u64, length: transfer.length };
        let namespace = generic.namespace;
        match transfer.kind {
            RequestKind::Read => Ok(Command::read(namespace, blocks()?, data)),
            RequestKind::Write | RequestKind::Trim if !generic.is_writable => Err(not_writable()),
            RequestKind::Write => Ok(Command::write(namespace, blocks()?, data, self.write_done)),
            RequestKind::Trim => {
                let list = &mut self.ranges[transfer.tag as usize];
                *list = range(blocks()?);
                Ok(Command::deallocate(namespace, Data { address: list.as_ptr() as u64, length: RANGE_BYTES as u32 }))
            }
            RequestKind::Flush => Ok(Command::flush(namespace)),
        }
    }

    /// Puts a command into the queue.
    ///
    /// # Safety
    /// The memory it names stays mapped and nobody else's until it comes back.
    #[inline]
    unsafe fn push(&mut self, command: Command, transfer: &Transfer) {
        let file = types::Fd(self.generics[usize::from(transfer.target)].file.as_raw_fd());
        let moves_data = matches!(transfer.kind, RequestKind::Read | RequestKind::Write);
        let buffer = self.registered.filter(|_| moves_data).map(|registered| registered.number(transfer.address));
        let entry = opcode::UringCmd80::new(file, NVME_URING_CMD_IO)
            .buf_index(buffer)
            .cmd(command.to_bytes())
            .build()
            .user_data(u64::from(transfer.length) << 32 | u64::from(transfer.tag));
        // SAFETY: by the caller's word. The queue has room: it is as deep as the most that can be outstanding.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        debug_assert!(pushed.is_ok(), "the queue has an entry for each transfer");
    }

    #[cold]
    fn refuse(&mut self, transfer: &Transfer, error: DeviceError) {
        self.refused.push(Completion { tag: transfer.tag, result: -error.errno });
        self.cause.get_or_insert(error.cause);
    }
}

impl Drop for Nvme {
    fn drop(&mut self) {
        // The kernel tears a ring down some time after it is closed; until then it would keep the memory.
        if self.registered.is_some() {
            let _ = self.ring.submitter().unregister_buffers();
        }
    }
}

/// Lets pass what waiting may end with: it is waited for anew.
fn passing(waited: io::Result<usize>) -> io::Result<()> {
    match waited {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN | libc::ETIME)) => {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// A command's end: the entry has its tag and length, and the status or the kernel's error number.
#[inline]
fn completion(entry: &cqueue::Entry32, generics: &[Generic], cause: &mut Option<String>) -> Completion {
    let (tag, length) = (entry.user_data() as u32, (entry.user_data() >> 32) as i32);
    if entry.result() == 0 {
        return Completion { tag, result: length };
    }
    let Some(error) = failure(entry.result(), generics) else { return Completion { tag, result: length } };
    // The first of several is the one that is told of.
    cause.get_or_insert(error.cause);
    Completion { tag, result: -error.errno }
}

/// What a result other than nought means: a status of the device, or an error of the kernel's.
#[cold]
fn failure(result: i32, generics: &[Generic]) -> Option<DeviceError> {
    if let Ok(status) = u16::try_from(result) {
        return Status::decode(status).failure();
    }
    // A device on its way out ends commands with one error or another.
    if generics.iter().any(Generic::is_gone) {
        let cause = "the device is gone; was it removed?".to_owned();
        return Some(DeviceError { errno: libc::ENODEV, cause });
    }
    let (errno, cause) = match -result {
        libc::EPERM | libc::EACCES => (libc::EPERM, namespace::NOT_ALLOWED.to_owned()),
        libc::EINTR => (libc::EIO, "the command was called off: the device was reset or removed".to_owned()),
        errno => (errno, format!("the kernel did not send the command: {}", io::Error::from_raw_os_error(errno))),
    };
    Some(DeviceError { errno, cause })
}
