//! A request size, or up to three adjacent ones, slower than the sizes on both sides.
//!
//! Each is compared with both neighbours, paired by block (geometric mean, t interval of the logarithms), and must be more than 5 %
//! slower with its whole interval. The p-value is that of the weakest comparison (Berger, "Multiparameter hypothesis testing
//! and acceptance sampling", Technometrics 24, 1982), adjusted over all places of a run (Benjamini and Hochberg). The cause is
//! not examined.

use super::frame::found;
use crate::evidence::Evidence;
use crate::series::Series;
use crate::statistics::{Contrast, Margin, Verdict, adjusted_p_values};
use crate::wording::{named, noted};
use halfpower_model::{Finding, FindingCode};
use std::ops::RangeInclusive;

/// Minimum lead of the neighbours.
const MARGIN: f64 = 0.05;
/// Most sizes of one dip.
const WIDTH_MAX: usize = 3;
/// False discovery rate.
const FALSE_SHARE: f64 = 0.05;

/// Adjacent sizes with one on either side.
struct Place<'s, 'a> {
    series: &'s Series<'a>,
    inner: RangeInclusive<usize>,
    /// The slowest against the smaller and the larger neighbour.
    deepest: Deepest,
    /// The p-value.
    p_value: f64,
}

struct Deepest {
    index: usize,
    below: [Contrast; 2],
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let places: Vec<Place<'_, '_>> = evidence.by_size.iter().flat_map(places).collect();
    let adjusted = adjusted_p_values(&places.iter().map(|place| place.p_value).collect::<Vec<_>>());
    let mut named: Vec<&Place<'_, '_>> = Vec::new();
    // The widest first, so that none is named within another.
    for width in (1..=WIDTH_MAX).rev() {
        let fitting = places.iter().zip(&adjusted).filter(|(place, p_value)| {
            place.width() == width && **p_value <= FALSE_SHARE && !named.iter().any(|other| other.overlaps(place))
        });
        let fitting: Vec<_> = fitting.map(|(place, _)| place).collect();
        named.extend(fitting);
    }
    // Back in the order of the series.
    places.iter().filter(|place| named.iter().any(|other| std::ptr::eq(*other, *place))).map(finding).collect()
}

/// Every possible place of a dip in a series.
fn places<'s, 'a>(series: &'s Series<'a>) -> Vec<Place<'s, 'a>> {
    let widths = 1..=WIDTH_MAX;
    let inner = widths
        .flat_map(|width| (1..series.cells.len().saturating_sub(width)).map(move |first| first..=first + width - 1));
    inner.filter_map(|inner| Place::of(series, inner)).collect()
}

impl<'s, 'a> Place<'s, 'a> {
    fn of(series: &'s Series<'a>, inner: RangeInclusive<usize>) -> Option<Place<'s, 'a>> {
        let cells = &series.cells;
        let margin = Margin::new(MARGIN)?;
        let neighbours = [cells.get(inner.start().checked_sub(1)?)?, cells.get(inner.end() + 1)?];
        let mut p_value = 0.0_f64;
        let mut deepest: Option<Deepest> = None;
        for index in inner.clone() {
            let against = |other: &&crate::cells::Cell<'_>| Contrast::paired(&cells[index].paired_with(other), margin);
            let below = [against(neighbours[0])?, against(neighbours[1])?];
            for contrast in below {
                let is_below = contrast.verdict() == Verdict::Lower;
                p_value = p_value.max(if is_below { contrast.p_value? } else { 1.0 });
            }
            let slowest = |known: &Deepest| known.below[0].ratio.value <= below[0].ratio.value;
            if !deepest.as_ref().is_some_and(slowest) {
                deepest = Some(Deepest { index, below });
            }
        }
        Some(Place { series, inner, deepest: deepest?, p_value })
    }

    fn width(&self) -> usize {
        self.inner.clone().count()
    }

    fn overlaps(&self, other: &Place<'_, '_>) -> bool {
        std::ptr::eq(self.series, other.series)
            && self.inner.start() <= other.inner.end()
            && other.inner.start() <= self.inner.end()
    }
}

