//! Pareto, or self-similar: a share 1 - h of the draws goes to the first share h of the ranks, and again within those.
//!
//! Source: Gray, Sundaresan, Englert, Baclawski and Weinberger, "Quickly generating billion-record synthetic databases"
//! (SIGMOD 1994), the self-similar distribution; fio calls it `pareto`. With h = 0.2 it is the rule of 80 and 20.

use super::{check_count, scale};
use crate::random::Random;

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

    /// The share of the draws that are below `end`.
    pub fn share_below(&self, end: u64) -> f64 {
        libm::pow(end.min(self.count) as f64 / self.count as f64, 1.0 / self.exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_support::{known_answer, misfit_of};
    use super::*;

    #[test]
    fn draws_fit_the_known_shares() {
        for h in [0.01, 0.1, 0.2, 0.35, 0.5] {
            for count in [2, 1_000, 262_144, 1 << 63] {
                let pareto = Pareto::new(count, h);
                let misfit = misfit_of(count, 11, |random| pareto.draw(random), |end| pareto.share_below(end));
                assert!(misfit < 1.0, "h {h}, {count} ranks: {misfit}");
            }
        }
    }

    #[test]
    fn draws_do_not_fit_another_h() {
        let (pareto, other) = (Pareto::new(262_144, 0.2), Pareto::new(262_144, 0.21));
        let misfit = misfit_of(262_144, 11, |random| pareto.draw(random), |end| other.share_below(end));
        assert!(misfit > 1.0, "{misfit}");
    }

    #[test]
    fn four_fifths_go_to_a_fifth_and_again_within_it() {
        let pareto = Pareto::new(1_000_000, 0.2);
        for (end, share) in [(0, 0.0), (8_000, 0.512), (40_000, 0.64), (200_000, 0.8), (1_000_000, 1.0)] {
            assert!((pareto.share_below(end) - share).abs() < 1e-14, "{end}");
        }
    }

    #[test]
    fn draws_are_part_of_the_format() {
        let answer = |count, h| {
            let pareto = Pareto::new(count, h);
            known_answer(|random| pareto.draw(random))
        };
        assert_eq!(answer(262_144, 0.2), ([58_171, 32_010, 0, 31_737], 12_600_392_992_231_014_175));
        assert_eq!(
            answer(1 << 50, 0.1),
            ([11_759_032_031_563, 1_924_575_164_822, 0, 1_875_205_967_082], 5_552_571_865_573_823_869)
        );
    }
}
