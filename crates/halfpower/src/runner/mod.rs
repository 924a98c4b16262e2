//! Carries a plan out: block by block, each sample stored before the next one starts.
//!
//! A cell that has its least repetitions stops when its interval is narrow enough; those that vary go on until the
//! plan's most, its time limit or its write budget. What has been stored decides, so a run that was killed goes on as
//! if it never had been. A cell whose request fails is not tried again. A testbed that there can be several of measures a
//! block's cells on all CPUs at once; they are stored in the block's order all the same.

mod ahead;
#[cfg(test)]
mod tests;

use crate::plan::Plan;
use crate::store::{RunId, Store};
use ahead::Ahead;
use halfpower_analysis::statistics::is_precise;
use halfpower_model::sample::Failure;
use halfpower_model::{Bytes, Cancel, MeasureError, Nanoseconds, Observer, Progress, Sample, Testbed};
use std::thread;
use std::time::Instant;

/// What a trial is taken to last when nothing limits its time and none has been seen.
const UNKNOWN: Nanoseconds = Nanoseconds(5_000_000_000);

/// Is told how a run goes.
pub(crate) trait Audience {
    /// A trial begins, ends, or has a new figure.
    fn moved(&mut self, course: &Course<'_>);
    /// A cell was given up.
    fn gave_up(&mut self, name: &str, reason: &str);
    /// A sample was measured that the store does not take.
    fn not_kept(&mut self, sample: &Sample);
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course<'a> {
    /// Time since this start of the run.
    pub(crate) elapsed: Nanoseconds,
    /// Time that is probably left.
    pub(crate) left: Nanoseconds,
    /// What is being measured, as the plan calls it.
    pub(crate) name: &'a str,
    /// What it shows.
    pub(crate) progress: Option<Progress>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// Every cell has what it needs, or was given up while others were not.
    Complete,
    /// Somebody said stop.
    Interrupted,
    /// Nothing could be measured.
    Failed,
}

/// A run under way.
pub(crate) struct Runner<'a> {
    plan: &'a Plan,
    run: RunId,
    store: &'a mut Store,
    testbed: &'a mut dyn Testbed,
    cancel: &'a Cancel,
    cells: Vec<CellState>,
    /// What each cell is called.
    names: Vec<String>,
    written: Bytes,
    started: Instant,
}

/// What is known of a cell.
#[derive(Clone, Debug)]
struct CellState {
    /// Throughput of each repetition.
    rates: Vec<f64>,
    /// Blocks that it has a sample in, those among them that are damaged: they count as measured.
    stored: Vec<u32>,
    /// Whether it failed.
    given_up: bool,
    /// What a trial takes: the plan's estimate, until one was seen.
    duration: Nanoseconds,
}

