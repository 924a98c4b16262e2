//! Cost of durability by request size: a timed final flush, flushes between writes, or O_DSYNC, against the same without.
//!
//! Without any of them a buffered write ends in memory and a direct one in the drive's write cache, so this is also what that
//! cache is worth. Paired by block (geometric mean, t interval of the logarithms).

use super::paired::{compare, finding};
use crate::evidence::Evidence;
use crate::series::Series;
use crate::wording::{depth, named};
use halfpower_model::{Buffering, Durability, Finding, FindingCode, RwFlag, RwFlags, Workload};

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    evidence.by_size.iter().filter_map(|series| cost(evidence, series)).collect()
}

fn cost(evidence: &Evidence<'_>, series: &Series<'_>) -> Option<Finding> {
    let workload = series.workload();
    let bare = unsafely(workload);
    if !workload.operation.writes() || bare == *workload {
        return None;
    }
    let comparisons = compare(series, |cell| evidence.cell_of(&unsafely(cell.workload)));
    let what = named(workload, &format!("{}, {}{}", depth(workload), bare.buffering, series.distinction));
    let what = format!("{what} {}, compared with the same without", safety(workload));
    finding(FindingCode::FlushCost, series, &comparisons, &what, "")
}

/// The same requests without durability.
fn unsafely(workload: &Workload) -> Workload {
    let buffering = match workload.buffering {
        Buffering::Through => Buffering::Buffered,
        Buffering::None => Buffering::Direct,
        buffering => buffering,
    };
    let kept = workload.rw_flags.iter().filter(|flag| *flag != RwFlag::Dsync);
    let rw_flags = kept.fold(RwFlags::default(), RwFlags::with);
    Workload { buffering, rw_flags, durability: Durability::None, ..workload.clone() }
}

/// `with the final flush timed`, `with write-through`.
fn safety(workload: &Workload) -> String {
    let is_through = workload.buffering != unsafely(workload).buffering || workload.rw_flags.has(RwFlag::Dsync);
    let between = |call: &str, every: u32| match every {
        1 => format!("with {call} after every write"),
        every => format!("with {call} after every {every} writes"),
    };
    let flush = match workload.durability {
        Durability::None => None,
        Durability::FlushAtEnd => Some("with the final flush timed".to_owned()),
        Durability::Fsync { every } => Some(between("fsync", every)),
        Durability::Fdatasync { every } => Some(between("fdatasync", every)),
    };
    is_through.then(|| "with write-through".to_owned()).into_iter().chain(flush).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, around, buffered, deep, flushed, write};
    use halfpower_model::{FileState, Personality, Workload};

    #[test]
    fn the_flush_is_reported_by_size() {
        let mut run = Run::default();
        for (kib, bare, safe) in [(4, 1e9, 0.5e9), (1024, 5e9, 1e9)] {
            run.add(buffered(write(kib)), &around(bare));
            run.add(flushed(buffered(write(kib))), &around(safe));
        }
        let findings = run.findings(FindingCode::FlushCost);
        let words = "Sequential writes (QD1, buffered) with the final flush timed, compared with the same without: throughput is 50 % [50 to 50] at 4 KiB, 20 % [20 to 20] at 1 MiB; a loss at every size.";
        assert_eq!(findings[0].sentence, words);
        assert!((findings[0].estimates[0].value - 0.2).abs() < 1e-9, "the dearest first");
        assert_eq!(findings[0].samples.len(), 20);
    }

    #[test]
    fn the_drive_s_cache_and_flushes_between_are_reported() {
        let mut run = Run::default();
        run.add(write(4), &around(100e6));
        run.add(Workload { buffering: Buffering::None, ..write(4) }, &around(10e6));
        run.add(Workload { durability: Durability::Fsync { every: 8 }, ..write(4) }, &around(50e6));
        run.add(Workload { rw_flags: "dsync".parse().unwrap(), ..write(4) }, &around(10e6));
        run.add(Workload { durability: Durability::Fdatasync { every: 1 }, ..write(4) }, &around(20e6));
        run.add(buffered(write(4)), &around(1e9));
        run.add(Workload { buffering: Buffering::Through, ..buffered(write(4)) }, &around(0.01e9));
        let sentences = run.sentences(FindingCode::FlushCost);
        let of = |what: &str, share: &str| {
            assert!(
                sentences.iter().any(|sentence| sentence.contains(what) && sentence.contains(share)),
                "{what}: {sentences:#?}"
            );
        };
        of(
            "QD1, direct) with write-through, compared with the same without: throughput is ",
            "10 % [10 to 10] at 4 KiB; a loss.",
        );
        of("with fsync after every 8 writes, compared with the same without: throughput is ", "50 % [50 to 50]");
        of("with fdatasync after every write, compared with the same without: throughput is ", "20 % [20 to 20]");
        of("rw flags dsync) with write-through, compared with the same without: throughput is ", "10 % [10 to 10]");
        of("QD1, buffered) with write-through, compared with the same without: throughput is ", "is 1 % [1 to 1]");
        assert_eq!(sentences.len(), 5);
    }

    #[test]
    fn without_both_nothing_is_said() {
        let mut run = Run::default();
        run.add(flushed(buffered(write(4))), &around(1e9));
        run.add(buffered(write(8)), &around(1e9));
        run.add(deep(2, buffered(write(4))), &around(1e9));
        run.add(write(4), &around(1e9));
        run.add(Workload { personality: Personality::IoUring, ..buffered(write(4)) }, &around(1e9));
        assert_eq!(run.findings(FindingCode::FlushCost), []);
        let appended = |workload| Workload { file_state: FileState::Append, ..workload };
        run.add(appended(buffered(write(4))), &around(4e9));
        assert_eq!(run.findings(FindingCode::FlushCost), [], "another kind of file is no counterpart");
        run.add(flushed(appended(buffered(write(4)))), &around(1e9));
        let sentences = run.sentences(FindingCode::FlushCost);
        assert!(sentences[0].contains("buffered, new file) with the final flush"), "{sentences:?}");
    }
}
