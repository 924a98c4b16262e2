//! Two ways to do the same requests, size by size, paired by block.

use crate::cells::Cell;
use crate::series::Series;
use crate::statistics::{Contrast, Margin, Verdict, paired_ratio};
use crate::wording::{memory_note, reach, sentence};
use halfpower_model::units::significant;
use halfpower_model::{Bytes, Estimate, Finding, FindingCode};

/// Throughput ratio of two ways at one request size.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    pub(super) request_size: Bytes,
    pub(super) ratio: Estimate,
    samples: Vec<i64>,
}

/// Compares each cell with its counterpart, sizes ascending; cells without one are skipped.
pub(super) fn compare<'a>(
    series: &Series<'a>,
    counterpart: impl Fn(&Cell<'a>) -> Option<&'a Cell<'a>>,
) -> Vec<Comparison> {
    series
        .cells
        .iter()
        .filter_map(|cell| {
            let other = counterpart(cell)?;
            let ratio = paired_ratio(&cell.paired_with(other))?;
            let samples = [cell.samples(), other.samples()].concat();
            Some(Comparison { request_size: cell.workload.request_size, ratio, samples })
        })
        .collect()
}

/// The finding of a series against its counterparts, the lowest ratio first: `what` is compared, `more` follows the verdict.
pub(super) fn finding(
    code: FindingCode,
    series: &Series<'_>,
    comparisons: &[Comparison],
    what: &str,
    more: &str,
) -> Option<Finding> {
    let (lowest, highest) = extremes(comparisons)?;
    let range = range_words(highest, lowest);
    let claim = format!("{what}: throughput is {range}; {}{more}", verdict_words(comparisons));
    Some(Finding {
        code,
        subject: series.subject.clone(),
        reach: reach(series.workload()),
        brief: brief(comparisons, highest, lowest),
        sentence: sentence(&claim) + memory_note(series.workload()),
        estimates: if comparisons.len() == 1 { vec![lowest.ratio] } else { vec![lowest.ratio, highest.ratio] },
        samples: comparisons.iter().flat_map(|comparison| comparison.samples.iter().copied()).collect(),
    })
}

/// The lowest and the highest ratio.
fn extremes(comparisons: &[Comparison]) -> Option<(&Comparison, &Comparison)> {
    let by_ratio = |one: &&Comparison, other: &&Comparison| one.ratio.value.total_cmp(&other.ratio.value);
    Some((comparisons.iter().min_by(by_ratio)?, comparisons.iter().max_by(by_ratio)?))
}

/// `12 times [11 to 13] at 2 KiB, 80 % [70 to 91] at 1 MiB`.
fn range_words(highest: &Comparison, lowest: &Comparison) -> String {
    let one = |comparison: &Comparison| format!("{} at {}", comparison.ratio, comparison.request_size);
    if lowest.request_size == highest.request_size { one(lowest) } else { format!("{}, {}", one(highest), one(lowest)) }
}

/// Verdict and range without intervals: `a gain from 2 KiB to 64 KiB (12 times at 2 KiB, 0.8 at 1 MiB)`.
fn brief(comparisons: &[Comparison], highest: &Comparison, lowest: &Comparison) -> String {
    let (decided, undecided) = verdicts(comparisons);
    let words = decided.or(undecided).unwrap_or_default();
    let [most, least] = [highest, lowest].map(|comparison| significant(comparison.ratio.value));
    if most == least {
        return format!("{words} ({most} times)");
    }
    format!("{words} ({most} times at {}, {least} at {})", highest.request_size, lowest.request_size)
}

/// All verdicts: `a gain from 2 KiB to 64 KiB, a loss at 1 MiB, undecided at 256 KiB`.
fn verdict_words(comparisons: &[Comparison]) -> String {
    let (decided, undecided) = verdicts(comparisons);
    decided.into_iter().chain(undecided).collect::<Vec<_>>().join(", ")
}

