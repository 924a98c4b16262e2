//! Ranks, and how the two rank statistics are distributed when nothing differs.
//!
//! The distributions are counted out, one order of signs or of values after the other by dynamic programming, in sums of
//! whole numbers as f64: exact up to 2^53, and to a part in 10^13 beyond.

use statrs::distribution::{ContinuousCDF, Normal};

/// From this many values on the normal distribution stands in, as in R.
pub(super) const MANY: usize = 50;

/// What a rank test stands on.
#[derive(Debug, PartialEq)]
pub(super) struct Ranked {
    /// The rank of each value, from 1; equal values share the mean of their ranks.
    pub(super) ranks: Vec<f64>,
    /// Σ (t³ - t) over the groups of t equal values; zero without any.
    pub(super) ties: f64,
}

/// The ranks of the values.
pub(super) fn ranked(values: &[f64]) -> Ranked {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
    let mut ranks = vec![0.0; values.len()];
    let mut ties = 0.0;
    let mut before = 0;
    for group in order.chunk_by(|one, other| values[*one] == values[*other]) {
        let count = group.len() as f64;
        group.iter().for_each(|index| ranks[*index] = before as f64 + (count + 1.0) / 2.0);
        ties += count.powi(3) - count;
        before += group.len();
    }
    Ranked { ranks, ties }
}

/// The chances of the sum of positive ranks being at most 0, 1, 2, … for `count` differences that are as likely positive
/// as negative.
pub(super) fn signed_rank_shares(count: usize) -> Vec<f64> {
    let most = count * (count + 1) / 2;
    let mut ways = vec![0.0; most + 1];
    ways[0] = 1.0;
    for rank in 1..=count {
        for sum in (rank..=most).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    shares(&ways)
}

/// The chances of at most 0, 1, 2, … pairs with the value of the first sample above that of the second, all orders of
/// the two being as likely.
pub(super) fn rank_sum_shares(first: usize, second: usize) -> Vec<f64> {
    let most = first * second;
    // ways[k][pairs]: of the values so far, the k of the first sample are above so many of the second.
    let mut ways = vec![vec![0.0; most + 1]; first + 1];
    ways[0][0] = 1.0;
    for rank in 1..=first + second {
        // The k-th smallest of the first sample has so many of the second below it; there are no more than there are.
        for k in (rank.saturating_sub(second).max(1)..=first.min(rank)).rev() {
            let below = rank - k;
            for pairs in below..=k * below {
                ways[k][pairs] += ways[k - 1][pairs - below];
            }
        }
    }
    shares(&ways[first])
}

fn shares(ways: &[f64]) -> Vec<f64> {
    let all: f64 = ways.iter().sum();
    let add = |sum: &mut f64, ways: &f64| {
        *sum += ways;
        Some(*sum / all)
    };
    ways.iter().scan(0.0, add).collect()
}

/// How many of the smallest outcomes are left out at either end of a 95 % interval: the most that together are no
/// likelier than 2.5 %. `shares` are those of [`signed_rank_shares`] or [`rank_sum_shares`]; 0 where even one is too many.
pub(super) fn outcomes_beyond(shares: &[f64]) -> usize {
    shares.iter().take_while(|share| **share <= 0.025).count()
}

/// The same by the normal distribution.
pub(super) fn outcomes_beyond_normal(mean: f64, deviation: f64) -> usize {
    ((mean - 0.5 + Normal::standard().inverse_cdf(0.025) * deviation).floor() + 1.0).max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_by_hand() {
        let ranked = ranked(&[3.0, 1.0, 3.0, 2.0, 3.0]);
        assert_eq!(ranked, Ranked { ranks: vec![4.0, 1.0, 4.0, 2.0, 4.0], ties: 24.0 });
    }

    #[test]
    fn signed_ranks_are_those_of_the_tables() {
        // Three differences: sums 0 to 6 in 1, 1, 1, 2, 1, 1, 1 ways of 8.
        let eighths: Vec<f64> = signed_rank_shares(3).iter().map(|share| share * 8.0).collect();
        assert_eq!(eighths, [1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 8.0]);
        // Wilcoxon's critical values, two-sided 5 %: Conover (1999), table A12.
        for (count, critical) in [(6, 0), (8, 3), (10, 8), (15, 25), (20, 52), (25, 89)] {
            assert_eq!(outcomes_beyond(&signed_rank_shares(count)), critical + 1, "{count}");
        }
        assert_eq!(outcomes_beyond(&signed_rank_shares(5)), 0);
    }

    #[test]
    fn rank_sums_are_those_of_the_tables() {
        // Two and two: 0 to 4 pairs in 1, 1, 2, 1, 1 ways of 6.
        let sixths: Vec<f64> = rank_sum_shares(2, 2).iter().map(|share| (share * 6.0).round()).collect();
        assert_eq!(sixths, [1.0, 2.0, 4.0, 5.0, 6.0]);
        // Mann and Whitney's critical values, two-sided 5 %: Milton, Journal of the American Statistical Association 59
        // (1964).
        for (first, second, critical) in [(4, 4, 0), (5, 5, 2), (5, 8, 6), (8, 8, 13), (10, 10, 23), (20, 20, 127)] {
            assert_eq!(outcomes_beyond(&rank_sum_shares(first, second)), critical + 1, "{first} {second}");
        }
    }

    #[test]
    fn the_normal_distribution_takes_over_without_a_step() {
        let count = MANY as f64;
        let deviation = (count * (count + 1.0) * (2.0 * count + 1.0) / 24.0).sqrt();
        let normal = outcomes_beyond_normal(count * (count + 1.0) / 4.0, deviation);
        assert!(normal.abs_diff(outcomes_beyond(&signed_rank_shares(MANY))) <= 2, "{normal}");
        let deviation = (count * count * (2.0 * count + 1.0) / 12.0).sqrt();
        let normal = outcomes_beyond_normal(count * count / 2.0, deviation);
        assert!(normal.abs_diff(outcomes_beyond(&rank_sum_shares(MANY, MANY))) <= 2, "{normal}");
        assert_eq!(outcomes_beyond_normal(1.0, 10.0), 0);
    }

    proptest! {
        #[test]
        fn ranks_sum_up_and_shares_are_symmetric(values in proptest::collection::vec(0_u8..9, 1..30), other in 1_usize..12) {
            let count = values.len();
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let sum: f64 = ranked(&values).ranks.iter().sum();
            prop_assert!((sum - (count * (count + 1)) as f64 / 2.0).abs() < 1e-9);
            for shares in [signed_rank_shares(count), rank_sum_shares(count, other)] {
                let last = shares.len() - 1;
                prop_assert!((shares[last] - 1.0).abs() < 1e-12);
                prop_assert!((0..last).all(|at| (shares[at] + shares[last - 1 - at] - 1.0).abs() < 1e-9));
            }
        }
    }
}
