//! The generator of pseudo-random numbers behind request streams, orders and data.
//!
//! It is part of the format: a stored seed must replay the same requests for ever, so it is written out here rather
//! than taken from a library that may change. xoshiro256++ 1.0 (Blackman and Vigna, 2019), seeded by SplitMix64 as its
//! authors advise. Not for secrets.

/// A seeded generator; the same seed gives the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

/// One step of SplitMix64; also derives several seeds from one.
pub fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The seed of one part (a worker, a block of repetitions, a cell) from the recorded seed.
pub fn derive_seed(seed: u64, part: u64) -> u64 {
    let mut state = seed;
    let base = split_mix(&mut state);
    let mut mixed = base ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93);
    split_mix(&mut mixed)
}

impl Random {
    /// From a seed; every seed is good, zero included.
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        Random { state: std::array::from_fn(|_| split_mix(&mut state)) }
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `bound`; 0 when `bound` is 0. By multiplication (Lemire, 2019) without the rejection step: the
    /// bias is below `bound` / 2^64, far under what any measurement here can see.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in [0, 1): a multiple of 2^-53, from the top 53 bits of the next 64.
    #[inline]
    pub fn next_unit(&mut self) -> f64 {
        const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.next_bits() >> 11) as f64 * UNIT
    }

    /// Puts `items` into random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_gives_its_published_numbers() {
        let mut state = 1_234_567;
        let got: [u64; 3] = std::array::from_fn(|_| split_mix(&mut state));
        assert_eq!(got, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn xoshiro_gives_its_reference_numbers() {
        let mut random = Random { state: [1, 2, 3, 4] };
        let got: [u64; 4] = std::array::from_fn(|_| random.next_bits());
        assert_eq!(got, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn below_is_even_over_its_range() {
        let mut random = Random::new(7);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[random.below(10) as usize] += 1;
        }
        // Five standard deviations of a binomial with n = 100 000, p = 0.1.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 475), "{counts:?}");
        let mut items: Vec<u32> = (0..100).collect();
        random.shuffle(&mut items);
        assert!(!items.is_sorted(), "{items:?}");
        items.sort_unstable();
        assert!(items.iter().copied().eq(0..100), "each is there once: {items:?}");
    }

    #[test]
    fn derived_seeds_differ() {
        let seeds: std::collections::BTreeSet<u64> =
            (0..100).flat_map(|seed| (0..100).map(move |part| derive_seed(seed, part))).collect();
        assert_eq!(seeds.len(), 10_000);
    }

    #[test]
    fn a_unit_is_the_top_53_bits() {
        // xoshiro's first output is the sum of the outer words, rotated by 23, and the first word.
        let unit = |first: u64| Random { state: [0, 0, 0, first.rotate_right(23)] }.next_unit();
        assert_eq!(unit(0), 0.0);
        assert_eq!(unit(1 << 63), 0.5);
        assert_eq!(unit((1 << 11) - 1), 0.0);
        assert_eq!(unit(u64::MAX), 1.0 - f64::EPSILON / 2.0);
    }
}
