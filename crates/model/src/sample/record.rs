//! The record of a sample. `docs/FORMAT.md` describes it for readers.
//!
//! An unmeasured figure is null with a reason beside it, or absent.

use super::block::{Block, Dirty};
use super::connections::Connections;
use super::heat::Heat;
use super::part::Part;
use super::rank::Rank;
use super::totals::{Latency, Totals};
use crate::environment::Environment;
use crate::finding::Quantity;
use crate::histogram::Histogram;
use crate::origin::{Origin, null_as_default};
use crate::shared::Shared;
use crate::stream::Request;
use crate::units::{Bytes, BytesPerSecond, Nanoseconds};
use crate::workload::RequestKind;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};

/// The remedy for a trial that was too short.
pub const MEASURE_LONGER: &str = "measure longer: a longer duration, or a thorough survey";

/// The name of the record format.
pub const SCHEMA: &str = "halfpower.sample/1";

/// One sample. A run can have a hundred thousand, so rare fields are boxed and equal ones shared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Sample {
    /// [`SCHEMA`].
    pub schema: String,
    /// The program that measured it.
    pub program: Shared<Program>,
    /// The workload.
    pub workload: Workload,
    /// The testbed.
    pub environment: Shared<Environment>,
    /// When the measured part began.
    #[serde(deserialize_with = "null_as_default")]
    pub started_at: jiff::Timestamp,
    /// Length of the measured part, with a timed flush.
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
    /// Open-loop figures; none for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<Box<OpenLoop>>,
    /// Each worker's part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerTotals>,
    /// Figures of parallel workers; none for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<Parallel>,
    /// Result of the verification; none if blocks were not stamped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// Service times, from submission to reaping.
    pub latency_histogram: Histograms,
    /// Figures by interval.
    pub intervals: Vec<Interval>,
    /// Latencies over time; none of a short sample, or where they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heat: Option<Box<Heat>>,
    /// Requests outstanding, as achieved.
    #[serde(deserialize_with = "null_as_default")]
    pub depth_mean: DepthMean,
    /// CPU time.
    pub cpu: Cpu,
    /// Block-layer counters; none if the kernel has none or they were not requested.
    pub block: Option<Block>,
    /// Dirty pages; none if nothing was written through the page cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty: Option<Dirty>,
    /// The connections to servers; none of a target of this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<Box<Connections>>,
    /// The processes on one or several hosts that measured it together; empty of one alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<Rank>,
    /// How busy the parts of a simulated machine were, from the program to the medium; empty on a host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The instrument's own cost.
    pub instrument: Instrument,
    /// Whether the load generator, not the storage, was the bottleneck.
    #[serde(deserialize_with = "null_as_default")]
    pub generator_bound: bool,
    /// Share of the span in the page cache before the measurement; none if not examined.
    pub cached_share_before: Option<f64>,
    /// Why it ended before its limits; none if it did not.
    pub failure: Option<Failure>,
    /// Possible errors of the figures.
    pub warnings: Vec<Warning>,
    /// The user's note.
    pub note: Option<String>,
    /// Its origin, if another program measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
}

/// The program that measured a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Version of the program.
    pub version: String,
    /// Commit it was built from; none for a build outside a repository.
    pub commit: Option<String>,
    /// Optional features it was built with.
    pub features: Vec<String>,
}

/// Open loop: requests arrive whether or not earlier ones are done, and none is skipped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// From the intended arrival to the completion.
    pub response_ns: Latency,
    /// From the intended arrival to the submission.
    pub lateness_ns: Latency,
    /// Maximum of requests that had arrived but were not submitted; for several workers, the sum of each one's maximum.
    pub backlog_max: u64,
    /// The same at the end of the measured part.
    pub backlog_at_end: u64,
}

/// One worker's figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerTotals {
    /// Completed requests.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// From the start to its own end, with a timed flush and close; after a failure, to the last completion.
    pub elapsed_s: f64,
    /// Bytes over that time.
    pub bytes_per_s: BytesPerSecond,
    /// Requests it submitted, with the warm-up: with the seed they identify what it wrote. Up to a batch too many after a failure
    /// without verification.
    pub submitted: u64,
}

