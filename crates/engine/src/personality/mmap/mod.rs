//! A mapping of each target: a read copies out of it, a write into it, a flush is an msync.
//!
//! One transfer at a time. Page faults are part of the measurement, and so is a write that first reads its page; no page is loaded
//! beforehand. The kernel gets advice about the order (MADV_RANDOM, MADV_SEQUENTIAL), as by fio's engine of the same name.
//!
//! If a page is missing (the file was truncated, its device fails, its file system is full below a hole), the transfer is
//! repeated by pread or pwrite, because a fault has no error number. Direct buffering is rejected, and so are growing files:
//! no mapping extends a file.

mod fault;

use super::control::Control;
use super::interface::{Granted, Setup, Transfer, failed, moved};
use super::sync;
use super::synchronous::Synchronous;
use crate::mapping;
use crate::target::Opened;
use halfpower_model::stream::RequestKind;
use halfpower_model::{Layout, Pattern, Workload};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};
use std::ffi::c_void;
use std::io;

pub(crate) struct Mmap {
    mappings: Vec<Mapping>,
    control: Control,
    /// Whether each write is on the medium before it comes back.
    through: bool,
}

/// A target and its mapping.
struct Mapping {
    target: Opened,
    memory: mapping::Mapping,
    length: usize,
    protection: ProtFlags,
    advice: Option<Advice>,
}

impl Synchronous for Mmap {
    fn open(setup: Setup<'_>) -> io::Result<(Self, Granted)> {
        fault::install()?;
        let workload = setup.workload;
        let targets = setup.own_targets()?.into_iter();
        let mappings = targets.map(|target| Mapping::new(target, workload)).collect::<io::Result<Vec<_>>>()?;
        let advice = mappings.first().and_then(|mapping| mapping.advice);
        let word = match advice {
            Some(Advice::Random) => Some("madvise_random"),
            Some(_) => Some("madvise_sequential"),
            None => None,
        };
        let mmap = Mmap { mappings, control: Control::of(workload), through: workload.buffering.is_through() };
        Ok((mmap, Granted::of(word)))
    }

    #[inline]
    unsafe fn transfer(&mut self, transfer: &Transfer) -> i32 {
        let mapping = &self.mappings[usize::from(transfer.target)];
        let result = match transfer.kind {
            RequestKind::Read | RequestKind::Write => {
                // SAFETY: the caller's promise.
                unsafe { mapping.copy(self.control, transfer) }.unwrap_or_else(|error| failed(&error))
            }
            RequestKind::Flush => mapping.sync(0, mapping.length),
            RequestKind::Trim => self.control.run(&mapping.target, transfer),
        };
        if self.through && transfer.kind == RequestKind::Write && result > 0 {
            let synced = mapping.sync(transfer.offset as usize, result as usize);
            return if synced < 0 { synced } else { result };
        }
        result
    }
}

impl Mapping {
    fn new(target: Opened, workload: &Workload) -> io::Result<Self> {
        // Volumes of several targets use all of each; with one target per volume, no request exceeds the span.
        let most = if workload.layout == Layout::Each { workload.span.min(target.size) } else { target.size };
        let refused = |error: &dyn std::fmt::Display, remedy: &str| {
            io::Error::other(format!("cannot map {most} of the target ({error}); {remedy}"))
        };
        const TOO_MUCH: &str = "use a smaller --size or fewer workers";
        let length = usize::try_from(most.0).map_err(|error| refused(&error, TOO_MUCH))?;
        let mut protection = ProtFlags::READ;
        protection.set(ProtFlags::WRITE, workload.operation.destroys());
        let memory = mapping::Mapping::shared(&target.file, length, 0, protection, MapFlags::empty());
        let memory = memory.map_err(|error| {
            let remedy = match error {
                Errno::NODEV => "its file system does not support mmap: use another --personality",
                Errno::ACCESS | Errno::PERM => {
                    "no permission to map it for this access: use another --personality or target"
                }
                _ => TOO_MUCH,
            };
            refused(&error, remedy)
        })?;
        let advice = match workload.pattern {
            Pattern::Sequential => Some(Advice::Sequential),
            pattern if pattern.is_ordered() => None,
            _ => Some(Advice::Random),
        };
        let mut mapping = Mapping { target, memory, length, protection, advice };
        if !mapping.advise(0, length) {
            mapping.advice = None;
        }
        Ok(mapping)
    }

