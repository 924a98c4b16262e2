//! Finding what is left where a page of the store is damaged: a list ends at the damage, so the numbers are taken from
//! every list there is, and each record is read by itself.

use super::Store;
use super::damage::Lost;
use super::error::{During, StoreError};
use super::record_parser::Parser;
use super::run_id::RunId;
use super::sample::{Record, StoredSample};
use halfpower_model::Sample;
use rusqlite::{OptionalExtension, Row};
use std::collections::{BTreeMap, BTreeSet};

/// The index of the samples by run, cell and block, which has a copy of all three.
const INDEX: &str = "SELECT id, run_id, cell, block FROM samples INDEXED BY sqlite_autoindex_samples_1";

/// What the index knows of a sample: its run, cell and block.
pub(super) type Slot = (RunId, i64, i64);

impl Store {
    /// The rows of a statement, up to where they cannot be read; and whether that was the end.
    pub(super) fn rows_until_damage<T>(
        &self,
        sql: &str,
        of: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> (Vec<T>, bool) {
        let mut found = Vec::new();
        let mut read = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare(sql)?;
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                found.push(of(row)?);
            }
            Ok(())
        };
        let is_whole = read().is_ok();
        (found, is_whole)
    }

    /// Every number that a row of a table can have: those that its lists show and, where one is damaged, all that were
    /// ever given.
    pub(super) fn candidates(
        &self,
        table: &str,
        known: impl IntoIterator<Item = i64>,
        is_whole: bool,
    ) -> BTreeSet<i64> {
        let (listed, is_listed) =
            self.rows_until_damage(&format!("SELECT id FROM {table} NOT INDEXED"), |row| row.get(0));
        let mut numbers: BTreeSet<i64> = listed.into_iter().chain(known).collect();
        if !is_listed || !is_whole {
            let sql = "SELECT seq FROM sqlite_sequence WHERE name = ?";
            let given: Option<i64> = self.connection.query_row(sql, (table,), |row| row.get(0)).ok();
            numbers.extend(1..=given.or(numbers.last().copied()).unwrap_or_default());
        }
        numbers
    }

    /// The samples by the index, as far as it can be read; and whether that is all of it.
    pub(super) fn index(&self) -> (BTreeMap<i64, Slot>, bool) {
        let slot = |row: &Row<'_>| Ok((row.get(0)?, (RunId(row.get(1)?), row.get(2)?, row.get(3)?)));
        let (slots, is_whole) = self.rows_until_damage(INDEX, slot);
        (slots.into_iter().collect(), is_whole)
    }

    /// The numbers that samples may have.
    pub(super) fn sample_numbers(&self) -> BTreeSet<i64> {
        let (index, is_whole) = self.index();
        self.candidates("samples", index.into_keys(), is_whole)
    }

    /// The samples of a run, each found by its number.
    pub(super) fn samples_by_number(&self, run: RunId) -> Result<(Vec<StoredSample>, Vec<Lost>), StoreError> {
        let (index, is_whole) = self.index();
        let numbers = self.candidates("samples", index.keys().copied(), is_whole);
        let (mut samples, mut lost, mut parser) = (Vec::new(), Vec::new(), Parser::default());
        for id in numbers {
            match self.sample_by_number(id) {
                Ok(Some((of, record))) if of == run => match record.and_then(|record| record.parse(&mut parser)) {
                    Ok(sample) => samples.push(sample),
                    Err(cause) => lost.push(cause),
                },
                Ok(_) => {}
                Err(error) => match self.run_of_sample(id).or_else(|| index.get(&id).map(|slot| slot.0)) {
                    Some(of) if of == run => lost.push(Lost { id, cause: error.into() }),
                    Some(_) => {}
                    None => {
                        self.damage.note(format!("sample {id}, of a run that cannot be told, is damaged ({error})"))
                    }
                },
            }
        }
        Ok((samples, lost))
    }

    /// A sample by its number, with its run.
    pub(super) fn sample_by_number(&self, id: i64) -> rusqlite::Result<Option<(RunId, Result<Record, Lost>)>> {
        let sql = "SELECT id, cell, block, record, run_id FROM samples WHERE id = ?";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_row((id,), |row| Ok((RunId(row.get(4)?), Record::of(row)))).optional()
    }

    pub(super) fn run_of_sample(&self, id: i64) -> Option<RunId> {
        self.connection.query_row("SELECT run_id FROM samples WHERE id = ?", (id,), |row| row.get(0).map(RunId)).ok()
    }

    /// The first sample of a run that can be read.
    pub(super) fn first_sample(&self, run: RunId) -> Option<Sample> {
        let sql = "SELECT record FROM samples WHERE run_id = ? ORDER BY id";
        let mut statement = self.connection.prepare(sql).ok()?;
        let mut rows = statement.query((run.0,)).ok()?;
        while let Some(row) = rows.next().ok()? {
            let sample = row.get::<_, String>(0).ok().and_then(|text| serde_json::from_str(&text).ok());
            if sample.is_some() {
                return sample;
            }
        }
        None
    }

    /// Every run that anything is left of, with how many samples it has. A run of which nothing is left is reported.
    ///
    /// # Errors
    /// When not even that can be read.
    pub(super) fn known_runs(&self) -> Result<Vec<(RunId, u64)>, StoreError> {
        let (index, _) = self.index();
        let mut samples: BTreeMap<i64, u64> = BTreeMap::new();
        index.into_values().for_each(|(run, ..)| *samples.entry(run.0).or_default() += 1);
        let mut runs = Vec::new();
        for id in self.candidates("runs", samples.keys().copied(), false) {
            let count = samples.get(&id).copied().unwrap_or_default();
            let sql = "SELECT id FROM runs WHERE id = ?";
            let is_there = self.connection.query_row(sql, (id,), |_| Ok(())).optional();
            match is_there {
                Ok(Some(())) => runs.push((RunId(id), count)),
                Ok(None) if count == 0 => {}
                Err(error) if count == 0 => self.damage.note(format!("run {id} cannot be read ({error})")),
                _ => runs.push((RunId(id), count)),
            }
        }
        Ok(runs)
    }

    /// Whether anything is left of a run.
    pub(super) fn is_known(&self, id: RunId) -> bool {
        self.known_runs().is_ok_and(|runs| runs.iter().any(|(run, _)| *run == id))
    }

    /// The places in the plan that samples of a run have, those among them that are damaged.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn slots(&self, run: RunId) -> Result<Vec<(i64, i64)>, StoreError> {
        const ACTION: &str = "look which samples there are";
        let sql = "SELECT cell, block FROM samples INDEXED BY sqlite_autoindex_samples_1 WHERE run_id = ?";
        let mut statement = self.connection.prepare(sql).during(ACTION)?;
        let rows = statement.query_map((run.0,), |row| Ok((row.get(0)?, row.get(1)?))).during(ACTION)?;
        rows.collect::<rusqlite::Result<_>>().during(ACTION)
    }
}
