//! Kinds of requests, and the figures of their cells.

use crate::cells::Cell;
use crate::evidence::Evidence;
use crate::summary::CellSummary;
use crate::wording::reaches_storage;
use halfpower_model::{Durability, Operation, Pattern, RequestKind, Workload};

/// Kinds of requests, in the order of their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    SequentialRead,
    RandomRead,
    SequentialWrite,
    RandomWrite,
    Mix,
    Commit,
}

impl Kind {
    pub(super) fn of(workload: &Workload) -> Option<Kind> {
        let is_committed =
            matches!(workload.durability, Durability::Fsync { every: 1 } | Durability::Fdatasync { every: 1 });
        Some(match (workload.operation, workload.pattern) {
            (Operation::Write, _) if is_committed => Kind::Commit,
            (Operation::Read, Pattern::Sequential) => Kind::SequentialRead,
            (Operation::Read, Pattern::Random) => Kind::RandomRead,
            (Operation::Write, Pattern::Sequential) => Kind::SequentialWrite,
            (Operation::Write, Pattern::Random) => Kind::RandomWrite,
            (Operation::Mix(mix), Pattern::Random) if mix.percent(RequestKind::Read) == 70 => Kind::Mix,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::SequentialRead => "sequential read",
            Kind::RandomRead => "random read",
            Kind::SequentialWrite => "sequential write",
            Kind::RandomWrite => "random write",
            Kind::Mix => "random 70/30",
            Kind::Commit => "write and fsync",
        }
    }

    pub(super) const ALL: [Kind; 6] =
        [Kind::SequentialRead, Kind::RandomRead, Kind::SequentialWrite, Kind::RandomWrite, Kind::Mix, Kind::Commit];
}

/// The cells of a kind that show the storage with all targets.
pub(super) fn of_kind<'a>(evidence: &Evidence<'a>, kind: Kind) -> Vec<&'a Cell<'a>> {
    let counts = |cell: &&'a Cell<'a>| Kind::of(cell.workload) == Some(kind) && reaches_storage(cell.workload);
    let cells: Vec<&Cell<'_>> = evidence.cells.iter().copied().filter(counts).collect();
    let most = cells.iter().map(|cell| cell.workload.targets).max();
    cells.into_iter().filter(|cell| Some(cell.workload.targets) == most).collect()
}

/// Median and 99th percentile of the requests in nanoseconds; none where a flush comes after them, which takes part of their time.
pub(super) fn latencies(cell: &Cell<'_>, cells: &[CellSummary]) -> [Option<u64>; 2] {
    let is_flushed = cell.workload.durability != Durability::None;
    let latency =
        cells.iter().find(|summary| summary.cell == cell.number && !is_flushed).map(|summary| summary.latency);
    latency.map_or([None; 2], |latency| [latency.p50, latency.p99])
}

/// The rates that count: bytes if sequential, else requests.
pub(super) fn own_rates<'a>(cell: &'a Cell<'_>) -> &'a [f64] {
    if cell.workload.pattern.is_ordered() { &cell.bytes_per_s } else { &cell.requests_per_s }
}
