//! Cost of whole-block requests that are not aligned, against aligned ones, and of writes the blocks read because of it.
//!
//! The ratio is paired by block (geometric mean, t interval of the logarithms) and named if it is significantly beyond 2 %, adjusted over
//! all (Benjamini and Hochberg). For the evidence by counters, for which one sample is enough, see [`super::read_before_write`]. The
//! block is 4 KiB, or the device's if larger; a drive with hidden 4 KiB blocks shows only by its cost.

use super::frame::{extent, found};
use super::read_before_write::{Fit, Proof, block, fit, proof};
use crate::cells::Cell;
use crate::comparable::{Axis, are_comparable};
use crate::evidence::Evidence;
use crate::series::Series;
use crate::statistics::{Contrast, Margin, Verdict, verdicts};
use crate::wording::{place, sentence};
use halfpower_model::{Finding, FindingCode, Workload};

/// A misaligned cell.
struct Shifted<'a> {
    cell: &'a Cell<'a>,
    /// The aligned one and the comparison, with its verdict among all.
    aligned: Option<(&'a Cell<'a>, Contrast, Verdict)>,
    proof: Option<Proof>,
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let groups = evidence.by_load(1, |cell| fit(cell) == Fit::Across);
    let mut all: Vec<Vec<Shifted<'_>>> =
        groups.iter().map(|group| group.cells.iter().map(|cell| shifted(evidence, cell)).collect()).collect();
    let contrasts: Vec<Contrast> = all.iter().flatten().filter_map(|shifted| Some(shifted.aligned?.1)).collect();
    let compared = all.iter_mut().flatten().filter_map(|shifted| shifted.aligned.as_mut());
    compared.zip(verdicts(&contrasts)).for_each(|(aligned, verdict)| aligned.2 = verdict);
    groups.iter().zip(&all).filter_map(|(group, all)| finding(group, all)).collect()
}

fn shifted<'a>(evidence: &Evidence<'a>, cell: &'a Cell<'a>) -> Shifted<'a> {
    let is_aligned =
        |other: &&Cell<'_>| fit(other) == Fit::Whole && are_comparable(other.workload, cell.workload, &[Axis::Places]);
    let aligned = evidence.cells.iter().copied().find(is_aligned).and_then(|other| {
        let contrast = Contrast::paired(&cell.paired_with(other), Margin::THROUGHPUT)?;
        Some((other, contrast, Verdict::Undecided))
    });
    Shifted { cell, aligned, proof: proof(cell) }
}

impl Shifted<'_> {
    /// Whether it costs something.
    fn shows(&self) -> bool {
        self.proof.is_some() || self.aligned.is_some_and(|(.., verdict)| verdict == Verdict::Lower)
    }

    /// The ratio, and how often it reads; the lower the more expensive.
    fn cost(&self) -> [f64; 2] {
        let ratio = self.aligned.map_or(1.0, |(_, contrast, _)| contrast.ratio.value);
        [ratio, self.proof.map_or(0.0, |proof| -proof.per_request.value)]
    }
}

/// The most expensive misaligned cell; if none is, that it costs nothing.
fn finding(group: &Series<'_>, all: &[Shifted<'_>]) -> Option<Finding> {
    let shown: Vec<&Shifted<'_>> = all.iter().filter(|shifted| shifted.shows()).collect();
    let compared = || all.iter().filter(|shifted| shifted.aligned.is_some()).collect();
    let candidates: Vec<&Shifted<'_>> = if shown.is_empty() { compared() } else { shown.clone() };
    let by_cost = |one: &&&Shifted<'_>, other: &&&Shifted<'_>| {
        let ([ratio, reads], [other_ratio, other_reads]) = (one.cost(), other.cost());
        ratio.total_cmp(&other_ratio).then(reads.total_cmp(&other_reads))
    };
    let Shifted { cell, aligned, proof } = *candidates.iter().min_by(by_cost)?;
    let (workload, block) = (cell.workload, block(cell));
    let compared = aligned.map(|(_, contrast, verdict)| {
        let judgement = match verdict {
            Verdict::Lower => "slower",
            Verdict::Higher => "faster",
            Verdict::Equivalent => "no difference",
            Verdict::Undecided => "undecided",
        };
        (contrast.ratio, judgement)
    });
    let against =
        compared.map(|(ratio, judgement)| format!("{ratio} of the throughput of I/O aligned to {block}: {judgement}"));
    let proven =
        proof.map(|proof| format!("{}, because writing part of a {block} block reads it first", proof.words()));
    let claims: Vec<String> = against.into_iter().chain(proven).collect();
    let rest = if shown.is_empty() { String::new() } else { extent(shown.len(), all.len()) };
    let claim = format!("{}, {}: {}{rest}", group.requests_of(workload), places(workload), claims.join("; "));
    let brief = match (compared, proof) {
        (Some((ratio, judgement)), _) => format!("{judgement}: {ratio} of aligned throughput"),
        (None, proof) => proof.as_ref()?.brief(),
    };
    let counts = proof.map(|proof| [proof.per_byte, proof.per_request]);
    let estimates = compared.map(|(ratio, _)| ratio).into_iter().chain(counts.into_iter().flatten()).collect();
    let cells = candidates.iter().flat_map(|shifted| [Some(shifted.cell), shifted.aligned.map(|(other, ..)| other)]);
    let words = [format!("{brief} ({})", place(workload)), sentence(&claim)];
    let subject = format!("{}, {}", group.subject, places(workload));
    Some(found(FindingCode::Misalignment, subject, cells.flatten(), words, estimates))
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
    use crate::fixtures::{Run, around, buffered, random, read, says, write};
    use halfpower_model::Bytes;

    fn shift(workload: Workload) -> Workload {
        Workload { offset: Bytes(512), ..workload }
    }

    #[test]
    fn the_cost_is_reported_with_the_proof() {
        let mut run = Run::of([(buffered(random(write(4))), around(409_600_000.0))]);
        let cell = run.add(shift(buffered(random(write(4)))), &around(40_960_000.0));
        run.device_reads(cell, |block| {
            let writes = [9800, 9900, 10_000, 10_100, 10_200][block as usize];
            (writes * 2, writes * 2 * 4096)
        });
        let findings = run.findings(FindingCode::Misalignment);
        assert_eq!(findings.len(), 1);
        let words = "Random writes (4 KiB, QD1, buffered), shifted by 512 B: 10 % [10 to 10] of the throughput of I/O aligned to 4 KiB: slower; the device reads 2 times [2 to 2] the bytes written, 2 reads of 4 KiB per write, because writing part of a 4 KiB block reads it first.";
        assert_eq!(findings[0].sentence, words);
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
        says(&findings[0].sentence, "1.6 reads of 4 KiB per write");
    }

    #[test]
    fn reads_are_compared_and_the_like_said_to_be_so() {
        let run = Run::of([(random(read(4)), around(100e6)), (shift(random(read(4))), around(100e6))]);
        assert!(run.findings(FindingCode::Misalignment)[0].sentence.ends_with("aligned to 4 KiB: no difference."));
    }

    #[test]
    fn requests_on_boundaries_or_without_proof_or_the_like_are_nothing() {
        let mut run = Run::of([(write(64), around(1e9)), (shift(write(8)), around(1e9))]);
        run.device_reads(0, |_| (10_000, 10_000 * 4096));
        run.add(Workload { offset: Bytes(8192), ..write(64) }, &around(0.5e9));
        assert_eq!(run.findings(FindingCode::Misalignment), []);
    }
}
