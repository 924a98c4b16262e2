//! Claims: locks that show which process uses a run or a test file.
//!
//! A claim is an exclusive lock (flock) on an empty file beside the store, `results.db.run-7.lock`. The kernel releases
//! it when the process ends. A process number could be reused, or be in another container. A claim file without a lock
//! means nothing and is removed when its run ends. A store in memory belongs to one process and needs no files.

use super::companion_files::{beside, open_regular};
use super::error::StoreError;
use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Attempts before a claim counts as taken: checking a claim locks it for an instant.
const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

const NO_CLAIM: &str = "it is not Halfpower's, whose lock files are empty; move or rename it";

/// The claims of one open store.
#[derive(Debug)]
pub(super) struct Claims {
    /// The store's file; none for a store in memory.
    store: Option<PathBuf>,
    held: HashMap<String, Option<File>>,
}

impl Claims {
    pub(super) fn beside(store: Option<&Path>) -> Self {
        Claims { store: store.map(Path::to_path_buf), held: HashMap::new() }
    }

    /// The file of a claim; none for a store in memory.
    fn path(&self, name: &str) -> Option<PathBuf> {
        Some(beside(self.store.as_ref()?, format!(".{name}.lock")))
    }

    /// Takes a claim; returns false if another process has it.
    ///
    /// # Errors
    /// If the file cannot be created, or is not a claim file.
    pub(super) fn take(&mut self, name: &str) -> Result<bool, StoreError> {
        self.try_to_take(name).map_err(|source| self.error("claim", name, source))
    }

    fn try_to_take(&mut self, name: &str) -> io::Result<bool> {
        if self.held.contains_key(name) {
            return Ok(true);
        }
        let Some(path) = self.path(name) else {
            self.held.insert(name.to_owned(), None);
            return Ok(true);
        };
        for _ in 0..TRIES {
            let file = open_regular(OpenOptions::new().create(true).append(true), &path)?;
            let file = file.filter(is_empty).ok_or_else(|| io::Error::other(NO_CLAIM))?;
            match file.try_lock() {
                // The last holder may have removed the file between opening and locking; a lock on a removed file is no
                // claim.
                Ok(()) if is_at(&file, &path)? => {
                    self.held.insert(name.to_owned(), Some(file));
                    return Ok(true);
                }
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_TRIES),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Whether this or another process has the claim.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn is_taken(&self, name: &str) -> Result<bool, StoreError> {
        if self.held.contains_key(name) {
            return Ok(true);
        }
        let Some(path) = self.path(name) else { return Ok(false) };
        let taken = match open_regular(OpenOptions::new().read(true), &path).map(|file| file.filter(is_empty)) {
            // Not a claim file, so nobody has the claim.
            Ok(None) => Ok(false),
            Ok(Some(file)) => match file.try_lock_shared() {
                Ok(()) => Ok(false),
                Err(TryLockError::WouldBlock) => Ok(true),
                Err(TryLockError::Error(error)) => Err(error),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        };
        taken.map_err(|source| self.error("look at", name, source))
    }

    /// The names of the claims of this process.
    pub(super) fn held(&self) -> Vec<String> {
        self.held.keys().cloned().collect()
    }

    /// The error if a claim's file cannot be used.
    fn error(&self, action: &'static str, name: &str, source: io::Error) -> StoreError {
        StoreError::File { action, path: self.path(name).unwrap_or_else(|| name.into()), source }
    }

    /// Releases a claim and removes its file.
    pub(super) fn release(&mut self, name: &str) {
        // The file is removed while it is locked, so that nobody else locks it in between.
        let held = self.held.remove(name);
        if let (Some(_), Some(path)) = (&held, self.path(name)) {
            // A file that stays means nothing.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Whether a file is empty, as claim files are.
fn is_empty(file: &File) -> bool {
    file.metadata().is_ok_and(|facts| facts.len() == 0)
}

/// Whether an open file is still the one at a path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_claim_has_one_holder_however_often_it_changes_hands() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("results.db");
        let (holders, turns) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut claims = Claims::beside(Some(&store));
                    for _ in 0..200 {
                        if claims.take("run-1").unwrap() {
                            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                            turns.fetch_add(1, Ordering::SeqCst);
                            holders.fetch_sub(1, Ordering::SeqCst);
                            claims.release("run-1");
                        }
                    }
                });
            }
        });
        assert!(turns.into_inner() > 0);
        assert!(!Claims::beside(Some(&store)).is_taken("run-1").unwrap());
    }
}
