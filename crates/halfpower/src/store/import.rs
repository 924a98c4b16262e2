//! Imported results: a run with all of its samples, kept whole or not at all, and whether they are there already.

use super::Store;
use super::error::{During, StoreError};
use super::run::{NewRun, RunId, RunStatus, json};
use halfpower_analysis::comparison::are_copies;
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

    /// The first run that holds the same samples.
    ///
    /// # Errors
    /// When a record is damaged, or they cannot be read.
    pub(crate) fn copy_of(&self, samples: &[Sample]) -> Result<Option<RunId>, StoreError> {
        const ACTION: &str = "look for the same samples";
        let samples: Vec<&Sample> = samples.iter().collect();
        let began = samples.iter().map(|sample| sample.started_at.to_string()).min();
        // Reading every record of the store would take long: few runs are as long and began at the same time.
        let sql =
            "SELECT run_id FROM samples GROUP BY run_id HAVING count(*) = ? AND min(started_at) = ? ORDER BY run_id";
        let mut statement = self.connection.prepare(sql).during(ACTION)?;
        let like = statement.query_map((samples.len() as i64, began), |row| row.get(0).map(RunId)).during(ACTION)?;
        for run in like {
            let run = run.during(ACTION)?;
            let stored = self.samples(run)?;
            if are_copies(&stored.iter().map(|stored| &stored.sample).collect::<Vec<_>>(), &samples) {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }
}
