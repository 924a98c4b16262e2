//! Arrival times of requests at a rate or from a trace: open loop, or closed loop with a limit or with pauses.

use crate::distribution::exponential_gap;
use crate::random::{Random, derive_seed};
use crate::stream::Cursor;
use crate::workload::trace::Speed;
use crate::workload::{Arrivals, Rate, Think, Workload};

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
    /// Pauses, and requests up to the next; the gaps above are then 0.
    think: Option<(Think, u32)>,
}

impl ArrivalStream {
    /// The arrivals of worker `worker`; none without a rate, pauses or a trace.
    ///
    /// # Panics
    /// If it replays a trace that cannot be read.
    pub fn new(workload: &Workload, worker: u32) -> Option<ArrivalStream> {
        let workers = f64::from(workload.workers);
        let random = Random::new(derive_seed(workload.seed, GAPS + u64::from(worker)));
        let think = workload.think.map(|think| (think, think.every));
        let mut stream = ArrivalStream {
            random,
            by_chance: workload.arrivals == Arrivals::Poisson,
            fixed_ns: 0.0,
            ns_per_byte: 0.0,
            next_ns: 0.0,
            replay: Cursor::new(workload, worker),
            is_timed: think.is_none(),
            think,
        };
        if let Some(replay) = &stream.replay {
            stream.is_timed = workload.trace.as_ref().is_some_and(|trace| trace.speed != Speed::Max);
            stream.next_ns = if stream.is_timed { replay.at_ns() } else { 0.0 };
            return Some(stream);
        }
        if think.is_some() {
            return Some(stream);
        }
        (stream.fixed_ns, stream.ns_per_byte) = match workload.rate? {
            Rate::Requests(rate) => (workers * 1e9 / rate as f64, 0.0),
            Rate::Bytes(rate) => (0.0, workers * 1e9 / rate as f64),
        };
        let mean_ns = stream.fixed_ns + stream.ns_per_byte * workload.request_size.0 as f64;
        stream.next_ns = match stream.by_chance {
            true => exponential_gap(&mut stream.random, mean_ns),
            false => mean_ns * f64::from(worker) / workers,
        };
        Some(stream)
    }

    /// Arrival of the next request in nanoseconds from the start.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns as u64
    }

    /// Whether requests have times of their own; false for pauses, and for a trace that is replayed as fast as possible.
    pub fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// Most requests that may be outstanding with the next one: as in the trace, if that is replayed without its times; before a
    /// pause, that one alone.
    #[inline]
    pub fn outstanding_max(&self) -> u64 {
        match (&self.replay, &self.think) {
            (Some(replay), _) if !self.is_timed => replay.outstanding_max(),
            (_, Some((_, 0))) => 1,
            _ => u64::MAX,
        }
    }

    /// A pause that is due, in nanoseconds; it begins now, and nothing is outstanding.
    #[inline]
    pub fn begin_pause(&mut self) -> Option<u64> {
        let (think, left) = self.think.as_mut().filter(|(_, left)| *left == 0)?;
        *left = think.every;
        Some(think.pause.0)
    }

    /// The gap in nanoseconds after a request of `length` bytes, and goes on to the next.
    pub fn gap_ns(&mut self, length: u32) -> f64 {
        if let Some(replay) = &mut self.replay {
            replay.advance();
            return if self.is_timed { (replay.at_ns() - self.next_ns).max(0.0) } else { 0.0 };
        }
        if let Some((_, left)) = &mut self.think {
            *left -= 1;
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
