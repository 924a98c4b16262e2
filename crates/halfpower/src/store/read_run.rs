//! Reading runs. A damaged column has a stand-in, from the run's first sample if that has the value.

use super::damage::{Cause, Damage, damaged};
use super::error::{During, StoreError};
use super::handle::Store;
use super::run::{Run, RunKind, RunStatus, RunSummary};
use super::run_id::RunId;
use clap::ValueEnum;
use halfpower_model::sample::Program;
use halfpower_model::{Environment, Sample};
use jiff::Timestamp;
use rusqlite::types::FromSql;
use rusqlite::{OptionalExtension, Row};
use serde::de::DeserializeOwned;
use std::cell::RefCell;

/// Stand-in for a damaged text.
const DAMAGED: &str = "(damaged)";

impl Store {
    /// A run.
    ///
    /// # Errors
    /// If there is none, or nothing of it is readable.
    pub(crate) fn run(&self, id: RunId) -> Result<Run, StoreError> {
        let row = self.connection.query_row("SELECT * FROM runs WHERE id = ?", (id.0,), |row| Ok(self.run_of(id, row)));
        let error = match row.optional() {
            Ok(Some(run)) => return run,
            Ok(None) if self.count_samples(id)? == 0 => return Err(StoreError::NoRun(id)),
            Ok(None) => Cause::from("only its samples are left"),
            Err(error) => error.into(),
        };
        let recovered = self.recovered().and_then(|store| store.run(id)).ok();
        recovered.ok_or_else(|| damaged(format!("run {id}"), error))
    }

    /// Every run, the oldest first. Unreadable columns are reported.
    ///
    /// # Errors
    /// If nothing is readable.
    pub(crate) fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.list().or_else(|error| {
            self.damage.note(format!("the list of runs is damaged, and it may count too few samples ({error})"));
            self.recovered().or(Err(error))?.list()
        })
    }

    fn list(&self) -> Result<Vec<RunSummary>, StoreError> {
        const ACTION: &str = "list its runs";
        let sql = "SELECT id, kind, name, target, note, started_at, finished_at, status,
            (SELECT count(*) FROM samples WHERE run_id = runs.id) AS samples
            FROM runs INDEXED BY runs_list ORDER BY id";
        let mut statement = self.connection.prepare(sql).during(ACTION)?;
        let rows = statement.query_map((), |row| {
            let samples = row.get::<_, i64>("samples")?.cast_unsigned();
            Ok(self.summary_of(RunId(row.get("id")?), samples, row))
        });
        rows.during(ACTION)?.map(|row| row.during(ACTION)?).collect()
    }

    fn run_of(&self, id: RunId, row: &Row<'_>) -> Result<Run, StoreError> {
        let columns = Columns { run: id, row, damage: &self.damage, damaged: RefCell::default() };
        let text = |column| columns.get(column).unwrap_or_else(|| DAMAGED.to_owned());
        let target = text("target");
        let (program, environment) = (columns.json::<Program>("program"), columns.json::<Environment>("environment"));
        let started_at = columns.time("started_at");
        let is_whole = program.is_some() && environment.is_some() && started_at.is_some();
        let first = if is_whole { None } else { self.first_sample(id) };
        let of_first = |of: fn(&Sample) -> Program| first.as_ref().map(of);
        let unknown = || Program { version: "unknown".to_owned(), commit: None, features: Vec::new() };
        Ok(Run {
            id,
            kind: columns.word("kind").unwrap_or(RunKind::Io),
            name: text("name"),
            question: columns.get("question").flatten(),
            study_text: columns.get("study_text").flatten(),
            plan: columns.json("plan"),
            command: text("command"),
            seed: columns.get::<i64>("seed").unwrap_or_default().cast_unsigned(),
            note: columns.get("note").flatten(),
            program: program.or_else(|| of_first(|sample| (*sample.program).clone())).unwrap_or_else(unknown),
            environment: environment
                .or_else(|| first.as_ref().map(|sample| (*sample.environment).clone()))
                .unwrap_or_else(|| Environment::unknown(target.as_str(), None)),
            started_at: started_at.or_else(|| first.as_ref().map(|sample| sample.started_at)).unwrap_or_default(),
            finished_at: columns.time("finished_at"),
            status: self.status_of(id, columns.word("status").unwrap_or(RunStatus::Interrupted))?,
            target,
            damaged: columns.damaged.take(),
        })
    }

    /// The first readable sample of a run.
    fn first_sample(&self, run: RunId) -> Option<Sample> {
        let mut statement = self.connection.prepare("SELECT record FROM samples WHERE run_id = ? ORDER BY id").ok()?;
        let records = statement.query_map((run.0,), |row| row.get::<_, String>(0)).ok()?;
        records.map_while(|record| record.ok()).find_map(|record| serde_json::from_str(&record).ok())
    }

    fn summary_of(&self, id: RunId, samples: u64, row: &Row<'_>) -> Result<RunSummary, StoreError> {
        let columns = Columns { run: id, row, damage: &self.damage, damaged: RefCell::default() };
        let text = |column| columns.get(column).unwrap_or_else(|| DAMAGED.to_owned());
        Ok(RunSummary {
            id,
            kind: columns.word("kind").unwrap_or(RunKind::Io),
            name: text("name"),
            target: text("target"),
            note: columns.get("note").flatten(),
            started_at: columns.time("started_at").unwrap_or_default(),
            finished_at: columns.time("finished_at"),
            status: self.status_of(id, columns.word("status").unwrap_or(RunStatus::Interrupted))?,
            samples,
        })
    }
}

/// The columns of a run. An unreadable one is reported, and has its type's default.
struct Columns<'a> {
    run: RunId,
    row: &'a Row<'a>,
    damage: &'a Damage,
    /// Columns that are unreadable.
    damaged: RefCell<Vec<&'static str>>,
}

impl Columns<'_> {
    fn or_none<T>(&self, column: &'static str, value: Result<T, Cause>) -> Option<T> {
        value
            .inspect_err(|cause| {
                self.damage.note(format!("`{column}` of run {} is damaged ({cause})", self.run));
                self.damaged.borrow_mut().push(column);
            })
            .ok()
    }

    fn get<T: FromSql>(&self, column: &'static str) -> Option<T> {
        self.or_none(column, self.row.get(column).map_err(Cause::from))
    }

    fn json<T: DeserializeOwned>(&self, column: &'static str) -> Option<T> {
        let text = self.get::<Option<String>>(column)??;
        self.or_none(column, serde_json::from_str(&text).map_err(Cause::from))
    }

    fn word<T: ValueEnum>(&self, column: &'static str) -> Option<T> {
        let text = self.get::<String>(column)?;
        self.or_none(column, T::from_str(&text, false).map_err(Cause::from))
    }

    fn time(&self, column: &'static str) -> Option<Timestamp> {
        let text = self.get::<Option<String>>(column)??;
        self.or_none(column, text.parse().map_err(Cause::from))
    }
}
