//! The parts of a testbed that reports how busy each was.
//!
//! - *A part* that is 90 % busy is the bottleneck, even if other disks of its volume are idle. A controller that waits for its
//!   transfers gives way to the busiest of its buses. A device gives way to flushes that take half of the requests' time, if they
//!   cost it seeks and rotations.
//! - *A command limit* of a controller or drive that admits a limited number of commands per disk while others wait 90 % of
//!   the time, if no part is saturated: an admitted command uses disk and bus in turn. The arm of a saturated disk may have
//!   passed closer requests that the limit held back. Whether a higher limit would be faster is not claimed.
//! - *A growing file*, extended by one write at a time, if that takes 90 % of the time.
//! - *A network share*, if no part is saturated: waits before each unit of a large request from half of the time on, its write
//!   window and its one-at-a-time rule from 90 % on.

use super::facts::{FASTER, FULL, Facts, MATTERS, MOST_OF_IT, SPARE, percent, phase};
use super::suspect::{Owner, Standing, Sureness, named_at, open, ruled_out, sure};
use crate::parts::{grouped, without_number};
use crate::rate_over_time::levels_between;
use halfpower_model::sample::{Part, PartKind, Wait, WaitFor};

/// Parts of a kind are unevenly loaded from this difference on; a controller's own work matters from this share on.
const UNLIKE: f64 = 0.1;

/// A saturated part is the bottleneck, whatever others of its kind do.
pub(super) fn parts(facts: &Facts<'_>) -> Option<Standing> {
    let parts = &facts.sample.parts;
    let loaded: Vec<Group<'_>> = groups(parts).collect();
    let busiest = loaded.first()?;
    let (name, first, share) = (busiest.label(), busiest.first, percent(busiest.first.busy));
    if first.busy < FULL {
        let idle = format!("the busiest part, {name}, was busy {share} of the time");
        let waits = waits(parts, &idle).or_else(|| command_limit(facts, &idle));
        let none = || ruled_out(format!("every part (the busiest, {name}, {share} of the time)"));
        return waits.or_else(none);
    }
    let owner = match first.kind {
        PartKind::Cpu => Owner::Cpu,
        PartKind::Bus => Owner::Bus,
        PartKind::Controller => Owner::Controller,
        PartKind::Device | PartKind::Wait => Owner::Device,
    };
    if let Some(bus) = held_by(first, parts) {
        let own = first.at_work() / first.busy;
        let [held, own_work, waiting] = [bus.busy, own, 1.0 - own].map(percent);
        let shares = format!(": {waiting} waiting, {own_work} own work, so speeding up either helps");
        let shares = if own >= UNLIKE { shares } else { String::new() };
        let bus = &bus.name;
        let reason = format!("it ({bus}) was busy {held} of the time, and {name}, which waits for it, {share}{shares}");
        return sure(Owner::Bus, reason);
    }
    let is_moved = owner == Owner::Device && phase(first, Part::PASSING) < 1.0 - MATTERS;
    if let Some(flushed) = facts.flushing_between_writes().filter(|share| is_moved && *share >= MOST_OF_IT) {
        let flushed = percent(flushed.min(1.0));
        let reason = format!("they took {flushed} of the requests' time, and {name} was busy {share} of the time");
        return sure(Owner::Flushes, reason);
    }
    let next = loaded.get(1).map(|next| format!("; the next, {}, {}", next.label(), percent(next.first.busy)));
    let (beside, kept) = (busiest.beside(), kept_from(first, &name, parts).unwrap_or_default());
    let next = next.unwrap_or_default();
    sure(owner, format!("the busiest part, {name}, was busy {share} of the time{beside}{next}{kept}"))
}

/// The parts, the busiest first, if none is saturated; empty if none are reported.
fn idle<'a>(facts: &Facts<'a>) -> Vec<Group<'a>> {
    let loaded: Vec<_> = groups(&facts.sample.parts).collect();
    if loaded.first().is_some_and(|first| first.first.busy < FULL) { loaded } else { Vec::new() }
}

