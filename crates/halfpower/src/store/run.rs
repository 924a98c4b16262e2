//! Runs: a plan carried out, or one workload; what it was, on what, and how it ended.

use super::damage::damaged;
use super::error::{During, StoreError};
use super::handle::Store;
use super::run_id::RunId;
use crate::plan::Plan;
use clap::ValueEnum;
use halfpower_model::Environment;
use halfpower_model::sample::Program;
use jiff::Timestamp;
use rusqlite::{Connection, TransactionBehavior, params};
use serde::Serialize;

/// What kind of run it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunKind {
    /// `halfpower io`.
    Io,
    /// `halfpower run`.
    Survey,
    /// `halfpower study run`.
    Study,
    /// Either with `--aa`: the same measured twice.
    Aa,
    /// `halfpower scrub` and the other instruments: it has a reading and no samples.
    Instrument,
    /// `halfpower import`: results of another program.
    Import,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunStatus {
    /// A process is at it.
    Running,
    /// Every repetition is there.
    Complete,
    /// Ended by a person, a limit or a crash before that; it can be resumed.
    Interrupted,
    /// Ended by an error.
    Failed,
}

/// What a run is begun with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewRun<'a> {
    /// What kind.
    pub kind: RunKind,
    /// The study's name, or the workload in words.
    pub name: &'a str,
    /// The study's question.
    pub question: Option<&'a str>,
    /// The study file.
    pub study_text: Option<&'a str>,
    /// The plan, as it has to be resumed.
    pub plan: Option<&'a Plan>,
    /// The command that reproduces it.
    pub command: &'a str,
    /// What it measures.
    pub target: &'a str,
    /// The seed of everything drawn.
    pub seed: u64,
    /// Whatever the user wants remembered.
    pub note: Option<&'a str>,
    /// What it runs on.
    pub environment: &'a Environment,
}

/// A run as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Run {
    /// Its number.
    pub id: RunId,
    /// What kind.
    pub kind: RunKind,
    /// The study's name, or the workload in words.
    pub name: String,
    /// The study's question.
    pub question: Option<String>,
    /// The study file.
    pub study_text: Option<String>,
    /// The plan; none for a single workload.
    pub plan: Option<Plan>,
    /// The command that reproduces it.
    pub command: String,
    /// What it measured.
    pub target: String,
    /// The seed of everything drawn.
    pub seed: u64,
    /// Whatever the user wants remembered.
    pub note: Option<String>,
    /// What measured it.
    pub program: Program,
    /// What it ran on.
    pub environment: Environment,
    /// When it was begun.
    pub started_at: Timestamp,
    /// When it ended; none while it runs, and when its process was killed.
    pub finished_at: Option<Timestamp>,
    /// How far it is.
    pub status: RunStatus,
    /// Columns that could not be read and have a stand-in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<&'static str>,
}

/// A line of the list of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RunSummary {
    /// Its number.
    pub id: RunId,
    /// What kind.
    pub kind: RunKind,
    /// The study's name, or the workload in words.
    pub name: String,
    /// What was measured.
    pub target: String,
    /// Whatever the user wants remembered.
    pub note: Option<String>,
    /// When it was begun.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// How far it is.
    pub status: RunStatus,
    /// Samples it has.
    pub samples: u64,
}

