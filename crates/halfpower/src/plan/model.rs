//! A plan, and what follows from it.

use crate::study::{Exhibit, Order, Repetitions, VOLUME};
use crate::target_name::is_time_virtual;
use halfpower_model::random::{Random, derive_seed};
use halfpower_model::{Bytes, CpuAccounting, Nanoseconds, Offer, Workload};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name of the stored form.
pub(crate) const SCHEMA: &str = "halfpower.plan/1";
/// What a run may write when nobody said: flash wears.
pub(crate) const DEFAULT_WRITE_BUDGET: Bytes = Bytes(32 << 30);

/// What a trial takes beyond its warm-up and its duration: opening, calibrating, keeping the sample. An estimate.
const TRIAL_OVERHEAD: Nanoseconds = Nanoseconds(25_000_000);
/// What a buffered trial takes on top of that: the cache before it, the flush after it. An estimate.
const BUFFERED_OVERHEAD: Nanoseconds = Nanoseconds(60_000_000);
/// The calibration of a soaker.
const SOAKER_OVERHEAD: Nanoseconds = Nanoseconds(340_000_000);
/// At what rate a test file is made. An estimate, on the low side for anything but spinning disks.
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
    /// What was named, absolute; empty in plans from before there could be several.
    #[serde(default)]
    pub targets: Vec<String>,
    /// How many test files are made in each directory; none for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
    /// What the targets cost; none where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<Offer>,
    /// What filling the files again takes after a trial that left holes in them; 0 where none does.
    #[serde(default, skip_serializing_if = "is_none")]
    pub refill_bytes: Bytes,
    /// Size of the files that are made for the run, together; none when every target is there already.
    pub test_file_bytes: Option<Bytes>,
    /// Size of each, where there are several targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<Bytes>,
    /// What becomes of it.
    #[serde(default)]
    pub test_file_end: TestFileEnd,
    /// Draws the order and the requests.
    pub seed: u64,
    /// The order of the trials.
    pub order: Order,
    /// How often each cell is measured.
    pub repetitions: Repetitions,
    /// No repetition beyond the least is started after this time, counted from the first trial of this start of the run.
    #[serde(rename = "time_limit_s")]
    pub time_limit: Option<Nanoseconds>,
    /// Bytes that the run may write, the test file included.
    pub write_budget: Bytes,
    /// What is measured.
    pub cells: Vec<Cell>,
    /// The figures of a paper that the cells are of; empty where it is the study of none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<FigurePlan>,
    /// Why trials are longer than the study's, where some are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lengthened: Option<String>,
    /// What is not, and why.
    pub skipped: Vec<Skipped>,
}

/// Why there is no plan. Each message ends with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PlanError {
    /// Every cell was left out.
    #[error("{0}")]
    NothingLeft(String),
    /// The budget does not cover the least repetitions of the shortest trials.
    #[error("{0}")]
    Budget(String),
}

/// What becomes of a file that was made for a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TestFileEnd {
    /// It goes with the run.
    #[default]
    Removed,
    /// The user named it: it stays.
    Kept,
}

/// A point of a sweep, resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cell {
    /// Its place in `cells`, and its number in the store.
    pub index: usize,
    /// The sweep it is from.
    pub label: String,
    /// What is run, but for the seed of the repetition; see [`Plan::workload`].
    pub workload: Workload,
}

/// The cells of one figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FigurePlan {
    /// Which.
    #[serde(flatten)]
    pub exhibit: Exhibit,
    /// Their places in `cells`; several figures may show one.
    pub cells: Vec<usize>,
}

/// Cells of one sweep left out for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Skipped {
    /// The sweep.
    pub label: String,
    /// Why, in a sentence with the remedy where there is one.
    pub reason: String,
    /// How many.
    pub cells: usize,
}

