//! Hodges and Lehmann's estimators: the middle of the means of all pairs, and of all differences.
//!
//! Nearly as sharp as the mean where the scatter is normal, and untouched by a quarter of the values being far off. The
//! intervals invert Wilcoxon's and Mann and Whitney's tests. They hold exactly where the scatter is symmetric (one
//! sample), or where the two differ by a shift alone (two samples); for skewed repetitions take the
//! [median](super::median_estimate). Six values, or five against five, are the least that carry one.
//! Source: Hodges and Lehmann, "Estimates of location based on rank tests", Annals of Mathematical Statistics 34 (1963);
//! for the intervals Hollander and Wolfe, "Nonparametric Statistical Methods", 2nd edition (1999), sections 3.3 and 4.3.

use super::ranks::{MANY, outcomes_beyond, outcomes_beyond_normal, rank_sum_shares, signed_rank_shares};
use super::{Interval, estimate, middle};
use halfpower_model::{Estimate, Quantity};

/// The fewest of either sample that carry an interval of their shift.
const OF_EACH_MIN: usize = 5;

/// The pseudomedian: the median of the means of all pairs of values, each with itself too. None of nothing.
pub fn pseudomedian(quantity: Quantity, values: &[f64]) -> Option<Estimate> {
    let count = values.len();
    let pairs = (0..count).flat_map(|one| (one..count).map(move |other| (one, other)));
    let means = pairs.map(|(one, other)| f64::midpoint(values[one], values[other])).collect();
    let size = count as f64;
    let beyond = if count < MANY {
        outcomes_beyond(&signed_rank_shares(count))
    } else {
        let deviation = (size * (size + 1.0) * (2.0 * size + 1.0) / 24.0).sqrt();
        outcomes_beyond_normal(size * (size + 1.0) / 4.0, deviation)
    };
    of_pairs(quantity, means, beyond, count)
}

/// By how much the first sample lies above the second: the median of all differences. None where either is empty.
pub fn shift(quantity: Quantity, first: &[f64], second: &[f64]) -> Option<Estimate> {
    let differences = first.iter().flat_map(|one| second.iter().map(move |other| one - other)).collect();
    let (many, few) = (first.len().max(second.len()), first.len().min(second.len()));
    let beyond = if few < OF_EACH_MIN {
        0
    } else if many < MANY {
        outcomes_beyond(&rank_sum_shares(first.len(), second.len()))
    } else {
        let (first, second) = (first.len() as f64, second.len() as f64);
        outcomes_beyond_normal(first * second / 2.0, (first * second * (first + second + 1.0) / 12.0).sqrt())
    };
    of_pairs(quantity, differences, beyond, few)
}

/// The middle of what pairs give, from the `beyond`-th smallest to the `beyond`-th greatest.
fn of_pairs(quantity: Quantity, mut pairs: Vec<f64>, beyond: usize, repetitions: usize) -> Option<Estimate> {
    pairs.sort_by(f64::total_cmp);
    let interval = (beyond > 0).then(|| Interval { low: pairs[beyond - 1], high: pairs[pairs.len() - beyond] });
    Some(estimate(quantity, middle(&pairs)?, interval, repetitions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(estimate: Option<Estimate>, value: f64, low: f64, high: f64) {
        let estimate = estimate.unwrap();
        assert!((estimate.value - value).abs() < 1e-9, "{estimate:?}");
        assert!((estimate.low.unwrap() - low).abs() < 1e-9, "{estimate:?}");
        assert!((estimate.high.unwrap() - high).abs() < 1e-9, "{estimate:?}");
    }

    #[test]
    fn hamiltons_depression_scores() {
        // Hollander and Wolfe (1999), table 3.1 and examples 3.3 and 3.4: the shift is -0.46, between the sixth smallest
        // and sixth greatest of 45 means it lies with 96.1 %, from -0.786 to -0.010.
        // In thousandths.
        let before = [1830., 500., 1620., 2480., 1680., 1880., 1550., 3060., 1300.];
        let after = [878., 647., 598., 2050., 1060., 1290., 1060., 3140., 1290.];
        let change: Vec<f64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
        close(pseudomedian(Quantity::Ratio, &change), -460.0, -786.0, -10.0);
    }

    #[test]
    fn permeability_of_membranes() {
        // Hollander and Wolfe (1999), table 4.1: ten at term, five earlier; the differences were sorted by an independent
        // program (NumPy): middle 0.305, the ninth from either end -0.15 and 0.76 (R's `wilcox.test` prints the same).
        let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let earlier = [1.15, 0.88, 0.90, 0.74, 1.21];
        close(shift(Quantity::Ratio, &at_term, &earlier), 0.305, -0.15, 0.76);
    }

    #[test]
    fn few_values_have_no_interval() {
        assert_eq!(pseudomedian(Quantity::Ratio, &[]), None);
        assert_eq!(shift(Quantity::Ratio, &[], &[1.0]), None);
        let five = pseudomedian(Quantity::Ratio, &[1.0, 2.0, 3.0, 4.0, 50.0]).unwrap();
        assert_eq!((five.value, five.low, five.high), (3.0, None, None));
        assert_eq!(shift(Quantity::Ratio, &[1.0; 4], &[2.0; 4]).unwrap().low, None);
    }

    #[test]
    fn a_quarter_far_off_moves_little() {
        let values: Vec<f64> = (0..16).map(|index| if index % 4 == 0 { 1e9 } else { f64::from(index) }).collect();
        assert!(pseudomedian(Quantity::Ratio, &values).unwrap().value < 16.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_shift_follows(values in proptest::collection::vec(0.0_f64..1e3, 5..60), by in -1e3_f64..1e3) {
            let moved: Vec<f64> = values.iter().map(|value| value + by).collect();
            let estimate = shift(Quantity::Ratio, &moved, &values).unwrap();
            prop_assert!((estimate.value - by).abs() < 1e-6);
            prop_assert!(estimate.low.unwrap() <= estimate.value && estimate.value <= estimate.high.unwrap());
            let turned = shift(Quantity::Ratio, &values, &moved).unwrap();
            prop_assert!((turned.low.unwrap() + estimate.high.unwrap()).abs() < 1e-6);
            let (one, other) = (pseudomedian(Quantity::Ratio, &values).unwrap(), pseudomedian(Quantity::Ratio, &moved).unwrap());
            prop_assert!((other.value - one.value - by).abs() < 1e-6);
        }
    }
}
