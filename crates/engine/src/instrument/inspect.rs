//! Inspects targets: the path from each to the hardware, and the machine, from sysfs, procfs and the firmware.
//!
//! Nothing is opened, so users can inspect targets that they may not read. Nothing is measured: peaks are advertised ones.

use super::counters::ThreadCounters;
use super::{phases, soaker};
use crate::system::{Root, machine::machine};
use crate::target::{TargetError, facts_unopened};
use halfpower_model::TargetFacts;
use halfpower_model::reading::inspect::{Inspected, InspectedTarget};
use std::path::PathBuf;

/// Inspects files, directories and block devices; returns their facts too.
///
/// # Errors
/// If one does not exist or cannot be a target.
pub fn inspect(paths: &[PathBuf]) -> Result<(Inspected, Vec<TargetFacts>), TargetError> {
    let (mut targets, mut all_facts) = (Vec::new(), Vec::new());
    for path in paths {
        let (facts, storage) = facts_unopened(path)?;
        targets.push(InspectedTarget { path: facts.path.clone(), storage, levels: facts.levels.clone() });
        all_facts.push(facts);
    }
    Ok((Inspected { machine: machine(&Root::host()), targets }, all_facts))
}

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
