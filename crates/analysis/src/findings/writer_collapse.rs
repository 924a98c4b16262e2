//! Concurrent writers that deliver less together than one alone; each may have its own file.
//!
//! Judged are the sum that the writers see and the rate that the parent sees until the last one finishes. Paired by block (geometric mean, t
//! interval of the logarithms), significantly below by more than 2 %, adjusted over all (Benjamini and Hochberg). Single samples
//! have no interval, so only a factor of 1.5 counts. If as many direct, or buffered, writers do not collapse, that rules out what
//! both share. Source: Knoblauch, "Performance problems when writing large files on CCISS hardware", linux-kernel, January 2008.

use super::frame::found;
use crate::cells::Cell;
use crate::comparable::{Axis, are_comparable, distinctions, groups};
use crate::evidence::Evidence;
use crate::series::rank;
use crate::statistics::{Contrast, Margin, Verdict, verdicts};
use crate::wording::{caching, noted, requests};
use halfpower_model::{BytesPerSecond, Finding, FindingCode, Operation, Sample, Workload};

/// Minimum factor for single samples.
const SINGLE_FACTOR: f64 = 1.5;

/// Several writers against one.
struct Writers<'a> {
    cell: &'a Cell<'a>,
    alone: &'a Cell<'a>,
    /// Of the sum; then what the parent sees, if that is known.
    rates: Vec<Judged>,
}

/// A ratio of several over one.
#[derive(Clone, Copy)]
struct Judged {
    contrast: Contrast,
    bytes_per_s: f64,
    collapsed: bool,
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let is_write = |cell: &&Cell<'_>| cell.workload.operation == Operation::Write && !cell.workload.is_held_back();
    let mut groups = groups(evidence.cells.iter().copied().filter(is_write), &[Axis::Targets]);
    groups.sort_by_key(|group| rank(group[0].workload));
    let mut all: Vec<Vec<Writers<'_>>> = groups.iter().map(|group| against_one(group)).collect();
    all.retain(|writers| !writers.is_empty());
    let contrasts: Vec<Contrast> = all.iter().flatten().flat_map(|one| &one.rates).map(|rate| rate.contrast).collect();
    let rates = all.iter_mut().flatten().flat_map(|one| &mut one.rates);
    for (rate, verdict) in rates.zip(verdicts(&contrasts)) {
        let ratio = rate.contrast.ratio;
        rate.collapsed = match ratio.high {
            Some(_) => verdict == Verdict::Lower,
            None => ratio.value < 1.0 / SINGLE_FACTOR,
        };
    }
    let subjects: Vec<_> = all.iter().map(|writers| (subject(writers[0].cell), writers[0].cell.workload)).collect();
    let distinctions = distinctions(&subjects, &[Axis::Targets]);
    let named = all.iter().zip(subjects).zip(distinctions);
    named
        .filter_map(|((writers, (subject, _)), distinction)| finding(&all, writers, &(subject + &distinction)))
        .collect()
}

fn subject(cell: &Cell<'_>) -> String {
    let Workload { pattern, operation, request_size, depth, .. } = cell.workload;
    format!("{pattern} {operation}, {request_size}, QD{depth}, {}", caching(cell.workload))
}

/// Every multi-writer cell with its single-writer cell.
fn against_one<'a>(group: &[&'a Cell<'a>]) -> Vec<Writers<'a>> {
    let Some(alone) = group.iter().copied().find(|cell| cell.workload.workers == 1) else { return Vec::new() };
    let several = group.iter().copied().filter(|cell| cell.workload.workers > 1);
    let mut several: Vec<Writers<'a>> = several.filter_map(|cell| writers(cell, alone)).collect();
    several.sort_by_key(|writers| (writers.cell.workload.workers, writers.cell.number));
    several
}

fn writers<'a>(cell: &'a Cell<'a>, alone: &'a Cell<'a>) -> Option<Writers<'a>> {
    let judged = |rate: fn(&Sample) -> Option<f64>| {
        let pairs = cell.paired_by(alone, rate);
        let contrast = Contrast::paired(&pairs, Margin::THROUGHPUT)?;
        let mean = pairs.iter().map(|(several, _)| several).sum::<f64>() / pairs.len() as f64;
        Some(Judged { contrast, bytes_per_s: mean, collapsed: false })
    };
    let rates = [judged(sum_bytes_per_s)?].into_iter().chain(judged(parent_bytes_per_s)).collect();
    Some(Writers { cell, alone, rates })
}

