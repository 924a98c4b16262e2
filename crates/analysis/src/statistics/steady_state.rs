//! Steady state as the storage industry defines it for solid-state disks: five rounds that neither spread nor slope.
//!
//! In the last five rounds the range is at most 20 % of their mean, and the line of least squares through them rises or falls by
//! at most 10 % of it over the window. It is a convention, not a test: noisy rounds never pass, and a slow drift does.
//! Source: SNIA, "Solid State Storage Performance Test Specification", version 2.0.2 (2020), definition 2.1.24 of steady
//! state.

use super::least_squares::line_through;
use super::mean::mean;

/// Rounds of a window.
const WINDOW: usize = 5;
const RANGE_MOST: f64 = 0.2;
const SLOPE_MOST: f64 = 0.1;

/// Whether some five rounds in a row are steady.
pub fn is_ever_steady(rounds: &[f64]) -> bool {
    rounds.windows(WINDOW).any(|window| is_steady(window).unwrap_or(false))
}

/// None if the mean is not above zero.
fn is_steady(window: &[f64]) -> Option<bool> {
    let mean = mean(window).filter(|mean| *mean > 0.0)?;
    let slope = line_through(window)?.coefficients[1] * (WINDOW - 1) as f64;
    let highest = window.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = window.iter().copied().fold(f64::INFINITY, f64::min);
    Some(highest - lowest <= RANGE_MOST * mean && slope.abs() <= SLOPE_MOST * mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_counts() {
        // Means of 100: a range of 10 without a slope after an outlier, and a rise of 2 a round, 8 % over the window.
        assert!(is_ever_steady(&[150.0, 96.0, 106.0, 98.0, 102.0, 98.0]));
        assert!(is_ever_steady(&[96.0, 98.0, 100.0, 102.0, 104.0]));
        // A range of 22 % without a slope; a slope of 12 % within the range.
        assert!(!is_ever_steady(&[100.0, 111.0, 89.0, 111.0, 100.0]));
        assert!(!is_ever_steady(&[94.0, 97.0, 100.0, 103.0, 106.0]));
        assert!(!is_ever_steady(&[100.0; 4]) && !is_ever_steady(&[0.0; 9]));
    }
}