impl<'a> Runner<'a> {
    /// Takes a run up where the store says it is; a new one at its beginning.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn new(
        plan: &'a Plan,
        run: RunId,
        store: &'a mut Store,
        testbed: &'a mut dyn Testbed,
        cancel: &'a Cancel,
    ) -> anyhow::Result<Self> {
        let state = |cell: &crate::plan::Cell| {
            let duration = plan.trial_duration(&cell.workload).unwrap_or(UNKNOWN);
            CellState { rates: Vec::new(), stored: Vec::new(), given_up: false, duration }
        };
        let mut cells: Vec<CellState> = plan.cells.iter().map(state).collect();
        let mut written = plan.test_file_bytes.unwrap_or_default();
        for (cell, block) in store.slots(run)? {
            let cell = usize::try_from(cell).ok().and_then(|cell| cells.get_mut(cell));
            if let (Some(cell), Ok(block)) = (cell, u32::try_from(block)) {
                cell.stored.push(block);
            }
        }
        for stored in store.samples(run)? {
            let Some(cell) = cells.get_mut(stored.cell) else { continue };
            cell.rates.push(stored.sample.total.bytes_per_s.0);
            cell.given_up |= !stored.sample.is_complete();
            written.0 += bytes_written(&stored.sample, plan);
        }
        let (names, started) = (plan.names(&[]), Instant::now());
        Ok(Runner { plan, run, store, testbed, cancel, cells, names, written, started })
    }

    /// Measures what is missing.
    ///
    /// # Errors
    /// When a sample cannot be stored.
    pub(crate) fn carry_out(mut self, audience: &mut dyn Audience) -> anyhow::Result<RunEnd> {
        let mut others = ahead::others(self.testbed);
        for block in 0..self.plan.repetitions.max {
            if self.cancel.is_cancelled() {
                break;
            }
            let mut wanted = self.plan.order_of_block(block);
            wanted.retain(|cell| self.needs(*cell, block));
            thread::scope(|scope| {
                let mut ahead = Ahead::begin(scope, &mut others, self.plan, block, &wanted, self.cancel);
                for cell in &wanted {
                    // What was wanted when the block began may by now be beyond its time or its write budget.
                    if !self.cancel.is_cancelled() && self.needs(*cell, block) {
                        self.measure(*cell, block, ahead.as_mut(), audience)?;
                    }
                }
                anyhow::Ok(())
            })?;
        }
        let measured = self.cells.iter().any(|cell| !cell.given_up && !cell.rates.is_empty());
        Ok(match (self.cancel.is_cancelled(), measured) {
            (true, _) => RunEnd::Interrupted,
            (false, true) => RunEnd::Complete,
            (false, false) => RunEnd::Failed,
        })
    }

    /// Whether a repetition is still wanted.
    fn needs(&self, cell: usize, block: u32) -> bool {
        let state = &self.cells[cell];
        if state.given_up || state.stored.contains(&block) {
            return false;
        }
        if block < self.plan.repetitions.min {
            return true;
        }
        let Some(precision) = self.plan.repetitions.precision else { return self.affords(cell) };
        // Too few to tell, or no throughput at all: more of it is what could help.
        !is_precise(&state.rates, precision) && self.affords(cell)
    }

    /// Whether time and write budget allow a repetition beyond the least.
    fn affords(&self, cell: usize) -> bool {
        let in_time = self.plan.time_limit.is_none_or(|limit| self.elapsed() < limit);
        let workload = &self.plan.cells[cell].workload;
        let writes = workload.operation.writes() || workload.leaves_holes();
        in_time && (!writes || self.plan.affords(self.written, cell))
    }

    fn elapsed(&self) -> Nanoseconds {
        Nanoseconds(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn measure(
        &mut self,
        cell: usize,
        block: u32,
        ahead: Option<&mut Ahead>,
        audience: &mut dyn Audience,
    ) -> anyhow::Result<()> {
        let workload = self.plan.workload(cell, block);
        let before = self.elapsed();
        let mut watcher = Watcher { audience, name: &self.names[cell], before, left: self.left(before) };
        watcher.show(before, None);
        let result = match ahead {
            Some(ahead) => ahead.take(cell),
            None => self.testbed.measure(&workload, &mut watcher, self.cancel),
        };
        let sample = match result {
            Ok(sample) => sample,
            Err(MeasureError::Cancelled) => return Ok(()),
            // Kept like any other failure: it says why there is no figure.
            Err(error) => {
                let failure = Failure { code: "refused".to_owned(), message: crate::text::causes(&error) };
                let environment = self.testbed.describe().clone();
                Sample { failure: Some(failure), ..Sample::empty(workload, environment) }
            }
        };
        // An interrupted repetition is measured again by whoever resumes the run.
        if sample.failure.as_ref().is_some_and(|failure| failure.code == "interrupted") {
            return Ok(());
        }
        if let Err(error) = self.store.add_sample(self.run, cell, block, &sample) {
            audience.not_kept(&sample);
            return Err(error.into());
        }
        if let Some(failure) = &sample.failure {
            self.cells[cell].given_up = true;
            audience.gave_up(&self.names[cell], &failure.message);
        }
        self.written.0 += bytes_written(&sample, self.plan);
        let duration = Nanoseconds(self.elapsed().0 - before.0);
        let state = &mut self.cells[cell];
        state.rates.push(sample.total.bytes_per_s.0);
        state.stored.push(block);
        state.duration = duration;
        Ok(())
    }

    /// The time left: the least repetitions that are missing, and until the time limit for the rest, if any is likely.
    fn left(&self, elapsed: Nanoseconds) -> Nanoseconds {
        let missing = |upto: u32| -> u64 {
            let done = |cell: &CellState| if cell.given_up { upto } else { cell.rates.len() as u32 };
            self.cells.iter().map(|cell| u64::from(upto.saturating_sub(done(cell))) * cell.duration.0).sum()
        };
        let to_limit = self.plan.time_limit.map_or(0, |limit| limit.0.saturating_sub(elapsed.0));
        Nanoseconds(missing(self.plan.repetitions.min).max(to_limit.min(missing(self.plan.repetitions.max))))
    }
}

/// The most a sample wrote: what it counted, and what was still outstanding when its window closed, up to its limit; and
/// what filling the files again takes, where it changed their state.
fn bytes_written(sample: &Sample, plan: &Plan) -> u64 {
    let workload = &sample.workload;
    let outstanding = workload.request_size.0 * u64::from(workload.depth) * u64::from(workload.workers);
    let most = workload.limits.bytes.map_or(u64::MAX, |bytes| bytes.0);
    let own = sample.write.as_ref().map_or(0, |totals| (totals.bytes + outstanding).min(most));
    own.saturating_mul(workload.copies()).saturating_add(plan.refill(workload).0)
}

/// Passes a testbed's progress on with what the run knows.
struct Watcher<'a> {
    audience: &'a mut dyn Audience,
    name: &'a str,
    before: Nanoseconds,
    left: Nanoseconds,
}

impl Watcher<'_> {
    fn show(&mut self, elapsed: Nanoseconds, progress: Option<Progress>) {
        let since = Nanoseconds(elapsed.0.saturating_sub(self.before.0));
        let left = Nanoseconds(self.left.0.saturating_sub(since.0));
        self.audience.moved(&Course { elapsed, left, name: self.name, progress });
    }
}

impl Observer for Watcher<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.show(Nanoseconds(self.before.0 + progress.elapsed.0), Some(*progress));
    }
}
