//! Memory that the threads of this process and the processes of its workers share: counters, cursors, flags.

use crate::mapping::Mapping;
use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags};
use serde::{Deserialize, Serialize};
use std::ffi::CStr;
use std::io;
use std::marker::PhantomData;
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Values that begin as zeros and are changed through shared references only.
///
/// # Safety
/// All bytes zero is a value of the type, it needs no drop, and several processes may use it at a time.
pub(crate) unsafe trait Zeroed: Sync {}

// SAFETY: zero is a number; atomics work on any memory that is shared.
unsafe impl Zeroed for AtomicU64 {}
// SAFETY: the same.
unsafe impl Zeroed for AtomicU32 {}

/// A slice of such values, zero at first. A page of it takes memory when it is first written.
#[derive(Debug)]
pub(crate) struct Shared<T> {
    mapping: Mapping,
    length: usize,
    memory: OwnedFd,
    owned: PhantomData<T>,
}

/// The same memory, for a process that inherits the descriptor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Handle {
    pub(crate) descriptor: RawFd,
    length: usize,
}

/// A file that is memory and has no name, empty.
///
/// # Errors
/// The kernel's.
pub(crate) fn memory_file(name: &CStr) -> io::Result<OwnedFd> {
    // Kernels before 6.3 do not know the flag, and some later ones ask for it.
    let noexec = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL);
    Ok(noexec.or_else(|_| memfd_create(name, MemfdFlags::CLOEXEC))?)
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
        let memory = memory_file(c"halfpower")?;
        ftruncate(&memory, Self::bytes(length)? as u64)?;
        Self::map(memory, length)
    }

    /// The memory as another process may attach it.
    pub(crate) fn handle(&self) -> Handle {
        Handle { descriptor: self.memory.as_raw_fd(), length: self.length }
    }

    /// The memory of the process that started this one.
    ///
    /// # Errors
    /// The kernel's, or when it is smaller than it should be.
    ///
    /// # Safety
    /// [`handle`](Shared::handle) of the same type gave it, this process has inherited the descriptor, and nobody else here
    /// owns that.
    pub(crate) unsafe fn attach(handle: Handle) -> io::Result<Self> {
        // SAFETY: the caller hands it over.
        let memory = unsafe { OwnedFd::from_raw_fd(handle.descriptor) };
        if (fstat(&memory)?.st_size as u64) < Self::bytes(handle.length)? as u64 {
            return Err(io::Error::other("shared memory is smaller than it should be"));
        }
        Self::map(memory, handle.length)
    }

    fn bytes(length: usize) -> io::Result<usize> {
        let too_much = || io::Error::new(io::ErrorKind::OutOfMemory, "more memory than an address can name");
        size_of::<T>().checked_mul(length.max(1)).filter(|bytes| *bytes <= isize::MAX as usize).ok_or_else(too_much)
    }

    fn map(memory: OwnedFd, length: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let mapping = Mapping::shared(&memory, Self::bytes(length)?, 0, access, MapFlags::empty())?;
        Ok(Shared { mapping, length, memory, owned: PhantomData })
    }
}

impl<T> Deref for Shared<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the mapping is page-aligned, holds `length` values that began as zeros, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.mapping.base().as_ptr().cast(), self.length) }
    }
}
