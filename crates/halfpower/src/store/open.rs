//! Opening a store: where it is, whether the file is one, its connection's settings, its migrations.

use super::Store;
use super::claims::Claims;
use super::error::{During, StoreError};
use super::schema::{APPLICATION_ID, MIGRATIONS, migrate, version};
use crate::cli::quoted;
use rusqlite::{Connection, ErrorCode};
use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a process waits for another that is writing.
const PATIENCE: Duration = Duration::from_secs(10);

impl Store {
    /// Where the store is when nobody said: `$XDG_DATA_HOME/halfpower/results.db`, else
    /// `~/.local/share/halfpower/results.db`.
    ///
    /// # Errors
    /// When the environment names neither place.
    pub(crate) fn default_path() -> Result<PathBuf, StoreError> {
        path_from(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"))
    }

    /// Opens a store; makes the file, and the directories above it for the owner alone, where they are not there.
    ///
    /// # Errors
    /// When the file cannot be opened or made, is not a store, or is a newer program's.
    pub(crate) fn open(path: &Path) -> Result<Store, StoreError> {
        // SQLite takes a device for an empty database and would write over what it holds.
        if std::fs::metadata(path).is_ok_and(|facts| !facts.is_file()) {
            return Err(StoreError::Foreign { path: path.into(), what: "no regular file" });
        }
        let was_there = path.exists();
        Self::open_or_make(path).inspect_err(|_| {
            if !was_there && std::fs::metadata(path).is_ok_and(|facts| facts.len() == 0) {
                // There was no room for it, say. An empty file left behind is no store.
                let _ = std::fs::remove_file(path);
            }
        })
    }

    fn open_or_make(path: &Path) -> Result<Store, StoreError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| StoreError::Open { path: path.into(), source };
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent);
            made.map_err(|error| failed(error.into()))?;
        }
        let mut connection = Connection::open(path).map_err(|error| failed(error.into()))?;
        connection.busy_timeout(PATIENCE).map_err(|error| failed(error.into()))?;
        check_identity(&connection, path)?;
        migrate(&mut connection, MIGRATIONS).map_err(|error| failed(error.into()))?;
        write_ahead(&connection).map_err(|error| failed(error.into()))?;
        configure(&connection)?;
        // Claims lie beside the file itself: two names of one store must come to the same claims.
        let real = path.canonicalize().map_err(|error| failed(error.into()))?;
        Ok(Store { connection, claims: Claims::beside(Some(&real)) })
    }

    /// A store that is gone when it is dropped.
    ///
    /// # Errors
    /// When SQLite has no memory for it.
    pub(crate) fn in_memory() -> Result<Store, StoreError> {
        let mut connection = Connection::open_in_memory().during("be made in memory")?;
        migrate(&mut connection, MIGRATIONS).during("be made in memory")?;
        configure(&connection)?;
        Ok(Store { connection, claims: Claims::beside(None) })
    }

    /// A command that finds this store again, as it would be typed; none for one in memory, which nothing finds.
    pub(crate) fn command(&self, arguments: &str) -> Option<String> {
        let path = Path::new(self.connection.path().filter(|path| !path.is_empty())?);
        let is_usual = Store::default_path()
            .is_ok_and(|usual| usual == path || usual.canonicalize().ok().as_deref() == Some(path));
        let named = if is_usual { String::new() } else { format!(" --store {}", quoted(path.into())) };
        Some(format!("halfpower {arguments}{named}"))
    }
}

/// The default place, by the XDG base directory specification: a relative path there does not count.
fn path_from(data_home: Option<OsString>, home: Option<OsString>) -> Result<PathBuf, StoreError> {
    let data_home = data_home.map(PathBuf::from).filter(|path| path.is_absolute());
    let home = home.filter(|home| !home.is_empty()).map(|home| Path::new(&home).join(".local/share"));
    Ok(data_home.or(home).ok_or(StoreError::NoHome)?.join("halfpower/results.db"))
}

/// Looks before anything is written: another program's file stays as it is.
fn check_identity(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let read = || -> rusqlite::Result<(i64, u32, i64)> {
        // One look: another process may be making the tables.
        let connection = connection.unchecked_transaction()?;
        let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
        Ok((application, version(&connection)?, tables))
    };
    let (application, found, tables) = read().map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::Foreign { path: path.into(), what: "not even an SQLite file" },
        _ => StoreError::Open { path: path.into(), source: error.into() },
    })?;
    let known = MIGRATIONS.len() as u32;
    match (application, tables) {
        (APPLICATION_ID, _) if found > known => Err(StoreError::Newer { path: path.into(), found, known }),
        (APPLICATION_ID, _) | (0, 0) => Ok(()),
        _ => Err(StoreError::Foreign { path: path.into(), what: "another program's SQLite file" }),
    }
}

/// Turns the write-ahead log on. While another process turns it on, SQLite says busy at once instead of waiting.
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
