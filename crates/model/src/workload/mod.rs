//! A workload: everything about the requests, every default filled in.
//!
//! The user's input is a [`WorkloadSpec`](crate::WorkloadSpec). It resolves to a workload on a machine, which a sample records.
//! Every value has the same text in records, in studies and on the command line.

mod flags;
mod method;
mod operation;
mod pattern;
mod plugin;
mod ring;
mod settings;
mod timing;
pub mod trace;

pub use crate::words::ChoiceError;
pub use flags::{RwFlag, RwFlags};
pub use method::{
    Advise, Among, BlockPhases, Buffering, CachePolicy, CpuAccounting, CpuList, HugePages, Layout, MirrorReads,
    Personality, SubmitBatch, WorkerKind,
};
pub use operation::{Mix, Operation, Request, RequestKind, Sizes};
pub use pattern::{Pattern, Sharing, Thousandths, Zones};
pub use plugin::{NamedPersonality, Plugin};
pub use ring::{RingOption, RingOptions, Wish};
pub use settings::Settings;
pub use timing::{Arrivals, Closing, Durability, FEW_REQUESTS, FileState, Limits, Rate, Think, Verify};

use crate::content::data::Data;
use crate::origin::{Unknown, null_as_default, with_unknown};
use crate::units::{Bytes, Nanoseconds};
use serde::{Deserialize, Serialize};
use std::fmt;
use trace::{Speed, Trace};

/// A resolved workload.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Workload {
    /// Kinds of requests.
    #[serde(deserialize_with = "null_as_default")]
    pub operation: Operation,
    /// Order of the offsets.
    #[serde(deserialize_with = "null_as_default")]
    pub pattern: Pattern,
    /// How workers share an ordered pattern.
    #[serde(deserialize_with = "null_as_default")]
    pub sharing: Sharing,
    /// Request size; the largest of several.
    #[serde(deserialize_with = "null_as_default")]
    pub request_size: Bytes,
    /// Several sizes by operation; empty for one size.
    #[serde(default, skip_serializing_if = "Sizes::is_empty", deserialize_with = "null_as_default")]
    pub sizes: Sizes,
    /// Alignment of the request offsets, counted from `offset`; none for the request size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// First offset: shifts every request, as a misaligned volume would.
    #[serde(deserialize_with = "null_as_default")]
    pub offset: Bytes,
    /// Queue depth: requests outstanding per worker.
    #[serde(deserialize_with = "null_as_default")]
    pub depth: u32,
    /// Requests submitted with one call. With 1 the device starts early; larger batches cost less CPU time per I/O.
    #[serde(deserialize_with = "null_as_default")]
    pub submit_batch: SubmitBatch,
    /// Completions that a worker waits for with one call.
    #[serde(deserialize_with = "null_as_default")]
    pub wait_batch: u32,
    /// Number of workers.
    #[serde(deserialize_with = "null_as_default")]
    pub workers: u32,
    /// Threads or processes.
    #[serde(rename = "processes", deserialize_with = "null_as_default")]
    pub worker_kind: WorkerKind,
    /// The trace that is replayed; none where requests are generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// Use of the page cache.
    #[serde(deserialize_with = "null_as_default")]
    pub buffering: Buffering,
    /// I/O method.
    #[serde(deserialize_with = "null_as_default")]
    pub personality: Personality,
    /// The plug-in, if the personality is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<Plugin>,
    /// Options of the io_uring personality.
    #[serde(deserialize_with = "null_as_default")]
    pub ring: RingOptions,
    /// Flags of each read and write.
    #[serde(default, skip_serializing_if = "RwFlags::is_empty", deserialize_with = "null_as_default")]
    pub rw_flags: RwFlags,
    /// How several targets form one volume.
    #[serde(deserialize_with = "null_as_default")]
    pub layout: Layout,
    /// Which of several targets are used.
    #[serde(default, skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub among: Among,
    /// Number of targets used.
    #[serde(deserialize_with = "null_as_default")]
    pub targets: u32,
    /// Bytes used from the start of the target; of each target, if workers have their own.
    #[serde(rename = "size", deserialize_with = "null_as_default")]
    pub span: Bytes,
    /// When the sample ends.
    #[serde(deserialize_with = "null_as_default")]
    pub limits: Limits,
    /// How requests arrive.
    #[serde(deserialize_with = "null_as_default")]
    pub arrivals: Arrivals,
    /// Rate limit; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Pauses between requests; none without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Think>,
    /// Time at the start that is not measured.
    #[serde(rename = "warmup_s", deserialize_with = "null_as_default")]
    pub warmup: Nanoseconds,
    /// Length of the recorded intervals.
    #[serde(rename = "interval_s", deserialize_with = "null_as_default")]
    pub interval: Nanoseconds,
    /// State of the page cache before.
    #[serde(deserialize_with = "null_as_default")]
    pub cache: CachePolicy,
    /// Whether the kernel is advised of the pattern.
    #[serde(default, skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub advise: Advise,
    /// Whether buffers are in huge pages.
    #[serde(default, skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub huge_pages: HugePages,
    /// State of the file before.
    #[serde(deserialize_with = "null_as_default")]
    pub file_state: FileState,
    /// Flushes inside the timing.
    #[serde(deserialize_with = "null_as_default")]
    pub durability: Durability,
    /// Whether the timing includes closing.
    #[serde(rename = "time_close", deserialize_with = "null_as_default")]
    pub closing: Closing,
    /// Data of writes that are not stamped.
    #[serde(deserialize_with = "null_as_default")]
    pub data: Data,
    /// Whether blocks are stamped and checked.
    #[serde(deserialize_with = "null_as_default")]
    pub verify: Verify,
    /// Seed of offsets, mix and data.
    #[serde(deserialize_with = "null_as_default")]
    pub seed: u64,
    /// Whether block-layer phases are traced.
    #[serde(default, skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub block_phases: BlockPhases,
    /// CPUs that the workers are pinned to, round-robin; empty if not pinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_as_default")]
    pub cpus: Vec<u32>,
    /// Number of CPUs for the whole program; none for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_count: Option<u32>,
    /// Connections of a worker to a server; none for the protocol's own number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// How CPU time is measured.
    #[serde(deserialize_with = "null_as_default")]
    pub cpu_accounting: CpuAccounting,
    /// Which of several processes this one is, that share the targets; none of one alone. Absent from records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<PartOf>,
    /// Settings of a simulated machine, which override those of the target.
    #[serde(default, skip_serializing_if = "Settings::is_empty", deserialize_with = "null_as_default")]
    pub set: Settings,
    /// Fields that the source of an imported record lacks.
    #[serde(default, skip_serializing_if = "Unknown::is_empty")]
    pub unknown: Unknown,
}

