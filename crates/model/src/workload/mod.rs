//! A workload: everything about the requests, every default filled in.
//!
//! What a person said is a [`WorkloadSpec`](crate::WorkloadSpec); this is what it resolves to on a machine, and what a
//! sample records. Every value has one text, the same in records, in studies and on the command line.

mod flags;
mod method;
mod operation;
mod pattern;
mod plugin;
mod ring;
mod settings;
mod timing;

pub use crate::words::ChoiceError;
pub use flags::{RwFlag, RwFlags};
pub use method::{
    Among, BlockPhases, Buffering, CachePolicy, CpuAccounting, CpuList, Layout, MirrorReads, Personality, WorkerKind,
};
pub use operation::{Mix, Operation, RequestKind, Sizes};
pub use pattern::{Pattern, Sharing, Thousandths};
pub use plugin::{NamedPersonality, Plugin};
pub use ring::{RingOption, RingOptions, Wish};
pub use settings::Settings;
pub use timing::{Arrivals, Closing, Durability, FEW_REQUESTS, FileState, Limits, Rate, Verify};

use crate::content::data::Data;
use crate::origin::{Unknown, null_as_default, with_unknown};
use crate::units::{Bytes, Nanoseconds};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A resolved workload.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Workload {
    /// What the requests do.
    #[serde(deserialize_with = "null_as_default")]
    pub operation: Operation,
    /// Where they go.
    #[serde(deserialize_with = "null_as_default")]
    pub pattern: Pattern,
    /// How workers share a pattern that has an order.
    #[serde(deserialize_with = "null_as_default")]
    pub sharing: Sharing,
    /// Bytes of each; of the largest where there are several sizes.
    #[serde(deserialize_with = "null_as_default")]
    pub request_size: Bytes,
    /// Several sizes by operation; empty where all are of the one.
    #[serde(default, skip_serializing_if = "Sizes::is_empty", deserialize_with = "null_as_default")]
    pub sizes: Sizes,
    /// What places are multiples of, counted from the offset; none: the request size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// The first place: shifts every request, as a volume that is misaligned would.
    #[serde(deserialize_with = "null_as_default")]
    pub offset: Bytes,
    /// Requests outstanding a worker.
    #[serde(deserialize_with = "null_as_default")]
    pub depth: u32,
    /// Requests handed to the kernel with one call, at most. With 1 the device starts on the first while the next are
    /// being made; more cost less CPU time per I/O.
    #[serde(deserialize_with = "null_as_default")]
    pub submit_batch: u32,
    /// Requests that a worker waits for with one call.
    #[serde(deserialize_with = "null_as_default")]
    pub wait_batch: u32,
    /// Threads or processes that issue requests.
    #[serde(deserialize_with = "null_as_default")]
    pub workers: u32,
    /// Which of the two.
    #[serde(rename = "processes", deserialize_with = "null_as_default")]
    pub worker_kind: WorkerKind,
    /// Use of caches.
    #[serde(deserialize_with = "null_as_default")]
    pub buffering: Buffering,
    /// The way to do it.
    #[serde(deserialize_with = "null_as_default")]
    pub personality: Personality,
    /// Which plug-in, where the personality is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<Plugin>,
    /// Options of the io_uring personality.
    #[serde(deserialize_with = "null_as_default")]
    pub ring: RingOptions,
    /// Flags of each read and write.
    #[serde(default, skip_serializing_if = "RwFlags::is_empty", deserialize_with = "null_as_default")]
    pub rw_flags: RwFlags,
    /// How several targets make one.
    #[serde(deserialize_with = "null_as_default")]
    pub layout: Layout,
    /// Which of the targets it goes to, where there are several.
    #[serde(default, skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub among: Among,
    /// How many it goes to.
    #[serde(deserialize_with = "null_as_default")]
    pub targets: u32,
    /// How much of the target, from its start, the requests go to; of each, where workers have their own.
    #[serde(rename = "size", deserialize_with = "null_as_default")]
    pub span: Bytes,
    /// When the sample ends.
    #[serde(deserialize_with = "null_as_default")]
    pub limits: Limits,
    /// How requests arrive.
    #[serde(deserialize_with = "null_as_default")]
    pub arrivals: Arrivals,
    /// At what rate; none for as fast as they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Time at the start that is not counted.
    #[serde(rename = "warmup_s", deserialize_with = "null_as_default")]
    pub warmup: Nanoseconds,
    /// Spacing of the recorded intervals.
    #[serde(rename = "interval_s", deserialize_with = "null_as_default")]
    pub interval: Nanoseconds,
    /// State of the page cache before.
    #[serde(deserialize_with = "null_as_default")]
    pub cache: CachePolicy,
    /// State of the file before.
    #[serde(deserialize_with = "null_as_default")]
    pub file_state: FileState,
    /// Flushes inside the timing.
    #[serde(deserialize_with = "null_as_default")]
    pub durability: Durability,
    /// Whether the timing includes closing.
    #[serde(rename = "time_close", deserialize_with = "null_as_default")]
    pub closing: Closing,
    /// What the bytes of writes are like, where they are not stamped.
    #[serde(deserialize_with = "null_as_default")]
    pub data: Data,
    /// Whether blocks are stamped and checked.
    #[serde(deserialize_with = "null_as_default")]
    pub verify: Verify,
    /// Draws the offsets, the mix and the data.
    #[serde(deserialize_with = "null_as_default")]
    pub seed: u64,
    /// Whether it is looked where requests spend their time.
    #[serde(default, skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub block_phases: BlockPhases,
    /// CPUs the workers are pinned to in turn; empty: not pinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_as_default")]
    pub cpus: Vec<u32>,
    /// How many CPUs the whole program may use; none: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_count: Option<u32>,
    /// How CPU time is accounted for.
    #[serde(deserialize_with = "null_as_default")]
    pub cpu_accounting: CpuAccounting,
    /// Settings of the machine, where it is simulated: laid over those of the target.
    #[serde(default, skip_serializing_if = "Settings::is_empty", deserialize_with = "null_as_default")]
    pub set: Settings,
    /// Fields that the source of an imported record does not tell.
    #[serde(default, skip_serializing_if = "Unknown::is_empty")]
    pub unknown: Unknown,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for Workload {
    /// What a person who says nothing gets: sequential reads of 64 KiB, one at a time, for 5 s. Its span is empty and
    /// its way the plainest: both depend on the target.
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
            submit_batch: 1,
            wait_batch: 1,
            workers: 1,
            worker_kind: WorkerKind::Thread,
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
            warmup: Nanoseconds(0),
            interval: Nanoseconds(1_000_000_000),
            cache: CachePolicy::Keep,
            file_state: FileState::Written,
            durability: Durability::None,
            closing: Closing::Untimed,
            data: Data::Incompressible,
            verify: Verify::Off,
            seed: 1,
            block_phases: BlockPhases::Off,
            cpus: Vec::new(),
            cpu_count: None,
            cpu_accounting: CpuAccounting::Account,
            set: Settings::default(),
            unknown: Unknown::default(),
        }
    }
}

