//! Cells that differ in one thing only: request size, depth or workers.
//!
//! Everything else about the workload must be the same ([`comparable`](crate::comparable)).

use crate::cells::Cell;
use crate::comparable::{Axis, are_comparable, distinctions, groups};
use crate::wording::{caching, circumstances, named, place};
use halfpower_model::{CpuAccounting, Operation, Workload};

/// A rate stops rising from this share of the maximum on.
const SHARE_OF_BEST: f64 = 0.9;

/// Measured cells in the order of what varies.
#[derive(Clone, Debug)]
pub(crate) struct Series<'a> {
    pub(crate) cells: Vec<&'a Cell<'a>>,
    /// What stays the same: `QD8, direct`.
    pub(crate) circumstances: String,
    /// With the kind of request: `sequential read, QD8, direct`.
    pub(crate) subject: String,
    /// Suffix that distinguishes it from series of the same name: `, cold cache`.
    pub(crate) distinction: String,
}

impl<'a> Series<'a> {
    /// A workload of it; ignore what varies.
    pub(crate) fn workload(&self) -> &'a Workload {
        self.cells[0].workload
    }

    /// `random reads (4 KiB, QD8, direct)`: how a claim about one of its cells begins.
    pub(crate) fn requests_of(&self, workload: &Workload) -> String {
        named(workload, &format!("{}, {}{}", place(workload), caching(workload), self.distinction))
    }

    /// Whether only the last cell reaches 90 % of the maximum.
    pub(crate) fn still_grows(&self) -> bool {
        let means: Vec<f64> = self.cells.iter().map(|cell| cell.mean_requests_per_s()).collect();
        index_of_knee(&means) + 1 == means.len()
    }
}

/// All series of at least `cells_min` cells: reads first, then sequential, direct, by depth and size.
pub(crate) fn group<'a>(
    cells: impl IntoIterator<Item = &'a Cell<'a>>,
    varied: &[Axis],
    cells_min: usize,
) -> Vec<Series<'a>> {
    let mut groups = groups(cells.into_iter().filter(|cell| !cell.repetitions.is_empty()), varied);
    groups.retain(|group| group.len() >= cells_min);
    for group in &mut groups {
        group.sort_by_key(|cell| (cell.workload.request_size, cell.workload.depth, cell.workload.workers, cell.number));
    }
    groups.sort_by_key(|group| rank(group[0].workload));
    let mut series: Vec<_> = groups
        .into_iter()
        .map(|cells| {
            let workload = cells[0].workload;
            let circumstances = circumstances(workload, varied);
            let subject = format!("{} {}, {circumstances}", workload.pattern, workload.operation);
            Series { cells, subject, circumstances, distinction: String::new() }
        })
        .collect();
    let names: Vec<_> = series.iter().map(|series| (series.subject.clone(), series.workload())).collect();
    for (one, distinction) in series.iter_mut().zip(distinctions(&names, varied)) {
        one.circumstances += &distinction;
        one.subject += &distinction;
        one.distinction = distinction;
    }
    series
}

/// The first rate that reaches 90 % of the maximum.
pub(crate) fn index_of_knee(means: &[f64]) -> usize {
    let highest = means.iter().copied().fold(0.0, f64::max);
    means.iter().position(|mean| *mean >= SHARE_OF_BEST * highest).unwrap_or(0)
}

/// Sort key of a workload.
pub(crate) fn rank(workload: &Workload) -> impl Ord + use<> {
    let operation = match workload.operation {
        Operation::Read => 0,
        Operation::Write => 1,
        Operation::Mix(_) => 2,
        Operation::Trim => 3,
        Operation::Flush => 4,
        Operation::TrimWrite => 5,
    };
    (
        operation,
        !workload.pattern.is_ordered(),
        !workload.buffering.is_direct(),
        !crate::wording::reaches_storage(workload),
        workload.depth,
        workload.request_size,
    )
}

/// Whether two series are equal but for a CPU soaker.
pub(crate) fn is_twin(soaked: &Series<'_>, plain: &Series<'_>) -> bool {
    let plain = Workload { cpu_accounting: CpuAccounting::Soaker, ..plain.workload().clone() };
    are_comparable(soaked.workload(), &plain, &[Axis::RequestSize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::gather;
    use crate::fixtures::{Run, buffered, deep, random, read, write};
    use halfpower_model::{Bytes, CachePolicy, Personality};

    fn subjects(run: &Run, varied: &[Axis]) -> Vec<(String, usize)> {
        let observed = run.observed();
        let cells = gather(&observed);
        group(&cells, varied, 1).into_iter().map(|series| (series.subject, series.cells.len())).collect()
    }

    #[test]
    fn sizes_and_depths_make_series() {
        let mut run = Run::default();
        for kib in [1024, 4, 64] {
            run.add(buffered(write(kib)), &[1.0]);
            run.add(deep(8, read(kib)), &[1.0]);
        }
        run.add(read(4), &[1.0]);
        for depth in [4, 1, 2] {
            run.add(deep(depth, random(read(4))), &[1.0]);
        }
        let (one, three) = (1, 3);
        assert_eq!(
            subjects(&run, &[Axis::RequestSize]),
            [
                ("sequential read, QD1, direct".to_owned(), one),
                ("sequential read, QD8, direct".to_owned(), three),
                ("random read, QD1, direct".to_owned(), one),
                ("random read, QD2, direct".to_owned(), one),
                ("random read, QD4, direct".to_owned(), one),
                ("sequential write, QD1, buffered".to_owned(), three),
            ]
        );
        assert!(subjects(&run, &[Axis::Depth]).contains(&("random read, 4 KiB, direct".to_owned(), three)));
        let observed = run.observed();
        let cells = gather(&observed);
        let sizes: Vec<u64> = group(&cells, &[Axis::RequestSize], 1)[1]
            .cells
            .iter()
            .map(|cell| cell.workload.request_size.0 >> 10)
            .collect();
        assert_eq!(sizes, [4, 64, 1024]);
    }

    #[test]
    fn the_end_of_the_span_does_not_part_a_series() {
        let over = |span, kib| Workload { span: Bytes(span), seed: kib, ..read(kib) };
        let mut run = Run::of([(over(9_998_336, 4), [1.0]), (over(9_961_472, 64), [1.0])]);
        assert_eq!(subjects(&run, &[Axis::RequestSize]).len(), 1, "10 000 000 without the part of a request");
        run.add(Workload { span: Bytes(20_000_000), ..read(128) }, &[1.0]);
        assert_eq!(subjects(&run, &[Axis::RequestSize]).len(), 2, "another span is another series");
    }

    #[test]
    fn series_of_the_same_words_are_distinguished() {
        let mut run = Run::default();
        run.add(Workload { cache: CachePolicy::Cold, ..buffered(read(4)) }, &[1.0]);
        run.add(Workload { cache: CachePolicy::Warm, ..buffered(read(4)) }, &[1.0]);
        run.add(Workload { personality: Personality::Sync, ..read(4) }, &[1.0]);
        run.add(Workload { span: Bytes(1 << 20), ..read(4) }, &[1.0]);
        let subjects: Vec<_> = subjects(&run, &[Axis::RequestSize]).into_iter().map(|(subject, _)| subject).collect();
        assert_eq!(
            subjects,
            [
                "sequential read, QD1, direct, sync, over 1 GiB",
                "sequential read, QD1, direct, io_uring, over 1 MiB",
                "sequential read, QD1, buffered, cold cache",
                "sequential read, QD1, buffered, warm cache",
            ]
        );
    }
}
