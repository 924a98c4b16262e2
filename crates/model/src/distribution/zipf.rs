//! Zipf: rank k comes up in proportion to 1/(k+1)^theta.
//!
//! Drawn by rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone
//! discrete distributions", ACM TOMACS 6(3), 1996): the area under x^-theta is inverted and the result rounded; what
//! falls between the curve and the steps is drawn again. Set-up and memory are constant for any count, and the shares
//! are exact but for rounding. Their integral is taken from 1, with ln x as its limit at theta 1, so that any
//! theta will do.

use super::check_count;
use crate::random::Random;

/// Terms of a sum that are added one by one, before the Euler-Maclaurin formula takes over.
const EXACT_TERMS: u64 = 128;

/// From this number on every draw is accepted. The curve is so flat there that one in 2^52 / (theta (theta + 1)) at
/// most would not be, and in a large count the rounding of the two sides of that comparison is more than their
/// difference.
const FLAT: u64 = 1 << 24;

/// Zipf's distribution over the ranks below a count.
#[derive(Clone, Debug)]
pub struct Zipf {
    count: u64,
    area: Area,
    /// The areas where rank 0 begins and where the last rank ends.
    first: f64,
    last: f64,
    /// A draw that is rounded up by no more than this is surely accepted.
    sure: f64,
}

/// The curve x^-theta and the area under it from 1.
#[derive(Clone, Copy, Debug)]
struct Area {
    theta: f64,
    /// 1 - theta.
    exponent: f64,
}

impl Area {
    fn curve(self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// (x^(1 - theta) - 1) / (1 - theta).
    fn up_to(self, x: f64) -> f64 {
        let logarithm = libm::log(x);
        if self.exponent == 0.0 { logarithm } else { libm::expm1(self.exponent * logarithm) / self.exponent }
    }

    /// The x up to which the area is `area`.
    #[inline]
    fn inverse(self, area: f64) -> f64 {
        // Rounding must not ask for the logarithm of less than nothing.
        let logarithm = match self.exponent {
            0.0 => area,
            exponent => libm::log1p((area * exponent).max(-1.0)) / exponent,
        };
        libm::exp(logarithm)
    }

    /// The sum of the curve at 1, 2, … `count`: a generalised harmonic number.
    fn sum(self, count: u64) -> f64 {
        let exact = count.min(EXACT_TERMS);
        let head: f64 = (1..=exact).rev().map(|k| self.curve(k as f64)).sum();
        if count == exact {
            return head;
        }
        let (from, to) = (exact as f64, count as f64);
        // Euler-Maclaurin up to the third derivative; the next term is below 1e-13 of the sum.
        let slope = |x: f64| -self.theta * self.curve(x) / x;
        let third = |x: f64| slope(x) * (self.theta + 1.0) * (self.theta + 2.0) / (x * x);
        head + (self.up_to(to) - self.up_to(from))
            + (self.curve(to) - self.curve(from)) / 2.0
            + (slope(to) - slope(from)) / 12.0
            - (third(to) - third(from)) / 720.0
    }
}

impl Zipf {
    /// Over the ranks below `count`. With `theta` 0 all are alike; around 1 is usual.
    ///
    /// # Panics
    /// When `count` is 0 or above 2^63, or `theta` is negative or not finite.
    pub fn new(count: u64, theta: f64) -> Self {
        check_count(count);
        assert!(theta >= 0.0 && theta.is_finite(), "Zipf's theta is 0 or more, not {theta}");
        let area = Area { theta, exponent: 1.0 - theta };
        Zipf {
            count,
            area,
            // Rank 0 gets exactly its own height, 1, so that it is never rejected.
            first: area.up_to(1.5) - 1.0,
            last: area.up_to(count as f64 + 0.5),
            sure: 2.0 - area.inverse(area.up_to(2.5) - area.curve(2.0)),
        }
    }

