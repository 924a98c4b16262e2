//! The parts of a simulated machine, which tells how busy each was: the truth, which no host has.
//!
//! - *A part* that is busy nine tenths of the time; a controller that is held by what moves its bytes gives way to the busiest bus
//!   on its way, and a device to the flushes between writes where they take half of the requests' time, as on a host.
//! - *A share*, where no part is full: what a large request waits before each unit of it is time in which nothing works, one unit
//!   after another, so half of the time sets the pace; its window does where writes waited nine tenths of the time until others
//!   were done, and that large ones go one at a time where those did.

use super::facts::{Facts, percent};
use super::program::{FULL, MOST_OF_IT, between_writes};
use super::{Owner, Standing, Sureness};
use crate::parts::{grouped, mean_of};
use halfpower_model::sample::{Part, PartKind};

/// One that is full sets the pace; disks of a volume by their mean.
pub(super) fn parts(facts: &Facts<'_>) -> Standing {
    let parts = &facts.sample.parts;
    let works = parts.iter().filter(|part| part.kind != PartKind::Wait);
    let groups = grouped(works.map(|part| (part.name.as_str(), part.busy)));
    let mut told = groups.iter().map(|(name, shares)| (*name, mean_of(shares)));
    let Some((name, busy)) = told.next() else { return Standing::Absent };
    let share = percent(busy);
    if busy < FULL {
        return waits(parts, &format!("the busiest part, {name}, was busy {share} of the time")).unwrap_or_else(|| {
            Standing::RuledOut(format!("every part by itself (the busiest, {name}, {share} of the time)"))
        });
    }
    let next = told.next().map(|(name, busy)| format!("; the next, {name}, {}", percent(busy))).unwrap_or_default();
    let first = parts.iter().find(|part| part.name.starts_with(name));
    let kind = first.map(|part| part.kind);
    if let Some(controller) = first.filter(|part| part.kind == PartKind::Controller) {
        // Held while a bus moves the bytes: what is at work the longest of the two sets the pace.
        let buses = parts.iter().filter(|part| part.kind == PartKind::Bus && controller.buses.contains(&part.name));
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
        Some(PartKind::Device | PartKind::Wait) | None => Owner::Device,
    };
    match between_writes(facts).filter(|share| owner == Owner::Device && *share >= MOST_OF_IT) {
        Some(flushed) => {
            let flushed = percent(flushed.min(1.0));
            let reason =
                format!("{flushed} of the requests' time went into them, and {name} was busy {share} of the time");
            Standing::Named(Owner::Flushes, Sureness::Sure, reason)
        }
        None => Standing::Named(owner, Sureness::Sure, format!("{name} was busy {share} of the time{next}")),
    }
}

