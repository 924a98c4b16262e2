//! Pearson's chi-square test, for tests of random draws.

/// The 0.9999 quantile of the standard normal distribution: one sound sampler in ten thousand would fail a test, were
/// the seeds not fixed.
const NORMAL_QUANTILE: f64 = 3.719;

/// Fewer expected draws than this and a bin joins the next one (Cochran asks for 5).
const LEAST_EXPECTED: f64 = 10.0;

/// The statistic of counts against known shares that sum to 1, over its 0.9999 quantile by Wilson and Hilferty's
/// approximation (1931): above 1 the counts do not fit.
pub(crate) fn misfit(counts: &[u64], shares: &[f64]) -> f64 {
    assert_eq!(counts.len(), shares.len());
    let total: u64 = counts.iter().sum();
    let mut bins: Vec<(f64, f64)> = Vec::new();
    let mut open = (0.0, 0.0);
    for (count, share) in counts.iter().zip(shares) {
        open = (open.0 + *count as f64, open.1 + share * total as f64);
        if open.1 >= LEAST_EXPECTED {
            bins.push(std::mem::take(&mut open));
        }
    }
    let last = bins.last_mut().expect("enough draws for one bin");
    *last = (last.0 + open.0, last.1 + open.1);
    assert!(bins.len() >= 2, "one bin fits anything");
    let expected: f64 = bins.iter().map(|bin| bin.1).sum();
    assert!((expected / total as f64 - 1.0).abs() < 1e-9, "the shares sum to 1");
    let statistic: f64 = bins.iter().map(|(seen, expected)| (seen - expected).powi(2) / expected).sum();
    let freedom = (bins.len() - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    statistic / (freedom * (1.0 - spread + NORMAL_QUANTILE * spread.sqrt()).powi(3))
}

#[test]
fn the_quantile_is_the_tabled_one() {
    // One bin is 3 above its 100 and one 3 below, so the statistic is 0.18. The 0.9999 quantiles of chi-square with 10
    // and with 100 degrees of freedom are 35.564 and 161.319.
    for (bins, tabled, within) in [(11, 35.564, 0.015), (101, 161.319, 0.0015)] {
        let mut counts = vec![100; bins];
        (counts[0], counts[1]) = (103, 97);
        let quantile = 0.18 / misfit(&counts, &vec![1.0 / bins as f64; bins]);
        assert!((quantile / tabled - 1.0).abs() < within, "{bins} bins: {quantile}");
    }
}
