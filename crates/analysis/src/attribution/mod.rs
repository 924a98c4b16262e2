//! What sets the pace of a sample: which part is full, or waits, or is limited, and what is ruled out.
//!
//! Every suspect is looked at, in an order in which one explains those behind it: a limit that is reached explains idle
//! processors, a full processor explains an idle device. A suspect is *named* on its own figures, never because it is the
//! last one left, but for the file system and the device: those only where the kernel's counters say what the device did
//! meanwhile, and then it says "likely". Where a figure is missing the suspect is left open, and where none is named it
//! cannot be told. Little's law is behind the depth: with one request outstanding the rate is one over its latency.
//!
//! What it refuses: samples of other programs, whose figures were taken in other ways. Sources of each rule: [`host`] and
//! [`storage`]. A simulated machine tells how busy its parts were ([`simulated`]); without that it is judged like a host.

mod command_limit;
mod facts;
mod host;
mod levels;
mod medium;
mod neighbours;
mod simulated;
mod storage;
mod suspect;
#[cfg(test)]
mod tests;
mod thresholds;

use facts::Facts;
pub(crate) use facts::polls;
use halfpower_model::Sample;
pub(crate) use neighbours::{Growth, Neighbours, Places};
use suspect::Standing;
pub use suspect::{Attribution, Owner, Sureness};

/// What sets the pace of a sample, by its own figures alone: of an interrupted one, of what was measured until then. None where it
/// failed, moved nothing, or is another program's.
pub fn attribute(sample: &Sample) -> Option<Attribution> {
    attribute_with(sample, Neighbours::default())
}

/// The same, with what other samples say.
pub(crate) fn attribute_with(sample: &Sample, neighbours: Neighbours) -> Option<Attribution> {
    let is_measured = sample.failure.as_ref().is_none_or(|failure| failure.code == "interrupted");
    let is_usable = is_measured && sample.origin.is_none() && sample.total.requests > 0;
    if !is_usable || sample.elapsed_s <= 0.0 {
        return None;
    }
    let facts = Facts::of(sample, neighbours);
    let mut found =
        Attribution { owner: None, sureness: None, at: None, reason: String::new(), ruled_out: vec![], open: vec![] };
    for suspect in SUSPECTS {
        match suspect(&facts) {
            Standing::Absent => {}
            Standing::RuledOut(why) => found.ruled_out.push(why),
            Standing::NamedAt(owner, sureness, at, reason) if found.owner.is_none() => {
                (found.owner, found.sureness, found.at, found.reason) = (Some(owner), Some(sureness), Some(at), reason);
            }
            // What stands behind the first one named is explained by it.
            Standing::Open(why) if found.owner.is_none() => found.open.push(why),
            Standing::Named(owner, sureness, reason) if found.owner.is_none() => {
                (found.owner, found.sureness, found.reason) = (Some(owner), Some(sureness), reason);
            }
            Standing::Open(_) | Standing::Named(..) | Standing::NamedAt(..) => {}
        }
    }
    if found.owner.is_none() {
        let why = "no measured figure shows a bottleneck".to_owned();
        found.reason = if found.open.is_empty() { why } else { std::mem::take(&mut found.open).join("; ") };
    }
    if found.owner.is_none_or(Owner::is_below) {
        found.reason += &facts.for_others();
    }
    Some(found)
}

/// In the order in which one explains those behind it.
const SUSPECTS: [fn(&Facts<'_>) -> Standing; 15] = [
    host::rate,
    simulated::parts,
    host::generator,
    host::memory,
    host::crowded_processor,
    host::dirty_pages,
    storage::limits,
    host::processor,
    host::read_before_write,
    host::flushes,
    levels::levels,
    storage::depth,
    levels::bus_or_controller,
    storage::file_system,
    storage::device,
];
