//! Which optional instruments work on this host, and why the others do not: for `halfpower doctor`.

use super::counters::ThreadCounters;
use super::{phases, soaker};
use crate::system::{Root, machine::machine};

/// An instrument, and why it is unavailable.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct InstrumentFacts {
    /// Its name.
    pub name: &'static str,
    /// The reason, with a remedy if there is one; none if it works.
    pub unavailable: Option<String>,
}

/// All of them. Queries the kernel, measures nothing.
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
