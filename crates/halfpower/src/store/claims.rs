//! Claims: which process is at a run or a test file right now.
//!
//! A claim is an exclusive lock (flock) on an empty file beside the store, `results.db.run-7.lock`. The kernel drops
//! it when the process ends, however it ends; a process number could by then be another's, or belong to another
//! container. A claim file without a lock means nothing and is removed when its run ends. A store in memory is seen by
//! one process only and has no files.

use super::companion_files::{beside, open_regular};
use super::error::StoreError;
use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Looking at a claim holds it for an instant; a claim is tried this often before it counts as taken.
const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

const NO_CLAIM: &str = "it is not Halfpower's, whose lock files are empty; move or rename it";

/// The claims of one open store.
#[derive(Debug)]
pub(super) struct Claims {
    /// The store's file; none in memory.
    store: Option<PathBuf>,
    held: HashMap<String, Option<File>>,
}

impl Claims {
    pub(super) fn beside(store: Option<&Path>) -> Self {
        Claims { store: store.map(Path::to_path_buf), held: HashMap::new() }
    }

    /// The file of a claim; none in memory.
    fn path(&self, name: &str) -> Option<PathBuf> {
        Some(beside(self.store.as_ref()?, format!(".{name}.lock")))
    }

    /// Takes a claim; false when another has it.
    ///
    /// # Errors
    /// When its file cannot be made, or is somebody else's.
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
                // The last holder may have removed the file between opening and locking: a lock on that is none.
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
    /// When its file cannot be looked at.
    pub(super) fn is_taken(&self, name: &str) -> Result<bool, StoreError> {
        if self.held.contains_key(name) {
            return Ok(true);
        }
        let Some(path) = self.path(name) else { return Ok(false) };
        let taken = match open_regular(OpenOptions::new().read(true), &path).map(|file| file.filter(is_empty)) {
            // Something that is no claim: nobody has this one.
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

    /// The names of those that this process has.
    pub(super) fn held(&self) -> Vec<String> {
        self.held.keys().cloned().collect()
    }

    /// What to say when a claim's file cannot be used.
    fn error(&self, action: &'static str, name: &str, source: io::Error) -> StoreError {
        StoreError::File { action, path: self.path(name).unwrap_or_else(|| name.into()), source }
    }

    /// Gives a claim up and removes its file.
    pub(super) fn release(&mut self, name: &str) {
        // The file goes while it is still locked, so that nobody locks it in between and loses it.
        let held = self.held.remove(name);
        if let (Some(_), Some(path)) = (&held, self.path(name)) {
            // Left behind it means nothing, so nobody has to hear of it.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The file of a claim has nothing in it.
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
