//! A cell's repetitions in one summary.

use crate::attribution::Attribution;
use crate::block::BlockLayer;
use crate::cells::Cell;
use crate::parts::PartUse;
use crate::statistics::mean_estimate;
use crate::warm_up::{WithinRun, within_run};
use crate::wording::reach;
use halfpower_model::sample::Latency;
use halfpower_model::{Estimate, Histogram, Quantity, Reach, Workload};
use serde::Serialize;

/// Percentiles of a latency chart.
const SHARES: [f64; 15] =
    [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.999_5, 0.999_9, 0.999_95, 0.999_99];

/// All repetitions of a cell.
///
/// If every sample failed, `samples` is empty and the estimates are zero of no repetitions.
#[derive(Clone, Debug, Serialize)]
pub struct CellSummary {
    /// Number in the plan.
    pub cell: u32,
    /// Its workload.
    pub workload: Workload,
    /// Storage or memory.
    pub reach: Reach,
    /// Mean throughput.
    pub bytes_per_s: Estimate,
    /// Mean IOPS.
    pub requests_per_s: Estimate,
    /// Whether these rates do not last.
    #[serde(skip_serializing_if = "is_false")]
    pub is_burst: bool,
    /// Precision of a single repetition within its run; no verdict rests on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_run: Option<WithinRun>,
    /// CPU time per request, lower bound.
    pub cpu_us_per_request: Option<Estimate>,
    /// CPU time per MB (10^6), lower bound.
    pub cpu_ms_per_mb: Option<Estimate>,
    /// Latencies of the merged histogram.
    pub latency: Latency,
    /// Percentiles for a chart (share, ns) with at least ten requests beyond.
    pub percentiles: Vec<(f64, u64)>,
    /// The bottleneck; none beside a CPU soaker or for other programs' samples.
    #[serde(rename = "bottleneck", skip_serializing_if = "Option::is_none")]
    pub pace: Option<Attribution>,
    /// Block-layer phases; none if not traced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockLayer>,
    /// Load of a simulated machine's parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartUse>,
    /// The merged histogram of all operations.
    #[serde(skip)]
    pub histogram: Histogram,
    /// Store numbers of the samples.
    pub samples: Vec<i64>,
    /// Failed samples.
    pub failed: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(is: &bool) -> bool {
    !is
}

/// The summary of a cell.
pub(crate) fn summarise(cell: &Cell<'_>) -> CellSummary {
    let mut histogram = Histogram::default();
    for observed in &cell.repetitions {
        let histograms = &observed.sample.latency_histogram;
        [&histograms.read, &histograms.write, &histograms.any]
            .into_iter()
            .flatten()
            .for_each(|part| histogram.merge(part));
    }
    let cpu_ms_per_mb: Vec<f64> =
        cell.cpu_s_per(|sample| sample.total.bytes).into_iter().map(|cost_s| cost_s * 1e9).collect();
    let latency = latency(cell, &histogram);
    CellSummary {
        cell: cell.number,
        workload: cell.workload.clone(),
        reach: reach(cell.workload),
        bytes_per_s: measured(Quantity::BytesPerSecond, cell),
        requests_per_s: measured(Quantity::RequestsPerSecond, cell),
        is_burst: cell.is_burst,
        within_run: match &cell.repetitions[..] {
            [alone] => within_run(alone.sample),
            _ => None,
        },
        cpu_us_per_request: mean_estimate(Quantity::MicrosecondsPerRequest, &cell.cpu_us_per_request()),
        cpu_ms_per_mb: mean_estimate(Quantity::MillisecondsPerMegabyte, &cpu_ms_per_mb),
        percentiles: percentiles(&histogram, &latency),
        latency,
        pace: None,
        block: crate::block::of(cell),
        parts: crate::parts::of(cell),
        histogram: histogram.packed(),
        samples: cell.samples(),
        failed: cell.failed,
    }
}

/// Latencies of the merged histogram, or an imported sample's own percentiles.
fn latency(cell: &Cell<'_>, histogram: &Histogram) -> Latency {
    match &cell.repetitions[..] {
        [alone] if histogram.count() == 0 => alone.sample.total.latency_ns,
        _ => Latency::of(histogram),
    }
}

/// The mean, or zero of no repetitions.
fn measured(quantity: Quantity, cell: &Cell<'_>) -> Estimate {
    let nothing = Estimate { quantity, value: 0.0, low: None, high: None, repetitions: 0 };
    cell.rate(quantity).unwrap_or(nothing)
}

/// Percentiles with ten requests beyond them on the rarer side; those that an imported sample names if it has no histogram.
fn percentiles(histogram: &Histogram, latency: &Latency) -> Vec<(f64, u64)> {
    if histogram.count() == 0 {
        let Latency { p50, p90, p95, p99, p99_9, p99_99, .. } = *latency;
        let named = [(0.5, p50), (0.9, p90), (0.95, p95), (0.99, p99), (0.999, p99_9), (0.999_9, p99_99)];
        return named.into_iter().filter_map(|(share, ns)| Some((share, ns?))).collect();
    }
    SHARES
        .into_iter()
        .filter(|share| (histogram.count() as f64 * share.min(1.0 - share)).round() >= 10.0)
        .filter_map(|share| Some((share, histogram.quantile(share)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::fixtures::{Run, read};

    #[test]
    fn the_mean_is_over_repetitions() {
        // Student's sleep data again, in MB/s: 1.58 ± 0.8798858.
        let mut run = Run::of([(read(64), [1.2e6, 2.4e6, 1.3e6, 1.3e6, 0.0, 1.0e6, 1.8e6, 0.8e6, 4.6e6, 1.4e6])]);
        run.cost(0, |_| 50.0);
        let summary = &analyse(&run.observed()).cells[0];
        assert!((summary.bytes_per_s.value - 1.58e6).abs() < 1.0);
        assert!((summary.bytes_per_s.high.unwrap() - 2.459_885_8e6).abs() < 1.0, "{:?}", summary.bytes_per_s);
        assert!((summary.requests_per_s.value - 1.58e6 / 65_536.0).abs() < 1e-6);
        // A sample without a request has no cost a request, and the cell then has none.
        assert_eq!(summary.cpu_us_per_request, None);
        assert_eq!(summary.samples.len(), 10);
        let mut run = Run::of([(read(64), [65.536e6, 65.536e6])]);
        run.cost(0, |_| 50.0);
        let summary = &analyse(&run.observed()).cells[0];
        assert!((summary.cpu_us_per_request.unwrap().value - 50.0).abs() < 1e-9);
        // 50 µs for 65 536 bytes are 0.05 ms / 0.065536 MB.
        assert!((summary.cpu_ms_per_mb.unwrap().value - 0.05 / 0.065_536).abs() < 1e-9);
    }

    #[test]
    fn latencies_come_from_the_merged_histogram() {
        let mut run = Run::of([(read(4), [1e6, 1e6])]);
        for (sample, values) in run.samples.iter_mut().zip([1..=100_u64, 9_901..=10_000]) {
            let mut histogram = Histogram::default();
            values.for_each(|value| histogram.record(value));
            sample.sample.latency_histogram.read = Some(histogram);
        }
        let summary = &analyse(&run.observed()).cells[0];
        assert_eq!((summary.latency.min, summary.latency.max), (Some(1), Some(10_000)));
        assert_eq!(summary.latency.mean, Some((50.5 + 9_950.5) / 2.0));
        assert_eq!(summary.histogram.count(), 200);
        let shares: Vec<f64> = summary.percentiles.iter().map(|(share, _)| *share).collect();
        assert_eq!(shares, [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95], "ten of 200 lie beyond the 95th");
    }

    #[test]
    fn a_sample_without_a_histogram_has_the_percentiles_that_it_names() {
        let mut run = Run::of([(read(4), [1e6])]);
        let sample = &mut run.samples[0].sample;
        sample.latency_histogram = Default::default();
        sample.total.latency_ns = Latency { p50: Some(80), p99: Some(300), p99_9: Some(900), ..Latency::default() };
        let summary = &analyse(&run.observed()).cells[0];
        assert_eq!(summary.percentiles, [(0.5, 80), (0.99, 300), (0.999, 900)]);
    }
}
