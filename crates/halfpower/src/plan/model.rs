//! A plan with its derived figures.

use super::expected::Expected;
use crate::study::{Exhibit, Order, Repetitions, VOLUME};
use crate::target_name::is_time_virtual;
use halfpower_model::random::{Random, derive_seed};
use halfpower_model::{Bytes, CpuAccounting, Limits, Nanoseconds, Offer, Workload};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name of the stored format.
pub(crate) const SCHEMA: &str = "halfpower.plan/1";
/// Default write budget, because flash wears.
pub(crate) const DEFAULT_WRITE_BUDGET: Bytes = Bytes(32 << 30);

/// Time of a trial besides warm-up and duration: opening, calibration, storing. An estimate.
const TRIAL_OVERHEAD: Nanoseconds = Nanoseconds(25_000_000);
/// Additional time of a buffered trial: page cache before it, flush after it. An estimate.
const BUFFERED_OVERHEAD: Nanoseconds = Nanoseconds(60_000_000);
/// The share of the cells that are repeated, if only those are that are needed. An estimate.
const REPEATED: f64 = 0.25;
/// Time to calibrate a soaker.
const SOAKER_OVERHEAD: Nanoseconds = Nanoseconds(340_000_000);
/// Throughput of filling a test file. An estimate, low for anything but hard disks.
const FILL_BYTES_PER_S: f64 = 200e6;

/// A study on one testbed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// [`SCHEMA`].
    pub schema: String,
    /// The study's name.
    pub study: String,
    /// The study's question.
    pub question: Option<String>,
    /// The targets as the testbed names them.
    pub target: String,
    /// The targets as absolute names; empty in plans of versions with a single target.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Number of test files in each directory; none for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
    /// Price and capacity of the targets; none if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<Offer>,
    /// What the storage is expected to sustain; none if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// Bytes to fill the files again after a trial that left holes in them; 0 if no trial does.
    #[serde(default, skip_serializing_if = "is_none")]
    pub refill_bytes: Bytes,
    /// Size of all files created for the run; none if every target exists.
    pub test_file_bytes: Option<Bytes>,
    /// Size of each file, if there are several targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<Bytes>,
    /// What happens to the files after the run.
    #[serde(default)]
    pub test_file_end: TestFileEnd,
    /// Seed of the order and the requests.
    pub seed: u64,
    /// The order of the trials.
    pub order: Order,
    /// Repetitions of each cell.
    pub repetitions: Repetitions,
    /// Whether only the cells are measured, and repeated, on which the verdict depends.
    #[serde(default)]
    pub as_needed: bool,
    /// No repetition beyond the least is started after this time, counted from the first trial of this start of the run.
    #[serde(rename = "time_limit_s")]
    pub time_limit: Option<Nanoseconds>,
    /// Maximum bytes written by the run, including the test file.
    pub write_budget: Bytes,
    /// The workloads.
    pub cells: Vec<Cell>,
    /// The two arms of `ab`, of which each has half of the workloads; none for other runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arms: Option<[Arm; 2]>,
    /// The longer first repetitions; none without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
    /// The figures of a paper; empty for other studies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<FigurePlan>,
    /// Why some trials are longer than in the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lengthened: Option<String>,
    /// Cells left out, with the reason.
    pub skipped: Vec<Skipped>,
    /// The cells and blocks of the run that this one repeats, in their order; empty if it repeats none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<(usize, u32)>,
}

/// One of the two arms of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Arm {
    /// Its target, as named.
    pub target: String,
    /// The command before its part of each block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

impl Arm {
    /// In words: the target, and the command.
    pub(crate) fn describe(&self) -> String {
        let before = self.before.as_ref().map(|command| format!(", after `{command}`")).unwrap_or_default();
        format!("{}{before}", self.target)
    }
}

/// The first repetition of some cells, which is long and comes before all others: it shows what a burst hides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Probe {
    /// Its duration for reads and for writes.
    #[serde(rename = "durations_s")]
    pub durations: [Nanoseconds; 2],
    /// Their indices in `cells`, in the order in which they are measured.
    pub cells: Vec<usize>,
    /// Maximum bytes of each that writes.
    pub write_bytes: Bytes,
}

impl Probe {
    /// Long enough to fill a disk's write cache.
    pub(crate) const LONG: Nanoseconds = Nanoseconds(6_000_000_000);
    /// Intervals in each, and at most in one whose intervals would be longer than `COARSE`.
    const INTERVALS: [u64; 2] = [300, 3000];
    /// A longer interval does not show a short burst.
    const COARSE: u64 = 100_000_000;

    /// How long it goes on at most where it did not show what lasts.
    const LONGER: Nanoseconds = Nanoseconds(15_000_000_000);

