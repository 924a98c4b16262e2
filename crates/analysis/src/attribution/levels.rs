//! Suspects by bandwidth: bus, link and device against their peaks, and a controller by how time grows with request size.

use super::facts::{Facts, percent};
use super::medium::{Medium, medium};
use super::suspect::{Owner, Standing, Sureness};
use super::thresholds::{FULL, NO_FASTER, SPARE};
use halfpower_model::{Bytes, BytesPerSecond, Level, LevelName, Quantity};

/// A bus may be saturated from this share of its peak on.
const NEARLY: f64 = 0.7;
/// Time per byte relative to the bus peak that counts as the bus: less by noise, more by arbitration.
const LONGER: std::ops::RangeInclusive<f64> = 0.9..=1.43;
/// Overhead per request on a bus, as the bytes it could have moved.
const BESIDE: Bytes = Bytes(8192);

pub(super) fn levels(facts: &Facts<'_>) -> Standing {
    if let Some(share) = facts.neighbours.together {
        let reason = format!("the targets together reach {} of the sum of each alone", percent(share));
        return Standing::Named(Owner::SharedLimit, Sureness::Sure, reason);
    }
    if facts.knows_parts() {
        return Standing::Absent;
    }
    let rates = [false, true].map(|writes| facts.storage_bytes_per_s(writes).unwrap_or(0.0));
    let rate = rates[0] + rates[1];
    let shares = bus_levels(facts).into_iter().chain(device_peak(facts)).map(|(owner, at, peak)| {
        (owner, rate / peak, at, format!("{} of its peak of {}", percent(rate / peak), BytesPerSecond(peak)))
    });
    let Some((owner, share, at, words)) = shares.max_by(|one, other| one.1.total_cmp(&other.1)) else {
        return Standing::Absent;
    };
    match share {
        share if share > 1.05 => {
            Standing::Open(format!("{}: {words}; the stated peak is wrong or not on this path", owner.name()))
        }
        share if share >= FULL => Standing::NamedAt(owner, Sureness::Sure, at, format!("it runs at {words}")),
        share if share >= NEARLY && owner != Owner::Device => match medium(facts) {
            Medium::Idles(why) => {
                Standing::NamedAt(owner, Sureness::Likely, at, format!("it runs at {words}, and {why}"))
            }
            Medium::Unknown => Standing::NamedAt(owner, Sureness::Likely, at, format!("it runs at {words}")),
            Medium::Waits(_) => Standing::Open(format!("{}: it runs at {words}", owner.name())),
        },
        share if share < SPARE => Standing::RuledOut(format!("every level with a known peak ({words})")),
        _ => Standing::Open(format!("{}: it runs at {words}", owner.name())),
    }
}

/// Buses with a known peak: level, name and peak; shared ones once.
fn bus_levels(facts: &Facts<'_>) -> Vec<(Owner, String, f64)> {
    peaks(facts, &[(LevelName::Bus, Owner::Bus), (LevelName::Link, Owner::Link)])
}

fn device_peak(facts: &Facts<'_>) -> Vec<(Owner, String, f64)> {
    peaks(facts, &[(LevelName::Device, Owner::Device)])
}

fn peaks(facts: &Facts<'_>, wanted: &[(LevelName, Owner)]) -> Vec<(Owner, String, f64)> {
    let owner = |level: &Level| wanted.iter().find(|(name, _)| *name == level.name).map(|(_, owner)| *owner);
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

pub(super) fn bus_or_controller(facts: &Facts<'_>) -> Standing {
    let Medium::Idles(why) = medium(facts) else { return Standing::Absent };
    if facts.knows_parts() {
        return Standing::Absent;
    }
    if facts.neighbours.deeper.is_none_or(|ratio| ratio > NO_FASTER) {
        return Standing::Absent;
    }
    let Some(growth) = facts.neighbours.growth else {
        return Standing::Open("a bus or a controller: other request sizes were not measured".to_owned());
    };
    let time = |ns: f64| Quantity::Nanoseconds.format(ns);
    let is_its = |peak: f64| {
        let (bytes, beside) = (growth.ns_per_byte * peak / 1e9, growth.fixed_ns * peak / 1e9);
        LONGER.contains(&bytes) && beside <= BESIDE.0 as f64
    };
    for (owner, at, peak) in bus_levels(facts) {
        if is_its(peak) {
            let reason = format!(
                "{why}; each extra KiB takes {}, as its peak implies, and each request {} more",
                time(growth.ns_per_byte * 1024.0),
                time(growth.fixed_ns.max(0.0))
            );
            return Standing::NamedAt(owner, Sureness::Likely, at, reason);
        }
    }
    let processors =
        facts.machine_busy().map_or_else(String::new, |share| format!(", the CPUs are busy {}", percent(share)));
    let reason = format!(
        "{why}{processors}; a request takes {} plus {} per KiB, which no bus with a known peak explains",
        time(growth.fixed_ns.max(0.0)),
        time(growth.ns_per_byte.max(0.0) * 1024.0)
    );
    Standing::Named(Owner::Controller, Sureness::Likely, reason)
}
