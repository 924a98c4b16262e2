//! Limits of a rate-limited storage: what lasts, and what is a burst.
//!
//! A cloud's volume, a virtual disk, a control group or a storage network holds requests back by token buckets: one of bytes, one
//! of requests, or both. Long samples of small random requests reach the one, of large sequential requests the other. A limit is
//! named if the rate at the end is regular and a burst came before: a bucket passes at once what was left unused, for QEMU's and
//! the kernel's throttles at least a tenth of a second.
//! Sources: `course`; QEMU, docs/throttle.txt; Linux, block/blk-throttle.c.

mod course;

use crate::cells::{Cell, Observed};
use course::{Burst, Course};
use halfpower_model::{Bytes, Estimate, Nanoseconds, Operation, Quantity, Sample};
use serde::Serialize;

/// Two rates so close are those of one limit.
const SAME: f64 = 0.03;
/// A sample faster than the limit by more than this is of a burst.
const BEYOND: f64 = 0.05;
/// How many times as large the largest requests are at least as the smallest, to tell what is counted.
const APART: u64 = 8;
/// Requests as which the kernel may pass on one, because the device takes no larger ones.
const PARTS_MAX: u32 = 8;

/// A limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// Bytes or requests per second.
    pub what: Quantity,
    /// Reads or writes; none if both have it.
    pub operation: Option<Operation>,
    /// The rate that lasts.
    pub sustained: Estimate,
    /// The rate of the burst before.
    pub burst: f64,
    /// Its length, at that rate.
    pub burst_seconds: f64,
    /// What refills the bucket, per second.
    pub refill_per_s: f64,
    /// Targets that share it.
    pub shared_by: Vec<String>,
    /// In one sentence.
    pub sentence: String,
    /// Store numbers of its samples.
    pub samples: Vec<i64>,
}

/// A long sample.
struct Long<'a> {
    observed: Observed<'a>,
    course: Course,
}

