//! Comparison of two methods or runs: a ratio with its interval, and a verdict by an equivalence margin.
//!
//! A ratio from 1/(1+ε) to 1+ε does not matter; ε is the margin. The printed interval decides, so that a reader can
//! check it: wholly within the margin the two are equivalent (two one-sided tests, each at 2.5 %), wholly outside they
//! changed, else it is undecided. So precise runs that differ by less than ε are no change, and noisy ones are not
//! called equivalent. Over many cells a change needs the adjusted p-value as well ([`super::adjusted_p_values`]). One
//! repetition on a side has no interval, and stays undecided here. Sources: Schuirmann, "A comparison of the two
//! one-sided tests procedure and the power approach", Journal of Pharmacokinetics and Biopharmaceutics 15 (1987), for
//! equivalence; Murphy and Myors, "Testing the hypothesis that treatments have negligible effects", Journal of Applied
//! Psychology 84 (1999), for changes beyond a margin.

use super::interval::{Interval, estimate, t_share_below};
use super::mean::{mean, t_quantile, variance, with_known};
use super::ratio::{Fieller, logarithms, ratio_of_means};
use halfpower_model::{Estimate, Quantity};
use serde::{Deserialize, Serialize};

/// False discovery rate of named changes.
const FALSE_SHARE: f64 = 0.05;

/// The change of a ratio that does not matter: 0.02 is a ratio from 1/1.02 to 1.02.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Margin(f64);

impl Margin {
    /// For throughput and rates.
    pub const THROUGHPUT: Margin = Margin(0.02);
    /// For CPU cost.
    pub const COST: Margin = Margin(0.02);
    /// For p99 latency.
    pub const TAIL: Margin = Margin(0.05);

    /// Another margin; none unless it is a finite number of zero or more.
    pub fn new(share: f64) -> Option<Margin> {
        (share.is_finite() && share >= 0.0).then_some(Margin(share))
    }

    /// As a share: 0.02 of a ratio up to 1.02.
    pub fn share(self) -> f64 {
        self.0
    }

    /// The lowest and the highest ratio that do not matter.
    pub fn ends(self) -> (f64, f64) {
        (1.0 / (1.0 + self.0), 1.0 + self.0)
    }
}

/// Verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The new is higher by more than the margin.
    Higher,
    /// The new is lower by more than the margin.
    Lower,
    /// They differ by less than the margin.
    Equivalent,
    /// The repetitions allow both.
    Undecided,
}

/// One figure compared with another of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// The new over the old.
    pub ratio: Estimate,
    /// The margin it is compared with.
    pub margin: Margin,
    /// The chance of a ratio as far beyond the margin if the true one were at its edge, two-sided: 5 % or less where the
    /// interval lies outside. None without an interval.
    pub p_value: Option<f64>,
}

impl Contrast {
    /// From pairs of the same blocks, the new one first. None without pairs or with a figure of zero.
    pub fn paired(blocks: &[(f64, f64)], margin: Margin) -> Option<Contrast> {
        Contrast::paired_beside(blocks, 0.0, margin)
    }

    /// The same with a known deviation of each block's logarithm besides, which the blocks do not show.
    pub(crate) fn paired_beside(blocks: &[(f64, f64)], deviation: f64, margin: Margin) -> Option<Contrast> {
        let logarithms = logarithms(blocks)?;
        let (count, seen) = (logarithms.len() as f64, variance(&logarithms));
        let all = seen.map(|seen| with_known(seen, count - 1.0, deviation.powi(2)));
        let variance = all.map(|(all, freedom)| (all / count, freedom));
        let contrast = Contrast::of_logarithm(mean(&logarithms)?, variance, margin);
        Some(Contrast { ratio: Estimate { repetitions: blocks.len() as u32, ..contrast.ratio }, ..contrast })
    }

    /// From the logarithm of a ratio, with its variance and the degrees of freedom of that; without an interval if they are
    /// not known.
    pub(crate) fn of_logarithm(logarithm: f64, variance: Option<(f64, f64)>, margin: Margin) -> Contrast {
        let error = variance.map(|(variance, freedom)| (variance.sqrt(), freedom));
        let half = error.map(|(error, freedom)| error * t_quantile(freedom));
        let interval = half.map(|half| Interval { low: logarithm - half, high: logarithm + half }.map(f64::exp));
        let p_value = error.map(|(error, freedom)| {
            let beyond = logarithm.abs() - margin.ends().1.ln();
            // Without scatter and at the very edge.
            let t = if beyond == 0.0 { 0.0 } else { beyond / error };
            (2.0 * t_share_below(-t, freedom)).min(1.0)
        });
        Contrast { ratio: estimate(Quantity::Ratio, logarithm.exp(), interval, 1), margin, p_value }
    }

