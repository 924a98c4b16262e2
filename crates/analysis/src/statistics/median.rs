//! The median of repetitions and its interval by order statistics, for any distribution.
//!
//! The true median lies between the k-th value from either end with the chance that a fair coin shows heads so often.
//! These chances are steps, so the ends of the interval are interpolated between the pair that covers the truth slightly too
//! often and the next one that does so too rarely: near 95 % for any distribution. Fewer than six values have
//! none. Source: Hettmansperger and Sheather, "Confidence intervals based on interpolated order statistics", Statistics
//! & Probability Letters 4 (1986).

use super::interval::{Interval, estimate};
use halfpower_model::{Estimate, Quantity};
use statrs::distribution::{Binomial, DiscreteCDF};

/// The median; none if empty.
pub fn median_estimate(quantity: Quantity, values: &[f64]) -> Option<Estimate> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let middle = f64::midpoint(*sorted.get(count.saturating_sub(1) / 2)?, sorted[count / 2]);
    let interval = ends(count).map(|(rank, share)| {
        // From the outer towards the inner value.
        let between = |outer: f64, inner: f64| outer + share * (inner - outer);
        Interval {
            low: between(sorted[rank], sorted[rank + 1]),
            high: between(sorted[count - 1 - rank], sorted[count - 2 - rank]),
        }
    });
    Some(estimate(quantity, middle, interval, count))
}

/// Number of values beyond the outer pair, and the position of the interval's ends between outer and inner pair, as a share.
fn ends(count: usize) -> Option<(usize, f64)> {
    let heads = Binomial::new(0.5, count as u64).ok()?;
    let held = |rank: usize| 1.0 - 2.0 * heads.cdf(rank as u64);
    let rank = (0..count / 2).take_while(|rank| held(*rank) >= 0.95).last()?;
    let too_many = (held(rank) - 0.95) / (held(rank) - held(rank + 1));
    let (from_one, count) = ((rank + 1) as f64, count as f64);
    Some((rank, (count - from_one) * too_many / (from_one + (count - 2.0 * from_one) * too_many)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_tables() {
        // Conover, "Practical Nonparametric Statistics" (1999), section 3.2: ranks from 1, as many from the other end.
        for (count, rank) in [(6, 1), (8, 1), (9, 2), (10, 2), (15, 4), (20, 6), (25, 8), (50, 18)] {
            assert_eq!(ends(count).map(|(rank, _)| rank), Some(rank - 1), "{count}");
        }
        assert_eq!(ends(5), None);
    }

    #[test]
    fn ten_values_by_hand() {
        // Between the second and ninth lie 1 - 2 × 11/1024 = 0.97852, between the third and eighth 1 - 2 × 56/1024 =
        // 0.89063: (0.97852 - 0.95) / 0.08789 = 0.32444; 8 × 0.32444 / (2 + 6 × 0.32444) = 0.65763.
        let values = [9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0, 1000.0];
        let estimate = median_estimate(Quantity::Ratio, &values).unwrap();
        assert_eq!(estimate.value, 5.5);
        assert!((estimate.low.unwrap() - 2.657_63).abs() < 1e-4, "{estimate:?}");
        assert!((estimate.high.unwrap() - 8.342_37).abs() < 1e-4, "{estimate:?}");
        assert_eq!(median_estimate(Quantity::Ratio, &values[..3]).map(|estimate| estimate.value), Some(8.0));
        assert_eq!(median_estimate(Quantity::Ratio, &[]), None);
    }
}
