//! Cost of whole-block requests that are not aligned, against aligned ones, and of writes the blocks read because of it.
//!
//! The ratio is paired by block (geometric mean, t interval of the logarithms) and named if it is significantly beyond 2 %, adjusted over
//! all (Benjamini and Hochberg). For the evidence by counters, for which one sample is enough, see [`super::read_before_write`]. The
//! block is 4 KiB, or the device's if larger; a drive with hidden 4 KiB blocks shows only by its cost.

use super::load::{Loaded, by_load, extent, place};
use super::read_before_write::{Fit, Proof, block, fit, proof};
use crate::cells::Cell;
use crate::comparable::{Axis, are_comparable};
use crate::evidence::Evidence;
use crate::statistics::{Contrast, Margin, Verdict, verdicts};
use crate::wording::{ratio_to, reach, sentence};
use halfpower_model::{Finding, FindingCode, Workload};

/// A misaligned cell.
struct Shifted<'a> {
    cell: &'a Cell<'a>,
    /// The aligned one and the comparison.
    aligned: Option<(&'a Cell<'a>, Contrast)>,
    proof: Option<Proof>,
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let across = evidence.cells.iter().copied().filter(|cell| fit(cell) == Fit::Across);
    let groups = by_load(across, 1);
    let all: Vec<Vec<Shifted<'_>>> =
        groups.iter().map(|group| group.cells.iter().map(|cell| shifted(evidence, cell)).collect()).collect();
    let contrasts: Vec<Contrast> = all.iter().flatten().filter_map(|shifted| Some(shifted.aligned?.1)).collect();
    let mut verdicts = verdicts(&contrasts).into_iter();
    let found = groups.iter().zip(&all).filter_map(|(group, all)| {
        let mut of = |shifted: &Shifted<'_>| shifted.aligned.and_then(|_| verdicts.next());
        let judged: Vec<(&Shifted<'_>, Option<Verdict>)> = all.iter().map(|shifted| (shifted, of(shifted))).collect();
        finding(group, &judged)
    });
    found.collect()
}

fn shifted<'a>(evidence: &Evidence<'a>, cell: &'a Cell<'a>) -> Shifted<'a> {
    let is_aligned =
        |other: &&&Cell<'_>| fit(other) == Fit::Whole && are_comparable(other.workload, cell.workload, &[Axis::Places]);
    let aligned = evidence.cells.iter().find(is_aligned).copied();
    let compared =
        aligned.and_then(|other| Some((other, Contrast::paired(&cell.paired_with(other), Margin::THROUGHPUT)?)));
    Shifted { cell, aligned: compared, proof: proof(cell) }
}

/// The most expensive misaligned cell; if none is, that it costs nothing.
fn finding(group: &Loaded<'_>, judged: &[(&Shifted<'_>, Option<Verdict>)]) -> Option<Finding> {
    let ratio = |shifted: &Shifted<'_>| shifted.aligned.map(|(_, contrast)| contrast.ratio.value);
    let shows = |(shifted, verdict): &&(&Shifted<'_>, Option<Verdict>)| {
        *verdict == Some(Verdict::Lower) || shifted.proof.is_some()
    };
    let shown: Vec<_> = judged.iter().filter(shows).collect();
    let candidates =
        if shown.is_empty() { judged.iter().filter(|(_, verdict)| verdict.is_some()).collect() } else { shown.clone() };
    let cost = |shifted: &Shifted<'_>| {
        (ratio(shifted).unwrap_or(1.0), shifted.proof.map_or(0.0, |proof| -proof.per_request.value))
    };
    let by_cost = |one: &&&(&Shifted<'_>, Option<Verdict>), other: &&&(&Shifted<'_>, Option<Verdict>)| {
        let (one, other) = (cost(one.0), cost(other.0));
        one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1))
    };
    let (worst, verdict) = candidates.iter().min_by(by_cost).copied()?;
    let workload = worst.cell.workload;
    let judgement = match verdict {
        Some(Verdict::Lower) => "slower",
        Some(Verdict::Higher) => "faster",
        Some(Verdict::Equivalent) => "no difference",
        _ => "undecided",
    };
    let against = worst.aligned.map(|(_, Contrast { ratio, .. })| {
        format!("{ratio} of the throughput of I/O aligned to {}: {judgement}", block(worst.cell))
    });
    let proven = worst.proof.map(|proof| {
        format!("{}, because writing part of a {} block reads it first", proof.words(), block(worst.cell))
    });
    let claims: Vec<String> = against.iter().chain(&proven).cloned().collect();
    let claim = format!(
        "{}, {}: {}{}",
        group.requests_of(workload),
        places(workload),
        claims.join("; "),
        if shown.is_empty() { String::new() } else { extent(shown.len(), judged.len()) },
    );
    let brief = match (&worst.aligned, &worst.proof) {
        (Some((_, contrast)), _) => {
            format!("{judgement}: {} of aligned throughput ({})", contrast.ratio, place(workload))
        }
        (None, Some(proof)) => {
            format!("the device reads {} ({})", ratio_to(proof.per_byte, "the bytes written"), place(workload))
        }
        (None, None) => return None,
    };
    let ratios = worst.aligned.map(|(_, contrast)| contrast.ratio);
    let counts = worst.proof.map(|proof| [proof.per_byte, proof.per_request]);
    Some(Finding {
        code: FindingCode::Misalignment,
        subject: format!("{}, {}", group.subject, places(workload)),
        reach: reach(workload),
        brief,
        sentence: sentence(&claim),
        estimates: ratios.into_iter().chain(counts.into_iter().flatten()).collect(),
        samples: candidates
            .iter()
            .flat_map(|(shifted, _)| std::iter::once(shifted.cell).chain(shifted.aligned.map(|(other, _)| other)))
            .flat_map(|cell| cell.samples())
            .collect(),
    })
}

