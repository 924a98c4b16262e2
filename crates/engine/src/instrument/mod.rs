//! Instruments: what is read beside the requests themselves. Each states its own cost or resolution.

pub mod burst;
pub mod cache;
pub(crate) mod clock;
pub(crate) mod cpu;
pub(crate) mod disk;
pub(crate) mod phases;
pub mod scrub;
pub mod zones;
