//! The store: one SQLite file with every run, every sample and every test file not yet removed.
//!
//! A sample is on the medium before `add_sample` returns (write-ahead log, `synchronous=FULL`), so a killed run loses
//! the repetition it was measuring and nothing else. Records are kept as the very JSON of a
//! [`Sample`](halfpower_model::Sample); nothing is derived here. A file of another program, or of another
//! version, is refused and left as it is.
//!
//! Whether a run that says `running` still has a process is asked of the operating system, not guessed from process
//! numbers: its process holds a lock on a file beside the store (`claims`).

mod claims;
mod companion_files;
mod copy_run;
mod create;
mod damage;
mod error;
mod handle;
mod import;
mod moved_file;
mod open;
mod raw_pages;
mod read_run;
mod readings;
mod record_parser;
mod recover;
mod repair;
mod reserve;
mod run;
mod run_id;
mod sample;
mod schema;
mod test_file;
#[cfg(test)]
mod test_file_tests;
#[cfg(test)]
mod tests;

pub(crate) use error::StoreError;
pub(crate) use handle::Store;
pub(crate) use import::Staged;
pub(crate) use repair::Repaired;
pub(crate) use run::{NewRun, Run, RunKind, RunStatus, RunSummary, word};
pub(crate) use run_id::RunId;
pub(crate) use sample::StoredSample;
pub(crate) use test_file::{NewTestFile, Standing, TestFile, TestFileId};
