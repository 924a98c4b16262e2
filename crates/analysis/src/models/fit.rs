//! What all models share: how well one fits, its curve, and the words for its error.

use crate::statistics::{self, Interval};
use halfpower_model::units::significant;
use halfpower_model::{Estimate, Quantity};
use serde::Serialize;

/// Off by no more than this on average, a model describes what was measured. At 8 % off one was seen whose limit lay below
/// a rate that had been measured.
const GOOD: f64 = 0.05;

/// A piece of a model's curve, as points from the least that was measured to the most.
pub type Curve = Vec<(f64, f64)>;

/// Points of a curve, close enough to look like one.
const CURVE_POINTS: i32 = 48;

/// A curve from one place to another, its points at equal ratios.
pub(super) fn curve(from: f64, to: f64, of: impl Fn(f64) -> f64) -> Curve {
    let ratio = (to / from).powf(1.0 / f64::from(CURVE_POINTS));
    (0..=CURVE_POINTS).map(|step| from * ratio.powi(step)).map(|place| (place, of(place))).collect()
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
    pub(super) fn of(relative_error: f64) -> Match {
        if relative_error <= GOOD { Match::Good } else { Match::Poor }
    }
}

/// A fitted figure; without an interval where a cell has one repetition, as nothing is known of its scatter.
pub(super) fn fitted(quantity: Quantity, value: f64, interval: Option<Interval>, repetitions: usize) -> Estimate {
    statistics::estimate(quantity, value, interval.filter(|_| repetitions > 1), repetitions)
}

/// The interval of so much over a figure; none where the figure may be zero.
pub(super) fn over(amount: f64, interval: Option<Interval>) -> Option<Interval> {
    let of = interval.filter(|interval| interval.low > 0.0)?;
    Some(Interval { low: amount / of.high, high: amount / of.low })
}

/// How far off a model is on average, for people.
pub(super) fn off(relative_error: f64) -> String {
    // What rounding leaves of an exact fit is no figure.
    let percent = (100.0 * relative_error).max(0.01);
    format!("{} % off on average", significant(percent))
}
