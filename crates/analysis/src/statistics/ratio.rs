//! Ratios of two workloads, measured in the same randomised blocks or in two independent runs.
//!
//! Paired: each block gives one ratio; the estimate is their geometric mean and the interval Student's t of their
//! logarithms, so effects on a whole block cancel, and a/b and b/a agree. The ratio of the means by Fieller's
//! theorem covers the truth as often, but with blocks that differ by half its interval is a quarter wider.
//!
//! Independent: the ratio of the means by Fieller's theorem, with Welch's degrees of freedom for unequal scatter. It contains the
//! ratios r for which (one mean - r × the other) is within t standard errors of zero. It is the ratio of the printed means, and
//! allows zeros among the values. The bootstrap covers the truth as often, but takes five thousand times the work and has no
//! p-value.
//!
//! Sources: Fleming and Wallace, "How not to lie with statistics: the correct way to summarize benchmark results", CACM
//! 29 (1986), for the geometric mean; Fieller, "Some problems in interval estimation", Journal of the Royal Statistical
//! Society B 16 (1954); Welch, "The generalization of Student's problem when several different population variances are
//! involved", Biometrika 34 (1947).

use super::interval::{Interval, estimate, t_share_below};
use super::mean::{mean, mean_interval, t_quantile, variance};
use halfpower_model::{Estimate, Quantity};

/// The ratio of the first of each pair to the second; a pair is a block. None without pairs or with a rate of zero.
pub fn paired_ratio(blocks: &[(f64, f64)]) -> Option<Estimate> {
    let logarithms = logarithms(blocks)?;
    let interval = mean_interval(&logarithms).map(|interval| interval.map(f64::exp));
    Some(estimate(Quantity::Ratio, mean(&logarithms)?.exp(), interval, blocks.len()))
}

/// The logarithm of each block's ratio; none if a figure is zero or negative.
pub(super) fn logarithms(blocks: &[(f64, f64)]) -> Option<Vec<f64>> {
    blocks.iter().map(|(above, below)| (*above > 0.0 && *below > 0.0).then(|| (above / below).ln())).collect()
}

/// The ratio of two means of non-negative figures, with its interval cut at zero. None if a sample is empty or the mean below is
/// not above zero; no interval with a single value on a side, or if the mean below may be zero.
pub fn ratio_of_means(above: &[f64], below: &[f64]) -> Option<Estimate> {
    let value = mean(above)? / mean(below).filter(|mean| *mean > 0.0)?;
    let interval = Fieller::of(above, below).and_then(|fieller| fieller.interval());
    Some(estimate(Quantity::Ratio, value, interval, above.len().min(below.len())))
}

/// Two means and the squares of their standard errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fieller {
    above: f64,
    below: f64,
    above_variance: f64,
    below_variance: f64,
    degrees_of_freedom: f64,
}

impl Fieller {
    pub(super) fn of(above: &[f64], below: &[f64]) -> Option<Fieller> {
        let (m, n) = (above.len() as f64, below.len() as f64);
        let (above_mean, below_mean) = (mean(above)?, mean(below)?);
        let (above_variance, below_variance) = (variance(above)? / m, variance(below)? / n);
        // Of the difference (above - ratio × below).
        let (first, second) = (above_variance, (above_mean / below_mean).powi(2) * below_variance);
        let welch = (first + second).powi(2) / (first.powi(2) / (m - 1.0) + second.powi(2) / (n - 1.0));
        Some(Fieller {
            above: above_mean,
            below: below_mean,
            above_variance,
            below_variance,
            // Neither scatters: every quantile is multiplied by zero.
            degrees_of_freedom: if welch.is_finite() { welch } else { m + n - 2.0 },
        })
    }

    /// Both means are non-negative, so negative ratios are cut off.
    fn interval(self) -> Option<Interval> {
        let squares = [self.above_variance, 0.0, self.below_variance];
        let interval = fieller([self.above, self.below], squares, self.degrees_of_freedom)?;
        Some(Interval { low: interval.low.max(0.0), ..interval })
    }

    /// The probability of a difference at least this high if this is the true ratio.
    pub(super) fn chance_of_more(self, ratio: f64) -> f64 {
        let difference = self.above - ratio * self.below;
        let error = (self.above_variance + ratio.powi(2) * self.below_variance).sqrt();
        if difference == 0.0 { 0.5 } else { t_share_below(-difference / error, self.degrees_of_freedom) }
    }
}

