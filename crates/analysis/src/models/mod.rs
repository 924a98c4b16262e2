//! What the measured cells look like to a model with two or three parts: a request has a fixed time and a rate, a queue
//! fills up, targets share a limit.
//!
//! A model is no measurement. Each is fitted with every point weighing by its relative error, says how far it is off on
//! average, and is told of in a finding only where that is little. What it says beyond the sizes, depths and targets that
//! were measured is left out, but for the final rate, which is what a fitted line is for. Intervals come from the scatter
//! about the fit (of targets, from the repetitions), so that what does not fit is seen in them.

mod concurrency;
mod scaling;
mod service_time;

use crate::findings::Evidence;
use crate::statistics::{self, Interval};
use halfpower_model::units::significant;
use halfpower_model::{Estimate, Quantity};
use serde::Serialize;

pub use concurrency::{Concurrency, Law, Load};
pub use scaling::Scaling;
pub use service_time::{Piece, ServiceTime};

/// Off by no more than this on average, a model describes what was measured. At 8 % off one was seen whose limit lay below
/// a rate that had been measured.
const GOOD: f64 = 0.05;

/// A piece of a model's curve, as points from the least that was measured to the most.
pub type Curve = Vec<(f64, f64)>;

/// Points of a curve, close enough to look like one.
const CURVE_POINTS: i32 = 48;

/// A curve from one place to another, its points at equal ratios.
fn curve(from: f64, to: f64, of: impl Fn(f64) -> f64) -> Curve {
    let ratio = (to / from).powf(1.0 / f64::from(CURVE_POINTS));
    (0..=CURVE_POINTS).map(|step| from * ratio.powi(step)).map(|place| (place, of(place))).collect()
}

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

/// Whether a model describes what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// It is off by 5 % at most on average.
    Good,
    /// It is off by more, or its limit lies below what was measured: its figures describe nothing.
    Poor,
}

impl Match {
    fn of(relative_error: f64) -> Match {
        if relative_error <= GOOD { Match::Good } else { Match::Poor }
    }
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

/// A fitted figure; without an interval where a cell has one repetition, as nothing is known of its scatter.
fn fitted(quantity: Quantity, value: f64, interval: Option<Interval>, repetitions: usize) -> Estimate {
    statistics::estimate(quantity, value, interval.filter(|_| repetitions > 1), repetitions)
}

/// The interval of so much over a figure; none where the figure may be zero.
fn over(amount: f64, interval: Option<Interval>) -> Option<Interval> {
    let of = interval.filter(|interval| interval.low > 0.0)?;
    Some(Interval { low: amount / of.high, high: amount / of.low })
}

/// How far off a model is on average, for people.
fn off(relative_error: f64) -> String {
    // What rounding leaves of an exact fit is no figure.
    let percent = (100.0 * relative_error).max(0.01);
    format!("{} % off on average", significant(percent))
}
