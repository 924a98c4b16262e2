//! The store: one SQLite file with every run, every sample, and every test file that still exists.
//!
//! A sample is on the medium before `add_sample` returns (write-ahead log, `synchronous=FULL`), so a killed run loses
//! only the repetition being measured. Records are stored as the JSON of a [`Sample`](halfpower_model::Sample); nothing
//! is derived here. A file of another program or another version is rejected and left unchanged.
//!
//! A process holds a lock on a file beside the store during its run (`claims`). So a run with the status `running`
//! whose process is gone is recognised without process numbers.

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
pub(crate) use test_file::{Standing, TestFile, TestFileId};
