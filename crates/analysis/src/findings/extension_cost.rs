//! Cost of writes beyond the end of a file, into preallocated blocks or holes, against writes into existing data; without
//! that reference, against preallocated blocks.
//!
//! By request size, paired by block (geometric mean, t interval of the logarithms). Everything else must match, flushes
//! included: without them the file system may defer the cost.

use super::paired::{compare, finding};
use crate::cells::Cell;
use crate::evidence::Evidence;
use crate::series::Series;
use crate::wording::{caching, depth, named};
use halfpower_model::{FileState, Finding, FindingCode, Operation, Workload};

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let is_write = |series: &&Series<'_>| series.workload().operation == Operation::Write;
    evidence.by_size.iter().filter(is_write).filter_map(|series| cost(evidence, series)).collect()
}

fn cost(evidence: &Evidence<'_>, series: &Series<'_>) -> Option<Finding> {
    let workload = series.workload();
    // Preallocated blocks are the reference without cells of existing data, for growing files only.
    let bases = [FileState::Written, FileState::Preallocated].into_iter();
    let bases = bases.take_while(|base| workload.file_state != *base);
    let (base, comparisons) = bases
        .map(|base| (base, compare(series, |cell| counterpart(evidence, cell, base))))
        .find(|(_, comparisons)| !comparisons.is_empty())?;
    let what = named(workload, &format!("{}, {}", depth(workload), caching(workload)));
    let what = format!("{what} into {}, compared with {}", a_file(workload.file_state), a_file(base));
    finding(FindingCode::ExtensionCost, series, &comparisons, &what, "")
}

/// The same writes into a file of another state.
fn counterpart<'a>(evidence: &Evidence<'a>, cell: &Cell<'_>, file_state: FileState) -> Option<&'a Cell<'a>> {
    evidence.cell_of(&Workload { file_state, ..cell.workload.clone() })
}

fn a_file(state: FileState) -> &'static str {
    match state {
        FileState::Written => "a file that holds data",
        FileState::Preallocated => "a preallocated file",
        FileState::Append => "a growing file",
        FileState::LastFirst => "a file whose last block is written first",
        FileState::Truncated => "a truncated file",
        FileState::Sparse => "a sparse file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, around, flushed, read, says, write};
    use halfpower_model::Workload;

    fn in_state(file_state: FileState, workload: Workload) -> Workload {
        Workload { file_state, ..workload }
    }

    fn sentences(run: &Run) -> Vec<String> {
        run.findings(FindingCode::ExtensionCost).into_iter().map(|finding| finding.sentence).collect()
    }

    #[test]
    fn what_holds_nothing_is_held_against_what_holds_data() {
        let mut run = Run::default();
        for (kib, written, reserved, grown) in [(4, 100e6, 80e6, 20e6), (1024, 1e9, 1e9, 0.8e9)] {
            run.add(write(kib), &around(written));
            run.add(in_state(FileState::Preallocated, write(kib)), &around(reserved));
            run.add(in_state(FileState::Append, write(kib)), &around(grown));
        }
        assert_eq!(
            sentences(&run),
            [
                "Sequential writes (QD1, direct) into a preallocated file, compared with a file that holds data: throughput is 1 times [1 to 1] at 1 MiB, 80 % [80 to 80] at 4 KiB; a loss at 4 KiB, undecided at 1 MiB.",
                "Sequential writes (QD1, direct) into a growing file, compared with a file that holds data: throughput is 80 % [80 to 80] at 1 MiB, 20 % [20 to 20] at 4 KiB; a loss at every size.",
            ]
        );
        let finding = &run.findings(FindingCode::ExtensionCost)[1];
        assert!((finding.estimates[0].value - 0.2).abs() < 1e-9, "the dearest first");
        assert_eq!((finding.samples.len(), finding.subject.as_str()), (20, "sequential write, QD1, direct, new file"));
    }

    #[test]
    fn without_data_reserved_blocks_are_the_reference() {
        let mut run = Run::default();
        run.add(in_state(FileState::Preallocated, write(64)), &around(1e9));
        run.add(in_state(FileState::Append, write(64)), &around(0.5e9));
        let sentences = sentences(&run);
        assert_eq!(sentences.len(), 1);
        says(&sentences[0], "compared with a preallocated file: throughput is 50 % [50 to 50]");
    }

    #[test]
    fn other_requests_are_no_reference() {
        let mut run = Run::default();
        run.add(write(64), &around(1e9));
        run.add(write(4), &around(1e9));
        run.add(in_state(FileState::Append, flushed(write(64))), &around(1e9));
        run.add(in_state(FileState::Append, write(8)), &around(1e9));
        run.add(read(64), &around(1e9));
        run.add(in_state(FileState::Sparse, read(64)), &around(9e9));
        assert_eq!(sentences(&run), Vec::<String>::new());
    }
}
