//! Estimators, tests and verdicts over plain numbers; they know nothing of storage.
//!
//! One way for each question, chosen by what its intervals hold in simulation (`tests/coverage.rs`; the table is in
//! docs/decisions/statistics.md):
//!
//! | question | answer | from |
//! |---|---|---|
//! | the mean of repetitions | [`mean_estimate`], Student's t | 2 values |
//! | a typical value, whatever the distribution | [`median_estimate`], interpolated order statistics | 6 values |
//! | a ratio within the same blocks | [`paired_ratio`], t of logarithms | 2 blocks |
//! | a ratio of two runs | [`ratio_of_means`], Fieller with Welch's freedom | 5 and 5 |
//! | scatter within and between blocks | [`RandomisedBlocks`] | 2 by 2 |
//! | a figure without a formula | [`bootstrap_of_means`], BCa, moved out as t is | 4 of each of several cells, 15 of one |
//! | the mean of an autocorrelated series | [`series_mean`], batch means | 20 autocorrelation times |
//! | what changed | [`Contrast`] and [`verdicts`] | as the ratio |
//!
//! Values are numbers: what is not finite is left out before it comes here. None gives an interval where the numbers do
//! not carry one. Intervals are 95 %.

mod autocorrelation;
mod blocks;
mod bootstrap;
mod change_points;
mod contrast;
mod divisive;
mod interval;
mod lasting_changes;
mod least_squares;
mod mean;
mod median;
mod ratio;
mod steady_state;
mod warm_up;

pub use autocorrelation::{series_mean, worth_by_batches};
pub use blocks::RandomisedBlocks;
pub(crate) use bootstrap::bootstrap_estimate;
pub use bootstrap::bootstrap_of_means;
pub use change_points::change_points;
pub use contrast::{Contrast, Margin, Verdict, adjusted_p_values, verdicts};
pub use divisive::divisive_change_points;
pub use interval::Interval;
pub(crate) use interval::estimate;
pub use lasting_changes::lasting_changes;
pub use least_squares::{Equation, Fit, Line, Point, least_squares, weighted_line};
pub use mean::{is_precise, mean, mean_estimate, mean_interval, next_interval};
pub use median::median_estimate;
pub use ratio::{paired_ratio, ratio_of_means};
pub use steady_state::is_ever_steady;
pub use warm_up::warm_up;
