//! Transfers as entries of a ring.

use super::entry::{Answer, Entry, FileName, Head, Submission};
use super::registered::Slots;
use super::ring::Ring;
use crate::personality::control::Control;
use crate::personality::interface::{Completion, Transfer};
use crate::target::Opened;
use halfpower_model::stream::RequestKind;
use halfpower_model::{TargetKind, Workload};
use rustix::fs::FallocateFlags;
use rustix::io::{Errno, ReadWriteFlags};
use rustix::io_uring::{IoringFsyncFlags, IoringOp, IoringSetupFlags};
use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;

/// `BLOCK_URING_CMD_DISCARD`, `_IO(0x12, 0)` of linux/blkdev.h (6.12).
const DISCARD: u64 = 0x1200;

/// How the transfers of a worker become entries.
pub(super) struct Operations {
    targets: Vec<Opened>,
    /// How an entry names the file of each.
    files: Vec<FileName>,
    /// Heads of reads and of writes of each.
    heads: Vec<[Head; 2]>,
    slots: Option<Slots>,
    control: Control,
    /// Whether control operations go through the ring at all.
    is_polled: bool,
    has_discard: bool,
}

impl Operations {
    /// For a ring with files and buffers registered or not.
    ///
    /// # Errors
    /// The kernel's, when it refuses a ring to find out about trims.
    pub(super) fn new<S: Submission, A: Answer>(
        ring: &Ring<S, A>,
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

    /// Whether trims of block devices go through the ring.
    pub(super) fn has_discard(&self) -> bool {
        self.has_discard
    }

    /// A read or a write.
    #[inline]
    pub(super) fn transfer(&self, transfer: &Transfer) -> Entry {
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

    /// A trim or a flush; done already where the ring cannot.
    #[cold]
    pub(super) fn control(&self, transfer: &Transfer) -> Result<Entry, Completion> {
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

/// A hole in a file: the entry has the length where others have the address, and the mode where others have that.
fn punch(entry: Entry, offset: u64, length: u64) -> Entry {
    let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Entry { offset, address: length, length: mode.bits(), ..entry }
}

/// Blocks of a device given back: a command of the block layer, with the length in the third address.
fn discard(entry: Entry, offset: u64, length: u64) -> Entry {
    let mut entry = Entry { offset: DISCARD, address: offset, ..entry };
    entry.more[..8].copy_from_slice(&length.to_ne_bytes());
    entry
}

/// Whether a device knows the command. One of no bytes is refused by a kernel that knows it (EINVAL), and by one that does
/// not, or a device that keeps its blocks, with other words. Nothing is changed by either.
fn takes_discards(device: &Opened) -> io::Result<bool> {
    let mut ring: Ring<Entry, super::entry::Done> = Ring::new(1, IoringSetupFlags::empty())?;
    let entry = discard(Entry::new(IoringOp::UringCmd, FileName::Descriptor(device.file.as_raw_fd())), 0, 0);
    // SAFETY: it names no memory, and the device stays open.
    let result = unsafe { ring.once(entry, |done| done.result)? };
    Ok(result == -libc::EINVAL && takes_work_without_waiting(device))
}

/// Whether the driver takes work that must not wait, as the ring gives it trims. Those that do their work as it comes,
/// zram for one, refuse it (EOPNOTSUPP), and only when a trim is really to be done. The kernel says so of a read too,
/// before anything else is looked at: one byte is no direct read, and a buffered one that must not wait moves nothing
/// from the device.
fn takes_work_without_waiting(device: &Opened) -> bool {
    let mut byte = [0];
    let buffers = &mut [IoSliceMut::new(&mut byte)];
    rustix::io::preadv2(&device.file, buffers, 0, ReadWriteFlags::NOWAIT) != Err(Errno::OPNOTSUPP)
}
