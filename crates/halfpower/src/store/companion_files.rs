//! Files beside a store: SQLite's own files, which it deletes, overwrites and replays by name, and claim files. Any
//! other file with such a name is rejected and left unchanged.
//!
//! Forms: <https://sqlite.org/fileformat2.html> (journal, write-ahead log), <https://sqlite.org/walformat.html> (its index).

use super::error::StoreError;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const JOURNAL: &str = "-journal";
const LOG: &str = "-wal";
const LOG_INDEX: &str = "-shm";

/// First bytes of a journal.
const JOURNAL_MARK: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// First bytes of a write-ahead log, with the checksums of either byte order.
const LOG_MARKS: [[u8; 4]; 2] = [[0x37, 0x7f, 0x06, 0x82], [0x37, 0x7f, 0x06, 0x83]];
/// First bytes of the index of a log: its version.
const LOG_INDEX_MARK: [u8; 4] = 3_007_000_u32.to_ne_bytes();

/// The journal mode in the database's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Journalling {
    /// A rollback journal; only another program sets this mode.
    Rollback,
    /// A write-ahead log.
    WriteAhead,
}

/// The path of a file beside the store: its name and a suffix.
pub(super) fn beside(store: &Path, suffix: impl AsRef<OsStr>) -> PathBuf {
    let mut path = OsString::from(store);
    path.push(suffix);
    path.into()
}

/// Rejects a new store beside files that SQLite would use as its own.
///
/// # Errors
/// The first such file.
pub(super) fn refuse_beside_new(store: &Path) -> Result<(), StoreError> {
    let its_own = [JOURNAL, LOG, LOG_INDEX].map(|suffix| beside(store, suffix));
    let taken = its_own.into_iter().find(|path| path.symlink_metadata().is_ok()).or_else(|| claims_beside(store));
    taken.map_or(Ok(()), |path| Err(StoreError::Beside { path, store: store.into() }))
}

/// Rejects an existing store beside files that SQLite would use as its own.
///
/// # Errors
/// The first such file, or a file that cannot be read.
pub(super) fn refuse_beside(store: &Path, journalling: Journalling) -> Result<(), StoreError> {
    for (suffix, is_own) in [
        (JOURNAL, (|start: &[u8]| JOURNAL_MARK.starts_with(start)) as fn(&[u8]) -> bool),
        (LOG, |start| start.is_empty() || LOG_MARKS.iter().any(|mark| start.starts_with(mark))),
        (LOG_INDEX, |start| {
            let start = &start[..start.len().min(LOG_INDEX_MARK.len())];
            start.iter().all(|byte| *byte == 0) || LOG_INDEX_MARK.starts_with(start)
        }),
    ] {
        let path = beside(store, suffix);
        let start = match read_start(&path) {
            Ok(start) => start,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(StoreError::File { action: "read", path, source }),
        };
        let may_be = suffix != JOURNAL || journalling == Journalling::Rollback;
        if !may_be || !start.is_some_and(|start| is_own(&start)) {
            return Err(StoreError::Beside { path, store: store.into() });
        }
    }
    Ok(())
}

/// The first bytes of a regular file; none for another kind of file. Never waits.
fn read_start(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open_regular(OpenOptions::new().read(true), path)? else { return Ok(None) };
    let mut start = Vec::new();
    file.take(JOURNAL_MARK.len() as u64).read_to_end(&mut start)?;
    Ok(Some(start))
}

/// Opens a regular file, without following links or waiting; none for another kind of file.
pub(super) fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<Option<File>> {
    use rustix::fs::OFlags;
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    match options.custom_flags(flags.cast_signed()).open(path) {
        Ok(file) => Ok(file.metadata()?.is_file().then_some(file)),
        // A link, a directory, a socket, or a pipe without a reader.
        Err(error) if is_something_else(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_something_else(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errno = Errno::from_io_error(error);
    [Errno::LOOP, Errno::ISDIR, Errno::NXIO].map(Some).contains(&errno)
}

/// A file with the name of a claim of this store.
fn claims_beside(store: &Path) -> Option<PathBuf> {
    let directory = store.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = store.file_name()?.as_bytes();
    let is_claim = |other: &OsString| {
        let claim = other.as_bytes().strip_prefix(name).and_then(|rest| rest.strip_suffix(b".lock"));
        let number = claim.and_then(|claim| claim.strip_prefix(b".run-").or_else(|| claim.strip_prefix(b".file-")));
        number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
    };
    let names = std::fs::read_dir(directory).ok()?.flatten().map(|entry| entry.file_name());
    names.into_iter().find(is_claim).map(|name| directory.join(name))
}
