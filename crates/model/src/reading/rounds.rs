//! A figure measured in several rounds: its median, and how sure that is.

use crate::finding::{Estimate, Quantity};
use serde::{Deserialize, Serialize};

/// The rounds of one figure and their median, in the unit of the field that holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    /// The median, which a few disturbed rounds do not move.
    pub median: f64,
    /// Lower end of the 95 % interval of the median; none below six rounds.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Each round, in the order they were taken.
    pub rounds: Vec<f64>,
}

impl Rounds {
    /// Of at least one round. The interval is that of the sign test: the narrowest pair of order statistics that holds
    /// the median with 95 % at least, whatever the distribution (Conover, Practical Nonparametric Statistics, 3.2).
    ///
    /// # Panics
    /// Without rounds.
    pub fn new(rounds: Vec<f64>) -> Rounds {
        let mut sorted = rounds.clone();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
        let ends = outermost(count).map(|rank| (sorted[rank], sorted[count - 1 - rank]));
        Rounds { median, low: ends.map(|(low, _)| low), high: ends.map(|(_, high)| high), rounds }
    }

    /// The largest round.
    pub fn largest(&self) -> f64 {
        self.rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// As an estimate of some quantity.
    pub fn estimate(&self, quantity: Quantity) -> Estimate {
        let repetitions = self.rounds.len() as u32;
        Estimate { quantity, value: self.median, low: self.low, high: self.high, repetitions }
    }
}

/// How many values of `count` lie outside the interval at either end; none where even all of them hold the median with
/// less than 95 %.
fn outermost(count: usize) -> Option<usize> {
    let mut outside = None;
    // The chance that `rank` values or fewer lie below the median.
    let (mut chance, mut below) = (0.5_f64.powi(count as i32), 0.0);
    for rank in 0..count / 2 {
        below += chance;
        if 2.0 * below > 0.05 {
            break;
        }
        outside = Some(rank);
        chance *= (count - rank) as f64 / (rank + 1) as f64;
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_its_interval_are_the_textbooks() {
        let of = |count: u32| Rounds::new((1..=count).rev().map(f64::from).collect());
        assert_eq!((of(5).median, of(5).low, of(5).high), (3.0, None, None));
        // Ranks of the sign test at 95 %, Conover's table of the binomial: 1 and 6 of 6, 2 and 8 of 9, 6 and 15 of 20.
        for (count, median, low, high) in [(6, 3.5, 1.0, 6.0), (9, 5.0, 2.0, 8.0), (20, 10.5, 6.0, 15.0)] {
            let rounds = of(count);
            assert_eq!((rounds.median, rounds.low, rounds.high), (median, Some(low), Some(high)), "{count}");
        }
        assert_eq!(of(9).largest(), 9.0);
    }
}
