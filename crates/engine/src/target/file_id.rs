//! The identity of a file, valid longer than its name and its number.
//!
//! A file's number (inode) is reused as soon as the file is removed, and the number of its file system (device) may change with
//! the next mount. Never reused are the time of birth in nanoseconds (`statx`) and the kernel's handle for file servers, which
//! holds the inode's generation (`name_to_handle_at`). Both are only compared for equality, so no clock has to be right. On a
//! file system with neither, the identity stays unproven.

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, fstat, statx};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

/// Maximum size of a handle, in bytes (`MAX_HANDLE_SZ`).
const HANDLE_BYTES: usize = 128;

/// The identity of a file, different from every other file's at any time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileId {
    /// Number of the file system, until it is mounted again.
    device: u64,
    /// Number of the file on it.
    inode: u64,
    /// Time of birth, in nanoseconds since 1970; none if the file system does not record it.
    born_ns: Option<i64>,
    /// The kernel's handle in hexadecimal, its type first; none on a file system without handles.
    handle: Option<String>,
}

/// Whether two are one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sameness {
    /// They are one file.
    Same,
    /// They are two files.
    Other,
    /// The file system does not allow either conclusion.
    Unproven,
}

impl FileId {
    /// Of an open file or directory.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn of(file: impl AsFd) -> io::Result<FileId> {
        let file = file.as_fd();
        let status = fstat(file)?;
        Ok(FileId { device: status.st_dev, inode: status.st_ino, born_ns: born_ns(file), handle: handle(file) })
    }

    /// Of the file at a path, following links.
    ///
    /// # Errors
    /// If there is no file, or it cannot be examined.
    pub fn at(path: &Path) -> io::Result<FileId> {
        FileId::of(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// Whether both identify one file.
    pub fn compare(&self, other: &FileId) -> Sameness {
        if self.born_ns.zip(other.born_ns).is_some_and(|(one, other)| one != other) {
            return Sameness::Other;
        }
        // Either of them alone is unique on its file system only.
        let is_unique = match (&self.born_ns, &self.handle) {
            (Some(_), Some(_)) => true,
            (None, None) => false,
            _ => self.device == other.device,
        };
        let is_equal = (self.inode, self.born_ns, &self.handle) == (other.inode, other.born_ns, &other.handle);
        if is_unique && is_equal { Sameness::Same } else { Sameness::Unproven }
    }
}

fn born_ns(file: BorrowedFd<'_>) -> Option<i64> {
    let facts = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
    let is_known = StatxFlags::from_bits_retain(facts.stx_mask).contains(StatxFlags::BTIME);
    let time = is_known.then_some(facts.stx_btime)?;
    time.tv_sec.checked_mul(1_000_000_000)?.checked_add(i64::from(time.tv_nsec))
}

/// The kernel's `struct file_handle`.
#[repr(C)]
struct Handle {
    length: u32,
    kind: i32,
    bytes: [u8; HANDLE_BYTES],
}

fn handle(file: BorrowedFd<'_>) -> Option<String> {
    let mut handle = Handle { length: HANDLE_BYTES as u32, kind: 0, bytes: [0; HANDLE_BYTES] };
    let mut mount = 0_i32;
    // SAFETY: the name is an empty C string, `handle` has room for the `length` bytes in it, `mount` for an int, and all of
    // them outlive the call.
    let status = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            file.as_raw_fd(),
            c"".as_ptr(),
            &raw mut handle,
            &raw mut mount,
            libc::AT_EMPTY_PATH,
        )
    };
    let bytes = handle.bytes.get(..handle.length as usize).filter(|_| status == 0)?;
    let mut text = format!("{:x}:", handle.kind);
    bytes.iter().try_for_each(|byte| write!(text, "{byte:02x}")).ok()?;
    Some(text)
}

/// Opens a file by its name without following links, so that its number is not reused meanwhile. It reads and writes nothing, and
/// does not wait.
///
/// # Errors
/// If there is no file, or it cannot be examined.
pub(super) fn pin(path: &Path) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(inode: u64, born_ns: Option<i64>, handle: Option<&str>) -> FileId {
        FileId { device: 7, inode, born_ns, handle: handle.map(str::to_owned) }
    }

    #[test]
    fn only_unique_parts_prove_an_identity() {
        let noted = id(5, Some(99), Some("1:aa"));
        let elsewhere = FileId { device: 8, ..noted.clone() };
        assert_eq!(noted.compare(&elsewhere), Sameness::Same, "mounted again, with another number");
        assert_eq!(noted.compare(&id(5, Some(98), Some("1:aa"))), Sameness::Other);
        assert_eq!(noted.compare(&id(5, Some(99), Some("1:ab"))), Sameness::Unproven);
        assert_eq!(noted.compare(&id(6, Some(99), Some("1:aa"))), Sameness::Unproven);
        assert_eq!(id(5, None, None).compare(&id(5, None, None)), Sameness::Unproven, "the number alone");
        for one in [id(5, Some(99), None), id(5, None, Some("1:aa"))] {
            assert_eq!(one.compare(&one), Sameness::Same);
            let elsewhere = FileId { device: 8, ..one.clone() };
            assert_eq!(one.compare(&elsewhere), Sameness::Unproven);
        }
    }

    #[test]
    fn a_reused_number_is_another_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for _ in 0..200 {
            std::fs::write(&path, "ours").unwrap();
            let ours = FileId::at(&path).unwrap();
            assert_eq!(ours.compare(&FileId::at(&path).unwrap()), Sameness::Same);
            assert_eq!(serde_json::from_str::<FileId>(&serde_json::to_string(&ours).unwrap()).unwrap(), ours);
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, "theirs").unwrap();
            let theirs = FileId::at(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            if ours.inode == theirs.inode {
                assert_ne!(ours.compare(&theirs), Sameness::Same, "{ours:?} {theirs:?}");
                return;
            }
        }
        eprintln!("skipped: this file system does not use numbers again at once");
    }
}
