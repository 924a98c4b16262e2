//! The phases, and what is done in them.

use halfpower_model::{Bytes, Nanoseconds};
use serde::{Deserialize, Serialize};

/// What is done to every file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FilePhase {
    /// Create it, write it, close it.
    Create,
    /// Look at its facts.
    Stat,
    /// Read the names in its directory.
    List,
    /// Open it, read it, close it; its bytes are checked.
    Read,
    /// Remove it.
    Delete,
}

/// How many files, how large, and what is done to them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilesOptions {
    /// Files of all workers.
    pub files: u64,
    /// Size of each.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Files in a directory, at most.
    pub per_directory: u64,
    /// Threads.
    pub workers: u32,
    /// The phases that are reported. Files are created and removed in any case.
    pub phases: Vec<FilePhase>,
    /// Flush each file before it is closed.
    pub fsync: bool,
    /// Drop the machine's caches before each phase but the first.
    pub cold: bool,
    /// The longest that a phase lasts; none without a limit.
    #[serde(rename = "duration_s")]
    pub duration: Option<Nanoseconds>,
    /// How often everything is done.
    pub repetitions: u32,
    /// Seed of order and contents.
    pub seed: u64,
}

impl FilePhase {
    /// Every phase, in order.
    pub const ALL: [FilePhase; 5] =
        [FilePhase::Create, FilePhase::Stat, FilePhase::List, FilePhase::Read, FilePhase::Delete];

    /// Its word.
    pub fn word(self) -> &'static str {
        ["create", "stat", "list", "read", "delete"][self as usize]
    }

    /// Whether it changes the file system.
    pub fn changes(self) -> bool {
        matches!(self, FilePhase::Create | FilePhase::Delete)
    }
}

impl FilesOptions {
    /// Bytes of all files.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.size.0.saturating_mul(self.files))
    }

    /// The files of one worker.
    pub(super) fn of_worker(&self, worker: u32) -> u64 {
        let (workers, worker) = (u64::from(self.workers), u64::from(worker));
        self.files / workers + u64::from(worker < self.files % workers)
    }

    /// Directories of all workers that hold files.
    pub(super) fn directories(&self) -> u64 {
        (0..self.workers).map(|worker| self.of_worker(worker).div_ceil(self.per_directory)).sum()
    }
}
