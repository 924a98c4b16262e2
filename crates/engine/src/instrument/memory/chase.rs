//! Load latency by pointer chasing: each load gives the address of the next.
//!
//! The addresses form one random cycle through all lines of the working set, so that no prefetcher predicts the next (McVoy and
//! Staelin, "lmbench: Portable Tools for Performance Analysis", USENIX 1996, section 6.2). A round continues where the last one
//! ended, so a line is loaded again only after all others.

use halfpower_model::random::Random;
use std::hint::black_box;

/// Words per line of 64 bytes.
const LINE: usize = 8;
/// Any seed will do; the same one gives the same cycle everywhere.
const SEED: u64 = 1;

/// A cycle through memory, and the position in it.
#[derive(Debug)]
pub(super) struct Chase<'a> {
    words: &'a mut [u64],
    at: u64,
}

impl<'a> Chase<'a> {
    /// Through all lines of this memory, which is overwritten.
    pub(super) fn new(words: &'a mut [u64]) -> Chase<'a> {
        let mut order: Vec<u32> = (0..(words.len() / LINE) as u32).collect();
        Random::new(SEED).shuffle(&mut order);
        for (index, line) in order.iter().enumerate() {
            let next = order[(index + 1) % order.len()];
            words[*line as usize * LINE] = u64::from(next) * LINE as u64;
        }
        Chase { at: u64::from(order.first().copied().unwrap_or_default()) * LINE as u64, words }
    }

    /// Loads per cycle.
    pub(super) fn lines(&self) -> u64 {
        (self.words.len() / LINE) as u64
    }

    /// Does `loads` loads.
    pub(super) fn follow(&mut self, loads: u64) {
        let mut at = self.at;
        for _ in 0..loads {
            at = self.words[at as usize];
        }
        // The result is used, so no load can be left out.
        self.at = black_box(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cycle_leads_through_every_line_and_back() {
        let mut words = vec![u64::MAX; 1000 * LINE];
        let mut chase = Chase::new(&mut words);
        let (start, lines) = (chase.at, chase.lines());
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..lines {
            assert!(seen.insert(chase.at), "{} twice", chase.at);
            chase.follow(1);
        }
        assert_eq!((chase.at, seen.len(), lines), (start, 1000, 1000));
        chase.follow(2 * lines + 3);
        let (after, mut again) = (chase.at, Chase::new(&mut words));
        again.follow(3);
        assert_eq!(again.at, after, "as many loads as were asked for");
        let neighbours =
            seen.len() - (0..lines).filter(|line| words[*line as usize * LINE] != (line + 1) * LINE as u64).count();
        assert!(neighbours < 10, "{neighbours} lines lead to the one beside them");
    }
}
