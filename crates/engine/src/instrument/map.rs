//! Throughput by place: one direct read at each of many places, from the first byte to the last, in random order.
//!
//! WinBench 99 drew such a map for the Windows 2000 study (figure 2), reading from the outer to the inner tracks. Random order
//! separates differences by place from changes over time. Each read is one request. A small read just before it, not counted,
//! moves the arm there. The program finds the bands.

use halfpower_model::key::MAX_REQUEST;
use halfpower_model::permutation::Permutation;
use halfpower_model::{
    Buffering, Bytes, BytesPerSecond, Cancel, Environment, Limits, MeasureError, Operation, Pattern, ResolveError,
    Testbed, Workload, WorkloadSpec,
};
use serde::{Deserialize, Serialize};

/// Size of the read before each read.
const LEAD_BYTES: u64 = 64 << 10;
/// Alignment of places, unless the target needs a larger one.
const STEP_BYTES: u64 = 4096;
/// Minimum duration of a read by default: long compared with the rotational delay after the small read, and with the fixed
/// cost of a request.
const READ_NS: u64 = 10_000_000;
/// The sizes tried for that, and the reads of each.
const SMALLEST_READ: u64 = 256 << 10;
const LARGEST_READ: u64 = 64 << 20;
const TRIES: usize = 3;

/// One read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Number of its place, from 0.
    pub place: u32,
    /// Its first byte.
    pub at_bytes: Bytes,
    /// Bytes over the time of the read.
    pub bytes_per_s: BytesPerSecond,
}

/// The places of a target.
#[derive(Clone, Debug)]
pub struct Places {
    size: u64,
    step: u64,
    lead: u64,
    read: u64,
    count: u64,
}

/// The target is too small for this number of places.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path} has {size}, which does not hold {places} places of {read} each; use a smaller --places or --read-size")]
pub struct TooSmall {
    path: String,
    size: Bytes,
    places: u32,
    read: Bytes,
}

impl Places {
    /// `count` evenly spaced places; the last read ends with the target.
    ///
    /// # Errors
    /// If reads would overlap.
    pub fn new(environment: &Environment, read: Bytes, count: u32) -> Result<Places, TooSmall> {
        let target = &environment.target;
        let step = STEP_BYTES.next_multiple_of(environment.direct_alignment().map_or(1, |alignment| alignment.0));
        let (size, read, count) = (target.size_bytes.0, read.0.next_multiple_of(step), u64::from(count));
        let places = Places { size, step, lead: LEAD_BYTES.next_multiple_of(step), read, count };
        if count > 0 && read <= MAX_REQUEST.0 && (read + places.lead).saturating_mul(count) <= size {
            return Ok(places);
        }
        let path = target.path.clone();
        Err(TooSmall { path, size: Bytes(size), places: count as u32, read: Bytes(read) })
    }

    /// Size of each read.
    pub fn read_size(&self) -> Bytes {
        Bytes(self.read)
    }

    /// The places without a probe, in the order of the seed.
    pub fn left(&self, seed: u64, probes: &[Probe]) -> Vec<u32> {
        let order = Permutation::new(self.count, seed);
        let places = (0..self.count).map(|turn| order.at(turn) as u32);
        places.filter(|place| probes.iter().all(|probe| probe.place != *place)).collect()
    }

    /// The first byte of a place.
    pub fn at(&self, place: u32) -> Bytes {
        let room = self.size - self.lead - self.read;
        let at = u128::from(room) * u128::from(place) / u128::from((self.count - 1).max(1));
        Bytes(self.lead + at as u64 / self.step * self.step)
    }
}

/// The workload that the reads are made from.
///
/// # Errors
/// If the target does not support direct I/O.
pub fn reading(environment: &Environment) -> Result<Workload, ResolveError> {
    let spec = WorkloadSpec {
        operation: Some(Operation::Read),
        pattern: Some(Pattern::Sequential),
        request_size: Some(Bytes(STEP_BYTES.next_multiple_of(environment.direct_alignment().map_or(1, |at| at.0)))),
        buffering: Some(Buffering::Direct),
        ..WorkloadSpec::default()
    };
    spec.resolve(environment)
}