    /// A long repetition of a workload; without a duration the first.
    fn of(&self, workload: &Workload, duration: Option<Nanoseconds>) -> Workload {
        let bytes = workload.operation.writes().then_some(Bytes(self.write_bytes.0 / workload.copies()));
        let first = self.durations[usize::from(workload.operation.writes())];
        let duration = duration.unwrap_or(first);
        let limits = Limits { duration: Some(duration), bytes, ..workload.limits };
        let [usual, most] = Probe::INTERVALS.map(|intervals| first.0 / intervals);
        let interval = Nanoseconds(usual.min(Probe::COARSE).max(most).max(10_000_000));
        Workload { warmup: Nanoseconds(0), interval, limits, ..workload.clone() }
    }
}

/// Errors of making a plan. Each message ends with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PlanError {
    /// Every cell was left out.
    #[error("{0}")]
    NothingLeft(String),
    /// The budget is too small for the minimum repetitions of the shortest trials.
    #[error("{0}")]
    Budget(String),
}

/// What happens to a file that was created for a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TestFileEnd {
    /// It is removed after the run.
    #[default]
    Removed,
    /// It stays, because the user named it.
    Kept,
}

/// A point of a sweep, resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cell {
    /// Its index in `cells`, and its number in the store.
    pub index: usize,
    /// Its sweep.
    pub label: String,
    /// Its workload without the seed of a repetition; see [`Plan::workload`].
    pub workload: Workload,
}

/// The cells of one figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FigurePlan {
    /// The figure.
    #[serde(flatten)]
    pub exhibit: Exhibit,
    /// Their indices in `cells`; figures may share cells.
    pub cells: Vec<usize>,
}

/// Cells of one sweep that are left out for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Skipped {
    /// The sweep.
    pub label: String,
    /// The reason, with the remedy if there is one.
    pub reason: String,
    /// Number of cells.
    pub cells: usize,
}

impl Plan {
    /// The order of the cells in a block (from 0). A runner skips finished cells.
    pub(crate) fn order_of_block(&self, block: u32) -> Vec<usize> {
        let of_each = if self.arms.is_some() { self.cells.len() / 2 } else { self.cells.len() };
        let mut order: Vec<usize> = (0..of_each).collect();
        if self.order == Order::Blocks {
            // A seed that no cell has, so that orders and requests are independent.
            let orders = derive_seed(self.seed, u64::MAX);
            Random::new(derive_seed(orders, u64::from(block))).shuffle(&mut order);
        }
        if let Some(probe) = self.probe.as_ref().filter(|_| block == 0) {
            order.retain(|cell| !probe.cells.contains(cell));
            order.splice(0..0, probe.cells.iter().copied());
        }
        if self.arms.is_some() { self.in_turn(order, block) } else { order }
    }

    /// How a repetition is made long; none if it is not.
    pub(crate) fn probe_of(&self, cell: usize, block: u32) -> Option<&Probe> {
        self.probe.as_ref().filter(|probe| block == 0 && probe.cells.contains(&cell))
    }

    /// The workload of a cell in a block. Only the same repetition has the same requests again.
    ///
    /// # Panics
    /// When the plan has no such cell.
    pub(crate) fn workload(&self, cell: usize, block: u32) -> Workload {
        let workload = &self.cells[cell].workload;
        let workload = match self.probe_of(cell, block) {
            Some(probe) => probe.of(workload, None),
            None => workload.clone(),
        };
        Workload { seed: derive_seed(workload.seed, u64::from(block)), ..workload }
    }

    /// The second repetition of a cell that continues its long first one; none without a probe, or where that was longer.
    ///
    /// # Panics
    /// When the plan has no such cell.
    pub(crate) fn continued(&self, cell: usize) -> Option<Workload> {
        let probe = self.probe.as_ref()?;
        let longer = Nanoseconds(probe.durations[0].0 * 5 / 2).min(Probe::LONGER);
        if probe.durations[0] >= longer {
            return None;
        }
        let workload = probe.of(&self.cells[cell].workload, Some(longer));
        Some(Workload { seed: derive_seed(workload.seed, 1), ..workload })
    }

    /// Whether another repetition of a cell stays within the write budget after `written` bytes. The minimum
    /// repetitions always do.
    ///
    /// # Panics
    /// When the plan has no such cell.
    pub(crate) fn affords(&self, written: Bytes, cell: usize) -> bool {
        let most = self.bytes_written_by(&self.cells[cell].workload);
        u128::from(written.0) + u128::from(most.0) <= u128::from(self.write_budget.0)
    }

    /// Whether its trials take virtual time.
    pub(crate) fn is_time_virtual(&self) -> bool {
        is_time_virtual(Path::new(&self.target))
    }

    /// Duration of a trial of a cell, in virtual time on a simulated machine; none without a time limit. An estimate.
    pub(crate) fn trial_duration(&self, workload: &Workload) -> Option<Nanoseconds> {
        let overhead = if self.is_time_virtual() { 0 } else { Plan::overhead_ns(workload) };
        Some(Nanoseconds(workload.limits.duration?.0.saturating_add(workload.warmup.0).saturating_add(overhead)))
    }

