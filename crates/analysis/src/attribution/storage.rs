//! Suspects on the way to the storage: control groups, bus and link, the depth, the file system, the device.
//!
//! - *Control groups*: what passed is at nine tenths or more of what the group lets through, and not beyond what its slices
//!   give (Linux, block/blk-throttle.c: time is rounded up to slices of up to a tenth of a second, and one that was not used is
//!   made up for, so that the first two may go at once); from half of it on that is left open, since the mean hides what was
//!   used up in bursts. Through the file cache what passed lies between what was asked for, of which the cache may have
//!   answered some, and what the device moved, read-ahead and other programs' bytes with it: the lesser of the two is held
//!   against the limit, and by the greater none is ruled out.
//! - *Bus, link, device* with a known peak: nine tenths of it or more. Riedel, van Ingen and Gray (1997) found buses full at
//!   75 to 80 %; what is between half and nine tenths is left open.
//! - *Depth*: one request at a time is bound by its latency (Little, Operations Research 9, 1961), unless requests are so
//!   large that they may keep the device at work; or the same with more outstanding was a fifth faster.
//! - *File system* and *device*: by what the device's counters say of writes, and by nothing else being full.
//!
//! A simulated machine tells of each part how busy it was ([`simulated`](super::simulated)): buses and devices are not judged here as
//! well. Where no part is full, requests that are at the device are too few.

use super::facts::{Facts, percent};
use super::medium::{Medium, medium};
use super::simulated::{by_turns, none_full};
use super::suspect::{Owner, Standing, Sureness};
use super::thresholds::{FASTER, FEWER, FULL, MATTERS, NO_FASTER, SPARE};
use halfpower_model::environment::DeviceLimit;
use halfpower_model::sample::{Part, PartKind};
use halfpower_model::{Bytes, FileState, Quantity};

/// A throttle's slice, the longest there is.
const SLICE_S: f64 = 0.1;
/// What may pass beyond a limit all the while: what was let through just before counts when it is back.
const BEYOND: f64 = 1.05;
/// Larger requests may keep a device at work one at a time.
const SMALL: Bytes = Bytes(64 << 10);

/// One limit against what passed.
struct Held {
    owner: Owner,
    /// By what passed at the least.
    share: f64,
    /// By what may have passed at the most.
    share_most: f64,
    words: String,
}

pub(super) fn limits(facts: &Facts<'_>) -> Standing {
    let held: Vec<Held> = [false, true].into_iter().flat_map(|writes| of_direction(facts, writes)).collect();
    // A warm-up uses up what goes at once in the beginning.
    let at_once_s = (2.0 * SLICE_S - facts.workload.warmup.seconds()).max(SLICE_S);
    let most = BEYOND + at_once_s / facts.sample.elapsed_s;
    let nearest = held.iter().filter(|held| held.share <= most).max_by(|one, other| one.share.total_cmp(&other.share));
    match nearest {
        Some(held) if held.share >= FULL => {
            let is_idle = facts.at_device.is_some_and(|busy| busy < 0.8);
            let is_at_it = (is_idle || held.share >= 0.97) && held.share <= BEYOND;
            let sureness = if is_at_it { Sureness::Sure } else { Sureness::Likely };
            Standing::Named(held.owner, sureness, format!("it runs at {} of {}", percent(held.share), held.words))
        }
        Some(held) if held.share >= SPARE => {
            Standing::Open(format!("the control group: it runs at {} of {}", percent(held.share), held.words))
        }
        Some(held) if held.share_most >= FULL => Standing::Open(format!(
            "the control group: it runs at {} of {}, or {} with read-ahead and other programs' bytes",
            percent(held.share),
            held.words,
            percent(held.share_most)
        )),
        Some(held) => Standing::RuledOut(format!("the control group ({} of {})", percent(held.share), held.words)),
        None => match held.first() {
            Some(held) => {
                Standing::Open(format!("the control group: {} is exceeded, so it may not apply here", held.words))
            }
            None => Standing::Absent,
        },
    }
}

