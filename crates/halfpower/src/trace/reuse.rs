//! Reuse distances: how many different blocks were accessed since the last access to the same one, so which share of
//! the accesses a cache of a size would serve (least recently used; Mattson et al., 1970).
//!
//! Of all blocks a sample by hash is followed, which shrinks as it grows too large; distances are scaled by its share
//! (SHARDS with a fixed size: Waldspurger, Park, Garthwaite and Ahmad, FAST 2015). So memory is constant.

use halfpower_model::random::derive_seed;
use std::collections::{BTreeSet, HashMap};

/// Bytes of a block.
pub(crate) const BLOCK: u64 = 4096;
/// Blocks that are followed.
const MOST: usize = 8192;
/// Times of accesses until they are numbered anew.
const TIMES: usize = 4 * MOST;
/// log2 of the first threshold: every block is followed.
const WHOLE: u32 = 32;

/// Follows accesses.
#[derive(Debug)]
pub(crate) struct Reuse {
    /// Blocks whose hash is below it are followed.
    threshold: u64,
    /// Of each followed block its last access, and its accesses, each of which stands for several.
    blocks: HashMap<u64, Followed>,
    /// By hash, to drop the highest.
    by_hash: BTreeSet<(u64, u64)>,
    /// Number of followed blocks that were last accessed at each time, as a tree of sums (Fenwick).
    sums: Vec<u32>,
    now: usize,
    /// Accesses by log2 of their distance in bytes, and first accesses.
    distances: [f64; 64],
    firsts: f64,
}

#[derive(Clone, Copy, Debug)]
struct Followed {
    at: usize,
    accesses: f64,
}

impl Default for Reuse {
    fn default() -> Self {
        Reuse {
            threshold: 1 << WHOLE,
            blocks: HashMap::new(),
            by_hash: BTreeSet::new(),
            sums: vec![0; TIMES + 1],
            now: 0,
            distances: [0.0; 64],
            firsts: 0.0,
        }
    }
}

impl Reuse {
    /// Counts an access to a range of bytes.
    pub(crate) fn access(&mut self, offset: u64, length: u64) {
        for block in offset / BLOCK..(offset + length).div_ceil(BLOCK) {
            let hash = derive_seed(7, block) >> (64 - WHOLE);
            if hash < self.threshold {
                self.follow(block, hash);
            }
        }
    }

    fn follow(&mut self, block: u64, hash: u64) {
        let weight = self.weight();
        if self.now + 1 >= TIMES {
            self.renumber();
        }
        self.now += 1;
        let now = self.now;
        match self.blocks.get_mut(&block) {
            Some(followed) => {
                let before = std::mem::replace(&mut followed.at, now);
                followed.accesses += weight;
                let between = self.blocks.len() as f64 - f64::from(self.sum(before)) + 1.0;
                let bytes = between * weight * BLOCK as f64;
                self.distances[bytes.log2().ceil().clamp(0.0, 63.0) as usize] += weight;
                self.change(before, -1);
            }
            None => {
                self.blocks.insert(block, Followed { at: now, accesses: weight });
                self.by_hash.insert((hash, block));
                self.firsts += weight;
            }
        }
        self.change(now, 1);
        if self.blocks.len() > MOST {
            self.shrink();
        }
    }

    /// How many blocks a followed one stands for.
    fn weight(&self) -> f64 {
        (1_u64 << WHOLE) as f64 / self.threshold as f64
    }

    /// Drops the blocks with the highest hash.
    fn shrink(&mut self) {
        while self.blocks.len() > MOST {
            let Some((hash, _)) = self.by_hash.last() else { return };
            self.threshold = *hash;
            while let Some((hash, block)) = self.by_hash.pop_last() {
                if hash < self.threshold {
                    self.by_hash.insert((hash, block));
                    break;
                }
                if let Some(followed) = self.blocks.remove(&block) {
                    self.change(followed.at, -1);
                }
            }
        }
    }

    /// Numbers the last accesses anew, in their order.
    fn renumber(&mut self) {
        let mut order: Vec<(usize, u64)> = self.blocks.iter().map(|(block, followed)| (followed.at, *block)).collect();
        order.sort_unstable();
        self.sums.fill(0);
        self.now = order.len();
        for (number, (_, block)) in (1..).zip(order) {
            if let Some(followed) = self.blocks.get_mut(&block) {
                followed.at = number;
            }
            self.change(number, 1);
        }
    }

    fn change(&mut self, mut at: usize, by: i32) {
        while at <= TIMES {
            self.sums[at] = self.sums[at].wrapping_add_signed(by);
            at += at & at.wrapping_neg();
        }
    }

    /// Followed blocks that were last accessed up to a time.
    fn sum(&self, mut at: usize) -> u32 {
        let mut sum = 0;
        while at > 0 {
            sum += self.sums[at];
            at -= at & at.wrapping_neg();
        }
        sum
    }

    /// Bytes of the different blocks that were accessed, estimated.
    pub(crate) fn working_set(&self) -> f64 {
        self.blocks.len() as f64 * self.weight() * BLOCK as f64
    }

    /// Share of the accesses that a cache of 2^`bits` bytes would serve.
    pub(crate) fn served(&self, bits: usize) -> f64 {
        let all: f64 = self.distances.iter().sum::<f64>() + self.firsts;
        self.distances[..=bits.min(63)].iter().sum::<f64>() / all.max(1.0)
    }

    /// Share of the accesses that go to the most accessed fifth of the blocks.
    pub(crate) fn of_the_hottest_fifth(&self) -> f64 {
        let mut accesses: Vec<f64> = self.blocks.values().map(|followed| followed.accesses).collect();
        accesses.sort_unstable_by(|a, b| b.total_cmp(a));
        let all: f64 = accesses.iter().sum();
        accesses[..accesses.len().div_ceil(5)].iter().sum::<f64>() / all.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::random::Random;

    #[test]
    fn a_loop_is_served_by_a_cache_of_its_size_alone() {
        let mut reuse = Reuse::default();
        for round in 0..10 * 1024 {
            reuse.access(round % 1024 * BLOCK, BLOCK);
        }
        // 1024 blocks are 4 MiB, 2^22 bytes.
        assert_eq!((reuse.working_set(), reuse.served(21)), (4.0 * 1024.0 * 1024.0, 0.0));
        assert!((reuse.served(22) - 0.9).abs() < 1e-9);
    }

    #[test]
    fn a_large_working_set_is_estimated_by_a_sample() {
        let (mut reuse, mut random) = (Reuse::default(), Random::new(1));
        // A million blocks, 4 GB, each drawn as often as another.
        for _ in 0..4_000_000 {
            reuse.access(random.below(1_000_000) * BLOCK, BLOCK);
        }
        let blocks = reuse.working_set() / BLOCK as f64;
        assert!((blocks / 981_684.0 - 1.0).abs() < 0.05, "{blocks}");
        // A cache of 2 GiB holds 524 288 of them, so serves about that share.
        assert!((reuse.served(31) - 0.45).abs() < 0.08, "{}", reuse.served(31));
        let hottest = reuse.of_the_hottest_fifth();
        assert!((0.2..0.4).contains(&hottest), "{hottest}");
    }
}
