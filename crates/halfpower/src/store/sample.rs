//! Samples: the record of each repetition, stored as the JSON that `--json` prints.

use super::damage::{Cause, Lost};
use super::error::{During, StoreError};
use super::handle::Store;
use super::record_parser::Parser;
use super::run::json;
use super::run_id::RunId;
use halfpower_analysis::Observed;
use halfpower_model::Sample;
use rusqlite::{ErrorCode, Row};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::thread::{self, Scope, ScopedJoinHandle};

/// A sample with its place in the plan.
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

impl StoredSample {
    /// For an analysis.
    pub(crate) fn observed(&self) -> Observed<'_> {
        Observed { id: self.id, cell: self.cell as u32, block: self.block, sample: &self.sample }
    }
}

impl Store {
    /// Stores a sample. On return it is on the medium.
    ///
    /// # Errors
    /// If there is no such run, the repetition is stored already, or it cannot be written.
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
            Ok(_) => {
                let id = self.connection.last_insert_rowid();
                self.follow_moved_file().map(|()| id)
            }
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                let foreign = error.sqlite_extended_error_code() == Some(rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY);
                Err(if foreign { StoreError::NoRun(run) } else { StoreError::SampleExists { run, cell, block } })
            }
            Err(error) => Err(error).during("keep a sample"),
        }
    }

    /// The samples of a run in the order of measurement. Damaged ones are left out and reported.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn samples(&self, run: RunId) -> Result<Vec<StoredSample>, StoreError> {
        // One snapshot: another process may be adding samples.
        let _snapshot = self.connection.unchecked_transaction().during("read the samples of a run")?;
        let found = self.scan_samples(run).ok().filter(|found| self.is_all(run, found));
        let (samples, lost) = match (found, self.path.as_ref()) {
            (Some(found), _) => found,
            (None, None) => self.scan_samples(run)?,
            (None, Some(_)) => self.recovered_samples(run)?,
        };
        self.damage.note_lost(run, &lost);
        Ok(samples)
    }

    /// Whether the index, which gave the bounds of the scan, agrees with the result: the same number of samples, and no
    /// sample of the run just outside the bounds.
    fn is_all(&self, run: RunId, (samples, lost): &(Vec<StoredSample>, Vec<Lost>)) -> bool {
        let numbers = || samples.iter().map(|sample| sample.id).chain(lost.iter().map(|lost| lost.id));
        let outside = numbers().min().map(|least| least - 1).into_iter().chain(numbers().max().map(|most| most + 1));
        self.count_samples(run).is_ok_and(|count| count == samples.len() + lost.len()) && { outside }
            .all(|id| self.run_of_sample(id) != Some(run))
    }

    /// The readable samples of a run in a damaged file.
    fn recovered_samples(&self, run: RunId) -> Result<(Vec<StoredSample>, Vec<Lost>), StoreError> {
        let Ok(recovered) = self.recovered() else { return self.scan_samples(run) };
        let (samples, mut lost) = recovered.scan_samples(run)?;
        let found: BTreeSet<i64> =
            samples.iter().map(|sample| sample.id).chain(lost.iter().map(|lost| lost.id)).collect();
        let listed = self.index().0.into_iter().filter(|(id, (of, ..))| *of == run && !found.contains(id));
        lost.extend(listed.map(|(id, _)| Lost { id, cause: "its page is damaged".into() }));
        Ok((samples, lost))
    }

    /// The cell and block of each sample of a run, including damaged ones.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn slots(&self, run: RunId) -> Result<Vec<(i64, i64)>, StoreError> {
        const ACTION: &str = "look which samples there are";
        let sql = "SELECT cell, block FROM samples INDEXED BY sqlite_autoindex_samples_1 WHERE run_id = ?";
        let mut statement = self.connection.prepare(sql).during(ACTION)?;
        let rows = statement.query_map((run.0,), |row| Ok((row.get(0)?, row.get(1)?))).during(ACTION)?;
        rows.collect::<rusqlite::Result<_>>().during(ACTION)
    }

    fn run_of_sample(&self, id: i64) -> Option<RunId> {
        self.connection.query_row("SELECT run_id FROM samples WHERE id = ?", (id,), |row| row.get(0).map(RunId)).ok()
    }

    /// The samples of a run from one fast scan, which ends at a damaged page.
    fn scan_samples(&self, run: RunId) -> Result<(Vec<StoredSample>, Vec<Lost>), StoreError> {
        const ACTION: &str = "read the samples of a run";
        // By the range of the run's sample numbers: by the index of runs, the records would be sorted in a temporary
        // file.
        let sql = "SELECT id, cell, block, record FROM samples
                   WHERE id BETWEEN (SELECT min(id) FROM samples WHERE run_id = ?1)
                       AND (SELECT max(id) FROM samples WHERE run_id = ?1) AND +run_id = ?1
                   ORDER BY id";
        let mut statement = self.connection.prepare(sql).during(ACTION)?;
        let mut rows = statement.query((run.0,)).during(ACTION)?;
        let mut all = Parsed { samples: Vec::with_capacity(self.count_samples(run)?), ..Parsed::default() };
        let mut read = || {
            let (mut batch, mut lost) = (Vec::new(), Vec::new());
            while batch.len() < BATCH
                && let Some(row) = rows.next().during(ACTION)?
            {
                match Record::of(row) {
                    Ok(record) => batch.push(record),
                    Err(cause) => lost.push(cause),
                }
            }
            Ok((batch, lost))
        };
        let (mut batch, mut unread) = read()?;
        // The first record alone, so that all threads share its parts.
        if !batch.is_empty() {
            all.take(&batch.remove(0));
        }
        loop {
            all.lost.append(&mut unread);
            if batch.is_empty() {
                return Ok((all.samples, all.lost));
            }
            let (parts, next) = thread::scope(|scope| {
                let threads = parse(scope, &batch, &all.parser);
                let next = read();
                let joined =
                    |thread: ScopedJoinHandle<'_, Parsed>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
                (threads.into_iter().map(joined).collect::<Vec<_>>(), next)
            });
            for mut part in parts {
                all.samples.append(&mut part.samples);
                all.lost.append(&mut part.lost);
                all.parser = part.parser;
            }
            (batch, unread) = next?;
        }
    }

    /// The number of samples of a run, including damaged ones.
    ///
    /// # Errors
    /// If they cannot be counted.
    pub(crate) fn count_samples(&self, run: RunId) -> Result<usize, StoreError> {
        let sql = "SELECT count(*) FROM samples WHERE run_id = ?";
        let count = self.connection.query_row(sql, (run.0,), |row| row.get::<_, i64>(0));
        count.during("count the samples of a run").map(|count| usize::try_from(count).unwrap_or_default())
    }
}

