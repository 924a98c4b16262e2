//! Carries out a plan block by block; each sample is stored before the next one starts.
//!
//! After the minimum repetitions a cell stops when its CI is narrow enough. Others continue up to the plan's maximum,
//! its time limit or its write budget. Only stored samples count, so a killed run continues as if it had not been
//! interrupted. A failed cell is not repeated. With a testbed that can be duplicated, the cells of a block are measured
//! on all CPUs at once, and stored in the block's order.

mod ahead;
mod hook;
#[cfg(test)]
mod tests;

use crate::plan::{Plan, Probe};
use crate::store::{RunId, RunStatus, Store, StoredSample};
use crate::text::{causes, counted, grouped, joined};
use ahead::Ahead;
use halfpower_analysis::statistics::is_precise;
use halfpower_analysis::{Observed, Shown, next, shown_by};
use halfpower_model::sample::Failure;
use halfpower_model::{
    Bytes, Cancel, MeasureError, Nanoseconds, Observer, Operation, Pattern, Progress, Sample, Testbed, Workload,
};
use std::thread;
use std::time::Instant;

/// Assumed duration of a trial without a time limit, before one was measured.
const UNKNOWN: Nanoseconds = Nanoseconds(5_000_000_000);

/// A trial lasts at least so many times as long as a request waits, up to a limit.
const WAITS: f64 = 10.0;
const LENGTHENED_MAX: Nanoseconds = Nanoseconds(1_500_000_000);

/// Receives the progress of a run.
pub(crate) trait Audience {
    /// A trial begins, ends, or has new figures.
    fn moved(&mut self, course: &Course<'_>);
    /// A trial of the named cell was stored.
    fn measured(&mut self, name: &str, sample: &Sample);
    /// A cell was given up.
    fn gave_up(&mut self, name: &str, reason: &str);
    /// The store rejected a sample.
    fn not_kept(&mut self, sample: &Sample);
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course<'a> {
    /// Time since this start of the run.
    pub(crate) elapsed: Nanoseconds,
    /// Estimated remaining time.
    pub(crate) left: Nanoseconds,
    /// Name of the current cell in the plan.
    pub(crate) name: &'a str,
    /// Workloads that may still change the verdict, like `2 random reads`; empty if that does not decide what is measured.
    pub(crate) open: &'a str,
    /// Progress of the current trial.
    pub(crate) progress: Option<Progress>,
}

/// A run under way.
pub(crate) struct Runner<'a> {
    plan: &'a Plan,
    run: RunId,
    store: &'a mut Store,
    testbed: &'a mut dyn Testbed,
    /// The testbed of the second arm, if it is another one.
    second: Option<&'a mut dyn Testbed>,
    cancel: &'a Cancel,
    cells: Vec<CellState>,
    /// The samples so far, if they decide what is measured.
    samples: Vec<StoredSample>,
    /// Whether a repetition of each cell may change the verdict.
    wanted: Vec<bool>,
    /// As in [`Course`].
    open: String,
    /// Names of the cells.
    names: Vec<String>,
    written: Bytes,
    /// Whether a sample showed a limit, or may be of a burst.
    is_limited: bool,
    /// Seconds that a request waited in each long repetition, for each outstanding.
    waits: Vec<((Operation, Pattern), f64)>,
    started: Instant,
}

/// State of a cell.
#[derive(Clone, Debug)]
struct CellState {
    /// Throughput of each repetition.
    rates: Vec<f64>,
    /// Blocks with a stored sample; damaged samples count as measured.
    stored: Vec<u32>,
    /// Whether it failed.
    given_up: bool,
    /// Duration of a trial: the plan's estimate, until one was measured.
    duration: Nanoseconds,
}

