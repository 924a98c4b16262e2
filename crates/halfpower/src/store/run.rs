//! Runs: a plan or a single workload carried out, with its status.

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
    /// `halfpower ab`: two targets or settings in turn.
    Ab,
    /// `halfpower scrub` and the other instruments: a run with a reading instead of samples.
    Instrument,
    /// `halfpower import`: results of another program.
    Import,
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunStatus {
    /// A process is measuring it.
    Running,
    /// Every repetition is stored.
    Complete,
    /// Ended early by the user, a limit or a crash; it can be resumed.
    Interrupted,
    /// Ended by an error.
    Failed,
}

/// The facts that a run begins with.
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
    /// The plan, as needed to resume.
    pub plan: Option<&'a Plan>,
    /// The command that reproduces it.
    pub command: &'a str,
    /// The targets.
    pub target: &'a str,
    /// Seed of all random draws.
    pub seed: u64,
    /// Note of the user.
    pub note: Option<&'a str>,
    /// The host and its targets.
    pub environment: &'a Environment,
}

/// A stored run.
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
    /// The targets.
    pub target: String,
    /// Seed of all random draws.
    pub seed: u64,
    /// Note of the user.
    pub note: Option<String>,
    /// The program that measured it.
    pub program: Program,
    /// The host and its targets.
    pub environment: Environment,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended; none while it runs, or if its process was killed.
    pub finished_at: Option<Timestamp>,
    /// Its status.
    pub status: RunStatus,
    /// Columns that are unreadable and have a stand-in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<&'static str>,
}

impl Run {
    /// What tells it from the runs of all stores: a text of digits and letters.
    pub(crate) fn identity(&self) -> String {
        format!("{}-{}", self.started_at.as_nanosecond(), self.seed)
    }
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
    /// The targets.
    pub target: String,
    /// Note of the user.
    pub note: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Its status.
    pub status: RunStatus,
    /// The number of its samples.
    pub samples: u64,
}

impl Store {
    /// Begins a run and claims it for this process.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn begin_run(&mut self, run: &NewRun<'_>) -> Result<RunId, StoreError> {
        const ACTION: &str = "begin a run";
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).during(ACTION)?;
        let id = insert_run(&transaction, run, RunStatus::Running).during(ACTION)?;
        // Claimed before others can see it, so it never looks abandoned.
        self.claims.take(&id.claim())?;
        let committed = transaction.commit().during(ACTION);
        if committed.is_err() {
            self.claims.release(&id.claim());
        }
        committed.map(|()| id)
    }

    /// Replaces a run's plan, before its first sample.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn change_plan(&mut self, id: RunId, plan: &Plan) -> Result<(), StoreError> {
        let sql = "UPDATE runs SET plan = ? WHERE id = ?";
        self.execute("change a plan", sql, (json(plan), id.0)).map(drop)
    }

    /// Resumes a run that was interrupted or failed, and claims it for this process.
    ///
    /// # Errors
    /// If there is none, another process is measuring it, or it is complete.
    pub(crate) fn resume_run(&mut self, id: RunId) -> Result<Run, StoreError> {
        self.claim_run(id)?;
        // Read after the claim: the last holder may have completed it.
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

    /// Stores the status and the end of a run, and releases its claim.
    ///
    /// # Errors
    /// If there is none, or it cannot be written.
    pub(crate) fn finish_run(&mut self, id: RunId, status: RunStatus) -> Result<(), StoreError> {
        let sql = "UPDATE runs SET status = ?, finished_at = ? WHERE id = ?";
        let changed = self.execute("finish a run", sql, (word(status), Timestamp::now().to_string(), id.0))?;
        self.follow_moved_file()?;
        self.claims.release(&id.claim());
        if changed == 0 { Err(StoreError::NoRun(id)) } else { Ok(()) }
    }

    /// Removes a run with its samples. The record of a test file that is left stays.
    ///
    /// # Errors
    /// If there is none, or another process is measuring it.
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

    /// A stored `running` stays if a process is killed, so its claim decides.
    pub(super) fn status_of(&self, id: RunId, stored: RunStatus) -> Result<RunStatus, StoreError> {
        if stored != RunStatus::Running {
            return Ok(stored);
        }
        Ok(if self.claims.is_taken(&id.claim())? { RunStatus::Running } else { RunStatus::Interrupted })
    }
}

/// Inserts a run, in the current transaction.
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
    /// Rejects a run whose plan is damaged.
    ///
    /// # Errors
    /// If it is damaged.
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

/// The JSON of a record.
pub(super) fn json<T: Serialize>(record: &T) -> String {
    serde_json::to_string(record).expect("records have text keys and finite depth")
}

impl RunId {
    /// The name of its claim.
    pub(super) fn claim(self) -> String {
        format!("run-{self}")
    }
}

/// The stored word of a kind or a status.
pub(crate) fn word(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