/// The latency of one read, in ns.
fn read_once(
    testbed: &mut dyn Testbed,
    reading: &Workload,
    from: u64,
    length: u64,
    cancel: &Cancel,
) -> Result<u64, MeasureError> {
    let workload = Workload {
        request_size: Bytes(length),
        offset: Bytes(from),
        span: Bytes(from + length),
        limits: Limits { duration: None, requests: Some(1), bytes: None },
        ..reading.clone()
    };
    let took_ns = super::measure(testbed, &workload, cancel)?.total.latency_ns.max;
    took_ns.map(|took_ns| took_ns.max(1)).ok_or(MeasureError::Cancelled)
}

/// The read size that takes about 10 ms in the middle of the target: 256 KiB to 64 MiB, less if the places would overlap.
///
/// # Errors
/// If a read fails.
pub fn suitable_read(
    testbed: &mut dyn Testbed,
    reading: &Workload,
    count: u32,
    cancel: &Cancel,
) -> Result<Bytes, MeasureError> {
    let size = testbed.describe().target.size_bytes.0;
    let room = (size / u64::from(count.max(1))).saturating_sub(LEAD_BYTES);
    let least = reading.request_size.0;
    let mut read = SMALLEST_READ.next_multiple_of(least);
    while read < LARGEST_READ && read * 2 <= room {
        let first = (size / 2).saturating_sub(read * TRIES as u64 / 2) / least * least;
        let mut took: Vec<u64> = (0..TRIES)
            .map(|index| read_once(testbed, reading, first + index as u64 * read, read, cancel))
            .collect::<Result<_, _>>()?;
        took.sort_unstable();
        if took[TRIES / 2] >= READ_NS {
            break;
        }
        read *= 2;
    }
    Ok(Bytes(read.min(room / least * least).max(least)))
}

/// Reads one place.
///
/// # Errors
/// If the read fails or is cancelled.
pub fn probe(
    testbed: &mut dyn Testbed,
    reading: &Workload,
    places: &Places,
    place: u32,
    cancel: &Cancel,
) -> Result<Probe, MeasureError> {
    if cancel.is_cancelled() {
        return Err(MeasureError::Cancelled);
    }
    let at = places.at(place).0;
    read_once(testbed, reading, at - places.lead, places.lead, cancel)?;
    let took_ns = read_once(testbed, reading, at, places.read, cancel)?;
    let bytes_per_s = BytesPerSecond(places.read as f64 / took_ns as f64 * 1e9);
    Ok(Probe { place, at_bytes: Bytes(at), bytes_per_s })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::environment;
    use halfpower_model::{TargetFacts, TargetKind};

    fn disk(size: u64) -> Environment {
        let facts = TargetFacts {
            direct_alignment_bytes: Some(Bytes(512)),
            ..TargetFacts::bare("disk", TargetKind::BlockDevice, Bytes(size))
        };
        environment(facts, Vec::new())
    }

    #[test]
    fn places_reach_from_the_first_byte_to_the_last() {
        let places = Places::new(&disk(1 << 30), Bytes::MIB, 256).unwrap();
        assert_eq!(places.at(0), Bytes(LEAD_BYTES));
        assert_eq!(places.at(255), Bytes((1 << 30) - (1 << 20)));
        let apart: Vec<u64> = (1..256).map(|place| places.at(place).0 - places.at(place - 1).0).collect();
        assert!(apart.iter().max().unwrap() - apart.iter().min().unwrap() <= STEP_BYTES, "{apart:?}");
        assert_eq!(Places::new(&disk(1 << 30), Bytes::MIB, 1).unwrap().at(0), Bytes(LEAD_BYTES));
    }

    #[test]
    fn reads_that_would_overlap_are_refused() {
        let error = Places::new(&disk(64 << 20), Bytes::MIB, 64).unwrap_err();
        assert!(error.to_string().contains("does not hold 64 places"), "{error}");
        assert!(Places::new(&disk(68 << 20), Bytes::MIB, 64).is_ok());
        assert!(Places::new(&disk(1 << 30), Bytes::MIB, 0).is_err());
        assert!(Places::new(&disk(u64::MAX), Bytes(2 << 30), 4).is_err(), "no request is so large");
    }
}
