//! Makes the sample record of what a run gave, and says what could make it wrong.

use crate::errno;
use crate::instrument::cpu;
use crate::run::RawRun;
use crate::worker::recorder::Snapshot;
use crate::worker::{FailureCause, Outcome, RequestFailure};
use halfpower_model::RequestKind;
use halfpower_model::sample::{
    Block, Cpu, CpuTime, DepthMean, Failure, Histograms, Instrument, Latency, Totals, Warning,
};
use halfpower_model::{
    Buffering, BytesPerSecond, CachePolicy, Environment, Histogram, Pattern, Personality, Sample, Workload,
};

/// What is known beside the run itself.
pub(crate) struct Context {
    pub(crate) environment: Environment,
    pub(crate) loop_ns_per_request: f64,
    pub(crate) cached_share_before: Option<f64>,
    pub(crate) hole_share: f64,
    pub(crate) flush_s: Option<f64>,
    /// Time to the end of the flush where there was one, else to the end of the last worker.
    pub(crate) elapsed_s: f64,
    pub(crate) flush_cpu: CpuTime,
    /// Time between the two readings of what was stolen, the warm-up included.
    pub(crate) wall_s: f64,
    pub(crate) stolen_s: Option<f64>,
    pub(crate) block: Option<Block>,
    pub(crate) cancelled: bool,
}

/// The sample of a run.
pub(crate) fn sample(workload: &Workload, raw: &RawRun, context: Context) -> Sample {
    let elapsed_s = context.elapsed_s;
    let failure = raw.outcomes.iter().find_map(|outcome| outcome.failure);
    let histograms = RequestKind::ALL.map(|kind| raw.counts[kind as usize].histogram());
    let mut all = Histogram::default();
    histograms.iter().for_each(|histogram| all.merge(histogram));
    let of = |kind: RequestKind| {
        let (histogram, counts) = (&histograms[kind as usize], &raw.counts[kind as usize]);
        let has = workload.operation.has(kind) || histogram.count() > 0;
        let errors = errors(&raw.outcomes, Some(kind));
        has.then(|| totals(histogram, counts.bytes, counts.short_transfers, elapsed_s, errors))
    };
    let [read, write, trim, flush] = RequestKind::ALL.map(of);
    let sum = |figure: fn(&Snapshot) -> u64| raw.counts.iter().map(figure).sum();
    let (bytes, short) = (sum(|counts| counts.bytes), sum(|counts| counts.short_transfers));
    let total = totals(&all, bytes, short, elapsed_s, errors(&raw.outcomes, None));
    let cpu = processor_time(raw, &context, total.requests);
    let depth_mean = depth_mean(workload, raw, &all);
    // The workers' own part: the flush is not theirs to pace.
    let pace_s = raw.elapsed.seconds() * f64::from(workload.workers);
    let loop_share = context.loop_ns_per_request * total.requests as f64 / 1e9 / pace_s.max(1e-9);
    let generator_bound = total.requests > 0 && (workload.personality == Personality::Null || loop_share > 0.5);
    let [kept_read, kept_write, kept_trim, kept_flush] = [&read, &write, &trim, &flush].map(Option::is_some);
    let [read_histogram, write_histogram, trim_histogram, flush_histogram] = histograms;
    let mut sample = Sample {
        started_at: raw.started_at,
        elapsed_s,
        flush_s: context.flush_s,
        total,
        read,
        write,
        trim,
        flush,
        latency_histogram: Histograms {
            read: kept_read.then_some(read_histogram),
            write: kept_write.then_some(write_histogram),
            trim: kept_trim.then_some(trim_histogram),
            flush: kept_flush.then_some(flush_histogram),
        },
        intervals: raw.intervals.clone(),
        depth_mean,
        cpu,
        block: context.block,
        instrument: Instrument {
            loop_ns_per_request: Some(context.loop_ns_per_request),
            obtained: raw.options.obtained.clone(),
            refused: raw.options.refused.clone(),
            would_block: raw.outcomes.iter().filter_map(|outcome| outcome.would_block).reduce(|sum, more| sum + more),
        },
        generator_bound,
        cached_share_before: context.cached_share_before,
        failure: failure.map(describe).or_else(|| context.cancelled.then(interrupted)),
        ..Sample::empty(workload.clone(), context.environment)
    };
    sample.warnings = warnings(&sample, context.hole_share, context.wall_s);
    sample
}

fn totals(
    histogram: &Histogram,
    bytes: u64,
    short_transfers: u64,
    elapsed_s: f64,
    errors: std::collections::BTreeMap<String, u64>,
) -> Totals {
    let per_second = |amount: u64| if elapsed_s > 0.0 { amount as f64 / elapsed_s } else { 0.0 };
    Totals {
        requests: histogram.count(),
        bytes,
        requests_per_s: per_second(histogram.count()),
        bytes_per_s: BytesPerSecond(per_second(bytes)),
        latency_ns: Latency::of(histogram),
        short_transfers,
        errors,
    }
}

/// Failed requests by the error's name; each worker ends at its first.
fn errors(outcomes: &[Outcome], kind: Option<RequestKind>) -> std::collections::BTreeMap<String, u64> {
    let mut counts = std::collections::BTreeMap::new();
    let failures = outcomes.iter().filter_map(|outcome| outcome.failure);
    for failure in failures.filter(|failure| kind.is_none_or(|wanted| failure.request.kind == wanted)) {
        *counts.entry(cause_name(failure.cause)).or_insert(0) += 1;
    }
    counts
}

fn cause_name(cause: FailureCause) -> String {
    match cause {
        FailureCause::Errno(number) => errno::name(number),
        FailureCause::EndOfTarget => "end_of_target".to_owned(),
    }
}

