//! Which file it is, for longer than its name and its number last.
//!
//! A file's number (inode) is given out again as soon as the file is gone, and the number of its file system (device)
//! may be another one after the next mount. What is never used twice is the time of birth to the nanosecond (`statx`)
//! and the handle that the kernel makes for file servers, which holds the inode's generation (`name_to_handle_at`).
//! Both are only compared for being equal, so no clock has to be right. A file system that has neither leaves it
//! unproven whether two files are one.

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, fstat, statx};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

/// The most bytes of a handle (`MAX_HANDLE_SZ`).
const HANDLE_BYTES: usize = 128;

/// What tells a file from every other one there was or will be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileId {
    /// Number of the file system, until it is mounted again.
    device: u64,
    /// Number of the file on it.
    inode: u64,
    /// When it was made, in nanoseconds since 1970; none where the file system does not keep that.
    born_ns: Option<i64>,
    /// The kernel's handle in hexadecimal, its type first; none where there is none.
    handle: Option<String>,
}

/// Whether two are one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sameness {
    /// It is the very file.
    Same,
    /// It is another one.
    Other,
    /// Nothing is there that could prove either.
    Unproven,
}

impl FileId {
    /// Of an open file or directory.
    ///
    /// # Errors
    /// When the file system fails.
    pub fn of(file: impl AsFd) -> io::Result<FileId> {
        let file = file.as_fd();
        let status = fstat(file)?;
        Ok(FileId { device: status.st_dev, inode: status.st_ino, born_ns: born_ns(file), handle: handle(file) })
    }

    /// Of what lies at a path, links followed.
    ///
    /// # Errors
    /// When nothing is there, or it cannot be looked at.
    pub fn at(path: &Path) -> io::Result<FileId> {
        FileId::of(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// Whether this is that file.
    pub fn compare(&self, other: &FileId) -> Sameness {
        if self.born_ns.zip(other.born_ns).is_some_and(|(one, other)| one != other) {
            return Sameness::Other;
        }
        // Without the one, the other is unique on its own file system only.
        let is_told = match (&self.born_ns, &self.handle) {
            (Some(_), Some(_)) => true,
            (None, None) => false,
            _ => self.device == other.device,
        };
        let is_equal = (self.inode, self.born_ns, &self.handle) == (other.inode, other.born_ns, &other.handle);
        if is_told && is_equal { Sameness::Same } else { Sameness::Unproven }
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
    // SAFETY: the name is an empty C string, `handle` has room for the `length` bytes that it says, `mount` for an int,
    // and all of them outlive the call.
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

/// Opens what bears a name, so that its number is not given out again meanwhile; links are not followed. Nothing is
/// read, written or waited for.
///
/// # Errors
/// When nothing is there, or it cannot be looked at.
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
    fn only_what_is_never_used_twice_proves_anything() {
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
    fn a_number_that_is_used_again_is_another_file() {
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
