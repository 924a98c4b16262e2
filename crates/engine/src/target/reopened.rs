//! A target opened again with other flags, for a workload and for each worker.

use crate::network::Name;
use crate::system::filesystem::whole_disk;
use crate::system::{Root, numbers};
use halfpower_model::{Buffering, Bytes, TargetKind};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A target opened again for a workload, with its buffering.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Opened<F = File> {
    pub(crate) file: F,
    pub(crate) kind: TargetKind,
    pub(crate) size: Bytes,
    /// Of open(2).
    pub(super) flags: u32,
}

/// A target of a workload: a file or device that is open for it, or a volume of a server, to which each worker connects.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum OpenTarget<F = File> {
    File(Opened<F>),
    Remote(Name),
}

impl<F> OpenTarget<F> {
    /// The open file or device.
    ///
    /// # Errors
    /// If it is a volume of a server.
    pub(crate) fn file(&self) -> io::Result<&Opened<F>> {
        match self {
            OpenTarget::File(file) => Ok(file),
            OpenTarget::Remote(name) => Err(io::Error::other(format!("{} is no file of this host", name.text))),
        }
    }

    /// The name of a server's volume; none of a file or device.
    pub(crate) fn name_mut(&mut self) -> Option<&mut Name> {
        match self {
            OpenTarget::File(_) => None,
            OpenTarget::Remote(name) => Some(name),
        }
    }

    /// The volume of a server.
    ///
    /// # Errors
    /// If it is a file or device.
    pub(crate) fn name(&self) -> io::Result<&Name> {
        match self {
            OpenTarget::File(_) => Err(io::Error::other("a file or device of this host is no volume of a server")),
            OpenTarget::Remote(name) => Ok(name),
        }
    }
}

impl OpenTarget {
    /// A handle for another process.
    pub(crate) fn handle(&self) -> OpenTarget<RawFd> {
        match self {
            OpenTarget::File(file) => OpenTarget::File(file.handle()),
            OpenTarget::Remote(name) => OpenTarget::Remote(name.clone()),
        }
    }

    /// The target of the process that started this one.
    ///
    /// # Safety
    /// As [`Opened::attach`].
    pub(crate) unsafe fn attach(handle: OpenTarget<RawFd>) -> OpenTarget {
        match handle {
            // SAFETY: the caller's promise.
            OpenTarget::File(file) => OpenTarget::File(unsafe { Opened::attach(file) }),
            OpenTarget::Remote(name) => OpenTarget::Remote(name),
        }
    }
}

impl Opened {
    /// A handle for another process.
    pub(crate) fn handle(&self) -> Opened<RawFd> {
        Opened { file: self.file.as_raw_fd(), kind: self.kind, size: self.size, flags: self.flags }
    }

    /// The target of the process that started this one.
    ///
    /// # Safety
    /// This process has inherited the descriptor, which has no other owner here.
    pub(crate) unsafe fn attach(handle: Opened<RawFd>) -> Opened {
        // SAFETY: the caller passes its ownership.
        let file = unsafe { File::from_raw_fd(handle.file) };
        Opened { file, kind: handle.kind, size: handle.size, flags: handle.flags }
    }

    /// A plain file that a test has open for reading and writing.
    #[cfg(test)]
    pub(crate) fn of(file: File) -> Opened {
        let size = Bytes(file.metadata().map_or(0, |metadata| metadata.len()));
        Opened { file, kind: TargetKind::File, size, flags: (OFlags::RDWR | OFlags::CLOEXEC).bits() }
    }

    /// The directory in sysfs of the disk below, which has the queue of its partitions too.
    pub(crate) fn disk(&self) -> Option<PathBuf> {
        let facts = self.file.metadata().ok()?;
        let number = if self.kind == TargetKind::BlockDevice { facts.rdev() } else { facts.dev() };
        Some(whole_disk(&Root::host().device(numbers(number))?))
    }

    /// Opens it again, as another program would, with its own position of read-ahead.
    pub(crate) fn reopen(&self) -> io::Result<Opened> {
        let file = open_again(&self.file, OFlags::from_bits_retain(self.flags))?;
        Ok(Opened { file, ..*self })
    }
}

pub(super) fn flags_for(write: bool, buffering: Buffering) -> OFlags {
    let mut flags = OFlags::CLOEXEC;
    flags |= if write { OFlags::RDWR } else { OFlags::RDONLY };
    if buffering.is_direct() {
        flags |= OFlags::DIRECT;
    }
    if buffering.is_through() {
        flags |= OFlags::DSYNC;
    }
    flags
}

/// Reads through this descriptor do not change the access time, if the file is ours.
pub(super) fn leave_no_trace(file: &File) {
    // Only the owner may; other users' reads change it.
    let _ = rustix::fs::fcntl_getfl(file).and_then(|flags| rustix::fs::fcntl_setfl(file, flags | OFlags::NOATIME));
}

/// Opens the file of a descriptor again; without changes of the access time if permitted, as fio does, because these would be
/// writes.
pub(super) fn open_again(file: &File, flags: OFlags) -> io::Result<File> {
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let open = |flags| rustix::fs::open(&path, flags, rustix::fs::Mode::empty());
    // Only the owner may use O_NOATIME.
    let opened = open(flags | OFlags::NOATIME).or_else(|_| open(flags));
    Ok(File::from(opened?))
}