fn describe(failure: RequestFailure) -> Failure {
    let RequestFailure { request, cause } = failure;
    let what = match request.kind {
        RequestKind::Read => "read",
        RequestKind::Write => "write",
        RequestKind::Trim => "trim",
        RequestKind::Flush => "flush",
    };
    let why = match cause {
        FailureCause::Errno(number) => format!("{}: {}", errno::name(number), errno::explanation(number)),
        FailureCause::EndOfTarget => "the target ends there; was it cut short meanwhile?".to_owned(),
    };
    Failure {
        code: cause_name(cause),
        message: format!("a {what} of {} bytes at byte {} failed with {why}", request.length, request.offset),
    }
}

fn interrupted() -> Failure {
    Failure { code: "interrupted".to_owned(), message: "interrupted; what was measured until then is kept".to_owned() }
}

fn processor_time(raw: &RawRun, context: &Context, requests: u64) -> Cpu {
    let mut lower = context.flush_cpu;
    for outcome in &raw.outcomes {
        lower.user_s += outcome.cpu.user_s;
        lower.system_s += outcome.cpu.system_s;
    }
    Cpu {
        lower,
        upper_s: None,
        upper_method: None,
        steal_s: context.stolen_s,
        lower_us_per_request: (requests > 0).then(|| (lower.user_s + lower.system_s) * 1e6 / requests as f64),
        upper_us_per_request: None,
        clocks_per_byte: None,
    }
}

fn depth_mean(workload: &Workload, raw: &RawRun, all: &Histogram) -> DepthMean {
    let elapsed_ns = raw.elapsed.0.max(1) as f64;
    let counted: f64 = raw.outcomes.iter().map(|outcome| outcome.depth_mean).sum();
    // Little: mean number in the system = arrival rate × mean time in it = sum of the times / elapsed.
    let most = f64::from(workload.depth) * f64::from(workload.workers);
    DepthMean { little: all.sum() / elapsed_ns, counted: counted.min(most) }
}

fn warnings(sample: &Sample, hole_share: f64, wall_s: f64) -> Vec<Warning> {
    let workload = &sample.workload;
    let mut warnings = Vec::new();
    let mut warn = |applies: bool, code: &str, message: String, remedy: &str| {
        if applies {
            warnings.push(Warning::new(code, message, remedy));
        }
    };
    warn(
        sample.generator_bound,
        "generator_bound",
        "the program set the pace, not the storage".to_owned(),
        "use more workers or larger requests",
    );
    let asked = f64::from(workload.depth) * f64::from(workload.workers);
    warn(
        sample.is_complete() && sample.depth_mean.counted < 0.75 * asked && sample.total.requests > 0,
        "depth_not_reached",
        format!("{:.1} requests were outstanding on average, not {asked}", sample.depth_mean.counted),
        "the limit came before the depth was reached; measure longer",
    );
    let cold = workload.cache == CachePolicy::Cold;
    let cached = sample.cached_share_before.unwrap_or(0.0);
    warn(
        cold && cached > 0.01,
        "not_cold",
        format!("{:.0} % of the span was still in the file cache", cached * 100.0),
        "close other programs that use the file, or use --buffering direct",
    );
    warn(
        cold && sample.cached_share_before.is_none() && !workload.buffering.is_direct(),
        "cold_unknown",
        "the kernel does not say whether the file cache let go of the span".to_owned(),
        "run as a user who may write the target, or use --buffering direct",
    );
    let buffered_reads = workload.operation.reads() && !workload.buffering.is_direct();
    let read_twice = workload.pattern == Pattern::Sequential && sample.total.bytes > workload.span.0;
    warn(
        cold && buffered_reads && read_twice,
        "cache_hits",
        "more was read than the span holds, so some of it from the cache".to_owned(),
        "limit it with --bytes, or use a larger target",
    );
    warn(
        hole_share > 0.01 && workload.operation.writes(),
        "sparse_target",
        format!("{:.0} % of the span was never written: the file system allocates as we write", hole_share * 100.0),
        "write the file once before it is measured",
    );
    let stolen_s = sample.cpu.steal_s.unwrap_or(0.0);
    let stolen = stolen_s / wall_s.max(0.01) / f64::from(sample.environment.cpus);
    // One step of the kernel's count may be no more than a moment of it.
    warn(
        stolen > 0.05 && stolen_s > 1.5 * cpu::STOLEN_STEP_S,
        "time_stolen",
        format!("the hypervisor took {:.0} % of the processors' time", stolen * 100.0),
        "measure again when the host is quieter",
    );
    warnings.extend(warnings_of_the_way(sample));
    warnings
}

/// What the way of doing it could make wrong.
fn warnings_of_the_way(sample: &Sample) -> Vec<Warning> {
    let workload = &sample.workload;
    let rules = [
        (
            workload.buffering == Buffering::Buffered && workload.personality == Personality::IoUring,
            "kernel_workers",
            "processor time of the kernel's own workers is not in the lower bound".to_owned(),
            "take the processor cost from the sync personality",
        ),
        (
            workload.personality == Personality::Libaio && !workload.buffering.is_direct(),
            "submits_synchronously",
            "libaio does buffered requests one by one as they are submitted: the storage never saw the depth, \
             whatever depth_mean says"
                .to_owned(),
            "use --buffering direct, or --personality io_uring",
        ),
        (
            !sample.instrument.refused.is_empty(),
            "option_refused",
            format!("measured without what the kernel did not grant: {}", sample.instrument.refused.join("; ")),
            "leave the option out, or use a kernel, file system or device that has it",
        ),
    ];
    let applying = rules.into_iter().filter(|(applies, ..)| *applies);
    applying.map(|(_, code, message, remedy)| Warning::new(code, message, remedy)).collect()
}
