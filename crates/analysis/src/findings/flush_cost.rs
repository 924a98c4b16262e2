//! What a flush in the timing costs buffered writes, by request size.
//!
//! Without the flush a buffered write ends in memory; with it the time until all is on the medium counts. The ratio is of
//! throughputs measured in the same blocks (geometric mean, t interval of the logarithms).

use super::Evidence;
use super::comparison::{brief, compare, extremes, range_words, samples, verdict_words};
use crate::alike::{Axis, are_alike};
use crate::cells::Cell;
use crate::series::Series;
use crate::words::{depth, reach, requests, sentence};
use halfpower_model::{Buffering, Durability, Finding, FindingCode};

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let flushed = |series: &&Series<'_>| {
        series.workload().buffering == Buffering::Buffered && series.workload().durability == Durability::FlushAtEnd
    };
    evidence.by_size.iter().filter(flushed).filter_map(|series| cost(evidence, series)).collect()
}

fn cost(evidence: &Evidence<'_>, series: &Series<'_>) -> Option<Finding> {
    let comparisons = compare(series, |cell| unflushed_counterpart(evidence, cell));
    let (lowest, highest) = extremes(&comparisons)?;
    let workload = series.workload();
    let claim = format!(
        "throughput of {} {}, {}, buffered{}, with the flush in the timing against without: {}; {}",
        workload.pattern,
        requests(workload.operation),
        depth(workload),
        series.distinction,
        range_words(highest, lowest),
        verdict_words(&comparisons)
    );
    Some(Finding {
        code: FindingCode::FlushCost,
        subject: series.subject.clone(),
        reach: reach(workload),
        brief: brief(&comparisons, highest, lowest),
        sentence: sentence(&claim),
        estimates: if comparisons.len() == 1 { vec![lowest.ratio] } else { vec![lowest.ratio, highest.ratio] },
        samples: samples(&comparisons),
    })
}

/// The same writes without the flush.
fn unflushed_counterpart<'a>(evidence: &Evidence<'a>, cell: &Cell<'_>) -> Option<&'a Cell<'a>> {
    let wanted = cell.workload;
    let is_counterpart = |other: &&&Cell<'_>| {
        other.workload.durability == Durability::None && are_alike(other.workload, wanted, &[Axis::Durability])
    };
    evidence.cells.iter().find(is_counterpart).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::{Run, around, buffered, deep, flushed, write};
    use halfpower_model::{FileState, Personality, Workload};

    fn costs(run: &Run) -> Vec<Finding> {
        let mut findings = crate::analyse(&run.observed()).findings;
        findings.retain(|finding| finding.code == FindingCode::FlushCost);
        findings
    }

    #[test]
    fn the_flush_is_told_by_size() {
        let mut run = Run::default();
        for (kib, bare, safe) in [(4, 1e9, 0.5e9), (1024, 5e9, 1e9)] {
            run.add(buffered(write(kib)), &around(bare));
            run.add(flushed(buffered(write(kib))), &around(safe));
        }
        let findings = costs(&run);
        assert_eq!(
            findings[0].sentence,
            "Throughput of sequential writes, 1 deep, buffered, with the flush in the timing against without: 50 % [50 to \
             50] at 4 KiB, 20 % [20 to 20] at 1 MiB; a loss at every size."
        );
        assert!((findings[0].estimates[0].value - 0.2).abs() < 1e-9, "the dearest first");
        assert_eq!(findings[0].samples.len(), 20);
    }

    #[test]
    fn without_both_nothing_is_said() {
        let mut run = Run::default();
        run.add(flushed(buffered(write(4))), &around(1e9));
        run.add(buffered(write(8)), &around(1e9));
        run.add(deep(2, buffered(write(4))), &around(1e9));
        run.add(write(4), &around(1e9));
        run.add(Workload { personality: Personality::IoUring, ..buffered(write(4)) }, &around(1e9));
        assert_eq!(costs(&run), []);
    }

    #[test]
    fn another_kind_of_file_is_no_counterpart() {
        let appended = |workload| Workload { file_state: FileState::Append, ..workload };
        let mut run = Run::default();
        run.add(appended(buffered(write(64))), &around(4e9));
        run.add(flushed(buffered(write(64))), &around(1e9));
        assert_eq!(costs(&run), []);
        run.add(flushed(appended(buffered(write(64)))), &around(1e9));
        assert!(costs(&run)[0].sentence.contains("buffered, file state append, with the flush"), "{:?}", costs(&run));
    }
}
