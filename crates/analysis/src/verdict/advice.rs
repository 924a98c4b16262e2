//! Advice by use: request size, queue depth and buffering, with what they gain and cost.
//!
//! Of comparable cells within a tenth of the best, the one with the fewest outstanding, then the smallest requests. Values that a
//! later run may choose as well are alike: by the scatter of repetitions, they may reach that share.

use super::kinds::{Scatter, latencies, of_kind, order, rate};
use crate::cells::Cell;
use crate::comparable::{Axis, are_comparable};
use crate::comparison::ASSUMED_OF_P99;
use crate::evidence::{Evidence, best};
use crate::kind::Kind;
use crate::limits::{Limit, is_virtual};
use crate::statistics::{mean, variance};
use crate::summary::CellSummary;
use crate::wording::{caching, place};
use halfpower_model::{Buffering, Bytes, Durability, Estimate, Nanoseconds, Operation, Quantity, Workload};
use serde::Serialize;

/// Good enough from this share of the best on.
pub(super) const SHARE_OF_BEST: f64 = 0.9;

/// A 99th percentile that is longer by more than this factor counts.
pub(super) const LONGER: f64 = 3.0;

/// The mean of another run may be longer or shorter by this factor.
const MEAN_AS_LONG: f64 = 1.2;

const RANDOM_READS: &str = "random reads";
const LOW_LATENCY: &str = "low latency";
const SMALL_FILES: &str = "small files";

/// What may differ between the candidates.
const WAYS: &[Axis] = &[Axis::RequestSize, Axis::Depth, Axis::Workers, Axis::Caches, Axis::Durability, Axis::Warmup];

/// A smaller gain is none.
const GAIN_MIN: f64 = 1.05;

/// What to do for a use.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// `random reads`, `low latency`, `database`, `streaming`, `backup`, `small files`.
    #[serde(rename = "use")]
    pub of: &'static str,
    /// Request sizes that do alike, from and to.
    pub request_size: [Bytes; 2],
    /// Queue depths that do alike, from and to.
    pub depth: [u32; 2],
    /// `direct`, `buffered`.
    pub buffering: String,
    /// Its rate.
    pub rate: Estimate,
    /// How many times the rate of the obvious setting, and that setting; none if it gains nothing.
    pub gain: Option<(f64, String)>,
    /// Nanoseconds.
    pub p50: Option<u64>,
    /// Nanoseconds.
    pub p99: Option<u64>,
    /// Settings of the host to try, each with what it is now: `read_ahead_kb 2048 (now 128) for buffered reads`.
    #[serde(rename = "try")]
    pub settings: Vec<String>,
    /// Its workload.
    pub workload: Workload,
    /// Its cell.
    pub cell: u32,
}

pub(super) fn of(evidence: &Evidence<'_>, cells: &[CellSummary], limits: &[Limit]) -> Vec<Advice> {
    let uses = [
        (RANDOM_READS, Kind::RandomRead),
        ("database", Kind::Mix),
        ("streaming", Kind::SequentialRead),
        ("backup", Kind::SequentialWrite),
    ];
    let mut all: Vec<Advice> = Vec::new();
    for (name, kind) in uses {
        let candidates = of_kind(evidence.cells.iter().copied(), kind);
        let Some(most) = advice(name, &candidates, cells, limits) else { continue };
        let quick = if kind == Kind::RandomRead { with_low_latency(&most, &candidates, cells) } else { None };
        all.extend([Some(most), quick].into_iter().flatten());
    }
    all.extend(small_files(evidence));
    all
}