/// Sum over the writers.
fn sum_bytes_per_s(sample: &Sample) -> Option<f64> {
    let parallel = sample.parallel.filter(|_| sample.is_known("parallel.sum_bytes_per_s"));
    Some(parallel.map_or(sample.total.bytes_per_s, |parallel| parallel.sum_bytes_per_s).0)
}

/// The rate that the parent sees; with one writer, its own.
fn parent_bytes_per_s(sample: &Sample) -> Option<f64> {
    match sample.parallel {
        Some(parallel) => sample.is_known("parallel.parent_bytes_per_s").then_some(parallel.parent_bytes_per_s.0),
        None => (sample.workload.workers == 1).then_some(sample.total.bytes_per_s.0),
    }
}

impl Writers<'_> {
    fn sum(&self) -> Judged {
        self.rates[0]
    }

    fn parent(&self) -> Option<Judged> {
        self.rates.get(1).copied()
    }

    fn count(&self) -> u32 {
        self.cell.workload.workers
    }

    /// `2 reach 17 % of it (9.46 MB/s; as the parent sees it 17 %, 9.46 MB/s)`.
    fn words(&self) -> String {
        let Judged { contrast: Contrast { ratio, .. }, bytes_per_s, collapsed } = self.sum();
        // Only if it differs.
        let differs = |parent: &Judged| {
            parent.collapsed != collapsed || (parent.contrast.ratio.value / ratio.value - 1.0).abs() > 0.02
        };
        let parent = self.parent().filter(differs).map(|parent| {
            format!("; as the parent sees it {}, {}", parent.contrast.ratio, BytesPerSecond(parent.bytes_per_s))
        });
        let rate = BytesPerSecond(bytes_per_s);
        format!("{} reach {ratio} of it ({rate}{})", self.count(), parent.unwrap_or_default())
    }
}

fn finding(all: &[Vec<Writers<'_>>], writers: &[Writers<'_>], subject: &str) -> Option<Finding> {
    let collapsed: Vec<&Writers<'_>> =
        writers.iter().filter(|writers| writers.rates.iter().any(|rate| rate.collapsed)).collect();
    let least = |writers: &Writers<'_>| {
        let parent = writers.parent().filter(|parent| parent.collapsed);
        let ratios = [Some(writers.sum()), parent].into_iter().flatten().map(|rate| rate.contrast.ratio.value);
        ratios.fold(f64::INFINITY, f64::min)
    };
    let worst = collapsed.iter().min_by(|one, other| least(one).total_cmp(&least(other)))?;
    let workload = worst.cell.workload;
    let alone = BytesPerSecond(worst.alone.mean_bytes_per_s());
    let several: Vec<String> = collapsed.iter().map(|writers| writers.words()).collect();
    let single = worst.sum().contrast.ratio.low.is_none();
    let (what, by, share) = match collapsed.iter().any(|writers| writers.sum().collapsed) {
        true => ("collapses", "", worst.sum()),
        false => ("is uneven", "as the parent sees it, ", worst.parent().unwrap_or(worst.sum())),
    };
    let (count, share) = (worst.count(), share.contrast.ratio);
    let brief = format!("{by}{count} writers reach {share} of the throughput of one");
    let claim = format!(
        "throughput of concurrent {} {} {what} ({subject}): one writer delivers {alone}, {}{}{}",
        workload.pattern,
        requests(workload.operation),
        several.join(", "),
        if single { "; one sample each, where only a factor above 1.5 counts" } else { "" },
        ruled_out(all, worst).map(|said| format!(". {said}")).unwrap_or_default(),
    );
    let ratios = worst.rates.iter().map(|rate| rate.contrast.ratio).collect();
    let cells = collapsed.iter().map(|writers| writers.cell).chain([worst.alone]);
    Some(found(FindingCode::WriterCollapse, subject, cells, [brief, noted(workload, &claim)], ratios))
}

