//! Errors of the store.

use super::run_id::RunId;
use super::schema::VERSION;
use halfpower_engine::TargetError;
use rusqlite::ErrorCode;
use std::path::PathBuf;

/// Each message names the thing and the remedy, if there is one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// Neither environment variable is set.
    #[error("no place for the store: neither XDG_DATA_HOME nor HOME is set; name a file with --store")]
    NoHome,
    /// Its name is not UTF-8.
    #[error("the store {path} is not UTF-8, as every name here has to be; name another file with --store")]
    NotText { path: PathBuf },
    /// The file cannot be opened or created.
    #[error("cannot open the store {path}; name another file with --store; a measurement also runs with --no-store")]
    Open { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    /// It is another kind of file.
    #[error("{path} is not a store of Halfpower ({what}); name another file with --store")]
    Foreign { path: PathBuf, what: &'static str },
    /// Another file has a name that the store needs.
    #[error(
        "{path} is in the way of the store {store}, which would write over it; move or rename it, or name another file \
         with --store"
    )]
    Beside { path: PathBuf, store: PathBuf },
    /// Another version of the program wrote it.
    #[error(
        "{path} has version {found} of the store's tables, and this program reads version {VERSION} only; name another file \
         with --store. To keep what is in it, export its runs with the program that wrote it (`halfpower export RUN \
         --format jsonl`) and import them with this one"
    )]
    OtherVersion { path: PathBuf, found: u32 },
    /// SQLite returned an error.
    #[error("the store cannot {action}")]
    Sql { action: &'static str, source: rusqlite::Error },
    /// The file system is full.
    #[error(
        "the store cannot {action}, because its file system is full; `halfpower runs clean` removes test files that were \
         left, `halfpower runs rm RUN` removes runs and gives their room back"
    )]
    Full { action: &'static str, source: rusqlite::Error },
    /// A record is unreadable.
    #[error("{what} is damaged; `halfpower runs repair` makes the store sound and keeps what can be read")]
    Damaged { what: String, source: Box<dyn std::error::Error + Send + Sync> },
    /// There is no such run.
    #[error("there is no run {0} in this store; `halfpower runs list` shows what there is")]
    NoRun(RunId),
    /// Another process is measuring it.
    #[error("run {0} is still being measured by another process; wait for it, or end it")]
    InUse(RunId),
    /// Every repetition is stored.
    #[error("run {0} is complete; start another one")]
    Complete(RunId),
    /// The repetition is already stored.
    #[error("run {run} has a sample of cell {cell} in block {block} already; a sample is never replaced")]
    SampleExists { run: RunId, cell: usize, block: u32 },
    /// A file beside the store, or a test file.
    #[error("cannot {action} {path}")]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
    /// The place of a test file is invalid.
    #[error(transparent)]
    Target(TargetError),
}

impl StoreError {
    /// Whether the contents of the file, not its access, are the reason that it cannot be opened.
    pub(crate) fn is_of_content(&self) -> bool {
        let is_damage = |error: &rusqlite::Error| {
            let codes = [ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase, ErrorCode::Unknown];
            codes.map(Some).contains(&error.sqlite_error_code())
        };
        match self {
            StoreError::Foreign { .. } => true,
            StoreError::Open { source, .. } => source.downcast_ref().is_some_and(is_damage),
            StoreError::Sql { source, .. } => is_damage(source),
            _ => false,
        }
    }
}

/// Adds the action to an error of SQLite.
pub(super) trait During<T> {
    /// The result, with the action in its error.
    fn during(self, action: &'static str) -> Result<T, StoreError>;
}

impl<T> During<T> for rusqlite::Result<T> {
    fn during(self, action: &'static str) -> Result<T, StoreError> {
        self.map_err(|source| match is_full(&source) {
            true => StoreError::Full { action, source },
            false => StoreError::Sql { action, source },
        })
    }
}

/// Whether SQLite had no space to write.
pub(super) fn is_full(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMSIZE};
    let of_index = [SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_SHMMAP].map(Some).contains(&error.sqlite_extended_error_code());
    error.sqlite_error_code() == Some(ErrorCode::DiskFull) || of_index
}
