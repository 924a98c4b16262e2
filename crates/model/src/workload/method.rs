//! I/O method: caches, personality and its options, workers, layout of the targets.

use crate::units::Bytes;
use crate::words::{Value, forms, positive, words};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

words! {
    /// Use of the page cache and of the drive's cache.
    pub enum Buffering {
        /// Through the page cache.
        Buffered = "buffered",
        /// O_DIRECT: bypasses the page cache.
        Direct = "direct",
        /// Written through the page cache: on the medium when the write returns (O_DSYNC).
        Through = "through",
        /// Direct and written through (O_DIRECT and O_DSYNC).
        None = "none",
    }

    /// An I/O method.
    pub enum Personality {
        /// pread and pwrite; one request outstanding per worker.
        Sync = "sync",
        /// preadv2 and pwritev2 with flags; one request outstanding per worker.
        Vectored = "vectored",
        /// Copies to and from a mapping of the target; one request outstanding per worker.
        Mmap = "mmap",
        /// The kernel's older asynchronous I/O: io_submit and io_getevents.
        Libaio = "libaio",
        /// io_uring.
        IoUring = "io_uring",
        /// SCSI commands to the whole disk; one request outstanding per worker.
        Sg = "sg",
        /// NVMe commands to the namespace.
        Nvme = "nvme",
        /// A network block device (NBD), over a connection of each worker's own.
        Nbd = "nbd",
        /// A file of a Windows or Samba share (SMB), over a connection of each worker's own.
        Smb = "smb",
        /// Objects of a store (S3), by HTTP.
        S3 = "s3",
        /// Completes every request immediately: measures the program itself.
        Null = "null",
        /// A shared object that the user named.
        Plugin = "plugin",
    }

    /// State of the page cache before the measurement.
    pub enum CachePolicy {
        /// As it is.
        Keep = "keep",
        /// The span is dropped from the cache; the rest that remains is recorded.
        Cold = "cold",
        /// The same, and again before a worker begins another pass over the span.
        ColdEachPass = "cold_each_pass",
        /// The span is read into the cache.
        Warm = "warm",
    }

    /// Kinds of workers.
    pub enum WorkerKind {
        /// A thread of the program.
        Thread = "off",
        /// A separate process, as in parallel writers.
        Process = "on",
    }

    /// Whether the kernel is advised of the pattern.
    pub enum Advise {
        /// It is not.
        Off = "off",
        /// By posix_fadvise: sequential or random.
        On = "on",
    }

    /// Whether buffers are in huge pages.
    pub enum HugePages {
        /// Where there are some.
        On = "on",
        /// In pages as the system gives them.
        Off = "off",
    }

    /// Whether block-layer phases are traced.
    pub enum BlockPhases {
        /// Not traced.
        Off = "off",
        /// Traced in short periods; needs root.
        On = "on",
    }

    /// Which copy of a mirror is read.
    pub enum MirrorReads {
        /// Round-robin.
        RoundRobin = "round_robin",
        /// The one with the fewest outstanding requests of this worker.
        ShortestQueue = "shortest_queue",
        /// The one whose last request of this worker ended at the nearest offset.
        Nearest = "nearest",
    }

    /// How the CPU time of a sample is measured.
    pub enum CpuAccounting {
        /// By the kernel's accounting, without cost for the sample.
        Account = "account",
        /// Also by a soaker: an idle-priority busy loop on every CPU. It gives an upper bound, and may disturb other figures.
        Soaker = "soaker",
    }
}

/// How several targets form one volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// One target, or separate ones that are assigned to the workers round-robin.
    #[default]
    Each,
    /// One volume, striped over the targets in chunks.
    Stripe {
        /// Bytes on one target before the next.
        chunk: Bytes,
    },
    /// Every target holds the same data: writes go to all, a read to one.
    Mirror {
        /// Choice of the copy to read.
        reads: MirrorReads,
    },
}

/// Which of several targets a workload uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Among {
    /// All of them.
    #[default]
    All,
    /// This number of targets from the first on.
    First(u32),
    /// A single target, counted from 1.
    Only(u32),
    /// In a study: one workload for each target alone.
    Each,
    /// In a study: one workload for the first, the first two, and so on up to all.
    Growing,
}

/// Requests submitted with one call, at most; in records `auto` or the number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SubmitBatch {
    /// One; up to 32 while requests complete during their submission.
    #[default]
    Auto,
    /// This number.
    #[serde(untagged)]
    Requests(u32),
}

impl Buffering {
    /// By whether the page cache is bypassed, and whether each write is on the medium before it returns.
    pub fn of(direct: bool, through: bool) -> Self {
        match (direct, through) {
            (false, false) => Buffering::Buffered,
            (false, true) => Buffering::Through,
            (true, false) => Buffering::Direct,
            (true, true) => Buffering::None,
        }
    }

