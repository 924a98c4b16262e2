//! Samples: the record of each repetition, as the JSON that `--json` prints.

use super::Store;
use super::error::{During, StoreError};
use super::run::{RunId, json};
use halfpower_model::Sample;
use rusqlite::ErrorCode;

/// A sample and where it belongs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredSample {
    /// Its number in the store.
    pub id: i64,
    /// The cell of the plan.
    pub cell: usize,
    /// The block of the plan.
    pub block: u32,
    /// The record.
    pub sample: Sample,
}

impl Store {
    /// Keeps a sample. When this returns it is on the medium.
    ///
    /// # Errors
    /// When there is no such run, the repetition is there already, or it cannot be written.
    pub(crate) fn add_sample(
        &mut self,
        run: RunId,
        cell: usize,
        block: u32,
        sample: &Sample,
    ) -> Result<i64, StoreError> {
        let added = self.connection.execute(
            "INSERT INTO samples (run_id, cell, block, started_at, record) VALUES (?, ?, ?, ?, ?)",
            (run.0, cell as i64, block, sample.started_at.to_string(), json(sample)),
        );
        match added {
            Ok(_) => Ok(self.connection.last_insert_rowid()),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                let foreign = error.sqlite_extended_error_code() == Some(rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY);
                Err(if foreign { StoreError::NoRun(run) } else { StoreError::SampleExists { run, cell, block } })
            }
            Err(source) => Err(StoreError::Sql { action: "keep a sample", source }),
        }
    }

    /// The samples of a run in the order they were taken.
    ///
    /// # Errors
    /// When a record is damaged, or they cannot be read.
    pub(crate) fn samples(&self, run: RunId) -> Result<Vec<StoredSample>, StoreError> {
        const ACTION: &str = "read the samples of a run";
        let sql = "SELECT id, cell, block, record FROM samples WHERE run_id = ? ORDER BY id";
        let mut statement = self.connection.prepare(sql).during(ACTION)?;
        let mut rows = statement.query((run.0,)).during(ACTION)?;
        let count: i64 = self
            .connection
            .query_row("SELECT count(*) FROM samples WHERE run_id = ?", (run.0,), |row| row.get(0))
            .during(ACTION)?;
        let mut samples: Vec<StoredSample> = Vec::with_capacity(usize::try_from(count).unwrap_or_default());
        while let Some(row) = rows.next().during(ACTION)? {
            let id: i64 = row.get(0).during(ACTION)?;
            let damaged = |source| StoreError::Damaged { what: format!("sample {id} of run {run}"), run, source };
            let cell: i64 = row.get(1).map_err(|error| damaged(error.into()))?;
            let mut stored = StoredSample {
                id,
                cell: usize::try_from(cell).map_err(|error| damaged(error.into()))?,
                block: row.get(2).map_err(|error| damaged(error.into()))?,
                sample: serde_json::from_str(
                    row.get_ref(3).during(ACTION)?.as_str().map_err(|error| damaged(error.into()))?,
                )
                .map_err(|error| damaged(error.into()))?,
            };
            // Most samples of a run are of one environment; a hundred thousand copies of it would fill the memory.
            if let Some(before) = samples.last() {
                stored.sample.environment.share(&before.sample.environment);
            }
            samples.push(stored);
        }
        Ok(samples)
    }
}