/// Each limit of one direction on all that the targets share, or on each of them alike.
fn of_direction(facts: &Facts<'_>, writes: bool) -> Vec<Held> {
    let environment = &facts.sample.environment;
    let mut limits: Vec<&DeviceLimit> = Vec::new();
    for limit in environment.all_targets().flat_map(|target| &target.limits) {
        if !limits.iter().any(|other| other.device == limit.device && other.limit.group == limit.limit.group) {
            limits.push(limit);
        }
    }
    // Several devices with a limit each let their sum through, if every target has one.
    let is_each = environment.all_targets().all(|target| !target.limits.is_empty());
    let parts = if environment.targets() > 1 && is_each { f64::from(environment.targets()) } else { 1.0 };
    if environment.targets() > 1 && !is_each {
        return Vec::new();
    }
    let what = if writes { "writes" } else { "reads" };
    let mut held = Vec::new();
    for DeviceLimit { device, limit } in limits {
        let (bytes, requests) = match writes {
            true => (limit.write_bytes_per_s, limit.write_requests_per_s),
            false => (limit.read_bytes_per_s, limit.read_requests_per_s),
        };
        let group = format!("({} on {device})", limit.group);
        if let (Some(limit), Some(passed)) = (bytes, facts.storage_bytes_per_s(writes)) {
            let words = format!("the limit of {limit} for {what} {group}");
            let asked = facts.asked(writes).map_or(passed, |asked| asked.bytes_per_s.0);
            let least = if facts.is_direct() { passed } else { passed.min(asked) };
            let [share, share_most] = [least, passed].map(|rate| rate / parts / limit.0);
            held.push(Held { owner: Owner::ThrottledBandwidth, share, share_most, words });
        }
        let rates = facts.storage_requests_per_s(writes);
        if let Some(limit) = requests.filter(|limit| *limit > 0) {
            let shares = rates.iter().map(|rate| rate / parts / limit as f64);
            // Large requests are counted in the pieces they are cut into.
            let nearest = shares.min_by(|one, other| (one - 1.0).abs().total_cmp(&(other - 1.0).abs()));
            let words = format!("the limit of {} for {what} {group}", Quantity::RequestsPerSecond.format(limit as f64));
            let owner = Owner::ThrottledRequests;
            held.extend(nearest.map(|share| Held { owner, share, share_most: share, words }));
        }
    }
    held
}

pub(super) fn depth(facts: &Facts<'_>) -> Standing {
    let (asked, counted) = (facts.outstanding, facts.sample.depth_mean.counted);
    let (comes_round, by_turns) = (comes_round(facts), by_turns(facts));
    match facts.neighbours.deeper {
        Some(ratio) if ratio >= FASTER && is_at_work(facts) => {
            return Standing::RuledOut(format!(
                "queue depth (a deeper queue reaches {ratio:.2} times this rate, because the arm has a better order)"
            ));
        }
        Some(ratio) if ratio >= FASTER => {
            let reason = format!("a queue deeper than {asked} reaches {:.1} times this rate", ratio);
            return Standing::Named(Owner::Depth, Sureness::Sure, reason);
        }
        _ if comes_round.is_some() => {
            return Standing::Named(Owner::Device, Sureness::Likely, comes_round.unwrap_or_default());
        }
        _ if by_turns.is_some() => return Standing::Open(by_turns.unwrap_or_default()),
        Some(ratio) if ratio <= NO_FASTER => {
            return Standing::RuledOut(format!("queue depth (a deeper queue reaches {ratio:.2} times this rate)"));
        }
        _ => {}
    }
    // The kernel reads ahead, or writes back, as deep as it likes; and where nobody counted, a cache may have answered.
    let by_cache = !facts.is_direct() && facts.asked(false).is_some();
    let is_its_own = !by_cache || (!facts.workload.pattern.is_ordered() && facts.at_device.is_some());
    if facts.is_null() || facts.writes_into_memory() || !is_its_own {
        return Standing::Absent;
    }
    let latency = facts.sample.total.latency_ns.mean.map(|mean| Quantity::Nanoseconds.format(mean));
    let takes = latency.map(|latency| format!(", each takes {latency}")).unwrap_or_default();
    let is_short = facts.machine_busy().is_some_and(|used| used >= FULL);
    let else_full = if is_short { "" } else { ", and nothing else is saturated" };
    match asked {
        1 if none_full(facts) => {
            Standing::Named(Owner::Depth, Sureness::Likely, format!("one request at a time{takes}{else_full}"))
        }
        1 if facts.wanting().is_none() || is_at_work(facts) => Standing::Absent,
        1 if facts.workload.request_size <= SMALL => {
            Standing::Named(Owner::Depth, Sureness::Likely, format!("one request at a time{takes}{else_full}"))
        }
        1 => Standing::Open("queue depth: one large request at a time; a deeper queue was not measured".to_owned()),
        _ if counted < FEWER * asked as f64 => Standing::Open(format!(
            "queue depth: only {} of {asked} requests were outstanding",
            halfpower_model::units::significant(counted)
        )),
        _ if none_full(facts) && !waits_elsewhere(facts) => Standing::Named(
            Owner::Depth,
            Sureness::Likely,
            format!("{asked} requests at a time{takes}, and no part is saturated"),
        ),
        _ => Standing::Absent,
    }
}

