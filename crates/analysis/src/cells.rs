//! A cell and its usable repetitions.

use crate::resolution;
use crate::statistics::{mean, mean_estimate};
use halfpower_model::sample::{IN_WRITE_CACHE, LEFT_IN_BUFFER};
use halfpower_model::{Estimate, Quantity, Sample, Workload};
use std::collections::BTreeMap;

/// A stored sample with its place in the plan.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// Its number in the store.
    pub id: i64,
    /// Its cell of the plan.
    pub cell: u32,
    /// Its randomised block, and so its repetition, from 0.
    pub block: u32,
    /// The measurement.
    pub sample: &'a Sample,
}

/// A cell with its usable repetitions by block.
#[derive(Clone, Debug)]
pub(crate) struct Cell<'a> {
    pub(crate) number: u32,
    pub(crate) workload: &'a Workload,
    pub(crate) repetitions: Vec<Observed<'a>>,
    /// Samples that cannot be used.
    pub(crate) failed: u32,
    /// Bytes per second of each repetition that has them; gathered once because every finding asks.
    pub(crate) bytes_per_s: Vec<f64>,
    /// Requests per second, likewise.
    pub(crate) requests_per_s: Vec<f64>,
    /// Whether its rates do not last.
    pub(crate) is_burst: bool,
}

/// The cells, in the plan's order.
pub(crate) fn gather<'a>(samples: &[Observed<'a>]) -> Vec<Cell<'a>> {
    let mut cells: BTreeMap<u32, Cell<'a>> = BTreeMap::new();
    for observed in samples {
        let planned = || Cell::planned(observed.cell, &observed.sample.workload);
        let cell = cells.entry(observed.cell).or_insert_with(planned);
        // Some imported samples have latencies only.
        let has_a_rate =
            ["total.bytes_per_s", "total.requests_per_s"].iter().any(|field| observed.sample.is_known(field));
        match is_usable(observed.sample) {
            _ if !has_a_rate => {}
            true => cell.repetitions.push(*observed),
            false => cell.failed += 1,
        }
    }
    let mut cells: Vec<_> = cells.into_values().collect();
    for cell in &mut cells {
        cell.repetitions.sort_by_key(|observed| (observed.block, observed.id));
        // The first repetition may be a long one.
        cell.workload = cell.repetitions.last().map_or(cell.workload, |last| &last.sample.workload);
        cell.bytes_per_s = known_figures(&cell.repetitions, "total.bytes_per_s", |sample| sample.total.bytes_per_s.0);
        cell.requests_per_s =
            known_figures(&cell.repetitions, "total.requests_per_s", |sample| sample.total.requests_per_s);
    }
    cells
}