impl<'a> Runner<'a> {
    /// Resumes a run at its state in the store, or starts a new one.
    ///
    /// # Errors
    /// If the store cannot be read.
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
        let (mut is_limited, mut waits) = (false, Vec::new());
        for (cell, block) in store.slots(run)? {
            let cell = usize::try_from(cell).ok().and_then(|cell| cells.get_mut(cell));
            if let (Some(cell), Ok(block)) = (cell, u32::try_from(block)) {
                cell.stored.push(block);
            }
        }
        let mut samples = store.samples(run)?;
        for stored in &samples {
            let Some(cell) = cells.get_mut(stored.cell) else { continue };
            cell.rates.push(stored.sample.total.bytes_per_s.0);
            cell.given_up |= !stored.sample.is_complete();
            written.0 += bytes_written(&stored.sample, plan);
            is_limited |= shown_by(&stored.sample) != Shown::Nothing;
            waits.extend(plan.probe_of(stored.cell, stored.block).and_then(|_| wait(&stored.sample)));
        }
        samples.retain(|_| plan.as_needed);
        let (names, started) = (plan.names(&[]), Instant::now());
        Ok(Runner {
            plan,
            run,
            store,
            testbed,
            second: None,
            cancel,
            samples,
            wanted: vec![true; cells.len()],
            open: String::new(),
            cells,
            names,
            written,
            is_limited,
            waits,
            started,
        })
    }

    /// The same, with the second arm of the plan on another testbed.
    pub(crate) fn with_second(self, second: Option<&'a mut dyn Testbed>) -> Self {
        Runner { second, ..self }
    }

    /// Measures the missing repetitions. Returns the status of the run: complete if at least one cell was measured, failed if
    /// none was.
    ///
    /// # Errors
    /// If a sample cannot be stored, or the command that sets up an arm fails.
    pub(crate) fn carry_out(mut self, audience: &mut dyn Audience) -> anyhow::Result<RunStatus> {
        // Arms take turns.
        let mut others = if self.plan.arms.is_some() { Vec::new() } else { ahead::others(self.testbed) };
        for part in self.plan.repeats.chunk_by(|one, other| one.1 == other.1) {
            let cells: Vec<usize> = part.iter().map(|(cell, _)| *cell).collect();
            self.carry_out_part(&cells, part[0].1, &mut others, audience)?;
        }
        let blocks = if self.plan.repeats.is_empty() { self.plan.repetitions.max } else { 0 };
        for block in 0..blocks {
            if self.cancel.is_cancelled() {
                break;
            }
            let order = self.plan.order_of_block(block);
            let is_probe = |cell: &&usize| self.plan.probe_of(**cell, block).is_some();
            // Long repetitions tell how long the others have to be.
            let (probes, others_of_block) = order.split_at(order.iter().take_while(is_probe).count());
            if !probes.is_empty() {
                self.carry_out_part(probes, block, &mut others, audience)?;
            }
            // Where only what is needed is measured, one answer asks the next question.
            while self.asks(others_of_block, block) {
                self.carry_out_part(others_of_block, block, &mut others, audience)?;
                if !self.plan.as_needed {
                    break;
                }
            }
            // Without another sample nothing else becomes needed. No cell has a sample of the last block that there can be.
            if self.plan.as_needed && !(0..self.cells.len()).any(|cell| self.needs(cell, u32::MAX)) {
                break;
            }
        }
        let measured = self.cells.iter().any(|cell| !cell.given_up && !cell.rates.is_empty());
        Ok(match (self.cancel.is_cancelled(), measured) {
            (true, _) => RunStatus::Interrupted,
            (false, true) => RunStatus::Complete,
            (false, false) => RunStatus::Failed,
        })
    }

    /// Whether any of the cells needs a repetition.
    fn asks(&mut self, cells: &[usize], block: u32) -> bool {
        if self.plan.as_needed {
            let workloads: Vec<&Workload> = self.plan.cells.iter().map(|cell| &cell.workload).collect();
            let observed: Vec<Observed<'_>> = self.samples.iter().map(StoredSample::observed).collect();
            self.wanted = next(&workloads, &observed, self.plan.repetitions.min as usize);
            let kind = |workload: &Workload| format!("{} {}", workload.pattern, workload.operation);
            let open = (0..).zip(workloads).filter(|(cell, _)| self.needs(*cell, block)).map(|(_, of)| kind(of));
            let counted = grouped(open, String::clone).into_iter().map(|(kind, all)| Some(counted(all.len(), &kind)));
            self.open = joined(counted);
        }
        !self.cancel.is_cancelled() && cells.iter().any(|cell| self.needs(*cell, block))
    }

    fn carry_out_part(
        &mut self,
        cells: &[usize],
        block: u32,
        others: &mut [Box<dyn Testbed + Send>],
        audience: &mut dyn Audience,
    ) -> anyhow::Result<()> {
        let wanted = cells.iter().filter(|cell| self.needs(**cell, block));
        let wanted: Vec<(usize, Workload)> = wanted.map(|cell| (*cell, self.workload(*cell, block))).collect();
        let mut arm = None;
        thread::scope(|scope| {
            let mut ahead = Ahead::begin(scope, others, &wanted, self.cancel);
            for (cell, workload) in &wanted {
                // The time limit or the write budget may have been reached since the block began.
                if !self.cancel.is_cancelled() && self.needs(*cell, block) {
                    self.set_up(*cell, &mut arm)?;
                    self.measure(*cell, block, workload.clone(), ahead.as_mut(), audience)?;
                }
            }
            Ok(())
        })
    }

    /// The plan's workload, which lasts long enough for requests that wait long: the outstanding ones of a short trial would be
    /// most of it. A long repetition tells how long they wait.
    fn workload(&self, cell: usize, block: u32) -> Workload {
        let mut workload = self.plan.workload(cell, block);
        let Some(duration) = workload.limits.duration.filter(|_| self.plan.probe_of(cell, block).is_none()) else {
            return workload;
        };
        let longest =
            self.waits.iter().filter(|(of, _)| *of == (workload.operation, workload.pattern)).map(|(_, wait)| wait);
        let wait_s = longest.copied().fold(0.0, f64::max) * outstanding(&workload);
        let least = Nanoseconds::from_seconds(WAITS * wait_s).min(LENGTHENED_MAX);
        workload.limits.duration = Some(duration.max(least));
        workload
    }

    /// Runs the command of a cell's arm, if the last cell was of the other one.
    fn set_up(&self, cell: usize, last: &mut Option<usize>) -> anyhow::Result<()> {
        let arm = self.plan.arm_of(cell);
        if last.replace(arm) == Some(arm) {
            return Ok(());
        }
        let command = self.plan.arms.as_ref().and_then(|arms| arms[arm].before.as_ref());
        command.map_or(Ok(()), |command| hook::run(command, self.cancel))
    }

    /// Whether a repetition is needed.
    fn needs(&self, cell: usize, block: u32) -> bool {
        let state = &self.cells[cell];
        if state.given_up || state.stored.contains(&block) || !self.wanted[cell] {
            return false;
        }
        if !self.plan.repeats.is_empty() {
            return true;
        }
        let repetitions = if self.plan.as_needed { state.rates.len() as u32 } else { block };
        if repetitions < self.plan.repetitions.min {
            return true;
        }
        let Some(precision) = self.plan.repetitions.precision else { return self.affords(cell) };
        // Without precision after the minimum, more repetitions may help.
        !is_precise(&state.rates, precision) && self.affords(cell)
    }

    /// Whether time and write budget allow a repetition beyond the minimum.
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
        mut workload: Workload,
        ahead: Option<&mut Ahead>,
        audience: &mut dyn Audience,
    ) -> anyhow::Result<()> {
        let probe = self.plan.probe_of(cell, block);
        if let Some(probe) = probe.filter(|_| self.is_limited) {
            // Writes are then likely limited too, or slow enough that a cache takes seconds to fill.
            workload.limits.duration = workload.limits.duration.max(Some(probe.durations[0].max(Probe::LONG)));
        }
        let shown = self.take(cell, block, workload, ahead, audience)?;
        if probe.is_some()
            && shown == Shown::Unsettled
            && let Some(workload) = self.plan.continued(cell)
        {
            self.take(cell, block + 1, workload, None, audience)?;
        }
        Ok(())
    }

    /// Measures a repetition and stores it.
    fn take(
        &mut self,
        cell: usize,
        block: u32,
        workload: Workload,
        ahead: Option<&mut Ahead>,
        audience: &mut dyn Audience,
    ) -> anyhow::Result<Shown> {
        let before = self.elapsed();
        let mut watcher =
            Watcher { audience, name: &self.names[cell], open: &self.open, before, left: self.left(before) };
        watcher.show(before, None);
        let result = match ahead {
            Some(ahead) => ahead.take(cell),
            None => match self.second.as_mut().filter(|_| self.plan.arm_of(cell) == 1) {
                Some(second) => second.measure(&workload, &mut watcher, self.cancel),
                None => self.testbed.measure(&workload, &mut watcher, self.cancel),
            },
        };
        let sample = match result {
            Ok(sample) => sample,
            Err(MeasureError::Cancelled) => return Ok(Shown::Nothing),
            // Stored like any other failure, because it has the reason.
            Err(error) => {
                let failure = Failure { code: "refused".to_owned(), message: causes(&error) };
                let environment = self.testbed.describe().clone();
                Sample { failure: Some(failure), ..Sample::empty(workload, environment) }
            }
        };
        // A resumed run repeats an interrupted repetition.
        if sample.failure.as_ref().is_some_and(|failure| failure.code == "interrupted") {
            return Ok(Shown::Nothing);
        }
        let id = match self.store.add_sample(self.run, cell, block, &sample) {
            Ok(id) => id,
            Err(error) => {
                audience.not_kept(&sample);
                return Err(error.into());
            }
        };
        if let Some(failure) = &sample.failure {
            self.cells[cell].given_up = true;
            audience.gave_up(&self.names[cell], &failure.message);
        } else {
            audience.measured(&self.names[cell], &sample);
        }
        self.written.0 += bytes_written(&sample, self.plan);
        if self.plan.probe_of(cell, block).is_some() {
            self.waits.extend(wait(&sample));
        }
        let shown = shown_by(&sample);
        self.is_limited |= shown != Shown::Nothing;
        let duration = Nanoseconds(self.elapsed().0 - before.0);
        let state = &mut self.cells[cell];
        state.rates.push(sample.total.bytes_per_s.0);
        state.stored.push(block);
        state.duration = duration;
        if self.plan.as_needed {
            self.samples.push(StoredSample { id, cell, block, sample });
        }
        Ok(shown)
    }

    /// Remaining time: the missing minimum repetitions, or until the time limit if more repetitions are likely.
    fn left(&self, elapsed: Nanoseconds) -> Nanoseconds {
        if self.plan.as_needed {
            // Which others come is not known yet.
            let expected = self.plan.expected_duration().map_or(0, |expected| expected.0.saturating_sub(elapsed.0));
            return Nanoseconds(expected);
        }
        let missing = |upto: u32| -> u64 {
            let done = |cell: &CellState| if cell.given_up { upto } else { cell.rates.len() as u32 };
            self.cells.iter().map(|cell| u64::from(upto.saturating_sub(done(cell))) * cell.duration.0).sum()
        };
        let to_limit = self.plan.time_limit.map_or(0, |limit| limit.0.saturating_sub(elapsed.0));
        Nanoseconds(missing(self.plan.repetitions.min).max(to_limit.min(missing(self.plan.repetitions.max))))
    }
}