/// Of a stream of writes to a simulated arm, one at a time, how it waits for its place on the medium to come round, where one that comes
/// sooner would wait for that as well: no part is full, and yet more outstanding are no faster. Of several arms another would go on.
fn comes_round(facts: &Facts<'_>) -> Option<String> {
    let is_stream = facts.is_direct() && facts.asked(false).is_none() && facts.workload.pattern.is_ordered();
    if facts.outstanding > 1 || !is_stream || !none_full(facts) {
        return None;
    }
    let (name, arm) = facts.only_arm()?;
    let [reaching, late] = [Part::REACHING, Part::LATE].map(|phase| *arm.phases.get(phase).unwrap_or(&0.0));
    let reaching = reaching * arm.busy;
    (late < MATTERS && reaching >= MATTERS).then(|| {
        format!(
            "one write at a time, and {name} waits {} of the time for its sector to rotate into place; an earlier write would \
             wait for the same sector",
            percent(reaching)
        )
    })
}

/// Whether requests to a simulated machine wait for something that is no part of it: in the file cache, while a file grows, or for a
/// share. Past those, what is not at the device is on its way.
fn waits_elsewhere(facts: &Facts<'_>) -> bool {
    let Some(at_once) = facts.at_once() else { return true };
    let is_on_its_way = facts.is_direct() && facts.workload.file_state == FileState::Written;
    waits_for_share(facts) || !is_on_its_way && at_once < SPARE * facts.sample.depth_mean.counted
}

/// Whether requests wait for a share half of the time or longer.
fn waits_for_share(facts: &Facts<'_>) -> bool {
    let is_its = |part: &Part| part.kind == PartKind::Wait && Part::SHARE_WAITS.contains(&part.name.as_str());
    facts.sample.parts.iter().any(|part| is_its(part) && part.busy >= SPARE)
}

/// Whether a medium whose arm has to go from place to place is at work all the time: it works on one request at a time.
fn is_at_work(facts: &Facts<'_>) -> bool {
    let turns = facts.sample.environment.all_targets().all(|target| target.rotational == Some(true));
    let is_it = facts.neighbours.places.is_some() && !matches!(medium(facts), Medium::Idles(_));
    // What a card makes of several disks looks like one.
    let has_idle = facts.busiest_device().is_some_and(|(_, busy)| busy < FULL);
    turns && is_it && !has_idle && facts.at_device.is_some_and(|share| share >= FULL)
}

/// Requests through the file cache of a simulated machine, of which no part is full, where it gives the device one after another, or
/// a few of many.
fn in_cache(facts: &Facts<'_>) -> Option<Standing> {
    let at_once = facts.at_once()?;
    let (device, busy) = facts.busiest_device()?;
    let outstanding = facts.sample.depth_mean.counted;
    let asks = !facts.is_direct() && !facts.writes_into_memory() && none_full(facts);
    let waits_there = outstanding > 1.5 && at_once < outstanding * SPARE;
    if !asks || !waits_there && at_once > 1.0 {
        return None;
    }
    let [outstanding, one] = [outstanding, at_once].map(halfpower_model::units::significant);
    let of_many = format!("{outstanding} requests were outstanding on average, only {one} of them at the device");
    let reason = match waits_there {
        true => {
            format!("{of_many}; the rest waited in the page cache, and {device} was busy {} of the time", percent(busy))
        }
        false => {
            format!(
                "it kept {one} requests at the device on average, and no part is saturated: they wait for one another"
            )
        }
    };
    Some(Standing::Named(Owner::FileSystem, Sureness::Likely, reason))
}

