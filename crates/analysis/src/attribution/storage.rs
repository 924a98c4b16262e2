//! Suspects on the I/O path: control groups, queue depth, file system, device. For bandwidth see [`super::levels`].
//!
//! - *Control groups*: 90 % of the limit or more, but not beyond what its slices allow. Linux (block/blk-throttle.c) rounds time
//!   up to slices of up to 0.1 s and carries one over. From 50 % on it is left open, because the mean hides bursts.
//!   For buffered I/O the bytes at the device lie between the requested bytes and what the device moved: the smaller is
//!   compared with the limit, and the larger must be below it to rule it out.
//! - *Queue depth*: one request at a time is limited by its latency (Little, Operations Research 9, 1961), unless it is large
//!   enough to keep the device busy; or a deeper queue was 20 % faster.
//! - *File system* and *device*: by the device's write counters, if nothing else is saturated.
//!
//! Where a testbed reports its parts, these show which device is busy ([`parts`](super::parts)); if none is saturated, too few
//! requests are at the device.

use super::facts::{FASTER, FEWER, FULL, Facts, NO_FASTER, SPARE, percent};
use super::levels::{Medium, medium};
use super::parts::{none_full, one_after_another, waits_for_share};
use super::suspect::{Owner, Standing, Sureness, likely, named, open, ruled_out, sure};
use halfpower_model::environment::DeviceLimit;
use halfpower_model::units::significant;
use halfpower_model::{Bytes, FileState, Quantity};

/// The longest slice of the throttle.
const SLICE_S: f64 = 0.1;
/// How far the rate may exceed a limit: requests passed just before count when they complete.
const BEYOND: f64 = 1.05;
/// How far at most: what exceeds it in a sample that is shorter than some slices was not held back.
const BEYOND_MOST: f64 = 1.5;
/// A larger request may keep a device busy on its own.
const SMALL: Bytes = Bytes(64 << 10);

/// One limit and how much of it was used.
struct Held {
    owner: Owner,
    /// The least that passed, as a share.
    share: f64,
    /// The most that may have passed.
    share_most: f64,
    words: String,
}

pub(super) fn limits(facts: &Facts<'_>) -> Option<Standing> {
    let held: Vec<Held> = [false, true].into_iter().flat_map(|writes| of_direction(facts, writes)).collect();
    // A warm-up uses up the initial burst.
    let at_once_s = (2.0 * SLICE_S - facts.workload.warmup.seconds()).max(SLICE_S);
    let most = (BEYOND + at_once_s / facts.sample.elapsed_s).min(BEYOND_MOST);
    let possible = held.iter().filter(|held| held.share <= most);
    let Some(nearest) = possible.max_by(|one, other| one.share.total_cmp(&other.share)) else {
        let words = &held.first()?.words;
        return open(format!("the control group: {words} is exceeded, so it may not apply here"));
    };
    let used = format!("{} of {}", percent(nearest.share), nearest.words);
    if nearest.share >= FULL {
        let is_idle = facts.at_device.is_some_and(|busy| busy < 0.8);
        let is_at_it = (is_idle || nearest.share >= 0.97) && nearest.share <= BEYOND;
        let sureness = if is_at_it { Sureness::Sure } else { Sureness::Likely };
        return named(nearest.owner, sureness, format!("it runs at {used}"));
    }
    let share_most = percent(nearest.share_most);
    match nearest.share >= SPARE {
        true => open(format!("the control group: it runs at {used}")),
        false if nearest.share_most >= FULL => open(format!(
            "the control group: it runs at {used}, or {share_most} with read-ahead and other programs' bytes"
        )),
        false => ruled_out(format!("the control group ({used})")),
    }
}

/// The limits of one direction that apply to all targets together, or equally to each.
fn of_direction(facts: &Facts<'_>, writes: bool) -> Vec<Held> {
    let environment = &facts.sample.environment;
    let mut limits: Vec<&DeviceLimit> = Vec::new();
    for limit in environment.all_targets().flat_map(|target| &target.limits) {
        if !limits.iter().any(|other| other.device == limit.device && other.limit.group == limit.limit.group) {
            limits.push(limit);
        }
    }
    // Limits of several devices add up if every target has one.
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
            // The throttle counts the fragments of large requests.
            let nearest = shares.min_by(|one, other| (one - 1.0).abs().total_cmp(&(other - 1.0).abs()));
            let words = format!("the limit of {} for {what} {group}", Quantity::RequestsPerSecond.format(limit as f64));
            let owner = Owner::ThrottledRequests;
            held.extend(nearest.map(|share| Held { owner, share, share_most: share, words }));
        }
    }
    held
}