/// One flush after many small files instead of one after each: both write as much as a commit does. Creating files costs more.
fn small_files(evidence: &Evidence<'_>) -> Option<Advice> {
    let of = |kind| of_kind(evidence.cells.iter().copied(), kind);
    let (each, _) = best(&of(Kind::Commit))?;
    let mut together = of(Kind::SequentialWrite);
    together.retain(|cell| cell.workload.durability == Durability::FlushAtEnd && order(cell) == order(each));
    let (together, _) = best(&together)?;
    let [rate, of_each] = [together, each].map(|cell| cell.rate(Quantity::RequestsPerSecond));
    let rate = Estimate { quantity: Quantity::FilesPerSecond, ..rate? };
    let gain = rate.value / of_each?.value;
    Some(Advice {
        of: SMALL_FILES,
        request_size: [together.workload.request_size; 2],
        depth: [together.workload.depth; 2],
        buffering: caching(together.workload),
        rate,
        gain: (gain > GAIN_MIN).then(|| (gain, "a flush of each".to_owned())),
        p50: None,
        p99: None,
        settings: Vec::new(),
        workload: together.workload.clone(),
        cell: together.number,
    })
}

/// The deepest queue whose p99 is no more than some times that of the shallowest; none without two queues.
fn with_low_latency(most: &Advice, candidates: &[&Cell<'_>], cells: &[CellSummary]) -> Option<Advice> {
    let choice = candidates.iter().find(|cell| cell.number == most.cell)?;
    let is_same = |cell: &Cell<'_>| are_comparable(cell.workload, choice.workload, &[Axis::Depth]);
    let mut queues: Vec<&Cell<'_>> = candidates.iter().copied().filter(|cell| is_same(cell)).collect();
    queues.retain(|cell| cell.outstanding() <= choice.outstanding() && rate(cell) > 0.0);
    if queues.len() < 2 {
        return None;
    }
    queues.sort_by_key(|cell| cell.outstanding());
    // Of few requests there is no p99, but a mean (Little's law).
    let tails: Option<Vec<f64>> = queues.iter().map(|cell| Some(latencies(cell, cells)[1]? as f64)).collect();
    let means = || queues.iter().map(|cell| cell.outstanding() as f64 / rate(cell)).collect();
    let (latency, as_long) = tails.map_or_else(|| (means(), MEAN_AS_LONG), |tails| (tails, as_long(&queues)));
    let deepest = |factor: f64| queues.iter().zip(&latency).rev().find(|(_, one)| **one <= factor * latency[0]);
    let [(own, _), (high, _)] = [deepest(LONGER)?, deepest(LONGER * as_long)?];
    let [p50, p99] = latencies(own, cells);
    Some(Advice {
        of: LOW_LATENCY,
        depth: [queues[0], high].map(|cell| cell.workload.depth),
        rate: own.own_rate()?,
        gain: Some((rate(own) / rate(choice), place(choice.workload))),
        p50,
        p99,
        workload: own.workload.clone(),
        cell: own.number,
        ..most.clone()
    })
}

/// By how much the ratio of two 99th percentiles may be larger in another run: the two runs have four, and runs differ as much as
/// repetitions.
fn as_long(queues: &[&Cell<'_>]) -> f64 {
    let of_cell = |cell: &&Cell<'_>| {
        let p99 = cell.repetitions.iter().filter_map(|one| one.sample.total.latency_ns.p99);
        variance(&p99.map(|p99| (p99 as f64).ln()).collect::<Vec<_>>())
    };
    let variances: Vec<f64> = queues.iter().filter_map(of_cell).collect();
    let deviation = mean(&variances).map_or(0.0, f64::sqrt).max(ASSUMED_OF_P99);
    (Scatter::DEVIATIONS * 2.0 * deviation).exp()
}

/// The first by queue depth, then request size, that is good enough beside the best of them.
pub(super) fn good_enough<'a>(cells: &[&'a Cell<'a>], best: &'a Cell<'a>) -> &'a Cell<'a> {
    let good = cells.iter().copied().filter(|cell| rate(cell) >= SHARE_OF_BEST * rate(best));
    good.min_by_key(|cell| order(cell)).unwrap_or(best)
}

