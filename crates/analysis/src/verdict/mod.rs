//! The answer of a run: what the storage gives, what limits it, and what to do.
//!
//! It rests on the cells, the limits, the attribution and the pyramids. A pyramid that names no level takes its bottleneck from here.

mod account;
mod advice;
mod kinds;
mod next;
#[cfg(test)]
mod tests;

use crate::evidence::{Evidence, best};
use crate::findings::Paces;
use crate::kind::Kind;
use crate::limits::Limit;
use crate::pyramid::Pyramid;
use crate::summary::CellSummary;
use crate::wording::{place, reaches_storage, requests, sentence};
pub use account::Account;
pub use advice::Advice;
use halfpower_model::{
    Bytes, BytesPerSecond, Durability, Estimate, Layout, Nanoseconds, Operation, Quantity, Sample, Workload,
};
use kinds::{latencies, of_kind};
pub use next::next;
use serde::Serialize;
use std::ops::RangeInclusive;

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
    /// `sequential read`, `random read`, `random 70/30`, `write and fsync`.
    pub kind: String,
    /// Sustained bytes per second if sequential, else requests per second.
    pub rate: Estimate,
    /// `1 MiB, QD8`, `64 KiB, QD1, buffered`.
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

const READS: [Kind; 2] = [Kind::SequentialRead, Kind::RandomRead];
const WRITES: [Kind; 2] = [Kind::SequentialWrite, Kind::RandomWrite];

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
    let advice = advice::of(evidence, cells, limits);
    let seen = longest_read(evidence).filter(|_| !are_held(&peaks, READS, Operation::Read, limits));
    let are_writes_held = are_held(&peaks, WRITES, Operation::Write, limits);
    let of_writes = match written(evidence) {
        written if written.0 == 0 || are_writes_held => "sustained writes".to_owned(),
        written => {
            let amount = BytesPerSecond(written.0 as f64).to_string().replace("/s", "");
            // A limit says itself that it may be of a burst.
            let is_limited =
                limits.iter().any(|one| one.operation != Some(Operation::Read) && !one.may_be_a_cache(limits));
            if is_limited { format!("writes over {amount}") } else { format!("first {amount} of writes") }
        }
    };
    let gives = gives(&peaks, seen, &of_writes, apart(evidence));
    let limited = bottleneck.sentence();
    let to_do = [advice::words_of(&advice), bottleneck.remedies()].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let to_do = (!to_do.is_empty()).then(|| sentence(&to_do));
    Verdict { sentences: [gives, limited, to_do].into_iter().flatten().collect(), bottleneck, peaks, advice }
}

/// Whether each peak is at a limit that lasts: its burst was seen to end, or a control group sets it. Else credits, a cache or a
/// fast area may have had room for more.
fn are_held(peaks: &[Best], kinds: [Kind; 2], operation: Operation, limits: &[Limit]) -> bool {
    /// The shares of a limit at which a peak is.
    const NEAR: RangeInclusive<f64> = 0.8..=1.1;
    let is_at = |best: &Best, limit: &Limit| {
        let size = best.workload.request_size.0 as f64;
        let rate = match (best.rate.quantity == Quantity::BytesPerSecond, limit.what == Quantity::BytesPerSecond) {
            (true, false) => best.rate.value / size,
            (false, true) => best.rate.value * size,
            _ => best.rate.value,
        };
        NEAR.contains(&(rate / limit.sustained.value))
    };
    let is_of = |limit: &&Limit| limit.operation.is_none_or(|of| of == operation);
    let lasts = |limit: &&Limit| limit.burst.is_some() || limit.group.is_some();
    let is_held = |best: &Best| limits.iter().filter(is_of).filter(lasts).any(|limit| is_at(best, limit));
    kinds.iter().filter_map(|kind| peaks.iter().find(|best| best.kind == kind.name())).all(is_held)
}

