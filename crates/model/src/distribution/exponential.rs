//! The gap between arrivals that come at random with a constant rate (a Poisson process): exponential, by inversion.

use crate::random::Random;

/// The next gap, in the unit of `mean`. At most 36.8 times the mean, which is what 53 random bits reach.
#[inline]
pub fn exponential_gap(random: &mut Random, mean: f64) -> f64 {
    // 1 - u is exact, and above 0.
    -mean * libm::log(1.0 - random.next_unit())
}

#[cfg(test)]
mod tests {
    use super::super::tests_support::known_answer;
    use super::*;
    use crate::chi_square::misfit;

    fn misfit_against(mean: f64) -> f64 {
        let mut random = Random::new(19);
        let mut counts = [0_u64; 100];
        for _ in 0..200_000 {
            // The share of the gaps that are shorter is uniform.
            let shorter = 1.0 - (-exponential_gap(&mut random, 20_000.0) / mean).exp();
            counts[(shorter * 100.0) as usize] += 1;
        }
        misfit(&counts, &[0.01; 100])
    }

    #[test]
    fn gaps_fit_the_exponential_distribution() {
        assert!(misfit_against(20_000.0) < 1.0);
        assert!(misfit_against(20_600.0) > 1.0);
    }

    #[test]
    fn the_mean_is_what_was_asked() {
        let mut random = Random::new(23);
        let sum: f64 = (0..1_000_000).map(|_| exponential_gap(&mut random, 20_000.0)).sum();
        // The standard deviation of a gap is its mean, so that of a million's mean is 20; 3.719 is the 0.9999 quantile.
        assert!((sum / 1e6 - 20_000.0).abs() < 3.719 * 20.0, "{}", sum / 1e6);
    }

    #[test]
    fn gaps_are_part_of_the_format() {
        assert_eq!(
            known_answer(|random| exponential_gap(random, 20_000.0).to_bits()),
            (
                [
                    4_674_821_219_797_276_215,
                    4_673_287_145_690_414_695,
                    4_656_859_594_405_652_187,
                    4_673_267_879_081_257_711
                ],
                9_098_344_068_371_123_040
            )
        );
    }
}
