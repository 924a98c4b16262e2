//! Why a target cannot be used.

use crate::errno;
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags};
use std::fmt::Display;
use std::io;
use std::path::Path;

/// Why a target cannot be used. Each message ends with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// It is no target, or must not be used.
    #[error("{0}")]
    Rejected(String),
    /// It was cancelled while the file was being written.
    #[error("interrupted while {path} was being written")]
    Interrupted {
        /// The name.
        path: String,
    },
    /// Anything else the system reported.
    #[error("cannot {action} {path}")]
    System {
        /// The action.
        action: &'static str,
        /// Its path.
        path: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl TargetError {
    /// A target that another program uses, with the program and the remedy.
    pub(super) fn in_use(path: &Path, reason: impl Display) -> TargetError {
        TargetError::Rejected(format!("{} is not written: {reason}", path.display()))
    }

    /// A system error about a path, with the remedy of the usual cases.
    pub fn from_io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let (is_directory, attribute) = (path.is_dir(), attribute_of(path));
        let path = path.display().to_string();
        let limit = errno::limit_remedy(&source);
        TargetError::Rejected(match (source.raw_os_error(), attribute, limit) {
            (Some(libc::EPERM), Some((attribute, flag)), _) => {
                format!("{path} is {attribute} (chattr +{flag}); run `chattr -{flag}` on it, or name another target")
            }
            (_, _, Some(remedy)) => format!("cannot open {path}: too many open files; name fewer targets, or {remedy}"),
            (Some(libc::ENOENT), ..) => format!("{path} does not exist; name an existing file, device or directory"),
            (Some(libc::EACCES | libc::EPERM), ..) => {
                format!("no permission to {action} {path}; run as a user who has it, or name another target")
            }
            (Some(libc::EROFS), ..) if is_directory => format!(
                "{path} is on a read-only file system, where no test file can be made; name a path on one that can be \
                 written, or a file that is there, to read it"
            ),
            (Some(libc::EROFS), ..) => {
                format!("{path} is on a read-only file system; use reads only, or mount it writable")
            }
            (Some(libc::EISDIR), ..) => a_directory(&path),
            (Some(libc::ENOSPC | libc::EDQUOT), ..) => format!(
                "the file system of {path} is full; free some space, name another directory, or use a smaller --size"
            ),
            (Some(libc::EFBIG), ..) => {
                format!("{path} would exceed the largest allowed file; use a smaller --size, or raise ulimit -f")
            }
            (Some(libc::EBUSY), ..) => return TargetError::in_use(Path::new(&path), held("it")),
            (Some(libc::ETXTBSY), ..) => {
                return TargetError::in_use(Path::new(&path), "it is a running program; stop it first");
            }
            _ => return TargetError::System { action, path, source },
        })
    }
}

pub(super) fn a_directory(path: &str) -> String {
    format!(
        "{path} is a directory; name a file or device (`halfpower run` and `halfpower io` take directories, and make test \
         files there)"
    )
}

/// The attribute that prevents writes to a file, or new files in a directory, and its letter for chattr(1).
fn attribute_of(path: &Path) -> Option<(&'static str, char)> {
    let found = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS).ok()?.stx_attributes;
    let attributes = [(StatxAttributes::IMMUTABLE, "immutable", 'i'), (StatxAttributes::APPEND, "append-only", 'a')];
    let set = attributes.into_iter().find(|(attribute, ..)| found.contains(*attribute));
    set.map(|(_, name, flag)| (name, flag))
}

/// The message for a device that cannot be opened exclusively, without a user in the tree.
pub(super) fn held(device: &str) -> String {
    format!(
        "{device} is held exclusively by a mount in another container, a file system's journal, a volume manager or \
         another program; stop that first"
    )
}
