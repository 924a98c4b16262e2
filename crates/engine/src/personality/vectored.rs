//! preadv2 and pwritev2 (Linux 4.6): one transfer at a time, with flags for each.
//!
//! A flag is tried on the target before it is used, without changing the target: by a read, at the target's end if the read
//! would load a page into the page cache. For writes it is also tried by a write from an unreadable address, which fails with
//! EFAULT if the kernel accepts the flag. A rejected flag is recorded and left out. With `nowait`, a transfer that would have to
//! wait is counted and repeated without the flag.

use super::control::Control;
use super::device::queue;
use super::interface::{Granted, Setup, Transfer, moved};
use super::synchronous::Synchronous;
use crate::buffers::Buffers;
use crate::target::Opened;
use halfpower_model::Workload;
use halfpower_model::stream::RequestKind;
use halfpower_model::workload::RwFlag;
use std::io;
use std::os::fd::AsRawFd;

#[derive(Debug)]
pub(crate) struct Vectored {
    targets: Vec<Opened>,
    control: Control,
    /// RWF bits of the flags that were granted.
    bits: i32,
    /// Repeated transfers; none without `nowait`.
    would_block: Option<u64>,
}

impl Synchronous for Vectored {
    fn unavailable() -> Option<String> {
        let nothing = vector(std::ptr::null_mut(), 0);
        // SAFETY: a call on no descriptor; it moves nothing.
        let result = moved(unsafe { preadv2(-1, &raw const nothing, 1, 0, 0) });
        match -result {
            libc::ENOSYS => Some("this kernel has no preadv2; use Linux 4.6 or later".to_owned()),
            libc::EPERM => Some("the container forbids preadv2; allow it in the seccomp profile".to_owned()),
            _ => None,
        }
    }

    fn open(setup: Setup<'_>) -> io::Result<(Self, Granted)> {
        let targets = setup.own_targets()?;
        let (mut bits, mut granted) = (0, Granted::default());
        for flag in setup.workload.rw_flags.iter() {
            let mut is_taken = true;
            for target in &targets {
                is_taken &= takes(target, setup.workload, bits_of(flag))?
                    && (flag != RwFlag::Hipri || (polls(target) && heeds_hipri()));
            }
            if is_taken {
                bits |= bits_of(flag);
                granted.obtained.push(flag.to_string());
            } else {
                granted.refused.push(format!("{flag}: {}", needs(flag)));
            }
        }
        let would_block = (bits & libc::RWF_NOWAIT != 0).then_some(0);
        let control = Control::of(setup.workload);
        Ok((Vectored { targets, control, bits, would_block }, granted))
    }

    #[inline]
    unsafe fn transfer(&mut self, transfer: &Transfer) -> i32 {
        let mut bits = self.bits;
        loop {
            match self.call(transfer, bits) {
                result if result == -libc::EINTR => {}
                result if result == -libc::EAGAIN && bits & libc::RWF_NOWAIT != 0 => {
                    bits &= !libc::RWF_NOWAIT;
                    self.would_block = self.would_block.map(|count| count + 1);
                }
                result => return result,
            }
        }
    }

    fn would_block(&self) -> Option<u64> {
        self.would_block
    }
}

impl Vectored {
    #[inline]
    fn call(&self, transfer: &Transfer, bits: i32) -> i32 {
        let target = &self.targets[usize::from(transfer.target)];
        let descriptor = target.file.as_raw_fd();
        let bytes = vector(transfer.address, transfer.length as usize);
        let (bytes, offset) = (&raw const bytes, transfer.offset as i64);
        match transfer.kind {
            // SAFETY: the caller of `transfer` keeps its bytes until it returns.
            RequestKind::Read => moved(unsafe { preadv2(descriptor, bytes, 1, offset, bits) }),
            // SAFETY: the same.
            RequestKind::Write => moved(unsafe { pwritev2(descriptor, bytes, 1, offset, bits) }),
            RequestKind::Trim | RequestKind::Flush => self.control.run(target, transfer),
        }
    }
}

