//! Normal: places around the middle of the span, fewer and fewer towards its ends.
//!
//! The polar method (Marsaglia and Bray, "A convenient method for generating normal variables", SIAM Review 6(3),
//! 1964), of whose two numbers one is used, so that a draw leaves nothing behind but the generator's state. What falls
//! outside the span is drawn again: a normal distribution cut off at both ends.

use super::{check_count, scale};
use crate::random::Random;

/// The cut-off normal distribution over the places below a count.
#[derive(Clone, Debug)]
pub struct Normal {
    count: u64,
    /// Standard deviation before the cut, as share of the span.
    deviation: f64,
}

impl Normal {
    /// Over the places below `count`, with the mean in the middle; `deviation` is the standard deviation as a share of
    /// the span.
    ///
    /// # Panics
    /// When `count` is 0 or above 2^63, or `deviation` is not above 0 and at most 1.
    pub fn new(count: u64, deviation: f64) -> Self {
        check_count(count);
        assert!(deviation > 0.0 && deviation <= 1.0, "the deviation is above 0 and at most 1, not {deviation}");
        Normal { count, deviation }
    }

    /// The next place.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let x = 2.0 * random.next_unit() - 1.0;
            let y = 2.0 * random.next_unit() - 1.0;
            let square = x * x + y * y;
            if square >= 1.0 || square == 0.0 {
                continue;
            }
            let normal = x * (-2.0 * libm::log(square) / square).sqrt();
            let place = 0.5 + self.deviation * normal;
            if (0.0..1.0).contains(&place) {
                return scale(place, self.count);
            }
        }
    }

    /// The share of the draws that are below `end`.
    pub fn share_below(&self, end: u64) -> f64 {
        let half_width = std::f64::consts::SQRT_2 * self.deviation;
        let place = end.min(self.count) as f64 / self.count as f64 - 0.5;
        (1.0 + libm::erf(place / half_width) / libm::erf(0.5 / half_width)) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_support::{known_answer, misfit_of};
    use super::*;

    #[test]
    fn draws_fit_the_known_shares() {
        for deviation in [0.01, 0.1, 0.25, 1.0] {
            for count in [8, 1_000, 262_144, 1 << 63] {
                let normal = Normal::new(count, deviation);
                let misfit = misfit_of(count, 17, |random| normal.draw(random), |end| normal.share_below(end));
                assert!(misfit < 1.0, "deviation {deviation}, {count} places: {misfit}");
            }
        }
    }

    #[test]
    fn draws_do_not_fit_another_deviation() {
        let (normal, other) = (Normal::new(262_144, 0.1), Normal::new(262_144, 0.103));
        let misfit = misfit_of(262_144, 17, |random| normal.draw(random), |end| other.share_below(end));
        assert!(misfit > 1.0, "{misfit}");
    }

    /// One, two and three deviations to each side, where the cut is far out; and the quarters of a wide one.
    #[test]
    fn shares_are_the_tabled_ones() {
        let normal = Normal::new(1_000_000, 0.05);
        for (half_width, share) in [(50_000, 0.682_689_492), (100_000, 0.954_499_736), (150_000, 0.997_300_204)] {
            let got = normal.share_below(500_000 + half_width) - normal.share_below(500_000 - half_width);
            assert!((got - share).abs() < 1e-9, "{half_width}: {got}");
        }
        // (Φ(0.25) - Φ(-0.25)) / (Φ(0.5) - Φ(-0.5)) = 0.197 412 651 / 0.382 924 923.
        let wide = Normal::new(1_000_000, 1.0);
        let middle_half = wide.share_below(750_000) - wide.share_below(250_000);
        assert!((middle_half - 0.515_538_785).abs() < 1e-8, "{middle_half}");
        assert_eq!((wide.share_below(0), wide.share_below(500_000), wide.share_below(1_000_000)), (0.0, 0.5, 1.0));
    }

    #[test]
    fn draws_are_part_of_the_format() {
        let answer = |count, deviation| {
            let normal = Normal::new(count, deviation);
            known_answer(|random| normal.draw(random))
        };
        assert_eq!(answer(262_144, 0.1), ([150_726, 119_886, 98_355, 139_425], 3_035_820_134_401_167_038));
        assert_eq!(
            answer(1 << 50, 0.25),
            (
                [773_993_295_775_078, 442_845_319_106_489, 211_661_079_978_288, 652_649_188_599_202],
                7_746_974_881_571_154_794
            )
        );
    }
}