/// A process among several that share their targets, with as many workers each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PartOf {
    /// Its number, from 0.
    pub process: u32,
    /// How many they are.
    pub processes: u32,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for Workload {
    /// The defaults: sequential reads of 64 KiB at QD1 for 5 s. Span, buffering and personality depend on the target and are set
    /// when a spec is resolved.
    fn default() -> Self {
        Workload {
            operation: Operation::Read,
            pattern: Pattern::Sequential,
            sharing: Sharing::Parts,
            request_size: Bytes(64 << 10),
            sizes: Sizes::default(),
            align: None,
            offset: Bytes(0),
            depth: 1,
            submit_batch: SubmitBatch::Auto,
            wait_batch: 1,
            workers: 1,
            worker_kind: WorkerKind::Thread,
            trace: None,
            buffering: Buffering::Buffered,
            personality: Personality::Sync,
            plugin: None,
            ring: RingOptions::default(),
            rw_flags: RwFlags::default(),
            layout: Layout::Each,
            among: Among::All,
            targets: 1,
            span: Bytes(0),
            limits: Limits { duration: Some(Nanoseconds(5_000_000_000)), requests: None, bytes: None },
            arrivals: Arrivals::Closed,
            rate: None,
            think: None,
            warmup: Nanoseconds(0),
            interval: Nanoseconds(1_000_000_000),
            cache: CachePolicy::Keep,
            advise: Advise::Off,
            huge_pages: HugePages::On,
            file_state: FileState::Written,
            durability: Durability::None,
            closing: Closing::Untimed,
            data: Data::Incompressible,
            verify: Verify::Off,
            seed: 1,
            block_phases: BlockPhases::Off,
            cpus: Vec::new(),
            cpu_count: None,
            connections: None,
            part_of: None,
            cpu_accounting: CpuAccounting::Account,
            set: Settings::default(),
            unknown: Unknown::default(),
        }
    }
}

with_unknown!(Workload, |workload| (!workload.unknown.is_empty()).then(|| workload.unknown.clone()));

