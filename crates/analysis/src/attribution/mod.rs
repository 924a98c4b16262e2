//! Names the bottleneck of a sample, and rules out other suspects.
//!
//! Suspects are examined in an order in which one explains those behind it: a rate limit explains an idle CPU, a
//! saturated CPU explains an idle device. A suspect is named on its own figures, never by elimination. The file system and
//! the device are exceptions: they need the kernel's device counters, and are only called likely. A suspect without
//! figures stays open. If no suspect is named, the bottleneck is unknown.
//!
//! Samples of other programs are not judged, because their figures were measured in other ways. Each rule's source is in
//! [`host`] and [`storage`]. Some testbeds report how busy their parts were ([`parts`]).

mod facts;
mod host;
mod levels;
mod network;
mod parts;
mod storage;
mod suspect;
#[cfg(test)]
mod tests;

use facts::Facts;
pub(crate) use facts::{FULL, Growth, NO_FASTER, Neighbours, Places, polls};
use halfpower_model::Sample;
use suspect::Standing;
pub use suspect::{Attribution, Owner, Sureness};

/// The bottleneck of a sample by its own figures; of an interrupted one, of the part measured. None if it failed, moved nothing
/// or is another program's.
pub fn attribute(sample: &Sample) -> Option<Attribution> {
    attribute_with(sample, Neighbours::default())
}

/// The same with figures of neighbouring cells.
pub(crate) fn attribute_with(sample: &Sample, neighbours: Neighbours) -> Option<Attribution> {
    let is_measured = sample.failure.as_ref().is_none_or(|failure| failure.code == "interrupted");
    let is_usable = is_measured && sample.origin.is_none() && sample.total.requests > 0;
    if !is_usable || sample.elapsed_s <= 0.0 {
        return None;
    }
    let facts = Facts::of(sample, neighbours);
    let mut found = Attribution::default();
    for standing in SUSPECTS.iter().filter_map(|suspect| suspect(&facts)) {
        match standing {
            Standing::RuledOut(why) => found.ruled_out.push(why),
            // The first one named explains those behind it.
            _ if found.owner.is_some() => {}
            Standing::Open(why) => found.open.push(why),
            Standing::Named(owner, sureness, at, reason) => {
                (found.owner, found.sureness, found.at, found.reason) = (Some(owner), Some(sureness), at, reason);
            }
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
const SUSPECTS: [fn(&Facts<'_>) -> Option<Standing>; 20] = [
    host::rate,
    host::pauses,
    parts::parts,
    host::generator,
    host::memory,
    host::crowded_cpu,
    host::dirty_pages,
    storage::limits,
    host::cpu,
    host::read_before_write,
    host::flushes,
    network::delayed_acknowledgement,
    network::link,
    levels::levels,
    network::credits,
    storage::depth,
    levels::bus_or_controller,
    storage::file_system,
    storage::device,
    network::server,
];
