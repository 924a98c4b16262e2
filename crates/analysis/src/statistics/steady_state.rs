//! Steady state as the storage industry defines it for solid-state disks: five rounds that neither spread nor slope.
//!
//! In the last five rounds the range is at most 20 % of their mean, and the line of least squares through them rises or falls by
//! at most 10 % of it over the window. It is a convention, not a test: noisy rounds never pass, and a slow drift does.
//! Source: SNIA, "Solid State Storage Performance Test Specification", version 2.0.2 (2020), definition 2.1.24 of steady
//! state.

use super::line::{Point, weighted_line};
use super::mean::mean;

/// The rounds that are looked at together.
const WINDOW: usize = 5;
const RANGE_MOST: f64 = 0.2;
const SLOPE_MOST: f64 = 0.1;

/// Five rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyState {
    /// The first of them, from 0.
    pub from: usize,
    /// Their mean, in the unit of the rounds.
    pub mean: f64,
    /// The highest less the lowest, as a share of the mean.
    pub range: f64,
    /// The end of the line through them less its beginning, as a share of the mean.
    pub slope: f64,
}

impl SteadyState {
    /// Of the five rounds from this one on; none where there are not as many, or their mean is not above zero.
    fn of(rounds: &[f64], from: usize) -> Option<SteadyState> {
        let window = rounds.get(from..from + WINDOW)?;
        let mean = mean(window).filter(|mean| *mean > 0.0)?;
        let points: Vec<Point> =
            (0..).zip(window).map(|(x, round)| Point { x: f64::from(x), y: *round, weight: 1.0 }).collect();
        let slope = weighted_line(&points)?.slope * (WINDOW - 1) as f64 / mean;
        let highest = window.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lowest = window.iter().copied().fold(f64::INFINITY, f64::min);
        Some(SteadyState { from, mean, range: (highest - lowest) / mean, slope })
    }

    fn is_steady(&self) -> bool {
        self.range <= RANGE_MOST && self.slope.abs() <= SLOPE_MOST
    }
}

/// The first five rounds that are steady; none where none are.
pub fn steady_state(rounds: &[f64]) -> Option<SteadyState> {
    (0..rounds.len()).filter_map(|from| SteadyState::of(rounds, from)).find(SteadyState::is_steady)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn five_rounds_by_hand() {
        // Mean 100; range 10; slope (-2 × -4 - 1 × 6 + 1 × 2 + 2 × 0) / 10 … of 96, 106, 98, 102, 98: (8 - 6 + 2 - 4) / 10 = 0.
        let steady = steady_state(&[150.0, 96.0, 106.0, 98.0, 102.0, 98.0]).unwrap();
        assert_eq!((steady.from, steady.mean), (1, 100.0));
        assert!((steady.range - 0.1).abs() < 1e-12 && steady.slope.abs() < 1e-12, "{steady:?}");
        // 96, 98, 100, 102, 104 rise by 2 a round: 8 % over the window.
        let rising = steady_state(&[96.0, 98.0, 100.0, 102.0, 104.0]).unwrap();
        assert!((rising.slope - 0.08).abs() < 1e-12 && (rising.range - 0.08).abs() < 1e-12, "{rising:?}");
    }

    #[test]
    fn each_limit_counts() {
        // A range of 22 % without a slope; a slope of 12 % within the range.
        assert_eq!(steady_state(&[100.0, 111.0, 89.0, 111.0, 100.0]), None);
        assert_eq!(steady_state(&[94.0, 97.0, 100.0, 103.0, 106.0]), None);
        assert_eq!(steady_state(&[100.0; 4]), None);
        assert_eq!(steady_state(&[0.0; 9]), None);
    }

    proptest! {
        #[test]
        fn it_has_no_unit_and_is_the_first(rounds in proptest::collection::vec(80.0_f64..120.0, 0..30), scale in 0.1_f64..1e6) {
            let scaled: Vec<f64> = rounds.iter().map(|round| round * scale).collect();
            let (one, other) = (steady_state(&rounds), steady_state(&scaled));
            prop_assert_eq!(one.map(|steady| steady.from), other.map(|steady| steady.from));
            if let Some(steady) = one {
                prop_assert!(steady_state(&rounds[..steady.from + 4]).is_none());
                prop_assert!(steady.range <= 0.2 && steady.slope.abs() <= 0.1);
            }
        }
    }
}