/// Whether parts are reported and none is saturated.
pub(super) fn none_full(facts: &Facts<'_>) -> bool {
    !idle(facts).is_empty()
}

/// Whether different parts may have been saturated at different times: throughput changed, and the busy shares add up to 90 %.
pub(super) fn one_after_another(facts: &Facts<'_>) -> Option<Standing> {
    let idle = idle(facts);
    let all: f64 = idle.iter().map(|group| group.first.busy).sum();
    let is_possible = facts.outstanding > 1 && !idle.is_empty() && all >= FULL;
    let (quantity, least, most) =
        levels_between(facts.sample).filter(|(_, least, most)| is_possible && *most >= FASTER * least)?;
    let busy = idle.iter().filter(|group| group.first.busy >= UNLIKE);
    let busy: Vec<String> = busy.map(|group| format!("{} {}", group.label(), percent(group.first.busy))).collect();
    let [most, least] = [most, least].map(|rate| quantity.format(rate));
    open(format!(
        "queue depth: throughput changed between {most} and {least}; a different part may have been saturated each time, which \
         averages do not show ({})",
        busy.join(", ")
    ))
}

/// Parts with one name and a number.
struct Group<'a> {
    name: &'a str,
    /// The busiest.
    first: &'a Part,
    /// All of them, the busiest first.
    parts: Vec<&'a Part>,
}

/// All parts but waits, the busiest first.
fn groups(parts: &[Part]) -> impl Iterator<Item = Group<'_>> {
    let works = parts.iter().filter(|part| part.kind != PartKind::Wait);
    let groups = grouped(works, |part| (part.name.as_str(), part.kind, part.busy));
    groups.into_iter().map(|parts| Group { name: without_number(&parts[0].name), first: parts[0], parts })
}

impl Group<'_> {
    /// The others, if the busiest stands out.
    fn others(&self) -> &[&Part] {
        let stands_out = self.parts.iter().any(|other| other.busy < self.first.busy - UNLIKE);
        if stands_out { &self.parts[1..] } else { &[] }
    }

    /// Their name; if the busiest stands out, its own: `atlas 2 (one of 4)`.
    fn label(&self) -> String {
        match self.others() {
            [] => self.name.to_owned(),
            others => format!("{} (one of {})", self.first.name, others.len() + 1),
        }
    }

    /// `, the others 41 to 60 %`; empty if evenly loaded.
    fn beside(&self) -> String {
        match self.others() {
            [] => String::new(),
            [other] => format!(", the other {}", percent(other.busy)),
            [most, .., least] => match (percent(most.busy), percent(least.busy)) {
                (most, least) if least == most => format!(", the others {most}"),
                (most, least) => format!(", the others {} to {most}", least.trim_end_matches(" %")),
            },
        }
    }
}

/// The bus that a controller waits for, if it is busier than the controller itself.
fn held_by<'a>(controller: &Part, parts: &'a [Part]) -> Option<&'a Part> {
    let buses = parts.iter().filter(|part| part.kind == PartKind::Bus && controller.buses.contains(&part.name));
    let bus = buses.max_by(|one, other| one.busy.total_cmp(&other.busy));
    bus.filter(|bus| controller.kind == PartKind::Controller && bus.busy > controller.at_work())
}

/// The wait of a share or of a growing file that is the bottleneck, by the testbed's own account.
fn waits(parts: &[Part], idle: &str) -> Option<Standing> {
    let others = waits_of(parts).filter(|(part, wait)| wait.reason != WaitFor::Commands && part.busy >= wait.from);
    // One that counts from a smaller share of the time on explains the others.
    let order = |(one, of): &(&Part, &Wait), (other, with): &(&Part, &Wait)| {
        of.from.total_cmp(&with.from).then(other.busy.total_cmp(&one.busy))
    };
    let (Part { name, busy, .. }, Wait { reason, who, until, .. }) = others.min_by(order)?;
    let owner = if *reason == WaitFor::Share { Owner::Share } else { Owner::FileSystem };
    let reason = format!("{who} waited {} of the time {until} ({name}); {idle}", percent(*busy));
    named_at(owner, Sureness::Sure, name, reason)
}

