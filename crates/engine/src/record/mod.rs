//! Builds the sample record of a run, with warnings of possible errors.

mod deviations;
mod no_effect;
mod warnings;

use crate::instrument::accounts::mean;
use crate::instrument::clock::Clock;
use crate::instrument::soaker::IdleCpu;
use crate::run::{RawRun, WorkerRun};
use crate::worker::RequestFailure;
use crate::worker::extras::has_timed_end;
use crate::worker::recorder::Snapshot;
use deviations::Observations;
use halfpower_model::RequestKind;
use halfpower_model::sample::{
    Block, ContextSwitches, Counters, Cpu, CpuTime, DepthMean, Failure, Histograms, Instrument, Latency, OpenLoop,
    Parallel, Soaker, SystemAccount, Totals, WorkerTotals,
};
use halfpower_model::{Arrivals, BytesPerSecond, Environment, Histogram, Personality, Sample, TargetKind, Workload};

/// A sample that lasts so long keeps its latencies over time.
const LONG_S: f64 = 1.0;

/// Facts beside the run itself.
pub(crate) struct Context {
    pub(crate) environment: Environment,
    pub(crate) clock: Clock,
    pub(crate) loop_ns_per_request: f64,
    pub(crate) cached_share_before: Option<f64>,
    pub(crate) hole_share: f64,
    /// Time to the end of the last worker.
    pub(crate) elapsed_s: f64,
    /// The kernel's account from before the workers to after them: longer than the measured part, in particular if the machine
    /// stood still before or after it.
    pub(crate) account: Option<SystemAccount>,
    pub(crate) block: Option<Block>,
    pub(crate) cancelled: bool,
}

/// The sample of a run.
pub(crate) fn sample(workload: &Workload, raw: &RawRun, context: Context) -> Sample {
    let elapsed_s = context.elapsed_s;
    let histograms = RequestKind::ALL.map(|kind| raw.counts[kind as usize].histogram());
    // Flushes between writes are not part of the operation, so they are counted separately.
    let is_of_operation = |kind: &RequestKind| workload.operation.has(*kind);
    let mut all = Histogram::default();
    RequestKind::ALL
        .iter()
        .filter(|kind| is_of_operation(kind))
        .for_each(|kind| all.merge(&histograms[*kind as usize]));
    let has = |kind: RequestKind| is_of_operation(&kind) || histograms[kind as usize].count() > 0;
    let of = |kind: RequestKind| {
        let (histogram, counts) = (&histograms[kind as usize], &raw.counts[kind as usize]);
        let short_transfers = counts.short_transfers;
        let errors = errors(raw, Some(kind));
        has(kind).then(|| Totals { short_transfers, errors, ..Totals::of(histogram, counts.bytes, elapsed_s) })
    };
    let [read, write, trim, flush] = RequestKind::ALL.map(of);
    let kept = RequestKind::ALL.map(|kind| has(kind).then(|| histograms[kind as usize].clone()));
    let [read_histogram, write_histogram, trim_histogram, flush_histogram] = kept;
    let sum = |figure: fn(&Snapshot) -> u64| raw.counts.iter().map(figure).sum();
    let (bytes, short) = (sum(|counts| counts.bytes), sum(|counts| counts.short_transfers));
    let total = Totals { short_transfers: short, errors: errors(raw, None), ..Totals::of(&all, bytes, elapsed_s) };
    let cpu = cpu_time(raw, &context, total.requests, bytes);
    let depth_mean = depth_mean(workload, raw, &all);
    // The time of the flush and the close does not depend on the loop.
    let outcomes = || raw.workers.iter().map(|worker| &worker.outcome);
    let end_ticks = outcomes().map(|outcome| outcome.end_ticks).max().unwrap_or(0);
    let end_s = context.clock.nanoseconds(end_ticks) as f64 / 1e9;
    let loop_s = (elapsed_s - end_s) * f64::from(workload.workers);
    let loop_share = context.loop_ns_per_request * total.requests as f64 / 1e9 / loop_s.max(1e-9);
    let is_programs = workload.personality == Personality::Null || loop_share > 0.5;
    let generator_bound = total.requests > 0 && is_programs && !deviations::keeps_rate(workload, &total);
    let is_open = workload.arrivals != Arrivals::Closed;
    let workers = worker_totals(raw, context.clock);
    let requested = [&read, &write].map(|totals| totals.as_ref().map_or(0, |totals| totals.bytes));
    let connections =
        outcomes().filter_map(|outcome| outcome.connections.clone()).reduce(|all, one| all.and(&one).into());
    let mut sample = Sample {
        started_at: raw.started_at,
        elapsed_s,
        flush_s: has_timed_end(workload).then_some(end_s),
        total,
        read,
        write,
        trim: trim.map(Box::new),
        flush: flush.map(Box::new),
        open_loop: is_open.then(|| open_loop(raw).into()),
        parallel: (workers.len() > 1).then(|| parallel(&workers, bytes, elapsed_s, raw.bytes_at_first_finish)),
        workers,
        latency_histogram: Histograms {
            read: read_histogram,
            write: write_histogram,
            trim: trim_histogram,
            flush: flush_histogram,
            response: is_open.then(|| raw.response.histogram()),
            any: None,
        },
        intervals: raw.intervals.clone(),
        heat: (elapsed_s >= LONG_S).then(|| raw.heat.clone().into()),
        depth_mean,
        cpu,
        block: context.block.map(|block| amplified(block, workload, requested)),
        dirty: raw.accounted.dirty,
        connections,
        instrument: Instrument {
            loop_ns_per_request: Some(context.loop_ns_per_request),
            obtained: raw.granted.obtained.clone().into(),
            refused: raw.granted.refused.clone(),
            would_block: outcomes().filter_map(|outcome| outcome.would_block).reduce(|sum, more| sum + more),
        },
        generator_bound,
        cached_share_before: context.cached_share_before,
        failure: failure(raw, context.environment.target.kind).or_else(|| context.cancelled.then(interrupted)),
        ..Sample::empty(workload.clone(), context.environment)
    };
    let stolen_over_s = context.account.map_or(0.0, |account| account.wall_s);
    sample.warnings = warnings::warnings(&sample, context.hole_share, stolen_over_s);
    sample.warnings.extend(deviations::warnings(&sample, &Observations::of(raw, context.clock)));
    sample
}

