//! Hodges and Lehmann's estimators: the middle of the means of all pairs, and of all differences.
//!
//! Nearly as sharp as the mean where the scatter is normal, and untouched by a quarter of the values being far off. The
//! intervals invert Wilcoxon's and Mann and Whitney's tests. They hold exactly where the scatter is symmetric (one
//! sample), or where the two differ by a shift alone (two samples); for skewed repetitions take the
//! [median](super::median_estimate). Six values, or five against five, are the least that carry one.
//!
//! Pairs are counted, never listed: of sorted values all of those up to a figure are found in one passage, and the figure
//! that a rank asks for by halving. That takes n log n, and no more memory than the values.
//!
//! Sources: Hodges and Lehmann, "Estimates of location based on rank tests", Annals of Mathematical Statistics 34 (1963);
//! for the intervals Hollander and Wolfe, "Nonparametric Statistical Methods", 2nd edition (1999), sections 3.3 and 4.3; for
//! the counting Johnson and Mizoguchi, "Selecting the Kth element in X + Y and X1 + X2 + … + Xm", SIAM Journal on Computing 7
//! (1978).

use super::ranks::{MANY, outcomes_beyond, outcomes_beyond_normal, rank_sum_shares, signed_rank_shares};
use super::{Interval, estimate, sorted};
use halfpower_model::{Estimate, Quantity};

/// The fewest of either sample that carry an interval of their shift.
const OF_EACH_MIN: usize = 5;

/// The pseudomedian: the median of the means of all pairs of values, each with itself too. None of nothing.
pub fn pseudomedian(quantity: Quantity, values: &[f64]) -> Option<Estimate> {
    let count = values.len();
    let values = sorted(values);
    let up_to = |most: f64| {
        // The greater a value, the fewer of those from it on have a mean with it that is not above the most.
        let mut end = count;
        let with = |one: usize| {
            while end > one && f64::midpoint(values[one], values[end - 1]) > most {
                end -= 1;
            }
            end.saturating_sub(one)
        };
        (0..count).map(with).sum()
    };
    of_pairs(quantity, count * (count + 1) / 2, up_to, beyond_of_one(count), count)
}

/// By how much the first sample lies above the second: the median of all differences. None where either is empty.
pub fn shift(quantity: Quantity, first: &[f64], second: &[f64]) -> Option<Estimate> {
    let (first, second) = (sorted(first), sorted(second));
    let up_to = |most: f64| {
        // The greater a value of the first, the fewer of the second are so great that it is not further above them.
        let mut start = 0;
        let with = |one: &f64| {
            while start < second.len() && one - second[start] > most {
                start += 1;
            }
            second.len() - start
        };
        first.iter().map(with).sum()
    };
    let beyond = beyond_of_two(first.len(), second.len());
    of_pairs(quantity, first.len() * second.len(), up_to, beyond, first.len().min(second.len()))
}

/// How many means of pairs are beyond either end of the interval; 0 where there is none.
fn beyond_of_one(count: usize) -> usize {
    if count < MANY {
        return outcomes_beyond(&signed_rank_shares(count));
    }
    let size = count as f64;
    let deviation = (size * (size + 1.0) * (2.0 * size + 1.0) / 24.0).sqrt();
    outcomes_beyond_normal(size * (size + 1.0) / 4.0, deviation)
}

/// The same of differences between two samples.
fn beyond_of_two(first: usize, second: usize) -> usize {
    if first.min(second) < OF_EACH_MIN {
        0
    } else if first.max(second) < MANY {
        outcomes_beyond(&rank_sum_shares(first, second))
    } else {
        let (first, second) = (first as f64, second as f64);
        outcomes_beyond_normal(first * second / 2.0, (first * second * (first + second + 1.0) / 12.0).sqrt())
    }
}

/// The middle of what pairs give, from the `beyond`-th smallest to the `beyond`-th greatest. `up_to` says how many of them are
/// not above a figure.
fn of_pairs(
    quantity: Quantity,
    pairs: usize,
    up_to: impl Fn(f64) -> usize,
    beyond: usize,
    repetitions: usize,
) -> Option<Estimate> {
    let last = pairs.checked_sub(1)?;
    let place = |index: usize| smallest(|figure| up_to(figure) > index);
    let interval = (beyond > 0).then(|| Interval { low: place(beyond - 1), high: place(pairs - beyond) });
    Some(estimate(quantity, f64::midpoint(place(last / 2), place(pairs / 2)), interval, repetitions))
}

/// The smallest figure for which something holds that holds for all greater ones too: halved over all there are, in their
/// order, so that it is exact.
fn smallest(holds: impl Fn(f64) -> bool) -> f64 {
    // IEEE 754: below zero the bits grow as the figure falls.
    const SIGN: u64 = 1 << 63;
    let order = |bits: u64| if bits & SIGN == 0 { bits | SIGN } else { !bits };
    let figure = |order: u64| f64::from_bits(if order & SIGN == 0 { !order } else { order ^ SIGN });
    let (mut low, mut high) = (order(f64::NEG_INFINITY.to_bits()), order(f64::INFINITY.to_bits()));
    while low < high {
        let between = low.midpoint(high);
        if holds(figure(between)) { high = between } else { low = between + 1 }
    }
    // Of the two zeros the one without a sign.
    figure(high) + 0.0
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

    #[test]
    fn the_figures_are_those_of_all_pairs_in_order() {
        let mut normal = crate::support::Normal::new(1978);
        let listed = |mut pairs: Vec<f64>, beyond: usize| {
            pairs.sort_by(f64::total_cmp);
            let ends = (beyond > 0).then(|| (pairs[beyond - 1], pairs[pairs.len() - beyond]));
            (crate::statistics::middle(&pairs), ends)
        };
        let found = |estimate: Estimate| (Some(estimate.value), estimate.low.zip(estimate.high));
        // About the size from which on the normal distribution stands in; with equal values among them.
        for (one, other) in [(1, 1), (5, 5), (6, 49), (49, 7), (50, 50), (51, 80)] {
            let mut draw = |count| (0..count).map(|_| (normal.draw() * 20.0).round() / 7.0).collect::<Vec<f64>>();
            let (first, second) = (draw(one), draw(other));
            let differences = first.iter().flat_map(|one| second.iter().map(move |other| one - other)).collect();
            let expected = listed(differences, beyond_of_two(one, other));
            assert_eq!(shift(Quantity::Ratio, &first, &second).map(found), Some(expected), "{one} {other}");
            let pairs = (0..one).flat_map(|at| first[at..].iter().map(move |other| (at, *other)));
            let expected =
                listed(pairs.map(|(at, other)| f64::midpoint(first[at], other)).collect(), beyond_of_one(one));
            assert_eq!(pseudomedian(Quantity::Ratio, &first).map(found), Some(expected), "{one}");
        }
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
