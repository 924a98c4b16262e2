//! The bootstrap over repetitions: an interval for a figure without a formula.
//!
//! Each cell's repetitions are resampled with replacement, and the figure is computed from the means, 5000 times. BCa chooses the
//! ends among these figures: corrected for the figure's bias (the share of resamples below it) and for its acceleration (from
//! leaving out one repetition at a time). The middle 95 % would be too narrow: with five repetitions they cover the truth five
//! times in six. So the ends are first moved out like those of Student's t interval, with Welch's degrees of freedom of the
//! cells' influences: few if one cell dominates, more if several do.
//!
//! A figure of several cells has an interval from four repetitions of each on, a figure of one cell from fifteen. With fewer, even
//! the whole range of resamples covers the truth too rarely. The seed is fixed, so a stored result gives the same report.
//! Sources: Efron, "Better bootstrap confidence intervals", Journal of the American Statistical Association 82 (1987);
//! Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 14, and problem 14.15 for several samples;
//! Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69 (2015), for the expansion.

use super::interval::{Interval, estimate};
use super::mean::{mean, t_quantile};
use halfpower_model::random::Random;
use halfpower_model::{Estimate, Quantity};
use statrs::distribution::{ContinuousCDF, Normal};

const RESAMPLES: usize = 5000;
/// The fewest repetitions of each of several cells, and of one alone.
const OF_EACH_MIN: usize = 4;
const ALONE_MIN: usize = 15;
const SEED: u64 = 1997;

/// The interval of `figure`, a function of the cells' means in the order of `cells`. Infinite if a resample has no answer. None
/// without cells, with fewer than four repetitions of one, or fifteen of a single one.
pub fn bootstrap_of_means(cells: &[Vec<f64>], figure: impl Fn(&[f64]) -> f64) -> Option<Interval> {
    let least = if cells.len() == 1 { ALONE_MIN } else { OF_EACH_MIN };
    let repetitions = cells.iter().map(Vec::len).min().filter(|repetitions| *repetitions >= least)?;
    let mut random = Random::new(SEED);
    let mut means = vec![0.0; cells.len()];
    let resample = |_| {
        for (mean, values) in means.iter_mut().zip(cells) {
            let drawn = values.iter().map(|_| values[random.below(values.len() as u64) as usize]);
            *mean = drawn.sum::<f64>() / values.len() as f64;
        }
        figure(&means)
    };
    let mut figures: Vec<f64> = (0..RESAMPLES).map(resample).collect();
    figures.sort_by(f64::total_cmp);
    let figure = |cells: &[Vec<f64>]| figure(&cells.iter().filter_map(|values| mean(values)).collect::<Vec<_>>());
    let bias = bias(&figures, figure(cells));
    let Influence { acceleration, degrees_of_freedom } = Influence::of(cells, &figure);
    let reach = reach(repetitions, degrees_of_freedom);
    let beyond = |share: f64| ((share * RESAMPLES as f64) as usize).min(RESAMPLES - 1);
    let low = beyond(Normal::standard().cdf(moved(-reach, bias, acceleration)));
    let high = RESAMPLES - 1 - beyond(Normal::standard().cdf(-moved(reach, bias, acceleration)));
    Some(Interval { low: figures[low.min(high)], high: figures[high.max(low)] })
}

/// The repetitions of a cell whose scatter cannot change the figure: with fewer than `count`, their mean in place of each.
pub(crate) fn filled_up(values: &[f64], count: usize) -> Vec<f64> {
    mean(values).filter(|_| values.len() < count).map_or_else(|| values.to_vec(), |mean| vec![mean; count])
}

/// A figure of the cells' means with that interval, widened to contain the figure.
pub(crate) fn bootstrap_estimate(
    quantity: Quantity,
    value: f64,
    cells: &[Vec<f64>],
    figure: impl Fn(&[f64]) -> f64,
) -> Estimate {
    let fewest = cells.iter().map(Vec::len).min().unwrap_or(0);
    estimate(quantity, value, bootstrap_of_means(cells, figure).map(|interval| interval.with(value)), fewest)
}

/// Distance of the ends before BCa, in normal deviations: 1.96 for many repetitions, more for few.
fn reach(repetitions: usize, degrees_of_freedom: f64) -> f64 {
    let count = repetitions as f64;
    (count / (count - 1.0)).sqrt() * t_quantile(degrees_of_freedom)
}

