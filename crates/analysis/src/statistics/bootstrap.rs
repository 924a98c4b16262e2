//! The bootstrap over repetitions: an interval for a figure that has no formula for one.
//!
//! Each cell's repetitions are drawn anew with replacement, cell by cell, and the figure is worked out from the means of
//! what was drawn; the middle of 5000 such figures is the interval. The middle 95 % would be too narrow: of five
//! repetitions it holds the truth five times in six. So the share left out is that of the expanded percentile interval,
//! which is about Student's t interval where the figure is a mean. With fewer than four repetitions even the whole range
//! of resamples holds the truth too rarely, and there is no interval. The seed is fixed, so that a stored result gives
//! the same report again.
//! Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13; Hesterberg, "What teachers should
//! know about the bootstrap", The American Statistician 69 (2015), for the expansion.

use super::Interval;
use super::interval::t_quantile;
use halfpower_model::random::Random;
use statrs::distribution::{ContinuousCDF, Normal};

const RESAMPLES: usize = 5000;
const REPETITIONS_MIN: usize = 4;
const SEED: u64 = 1997;

/// The interval of `figure`, a function of the cells' means in the order of `cells`. It may be infinite where a
/// resample has no answer. None without cells, or where one has fewer than four repetitions.
pub(crate) fn bootstrap_interval(cells: &[Vec<f64>], figure: impl Fn(&[f64]) -> f64) -> Option<Interval> {
    let repetitions = cells.iter().map(Vec::len).min().filter(|repetitions| *repetitions >= REPETITIONS_MIN)?;
    let mut random = Random::new(SEED);
    let mut means = vec![0.0; cells.len()];
    let mut figures: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            for (mean, values) in means.iter_mut().zip(cells) {
                *mean = resampled_mean(values, &mut random);
            }
            figure(&means)
        })
        .collect();
    figures.sort_by(f64::total_cmp);
    let beyond = (share_beyond(repetitions) * RESAMPLES as f64) as usize;
    Some(Interval { low: figures[beyond], high: figures[RESAMPLES - 1 - beyond] })
}

/// The share of resamples to leave out at either end: 2.5 % for many repetitions, less for few.
fn share_beyond(repetitions: usize) -> f64 {
    let count = repetitions as f64;
    Normal::standard().cdf(-(count / (count - 1.0)).sqrt() * t_quantile(repetitions - 1))
}

/// The mean of as many values, drawn with replacement.
fn resampled_mean(values: &[f64], random: &mut Random) -> f64 {
    let count = values.len();
    (0..count).map(|_| values[random.below(count as u64) as usize]).sum::<f64>() / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_share_beyond_by_hand() {
        // Tables of t and of the normal distribution: Φ(-√(5/4) × 2.776) = Φ(-3.104) = 0.00096,
        // Φ(-√(10/9) × 2.262) = Φ(-2.384) = 0.0086, Φ(-√(20/19) × 2.093) = Φ(-2.147) = 0.0159.
        for (repetitions, share) in [(5, 0.000_96), (10, 0.008_6), (20, 0.015_9)] {
            assert!((share_beyond(repetitions) - share).abs() < 5e-5, "{repetitions}: {}", share_beyond(repetitions));
        }
    }

    #[test]
    fn a_binomial_mean_by_hand() {
        // The mean of ten drawn from nine zeros and a one is binomial(10, 1/10) / 10: P(0) = 0.349, P(≤ 0.3) = 0.9872,
        // P(≤ 0.4) = 0.9984, so with 0.86 % beyond either end it is 0 to 0.4.
        let values = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        let interval = bootstrap_interval(&[values.to_vec()], |means| means[0]).unwrap();
        assert_eq!(interval, Interval { low: 0.0, high: 0.4 });
    }

    #[test]
    fn ninety_five_in_a_hundred_intervals_hold_the_truth() {
        let mut normal = crate::support::Normal::new(2015);
        let held = (0..200)
            .filter(|_| {
                let mut cell = |mean: f64| -> Vec<f64> { (0..5).map(|_| mean + normal.draw()).collect() };
                let cells = [cell(100.0), cell(50.0)];
                let interval = bootstrap_interval(&cells, |means| means[0] / means[1]).unwrap();
                interval.low <= 2.0 && 2.0 <= interval.high
            })
            .count();
        assert!((184..=199).contains(&held), "{held} of 200");
    }

    #[test]
    fn a_mean_of_many_is_close_to_normal() {
        // 0 to 99: the standard error of a resampled mean is sqrt((100² - 1) / 12 / 100) = 2.8866; 1.984 × √(100/99) of them.
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let interval = bootstrap_interval(&[values], |means| means[0]).unwrap();
        assert!((interval.low - (49.5 - 5.756)).abs() < 0.6, "{interval:?}");
        assert!((interval.high - (49.5 + 5.756)).abs() < 0.6, "{interval:?}");
    }

    #[test]
    fn few_repetitions_give_no_interval() {
        assert_eq!(bootstrap_interval(&[], |_| 0.0), None);
        assert_eq!(bootstrap_interval(&[vec![1.0; 5], vec![1.0; 3]], |means| means[0]), None);
        assert!(bootstrap_interval(&[vec![1.0; 5], vec![1.0; 4]], |means| means[0]).is_some());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn it_stays_between_the_extremes_and_repeats(values in proptest::collection::vec(0.0_f64..1e6, 4..9)) {
            let cells = [values.clone(), vec![2.0; 4]];
            let interval = bootstrap_interval(&cells, |means| means[0] / means[1]).unwrap();
            let lowest = values.iter().copied().fold(f64::INFINITY, f64::min) / 2.0;
            let highest = values.iter().copied().fold(0.0, f64::max) / 2.0;
            prop_assert!(interval.low <= interval.high);
            prop_assert!(lowest <= interval.low * (1.0 + 1e-12) && interval.high <= highest * (1.0 + 1e-12));
            prop_assert_eq!(Some(interval), bootstrap_interval(&cells, |means| means[0] / means[1]));
        }
    }
}
