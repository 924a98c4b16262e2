//! Shared by all models: quality of fit, curve, and the words for its error.

use crate::statistics::{self, Interval};
use halfpower_model::units::significant;
use halfpower_model::{Estimate, Quantity};
use serde::Serialize;

/// A model fits up to this mean error. At 8 % one was seen with a limit below a measured rate.
const GOOD: f64 = 0.05;

/// A piece of a model's curve as points.
pub type Curve = Vec<(f64, f64)>;

/// Points of a smooth curve.
const CURVE_POINTS: i32 = 48;

/// A curve with points at equal ratios.
pub(super) fn curve(from: f64, to: f64, of: impl Fn(f64) -> f64) -> Curve {
    let ratio = (to / from).powf(1.0 / f64::from(CURVE_POINTS));
    (0..=CURVE_POINTS).map(|step| from * ratio.powi(step)).map(|place| (place, of(place))).collect()
}

/// Whether a model fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// Mean error up to 5 %.
    Good,
    /// A larger error, or a limit below a measured rate.
    Poor,
}

impl Match {
    pub(super) fn of(relative_error: f64) -> Match {
        if relative_error <= GOOD { Match::Good } else { Match::Poor }
    }
}

/// A fitted figure; without an interval for single repetitions, whose scatter is unknown.
pub(crate) fn fitted(quantity: Quantity, value: f64, interval: Option<Interval>, repetitions: usize) -> Estimate {
    statistics::estimate(quantity, value, interval.filter(|_| repetitions > 1), repetitions)
}

/// Interval of an amount over a figure; none if that may be zero.
pub(super) fn over(amount: f64, interval: Option<Interval>) -> Option<Interval> {
    let of = interval.filter(|interval| interval.low > 0.0)?;
    Some(Interval { low: amount / of.high, high: amount / of.low })
}

/// Mean error for people.
pub(super) fn off(relative_error: f64) -> String {
    // Rounding of an exact fit is not zero.
    let percent = (100.0 * relative_error).max(0.01);
    format!("{} % off on average", significant(percent))
}
