//! The record of a sample. `docs/FORMAT.md` describes it for readers.
//!
//! A figure nobody measured is null with a reason beside it, or absent.

use super::block::{Block, Dirty};
use super::part::Part;
use super::totals::{Latency, Totals};
use crate::environment::Environment;
use crate::histogram::Histogram;
use crate::origin::{Origin, null_as_default};
use crate::shared::Shared;
use crate::stream::Request;
use crate::units::{Bytes, BytesPerSecond, Nanoseconds};
use crate::workload::Workload;
use serde::{Deserialize, Serialize};

/// The remedy for a trial that was too short, with what each command calls it.
pub const MEASURE_LONGER: &str = "measure longer: a longer duration, or a thorough survey";

/// The name of this record's form.
pub const SCHEMA: &str = "halfpower.sample/1";

/// One sample. A run can have a hundred thousand: what few of them have is in a box, and what they have alike is shared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Sample {
    /// [`SCHEMA`].
    pub schema: String,
    /// What measured it.
    pub program: Shared<Program>,
    /// What was run.
    pub workload: Workload,
    /// What it was run on.
    pub environment: Shared<Environment>,
    /// When the measured part began.
    #[serde(deserialize_with = "null_as_default")]
    pub started_at: jiff::Timestamp,
    /// Length of the measured part, the flush included where it counts.
    #[serde(deserialize_with = "null_as_default")]
    pub elapsed_s: f64,
    /// Time of the flush at the end, part of `elapsed_s`; none when there was none.
    pub flush_s: Option<f64>,
    /// All operations together.
    pub total: Totals,
    /// Reads; none when the workload has none.
    pub read: Option<Totals>,
    /// Writes; none when the workload has none.
    pub write: Option<Totals>,
    /// Trims; none when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<Box<Totals>>,
    /// Flushes between the writes or as requests; none when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<Box<Totals>>,
    /// Arrivals at a rate; none for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<Box<OpenLoop>>,
    /// Each worker's part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerTotals>,
    /// The workers side by side; none for one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<Parallel>,
    /// What verification found; none where blocks were not stamped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// Service times, submit to reap.
    pub latency_histogram: Histograms,
    /// The course of the sample.
    pub intervals: Vec<Interval>,
    /// Requests outstanding, as achieved.
    #[serde(deserialize_with = "null_as_default")]
    pub depth_mean: DepthMean,
    /// CPU time.
    pub cpu: Cpu,
    /// What the block layer did; none where the kernel does not tell or nobody asked.
    pub block: Option<Block>,
    /// What the page cache held that was not stored yet; none where nothing was written through it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty: Option<Dirty>,
    /// How busy the parts of a simulated machine were, from the program to the medium; empty for all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The instrument's own cost.
    pub instrument: Instrument,
    /// True when the program, not the storage, set the pace.
    #[serde(deserialize_with = "null_as_default")]
    pub generator_bound: bool,
    /// Share of the span that was in the page cache when the measurement began; none where nobody looked.
    pub cached_share_before: Option<f64>,
    /// Why it ended before its limits; none when it did not.
    pub failure: Option<Failure>,
    /// What could make the figures wrong.
    pub warnings: Vec<Warning>,
    /// Whatever the user wants remembered.
    pub note: Option<String>,
    /// Where it is from, if another program measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
}

/// What measured a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Version of the program.
    pub version: String,
    /// Commit it was built from; none for a build outside a repository.
    pub commit: Option<String>,
    /// Optional features it was built with.
    pub features: Vec<String>,
}

/// An open loop: requests arrive whether those before are done or not, and none is skipped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// From the intended arrival to the completion.
    pub response_ns: Latency,
    /// From the intended arrival to the submission.
    pub lateness_ns: Latency,
    /// Most requests that had arrived and were not submitted; of several workers, the sum of each one's most.
    pub backlog_max: u64,
    /// Those at the end of the measured part.
    pub backlog_at_end: u64,
}

/// One worker's part of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerTotals {
    /// Completed requests.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// From the start to its own end, its flush and closing included where they count; to the last completion where it
    /// broke down.
    pub elapsed_s: f64,
    /// Bytes over that time.
    pub bytes_per_s: BytesPerSecond,
    /// Requests it submitted, the warm-up included: with the seed, these are what it wrote. Up to a batch too many where it
    /// broke down and nothing was verified.
    pub submitted: u64,
}