    /// Address of a byte. The caller is responsible for the offset: beyond the mapping it is invalid.
    #[inline]
    fn address(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.length);
        self.memory.base().as_ptr().wrapping_add(offset)
    }

    /// Advises the kernel of the order of requests; returns whether it accepts.
    fn advise(&self, from: usize, length: usize) -> bool {
        // SAFETY: the range lies in the mapping, and the advice changes no byte of it.
        let is_taken = |advice| unsafe { madvise(self.address(from).cast(), length, advice) }.is_ok();
        self.advice.is_some_and(is_taken)
    }

    /// Reads or writes; returns the result of the completion.
    ///
    /// # Safety
    /// As for [`Synchronous::transfer`].
    #[inline]
    unsafe fn copy(&self, control: Control, transfer: &Transfer) -> io::Result<i32> {
        let length = transfer.length as usize;
        if length > self.length || transfer.offset > (self.length - length) as u64 {
            // SAFETY: the caller's promise.
            return Ok(unsafe { sync::call(control, &self.target, transfer) });
        }
        let mapped = self.address(transfer.offset as usize);
        let is_whole = match transfer.kind {
            // SAFETY: the mapped side lies in the mapping, the other is kept for the transfer until it comes back.
            RequestKind::Write => unsafe { fault::copy(transfer.address, mapped, length, mapped) },
            // SAFETY: the same.
            _ => unsafe { fault::copy(mapped, transfer.address, length, mapped) },
        };
        // SAFETY: the caller's promise, and the range was checked above.
        if is_whole { Ok(transfer.length as i32) } else { unsafe { self.again(control, transfer) } }
    }

    /// Maps the file again in place of zeros, and repeats the transfer by a system call for its error.
    ///
    /// # Safety
    /// As for [`Synchronous::transfer`], and the transfer lies in the mapping.
    #[cold]
    unsafe fn again(&self, control: Control, transfer: &Transfer) -> io::Result<i32> {
        let (first, length) = self.pages(transfer.offset as usize, transfer.length as usize);
        let (place, file) = (self.address(first).cast::<c_void>(), &self.target.file);
        // SAFETY: the range lies in this mapping, which only this worker uses, and gets its earlier contents.
        unsafe { mmap(place, length, self.protection, MapFlags::SHARED | MapFlags::FIXED, file, first as u64) }?;
        self.advise(first, length);
        // SAFETY: the caller's promise.
        Ok(unsafe { sync::call(control, &self.target, transfer) })
    }

    /// Writes changed pages to the medium.
    fn sync(&self, from: usize, length: usize) -> i32 {
        let (first, length) = self.pages(from, length);
        // SAFETY: the range lies in the mapping, and nothing of it is changed.
        moved(unsafe { libc::msync(self.address(first).cast(), length, libc::MS_SYNC) } as isize)
    }

    /// The whole pages of a range, whose last may be the file's own last and so not whole.
    fn pages(&self, from: usize, length: usize) -> (usize, usize) {
        let first = from - from % rustix::param::page_size();
        (first, from + length - first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::Bytes;

    #[test]
    fn an_impossible_mapping_is_rejected_with_the_remedy() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(4096).unwrap();
        let writes =
            Workload { span: Bytes(4096), operation: halfpower_model::Operation::Write, ..Workload::default() };
        let reads = Workload { span: Bytes(4096), ..Workload::default() };
        let refusal = |path: &std::path::Path, workload: &Workload| {
            Mapping::new(Opened::of(std::fs::File::open(path).unwrap()), workload).map(drop).unwrap_err().to_string()
        };
        let message = refusal(file.path(), &writes);
        assert!(message.contains("no permission to map it for this access: use another --personality"), "{message}");
        // No file of sysfs that is text can be mapped.
        let message = refusal(std::path::Path::new("/sys/devices/system/cpu/online"), &reads);
        assert!(message.contains("does not support mmap: use another --personality"), "{message}");
    }

    #[test]
    fn after_a_fault_the_file_is_back_in_its_place() {
        fault::install().unwrap();
        let file = tempfile::tempfile().unwrap();
        file.set_len(64 << 10).unwrap();
        let target = Opened::of(file.try_clone().unwrap());
        let mapping = Mapping::new(target, &Workload { span: Bytes(64 << 10), ..Workload::default() }).unwrap();
        let mut bytes = vec![1; 64 << 10];
        let (address, length) = (bytes.as_mut_ptr(), 16 << 10);
        let read = Transfer { tag: 0, length, offset: 5000, address, target: 0, kind: RequestKind::Read };
        // SAFETY: the transfer's bytes are the vector's, which is longer and not used meanwhile.
        let copy = || unsafe { mapping.copy(Control::Fsync, &read) }.unwrap();
        assert_eq!(copy(), 16 << 10);
        file.set_len(9096).unwrap();
        assert_eq!(copy(), 4096, "as much as there is");
        file.set_len(0).unwrap();
        assert_eq!(copy(), 0, "the end, as by pread");
        std::os::unix::fs::FileExt::write_all_at(&file, &[9; 64 << 10], 0).unwrap();
        assert_eq!(copy(), 16 << 10);
        assert!(bytes[..16 << 10].iter().all(|byte| *byte == 9), "nothing but the file's own bytes");
    }
}