/// preadv2(2) by its number: older C libraries have no function for it. On 64 bits the offset is the first of its two halves.
///
/// # Safety
/// As of preadv2: the vectors name memory that may be written.
unsafe fn preadv2(descriptor: i32, vectors: *const libc::iovec, count: i32, offset: i64, bits: i32) -> isize {
    // SAFETY: the caller's.
    unsafe { libc::syscall(libc::SYS_preadv2, descriptor, vectors, count, offset, 0, bits) as isize }
}

/// pwritev2(2) by its number.
///
/// # Safety
/// As of pwritev2: the vectors name memory that may be read, or that the kernel finds cannot be.
unsafe fn pwritev2(descriptor: i32, vectors: *const libc::iovec, count: i32, offset: i64, bits: i32) -> isize {
    // SAFETY: the caller's.
    unsafe { libc::syscall(libc::SYS_pwritev2, descriptor, vectors, count, offset, 0, bits) as isize }
}

fn vector(address: *mut u8, length: usize) -> libc::iovec {
    libc::iovec { iov_base: address.cast(), iov_len: length }
}

fn bits_of(flag: RwFlag) -> i32 {
    match flag {
        RwFlag::Hipri => libc::RWF_HIPRI,
        RwFlag::Dsync => libc::RWF_DSYNC,
        RwFlag::Nowait => libc::RWF_NOWAIT,
        RwFlag::Dontcache => libc::RWF_DONTCACHE,
    }
}

/// Whether a target takes a flag.
fn takes(target: &Opened, workload: &Workload, bits: i32) -> io::Result<bool> {
    let descriptor = target.file.as_raw_fd();
    let length = workload.smallest_request().0 as usize;
    let direct = workload.buffering.is_direct();
    let place = if direct { 0 } else { target.size.0 as i64 };
    let buffer = Buffers::new(1, length)?;
    let (own, nowhere) = (vector(buffer.address(0, 0), length), vector(std::ptr::null_mut(), length));
    let missing = |result: i32| result == -libc::EOPNOTSUPP;
    // SAFETY: the buffer is as long as the request.
    let read = moved(unsafe { preadv2(descriptor, &raw const own, 1, place, bits) });
    if missing(read) || !workload.operation.writes() {
        return Ok(!missing(read));
    }
    // SAFETY: the kernel finds that the address cannot be read, and writes nothing; it has seen the flags by then.
    Ok(!missing(moved(unsafe { pwritev2(descriptor, &raw const nowhere, 1, 0, bits) })))
}

/// Whether the device below has queues for polling; without them the kernel ignores `hipri`.
fn polls(target: &Opened) -> bool {
    target.disk().and_then(|disk| queue(&disk, "io_poll").ok()).is_some_and(|polls| polls == 1)
}

/// Whether the kernel polls for preadv2 and pwritev2: since Linux 5.19 it takes `hipri` and ignores it (commit 9650b453a3d4).
fn heeds_hipri() -> bool {
    is_before(&rustix::system::uname().release().to_string_lossy(), (5, 19))
}

/// Whether a kernel's release, like `6.1.0-31-amd64`, is before a version; false if it has another form.
fn is_before(release: &str, version: (u32, u32)) -> bool {
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    numbers.next().zip(numbers.next()).is_some_and(|release| release < version)
}

/// The requirement of a flag.
fn needs(flag: RwFlag) -> &'static str {
    match flag {
        RwFlag::Hipri => {
            "needs a device with polled queues and Linux before 5.19; later kernels ignore it, use io_uring with --ring iopoll"
        }
        RwFlag::Dsync => "needs Linux 4.7 or later",
        RwFlag::Nowait => "needs a file system that supports RWF_NOWAIT",
        RwFlag::Dontcache => "needs Linux 6.14 or later, and a file system that supports it, such as ext4 or XFS",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_their_numbers() {
        assert!(
            is_before("5.4.0-100-generic", (5, 19)) && is_before("4.19.2", (5, 19)) && is_before("5.18-rc1", (5, 19))
        );
        assert!(!is_before("5.19", (5, 19)) && !is_before("6.1.0", (5, 19)) && !is_before("custom", (5, 19)));
    }
}