fn advice(of: &'static str, candidates: &[&Cell<'_>], cells: &[CellSummary], limits: &[Limit]) -> Option<Advice> {
    // Of several machines or ways to verify there is no common best.
    let is_comparable = |cell: &&Cell<'_>| are_comparable(cell.workload, candidates[0].workload, WAYS);
    if candidates.len() < 2 || !candidates.iter().all(is_comparable) {
        return None;
    }
    let (best, _) = best(candidates)?;
    let choice = good_enough(candidates, best);
    let scatter = Scatter::between_runs(candidates.iter().copied());
    // A cell of a burst reaches the rate that lasts, unless its requests are too small for a limit of those.
    let reaches = |workload: &Workload, limit: &Limit| {
        let unit = if limit.what == Quantity::BytesPerSecond { 1.0 } else { workload.request_size.0 as f64 };
        let is_of = limit.operation.is_none_or(|of| of == workload.operation);
        !is_of || limit.sustained.value * unit >= SHARE_OF_BEST * best.mean_bytes_per_s()
    };
    let outran = cells.iter().filter(|one| one.is_burst && are_comparable(&one.workload, choice.workload, WAYS));
    let outran = outran.filter(|one| limits.iter().all(|limit| reaches(&one.workload, limit)));
    let near = candidates.iter().filter(|cell| scatter.may_reach(SHARE_OF_BEST, cell, best));
    let same_way =
        |one: &Workload| one.buffering == choice.workload.buffering && one.durability == choice.workload.durability;
    let all = near.map(|cell| cell.workload).chain(outran.map(|one| &one.workload));
    let all: Vec<&Workload> = all.filter(|one| same_way(one)).collect();
    let alike = |is_same: &dyn Fn(&Workload) -> bool, value: fn(&Workload) -> u64| {
        let own = value(choice.workload);
        let values = all.iter().filter(|one| is_same(one)).map(|one| value(one));
        values.fold([own; 2], |[low, high], one| [low.min(one), high.max(one)])
    };
    let size = alike(&|workload| workload.depth == choice.workload.depth, |workload| workload.request_size.0);
    let same_size = |workload: &Workload| workload.request_size == choice.workload.request_size;
    let depth = alike(&same_size, |workload| u64::from(workload.depth));
    let [p50, p99] = latencies(choice, cells);
    // What a program does that was not told otherwise: the smallest buffered requests, one after another.
    let is_plain = |cell: &&&Cell<'_>| cell.workload.buffering == Buffering::Buffered;
    let others = || candidates.iter().filter(|cell| cell.number != choice.number);
    let obvious =
        others().filter(is_plain).min_by_key(|cell| order(cell)).or_else(|| others().min_by_key(|cell| order(cell)));
    let gain = obvious
        .filter(|obvious| rate(obvious) > 0.0)
        .map(|obvious| (rate(choice) / rate(obvious), place(obvious.workload)))
        .filter(|(gain, _)| *gain > GAIN_MIN);
    Some(Advice {
        of,
        request_size: size.map(Bytes),
        depth: depth.map(|depth| depth as u32),
        buffering: caching(choice.workload),
        rate: choice.own_rate()?,
        gain,
        p50,
        p99,
        settings: settings(choice, candidates),
        workload: choice.workload.clone(),
        cell: choice.number,
    })
}