fn finding(place: &Place<'_, '_>) -> Finding {
    let Place { series, inner, deepest, .. } = place;
    let size = |index: usize| series.cells[index].workload.request_size.to_string();
    let (first, last) = (*inner.start(), *inner.end());
    let (where_, at) = match first == last {
        true => (size(first), String::new()),
        false => (format!("{} to {}", size(first), size(last)), format!(" (lowest at {})", size(deepest.index))),
    };
    let ([smaller, larger], before, after) =
        (deepest.below.map(|contrast| contrast.ratio), size(first - 1), size(last + 1));
    let claim = format!(
        "{}: throughput dips at {where_}, to {smaller} of that at {before} and {larger} of that at {after}{at}",
        named(series.workload(), &series.circumstances)
    );
    let brief = format!("{where_} ({smaller} of {before}, {larger} of {after})");
    let cells = series.cells[first - 1..=last + 1].iter().copied();
    let words = [brief, noted(series.workload(), &claim)];
    found(FindingCode::Dip, &series.subject, cells, words, vec![smaller, larger])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Normal, Run, around, ends, hockney, read};
    use halfpower_model::Bytes;

    fn dips(rates: &[(u64, f64)]) -> Vec<Finding> {
        let mut run = Run::default();
        for (kib, rate) in rates {
            run.add(read(*kib), &around(*rate));
        }
        run.findings(FindingCode::Dip)
    }

    #[test]
    fn a_size_slower_than_both_neighbours_is_a_dip() {
        let findings = dips(&[(16, 0.8e9), (32, 1.0e9), (64, 0.7e9), (128, 1.4e9), (256, 1.5e9)]);
        assert_eq!(findings.len(), 1);
        let words = "Sequential reads (QD1, direct): throughput dips at 64 KiB, to 70 % [70 to 70] of that at 32 KiB and 50 % [50 to 50] of that at 128 KiB.";
        assert_eq!(findings[0].sentence, words);
        assert_eq!(findings[0].brief, "64 KiB (70 % [70 to 70] of 32 KiB, 50 % [50 to 50] of 128 KiB)");
        assert_eq!(findings[0].samples, (105..120).collect::<Vec<_>>());
    }

    #[test]
    fn two_side_by_side_are_one_dip() {
        let findings = dips(&[(16, 1.0e9), (32, 0.6e9), (64, 0.5e9), (128, 1.0e9)]);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].sentence.contains("dips at 32 KiB to 64 KiB, to 50 % [50 to 50] of that at 16 KiB"));
        ends(&findings[0].sentence, "of that at 128 KiB (lowest at 64 KiB).");
    }

    #[test]
    fn what_grows_falls_or_wavers_by_a_little_has_none() {
        assert_eq!(dips(&[(16, 1.0e9), (32, 1.2e9), (64, 1.3e9)]), []);
        assert_eq!(dips(&[(16, 1.3e9), (32, 1.2e9), (64, 1.0e9)]), []);
        assert_eq!(dips(&[(16, 1.0e9), (32, 0.96e9), (64, 1.0e9)]), [], "4 % do not matter");
        assert_eq!(dips(&[(16, 1.0e9), (32, 0.6e9)]), [], "no neighbour above");
        let run = Run::of([(16, 1.0e9), (32, 0.5e9), (64, 1.0e9)].map(|(kib, rate)| (read(kib), [rate])));
        assert_eq!(run.findings(FindingCode::Dip), [], "one repetition decides nothing");
    }

    #[test]
    fn smooth_curves_with_noise_have_hardly_any() {
        // Noise of 8 %, five repetitions: of 200 runs with ten sizes each at most one in twenty may have a dip.
        let mut normal = Normal::new(11);
        let wrong = (0..200).filter(|_| {
            let mut run = Run::default();
            for exponent in 1..=10 {
                let rate = hockney(Bytes(1024 << exponent), 20e-6, 2e9);
                let rates: Vec<f64> = (0..5).map(|_| rate * (0.08 * normal.draw()).exp()).collect();
                run.add(read(1 << exponent), &rates);
            }
            !run.findings(FindingCode::Dip).is_empty()
        });
        let count = wrong.count();
        assert!(count <= 10, "{count} of 200");
    }
}