with_unknown!(Workload, |workload| (!workload.unknown.is_empty()).then(|| workload.unknown.clone()));

impl Workload {
    /// Whether it reads one place after another from a cache that was emptied and that keeps what was read: beyond its
    /// span it would find what it just put there.
    pub fn reads_a_cold_cache_in_order(&self) -> bool {
        self.cache == CachePolicy::Cold
            && self.pattern == Pattern::Sequential
            && !self.buffering.is_direct()
            && !self.rw_flags.has(RwFlag::Dontcache)
            && self.operation.reads()
    }

    /// What going over every span once comes to.
    pub fn once_over(&self) -> Bytes {
        Bytes(self.span.0.saturating_sub(self.offset.0).saturating_mul(self.volumes()))
    }

    /// Whether a field of the record is known: false for what the source of an imported one does not tell.
    pub fn tells(&self, field: &str) -> bool {
        !self.unknown.has(field)
    }

    /// Whether it is known well enough to make claims of, and to take two that look the same for the same: of an imported
    /// one something may be missing.
    pub fn is_described(&self) -> bool {
        let needed = ["operation", "pattern", "request_size", "depth", "workers", "buffering"];
        self.unknown.is_empty() || needed.iter().all(|field| self.tells(field))
    }

    /// What the requests do, with where they go as far as that is known: `random read`, `write`.
    pub fn work(&self) -> String {
        match (self.tells("pattern"), self.tells("operation")) {
            (true, true) => format!("{} {}", self.pattern, self.operation),
            (false, true) => self.operation.to_string(),
            (true, false) => format!("{} requests", self.pattern),
            (false, false) => "requests".to_owned(),
        }
    }

