//! Between the program and the medium: who holds a request back there, by what the same requests do at other places and
//! of other sizes.
//!
//! - *The medium*: neither a processor nor a bus nor a controller knows where on it a request goes. Where the same requests are
//!   an eighth faster at places that its arm comes to sooner, it sets the pace; where they are as fast at random, or a stream in
//!   every zone, it does not.
//! - *A bus* that is not the medium's fault: seven tenths of its peak (Riedel, van Ingen and Gray, 1997, found buses full at 75
//!   to 80 %); or a byte more takes as long as its peak lets it, and the rest of a request's time is what a bus spends on
//!   commands: no more than it would move 8 KiB in (their table 4 has 2.7 to 5.3 KB).
//! - *A controller*: what is not so and grows in another way, the processors having time.

use super::facts::{Facts, percent};
use super::neighbours::Places;
use super::thresholds::NO_FASTER;

/// At a place where the medium has less to do it is faster from here on: a part of the way that is full for nine tenths of the
/// time leaves no more than 1.11.
const FASTER: f64 = 1.12;
/// From the slowest place to the fastest it is the same up to here.
const EVERYWHERE: f64 = 1.05;
/// Reads take the same way as writes, and may be held back less: from here on they show that the way has room.
const READS_FASTER: f64 = 2.0;
/// A write that takes so long whatever its size may wait for a turn of a disk, which is the same in every zone; a read has the
/// read-ahead.
const TURN_NS: f64 = 1e6;
/// As fast as another from here on.
const AS_FAST: f64 = 0.9;
/// Whether a sample waits for the medium.
pub(super) enum Medium {
    /// Where the medium has less to do the same is so many times as fast.
    Waits(f64),
    /// It is as fast wherever it goes, with the figure.
    Idles(String),
    /// Nothing shows it.
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
        // No part of the way is full.
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
    // What a buffer holds is no faster, or what lies nearer; of writes the latter may be a turn each time.
    match (as_fast(reads_nearer), as_fast(nearer).filter(|_| !turns)) {
        (Some(ratio), _) => Medium::Idles(format!("reads within a buffer-sized region are {} as fast", percent(ratio))),
        (None, Some(ratio)) => {
            Medium::Idles(format!("access that costs the medium less is {} as fast", percent(ratio)))
        }
        _ => Medium::Unknown,
    }
}
