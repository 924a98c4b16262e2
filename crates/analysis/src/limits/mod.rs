//! Limits of a rate-limited storage: what lasts, and what is a burst.
//!
//! A cloud's volume, a virtual disk, a control group or a storage network holds requests back by token buckets: one of bytes, one
//! of requests, or both. Long samples of small random requests reach the one, of large sequential requests the other. A limit is
//! named if the rate at the end is regular and a burst came before: a bucket passes at once what was left unused, for QEMU's and
//! the kernel's throttles at least a tenth of a second. On a virtual disk a regular rate of waiting requests suffices.
//! Sources: `course`; QEMU, docs/throttle.txt; Linux, block/blk-throttle.c.

mod course;
mod group;
mod join;
mod known;
mod lasting;
#[cfg(test)]
pub(crate) mod tests;

use crate::attribution::{FULL, Sureness};
use crate::cells::{Cell, Observed};
use course::{Course, continues};
use halfpower_model::{Bytes, Environment, Estimate, Nanoseconds, Operation, Quantity, Sample, TargetFacts};
use lasting::Part;
pub(crate) use lasting::shares_that_last;
use serde::{Serialize, Serializer};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Two rates so close are those of one limit.
const SAME: f64 = 0.03;
/// Rates of reads, writes, both and several sizes so close are not those of a CPU that copies.
const EQUAL: f64 = 0.005;
/// The fewest sizes of one rate.
const SIZES_EQUAL: usize = 3;
/// A sample faster than the limit by more than this is of a burst.
const BEYOND: f64 = 0.05;
/// A bucket passes a burst at the device's own rate, which is taken to be faster by more than this. Set by hand.
const A_LITTLE: f64 = 1.25;
/// A device that becomes slower may have been as many times as fast. Set by hand.
const FELL: f64 = 1.5;
/// After a smaller fall, a rate that is less exact than this share is taken for the device's. Set by hand.
const EXACT: f64 = 0.001;
/// How many times as large the largest requests are at least as the smallest, to tell what is counted.
const APART: u64 = 8;
/// Requests as which the kernel may pass on one where the largest that the device takes is unknown.
const PARTS_MAX: u64 = 8;
/// Of so many parts the second is the rest of a request, which is joined with the next one where that follows it.
const JOINED_MAX: f64 = 2.1;
/// What providers count as one request at most: Amazon EBS User Guide, "I/O characteristics".
const COUNTED_MAX: Bytes = Bytes(256 << 10);
/// Reads and writes together exceed one's limit by this share if each has its own.
const APART_FOR_EACH: f64 = 0.3;
/// What found a bucket emptied by another had a burst smaller by this share.
const EMPTIED: f64 = 0.1;
/// A burst that takes longer is not followed by another.
const SHORT_S: f64 = 0.5;
/// The median latency in times of the least, from which on requests wait.
const WAITING: f64 = 2.0;

/// A limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// Bytes or requests per second.
    #[serde(serialize_with = "short_name")]
    pub what: Quantity,
    /// Reads or writes; none if both have it.
    pub operation: Option<Operation>,
    /// The rate that lasts.
    pub sustained: Estimate,
    /// The rate of the burst before; none if there was none.
    pub burst: Option<f64>,
    /// Its length, at that rate.
    pub burst_seconds: Option<f64>,
    /// What refills the bucket, per second; none if no burst ended.
    pub refill_per_s: Option<f64>,
    /// Targets that share it.
    pub shared_by: Vec<String>,
    /// Sure where the rate fell after a burst, likely where it was only regular.
    pub confidence: Sureness,
    /// Seconds with the rate that lasts.
    #[serde(rename = "seen_seconds")]
    pub seen_s: f64,
    /// The control group that sets it, if one does.
    #[serde(skip)]
    pub group: Option<String>,
    /// What a provider's limits of these rates are, if that is known.
    #[serde(skip)]
    pub known: Option<&'static str>,
    /// In one sentence or two.
    pub sentence: String,
    /// Store numbers of its samples.
    pub samples: Vec<i64>,
}

