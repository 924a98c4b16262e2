//! Room that is kept for a full disk: removing anything from a store takes some first, for the log. A file beside the store
//! holds it, is given up for that, and made again.

use super::Store;
use super::companion_files::{beside, open_regular};
use super::create::put;
use super::error::{During, StoreError};
use rusqlite::Connection;
use std::fs::OpenOptions;
use std::io::Read;
use std::path::Path;

const RESERVE: &str = ".reserve";
/// What is kept where there is room, and the least that is worth keeping: a batch of what is removed takes some 100 KiB.
const RESERVE_BYTES: usize = 1 << 20;
const LEAST_BYTES: usize = 128 << 10;
/// How the file begins, so that nobody else's is given up.
const MARK: &str = "Room that Halfpower needs to remove runs from the store beside this file when the disk is full.\n";
/// Samples that are removed, and pages that are given back, at a time when there is hardly any room.
const BATCH: i64 = 16;

impl Store {
    /// Does something that takes up no room in the end; where there is none for the meantime, with what is kept for that.
    pub(super) fn with_reserve<T>(
        &mut self,
        mut work: impl FnMut(&mut Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match work(self) {
            Err(full @ StoreError::Full { .. }) => {
                let Some(path) = self.path.clone().filter(|path| is_reserve(path)) else { return Err(full) };
                std::fs::remove_file(beside(&path, RESERVE)).map_err(|_| full)?;
                let done = work(self);
                keep_reserve(&path);
                done
            }
            result => result,
        }
    }

    /// Removes everything of a run, a part at a time, and gives its room back to the file system.
    pub(super) fn remove_in_parts(&mut self, sql: &str, run: i64) -> Result<(), StoreError> {
        const ACTION: &str = "remove a run";
        loop {
            let removed = self.connection.execute(sql, (run, BATCH)).during(ACTION)?;
            self.empty_log()?;
            if removed == 0 {
                return Ok(());
            }
        }
    }

    /// Gives room that nothing is in back to the file system, and keeps some again.
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

    /// Takes the log into the file.
    pub(super) fn empty_log(&self) -> Result<(), StoreError> {
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        self.connection.query_row(sql, (), |_| Ok(())).during("empty its log")
    }
}

/// Keeps some room, as much as there is; a file of that name that is somebody's stays.
pub(super) fn keep_reserve(store: &Path) {
    let path = beside(store, RESERVE);
    let is_small =
        |facts: &std::fs::Metadata| facts.len() < RESERVE_BYTES as u64 && has_room(store) && is_reserve(store);
    match path.symlink_metadata() {
        Ok(facts) if is_small(&facts) && std::fs::remove_file(&path).is_ok() => {}
        Ok(_) => return,
        Err(_) => {}
    }
    let sizes =
        std::iter::successors(Some(RESERVE_BYTES), |size| Some(size / 2)).take_while(|size| *size >= LEAST_BYTES);
    let keep = |size: usize| {
        let mut content = MARK.as_bytes().to_vec();
        content.resize(size, b'.');
        put(&path, &content).is_ok()
    };
    // Nothing of what is being done needs it.
    let _ = { sizes }.any(keep);
}

/// Whether there is room for more than the whole of it.
fn has_room(store: &Path) -> bool {
    rustix::fs::statvfs(store)
        .is_ok_and(|space| space.f_bavail.saturating_mul(space.f_frsize) > 4 * RESERVE_BYTES as u64)
}

/// Whether the file that would be given up is one.
fn is_reserve(store: &Path) -> bool {
    let Ok(Some(file)) = open_regular(OpenOptions::new().read(true), &beside(store, RESERVE)) else { return false };
    let mut start = Vec::new();
    file.take(MARK.len() as u64).read_to_end(&mut start).is_ok() && start == MARK.as_bytes()
}
