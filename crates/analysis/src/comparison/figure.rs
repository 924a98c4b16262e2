//! The compared figures, their direction and margins.

use crate::kind::Kind;
use crate::resolution;
use crate::statistics::{Margin, mean};
use halfpower_model::{Quantity, Sample};
use serde::Serialize;

/// A compared figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Bytes per second of all workers, or requests per second if none move bytes.
    Throughput,
    /// Bytes per second until the last worker finishes, as the parent of parallel writers sees it.
    ParentThroughput,
    /// p99 latency.
    TailLatency,
    /// CPU time per request, lower bound.
    CpuCost,
}

impl Figure {
    /// All, in display order.
    pub const ALL: [Figure; 4] = [Figure::Throughput, Figure::ParentThroughput, Figure::TailLatency, Figure::CpuCost];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Throughput => "throughput",
            Figure::ParentThroughput => "throughput as the parent sees it",
            Figure::TailLatency => "p99 latency",
            Figure::CpuCost => "CPU time per I/O",
        }
    }

    /// The default margin.
    pub fn usual_margin(self) -> Margin {
        match self {
            Figure::Throughput | Figure::ParentThroughput => Margin::THROUGHPUT,
            Figure::TailLatency => Margin::TAIL,
            Figure::CpuCost => Margin::COST,
        }
    }

    /// Whether a single sample is long enough: CPU time is counted in ticks. Ten 10 ms ticks suffice for the kernel's own sum; imported
    /// ones need 100 of 1/64 s, the coarsest in use.
    pub(super) fn is_long_enough(self, sample: &Sample) -> bool {
        let least_s = if sample.origin.is_some() { 100.0 / 64.0 } else { 0.1 };
        self != Figure::CpuCost || sample.cpu.lower.user_s + sample.cpu.lower.system_s >= least_s
    }

    /// One request as a mean share of the figure; zero if irrelevant.
    pub(super) fn resolution(self, samples: &[&Sample]) -> f64 {
        let shares: Vec<f64> = samples.iter().map(|sample| resolution::of(sample)).collect();
        mean(&shares).filter(|_| self.is_throughput()).unwrap_or(0.0)
    }

    /// Whether it is a throughput, of which more is better.
    pub fn is_throughput(self) -> bool {
        matches!(self, Figure::Throughput | Figure::ParentThroughput)
    }

    pub(super) fn quantity(self, of_bytes: bool) -> Quantity {
        match self {
            Figure::Throughput if !of_bytes => Quantity::RequestsPerSecond,
            Figure::Throughput | Figure::ParentThroughput => Quantity::BytesPerSecond,
            Figure::TailLatency => Quantity::Nanoseconds,
            Figure::CpuCost => Quantity::MicrosecondsPerRequest,
        }
    }

    /// The figure of a sample, if known. Of its throughput this share lasts.
    pub(super) fn of(self, sample: &Sample, of_bytes: bool, lasts: f64) -> Option<f64> {
        let figure = match self {
            Figure::Throughput if of_bytes => sample.total.bytes_per_s.0,
            Figure::Throughput => sample.is_known("total.requests_per_s").then_some(sample.total.requests_per_s)?,
            Figure::ParentThroughput => {
                // With one worker it equals the throughput.
                let parallel = sample.parallel.filter(|_| sample.workload.workers > 1)?;
                sample.is_known("parallel.parent_bytes_per_s").then_some(parallel.parent_bytes_per_s.0)?
            }
            Figure::TailLatency => {
                // A commit is a write and its flush.
                let flush = sample.flush.as_ref().filter(|_| Kind::of(&sample.workload) == Some(Kind::Commit));
                let flush = flush.and_then(|flush| flush.latency_ns.p99).unwrap_or(0);
                (sample.total.latency_ns.p99? + flush) as f64
            }
            Figure::CpuCost => {
                let lower = sample.cpu.lower;
                let is_known = sample.is_known("cpu.lower") && sample.is_known("total.requests");
                is_known.then(|| (lower.user_s + lower.system_s) * 1e6 / sample.total.requests as f64)?
            }
        };
        let figure = if self.is_throughput() { figure * lasts } else { figure };
        (figure.is_finite() && figure > 0.0).then_some(figure)
    }
}