fn short_name<S: Serializer>(what: &Quantity, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(if *what == Quantity::BytesPerSecond { "bytes_per_s" } else { "requests_per_s" })
}

/// How a workload's long sample went on.
#[derive(Clone, Debug, PartialEq)]
pub struct OverTime {
    /// Its cell.
    pub cell: u32,
    /// Requests per second in each step of [`STEP_S`].
    pub requests_per_s: Vec<f64>,
}

/// Seconds of a step over time.
pub const STEP_S: f64 = 0.1;

/// A long sample.
struct Long<'a> {
    observed: Observed<'a>,
    course: Course,
}

/// The limits that long samples show. Cells keep only rates that last.
pub(crate) fn of(cells: &mut [Cell<'_>]) -> Vec<Limit> {
    let (limits, parts) = with_parts(cells);
    cells.iter_mut().zip(&parts).for_each(|(cell, parts)| lasting::leave_bursts_out(cell, parts));
    limits
}

/// The same, and what lasts of each repetition of each cell.
fn with_parts(cells: &[Cell<'_>]) -> (Vec<Limit>, Vec<Vec<Part>>) {
    let courses: Vec<Vec<Option<Course>>> = cells.iter().map(|cell| courses_of(&cell.repetitions)).collect();
    let limits = find(cells, &courses);
    let parts = lasting::parts(cells, &courses, &limits);
    (limits, parts)
}

/// The long samples over time, of each cell that has one.
pub(crate) fn over_time(cells: &[Cell<'_>]) -> Vec<OverTime> {
    let of = |cell: &Cell<'_>| {
        let samples: Vec<&Sample> = cell.repetitions.iter().map(|one| one.sample).collect();
        let is_continued = samples.get(1).is_some_and(|next| continues(samples[0], next));
        let first = &samples[..samples.len().min(if is_continued { 2 } else { 1 })];
        let requests_per_s = course::over_time(first, STEP_S).filter(|rates| !rates.is_empty())?;
        Some(OverTime { cell: cell.number, requests_per_s })
    };
    cells.iter().filter_map(of).collect()
}

/// The course of each repetition. One that continues another has the whole, and the other none.
fn courses_of(repetitions: &[Observed<'_>]) -> Vec<Option<Course>> {
    let continues = |number: usize| {
        let next = number.checked_sub(1).and_then(|before| repetitions.get(before).zip(repetitions.get(number)));
        next.is_some_and(|(one, next)| continues(one.sample, next.sample))
    };
    let course = |number: usize| match () {
        () if continues(number + 1) => None,
        () if continues(number) => Course::of_each(&[repetitions[number - 1].sample, repetitions[number].sample]),
        () => Course::of(repetitions[number].sample),
    };
    (0..repetitions.len()).map(course).collect()
}

fn find(cells: &[Cell<'_>], courses: &[Vec<Option<Course>>]) -> Vec<Limit> {
    let each = cells.iter().zip(courses).flat_map(|(cell, courses)| cell.repetitions.iter().zip(courses));
    let long: Vec<Long<'_>> =
        each.filter_map(|(one, course)| Some(Long { observed: *one, course: (*course)? })).collect();
    let most = long.iter().map(|one| one.observed.sample.workload.targets).max().unwrap_or_default();
    let (together, alone): (Vec<&Long<'_>>, Vec<_>) =
        long.iter().partition(|one| one.observed.sample.workload.targets == most);
    let mut limits: Vec<Limit> = Vec::new();
    // Reads once more: what writes show is then known, and the bucket may have been empty when reads began.
    for operation in [Operation::Read, Operation::Write, Operation::Read] {
        let others = of_others(cells, operation);
        let of = |all: &[&'_ Long<'_>]| {
            let (of, other): (Vec<_>, Vec<_>) = all.iter().copied().partition(|one| one.is_of(operation));
            of_operation(of.into_iter(), &other, &limits, &others)
        };
        let of_one = of(&alone);
        let is_found = |what: Quantity| {
            limits.iter().any(|limit| limit.what == what && limit.operation.is_none_or(|of| of == operation))
        };
        let found: Vec<Limit> = of(&together).into_iter().filter(|limit| !is_found(limit.what)).collect();
        for mut limit in found {
            // If one target has less alone, each has a limit of its own, and this is their sum.
            let own = of_one.iter().filter(|one| one.what == limit.what);
            if own.into_iter().any(|one| !is_same(&one.sustained, &limit.sustained)) {
                limit.shared_by.clear();
            }
            let same = |other: &&mut Limit| other.what == limit.what && is_same(&other.sustained, &limit.sustained);
            match limits.iter_mut().find(same).filter(|_| !is_for_each(&limit, &together)) {
                Some(both) => {
                    both.operation = None;
                    both.confidence = both.confidence.max(limit.confidence);
                    both.samples.extend(&limit.samples);
                }
                None => limits.push(limit),
            }
        }
    }
    join::those_of_bytes(&mut limits, &together);
    limits.iter_mut().for_each(|limit| add_what_went_before(limit, &long, most));
    group::add_configured(&mut limits, &together);
    // A drive that takes a moment's writes into its cache has no limit; a throttle of writes alone passes as little at first.
    let are_virtual = long.iter().all(|one| is_virtual(&one.observed.sample.environment));
    if !are_virtual {
        let all = limits.clone();
        limits.retain(|limit| {
            let is_long = limit.burst_seconds.is_some_and(|burst_s| burst_s > SHORT_S);
            !limit.may_be_a_cache(&all) || is_long
        });
    }
    limits.iter_mut().for_each(|limit| limit.sentence = limit.words());
    let caches: Vec<bool> = limits.iter().map(|limit| limit.may_be_a_cache(&limits)).collect();
    for (limit, _) in limits.iter_mut().zip(caches).filter(|(_, may_be)| *may_be) {
        limit.sentence += " None was found for reads: a write cache that fills up shows this too.";
        if !are_virtual {
            limit.confidence = Sureness::Likely;
        }
    }
    known::say_what_is_known(&mut limits);
    limits
}

/// Adds to the burst of a limit in bytes what earlier samples moved beyond the rate that lasts. It came from the same bucket, which
/// the sample that shows the limit then found empty, or nearly. `most` is the largest number of targets together.
fn add_what_went_before(limit: &mut Limit, long: &[Long<'_>], most: u32) {
    let is_one_bucket = most == 1 || !limit.shared_by.is_empty();
    if limit.what != Quantity::BytesPerSecond || limit.operation.is_some() || !is_one_bucket {
        return;
    }
    let shows = |one: &&Long<'_>| limit.samples.contains(&one.observed.id);
    let first = long.iter().filter(shows).map(|one| one.observed.sample.started_at).min();
    let lasts = limit.sustained.value;
    let rate = |one: &Long<'_>| one.observed.sample.total.bytes_per_s.0;
    let is_before = |one: &&Long<'_>| {
        let starts_before = first.is_some_and(|first| one.observed.sample.started_at < first);
        starts_before && one.course.burst.is_none() && rate(one) > lasts * (1.0 + BEYOND)
    };
    let before = || long.iter().filter(is_before);
    let seconds: f64 = before().map(|one| one.course.seconds).sum();
    if seconds == 0.0 {
        return;
    }
    let burst = before().map(|one| rate(one) * one.course.seconds).sum::<f64>() / seconds;
    let own = limit.burst.zip(limit.burst_seconds).map_or(0.0, |(rate, seconds)| (rate - lasts) * seconds);
    limit.burst = Some(burst);
    limit.burst_seconds = Some(seconds + own / (burst - lasts));
    limit.refill_per_s = Some(lasts);
    limit.confidence = Sureness::Sure;
}

/// Request sizes and bytes per second of the direct samples of an operation, long or not.
fn of_others(cells: &[Cell<'_>], operation: Operation) -> Vec<(Bytes, f64)> {
    let of = |cell: &&Cell<'_>| cell.workload.operation == operation && cell.workload.buffering.is_direct();
    let samples = cells.iter().filter(of).flat_map(|cell| &cell.repetitions).map(|one| one.sample);
    samples.map(|sample| (sample.workload.request_size, sample.total.bytes_per_s.0)).collect()
}

/// Whether reads and writes together exceed the limit of either: each then has its own.
fn is_for_each(limit: &Limit, long: &[&Long<'_>]) -> bool {
    let rate = |one: &&Long<'_>| match limit.what {
        Quantity::BytesPerSecond => one.course.bytes_per_s().value,
        _ => one.course.requests_per_s.value,
    };
    let mixes = long.iter().filter(|one| matches!(one.observed.sample.workload.operation, Operation::Mix(_)));
    mixes.map(rate).any(|rate| rate > limit.sustained.value * (1.0 + APART_FOR_EACH))
}

/// What a long sample shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A limit.
    Limit,
    /// A rate that falls at the end, or a regular one that may be of a burst: a longer sample would tell.
    Unsettled,
    /// Neither.
    Nothing,
}

/// What a sample shows.
pub fn shown_by(sample: &Sample) -> Shown {
    match Course::of(sample) {
        // A bucket of the burst's rate may hide the one of the rate that lasts.
        Some(course) if course.is_regular && course.burst.is_some_and(|burst| burst.seconds > SHORT_S) => Shown::Limit,
        Some(course) if is_held(&course, sample) => Shown::Unsettled,
        Some(course) if course.falls_late => Shown::Unsettled,
        _ => Shown::Nothing,
    }
}

/// Whether a limiter held a long sample at its end: it fell to a regular rate, or that of a virtual disk was exact while requests
/// waited, but not for the CPU or a program. What waits takes longer than the fastest; a device that is not saturated gives regular rates too.
fn is_held(course: &Course, sample: &Sample) -> bool {
    let latency = &sample.total.latency_ns;
    let waits = latency.p50.zip(latency.min).is_some_and(|(p50, min)| p50 as f64 >= WAITING * min as f64);
    let for_cpu = sample.cpu.system.is_some_and(|account| account.busy_s >= FULL * account.total_s());
    // A program of this host goes at the pace of its thread, which may be as regular.
    let is_a_providers = is_virtual(&sample.environment) && !sample.environment.all_targets().any(is_fuse);
    course.is_regular && (course.burst.is_some() || waits && !for_cpu && is_a_providers && course.is_exact)
}

fn is_fuse(target: &TargetFacts) -> bool {
    target.filesystem.as_deref().is_some_and(|filesystem| filesystem.starts_with("fuse"))
}

/// Whether what is seen as a disk is a program's or a provider's.
pub(crate) fn is_virtual(environment: &Environment) -> bool {
    let by_transport = ["virtio", "hyper-v", "network"];
    let by_model = ["Elastic Block Store", "PersistentDisk", "QEMU", "Virtual", "VBOX", "VMware"];
    let is_virtual = |target: &TargetFacts| {
        target.transport.as_deref().is_some_and(|transport| by_transport.contains(&transport))
            || target.model.as_deref().is_some_and(|model| by_model.iter().any(|word| model.contains(word)))
            || is_fuse(target)
    };
    environment.all_targets().all(is_virtual)
}

/// The limits that the smallest and the largest requests of an operation show. With one size it is not known what is counted.
/// `besides` are long samples of other operations, `known` their limits; `others` are request sizes and bytes per second of all
/// samples of the operation.
fn of_operation<'a, 'b: 'a>(
    long: impl Iterator<Item = &'a Long<'b>> + Clone,
    besides: &[&Long<'_>],
    known: &[Limit],
    others: &[(Bytes, f64)],
) -> Vec<Limit> {
    let size = |long: &&Long<'_>| long.observed.sample.workload.request_size;
    // Of the same size the one with a regular end, which a burst came before: another may have ended within the burst.
    let shown = |long: &&Long<'_>| (long.course.is_regular, long.course.burst.is_some());
    let small = long.clone().min_by_key(|one| (size(one), Reverse(shown(one))));
    let (Some(small), Some(large)) = (small, long.max_by_key(|one| (size(one), shown(one)))) else {
        return Vec::new();
    };
    // Without a burst there is no bucket from which short samples could be a little faster: that is a device whose rate is regular.
    let is_passed = |one: &Long<'_>| {
        let (own, rate) = (one.observed.sample.workload.request_size, one.course.bytes_per_s().value);
        let reached = others.iter().filter(|(size, _)| *size == own).map(|(_, other)| other / rate);
        let reached: Vec<f64> = reached.filter(|ratio| *ratio > 1.0 - BEYOND).collect();
        let faster = reached.iter().filter(|ratio| (1.0 + BEYOND..A_LITTLE).contains(*ratio)).count();
        one.course.burst.is_none() && faster >= 2 && 2 * faster >= reached.len()
    };
    let is_held = |one: &Long<'_>| {
        is_held(&one.course, one.observed.sample) && !is_passed(one) && !one.falls_as_a_device() || one.is_at(known)
    };
    if size(&large).0 < APART * size(&small).0 {
        // Large requests that moved more in a short time are held by no limit in bytes that would hold the small ones.
        let is_large = |(size, _): &&(Bytes, f64)| size.0 >= APART * small.observed.sample.workload.request_size.0;
        let moved = others.iter().filter(is_large).map(|(_, rate)| *rate).fold(0.0, f64::max);
        let is_in_requests = is_held(small) && moved > small.course.bytes_per_s().value * (1.0 + APART_FOR_EACH);
        return if is_in_requests { vec![small.limit(Quantity::RequestsPerSecond)] } else { Vec::new() };
    }
    let [is_small_held, is_large_held] = [small, large].map(is_held);
    // A limit in bytes holds small requests too if they move as many.
    let small_in_bytes = is_same(&small.course.bytes_per_s(), &large.course.bytes_per_s());
    // A limit in requests holds large ones too if they come at the same rate, or in the parts that the kernel counted, or in parts
    // at exactly the same rate: of eight possible rates one may be near.
    let off = |parts: f64| (large.course.requests_per_s.value * parts / small.course.requests_per_s.value - 1.0).abs();
    let is_in_parts = (2..=large.parts_max()).any(|parts| off(parts as f64) < EQUAL);
    // Pages that lie apart make more parts, and may become so while it runs; QEMU joins some of them again before it counts.
    let is_as_counted = large.at_device().is_some_and(|(parts, requests_per_s)| {
        let counted = small.course.requests_per_s.value / large.course.requests_per_s.value;
        let is_joined = parts <= JOINED_MAX && (1.0..=parts).contains(&counted);
        is_joined || off(parts) < SAME || (requests_per_s / small.course.requests_per_s.value - 1.0).abs() < SAME
    });
    let large_in_requests = is_small_held && (off(1.0) < SAME || is_as_counted || is_in_parts);
    let requests = (is_small_held && !small_in_bytes).then(|| small.limit(Quantity::RequestsPerSecond));
    // A virtual disk without a limit may be as regular with large requests, if the host's CPU copies them; but not equally fast
    // for reads and writes, and for both together or other sizes.
    let is_equal = |rate: f64| (rate / large.course.bytes_per_s().value - 1.0).abs() < EQUAL;
    let equal = besides.iter().filter(|one| size(one) == size(&large) && is_equal(one.course.bytes_per_s().value));
    let equal = equal.map(|one| one.observed.sample.workload.operation);
    let (mixes, other): (Vec<_>, Vec<_>) = equal.partition(|operation| matches!(operation, Operation::Mix(_)));
    let sizes: BTreeSet<Bytes> = others.iter().filter(|(_, rate)| is_equal(*rate)).map(|(size, _)| *size).collect();
    let are_all_equal = !other.is_empty() && (!mixes.is_empty() || sizes.len() >= SIZES_EQUAL);
    let is_large_limited =
        is_large_held && (large.course.burst.is_some() || is_small_held || large.waits_for_nothing() || are_all_equal);
    // Small requests that are held at the rate of large ones show a limit in bytes alone: large ones that complete in lumps all wait
    // as long.
    let is_small_limited = is_small_held && small_in_bytes;
    // The first of the two has the burst, if the other found the bucket empty.
    let is_large_empty = (1.0 + EMPTIED) * large.burst_bytes() < small.burst_bytes();
    let with_burst = if is_small_limited && is_large_empty { small } else { large };
    let bytes = (is_small_limited || is_large_limited && !large_in_requests)
        .then(|| with_burst.limit(Quantity::BytesPerSecond));
    requests.into_iter().chain(bytes).collect()
}

fn is_same(one: &Estimate, other: &Estimate) -> bool {
    (one.value / other.value - 1.0).abs() < SAME
}

impl Long<'_> {
    /// Whether it fell by little, to a rate that varies more than a bucket's: a device that became slower.
    fn falls_as_a_device(&self) -> bool {
        let lasts = self.course.requests_per_s;
        let falls_little = self.course.burst.is_some_and(|burst| burst.requests_per_s < FELL * lasts.value);
        falls_little && lasts.relative_half_width().is_some_and(|share| share > EXACT)
    }

    fn is_of(&self, operation: Operation) -> bool {
        self.observed.sample.workload.operation == operation
    }

    /// Whether its rate is that of a limit that is known: exactly, or nearly and regular.
    fn is_at(&self, known: &[Limit]) -> bool {
        let rate = |limit: &Limit| match limit.what {
            Quantity::BytesPerSecond => self.course.bytes_per_s(),
            _ => self.course.requests_per_s,
        };
        let off = |limit: &Limit| (rate(limit).value / limit.sustained.value - 1.0).abs();
        known.iter().any(|limit| off(limit) < if self.course.is_regular { SAME } else { EQUAL })
    }

    /// Whether its fastest request, alone at the device, took less than half of the time that each gets at this rate.
    fn waits_for_nothing(&self) -> bool {
        let least_ns = self.observed.sample.total.latency_ns.min;
        least_ns.is_some_and(|least| least as f64 * 1e-9 * self.course.requests_per_s.value < 1.0 / WAITING)
    }

    /// As how many requests one may count at most.
    fn parts_max(&self) -> u64 {
        let Sample { workload, environment, .. } = self.observed.sample;
        let largest = environment.all_targets().map(|target| target.whole_request_bytes).min().flatten();
        let in_parts_of = |largest: Bytes| workload.request_size.0.div_ceil(largest.min(COUNTED_MAX).0.max(1));
        largest.map_or(PARTS_MAX, in_parts_of)
    }

    /// Requests at the device for each of the program, and per second, where the kernel counted them.
    fn at_device(&self) -> Option<(f64, f64)> {
        let Sample { block, total, elapsed_s, .. } = self.observed.sample;
        let requests = block.as_ref()?.requests as f64;
        Some((requests / total.requests as f64, requests / elapsed_s))
            .filter(|(parts, rate)| (parts + rate).is_finite())
    }

    fn burst_bytes(&self) -> f64 {
        self.course.burst.map_or(0.0, |burst| burst.requests * self.course.request_bytes)
    }

    fn limit(&self, what: Quantity) -> Limit {
        let (sustained, unit) = match what {
            Quantity::BytesPerSecond => (self.course.bytes_per_s(), self.course.request_bytes),
            _ => (self.course.requests_per_s, 1.0),
        };
        let Sample { workload, environment, .. } = self.observed.sample;
        let targets = environment.all_targets().map(|target| target.path.clone());
        let burst = self.course.burst;
        Limit {
            what,
            operation: Some(workload.operation),
            sustained,
            burst: burst.map(|burst| burst.requests_per_s * unit),
            burst_seconds: burst.map(|burst| burst.seconds),
            refill_per_s: burst.map(|_| sustained.value),
            shared_by: if workload.targets > 1 { targets.collect() } else { Vec::new() },
            confidence: if burst.is_some() { Sureness::Sure } else { Sureness::Likely },
            seen_s: self.course.seconds,
            group: None,
            known: None,
            sentence: String::new(),
            samples: vec![self.observed.id],
        }
    }
}

impl Limit {
    /// Whether it may be a write cache that fills up: reads have none of its kind.
    pub(crate) fn may_be_a_cache(&self, all: &[Limit]) -> bool {
        self.burst.is_some()
            && self.group.is_none()
            && all.iter().all(|limit| limit.operation == Some(Operation::Write) || limit.what != self.what)
    }

    /// `60 MB/s (240 MB/s for the first 3 s)`.
    pub fn brief(&self) -> String {
        let rate = self.what.format(self.sustained.value);
        let burst = self.burst.zip(self.burst_seconds).filter(|(_, seconds)| *seconds >= SHORT_S);
        let burst = burst.map(|(rate, seconds)| {
            format!(" ({} for the first {})", self.what.format(rate), Nanoseconds::from_seconds(seconds))
        });
        rate + &burst.unwrap_or_default()
    }

    /// `Reads: 60 MB/s sustained; 240 MB/s for the first 3 s (a burst of 540 MB, refilled at 60 MB/s)`.
    fn words(&self) -> String {
        let of = match self.operation {
            Some(Operation::Read) => "Reads",
            Some(_) => "Writes",
            None => "Reads and writes",
        };
        let together = if self.shared_by.is_empty() { "" } else { " of all targets together" };
        let Some((burst, seconds)) = self.burst.zip(self.burst_seconds) else {
            if let Some(group) = &self.group {
                return format!(
                    "{of}{together}: {} sustained, which the control group {group} allows.",
                    self.sustained
                );
            }
            return format!(
                "{of}{together}: {} throughout {}, likely a limit: the rate is regular while requests wait. If the volume \
                 has credits, it falls later.",
                self.sustained,
                Nanoseconds::from_seconds(self.seen_s)
            );
        };
        let beyond = (burst - self.sustained.value) * seconds;
        let amount = self.what.format(beyond).replace("/s", "").replace("IOPS", "requests");
        let (burst, length) = (self.what.format(burst), Nanoseconds::from_seconds(seconds));
        let refill = self.what.format(self.refill_per_s.unwrap_or(self.sustained.value));
        format!(
            "{of}{together}: {} sustained; {burst} for the first {length} (a burst of {amount}, refilled at {refill}).",
            self.sustained
        )
    }

    /// Whether a sample is faster than the limit allows for long.
    pub(crate) fn is_beyond(&self, sample: &Sample) -> bool {
        let own = match (self.operation, sample.workload.operation) {
            (Some(Operation::Read), Operation::Mix(_)) => sample.read.as_ref(),
            (Some(Operation::Write), Operation::Mix(_)) => sample.write.as_ref(),
            (limited, of) => limited.is_none_or(|limited| limited == of).then_some(&sample.total),
        };
        let rate = own.map_or(0.0, |total| match self.what {
            Quantity::BytesPerSecond => total.bytes_per_s.0,
            _ => total.requests_per_s,
        });
        // A rate that is likely a limit is none for a sample beyond it.
        self.confidence == Sureness::Sure && rate > self.sustained.value * (1.0 + BEYOND)
    }
}
