//! Readings of instruments, stored as the JSON that `--json` prints.

use super::damage::damaged;
use super::error::{During, StoreError};
use super::handle::Store;
use super::run::{NewRun, Run, RunKind, RunStatus, json};
use super::run_id::RunId;
use crate::reading::{Figures, Reading};
use halfpower_model::reading::MemorySpeed;
use rusqlite::OptionalExtension;

impl Store {
    /// Stores a reading as a run. On return it is on the medium.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn add_reading(&mut self, command: &str, target: &str, reading: &Reading) -> Result<RunId, StoreError> {
        let run = self.begin_reading(command, target, 0, reading)?;
        self.finish_run(run, RunStatus::Complete)?;
        Ok(run)
    }

    /// Begins a run with a reading that will grow.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn begin_reading(
        &mut self,
        command: &str,
        target: &str,
        seed: u64,
        reading: &Reading,
    ) -> Result<RunId, StoreError> {
        let run = self.begin_run(&NewRun {
            kind: RunKind::Instrument,
            name: reading.instrument(),
            question: None,
            study_text: None,
            plan: None,
            command,
            target,
            seed,
            note: reading.note.as_deref(),
            environment: &reading.environment,
        })?;
        self.keep_reading(run, reading)?;
        Ok(run)
    }

    /// Replaces the reading of a run by a newer one. On return it is on the medium.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn keep_reading(&mut self, run: RunId, reading: &Reading) -> Result<(), StoreError> {
        let sql = "INSERT INTO readings (run_id, record) VALUES (?, ?)
                   ON CONFLICT (run_id) DO UPDATE SET record = excluded.record";
        self.execute("keep a reading", sql, (run.0, json(reading)))?;
        self.follow_moved_file()
    }

    /// The reading of a run; none if the run has samples.
    ///
    /// # Errors
    /// If there is no such run, or the record is damaged.
    pub(crate) fn reading(&self, run: RunId) -> Result<Option<Reading>, StoreError> {
        if self.run(run)?.kind != RunKind::Instrument {
            return Ok(None);
        }
        let sql = "SELECT record FROM readings WHERE run_id = ?";
        let text: Option<String> =
            self.connection.query_row(sql, (run.0,), |row| row.get(0)).optional().during("read a reading")?;
        let damaged = |source: serde_json::Error| damaged(format!("the reading of run {run}"), source);
        text.map(|text| serde_json::from_str(&text).map_err(damaged)).transpose()
    }

    /// The memory throughput that `halfpower memory` measured on the machine of a run: the last undisturbed reading
    /// before the run, so that later readings do not change its report, else the first one after it.
    ///
    /// # Errors
    /// If the store cannot be read. A damaged reading is skipped, because it belongs to another run.
    pub(crate) fn memory_beside(&self, run: &Run) -> Result<Option<MemorySpeed>, StoreError> {
        let sql = "SELECT record FROM readings JOIN runs ON runs.id = readings.run_id WHERE runs.name = 'memory'
                   ORDER BY runs.id > ?1, abs(runs.id - ?1)";
        let during = "look for a reading of the memory";
        let mut statement = self.connection.prepare(sql).during(during)?;
        let Ok(records) = statement.query_map((run.id.0,), |row| row.get(0)) else { return Ok(None) };
        let records: Vec<String> = records.flatten().collect();
        let of_this_machine = |record: &String| {
            let reading: Reading = serde_json::from_str(record).ok()?;
            let is_same = reading.environment.host == run.environment.host
                && reading.environment.cpu_model == run.environment.cpu_model;
            match reading.figures {
                Figures::Memory(speed) if is_same && speed.disturbed().is_none() => Some(speed),
                _ => None,
            }
        };
        Ok(records.iter().find_map(of_this_machine))
    }
}