/// A figure of each repetition that has it.
fn known_figures(repetitions: &[Observed<'_>], field: &str, figure: fn(&Sample) -> f64) -> Vec<f64> {
    repetitions.iter().map(|observed| observed.sample).filter(|sample| sample.is_known(field)).map(figure).collect()
}

/// Whether a device's write cache may hold the sample's unflushed writes.
pub(crate) fn is_in_write_cache(sample: &Sample) -> bool {
    sample.warnings.iter().any(|warning| warning.code == IN_WRITE_CACHE)
}

/// The same, or a buffer that needs no flush.
pub(crate) fn is_in_buffer(sample: &Sample) -> bool {
    is_in_write_cache(sample) || sample.warnings.iter().any(|warning| warning.code == LEFT_IN_BUFFER)
}

/// A sample counts if it ran to its limits with finite rates.
pub(crate) fn is_usable(sample: &Sample) -> bool {
    sample.is_complete() && sample.total.bytes_per_s.0.is_finite() && sample.total.requests_per_s.is_finite()
}

impl<'a> Cell<'a> {
    /// A cell of which nothing was measured.
    pub(crate) fn planned(number: u32, workload: &'a Workload) -> Self {
        let (bytes_per_s, requests_per_s) = (Vec::new(), Vec::new());
        Cell { number, workload, repetitions: Vec::new(), failed: 0, bytes_per_s, requests_per_s, is_burst: false }
    }

    /// The mean rate in bytes or requests; its interval is at least one request per window wide.
    pub(crate) fn rate(&self, quantity: Quantity) -> Option<Estimate> {
        let values = if quantity == Quantity::BytesPerSecond { &self.bytes_per_s } else { &self.requests_per_s };
        let shares: Vec<f64> = self.repetitions.iter().map(|observed| resolution::of(observed.sample)).collect();
        Some(resolution::no_finer(mean_estimate(quantity, values)?, mean(&shares).unwrap_or(0.0)))
    }

    /// The mean rate in bytes if sequential, else in requests.
    pub(crate) fn own_rate(&self) -> Option<Estimate> {
        let is_ordered = self.workload.pattern.is_ordered();
        self.rate(if is_ordered { Quantity::BytesPerSecond } else { Quantity::RequestsPerSecond })
    }

    /// Mean bytes per second; 0 without repetitions.
    pub(crate) fn mean_bytes_per_s(&self) -> f64 {
        mean(&self.bytes_per_s).unwrap_or(0.0)
    }

    /// Mean requests per second; 0 without repetitions.
    pub(crate) fn mean_requests_per_s(&self) -> f64 {
        mean(&self.requests_per_s).unwrap_or(0.0)
    }

    /// CPU seconds of each repetition, lower bound, per `amount`. Empty unless every repetition has both.
    pub(crate) fn cpu_s_per(&self, amount: impl Fn(&Sample) -> u64) -> Vec<f64> {
        self.above_zero(|sample| {
            let lower = sample.cpu.lower;
            Some((lower.user_s + lower.system_s) / amount(sample) as f64)
        })
    }

    /// A figure of every repetition; empty unless each has one above zero.
    fn above_zero(&self, figure: impl Fn(&Sample) -> Option<f64>) -> Vec<f64> {
        let figures = self.repetitions.iter().map(|observed| figure(observed.sample));
        let figures: Option<Vec<f64>> =
            figures.map(|figure| figure.filter(|figure| figure.is_finite() && *figure > 0.0)).collect();
        figures.unwrap_or_default()
    }

    /// CPU µs per request, lower bound; empty if not measured.
    pub(crate) fn cpu_us_per_request(&self) -> Vec<f64> {
        self.cpu_s_per(|sample| sample.total.requests).into_iter().map(|cost_s| cost_s * 1e6).collect()
    }

    /// Upper bound of the same, by an idle-loop soaker; empty unless every repetition has one.
    pub(crate) fn cpu_us_per_request_upper(&self) -> Vec<f64> {
        self.above_zero(|sample| sample.cpu.upper_us_per_request)
    }

    /// `, not flushed` if a device's write cache may hold some of the writes.
    pub(crate) fn not_flushed(&self) -> &'static str {
        if self.repetitions.iter().any(|observed| is_in_write_cache(observed.sample)) { ", not flushed" } else { "" }
    }

    /// Store numbers of its samples.
    pub(crate) fn samples(&self) -> Vec<i64> {
        self.repetitions.iter().map(|observed| observed.id).collect()
    }

    /// Configured outstanding requests of all workers.
    pub(crate) fn outstanding(&self) -> u64 {
        u64::from(self.workload.depth) * u64::from(self.workload.workers)
    }

    /// Bytes per second of two cells in each block that both have.
    pub(crate) fn paired_with(&self, other: &Cell<'_>) -> Vec<(f64, f64)> {
        self.paired_by(other, |sample| Some(sample.total.bytes_per_s.0))
    }

    /// A figure of two cells in each block in which both have it.
    pub(crate) fn paired_by(&self, other: &Cell<'_>, figure: impl Fn(&Sample) -> Option<f64>) -> Vec<(f64, f64)> {
        let pair = |mine: &Observed<'_>| {
            let theirs = other.repetitions.iter().find(|theirs| theirs.block == mine.block)?;
            Some((figure(mine.sample)?, figure(theirs.sample)?))
        };
        self.repetitions.iter().filter_map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, read};
    use halfpower_model::sample::Failure;

    #[test]
    fn what_failed_is_counted_and_not_used() {
        let mut run = Run::of([(read(4), [1e6, 2e6, 3e6])]);
        run.samples[1].sample.failure = Some(Failure { code: "EIO".to_owned(), message: "it broke".to_owned() });
        run.samples[2].sample.total.bytes_per_s.0 = f64::NAN;
        let observed = run.observed();
        let cells = gather(&observed);
        assert_eq!((cells.len(), cells[0].failed, &cells[0].bytes_per_s[..]), (1, 2, &[1e6][..]));
    }

    #[test]
    fn blocks_pair_whatever_their_order() {
        let mut run = Run::default();
        run.add(read(4), &[1.0, 2.0, 3.0]);
        run.add(read(8), &[10.0, 20.0]);
        run.samples.reverse();
        let observed = run.observed();
        let cells = gather(&observed);
        assert_eq!(cells[0].number, 0);
        assert_eq!(cells[0].paired_with(&cells[1]), [(1.0, 10.0), (2.0, 20.0)]);
    }
}