impl Plan {
    /// The cells of a block (from 0) in the order they are run. A runner that is done with a cell passes it over.
    pub(crate) fn order_of_block(&self, block: u32) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.cells.len()).collect();
        if self.order == Order::Blocks {
            // The part of the seed that no cell has, so that orders and requests are drawn apart.
            let orders = derive_seed(self.seed, u64::MAX);
            Random::new(derive_seed(orders, u64::from(block))).shuffle(&mut order);
        }
        order
    }

    /// What is run for a cell in a block: the same places again only when the very repetition is run again.
    ///
    /// # Panics
    /// When the plan has no such cell.
    pub(crate) fn workload(&self, cell: usize, block: u32) -> Workload {
        let workload = &self.cells[cell].workload;
        Workload { seed: derive_seed(workload.seed, u64::from(block)), ..workload.clone() }
    }

    /// Whether one more repetition of a cell stays within the write budget once `written` was written. The least
    /// repetitions always do; those beyond are for the runner to ask about.
    ///
    /// # Panics
    /// When the plan has no such cell.
    pub(crate) fn affords(&self, written: Bytes, cell: usize) -> bool {
        let most = self.bytes_written_by(&self.cells[cell].workload);
        u128::from(written.0) + u128::from(most.0) <= u128::from(self.write_budget.0)
    }

    /// Whether nobody waits for the time of its trials.
    pub(crate) fn is_time_virtual(&self) -> bool {
        is_time_virtual(Path::new(&self.target))
    }

    /// What one trial of a cell takes, of a simulated machine in its time; none where nothing limits it. An estimate.
    pub(crate) fn trial_duration(&self, workload: &Workload) -> Option<Nanoseconds> {
        let overhead = if self.is_time_virtual() { 0 } else { Plan::overhead_ns(workload) };
        Some(Nanoseconds(workload.limits.duration?.0.saturating_add(workload.warmup.0).saturating_add(overhead)))
    }

    /// What a trial takes on a host beside its requests.
    fn overhead_ns(workload: &Workload) -> u64 {
        let buffered = !workload.buffering.is_direct();
        let soaked = workload.cpu_accounting == CpuAccounting::Soaker;
        TRIAL_OVERHEAD.0 + if buffered { BUFFERED_OVERHEAD.0 } else { 0 } + if soaked { SOAKER_OVERHEAD.0 } else { 0 }
    }

    /// What the run takes when every cell needs the repetitions it is sure to get; none where nothing limits the time
    /// of a cell. An estimate.
    pub(crate) fn expected_duration(&self) -> Option<Nanoseconds> {
        match self.repetitions.precision {
            Some(_) => self.duration_of(self.repetitions.min),
            None => self.longest_duration(),
        }
    }

    /// What the run takes when every cell needs all the repetitions it may have. An estimate.
    pub(crate) fn longest_duration(&self) -> Option<Nanoseconds> {
        let least = self.duration_of(self.repetitions.min)?;
        let most = self.duration_of(self.repetitions.max)?;
        let last = self.cells.iter().filter_map(|cell| self.trial_duration(&cell.workload)).max()?;
        // The limit is of the time that passes for who waits.
        let limit = self
            .time_limit
            .filter(|_| !self.is_time_virtual())
            .map_or(u64::MAX, |limit| limit.0.saturating_add(last.0));
        Some(Nanoseconds(most.0.min(limit).max(least.0)))
    }

    fn duration_of(&self, repetitions: u32) -> Option<Nanoseconds> {
        let fill = Nanoseconds::from_seconds(self.test_file_bytes.unwrap_or_default().0 as f64 / FILL_BYTES_PER_S);
        let block = self
            .cells
            .iter()
            .try_fold(0_u64, |sum, cell| Some(sum.saturating_add(self.trial_duration(&cell.workload)?.0)))?;
        Some(Nanoseconds(block.saturating_mul(u64::from(repetitions)).saturating_add(fill.0)))
    }

    /// What a trial costs beside its own writes: the files filled again, where it left holes in them.
    pub(crate) fn refill(&self, workload: &Workload) -> Bytes {
        if workload.leaves_holes() { self.refill_bytes } else { Bytes(0) }
    }

    /// The most one trial can write. A cell that writes has a limit in bytes: `budget` gave it one.
    pub(super) fn bytes_written_by(&self, workload: &Workload) -> Bytes {
        let most = workload.limits.bytes.map_or(u64::MAX, |bytes| bytes.0.saturating_mul(workload.copies()));
        let own = if workload.operation.writes() { most } else { 0 };
        Bytes(own.saturating_add(self.refill(workload).0))
    }

    /// The most the run can write, the test file included.
    pub(crate) fn bytes_written_at_most(&self) -> Bytes {
        self.bytes_written_by_all(self.repetitions.max)
    }

    /// What was measured, where `named` is what was asked for: of volumes that its workloads name all, where the target is the first.
    pub(crate) fn measured<'a>(&'a self, named: &'a str) -> &'a str {
        let names_volumes = |cell: &Cell| cell.workload.set.without(VOLUME).0.is_some();
        if self.cells.iter().any(names_volumes) { &self.target } else { named }
    }

    /// The most that so many repetitions of every cell can write, the test file included.
    pub(crate) fn bytes_written_by_all(&self, repetitions: u32) -> Bytes {
        let block: u128 = self.cells.iter().map(|cell| u128::from(self.bytes_written_by(&cell.workload).0)).sum();
        let fill = self.test_file_bytes.unwrap_or_default();
        let all = block * u128::from(repetitions) + u128::from(fill.0);
        Bytes(u64::try_from(all).unwrap_or(u64::MAX).min(self.write_budget.0))
    }
}

/// A plan has nothing to fill again.
fn is_none(bytes: &Bytes) -> bool {
    bytes.0 == 0
}
