//! What of each workload's samples lasts: neither a burst, nor what a write cache holds.

use super::course::Course;
use super::group::exceeds_configured;
use super::{BEYOND, FELL, Limit, with_parts};
use crate::cells::{Cell, Observed, gather, is_in_buffer};
use crate::comparable::{Axis, bare};
use halfpower_model::{Operation, Pattern, Sample, Workload};
use std::collections::HashMap;

/// A sample that may have filled a write cache lasts so long.
const LONG_S: f64 = 0.5;
/// As `BEYOND`, of writes that a cache may hold, against a long sample that varies as the cache fills and empties.
const BEYOND_CACHE: f64 = 0.1;
/// A long sample within a write cache bounds samples that wrote less than this part of its bytes: a quarter. Set by hand.
const MANY: u64 = 4;

/// The rate that lasts of each sample of a run, as a share of its own; none of a burst, unless there is nothing else.
pub(crate) fn shares_that_last(samples: &[&Sample]) -> Vec<Option<f64>> {
    let mut numbers: HashMap<Workload, u32> = HashMap::new();
    let observed = samples.iter().enumerate().map(|(place, sample)| {
        let next = numbers.len() as u32;
        let cell = *numbers.entry(bare(&sample.workload, &[Axis::Warmup])).or_insert(next);
        Observed { id: place as i64, cell, block: place as u32, sample }
    });
    let observed: Vec<Observed<'_>> = observed.collect();
    let cells = gather(&observed);
    let (_, parts) = with_parts(&cells);
    let mut shares = vec![Some(1.0); samples.len()];
    for (cell, parts) in cells.iter().zip(parts) {
        for (one, part) in cell.repetitions.iter().zip(parts) {
            let of_end = |course: Course| course.requests_per_s.value / one.sample.total.requests_per_s;
            shares[one.id as usize] = match part {
                Part::None => None,
                Part::Whole => Some(1.0),
                Part::End(course) => Some(of_end(course)).filter(|share| share.is_finite()),
            };
        }
    }
    if shares.iter().all(Option::is_none) { vec![Some(1.0); samples.len()] } else { shares }
}

/// Operation, pattern, whether it is direct.
type Kind = (Operation, Pattern, bool);

fn kind(workload: &Workload) -> Kind {
    (workload.operation, workload.pattern, workload.buffering.is_direct())
}

/// What a long sample showed to last.
struct Lasting {
    kind: Kind,
    requests_per_s: f64,
    bytes_per_s: f64,
    /// Whether only those that a write cache may hold do not.
    of_cache: bool,
    /// By how much others exceed it.
    beyond: f64,
    /// The maximum of bytes of a sample that it bounds.
    bytes_max: u64,
}

/// What lasted of each kind that fell after a burst, and of each that wrote more than a cache holds, or many times as much as others.
fn lasting(cells: &[Cell<'_>], courses: &[Vec<Option<Course>>]) -> Vec<Lasting> {
    let of = |(cell, courses): (&Cell<'_>, &Vec<Option<Course>>)| {
        let kind = kind(cell.workload);
        let fell = courses.iter().flatten().filter(|course| course.burst.is_some());
        let fell = fell.max_by(|one, other| one.requests_per_s.value.total_cmp(&other.requests_per_s.value));
        let fell = fell.map(|course| {
            let (requests_per_s, bytes_per_s) = (course.requests_per_s.value, course.bytes_per_s().value);
            Lasting { kind, requests_per_s, bytes_per_s, of_cache: false, beyond: BEYOND, bytes_max: u64::MAX }
        });
        let long = cell.repetitions.iter().map(|one| one.sample).find(|sample| sample.elapsed_s >= LONG_S);
        let long = long.filter(|sample| sample.workload.operation.writes()).map(|sample| {
            let (requests_per_s, bytes_per_s) = (sample.total.requests_per_s, sample.total.bytes_per_s.0);
            let (beyond, bytes_max) = match is_in_buffer(sample) {
                true => (FELL - 1.0, sample.total.bytes / MANY),
                false => (BEYOND_CACHE, u64::MAX),
            };
            Lasting { kind, requests_per_s, bytes_per_s, of_cache: true, beyond, bytes_max }
        });
        [fell, long].into_iter().flatten().collect::<Vec<_>>()
    };
    cells.iter().zip(courses).flat_map(of).collect()
}

/// The part of a sample whose rate lasts, with the course of its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part {
    None,
    Whole,
    End(Course),
}

/// What lasts of each repetition of each cell.
pub(super) fn parts(cells: &[Cell<'_>], courses: &[Vec<Option<Course>>], limits: &[Limit]) -> Vec<Vec<Part>> {
    let lasting = lasting(cells, courses);
    let of_cell = |(cell, courses): (&Cell<'_>, &Vec<Option<Course>>)| of_cell(cell, courses, limits, &lasting);
    cells.iter().zip(courses).map(of_cell).collect()
}

/// What lasts of each repetition: of a long sample the end, others if they are within the limits and within what lasts in a cell of
/// their kind, which may be a cache that fills up.
fn of_cell(cell: &Cell<'_>, courses: &[Option<Course>], limits: &[Limit], lasting: &[Lasting]) -> Vec<Part> {
    // What a cache of the device empties at, it does for buffered writes too.
    let own = kind(cell.workload);
    let is_of = |one: &&Lasting| one.kind == own || one.of_cache && (one.kind.0, one.kind.1) == (own.0, own.1);
    let of_kind: Vec<&Lasting> = lasting.iter().filter(is_of).collect();
    let exceeds = |one: &Lasting, sample: &Sample| {
        // More requests that are smaller, or fewer that are larger, may last.
        sample.total.bytes <= one.bytes_max
            && sample.total.requests_per_s > one.requests_per_s * (1.0 + one.beyond)
            && sample.total.bytes_per_s.0 > one.bytes_per_s * (1.0 + one.beyond)
    };
    let is_beyond_all = |sample: &Sample, of_cache: bool| {
        let mut those = of_kind.iter().filter(|one| one.of_cache == of_cache).peekable();
        those.peek().is_some() && those.all(|one| exceeds(one, sample))
    };
    let is_beyond = |sample: &Sample| {
        is_beyond_all(sample, false)
            || is_in_buffer(sample) && is_beyond_all(sample, true)
            || limits.iter().any(|limit| limit.is_beyond(sample))
            || exceeds_configured(sample)
    };
    let part = |(one, course): (&Observed<'_>, &Option<Course>)| match course {
        Some(course) if course.burst.is_some() => Part::End(*course),
        _ if is_beyond(one.sample) => Part::None,
        _ => Part::Whole,
    };
    cell.repetitions.iter().zip(courses).map(part).collect()
}

/// Keeps the rates of a cell that last. A cell without any is of a burst.
pub(super) fn leave_bursts_out(cell: &mut Cell<'_>, parts: &[Part]) {
    let rates = |field: &str, own: fn(&Sample) -> f64, of_end: fn(&Course) -> f64| -> Vec<f64> {
        let known = cell.repetitions.iter().zip(parts).filter(|(one, _)| one.sample.is_known(field));
        let rate = |(one, part): (&Observed<'_>, &Part)| match part {
            Part::End(course) => Some(of_end(course)),
            Part::Whole => Some(own(one.sample)),
            Part::None => None,
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
