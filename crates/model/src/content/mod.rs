//! The content of written blocks: kinds of data, and stamps for later checks.
//!
//! A verifying workload stamps every block ([`Stamper`]). Others fill their buffers with one kind of [`Data`] before the
//! measurement, and a [`Freshener`] makes each write unique at submission. The caller keeps the generations of written
//! blocks.

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
