//! CPU time per I/O of a series, as fitted against request size.

use halfpower_model::{Bytes, BytesPerSecond, Estimate, Workload};
use serde::Serialize;

/// CPU cost of one series that varies request size only: fixed + marginal × KiB.
///
/// Fitted to cell means, each weighted by its relative error, so that a non-linear cost widens the intervals.
#[derive(Clone, Debug, Serialize)]
pub struct CostFit {
    /// A workload of the series; ignore its request size.
    pub workload: Workload,
    /// Name of the series: `sequential read, QD8, direct`.
    pub subject: String,
    /// Which bound.
    pub bound: CostBound,
    /// µs per request.
    pub fixed: Estimate,
    /// µs per KiB.
    pub marginal: Estimate,
    /// Weighted share of the variance that the fit explains.
    pub r_squared: f64,
    /// A three-part fit, if it describes buffered requests better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_unit: Option<CostByUnit>,
    /// The cells of the series.
    pub cells: Vec<u32>,
    /// The fitted points, the smallest requests first.
    pub points: Vec<CostPoint>,
}

/// CPU cost in three parts: call + copy × KiB + a cost per unit begun.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CostByUnit {
    /// The unit of the page cache.
    pub unit: Bytes,
    /// µs per request.
    pub call: Estimate,
    /// µs per KiB.
    pub copy: Estimate,
    /// µs per unit begun.
    pub each_unit: Estimate,
}

/// A bound of the CPU cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CostBound {
    /// CPU time of the workers' own threads.
    Lower,
    /// CPU time that a soaker could not get on the whole machine.
    Upper,
}

/// Cost at one request size, and its residual.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CostPoint {
    /// Request size.
    pub request_size: Bytes,
    /// CPU µs per request, mean of the repetitions.
    pub us_per_request: f64,
    /// Difference to the fit.
    pub residual_us: f64,
    /// Throughput that saturates one CPU.
    pub one_cpu: BytesPerSecond,
    /// Throughput that saturates all CPUs; none if their number is unknown.
    pub all_cpus: Option<BytesPerSecond>,
}
