//! Making a store: it is built in memory and put where it belongs whole, so that a program that is killed leaves a store
//! or nothing, and a file that is there is never replaced.

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

/// Where the header of a database says how it is written and read, and what is there with a write-ahead log.
const JOURNALLING: std::ops::RangeInclusive<usize> = 18..=19;
const WRITE_AHEAD: u8 = 2;
const MODE: u32 = 0o644;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Makes an empty store, unless something is there by now.
///
/// # Errors
/// When it cannot be written; nothing of it is left then.
pub(super) fn create(path: &Path) -> Result<(), StoreError> {
    let made = image().map_err(Cause::from).and_then(|image| put(path, &image).map_err(Cause::from));
    made.map_err(|source| StoreError::Open { path: path.into(), source })
}

/// The bytes of an empty store.
fn image() -> rusqlite::Result<Vec<u8>> {
    let mut connection = Connection::open_in_memory()?;
    // So that removing a run can give its room back.
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    make_tables(&connection)?;
    let mut image = connection.serialize(MAIN_DB)?.to_vec();
    if let Some(journalling) = image.get_mut(JOURNALLING) {
        journalling.fill(WRITE_AHEAD);
    }
    Ok(image)
}

/// Writes a file whole to the medium, or not at all; one that is there stays.
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
        // There are no files without a name here.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            let temporary = super::companion_files::beside(path, format!(".new-{}", std::process::id()));
            let file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&temporary)?;
            let renamed = write(&file)
                .and_then(|()| Ok(renameat_with(CWD, &temporary, CWD, path, RenameFlags::NOREPLACE)?))
                .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
            if renamed.is_err() {
                // The first error says more than a failure to tidy up would.
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
