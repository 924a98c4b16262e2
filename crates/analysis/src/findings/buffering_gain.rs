//! What the page cache gains or costs against direct I/O at QD1, by request size.
//!
//! The ratio is paired by block (geometric mean, t interval of the logarithms). If gain and loss change once over the sizes, the
//! break-even is interpolated over log2 of the size between the two decided sizes; its interval is a bootstrap over the blocks.

use super::paired::{Comparison, compare, finding};
use crate::cells::Cell;
use crate::comparable::{Axis, are_comparable};
use crate::evidence::Evidence;
use crate::series::Series;
use crate::statistics::{bootstrap_estimate, mean};
use crate::wording::named;
use halfpower_model::{Buffering, Durability, Estimate, Finding, FindingCode, Quantity};

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let buffered =
        |series: &&Series<'_>| series.workload().buffering == Buffering::Buffered && series.workload().depth == 1;
    evidence.by_size.iter().filter(buffered).filter_map(|series| gain(evidence, series)).collect()
}

fn gain(evidence: &Evidence<'_>, series: &Series<'_>) -> Option<Finding> {
    let comparisons = compare(series, |cell| direct_counterpart(evidence, cell));
    let workload = series.workload();
    let flushed = if workload.durability == Durability::FlushAtEnd { ", flushed" } else { "" };
    let what = named(workload, &format!("QD1, buffered{flushed}{}", series.distinction)) + ", compared with direct";
    let turn = turn(&comparisons);
    let more = turn.map_or_else(String::new, |size| format!("; break-even at {size}"));
    let mut finding = finding(FindingCode::BufferingGain, series, &comparisons, &what, &more)?;
    // The gain comes first here.
    finding.estimates.reverse();
    finding.estimates.extend(turn);
    Some(finding)
}

/// The same requests done direct, with the same flush if measured.
fn direct_counterpart<'a>(evidence: &Evidence<'a>, cell: &Cell<'_>) -> Option<&'a Cell<'a>> {
    let wanted = cell.workload;
    let is_counterpart = |other: &&Cell<'_>| {
        let other = other.workload;
        other.buffering == Buffering::Direct && are_comparable(other, wanted, &[Axis::Caches, Axis::Durability])
    };
    let candidates = evidence.cells.iter().copied().filter(is_counterpart);
    candidates.min_by_key(|other| other.workload.durability != wanted.durability)
}

/// The break-even size; none if gain and loss do not change exactly once.
fn turn(comparisons: &[Comparison<'_>]) -> Option<Estimate> {
    let decided = comparisons.iter().enumerate().filter_map(|(index, one)| Some((index, one.decided()?)));
    let decided: Vec<_> = decided.collect();
    let mut turns = decided.windows(2).filter(|pair| pair[0].1 != pair[1].1);
    let (turn, None) = (turns.next()?, turns.next()) else { return None };
    let between = &comparisons[turn[0].0..=turn[1].0];
    let sizes: Vec<f64> = between.iter().map(|one| (one.request_size.0 as f64).log2()).collect();
    let in_blocks = |one: &Comparison<'_>| {
        let pairs = one.cells[0].paired_with(one.cells[1]);
        pairs.iter().map(|(buffered, direct)| (buffered / direct).ln()).collect::<Vec<f64>>()
    };
    let logarithms: Vec<Vec<f64>> = between.iter().map(in_blocks).collect();
    let means: Vec<f64> = logarithms.iter().filter_map(|values| mean(values)).collect();
    let (quantity, size) = (Quantity::RequestSizeBytes, crossing(&sizes, &means));
    Some(bootstrap_estimate(quantity, size, &logarithms, |means| crossing(&sizes, means)))
}

