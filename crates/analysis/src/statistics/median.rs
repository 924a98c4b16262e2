//! The median of repetitions and its interval by order statistics, which asks nothing of their distribution.
//!
//! The true median lies between two of the values with the chance that a fair coin shows heads so often; the closest
//! pair, equally far from both ends, with at least 95 % is the interval. Fewer than six values have none.
//! Source: Hahn and Meeker, "Statistical Intervals" (1991), section 5.2.

use halfpower_model::{Estimate, Quantity};
use statrs::distribution::{Binomial, DiscreteCDF};

/// The median; none of nothing.
pub(crate) fn median_estimate(quantity: Quantity, values: &[f64]) -> Option<Estimate> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let upper = sorted.get(count / 2)?;
    let ends = rank_below(count).map(|beyond| (sorted[beyond], sorted[count - 1 - beyond]));
    Some(Estimate {
        quantity,
        value: if count.is_multiple_of(2) { f64::midpoint(sorted[count / 2 - 1], *upper) } else { *upper },
        low: ends.map(|ends| ends.0),
        high: ends.map(|ends| ends.1),
        repetitions: count as u32,
    })
}

/// How many values lie beyond the interval at either end.
fn rank_below(count: usize) -> Option<usize> {
    let heads = Binomial::new(0.5, count as u64).ok()?;
    (0..count / 2).take_while(|beyond| heads.cdf(*beyond as u64) <= 0.025).last()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_are_those_of_the_tables() {
        // Conover, "Practical Nonparametric Statistics" (1999), section 3.2: ranks from 1, as many from the other end.
        for (count, rank) in [(6, 1), (8, 1), (9, 2), (10, 2), (15, 4), (20, 6), (25, 8), (50, 18)] {
            assert_eq!(rank_below(count), Some(rank - 1), "{count}");
        }
        assert_eq!(rank_below(5), None);
    }

    #[test]
    fn ten_values_by_hand() {
        let values = [9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0, 1000.0];
        let estimate = median_estimate(Quantity::Ratio, &values).unwrap();
        assert_eq!((estimate.value, estimate.low, estimate.high), (5.5, Some(2.0), Some(9.0)));
        assert_eq!(median_estimate(Quantity::Ratio, &values[..3]).map(|estimate| estimate.value), Some(8.0));
        assert_eq!(median_estimate(Quantity::Ratio, &[]), None);
    }

    proptest! {
        #[test]
        fn it_is_among_the_values_and_in_its_interval(values in proptest::collection::vec(0.0_f64..1e9, 6..60)) {
            let estimate = median_estimate(Quantity::Ratio, &values).unwrap();
            let (low, high) = (estimate.low.unwrap(), estimate.high.unwrap());
            prop_assert!(low <= estimate.value && estimate.value <= high);
            prop_assert!(values.contains(&low) && values.contains(&high));
        }
    }
}