    /// The personality as a person names it.
    pub fn named_personality(&self) -> NamedPersonality {
        NamedPersonality { personality: self.personality, plugin: self.plugin.clone() }
    }

    /// How many spans there are: one, or one for each target where workers have their own.
    pub fn volumes(&self) -> u64 {
        if self.layout == Layout::Each { u64::from(self.targets) } else { 1 }
    }

    /// Whether files do not hold data everywhere when it is over, or did not before: the next workload may want them to.
    pub fn leaves_holes(&self) -> bool {
        self.file_state != FileState::Written || self.operation.has(RequestKind::Trim)
    }

    /// Which of the volumes a worker's requests go to.
    pub fn volume_of(&self, worker: u32) -> usize {
        worker as usize % self.volumes() as usize
    }

    /// What every place and every size is a multiple of.
    pub fn grain(&self) -> Bytes {
        let sizes = self.sizes.all().chain([self.request_size, self.step(), self.offset]);
        Bytes(sizes.fold(0, |common, bytes| greatest_common_divisor(common, bytes.0)))
    }

    /// The unit in which blocks are stamped and checked: what every place and size is a multiple of, 4 KiB at most.
    pub fn verify_block(&self) -> Bytes {
        let grain = self.grain();
        if grain.0.is_multiple_of(4096) { Bytes(4096) } else { grain }
    }

    /// How many targets a byte is written to.
    pub fn copies(&self) -> u64 {
        if matches!(self.layout, Layout::Mirror { .. }) { u64::from(self.targets) } else { 1 }
    }

    /// Which of the workers of its target a worker is, from 0, and how many those are.
    pub fn position(&self, worker: u32) -> (u64, u64) {
        let groups = if self.layout == Layout::Each { self.targets.clamp(1, self.workers) } else { 1 };
        let group = worker % groups;
        (u64::from(worker / groups), u64::from((self.workers - group).div_ceil(groups)))
    }

    /// The smallest size of any request.
    pub fn smallest_request(&self) -> Bytes {
        self.sizes.all().min().unwrap_or(self.request_size)
    }

    /// From one place a request can go to, to the next.
    pub fn step(&self) -> Bytes {
        let align =
            self.align.unwrap_or(if self.sizes.is_empty() { self.request_size } else { self.smallest_request() });
        // Requests that follow one another do not overlap.
        let apart = self.pattern.is_ordered() && self.sizes.is_empty();
        if apart { Bytes(self.request_size.0.next_multiple_of(align.0.max(1))) } else { align }
    }

    /// How many places requests can go to: from the offset on, a step apart, the largest request inside the span.
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
        } else if !self.sizes.is_empty() {
            write!(f, "{}, {}", self.work(), self.sizes)?;
        } else if self.tells("request_size") {
            write!(f, "{}, {}", self.work(), self.request_size)?;
        } else {
            write!(f, "{}", self.work())?;
        }
        if self.tells("depth") {
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
            arrivals => format!("{arrivals} arrivals at {rate}"),
        });
        let durability = match self.durability {
            Durability::FlushAtEnd => "flushed".to_owned(),
            every => every.to_string(),
        };
        let rest = [
            (self.tells("buffering"), buffering.to_owned()),
            (!self.rw_flags.is_empty(), self.rw_flags.to_string()),
            (self.offset.0 > 0, format!("shifted by {}", self.offset)),
            (self.layout != Layout::Each, self.layout.to_string()),
            (!among.is_empty(), among),
            (!self.ring.is_default(), self.ring.to_string()),
            (!rate.is_empty(), rate),
            (self.file_state != FileState::Written, self.file_state.to_string()),
            (self.durability != Durability::None, durability),
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
