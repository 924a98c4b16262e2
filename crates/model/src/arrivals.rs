//! Arrival times of requests at a rate or from a trace: open loop, or closed loop with a limit.

use crate::distribution::exponential_gap;
use crate::random::{Random, derive_seed};
use crate::stream::Cursor;
use crate::workload::trace::Speed;
use crate::workload::{Arrivals, Rate, Workload};

/// Part of a worker's seed that draws the gaps.
const GAPS: u64 = 1 << 42;

/// The endless arrival times of one worker's requests.
///
/// Each worker has its share of the rate. Together, exponential streams make one of the whole rate; even streams are
/// interleaved evenly.
#[derive(Clone, Debug)]
pub struct ArrivalStream {
    random: Random,
    by_chance: bool,
    /// The mean gap after a request is `fixed_ns` plus `ns_per_byte` per byte; one of them is 0.
    fixed_ns: f64,
    ns_per_byte: f64,
    next_ns: f64,
    /// Of a replay; the numbers above are then unused.
    replay: Option<Cursor>,
    is_timed: bool,
}

impl ArrivalStream {
    /// The arrivals of worker `worker`; none without a rate or a trace.
    ///
    /// # Panics
    /// If it replays a trace that cannot be read.
    pub fn new(workload: &Workload, worker: u32) -> Option<ArrivalStream> {
        let workers = f64::from(workload.workers);
        let mut random = Random::new(derive_seed(workload.seed, GAPS + u64::from(worker)));
        if let Some(replay) = Cursor::new(workload, worker) {
            let is_timed = workload.trace.as_ref().is_some_and(|trace| trace.speed != Speed::Max);
            let next_ns = if is_timed { replay.at_ns() } else { 0.0 };
            let replay = Some(replay);
            return Some(ArrivalStream {
                random,
                by_chance: false,
                fixed_ns: 0.0,
                ns_per_byte: 0.0,
                next_ns,
                replay,
                is_timed,
            });
        }
        let (fixed_ns, ns_per_byte) = match workload.rate? {
            Rate::Requests(rate) => (workers * 1e9 / rate as f64, 0.0),
            Rate::Bytes(rate) => (0.0, workers * 1e9 / rate as f64),
        };
        let by_chance = workload.arrivals == Arrivals::Poisson;
        let mean_ns = fixed_ns + ns_per_byte * workload.request_size.0 as f64;
        let next_ns =
            if by_chance { exponential_gap(&mut random, mean_ns) } else { mean_ns * f64::from(worker) / workers };
        Some(ArrivalStream { random, by_chance, fixed_ns, ns_per_byte, next_ns, replay: None, is_timed: true })
    }

    /// Arrival of the next request in nanoseconds from the start.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns as u64
    }

    /// Whether requests have times; false for a trace that is replayed as fast as possible.
    pub fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// Most requests that may be outstanding with the next one: as in the trace, if that is replayed without its times.
    #[inline]
    pub fn outstanding_max(&self) -> u64 {
        match &self.replay {
            Some(replay) if !self.is_timed => replay.outstanding_max(),
            _ => u64::MAX,
        }
    }

    /// The gap in nanoseconds after a request of `length` bytes, and goes on to the next.
    pub fn gap_ns(&mut self, length: u32) -> f64 {
        if let Some(replay) = &mut self.replay {
            replay.advance();
            return if self.is_timed { (replay.at_ns() - self.next_ns).max(0.0) } else { 0.0 };
        }
        let mean_ns = self.fixed_ns + self.ns_per_byte * f64::from(length);
        if self.by_chance { exponential_gap(&mut self.random, mean_ns) } else { mean_ns }
    }

    /// Advances past the next request, of `length` bytes.
    #[inline]
    pub fn advance(&mut self, length: u32) {
        self.next_ns += self.gap_ns(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests_support::workload;

    fn arrivals(workload: &Workload, worker: u32, count: usize) -> Vec<u64> {
        let mut stream = ArrivalStream::new(workload, worker).unwrap();
        let mut next = || {
            let at = stream.next_ns();
            stream.advance(4096);
            at
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn even_gaps_of_two_workers_are_even_together() {
        let workload =
            Workload { rate: Some(Rate::Requests(1000)), arrivals: Arrivals::Constant, workers: 2, ..workload() };
        assert_eq!(arrivals(&workload, 0, 3), [0, 2_000_000, 4_000_000]);
        assert_eq!(arrivals(&workload, 1, 3), [1_000_000, 3_000_000, 5_000_000]);
        let bytes = Workload { rate: Some(Rate::Bytes(4_096_000)), ..workload };
        assert_eq!(arrivals(&bytes, 0, 2), [0, 2_000_000]);
    }

    #[test]
    fn gaps_by_chance_are_exponential() {
        let workload = Workload { rate: Some(Rate::Requests(1000)), arrivals: Arrivals::Poisson, ..workload() };
        let moments = arrivals(&workload, 0, 100_001);
        let gaps: Vec<f64> = moments.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / 1e5;
        // The mean of n exponentials of mean 1 has deviation 1/√n = 0.003; 1/e of them are longer than 1.
        assert!((mean - 1.0).abs() < 0.016, "{mean}");
        let longer = gaps.iter().filter(|gap| **gap > 1.0).count() as f64 / 1e5;
        assert!((longer - (-1.0_f64).exp()).abs() < 0.008, "{longer}");
        assert_eq!(moments, arrivals(&workload, 0, 100_001), "the same seed, the same moments");
        assert!(ArrivalStream::new(&crate::workload::tests_support::workload(), 0).is_none());
    }
}
