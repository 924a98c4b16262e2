//! A mapping of memory or of a file, unmapped when it is dropped.

use rustix::fd::AsFd;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use std::io;
use std::ptr::{NonNull, null_mut};

/// A mapping at an address that the kernel chose. Its owner is responsible for reads and writes through it.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping belongs to the process, and the value only hands out its address.
unsafe impl Send for Mapping {}
// SAFETY: the same.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Private zeros, which take no memory until they are touched; in huge pages if possible.
    ///
    /// # Errors
    /// The kernel's, if there is not enough memory.
    pub(crate) fn zeros(bytes: usize) -> io::Result<Mapping> {
        let mapping = Mapping::small_pages(bytes)?;
        mapping.use_huge_pages(0, bytes);
        Ok(mapping)
    }

    /// Private zeros in pages as the system gives them.
    ///
    /// # Errors
    /// The kernel's, if there is not enough memory.
    pub(crate) fn small_pages(bytes: usize) -> io::Result<Mapping> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a new mapping at an address the kernel chooses touches nobody's memory.
        Ok(Mapping::at(unsafe { mmap_anonymous(null_mut(), bytes, protection, flags) }?.cast(), bytes)?)
    }

    /// Asks for huge pages in a part of it.
    ///
    /// # Panics
    /// When the mapping has no such part.
    pub(crate) fn use_huge_pages(&self, offset: usize, bytes: usize) {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.bytes));
        // SAFETY: the range lies in the mapping. A kernel without huge pages rejects it, which only costs speed.
        let _ = unsafe { madvise(self.base.as_ptr().add(offset).cast(), bytes, Advice::LinuxHugepage) };
    }

    /// A part of a file, shared with others that map it.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn shared(
        file: impl AsFd,
        bytes: usize,
        offset: u64,
        protection: ProtFlags,
        flags: MapFlags,
    ) -> rustix::io::Result<Mapping> {
        // SAFETY: a new mapping at an address the kernel chooses touches nobody's memory.
        let base = unsafe { mmap(null_mut(), bytes, protection, flags | MapFlags::SHARED, file, offset) }?;
        Mapping::at(base.cast(), bytes)
    }

    fn at(base: *mut u8, bytes: usize) -> rustix::io::Result<Mapping> {
        Ok(Mapping { base: NonNull::new(base).ok_or(rustix::io::Errno::NOMEM)?, bytes })
    }

    #[inline]
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping made above, unmapped once; its owner uses it no more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