/// Writes into the file cache of a simulated machine, of which no part is full, where what they leave there is stored by one request
/// after another: at each device that it is cut up for is one at the most, and the writers sleep until there is room.
fn lazy_writer(facts: &Facts<'_>) -> Option<Standing> {
    let (at_once, devices) = (facts.at_once()?, facts.sample.block.as_ref()?.devices);
    let asks = facts.writes_into_memory() && facts.asked(false).is_none() && none_full(facts);
    let in_turn = (SPARE..=f64::from(devices)).contains(&at_once);
    let sleeps = facts.wanting()? < SPARE && facts.at_end < SPARE;
    if !asks || !in_turn || !sleeps || waits_for_share(facts) {
        return None;
    }
    let of_devices = if devices > 1 { format!("{devices} devices") } else { "the device".to_owned() };
    let reason = format!(
        "its lazy writer stores cached writes one request at a time: {} were at {of_devices} on average, and no part is \
         saturated",
        halfpower_model::units::significant(at_once)
    );
    Some(Standing::Named(Owner::FileSystem, Sureness::Likely, reason))
}

/// Writes that wait while the device idles wait for something above it.
pub(super) fn file_system(facts: &Facts<'_>) -> Standing {
    if let Some(cache) = in_cache(facts).or_else(|| lazy_writer(facts)) {
        return cache;
    }
    let Some(kind) = &facts.sample.environment.target.filesystem else { return Standing::Absent };
    let (Some(busy), Some(wanting)) = (facts.at_device, facts.wanting()) else { return Standing::Absent };
    if busy >= FULL {
        return Standing::RuledOut(format!("the file system ({})", facts.had("the device", busy)));
    }
    // Where processors are short, what stands still between the two may be waiting for one.
    let has_spare =
        facts.machine_busy().is_some_and(|share| share < FULL) && facts.waiting.is_some_and(|share| share < 0.1);
    let is_deep = facts.outstanding > 1 && facts.asked(true).is_some() && facts.asked(false).is_none();
    if busy < SPARE && wanting < SPARE && has_spare && is_deep {
        let reason = format!(
            "{}, the workers ran {}: the writes wait in {kind}",
            facts.had("the device", busy),
            percent(wanting)
        );
        return Standing::Named(Owner::FileSystem, Sureness::Likely, reason);
    }
    Standing::Absent
}

pub(super) fn device(facts: &Facts<'_>) -> Standing {
    if facts.knows_parts() {
        return Standing::Absent;
    }
    let Some(busy) = facts.at_device else {
        let is_null = facts.is_null();
        return if is_null { Standing::Absent } else { Standing::Open("the device: it has no counters".to_owned()) };
    };
    let is_deep =
        facts.outstanding > 1 || !facts.is_direct() || facts.neighbours.deeper.is_some_and(|ratio| ratio <= NO_FASTER);
    match medium(facts) {
        Medium::Waits(ratio) if busy >= FULL || facts.asked(false).is_none() => {
            let reason =
                format!("access that costs the medium less is {ratio:.1} times as fast, and {}", facts.had("it", busy));
            return Standing::Named(Owner::Device, Sureness::Likely, reason);
        }
        Medium::Idles(why) => return Standing::RuledOut(format!("the medium ({why})")),
        _ => {}
    }
    if busy < SPARE && facts.outstanding > 1 {
        return Standing::RuledOut(format!("the device ({})", facts.had("it", busy)));
    }
    if busy < FULL {
        return Standing::Open(facts.had("the device: it", busy));
    }
    if !is_deep {
        return Standing::Absent;
    }
    let tried = match facts.neighbours.deeper {
        Some(_) => "and a deeper queue is no faster",
        None => "and nothing before it is saturated; a deeper queue was not measured",
    };
    let reason = format!("{}, {tried}", facts.had("it", busy));
    Standing::Named(Owner::Device, Sureness::Likely, reason)
}