impl Workload {
    /// Whether it reads sequentially from a cold page cache that keeps the data: a second pass would hit the cache.
    pub fn reads_a_cold_cache_in_order(&self) -> bool {
        self.cache == CachePolicy::Cold
            && self.pattern == Pattern::Sequential
            && !self.buffering.is_direct()
            && !self.rw_flags.has(RwFlag::Dontcache)
            && self.operation.reads()
    }

    /// Whether requests wait for their time, not only for those outstanding: it does not show what the storage can give.
    pub fn is_held_back(&self) -> bool {
        self.rate.is_some() || self.think.is_some()
    }

    /// Whether writes may stay in the page cache until they are flushed.
    pub fn writes_to_cache(&self) -> bool {
        self.operation.writes()
            && self.buffering == Buffering::Buffered
            && !self.operation.has(RequestKind::Flush)
            && !self.rw_flags.has(RwFlag::Dsync)
    }

    /// Bytes of one pass over every span.
    pub fn once_over(&self) -> Bytes {
        Bytes(self.span.0.saturating_sub(self.offset.0).saturating_mul(self.volumes()))
    }

    /// Whether a field of the record is known; false for fields that the source of an imported one lacks.
    pub fn is_known(&self, field: &str) -> bool {
        !self.unknown.has(field)
    }

    /// The same of one worker and target with any seed: of clones of a job it is equal.
    pub fn clone_of_job(&self) -> Workload {
        Workload { workers: 1, targets: 1, seed: 0, ..self.clone() }
    }

    /// Whether enough is known for claims, and to treat two equal workloads as the same. Imported ones may lack fields.
    pub fn is_described(&self) -> bool {
        self.lacks().next().is_none()
    }