/// The same writers with the other buffering, if they do not collapse.
fn ruled_out(all: &[Vec<Writers<'_>>], worst: &Writers<'_>) -> Option<String> {
    let axes = [Axis::Targets, Axis::Caches, Axis::Durability];
    let is_direct = worst.cell.workload.buffering.is_direct();
    let is_other_way = |other: &&Writers<'_>| {
        other.count() == worst.count()
            && other.cell.workload.buffering.is_direct() != is_direct
            && are_comparable(other.cell.workload, worst.cell.workload, &axes)
    };
    let other = all.iter().flatten().find(is_other_way).filter(|other| !other.sum().collapsed)?;
    let share = other.sum().contrast.ratio;
    Some(if is_direct {
        format!("As many buffered writers reach {share} of one, so the device alone is not the cause")
    } else {
        format!("As many direct writers reach {share} of one, so the cause is above the device")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, around, buffered, flushed, write};
    use halfpower_model::Bytes;
    use halfpower_model::sample::Parallel;

    fn by(workers: u32, workload: Workload) -> Workload {
        let span = Bytes(workload.span.0 / u64::from(workers));
        Workload { workers, targets: workers, span, ..workload }
    }

    /// Adds a cell whose parent sees a share of the sum.
    fn add(run: &mut Run, workload: Workload, rates: &[f64], parent_share: f64) {
        let workers = workload.workers;
        let cell = run.add(workload, rates);
        for placed in run.samples.iter_mut().filter(|placed| placed.cell == cell && workers > 1) {
            let sum = placed.sample.total.bytes_per_s;
            let parent_bytes_per_s = BytesPerSecond(sum.0 * parent_share);
            placed.sample.parallel = Some(Parallel { sum_bytes_per_s: sum, parent_bytes_per_s, ..Parallel::default() });
        }
    }

    #[test]
    fn the_kernel_report_of_2008() {
        // Figures of rc8's initial writers, one sample each, in bytes per second.
        let kib = |rate: f64| rate * 1024.0;
        let mut run = Run::default();
        add(&mut run, flushed(buffered(write(1024))), &[kib(55_847.39)], 1.0);
        add(&mut run, by(2, flushed(buffered(write(1024)))), &[kib(9_461.15)], 0.9994);
        add(&mut run, by(3, flushed(buffered(write(1024)))), &[kib(16_572.10)], 0.979);
        add(&mut run, flushed(write(1024)), &[kib(86_304.83)], 1.0);
        add(&mut run, by(2, flushed(write(1024))), &[kib(79_399.89)], 0.6117);
        add(&mut run, by(3, flushed(write(1024))), &[kib(85_558.32)], 0.9999);
        let sentences = run.sentences(FindingCode::WriterCollapse);
        assert_eq!(
            sentences,
            [
                "Throughput of concurrent sequential writes is uneven (sequential write, 1 MiB, QD1, direct, flushed): one writer delivers 88.4 MB/s, 2 reach 92 % of it (81.3 MB/s; as the parent sees it 56.3 %, 49.7 MB/s); one sample each, where only a factor above 1.5 counts.",
                "Throughput of concurrent sequential writes collapses (sequential write, 1 MiB, QD1, buffered, flushed): one writer delivers 57.2 MB/s, 2 reach 16.9 % of it (9.69 MB/s), 3 reach 29.7 % of it (17 MB/s; as the parent sees it 29.1 %, 16.6 MB/s); one sample each, where only a factor above 1.5 counts. As many direct writers reach 92 % of one, so the cause is above the device.",
            ]
        );
    }

    #[test]
    fn repetitions_decide_by_their_interval() {
        let mut run = Run::default();
        add(&mut run, flushed(buffered(write(64))), &around(100e6), 1.0);
        add(&mut run, by(2, flushed(buffered(write(64)))), &around(90e6), 1.0);
        let findings = run.findings(FindingCode::WriterCollapse);
        assert_eq!(findings[0].brief, "2 writers reach 90 % [90 to 90] of the throughput of one");
        assert_eq!((findings[0].samples.len(), findings[0].estimates.len()), (10, 2));
    }

    #[test]
    fn writers_that_add_up_or_hold_their_own_do_not_collapse() {
        let mut run = Run::default();
        add(&mut run, flushed(buffered(write(64))), &around(100e6), 1.0);
        add(&mut run, by(2, flushed(buffered(write(64)))), &around(99e6), 1.0);
        add(&mut run, by(4, flushed(buffered(write(64)))), &around(180e6), 1.0);
        add(&mut run, write(64), &[100e6], 1.0);
        add(&mut run, by(2, write(64)), &[70e6], 1.0);
        add(&mut run, by(2, write(4)), &around(1e6), 1.0);
        assert_eq!(run.findings(FindingCode::WriterCollapse), []);
    }
}
