//! Read-modify-write of writes smaller than a block: amplification by the device's counters, and IOPS against whole blocks.
//!
//! For the evidence see [`super::read_before_write`]. The cost is paired by block (geometric mean, t interval of the logarithms). The
//! most amplified cell of each kind is named. Source: Patterson, Gibson and Katz, "A case for redundant arrays of inexpensive
//! disks", SIGMOD 1988.

use super::frame::{extent, found};
use super::read_before_write::{Fit, Proof, block, fit, proof};
use crate::cells::Cell;
use crate::evidence::Evidence;
use crate::series::Series;
use crate::statistics::paired_ratio;
use crate::wording::{place, sentence};
use halfpower_model::{Estimate, Finding, FindingCode, Operation};

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    evidence.by_load(1, |cell| cell.workload.operation == Operation::Write).iter().filter_map(finding).collect()
}

fn finding(group: &Series<'_>) -> Option<Finding> {
    let small: Vec<&Cell<'_>> = group.cells.iter().copied().filter(|cell| fit(cell) == Fit::Parts).collect();
    let proven: Vec<(&Cell<'_>, Proof)> = small.iter().filter_map(|cell| Some((*cell, proof(cell)?))).collect();
    let (cell, proof) = proven.iter().max_by(|one, other| one.1.per_byte.value.total_cmp(&other.1.per_byte.value))?;
    let cost = whole_counterpart(group, cell).and_then(|whole| Some((whole, requests_against(cell, whole)?)));
    let cost_words = cost
        .map(|(whole, ratio)| format!(". They reach {ratio} of the IOPS of {} writes", whole.workload.request_size));
    let claim = format!(
        "{}: {}, because writing part of a {} block reads it first{}{}",
        group.requests_of(cell.workload),
        proof.words(),
        block(cell),
        extent(proven.len(), small.len()),
        cost_words.unwrap_or_default()
    );
    let brief = format!("{} ({})", proof.brief(), place(cell.workload));
    let cells = proven.iter().map(|(cell, _)| *cell).chain(cost.map(|(whole, _)| whole));
    let estimates = [proof.per_byte, proof.per_request].into_iter().chain(cost.map(|(_, ratio)| ratio)).collect();
    Some(found(FindingCode::SmallWritePenalty, &group.subject, cells, [brief, sentence(&claim)], estimates))
}

/// The smallest whole-block cell with the same depth and workers.
fn whole_counterpart<'a>(group: &Series<'a>, small: &Cell<'_>) -> Option<&'a Cell<'a>> {
    let load = |cell: &Cell<'_>| (cell.workload.depth, cell.workload.workers);
    let whole = group.cells.iter().copied().filter(|cell| fit(cell) == Fit::Whole && load(cell) == load(small));
    whole.min_by_key(|cell| cell.workload.request_size)
}

/// Ratio of IOPS in the same blocks.
fn requests_against(small: &Cell<'_>, whole: &Cell<'_>) -> Option<Estimate> {
    let larger = whole.workload.request_size.0 as f64 / small.workload.request_size.0 as f64;
    let pairs = small.paired_with(whole).into_iter().map(|(one, other)| (one * larger, other));
    paired_ratio(&pairs.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, buffered, random, write};
    use halfpower_model::{Bytes, Workload};

    fn small() -> Workload {
        Workload { request_size: Bytes(512), ..buffered(random(write(4))) }
    }

    /// 1000 writes of 512 bytes for which the device read this number of blocks.
    fn of(blocks: u64) -> Run {
        let mut run = Run::default();
        let cell = run.add(small(), &[512_000.0; 3]);
        run.device_reads(cell, |_| (blocks, blocks * 4096));
        run
    }

    #[test]
    fn the_amplification_is_reported_with_its_cost() {
        let mut run = of(900);
        let whole = run.add(buffered(random(write(4))), &[40_960_000.0; 3]);
        run.device_reads(whole, |_| (1, 4096));
        let findings = run.findings(FindingCode::SmallWritePenalty);
        assert_eq!(findings.len(), 1);
        let words = "Random writes (512 B, QD1, buffered): the device reads 7.2 times [7.2 to 7.2] the bytes written, 0.9 reads of 4 KiB per write, because writing part of a 4 KiB block reads it first. They reach 10 % [10 to 10] of the IOPS of 4 KiB writes.";
        assert_eq!(findings[0].sentence, words);
        assert_eq!(findings[0].brief, "the device reads 7.2 times [7.2 to 7.2] the bytes written (512 B, QD1)");
        assert_eq!((findings[0].estimates.len(), findings[0].samples.len()), (3, 6));
    }

    #[test]
    fn one_sample_is_enough_for_a_count() {
        let mut run = of(900);
        run.samples.truncate(1);
        assert!(run.findings(FindingCode::SmallWritePenalty)[0].sentence.contains("reads 7.2 times the bytes"));
    }

    #[test]
    fn writes_that_caused_no_reads_have_no_penalty() {
        assert_eq!(of(0).findings(FindingCode::SmallWritePenalty), [], "the blocks were in the cache");
        let mut run = Run::default();
        let whole = run.add(buffered(random(write(4))), &[4_096_000.0]);
        run.device_reads(whole, |_| (900, 900 * 4096));
        assert_eq!(run.findings(FindingCode::SmallWritePenalty), [], "whole blocks are read for something else");
    }
}
