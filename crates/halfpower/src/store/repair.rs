//! Repairing a store: all readable rows go into a sound store, which replaces the damaged one in one step. The damaged
//! file is kept beside it.
//!
//! A sample keeps the place in its row. If that is damaged, it gets the place in the index, else one after the stored
//! repetitions. A run with damaged columns gets stand-ins. No other process may use the store during a repair.

use super::companion_files::beside;
use super::create::create;
use super::error::{During, StoreError};
use super::handle::Store;
use super::recover::{RUN_COLUMNS, Slot, TABLES, insert, recover};
use super::run::{Run, RunStatus, json};
use super::run_id::RunId;
use crate::reading::Reading;
use halfpower_model::Sample;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, Transaction};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

const ACTION: &str = "be repaired";
/// Maximum number of a sample that is looked for: the last number may itself be damaged.
const MOST_SAMPLES: i64 = 1 << 24;

/// The result of a repair.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Repaired {
    /// The damage found.
    pub(crate) damaged: Vec<String>,
    /// Runs in the sound store.
    pub(crate) runs: usize,
    /// Samples in the sound store.
    pub(crate) samples: usize,
    /// Samples that are unreadable.
    pub(crate) lost: usize,
    /// Path of the damaged store; none if nothing was damaged.
    pub(crate) kept: Option<PathBuf>,
}

impl Store {
    /// Checks everything in the store and, if something is damaged, replaces it by a sound store.
    ///
    /// # Errors
    /// If another process uses it, or there is no space; the store is then unchanged.
    pub(crate) fn repair(self) -> Result<Repaired, StoreError> {
        let is_file_sound = self.check_file();
        // In a sound file, a page may hold removed rows.
        let recover = || (!is_file_sound).then(|| self.recovered()).transpose();
        let runs = recover()?.as_ref().unwrap_or(&self).examine()?;
        let damaged = self.damage.found();
        let Some(path) = self.path.clone().filter(|_| !damaged.is_empty()) else {
            let samples = runs.iter().map(|run| self.count_samples(run.id)).sum::<Result<_, _>>()?;
            return Ok(Repaired { damaged, runs: runs.len(), samples, ..Repaired::default() });
        };
        self.keep_others_out(&runs)?;
        replace(&path, recover()?.as_ref().unwrap_or(&self), Some(&self), damaged)
    }

    /// Recovers the pages of a file that cannot be opened as a store; none if it has no run.
    ///
    /// # Errors
    /// If it cannot be read, or there is no space; it is then unchanged.
    pub(crate) fn salvage(path: &Path) -> Result<Option<Repaired>, StoreError> {
        let failed = |source| StoreError::File { action: "find", path: path.into(), source };
        let path = path.canonicalize().map_err(failed)?;
        let file = File::open(&path).map_err(failed)?;
        let recovered = recover(&path, &file, None)?;
        let runs = recovered.examine()?;
        // The status of a run may be damaged, so its claim decides.
        let is_taken = |run: &&Run| !matches!(recovered.claims.is_taken(&run.id.claim()), Ok(false));
        if let Some(busy) = runs.iter().find(is_taken) {
            return Err(StoreError::InUse(busy.id));
        }
        let damaged = [vec!["the file is damaged (it cannot be opened)".to_owned()], recovered.damage.found()].concat();
        if runs.is_empty() { Ok(None) } else { replace(&path, &recovered, None, damaged).map(Some) }
    }

    /// Whether SQLite finds the file's structures sound.
    fn check_file(&self) -> bool {
        let (lines, is_whole) = self.rows_until_damage("PRAGMA integrity_check(20)", |row| row.get::<_, String>(0));
        let lines: Vec<&str> = lines.iter().flat_map(|text| text.lines()).filter(|line| *line != "ok").collect();
        for line in lines.iter().filter(|line| !line.starts_with("***")) {
            self.damage.note(format!("the file is damaged ({line})"));
        }
        if !is_whole {
            self.damage.note("the file is damaged (its check cannot be carried out)".to_owned());
        }
        is_whole && lines.is_empty()
    }

    /// Reads everything, so that all damage is noted; returns the runs.
    fn examine(&self) -> Result<Vec<Run>, StoreError> {
        let mut runs = Vec::new();
        for id in self.known_runs() {
            runs.push(self.run(id)?);
            self.samples(id)?;
            if let Err(error) = self.reading(id) {
                self.damage.note(crate::text::causes(&error));
            }
        }
        self.test_file_paths()?;
        Ok(runs)
    }

    fn known_runs(&self) -> Vec<RunId> {
        self.rows_until_damage("SELECT id FROM runs NOT INDEXED ORDER BY id", |row| row.get(0).map(RunId)).0
    }

