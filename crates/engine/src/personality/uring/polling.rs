//! Whether a target can be polled: a polled ring accepts any file, and then fails every request to a file that cannot be polled.
//! The device's `queue/io_poll` and a polled read of the target show it.
//!
//! A request that the block layer splits is not polled for (`bio_clear_polled` in block/blk-merge.c). Before Linux 6.3 it never
//! begins: the kernel's worker retries it forever, and the program cannot be ended. So a workload with such requests is not
//! polled.

use super::entry::{Done, Entry, FileName};
use super::ring::Ring;
use crate::buffers::Buffers;
use crate::personality::device::{largest_transfer, queue};
use crate::target::Opened;
use halfpower_model::workload::Layout;
use halfpower_model::{Bytes, Workload};
use rustix::io_uring::{IoringOp, IoringSetupFlags};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Size of the trial read: the smallest that every device accepts.
const READ_BYTES: u32 = 4096;

/// Why a target cannot be polled.
pub(super) fn probe(target: &Opened, workload: &Workload) -> Result<(), String> {
    let disk = target.disk().ok_or("needs a device, and sysfs shows none below this target; name the device itself")?;
    if queue(&disk, "io_poll").is_ok_and(|polls| polls == 0) {
        let how = "load its driver with some, for example nvme.poll_queues=1";
        return Err(format!("needs a device with polled queues, and this one has none; {how}"));
    }
    let most = uncut(&disk).map_err(|error| format!("needs a device that reports its largest transfer ({error})"))?;
    if largest_part(workload) > most {
        return Err(format!(
            "needs requests that the block layer does not split, here up to {most}; use a smaller --request-size"
        ));
    }
    match polled_read(target) {
        Ok(()) => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            Err("needs direct I/O on a device or file system that supports polling".to_owned())
        }
        Err(error) => Err(format!("a polled read of the target failed ({error})")),
    }
}

/// The largest request that the block layer never splits, wherever it lies in memory.
fn uncut(disk: &Path) -> io::Result<Bytes> {
    // The administrator's limit, which is for requests of files and block devices, and the device's own.
    Ok(Bytes(largest_transfer(disk)?.min(queue(disk, "max_sectors_kb")?.saturating_mul(1024))))
}

/// The largest transfer that a target is given.
fn largest_part(workload: &Workload) -> Bytes {
    match workload.layout {
        Layout::Stripe { chunk } => workload.request_size.min(chunk),
        _ => workload.request_size,
    }
}

fn polled_read(target: &Opened) -> io::Result<()> {
    let mut ring: Ring<Entry, Done> = Ring::new(1, IoringSetupFlags::IOPOLL)?;
    let memory = Buffers::new(1, READ_BYTES as usize)?;
    let file = FileName::Descriptor(target.file.as_raw_fd());
    let address = memory.address(0, 0) as u64;
    let entry = Entry { address, length: READ_BYTES, ..Entry::new(IoringOp::Read, file) };
    // SAFETY: the memory is ours until the answer is back.
    match unsafe { ring.once(entry, |done| done.result) } {
        Ok(errno) if errno < 0 => Err(io::Error::from_raw_os_error(-errno)),
        Ok(_) => Ok(()),
        Err(error) => {
            // The kernel may still be writing there.
            std::mem::forget(memory);
            Err(error)
        }
    }
}
