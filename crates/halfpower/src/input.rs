//! Opens the files that the user names for reading: studies and their includes, machines, results of other programs.
//!
//! A file is opened without waiting (O_NONBLOCK) and checked after it is open, so pipes, devices and terminals do not
//! block, and the checked file is the one that is read. Only regular files are read, up to a limit. The exception is a
//! stream of the program, /dev/stdin or /dev/fd/N: it is read to its end, up to the same limit.

use halfpower_model::Bytes;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use std::fs::{File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Maximum size of a study or machine file; their parsers have lower limits.
const MOST_TEXT: u64 = 16 << 20;

/// Number of reads of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    /// Once, so it may be a stream.
    Once,
    /// Several times.
    Several,
}

/// An open file, or a stream of the program.
#[derive(Debug)]
pub(crate) struct Input {
    file: File,
    is_stream: bool,
    /// Size of the file when it was opened; meaningless for a stream.
    length: u64,
}

impl Input {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be opened, or is not a regular file; with the remedy.
    pub(crate) fn open(path: &Path, times: Times) -> io::Result<Input> {
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let facts = file.metadata()?;
        let is_stream = !facts.is_file() && times == Times::Once && is_own_stream(path);
        if !facts.is_file() && !is_stream {
            return Err(io::Error::other(not_regular(facts.file_type(), times)));
        }
        Ok(Input { file, is_stream, length: facts.len() })
    }

    /// The rest of the file, after `begin`; at most `most` bytes together.
    ///
    /// # Errors
    /// If it is larger, or cannot be read; with the remedy.
    pub(crate) fn read_up_to(&mut self, most: u64, begin: Vec<u8>) -> io::Result<Vec<u8>> {
        let too_large = || {
            let most = Bytes(most);
            io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {most}; split it, or name another file"))
        };
        if self.length > most {
            return Err(too_large());
        }
        let mut bytes = begin;
        // Some files have no known size, and others grow.
        let left = (most + 1).saturating_sub(bytes.len() as u64);
        self.take(left).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
    }
}

impl Read for Input {
    /// Waits for data of a stream.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.is_stream => {
                    poll(&mut [PollFd::new(&self.file, PollFlags::IN)], None)
                        .or_else(|error| if error == rustix::io::Errno::INTR { Ok(0) } else { Err(error) })?;
                }
                result => return result,
            }
        }
    }
}

/// The contents of a file, at most `most` bytes.
///
/// # Errors
/// If it cannot be opened or read, is not a regular file, or is larger; with the remedy.
pub(crate) fn read(path: &Path, most: u64, times: Times) -> io::Result<Vec<u8>> {
    Input::open(path, times)?.read_up_to(most, Vec::new())
}

/// The text of a study or machine file.
///
/// # Errors
/// As [`read`], and if it is not UTF-8.
pub(crate) fn read_text(path: &Path, times: Times) -> io::Result<String> {
    let text = String::from_utf8(read(path, MOST_TEXT, times)?);
    text.map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text; convert it, or name another file"))
}

/// Whether a path names a stream of the program.
fn is_own_stream(path: &Path) -> bool {
    let number = |folder: &str| path.strip_prefix(folder).ok()?.to_str()?.parse::<u32>().ok();
    path == Path::new("/dev/stdin") || number("/dev/fd").or_else(|| number("/proc/self/fd")).is_some()
}

fn not_regular(kind: FileType, times: Times) -> String {
    let (what, remedy) = match (kind.is_dir(), kind.is_fifo(), times) {
        (true, ..) => ("a directory", "name a file in it"),
        (_, true, Times::Once) => ("a pipe", "write it into a file, or redirect it and name /dev/stdin"),
        (_, true, Times::Several) => ("a pipe, and it is read more than once", "write it into a file"),
        _ if kind.is_socket() => ("a socket", "name a regular file"),
        _ => ("a device", "name a regular file"),
    };
    format!("it is {what}; {remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_longer_than_the_bound_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5, Times::Once).unwrap(), b"12345");
        let error = read(&file, 4, Times::Once).unwrap_err().to_string();
        assert_eq!(error, "it has more than 4 B; split it, or name another file");
        // The kernel reports no size for it.
        assert!(read(Path::new("/proc/self/maps"), 4, Times::Once).unwrap_err().to_string().contains("more than 4 B"));
    }

    #[test]
    fn only_streams_of_our_own_are_read() {
        for (path, is_own) in [
            ("/dev/stdin", true),
            ("/dev/fd/3", true),
            ("/proc/self/fd/0", true),
            ("/dev/zero", false),
            ("/dev/fd/../zero", false),
            ("/dev/fd/x", false),
            ("stdin", false),
        ] {
            assert_eq!(is_own_stream(Path::new(path)), is_own, "{path}");
        }
    }
}
