//! io_uring: accepted transfers go to the kernel with one call that also waits for the next completions.
//!
//! Every option of the ring is a setting (`options`); the sample records which of them the kernel granted. A ring that polls the
//! device (`iopoll`) is created only if a polled read of the target succeeds. Operations that a ring lacks are carried out by
//! plain calls at submission: trims of block devices before Linux 6.12, and trims and flushes on a polled ring, where the kernel
//! accepts reads and writes only.

pub(crate) mod entry;
pub(crate) mod options;
mod polling;
pub(crate) mod registered;
pub(crate) mod ring;
#[cfg(test)]
mod tests;

use super::control::Control;
use super::interface::{Completion, Granted, Personality, Setup, Transfer, failed};
use crate::target::Opened;
use entry::{Done, Entry, FileName, Head};
use halfpower_model::stream::RequestKind;
use halfpower_model::{RingOption, TargetKind, Wish, Workload};
use options::{Prepared, is_wanted};
use registered::{LARGEST_REGION, Slots};
use ring::Ring;
use rustix::fd::AsRawFd;
use rustix::fs::FallocateFlags;
use rustix::io::{Errno, ReadWriteFlags};
use rustix::io_uring::{IoringFsyncFlags, IoringOp, IoringSetupFlags};
use std::io::{self, IoSliceMut};
use std::time::Duration;

pub(crate) struct Uring {
    // First, so that it has released the targets before they are closed.
    ring: Ring<Entry, Done>,
    operations: Operations,
    /// Completions of transfers without the ring.
    done_at_once: Vec<Completion>,
}

impl Personality for Uring {
    fn unavailable() -> Option<String> {
        let error = Ring::<Entry, Done>::new(2, IoringSetupFlags::empty()).err()?;
        Some(match error.raw_os_error() {
            Some(libc::EPERM) => "forbidden here; allow it with sysctl kernel.io_uring_disabled=0, \
                 or in the container's seccomp profile"
                .to_owned(),
            Some(libc::ENOMEM) => "the limit on locked memory is too low; raise ulimit -l".to_owned(),
            None | Some(libc::ENOSYS | libc::EINVAL) => {
                "this kernel has no io_uring, or an early one; Linux 5.6 or later has".to_owned()
            }
            _ => format!("the kernel refused it: {error}"),
        })
    }

    fn open(setup: Setup<'_>) -> io::Result<(Self, Granted)> {
        let targets = setup.own_targets()?;
        let (mut requested, mut unpolled) = (setup.workload.ring, None);
        if is_wanted(requested, RingOption::Iopoll)
            && let Err(why) = targets.iter().try_for_each(|target| polling::probe(target, setup.workload))
        {
            (requested, unpolled) = (requested.with(RingOption::Iopoll, Wish::Declined), Some(why));
        }
        let mut prepared = Prepared::new(setup.outstanding, requested)?;
        let descriptors: Vec<_> = targets.iter().map(|target| target.file.as_raw_fd()).collect();
        let files = prepared.files(&descriptors);
        // As one region: its description stays in the CPU's caches, whereas one per slot would be loaded from memory at every
        // request.
        let slots = prepared.buffers(&setup.buffers.regions(LARGEST_REGION));
        let Prepared { ring, mut granted, .. } = prepared;
        granted.refused.extend(unpolled.map(|why| format!("{}: {why}", RingOption::Iopoll)));
        let is_polled = granted.obtained.iter().any(|option| option == RingOption::Iopoll.word());
        let operations = Operations::new(&ring, targets, files, slots, is_polled, setup.workload)?;
        granted.obtained.extend(operations.has_discard.then(|| "discard_command".to_owned()));
        let done_at_once = Vec::with_capacity(setup.outstanding as usize);
        Ok((Uring { ring, operations, done_at_once }, granted))
    }

    #[inline(always)]
    unsafe fn submit(&mut self, transfer: Transfer) {
        let is_control = matches!(transfer.kind, RequestKind::Trim | RequestKind::Flush);
        // SAFETY: the caller keeps the bytes of the transfer until its completion, and the targets are ours.
        if is_control || !unsafe { self.ring.push(self.operations.transfer(&transfer)) } {
            self.submit_otherwise(transfer);
        }
    }

    #[inline]
    fn start(&mut self) {
        // If the kernel lacks memory or room, the entries stay queued until the next call.
        let _ = self.ring.submit();
    }

    #[inline(always)]
    fn reap(&mut self, done: &mut Vec<Completion>, at_least: u32) -> io::Result<()> {
        done.append(&mut self.done_at_once);
        while done.len() < at_least as usize {
            self.ring.submit_and_wait(at_least - done.len() as u32)?;
            self.ring.take(done, Completion::from);
        }
        Ok(())
    }

    fn poll(&mut self, done: &mut Vec<Completion>, at_most: Duration) -> io::Result<()> {
        done.append(&mut self.done_at_once);
        let at_most = if done.is_empty() { at_most } else { Duration::ZERO };
        self.ring.submit_and_poll(at_most)?;
        self.ring.take(done, Completion::from);
        Ok(())
    }
}

impl Uring {
    /// Submits a trim or a flush, or a transfer that finds the queue full.
    #[cold]
    fn submit_otherwise(&mut self, transfer: Transfer) {
        let entry = match transfer.kind {
            RequestKind::Read | RequestKind::Write => self.operations.transfer(&transfer),
            RequestKind::Trim | RequestKind::Flush => match self.operations.control(&transfer) {
                Ok(entry) => entry,
                Err(completion) => return self.done_at_once.push(completion),
            },
        };
        // SAFETY: as in `submit`.
        if let Err(error) = unsafe { self.ring.push_with_room(entry) } {
            self.done_at_once.push(Completion { tag: transfer.tag, result: failed(&error) });
        }
    }
}

