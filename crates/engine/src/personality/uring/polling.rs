//! Whether a target can be polled: a ring that asks the device for completions takes any file, and then fails every
//! request of one it cannot ask. The device says so in its `queue/io_poll`, and a polled read of the target shows it.

use super::entry::{Done, Entry, FileName};
use super::ring::Ring;
use crate::target::Opened;
use crate::target::filesystem::sysfs_device;
use crate::worker::buffers::Buffers;
use halfpower_model::TargetKind;
use rustix::fs::{fstat, major, minor};
use rustix::io_uring::{IoringOp, IoringSetupFlags};
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// What is read: the smallest that any device takes.
const READ_BYTES: u32 = 4096;

/// Why a target cannot be polled.
pub(super) fn probe(target: &Opened) -> Result<(), String> {
    if has_poll_queues(target) == Some(false) {
        let how = "give its driver some when it is loaded, like nvme.poll_queues=1";
        return Err(format!("needs a device with queues for polling, and this one has none; {how}"));
    }
    match polled_read(target) {
        Ok(()) => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            Err("needs direct I/O on a device or file system that can be asked for completions".to_owned())
        }
        Err(error) => Err(format!("a polled read of the target failed ({error})")),
    }
}

/// What the device below says; none where there is none, or it does not tell.
fn has_poll_queues(target: &Opened) -> Option<bool> {
    let stat = fstat(&target.file).ok()?;
    let number = if target.kind == TargetKind::BlockDevice { stat.st_rdev } else { stat.st_dev };
    let device = sysfs_device((major(number), minor(number)))?;
    // A partition has no queue of its own.
    let queue = |directory: &Path| fs::read_to_string(directory.join("queue/io_poll")).ok();
    let text = queue(&device).or_else(|| queue(device.parent()?))?;
    Some(text.trim() != "0")
}

fn polled_read(target: &Opened) -> io::Result<()> {
    let mut ring: Ring<Entry, Done> = Ring::new(1, IoringSetupFlags::IOPOLL)?;
    let memory = Buffers::new(1, READ_BYTES as usize)?;
    let file = FileName::Descriptor(target.file.as_raw_fd());
    let address = memory.address(0, 0) as u64;
    let entry = Entry { address, length: READ_BYTES, ..Entry::new(IoringOp::Read, file) };
    // SAFETY: the memory is ours, and outlives the loop below, which ends when the answer is back.
    let pushed = unsafe { ring.push(entry) };
    debug_assert!(pushed, "a new queue has room");
    let mut result = None;
    while result.is_none() {
        if let Err(error) = ring.submit_and_wait(1) {
            // The kernel may still be writing there.
            std::mem::forget(memory);
            return Err(error);
        }
        ring.take(|done| result = Some(done.result));
    }
    match result {
        Some(errno) if errno < 0 => Err(io::Error::from_raw_os_error(-errno)),
        _ => Ok(()),
    }
}
