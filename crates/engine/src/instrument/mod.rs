//! Instruments: what is read beside the requests themselves. Each states its own cost or resolution.

pub(crate) mod account;
pub(crate) mod accounts;
pub(crate) mod available;
pub(crate) mod clock;
pub(crate) mod counters;
pub(crate) mod cpu;
pub(crate) mod dirty;
pub mod drop_cache;
pub mod idle;
pub mod inspect;
pub(crate) mod kernel_threads;
pub mod link;
pub mod map;
pub mod memory;
pub(crate) mod perf;
pub(crate) mod phases;
pub(crate) mod soaker;
