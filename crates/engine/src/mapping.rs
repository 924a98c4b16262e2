//! A mapping of memory or of a file, unmapped when it is dropped.

use rustix::fd::AsFd;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use std::io;
use std::ptr::{NonNull, null_mut};

/// The size of a huge page on x86-64 and most arm64; another size costs only some address space.
const HUGE_PAGE: usize = 2 << 20;

/// A mapping at an address that the kernel chose. Its owner is responsible for reads and writes through it.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    /// Bytes mapped before and after it.
    around: (usize, usize),
}

// SAFETY: a mapping belongs to the process, and the value only hands out its address.
unsafe impl Send for Mapping {}
// SAFETY: the same.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Private zeros, which take no memory until they are touched, from the start of a huge page on; in huge pages if possible,
    /// also less than one. The first thread to touch them gets pages of its NUMA node.
    ///
    /// # Errors
    /// The kernel's, if there is not enough memory.
    pub(crate) fn zeros(bytes: usize) -> io::Result<Mapping> {
        let huge = bytes.checked_next_multiple_of(HUGE_PAGE).filter(|huge| *huge <= isize::MAX as usize - HUGE_PAGE);
        let huge = huge.ok_or(io::ErrorKind::OutOfMemory)?;
        let mut mapping = Mapping::small_pages(huge + HUGE_PAGE)?;
        let lead = mapping.base.addr().get().next_multiple_of(HUGE_PAGE) - mapping.base.addr().get();
        // SAFETY: less than a huge page from the start, and the mapping is longer than that.
        mapping.base = unsafe { mapping.base.add(lead) };
        // The pages after it are small: the kernel would join two mappings that touch.
        mapping.around = (lead, mapping.bytes - lead - bytes);
        mapping.bytes = bytes;
        // SAFETY: the range lies in the mapping. A kernel without huge pages rejects it, which only costs speed.
        let _ = unsafe { madvise(mapping.base.as_ptr().cast(), huge, Advice::LinuxHugepage) };
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
        Ok(Mapping { base: NonNull::new(base).ok_or(rustix::io::Errno::NOMEM)?, bytes, around: (0, 0) })
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
        let (before, after) = self.around;
        // SAFETY: all of the mapping made above, unmapped once; its owner uses it no more.
        let _ = unsafe { munmap(self.base.as_ptr().wrapping_sub(before).cast(), before + self.bytes + after) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_a_huge_page_asks_for_one() {
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            eprintln!("skipped: this kernel has no transparent huge pages");
            return;
        }
        for bytes in [8192, HUGE_PAGE, HUGE_PAGE + 4096] {
            let mapping = Mapping::zeros(bytes).unwrap();
            let start = mapping.base().addr().get();
            assert!(start.is_multiple_of(HUGE_PAGE) && mapping.bytes() == bytes);
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let end = start + bytes.next_multiple_of(HUGE_PAGE);
            let (_, of_it) = maps.split_once(&format!("{start:x}-{end:x} ")).expect("its own mapping");
            let flags = of_it.lines().find(|line| line.starts_with("VmFlags:")).unwrap();
            assert!(flags.contains(" hg"), "{flags}");
        }
        Mapping::zeros(usize::MAX - 4096).unwrap_err();
    }
}
