//! Comparison of two groups of samples, before and after: what differs in what they were measured on, and what changed in
//! each workload that both have.
//!
//! Workloads are matched by all that is of their nature (`comparable`), not by their place in a plan. The two groups
//! were measured at different times, so nothing pairs their repetitions: a ratio of means with Fieller's interval, held
//! against a margin ([`Contrast`](crate::statistics::Contrast), [`Margins`]), and Benjamini and Hochberg's adjustment over all cells of a figure. Where a side has
//! one repetition there is no interval. Then only a ratio further from 1 than [`Figure::plausible_noise`] is called changed:
//! a rule that was set, not measured, and that a disturbed machine can break. A simulated machine gives the same again: where both
//! sides have equal samples of one, there is nothing to estimate.

mod change;
mod compare;
mod copies;
mod doubt;
mod environment;
mod figure;
mod machine;
mod margins;
mod matching;
mod noise;
#[cfg(test)]
mod tests;
mod verdict;

pub use change::{Change, ComparedCell, Doubt, Standing};
pub use compare::{Comparison, compare};
pub use copies::{are_copies, are_simulated};
pub use environment::Difference;
pub use figure::Figure;
pub use margins::{FoundMargins, Margins};
pub use noise::{FigureNoise, Noise, Scatter, against_itself};
pub use verdict::Outcome;