    /// The next rank.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.last + random.next_unit() * (self.first - self.last);
            let x = self.area.inverse(area);
            let number = ((x + 0.5) as u64).clamp(1, self.count);
            let middle = number as f64;
            if middle - x <= self.sure
                || number >= FLAT
                || area >= self.area.up_to(middle + 0.5) - self.area.curve(middle)
            {
                return number - 1;
            }
        }
    }

    /// The share of the draws that are below `end`.
    pub fn share_below(&self, end: u64) -> f64 {
        self.area.sum(end.min(self.count)) / self.area.sum(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_support::{known_answer, misfit_of};
    use super::*;

    const THETAS: [f64; 8] = [0.2, 0.5, 0.8, 0.99, 1.0, 1.0000001, 1.2, 2.0];

    #[test]
    fn draws_fit_the_known_shares() {
        for theta in THETAS {
            for count in [2, 10, 1_000, 262_144, 1 << 63] {
                let zipf = Zipf::new(count, theta);
                let misfit = misfit_of(count, 7, |random| zipf.draw(random), |end| zipf.share_below(end));
                assert!(misfit < 1.0, "theta {theta}, {count} ranks: {misfit}");
            }
        }
    }

    /// The test above can fail: it tells a theta from its neighbour.
    #[test]
    fn draws_do_not_fit_another_theta() {
        let (zipf, other) = (Zipf::new(262_144, 0.99), Zipf::new(262_144, 1.0));
        let misfit = misfit_of(262_144, 7, |random| zipf.draw(random), |end| other.share_below(end));
        assert!(misfit > 1.0, "{misfit}");
    }

    #[test]
    fn sums_are_the_published_ones() {
        let sum = |theta: f64, count| Area { theta, exponent: 1.0 - theta }.sum(count);
        let near = |got: f64, known: f64| assert!((got / known - 1.0).abs() < 1e-13, "{got} is not {known}");
        near(sum(1.0, 100), 5.187_377_517_639_621);
        near(sum(1.0, 1_000_000), 14.392_726_722_865_724);
        // Riemann's zeta at 2, at 1/2 with the first terms of its expansion, and at 10.
        near(sum(2.0, 1 << 63), std::f64::consts::PI.powi(2) / 6.0);
        near(sum(0.5, 1_000_000), 2000.0 - 1.460_354_508_809_586_8 + 0.0005);
        near(sum(10.0, 1 << 40), 1.000_994_575_127_818);
        near(sum(0.0, 1 << 40), (1_u64 << 40) as f64);
    }

    /// Added up one by one, across the border where the formula takes over.
    #[test]
    fn shares_agree_with_plain_sums() {
        for theta in THETAS {
            let count = 5_000;
            let zipf = Zipf::new(count, theta);
            let total: f64 = (1..=count).map(|k| (k as f64).powf(-theta)).sum();
            let mut sum = 0.0;
            for end in 1..=count {
                sum += (end as f64).powf(-theta);
                if end > 200 && end % 97 != 0 {
                    continue;
                }
                let share = zipf.share_below(end);
                assert!((share - sum / total).abs() < 1e-12, "theta {theta}, {end}: {share} is not {}", sum / total);
            }
            assert_eq!(zipf.share_below(0), 0.0);
            assert_eq!(zipf.share_below(count + 1), 1.0);
        }
    }

    #[test]
    fn a_steep_theta_draws_the_first_rank() {
        let zipf = Zipf::new(1 << 63, 80.0);
        let mut random = Random::new(1);
        assert!((0..100_000).all(|_| zipf.draw(&mut random) == 0));
    }

    #[test]
    fn draws_are_part_of_the_format() {
        let answer = |count, theta| {
            let zipf = Zipf::new(count, theta);
            known_answer(|random| zipf.draw(random))
        };
        assert_eq!(answer(262_144, 0.99), ([6, 17, 76_254, 17], 1_976_391_811_557_146_885));
        assert_eq!(
            answer(1 << 50, 0.5),
            (
                [39_958_171_127_410, 72_008_091_316_648, 911_673_130_470_228, 72_514_579_854_370],
                6_276_427_214_683_418_821
            )
        );
        assert_eq!(answer(1 << 50, 1.0), ([422, 4106, 32_977_611_265_407, 4237], 1_642_393_729_466_410_380));
        assert_eq!(answer(1 << 50, 1.2), ([1, 1, 53_658, 1], 17_919_477_191_532_309_371));
    }
}
