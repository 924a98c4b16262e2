//! The answer of a run: what the storage gives, what limits it, and what to do.
//!
//! It rests on the cells, the limits and the attribution, and is the only account of the bottleneck: what else is shown takes it
//! from here.

mod account;
mod advice;
#[cfg(test)]
mod tests;

use crate::cells::Cell;
use crate::evidence::{Evidence, best};
use crate::findings::Paces;
use crate::limits::Limit;
use crate::pyramid::Pyramid;
use crate::summary::CellSummary;
use crate::wording::{place, reaches_storage, sentence};
pub use account::Account;
pub use advice::Advice;
use halfpower_model::{Durability, Estimate, Nanoseconds, Operation, Pattern, Quantity, Workload};
use serde::Serialize;

/// The answer.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verdict {
    /// What it gives, what limits it, what to do; at most three.
    pub sentences: Vec<String>,
    /// What limits reads, and what limits writes.
    pub bottleneck: Bottlenecks,
    /// The best of each kind of requests.
    pub peaks: Vec<Best>,
    /// What to do for each use.
    pub advice: Vec<Advice>,
}

/// The accounts of reads and of writes; none of what was not measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Bottlenecks {
    /// Of reads.
    pub reads: Option<Account>,
    /// Of writes.
    pub writes: Option<Account>,
}

/// The best of a kind of requests.
#[derive(Clone, Debug, Serialize)]
pub struct Best {
    /// `sequential read`, `random read`, `random 70/30`, `commit`.
    pub kind: String,
    /// Sustained bytes per second if sequential, else requests per second.
    pub rate: Estimate,
    /// `1 MiB, QD8`.
    pub at: String,
    /// Its workload.
    pub workload: Workload,
    /// Nanoseconds.
    pub p50: Option<u64>,
    /// Nanoseconds.
    pub p99: Option<u64>,
    /// Its cell.
    pub cell: u32,
}

/// Kinds of requests, in the order of their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    SequentialRead,
    RandomRead,
    SequentialWrite,
    RandomWrite,
    Mix,
    Commit,
}

impl Kind {
    fn of(workload: &Workload) -> Option<Kind> {
        let is_committed =
            matches!(workload.durability, Durability::Fsync { every: 1 } | Durability::Fdatasync { every: 1 });
        Some(match (workload.operation, workload.pattern) {
            (Operation::Write, _) if is_committed => Kind::Commit,
            (Operation::Read, Pattern::Sequential) => Kind::SequentialRead,
            (Operation::Read, Pattern::Random) => Kind::RandomRead,
            (Operation::Write, Pattern::Sequential) => Kind::SequentialWrite,
            (Operation::Write, Pattern::Random) => Kind::RandomWrite,
            (Operation::Mix(_), Pattern::Random) => Kind::Mix,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Kind::SequentialRead => "sequential read",
            Kind::RandomRead => "random read",
            Kind::SequentialWrite => "sequential write",
            Kind::RandomWrite => "random write",
            Kind::Mix => "random 70/30",
            Kind::Commit => "write and fsync",
        }
    }

    const ALL: [Kind; 6] =
        [Kind::SequentialRead, Kind::RandomRead, Kind::SequentialWrite, Kind::RandomWrite, Kind::Mix, Kind::Commit];
}

/// The answer that the cells give.
pub(crate) fn of(
    evidence: &Evidence<'_>,
    cells: &[CellSummary],
    paces: &Paces,
    limits: &[Limit],
    pyramids: &[Pyramid],
) -> Verdict {
    let peaks: Vec<Best> = Kind::ALL.into_iter().filter_map(|kind| peak(evidence, cells, kind)).collect();
    let account = |operation| account::of(operation, evidence, paces, limits, pyramids);
    let bottleneck = Bottlenecks { reads: account(Operation::Read), writes: account(Operation::Write) };
    let advice = advice::of(evidence, cells);
    let gives = gives(&peaks);
    let limited = bottleneck.sentence();
    let to_do = advice::sentence_of(&advice);
    Verdict { sentences: [gives, limited, to_do].into_iter().flatten().collect(), bottleneck, peaks, advice }
}

/// The cells of a kind that show the storage with all targets.
fn of_kind<'a>(evidence: &Evidence<'a>, kind: Kind) -> Vec<&'a Cell<'a>> {
    let counts = |cell: &&'a Cell<'a>| Kind::of(cell.workload) == Some(kind) && reaches_storage(cell.workload);
    let cells: Vec<&Cell<'_>> = evidence.cells.iter().copied().filter(counts).collect();
    let most = cells.iter().map(|cell| cell.workload.targets).max();
    cells.into_iter().filter(|cell| Some(cell.workload.targets) == most).collect()
}

