//! Samplers of skewed distributions below a count, and of gaps between random arrivals.
//!
//! Each takes its random numbers from a [`Random`] and needs no table. [`Zipf`], [`Pareto`] and [`HotCold`] give ranks,
//! the popular ones first; a [`Permutation`](crate::permutation::Permutation) spreads them over the span. [`Normal`]
//! gives places.
//!
//! They are part of the format: a stored seed replays the same requests for ever and on every machine. So logarithms
//! and exponentials are `libm`'s, in Rust, never the platform's; the rest is exact in IEEE 754. A draw has 53 random bits: shares
//! are off by about 2^-53, and above that count not every number occurs.
//!
//! Sources. Zipf: rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone
//! discrete distributions", ACM TOMACS 6(3), 1996): the area under x^-theta is inverted and the result rounded; what
//! falls between the curve and the steps is drawn again. The integral is taken from 1, with ln x as its limit at theta 1,
//! so that any theta will do. Pareto: the self-similar distribution of Gray, Sundaresan, Englert, Baclawski and
//! Weinberger, "Quickly generating billion-record synthetic databases" (SIGMOD 1994). Normal: the polar method (Marsaglia
//! and Bray, "A convenient method for generating normal variables", SIAM Review 6(3), 1964), of whose two numbers one is
//! used, so that a draw leaves nothing behind but the generator's state.

use crate::random::Random;

/// Panics without a number to draw.
fn check_count(count: u64) {
    assert!((1..=1 << 63).contains(&count), "a distribution has 1 to 2^63 numbers, not {count}");
}

/// `fraction` of `count`, rounded down, and below `count` even where the product rounds up to it.
#[inline]
fn scale(fraction: f64, count: u64) -> u64 {
    ((fraction * count as f64) as u64).min(count - 1)
}

/// The next gap, in the unit of `mean`. At most 36.8 times the mean, which is what 53 random bits reach.
#[inline]
pub fn exponential_gap(random: &mut Random, mean: f64) -> f64 {
    // 1 - u is exact, and above 0.
    -mean * libm::log(1.0 - random.next_unit())
}

/// From this number on every draw is accepted. The curve is so flat there that at most one in 2^52 / (theta (theta + 1)) would be
/// rejected, and rounding errors of the comparison would exceed the difference.
const FLAT: u64 = 1 << 24;

/// Zipf's distribution over the ranks below a count.
#[derive(Clone, Debug)]
pub struct Zipf {
    count: u64,
    area: Area,
    /// The areas where rank 0 begins and where the last rank ends.
    first: f64,
    last: f64,
    /// A draw rounded up by no more than this is accepted without a test.
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

    /// The x up to which the area under the curve is `area`.
    #[inline]
    fn inverse(self, area: f64) -> f64 {
        // Rounding must not lead to the logarithm of a negative number.
        let logarithm = match self.exponent {
            0.0 => area,
            exponent => libm::log1p((area * exponent).max(-1.0)) / exponent,
        };
        libm::exp(logarithm)
    }
}

impl Zipf {
    /// Over the ranks below `count`. With `theta` 0 all are equally likely; around 1 is usual.
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
}

/// The self-similar distribution over the ranks below a count.
#[derive(Clone, Debug)]
pub struct Pareto {
    count: u64,
    /// ln h / ln (1 - h): a draw is a uniform number to this power.
    exponent: f64,
}

impl Pareto {
    /// Over the ranks below `count`: `h` is the share of the ranks that takes 1 - `h` of the draws. 0.5 is uniform.
    ///
    /// # Panics
    /// When `count` is 0 or above 2^63, or `h` is not above 0 and at most 0.5.
    pub fn new(count: u64, h: f64) -> Self {
        check_count(count);
        assert!(h > 0.0 && h <= 0.5, "Pareto's h is above 0 and at most 0.5, not {h}");
        Pareto { count, exponent: libm::log(h) / libm::log1p(-h) }
    }

    /// The next rank.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        scale(libm::exp(self.exponent * libm::log(random.next_unit())), self.count)
    }
}

/// The unit of the shares, per mille.
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
    /// Both zones have at least one rank if there are two.
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
}

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
}

#[cfg(test)]
mod tests;