pub(super) fn depth(facts: &Facts<'_>) -> Option<Standing> {
    let (asked, deeper) = (facts.outstanding, facts.neighbours.deeper);
    if let Some(ratio) = deeper.filter(|ratio| *ratio >= FASTER) {
        return match is_at_work(facts) {
            true => ruled_out(format!(
                "queue depth (a deeper queue reaches {ratio:.2} times this rate, because the arm has a better order)"
            )),
            false => sure(Owner::Depth, format!("a queue deeper than {asked} reaches {ratio:.1} times this rate")),
        };
    }
    if let Some(standing) = one_after_another(facts) {
        return Some(standing);
    }
    if let Some(ratio) = deeper.filter(|ratio| *ratio <= NO_FASTER) {
        return ruled_out(format!("queue depth (a deeper queue reaches {ratio:.2} times this rate)"));
    }
    // Read-ahead and write-back choose their own depth, and without counters a cache may have answered.
    let by_cache = !facts.is_direct() && facts.asked(false).is_some();
    let is_its_own = !by_cache || (!facts.workload.pattern.is_ordered() && facts.at_device.is_some());
    if facts.is_null() || facts.writes_into_memory() || !is_its_own {
        return None;
    }
    let latency = facts.sample.total.latency_ns.mean.map(|mean| Quantity::Nanoseconds.format(mean));
    let takes = latency.map(|latency| format!(", {latency} each on average")).unwrap_or_default();
    let none_full = none_full(facts);
    if asked == 1 {
        let is_short = facts.machine_busy().is_some_and(|used| used >= FULL);
        let else_full = if is_short { "" } else { ", and nothing else is saturated" };
        return match none_full {
            false if facts.wanting().is_none() || is_at_work(facts) => None,
            false if facts.workload.request_size > SMALL => {
                open("queue depth: one large request at a time; a deeper queue was not measured")
            }
            _ => likely(Owner::Depth, format!("one request at a time{takes}{else_full}")),
        };
    }
    let counted = facts.sample.depth_mean.counted;
    if counted < FEWER * asked as f64 {
        return open(format!("queue depth: only {} of {asked} requests were outstanding", significant(counted)));
    }
    let reason = format!("{asked} requests at a time{takes}, and no part is saturated");
    if none_full && !waits_elsewhere(facts) { likely(Owner::Depth, reason) } else { None }
}

/// Whether requests wait outside the reported parts: in the page cache, for a growing file, for a share.
fn waits_elsewhere(facts: &Facts<'_>) -> bool {
    let Some(at_once) = facts.at_once() else { return true };
    let is_on_its_way = facts.is_direct() && facts.workload.file_state == FileState::Written;
    waits_for_share(&facts.sample.parts) || !is_on_its_way && at_once < SPARE * facts.sample.depth_mean.counted
}

/// Whether a rotating medium, which serves one request at a time, is busy all the time.
fn is_at_work(facts: &Facts<'_>) -> bool {
    let turns = facts.sample.environment.all_targets().all(|target| target.rotational == Some(true));
    let is_it = facts.neighbours.places.is_some() && !matches!(medium(facts), Medium::Idles(_));
    // Several disks behind a card look like one.
    let has_idle = facts.busiest_device().is_some_and(|(_, busy)| busy < FULL);
    turns && is_it && !has_idle && facts.at_device.is_some_and(|share| share >= FULL)
}

