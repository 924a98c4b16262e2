//! CPU time per I/O of a series, as fitted against request size.

use halfpower_model::{Bytes, BytesPerSecond, Estimate, Workload};
use serde::Serialize;

/// Processor cost of one series (the same but for the request size): fixed + marginal × KiB.
///
/// Fitted to the means of the cells with each weighing by its relative error, so that a cost that does not grow in a
/// straight line shows in wider intervals.
#[derive(Clone, Debug, Serialize)]
pub struct CostFit {
    /// A workload of the series; its request size says nothing.
    pub workload: Workload,
    /// What the series is, in the words of a workload: `sequential read, 8 deep, direct`.
    pub subject: String,
    /// What of the cost.
    pub bound: CostBound,
    /// Microseconds a request.
    pub fixed: Estimate,
    /// Microseconds a KiB.
    pub marginal: Estimate,
    /// Share of the variance the fit explains, with the weights of the fit.
    pub r_squared: f64,
    /// The same in three parts, of buffered requests where that describes them better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_unit: Option<CostByUnit>,
    /// The cells of the series.
    pub cells: Vec<u32>,
    /// What was fitted, the smallest requests first.
    pub points: Vec<CostPoint>,
}

/// Processor cost in three parts: call + copy × KiB + something for every unit that a request begins.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CostByUnit {
    /// What the file cache works in.
    pub unit: Bytes,
    /// Microseconds a request.
    pub call: Estimate,
    /// Microseconds a KiB.
    pub copy: Estimate,
    /// Microseconds for each unit begun.
    pub each_unit: Estimate,
}

/// Which bound of the processor cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CostBound {
    /// What the workers' own threads used.
    Lower,
    /// What a soaker did not get of the whole machine.
    Upper,
}

/// The cost of one request size, and what the fit makes of it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CostPoint {
    /// Bytes of each request.
    pub request_size: Bytes,
    /// Processor time a request, the mean of the repetitions.
    pub us_per_request: f64,
    /// By how much that is above the fit.
    pub residual_us: f64,
    /// Throughput at which this cost takes the whole of one processor.
    pub one_processor: BytesPerSecond,
    /// And of all that the program may use; none where imported samples do not tell how many there were.
    pub all_processors: Option<BytesPerSecond>,
}
