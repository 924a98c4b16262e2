//! Reads that were meant for the storage and came from a cache.
//!
//! Three signs, the surest first: in every repetition the device delivered less than half of the bytes read (its counters include
//! read-ahead and other programs, so the share is a lower bound); without counters, half of the span was in the page cache before;
//! or the rate is more than 5 % above the advertised peak, which points to a cache of the drive or a hypervisor. Reads of a warmed
//! cache, of holes and of nothing are left out.

use super::frame::{extent, found};
use crate::cells::Cell;
use crate::device::{DeviceReads, mean_ratio, submitted};
use crate::evidence::Evidence;
use crate::series::Series;
use crate::statistics::{mean, mean_estimate};
use crate::wording::{place, sentence};
use halfpower_model::units::significant;
use halfpower_model::{
    BytesPerSecond, CachePolicy, Estimate, FileState, Finding, FindingCode, Operation, Personality, Quantity, Reach,
    TargetKind,
};

/// A share of the bytes, or of the span.
const HALF: f64 = 0.5;
const BEYOND_PEAK: f64 = 1.05;

/// Evidence that a cache answered: the surer the heavier, with its figure and words.
struct Sign {
    weight: f64,
    estimate: Estimate,
    words: String,
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    evidence.by_load(1, is_meant_for_storage).iter().filter_map(|group| finding(evidence, group)).collect()
}

fn is_meant_for_storage(cell: &Cell<'_>) -> bool {
    let workload = cell.workload;
    let is_null = |kind: TargetKind| kind == TargetKind::Null;
    workload.operation == Operation::Read
        && (workload.buffering.is_direct() || workload.cache != CachePolicy::Warm)
        && workload.file_state == FileState::Written
        && workload.personality != Personality::Null
        && !cell.repetitions.iter().any(|observed| is_null(observed.sample.environment.target.kind))
}

