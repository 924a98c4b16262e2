//! Two ways to do the same requests, size by size, paired by block.

use super::frame::found;
use crate::cells::Cell;
use crate::series::Series;
use crate::statistics::paired_ratio;
use crate::wording::noted;
use halfpower_model::units::significant;
use halfpower_model::{Bytes, Estimate, Finding, FindingCode};
use std::cmp::Ordering;

/// Throughput ratio of two ways at one request size.
#[derive(Clone, Debug)]
pub(super) struct Comparison<'a> {
    pub(super) request_size: Bytes,
    pub(super) ratio: Estimate,
    pub(super) cells: [&'a Cell<'a>; 2],
}

/// Compares each cell with its counterpart, sizes ascending; cells without one are skipped.
pub(super) fn compare<'a>(
    series: &Series<'a>,
    counterpart: impl Fn(&Cell<'a>) -> Option<&'a Cell<'a>>,
) -> Vec<Comparison<'a>> {
    let of_cell = |cell: &&'a Cell<'a>| {
        let cells = [*cell, counterpart(cell)?];
        let ratio = paired_ratio(&cell.paired_with(cells[1]))?;
        Some(Comparison { request_size: cell.workload.request_size, ratio, cells })
    };
    series.cells.iter().filter_map(of_cell).collect()
}

impl Comparison<'_> {
    /// Gain or loss; none if the interval includes 1 or is missing.
    pub(super) fn decided(&self) -> Option<Ordering> {
        match (self.ratio.low, self.ratio.high) {
            (Some(low), _) if low > 1.0 => Some(Ordering::Greater),
            (_, Some(high)) if high < 1.0 => Some(Ordering::Less),
            _ => None,
        }
    }
}

/// The finding of a series against its counterparts, the lowest ratio first: `what` is compared, `more` follows the verdict.
pub(super) fn finding(
    code: FindingCode,
    series: &Series<'_>,
    comparisons: &[Comparison<'_>],
    what: &str,
    more: &str,
) -> Option<Finding> {
    let (lowest, highest) = extremes(comparisons)?;
    let (decided, undecided) = verdicts(comparisons);
    let all: Vec<&str> = decided.iter().chain(&undecided).map(String::as_str).collect();
    let claim = format!("{what}: throughput is {}; {}{more}", range_words(highest, lowest), all.join(", "));
    let [most, least] = [highest, lowest].map(|comparison| significant(comparison.ratio.value));
    let ratios = match most == least {
        true => format!("({most} ×)"),
        false => format!("({most} × at {}, {least} × at {})", highest.request_size, lowest.request_size),
    };
    let brief = format!("{} {ratios}", decided.or(undecided).unwrap_or_default());
    let estimates = if comparisons.len() == 1 { vec![lowest.ratio] } else { vec![lowest.ratio, highest.ratio] };
    let cells = comparisons.iter().flat_map(|comparison| comparison.cells);
    Some(found(code, &series.subject, cells, [brief, noted(series.workload(), &claim)], estimates))
}

/// The lowest and the highest ratio.
fn extremes<'s, 'a>(comparisons: &'s [Comparison<'a>]) -> Option<(&'s Comparison<'a>, &'s Comparison<'a>)> {
    let by_ratio = |one: &&Comparison<'_>, other: &&Comparison<'_>| one.ratio.value.total_cmp(&other.ratio.value);
    Some((comparisons.iter().min_by(by_ratio)?, comparisons.iter().max_by(by_ratio)?))
}

/// `12 times [11 to 13] at 2 KiB, 80 % [70 to 91] at 1 MiB`.
fn range_words(highest: &Comparison<'_>, lowest: &Comparison<'_>) -> String {
    let one = |comparison: &Comparison<'_>| format!("{} at {}", comparison.ratio, comparison.request_size);
    if lowest.request_size == highest.request_size { one(lowest) } else { format!("{}, {}", one(highest), one(lowest)) }
}

/// The decided sizes, and the undecided ones: `a gain from 2 KiB to 64 KiB, a loss at 1 MiB`, `undecided at 256 KiB`.
fn verdicts(comparisons: &[Comparison<'_>]) -> (Option<String>, Option<String>) {
    let stretches: Vec<&[Comparison<'_>]> =
        comparisons.chunk_by(|one, other| one.decided() == other.decided()).collect();
    let places = |wanted: Option<Ordering>| -> Vec<String> {
        let fitting = stretches.iter().filter(|stretch| stretch[0].decided() == wanted);
        let place = |stretch: &&[Comparison<'_>]| match (stretches.len(), *stretch) {
            (1, [_]) => String::new(),
            (1, _) => " at every size".to_owned(),
            (_, [only]) => format!(" at {}", only.request_size),
            (_, many) => format!(" from {} to {}", many[0].request_size, many[many.len() - 1].request_size),
        };
        fitting.map(place).collect()
    };
    let decided =
        [("a gain", Ordering::Greater), ("a loss", Ordering::Less)].into_iter().filter_map(|(what, wanted)| {
            let places = places(Some(wanted));
            (!places.is_empty()).then(|| format!("{what}{}", places.join(" and")))
        });
    let undecided = match places(None).as_slice() {
        [] => None,
        [only] => Some(format!("undecided{only}")),
        _ => Some("undecided elsewhere".to_owned()),
    };
    (decided.reduce(|gain, loss| format!("{gain}, {loss}")), undecided)
}

#[cfg(test)]
mod tests {
    use crate::fixtures::{Run, buffered, ends, read};
    use halfpower_model::FindingCode;

    /// The brief of these ratios of buffered to direct reads, each with its interval.
    fn brief(ratios: &[(f64, f64)]) -> String {
        let mut run = Run::default();
        for (kib, (low, high)) in (0..).map(|exponent| 2 << exponent).zip(ratios) {
            run.add(read(kib), &[1e8; 2]);
            // Of two blocks the interval is t(1) = 12.7062 standard errors to either side.
            let (middle, half) = (f64::ln(low * high) / 2.0, f64::ln(high / low) / 2.0 / 12.7062);
            run.add(buffered(read(kib)), &[middle - half, middle + half].map(|rate| 1e8 * rate.exp()));
        }
        let finding = run.findings(FindingCode::BufferingGain).remove(0);
        let sentence = finding.sentence.split("throughput is ").nth(1).unwrap().trim_end_matches('.').to_owned();
        format!("{} / {sentence}", finding.brief)
    }

    #[test]
    fn verdicts_need_their_interval() {
        let words = "a gain from 2 KiB to 4 KiB, a loss from 16 KiB to 32 KiB (4 × at 2 KiB, 0.346 × at 32 KiB) / 4 times [3.9 to 4.1] at 2 KiB, 34.6 % [30 to 40] at 32 KiB; a gain from 2 KiB to 4 KiB, a loss from 16 KiB to 32 KiB, undecided at 8 KiB; break-even at 7.96 KiB";
        assert_eq!(brief(&[(3.9, 4.1), (1.9, 2.1), (0.9, 1.1), (0.5, 0.6), (0.3, 0.4)]), words);
        assert_eq!(brief(&[(2.0, 3.0)]), "a gain (2.45 ×) / 2.45 times [2 to 3] at 2 KiB; a gain");
        ends(&brief(&[(0.2, 0.3), (0.2, 0.31)]), "; a loss at every size");
        let ragged = brief(&[(0.9, 1.1), (0.2, 0.3), (0.9, 1.1), (0.2, 0.3), (0.2, 0.3)]);
        ends(&ragged, "; a loss at 4 KiB and from 16 KiB to 32 KiB, undecided elsewhere");
    }
}