    /// The fields that are needed for that and unknown.
    pub fn lacks(&self) -> impl Iterator<Item = &'static str> {
        let needed = ["operation", "pattern", "request_size", "depth", "workers", "buffering"];
        needed.into_iter().filter(|field| !self.is_known(field))
    }

    /// Pattern and operation as far as known: `random read`, `write`.
    pub fn work(&self) -> String {
        if let Some(trace) = &self.trace {
            return format!("trace {}", trace.name);
        }
        match (self.is_known("pattern"), self.is_known("operation")) {
            (true, true) => format!("{} {}", self.pattern, self.operation),
            (false, true) => self.operation.to_string(),
            (true, false) => format!("{} requests", self.pattern),
            (false, false) => "requests".to_owned(),
        }
    }

    /// The personality as a user names it.
    pub fn named_personality(&self) -> NamedPersonality {
        NamedPersonality { personality: self.personality, plugin: self.plugin.clone() }
    }

    /// Number of spans: one, or one for each target if workers have their own.
    pub fn volumes(&self) -> u64 {
        if self.layout == Layout::Each { u64::from(self.targets) } else { 1 }
    }

    /// Whether files may have holes before or after it, which the next workload may not accept.
    pub fn leaves_holes(&self) -> bool {
        self.file_state != FileState::Written || self.operation.has(RequestKind::Trim)
    }

    /// The volume of a worker's requests.
    pub fn volume_of(&self, worker: u32) -> usize {
        worker as usize % self.volumes() as usize
    }

    /// The greatest common divisor of all offsets and sizes.
    pub fn grain(&self) -> Bytes {
        let sizes = self.sizes.all().chain([self.request_size, self.step(), self.offset]);
        Bytes(sizes.fold(0, |common, bytes| greatest_common_divisor(common, bytes.0)))
    }

    /// The block that is stamped and checked: [`grain`](Self::grain), at most 4 KiB.
    pub fn verify_block(&self) -> Bytes {
        let grain = self.grain();
        if grain.0.is_multiple_of(4096) { Bytes(4096) } else { grain }
    }

    /// Copies of each byte written.
    pub fn copies(&self) -> u64 {
        if matches!(self.layout, Layout::Mirror { .. }) { u64::from(self.targets) } else { 1 }
    }

    /// A worker's number among those of all processes.
    pub fn number(&self, worker: u32) -> u64 {
        let before = self.part_of.map_or(0, |part| u64::from(part.process) * u64::from(self.workers));
        before + u64::from(worker)
    }

    /// A worker's number among those of its target, from 0, and how many they are.
    pub fn position(&self, worker: u32) -> (u64, u64) {
        let groups = if self.layout == Layout::Each { self.targets.clamp(1, self.workers) } else { 1 };
        let group = worker % groups;
        let (own, here) = (u64::from(worker / groups), u64::from((self.workers - group).div_ceil(groups)));
        self.part_of
            .map_or((own, here), |part| (u64::from(part.process) * here + own, u64::from(part.processes) * here))
    }

    /// The smallest size of any request.
    pub fn smallest_request(&self) -> Bytes {
        self.sizes.all().min().unwrap_or(self.request_size)
    }

    /// Distance between possible request offsets.
    pub fn step(&self) -> Bytes {
        let align =
            self.align.unwrap_or(if self.sizes.is_empty() { self.request_size } else { self.smallest_request() });
        // Sequential requests do not overlap.
        let apart = self.pattern.is_ordered() && self.sizes.is_empty();
        if apart { Bytes(self.request_size.0.next_multiple_of(align.0.max(1))) } else { align }
    }

    /// Number of possible request offsets: multiples of the step from `offset` on, with the largest request inside the span.
    pub fn places(&self) -> u64 {
        let room = self.span.0.saturating_sub(self.offset.0);
        room.checked_sub(self.request_size.0).map_or(0, |last| last / self.step().0.max(1) + 1)
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl fmt::Display for Workload {
    /// In the words of a report: `random read, 4 KiB, QD32, direct`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.operation == Operation::Flush {
            write!(f, "flush")?;
        } else if let Some(trace) = &self.trace {
            match trace.speed {
                Speed::Max => write!(f, "{} as fast as possible", self.work())?,
                Speed::Times(Thousandths(1000)) => write!(f, "{} on time", self.work())?,
                Speed::Times(times) => write!(f, "{} {times} times as fast", self.work())?,
            }
        } else if !self.sizes.is_empty() {
            write!(f, "{}, {}", self.work(), self.sizes)?;
        } else if self.is_known("request_size") {
            write!(f, "{}, {}", self.work(), self.request_size)?;
        } else {
            write!(f, "{}", self.work())?;
        }
        if self.is_known("depth") {
            write!(f, ", QD{}", self.depth)?;
        }
        match (self.workers, self.worker_kind) {
            (0 | 1, _) => {}
            (workers, WorkerKind::Thread) => write!(f, " × {workers} workers")?,
            (workers, WorkerKind::Process) => write!(f, " × {workers} processes")?,
        }
        let buffering = if self.buffering == Buffering::None { "direct and through" } else { self.buffering.word() };
        let among = match self.among {
            Among::First(count) => format!("the first {count} targets"),
            Among::Only(number) => format!("target {number} alone"),
            _ => String::new(),
        };
        let rate = self.rate.map_or(String::new(), |rate| match self.arrivals {
            Arrivals::Closed => format!("at most {rate}"),
            // With the trace.
            Arrivals::Recorded => String::new(),
            arrivals => format!("{arrivals} arrivals at {rate}"),
        });
        let rest = [
            (self.is_known("buffering"), buffering.to_owned()),
            (!self.rw_flags.is_empty(), self.rw_flags.to_string()),
            (self.offset.0 > 0, format!("shifted by {}", self.offset)),
            (self.layout != Layout::Each, self.layout.to_string()),
            (!among.is_empty(), among),
            (!self.ring.is_default(), self.ring.to_string()),
            (!rate.is_empty(), rate),
            (self.think.is_some(), self.think.map_or(String::new(), Think::in_words)),
            (self.file_state != FileState::Written, self.file_state.in_words()),
            (self.durability != Durability::None, self.durability.in_words().unwrap_or_default()),
            (self.closing == Closing::Timed, "closed".to_owned()),
            (self.data != Data::Incompressible, self.data.to_string()),
            (self.verify != Verify::Off, "verified".to_owned()),
            (self.cpu_accounting != CpuAccounting::Account, "with a soaker".to_owned()),
        ];
        rest.iter().filter(|(is_shown, _)| *is_shown).try_for_each(|(_, words)| write!(f, ", {words}"))
    }
}

#[cfg(test)]
mod tests;

/// A plain workload for the tests of this crate.
#[cfg(test)]
pub(crate) mod tests_support {
    use super::*;

    pub(crate) fn workload() -> Workload {
        Workload {
            request_size: Bytes(4096),
            buffering: Buffering::Direct,
            span: Bytes(1 << 20),
            ..Workload::default()
        }
    }
}
