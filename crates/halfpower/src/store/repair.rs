//! Repairing a store: everything that can be read goes into a sound one, which takes the damaged one's place at once; the
//! damaged one is kept beside it, so that nothing is lost that somebody may still read.
//!
//! A sample goes where its record says; where its place in the plan is damaged, where the index says, or behind the
//! repetitions that are there. A run whose columns are damaged has stand-ins. Nobody else may be at the store meanwhile.

use super::Store;
use super::claims::Claims;
use super::companion_files::beside;
use super::create::create;
use super::damaged_lists::Slot;
use super::error::{During, StoreError};
use super::raw_pages::recover_rows;
use super::run::{Run, RunStatus, json};
use super::run_id::RunId;
use crate::reading::Reading;
use halfpower_model::Sample;
use rusqlite::types::{FromSql, Value};
use rusqlite::{Connection, OptionalExtension, Transaction, params_from_iter};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

const ACTION: &str = "be repaired";

/// The columns of a run beside its number.
const RUN_COLUMNS: [&str; 14] = [
    "kind",
    "name",
    "question",
    "study_text",
    "plan",
    "command",
    "target",
    "seed",
    "note",
    "program",
    "environment",
    "started_at",
    "finished_at",
    "status",
];

/// What a repair found and did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Repaired {
    /// What is damaged.
    pub(crate) damaged: Vec<String>,
    /// Runs in the sound store.
    pub(crate) runs: usize,
    /// Samples there.
    pub(crate) samples: usize,
    /// Samples that cannot be read.
    pub(crate) lost: usize,
    /// Where the damaged store is now; none where nothing was damaged.
    pub(crate) kept: Option<PathBuf>,
}

impl Store {
    /// Looks at everything in the store and, where something is damaged, puts a sound one in its place.
    ///
    /// # Errors
    /// When a process is at it, or there is no room; the store is then as it was.
    pub(crate) fn repair(mut self) -> Result<Repaired, StoreError> {
        let is_file_sound = self.check_file();
        let runs = self.examine()?;
        let mut repaired = Repaired { damaged: self.damage.found(), ..Repaired::default() };
        let Some(path) = self.path.clone().filter(|_| !repaired.damaged.is_empty()) else {
            repaired.runs = runs.len();
            repaired.samples = runs.iter().map(|run| self.count_samples(run.id)).sum::<Result<_, _>>()?;
            return Ok(repaired);
        };
        if let Some(busy) = runs.iter().find(|run| run.status == RunStatus::Running) {
            return Err(StoreError::InUse(busy.id));
        }
        self.keep_others_out()?;
        // Where the file is sound, a page may hold what was removed.
        let mut recovered = if is_file_sound { None } else { Some(recover_rows(&path)?) };
        let recovered_runs = recovered.as_mut().map_or(Ok(Vec::new()), Store::examine)?;
        let sources: Vec<&Store> = [Some(&self), recovered.as_ref()].into_iter().flatten().collect();
        repaired.kept = Some(replace(&path, &sources, &[runs, recovered_runs], &mut repaired)?);
        Ok(repaired)
    }

    /// Saves what is in the pages of a store that cannot even be opened; none where nothing of a store is there.
    ///
    /// # Errors
    /// When it cannot be read, or there is no room; it is then as it was.
    pub(crate) fn salvage(path: &Path) -> Result<Option<Repaired>, StoreError> {
        let path =
            path.canonicalize().map_err(|source| StoreError::File { action: "find", path: path.into(), source })?;
        let mut recovered = recover_rows(&path)?;
        let runs = recovered.examine()?;
        if runs.is_empty() {
            return Ok(None);
        }
        let claims = Claims::beside(Some(&path));
        if let Some(busy) = runs.iter().find(|run| !matches!(claims.is_taken(&run.id.claim()), Ok(false))) {
            return Err(StoreError::InUse(busy.id));
        }
        let mut repaired =
            Repaired { damaged: vec!["the file is damaged (it cannot be opened)".to_owned()], ..Repaired::default() };
        repaired.damaged.extend(recovered.damage.found());
        repaired.kept = Some(replace(&path, &[&recovered], &[runs], &mut repaired)?);
        Ok(Some(repaired))
    }

