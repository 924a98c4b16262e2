//! How to do I/O here.
//!
//! Sequential: of comparable cells with 90 % of the maximum, the one with the fewest outstanding, then the smallest requests, since deep
//! queues cost latency and large requests memory. Random: the depth at the knee. Only measured cells that reach the storage are
//! recommended.

use super::frame::found;
use super::knee::{Knee, depth_estimate, growth, knee};
use crate::cells::Cell;
use crate::comparable::{Axis, are_comparable, distinctions, groups};
use crate::evidence::{Evidence, highest};
use crate::series::Series;
use crate::statistics::ratio_of_means;
use crate::wording::{caching, depth, kind, reaches_storage, requests, sentence};
use halfpower_model::{Finding, FindingCode, Operation, Pattern, Quantity, Workload};
use std::cmp::Reverse;

/// Fewer cells offer no choice.
const CELLS_MIN: usize = 3;
const SHARE_OF_BEST: f64 = 0.9;
/// For a claim that needs repetitions.
const TOO_FEW: &str = ", with too few repetitions for a confidence interval";

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for operation in [Operation::Read, Operation::Write] {
        findings.extend(sequential(evidence, operation));
        let random = |series: &&Series<'_>| {
            let workload = series.workload();
            workload.operation == operation && workload.pattern == Pattern::Random && reaches_storage(workload)
        };
        findings.extend(evidence.by_depth.iter().filter(random).filter_map(random_depth));
    }
    findings
}

/// One for each group of comparable cells.
fn sequential(evidence: &Evidence<'_>, operation: Operation) -> Vec<Finding> {
    let is_candidate = |cell: &&Cell<'_>| {
        let workload = cell.workload;
        workload.operation == operation && workload.pattern == Pattern::Sequential && reaches_storage(workload)
    };
    let mut groups = groups(evidence.cells.iter().copied().filter(is_candidate), Axis::WAYS);
    groups.retain(|group| group.len() >= CELLS_MIN);
    let subject = format!("sequential {operation}");
    let named: Vec<_> = groups.iter().map(|group| (subject.clone(), group[0].workload)).collect();
    // An excluded warm-up separates cells but is not part of the advice.
    let distinctions = distinctions(&named, &[Axis::WAYS, &[Axis::Warmup]].concat());
    let advice = |(group, distinction): (&Vec<&Cell<'_>>, &String)| {
        let has_namesake = distinctions.iter().filter(|other| *other == distinction).count() > 1;
        let most_of = if has_namesake { most_of(group) } else { String::new() };
        smallest_of_the_good(group, format!("{subject}{distinction}"), distinction, &most_of)
    };
    groups.iter().zip(&distinctions).filter_map(advice).collect()
}

/// `64 KiB requests, QD4, direct`.
fn words(workload: &Workload) -> String {
    format!("{} requests, {}, {}", workload.request_size, depth(workload), caching(workload))
}

