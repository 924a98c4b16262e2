//! Which of the optional instruments work here, and what stands in the way of the others: what `halfpower doctor` says.

use super::counters::ThreadCounters;
use super::{phases, soaker};
use crate::system::{Root, machine::machine};

/// An instrument, and why it does not work here; none where it does.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct InstrumentFacts {
    /// What a person knows it by.
    pub name: &'static str,
    /// Why not, with the remedy where there is one.
    pub unavailable: Option<String>,
}

/// Each of them. Asks the kernel, measures nothing.
pub fn instruments() -> Vec<InstrumentFacts> {
    let memory = machine(&Root::host()).memory;
    let firmware = memory.modules.is_empty().then_some(memory.source);
    [
        ("block phases", phases::refusal()),
        ("counters", ThreadCounters::open().err()),
        ("soaker", soaker::refusal()),
        ("firmware", firmware),
        ("drop caches", (!rustix::process::geteuid().is_root()).then(|| "needs root".to_owned())),
    ]
    .map(|(name, unavailable)| InstrumentFacts { name, unavailable })
    .into()
}