    /// Whether the page cache is bypassed.
    pub fn is_direct(self) -> bool {
        matches!(self, Buffering::Direct | Buffering::None)
    }

    /// Whether each write is on the medium before it returns.
    pub fn is_through(self) -> bool {
        matches!(self, Buffering::Through | Buffering::None)
    }
}

impl Personality {
    /// Whether a worker can have more than one request outstanding.
    pub fn is_deep(self) -> bool {
        !matches!(self, Personality::Sync | Personality::Vectored | Personality::Mmap | Personality::Sg)
    }

    /// Whether it speaks to a server itself, past this host's page cache and block layer.
    pub fn is_remote(self) -> bool {
        matches!(self, Personality::Nbd | Personality::Smb | Personality::S3)
    }

    /// Whether it sends commands to the disk, past the page cache and the block layer.
    pub fn is_passthrough(self) -> bool {
        matches!(self, Personality::Sg | Personality::Nvme)
    }
}

impl Among {
    /// An example of each form.
    pub const EXAMPLES: &'static [&'static str] = &["all", "first=2", "only=3", "each", "growing"];

    /// The choices it expands to in a study with this number of targets; most expand to themselves.
    pub fn expand(self, targets: u32) -> Vec<Among> {
        match self {
            Among::Each => (1..=targets).map(Among::Only).collect(),
            // `first=1` is the same as `only=1`.
            Among::Growing => {
                (1..=targets).map(|count| if count == 1 { Among::Only(1) } else { Among::First(count) }).collect()
            }
            one => vec![one],
        }
    }

    /// The indices of the targets used, of this number; none if there are too few, or for choices that a study expands.
    pub fn range(self, targets: u32) -> Option<std::ops::Range<usize>> {
        let range = match self {
            Among::All => 0..targets,
            Among::First(count) => 0..count,
            Among::Only(number) => number.checked_sub(1)?..number,
            Among::Each | Among::Growing => return None,
        };
        (range.end <= targets).then_some(range.start as usize..range.end as usize)
    }
}

const AMONG: &str = "all, first=NUMBER, only=NUMBER, and in a study each, growing";

forms!(Among, |_| AMONG, { "all" => All, "each" => Each, "growing" => Growing, },
    { "first" => First { 0: count } = positive, "only" => Only { 0: number } = positive, });

impl Layout {
    /// Bytes of a volume that each of this number of targets holds.
    pub fn part(self, volume: Bytes, targets: u32) -> Bytes {
        match self {
            Layout::Each | Layout::Mirror { .. } => volume,
            Layout::Stripe { chunk } => Bytes(volume.0.div_ceil(chunk.0).div_ceil(u64::from(targets.max(1))) * chunk.0),
        }
    }
}

const LAYOUTS: &str = "each, stripe=CHUNK (like stripe=64KiB), mirror, mirror=round_robin, mirror=shortest_queue, \
                       mirror=nearest";

fn chunk(text: &str) -> Option<Bytes> {
    text.parse().ok().filter(|chunk| *chunk > Bytes(0))
}

fn reads(text: &str) -> Option<MirrorReads> {
    if text.is_empty() { Some(MirrorReads::default()) } else { text.parse().ok() }
}

forms!(Layout, |_| LAYOUTS, { "each" => Each, },
    { "stripe" => Stripe { chunk: chunk } = chunk, "mirror" => Mirror { reads: reads } = reads, });

impl fmt::Display for SubmitBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubmitBatch::Auto => f.write_str("auto"),
            SubmitBatch::Requests(number) => number.fmt(f),
        }
    }
}

impl FromStr for SubmitBatch {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        if text == "auto" { Ok(SubmitBatch::Auto) } else { text.parse().map(SubmitBatch::Requests) }
    }
}

impl Value for SubmitBatch {
    fn exact(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn number(&self) -> Option<u64> {
        if let SubmitBatch::Requests(number) = self { Some(u64::from(*number)) } else { None }
    }
}

/// The highest CPU number.
const MAX_CPU: u32 = 65_535;

/// A list of CPUs, like `0,2-4`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CpuList(pub Vec<u32>);

impl From<CpuList> for Vec<u32> {
    fn from(list: CpuList) -> Vec<u32> {
        list.0
    }
}

impl Value for CpuList {
    fn exact(&self) -> Option<String> {
        self.0.exact()
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no list of CPUs; write one like 0,2 or 0-3");
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: u32 = first.trim().parse().map_err(|_| wrong())?;
            let last: u32 = last.trim().parse().map_err(|_| wrong())?;
            if last < first || last > MAX_CPU {
                return Err(wrong());
            }
            cpus.extend(first..=last);
        }
        Ok(CpuList(cpus))
    }
}