/// Adds the bytes at the device over the requested bytes. Not after a warm-up, which the device's count includes.
fn amplified(mut block: Block, workload: &Workload, requested: [u64; 2]) -> Block {
    for (direction, requested) in [&mut block.read, &mut block.write].into_iter().zip(requested) {
        if let Some(direction) = direction.as_mut().filter(|_| workload.warmup.0 == 0 && requested > 0) {
            direction.amplification = Some(direction.bytes as f64 / requested as f64);
        }
    }
    block
}

fn open_loop(raw: &RawRun) -> OpenLoop {
    OpenLoop {
        response_ns: Latency::of(&raw.response.histogram()),
        lateness_ns: Latency::of(&raw.lateness.histogram()),
        backlog_max: raw.backlog_max,
        backlog_at_end: raw.backlog_at_end,
    }
}

fn worker_totals(raw: &RawRun, clock: Clock) -> Vec<WorkerTotals> {
    let of = |worker: &WorkerRun| {
        let elapsed_s = clock.nanoseconds(worker.outcome.elapsed_ticks) as f64 / 1e9;
        WorkerTotals {
            requests: worker.requests,
            bytes: worker.bytes,
            elapsed_s,
            bytes_per_s: BytesPerSecond(if elapsed_s > 0.0 { worker.bytes as f64 / elapsed_s } else { 0.0 }),
            submitted: worker.outcome.submitted,
        }
    };
    raw.workers.iter().map(of).collect()
}

fn parallel(workers: &[WorkerTotals], bytes: u64, elapsed_s: f64, bytes_at_first_finish: u64) -> Parallel {
    let rates = || workers.iter().map(|worker| worker.bytes_per_s.0);
    let sum: f64 = rates().sum();
    Parallel {
        sum_bytes_per_s: BytesPerSecond(sum),
        parent_bytes_per_s: BytesPerSecond(if elapsed_s > 0.0 { bytes as f64 / elapsed_s } else { 0.0 }),
        min_bytes_per_s: BytesPerSecond(rates().fold(f64::INFINITY, f64::min)),
        max_bytes_per_s: BytesPerSecond(rates().fold(0.0, f64::max)),
        mean_bytes_per_s: BytesPerSecond(sum / workers.len() as f64),
        bytes_at_first_finish,
    }
}

/// The first failure: a worker that broke down, or a failed request.
fn failure(raw: &RawRun, target: TargetKind) -> Option<Failure> {
    let broken = raw.workers.iter().zip(0..).find_map(|(worker, index)| Some((index, worker.breakdown.as_ref()?)));
    let breakdown = broken.map(|(index, why): (u32, _)| Failure {
        code: "worker".to_owned(),
        message: format!("worker {index} failed and ended the run: {why}"),
    });
    breakdown.or_else(|| raw.failures().next().map(|failure| describe(failure, target)))
}