impl Store {
    /// Begins a run and claims it for this process.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn begin_run(&mut self, run: &NewRun<'_>) -> Result<RunId, StoreError> {
        const ACTION: &str = "begin a run";
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).during(ACTION)?;
        let id = insert_run(&transaction, run, RunStatus::Running).during(ACTION)?;
        // Claimed before anybody else can see it: it never looks abandoned.
        self.claims.take(&id.claim())?;
        let committed = transaction.commit().during(ACTION);
        if committed.is_err() {
            self.claims.release(&id.claim());
        }
        committed.map(|()| id)
    }

    /// Keeps a run's plan anew, before its first sample.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn change_plan(&mut self, id: RunId, plan: &Plan) -> Result<(), StoreError> {
        let sql = "UPDATE runs SET plan = ? WHERE id = ?";
        self.execute("change a plan", sql, (json(plan), id.0)).map(drop)
    }

    /// Takes up a run that was interrupted or failed, and claims it for this process.
    ///
    /// # Errors
    /// When there is none, another process is at it, or it is complete.
    pub(crate) fn resume_run(&mut self, id: RunId) -> Result<Run, StoreError> {
        self.claim_run(id)?;
        // Read only now: whoever had the claim may just have completed it.
        let resumed = match self.run(id) {
            Ok(run) if run.status == RunStatus::Complete => Err(StoreError::Complete(id)),
            Ok(run) => {
                let sql = "UPDATE runs SET status = ?, finished_at = NULL WHERE id = ?";
                let changed = self.execute("resume a run", sql, (word(RunStatus::Running), id.0));
                changed.map(|_| Run { status: RunStatus::Running, finished_at: None, ..run })
            }
            Err(error) => Err(error),
        };
        if resumed.is_err() {
            self.claims.release(&id.claim());
        }
        resumed
    }

    /// Writes down how a run ended and gives it up.
    ///
    /// # Errors
    /// When there is none, or it cannot be written.
    pub(crate) fn finish_run(&mut self, id: RunId, status: RunStatus) -> Result<(), StoreError> {
        let sql = "UPDATE runs SET status = ?, finished_at = ? WHERE id = ?";
        let changed = self.execute("finish a run", sql, (word(status), Timestamp::now().to_string(), id.0))?;
        self.follow_moved_file()?;
        self.claims.release(&id.claim());
        if changed == 0 { Err(StoreError::NoRun(id)) } else { Ok(()) }
    }

    /// Removes a run with its samples. Its test file, where one is left, stays known.
    ///
    /// # Errors
    /// When there is none, or another process is at it.
    pub(crate) fn remove_run(&mut self, id: RunId) -> Result<(), StoreError> {
        self.claim_run(id)?;
        let removed = self.delete_run(id);
        self.claims.release(&id.claim());
        match removed {
            Ok(0) => Err(StoreError::NoRun(id)),
            removed => removed.and_then(|_| self.with_reserve(Store::give_room_back)),
        }
    }

    fn delete_run(&mut self, id: RunId) -> Result<usize, StoreError> {
        const ACTION: &str = "remove a run";
        const RUN: &str = "DELETE FROM runs WHERE id = ?";
        match self.execute(ACTION, RUN, (id.0,)) {
            Err(StoreError::Full { .. }) => {}
            result => return result,
        }
        let samples = "DELETE FROM samples WHERE id IN (SELECT id FROM samples WHERE run_id = ? LIMIT ?)";
        self.with_reserve(|store| {
            store.remove_in_parts(samples, id.0)?;
            store.execute(ACTION, RUN, (id.0,))
        })
    }

    fn claim_run(&mut self, id: RunId) -> Result<(), StoreError> {
        if self.claims.take(&id.claim())? { Ok(()) } else { Err(StoreError::InUse(id)) }
    }

    /// What is stored says `running` until somebody says otherwise; a killed process cannot.
    pub(super) fn status_of(&self, id: RunId, stored: RunStatus) -> Result<RunStatus, StoreError> {
        if stored != RunStatus::Running {
            return Ok(stored);
        }
        Ok(if self.claims.is_taken(&id.claim())? { RunStatus::Running } else { RunStatus::Interrupted })
    }
}

/// Writes a run down, in whatever transaction there is.
pub(super) fn insert_run(connection: &Connection, run: &NewRun<'_>, status: RunStatus) -> rusqlite::Result<RunId> {
    let now = Timestamp::now().to_string();
    connection.execute(
        "INSERT INTO runs (kind, name, question, study_text, plan, command, target, seed, note, program, environment,
            started_at, finished_at, status) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            word(run.kind),
            run.name,
            run.question,
            run.study_text,
            run.plan.map(json),
            run.command,
            run.target,
            run.seed.cast_signed(),
            run.note,
            json(&Program::this()),
            json(run.environment),
            now,
            (status != RunStatus::Running).then_some(&now),
            word(status),
        ],
    )?;
    Ok(RunId(connection.last_insert_rowid()))
}

impl Run {
    /// Refuses to go on with a run whose plan is damaged.
    ///
    /// # Errors
    /// Where it is.
    pub(crate) fn check_plan(&self) -> Result<(), StoreError> {
        let reason = format!("it cannot be resumed; start it again with `{}`", self.command);
        let names_nothing = self.plan.as_ref().is_some_and(|plan| plan.targets.is_empty());
        if names_nothing || self.damaged.contains(&"plan") {
            Err(damaged(format!("the plan of run {}", self.id), reason))
        } else {
            Ok(())
        }
    }
}

/// The JSON of a record of ours.
pub(super) fn json<T: Serialize>(record: &T) -> String {
    serde_json::to_string(record).expect("records have text keys and finite depth")
}

impl RunId {
    /// The name of the claim on it.
    pub(super) fn claim(self) -> String {
        format!("run-{self}")
    }
}

/// The word for a kind or a status, as it is stored.
pub(crate) fn word(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