/// `BLOCK_URING_CMD_DISCARD`, `_IO(0x12, 0)` of linux/blkdev.h (6.12).
const DISCARD: u64 = 0x1200;

/// Builds entries of a worker's transfers.
struct Operations {
    targets: Vec<Opened>,
    /// How an entry names the file of each.
    files: Vec<FileName>,
    /// Heads of reads and of writes of each.
    heads: Vec<[Head; 2]>,
    slots: Option<Slots>,
    control: Control,
    /// Whether the ring polls, and so accepts no control operations.
    is_polled: bool,
    has_discard: bool,
}

impl Operations {
    /// For a ring with files and buffers registered or not.
    ///
    /// # Errors
    /// The kernel's, if it rejects the ring that tries a trim.
    fn new(
        ring: &Ring<Entry, Done>,
        targets: Vec<Opened>,
        files: Vec<FileName>,
        slots: Option<Slots>,
        is_polled: bool,
        workload: &Workload,
    ) -> io::Result<Self> {
        let devices: Vec<_> = targets.iter().filter(|target| target.kind == TargetKind::BlockDevice).collect();
        let asks = !is_polled && !devices.is_empty() && workload.operation.has(RequestKind::Trim);
        let mut has_discard = asks && ring.is_supported(IoringOp::UringCmd);
        for device in devices {
            has_discard = has_discard && takes_discards(device)?;
        }
        let (read, write) = match slots {
            Some(_) => (IoringOp::ReadFixed, IoringOp::WriteFixed),
            None => (IoringOp::Read, IoringOp::Write),
        };
        let heads = files.iter().map(|file| [Head::new(read, *file), Head::new(write, *file)]).collect();
        Ok(Operations { targets, files, heads, slots, control: Control::of(workload), is_polled, has_discard })
    }

    /// A read or a write.
    #[inline]
    fn transfer(&self, transfer: &Transfer) -> Entry {
        let [read, write] = self.heads[usize::from(transfer.target)];
        Entry {
            head: if transfer.kind == RequestKind::Read { read } else { write },
            offset: transfer.offset,
            address: transfer.address as u64,
            length: transfer.length,
            buffer: self.slots.map_or(0, |slots| slots.index(transfer.address)),
            user_data: u64::from(transfer.tag),
            ..Entry::default()
        }
    }

    /// A trim or a flush; its completion if the ring has no operation for it.
    #[cold]
    fn control(&self, transfer: &Transfer) -> Result<Entry, Completion> {
        let target = &self.targets[usize::from(transfer.target)];
        let is_device = target.kind == TargetKind::BlockDevice;
        let file = self.files[usize::from(transfer.target)];
        let entry = |operation| Entry { user_data: u64::from(transfer.tag), ..Entry::new(operation, file) };
        let is_trim = transfer.kind == RequestKind::Trim;
        if self.is_polled || (is_trim && is_device && !self.has_discard) {
            return Err(Completion { tag: transfer.tag, result: self.control.run(target, transfer) });
        }
        Ok(match (is_trim, is_device) {
            (false, _) => flush(entry(IoringOp::Fsync), self.control),
            (true, true) => discard(entry(IoringOp::UringCmd), transfer.offset, u64::from(transfer.length)),
            (true, false) => punch(entry(IoringOp::Fallocate), transfer.offset, u64::from(transfer.length)),
        })
    }
}

fn flush(entry: Entry, control: Control) -> Entry {
    let flags = match control {
        Control::Fsync => IoringFsyncFlags::empty(),
        Control::Fdatasync => IoringFsyncFlags::DATASYNC,
    };
    Entry { operation_flags: flags.bits(), ..entry }
}

/// A hole in a file: the entry has its length in the field of the address, and its mode in the field of the length.
fn punch(entry: Entry, offset: u64, length: u64) -> Entry {
    let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Entry { offset, address: length, length: mode.bits(), ..entry }
}

/// A discard of a device's blocks: a command of the block layer, with the length in the third address.
fn discard(entry: Entry, offset: u64, length: u64) -> Entry {
    let mut entry = Entry { offset: DISCARD, address: offset, ..entry };
    entry.more[..8].copy_from_slice(&length.to_ne_bytes());
    entry
}

/// Whether a device has the discard command. A kernel with the command rejects one of zero bytes with EINVAL; another kernel, or
/// a device without discards, has another error. The device is not changed.
fn takes_discards(device: &Opened) -> io::Result<bool> {
    let mut ring: Ring<Entry, Done> = Ring::new(1, IoringSetupFlags::empty())?;
    let entry = discard(Entry::new(IoringOp::UringCmd, FileName::Descriptor(device.file.as_raw_fd())), 0, 0);
    // SAFETY: it names no memory, and the device stays open.
    let result = unsafe { ring.once(entry, |done| done.result)? };
    Ok(result == -libc::EINVAL && takes_work_without_waiting(device))
}

/// Whether the driver accepts requests that must not wait, as the ring's trims are. Drivers that complete requests in the call,
/// such as zram, reject them (EOPNOTSUPP), but only for a real trim. A read has the same error before any other check. One byte
/// is no direct read, and a buffered read that must not wait moves nothing from the device.
fn takes_work_without_waiting(device: &Opened) -> bool {
    let mut byte = [0];
    let buffers = &mut [IoSliceMut::new(&mut byte)];
    rustix::io::preadv2(&device.file, buffers, 0, ReadWriteFlags::NOWAIT) != Err(Errno::OPNOTSUPP)
}