/// `shifted by 512 B`, `at multiples of 1 KiB`.
fn places(workload: &Workload) -> String {
    let shifted = (workload.offset.0 > 0).then(|| format!("shifted by {}", workload.offset));
    let multiples = workload.align.map(|align| format!("at multiples of {align}"));
    shifted.into_iter().chain(multiples).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, around, buffered, random, read, write};
    use halfpower_model::Bytes;
    use proptest::prelude::*;

    fn shift(workload: Workload) -> Workload {
        Workload { offset: Bytes(512), ..workload }
    }

    #[test]
    fn the_cost_is_told_with_the_proof() {
        let mut run = Run::default();
        run.add(buffered(random(write(4))), &around(409_600_000.0));
        let cell = run.add(shift(buffered(random(write(4)))), &around(40_960_000.0));
        run.device_reads(cell, |block| {
            let writes = [9800, 9900, 10_000, 10_100, 10_200][block as usize];
            (writes * 2, writes * 2 * 4096)
        });
        let findings = run.findings(FindingCode::Misalignment);
        assert_eq!(findings.len(), 1);
        assert_eq!(
            findings[0].sentence,
            "Random writes (4 KiB, QD1, buffered), shifted by 512 B: 10 % [10 to 10] of the throughput of I/O aligned to 4 KiB: slower; the device reads 2 times [2 to 2] the bytes written, 2 reads of 4 KiB per write, because writing part of a 4 KiB block reads it first."
        );
        assert_eq!(findings[0].subject, "random write, buffered, shifted by 512 B");
        assert_eq!(findings[0].brief, "slower: 10 % [10 to 10] of aligned throughput (4 KiB, QD1)");
        assert_eq!((findings[0].samples.len(), findings[0].estimates.len()), (10, 3));
    }

    #[test]
    fn one_sample_with_the_device_s_count_is_enough() {
        let mut run = Run::default();
        let cell = run.add(shift(buffered(random(write(64)))), &[65_536_000.0]);
        run.device_reads(cell, |_| (1600, 1600 * 4096));
        let findings = run.findings(FindingCode::Misalignment);
        assert_eq!(findings[0].brief, "the device reads 10 % of the bytes written (64 KiB, QD1)");
        assert!(findings[0].sentence.contains("1.6 reads of 4 KiB per write"), "{}", findings[0].sentence);
    }

    #[test]
    fn reads_are_compared_and_the_like_said_to_be_so() {
        let mut run = Run::default();
        run.add(random(read(4)), &around(100e6));
        run.add(shift(random(read(4))), &around(100e6));
        assert!(run.findings(FindingCode::Misalignment)[0].sentence.ends_with("aligned to 4 KiB: no difference."));
    }

    #[test]
    fn requests_on_boundaries_or_without_proof_or_the_like_are_nothing() {
        let mut run = Run::default();
        let cell = run.add(write(64), &around(1e9));
        run.device_reads(cell, |_| (10_000, 10_000 * 4096));
        run.add(shift(write(8)), &around(1e9));
        run.add(Workload { offset: Bytes(8192), ..write(64) }, &around(0.5e9));
        assert_eq!(run.findings(FindingCode::Misalignment), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_figure_is_a_number(rate in 1e6_f64..1e9, blocks in 0_u64..1000) {
            let mut run = Run::default();
            run.add(buffered(write(4)), &around(100e6));
            let cell = run.add(shift(buffered(write(4))), &around(rate));
            run.device_reads(cell, |_| (blocks, blocks * 4096));
            for finding in run.findings(FindingCode::Misalignment) {
                prop_assert!(finding.estimates.iter().all(|estimate| estimate.value.is_finite() && estimate.value > 0.0));
            }
        }
    }
}