/// The bias in normal deviations, from the share of resamples below the figure of all repetitions.
fn bias(sorted: &[f64], of_all: f64) -> f64 {
    let below = sorted.partition_point(|figure| *figure < of_all);
    let up_to = sorted.partition_point(|figure| *figure <= of_all);
    // Half of the equal ones; never 0 or 1, which would be infinite.
    let share = (below + up_to) as f64 / 2.0 / sorted.len() as f64;
    let least = 0.5 / sorted.len() as f64;
    Normal::standard().inverse_cdf(share.clamp(least, 1.0 - least))
}

/// The influence of single repetitions on the figure, by leaving out one at a time.
#[derive(Clone, Copy, Debug)]
struct Influence {
    /// Change of the figure's scatter with the figure.
    acceleration: f64,
    /// Degrees of freedom of the scatter (Welch): repetitions less one if a single cell dominates, more if several do.
    degrees_of_freedom: f64,
}

impl Influence {
    /// Without acceleration and with the fewest degrees of freedom if a figure is undefined or never changes.
    fn of(cells: &[Vec<f64>], figure: &impl Fn(&[Vec<f64>]) -> f64) -> Influence {
        let (mut squares, mut cubes, mut welch) = (0.0, 0.0, 0.0);
        let mut fewest = f64::INFINITY;
        let mut left = cells.to_vec();
        for (cell, values) in cells.iter().enumerate() {
            let without = |index: usize| {
                left[cell] = [&values[..index], &values[index + 1..]].concat();
                figure(&left)
            };
            let figures: Vec<f64> = (0..values.len()).map(without).collect();
            left[cell].clone_from(values);
            let count = values.len() as f64;
            let middle = figures.iter().sum::<f64>() / count;
            let influences = figures.iter().map(|figure| (count - 1.0) * (middle - figure) / count);
            let of_cell: f64 = influences.clone().map(|influence| influence.powi(2)).sum();
            squares += of_cell;
            cubes += influences.map(|influence| influence.powi(3)).sum::<f64>();
            welch += of_cell.powi(2) / (count - 1.0);
            fewest = fewest.min(count - 1.0);
        }
        let acceleration = cubes / 6.0 / squares.powf(1.5);
        let degrees_of_freedom = squares.powi(2) / welch;
        if acceleration.is_finite() && degrees_of_freedom.is_finite() {
            Influence { acceleration, degrees_of_freedom }
        } else {
            Influence { acceleration: 0.0, degrees_of_freedom: fewest }
        }
    }
}