/// The size of the first zero crossing; the last size without one.
fn crossing(log2_sizes: &[f64], logarithms: &[f64]) -> f64 {
    let crosses = |at: &usize| (logarithms[*at] > 0.0) != (logarithms[at + 1] > 0.0);
    let at = (0..logarithms.len() - 1).find(crosses).map(|at| {
        let (above, below) = (logarithms[at], logarithms[at + 1]);
        log2_sizes[at] + (log2_sizes[at + 1] - log2_sizes[at]) * above / (above - below)
    });
    at.unwrap_or(log2_sizes[log2_sizes.len() - 1]).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, around, buffered, deep, flushed, random, read, says, write};
    use halfpower_model::{FileState, Workload};

    #[test]
    fn gain_and_loss_are_reported_by_size() {
        let mut run = Run::default();
        for (kib, direct, cached) in [(2, 1e8, 12e8), (64, 10e8, 15e8), (1024, 20e8, 15e8)] {
            run.add(read(kib), &around(direct));
            run.add(buffered(read(kib)), &around(cached));
        }
        let findings = run.findings(FindingCode::BufferingGain);
        assert_eq!(findings.len(), 1);
        let words = "Sequential reads (QD1, buffered), compared with direct: throughput is 12 times [12 to 12] at 2 KiB, 75 % [75 to 75] at 1 MiB; a gain from 2 KiB to 64 KiB, a loss at 1 MiB; break-even at 324 KiB ± 0.1 %.";
        assert_eq!(findings[0].sentence, words);
        let words = "a gain from 2 KiB to 64 KiB, a loss at 1 MiB (12 × at 2 KiB, 0.75 × at 1 MiB)";
        assert_eq!(findings[0].brief, words);
        assert_eq!(findings[0].subject, "sequential read, QD1, buffered");
        assert!((findings[0].estimates[0].value - 12.0).abs() < 1e-9, "the highest ratio first");
        assert_eq!(findings[0].samples.len(), 30);
        // log2 of 64 KiB is 16 and of 1 MiB 20: 4 × ln 1.5 / (ln 1.5 - ln 0.75) = 4 × 0.584963 further on.
        let turn = findings[0].estimates[2];
        assert!((turn.value.log2() - 18.339_85).abs() < 1e-5, "{turn:?}");
    }

    #[test]
    fn what_turns_twice_or_not_beyond_doubt_has_no_size() {
        let turns = |ratios: &[f64]| {
            let mut run = Run::default();
            for (kib, ratio) in [4, 8, 16, 32].into_iter().zip(ratios) {
                run.add(read(kib), &around(1e9));
                // The blocks differ, so that a ratio near 1 is undecided.
                let rates: Vec<f64> = [0.97, 1.03, 0.98, 1.02, 1.0].map(|factor| factor * ratio * 1e9).to_vec();
                run.add(buffered(read(kib)), &rates);
            }
            run.findings(FindingCode::BufferingGain)[0].estimates.get(2).map(|turn| (turn.value, turn.low, turn.high))
        };
        assert_eq!(turns(&[2.0, 0.5, 2.0, 2.0]), None);
        assert_eq!(turns(&[2.0, 1.5, 1.2, 1.001]), None);
        let (size, low, high) = turns(&[2.0, 1.4, 1.005, 0.5]).unwrap();
        assert!(
            16_384.0 < size && size < 18_000.0 && low.unwrap() < size && size < high.unwrap(),
            "{size} {low:?} {high:?}"
        );
    }

    #[test]
    fn writes_are_compared_with_and_without_their_flush() {
        let mut run = Run::default();
        run.add(write(64), &around(1e9));
        run.add(buffered(write(64)), &around(5e9));
        run.add(flushed(buffered(write(64))), &around(0.8e9));
        let findings = run.findings(FindingCode::BufferingGain);
        let words = "Sequential writes (QD1, buffered, flushed), compared with direct: throughput is 80 % [80 to 80] at 64 KiB; a loss.";
        assert_eq!(findings[0].sentence, words);
        assert!(findings[1].sentence.ends_with("this is memory speed, not storage speed."), "{findings:?}");
        assert_eq!(findings[1].estimates.len(), 1);
        run.add(flushed(write(64)), &around(0.4e9));
        let both = &run.findings(FindingCode::BufferingGain)[0];
        assert!((both.estimates[0].value - 2.0).abs() < 1e-9, "a flush against a flush: {both:?}");
    }

    #[test]
    fn without_the_like_of_it_nothing_is_compared() {
        let mut run = Run::default();
        run.add(buffered(read(4)), &around(1e9));
        run.add(read(8), &around(1e9));
        run.add(deep(8, read(4)), &around(1e9));
        run.add(random(read(4)), &around(1e9));
        run.add(write(4), &around(1e9));
        run.add(deep(8, buffered(read(4))), &around(1e9));
        assert_eq!(run.findings(FindingCode::BufferingGain), [], "deeper requests are another matter");
        let sparse = |workload| Workload { file_state: FileState::Sparse, ..workload };
        let mut run = Run::of([(sparse(write(64)), around(1e9)), (flushed(buffered(write(64))), around(2e9))]);
        assert_eq!(run.findings(FindingCode::BufferingGain), [], "so is another kind of file");
        run.add(flushed(buffered(sparse(write(64)))), &around(3e9));
        let words = "buffered, flushed, sparse), compared with direct: throughput is 3 times";
        says(&run.sentences(FindingCode::BufferingGain)[0], words);
        let once = Run::of([(random(read(4)), [1e8]), (buffered(random(read(4))), [2e8])]);
        let words = "Random reads (QD1, buffered), compared with direct: throughput is 2 times at 4 KiB; undecided.";
        assert_eq!(once.sentences(FindingCode::BufferingGain), [words], "one repetition decides nothing");
    }
}