/// How long a request waited for each outstanding one, in seconds.
fn wait(sample: &Sample) -> Option<((Operation, Pattern), f64)> {
    let workload = &sample.workload;
    let mean_s = sample.total.latency_ns.mean? * 1e-9;
    Some(((workload.operation, workload.pattern), mean_s / outstanding(workload)))
}

fn outstanding(workload: &Workload) -> f64 {
    f64::from(workload.depth) * f64::from(workload.workers)
}

/// Upper bound of the bytes written by a sample: those counted, those outstanding at the end up to the limit, and those
/// to fill the files again.
fn bytes_written(sample: &Sample, plan: &Plan) -> u64 {
    let workload = &sample.workload;
    let outstanding = workload.request_size.0 * u64::from(workload.depth) * u64::from(workload.workers);
    let most = workload.limits.bytes.map_or(u64::MAX, |bytes| bytes.0);
    let own = sample.write.as_ref().map_or(0, |totals| (totals.bytes + outstanding).min(most));
    own.saturating_mul(workload.copies()).saturating_add(plan.refill(workload).0)
}

/// Passes a testbed's progress on, with that of the run.
struct Watcher<'a> {
    audience: &'a mut dyn Audience,
    name: &'a str,
    open: &'a str,
    before: Nanoseconds,
    left: Nanoseconds,
}

impl Watcher<'_> {
    fn show(&mut self, elapsed: Nanoseconds, progress: Option<Progress>) {
        let since = Nanoseconds(elapsed.0.saturating_sub(self.before.0));
        let left = Nanoseconds(self.left.0.saturating_sub(since.0));
        self.audience.moved(&Course { elapsed, left, name: self.name, open: self.open, progress });
    }
}

impl Observer for Watcher<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.show(Nanoseconds(self.before.0 + progress.elapsed.0), Some(*progress));
    }
}
