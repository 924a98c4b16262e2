//! NVMe commands straight to the namespace, by io_uring's command operation on its generic device (Linux 5.19): past the
//! page cache and the block layer's scheduler and merging, many at a time. Needs a whole namespace without metadata,
//! requests of whole blocks and no larger than a command may be: none is split, so that a request is a command.

mod command;
mod namespace;
mod outcome;

use super::device::{DeviceError, WriteDone, not_writable};
use super::interface::{Completion, Granted, Personality, Setup, Transfer, failed};
use super::uring::Uring;
use super::uring::entry::{Done32, Entry, Entry128, FileName};
use super::uring::options::Prepared;
use super::uring::registered::Slots;
use super::uring::ring::Ring;
use command::{Command, Data, RANGE_BYTES, range};
use halfpower_model::stream::RequestKind;
use halfpower_model::{RingOption, Wish};
use namespace::Generic;
use outcome::Status;
use rustix::io_uring::{IoringOp, IoringSetupFlags, IoringUringCmdFlags};
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// `_IOWR('N', 0x80, struct nvme_uring_cmd)`: a command to the namespace.
const NVME_URING_CMD_IO: u32 = 0xc048_4e80;

pub(crate) struct Nvme {
    // Dropped first, so that the kernel no longer uses the ranges.
    ring: Ring<Entry128, Done32>,
    generics: Vec<Generic>,
    /// How an entry names the file of each.
    files: Vec<FileName>,
    slots: Option<Slots>,
    write_done: WriteDone,
    /// The list of a trim, for each tag.
    ranges: Vec<[u8; RANGE_BYTES]>,
    /// Transfers that were never sent.
    refused: Vec<Completion>,
    cause: Option<String>,
}

impl Personality for Nvme {
    fn unavailable() -> Option<String> {
        let mut disks = std::fs::read_dir("/sys/class/nvme-generic").into_iter().flatten();
        if disks.next().is_none() {
            return Some("this host has no NVMe disk with a generic device; attach one, or use io_uring".to_owned());
        }
        let old = "io_uring of this kernel cannot send device commands; use Linux 5.19 or later".to_owned();
        let Ok(ring) = Ring::<Entry128, Done32>::new(2, IoringSetupFlags::empty()) else {
            // A plain ring shows why io_uring itself is unavailable.
            return Some(Uring::unavailable().unwrap_or(old));
        };
        (!ring.is_supported(IoringOp::UringCmd)).then_some(old)
    }

    fn open(setup: Setup<'_>) -> io::Result<(Self, Granted)> {
        let targets = setup.own_targets()?;
        let generics = targets.iter().map(|target| Generic::beside(&target.file)).collect::<io::Result<Vec<_>>>()?;
        generics.iter().try_for_each(|generic| generic.geometry.check(setup.workload))?;
        let options = setup.workload.ring;
        let mut prepared = Prepared::new(setup.outstanding, options.with(RingOption::Iopoll, Wish::Declined))?;
        let descriptors: Vec<_> = generics.iter().map(|generic| generic.file.as_raw_fd()).collect();
        let files = prepared.files(&descriptors);
        // Each slot by itself: Linux 6.1 refuses a command (EINVAL) where the rest of the region has more pages than a
        // command may name.
        let slots = prepared.buffers(&setup.buffers.regions(0));
        let Prepared { ring, mut granted, .. } = prepared;
        let unpolled = options.wish(RingOption::Iopoll) == Wish::Asked;
        granted.refused.extend(unpolled.then(|| format!("{}: NVMe commands cannot be polled", RingOption::Iopoll)));
        let nvme = Nvme {
            ring,
            generics,
            files,
            slots,
            write_done: WriteDone::of(setup.workload),
            ranges: vec![[0; RANGE_BYTES]; setup.outstanding as usize],
            refused: Vec::with_capacity(setup.outstanding as usize),
            cause: None,
        };
        Ok((nvme, granted))
    }

