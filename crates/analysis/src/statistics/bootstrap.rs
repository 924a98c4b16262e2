//! The percentile bootstrap over repetitions: an interval for a figure that has no formula for one.
//!
//! Each cell's repetitions are drawn anew with replacement, cell by cell, and the figure is worked out from the means of
//! what was drawn; the middle 95 % of 2000 such figures are the interval. With five repetitions it is somewhat too
//! narrow, as every bootstrap of few values is. The seed is fixed, so that a stored result gives the same report again.
//! Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13.

use super::{Interval, mean};
use halfpower_model::random::Random;

const RESAMPLES: usize = 2000;
/// Resamples beyond either end of the interval.
const BEYOND: usize = RESAMPLES / 40;
const SEED: u64 = 1997;

/// The interval of `figure`, a function of the cells' means in the order of `cells`. It may be infinite where a
/// resample has no answer. None without cells, or where one has fewer than two repetitions.
pub(crate) fn bootstrap_interval(cells: &[Vec<f64>], figure: impl Fn(&[f64]) -> f64) -> Option<Interval> {
    if cells.is_empty() || cells.iter().any(|values| values.len() < 2) {
        return None;
    }
    let mut random = Random::new(SEED);
    let mut figures = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let means: Option<Vec<f64>> = cells.iter().map(|values| mean(&draw(values, &mut random))).collect();
        figures.push(figure(&means?));
    }
    figures.sort_by(f64::total_cmp);
    Some(Interval { low: figures[BEYOND], high: figures[RESAMPLES - 1 - BEYOND] })
}

/// As many values, with replacement.
fn draw(values: &[f64], random: &mut Random) -> Vec<f64> {
    values.iter().map(|_| values[random.below(values.len() as u64) as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_binomial_mean_by_hand() {
        // The mean of four drawn from {0, 0, 0, 1} is binomial(4, 1/4) / 4: P(0) = 0.316, P(≤ 1/2) = 0.949,
        // P(≤ 3/4) = 0.996, so its 2.5 and 97.5 percentiles are 0 and 3/4.
        let interval = bootstrap_interval(&[vec![0.0, 0.0, 0.0, 1.0]], |means| means[0]).unwrap();
        assert_eq!(interval, Interval { low: 0.0, high: 0.75 });
    }

    #[test]
    fn a_mean_of_many_is_close_to_normal() {
        // 0 to 99: the standard error of a resampled mean is sqrt((100² - 1) / 12 / 100) = 2.8866; 1.96 of them.
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let interval = bootstrap_interval(&[values], |means| means[0]).unwrap();
        assert!((interval.low - (49.5 - 5.658)).abs() < 0.6, "{interval:?}");
        assert!((interval.high - (49.5 + 5.658)).abs() < 0.6, "{interval:?}");
    }

    #[test]
    fn one_repetition_gives_no_interval() {
        assert_eq!(bootstrap_interval(&[], |_| 0.0), None);
        assert_eq!(bootstrap_interval(&[vec![1.0, 2.0], vec![1.0]], |means| means[0]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn it_stays_between_the_extremes_and_repeats(values in proptest::collection::vec(0.0_f64..1e6, 2..8)) {
            let cells = [values.clone(), vec![2.0, 2.0]];
            let interval = bootstrap_interval(&cells, |means| means[0] / means[1]).unwrap();
            let lowest = values.iter().copied().fold(f64::INFINITY, f64::min) / 2.0;
            let highest = values.iter().copied().fold(0.0, f64::max) / 2.0;
            prop_assert!(interval.low <= interval.high);
            prop_assert!(lowest <= interval.low * (1.0 + 1e-12) && interval.high <= highest * (1.0 + 1e-12));
            prop_assert_eq!(Some(interval), bootstrap_interval(&cells, |means| means[0] / means[1]));
        }
    }
}
