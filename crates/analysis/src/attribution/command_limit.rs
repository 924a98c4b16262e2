//! A controller or drive that admits a limited number of commands per disk while others wait.
//!
//! If no simulated part is saturated and others waited 90 % of the time, the limit is the bottleneck: an admitted command uses
//! disk and bus in turn. A saturated disk is the bottleneck itself, but its arm may have passed closer requests that
//! the limit held back. Whether a higher limit would be faster depends on the arm and its buffer, and is not claimed.

use super::facts::{Facts, percent};
use super::suspect::{Owner, Standing, Sureness};
use super::thresholds::{FASTER, FULL};
use crate::parts::without_number;
use halfpower_model::sample::{Part, PartKind};

/// The limit as the bottleneck; not if a deeper queue was faster.
pub(super) fn named(facts: &Facts<'_>, idle: &str) -> Option<Standing> {
    if facts.neighbours.deeper.is_some_and(|ratio| ratio >= FASTER) {
        return None;
    }
    let (name, gate) =
        command_limits(&facts.sample.parts).max_by(|(_, one), (_, other)| one.busy.total_cmp(&other.busy))?;
    let (key, busy) = (without_number(&gate.name).to_owned(), gate.busy);
    let reason = format!(
        "the command limit of {name} ({key}) kept other commands waiting {} of the time: the disk and the parts before it \
         work in turn, and a deeper queue improves only the order; {idle}",
        percent(busy)
    );
    Some(Standing::NamedAt(Owner::Controller, Sureness::Likely, key, reason))
}

/// `; exos spent 64 % of that time seeking …`: which limit held back requests closer to a saturated arm.
pub(super) fn kept_from(arm: &Part, told: &str, parts: &[Part]) -> Option<String> {
    let number = |part: &Part| part.name[without_number(&part.name).len()..].to_owned();
    let (name, gate) = command_limits(parts).find(|(_, gate)| number(gate) == number(arm))?;
    let reaching = arm.phases.get(Part::REACHING).copied().unwrap_or(0.0);
    let (reaching, busy, key) = (percent(reaching), percent(gate.busy), without_number(&gate.name));
    Some(format!(
        "; {told} spent {reaching} of that time seeking and rotating, perhaps past closer requests: the command limit of {name} \
         ({key}) kept others waiting {busy} of the time"
    ))
}

/// Command limits that kept others waiting 90 % of the time, each with its owner.
fn command_limits(parts: &[Part]) -> impl Iterator<Item = (&str, &Part)> {
    let waits = parts.iter().filter(|part| part.kind == PartKind::Wait && part.busy >= FULL);
    waits.filter_map(|part| Some((without_number(&part.name).strip_suffix(Part::LETS_SO_MANY)?, part)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{clean, of, with};
    use super::super::{Neighbours, attribute_with};
    use super::*;
    use crate::fixtures::{deep, random, read};

    #[test]
    fn who_lets_only_so_many_through_is_named_where_others_wait() {
        let gated = |waits: f64, disk: f64, deeper: Option<f64>| {
            let parts = [("fireball 1", PartKind::Device, disk), ("ide.outstanding 1", PartKind::Wait, waits)];
            let mut sample = with(clean(deep(2048, random(read(8)))), &parts);
            sample.depth_mean.counted = 2048.0;
            sample.block.as_mut().unwrap().outstanding_mean = Some(2048.0);
            attribute_with(&sample, Neighbours { deeper, ..Neighbours::default() }).unwrap()
        };
        let found = gated(1.0, 0.83, None);
        assert_eq!(found.at.as_deref(), Some("ide.outstanding"));
        let words = "the controller (likely): the command limit of ide (ide.outstanding) kept other commands waiting 100 % of the time: the disk and the parts before it work in turn, and a deeper queue improves only the order; the busiest part, fireball, was busy 83 % of the time";
        assert_eq!(found.brief(), words);
        assert_eq!(gated(0.7, 0.83, None).owner, Some(Owner::Depth), "there are too few at times");
        assert_eq!(gated(1.0, 0.83, Some(1.4)).owner, Some(Owner::Depth), "they are put in a better order");
        assert_eq!(gated(1.0, 0.93, None).owner, Some(Owner::Device));
    }

    #[test]
    fn who_keeps_a_full_arm_from_what_is_nearer_is_told() {
        let gated = |reaching: f64, waits: &[(&str, PartKind, f64)]| {
            let parts = [("exos 1", PartKind::Device, 0.999), ("sata", PartKind::Bus, 0.14)];
            let mut sample = with(clean(deep(32, read(8))), &[parts.as_slice(), waits].concat());
            sample.parts[0].phases.insert(Part::REACHING.to_owned(), reaching);
            of(&sample)
        };
        let full = [("ahci.outstanding 1", PartKind::Wait, 0.98)];
        let found = gated(0.635, &full);
        assert_eq!((found.owner, found.sureness), (Some(Owner::Device), Some(Sureness::Sure)));
        let words = "the busiest part, exos, was busy 100 % of the time; the next, sata, 14 %; exos spent 64 % of that time seeking and rotating, perhaps past closer requests: the command limit of ahci (ahci.outstanding) kept others waiting 98 % of the time";
        assert_eq!(found.reason, words);
        let alone = "the busiest part, exos, was busy 100 % of the time; the next, sata, 14 %";
        assert_eq!(gated(0.014, &full).reason, alone, "it streams, whoever waits");
        assert_eq!(gated(0.0, &full).reason, alone, "it has no arm");
        assert_eq!(gated(0.635, &[("ahci.outstanding 1", PartKind::Wait, 0.6)]).reason, alone, "at times nobody waits");
        assert_eq!(gated(0.635, &[("ahci.outstanding 2", PartKind::Wait, 0.98)]).reason, alone, "another disk's");
    }
}
