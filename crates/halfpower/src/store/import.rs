//! Imported results: the runs of an import with their samples, stored together or not at all, and whether the store
//! already has them.
//!
//! Samples are staged in a temporary table as they are read, which bounds memory and leaves the store free for a run
//! that is measuring. One transaction moves them into the store.

use super::error::{During, StoreError};
use super::handle::Store;
use super::run::{NewRun, RunStatus, insert_run, json};
use super::run_id::RunId;
use halfpower_analysis::comparison::are_copies;
use halfpower_model::Sample;
use rusqlite::{Connection, Row, TransactionBehavior};

/// Samples that are read but not yet stored.
pub(crate) struct Staged<'s> {
    store: &'s mut Store,
}

impl Store {
    /// Begins an import.
    ///
    /// # Errors
    /// If there is no space for a temporary table.
    pub(crate) fn stage(&mut self) -> Result<Staged<'_>, StoreError> {
        let sql = "CREATE TEMP TABLE staged (id INTEGER PRIMARY KEY, file, cell, block, started_at, record)";
        self.connection.execute_batch(sql).during("set up an import")?;
        Ok(Staged { store: self })
    }
}

impl Staged<'_> {
    fn connection(&self) -> &Connection {
        &self.store.connection
    }

    /// Stages a sample of a file (by number) with its cell and block.
    ///
    /// # Errors
    /// If there is no space.
    pub(crate) fn add(&self, file: usize, cell: usize, block: u32, sample: &Sample) -> Result<(), StoreError> {
        const ACTION: &str = "stage an imported sample";
        let sql = "INSERT INTO staged (file, cell, block, started_at, record) VALUES (?, ?, ?, ?, ?)";
        let mut statement = self.connection().prepare_cached(sql).during(ACTION)?;
        let values = (file as i64, cell as i64, block, sample.started_at.to_string(), json(sample));
        statement.execute(values).during(ACTION).map(drop)
    }

    /// The first run in the store with the same samples as a file.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn copy_of(&self, file: usize) -> Result<Option<RunId>, StoreError> {
        const ACTION: &str = "look for the same samples";
        // Reading every record would be slow; few runs have as many samples and the same start.
        let sql = "SELECT run_id FROM samples GROUP BY run_id
            HAVING (count(*), min(started_at)) = (SELECT count(*), min(started_at) FROM staged WHERE file = ?)
            ORDER BY run_id";
        let mut statement = self.connection().prepare(sql).during(ACTION)?;
        let like = statement.query_map((file as i64,), |row| row.get(0).map(RunId)).during(ACTION)?;
        for run in like {
            let run = run.during(ACTION)?;
            if self.is_copy(file, run).during(ACTION)? {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }

    /// Whether a run with as many samples as the file has the same ones. A damaged record differs.
    fn is_copy(&self, file: usize, run: RunId) -> rusqlite::Result<bool> {
        let mut staged = self.connection().prepare("SELECT record FROM staged WHERE file = ? ORDER BY id")?;
        let mut stored = self.connection().prepare("SELECT record FROM samples WHERE run_id = ? ORDER BY id")?;
        let (mut staged, mut stored) = (staged.query((file as i64,))?, stored.query((run.0,))?);
        let sample =
            |row: &Row<'_>| -> Option<Sample> { serde_json::from_str(row.get_ref(0).ok()?.as_str().ok()?).ok() };
        while let (Some(one), Some(other)) = (staged.next()?, stored.next()?) {
            match (sample(one), sample(other)) {
                (Some(one), Some(other)) if are_copies(&[&one], &[&other]) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Stores a run with its samples for each file, in order. On return they are on the medium.
    ///
    /// # Errors
    /// If they cannot be written; then none is stored.
    pub(crate) fn keep(self, runs: &[NewRun<'_>]) -> Result<Vec<RunId>, StoreError> {
        const ACTION: &str = "keep imported samples";
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.store.connection.transaction_with_behavior(behavior).during(ACTION)?;
        let mut kept = Vec::new();
        for (file, run) in runs.iter().enumerate() {
            let id = insert_run(&transaction, run, RunStatus::Complete).during(ACTION)?;
            let sql = "INSERT INTO samples (run_id, cell, block, started_at, record)
                SELECT ?, cell, block, started_at, record FROM staged WHERE file = ? ORDER BY id";
            transaction.execute(sql, (id.0, file as i64)).during(ACTION)?;
            kept.push(id);
        }
        transaction.commit().during(ACTION)?;
        Ok(kept)
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        // The table is dropped with the connection at the latest.
        let _ = self.store.connection.execute_batch("DROP TABLE staged");
    }
}
