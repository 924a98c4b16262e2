//! What a ring has registered, so that the kernel looks it up once and not at every request: files, buffers, the ring
//! itself. And what the kernel says of the operations it knows.
//!
//! All of it is let go of before the ring is closed: the kernel tears a ring down some time later, and until then it
//! would keep the files busy and the memory pinned.

use super::entry::{Answer, Submission};
use super::ring::Ring;
use crate::worker::buffers::Buffers;
use rustix::fd::{AsFd, AsRawFd, RawFd};
use rustix::io_uring as kernel;
use rustix::io_uring::{IoringEnterFlags, IoringOp, IoringRegisterOp};
use std::ffi::c_void;
use std::io;

/// The most bytes the kernel takes as one buffer.
const LARGEST_BUFFER: usize = 1 << 30;

/// What is registered with a ring.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Registered {
    files: bool,
    buffers: bool,
    ring: bool,
}

/// How much of a worker's buffers goes into one registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartSize {
    /// As much as the kernel takes.
    Largest,
    /// A slot.
    Slot,
}

/// How a worker's buffers are registered: in parts of whole slots, since one may not have more than 1 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferParts {
    base: usize,
    part_bytes: usize,
}

impl BufferParts {
    fn of(region: libc::iovec, slot_bytes: usize, most: PartSize) -> Self {
        let slots = match most {
            PartSize::Largest => (LARGEST_BUFFER / slot_bytes).max(1),
            PartSize::Slot => 1,
        };
        let part_bytes = (slots * slot_bytes).min(region.iov_len);
        BufferParts { base: region.iov_base as usize, part_bytes }
    }

    fn iovecs(self, region: libc::iovec) -> Vec<libc::iovec> {
        let starts = (0..region.iov_len).step_by(self.part_bytes);
        starts
            .map(|start| libc::iovec {
                iov_base: region.iov_base.wrapping_byte_add(start),
                iov_len: self.part_bytes.min(region.iov_len - start),
            })
            .collect()
    }

    /// Which part an address in the buffers lies in.
    #[inline]
    pub(crate) fn index(self, address: *const u8) -> u16 {
        let from = address as usize - self.base;
        if from < self.part_bytes { 0 } else { self.later_part(from) }
    }

    /// Apart, because there is seldom a second part, and a division takes longer than the rest of an entry.
    #[cold]
    fn later_part(self, from: usize) -> u16 {
        (from / self.part_bytes) as u16
    }
}

impl<S: Submission, A: Answer> Ring<S, A> {
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

    /// Registers a worker's buffers, which must outlive the ring; entries name the part of them their address is in.
    ///
    /// # Errors
    /// The kernel's: ENOMEM where the limit on locked memory is too low.
    pub(crate) fn register_buffers(&mut self, buffers: &Buffers, most: PartSize) -> io::Result<BufferParts> {
        let region = buffers.region();
        let parts = BufferParts::of(region, buffers.stride(), most);
        // SAFETY: the kernel reads as many descriptions from there, and pins the pages; even where they were unmapped
        // first, it would write to pages that are nobody else's.
        unsafe { self.register(IoringRegisterOp::RegisterBuffers, &parts.iovecs(region))? };
        self.registered.buffers = true;
        Ok(parts)
    }

    /// Registers the ring with the calling thread, which is the only one to use it.
    ///
    /// # Errors
    /// The kernel's, before 5.18.
    pub(crate) fn register_itself(&mut self) -> io::Result<()> {
        let mut update = kernel::io_uring_rsrc_update::default();
        // "Any free place": the kernel writes the one it took.
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

    /// Whether the kernel has an operation; one before 5.6 does not say.
    pub(crate) fn is_supported(&self, operation: IoringOp) -> bool {
        const OPERATIONS: u32 = 256;
        const SUPPORTED: u16 = 1;
        // `struct io_uring_probe`: 16 bytes of its own, then 8 for each operation, with its flags in the third and fourth
        // byte. As plain numbers: the kernel may know operations that rustix has no name for.
        let mut probe = [0_u64; 2 + OPERATIONS as usize];
        let arguments = probe.as_mut_ptr().cast_const().cast::<c_void>();
        // SAFETY: the kernel writes at most so many operations there, through a pointer that may be written.
        let probed = unsafe {
            kernel::io_uring_register(self.descriptor.as_fd(), IoringRegisterOp::RegisterProbe, arguments, OPERATIONS)
        };
        let [_, _, low, high, ..] = probe[2 + operation as usize].to_ne_bytes();
        probed.is_ok() && u16::from_ne_bytes([low, high]) & SUPPORTED != 0
    }
}

impl<S, A> Ring<S, A> {
    /// # Safety
    /// The kernel may read the list, and what it names, as the operation does.
    unsafe fn register<T>(&self, operation: IoringRegisterOp, list: &[T]) -> io::Result<()> {
        let count = u32::try_from(list.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: by the caller's word.
        unsafe { kernel::io_uring_register(self.descriptor.as_fd(), operation, list.as_ptr().cast(), count)? };
        Ok(())
    }
}

impl<S, A> Drop for Ring<S, A> {
    fn drop(&mut self) {
        // What fails is let go of when the kernel tears the ring down.
        let let_go = |operation| {
            // SAFETY: it reads nothing; the kernel insists on a null pointer.
            let _ = unsafe { kernel::io_uring_register(self.descriptor.as_fd(), operation, std::ptr::null(), 0) };
        };
        if self.registered.files {
            let_go(IoringRegisterOp::UnregisterFiles);
        }
        if self.registered.buffers {
            let_go(IoringRegisterOp::UnregisterBuffers);
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
    fn large_buffers_come_in_parts_of_whole_slots() {
        let large = [(4096, 32, 1), (600 << 20, 3, 3), (1 << 30, 2, 2), (4096, 300_000, 2), (12_288, 100_000, 2)];
        let large = large.map(|case| (PartSize::Largest, case));
        for (most, (slot_bytes, slots, parts)) in large.into_iter().chain([(PartSize::Slot, (4096, 5, 5))]) {
            let base = 0x7000_0000_0000;
            // Nobody looks there.
            let iov_base = std::ptr::without_provenance_mut::<c_void>(base);
            let region = libc::iovec { iov_base, iov_len: slot_bytes * slots };
            let made = BufferParts::of(region, slot_bytes, most);
            let iovecs = made.iovecs(region);
            assert_eq!(iovecs.len(), parts, "{slots} of {slot_bytes}");
            assert_eq!(iovecs.iter().map(|iovec| iovec.iov_len).sum::<usize>(), region.iov_len);
            for slot in [0, 1, slots / 2, slots - 1] {
                let first = base + slot * slot_bytes;
                let part = iovecs[usize::from(made.index(std::ptr::without_provenance(first)))];
                let (from, bytes) = (part.iov_base as usize, part.iov_len);
                assert!(bytes <= LARGEST_BUFFER && from <= first && first + slot_bytes <= from + bytes, "slot {slot}");
            }
        }
    }
}