fn peak(evidence: &Evidence<'_>, cells: &[CellSummary], kind: Kind) -> Option<Best> {
    let (cell, rate) = best(&of_kind(evidence, kind))?;
    let [p50, p99] = latencies(cell, cells);
    let (kind, at) = (kind.name().to_owned(), place(cell.workload));
    Some(Best { kind, rate, at, workload: cell.workload.clone(), p50, p99, cell: cell.number })
}

/// Median and 99th percentile of the requests in nanoseconds; none where a flush comes after them, which takes part of their time.
fn latencies(cell: &Cell<'_>, cells: &[CellSummary]) -> [Option<u64>; 2] {
    let is_flushed = cell.workload.durability != Durability::None;
    let latency =
        cells.iter().find(|summary| summary.cell == cell.number && !is_flushed).map(|summary| summary.latency);
    latency.map_or([None; 2], |latency| [latency.p50, latency.p99])
}

/// `It sustains reads of 1.92 GB/s sequential, 52 000 IOPS random (4 KiB, p99 1.2 ms); writes of …; a write with fsync takes 1.1 ms.`
fn gives(peaks: &[Best]) -> Option<String> {
    let of = |kind: Kind| peaks.iter().find(|best| best.kind == kind.name());
    let figure = |best: &Best| best.rate.quantity.format(best.rate.value);
    let both = |name: &str, [sequential, random]: [Kind; 2]| {
        let sequential = of(sequential).map(|best| format!("{} sequential", figure(best)));
        let random = of(random).map(|best| {
            let p99 = best.p99.map(|p99| format!(", p99 {}", Nanoseconds(p99))).unwrap_or_default();
            format!("{} random ({}{p99})", figure(best), best.workload.request_size)
        });
        let rates: Vec<String> = [sequential, random].into_iter().flatten().collect();
        (!rates.is_empty()).then(|| format!("{name} of {}", listed(&rates)))
    };
    // One after another.
    let commit = of(Kind::Commit).filter(|best| best.rate.value > 0.0);
    let commit =
        commit.map(|best| format!("a write with fsync takes {}", Nanoseconds::from_seconds(1.0 / best.rate.value)));
    let reads = both("reads", [Kind::SequentialRead, Kind::RandomRead]);
    let writes = both("writes", [Kind::SequentialWrite, Kind::RandomWrite]);
    let rates: Vec<String> = [reads, writes].into_iter().flatten().collect();
    let rates = (!rates.is_empty()).then(|| format!("it sustains {}", listed(&rates)));
    let all: Vec<String> = [rates, commit].into_iter().flatten().collect();
    (!all.is_empty()).then(|| sentence(&all.join("; ")))
}

/// `a, b and c`.
fn listed(all: &[String]) -> String {
    match all.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => all.concat(),
    }
}

impl Bottlenecks {
    /// Of an operation.
    pub fn of(&self, operation: Operation) -> Option<&Account> {
        if operation == Operation::Write { self.writes.as_ref() } else { self.reads.as_ref() }
    }

    /// Both in a sentence; none if nothing was measured.
    fn sentence(&self) -> Option<String> {
        match (&self.reads, &self.writes) {
            (Some(reads), Some(writes)) if reads.words() == writes.words() => Some(reads.sentence("reads and writes")),
            (Some(reads), Some(writes)) => {
                Some(sentence(&format!("{}; {}", reads.claim("reads"), writes.claim("writes"))))
            }
            (Some(reads), None) => Some(reads.sentence("reads")),
            (None, Some(writes)) => Some(writes.sentence("writes")),
            (None, None) => None,
        }
    }
}

/// The rate that counts: bytes if sequential, else requests.
fn own_rates<'a>(cell: &'a Cell<'_>) -> (Quantity, &'a [f64]) {
    match cell.workload.pattern.is_ordered() {
        true => (Quantity::BytesPerSecond, &cell.bytes_per_s),
        false => (Quantity::RequestsPerSecond, &cell.requests_per_s),
    }
}