    /// Additional time of a trial on a host.
    fn overhead_ns(workload: &Workload) -> u64 {
        let buffered = !workload.buffering.is_direct();
        let soaked = workload.cpu_accounting == CpuAccounting::Soaker;
        TRIAL_OVERHEAD.0 + if buffered { BUFFERED_OVERHEAD.0 } else { 0 } + if soaked { SOAKER_OVERHEAD.0 } else { 0 }
    }

    /// Duration of the run with the repetitions that every cell certainly gets; none if a cell has no time limit. An
    /// estimate.
    pub(crate) fn expected_duration(&self) -> Option<Nanoseconds> {
        match self.repetitions.precision {
            Some(_) => self.least_duration(),
            None => self.longest_duration(),
        }
    }

    fn least_duration(&self) -> Option<Nanoseconds> {
        let repeated = if self.as_needed { REPEATED } else { 1.0 };
        self.duration_of(1.0 + repeated * f64::from(self.repetitions.min.saturating_sub(1)))
    }

    /// Duration of the run with the maximum repetitions of every cell. An estimate.
    pub(crate) fn longest_duration(&self) -> Option<Nanoseconds> {
        let least = self.least_duration()?;
        let most = self.duration_of(self.repetitions.max.into())?;
        let last = self.cells.iter().filter_map(|cell| self.trial_duration(&cell.workload)).max()?;
        // The limit is in real time.
        let limit = self
            .time_limit
            .filter(|_| !self.is_time_virtual())
            .map_or(u64::MAX, |limit| limit.0.saturating_add(last.0));
        Some(Nanoseconds(most.0.min(limit).max(least.0)))
    }

    fn duration_of(&self, repetitions: f64) -> Option<Nanoseconds> {
        let fill = Nanoseconds::from_seconds(self.test_file_bytes.unwrap_or_default().0 as f64 / FILL_BYTES_PER_S);
        let block = self
            .cells
            .iter()
            .try_fold(0_u64, |sum, cell| Some(sum.saturating_add(self.trial_duration(&cell.workload)?.0)))?;
        let probes = self.probe.iter().flat_map(|probe| {
            let writes = |cell: &usize| usize::from(self.cells[*cell].workload.operation.writes());
            probe.cells.iter().map(move |cell| probe.durations[writes(cell)].0)
        });
        let probes: u64 = probes.sum();
        Some(Nanoseconds(((block as f64 * repetitions) as u64).saturating_add(fill.0 + probes)))
    }

    /// Maximum bytes written by the long first repetitions.
    pub(super) fn probe_bytes(&self) -> u64 {
        let Some(probe) = &self.probe else { return 0 };
        let writes = probe.cells.iter().filter(|cell| self.cells[**cell].workload.operation.writes());
        writes.count() as u64 * probe.write_bytes.0
    }

    /// Bytes to fill the files again after a trial that leaves holes in them.
    pub(crate) fn refill(&self, workload: &Workload) -> Bytes {
        if workload.leaves_holes() { self.refill_bytes } else { Bytes(0) }
    }

    /// Maximum bytes written by one trial; `budget` limits every cell that writes.
    pub(super) fn bytes_written_by(&self, workload: &Workload) -> Bytes {
        let most = workload.limits.bytes.map_or(u64::MAX, |bytes| bytes.0.saturating_mul(workload.copies()));
        let own = if workload.operation.writes() { most } else { 0 };
        Bytes(own.saturating_add(self.refill(workload).0))
    }

    /// Maximum bytes written by the run, including the test file.
    pub(crate) fn bytes_written_at_most(&self) -> Bytes {
        self.bytes_written_by_all(self.repetitions.max)
    }

    /// The measured target. `named` is the one the user named; if workloads name volumes, it is only the first of them.
    pub(crate) fn measured<'a>(&'a self, named: &'a str) -> &'a str {
        let names_volumes = |cell: &Cell| cell.workload.set.without(VOLUME).0.is_some();
        if self.cells.iter().any(names_volumes) { &self.target } else { named }
    }

    /// Maximum bytes written by this number of repetitions of every cell, including the test file.
    pub(crate) fn bytes_written_by_all(&self, repetitions: u32) -> Bytes {
        let block: u128 = self.cells.iter().map(|cell| u128::from(self.bytes_written_by(&cell.workload).0)).sum();
        let fill = self.test_file_bytes.unwrap_or_default().0 + self.probe_bytes();
        let all = block * u128::from(repetitions) + u128::from(fill);
        Bytes(u64::try_from(all).unwrap_or(u64::MAX).min(self.write_budget.0))
    }
}

/// Whether nothing is filled again.
fn is_none(bytes: &Bytes) -> bool {
    bytes.0 == 0
}