/// The limits that long samples show. Cells keep only rates that last.
pub(crate) fn of(cells: &mut [Cell<'_>]) -> Vec<Limit> {
    let courses_of = |cell: &Cell<'_>| cell.repetitions.iter().map(|one| Course::of(one.sample)).collect();
    let courses: Vec<Vec<Option<Course>>> = cells.iter().map(courses_of).collect();
    let limits = find(cells, &courses);
    for (cell, courses) in cells.iter_mut().zip(&courses) {
        leave_bursts_out(cell, courses, &limits);
    }
    limits
}

fn find(cells: &[Cell<'_>], courses: &[Vec<Option<Course>>]) -> Vec<Limit> {
    let each = cells.iter().zip(courses).flat_map(|(cell, courses)| cell.repetitions.iter().zip(courses));
    let long: Vec<Long<'_>> =
        each.filter_map(|(one, course)| Some(Long { observed: *one, course: (*course)? })).collect();
    let mut limits: Vec<Limit> = Vec::new();
    for operation in [Operation::Read, Operation::Write] {
        let of = long.iter().filter(|one| one.observed.sample.workload.operation == operation);
        for limit in of_operation(&of.collect::<Vec<_>>()) {
            let same = |other: &&mut Limit| other.what == limit.what && is_same(&other.sustained, &limit.sustained);
            match limits.iter_mut().find(same) {
                Some(both) => {
                    both.operation = None;
                    both.samples.extend(&limit.samples);
                }
                None => limits.push(limit),
            }
        }
    }
    limits.iter_mut().for_each(|limit| limit.sentence = limit.words());
    limits
}

/// Whether a sample shows a limit.
pub fn shows_a_limit(sample: &Sample) -> bool {
    Course::of(sample).is_some_and(|course| course.is_limited())
}

/// The limits that the smallest and the largest requests of an operation show. With one size it is not known what is counted.
fn of_operation(long: &[&Long<'_>]) -> Vec<Limit> {
    let size = |long: &&&Long<'_>| long.observed.sample.workload.request_size;
    let (Some(small), Some(large)) = (long.iter().min_by_key(size), long.iter().max_by_key(size)) else {
        return Vec::new();
    };
    if size(&large).0 < APART * size(&small).0 {
        return Vec::new();
    }
    // A limit in bytes holds small requests too if they move as many.
    let small_in_bytes = is_same(&small.course.bytes_per_s(), &large.course.bytes_per_s());
    // A limit in requests holds large ones too if they come at the same rate, or in parts at the same rate.
    let in_parts = |parts: u32| large.course.requests_per_s.value * f64::from(parts);
    let large_in_requests = small.course.is_limited()
        && (1..=PARTS_MAX).any(|parts| (in_parts(parts) / small.course.requests_per_s.value - 1.0).abs() < SAME);
    let requests = (small.course.is_limited() && !small_in_bytes).then(|| small.limit(Quantity::RequestsPerSecond));
    let bytes = (large.course.is_limited() && (small_in_bytes || !large_in_requests))
        .then(|| large.limit(Quantity::BytesPerSecond));
    requests.into_iter().flatten().chain(bytes.flatten()).collect()
}

/// Keeps the rates of a cell that last: of a long sample that at its end, of others those within the limits and within what lasts
/// in the same cell. Where there are none, all are of a burst.
fn leave_bursts_out(cell: &mut Cell<'_>, courses: &[Option<Course>], limits: &[Limit]) {
    let with_burst = |course: &Option<Course>| course.filter(|course| course.burst.is_some());
    let lasting = courses.iter().filter_map(with_burst).map(|course| course.requests_per_s.value).reduce(f64::max);
    if lasting.is_none() && limits.is_empty() {
        return;
    }
    let is_beyond = |sample: &Sample| {
        lasting.is_some_and(|lasting| sample.total.requests_per_s > lasting * (1.0 + BEYOND))
            || limits.iter().any(|limit| limit.is_beyond(sample))
    };
    let rates = |field: &str, own: fn(&Sample) -> f64, of_end: fn(&Course) -> f64| -> Vec<f64> {
        let known = cell.repetitions.iter().zip(courses).filter(|(one, _)| one.sample.is_known(field));
        let rate = |(one, course): (&Observed<'_>, &Option<Course>)| match with_burst(course) {
            Some(course) => Some(of_end(&course)),
            None => (!is_beyond(one.sample)).then(|| own(one.sample)),
        };
        known.filter_map(rate).collect()
    };
    let bytes = rates("total.bytes_per_s", |one| one.total.bytes_per_s.0, |end| end.bytes_per_s().value);
    let requests = rates("total.requests_per_s", |one| one.total.requests_per_s, |end| end.requests_per_s.value);
    cell.is_burst = bytes.is_empty() && requests.is_empty() && !cell.repetitions.is_empty();
    if !cell.is_burst {
        (cell.bytes_per_s, cell.requests_per_s) = (bytes, requests);
    }
}

fn is_same(one: &Estimate, other: &Estimate) -> bool {
    (one.value / other.value - 1.0).abs() < SAME
}

impl Long<'_> {
    fn limit(&self, what: Quantity) -> Option<Limit> {
        let (sustained, unit) = match what {
            Quantity::BytesPerSecond => (self.course.bytes_per_s(), self.course.request_bytes),
            _ => (self.course.requests_per_s, 1.0),
        };
        let Burst { seconds, requests_per_s, .. } = self.course.burst?;
        let Sample { workload, environment, .. } = self.observed.sample;
        let targets = environment.all_targets().map(|target| target.path.clone());
        Some(Limit {
            what,
            operation: Some(workload.operation),
            sustained,
            burst: requests_per_s * unit,
            burst_seconds: seconds,
            refill_per_s: sustained.value,
            shared_by: if workload.targets > 1 { targets.collect() } else { Vec::new() },
            sentence: String::new(),
            samples: vec![self.observed.id],
        })
    }
}

impl Limit {
    /// `Reads: 60 MB/s sustained; 240 MB/s for the first 3 s (a burst of 540 MB)`.
    fn words(&self) -> String {
        let of = match self.operation {
            Some(Operation::Read) => "Reads",
            Some(_) => "Writes",
            None => "Reads and writes",
        };
        let together = if self.shared_by.is_empty() { "" } else { " of all targets together" };
        let beyond = (self.burst - self.sustained.value) * self.burst_seconds;
        let amount = match self.what {
            Quantity::BytesPerSecond => Bytes(beyond as u64).to_string(),
            _ => format!("{beyond:.0} requests"),
        };
        let (burst, length) = (self.what.format(self.burst), Nanoseconds::from_seconds(self.burst_seconds));
        format!("{of}{together}: {} sustained; {burst} for the first {length} (a burst of {amount}).", self.sustained)
    }

    /// Whether a sample is faster than the limit allows for long.
    pub(crate) fn is_beyond(&self, sample: &Sample) -> bool {
        let (operation, total) = (sample.workload.operation, &sample.total);
        let rate = match self.what {
            Quantity::BytesPerSecond => total.bytes_per_s.0,
            _ => total.requests_per_s,
        };
        self.operation.is_none_or(|of| of == operation) && rate > self.sustained.value * (1.0 + BEYOND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Normal, Run, deep, random, read, write};
    use halfpower_model::sample::Interval;
    use halfpower_model::{FindingCode, Limits, Workload};

    /// A bucket: what refills it per second, and what it holds.
    #[derive(Clone, Copy, Default)]
    struct Bucket(f64, f64);

    /// A run of a device with so many requests of 4 KiB and MB per second, behind buckets of requests and of bytes: small
    /// and large requests for six seconds, then five short repetitions of them and of fewer outstanding.
    fn run(requests: Option<Bucket>, bytes: Option<Bucket>) -> Run {
        let (mut run, mut normal) = (Run::default(), Normal::new(1));
        for large in [false, true] {
            for workload in [read(4), write(4)] {
                let size = if large { 1 << 20 } else { 4096 };
                let limits = Limits { duration: Some(Nanoseconds(6_000_000_000)), ..workload.limits };
                let workload = Workload { request_size: Bytes(size), limits, ..deep(32, workload) };
                let workload = if large { workload } else { random(workload) };
                let device = if large { 2000.0 } else { 100_000.0 };
                let mut left = [requests, bytes].map(|bucket| bucket.map_or(f64::INFINITY, |bucket| bucket.1));
                let mut step = |seconds: f64| {
                    let mut done = device * seconds * (1.0 + 0.03 * normal.draw());
                    for (left, (bucket, cost)) in left.iter_mut().zip([(requests, 1.0), (bytes, size as f64)]) {
                        if let Some(Bucket(per_s, most)) = bucket {
                            *left = (*left + per_s * seconds).min(most);
                            done = done.min(*left / cost);
                        }
                    }
                    left[0] -= done;
                    left[1] -= done * size as f64;
                    done
                };
                let rates: Vec<f64> = (0..300).map(|_| step(0.02) / 0.02).collect();
                let short: Vec<f64> = (0..4).map(|_| step(0.02) / 0.02 * size as f64).collect();
                let first = rates.iter().sum::<f64>() / 300.0 * size as f64;
                let cell = run.add(workload.clone(), &[[first].as_slice(), &short].concat());
                let sample = run.samples.iter_mut().find(|placed| placed.cell == cell).map(|placed| &mut placed.sample);
                let (mut at_s, mut done) = (0.0, 0.0);
                sample.unwrap().intervals = rates
                    .iter()
                    .map(|rate| {
                        at_s += 0.02;
                        let before = done as u64;
                        done += rate * 0.02;
                        let requests = done as u64 - before;
                        Interval { at_s, requests, bytes: requests * size, latency_p50_ns: None, latency_p99_ns: None }
                    })
                    .collect();
                // What is not long is of a full bucket, and one outstanding needs less than the limits.
                run.add(Workload { depth: 4, ..workload.clone() }, &[device * size as f64; 5]);
                run.add(Workload { depth: 1, ..workload }, &[1000.0 * 4096.0; 5]);
            }
        }
        run
    }

    fn told(requests: Option<Bucket>, bytes: Option<Bucket>) -> Vec<String> {
        crate::analyse(&run(requests, bytes).observed()).limits.into_iter().map(|limit| limit.sentence).collect()
    }

    #[test]
    fn a_limit_is_named_with_what_it_counts() {
        assert_eq!(told(None, None), [""; 0]);
        assert_eq!(
            told(Some(Bucket(3000.0, 300.0)), None),
            [
                "Reads and writes: 3\u{202f}000 IOPS ± 0.1 % sustained; 15\u{202f}000 IOPS for the first 20 ms (a burst of 240 requests)."
            ]
        );
        assert_eq!(
            told(None, Some(Bucket(60e6, 300e6))),
            ["Reads and writes: 60 MB/s ± 0.9 % sustained; 1.93 GB/s for the first 160 ms (a burst of 284.8 MiB)."]
        );
        let both = crate::analyse(&run(Some(Bucket(2000.0, 8000.0)), Some(Bucket(100e6, 10e6))).observed()).limits;
        let sustained = both.iter().map(|limit| (limit.what, limit.sustained.value)).collect::<Vec<_>>();
        let [(Quantity::RequestsPerSecond, requests), (Quantity::BytesPerSecond, bytes)] = sustained[..] else {
            panic!("{both:?}");
        };
        assert!((requests / 2000.0 - 1.0).abs() < 0.02 && (bytes / 100e6 - 1.0).abs() < 0.02, "{both:?}");
    }

    #[test]
    fn a_peak_is_what_lasts() {
        let run = run(Some(Bucket(3000.0, 6000.0)), Some(Bucket(60e6, 300e6)));
        let peaks = run.findings(FindingCode::Peak);
        assert!(!peaks.is_empty());
        for peak in peaks {
            let rate = peak.estimates[0].value;
            assert!(rate < 61e6 && !(3100.0..59e6).contains(&rate), "{}", peak.sentence);
        }
    }
}
