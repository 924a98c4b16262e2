//! Opening a store: its path, whether the file is a store, the settings of the connection, its version.
//!
//! The header is checked before SQLite opens the file. SQLite takes an empty file for an empty database, and even while
//! reading it rolls back, checkpoints and deletes files beside a database.

use super::claims::Claims;
use super::companion_files::{Journalling, beside, refuse_beside, refuse_beside_new};
use super::create::create;
use super::error::is_full;
use super::error::{During, StoreError};
use super::handle::Store;
use super::reserve::keep_reserve;
use super::schema::{APPLICATION_ID, VERSION, make_tables, version};
use crate::text::quoted;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::FallocateFlags;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Longest wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(10);

impl Store {
    /// The default path: `$XDG_DATA_HOME/halfpower/results.db`, else `~/.local/share/halfpower/results.db`.
    ///
    /// # Errors
    /// If the environment has neither.
    pub(crate) fn default_path() -> Result<PathBuf, StoreError> {
        path_from(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"))
    }

    /// Opens a store. Creates the file if it is missing, and its directories with access for the owner only.
    ///
    /// # Errors
    /// If the file cannot be opened or created, is not a store, or has another version.
    pub(crate) fn open(path: &Path) -> Result<Store, StoreError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| StoreError::Open { path: path.into(), source };
        if path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent);
                made.map_err(|error| failed(error.into()))?;
            }
            refuse_no_text(path)?;
            // Another process may be creating it at this moment; then the files beside it are valid.
            refuse_beside_new(path).or_else(|refused| if path.exists() { Ok(()) } else { Err(refused) })?;
            create(path)?;
        }
        // SQLite finds the files beside a store by the name of the file itself, not of a link to it.
        let real = path.canonicalize().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::Foreign { path: path.into(), what: "a link that leads nowhere" },
            _ => failed(error.into()),
        })?;
        refuse_no_text(&real)?;
        if !std::fs::metadata(&real).map_err(|error| failed(error.into()))?.is_file() {
            return Err(StoreError::Foreign { path: path.into(), what: "no regular file" });
        }
        let file = ManuallyDrop::new(File::open(&real).map_err(|error| failed(error.into()))?);
        refuse_beside(&real, check_header(&file, path)?)?;
        let mut connection = connect(&real, Sharing::Shared).map_err(|error| failed(error.into()))?;
        let is_shared = version(&connection).map(|_| hold_log_index(&real));
        if matches!(is_shared, Ok(false)) || is_shared.as_ref().is_err_and(is_full) {
            connection = connect(&real, Sharing::Alone).map_err(|error| failed(error.into()))?;
        }
        check_version(&connection, path)?;
        write_ahead(&connection).map_err(|error| failed(error.into()))?;
        configure(&connection)?;
        keep_reserve(&real);
        Ok(Store {
            connection,
            claims: Claims::beside(Some(&real)),
            damage: Rc::default(),
            path: Some(real),
            file: Some(file),
        })
    }

    /// A store in memory.
    ///
    /// # Errors
    /// If SQLite has too little memory.
    pub(crate) fn in_memory() -> Result<Store, StoreError> {
        let connection = Connection::open_in_memory().during("be made in memory")?;
        make_tables(&connection).during("be made in memory")?;
        configure(&connection)?;
        Ok(Store { connection, claims: Claims::beside(None), damage: Rc::default(), path: None, file: None })
    }

    /// A command on this store, as the user would type it; none for a store in memory.
    pub(crate) fn command(&self, arguments: &str) -> Option<String> {
        let path = Path::new(self.connection.path().filter(|path| !path.is_empty())?);
        let is_usual = Store::default_path()
            .is_ok_and(|usual| usual == path || usual.canonicalize().ok().as_deref() == Some(path));
        let named = if is_usual { String::new() } else { format!(" --store {}", quoted(path.into())) };
        Some(format!("halfpower {arguments}{named}"))
    }
}

/// The default path by the XDG base directory specification, which ignores relative paths.
fn path_from(data_home: Option<OsString>, home: Option<OsString>) -> Result<PathBuf, StoreError> {
    let data_home = data_home.map(PathBuf::from).filter(|path| path.is_absolute());
    let home = home.filter(|home| !home.is_empty()).map(|home| Path::new(&home).join(".local/share"));
    Ok(data_home.or(home).ok_or(StoreError::NoHome)?.join("halfpower/results.db"))
}