fn peak(evidence: &Evidence<'_>, cells: &[CellSummary], kind: Kind) -> Option<Best> {
    let (cell, rate) = best(&of_kind(evidence.cells.iter().copied(), kind))?;
    let [p50, p99] = latencies(cell, cells);
    let way = match (cell.workload.buffering.is_direct(), cell.workload.durability) {
        (true, _) => "",
        (false, Durability::FlushAtEnd) => ", flushed",
        (false, _) => ", buffered",
    };
    let (kind, at) = (kind.name().to_owned(), place(cell.workload) + way);
    Some(Best { kind, rate, at, workload: cell.workload.clone(), p50, p99, cell: cell.number })
}

/// The longest time that reads of storage went on, in whole seconds if it is one; none without reads.
fn longest_read(evidence: &Evidence<'_>) -> Option<Nanoseconds> {
    let reads = evidence.cells.iter().filter(|cell| cell.workload.operation == Operation::Read);
    let samples = reads.filter(|cell| reaches_storage(cell.workload)).flat_map(|cell| &cell.repetitions);
    let longest_s = samples.map(|one| one.sample.elapsed_s).max_by(f64::total_cmp)?;
    Some(Nanoseconds((if longest_s < 1.0 { longest_s } else { longest_s.round() } * 1e9) as u64))
}

/// The maximum that a sample wrote to storage. The sum of short samples says less: a cache may have emptied between them.
fn written(evidence: &Evidence<'_>) -> Bytes {
    let writes = evidence.cells.iter().filter(|cell| cell.workload.operation == Operation::Write);
    let samples = writes.filter(|cell| reaches_storage(cell.workload)).flat_map(|cell| &cell.repetitions);
    Bytes(samples.map(|one| one.sample.total.bytes).max().unwrap_or(0))
}

/// `of sequential reads /srv/a has 2.1 GB/s, /srv/b 50 MB/s`, if the targets differ much, so that their sum describes none of them.
fn apart(evidence: &Evidence<'_>) -> Option<String> {
    /// From this ratio on. Set by hand.
    const MUCH: f64 = 2.0;
    let (cell, _) = best(&of_kind(evidence.cells.iter().copied(), Kind::SequentialRead))?;
    let longest = cell.repetitions.iter().max_by(|one, other| one.sample.elapsed_s.total_cmp(&other.sample.elapsed_s));
    let Sample { workload, workers, environment, .. } = longest?.sample;
    if workload.layout != Layout::Each || workload.targets < 2 || workers.len() < workload.targets as usize {
        return None;
    }
    let of_target = |target: usize| -> f64 {
        workers.iter().skip(target).step_by(workload.targets as usize).map(|worker| worker.bytes_per_s.0).sum()
    };
    // A test file is named after its directory.
    let name = |path: &str| match path.rsplit_once("/halfpower-") {
        Some((directory, file)) if file.ends_with(".test") => directory.to_owned(),
        _ => path.to_owned(),
    };
    let mut rates: Vec<(String, f64)> =
        environment.all_targets().enumerate().map(|(place, target)| (name(&target.path), of_target(place))).collect();
    rates.sort_by(|one, other| other.1.total_cmp(&one.1));
    let ([(fast, most), ..], [.., (slow, least)]) = (&rates[..], &rates[..]) else { return None };
    (*most > MUCH * least)
        .then(|| format!("of sequential reads {fast} has {}, {slow} {}", BytesPerSecond(*most), BytesPerSecond(*least)))
}

