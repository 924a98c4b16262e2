//! Reserved space for a full disk: removing rows first needs space for the log. A file beside the store holds it; it is
//! shrunk when needed, and grown again.

use super::companion_files::{beside, open_regular};
use super::create::put;
use super::error::{During, StoreError};
use super::handle::Store;
use rusqlite::Connection;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

const RESERVE: &str = ".reserve";
/// Size of the reserve, if there is space.
const RESERVE_BYTES: u64 = 1 << 20;
/// Bytes released at once, and the minimum reserve: removing one batch takes about 100 KiB.
const STEP_BYTES: u64 = 128 << 10;
/// First line of the file, so that no other file is shrunk.
const MARK: &str = "Room that Halfpower needs to remove runs from the store beside this file when the disk is full.\n";
/// Block size of a write; the first block stays, because it holds [`MARK`].
const BLOCK: u64 = 4096;
/// Filler of the rest.
const FILL: u8 = b'.';
/// Samples removed, and pages returned, at once when there is little space.
const BATCH: i64 = 16;

impl Store {
    /// Runs a function that needs no space in the end. If the disk is full meanwhile, it releases the reserve in steps,
    /// so that a killed process leaves the rest to the next one.
    pub(super) fn with_reserve<T>(
        &mut self,
        mut work: impl FnMut(&mut Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut result = work(self);
        if !matches!(result, Err(StoreError::Full { .. })) {
            return result;
        }
        let Some(reserve) = self.path.as_deref().and_then(open_reserve) else { return result };
        let kept = reserve.metadata().map_or(0, |facts| facts.len());
        let mut left = kept;
        while left > BLOCK && matches!(result, Err(StoreError::Full { .. })) {
            left = left.saturating_sub(STEP_BYTES).max(BLOCK);
            if reserve.set_len(left).is_err() {
                break;
            }
            result = work(self);
        }
        // As far as there is space; the work is done already.
        let _ = grow(&reserve, left, kept);
        result
    }

    /// Removes the rows of a run in parts, and returns their space to the file system.
    pub(super) fn remove_in_parts(&mut self, sql: &str, run: i64) -> Result<(), StoreError> {
        loop {
            let removed = self.execute("remove a run", sql, (run, BATCH))?;
            self.empty_log()?;
            if removed == 0 {
                return Ok(());
            }
        }
    }

    /// Returns free pages to the file system, and restores the reserve.
    pub(super) fn give_room_back(&mut self) -> Result<(), StoreError> {
        const ACTION: &str = "give room back";
        let free = |connection: &Connection| connection.pragma_query_value(None, "freelist_count", |row| row.get(0));
        let mut left: i64 = free(&self.connection).during(ACTION)?;
        while left > 0 {
            let mut statement =
                self.connection.prepare(&format!("PRAGMA incremental_vacuum({BATCH})")).during(ACTION)?;
            let mut rows = statement.query(()).during(ACTION)?;
            while rows.next().during(ACTION)?.is_some() {}
            drop(rows);
            drop(statement);
            self.empty_log()?;
            let now = free(&self.connection).during(ACTION)?;
            if now >= left {
                break;
            }
            left = now;
        }
        if let Some(path) = &self.path {
            keep_reserve(path);
        }
        Ok(())
    }

    /// Moves the log into the file.
    pub(super) fn empty_log(&self) -> Result<(), StoreError> {
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        self.connection.query_row(sql, (), |_| Ok(())).during("empty its log")
    }
}

/// Creates or restores the reserve, as far as there is space; any other file with its name stays.
pub(super) fn keep_reserve(store: &Path) {
    let path = beside(store, RESERVE);
    // The current command does not need it, so errors are ignored.
    if path.symlink_metadata().is_err() {
        let sizes = std::iter::successors(Some(RESERVE_BYTES), |size| Some(size / 2));
        let keep = |size: u64| {
            let mut content = MARK.as_bytes().to_vec();
            content.resize(size as usize, FILL);
            put(&path, &content).is_ok()
        };
        let _ = sizes.take_while(|size| *size >= STEP_BYTES).any(keep);
    } else if let Some(reserve) = open_reserve(store)
        && has_room(store)
    {
        let _ = reserve.metadata().and_then(|facts| grow(&reserve, facts.len(), RESERVE_BYTES));
    }
}

/// Fills the end of the reserve again, as far as there is space.
fn grow(reserve: &File, from: u64, to: u64) -> io::Result<()> {
    for at in (from..to).step_by(BLOCK as usize) {
        reserve.write_all_at(&[FILL; BLOCK as usize][..BLOCK.min(to - at) as usize], at)?;
    }
    if from < to { reserve.sync_all() } else { Ok(()) }
}

/// Whether the file system has more free space than the reserve needs.
fn has_room(store: &Path) -> bool {
    rustix::fs::statvfs(store).is_ok_and(|space| space.f_bavail.saturating_mul(space.f_frsize) > 4 * RESERVE_BYTES)
}

/// The reserve file, if it is one.
fn open_reserve(store: &Path) -> Option<File> {
    let file = open_regular(OpenOptions::new().read(true).write(true), &beside(store, RESERVE)).ok()??;
    let mut start = [0; MARK.len()];
    file.read_exact_at(&mut start, 0).ok()?;
    (start == MARK.as_bytes()).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_as_much_is_given_up_as_is_needed_and_it_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.db");
        let mut store = Store::open(&path).unwrap();
        let reserve = beside(&path.canonicalize().unwrap(), RESERVE);
        let length = || reserve.metadata().unwrap().len();
        let mut seen = Vec::new();
        let mut works_at = |store: &mut Store, enough: u64| {
            seen.clear();
            let done = store.with_reserve(|_| {
                seen.push(length());
                let full = || StoreError::Full { action: "work", source: rusqlite::Error::InvalidQuery };
                if length() <= enough { Ok(()) } else { Err(full()) }
            });
            (done.is_ok(), seen.clone(), length())
        };
        let [whole, first, second] = [8, 7, 6].map(|steps| steps * STEP_BYTES);
        assert_eq!(works_at(&mut store, second), (true, vec![whole, first, second], whole));
        let (is_done, seen, left) = works_at(&mut store, 0);
        assert_eq!((is_done, seen.len(), seen.last().copied(), left), (false, 9, Some(BLOCK), whole));
        assert!(open_reserve(&path).is_some(), "it still says what it is");
    }
}
