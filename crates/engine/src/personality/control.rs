//! Trims and flushes by plain system calls, for every personality that has no way of its own to do them.

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
    /// fsync: the data, and all that is known of the file.
    Fsync,
    /// fdatasync: the data, and what it takes to find it.
    Fdatasync,
}

impl Control {
    /// What the workload asks for.
    pub(crate) fn of(workload: &Workload) -> Control {
        if workload.durability.is_data_only() { Control::Fdatasync } else { Control::Fsync }
    }

    /// Trims or flushes; gives what a completion carries.
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

    /// Flushes; gives what a completion carries.
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