/// Workers side by side, as `iozone -t` puts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parallel {
    /// The sum of the workers' rates: what the children see.
    #[serde(deserialize_with = "null_as_default")]
    pub sum_bytes_per_s: BytesPerSecond,
    /// All bytes over the time to the last finish: what the parent sees.
    #[serde(deserialize_with = "null_as_default")]
    pub parent_bytes_per_s: BytesPerSecond,
    /// The slowest worker's rate.
    #[serde(deserialize_with = "null_as_default")]
    pub min_bytes_per_s: BytesPerSecond,
    /// The fastest worker's rate.
    #[serde(deserialize_with = "null_as_default")]
    pub max_bytes_per_s: BytesPerSecond,
    /// The mean of the workers' rates.
    #[serde(deserialize_with = "null_as_default")]
    pub mean_bytes_per_s: BytesPerSecond,
    /// Bytes that all had moved when the first one finished.
    #[serde(deserialize_with = "null_as_default")]
    pub bytes_at_first_finish: u64,
}

/// What verification found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// The unit that is stamped and checked.
    pub block_bytes: Bytes,
    /// Blocks that were read and whose content was known; each copy of a mirror is one.
    pub blocks: u64,
    /// Those that were not as they were written.
    pub wrong: u64,
    /// The first of them, in a sentence; none where all were right.
    pub first_wrong: Option<String>,
    /// Time that reading back took, after the measured part; none where nothing was read back.
    pub read_back_s: Option<f64>,
    /// Requests that were not done, and blocks that a worker that broke down was at, each with its worker: they may hold
    /// what was there before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<(u32, Request)>,
}

/// Histograms by operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Histograms {
    /// Of reads.
    pub read: Option<Histogram>,
    /// Of writes.
    pub write: Option<Histogram>,
    /// Of trims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<Histogram>,
    /// Of flushes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<Histogram>,
    /// Response times of an open loop, of all operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Histogram>,
    /// Of requests of whatever kind, where the source of an imported sample does not tell the kinds apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub any: Option<Histogram>,
}

/// One stretch of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its end, from the start of the measured part.
    pub at_s: f64,
    /// Requests completed in it.
    #[serde(deserialize_with = "null_as_default")]
    pub requests: u64,
    /// Bytes completed in it.
    #[serde(deserialize_with = "null_as_default")]
    pub bytes: u64,
    /// Median latency in it.
    pub latency_p50_ns: Option<u64>,
    /// 99th percentile in it.
    pub latency_p99_ns: Option<u64>,
}

/// Mean number of requests outstanding over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DepthMean {
    /// Throughput times mean latency (Little, 1961).
    pub little: f64,
    /// Counted and weighted by time.
    pub counted: f64,
}

/// CPU time of the sample. `lower` is surely the sample's; `system` and `upper_s` are of the whole machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// The workers' own threads by getrusage: what the program surely used.
    #[serde(deserialize_with = "null_as_default")]
    pub lower: CpuTime,
    /// The most it can have cost, by `upper_method`; none when not measured.
    pub upper_s: Option<f64>,
    /// How the upper bound was measured.
    pub upper_method: Option<String>,
    /// Time the hypervisor took from this machine.
    pub steal_s: Option<f64>,
    /// Lower bound over requests.
    pub lower_us_per_request: Option<f64>,
    /// Upper bound over requests.
    pub upper_us_per_request: Option<f64>,
    /// CPU clocks over bytes; none where they cannot be counted.
    pub clocks_per_byte: Option<f64>,
    /// Instructions over bytes; none where they cannot be counted.
    pub instructions_per_byte: Option<f64>,
    /// What the workers' threads used, where the CPU's counters can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    /// Why they cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters_unavailable: Option<String>,
    /// Time the workers' threads were ready to run and had no CPU; none where the kernel does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_s: Option<f64>,
    /// Of a simulated machine: what of the lower bound the workers' own threads were on a CPU; the rest is interrupts and the
    /// system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads_s: Option<f64>,
    /// How often the workers' threads gave the CPU up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_switches: Option<ContextSwitches>,
    /// The kernel's own account of the whole machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemAccount>,
    /// The kinds of the kernel's threads that used most of that, the most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel_threads: Vec<KernelThread>,
    /// What the upper bound rests on, where a soaker measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soaker: Option<Soaker>,
}

/// How often threads gave the CPU up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextSwitches {
    /// To wait for something.
    pub voluntary: u64,
    /// Because somebody else was to have it.
    pub involuntary: u64,
}

/// The CPU's own counters, user and kernel, over the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Clocks.
    pub cycles: u64,
    /// Instructions completed.
    pub instructions: u64,
}