/// An end in normal deviations, corrected for bias and acceleration.
fn moved(end: f64, bias: f64, acceleration: f64) -> f64 {
    let from_bias = bias + end;
    let slack = 1.0 - acceleration * from_bias;
    if slack > 0.0 { bias + from_bias / slack } else { f64::INFINITY.copysign(from_bias) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reach_by_hand() {
        // Tables of t: √(5/4) × 2.776, √(10/9) × 2.262, √(20/19) × 2.093.
        for (repetitions, deviations) in [(5, 3.104), (10, 2.384), (20, 2.147)] {
            assert!((reach(repetitions, repetitions as f64 - 1.0) - deviations).abs() < 1e-3, "{repetitions}");
        }
    }

    /// Spatial perception of 26 children, test A: Efron and Tibshirani (1993), table 14.1.
    const SPATIAL: [f64; 26] = [
        48., 36., 20., 29., 42., 42., 20., 42., 22., 41., 45., 14., 6., 0., 33., 28., 34., 4., 32., 24., 47., 41., 24.,
        26., 30., 41.,
    ];

    #[test]
    fn the_spatial_tests_acceleration_and_ends() {
        // Efron and Tibshirani (1993), section 14.3: of the variance the acceleration is 0.061, and with a bias of 0.146 the
        // ends of 90 % are not at 5 and 95 % but at 11.0 and 98.5 %, all of them rounded.
        let spread = |cells: &[Vec<f64>]| {
            let middle = mean(&cells[0]).unwrap();
            cells[0].iter().map(|value| (value - middle).powi(2)).sum::<f64>() / cells[0].len() as f64
        };
        let found = Influence::of(&[SPATIAL.to_vec()], &spread).acceleration;
        assert!((found - 0.061).abs() < 5e-4, "{found}");
        for (end, share) in [(-1.645, 0.110), (1.645, 0.985)] {
            let found = Normal::standard().cdf(moved(end, 0.146, 0.061));
            assert!((found - share).abs() < 1e-3, "{found}");
        }
        assert_eq!(moved(3.0, 0.0, 0.4), f64::INFINITY);
        let none = Influence::of(&[vec![1.0; 4], vec![2.0; 5]], &|_: &[Vec<f64>]| 1.0);
        assert_eq!((none.acceleration, none.degrees_of_freedom), (0.0, 3.0));
    }

    #[test]
    fn the_freedom_is_that_of_welchs_test() {
        // A difference of two means: variances over counts 2.5 / 5 and 10 / 5: 2.5² / (0.5² / 4 + 2² / 4) = 5.882353.
        let cells = [vec![8.0, 9.0, 10.0, 11.0, 12.0], vec![16.0, 18.0, 20.0, 22.0, 24.0]];
        let difference = |cells: &[Vec<f64>]| mean(&cells[1]).unwrap() - mean(&cells[0]).unwrap();
        let found = Influence::of(&cells, &difference);
        assert!((found.degrees_of_freedom - 5.882_353).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn the_bias_by_hand() {
        // One below and two equal of four: half.
        assert_eq!(bias(&[1.0, 2.0, 2.0, 3.0], 2.0), 0.0);
        // All below: 1 - 0.5 / 4 = 0.875.
        assert!((bias(&[1.0; 4], 2.0) - 1.150_349).abs() < 1e-6);
    }

    #[test]
    fn a_binomial_mean_by_hand() {
        // The mean of ten drawn from nine zeros and a one is binomial(10, 1/10) / 10. Below 0.1 is 0.349 of it, and 0.387 at
        // it: the bias is Φ⁻¹(0.349 + 0.387 / 2) = 0.1066. Nine influences of -0.1 and one of 0.9: the acceleration is
        // 0.72 / 6 / 0.9^1.5 = 0.1405. The ends of 2.384 come to Φ(-1.62) = 5.3 %, which is 0, and to Φ(3.94), beyond which
        // is one in 25 000: the highest of 5000, which is at least 0.5 with P(> 0.4) = 0.0016 and above that in every other
        // lot, P(> 0.5) = 0.00015.
        let values = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        let interval = bootstrap_of_means(&[values.to_vec(), vec![1.0; 10]], |means| means[0]).unwrap();
        assert_eq!(interval, Interval { low: 0.0, high: 0.5 });
    }

    #[test]
    fn a_mean_of_many_is_close_to_normal() {
        // 0 to 99: the standard error of a resampled mean is sqrt((100² - 1) / 12 / 100) = 2.8866; 1.984 × √(100/99) of them.
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let interval = bootstrap_of_means(&[values], |means| means[0]).unwrap();
        assert!((interval.low - (49.5 - 5.756)).abs() < 0.6, "{interval:?}");
        assert!((interval.high - (49.5 + 5.756)).abs() < 0.6, "{interval:?}");
    }

    #[test]
    fn ninety_five_in_a_hundred_intervals_hold_the_truth() {
        let mut normal = crate::fixtures::Normal::new(2015);
        let held = (0..200)
            .filter(|_| {
                let mut cell = |mean: f64| -> Vec<f64> { (0..5).map(|_| mean + normal.draw()).collect() };
                let cells = [cell(100.0), cell(50.0)];
                let interval = bootstrap_of_means(&cells, |means| means[0] / means[1]).unwrap();
                interval.low <= 2.0 && 2.0 <= interval.high
            })
            .count();
        assert!((184..=199).contains(&held), "{held} of 200");
    }

    #[test]
    fn few_repetitions_give_no_interval() {
        assert_eq!(bootstrap_of_means(&[], |_| 0.0), None);
        assert_eq!(bootstrap_of_means(&[vec![1.0; 5], vec![1.0; 3]], |means| means[0]), None);
        assert!(bootstrap_of_means(&[vec![1.0; 5], vec![1.0; 4]], |means| means[0]).is_some());
        assert_eq!(bootstrap_of_means(&[vec![1.0; 14]], |means| means[0]), None);
        assert!(bootstrap_of_means(&[vec![1.0; 15]], |means| means[0]).is_some());
    }
}