    /// Whether SQLite finds its own structures sound.
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

    /// Reads everything, so that all damage is noted; gives the runs.
    fn examine(&mut self) -> Result<Vec<Run>, StoreError> {
        let mut runs = Vec::new();
        for (id, _) in self.known_runs()? {
            runs.push(self.run(id)?);
            self.samples(id)?;
            if let Err(error) = self.reading(id) {
                self.damage.note(crate::text::causes(&error));
            }
        }
        self.test_file_paths()?;
        Ok(runs)
    }

    /// Takes the log into the file, and the file for this process alone.
    fn keep_others_out(&self) -> Result<(), StoreError> {
        self.connection.pragma_update_and_check(None, "locking_mode", "exclusive", |_| Ok(())).during(ACTION)?;
        self.connection.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(())).during(ACTION)?;
        self.connection.execute_batch("BEGIN EXCLUSIVE").during(ACTION)
    }

    fn value_of_sample<T: FromSql>(&self, id: i64, column: &str) -> rusqlite::Result<T> {
        let mut statement = self.connection.prepare_cached(&format!("SELECT {column} FROM samples WHERE id = ?"))?;
        statement.query_row((id,), |row| row.get(0))
    }

    /// A sample that can be read, with its text and its place, as far as that can be told.
    fn whole_sample(&self, id: i64) -> Option<(Sample, String, Option<Slot>)> {
        let record: String = self.value_of_sample(id, "record").ok()?;
        let sample = serde_json::from_str(&record).ok()?;
        let part = |column: &str| self.value_of_sample::<i64>(id, column).ok();
        let slot =
            part("run_id").zip(part("cell")).zip(part("block")).map(|((run, cell), block)| (RunId(run), cell, block));
        Some((sample, record, slot))
    }
}

/// Puts everything that the sources have into a sound store, and that in the place of the damaged one; gives where that is
/// now.
fn replace(path: &Path, sources: &[&Store], runs: &[Vec<Run>], repaired: &mut Repaired) -> Result<PathBuf, StoreError> {
    let temporary = beside(path, format!(".repair-{}", std::process::id()));
    let saved = create(&temporary).and_then(|()| save(sources, runs, &temporary, repaired)).and_then(|()| {
        let failed =
            |source| StoreError::File { action: "put the repaired store in place of", path: path.into(), source };
        exchange(&temporary, path).map_err(failed)
    });
    if saved.is_err() {
        // The first error says more than a failure to tidy up would.
        let _ = std::fs::remove_file(&temporary);
    }
    saved
}

/// Copies everything that can be read into an empty store.
fn save(sources: &[&Store], runs: &[Vec<Run>], path: &Path, repaired: &mut Repaired) -> Result<(), StoreError> {
    let mut connection = Connection::open(path).during(ACTION)?;
    // Until it is whole it is nobody's store.
    connection.pragma_update_and_check(None, "journal_mode", "memory", |_| Ok(())).during(ACTION)?;
    connection.pragma_update(None, "foreign_keys", false).during(ACTION)?;
    let sound = connection.transaction().during(ACTION)?;
    let mut places = Places::default();
    let known: BTreeSet<RunId> = runs.iter().flatten().map(|run| run.id).collect();
    for id in known {
        // The first that is whole, or the first.
        let mut found: Vec<(&Store, Run)> = Vec::new();
        for (source, runs) in sources.iter().zip(runs) {
            found.extend(runs.iter().find(|run| run.id == id).map(|run| (*source, run.clone())));
        }
        let whole = found.iter().find(|(_, run)| run.damaged.is_empty()).or(found.first());
        if let Some((source, run)) = whole {
            save_run(source, run, &sound).during(ACTION)?;
            places.runs.insert(id);
        }
        save_reading(sources, id, &sound).during(ACTION)?;
    }
    save_samples(sources, &sound, &mut places, repaired).during(ACTION)?;
    repaired.runs = places.runs.len();
    save_test_files(sources[0], &sound).during(ACTION)?;
    for table in ["runs", "samples", "test_files"] {
        save_sequence(sources[0], table, &sound).during(ACTION)?;
    }
    sound.commit().during(ACTION)?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())).during(ACTION)?;
    connection.close().map_err(|(_, error)| error).during(ACTION)
}

