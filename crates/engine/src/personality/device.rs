//! Shared parts of the personalities that send commands to a device (`sg`, `nvme`): the disk of a descriptor, its blocks, and its
//! limits. Commands address the whole disk, so a partition is rejected, and so is a device stacked on disks.

use crate::system::{Root, number, numbers};
use halfpower_model::stream::RequestKind;
use halfpower_model::{Bytes, Workload};
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Consecutive logical blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// The first one's address.
    pub(super) first: u64,
    /// Their number, at least 1.
    pub(super) count: u32,
}

/// When a write is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteDone {
    /// When the device has the data.
    InCache,
    /// When the medium has it: force unit access.
    OnMedium,
}

impl WriteDone {
    /// By the workload's buffering.
    pub(super) fn of(workload: &Workload) -> WriteDone {
        if workload.buffering.is_through() { WriteDone::OnMedium } else { WriteDone::InCache }
    }
}

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeviceError {
    /// The error number of a plain read or write.
    pub(super) errno: i32,
    /// The meaning, and the device's own code.
    pub(super) cause: String,
}

/// A disk's blocks, as it reports them itself, and what one command may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    block_shift: u32,
    /// Most bytes of a command.
    largest: u64,
}

impl Geometry {
    /// Of blocks of this many bytes.
    ///
    /// # Errors
    /// When that is no power of two.
    pub(super) fn new(block_bytes: u32, largest: u64) -> io::Result<Geometry> {
        if !block_bytes.is_power_of_two() {
            let message = format!("the disk has blocks of {block_bytes} bytes; reformat it to 512 or 4096");
            return Err(io::Error::other(message));
        }
        Ok(Geometry { block_shift: block_bytes.trailing_zeros(), largest })
    }

    /// Refuses requests that the disk cannot take as one command.
    ///
    /// # Errors
    /// With the remedy.
    pub(super) fn check(self, workload: &Workload) -> io::Result<()> {
        let moves_data = workload.operation.has(RequestKind::Read) || workload.operation.has(RequestKind::Write);
        let request_size = workload.request_size;
        let refuse = |message| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        if moves_data && request_size.0 > self.largest {
            let largest = Bytes(self.largest);
            return refuse(format!(
                "the disk transfers at most {largest} per command; use --request-size {largest} or less"
            ));
        }
        Ok(())
    }

    /// The blocks at a place.
    ///
    /// # Errors
    /// When it does not begin and end with one.
    #[inline]
    pub(super) fn blocks(self, offset: u64, length: u32) -> Result<Blocks, DeviceError> {
        let inside = (1_u64 << self.block_shift) - 1;
        if (offset | u64::from(length)) & inside != 0 || length == 0 {
            return Err(self.misaligned());
        }
        Ok(Blocks { first: offset >> self.block_shift, count: length >> self.block_shift })
    }

    #[cold]
    fn misaligned(self) -> DeviceError {
        let block = Bytes(1 << self.block_shift);
        DeviceError {
            errno: libc::EINVAL,
            cause: format!("the disk has blocks of {block}; use sizes and offsets that are multiples of it"),
        }
    }
}

/// The directory in sysfs of the disk of an open file, by its device number.
///
/// # Errors
/// When it is no whole disk; the message names the remedy.
pub(super) fn disk_of(file: &File) -> io::Result<PathBuf> {
    let device = Root::host()
        .device(numbers(file.metadata()?.rdev()))
        .ok_or_else(|| io::Error::other("sysfs does not list it as a block device; name a disk, and mount /sys"))?;
    if device.join("partition").exists() {
        let disk = device.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        return Err(io::Error::other(format!(
            "it is a partition, and commands go to the whole disk; name /dev/{disk}"
        )));
    }
    Ok(device)
}

/// Most bytes that the kernel hands to a disk with one command, whatever memory they lie in: by the device's own limit,
/// and by the pieces of memory that a command can name, each a page.
///
/// # Errors
/// If sysfs does not report it.
pub(super) fn largest_transfer(disk: &Path) -> io::Result<u64> {
    let by_pieces = queue(disk, "max_segments")?.saturating_mul(rustix::param::page_size() as u64);
    Ok(by_pieces.min(queue(disk, "max_hw_sectors_kb")?.saturating_mul(1024)))
}

/// A number of a disk's queue, by its directory in sysfs.
///
/// # Errors
/// If sysfs does not report it.
pub(super) fn queue(disk: &Path, name: &str) -> io::Result<u64> {
    number(disk.join("queue").join(name)).ok_or_else(|| io::Error::other(format!("sysfs does not report queue/{name}")))
}

/// Whether a file is open for writing. The kernel lets commands of a privileged user write through any descriptor, so the
/// personalities check it.
pub(super) fn is_writable(file: &File) -> io::Result<bool> {
    Ok(rustix::fs::fcntl_getfl(file)?.contains(OFlags::RDWR))
}

/// The error of a write to a target opened for reading.
pub(super) fn not_writable() -> DeviceError {
    DeviceError { errno: libc::EBADF, cause: "the target was opened for reading only".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::Operation;

    #[test]
    fn places_are_blocks_or_refused() {
        let geometry = Geometry::new(4096, 1 << 20).unwrap();
        assert_eq!(geometry.blocks(12_288, 8192), Ok(Blocks { first: 3, count: 2 }));
        for (offset, length) in [(512, 4096), (4096, 512), (0, 0)] {
            let error = geometry.blocks(offset, length).unwrap_err();
            assert_eq!(error.errno, libc::EINVAL);
            assert!(error.cause.contains("4 KiB"), "{}", error.cause);
        }
        assert!(Geometry::new(520, 1 << 20).unwrap_err().to_string().contains("520"));
    }

    #[test]
    fn requests_that_are_too_large_are_refused_with_the_remedy() {
        let geometry = Geometry::new(512, 128 << 10).unwrap();
        let check = |operation, kib: u64| {
            let request_size = Bytes(kib << 10);
            geometry.check(&Workload { operation, request_size, ..Workload::default() })
        };
        assert!(check(Operation::Read, 128).is_ok());
        let message = check(Operation::Write, 256).unwrap_err().to_string();
        assert!(message.contains("--request-size 128 KiB"), "{message}");
        assert!(check(Operation::Trim, 256).is_ok(), "a trim moves nothing");
    }

    #[test]
    fn a_file_is_no_disk() {
        let file = tempfile::tempfile().unwrap();
        assert!(disk_of(&file).unwrap_err().to_string().contains("not list it as a block device"));
        assert!(is_writable(&file).unwrap());
        assert!(!is_writable(&File::open("/proc/self/stat").unwrap()).unwrap());
    }
}