fn waits_of(parts: &[Part]) -> impl Iterator<Item = (&Part, &Wait)> {
    parts.iter().filter_map(|part| Some((part, part.wait.as_ref()?)))
}

/// Whether requests wait for a share half of the time or longer.
pub(super) fn waits_for_share(parts: &[Part]) -> bool {
    waits_of(parts).any(|(part, wait)| wait.reason == WaitFor::Share && part.busy >= SPARE)
}

/// The limit as the bottleneck; not if a deeper queue was faster.
fn command_limit(facts: &Facts<'_>, idle: &str) -> Option<Standing> {
    let limits =
        command_limits(&facts.sample.parts).filter(|_| facts.neighbours.deeper.is_none_or(|ratio| ratio < FASTER));
    let (name, gate) = limits.max_by(|(_, one), (_, other)| one.busy.total_cmp(&other.busy))?;
    let (key, busy) = (without_number(&gate.name), percent(gate.busy));
    let reason = format!(
        "the command limit of {name} ({key}) kept other commands waiting {busy} of the time: the disk and the parts before it \
         work in turn, and a deeper queue improves only the order; {idle}"
    );
    named_at(Owner::Controller, Sureness::Likely, key, reason)
}

/// `; exos spent 64 % of that time seeking …`: which limit held back requests closer to a saturated arm that seeks.
fn kept_from(arm: &Part, label: &str, parts: &[Part]) -> Option<String> {
    let number = |part: &'_ Part| part.name[without_number(&part.name).len()..].to_owned();
    let (name, gate) = command_limits(parts).find(|(_, gate)| number(gate) == number(arm))?;
    let (busy, key) = (percent(gate.busy), without_number(&gate.name));
    let reaching = Some(phase(arm, Part::REACHING)).filter(|reaching| *reaching >= MATTERS).map(percent)?;
    Some(format!(
        "; {label} spent {reaching} of that time seeking and rotating, perhaps past closer requests: the command limit of {name} \
         ({key}) kept others waiting {busy} of the time"
    ))
}