/// What a share makes its requests wait for, where that sets the pace.
fn waits(parts: &[Part], idle: &str) -> Option<Standing> {
    let [window, turn_of_reads, turn_of_writes, wait_of_reads, wait_of_writes] = Part::SHARE_WAITS;
    let suspects = [
        (wait_of_writes, MOST_OF_IT, "a large write", "before a unit of it went"),
        (wait_of_reads, MOST_OF_IT, "a large read", "before a unit of it went"),
        (window, FULL, "writes", "until others were done"),
        (turn_of_writes, FULL, "large writes", "until the one before was done"),
        (turn_of_reads, FULL, "large reads", "until the one before was done"),
    ];
    suspects.into_iter().find_map(|(name, least, who, what)| {
        let wait = parts.iter().find(|part| part.kind == PartKind::Wait && part.name == name);
        let time = wait.map(|wait| wait.busy).filter(|busy| *busy >= least).map(percent)?;
        let reason = format!("{who} waited {time} of the time {what} ({name}); {idle}");
        Some(Standing::NamedAt(Owner::Share, Sureness::Sure, name.to_owned(), reason))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{clean, deep_reads, named, of};
    use super::super::{Beside, Places, attribute_beside};
    use super::*;
    use crate::support::{buffered, deep, random, read, write};
    use halfpower_model::Sample;
    use halfpower_model::sample::{Latency, Totals};

    fn with(mut sample: Sample, parts: &[(&str, PartKind, f64)]) -> Sample {
        let part = |(name, kind, busy): &(&str, PartKind, f64)| Part { busy: *busy, ..Part::idle(name, *kind) };
        sample.parts = parts.iter().map(part).collect();
        sample
    }

    #[test]
    fn flushes_that_keep_a_disk_at_work_set_the_pace() {
        let mut sample = with(clean(random(write(4))), &[("exos 1", PartKind::Device, 1.0)]);
        assert_eq!(named(&sample), Some((Owner::Device, Sureness::Sure)));
        let latency_ns = Latency { mean: Some(9.9e6), ..Latency::default() };
        sample.flush = Some(Totals { requests: 100, latency_ns, ..Totals::default() }.into());
        let words = "the flushes: 99 % of the requests' time went into them, and exos was busy 100 % of the time";
        assert_eq!(of(&sample).brief(), words);
        sample.parts[0].kind = PartKind::Bus;
        assert_eq!(named(&sample), Some((Owner::Bus, Sureness::Sure)), "no flush fills a bus");
    }

    #[test]
    fn a_share_s_window_or_wait_is_named_where_nothing_is_full() {
        let [window, _, turn, _, wait] = Part::SHARE_WAITS;
        let writes = |disk: f64, window_busy: f64, wait_busy: f64| {
            let waits = [(window, PartKind::Wait, window_busy), (wait, PartKind::Wait, wait_busy)];
            with(clean(deep(4, write(32))), &[[("atlas 1", PartKind::Device, disk)].as_slice(), &waits].concat())
        };
        let found = of(&writes(0.29, 1.0, 0.88));
        assert_eq!((found.owner, found.at.as_deref()), (Some(Owner::Share), Some("large-writes.wait")));
        let words = "the share: a large write waited 88 % of the time before a unit of it went (large-writes.wait); the busiest \
                     part, atlas, was busy 29 % of the time";
        assert_eq!(found.brief(), words);
        assert_eq!(of(&writes(0.41, 1.0, 0.0)).at.as_deref(), Some("write-window"));
        assert_eq!(named(&writes(0.41, 0.5, 0.3)), None);
        let mut sample = writes(0.41, 0.0, 0.3);
        sample.parts.push(Part { busy: 1.0, ..Part::idle(turn, PartKind::Wait) });
        assert_eq!(of(&sample).at.as_deref(), Some("large-writes.turn"));
        assert_eq!(
            named(&writes(0.95, 1.0, 0.0)),
            Some((Owner::Device, Sureness::Sure)),
            "who is full fills the window"
        );
    }

    #[test]
    fn a_file_cache_that_gives_the_device_one_at_a_time_is_named() {
        let reads = |at_once: Option<f64>, busy: f64| {
            let mut sample = with(clean(buffered(deep(8, random(read(4))))), &[("p5500 1", PartKind::Device, busy)]);
            sample.depth_mean.counted = 8.0;
            let block = sample.block.as_mut().unwrap();
            (block.busy_fraction, block.outstanding_mean) = (0.99, at_once);
            sample
        };
        let found = of(&reads(Some(0.986), 0.012));
        assert_eq!((found.owner, found.sureness), (Some(Owner::FileSystem), Some(Sureness::Likely)));
        let words = "8 requests were outstanding on average, of which 0.986 were at the device and the rest waited in the file \
                     cache; p5500 was busy 1.2 % of the time";
        assert_eq!(found.reason, words);
        let device = Some((Owner::Device, Sureness::Likely));
        assert_eq!(named(&reads(Some(7.9), 0.012)), device, "they are there");
        assert_eq!(named(&reads(Some(0.986), 0.8)), device, "it has enough to do with one");
        assert_eq!(named(&reads(None, 0.012)), device, "nobody counted");
    }

    #[test]
    fn a_card_s_disks_that_look_like_one_want_more_outstanding() {
        let beside = Beside { deeper: Some(1.9), places: Some(Places::default()), ..Beside::default() };
        let mut sample =
            with(deep_reads(), &[("fireball 1", PartKind::Device, 0.25), ("fireball 2", PartKind::Device, 0.26)]);
        sample.environment.target.rotational = Some(true);
        sample.block.as_mut().unwrap().busy_fraction = 1.0;
        let owner = |sample: &Sample| attribute_beside(sample, beside).unwrap().owner;
        assert_eq!(owner(&sample), Some(Owner::Depth));
        sample.parts.clear();
        assert_ne!(owner(&sample), Some(Owner::Depth), "one arm, as it looks from outside");
    }

    #[test]
    fn what_is_a_mean_of_devices_is_called_one() {
        let mut sample = deep_reads();
        sample.block.as_mut().unwrap().devices = 4;
        let words = "cannot be told: the device had requests outstanding 70 % of the time, the mean of 4 devices";
        assert_eq!(of(&sample).brief(), words);
    }
}