    /// From two independent samples. None if one is empty or the old mean is not above zero.
    pub fn apart(new: &[f64], old: &[f64], margin: Margin) -> Option<Contrast> {
        let ratio = ratio_of_means(new, old)?;
        let (low, high) = margin.ends();
        let p_value = ratio.high.and_then(|_| Fieller::of(new, old)).map(|fieller| {
            let chance =
                if ratio.value > 1.0 { fieller.chance_of_more(high) } else { 1.0 - fieller.chance_of_more(low) };
            (2.0 * chance).min(1.0)
        });
        Some(Contrast { ratio, margin, p_value })
    }

    /// The verdict on this one alone.
    pub fn verdict(&self) -> Verdict {
        let (least, most) = self.margin.ends();
        match (self.ratio.low, self.ratio.high) {
            (Some(low), Some(high)) if least <= low && high <= most => Verdict::Equivalent,
            (Some(low), _) if most < low => Verdict::Higher,
            (_, Some(high)) if high < least => Verdict::Lower,
            _ => Verdict::Undecided,
        }
    }
}

/// The verdicts on several cells together, with a false discovery rate of 5 %: some that would be changes alone are undecided.
///
/// In two stages, because cells that changed for certain are none of those among which chance finds some. Source: Benjamini, Krieger and
/// Yekutieli, "Adaptive linear step-up procedures that control the false discovery rate", Biometrika 93 (2006).
pub fn verdicts(contrasts: &[Contrast]) -> Vec<Verdict> {
    let p_values: Vec<f64> = contrasts.iter().filter_map(|contrast| contrast.p_value).collect();
    let adjusted = adjusted_p_values(&p_values);
    let level = FALSE_SHARE / (1.0 + FALSE_SHARE);
    let unchanged = adjusted.iter().filter(|p_value| **p_value > level).count();
    let level = level * adjusted.len() as f64 / unchanged.max(1) as f64;
    let mut adjusted = adjusted.into_iter();
    let verdict = |contrast: &Contrast| {
        let adjusted = contrast.p_value.and_then(|_| adjusted.next());
        match contrast.verdict() {
            Verdict::Higher | Verdict::Lower if adjusted.is_none_or(|p_value| p_value > level) => Verdict::Undecided,
            verdict => verdict,
        }
    };
    contrasts.iter().map(verdict).collect()
}