/// Figures of parallel workers, as in `iozone -t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parallel {
    /// The sum of the workers' rates, as the children see it.
    #[serde(deserialize_with = "null_as_default")]
    pub sum_bytes_per_s: BytesPerSecond,
    /// All bytes over the time until the last worker finishes, as the parent sees it.
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
    /// Bytes of all workers until the first one finished.
    #[serde(deserialize_with = "null_as_default")]
    pub bytes_at_first_finish: u64,
}

/// Result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// The unit that is stamped and checked.
    pub block_bytes: Bytes,
    /// Checked blocks with known content; each copy of a mirror counts.
    pub blocks: u64,
    /// Blocks that differ from what was written.
    pub wrong: u64,
    /// The first of them in a sentence; none if all were right.
    pub first_wrong: Option<String>,
    /// Time of reading back, after the measured part; none if nothing was read back.
    pub read_back_s: Option<f64>,
    /// Failed requests and those outstanding at a failure, each with its worker: their blocks may hold older data.
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
    /// Of all requests, if the source of an imported sample does not separate the kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub any: Option<Histogram>,
}

/// One interval of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its end, from the start of the measured part.
    pub at_s: f64,
    /// Requests completed in it.
    #[serde(deserialize_with = "null_as_default")]
    pub requests: u64,
    /// Bytes completed in it.
    #[serde(deserialize_with = "null_as_default")]
    pub bytes: u64,
    /// Its median latency.
    pub latency_p50_ns: Option<u64>,
    /// Its 99th percentile.
    pub latency_p99_ns: Option<u64>,
    /// Its reads, if a workload mixes reads and writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<IntervalPart>,
    /// Its writes, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<IntervalPart>,
}

/// Requests of one kind in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IntervalPart {
    /// Requests completed in it.
    pub requests: u64,
    /// Bytes completed in it.
    pub bytes: u64,
    /// Their median latency.
    pub latency_p50_ns: Option<u64>,
}

impl Sample {
    /// The requests of a kind in an interval; none if they are not known apart.
    pub fn of_kind(&self, interval: &Interval, kind: RequestKind) -> Option<IntervalPart> {
        let Interval { requests, bytes, latency_p50_ns, read, write, .. } = *interval;
        let is_alone = self.workload.is_known("operation") && self.workload.operation.only() == Some(kind);
        match kind {
            _ if is_alone => Some(IntervalPart { requests, bytes, latency_p50_ns }),
            RequestKind::Read => read,
            RequestKind::Write => write,
            _ => None,
        }
    }
}

/// Mean number of requests outstanding over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DepthMean {
    /// Throughput times mean latency (Little, 1961).
    pub little: f64,
    /// Counted and weighted by time.
    pub counted: f64,
}

/// CPU time of the sample. `lower` is of the sample alone; `system` and `upper_s` are of the whole machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// The workers' own threads by getrusage: a lower bound.
    #[serde(deserialize_with = "null_as_default")]
    pub lower: CpuTime,
    /// Upper bound by `upper_method`; none if not measured.
    pub upper_s: Option<f64>,
    /// How the upper bound was measured.
    pub upper_method: Option<String>,
    /// Time that the hypervisor took from this machine.
    pub steal_s: Option<f64>,
    /// Lower bound over requests.
    pub lower_us_per_request: Option<f64>,
    /// Upper bound over requests.
    pub upper_us_per_request: Option<f64>,
    /// CPU clocks per byte; none if they cannot be counted.
    pub clocks_per_byte: Option<f64>,
    /// Instructions per byte; none if they cannot be counted.
    pub instructions_per_byte: Option<f64>,
    /// CPU counters of the workers' threads; none if they cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    /// Why they cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters_unavailable: Option<String>,
    /// Time that the workers' threads were ready without a CPU; none if the kernel does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_s: Option<f64>,
    /// On a simulated machine, the part of the lower bound that the workers' own threads used; the rest is interrupts and kernel
    /// work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads_s: Option<f64>,
    /// Context switches of the workers' threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_switches: Option<ContextSwitches>,
    /// The kernel's accounting of the whole machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemAccount>,
    /// The kernel threads that used most of it by kind, in descending order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel_threads: Vec<KernelThread>,
    /// Data behind the upper bound of a soaker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soaker: Option<Soaker>,
}

/// Context switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextSwitches {
    /// Switches to wait for an event.
    pub voluntary: u64,
    /// Preemptions.
    pub involuntary: u64,
}

