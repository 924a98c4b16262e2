//! Estimators: means with t intervals, medians, paired ratios, weighted lines, bootstrap intervals, change points.
//!
//! They take plain numbers, one for each repetition, and know nothing of storage. None gives an interval where the
//! numbers do not carry one.

mod bootstrap;
mod change_points;
mod interval;
mod line;
mod median;
mod ratio;

pub(crate) use bootstrap::bootstrap_interval;
pub(crate) use change_points::change_points;
pub use interval::relative_half_width;
pub(crate) use interval::{mean, mean_estimate};
pub(crate) use line::{Line, Point, weighted_line};
pub(crate) use median::median_estimate;
pub(crate) use ratio::paired_ratio;

/// A range that holds the true figure with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) high: f64,
}