/// ` of buffered reads`: what the maximum refers to, if there are several.
fn most_of(group: &[&Cell<'_>]) -> String {
    let workload = group[0].workload;
    let caching = caching(workload);
    if group.iter().all(|cell| crate::wording::caching(cell.workload) == caching) {
        format!(" of {caching} {}s", workload.operation)
    } else {
        " of comparable workloads".to_owned()
    }
}

/// `distinction` separates the candidates from others of the same name; `most_of` is what the maximum refers to.
fn smallest_of_the_good(
    candidates: &[&Cell<'_>],
    subject: String,
    distinction: &str,
    most_of: &str,
) -> Option<Finding> {
    let highest = highest(candidates, Cell::mean_bytes_per_s)?;
    let best = highest.mean_bytes_per_s();
    let is_good = |cell: &&Cell<'_>| cell.mean_bytes_per_s() >= SHARE_OF_BEST * best;
    let choice = candidates
        .iter()
        .filter(|cell| is_good(cell))
        .min_by_key(|cell| (cell.outstanding(), cell.workload.request_size, Reverse(cell.mean_bytes_per_s() as u64)))?;
    let estimate = choice.rate(Quantity::BytesPerSecond)?;
    let workload = choice.workload;
    let larger: Vec<_> = candidates
        .iter()
        .filter(|cell| cell.workload.request_size > workload.request_size)
        .filter(|cell| are_comparable(cell.workload, workload, &[Axis::RequestSize]))
        .collect();
    let least = if !larger.is_empty() && larger.into_iter().all(is_good) { "at least " } else { "" };
    let share = estimate.value / best;
    let doubt = if share < 1.0 { doubt_of_share(choice, highest) } else { "" };
    let most = if share < 1.0 { format!("{:.0} % of the maximum", 100.0 * share) } else { "the maximum".to_owned() };
    let named: Vec<_> = candidates.iter().map(|cell| (words(cell.workload), cell.workload)).collect();
    let among = candidates.iter().position(|cell| cell.number == choice.number).unwrap_or_default();
    let way = &distinctions(&named, &[])[among];
    let how = format!("{least}{}{way}{distinction}", words(workload));
    let (size, at) = (workload.request_size, format!("{}, {}", depth(workload), caching(workload)));
    let what = format!("sequential {} of {least}{size} at {at}{way}{distinction}", requests(workload.operation));
    let claim = format!("{what}: {estimate}{}, {most}{most_of}{doubt}", choice.not_flushed());
    Some(found(FindingCode::Recommendation, subject, [*choice], [how, sentence(&claim)], vec![estimate]))
}

/// Whether the share of the maximum is precise enough to choose by.
fn doubt_of_share(choice: &Cell<'_>, highest: &Cell<'_>) -> &'static str {
    if [choice, highest].iter().any(|cell| cell.bytes_per_s.len() < 2) {
        return TOO_FEW;
    }
    let interval =
        ratio_of_means(&choice.bytes_per_s, &highest.bytes_per_s).and_then(|share| share.high.zip(share.low));
    let is_known = interval.is_some_and(|(high, low)| (high - low) / 2.0 <= 1.0 - SHARE_OF_BEST);
    if is_known { "" } else { " (uncertain by more than ± 10 %)" }
}

fn random_depth(series: &Series<'_>) -> Option<Finding> {
    let Knee { cell, rate, best, still_growing } = knee(series)?;
    let workload = cell.workload;
    let depth_known = depth_estimate(series, workload.depth);
    let is_alone = depth_known.repetitions < 2;
    let doubt = if is_alone { TOO_FEW } else { "" };
    let (least, beyond) = if still_growing {
        ("at least ", format!(", {}{doubt}; try a deeper queue", growth(depth_known)))
    } else if is_alone {
        // A bound needs an interval.
        ("", format!("; deeper queues added {:.0} %{doubt}", (100.0 * (best / rate.value - 1.0)).ceil()))
    } else {
        let most = most_beyond(series, cell).map(|most| format!("; deeper queues add at most {most:.0} %"));
        ("", most.unwrap_or_default())
    };
    let at = format!("{}, {}{}", depth(workload), caching(workload), series.distinction);
    let claim = format!("{} at {at}: {rate}{}{beyond}", kind(workload), cell.not_flushed());
    let words = [format!("{least}{at}"), sentence(&claim)];
    Some(found(FindingCode::Recommendation, &series.subject, [cell], words, vec![rate]))
}

/// Upper bound in percent of what deeper queues add; none without intervals.
fn most_beyond(series: &Series<'_>, cell: &Cell<'_>) -> Option<f64> {
    let deeper = series.cells.iter().filter(|other| other.workload.depth > cell.workload.depth);
    let highs = deeper.map(|deeper| ratio_of_means(&deeper.requests_per_s, &cell.requests_per_s)?.high);
    let highest = highs.collect::<Option<Vec<f64>>>()?.into_iter().fold(1.0, f64::max);
    Some((100.0 * (highest - 1.0)).ceil())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, around, buffered, deep, ends, flushed, random, read, says, write};
    use halfpower_model::{CachePolicy, Nanoseconds, Personality, Verify};

    #[test]
    fn shallow_and_small_wins_among_the_good() {
        let mut run = Run::default();
        for (depth, kib, rate) in
            [(1, 4, 1e8), (1, 1024, 12e8), (4, 16, 10e8), (4, 32, 15e8), (4, 64, 16e8), (8, 16, 15e8)]
        {
            run.add(deep(depth, read(kib)), &around(rate));
        }
        let findings = run.findings(FindingCode::Recommendation);
        let words = "Sequential reads of at least 32 KiB at QD4, direct: 1.5 GB/s ± 2 %, 94 % of the maximum.";
        assert_eq!(findings[0].sentence, words);
        assert_eq!((findings.len(), findings[0].samples.as_slice()), (1, [115, 116, 117, 118, 119].as_slice()));
        let falling = Run::of([(read(4), [1e8]), (read(64), [15e8]), (read(1024), [5e8])]);
        let words = "Sequential reads of 64 KiB at QD1, direct: 1.5 GB/s, the maximum.";
        assert_eq!(falling.sentences(FindingCode::Recommendation), [words], "larger requests do not as well");
    }

    #[test]
    fn what_is_done_on_another_kind_of_target_is_advised_apart() {
        let verified = |workload| Workload { verify: Verify::Stamp, ..workload };
        let mut run = Run::default();
        for (kib, plain, checked) in [(4, 1e8, 0.5e8), (64, 2e8, 1e8), (1024, 15e8, 1e8)] {
            run.add(write(kib), &[plain]);
            run.add(verified(write(kib)), &[checked]);
            run.add(deep(kib as u32, random(verified(write(4)))), &[1e8]);
            run.add(deep(kib as u32, random(write(4))), &[1e8]);
        }
        let sentences = run.sentences(FindingCode::Recommendation);
        assert_eq!(
            sentences[..2],
            [
                "Sequential writes of 1 MiB at QD1, direct, verify off: 1.5 GB/s, the maximum.",
                "Sequential writes of at least 64 KiB at QD1, direct, verify stamp: 100 MB/s, the maximum.",
            ]
        );
        assert_eq!(run.findings(FindingCode::Recommendation)[1].subject, "sequential write, verify stamp");
        says(&sentences[2], "QD4, direct, verify ");
    }

    #[test]
    fn a_share_of_figures_that_scatter_is_uncertain() {
        let said = |small: &[f64], large: &[f64]| {
            let mut run = Run::default();
            run.add(read(4), &[1e8; 5]);
            run.add(read(32), small);
            run.add(read(64), large);
            run.findings(FindingCode::Recommendation)[0].sentence.clone()
        };
        let scattered = said(&[3e8, 6e8, 6e8, 6e8, 9e8], &[4e8, 6.5e8, 6.5e8, 6.5e8, 9e8]);
        ends(&scattered, "92 % of the maximum (uncertain by more than ± 10 %).");
        let alone = said(&[15e8], &[16e8]);
        ends(&alone, "94 % of the maximum, with too few repetitions for a confidence interval.");
    }

    #[test]
    fn depths_of_one_sample_each_bound_nothing() {
        let said = |rates: [f64; 3]| {
            let mut run = Run::default();
            for (depth, rate) in [1, 8, 16].into_iter().zip(rates) {
                run.add(deep(depth, random(read(4))), &[rate * 4096.0]);
            }
            run.findings(FindingCode::Recommendation)[0].sentence.clone()
        };
        let full = said([10e3, 57e3, 58e3]);
        ends(&full, "; deeper queues added 2 %, with too few repetitions for a confidence interval.");
        let growing = said([10e3, 57e3, 98e3]);
        ends(&growing, ", still rising, with too few repetitions for a confidence interval; try a deeper queue.");
    }

    #[test]
    fn the_speed_of_memory_is_never_recommended() {
        let mut run = Run::default();
        for kib in [4, 64, 1024] {
            run.add(buffered(write(kib)), &around(9e9));
            run.add(write(kib), &around(1e6 * kib as f64));
            run.add(flushed(buffered(write(kib))), &around(0.5e6 * kib as f64));
            run.add(Workload { cache: CachePolicy::Warm, ..buffered(read(kib)) }, &around(9e9));
        }
        let findings = run.findings(FindingCode::Recommendation);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].sentence, "Sequential writes of 1 MiB at QD1, direct: 1.02 GB/s ± 2 %, the maximum.");
    }

    #[test]
    fn random_requests_go_to_the_knee() {
        let mut run = Run::default();
        for (depth, rate) in [(1, 10e3), (8, 57e3), (16, 58e3)] {
            run.add(deep(depth, random(read(4))), &around(rate * 4096.0));
            run.add(deep(depth, random(write(4))), &around(1e3 * f64::from(depth) * 4096.0));
        }
        let sentences = run.sentences(FindingCode::Recommendation);
        assert_eq!(
            sentences,
            [
                "Random 4 KiB reads at QD8, direct: 57\u{202f}000 IOPS ± 2 %; deeper queues add at most 5 %.",
                "Random 4 KiB writes at QD16, direct: 16\u{202f}000 IOPS ± 2 %, still rising; try a deeper queue.",
            ]
        );
    }

    #[test]
    fn too_little_gives_no_advice() {
        let mut run = Run::default();
        run.add(read(4), &around(1e9));
        run.add(read(64), &around(2e9));
        run.add(random(read(4)), &around(1e8));
        run.add(deep(2, random(read(4))), &around(1e8));
        for kib in [4, 64, 1024] {
            run.add(write(kib), &[0.0]);
        }
        assert_eq!(run.findings(FindingCode::Recommendation), []);
    }

    #[test]
    fn a_warm_up_is_no_part_of_the_advice() {
        let mut run = Run::default();
        for kib in [4, 64, 1024] {
            run.add(Workload { warmup: Nanoseconds(40_000_000), ..read(kib) }, &[1e9]);
            run.add(Workload { cache: CachePolicy::Cold, warmup: Nanoseconds(0), ..buffered(read(kib)) }, &[2e9]);
        }
        let sentences = run.sentences(FindingCode::Recommendation);
        assert_eq!(
            sentences,
            [
                "Sequential reads of at least 4 KiB at QD1, direct: 1 GB/s, the maximum of direct reads.",
                "Sequential reads of at least 4 KiB at QD1, buffered: 2 GB/s, the maximum of buffered reads.",
            ]
        );
    }

    #[test]
    fn ways_of_the_same_words_are_named() {
        let mut run = Run::default();
        for (kib, ring, plain) in [(4, 1e8, 2e8), (64, 2e8, 15e8)] {
            run.add(read(kib), &[ring]);
            run.add(Workload { personality: Personality::Sync, ..read(kib) }, &[plain]);
        }
        let words = "Sequential reads of 64 KiB at QD1, direct, sync: 1.5 GB/s, the maximum.";
        assert_eq!(run.findings(FindingCode::Recommendation)[0].sentence, words);
    }
}
