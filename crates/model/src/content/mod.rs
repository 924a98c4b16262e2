//! The content of written blocks: what kind of data a write carries, and the stamp that lets it be checked later.
//!
//! A workload either verifies, and then every block is stamped ([`Stamper`]), or it does not, and then its buffers hold
//! one kind of [`Data`], filled before the measurement and made unique at submission by a [`Freshener`]. Nothing here
//! keeps track of what was written: the generations belong to the caller.

pub(crate) mod data;
mod diagnosis;
mod freshener;
mod mismatch;
mod sequence;
mod stamp;

pub use data::{Data, MAX_REPEATED_BYTES};
pub use freshener::{Freshener, UNIT_BYTES};
pub use mismatch::{Kind, Mismatch};
pub use stamp::{HEADER_BYTES, MIN_BLOCK_BYTES, Stamper, UNWRITTEN};
