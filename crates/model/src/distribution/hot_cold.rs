//! Hot and cold: a share of the draws goes evenly to a share of the ranks, the rest evenly to the rest.
//!
//! The shares are whole per milles, so that no floating point is needed.

use super::check_count;
use crate::random::Random;

/// What the shares are parts of.
const WHOLE: u64 = 1000;

/// Two uniform zones over the ranks below a count, the hot one first.
#[derive(Clone, Debug)]
pub struct HotCold {
    count: u64,
    /// Ranks of the hot zone.
    hot: u64,
    /// Share of the draws that go there.
    hot_draws_per_mille: u64,
}

impl HotCold {
    /// Over the ranks below `count`: `draws_per_mille` of the draws go to the first `space_per_mille` of the ranks.
    /// Both zones have a rank at least, where there are two.
    ///
    /// # Panics
    /// When `count` is 0 or above 2^63, `space_per_mille` is not 1 to 999, or `draws_per_mille` is above 1000.
    pub fn new(count: u64, space_per_mille: u16, draws_per_mille: u16) -> Self {
        check_count(count);
        let (space, draws) = (u64::from(space_per_mille), u64::from(draws_per_mille));
        assert!((1..WHOLE).contains(&space), "the hot zone is 1 to 999 per mille of the space, not {space}");
        assert!(draws <= WHOLE, "the hot zone has at most 1000 per mille of the draws, not {draws}");
        if count == 1 {
            return HotCold { count, hot: 1, hot_draws_per_mille: WHOLE };
        }
        let rounded = (u128::from(count) * u128::from(space) + u128::from(WHOLE / 2)) / u128::from(WHOLE);
        HotCold { count, hot: (rounded as u64).clamp(1, count - 1), hot_draws_per_mille: draws }
    }

    /// The next rank.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        if random.below(WHOLE) < self.hot_draws_per_mille {
            random.below(self.hot)
        } else {
            self.hot + random.below(self.count - self.hot)
        }
    }

    /// The share of the draws that are below `end`.
    pub fn share_below(&self, end: u64) -> f64 {
        let end = end.min(self.count);
        let hot_draws = self.hot_draws_per_mille as f64 / WHOLE as f64;
        if end <= self.hot {
            hot_draws * (end as f64 / self.hot as f64)
        } else {
            hot_draws + (1.0 - hot_draws) * ((end - self.hot) as f64 / (self.count - self.hot) as f64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_support::{known_answer, misfit_of};
    use super::*;

    #[test]
    fn draws_fit_the_known_shares() {
        for (space, draws) in [(200, 800), (1, 500), (500, 500), (900, 100), (999, 1)] {
            for count in [2, 3, 1_000, 262_144, 1 << 63] {
                let zones = HotCold::new(count, space, draws);
                let misfit = misfit_of(count, 13, |random| zones.draw(random), |end| zones.share_below(end));
                assert!(misfit < 1.0, "{draws} to {space}, {count} ranks: {misfit}");
            }
        }
    }

    #[test]
    fn a_zone_without_draws_gets_none() {
        let (all_hot, all_cold) = (HotCold::new(1000, 10, 1000), HotCold::new(1000, 900, 0));
        let mut random = Random::new(13);
        assert!((0..10_000).all(|_| all_hot.draw(&mut random) < 10));
        assert!((0..10_000).all(|_| all_cold.draw(&mut random) >= 900));
    }

    #[test]
    fn draws_do_not_fit_other_shares() {
        let (zones, other) = (HotCold::new(1000, 200, 800), HotCold::new(1000, 205, 800));
        let misfit = misfit_of(1000, 13, |random| zones.draw(random), |end| other.share_below(end));
        assert!(misfit > 1.0, "{misfit}");
    }

    #[test]
    fn shares_are_what_was_asked() {
        let zones = HotCold::new(1_000_000, 200, 800);
        for (end, share) in [(0, 0.0), (100_000, 0.4), (200_000, 0.8), (600_000, 0.9), (2_000_000, 1.0)] {
            assert!((zones.share_below(end) - share).abs() < 1e-15, "{end}");
        }
        assert_eq!(HotCold::new(1, 200, 0).share_below(1), 1.0);
    }

    #[test]
    fn draws_are_part_of_the_format() {
        let zones = HotCold::new(262_144, 200, 800);
        assert_eq!(
            known_answer(|random| zones.draw(random)),
            ([209_108, 39_123, 30_958, 162_197], 11_059_705_713_265_042_318)
        );
    }
}
