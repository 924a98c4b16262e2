//! Instruments: what is read beside the requests themselves. Each states its own cost or resolution.

pub mod cache;
pub(crate) mod clock;
pub(crate) mod cpu;
pub(crate) mod disk;
pub mod memory;
pub mod scrub;
