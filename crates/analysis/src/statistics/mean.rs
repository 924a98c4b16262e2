//! The mean of repetitions and its 95 % interval by Student's t.
//!
//! Repetitions must be independent; seconds or requests within one are not ([`series_mean`](super::series_mean) is for
//! those). With skewed scatter the interval contains the truth slightly less often: with five repetitions of a
//! lognormal with σ = 0.25 in 94 %, with σ = 0.5 in 91 % of the cases; the [median](super::median_estimate) has no such
//! weakness.
//! Source: Student, "The probable error of a mean", Biometrika 6 (1908).

use super::interval::{Interval, estimate};
use halfpower_model::{Estimate, Quantity};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The mean; none if empty.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The unbiased variance; none under two values.
pub(crate) fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    Some(values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64)
}

/// Standard errors on either side of a two-sided 95 % interval; infinite without a degree of freedom.
pub(super) fn t_quantile(degrees_of_freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees_of_freedom).map_or(f64::INFINITY, |students_t| students_t.inverse_cdf(0.975))
}

/// The 95 % interval of the mean; none under two values.
pub fn mean_interval(values: &[f64]) -> Option<Interval> {
    let half = t_quantile(values.len().checked_sub(1)? as f64) * (variance(values)? / values.len() as f64).sqrt();
    let mean = mean(values)?;
    Some(Interval { low: mean - half, high: mean + half })
}

/// The mean of a non-negative quantity, with its interval cut at zero; none if empty.
pub fn mean_estimate(quantity: Quantity, values: &[f64]) -> Option<Estimate> {
    let interval = mean_interval(values).map(|interval| Interval { low: interval.low.max(0.0), ..interval });
    Some(estimate(quantity, mean(values)?, interval, values.len()))
}

/// Degrees of freedom of a variance that is known.
const KNOWN: f64 = 1e6;

/// A variance with its degrees of freedom, and one that is known or assumed, in sum, with the degrees of freedom of that (Satterthwaite).
pub(crate) fn with_known(seen: f64, freedom: f64, known: f64) -> (f64, f64) {
    let all = seen + known;
    (all, if seen > 0.0 { ((all / seen).powi(2) * freedom).min(KNOWN) } else { KNOWN })
}

/// The mean of logarithms, as a figure, with the 95 % t interval of those: what a ratio of logarithms compares. None without a
/// value, or if one is not above zero.
pub(crate) fn geometric_mean_estimate(quantity: Quantity, values: &[f64]) -> Option<Estimate> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let value = mean(&logarithms).filter(|mean| mean.is_finite())?.exp();
    Some(estimate(quantity, value, mean_interval(&logarithms).map(|interval| interval.map(f64::exp)), values.len()))
}

/// Whether half the 95 % t interval over the mean is at most `precision`: 0.02 is ±2 %. False under two values or with a mean of
/// zero.
///
/// Repetitions stop by this width, never by a value or a comparison, because a rule by the difference would stop on chance. Still,
/// an interval at which repetitions stop is slightly too narrow: with at least ten repetitions it covers the truth in 93.7 % or
/// more, with five in 92.3 % at worst.
/// Source: Chow and Robbins, "On the asymptotic theory of fixed-width sequential confidence intervals for the mean",
/// Annals of Mathematical Statistics 36 (1965).
pub fn is_precise(values: &[f64], precision: f64) -> bool {
    let widths =
        mean_interval(values).zip(mean(values)).map(|(interval, mean)| (interval.high - interval.low) / mean.abs());
    widths.is_some_and(|width| width / 2.0 <= precision)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Differences in hours of sleep, from Student's paper of 1908.
    const SLEEP_H: [f64; 10] = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, column 0.975.
        for (degrees_of_freedom, quantile) in
            [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (30, 2.042), (100, 1.984)]
        {
            let got = t_quantile(f64::from(degrees_of_freedom));
            assert!((got - quantile).abs() < 0.0006, "{degrees_of_freedom}: {got}");
        }
    }

    #[test]
    fn the_sleep_data_give_their_published_interval() {
        // The manual of R, `t.test` on the data set `sleep`, paired: mean 1.58, 0.7001142 to 2.4598858.
        let estimate = mean_estimate(Quantity::Ratio, &SLEEP_H).unwrap();
        assert!((estimate.value - 1.58).abs() < 1e-12);
        assert!((estimate.low.unwrap() - 0.700_114_2).abs() < 1e-6, "{estimate:?}");
        assert!((estimate.high.unwrap() - 2.459_885_8).abs() < 1e-6, "{estimate:?}");
        assert!(is_precise(&SLEEP_H, 0.557) && !is_precise(&SLEEP_H, 0.556), "0.8798858 / 1.58");
    }

    #[test]
    fn too_few_values_give_no_interval() {
        assert_eq!(mean_estimate(Quantity::Ratio, &[]), None);
        assert_eq!(
            mean_estimate(Quantity::Ratio, &[3.0]).map(|estimate| (estimate.low, estimate.high)),
            Some((None, None))
        );
        assert!(!is_precise(&[], 1e9) && !is_precise(&[3.0], 1e9));
        assert!(!is_precise(&[0.0, 0.0], 1e9), "a share of nothing");
        assert!(is_precise(&[3.0, 3.0], 0.0));
    }
}
