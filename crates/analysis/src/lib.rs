//! Samples in, findings out. Pure: no files, no clock, no `unsafe`, so that a stored result can always be analysed again.

mod cells;
mod findings;
mod series;
mod statistics;
mod summary;
#[cfg(test)]
mod support;
mod warnings;
mod words;

use halfpower_model::histogram::Histogram;
use halfpower_model::sample::{Latency, Warning};
use halfpower_model::{Estimate, Finding, Sample, Workload};
use serde::Serialize;

pub use statistics::relative_half_width;

/// A sample as the store keeps it: with its number and its place in the plan.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The store's number of it.
    pub id: i64,
    /// Which cell of the plan.
    pub cell: u32,
    /// Which randomised block, and so which repetition, from 0.
    pub block: u32,
    /// What was measured.
    pub sample: &'a Sample,
}

/// Everything a report shows.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// What each cell gave, in the plan's order.
    pub cells: Vec<CellSummary>,
    /// Claims, the most useful first within each code.
    pub findings: Vec<Finding>,
    /// Processor cost against request size, a fit for each series.
    pub costs: Vec<CostFit>,
    /// Warnings of the samples, each code once in its first wording, with how many samples carry it; the most
    /// frequent first.
    pub warnings: Vec<(Warning, u32)>,
}

/// All repetitions of a cell together.
///
/// Where every sample failed, `samples` is empty and the estimates are zero of no repetitions: nothing was measured.
#[derive(Clone, Debug, Serialize)]
pub struct CellSummary {
    /// Which cell of the plan.
    pub cell: u32,
    /// Its workload.
    pub workload: Workload,
    /// Mean throughput over the repetitions.
    pub bytes_per_s: Estimate,
    /// Mean request rate over the repetitions.
    pub requests_per_s: Estimate,
    /// Processor time a request, lower bound.
    pub cpu_us_per_request: Option<Estimate>,
    /// Processor time a MB (10^6), lower bound.
    pub cpu_ms_per_mb: Option<Estimate>,
    /// Latencies of the merged histogram.
    pub latency: Latency,
    /// Latency percentiles for a chart: share of requests and ns, only where ten requests lie beyond.
    pub percentiles: Vec<(f64, u64)>,
    /// The merged histogram, both operations.
    #[serde(skip)]
    pub histogram: Histogram,
    /// The store's numbers of the samples used.
    pub samples: Vec<i64>,
    /// Samples of the cell that failed and are not used.
    pub failed: u32,
}

/// Processor cost of one series (same operation, pattern, depth, buffering, durability): fixed + marginal × KiB.
///
/// Fitted to the means of the cells with each weighing by its relative error, so that a cost that does not grow in a
/// straight line shows in wider intervals.
#[derive(Clone, Debug, Serialize)]
pub struct CostFit {
    /// A workload of the series; its request size says nothing.
    pub workload: Workload,
    /// What the series is, in the words of a workload: `sequential read, 8 deep, direct`.
    pub subject: String,
    /// Microseconds a request.
    pub fixed: Estimate,
    /// Microseconds a KiB.
    pub marginal: Estimate,
    /// Share of the variance the fit explains, with the weights of the fit.
    pub r_squared: f64,
    /// The cells of the series.
    pub cells: Vec<u32>,
}

/// Everything that can be said of one run's samples.
///
/// Samples that failed, and those without a usable rate, are counted and left out.
pub fn analyse(samples: &[Observed<'_>]) -> Analysis {
    let cells = cells::gather(samples);
    let evidence = findings::Evidence::new(&cells);
    let costs = findings::processor_costs(&evidence);
    Analysis {
        cells: cells.iter().map(summary::summarise).collect(),
        findings: findings::all(&evidence, &costs),
        costs: costs.into_iter().map(|cost| cost.fit).collect(),
        warnings: warnings::collect(samples),
    }
}
