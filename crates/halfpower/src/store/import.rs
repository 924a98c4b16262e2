//! Imported results: a run with all of its samples, kept whole or not at all.

use super::Store;
use super::error::{During, StoreError};
use super::run::{NewRun, RunId, RunStatus, json};
use halfpower_model::Sample;

impl Store {
    /// Keeps a run of samples that are there already, each with its cell and block. When this returns it is on the
    /// medium.
    ///
    /// # Errors
    /// When it cannot be written; nothing is left of it then.
    pub(crate) fn add_import(
        &mut self,
        run: &NewRun<'_>,
        samples: &[(usize, u32, Sample)],
    ) -> Result<RunId, StoreError> {
        const ACTION: &str = "keep imported samples";
        let id = self.begin_run(run)?;
        let kept = (|| {
            let transaction = self.connection.transaction().during(ACTION)?;
            for (cell, block, sample) in samples {
                transaction
                    .prepare_cached(
                        "INSERT INTO samples (run_id, cell, block, started_at, record) VALUES (?, ?, ?, ?, ?)",
                    )
                    .during(ACTION)?
                    .execute((id.0, *cell as i64, block, sample.started_at.to_string(), json(sample)))
                    .during(ACTION)?;
            }
            transaction.commit().during(ACTION)
        })();
        match kept {
            Ok(()) => self.finish_run(id, RunStatus::Complete)?,
            Err(error) => {
                self.finish_run(id, RunStatus::Failed)?;
                self.remove_run(id)?;
                return Err(error);
            }
        }
        Ok(id)
    }
}