/// Settings of the host that may help: the choice itself, or buffered reads that are slower than it.
fn settings(choice: &Cell<'_>, candidates: &[&Cell<'_>]) -> Vec<String> {
    let Some(first) = choice.repetitions.first() else { return Vec::new() };
    let (target, workload) = (&first.sample.environment.target, choice.workload);
    let is_buffered = |cell: &&&Cell<'_>| !cell.workload.buffering.is_direct();
    let fastest = candidates.iter().filter(is_buffered).map(|cell| rate(cell)).max_by(f64::total_cmp);
    let is_slower = fastest.is_some_and(|fastest| fastest < SHARE_OF_BEST * rate(choice));
    let wanted = choice.outstanding() * workload.request_size.0 / 1024;
    let may_read_ahead = workload.operation == Operation::Read && workload.pattern.is_ordered() && is_slower;
    let now = target.read_ahead_bytes.map(|bytes| bytes.0 / 1024).filter(|now| may_read_ahead && wanted > *now);
    let read_ahead = now.map(|now| format!("read_ahead_kb {wanted} (now {now}) for buffered reads"));
    let scheduler = match (target.rotational, target.scheduler.as_deref()) {
        _ if workload.pattern.is_ordered() => None,
        (Some(false), Some(now @ ("mq-deadline" | "bfq" | "kyber"))) => Some(format!("scheduler none (now {now})")),
        // Virtual disks are said to be rotating unless their host says otherwise.
        (Some(true), Some(now @ "none")) if !is_virtual(&first.sample.environment) => {
            Some(format!("scheduler mq-deadline (now {now})"))
        }
        _ => None,
    };
    let queue = target.requests_max.filter(|now| choice.outstanding() > *now);
    let queue = queue.map(|now| format!("nr_requests {} (now {now})", choice.outstanding()));
    let is_synchronous =
        target.mount_options.iter().flat_map(|options| options.split(',')).any(|option| option == "sync");
    let mount = (workload.operation.writes() && is_synchronous).then(|| "mounting without sync".to_owned());
    [read_ahead, scheduler, queue, mount].into_iter().flatten().collect()
}

impl Advice {
    /// `≤ ` before the rate if the use costs more than was measured: files have to be created, too.
    pub fn at_most(&self) -> &'static str {
        if self.of == SMALL_FILES { "≤ " } else { "" }
    }

    /// `64 KiB–1 MiB, QD8, direct`.
    pub fn setting(&self) -> String {
        if self.of == SMALL_FILES {
            return format!("{}, one flush for all", self.sizes());
        }
        format!("{}, {}, {}", self.sizes(), self.depths(), self.buffering)
    }

    /// ` (64K QD32)`, where rate and latency are not those of the first of the values that are alike.
    pub fn of_which(&self) -> String {
        let size = self.workload.request_size;
        let in_short = || size.to_string().replace(" KiB", "K").replace(" MiB", "M");
        let size = (size != self.request_size[0]).then(in_short);
        let depth = (self.workload.depth != self.depth[0]).then(|| format!("QD{}", self.workload.depth));
        let parts: Vec<String> = [size, depth].into_iter().flatten().collect();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(" ")) }
    }

    fn sizes(&self) -> String {
        let [from, to] = self.request_size;
        if from == to { from.to_string() } else { format!("{from}–{to}") }
    }

    fn depths(&self) -> String {
        let [from, to] = self.depth;
        if self.of == LOW_LATENCY {
            // The bound of this run; `depth` is where those of later ones may lie.
            let most = if self.workload.depth > 1 { "at most " } else { "" };
            return format!("{most}QD{}", self.workload.depth);
        }
        if from == to { format!("QD{from}") } else { format!("QD{from}–{to}") }
    }
}

/// `use QD16–32 for random reads (at most QD4 for low latency, p99 2 ms) and, for streams, 64 KiB–1 MiB at QD8, direct`
pub(super) fn words_of(advice: &[Advice]) -> Option<String> {
    let of = |name: &str| advice.iter().find(|advice| advice.of == name);
    let random = of(RANDOM_READS).map(|advice| {
        let quick = of(LOW_LATENCY).filter(|quick| quick.cell != advice.cell);
        let quick = quick.map(|quick| {
            let p99 = quick.p99.map(|p99| format!(", p99 {}", Nanoseconds(p99))).unwrap_or_default();
            format!(" ({} for low latency{p99})", quick.depths())
        });
        let quick = quick.unwrap_or_default();
        format!("{} for random reads{quick}", advice.depths())
    });
    let streams =
        of("streaming").map(|advice| format!("{} at {}, {}", advice.sizes(), advice.depths(), advice.buffering));
    match (random, streams) {
        (Some(random), Some(streams)) => Some(format!("use {random} and, for streams, {streams}")),
        (random, streams) => {
            random.or(streams.map(|streams| format!("{streams}, for streams"))).map(|one| format!("use {one}"))
        }
    }
}
