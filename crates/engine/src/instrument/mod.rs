//! Instruments: what is read beside the requests themselves. Each states its own cost or resolution.

pub(crate) mod account;
pub(crate) mod accounts;
pub(crate) mod available;
pub mod burst;
pub mod cache;
pub(crate) mod clock;
pub(crate) mod counters;
pub(crate) mod cpu;
pub(crate) mod dirty;
pub(crate) mod disk;
pub mod inspect;
pub(crate) mod kernel_threads;
pub mod memory;
pub(crate) mod perf;
pub(crate) mod phases;
pub mod scrub;
pub(crate) mod soak;
pub(crate) mod soaker;
pub mod zones;