fn save_run(source: &Store, run: &Run, sound: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut values = vec![Value::Integer(run.id.0)];
    for column in RUN_COLUMNS {
        let sql = format!("SELECT {column} FROM runs WHERE id = ?");
        let stored = source.connection.query_row(&sql, (run.id.0,), |row| row.get(0));
        values.push(match stored {
            Ok(value) if !run.damaged.contains(&column) => value,
            _ => stand_in(run, column),
        });
    }
    let sql =
        format!("INSERT INTO runs (id, {}) VALUES (?{})", RUN_COLUMNS.join(", "), ", ?".repeat(RUN_COLUMNS.len()));
    sound.execute(&sql, params_from_iter(values)).map(drop)
}

fn save_reading(sources: &[&Store], run: RunId, sound: &Transaction<'_>) -> rusqlite::Result<()> {
    let sql = "SELECT record FROM readings WHERE run_id = ?";
    let record = |source: &&Store| source.connection.query_row(sql, (run.0,), |row| row.get::<_, String>(0)).ok();
    let is_whole = |record: &String| serde_json::from_str::<Reading>(record).is_ok();
    match sources.iter().filter_map(record).find(is_whole) {
        Some(record) => sound.execute("INSERT INTO readings (run_id, record) VALUES (?, ?)", (run.0, record)).map(drop),
        None => Ok(()),
    }
}

fn save_samples(
    sources: &[&Store],
    sound: &Transaction<'_>,
    places: &mut Places,
    repaired: &mut Repaired,
) -> rusqlite::Result<()> {
    let (index, _) = sources[0].index();
    let sql = "INSERT INTO samples (id, run_id, cell, block, started_at, record) VALUES (?, ?, ?, ?, ?, ?)";
    let mut insert = sound.prepare(sql)?;
    let mut displaced = Vec::new();
    let numbers: BTreeSet<i64> = sources.iter().flat_map(|source| source.sample_numbers()).collect();
    for id in numbers {
        let Some((sample, record, own)) = sources.iter().find_map(|source| source.whole_sample(id)) else {
            // A number that nothing has is no loss; one that the index has, or that cannot be looked at, is.
            let is_nowhere = |source: &&Store| matches!(source.value_of_sample::<i64>(id, "id").optional(), Ok(None));
            repaired.lost += usize::from(index.contains_key(&id) || !sources.iter().all(is_nowhere));
            continue;
        };
        match [own, index.get(&id).copied()].into_iter().flatten().find(|slot| places.take(*slot)) {
            Some((run, cell, block)) => {
                insert.execute((id, run.0, cell, block, sample.started_at.to_string(), record))?;
                repaired.samples += 1;
            }
            None => displaced.push((id, own.or(index.get(&id).copied()), sample, record)),
        }
    }
    // Whoever has a place keeps it: only then those that have none.
    for (id, slot, sample, record) in displaced {
        let run = match slot.map(|(run, ..)| run).filter(|run| places.runs.contains(run)) {
            Some(run) => run,
            None => run_without_name(sources[0], places, sound, &sample)?,
        };
        let cell = slot.map(|(_, cell, _)| cell).filter(|cell| *cell >= 0);
        let cell = cell.unwrap_or_else(|| places.cell_behind(run));
        let block = places.behind(run, cell);
        insert.execute((id, run.0, cell, block, sample.started_at.to_string(), record))?;
        repaired.samples += 1;
        repaired
            .damaged
            .push(format!("sample {id} had lost its place, and is now in run {run}, cell {cell}, block {block}"));
    }
    Ok(())
}