/// p-values adjusted for their number, in the order given: for each the least rate of false discoveries at which it is one.
///
/// A hundred cells compared at 5 % each name five by chance. An adjusted p-value of 5 % or less keeps the expected share of
/// false ones among those named at 5 %, for tests that are independent or depend on one another positively, as cells of one
/// machine do. Source: Benjamini and Hochberg, "Controlling the false discovery rate: a practical and powerful approach to
/// multiple testing", Journal of the Royal Statistical Society B 57 (1995).
pub fn adjusted_p_values(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| p_values[*one].total_cmp(&p_values[*other]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least = 1.0_f64;
    for (rank, index) in order.iter().enumerate().rev() {
        least = least.min(p_values[*index] * (p_values.len() as f64 / (rank + 1) as f64));
        adjusted[*index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn around(rate: f64) -> Vec<f64> {
        [0.99, 0.995, 1.0, 1.005, 1.01].map(|factor| factor * rate).to_vec()
    }

    fn is_change(verdict: Verdict) -> bool {
        matches!(verdict, Verdict::Higher | Verdict::Lower)
    }

    /// What old against new is where this is new against old.
    fn reversed(verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Higher => Verdict::Lower,
            Verdict::Lower => Verdict::Higher,
            other => other,
        }
    }

    #[test]
    fn the_papers_fifteen() {
        // Benjamini and Hochberg (1995), section 3.2: at 5 % the four smallest of fifteen are discoveries.
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0000,
        ];
        let adjusted = adjusted_p_values(&p_values);
        assert_eq!(adjusted_p_values(&[0.03]), [0.03]);
        assert!(adjusted_p_values(&[]).is_empty());
        assert_eq!(adjusted.iter().filter(|p_value| **p_value <= 0.05).count(), 4);
        // 0.0095 × 15 / 4; 0.0344 × 15 / 8 from the eighth down to the sixth; 0.0201 × 15 / 5 stays below it.
        for (index, expected) in
            [(0, 0.0015), (3, 0.035_625), (4, 0.0603), (5, 0.063_857_142_857), (7, 0.0645), (14, 1.0)]
        {
            assert!((adjusted[index] - expected).abs() < 1e-9, "{index}: {}", adjusted[index]);
        }
    }

    #[test]
    fn the_interval_decides() {
        // Half a width of t(8) = 2.306 × √(2 × 0.0079²/5) = 1.15 % about the ratio.
        for (new, verdict) in [
            (100.0, Verdict::Equivalent),
            (100.8, Verdict::Equivalent),
            (101.5, Verdict::Undecided),
            (102.5, Verdict::Undecided),
            (103.5, Verdict::Higher),
            (97.5, Verdict::Undecided),
            (96.0, Verdict::Lower),
        ] {
            let contrast = Contrast::apart(&around(new), &around(100.0), Margin::THROUGHPUT).unwrap();
            assert_eq!(contrast.verdict(), verdict, "{contrast:?}");
            assert_eq!(contrast.p_value.unwrap() <= 0.05, is_change(verdict), "{contrast:?}");
        }
    }

    #[test]
    fn pairs_cancel_what_slows_a_block() {
        let blocks: Vec<(f64, f64)> = [(100.0, 1.06), (20.0, 1.05), (70.0, 1.04), (90.0, 1.05), (50.0, 1.05)]
            .map(|(rate, factor)| (rate * factor, rate))
            .to_vec();
        assert_eq!(Contrast::paired(&blocks, Margin::THROUGHPUT).unwrap().verdict(), Verdict::Higher);
        let (new, old): (Vec<f64>, Vec<f64>) = blocks.into_iter().unzip();
        assert_eq!(Contrast::apart(&new, &old, Margin::THROUGHPUT).unwrap().verdict(), Verdict::Undecided);
    }

    #[test]
    fn among_many_that_did_not_change_one_needs_more() {
        // Just over the line alone: one in twenty of the same would be.
        let barely = Contrast::apart(&around(103.4), &around(100.0), Margin::THROUGHPUT).unwrap();
        let same = Contrast::apart(&around(100.0), &around(100.0), Margin::THROUGHPUT).unwrap();
        assert_eq!(verdicts(&[barely]), [Verdict::Higher]);
        let mut cells = vec![same; 99];
        cells.push(barely);
        assert_eq!(verdicts(&cells)[99], Verdict::Undecided);
        assert_eq!(verdicts(&cells)[0], Verdict::Equivalent);
        let clearly = Contrast::apart(&around(200.0), &around(100.0), Margin::THROUGHPUT).unwrap();
        cells.push(clearly);
        assert_eq!(verdicts(&cells)[100], Verdict::Higher);
        let once = Contrast::paired(&[(50.0, 100.0)], Margin::THROUGHPUT).unwrap();
        for contrast in [once, Contrast::apart(&[50.0], &around(100.0), Margin::THROUGHPUT).unwrap()] {
            assert_eq!((contrast.verdict(), contrast.p_value), (Verdict::Undecided, None), "one repetition");
            assert_eq!(verdicts(&[contrast]), [Verdict::Undecided]);
        }
    }

    #[test]
    fn a_margin_is_a_factor_either_way() {
        let (low, high) = Margin::new(0.25).unwrap().ends();
        assert!((high - 1.25).abs() < 1e-12 && (low - 0.8).abs() < 1e-12);
        assert_eq!((Margin::new(-0.1), Margin::new(f64::NAN)), (None, None));
    }

    proptest! {
        #[test]
        fn old_and_new_exchanged_the_verdict_stays(new in proptest::collection::vec(95.0_f64..110.0, 3..12),
                                                  old in proptest::collection::vec(95.0_f64..110.0, 3..12)) {
            let one = Contrast::apart(&new, &old, Margin::TAIL).unwrap();
            let other = Contrast::apart(&old, &new, Margin::TAIL).unwrap();
            prop_assert_eq!(one.verdict(), reversed(other.verdict()));
            prop_assert!((one.p_value.unwrap() - other.p_value.unwrap()).abs() < 1e-9);
            prop_assert_eq!(one.p_value.unwrap() <= 0.05, is_change(one.verdict()));
            let blocks: Vec<(f64, f64)> = new.iter().copied().zip(old.iter().copied()).collect();
            let paired = Contrast::paired(&blocks, Margin::TAIL).unwrap();
            prop_assert_eq!(paired.p_value.unwrap() <= 0.05, is_change(paired.verdict()));
        }
    }
}