/// Reads through the page cache that reach the device one or a few at a time, though no reported part is saturated.
fn in_cache(facts: &Facts<'_>) -> Option<Standing> {
    let at_once = facts.at_once()?;
    let (device, busy) = facts.busiest_device()?;
    let outstanding = facts.sample.depth_mean.counted;
    let asks = !facts.is_direct() && !facts.writes_into_memory() && none_full(facts);
    let waits_there = outstanding > 1.5 && at_once < outstanding * SPARE;
    if !asks || !waits_there && at_once > 1.0 {
        return None;
    }
    let ([outstanding, one], busy) = ([outstanding, at_once].map(significant), percent(busy));
    let reason = match waits_there {
        true => format!(
            "{outstanding} requests were outstanding on average, only {one} of them at the device; the rest waited in the page \
             cache, and {device} was busy {busy} of the time"
        ),
        false => {
            format!(
                "it kept {one} requests at the device on average, and no part is saturated: they wait for one another"
            )
        }
    };
    likely(Owner::FileSystem, reason)
}

/// Buffered writes whose lazy writer keeps one request per device, though no reported part is saturated.
fn lazy_writer(facts: &Facts<'_>) -> Option<Standing> {
    let (at_once, devices) = (facts.at_once()?, facts.sample.block.as_ref()?.devices);
    let asks = facts.writes_into_memory() && facts.asked(false).is_none() && none_full(facts);
    let in_turn = (SPARE..=f64::from(devices)).contains(&at_once);
    let sleeps = facts.wanting()? < SPARE && facts.at_end < SPARE;
    if !asks || !in_turn || !sleeps || waits_for_share(&facts.sample.parts) {
        return None;
    }
    let of_devices = if devices > 1 { format!("{devices} devices") } else { "the device".to_owned() };
    let at_once = significant(at_once);
    let reason = format!(
        "its lazy writer stores cached writes one request at a time: {at_once} were at {of_devices} on average, and no part is \
         saturated"
    );
    likely(Owner::FileSystem, reason)
}

/// Writes that wait while the device is idle wait for something above it.
pub(super) fn file_system(facts: &Facts<'_>) -> Option<Standing> {
    in_cache(facts).or_else(|| lazy_writer(facts)).or_else(|| {
        let kind = facts.sample.environment.target.filesystem.as_ref()?;
        let (busy, wanting) = (facts.at_device?, facts.wanting()?);
        let had = facts.had("the device", busy);
        if busy >= FULL {
            return ruled_out(format!("the file system ({had})"));
        }
        // If CPUs are short, requests may wait for one in between.
        let has_spare = facts.machine_busy()? < FULL && facts.waiting? < 0.1;
        let is_deep = facts.outstanding > 1 && facts.asked(true).is_some() && facts.asked(false).is_none();
        if !has_spare || !is_deep || busy >= SPARE || wanting >= SPARE {
            return None;
        }
        likely(Owner::FileSystem, format!("{had}, the workers ran {}: the writes wait in {kind}", percent(wanting)))
    })
}

pub(super) fn device(facts: &Facts<'_>) -> Option<Standing> {
    if facts.knows_parts() || facts.sample.environment.remote_target().is_some() {
        return None;
    }
    let Some(busy) = facts.at_device else {
        let why =
            if facts.sample.block.is_some() { "the run was too short for its counters" } else { "it has no counters" };
        return if facts.is_null() { None } else { open(format!("the device: {why}")) };
    };
    let had = facts.had("it", busy);
    match medium(facts) {
        Medium::Waits(ratio) if busy >= FULL || facts.asked(false).is_none() => {
            let reason = format!("access that costs the medium less is {ratio:.1} times as fast, and {had}");
            return likely(Owner::Device, reason);
        }
        Medium::Idles(why) => return ruled_out(format!("the medium ({why})")),
        _ => {}
    }
    if busy < SPARE && facts.outstanding > 1 {
        return ruled_out(format!("the device ({had})"));
    }
    if busy < FULL {
        return open(format!("the device: {had}"));
    }
    let deeper = facts.neighbours.deeper;
    if facts.outstanding <= 1 && facts.is_direct() && deeper.is_none_or(|ratio| ratio > NO_FASTER) {
        return None;
    }
    let tried = match deeper {
        Some(_) => "and a deeper queue is no faster",
        None => "and no other part was shown to be the limit; a deeper queue was not measured",
    };
    likely(Owner::Device, format!("{had}, {tried}"))
}
