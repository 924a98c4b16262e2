//! Counters of a worker, shared with the watching thread.
//!
//! Only the worker writes: plain loads and stores, no locked instruction in the hot loop. The watching thread reads the
//! same counters for progress and intervals; a reading may be a few requests behind, never torn.

use crate::shared_memory::Zeroed;
use halfpower_model::Histogram;
use halfpower_model::histogram::{BUCKETS, bucket_of};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of one kind of request of one worker. Begins as zeros, in memory that processes may share.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Recorder {
    counts: [AtomicU64; BUCKETS],
    bytes: AtomicU64,
    sum_ns: AtomicU64,
    /// `u64::MAX` less the smallest latency; zero before the first request.
    least_inverted: AtomicU64,
    max_ns: AtomicU64,
    short_transfers: AtomicU64,
}

// SAFETY: numbers only, each of which may be zero, changed as atomics.
unsafe impl Zeroed for Recorder {}

/// The sum of the counts of some recorders at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    counts: Vec<u64>,
    pub(crate) bytes: u64,
    pub(crate) short_transfers: u64,
    sum_ns: f64,
    min_ns: u64,
    max_ns: u64,
}

#[inline]
fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
}

impl Recorder {
    /// Counts a completed request.
    #[inline]
    pub(crate) fn record(&self, latency_ns: u64, bytes: u64) {
        self.record_alike(latency_ns, 1, bytes);
    }

    /// Counts completed requests that took the same time, with the bytes of all.
    #[inline]
    pub(crate) fn record_alike(&self, latency_ns: u64, requests: u64, bytes: u64) {
        if let Some(count) = self.counts.get(bucket_of(latency_ns)) {
            add(count, requests);
        }
        add(&self.bytes, bytes);
        add(&self.sum_ns, latency_ns.wrapping_mul(requests));
        let inverted = u64::MAX - latency_ns;
        if inverted > self.least_inverted.load(Relaxed) {
            self.least_inverted.store(inverted, Relaxed);
        }
        if latency_ns > self.max_ns.load(Relaxed) {
            self.max_ns.store(latency_ns, Relaxed);
        }
    }

    /// Requests counted until now; slow.
    pub(crate) fn requests(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Relaxed)).sum()
    }

    /// Bytes counted until now.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Counts a short transfer.
    #[cold]
    pub(crate) fn record_short(&self) {
        add(&self.short_transfers, 1);
    }
}

impl Default for Snapshot {
    fn default() -> Self {
        Snapshot { counts: vec![0; BUCKETS], bytes: 0, short_transfers: 0, sum_ns: 0.0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl Snapshot {
    /// The sum of the present counts of several.
    pub(crate) fn of<'a>(recorders: impl IntoIterator<Item = &'a Recorder>) -> Snapshot {
        let mut sum = Snapshot::default();
        recorders.into_iter().for_each(|recorder| sum.add(recorder));
        sum
    }

    fn add(&mut self, recorder: &Recorder) {
        for (into, from) in self.counts.iter_mut().zip(&recorder.counts) {
            *into += from.load(Relaxed);
        }
        self.bytes += recorder.bytes.load(Relaxed);
        self.short_transfers += recorder.short_transfers.load(Relaxed);
        self.sum_ns += recorder.sum_ns.load(Relaxed) as f64;
        self.min_ns = self.min_ns.min(u64::MAX - recorder.least_inverted.load(Relaxed));
        self.max_ns = self.max_ns.max(recorder.max_ns.load(Relaxed));
    }

    /// Requests counted.
    pub(crate) fn requests(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The smallest and the largest latency. The first request counts a moment before they are stored: until then, any.
    fn extremes(&self) -> (u64, u64) {
        let are_missing = self.min_ns > self.max_ns && self.requests() > 0;
        if are_missing { (0, u64::MAX) } else { (self.min_ns, self.max_ns) }
    }

    /// All of it as a histogram.
    pub(crate) fn histogram(&self) -> Histogram {
        let (min_ns, max_ns) = self.extremes();
        Histogram::from_counts(self.counts.clone(), self.sum_ns, min_ns, max_ns)
    }

    /// The counts since `earlier` as a histogram, for percentiles; its extremes are those of the whole.
    pub(crate) fn since(&self, earlier: &Snapshot) -> Histogram {
        let counts = self.counts.iter().zip(&earlier.counts).map(|(now, then)| now.saturating_sub(*then)).collect();
        let (min_ns, max_ns) = self.extremes();
        Histogram::from_counts(counts, self.sum_ns - earlier.sum_ns, min_ns, max_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_memory::Shared;

    #[test]
    fn a_request_that_counts_before_its_latency_is_stored_has_a_percentile() {
        let recorders = Shared::<Recorder>::new(1).unwrap();
        add(&recorders[0].counts[bucket_of(700)], 1);
        let snapshot = Snapshot::of(recorders.iter());
        let [whole, since] = [snapshot.histogram(), snapshot.since(&Snapshot::default())];
        assert!([whole, since].iter().all(|all| all.quantile(0.5).is_some_and(|median| median.abs_diff(700) < 20)));
    }

    #[test]
    fn snapshots_add_workers_and_subtract_moments() {
        let recorders = Shared::<Recorder>::new(2).unwrap();
        let [one, two] = &recorders[..] else { panic!("two were made") };
        (1..=100).for_each(|value| one.record(value * 1000, 512));
        let first = Snapshot::of([one]);
        (1..=50).for_each(|value| two.record(value, 512));
        let second = Snapshot::of([one, two]);
        assert_eq!((first.requests(), second.requests(), second.bytes), (100, 150, 150 * 512));
        let both = second.histogram();
        assert_eq!((both.min(), both.max(), both.sum()), (Some(1), Some(100_000), 5_050_000.0 + 1275.0));
        assert_eq!(second.since(&first).quantile(0.5), Some(25));
    }
}