/// Bytes of a database's header: <https://sqlite.org/fileformat2.html#the_database_header>.
const HEADER_BYTES: usize = 100;

/// Rejects a file that is not a store, before SQLite opens it.
fn check_header(file: &File, path: &Path) -> Result<Journalling, StoreError> {
    let foreign = |what| Err(StoreError::Foreign { path: path.into(), what });
    let mut header = [0; HEADER_BYTES];
    match file.read_exact_at(&mut header, 0) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return foreign(if file.metadata().is_ok_and(|facts| facts.len() == 0) {
                "an empty file"
            } else {
                "not even an SQLite file"
            });
        }
        Err(error) => return Err(StoreError::Open { path: path.into(), source: error.into() }),
    }
    if !header.starts_with(b"SQLite format 3\0") {
        return foreign("not even an SQLite file");
    }
    if header[68..72] != (APPLICATION_ID as u32).to_be_bytes() {
        return foreign("another program's SQLite file");
    }
    Ok(if header[18] == 1 { Journalling::Rollback } else { Journalling::WriteAhead })
}

/// Rejects a store of another version. SQLite reads it, because the log may be newer than the header.
fn check_version(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let found = version(connection).map_err(|error| StoreError::Open { path: path.into(), source: error.into() })?;
    if found == VERSION { Ok(()) } else { Err(StoreError::OtherVersion { path: path.into(), found }) }
}

/// Rejects a path that is not UTF-8: one from the environment, or the target of a link.
fn refuse_no_text(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(|error| StoreError::Open { path: path.into(), source: error.into() })?;
    let is_text = [folder.as_path(), path].iter().all(|path| path.to_str().is_some());
    if is_text { Ok(()) } else { Err(StoreError::NotText { path: path.into() }) }
}

/// Whether other processes may be at the store at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    Shared,
    /// The index of the log is in memory, because there is no space for its file.
    Alone,
}

/// Allocates all blocks of the log's index that SQLite has not; returns false if there is no space. SQLite writes a
/// byte every 4 KiB. With smaller blocks, a full disk would end the process with SIGBUS at one of the others.
fn hold_log_index(store: &Path) -> bool {
    const PAGE: u64 = 4096;
    if rustix::fs::statvfs(store).is_ok_and(|space| space.f_frsize >= PAGE) {
        return true;
    }
    let index = beside(store, "-shm");
    let Ok(file) = File::options().read(true).write(true).open(index) else { return true };
    // Never closed, like the store itself.
    let file = ManuallyDrop::new(file);
    let length = file.metadata().map_or(0, |facts| facts.len());
    let held = rustix::fs::fallocate(&*file, FallocateFlags::empty(), 0, length.max(1));
    held != Err(rustix::io::Errno::NOSPC)
}

fn connect(path: &Path, sharing: Sharing) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    if sharing == Sharing::Alone {
        // Before SQLite opens the log.
        connection.pragma_update_and_check(None, "locking_mode", "exclusive", |_| Ok(()))?;
    }
    Ok(connection)
}

/// Turns the write-ahead log on. While another process does so, SQLite returns busy at once instead of waiting.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
}

fn configure(connection: &Connection) -> Result<(), StoreError> {
    connection.pragma_update(None, "synchronous", "full").during("be made to write through")?;
    connection.pragma_update(None, "foreign_keys", true).during("check its references")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_place_is_that_of_the_specification() {
        let path =
            |data: Option<&str>, home: Option<&str>| path_from(data.map(OsString::from), home.map(OsString::from));
        let expect = |path: &str| Some(PathBuf::from(path));
        assert_eq!(path(Some("/d"), Some("/h")).ok(), expect("/d/halfpower/results.db"));
        for data in [None, Some(""), Some("relative")] {
            assert_eq!(path(data, Some("/h")).ok(), expect("/h/.local/share/halfpower/results.db"));
        }
        assert!(matches!(path(None, Some("")), Err(StoreError::NoHome)));
    }
}
