//! Models with two or three parameters: fixed time plus rate, queueing, a shared limit.
//!
//! Points are weighted by relative error. A finding cites a model only if its mean error is small. Nothing is extrapolated but the
//! final rate of a line. Intervals come from the scatter about the fit (for targets from the repetitions), so a bad fit widens
//! them.

mod concurrency;
mod fit;
mod scaling;
mod service_time;

use crate::evidence::Evidence;
use serde::Serialize;

pub use concurrency::{Concurrency, Law, Load};
pub(crate) use fit::fitted;
pub use fit::{Curve, Match};
pub use scaling::Scaling;
pub use service_time::{Piece, ServiceTime};

/// All models of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Models {
    /// Time against request size.
    pub service_times: Vec<ServiceTime>,
    /// IOPS against depth or workers.
    pub concurrency: Vec<Concurrency>,
    /// Throughput against the number of targets.
    pub scaling: Vec<Scaling>,
}

impl Models {
    pub(crate) fn of(evidence: &Evidence<'_>) -> Models {
        let by_depth = evidence.by_depth.iter().map(|series| (series, Load::Depth));
        let by_workers = evidence.by_workers.iter().map(|series| (series, Load::Workers));
        Models {
            service_times: evidence.by_size.iter().filter_map(service_time::fit).collect(),
            concurrency: by_depth
                .chain(by_workers)
                .filter_map(|(series, load)| concurrency::fit(series, load))
                .collect(),
            scaling: scaling::all(evidence),
        }
    }
}
