//! Samples: the record of each repetition, as the JSON that `--json` prints.

use super::Store;
use super::alike::Parser;
use super::error::{During, StoreError};
use super::run::{RunId, json};
use halfpower_model::Sample;
use rusqlite::{ErrorCode, Row};
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::thread::{self, Scope, ScopedJoinHandle};

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
        // By the numbers that the run's samples lie between: found by the index of runs, the records would be sorted
        // in a temporary file.
        let sql = "SELECT id, cell, block, record FROM samples
                   WHERE id BETWEEN (SELECT min(id) FROM samples WHERE run_id = ?1)
                       AND (SELECT max(id) FROM samples WHERE run_id = ?1) AND +run_id = ?1
                   ORDER BY id";
        let mut statement = self.connection.prepare(sql).during(ACTION)?;
        let mut rows = statement.query((run.0,)).during(ACTION)?;
        let mut samples: Vec<StoredSample> = Vec::with_capacity(self.count_samples(run)?);
        let mut read = || {
            let mut batch = Vec::new();
            while batch.len() < BATCH
                && let Some(row) = rows.next().during(ACTION)?
            {
                batch.push(Record::of(run, row)?);
            }
            Ok(batch)
        };
        let mut batch = read()?;
        let mut parser = Parser::default();
        // The first one alone, so that all threads share what is like it.
        if !batch.is_empty() {
            samples.push(batch.remove(0).parse(run, &mut parser)?);
        }
        while !batch.is_empty() {
            let (parsed, next) = thread::scope(|scope| {
                let threads = parse(scope, run, &batch, &parser);
                let next = read();
                (threads.into_iter().map(joined).collect::<Vec<_>>(), next)
            });
            for part in parsed {
                let (mut part, parser_after) = part?;
                samples.append(&mut part);
                parser = parser_after;
            }
            batch = next?;
        }
        Ok(samples)
    }

    fn count_samples(&self, run: RunId) -> Result<usize, StoreError> {
        let sql = "SELECT count(*) FROM samples WHERE run_id = ?";
        let count = self.connection.query_row(sql, (run.0,), |row| row.get::<_, i64>(0));
        count.during("count the samples of a run").map(|count| usize::try_from(count).unwrap_or_default())
    }
}

/// Records that are parsed at once: some 6 MB of text.
const BATCH: usize = 1024;
/// Fewer are not worth a thread.
const BATCH_OF_THREAD: usize = 64;

/// A row before it is parsed.
struct Record {
    id: i64,
    cell: usize,
    block: u32,
    text: String,
}

impl Record {
    fn of(run: RunId, row: &Row<'_>) -> Result<Record, StoreError> {
        let id: i64 = row.get(0).during("read the samples of a run")?;
        let damaged = |error: Box<dyn std::error::Error + Send + Sync>| damaged(run, id, error);
        let cell: i64 = row.get(1).map_err(|error| damaged(error.into()))?;
        Ok(Record {
            id,
            cell: usize::try_from(cell).map_err(|error| damaged(error.into()))?,
            block: row.get(2).map_err(|error| damaged(error.into()))?,
            text: row.get(3).map_err(|error| damaged(error.into()))?,
        })
    }

    fn parse(&self, run: RunId, parser: &mut Parser) -> Result<StoredSample, StoreError> {
        let mut sample = parser.parse(&self.text).map_err(|error| damaged(run, self.id, error.into()))?;
        // Lists are parsed into room for more than they mostly have, which of many samples is a tenth of all memory.
        sample.intervals.shrink_to_fit();
        sample.workers.shrink_to_fit();
        sample.cpu.kernel_threads.shrink_to_fit();
        Ok(StoredSample { id: self.id, cell: self.cell, block: self.block, sample })
    }
}

fn damaged(run: RunId, id: i64, source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    StoreError::Damaged { what: format!("sample {id} of run {run}"), run, source }
}

/// What a thread makes of its part of the records, and what it knows after them.
type Parsed = Result<(Vec<StoredSample>, Parser), StoreError>;

/// Begins to parse the records on all processors, each thread a part of them.
fn parse<'scope>(
    scope: &'scope Scope<'scope, '_>,
    run: RunId,
    records: &'scope [Record],
    parser: &'scope Parser,
) -> Vec<ScopedJoinHandle<'scope, Parsed>> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let part = records.len().div_ceil(threads).max(BATCH_OF_THREAD);
    let parse = move |part: &[Record]| {
        let mut parser = parser.clone();
        let mut samples = Vec::with_capacity(part.len());
        for record in part {
            samples.push(record.parse(run, &mut parser)?);
        }
        Ok((samples, parser))
    };
    records.chunks(part).map(|part| scope.spawn(move || parse(part))).collect()
}

fn joined(thread: ScopedJoinHandle<'_, Parsed>) -> Parsed {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