/// The ratio of two figures with these squared errors: of the first, of both together, of the second. The roots of
/// (above - ratio × below)² = t² × (standard error of that difference)². None if the second may be zero.
pub(super) fn fieller([above, below]: [f64; 2], squares: [f64; 3], degrees_of_freedom: f64) -> Option<Interval> {
    let t_squared = t_quantile(degrees_of_freedom).powi(2);
    let constant = above.powi(2) - t_squared * squares[0];
    let half = above * below - t_squared * squares[1];
    let square = below.powi(2) - t_squared * squares[2];
    let root = (half.powi(2) - square * constant).max(0.0).sqrt();
    (square > 0.0 && below > 0.0).then(|| Interval { low: (half - root) / square, high: (half + root) / square })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_blocks_by_hand() {
        // Logarithms ln 2 × (1, 2, 3): mean 2 ln 2, deviation ln 2; t(2) = 4.30265, so 4 × e^(±4.30265 ln 2 / √3).
        let estimate = paired_ratio(&[(2.0, 1.0), (40.0, 10.0), (8.0, 1.0)]).unwrap();
        let half = 4.302_65 * 2_f64.ln() / 3_f64.sqrt();
        assert!((estimate.value - 4.0).abs() < 1e-12);
        assert!((estimate.low.unwrap() / (4.0 * (-half).exp()) - 1.0).abs() < 1e-5, "{estimate:?}");
        assert!((estimate.high.unwrap() / (4.0 * half.exp()) - 1.0).abs() < 1e-5, "{estimate:?}");
    }

    #[test]
    fn two_means_by_hand() {
        // Means 20 and 10, variances 10 and 2.5 of five: errors² 2 and 0.5, so that at a ratio of 2 both parts are 2 and
        // Welch's freedom is 16 / (4/4 + 4/4) = 8: t = 2.30600, t² = 5.31765. 100 - 2.658824 = 97.341176 r², 400 r,
        // 400 - 10.635297 = 389.364703: r = (200 ± √(40 000 - 97.341176 × 389.364703)) / 97.341176.
        let above = [16.0, 18.0, 20.0, 22.0, 24.0];
        let below = [8.0, 9.0, 10.0, 11.0, 12.0];
        let estimate = ratio_of_means(&above, &below).unwrap();
        assert_eq!((estimate.value, estimate.repetitions), (2.0, 5));
        let root = (40_000.0_f64 - 97.341_176 * 389.364_703).sqrt();
        assert!((estimate.low.unwrap() - (200.0 - root) / 97.341_176).abs() < 1e-5, "{estimate:?}");
        assert!((estimate.high.unwrap() - (200.0 + root) / 97.341_176).abs() < 1e-5, "{estimate:?}");
    }

    #[test]
    fn no_ratio_is_below_zero() {
        // Latencies of which one of five is fifty times the others: the mean is not surely above zero.
        let wide = ratio_of_means(&[1.0, 1.0, 1.0, 1.0, 50.0], &[8.0, 9.0, 10.0, 11.0, 12.0]).unwrap();
        assert_eq!(wide.low, Some(0.0));
        assert!(wide.high.unwrap() > wide.value, "{wide:?}");
    }

    #[test]
    fn the_chance_is_that_of_welchs_test() {
        // Both parts of the error are the same at the ratio that is seen, so Welch's freedom is 8; the chance at a ratio of
        // 1 is that of t(8) at 10 / √2.5 = 6.324555: SciPy's `t.sf`.
        let fieller = Fieller::of(&[16.0, 18.0, 20.0, 22.0, 24.0], &[8.0, 9.0, 10.0, 11.0, 12.0]).unwrap();
        assert!((fieller.chance_of_more(1.0) - 0.000113358).abs() < 1e-7, "{}", fieller.chance_of_more(1.0));
        assert!((fieller.chance_of_more(2.0) - 0.5).abs() < 1e-12);
        assert!((fieller.degrees_of_freedom - 8.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_to_compare_gives_no_ratio() {
        assert_eq!(paired_ratio(&[]), None);
        assert_eq!(paired_ratio(&[(1.0, 2.0), (0.0, 2.0)]), None);
        assert_eq!(paired_ratio(&[(1.0, 0.0)]), None);
        let one = paired_ratio(&[(1.0, 2.0)]).unwrap();
        assert_eq!((one.value, one.low, one.high), (0.5, None, None));
        assert_eq!(ratio_of_means(&[], &[1.0]), None);
        assert_eq!(ratio_of_means(&[1.0], &[0.0, 0.0]), None);
        assert_eq!(ratio_of_means(&[1.0], &[2.0, 2.0]).map(|ratio| (ratio.value, ratio.low)), Some((0.5, None)));
        let unbounded = ratio_of_means(&[5.0, 6.0], &[0.1, 9.0]).unwrap();
        assert_eq!(unbounded.high, None, "the mean below may be zero");
        let exact = ratio_of_means(&[6.0, 6.0], &[3.0, 3.0]).unwrap();
        assert_eq!((exact.low, exact.high), (Some(2.0), Some(2.0)));
    }
}