/// CPU counters, user and kernel, over the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Clocks.
    pub cycles: u64,
    /// Instructions completed.
    pub instructions: u64,
}

/// The kernel's accounting of all CPUs (/proc/stat), in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemAccount {
    /// Its length.
    pub wall_s: f64,
    /// Programs.
    pub user_s: f64,
    /// Programs of low priority.
    pub nice_s: f64,
    /// The kernel, for programs and in its own threads.
    pub system_s: f64,
    /// Interrupts.
    pub irq_s: f64,
    /// Deferred work of interrupts.
    pub softirq_s: f64,
    /// Taken by the hypervisor.
    pub steal_s: f64,
    /// Idle.
    pub idle_s: f64,
    /// Idle with a request outstanding.
    pub iowait_s: f64,
    /// All but idle, waiting and stolen time, without a soaker's.
    pub busy_s: f64,
    /// The kernel's own threads, part of `system_s` and `softirq_s`; none if not visible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_threads_s: Option<f64>,
}

impl SystemAccount {
    /// All time of all CPUs.
    pub fn total_s(&self) -> f64 {
        let at_work_s = self.user_s + self.nice_s + self.system_s + self.irq_s + self.softirq_s;
        at_work_s + self.steal_s + self.idle_s + self.iowait_s
    }
}

/// CPU time of one kind of kernel threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelThread {
    /// Their name without number and task: `kworker`, `loop`, `jbd2`.
    pub kind: String,
    /// CPU time of all of the kind.
    pub time_s: f64,
}

/// Data behind a soaker's upper bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Soaker {
    /// CPUs soaked.
    pub cpus: u32,
    /// Share of their time that the soaker did not get.
    pub busy_share: f64,
    /// The same during the calibration just before, without the workload.
    pub calibration_busy_share: f64,
    /// Possible error of the upper bound.
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

/// Cost of measuring.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Instrument {
    /// Time of the empty loop per request, measured just before; none if not measured.
    pub loop_ns_per_request: Option<f64>,
    /// Options of the personality that the kernel granted.
    pub obtained: Shared<Vec<String>>,
    /// Requested options that were not granted, each with the reason: `sqpoll: needs ...`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// `nowait` transfers that would have blocked and were repeated without the flag; none without `nowait`.
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

/// A possible error of the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Its stable code.
    pub code: String,
    /// The message.
    pub message: String,
    /// The remedy.
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

    /// Packs each of them once it is complete.
    pub fn pack(&mut self) {
        let all = [&mut self.read, &mut self.write, &mut self.trim, &mut self.flush, &mut self.response, &mut self.any];
        all.into_iter().for_each(|histogram| *histogram = histogram.take().map(Histogram::packed));
    }

    /// Their heap memory in bytes.
    pub fn memory(&self) -> usize {
        let all = [&self.read, &self.write, &self.trim, &self.flush, &self.response, &self.any];
        all.into_iter().flatten().map(Histogram::memory).sum()
    }
}

impl Sample {
    /// Its rate in the quantity that tells most: bytes per second of requests in order, else requests per second.
    pub fn rate(&self) -> (Quantity, f64) {
        match self.workload.pattern.is_ordered() {
            true => (Quantity::BytesPerSecond, self.total.bytes_per_s.0),
            false => (Quantity::RequestsPerSecond, self.total.requests_per_s),
        }
    }

    /// Shares equal fields with another sample, to save memory.
    pub fn share(&mut self, other: &Sample) {
        self.program.share(&other.program);
        self.environment.share(&other.environment);
        self.instrument.obtained.share(&other.instrument.obtained);
        self.workload.unknown.share(&other.workload.unknown);
        if let (Some(own), Some(other)) = (&mut self.origin, &other.origin) {
            own.unknown.share(&other.unknown);
        }
    }

    /// A sample without figures, for the testbed to fill.
    pub fn empty(workload: Workload, environment: impl Into<Shared<Environment>>) -> Self {
        let (schema, program) = (SCHEMA.to_owned(), Program::this().into());
        Sample { schema, program, workload, environment: environment.into(), ..Sample::default() }
    }

    /// Length of the measured part.
    pub fn elapsed(&self) -> Nanoseconds {
        Nanoseconds::from_seconds(self.elapsed_s)
    }

    /// Whether the sample ran to its limits, so that claims may rest on it.
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
