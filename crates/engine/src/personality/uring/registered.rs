//! Registration of files, buffers and the ring itself, so that the kernel looks them up once and not at every request; and the
//! operations that the kernel supports.
//!
//! All of it is unregistered before the ring is closed: the kernel destroys a ring later, and until then it would keep the
//! files open and the memory pinned.

use super::entry::Layout;
use super::ring::Ring;
use crate::buffers::SLOT_ALIGNMENT;
use rustix::fd::{AsFd, AsRawFd, RawFd};
use rustix::io_uring as kernel;
use rustix::io_uring::{IoringEnterFlags, IoringOp, IoringRegisterOp};
use std::ffi::c_void;
use std::io;
use std::num::NonZero;

/// The registrations of a ring.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Registered {
    files: bool,
    buffers: bool,
    ring: bool,
}

/// The largest region that the kernel registers as one buffer.
pub(crate) const LARGEST_REGION: usize = 1 << 30;

/// How a worker's buffers are registered: as one region, or each slot by itself. The kernel takes 16384 of them, of 1 GiB
/// each, and those are the largest depth and request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    base: usize,
    /// From each slot to the next; none of one region.
    stride_pages: Option<NonZero<u32>>,
}

impl Slots {
    const PAGE_BITS: u32 = SLOT_ALIGNMENT.trailing_zeros();

    fn of(regions: &[libc::iovec]) -> Option<Slots> {
        let first = regions.first()?;
        let stride_pages = NonZero::new(u32::try_from(first.iov_len >> Slots::PAGE_BITS).ok()?)?;
        Some(Slots { base: first.iov_base as usize, stride_pages: (regions.len() > 1).then_some(stride_pages) })
    }

    /// Index of the registered buffer that an address lies in.
    #[inline]
    pub(crate) fn index(self, address: *const u8) -> u16 {
        let Some(stride_pages) = self.stride_pages else { return 0 };
        // The pages of all slots fit 32 bits, and a division of 32 bits is faster.
        let pages = ((address as usize - self.base) >> Slots::PAGE_BITS) as u32;
        (pages / stride_pages) as u16
    }
}

impl<S: Layout, A: Layout> Ring<S, A> {
    /// Registers files: entries name them by their place in the list.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn register_files(&mut self, descriptors: &[RawFd]) -> io::Result<()> {
        // SAFETY: the kernel reads as many descriptors from there, and keeps the files open itself.
        unsafe { self.register(IoringRegisterOp::RegisterFiles, descriptors)? };
        self.registered.files = true;
        Ok(())
    }

    /// Registers a worker's buffers, the regions of its slots, which must outlive the ring; entries name the one that their
    /// address is in.
    ///
    /// # Errors
    /// The kernel's: ENOMEM where the limit on locked memory is too low.
    pub(crate) fn register_buffers(&mut self, regions: &[libc::iovec]) -> io::Result<Slots> {
        let slots = Slots::of(regions).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: the kernel reads as many descriptions from there, and pins the pages; even where they were unmapped
        // first, it would write to pages that have no other user.
        unsafe { self.register(IoringRegisterOp::RegisterBuffers, regions)? };
        self.registered.buffers = true;
        Ok(slots)
    }

    /// Registers the ring with the calling thread, which is the only one to use it.
    ///
    /// # Errors
    /// The kernel's, before 5.18.
    pub(crate) fn register_itself(&mut self) -> io::Result<()> {
        let mut update = kernel::io_uring_rsrc_update::default();
        // Any free index: the kernel writes the one it used.
        update.offset = u32::MAX;
        // The kernel's field is a number of 64 bits; rustix has a pointer in its place.
        update.data = kernel::io_uring_ptr::new(std::ptr::without_provenance_mut(self.descriptor.as_raw_fd() as usize));
        let arguments = (&raw mut update).cast_const().cast::<c_void>();
        // SAFETY: the kernel reads one update from there and writes it back, through a pointer that may be written.
        unsafe {
            kernel::io_uring_register(self.descriptor.as_fd(), IoringRegisterOp::RegisterRingFds, arguments, 1)?;
        }
        self.registered.ring = true;
        self.enter_number = update.offset as RawFd;
        self.enter_flags = IoringEnterFlags::REGISTERED_RING;
        Ok(())
    }

    /// Whether the kernel has an operation; false before Linux 5.6, which does not report it.
    pub(crate) fn is_supported(&self, operation: IoringOp) -> bool {
        const OPERATIONS: u32 = 256;
        const SUPPORTED: u16 = 1;
        // `struct io_uring_probe`: 16 bytes, then 8 for each operation, with its flags in the third and fourth byte. As plain
        // numbers: the kernel may have operations that rustix does not name.
        let mut probe = [0_u64; 2 + OPERATIONS as usize];
        let arguments = probe.as_mut_ptr().cast_const().cast::<c_void>();
        // SAFETY: the kernel writes at most `OPERATIONS` of them there, through a writable pointer.
        let probed = unsafe {
            kernel::io_uring_register(self.descriptor.as_fd(), IoringRegisterOp::RegisterProbe, arguments, OPERATIONS)
        };
        let [_, _, low, high, ..] = probe[2 + operation as usize].to_ne_bytes();
        probed.is_ok() && u16::from_ne_bytes([low, high]) & SUPPORTED != 0
    }
}

impl<S, A> Ring<S, A> {
    /// # Safety
    /// The list, and the objects that it names, are valid for the operation.
    unsafe fn register<T>(&self, operation: IoringRegisterOp, list: &[T]) -> io::Result<()> {
        let count = u32::try_from(list.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: the caller's promise.
        unsafe { kernel::io_uring_register(self.descriptor.as_fd(), operation, list.as_ptr().cast(), count)? };
        Ok(())
    }
}

impl<S, A> Drop for Ring<S, A> {
    fn drop(&mut self) {
        // A registration that stays ends when the kernel destroys the ring.
        let unregister = |operation| {
            // SAFETY: it reads nothing; the kernel insists on a null pointer.
            let _ = unsafe { kernel::io_uring_register(self.descriptor.as_fd(), operation, std::ptr::null(), 0) };
        };
        if self.registered.files {
            unregister(IoringRegisterOp::UnregisterFiles);
        }
        if self.registered.buffers {
            unregister(IoringRegisterOp::UnregisterBuffers);
        }
        if self.registered.ring {
            let mut update = kernel::io_uring_rsrc_update::default();
            update.offset = self.enter_number as u32;
            // SAFETY: it reads one update.
            let _ = unsafe { self.register(IoringRegisterOp::UnregisterRingFds, &[update]) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_slot_is_found_in_it() {
        for (stride, count) in [(4096, 32), (12_288, 16_384), (1 << 30, 16_384)] {
            let base = 0x4000_0000_0000;
            // The address is not read.
            let region = |slot| libc::iovec {
                iov_base: std::ptr::without_provenance_mut::<c_void>(base + slot * stride),
                iov_len: stride,
            };
            let slots = Slots::of(&(0..count).map(region).collect::<Vec<_>>()).unwrap();
            for slot in [0, 1, count / 2, count - 1] {
                for byte in [0, 1, stride / 2, stride - 1] {
                    let address = std::ptr::without_provenance(base + slot * stride + byte);
                    assert_eq!(usize::from(slots.index(address)), slot, "byte {byte} of {stride}");
                }
            }
            let whole = Slots::of(&[region(0)]).unwrap();
            assert_eq!(whole.index(std::ptr::without_provenance(base + stride - 1)), 0);
        }
    }
}
