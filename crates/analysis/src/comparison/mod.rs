//! Comparison of two groups of samples, before and after: environments and each common workload.
//!
//! Workloads match by their settings (`comparable`), not by their place in a plan. Runs apart in time are compared by the
//! variation between runs (`between`), arms of one run by pairs, simulated runs by their samples (Fieller's interval), each
//! with a margin ([`Contrast`](crate::statistics::Contrast)), adjusted over all workloads of a figure (Benjamini, Krieger and Yekutieli).
//! Identical samples of a simulated machine need no estimate.

mod between;
#[cfg(test)]
mod between_tests;
mod change;
mod compare;
mod copies;
mod environment;
mod figure;
mod history;
mod load;
mod machine;
mod matching;
mod noise;
mod programs;
#[cfg(test)]
mod tests;
mod uses;
mod verdict;

pub(crate) use between::ASSUMED_OF_P99;
pub use between::Between;
pub use change::{Basis, Change, ComparedCell, Doubt, Standing, Variation};
pub use compare::{Comparison, Design, Method, OfRun, Side, compare};
pub use copies::{are_copies, are_simulated};
pub use environment::Difference;
pub use figure::Figure;
pub use history::{History, history};
pub use load::Load;
pub use noise::{FigureNoise, Noise, Scatter, against_itself};
pub use verdict::Outcome;
