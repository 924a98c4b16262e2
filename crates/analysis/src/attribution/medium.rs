//! Whether the medium limits the requests, from the same requests at other offsets.
//!
//! CPU, bus and controller do not depend on where a request goes; a medium with an arm does. If the same requests are 12 %
//! faster at offsets that are closer for the arm, the medium is the bottleneck. If they are as fast at random offsets, or a stream is as
//! fast in every zone, it is not. Then [`super::levels`] decides between bus (70 % of its peak, or time per byte as its peak
//! implies with an overhead below 8 KiB; Riedel, van Ingen and Gray, 1997, table 4: 2.7 to 5.3 KB) and controller.

use super::facts::{Facts, percent};
use super::neighbours::Places;
use super::thresholds::NO_FASTER;

/// Faster from here on at offsets that cost the medium less: a part that is 90 % busy leaves 1.11 at most.
const FASTER: f64 = 1.12;
/// Zones count as equally fast up to here.
const EVERYWHERE: f64 = 1.05;
/// Reads share the path of writes but may be cheaper: from here on the path has room.
const READS_FASTER: f64 = 2.0;
/// A write with a fixed time this long may wait for one rotation, which is equal in all zones.
const TURN_NS: f64 = 1e6;
/// As fast as another from here on.
const AS_FAST: f64 = 0.9;
/// Whether a sample waits for the medium.
pub(super) enum Medium {
    /// How many times as fast cheaper offsets are.
    Waits(f64),
    /// It is as fast at any offset; the figure.
    Idles(String),
    /// Not measured.
    Unknown,
}

pub(super) fn medium(facts: &Facts<'_>) -> Medium {
    let Some(Places { nearer, at_random, everywhere, reads_nearer }) = facts.neighbours.places else {
        return Medium::Unknown;
    };
    let waits = nearer.filter(|ratio| *ratio >= FASTER).or(reads_nearer.filter(|ratio| *ratio >= READS_FASTER));
    if let Some(ratio) = waits {
        return Medium::Waits(ratio);
    }
    if facts.neighbours.deeper.is_some_and(|ratio| ratio > NO_FASTER) {
        // No part of the path is saturated.
        return Medium::Unknown;
    }
    if let Some(ratio) = at_random.filter(|ratio| *ratio >= AS_FAST) {
        return Medium::Idles(format!("random access is {} as fast", percent(ratio)));
    }
    let is_ordered = facts.workload.pattern.is_ordered();
    let everywhere = everywhere.filter(|spread| *spread <= EVERYWHERE);
    if is_ordered && everywhere.is_none() {
        return Medium::Unknown;
    }
    let as_fast = |ratio: Option<f64>| ratio.filter(|ratio| (AS_FAST..FASTER).contains(ratio));
    let turns = facts.asked(true).is_some() && facts.neighbours.growth.is_some_and(|growth| growth.fixed_ns >= TURN_NS);
    // Offsets within the buffer, or closer ones, are no faster; closer writes may each wait for a rotation.
    match (as_fast(reads_nearer), as_fast(nearer).filter(|_| !turns)) {
        (Some(ratio), _) => Medium::Idles(format!("reads within a buffer-sized region are {} as fast", percent(ratio))),
        (None, Some(ratio)) => {
            Medium::Idles(format!("access that costs the medium less is {} as fast", percent(ratio)))
        }
        _ => Medium::Unknown,
    }
}
