//! The parts of a simulated machine, which tells how busy each was: the truth, which no host has.

use super::facts::{Facts, percent};
use super::program::FULL;
use super::{Owner, Standing, Sureness};
use crate::parts::{grouped, mean_of};
use halfpower_model::sample::PartKind;

/// One that is full sets the pace; disks of a volume by their mean.
pub(super) fn parts(facts: &Facts<'_>) -> Standing {
    let parts = &facts.sample.parts;
    let groups = grouped(parts.iter().map(|part| (part.name.as_str(), part.busy)));
    let mut told = groups.iter().map(|(name, shares)| (*name, mean_of(shares)));
    let Some((name, busy)) = told.next() else { return Standing::Absent };
    let share = percent(busy);
    if busy < FULL {
        return Standing::RuledOut(format!("every part by itself (the busiest, {name}, {share} of the time)"));
    }
    let next = told.next().map(|(name, busy)| format!("; the next, {name}, {}", percent(busy))).unwrap_or_default();
    let first = parts.iter().find(|part| part.name.starts_with(name));
    let kind = first.map(|part| part.kind);
    if let Some(controller) = first.filter(|part| part.kind == PartKind::Controller) {
        // Held while a bus moves the bytes: what is at work the longest of the two sets the pace.
        let buses = parts.iter().filter(|part| part.kind == PartKind::Bus);
        let bus = buses.max_by(|one, other| one.busy.total_cmp(&other.busy));
        if let Some(bus) = bus.filter(|bus| bus.busy > controller.at_work()) {
            let reason = format!(
                "{} was busy {} of the time, and {name}, which is held meanwhile, {share}",
                bus.name,
                percent(bus.busy)
            );
            return Standing::Named(Owner::Bus, Sureness::Sure, reason);
        }
    }
    let owner = match kind {
        Some(PartKind::Processor) => Owner::Processor,
        Some(PartKind::Bus) => Owner::Bus,
        Some(PartKind::Controller) => Owner::Controller,
        Some(PartKind::Device) | None => Owner::Device,
    };
    Standing::Named(owner, Sureness::Sure, format!("{name} was busy {share} of the time{next}"))
}