    /// Moves the log into the file, and locks the file for this process alone.
    fn keep_others_out(&self, runs: &[Run]) -> Result<(), StoreError> {
        if let Some(busy) = runs.iter().find(|run| run.status == RunStatus::Running) {
            return Err(StoreError::InUse(busy.id));
        }
        self.connection.pragma_update_and_check(None, "locking_mode", "exclusive", |_| Ok(())).during(ACTION)?;
        self.connection.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(())).during(ACTION)?;
        self.connection.execute_batch("BEGIN EXCLUSIVE").during(ACTION)
    }

    /// The number of samples on unreadable pages, besides the known ones. Numbers start at 1.
    fn unreadable_samples(&self, known: &BTreeSet<i64>) -> usize {
        let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'samples'";
        let last = self.connection.query_row(sql, (), |row| row.get::<_, i64>(0)).unwrap_or(0).min(MOST_SAMPLES);
        let is_unreadable = |id: &i64| {
            let found = self.connection.query_row("SELECT 1 FROM samples WHERE id = ?", (id,), |_| Ok(()));
            !matches!(found, Ok(()) | Err(rusqlite::Error::QueryReturnedNoRows))
        };
        (1..=last).filter(|id| !known.contains(id)).filter(is_unreadable).count()
    }

    /// A readable sample with its text, and its place if that is readable.
    fn whole_sample(&self, id: i64) -> Option<(Sample, String, Option<Slot>)> {
        let sql = "SELECT record, run_id, cell, block FROM samples WHERE id = ?";
        let read = |row: &Row<'_>| {
            let slot = |row: &Row<'_>| Ok::<_, rusqlite::Error>((RunId(row.get(1)?), row.get(2)?, row.get(3)?));
            Ok((row.get::<_, String>(0)?, slot(row).ok()))
        };
        let (record, slot) = self.connection.prepare_cached(sql).ok()?.query_row((id,), read).ok()?;
        Some((serde_json::from_str(&record).ok()?, record, slot))
    }
}

/// Copies all readable rows into a sound store, and replaces the damaged one by it.
fn replace(
    path: &Path,
    source: &Store,
    damaged_store: Option<&Store>,
    damaged: Vec<String>,
) -> Result<Repaired, StoreError> {
    let temporary = beside(path, format!(".repair-{}", std::process::id()));
    let mut repaired = Repaired { damaged, ..Repaired::default() };
    let saved = create(&temporary).and_then(|()| save(source, damaged_store, &temporary, &mut repaired));
    let kept = saved.and_then(|()| {
        let failed =
            |source| StoreError::File { action: "put the repaired store in place of", path: path.into(), source };
        exchange(&temporary, path).map_err(failed)
    });
    if kept.is_err() {
        // The first error is more useful than one of the clean-up.
        let _ = std::fs::remove_file(&temporary);
    }
    Ok(Repaired { kept: Some(kept?), ..repaired })
}

/// Copies all readable rows into an empty store.
fn save(source: &Store, damaged: Option<&Store>, path: &Path, repaired: &mut Repaired) -> Result<(), StoreError> {
    let mut connection = Connection::open(path).during(ACTION)?;
    // No other process uses it before it is complete.
    connection.pragma_update_and_check(None, "journal_mode", "memory", |_| Ok(())).during(ACTION)?;
    connection.pragma_update(None, "foreign_keys", false).during(ACTION)?;
    let sound = connection.transaction().during(ACTION)?;
    // No number is assigned twice.
    for row in damaged.iter().flat_map(|store| store.table("sqlite_sequence", &["name", "seq"])) {
        let _ = insert(&sound, "sqlite_sequence", &["name", "seq"], row);
    }
    for id in source.known_runs() {
        save_run(&source.run(id)?, source, &sound).during(ACTION)?;
    }
    let is_reading =
        |row: &Vec<Value>| matches!(&row[1], Value::Text(record) if serde_json::from_str::<Reading>(record).is_ok());
    let (table, columns, ..) = TABLES[2];
    for row in source.table(table, columns).into_iter().filter(is_reading) {
        insert(&sound, table, columns, row).during(ACTION)?;
    }
    let (index, is_whole) = damaged.map(Store::index).unwrap_or_default();
    let numbers = save_samples(source, &index, &sound, repaired).during(ACTION)?;
    if let Some(store) = damaged.filter(|_| !is_whole) {
        repaired.lost += store.unreadable_samples(&numbers);
    }
    let (table, columns, ..) = TABLES[3];
    for row in source.table(table, columns) {
        // A row that the table rejects is dropped.
        let _ = insert(&sound, table, columns, row);
    }
    let runs: i64 = sound.query_row("SELECT count(*) FROM runs", (), |row| row.get(0)).during(ACTION)?;
    repaired.runs = usize::try_from(runs).unwrap_or_default();
    sound.commit().during(ACTION)?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())).during(ACTION)?;
    connection.close().map_err(|(_, error)| error).during(ACTION)
}

fn save_run(run: &Run, source: &Store, sound: &Transaction<'_>) -> rusqlite::Result<()> {
    let value = |column: &&str| {
        let sql = format!("SELECT {column} FROM runs WHERE id = ?");
        match source.connection.query_row(&sql, (run.id.0,), |row| row.get(0)) {
            Ok(value) if value != Value::Null && !run.damaged.contains(column) => value,
            _ => stand_in(run, column),
        }
    };
    insert(sound, "runs", &RUN_COLUMNS, RUN_COLUMNS.iter().map(value).collect()).map(drop)
}

