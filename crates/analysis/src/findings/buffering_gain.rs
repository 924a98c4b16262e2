//! What the file cache gains or costs against direct I/O, one request deep, by request size.
//!
//! The ratio is of throughputs measured in the same blocks (geometric mean, t interval of the logarithms).

use super::Evidence;
use super::comparison::{brief, compare, extremes, range_words, samples, verdict_words};
use crate::alike::{Axis, are_alike};
use crate::cells::Cell;
use crate::series::Series;
use crate::words::{memory_note, reach, requests, sentence};
use halfpower_model::{Buffering, Durability, Finding, FindingCode};

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let buffered =
        |series: &&Series<'_>| series.workload().buffering == Buffering::Buffered && series.workload().depth == 1;
    evidence.by_size.iter().filter(buffered).filter_map(|series| gain(evidence, series)).collect()
}

fn gain(evidence: &Evidence<'_>, series: &Series<'_>) -> Option<Finding> {
    let comparisons = compare(series, |cell| direct_counterpart(evidence, cell));
    let (lowest, highest) = extremes(&comparisons)?;
    let workload = series.workload();
    let flushed = if workload.durability == Durability::FlushAtEnd { ", flushed" } else { "" };
    let claim = format!(
        "throughput of {} {}, 1 deep, buffered{flushed}{}, against direct: {}; {}",
        workload.pattern,
        requests(workload.operation),
        series.distinction,
        range_words(highest, lowest),
        verdict_words(&comparisons)
    );
    Some(Finding {
        code: FindingCode::BufferingGain,
        subject: series.subject.clone(),
        reach: reach(workload),
        brief: brief(&comparisons, highest, lowest),
        sentence: sentence(&claim) + memory_note(workload),
        estimates: if comparisons.len() == 1 { vec![highest.ratio] } else { vec![highest.ratio, lowest.ratio] },
        samples: samples(&comparisons),
    })
}

/// The same requests done direct; with the same flush where that was measured too.
fn direct_counterpart<'a>(evidence: &Evidence<'a>, cell: &Cell<'_>) -> Option<&'a Cell<'a>> {
    let wanted = cell.workload;
    let is_counterpart = |other: &&&Cell<'_>| {
        let other = other.workload;
        other.buffering == Buffering::Direct && are_alike(other, wanted, &[Axis::Caches, Axis::Durability])
    };
    let candidates = evidence.cells.iter().filter(is_counterpart).copied();
    candidates.min_by_key(|other| other.workload.durability != wanted.durability)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::{Run, around, buffered, deep, flushed, random, read, write};
    use halfpower_model::{FileState, Workload};

    fn gains(run: &Run) -> Vec<Finding> {
        let mut findings = crate::analyse(&run.observed()).findings;
        findings.retain(|finding| finding.code == FindingCode::BufferingGain);
        findings
    }

    #[test]
    fn gain_and_loss_are_told_by_size() {
        let mut run = Run::default();
        for (kib, direct, cached) in [(2, 1e8, 12e8), (64, 10e8, 15e8), (1024, 20e8, 15e8)] {
            run.add(read(kib), &around(direct));
            run.add(buffered(read(kib)), &around(cached));
        }
        let findings = gains(&run);
        assert_eq!(findings.len(), 1);
        assert_eq!(
            findings[0].sentence,
            "Throughput of sequential reads, 1 deep, buffered, against direct: 12 times [12 to 12] at 2 KiB, 75 % [75 to \
             75] at 1 MiB; a gain from 2 KiB to 64 KiB, a loss at 1 MiB."
        );
        assert_eq!(
            findings[0].brief,
            "a gain from 2 KiB to 64 KiB, a loss at 1 MiB (12 times at 2 KiB, 0.75 at 1 MiB)"
        );
        assert_eq!(findings[0].subject, "sequential read, 1 deep, buffered");
        assert!((findings[0].estimates[0].value - 12.0).abs() < 1e-9, "the highest ratio first");
        assert_eq!(findings[0].samples.len(), 30);
    }

    #[test]
    fn writes_are_compared_with_and_without_their_flush() {
        let mut run = Run::default();
        run.add(write(64), &around(1e9));
        run.add(buffered(write(64)), &around(5e9));
        run.add(flushed(buffered(write(64))), &around(0.8e9));
        let findings = gains(&run);
        assert_eq!(
            findings[0].sentence,
            "Throughput of sequential writes, 1 deep, buffered, flushed, against direct: 80 % [80 to 80] at 64 KiB; a loss."
        );
        assert!(findings[1].sentence.ends_with("this is the speed of memory, not of the storage."), "{findings:?}");
        assert_eq!(findings[1].estimates.len(), 1);
    }

    #[test]
    fn a_flush_is_compared_with_a_flush_where_there_is_one() {
        let mut run = Run::default();
        run.add(write(64), &around(2e9));
        run.add(flushed(write(64)), &around(1e9));
        run.add(flushed(buffered(write(64))), &around(0.5e9));
        assert!((gains(&run)[0].estimates[0].value - 0.5).abs() < 1e-9, "{:?}", gains(&run));
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
        assert_eq!(gains(&run), [], "deeper requests are another matter");
    }

    #[test]
    fn one_repetition_decides_nothing() {
        let mut run = Run::default();
        run.add(random(read(4)), &[1e8]);
        run.add(buffered(random(read(4))), &[2e8]);
        assert_eq!(
            gains(&run)[0].sentence,
            "Throughput of random reads, 1 deep, buffered, against direct: 2 times at 4 KiB; undecided."
        );
    }

    #[test]
    fn another_kind_of_file_is_no_counterpart() {
        let sparse = |workload| Workload { file_state: FileState::Sparse, ..workload };
        let mut run = Run::default();
        run.add(sparse(write(64)), &around(1e9));
        run.add(flushed(buffered(write(64))), &around(2e9));
        assert_eq!(gains(&run), []);
        run.add(flushed(buffered(sparse(write(64)))), &around(3e9));
        assert!(gains(&run)[0].sentence.contains("buffered, flushed, file state sparse, against direct: 3 times"));
    }
}
