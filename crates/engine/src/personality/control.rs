//! Trims and flushes by plain system calls, for every personality without operations for them.

use super::interface::{Transfer, failed, moved};
use crate::target::Opened;
use halfpower_model::stream::RequestKind;
use halfpower_model::{TargetKind, Workload};
use rustix::fs::FallocateFlags;
use std::io;
use std::os::fd::AsRawFd;

/// How a flush is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// fsync: the data and all metadata.
    Fsync,
    /// fdatasync: the data, and the metadata needed to find it.
    Fdatasync,
}

impl Control {
    /// By the workload's durability.
    pub(crate) fn of(workload: &Workload) -> Control {
        if workload.durability.is_data_only() { Control::Fdatasync } else { Control::Fsync }
    }

    /// Trims or flushes; returns the result of the completion.
    #[cold]
    pub(crate) fn run(self, target: &Opened, transfer: &Transfer) -> i32 {
        match transfer.kind {
            RequestKind::Flush => self.flush(target),
            _ => match trim(target, transfer.offset, u64::from(transfer.length)) {
                Ok(()) => 0,
                Err(error) => failed(&error),
            },
        }
    }

    /// Flushes; returns the result of the completion.
    pub(super) fn flush(self, target: &Opened) -> i32 {
        let descriptor = target.file.as_raw_fd();
        moved(match self {
            // SAFETY: a system call on a descriptor that is open; it touches no memory.
            Control::Fdatasync => unsafe { libc::fdatasync(descriptor) },
            // SAFETY: the same.
            Control::Fsync => unsafe { libc::fsync(descriptor) },
        } as isize)
    }
}

/// Gives blocks back: BLKDISCARD on a device, a punched hole in a file.
fn trim(target: &Opened, offset: u64, length: u64) -> io::Result<()> {
    if target.kind != TargetKind::BlockDevice {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        return Ok(rustix::fs::fallocate(&target.file, flags, offset, length)?);
    }
    let range = [offset, length];
    // SAFETY: BLKDISCARD reads two 64-bit numbers, the first byte and how many, from the address given.
    let done = unsafe { libc::ioctl(target.file.as_raw_fd(), BLKDISCARD, range.as_ptr()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// `_IO(0x12, 119)` of linux/fs.h.
const BLKDISCARD: libc::Ioctl = 0x1277;
