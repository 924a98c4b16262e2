//! Why a target cannot be used.

use crate::errno;
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags};
use std::io;
use std::path::Path;

/// Why a target cannot be used. Each message ends with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Nothing of that name.
    #[error("{path} does not exist; name an existing file, device or directory")]
    Missing {
        /// The name.
        path: String,
    },
    /// Not for this user.
    #[error("no permission to {action} {path}; run as a user who has it, or name another target")]
    Permission {
        /// `read` or `write`.
        action: &'static str,
        /// The name.
        path: String,
    },
    /// Protected by an attribute of the file system.
    #[error("{path} is {attribute} (chattr +{flag}); run `chattr -{flag}` on it, or name another target")]
    Protected {
        /// The file or directory.
        path: String,
        /// `immutable` or `append-only`.
        attribute: &'static str,
        /// The letter that chattr(1) takes.
        flag: char,
    },
    /// Mounted read-only, and there to be read.
    #[error("{path} is on a read-only file system; use reads only, or mount it writable")]
    ReadOnly {
        /// The name.
        path: String,
    },
    /// A block device that takes no writes.
    #[error("{path} is a read-only device; use reads only, or make it writable (blockdev --setrw {path})")]
    ReadOnlyDevice {
        /// The device.
        path: String,
    },
    /// Mounted read-only, where a file was to be made.
    #[error(
        "{path} is on a read-only file system, where no test file can be made; name a path on one that can be written, \
         or a file that is there, to read it"
    )]
    NothingMade {
        /// The directory.
        path: String,
    },
    /// What the kernel shows as files.
    #[error("{path} is not storage: {filesystem} is a virtual file system of the kernel; name a path on a disk")]
    NotStorage {
        /// The name.
        path: String,
        /// The type of the file system.
        filesystem: String,
    },
    /// Where the kernel keeps the names of devices, and a file was to be made.
    #[error(
        "{path} is where devices have their names (devtmpfs), and a file made there would be in memory; \
         check the device's name, or name a directory on a disk"
    )]
    AmongDevices {
        /// The directory.
        path: String,
    },
    /// A link that leads nowhere, where a file was to be made.
    #[error("{path} is a symbolic link to {leads}, which does not exist; name that file itself, or remove the link")]
    LinkToNothing {
        /// The link.
        path: String,
        /// Where it leads.
        leads: String,
    },
    /// The process may not have more files open.
    #[error("cannot open {path}: too many open files; {remedy}")]
    TooManyOpen {
        /// The name.
        path: String,
        /// What to do, with the limit.
        remedy: String,
    },
    /// No room left.
    #[error("the file system of {path} is full; free some space, name another directory, or use a smaller --size")]
    Full {
        /// The name.
        path: String,
    },
    /// Larger than a file may be.
    #[error("{path} would exceed the largest allowed file; use a smaller --size, or raise ulimit -f")]
    TooLarge {
        /// The name.
        path: String,
    },
    /// Somebody said stop while it was being made.
    #[error("interrupted while {path} was being written")]
    Interrupted {
        /// The name.
        path: String,
    },
    /// A directory where a file was wanted.
    #[error(
        "{path} is a directory; name a file or device (`halfpower run` and `halfpower io` take directories, and make test files there)"
    )]
    Directory {
        /// The name.
        path: String,
    },
    /// A socket, a pipe, a terminal.
    #[error("{path} is {kind}; name a regular file or a block device")]
    Kind {
        /// The name.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// A block device that somebody uses.
    #[error("{path} is not written: {reason}")]
    InUse {
        /// The name.
        path: String,
        /// By whom, and the remedy.
        reason: String,
    },
    /// A file that opening would take from another program.
    #[error("{path} is not read: {reason}")]
    NotRead {
        /// The name.
        path: String,
        /// By whom, and the remedy.
        reason: String,
    },
    /// Two targets that are one.
    #[error("{path} and {other} {relation}; name each target once")]
    Same {
        /// The one.
        path: String,
        /// The other.
        other: String,
        /// What they are to each other.
        relation: &'static str,
    },
    /// `null:` and others, or no target at all.
    #[error("a workload needs one or more files and devices, or null: alone; name those")]
    NotAlone,
    /// Descriptors cannot be opened anew.
    #[error("/proc is not mounted, and targets are opened through it; mount it (mount -t proc proc /proc)")]
    NoProc,
    /// Anything else the system said.
    #[error("cannot {action} {path}")]
    System {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: String,
        /// What it said.
        #[source]
        source: io::Error,
    },
}

impl TargetError {
    /// What the system said about opening or examining a path, as one of the cases people meet.
    pub fn from_io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let is_directory = path.is_dir();
        let attribute = attribute_of(path).filter(|_| source.raw_os_error() == Some(libc::EPERM));
        let path = path.display().to_string();
        if let Some((attribute, flag)) = attribute {
            return TargetError::Protected { path, attribute, flag };
        }
        if let Some(remedy) = errno::limit_remedy(&source) {
            return TargetError::TooManyOpen { path, remedy: format!("name fewer targets, or {remedy}") };
        }
        match source.raw_os_error() {
            Some(libc::ENOENT) => TargetError::Missing { path },
            Some(libc::EACCES | libc::EPERM) => TargetError::Permission { action, path },
            Some(libc::EROFS) if is_directory => TargetError::NothingMade { path },
            Some(libc::EROFS) => TargetError::ReadOnly { path },
            Some(libc::EISDIR) => TargetError::Directory { path },
            Some(libc::ENOSPC | libc::EDQUOT) => TargetError::Full { path },
            Some(libc::EFBIG) => TargetError::TooLarge { path },
            Some(libc::EBUSY) => TargetError::InUse { reason: held("it"), path },
            Some(libc::ETXTBSY) => {
                TargetError::InUse { path, reason: "it is a running program; stop it first".to_owned() }
            }
            _ => TargetError::System { action, path, source },
        }
    }
}

/// The attribute that lets nobody write a file, or make files in a directory, and its letter for chattr(1).
fn attribute_of(path: &Path) -> Option<(&'static str, char)> {
    let found = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS).ok()?.stx_attributes;
    let attributes = [(StatxAttributes::IMMUTABLE, "immutable", 'i'), (StatxAttributes::APPEND, "append-only", 'a')];
    let set = attributes.into_iter().find(|(attribute, ..)| found.contains(*attribute));
    set.map(|(_, name, flag)| (name, flag))
}

/// What to say of a device that cannot be opened exclusively, of which the tree names no user.
pub(super) fn held(device: &str) -> String {
    format!(
        "{device} is held exclusively by a mount in another container, a file system's journal, a volume manager or \
         another program; stop that first"
    )
}
