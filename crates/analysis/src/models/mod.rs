//! What the measured cells look like to a model with two or three parts: a request has a fixed time and a rate, a queue
//! fills up, targets share a limit.
//!
//! A model is no measurement. Each is fitted with every point weighing by its relative error, says how far it is off on
//! average, and is told of in a finding only where that is little. What it says beyond the sizes, depths and targets that
//! were measured is left out, but for the final rate, which is what a fitted line is for. Intervals come from the scatter
//! about the fit (of targets, from the repetitions), so that what does not fit is seen in them.

mod concurrency;
mod fit;
mod scaling;
mod service_time;

use crate::evidence::Evidence;
use serde::Serialize;

pub use concurrency::{Concurrency, Law, Load};
pub use fit::{Curve, Match};
pub use scaling::Scaling;
pub use service_time::{Piece, ServiceTime};

/// Every model that the cells of a run carry.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Models {
    /// Time a request against its size, of each series of sizes.
    pub service_times: Vec<ServiceTime>,
    /// Rate against depth or workers, of each series of them.
    pub concurrency: Vec<Concurrency>,
    /// Rate against the number of targets.
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
