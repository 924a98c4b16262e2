//! The way requests are done: caches, personality and its options, workers, layout of the targets.

use crate::units::Bytes;
use crate::words::{Value, forms, positive, words};
use std::str::FromStr;

words! {
    /// How the page cache and the drive's cache are used.
    pub enum Buffering {
        /// Through the page cache.
        Buffered = "buffered",
        /// O_DIRECT: past the page cache.
        Direct = "direct",
        /// Through the page cache, and on the medium when the write returns (O_DSYNC).
        Through = "through",
        /// Neither: direct and written through (O_DIRECT and O_DSYNC).
        None = "none",
    }

    /// A way to do I/O.
    pub enum Personality {
        /// pread and pwrite; one request outstanding a worker.
        Sync = "sync",
        /// preadv2 and pwritev2, with flags; one request outstanding a worker.
        Vectored = "vectored",
        /// Copies in and out of a mapping of the target; one request outstanding a worker.
        Mmap = "mmap",
        /// The kernel's older asynchronous I/O: io_submit and io_getevents.
        Libaio = "libaio",
        /// io_uring.
        IoUring = "io_uring",
        /// SCSI commands straight to the disk; one request outstanding a worker.
        Sg = "sg",
        /// NVMe commands straight to the namespace.
        Nvme = "nvme",
        /// Completes every request at once: measures the program itself.
        Null = "null",
        /// A shared object that the user named.
        Plugin = "plugin",
    }

    /// What is done to the page cache before the measurement.
    pub enum CachePolicy {
        /// Nothing.
        Keep = "keep",
        /// The span is put out of the cache, and what is left of it is recorded.
        Cold = "cold",
        /// The span is read into the cache.
        Warm = "warm",
    }

    /// What a worker is.
    pub enum WorkerKind {
        /// A thread of the program.
        Thread = "off",
        /// A process of its own, as with parallel writers.
        Process = "on",
    }

    /// Whether it is looked where requests spend their time in the kernel's block layer.
    pub enum BlockPhases {
        /// It is not.
        Off = "off",
        /// It is, for short whiles; takes root.
        On = "on",
    }

    /// Which side of a mirror is read.
    pub enum MirrorReads {
        /// Each in turn.
        RoundRobin = "round_robin",
        /// The one with the fewest requests outstanding of this worker.
        ShortestQueue = "shortest_queue",
        /// The one whose last request of this worker ended nearest.
        Nearest = "nearest",
    }

    /// How the CPU time of a sample is accounted for.
    pub enum CpuAccounting {
        /// By the kernel's accounts, which costs the sample nothing.
        Account = "account",
        /// By a soaker besides: a busy loop on every CPU that takes what nobody wants. It gives an upper bound, and
        /// may disturb what else is measured.
        Soaker = "soaker",
    }
}

/// How several targets make one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// There is one, or each worker has its own: the first worker the first, and so on in turn.
    #[default]
    Each,
    /// One volume whose bytes go to the targets in turn, a chunk to each.
    Stripe {
        /// Bytes on one target before the next comes.
        chunk: Bytes,
    },
    /// Every target holds the same: writes go to all of them, a read to one.
    Mirror {
        /// Which one.
        reads: MirrorReads,
    },
}

/// Which of several targets a workload goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Among {
    /// All of them.
    #[default]
    All,
    /// The first so many.
    First(u32),
    /// One alone, counted from 1.
    Only(u32),
    /// In a study: each alone, a workload for each.
    Each,
    /// In a study: the first, the first two, and so on to all of them.
    Growing,
}

impl Buffering {
    /// True when the page cache is passed by.
    pub fn is_direct(self) -> bool {
        matches!(self, Buffering::Direct | Buffering::None)
    }

    /// True when each write is on the medium before it returns.
    pub fn is_through(self) -> bool {
        matches!(self, Buffering::Through | Buffering::None)
    }
}

impl Personality {
    /// True when a worker can have more than one request outstanding.
    pub fn is_deep(self) -> bool {
        !matches!(self, Personality::Sync | Personality::Vectored | Personality::Mmap | Personality::Sg)
    }

    /// True when it speaks to a disk itself, past the page cache and the kernel's block layer.
    pub fn is_passthrough(self) -> bool {
        matches!(self, Personality::Sg | Personality::Nvme)
    }
}

impl Among {
    /// One of each form.
    pub const EXAMPLES: &'static [&'static str] = &["all", "first=2", "only=3", "each", "growing"];

    /// The choices this stands for with so many targets: itself, unless it is one that a study makes several of.
    pub fn expand(self, targets: u32) -> Vec<Among> {
        match self {
            Among::Each => (1..=targets).map(Among::Only).collect(),
            // The first alone is the same as the first of them.
            Among::Growing => {
                (1..=targets).map(|count| if count == 1 { Among::Only(1) } else { Among::First(count) }).collect()
            }
            one => vec![one],
        }
    }

    /// The places of the targets among so many; none where there are not as many, and for what stands for several choices.
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
    /// Bytes that each of so many targets holds of a volume.
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

/// The highest number of a CPU.
const MAX_CPU: u32 = 65_535;

/// A list of CPUs as it is written, like `0,2-4`.
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