/// Records parsed at once: about 6 MB of text.
const BATCH: usize = 1024;
/// Minimum number of records for a thread.
const BATCH_OF_THREAD: usize = 64;

/// A row before it is parsed.
#[derive(Debug)]
struct Record {
    id: i64,
    cell: usize,
    block: u32,
    text: String,
}

impl Record {
    /// From a row of number, cell, block and record.
    fn of(row: &Row<'_>) -> Result<Record, Lost> {
        let id: i64 = row.get(0).map_err(|error| Lost { id: 0, cause: error.into() })?;
        let lost = |cause: Cause| Lost { id, cause };
        let cell: i64 = row.get(1).map_err(|error| lost(error.into()))?;
        Ok(Record {
            id,
            cell: usize::try_from(cell).map_err(|error| lost(error.into()))?,
            block: row.get(2).map_err(|error| lost(error.into()))?,
            text: row.get(3).map_err(|error| lost(error.into()))?,
        })
    }

    fn parse(&self, parser: &mut Parser) -> Result<StoredSample, Lost> {
        let mut sample = parser.parse(&self.text).map_err(|error| Lost { id: self.id, cause: error.into() })?;
        // Parsing allocates lists larger than most need; over many samples, this is a tenth of all memory.
        sample.intervals.shrink_to_fit();
        sample.workers.shrink_to_fit();
        sample.cpu.kernel_threads.shrink_to_fit();
        Ok(StoredSample { id: self.id, cell: self.cell, block: self.block, sample })
    }
}

/// Samples parsed in order, and the parser after them.
#[derive(Default)]
struct Parsed {
    samples: Vec<StoredSample>,
    lost: Vec<Lost>,
    parser: Parser,
}

impl Parsed {
    fn take(&mut self, record: &Record) {
        match record.parse(&mut self.parser) {
            Ok(sample) => self.samples.push(sample),
            Err(cause) => self.lost.push(cause),
        }
    }
}

/// Starts to parse the records on all CPUs, a part in each thread.
fn parse<'scope>(
    scope: &'scope Scope<'scope, '_>,
    records: &'scope [Record],
    parser: &'scope Parser,
) -> Vec<ScopedJoinHandle<'scope, Parsed>> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let part = records.len().div_ceil(threads).max(BATCH_OF_THREAD);
    let parse = move |part: &[Record]| {
        let mut parsed = Parsed { parser: parser.clone(), ..Parsed::default() };
        part.iter().for_each(|record| parsed.take(record));
        parsed
    };
    records.chunks(part).map(|part| scope.spawn(move || parse(part))).collect()
}