fn finding(evidence: &Evidence<'_>, group: &Series<'_>) -> Option<Finding> {
    let peak = evidence.advertised_bytes_per_s;
    let signs: Vec<(&Cell<'_>, Sign)> =
        group.cells.iter().filter_map(|cell| Some((*cell, sign(cell, peak)?))).collect();
    let (cell, Sign { estimate, words, .. }) =
        signs.iter().max_by(|one, other| one.1.weight.total_cmp(&other.1.weight))?;
    let rate = BytesPerSecond(cell.mean_bytes_per_s());
    let claim = format!(
        "{} did not reach the storage: {words}{}; {rate} is cache speed{}",
        group.requests_of(cell.workload),
        cause(cell).map(|cause| format!(": {cause}")).unwrap_or_default(),
        extent(signs.len(), group.cells.len()),
    );
    let words = [format!("{words} ({})", place(cell.workload)), sentence(&claim)];
    let cells = signs.iter().map(|(cell, _)| *cell);
    let finding = found(FindingCode::CacheHits, &group.subject, cells, words, vec![*estimate]);
    Some(Finding { reach: Reach::Memory, ..finding })
}

fn sign(cell: &Cell<'_>, advertised_bytes_per_s: Option<f64>) -> Option<Sign> {
    let reads = DeviceReads::of_cell(cell);
    let share = |share: Estimate, rank: f64, words: &str| {
        let estimate = Estimate { high: share.high.map(|high| high.min(1.0)), ..share };
        Some(Sign { weight: rank + share.value, estimate, words: format!("{estimate} of the {words}") })
    };
    // A lower bound.
    if !reads.is_empty() && reads.iter().all(|reads| reads.per_byte < HALF) {
        let from_cache = mean_ratio(&reads, |reads| 1.0 - reads.per_byte)?;
        return share(from_cache, 2.0, "bytes came from a cache above the device");
    }
    let before = cell.repetitions.iter().map(|observed| observed.sample.cached_share_before);
    let before: Option<Vec<f64>> = before.collect();
    if let Some(before) = before.filter(|shares| reads.is_empty() && shares.iter().all(|share| *share >= HALF)) {
        return share(mean_estimate(Quantity::Ratio, &before)?, 1.0, "span was in the page cache before the run");
    }
    let peak = advertised_bytes_per_s?;
    let over: Vec<f64> = cell.bytes_per_s.iter().map(|rate| rate / peak).collect();
    let over = mean_estimate(Quantity::Ratio, &over).filter(|over| over.low.is_some_and(|low| low > BEYOND_PEAK))?;
    Some(Sign { weight: 0.0, estimate: over, words: format!("{over} the advertised {}", BytesPerSecond(peak)) })
}

/// Why the cache had it, if known.
fn cause(cell: &Cell<'_>) -> Option<String> {
    let before: Vec<f64> = cell.repetitions.iter().filter_map(|observed| observed.sample.cached_share_before).collect();
    let before = mean(&before).filter(|share| *share > 0.01);
    let workload = cell.workload;
    let volume = workload.span.0 as f64 * workload.volumes() as f64;
    let passes: Option<Vec<f64>> = cell
        .repetitions
        .iter()
        .map(|observed| Some(submitted(observed.sample)? as f64 * workload.request_size.0 as f64 / volume))
        .collect();
    let passes = mean(&passes?).filter(|passes| *passes > 1.1 && passes.is_finite());
    match before {
        Some(share) => {
            Some(format!("{} of the span was in the page cache before the run", Quantity::Ratio.format(share)))
        }
        None => Some(format!("the {} span was read {} times", workload.span, significant(passes?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, around, buffered, random, read, says, write};
    use halfpower_model::{Bytes, Workload};

    /// A thousand reads of 64 KiB of which the device did this number.
    fn of(workload: Workload, done: &[u64]) -> Run {
        let mut run = Run::default();
        let cell = run.add(workload, &vec![65_536_000.0; done.len()]);
        run.device_reads(cell, |block| (done[block as usize], done[block as usize] * 65_536));
        run
    }

    fn kept() -> Workload {
        Workload { cache: CachePolicy::Keep, ..buffered(read(64)) }
    }

    #[test]
    fn what_the_device_did_not_move_came_from_a_cache() {
        let small = Workload { span: Bytes(8 << 20), ..kept() };
        let findings = of(small, &[128, 128, 128]).findings(FindingCode::CacheHits);
        let words = "Sequential reads (64 KiB, QD1, buffered) did not reach the storage: 87.2 % [87.2 to 87.2] of the bytes came from a cache above the device: the 8 MiB span was read 7.81 times; 65.5 MB/s is cache speed.";
        assert_eq!(findings[0].sentence, words);
        assert_eq!((findings[0].reach, findings[0].samples.len()), (Reach::Memory, 3));
        assert_eq!(of(kept(), &[100]).findings(FindingCode::CacheHits).len(), 1, "a count needs no repetition");
        assert_eq!(of(kept(), &[490, 400]).findings(FindingCode::CacheHits).len(), 1, "just under half");
        assert_eq!(of(read(64), &[100]).findings(FindingCode::CacheHits).len(), 1, "direct, and a stack that caches");
    }

    #[test]
    fn reads_of_the_storage_or_meant_for_memory_are_none() {
        let none = |run: Run| assert_eq!(run.findings(FindingCode::CacheHits), []);
        none(of(kept(), &[1000, 980, 1300]));
        none(of(kept(), &[400, 600, 400]));
        none(of(Workload { cache: CachePolicy::Warm, ..kept() }, &[0]));
        none(of(Workload { file_state: FileState::Sparse, ..kept() }, &[0]));
        none(of(Workload { personality: Personality::Null, ..read(64) }, &[0]));
        none(of(buffered(write(64)), &[0]));
        let run = Run::of([(kept(), [1e9])]);
        none(run);
    }

    #[test]
    fn without_counts_what_was_cached_before_tells() {
        let mut run = Run::of([(buffered(random(read(4))), [1e9, 1e9])]);
        run.samples.iter_mut().for_each(|placed| placed.sample.cached_share_before = Some(0.75));
        let findings = run.findings(FindingCode::CacheHits);
        assert_eq!(findings[0].brief, "75 % [75 to 75] of the span was in the page cache before the run (4 KiB, QD1)");
        run.samples[0].sample.cached_share_before = Some(0.0);
        assert_eq!(run.findings(FindingCode::CacheHits), []);
    }

    #[test]
    fn more_than_the_device_can_is_a_cache() {
        let mut run = Run::of([(read(64), around(1.2e9))]);
        run.advertise(1.0e9);
        says(&run.findings(FindingCode::CacheHits)[0].sentence, "1.2 times [1.18 to 1.22] the advertised 1 GB/s");
        run.advertise(1.18e9);
        assert_eq!(run.findings(FindingCode::CacheHits), [], "within what repetitions differ by");
    }
}
