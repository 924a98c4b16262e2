//! The way requests are done: caches, personality and its options, workers, layout of the targets.

use super::ChoiceError;
use super::words::{by_text, words};
use crate::units::Bytes;
use std::fmt;
use std::str::FromStr;

/// How the file cache and the drive's cache are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Buffering {
    /// Through the file cache.
    #[default]
    Buffered,
    /// O_DIRECT: past the file cache.
    Direct,
    /// Through the file cache, and on the medium when the write returns (O_DSYNC).
    Through,
    /// Neither: direct and written through (O_DIRECT and O_DSYNC).
    None,
}

/// A way to do I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Personality {
    /// pread and pwrite; one request outstanding a worker.
    #[default]
    Sync,
    /// preadv2 and pwritev2, with flags; one request outstanding a worker.
    Vectored,
    /// Copies in and out of a mapping of the target; one request outstanding a worker.
    Mmap,
    /// The kernel's older asynchronous I/O: io_submit and io_getevents.
    Libaio,
    /// io_uring.
    IoUring,
    /// SCSI commands straight to the disk; one request outstanding a worker.
    Sg,
    /// NVMe commands straight to the namespace.
    Nvme,
    /// Completes every request at once: measures the program itself.
    Null,
    /// A shared object that the user named.
    Plugin,
}

/// What is done to the file cache before the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CachePolicy {
    /// Nothing.
    #[default]
    Keep,
    /// The span is put out of the cache, and what is left of it is recorded.
    Cold,
    /// The span is read into the cache.
    Warm,
}

/// What a worker is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WorkerKind {
    /// A thread of the program.
    #[default]
    Thread,
    /// A process of its own, as with parallel writers.
    Process,
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

/// Which side of a mirror is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MirrorReads {
    /// Each in turn.
    #[default]
    RoundRobin,
    /// The one with the fewest requests outstanding of this worker.
    ShortestQueue,
    /// The one whose last request of this worker ended nearest.
    Nearest,
}

/// How the processor time of a sample is accounted for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CpuAccounting {
    /// By the kernel's accounts, which costs the sample nothing.
    #[default]
    Account,
    /// By a soaker besides: a busy loop on every processor that takes what nobody wants. It gives an upper bound, and
    /// may disturb what else is measured.
    Soaker,
}

words!(CpuAccounting, "account, soaker", "account" => CpuAccounting::Account, "soaker" => CpuAccounting::Soaker);
words!(Buffering, "buffered, direct, through, none",
    "buffered" => Buffering::Buffered, "direct" => Buffering::Direct,
    "through" => Buffering::Through, "none" => Buffering::None);
words!(Personality, "sync, vectored, mmap, libaio, io_uring, sg, nvme, null, plugin:FILE",
    "sync" => Personality::Sync, "vectored" => Personality::Vectored, "mmap" => Personality::Mmap,
    "libaio" => Personality::Libaio, "io_uring" => Personality::IoUring, "sg" => Personality::Sg,
    "nvme" => Personality::Nvme, "null" => Personality::Null, "plugin" => Personality::Plugin);
words!(CachePolicy, "keep, cold, warm",
    "keep" => CachePolicy::Keep, "cold" => CachePolicy::Cold, "warm" => CachePolicy::Warm);
words!(WorkerKind, "thread, process", "thread" => WorkerKind::Thread, "process" => WorkerKind::Process);
words!(MirrorReads, "round_robin, shortest_queue, nearest",
    "round_robin" => MirrorReads::RoundRobin, "shortest_queue" => MirrorReads::ShortestQueue,
    "nearest" => MirrorReads::Nearest);

impl Buffering {
    /// True when the file cache is passed by.
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

    /// True when it speaks to a disk itself, past the file cache and the kernel's block layer.
    pub fn is_passthrough(self) -> bool {
        matches!(self, Personality::Sg | Personality::Nvme)
    }
}

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

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layout::Each => f.write_str("each"),
            Layout::Stripe { chunk } => write!(f, "stripe={}", chunk.exactly()),
            Layout::Mirror { reads } => write!(f, "mirror={reads}"),
        }
    }
}

impl FromStr for Layout {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let unknown = || ChoiceError::new(text, LAYOUTS);
        match text.split_once('=') {
            None if text == "each" => Ok(Layout::Each),
            None if text == "mirror" => Ok(Layout::Mirror { reads: MirrorReads::default() }),
            Some(("stripe", chunk)) => match chunk.parse() {
                Ok(chunk) if chunk > Bytes(0) => Ok(Layout::Stripe { chunk }),
                _ => Err(unknown()),
            },
            Some(("mirror", reads)) => reads.parse().map(|reads| Layout::Mirror { reads }).map_err(|_| unknown()),
            _ => Err(unknown()),
        }
    }
}

by_text!(Layout);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for buffering in Buffering::ALL {
            assert_eq!(buffering.word().parse(), Ok(*buffering));
            assert_eq!(serde_json::to_string(buffering).unwrap(), format!("\"{buffering}\""));
        }
        for personality in Personality::ALL {
            assert_eq!(personality.word().parse(), Ok(*personality));
        }
        assert_eq!("io-uring".parse(), Ok(Personality::IoUring));
        assert!("buffed".parse::<Buffering>().unwrap_err().to_string().contains("through"));
        for text in ["each", "stripe=64KiB", "mirror=round_robin", "mirror=nearest"] {
            assert_eq!(text.parse::<Layout>().unwrap().to_string(), text);
        }
        for bad in ["stripe", "stripe=0", "mirror=both", "raid5"] {
            assert!(bad.parse::<Layout>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_stripe_divides_a_volume_into_whole_chunks() {
        let part = |layout: &str, volume, targets| layout.parse::<Layout>().unwrap().part(Bytes(volume), targets).0;
        assert_eq!(part("stripe=64KiB", 3 << 20, 3), 1 << 20);
        assert_eq!(part("stripe=64KiB", (3 << 20) + 1, 3), (1 << 20) + (64 << 10));
        assert_eq!(part("mirror", 3 << 20, 3), 3 << 20);
        assert_eq!(part("each", 3 << 20, 3), 3 << 20);
    }
}
