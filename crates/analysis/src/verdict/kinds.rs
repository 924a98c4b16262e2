//! The cells of each kind of requests, and their figures.

use crate::cells::Cell;
use crate::kind::Kind;
use crate::statistics::{mean, variance};
use crate::summary::CellSummary;
use crate::wording::reaches_storage;
use halfpower_model::sample::Latency;
use halfpower_model::{Bytes, Durability, Histogram};

/// A rate that lasts differs by more from the mean with the burst before it.
const BURST: f64 = 0.1;

/// The cells of a kind that show the storage with all targets.
pub(super) fn of_kind<'a>(cells: impl IntoIterator<Item = &'a Cell<'a>>, kind: Kind) -> Vec<&'a Cell<'a>> {
    let counts = |cell: &&'a Cell<'a>| Kind::of(cell.workload) == Some(kind) && reaches_storage(cell.workload);
    let cells: Vec<&Cell<'_>> = cells.into_iter().filter(counts).collect();
    let most = cells.iter().map(|cell| cell.workload.targets).max();
    cells.into_iter().filter(|cell| Some(cell.workload.targets) == most).collect()
}

/// Median and 99th percentile in nanoseconds: of the requests; of a commit those of its write and of its fsync, added. None where
/// one flush comes after many, which takes part of their time.
pub(super) fn latencies(cell: &Cell<'_>, cells: &[CellSummary]) -> [Option<u64>; 2] {
    let is_commit = Kind::of(cell.workload) == Some(Kind::Commit);
    if cell.workload.durability != Durability::None && !is_commit {
        return [None; 2];
    }
    // Latencies of a burst and of what lasts are those of neither.
    let whole = mean(&cell.repetitions.iter().map(|one| one.sample.total.requests_per_s).collect::<Vec<_>>());
    if whole.is_none_or(|whole| (whole / cell.mean_requests_per_s() - 1.0).abs() > BURST) {
        return [None; 2];
    }
    let own = cells.iter().find(|summary| summary.cell == cell.number).map(|summary| summary.latency);
    let own = own.map_or([None; 2], |latency| [latency.p50, latency.p99]);
    if !is_commit {
        return own;
    }
    let mut flushes = Histogram::default();
    let parts = cell.repetitions.iter().filter_map(|one| one.sample.latency_histogram.flush.as_ref());
    parts.for_each(|part| flushes.merge(part));
    let flush = Latency::of(&flushes);
    [own[0].zip(flush.p50), own[1].zip(flush.p99)].map(|both| both.map(|(write, flush)| write + flush))
}

/// The mean of the rates that count; 0 without any.
pub(super) fn rate(cell: &Cell<'_>) -> f64 {
    mean(own_rates(cell)).unwrap_or(0.0)
}

/// The sort key: shallow queues and small requests come first.
pub(super) fn order(cell: &Cell<'_>) -> (u64, Bytes) {
    (cell.outstanding(), cell.workload.request_size)
}

/// The rates that count: bytes if sequential, else requests.
fn own_rates<'a>(cell: &'a Cell<'_>) -> &'a [f64] {
    if cell.workload.pattern.is_ordered() { &cell.bytes_per_s } else { &cell.requests_per_s }
}

/// Standard deviations as shares of the mean.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scatter {
    /// Of a repetition.
    repetition: f64,
    /// Of the ratio of two cells from one run to the next; 0 within a run.
    run: f64,
}

impl Scatter {
    /// Of a repetition: at least, and before any is known.
    const LEAST: f64 = 0.03;
    const UNKNOWN: f64 = 0.1;
    /// Of so many standard deviations two means differ.
    pub(super) const DEVIATIONS: f64 = 2.0;
    /// From one run to the next, whose places and neighbours are others: at least. Assumed.
    const BETWEEN_RUNS: f64 = 0.05;

    /// Over the cells of a kind with several repetitions: those with one have none.
    pub(super) fn within_run<'a>(cells: impl Iterator<Item = &'a Cell<'a>>) -> Scatter {
        let of_cell = |cell: &Cell<'_>| Some(variance(&cell.bytes_per_s)? / mean(&cell.bytes_per_s)?.powi(2));
        let variances: Vec<f64> = cells.filter_map(of_cell).filter(|variance| variance.is_finite()).collect();
        let repetition = mean(&variances).map_or(Self::UNKNOWN, |variance| variance.sqrt().max(Self::LEAST));
        Scatter { repetition, run: 0.0 }
    }

    /// The same, and that of runs: where load comes and goes, runs differ as much as repetitions do (docs/decisions/survey.md).
    pub(super) fn between_runs<'a>(cells: impl Iterator<Item = &'a Cell<'a>>) -> Scatter {
        let within = Scatter::within_run(cells);
        Scatter { run: within.repetition.max(Self::BETWEEN_RUNS), ..within }
    }

    /// Whether more of it may find a cell at this share of the rate of the best.
    pub(super) fn may_reach(self, share: f64, cell: &Cell<'_>, best: &Cell<'_>) -> bool {
        let parts: f64 = [cell, best].iter().map(|cell| 1.0 / cell.bytes_per_s.len() as f64).sum();
        let deviation = (self.repetition.powi(2) * parts + self.run.powi(2)).sqrt();
        rate(cell) * (1.0 + Self::DEVIATIONS * deviation) >= share * rate(best)
    }
}
