//! The page cache: drops a target from it, loads the target, and measures how much of the target it holds.
//!
//! The share is measured by mincore(2) in evenly spread windows, because posix_fadvise promises nothing. The kernel reveals it
//! only to users with permission to write the file; for others it is unknown.

use crate::mapping::Mapping;
use halfpower_model::{Bytes, Cancel};
use rustix::fs::{Access, Advice, AtFlags, fadvise, fdatasync};
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsRawFd;

/// Size of a window, and the maximum number of windows.
const WINDOW: u64 = 256 << 20;
const WINDOWS: u64 = 64;

/// Writes back dirty pages and drops the first `span` bytes of a file or device from the page cache.
///
/// # Errors
/// The kernel's, also if write-back fails.
pub fn make_cold(file: &File, span: Bytes) -> io::Result<()> {
    settle(file)?;
    drop_clean(file, span)
}

/// Drops the first `span` bytes from the page cache, but for dirty pages.
///
/// # Errors
/// The kernel's.
pub fn drop_clean(file: &File, span: Bytes) -> io::Result<()> {
    Ok(fadvise(file, 0, NonZeroU64::new(span.0), Advice::DontNeed)?)
}

/// Writes back dirty pages, so that the next measurement does not pay for the last.
///
/// # Errors
/// The kernel's.
pub fn settle(file: &File) -> io::Result<()> {
    match fdatasync(file) {
        // Some special files cannot be synced and have no dirty pages.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::ROFS) => Ok(()),
        other => Ok(other?),
    }
}

/// Loads the first `span` bytes into the page cache; stops when cancelled.
///
/// # Errors
/// The kernel's.
pub fn make_warm(file: &File, span: Bytes, cancel: &Cancel) -> io::Result<()> {
    let mut buffer = vec![0_u8; 1 << 20];
    let mut at = 0;
    while at < span.0 && !cancel.is_cancelled() {
        let length = (span.0 - at).min(buffer.len() as u64) as usize;
        match rustix::io::pread(file, &mut buffer[..length], at) {
            Ok(0) => break,
            Ok(moved) => at += moved as u64,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The share of the first `span` bytes in the page cache; none if unknown.
pub fn cached_share(file: &File, span: Bytes) -> Option<f64> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::accessat(rustix::fs::CWD, own.as_str(), Access::WRITE_OK, AtFlags::empty()).ok()?;
    let windows = span.0.div_ceil(WINDOW).clamp(1, WINDOWS);
    let stride = span.0 / windows;
    let page = rustix::param::page_size() as u64;
    let mut pages = 0;
    let mut cached = 0;
    for window in 0..windows {
        let start = window * stride / page * page;
        let length = WINDOW.min(span.0 - start);
        let residency = residency(file, start, length as usize)?;
        pages += residency.len();
        cached += residency.iter().filter(|byte| **byte & 1 == 1).count();
    }
    (pages > 0).then(|| cached as f64 / pages as f64)
}

/// The byte of mincore for each page of a range.
fn residency(file: &File, start: u64, length: usize) -> Option<Vec<u8>> {
    if length == 0 {
        return Some(Vec::new());
    }
    // Never read through, so a file cut short does no harm.
    let mapping = Mapping::shared(file, length, start, ProtFlags::READ, MapFlags::empty()).ok()?;
    let mut bytes = vec![0_u8; length.div_ceil(rustix::param::page_size())];
    // SAFETY: the range is the mapping just made, and there is a byte for each of its pages.
    let result = unsafe { libc::mincore(mapping.base().as_ptr().cast(), length, bytes.as_mut_ptr()) };
    (result == 0).then_some(bytes)
}