/// Command limits that kept others waiting for long, each with its owner.
fn command_limits(parts: &[Part]) -> impl Iterator<Item = (&str, &Part)> {
    let limits = waits_of(parts).filter(|(part, wait)| wait.reason == WaitFor::Commands && part.busy >= wait.from);
    limits.filter_map(|(part, _)| Some((without_number(&part.name).rsplit_once('.')?.0, part)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{clean, deep_reads, flush, likely, named, of, sure, waiting, when, with};
    use super::super::{Neighbours, Places, attribute_with};
    use super::*;
    use crate::fixtures::{buffered, deep, intervals, random, read, write};
    use halfpower_model::{FileState, Pattern, Sample, Workload};
    use std::collections::BTreeMap;

    /// With as many outstanding as were asked for, all of them at the device.
    fn queued(workload: Workload, parts: &[(&str, PartKind, f64)]) -> Sample {
        let mut sample = with(clean(workload), parts);
        let depth = f64::from(sample.workload.depth);
        sample.depth_mean.counted = depth;
        sample.block.as_mut().unwrap().outstanding_mean = Some(depth);
        sample
    }

    #[test]
    fn flushes_that_keep_a_disk_at_work_set_the_pace() {
        let mut sample = with(clean(random(write(4))), &[("exos 1", PartKind::Device, 1.0)]);
        assert_eq!(named(&sample), sure(Owner::Device));
        flush(&mut sample, 100, 9.9e6);
        let words = "flushes: they took 99 % of the requests' time, and exos was busy 100 % of the time";
        assert_eq!(of(&sample).brief(), words);
        let passing = |share| BTreeMap::from([(Part::PASSING.to_owned(), share)]);
        sample.parts[0].phases = passing(0.97);
        assert_eq!(named(&sample), sure(Owner::Device), "without them it is a thirtieth faster");
        when(&mut sample, |it| it.parts[0].phases = passing(0.66), sure(Owner::Flushes), "and here half as fast again");
        when(&mut sample, |it| it.parts[0].kind = PartKind::Bus, sure(Owner::Bus), "no flush fills a bus");
    }

    #[test]
    fn a_file_that_grows_by_one_write_at_a_time_sets_the_pace_at_every_depth() {
        let grown = |depth: u32, busy: f64, disk: f64| {
            let parts = [("barracuda 1", PartKind::Device, disk), ("growth", PartKind::Wait, busy)];
            of(&with(clean(deep(depth, write(64))), &parts))
        };
        for depth in [1, 8] {
            let found = grown(depth, 0.99, 0.85);
            let words = "the file system: writes that extend a file waited 99 % of the time for the one before (growth); the busiest part, barracuda, was busy 85 % of the time";
            assert_eq!((found.at.as_deref(), found.brief().as_str()), (Some("growth"), words));
        }
        assert_eq!(grown(1, 0.2, 0.85).owner, Some(Owner::Depth), "the page cache takes them");
        assert_eq!(grown(8, 0.99, 0.97).owner, Some(Owner::Device));
    }

    #[test]
    fn flushes_that_leave_few_outstanding_are_named_though_they_are_short() {
        let flushed = |depth: u32, counted: f64, disk: f64| {
            let mut sample = with(clean(deep(depth, write(64))), &[("atlas 1", PartKind::Device, disk)]);
            sample.parts[0].phases.insert(Part::PASSING.to_owned(), 0.9);
            flush(&mut sample, 57, 2.85e6);
            sample.depth_mean.counted = counted;
            sample
        };
        let words = "flushes (likely): each flush waits for all requests, so that only 1.7 of 64 were outstanding on average; flushes took 16 % of the time, and no part is saturated";
        assert_eq!(of(&flushed(64, 1.7, 0.79)).brief(), words);
        let words =
            "flushes (likely): they took 16 % of the time and restart the stream, and atlas was busy 73 % of the time";
        assert_eq!(of(&flushed(1, 1.0, 0.73)).brief(), words);
        assert_eq!(named(&flushed(64, 1.7, 0.95)), sure(Owner::Device), "it is full");
        let mut sample = flushed(1, 1.0, 0.73);
        sample.parts[0].phases.clear();
        assert_eq!(named(&sample), likely(Owner::Depth), "no arm, no stream");
        sample = flushed(64, 1.7, 0.79);
        when(&mut sample, |it| it.flush = None, None, "");
    }

    #[test]
    fn a_lazy_writer_that_stores_one_after_another_is_named() {
        let written = |at_once: f64, busy: f64| {
            let mut sample = with(clean(buffered(deep(8, write(64)))), &[("fireball 1", PartKind::Device, busy)]);
            let block = sample.block.as_mut().unwrap();
            (block.devices, block.busy_fraction, block.outstanding_mean) = (2, at_once / 2.0, Some(at_once));
            (sample.depth_mean.counted, sample.dirty) = (8.0, None);
            sample
        };
        let words = "the file system (likely): its lazy writer stores cached writes one request at a time: 1.52 were at 2 devices on average, and no part is saturated";
        assert_eq!(of(&written(1.52, 0.55)).brief(), words);
        assert_eq!(named(&written(0.9, 0.55)), likely(Owner::FileSystem), "now at this, now at that");
        assert_eq!(named(&written(2.6, 0.55)), None, "several at once");
        assert_eq!(named(&written(1.52, 0.95)), sure(Owner::Device), "it is full");
    }

    #[test]
    fn one_full_disk_of_several_is_named_by_itself() {
        let disks = |busy: &[f64]| {
            let mut sample = with(clean(deep(8, random(read(4)))), &[("pci", PartKind::Bus, 0.3)]);
            let disk = |(number, busy): (i32, &f64)| Part {
                busy: *busy,
                ..Part::idle(&format!("atlas {number}"), PartKind::Device)
            };
            sample.parts.extend((1..).zip(busy).map(disk));
            of(&sample)
        };
        let found = disks(&[0.41, 0.96]);
        assert_eq!((found.owner, found.sureness), (Some(Owner::Device), Some(Sureness::Sure)));
        let words =
            "the busiest part, atlas 2 (one of 2), was busy 96 % of the time, the other 41 %; the next, pci, 30 %";
        assert_eq!(found.reason, words);
        let words = "the busiest part, atlas 1 (one of 4), was busy 100 % of the time, the others 41 to 60 %; the next, pci, 30 %";
        assert_eq!(disks(&[1.0, 0.5, 0.41, 0.6]).reason, words);
        let words =
            "the busiest part, atlas 3 (one of 4), was busy 100 % of the time, the others 0.0 %; the next, pci, 30 %";
        assert_eq!(disks(&[0.0, 0.0, 1.0, 0.0]).reason, words, "what has nothing to do is there");
        let words = "the busiest part, atlas, was busy 96 % of the time; the next, pci, 30 %";
        assert_eq!(disks(&[0.95, 0.96]).reason, words);
        let words = "every part (the busiest, atlas 2 (one of 2), 80 % of the time)";
        assert_eq!(disks(&[0.4, 0.8]).ruled_out[0], words);
    }

    #[test]
    fn a_share_s_window_or_wait_is_named_where_nothing_is_full() {
        let writes = |disk: f64, window: f64, units: f64| {
            let waits = [("window", PartKind::Wait, window), ("units", PartKind::Wait, units)];
            with(clean(deep(4, write(32))), &[[("atlas 1", PartKind::Device, disk)].as_slice(), &waits].concat())
        };
        let found = of(&writes(0.29, 1.0, 0.88));
        assert_eq!((found.owner, found.at.as_deref()), (Some(Owner::Share), Some("units")));
        let words = "the network share: large writes waited 88 % of the time between their units (units); the busiest part, atlas, was busy 29 % of the time";
        assert_eq!(found.brief(), words);
        assert_eq!(of(&writes(0.41, 1.0, 0.0)).at.as_deref(), Some("window"));
        assert_eq!(named(&writes(0.41, 0.5, 0.3)), None);
        let mut sample = writes(0.41, 0.0, 0.3);
        sample.parts.push(waiting("turn", 1.0));
        assert_eq!(of(&sample).at.as_deref(), Some("turn"));
        assert_eq!(named(&writes(0.95, 1.0, 0.0)), sure(Owner::Device), "who is full fills the window");
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
        let words = "8 requests were outstanding on average, only 0.986 of them at the device; the rest waited in the page cache, and p5500 was busy 1.2 % of the time";
        assert_eq!(found.reason, words);
        assert_eq!(named(&reads(Some(0.986), 0.8)), likely(Owner::FileSystem), "none is full");
        assert_eq!(named(&reads(Some(7.9), 0.012)), likely(Owner::Depth), "they are there");
        assert_eq!(named(&reads(Some(0.986), 0.92)), sure(Owner::Device), "it is full");
        assert_eq!(named(&reads(None, 0.012)), None, "nobody counted");
        let mut one = reads(Some(0.842), 0.85);
        (one.workload.depth, one.depth_mean.counted, one.workload.pattern) = (1, 1.0, Pattern::Sequential);
        let words = "the file system (likely): it kept 0.842 requests at the device on average, and no part is saturated: they wait for one another";
        assert_eq!(of(&one).brief(), words);
    }

    #[test]
    fn parts_that_may_have_been_full_one_after_another_are_reported() {
        let phases_of = |fast: u32, first: f64, flash: f64| {
            let parts = [("qvo 1", PartKind::Device, flash), ("sata", PartKind::Bus, 0.64)];
            let mut sample = queued(deep(8, write(1024)), &parts);
            let rates = (1..=30).map(|number| if number <= fast { first } else { 160.0 });
            sample.intervals = intervals(1.0, rates);
            sample
        };
        let phases = |first, flash| phases_of(15, first, flash);
        let words = "unknown: queue depth: throughput changed between 539 MB/s and 160 MB/s; a different part may have been saturated each time, which averages do not show (qvo 78 %, sata 64 %)";
        assert_eq!(of(&phases(539.0, 0.78)).brief(), words);
        assert_eq!(of(&phases_of(3, 539.0, 0.78)).brief(), words, "the first were few");
        assert_eq!(of(&phases_of(27, 539.0, 0.78)).brief(), words);
        assert_eq!(named(&phases(170.0, 0.78)), likely(Owner::Depth), "it wanders");
        assert_eq!(named(&phases(539.0, 0.2)), likely(Owner::Depth), "all of them at times do nothing");
        let mut one = phases(539.0, 0.78);
        when(&mut one, |it| it.workload.depth = 1, likely(Owner::Depth), "they take turns with each request");
    }

    #[test]
    fn a_part_is_named_or_ruled_out_and_not_both() {
        let mut sample = with(clean(deep(2, write(4))), &[("atlas 1", PartKind::Device, 0.99)]);
        sample.block.as_mut().unwrap().busy_fraction = 0.49;
        let found = of(&sample);
        assert_eq!(found.owner, Some(Owner::Device));
        assert!(!found.further().contains("the device"), "{}", found.further());
        sample.parts[0].busy = 0.34;
        let block = sample.block.as_mut().unwrap();
        (block.busy_fraction, block.outstanding_mean, sample.depth_mean.counted) = (1.0, Some(2.0), 2.0);
        let words = "queue depth (likely): 2 requests at a time, and no part is saturated";
        assert_eq!(of(&sample).brief(), words);
        sample.parts.push(Part { busy: 0.69, ..Part::idle("CPUs", PartKind::Cpu) });
        (sample.cpu.lower.system_s, sample.block.as_mut().unwrap().outstanding_mean) = (1.38, Some(0.5));
        sample.cpu.threads_s = Some(0.7);
        assert_eq!(of(&sample).brief(), words, "two CPUs, a third of which is idle");
        sample.cpu.threads_s = Some(0.92);
        let words =
            "the CPU: the worker thread made requests 92 % of its time on one CPU; more workers can use more CPUs";
        assert_eq!(of(&sample).brief(), words);
        sample.cpu.threads_s = Some(0.7);
        sample.parts.push(waiting("window", 0.6));
        assert_eq!(named(&sample), None, "some wait for a window");
        sample.parts.pop();
        when(&mut sample, |it| it.workload.file_state = FileState::Append, None, "one at a time while the file grows");
        (sample.workload.depth, sample.cpu.lower.system_s) = (1, 0.95);
        assert_eq!(named(&sample), sure(Owner::Cpu), "one worker on one of two");
    }

    #[test]
    fn a_card_s_disks_that_look_like_one_want_more_outstanding() {
        let beside = Neighbours { deeper: Some(1.9), places: Some(Places::default()), ..Neighbours::default() };
        let mut sample =
            with(deep_reads(), &[("fireball 1", PartKind::Device, 0.25), ("fireball 2", PartKind::Device, 0.26)]);
        sample.environment.target.rotational = Some(true);
        sample.block.as_mut().unwrap().busy_fraction = 1.0;
        let owner = |sample: &Sample| attribute_with(sample, beside).unwrap().owner;
        assert_eq!(owner(&sample), Some(Owner::Depth));
        sample.parts.clear();
        assert_ne!(owner(&sample), Some(Owner::Depth), "one arm, as it looks from outside");
    }

    #[test]
    fn what_is_a_mean_of_devices_is_called_one() {
        let mut sample = deep_reads();
        sample.block.as_mut().unwrap().devices = 4;
        let words = "unknown: the device: it had requests outstanding 70 % of the time, the mean of 4 devices";
        assert_eq!(of(&sample).brief(), words);
    }

    #[test]
    fn who_lets_only_so_many_through_is_named_where_others_wait() {
        let gated = |waits: f64, disk: f64, deeper: Option<f64>| {
            let parts = [("fireball 1", PartKind::Device, disk), ("ide.outstanding 1", PartKind::Wait, waits)];
            let sample = queued(deep(2048, random(read(8))), &parts);
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
    fn a_limit_that_keeps_a_full_arm_from_closer_requests_is_reported() {
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