/// The kernel's account of all CPUs (/proc/stat), in its ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemAccount {
    /// The time it is over.
    pub wall_s: f64,
    /// Programs.
    pub user_s: f64,
    /// Programs of low priority.
    pub nice_s: f64,
    /// The kernel, on behalf of programs and in threads of its own.
    pub system_s: f64,
    /// Interrupts.
    pub irq_s: f64,
    /// What interrupts left to be done.
    pub softirq_s: f64,
    /// The hypervisor ran something else.
    pub steal_s: f64,
    /// Nothing to do.
    pub idle_s: f64,
    /// Nothing to do, and a request outstanding.
    pub iowait_s: f64,
    /// All but idle, waiting and stolen time, and less what a soaker used.
    pub busy_s: f64,
    /// The kernel's own threads, which are in `system_s` and `softirq_s`; none where they cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_threads_s: Option<f64>,
}

impl SystemAccount {
    /// All time it accounts for, of all CPUs.
    pub fn total_s(&self) -> f64 {
        let at_work_s = self.user_s + self.nice_s + self.system_s + self.irq_s + self.softirq_s;
        at_work_s + self.steal_s + self.idle_s + self.iowait_s
    }
}

/// What threads of the kernel of one kind used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelThread {
    /// Their name without its number and what it is at: `kworker`, `loop`, `jbd2`.
    pub kind: String,
    /// CPU time of all of the kind.
    pub time_s: f64,
}

/// What an upper bound by a soaker rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Soaker {
    /// CPUs soaked.
    pub cpus: u32,
    /// Share of their time that was not left for the soaker.
    pub busy_share: f64,
    /// The same while it was calibrated, just before: what the machine is at without the workload.
    pub calibration_busy_share: f64,
    /// By how much the upper bound may be wrong.
    pub error_s: f64,
}

/// User and system time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuTime {
    /// In the program.
    pub user_s: f64,
    /// In the kernel on its behalf.
    pub system_s: f64,
}

/// What measuring costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Instrument {
    /// Time the loop itself needs a request, storage left out, measured just before; none where not measured.
    pub loop_ns_per_request: Option<f64>,
    /// Options of the personality that the kernel granted.
    pub obtained: Shared<Vec<String>>,
    /// Options that were asked for and not granted, each with the reason: `sqpoll: needs ...`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Transfers that would have had to wait and, having been told not to, were done again so that they could; none
    /// where nobody told them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_block: Option<u64>,
}

/// Why a sample ended early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// `interrupted`, or the error's name: `EIO`.
    pub code: String,
    /// In a sentence.
    pub message: String,
}

/// Something that could make the figures wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// A stable word for it.
    pub code: String,
    /// What it is.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl Program {
    /// This program.
    pub fn this() -> Self {
        Program {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("HALFPOWER_COMMIT").map(str::to_owned),
            features: Vec::new(),
        }
    }
}

impl Histograms {
    /// All operations in one.
    pub fn total(&self) -> Histogram {
        let all = [&self.read, &self.write, &self.trim, &self.flush, &self.any];
        let mut total = Histogram::default();
        all.into_iter().flatten().for_each(|histogram| total.merge(histogram));
        total
    }

    /// Packs each of them, where nothing more is added to any.
    pub fn pack(&mut self) {
        let all = [&mut self.read, &mut self.write, &mut self.trim, &mut self.flush, &mut self.response, &mut self.any];
        all.into_iter().for_each(|histogram| *histogram = histogram.take().map(Histogram::packed));
    }

    /// What they take in memory beside themselves, in bytes.
    pub fn memory(&self) -> usize {
        let all = [&self.read, &self.write, &self.trim, &self.flush, &self.response, &self.any];
        all.into_iter().flatten().map(Histogram::memory).sum()
    }
}

impl Sample {
    /// Gives what it has in common with another one up for a part in that.
    pub fn share(&mut self, other: &Sample) {
        self.program.share(&other.program);
        self.environment.share(&other.environment);
        self.instrument.obtained.share(&other.instrument.obtained);
        self.workload.unknown.share(&other.workload.unknown);
        if let (Some(own), Some(other)) = (&mut self.origin, &other.origin) {
            own.unknown.share(&other.unknown);
        }
    }

    /// A sample in which nothing has happened yet; whoever measures fills it in.
    pub fn empty(workload: Workload, environment: impl Into<Shared<Environment>>) -> Self {
        let (schema, program) = (SCHEMA.to_owned(), Program::this().into());
        Sample { schema, program, workload, environment: environment.into(), ..Sample::default() }
    }

    /// The measured part as a span.
    pub fn elapsed(&self) -> Nanoseconds {
        Nanoseconds::from_seconds(self.elapsed_s)
    }

    /// True when the sample ran to its limits and can be used for claims.
    pub fn is_complete(&self) -> bool {
        self.failure.is_none()
    }
}

impl Warning {
    /// A warning.
    pub fn new(code: &str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Warning { code: code.to_owned(), message: message.into(), remedy: remedy.into() }
    }
}