    #[inline]
    unsafe fn submit(&mut self, transfer: Transfer) {
        match self.command(&transfer) {
            // SAFETY: the caller keeps the bytes of the transfer until its completion; a trim's range belongs to its tag and
            // outlives the ring.
            Ok(command) => unsafe { self.push(command, &transfer) },
            Err(error) => self.refuse(&transfer, error),
        }
    }

    #[inline]
    fn start(&mut self) {
        // If the kernel lacks memory or room, the entries stay queued until the next call.
        let _ = self.ring.submit();
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Completion>, at_least: u32) -> io::Result<()> {
        done.append(&mut self.refused);
        while done.len() < at_least as usize {
            self.ring.submit_and_wait(at_least - done.len() as u32)?;
            self.collect(done);
        }
        Ok(())
    }

    fn poll(&mut self, done: &mut Vec<Completion>, at_most: Duration) -> io::Result<()> {
        done.append(&mut self.refused);
        self.ring.submit_and_poll(if done.is_empty() { at_most } else { Duration::ZERO })?;
        self.collect(done);
        Ok(())
    }

    fn cause(&mut self) -> Option<String> {
        self.cause.take()
    }
}

impl Nvme {
    #[inline]
    fn collect(&mut self, done: &mut Vec<Completion>) {
        let Nvme { ring, generics, cause, .. } = self;
        ring.take(done, |answer| completion(&answer, generics, cause));
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
    /// Its memory stays mapped and without another use until its completion.
    #[inline]
    unsafe fn push(&mut self, command: Command, transfer: &Transfer) {
        let file = self.files[usize::from(transfer.target)];
        let mut entry = Entry::new(IoringOp::UringCmd, file);
        entry.user_data = u64::from(transfer.length) << 32 | u64::from(transfer.tag);
        if let Some(slots) = self.slots.filter(|_| matches!(transfer.kind, RequestKind::Read | RequestKind::Write)) {
            entry.operation_flags = IoringUringCmdFlags::FIXED.bits();
            entry.buffer = slots.index(transfer.address);
        }
        let entry = Entry128::command(entry, NVME_URING_CMD_IO, &command.to_bytes());
        // SAFETY: the caller's promise.
        if let Err(error) = unsafe { self.ring.push_with_room(entry) } {
            self.refused.push(Completion { tag: transfer.tag, result: failed(&error) });
        }
    }

    #[cold]
    fn refuse(&mut self, transfer: &Transfer, error: DeviceError) {
        self.refused.push(Completion { tag: transfer.tag, result: -error.errno });
        self.cause.get_or_insert(error.cause);
    }
}

/// The completion of a command: the answer has its tag and length, and the status or the kernel's error number.
#[inline]
fn completion(Done32 { done, .. }: &Done32, generics: &[Generic], cause: &mut Option<String>) -> Completion {
    let (tag, length) = (done.user_data as u32, (done.user_data >> 32) as i32);
    if done.result == 0 {
        return Completion { tag, result: length };
    }
    let Some(error) = failure(done.result, generics) else { return Completion { tag, result: length } };
    // Of several failures, the first is reported.
    cause.get_or_insert(error.cause);
    Completion { tag, result: -error.errno }
}

/// The failure of a result other than zero: a status of the device, or an error of the kernel.
#[cold]
fn failure(result: i32, generics: &[Generic]) -> Option<DeviceError> {
    if let Ok(status) = u16::try_from(result) {
        return Status::decode(status).failure();
    }
    // A device that is being removed ends commands with various errors.
    if generics.iter().any(Generic::is_gone) {
        let cause = "the device is gone; was it removed?".to_owned();
        return Some(DeviceError { errno: libc::ENODEV, cause });
    }
    let (errno, cause) = match -result {
        libc::EPERM | libc::EACCES => (libc::EPERM, namespace::NOT_ALLOWED.to_owned()),
        libc::EINTR => (libc::EIO, "the command was aborted: the device was reset or removed".to_owned()),
        errno => (errno, format!("the kernel did not send the command: {}", io::Error::from_raw_os_error(errno))),
    };
    Some(DeviceError { errno, cause })
}
