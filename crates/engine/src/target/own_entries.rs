//! What a run makes below its directory of small files: `w0/d0/f0` is the first file in the first directory of the first worker.
//!
//! Only such names are removed, links are never followed, and no other file system is entered. So what somebody else put there
//! stays, and the directory with it.

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, unlinkat};
use rustix::io::Errno;
use std::ffi::CString;
use std::io;
use std::os::fd::AsFd;

/// How a directory is opened: itself, not what a link leads to.
pub(crate) const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// The first letters of the names at each depth: workers, directories, files. A number follows.
const LETTERS: [u8; 3] = *b"wdf";

/// Removes everything below a directory that a run made.
///
/// # Errors
/// When the file system fails.
pub(super) fn remove_below(directory: impl AsFd) -> io::Result<()> {
    let device = fstat(&directory)?.st_dev;
    remove(directory.as_fd(), &LETTERS, device)
}

fn remove(directory: impl AsFd, letters: &[u8], device: u64) -> io::Result<()> {
    let [letter, deeper @ ..] = letters else { return Ok(()) };
    for (name, kind) in entries(&directory)? {
        let is_own = name.to_bytes().split_first().is_some_and(|(first, rest)| first == letter && is_number(rest));
        if !is_own {
            continue;
        }
        let flags = match (deeper, kind) {
            ([], FileType::RegularFile) => AtFlags::empty(),
            ([_, ..], FileType::Directory) => {
                let below = openat(&directory, &name, DIRECTORY, Mode::empty())?;
                if fstat(&below)?.st_dev == device {
                    remove(&below, deeper, device)?;
                }
                AtFlags::REMOVEDIR
            }
            _ => continue,
        };
        match unlinkat(&directory, &name, flags) {
            // Something of others is in it, or mounted on it.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::BUSY) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// Whether a directory has no entries.
///
/// # Errors
/// When it cannot be read.
pub(super) fn is_empty(directory: impl AsFd) -> io::Result<bool> {
    Ok(entries(directory)?.is_empty())
}

/// The names in a directory, each with its kind. It is opened anew, because it may have been opened without the right to read.
fn entries(directory: impl AsFd) -> io::Result<Vec<(CString, FileType)>> {
    let opened = openat(&directory, ".", DIRECTORY, Mode::empty())?;
    let mut found = Vec::new();
    for entry in Dir::new(opened)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            // Not every file system says.
            FileType::Unknown => {
                let status = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(status.st_mode)
            }
            kind => kind,
        };
        found.push((name.to_owned(), kind));
    }
    Ok(found)
}
