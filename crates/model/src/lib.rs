//! The vocabulary of all crates: units, workloads, request streams, samples, testbeds, findings.
//!
//! This crate does no I/O, reads no clock and has no `unsafe`. `docs/ARCHITECTURE.md` defines the words.

pub mod arrivals;
#[cfg(test)]
mod chi_square;
pub mod content;
pub mod distribution;
pub mod environment;
pub mod finding;
pub mod histogram;
pub mod key;
pub mod levels;
pub mod names;
pub mod origin;
pub mod permutation;
pub mod price;
pub mod random;
pub mod reading;
pub mod sample;
pub mod shared;
pub mod spec;
pub mod stream;
pub mod testbed;
pub mod units;
mod words;
pub mod workload;

pub use content::Data;
pub use environment::{Environment, Server, TargetFacts, TargetKind};
pub use finding::{Estimate, Finding, FindingCode, Quantity, Reach};
pub use histogram::Histogram;
pub use key::{KEYS, Key, WorkloadSpec};
pub use levels::{Channel, GivenPeak, Level, LevelName};
pub use origin::{Origin, Unknown};
pub use price::{Currency, Offer, Price};
pub use sample::Sample;
pub use shared::Shared;
pub use spec::ResolveError;
pub use stream::{Request, RequestKind, RequestStream};
pub use testbed::{Cancel, MeasureError, Observer, Progress, Testbed};
pub use units::{Bytes, BytesPerSecond, Nanoseconds};
pub use workload::trace::{self, Trace};
pub use workload::{
    Advise, Among, Arrivals, BlockPhases, Buffering, CachePolicy, Closing, CpuAccounting, CpuList, Durability,
    FileState, HugePages, Layout, Limits, NamedPersonality, Operation, Pattern, Personality, Plugin, Rate, RingOption,
    RingOptions, RwFlag, RwFlags, Settings, Sharing, Sizes, SubmitBatch, Think, Verify, Wish, WorkerKind, Workload,
};
