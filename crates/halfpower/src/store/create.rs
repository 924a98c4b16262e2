//! Creating a store. The image is built in memory and linked to its name as a whole. So a killed program leaves a
//! complete store or none, and no existing file is replaced.

use super::error::StoreError;
use super::schema::make_tables;
use rusqlite::{Connection, MAIN_DB};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat_with};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Bytes of the header with the read and write version; a write-ahead log sets both.
const JOURNALLING: std::ops::RangeInclusive<usize> = 18..=19;
const WRITE_AHEAD: u8 = 2;
const MODE: u32 = 0o644;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Creates an empty store, unless the file exists by then.
///
/// # Errors
/// If it cannot be written; then nothing of it stays.
pub(super) fn create(path: &Path) -> Result<(), StoreError> {
    let made = image().map_err(Cause::from).and_then(|image| put(path, &image).map_err(Cause::from));
    made.map_err(|source| StoreError::Open { path: path.into(), source })
}

/// The bytes of an empty store.
fn image() -> rusqlite::Result<Vec<u8>> {
    let mut connection = Connection::open_in_memory()?;
    // So that removing a run can return its space.
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    make_tables(&connection)?;
    let mut image = connection.serialize(MAIN_DB)?.to_vec();
    if let Some(journalling) = image.get_mut(JOURNALLING) {
        journalling.fill(WRITE_AHEAD);
    }
    Ok(image)
}

/// Writes a file to the medium as a whole, or not at all; an existing file stays.
pub(super) fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = File::open(parent)?;
    let write = |mut file: &File| file.write_all(content).and_then(|()| file.sync_all());
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let put = match openat(&folder, ".", flags, Mode::from_raw_mode(MODE)).map(File::from) {
        Ok(file) => {
            write(&file)?;
            linkat(CWD, format!("/proc/self/fd/{}", file.as_raw_fd()), CWD, path, AtFlags::SYMLINK_FOLLOW)
        }
        // This file system has no unnamed files.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            let temporary = super::companion_files::beside(path, format!(".new-{}", std::process::id()));
            let file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&temporary)?;
            let renamed = write(&file)
                .and_then(|()| Ok(renameat_with(CWD, &temporary, CWD, path, RenameFlags::NOREPLACE)?))
                .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
            if renamed.is_err() {
                // The first error is more useful than one of the clean-up.
                let _ = std::fs::remove_file(&temporary);
            }
            renamed
        }
        Err(error) => Err(error),
    };
    match put {
        Ok(()) => folder.sync_all(),
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