/// The run for samples whose run cannot be told; made for the first of them.
fn run_without_name(
    source: &Store,
    places: &mut Places,
    sound: &Transaction<'_>,
    sample: &Sample,
) -> rusqlite::Result<RunId> {
    if let Some(run) = places.nameless {
        return Ok(run);
    }
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'runs'";
    let given: Option<i64> = source.connection.query_row(sql, (), |row| row.get(0)).ok();
    let last = places.runs.last().map(|run| run.0);
    let id = RunId(given.max(last).unwrap_or_default() + 1);
    let sql = "INSERT INTO runs (id, kind, name, command, target, seed, program, environment, started_at, status)
               VALUES (?, 'io', 'samples of damaged runs', '', ?, 0, ?, ?, ?, 'interrupted')";
    let (program, environment) = (json(&*sample.program), json(&*sample.environment));
    let target = &sample.environment.target.path;
    sound.execute(sql, (id.0, target, program, environment, sample.started_at.to_string()))?;
    places.runs.insert(id);
    places.nameless = Some(id);
    Ok(id)
}

fn save_test_files(source: &Store, sound: &Transaction<'_>) -> rusqlite::Result<()> {
    const COLUMNS: &str = "id, run_id, path, bytes, noted_at, removed_at, file, directory";
    for id in source.candidates("test_files", [], true) {
        let row =
            source.connection.query_row(&format!("SELECT {COLUMNS} FROM test_files WHERE id = ?"), (id,), |row| {
                (0..8).map(|column| row.get(column)).collect::<rusqlite::Result<Vec<Value>>>()
            });
        if let Ok(values) = row {
            let sql = format!("INSERT INTO test_files ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
            sound.execute(&sql, params_from_iter(values))?;
        }
    }
    Ok(())
}

/// No number is given twice.
fn save_sequence(source: &Store, table: &str, sound: &Transaction<'_>) -> rusqlite::Result<()> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = ?";
    let Ok(given) = source.connection.query_row(sql, (table,), |row| row.get::<_, i64>(0)) else { return Ok(()) };
    if sound.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (given, table))? == 0 {
        sound.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, given))?;
    }
    Ok(())
}

/// What a column of a run has instead, by what was made of the rest.
fn stand_in(run: &Run, column: &str) -> Value {
    let text = |text: &str| Value::Text(text.to_owned());
    match column {
        "kind" => text(run.kind.word()),
        "name" => text(&run.name),
        "command" => text(&run.command),
        "target" => text(&run.target),
        "seed" => Value::Integer(run.seed.cast_signed()),
        "program" => Value::Text(json(&run.program)),
        "environment" => Value::Text(json(&run.environment)),
        "started_at" => Value::Text(run.started_at.to_string()),
        "status" => text(run.status.word()),
        _ => Value::Null,
    }
}

/// Which places in the plans are taken.
#[derive(Default)]
struct Places {
    runs: BTreeSet<RunId>,
    taken: HashSet<Slot>,
    next: BTreeMap<(RunId, i64), i64>,
    /// The run of samples whose run cannot be told.
    nameless: Option<RunId>,
}

impl Places {
    /// Takes a place; false where there is none such, or it is taken.
    fn take(&mut self, slot: Slot) -> bool {
        let (run, cell, block) = slot;
        let is_one = self.runs.contains(&run) && cell >= 0 && u32::try_from(block).is_ok();
        if !is_one || !self.taken.insert(slot) {
            return false;
        }
        let next = self.next.entry((run, cell)).or_default();
        *next = (*next).max(block + 1);
        true
    }

    /// A cell that nothing is in: two workloads in one would be taken for repetitions of one another.
    fn cell_behind(&self, run: RunId) -> i64 {
        self.next.range((run, 0)..=(run, i64::MAX)).next_back().map_or(0, |((_, cell), _)| cell + 1)
    }

    /// The first place behind those that are taken.
    fn behind(&mut self, run: RunId, cell: i64) -> i64 {
        let next = self.next.entry((run, cell)).or_default();
        *next += 1;
        *next - 1
    }
}

/// Puts the sound store in the place of the damaged one, in one step; gives where the damaged one is now.
fn exchange(sound: &Path, path: &Path) -> std::io::Result<PathBuf> {
    let mut number = 1;
    let kept = loop {
        let kept = beside(path, format!(".damaged-{number}"));
        if kept.symlink_metadata().is_err() {
            break kept;
        }
        number += 1;
    };
    std::fs::File::open(sound)?.sync_all()?;
    // Of a store that cannot be opened there may be a log: it would be replayed onto the sound one.
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
    std::fs::File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()?;
    Ok(kept)
}