/// Copies the samples; returns the numbers of all known samples, including the unreadable ones.
fn save_samples(
    source: &Store,
    index: &BTreeMap<i64, Slot>,
    sound: &Transaction<'_>,
    repaired: &mut Repaired,
) -> rusqlite::Result<BTreeSet<i64>> {
    // If the place is valid, its run exists, and no sample has the place.
    let mut insert = sound.prepare(
        "INSERT OR IGNORE INTO samples (id, run_id, cell, block, started_at, record)
         SELECT ?1, id, ?3, ?4, ?5, ?6 FROM runs WHERE id = ?2 AND ?3 >= 0 AND ?4 BETWEEN 0 AND 0xffffffff",
    )?;
    let (listed, _) = source.rows_until_damage("SELECT id FROM samples NOT INDEXED", |row| row.get(0));
    let numbers: BTreeSet<i64> = listed.into_iter().chain(index.keys().copied()).collect();
    let mut displaced = Vec::new();
    for &id in &numbers {
        let Some((sample, record, own)) = source.whole_sample(id) else {
            repaired.lost += 1;
            continue;
        };
        let slots = [own, index.get(&id).copied()];
        let mut is_kept = false;
        for (run, cell, block) in slots.into_iter().flatten() {
            let place = (id, run.0, cell, block, sample.started_at.to_string(), &record);
            is_kept = is_kept || insert.execute(place)? == 1;
        }
        repaired.samples += usize::from(is_kept);
        if !is_kept {
            displaced.push((id, own.or(slots[1]), sample, record));
        }
    }
    // Samples with a place come first, then those without. Two workloads in one cell would count as repetitions.
    let behind = "SELECT cell, (SELECT coalesce(max(block) + 1, 0) FROM samples WHERE run_id = ?1 AND cell = free.cell)
                  FROM (SELECT coalesce(?2, (SELECT max(cell) + 1 FROM samples WHERE run_id = ?1), 0) AS cell) AS free";
    let mut nameless = None;
    for (id, slot, sample, record) in displaced {
        let is_run = |run: &RunId| sound.query_row("SELECT 1 FROM runs WHERE id = ?", (run.0,), |_| Ok(())).is_ok();
        let run = match slot.map(|(run, ..)| run).filter(is_run).or(nameless) {
            Some(run) => run,
            None => *nameless.insert(run_without_name(sound, &sample)?),
        };
        let cell = slot.map(|(_, cell, _)| cell).filter(|cell| *cell >= 0);
        let (cell, block): (i64, i64) = sound.query_row(behind, (run.0, cell), |row| Ok((row.get(0)?, row.get(1)?)))?;
        insert.execute((id, run.0, cell, block, sample.started_at.to_string(), record))?;
        repaired.samples += 1;
        repaired
            .damaged
            .push(format!("sample {id} had lost its place, and is now in run {run}, cell {cell}, block {block}"));
    }
    Ok(numbers)
}

/// A run for samples whose run is unknown.
fn run_without_name(sound: &Transaction<'_>, sample: &Sample) -> rusqlite::Result<RunId> {
    let sql = "INSERT INTO runs (kind, name, command, target, seed, program, environment, started_at, status)
               VALUES ('io', 'samples of damaged runs', '', ?, 0, ?, ?, ?, 'interrupted')";
    let (program, environment) = (json(&*sample.program), json(&*sample.environment));
    sound.execute(sql, (&sample.environment.target.path, program, environment, sample.started_at.to_string()))?;
    Ok(RunId(sound.last_insert_rowid()))
}

/// The stand-in for a damaged column of a run. A run's JSON has the names of its columns.
fn stand_in(run: &Run, column: &str) -> Value {
    match serde_json::to_value(run).unwrap_or_default()[column].take() {
        Json::Null => Value::Null,
        Json::String(text) => Value::Text(text),
        Json::Number(number) => Value::Integer(number.as_u64().unwrap_or_default().cast_signed()),
        record => Value::Text(record.to_string()),
    }
}

/// Replaces the damaged store by the sound one in one step; returns the new path of the damaged one.
fn exchange(sound: &Path, path: &Path) -> std::io::Result<PathBuf> {
    let mut number = 1;
    let kept = loop {
        let kept = beside(path, format!(".damaged-{number}"));
        if kept.symlink_metadata().is_err() {
            break kept;
        }
        number += 1;
    };
    File::open(sound)?.sync_all()?;
    // A file that cannot be opened may have a log, which would be replayed onto the sound store.
    for suffix in ["-wal", "-shm"] {
        if beside(path, suffix).exists() {
            std::fs::rename(beside(path, suffix), beside(&kept, suffix))?;
        }
    }
    if renameat_with(CWD, sound, CWD, path, RenameFlags::EXCHANGE).is_ok() {
        renameat_with(CWD, sound, CWD, &kept, RenameFlags::NOREPLACE)?;
    } else {
        std::fs::hard_link(path, &kept)?;
        std::fs::rename(sound, path)?;
    }
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()?;
    Ok(kept)
}
