//! A workload on a machine: events in the order of time, from the program's request to its completion.
//!
//! ```text
//! program → CPU → portions → pieces → queue → command → disk → bytes over all parts at once → CPU → program
//!                     ↘ page cache → CPU → portions → … → CPU → page cache → program
//! ```
//!
//! Reads give their bytes when the disk has them, writes bring theirs before the disk begins. The bytes of a piece are on
//! all buses of their leg (between disk and memory, or a controller that stores them) at the same time, so the slowest sets
//! the pace, while each is busy only for its own part. Time is in whole nanoseconds, and events of the same nanosecond come in the order in which they were made: the
//! same machine, workload and seed give the same course on every host.

mod events;
mod flush;
mod growth;
#[cfg(test)]
pub(crate) mod laws;
mod outcome;
mod outstanding;
mod pace;
mod page_cache;
mod pieces;
mod request;
mod rows;
mod share;
mod state;
mod steps;
#[cfg(test)]
pub(crate) mod tests;

pub use outcome::Outcome;
pub use pace::OpenLoop;
pub use steps::run;
