//! Why the store cannot do what was asked.

use super::run_id::RunId;
use super::schema::VERSION;
use halfpower_engine::TargetError;
use rusqlite::ErrorCode;
use std::path::PathBuf;

/// Each message names the thing and, where there is one, the remedy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// Neither variable is set.
    #[error("no place for the store: neither XDG_DATA_HOME nor HOME is set; name a file with --store")]
    NoHome,
    /// Its name is no text.
    #[error("the store {path} is not UTF-8, as every name here has to be; name another file with --store")]
    NotText { path: PathBuf },
    /// The file cannot be opened or made.
    #[error("cannot open the store {path}; name another file with --store, or leave it out with --no-store")]
    Open { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    /// It is something else.
    #[error("{path} is not a store of Halfpower ({what}); name another file with --store")]
    Foreign { path: PathBuf, what: &'static str },
    /// Something else bears a name that is the store's.
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
    /// SQLite refused.
    #[error("the store cannot {action}")]
    Sql { action: &'static str, source: rusqlite::Error },
    /// There is no room for it.
    #[error(
        "the store cannot {action}, because its file system is full; `halfpower runs clean` removes test files that were \
         left, `halfpower runs rm RUN` removes runs and gives their room back"
    )]
    Full { action: &'static str, source: rusqlite::Error },
    /// What is stored cannot be read.
    #[error("{what} is damaged; `halfpower runs repair` makes the store sound and keeps what can be read")]
    Damaged { what: String, source: Box<dyn std::error::Error + Send + Sync> },
    /// There is no such run.
    #[error("there is no run {0} in this store; `halfpower runs list` shows what there is")]
    NoRun(RunId),
    /// Another process is at it.
    #[error("run {0} is still being measured by another process; wait for it, or end it")]
    InUse(RunId),
    /// Nothing is left to do.
    #[error("run {0} is complete; start another one")]
    Complete(RunId),
    /// The repetition is there already.
    #[error("run {run} has a sample of cell {cell} in block {block} already; a sample is never replaced")]
    SampleExists { run: RunId, cell: usize, block: u32 },
    /// A file beside the store, or a test file.
    #[error("cannot {action} {path}")]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
    /// Where a test file is to be.
    #[error(transparent)]
    Target(TargetError),
}

impl StoreError {
    /// Whether it is what the file holds that keeps it from being opened as a store.
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

/// Says what was being done when SQLite refused.
pub(super) trait During<T> {
    /// The result with the action in its error.
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

/// Whether there was no room for what SQLite wanted to write.
pub(super) fn is_full(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMSIZE};
    let of_index = [SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_SHMMAP].map(Some).contains(&error.sqlite_extended_error_code());
    error.sqlite_error_code() == Some(ErrorCode::DiskFull) || of_index
}
