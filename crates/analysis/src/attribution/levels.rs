//! Suspects by bandwidth: bus, link and device against their peaks, and a controller by how time grows with request size.
//!
//! Whether the medium limits the requests shows at other offsets: CPU, bus and controller do not depend on where a request
//! goes; a medium with an arm does. If the same requests are 12 % faster at offsets that are closer for the arm, the medium is
//! the bottleneck. If they are as fast at random offsets, or a stream is as fast in every zone, it is not. Then it is the bus
//! (70 % of its peak, or a rate of added bytes from half of its peak on with an overhead below 8 KiB; Riedel, van Ingen and Gray,
//! 1997, section 4: PCI carried 72 of 133 MB/s, table 4: 2.7 to 5.3 KB beside a command) or the controller.

use super::facts::{FULL, Facts, Growth, NO_FASTER, Places, SPARE, percent};
use super::suspect::{Owner, Standing, Sureness, likely, named_at, open, ruled_out, sure};
use halfpower_model::{Bytes, BytesPerSecond, Level, LevelName, Quantity};

/// A bus may be saturated from this share of its peak on.
const NEARLY: f64 = 0.7;
/// The rate of added bytes, relative to its peak, up to which a bus counts: more by noise. At the least it is half on a bus of the
/// host, by its bursts, and [`NEARLY`] on a link, whose overhead is per command.
const ATTAINED_MOST: f64 = 1.11;
/// Overhead per request on a bus, as the bytes it could have moved.
const BESIDE: Bytes = Bytes(8192);

/// Faster from here on at offsets that the medium reaches faster: a part that is 90 % busy leaves 1.11 at most.
const MEDIUM_FASTER: f64 = 1.12;
/// Zones count as equally fast up to here.
const EVERYWHERE: f64 = 1.05;
/// Reads share the path of writes but may be cheaper: from here on the path has room.
const READS_FASTER: f64 = 2.0;
/// A write with a fixed time this long may wait for one rotation, which is equal in all zones.
const TURN_NS: f64 = 1e6;
/// As fast as another from here on.
const AS_FAST: f64 = 0.9;

pub(super) fn levels(facts: &Facts<'_>) -> Option<Standing> {
    if let Some(share) = facts.neighbours.together {
        let reason = format!("the targets together reach {} of the sum of each alone", percent(share));
        return sure(Owner::SharedLimit, reason);
    }
    if facts.knows_parts() {
        return None;
    }
    let rate = rate(facts);
    let nearest = peaks(facts).into_iter().rev().min_by(|one, other| one.2.total_cmp(&other.2));
    let (owner, at, peak) = nearest?;
    let share = rate / peak;
    let words = format!("{} of its peak of {}", percent(share), BytesPerSecond(peak));
    let runs = format!("it runs at {words}");
    let undecided = || open(format!("{}: {runs}", owner.name()));
    match share {
        _ if share > 1.05 => open(format!("{}: {words}; the stated peak is wrong or not on this path", owner.name())),
        FULL.. => named_at(owner, Sureness::Sure, at, runs),
        NEARLY.. if owner != Owner::Device => match medium(facts) {
            Medium::Idles(why) => named_at(owner, Sureness::Likely, at, format!("{runs}, and {why}")),
            Medium::Unknown => named_at(owner, Sureness::Likely, at, runs),
            Medium::Waits(_) => undecided(),
        },
        SPARE.. => undecided(),
        // Behind this host's card, the path to the server may be slower.
        _ if facts.sample.environment.remote_target().is_some() => None,
        _ => ruled_out(format!("every level with a known peak ({words})")),
    }
}

/// Bytes per second in both directions.
fn rate(facts: &Facts<'_>) -> f64 {
    [false, true].iter().filter_map(|writes| facts.storage_bytes_per_s(*writes)).sum()
}

/// Buses, links and devices with a known peak: level, name and peak; shared ones once.
fn peaks(facts: &Facts<'_>) -> Vec<(Owner, String, f64)> {
    let owner = |level: &Level| match level.name {
        LevelName::Bus => Some(Owner::Bus),
        LevelName::Link => Some(Owner::Link),
        LevelName::Device => Some(Owner::Device),
        _ => None,
    };
    let is_known = |level: &Level| owner(level).is_some() && level.pap_bytes_per_s.is_some();
    let environment = &facts.sample.environment;
    // Most samples have none, and merging levels takes time.
    let any_known = environment.all_targets().any(|target| target.levels.iter().any(is_known));
    let levels = if any_known { environment.levels() } else { Vec::new() };
    let peak = |level: &Level| {
        let peak = level.pap_bytes_per_s.filter(|peak| peak.0 > 0.0)?;
        let at = level.held_by().first().map_or_else(String::new, |channel| channel.at.clone());
        Some((owner(level)?, at, peak.0))
    };
    levels.iter().filter_map(peak).collect()
}

pub(super) fn bus_or_controller(facts: &Facts<'_>) -> Option<Standing> {
    let Medium::Idles(why) = medium(facts) else { return None };
    let is_remote = facts.sample.environment.remote_target().is_some();
    if is_remote || facts.knows_parts() || facts.neighbours.deeper.is_none_or(|ratio| ratio > NO_FASTER) {
        return None;
    }
    let Some(Growth { fixed_ns, ns_per_byte }) = facts.neighbours.growth else {
        return open("a bus or a controller: other request sizes were not measured");
    };
    let [fixed, per_kib] = [fixed_ns, ns_per_byte * 1024.0].map(|ns| Quantity::Nanoseconds.format(ns.max(0.0)));
    // If smaller requests take longer, another part holds them, and all that is known of the path is its rate.
    let grows = ns_per_byte > 0.0;
    let rate = if grows { 1e9 / ns_per_byte } else { rate(facts) };
    let is_short = fixed_ns / ns_per_byte <= BESIDE.0 as f64;
    let buses = peaks(facts).into_iter().filter(|(owner, _, peak)| {
        let least = if *owner == Owner::Link { NEARLY } else { SPARE };
        *owner != Owner::Device && is_short && (least..=ATTAINED_MOST).contains(&(rate / peak))
    });
    if let Some((owner, at, peak)) = buses.min_by(|one, other| one.2.total_cmp(&other.2)) {
        let of_peak = format!("{} of its peak of {}", percent(rate / peak), BytesPerSecond(peak));
        let how = match grows {
            true => format!("each extra KiB takes {per_kib}, the time at {of_peak}, and each request {fixed} more"),
            false => format!("smaller requests take longer, and it runs at {of_peak}"),
        };
        let reason = format!("{why}; {how}; a controller of this rate would look alike");
        return named_at(owner, Sureness::Likely, at, reason);
    }
    let busy = facts.machine_busy().map(|share| format!(", the CPUs are busy {}", percent(share))).unwrap_or_default();
    likely(
        Owner::Controller,
        format!("{why}{busy}; a request takes {fixed} plus {per_kib} per KiB, which no bus with a known peak explains"),
    )
}

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
    let waits = nearer.filter(|ratio| *ratio >= MEDIUM_FASTER).or(reads_nearer.filter(|ratio| *ratio >= READS_FASTER));
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
    let as_fast = |ratio: Option<f64>| ratio.filter(|ratio| (AS_FAST..MEDIUM_FASTER).contains(ratio));
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