/// `Reads over 6 s: 1.92 GB/s sequential, 52 000 IOPS random (4 KiB, p99 1.2 ms); first 3.2 GB of writes: …,
/// 900 fsync/s.` Or `sustained reads: …`, `sustained writes: …`, of those whose burst was seen to end.
fn gives(peaks: &[Best], seen: Option<Nanoseconds>, of_writes: &str, apart: Option<String>) -> Option<String> {
    let of = |kind: Kind| peaks.iter().find(|best| best.kind == kind.name());
    // A wide interval belongs to the figure.
    const WIDE: f64 = 0.25;
    let is_wide = |rate: &Estimate| rate.relative_half_width().is_some_and(|share| share > WIDE);
    let figure = |best: &Best| match is_wide(&best.rate) {
        true => best.rate.to_string(),
        false => best.rate.quantity.format(best.rate.value),
    };
    let rates = |[sequential, random]: [Kind; 2], is_first: bool| {
        let word = |word| if is_first { word } else { "" };
        let sequential = of(sequential).map(|best| figure(best) + word(" sequential"));
        let random = of(random).map(|best| {
            let size = is_first.then(|| best.workload.request_size.to_string());
            let p99 = best.p99.map(|p99| format!("p99 {}", Nanoseconds(p99)));
            let is_flushed = best.workload.durability == Durability::FlushAtEnd;
            let flushed = if is_flushed { " if buffered and flushed" } else { "" };
            let notes: Vec<String> = [size, p99].into_iter().flatten().collect();
            let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
            figure(best) + word(" random") + flushed + &notes
        });
        let rates: Vec<String> = [sequential, random].into_iter().flatten().collect();
        (!rates.is_empty()).then(|| rates.join(", "))
    };
    let kinds = [READS, WRITES];
    let sizes = [Kind::RandomRead, Kind::RandomWrite].map(|kind| Some(of(kind)?.workload.request_size));
    let are_alike = kinds.as_flattened().iter().all(|kind| of(*kind).is_some()) && sizes[0] == sizes[1];
    let reads = rates(kinds[0], true).map(|rates| match seen {
        Some(seen) => format!("reads over {seen}: {rates}"),
        None => format!("sustained reads: {rates}"),
    });
    let commits = of(Kind::Commit).map(|best| format!(", {}", figure(best).replace("IOPS", "fsync/s")));
    let commits = commits.unwrap_or_default();
    let writes = rates(kinds[1], !are_alike).map(|rates| format!("{of_writes}: {rates}{commits}"));
    let all: Vec<String> = [reads, writes, apart].into_iter().flatten().collect();
    (!all.is_empty()).then(|| sentence(&all.join("; ")))
}

impl Verdict {
    /// Leaves out what to do, where the figures are of memory.
    pub fn advise_nothing(&mut self) {
        self.advice.clear();
        self.sentences.truncate(1 + usize::from(self.bottleneck.sentence().is_some()));
    }
}

impl Bottlenecks {
    /// Of an operation.
    pub fn of(&self, operation: Operation) -> Option<&Account> {
        if operation == Operation::Write { self.writes.as_ref() } else { self.reads.as_ref() }
    }

    /// `for more, raise nr_requests (now 64)`, or `for faster reads, …; for faster writes, …`; none where several would do.
    fn remedies(&self) -> Option<String> {
        let only = |account: &Option<Account>| match &account.as_ref()?.remedies[..] {
            [only] => Some(only.clone()),
            _ => None,
        };
        let [reads, writes] = [&self.reads, &self.writes].map(only);
        if reads == writes || self.reads.is_none() || self.writes.is_none() {
            return reads.or(writes).map(|only| format!("for more, {only}"));
        }
        let of = |name: &str, only: Option<String>| only.map(|only| format!("for faster {name}, {only}"));
        let all: Vec<String> = [of("reads", reads), of("writes", writes)].into_iter().flatten().collect();
        Some(all.join("; "))
    }

    /// Both in a sentence; none if nothing was measured.
    fn sentence(&self) -> Option<String> {
        match (&self.reads, &self.writes) {
            (Some(reads), Some(writes)) if reads.words() == writes.words() => Some(reads.sentence("reads and writes")),
            (Some(reads), Some(writes)) => {
                Some(sentence(&format!("{}; that of writes is {}", reads.claim("reads"), writes.words())))
            }
            (Some(reads), None) => Some(reads.sentence("reads")),
            (None, Some(writes)) => Some(writes.sentence("writes")),
            (None, None) => None,
        }
    }
}

/// Gives the pyramids the account of what limits their requests, unless they know a level.
pub(crate) fn lead(verdict: &Verdict, pyramids: &mut [Pyramid]) {
    for pyramid in pyramids.iter_mut().filter(|pyramid| pyramid.bottleneck.is_none()) {
        let account = verdict.bottleneck.of(pyramid.operation);
        let Some(account) = account.filter(|account| account.confidence.is_some()) else { continue };
        pyramid.brief = account.words() + &pyramid.beyond_peaks();
        if let Some(further) = &pyramid.unknown {
            pyramid.sentence = account.sentence(&requests(pyramid.operation)) + further;
        }
    }
}
