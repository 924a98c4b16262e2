//! Memory that the threads of this process and the processes forked from it see alike: counters, cursors, flags.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::io;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

/// Values that begin as zeros and are changed through shared references only.
///
/// # Safety
/// All bytes zero is a value of the type, it needs no drop, and several processes may use it at a time.
pub(crate) unsafe trait Zeroed: Sync {}

// SAFETY: zero is a number; atomics work on any memory that is shared.
unsafe impl Zeroed for AtomicU64 {}
// SAFETY: the same.
unsafe impl Zeroed for AtomicU32 {}
// SAFETY: zero is false.
unsafe impl Zeroed for AtomicBool {}
// SAFETY: an array of such values is one.
unsafe impl<T: Zeroed, const N: usize> Zeroed for [T; N] {}

/// A slice of such values, zero at first. A page of it takes memory when it is first written.
#[derive(Debug)]
pub(crate) struct Shared<T> {
    base: NonNull<T>,
    length: usize,
    owned: PhantomData<T>,
}

// SAFETY: it gives shared references only, and its values are Sync.
unsafe impl<T: Zeroed> Send for Shared<T> {}
// SAFETY: the same.
unsafe impl<T: Zeroed> Sync for Shared<T> {}

impl<T: Zeroed> Shared<T> {
    /// `length` values.
    ///
    /// # Errors
    /// The kernel's, when there is not enough memory.
    pub(crate) fn new(length: usize) -> io::Result<Self> {
        let too_much = || io::Error::new(io::ErrorKind::OutOfMemory, "more memory than an address can name");
        let bytes = size_of::<T>().checked_mul(length.max(1)).ok_or_else(too_much)?;
        // SAFETY: a new mapping at a place the kernel chooses touches nobody's memory.
        let base = unsafe {
            mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED)?
        };
        let base = NonNull::new(base.cast::<T>()).ok_or_else(too_much)?;
        Ok(Shared { base, length, owned: PhantomData })
    }
}

impl<T> Deref for Shared<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the mapping is page-aligned, holds `length` values that are zeros, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.length) }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, unmapped once; nothing borrows it any more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), size_of::<T>() * self.length.max(1)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn it_begins_as_zeros_and_is_seen_by_other_threads() {
        let shared = Shared::<AtomicU64>::new(1000).unwrap();
        assert!(shared.iter().all(|value| value.load(Relaxed) == 0));
        std::thread::scope(|scope| scope.spawn(|| shared[999].store(7, Relaxed)).join().unwrap());
        assert_eq!((shared.len(), shared[999].load(Relaxed)), (1000, 7));
        assert!(Shared::<AtomicU64>::new(usize::MAX).is_err());
    }
}
