//! Comparison of two groups of samples, before and after: environments and each common workload.
//!
//! Workloads match by their settings (`comparable`), not by their place in a plan. The groups were measured at different times,
//! so repetitions are not paired: a ratio of means with Fieller's interval is compared with a margin
//! ([`Contrast`](crate::statistics::Contrast), [`Margins`]), adjusted over all workloads of a figure (Benjamini and Hochberg). A single
//! sample has no interval; then only a ratio beyond [`Figure::plausible_noise`] counts as a change, a chosen rule that a
//! disturbed machine can break. Identical samples of a simulated machine need no estimate.

mod change;
mod compare;
mod copies;
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