/// Failed requests by the error's name; each worker submits no more after its first.
fn errors(raw: &RawRun, kind: Option<RequestKind>) -> std::collections::BTreeMap<String, u64> {
    let mut counts = std::collections::BTreeMap::new();
    for failure in raw.failures().filter(|failure| kind.is_none_or(|wanted| failure.request.kind == wanted)) {
        *counts.entry(failure.code()).or_insert(0) += 1;
    }
    counts
}

fn describe(failure: &RequestFailure, target: TargetKind) -> Failure {
    let request = failure.request;
    let why = failure.explanation().unwrap_or_else(|| {
        // The kernel returns no bytes from a removed disk.
        let is_device = target == TargetKind::BlockDevice;
        let text = if is_device { "device; was it removed?" } else { "target; was it truncated meanwhile?" };
        format!("the end of the {text}")
    });
    let message = match request.kind {
        RequestKind::Flush => format!("a flush failed: {why}"),
        kind => {
            let word = ["read", "write", "trim"][kind as usize];
            format!("a {word} of {} bytes at offset {} failed: {why}", request.length, request.offset)
        }
    };
    Failure { code: failure.code(), message }
}

fn interrupted() -> Failure {
    Failure {
        code: "interrupted".to_owned(),
        message: "interrupted; the results up to that moment are kept".to_owned(),
    }
}

fn cpu_time(raw: &RawRun, context: &Context, requests: u64, bytes: u64) -> Cpu {
    let mut lower = CpuTime::default();
    let mut switches = ContextSwitches::default();
    let mut counters = Some(Counters::default());
    let mut waited_s = Some(0.0);
    for usage in raw.workers.iter().map(|worker| &worker.outcome.cpu) {
        lower.user_s += usage.time.user_s;
        lower.system_s += usage.time.system_s;
        waited_s = waited_s.zip(usage.waited_s).map(|(sum, more)| sum + more);
        switches.voluntary += usage.switches.voluntary;
        switches.involuntary += usage.switches.involuntary;
        counters = counters.zip(usage.counters).map(|(sum, more)| Counters {
            cycles: sum.cycles + more.cycles,
            instructions: sum.instructions + more.instructions,
        });
    }
    let us_per_request = |time_s: f64| (requests > 0).then(|| time_s * 1e6 / requests as f64);
    let per_byte = |count: fn(&Counters) -> u64| Some(count(&counters?) as f64 / bytes as f64).filter(|_| bytes > 0);
    let soaked = raw.accounted.soaked.as_deref();
    let of_all = |cpus: &[IdleCpu], share: f64| share * cpus.len() as f64 * context.elapsed_s;
    let upper_s = soaked.map(|cpus| of_all(cpus, mean(cpus, |cpu| cpu.busy_share).max(0.0)));
    let unavailable = raw.workers.iter().find_map(|worker| worker.outcome.cpu.counters_unavailable.clone());
    Cpu {
        lower,
        upper_s,
        upper_method: soaked.map(|_| "soaker".to_owned()),
        steal_s: context.account.map(|account| account.steal_s),
        lower_us_per_request: us_per_request(lower.user_s + lower.system_s),
        upper_us_per_request: upper_s.and_then(us_per_request),
        clocks_per_byte: per_byte(|counters| counters.cycles),
        instructions_per_byte: per_byte(|counters| counters.instructions),
        counters,
        counters_unavailable: unavailable,
        waited_s,
        threads_s: None,
        context_switches: Some(switches),
        system: raw.accounted.system,
        kernel_threads: raw.accounted.threads.iter().flat_map(|used| used.largest.clone()).collect(),
        soaker: soaked.map(|cpus| Soaker {
            cpus: cpus.len() as u32,
            busy_share: mean(cpus, |cpu| cpu.busy_share),
            calibration_busy_share: mean(cpus, |cpu| cpu.calibration_busy_share),
            error_s: of_all(cpus, mean(cpus, |cpu| cpu.error_share)),
        }),
    }
}

fn depth_mean(workload: &Workload, raw: &RawRun, all: &Histogram) -> DepthMean {
    let elapsed_ns = raw.elapsed.0.max(1) as f64;
    let counted: f64 = raw.workers.iter().map(|worker| worker.outcome.depth_mean).sum();
    // Little: mean number in the system = arrival rate × mean time in it = sum of the times / elapsed.
    let most = f64::from(workload.depth) * f64::from(workload.workers);
    DepthMean { little: all.sum() / elapsed_ns, counted: counted.min(most) }
}
