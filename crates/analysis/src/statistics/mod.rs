//! Estimators, tests and verdicts over plain numbers, independent of storage.
//!
//! One method for each question, chosen by the coverage of its intervals in simulation (`tests/coverage.rs`; the table is in
//! docs/decisions/statistics.md):
//!
//! | question | answer | from |
//! |---|---|---|
//! | the mean of repetitions | [`mean_estimate`], Student's t | 2 values |
//! | a typical value, whatever the distribution | [`median_estimate`], interpolated order statistics | 6 values |
//! | a ratio within the same blocks | [`paired_ratio`], t of logarithms | 2 blocks |
//! | a ratio of two samples | [`ratio_of_means`], Fieller with Welch's freedom | 5 and 5 |
//! | a ratio of two runs | the variation between runs ([`crate::comparison`]) | 1 and 1 |
//! | scatter within and between blocks | [`RandomisedBlocks`] | 2 by 2 |
//! | a figure without a formula | [`bootstrap_of_means`], BCa, moved out as t is | 4 of each of several cells, 15 of one |
//! | the mean of an autocorrelated series | [`series_mean`], batch means | 20 autocorrelation times |
//! | what changed | [`Contrast`] and [`verdicts`] | as the ratio |
//!
//! Callers exclude values that are not finite. No method gives an interval that the numbers do not support. Intervals are 95 %.

mod autocorrelation;
mod blocks;
mod bootstrap;
mod change_points;
mod contrast;
mod divisive;
mod interval;
mod lasting_changes;
mod least_squares;
mod mean;
mod median;
mod ratio;
mod steady_state;
mod warm_up;

pub use autocorrelation::{series_mean, worth_by_batches};
pub use blocks::RandomisedBlocks;
pub use bootstrap::bootstrap_of_means;
pub(crate) use bootstrap::{bootstrap_estimate, filled_up};
pub use change_points::{CHANGE_VALUES_MIN, change_points};
pub use contrast::{Contrast, Margin, Verdict, adjusted_p_values, verdicts};
pub use divisive::divisive_change_points;
pub use interval::Interval;
pub(crate) use interval::estimate;
pub use lasting_changes::lasting_changes;
pub(crate) use least_squares::line_through;
pub use least_squares::{Equation, Fit, Point, least_squares, weighted_line};
pub(crate) use mean::{geometric_mean_estimate, variance, with_known};
pub use mean::{is_precise, mean, mean_estimate, mean_interval};
pub use median::median_estimate;
pub use ratio::{paired_ratio, ratio_of_means};
pub use steady_state::is_ever_steady;
pub use warm_up::warm_up;

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::{Estimate, Quantity};
    use proptest::prelude::*;

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-6 * (1.0 + one.abs() + other.abs())
    }

    fn are_reciprocal(one: &Estimate, other: &Estimate) -> bool {
        near(one.value * other.value, 1.0) && near(one.low.unwrap() * other.high.unwrap(), 1.0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_unit_does_not_count(values in proptest::collection::vec(1.0_f64..1e3, 12..60), shift in 0.0_f64..1e3, scale in 0.5_f64..50.0) {
            let scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
            let moved: Vec<f64> = scaled.iter().map(|value| value + shift).collect();
            let (one, other) = (mean_interval(&values).unwrap(), mean_interval(&moved).unwrap());
            prop_assert!(near(other.low, one.low * scale + shift) && near(other.high, one.high * scale + shift));
            prop_assert!(one.holds(mean(&values).unwrap()));
            prop_assert_eq!(is_precise(&values, 0.2), is_precise(&scaled, 0.2));
            prop_assert_eq!(is_ever_steady(&values), is_ever_steady(&scaled));
            prop_assert_eq!(change_points(&values, 1e-3), change_points(&moved, 1e-3 * scale));
            let lasting = lasting_changes(&values, 0.1);
            prop_assert!(lasting.is_sorted() && lasting.iter().all(|start| change_points(&values, 0.1).contains(start)));
            prop_assert_eq!(lasting_changes(&scaled, 0.1 * scale), lasting);
        }

        #[test]
        fn estimates_lie_within_and_ratios_turn_around(values in proptest::collection::vec((90.0_f64..100.0, 40.0_f64..60.0), 6..12)) {
            let turned: Vec<(f64, f64)> = values.iter().map(|(above, below)| (*below, *above)).collect();
            prop_assert!(are_reciprocal(&paired_ratio(&values).unwrap(), &paired_ratio(&turned).unwrap()));
            let mut slowed = values.clone();
            slowed[0] = (values[0].0 / 7.0, values[0].1 / 7.0);
            prop_assert!(near(paired_ratio(&slowed).unwrap().value, paired_ratio(&values).unwrap().value));
            let (above, below): (Vec<f64>, Vec<f64>) = values.into_iter().unzip();
            let ratio = ratio_of_means(&above, &below).unwrap();
            prop_assert!(are_reciprocal(&ratio, &ratio_of_means(&below, &above).unwrap()));
            let median = median_estimate(Quantity::Ratio, &above).unwrap();
            let cells = [above.clone(), vec![1.0; 4]];
            let bootstrap = bootstrap_of_means(&cells, |means| means[0] / means[1]).unwrap();
            prop_assert_eq!(Some(bootstrap), bootstrap_of_means(&cells, |means| means[0] / means[1]));
            let all = [median.low.unwrap(), median.value, median.high.unwrap(), bootstrap.low, bootstrap.high];
            prop_assert!(all.iter().all(|value| (90.0..=100.0).contains(value)) && all[..3].is_sorted());
        }

        #[test]
        fn adjusted_none_gets_smaller_and_the_order_stays(mut p_values in proptest::collection::vec(0.0_f64..=1.0, 1..50)) {
            p_values.sort_by(f64::total_cmp);
            let adjusted = adjusted_p_values(&p_values);
            prop_assert!(adjusted.is_sorted() && adjusted.iter().zip(&p_values).all(|(one, raw)| raw <= one && *one <= 1.0));
        }

        #[test]
        fn a_weight_of_two_is_a_point_twice(heights in proptest::collection::vec(1.0_f64..100.0, 3..10)) {
            let mut points: Vec<Point> = (0..).zip(&heights).map(|(x, y)| Point { x: f64::from(x), y: *y, weight: 1.0 }).collect();
            let twice = weighted_line(&[&points[..1], &points].concat()).unwrap();
            points[0].weight = 2.0;
            let line = weighted_line(&points).unwrap();
            prop_assert!((0..2).all(|index| near(line.coefficients[index], twice.coefficients[index])));
            prop_assert!(near(line.squares_left, twice.squares_left));
        }
    }
}