/// The decided sizes, and the undecided ones.
fn verdicts(comparisons: &[Comparison]) -> (Option<String>, Option<String>) {
    let same = |one: &Comparison, other: &Comparison| verdict(one.ratio) == verdict(other.ratio);
    let stretches: Vec<&[Comparison]> = comparisons.chunk_by(same).collect();
    let places = |wanted: Verdict| -> Vec<String> {
        let fitting = stretches.iter().filter(|stretch| verdict(stretch[0].ratio) == wanted);
        let place = |stretch: &&[Comparison]| match (stretches.len(), *stretch) {
            (1, [_]) => String::new(),
            (1, _) => " at every size".to_owned(),
            (_, [only]) => format!(" at {}", only.request_size),
            (_, many) => format!(" from {} to {}", many[0].request_size, many[many.len() - 1].request_size),
        };
        fitting.map(place).collect()
    };
    let decided = [("a gain", Verdict::Higher), ("a loss", Verdict::Lower)].map(|(what, wanted)| {
        let places = places(wanted);
        (!places.is_empty()).then(|| format!("{what}{}", places.join(" and")))
    });
    let undecided = match places(Verdict::Undecided).as_slice() {
        [] => None,
        [only] => Some(format!("undecided{only}")),
        _ => Some("undecided elsewhere".to_owned()),
    };
    (decided.into_iter().flatten().reduce(|gain, loss| format!("{gain}, {loss}")), undecided)
}

/// Gain or loss; undecided if the interval includes 1 or is missing.
fn verdict(ratio: Estimate) -> Verdict {
    match (Contrast { ratio, margin: Margin::NONE, p_value: None }).verdict() {
        // Exactly 1.
        Verdict::Equivalent => Verdict::Undecided,
        verdict => verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::Quantity;
    use proptest::prelude::*;

    fn comparisons(ratios: &[(u64, f64, f64)]) -> Vec<Comparison> {
        let ratio = |low: f64, high: f64| Estimate {
            quantity: Quantity::Ratio,
            value: (low + high) / 2.0,
            low: Some(low),
            high: Some(high),
            repetitions: 5,
        };
        ratios
            .iter()
            .map(|(kib, low, high)| Comparison {
                request_size: Bytes(kib << 10),
                ratio: ratio(*low, *high),
                samples: vec![*kib as i64],
            })
            .collect()
    }

    #[test]
    fn verdicts_need_their_interval() {
        let mixed = comparisons(&[(2, 3.9, 4.1), (4, 1.9, 2.1), (8, 0.9, 1.1), (16, 0.5, 0.6), (32, 0.3, 0.4)]);
        assert_eq!(
            verdict_words(&mixed),
            "a gain from 2 KiB to 4 KiB, a loss from 16 KiB to 32 KiB, undecided at 8 KiB"
        );
        let (lowest, highest) = extremes(&mixed).unwrap();
        assert_eq!(range_words(highest, lowest), "4 times [3.9 to 4.1] at 2 KiB, 35 % [30 to 40] at 32 KiB");
        let words = brief(&mixed, highest, lowest);
        assert_eq!(
            words,
            "a gain from 2 KiB to 4 KiB, a loss from 16 KiB to 32 KiB (4 times at 2 KiB, 0.35 at 32 KiB)"
        );
        assert_eq!(verdict_words(&comparisons(&[(2, 2.0, 3.0)])), "a gain");
        assert_eq!(verdict_words(&comparisons(&[(2, 0.2, 0.3), (4, 0.2, 0.3)])), "a loss at every size");
        let ragged = comparisons(&[(1, 0.9, 1.1), (2, 0.2, 0.3), (4, 0.9, 1.1), (8, 0.2, 0.3), (16, 0.2, 0.3)]);
        assert_eq!(verdict_words(&ragged), "a loss at 2 KiB and from 8 KiB to 16 KiB, undecided elsewhere");
        let mut alone = comparisons(&[(2, 2.0, 3.0)]);
        (alone[0].ratio.low, alone[0].ratio.high) = (None, None);
        assert_eq!(verdict_words(&alone), "undecided");
    }

    proptest! {
        #[test]
        fn extremes_hold_all_others(values in proptest::collection::vec(0.01_f64..100.0, 1..12)) {
            let all = comparisons(&(1..).zip(&values).map(|(kib, value)| (kib, *value, *value)).collect::<Vec<_>>());
            let (lowest, highest) = extremes(&all).unwrap();
            prop_assert!(values.iter().all(|value| lowest.ratio.value <= *value && *value <= highest.ratio.value));
        }
    }
}
