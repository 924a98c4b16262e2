//! Where skewed access goes: samplers that give a number below a count, and the gap between random arrivals.
//!
//! Each takes its random numbers from a [`Random`](crate::random::Random), needs no table, and also says its known
//! share, `share_below`, so that what was drawn can be held against what should be. [`Zipf`], [`Pareto`] and
//! [`HotCold`] give ranks, the popular ones first; a [`Permutation`](crate::permutation::Permutation) spreads them over
//! the span. [`Normal`] gives places.
//!
//! They are part of the format: a stored seed replays the same requests for ever and on every machine. So logarithms
//! and exponentials are `libm`'s, written out in Rust, and never the platform's; the rest is exact in IEEE 754. A draw
//! starts from 53 random bits: shares are off by 2^-53 or so, and in a count above that not every number comes up.

mod exponential;
mod hot_cold;
mod normal;
mod pareto;
mod zipf;

pub use exponential::exponential_gap;
pub use hot_cold::HotCold;
pub use normal::Normal;
pub use pareto::Pareto;
pub use zipf::Zipf;

/// Panics unless there is a number to draw.
fn check_count(count: u64) {
    assert!((1..=1 << 63).contains(&count), "a distribution has 1 to 2^63 numbers, not {count}");
}

/// `fraction` of `count`, rounded down, and below `count` even where the product rounds up to it.
#[inline]
fn scale(fraction: f64, count: u64) -> u64 {
    ((fraction * count as f64) as u64).min(count - 1)
}

#[cfg(test)]
mod tests_support {
    use crate::chi_square::misfit;
    use crate::random::Random;

    /// How far 100 000 draws are from the known shares, as a multiple of what chance allows. The bins are the first
    /// ranks, then ever wider ones (by a sixteenth), to the end.
    pub(super) fn misfit_of(
        count: u64,
        seed: u64,
        draw: impl Fn(&mut Random) -> u64,
        share_below: impl Fn(u64) -> f64,
    ) -> f64 {
        let mut ends = vec![1_u64];
        while ends[ends.len() - 1] < count {
            let end = ends[ends.len() - 1];
            ends.push((end + (end / 16).max(1)).min(count));
        }
        let below: Vec<f64> = ends.iter().map(|end| share_below(*end)).collect();
        let shares: Vec<f64> = (0..below.len()).map(|i| below[i] - if i == 0 { 0.0 } else { below[i - 1] }).collect();
        let mut counts = vec![0; ends.len()];
        let mut random = Random::new(seed);
        for _ in 0..100_000 {
            let number = draw(&mut random);
            counts[ends.partition_point(|end| *end <= number)] += 1;
        }
        misfit(&counts, &shares)
    }

    /// The first draws of a seed, and a digest of the next 10 000: a change of one bit in a logarithm shows.
    pub(super) fn known_answer(mut draw: impl FnMut(&mut Random) -> u64) -> ([u64; 4], u64) {
        let mut random = Random::new(1);
        let first = std::array::from_fn(|_| draw(&mut random));
        let digest = (0..10_000)
            .fold(0_u64, |digest, _| (digest.rotate_left(5) ^ draw(&mut random)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (first, digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn uniform_fits_and_zipf_0_is_uniform() {
        for count in [2_u64, 1000, 1 << 40] {
            let share = |end: u64| end as f64 / count as f64;
            let uniform = tests_support::misfit_of(count, 1, |random| random.below(count), share);
            assert!(uniform < 1.0, "{count}: {uniform}");
            let zipf = Zipf::new(count, 0.0);
            let flat = tests_support::misfit_of(count, 2, |random| zipf.draw(random), share);
            assert!(flat < 1.0, "{count}: {flat}");
        }
    }

    /// The largest fraction times a count that rounds up stays below the count.
    #[test]
    fn nothing_is_drawn_outside() {
        let nearly_one = 1.0 - f64::EPSILON / 2.0;
        for count in [1, 3, (1 << 53) + 1, (1 << 62) + 12_345, 1 << 63] {
            assert!(scale(nearly_one, count) < count);
            let mut random = Random::new(count);
            for _ in 0..1000 {
                assert!(Zipf::new(count, 0.3).draw(&mut random) < count);
                assert!(Zipf::new(count, 1.0).draw(&mut random) < count);
                assert!(Zipf::new(count, 90.0).draw(&mut random) < count);
                assert!(Pareto::new(count, 0.5).draw(&mut random) < count);
                assert!(HotCold::new(count, 1, 500).draw(&mut random) < count);
                assert!(Normal::new(count, 1.0).draw(&mut random) < count);
            }
        }
    }
}
