//! A seeded permutation of the numbers below a count, without a table, in constant memory.
//!
//! Shuffled access reads the blocks at `at(0)`, `at(1)`, …; a skewed distribution spreads its popular ranks over the span with
//! it. It is part of the format, like the generator: a stored seed gives the same order for ever. Not for secrets.
//!
//! Source: Black and Rogaway, "Ciphers with Arbitrary Finite Domains" (CT-RSA 2002). A number is cut into two parts,
//! and each in turn is moved by a hash of the other (their generalised Feistel network). Results outside the count are
//! passed through again (their cycle walking). The lower part's range is the largest power of two up to the square root of
//! the count, the upper part's the smallest that covers the count, so no division is needed, and less than one number in
//! the square root of the count is outside.

use crate::random::Random;

/// Number of moves of each part.
const ROUNDS: usize = 3;

/// The keys of one move: a folded multiplication, a good hash if both factors are random.
#[derive(Clone, Copy, Debug)]
struct Key {
    addend: u64,
    factor: u64,
}

impl Key {
    #[inline]
    fn hash(self, value: u64) -> u64 {
        let product = u128::from(value ^ self.addend) * u128::from(self.factor);
        (product >> 64) as u64 ^ product as u64
    }
}

/// A bijection of the numbers below a count.
#[derive(Clone, Debug)]
pub struct Permutation {
    count: u64,
    low_bits: u32,
    high_count: u64,
    rounds: [(Key, Key); ROUNDS],
}

impl Permutation {
    /// The order of the numbers below `count` by `seed`. Below 32 not all orders are equally likely, and below 4 only rotations
    /// occur.
    ///
    /// # Panics
    /// When `count` is 0 or above 2^63.
    pub fn new(count: u64, seed: u64) -> Self {
        assert!((1..=1 << 63).contains(&count), "a permutation has 1 to 2^63 numbers, not {count}");
        let low_bits = count.ilog2() / 2;
        let mut random = Random::new(seed);
        let mut key = || Key { addend: random.next_bits(), factor: random.next_bits() | 1 };
        Permutation {
            count,
            low_bits,
            high_count: count.div_ceil(1 << low_bits),
            rounds: std::array::from_fn(|_| (key(), key())),
        }
    }

    /// The number of numbers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number at place `index`.
    ///
    /// # Panics
    /// When `index` is not below the count.
    #[inline]
    pub fn at(&self, index: u64) -> u64 {
        assert!(index < self.count, "place {index} is not below the count of {}", self.count);
        let mut number = self.step(index);
        while number >= self.count {
            number = self.step(number);
        }
        number
    }

    /// The Feistel network, a bijection of the numbers below `high_count` * 2^`low_bits`.
    #[inline]
    fn step(&self, number: u64) -> u64 {
        let low_mask = (1 << self.low_bits) - 1;
        let mut low = number & low_mask;
        let mut high = number >> self.low_bits;
        for (to_high, to_low) in self.rounds {
            // A hash brought below `high_count` by multiplication, then added modulo `high_count`.
            high += ((u128::from(to_high.hash(low)) * u128::from(self.high_count)) >> 64) as u64;
            high = high.min(high.wrapping_sub(self.high_count));
            low ^= to_low.hash(high) & low_mask;
        }
        high << self.low_bits | low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chi_square::misfit;
    use proptest::prelude::*;

    #[test]
    fn every_number_comes_up_once() {
        for count in 1..=2000 {
            for seed in [0, 1, 0xdead_beef] {
                let permutation = Permutation::new(count, seed);
                let mut seen = vec![false; count as usize];
                for index in 0..count {
                    let number = permutation.at(index) as usize;
                    assert!(!seen[number], "{number} twice of {count}, seed {seed}");
                    seen[number] = true;
                }
            }
        }
    }

    #[test]
    fn orders_differ_and_none_is_the_identity() {
        let order = |seed| -> Vec<u64> { (0..50).map(|index| Permutation::new(50, seed).at(index)).collect() };
        let orders: std::collections::BTreeSet<Vec<u64>> = (0..1000).map(order).collect();
        assert!(orders.len() == 1000 && orders.iter().all(|order| !order.is_sorted()));
    }

    /// The distance from a number to its successor is even over the whole range, and so is the first tenth of the
    /// order: no neighbours together, no runs, no stripes.
    #[test]
    fn neighbours_are_spread() {
        for (count, seed) in [(1_000_u64, 1), (65_536, 2), (1_000_003, 3), ((1 << 40) + 1, 4), (1 << 63, 5)] {
            let permutation = Permutation::new(count, seed);
            let bin = |number: u64| (u128::from(number) * 100 / u128::from(count)) as usize;
            let mut steps = [0_u64; 100];
            let mut numbers = [0_u64; 100];
            for index in 0..(count / 10).min(100_000) {
                let (number, next) = (permutation.at(index), permutation.at(index + 1));
                let step = if next < number { next + (count - number) } else { next - number };
                steps[bin(step)] += 1;
                numbers[bin(number)] += 1;
            }
            assert!([steps, numbers].iter().all(|counts| misfit(counts, &[0.01; 100]) < 1.0), "{count}");
        }
    }

    #[test]
    fn the_orders_are_part_of_the_format() {
        let first = |count, seed| -> [u64; 4] {
            let permutation = Permutation::new(count, seed);
            std::array::from_fn(|index| permutation.at(index as u64))
        };
        assert_eq!(first(10, 1), [5, 2, 7, 6]);
        assert_eq!(first(262_144, 1), [26_513, 163_200, 107_554, 168_765]);
        assert_eq!(first(1_000_003, 42), [811_824, 180_984, 897_479, 676_365]);
        let large = [
            5_779_629_882_099_521_003,
            6_778_603_524_646_632_756,
            2_504_005_536_640_449_867,
            1_028_565_787_108_820_763,
        ];
        assert_eq!(first(1 << 63, u64::MAX), large);
    }

    #[test]
    #[should_panic(expected = "place 10 is not below the count of 10")]
    fn a_place_outside_is_refused() {
        Permutation::new(10, 1).at(10);
    }

    proptest! {
        /// Neighbours, and numbers far apart, never meet; nothing leaves the range.
        #[test]
        fn large_counts_have_no_collisions(count in 1_000_u64..=1 << 63, seed in any::<u64>(), start in any::<u64>(),
                                           stride in any::<u64>()) {
            let permutation = Permutation::new(count, seed);
            let mut places: Vec<u64> = (0..200).map(|step| (start % (count - 200)) + step).collect();
            places.extend((0..200).map(|step| start.wrapping_add(stride.wrapping_mul(step)) % count));
            places.sort_unstable();
            places.dedup();
            let mut numbers: Vec<u64> = places.iter().map(|place| permutation.at(*place)).collect();
            prop_assert!(numbers.iter().all(|number| *number < count));
            numbers.sort_unstable();
            numbers.dedup();
            prop_assert_eq!(numbers.len(), places.len());
        }
    }
}
