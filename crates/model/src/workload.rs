//! A workload: everything about the requests, every default filled in.
//!
//! What a person said is a [`WorkloadSpec`](crate::WorkloadSpec); this is what it resolves to on a machine, and what a
//! sample records.

use crate::units::{Bytes, Nanoseconds, seconds};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What the requests do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Reads and writes, drawn at random; written `mix=70` for 70 % reads.
    Mix {
        /// Share of the requests that read, 1 to 99.
        read_percent: u8,
    },
}

/// Where the requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// One after another, from a place that the seed draws, around the end to the start. Each worker has its own
    /// equal part of the span, so that none reads what another has just read.
    Sequential,
    /// Uniform over the span, at multiples of the request size.
    Random,
}

/// How the file cache and the drive's cache are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Buffering {
    /// Through the file cache.
    Buffered,
    /// O_DIRECT: past the file cache.
    Direct,
    /// Through the file cache, and on the medium when the write returns (O_DSYNC).
    Through,
    /// Neither: direct and written through (O_DIRECT and O_DSYNC).
    None,
}

/// A way to do I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Personality {
    /// pread and pwrite; one request outstanding a worker.
    Sync,
    /// io_uring.
    IoUring,
    /// SCSI commands straight to the disk; one request outstanding a worker.
    Sg,
    /// NVMe commands straight to the namespace.
    Nvme,
    /// Completes every request at once: measures the program itself.
    Null,
}

/// What is done to the file cache before the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CachePolicy {
    /// Nothing.
    Keep,
    /// The span is put out of the cache, and what is left of it is recorded.
    Cold,
    /// The span is read into the cache.
    Warm,
}

/// What makes written data safe, inside the timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Nothing: the sample ends when the last write returned.
    None,
    /// One fsync after the last write; the time counts.
    FlushAtEnd,
}

/// When a sample ends: whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Limits {
    /// Measured time.
    #[serde(rename = "duration_s", with = "seconds::optional", default)]
    pub duration: Option<Nanoseconds>,
    /// Requests of all workers.
    #[serde(default)]
    pub requests: Option<u64>,
    /// Bytes of all workers.
    #[serde(default)]
    pub bytes: Option<Bytes>,
}

/// A resolved workload.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Workload {
    /// What the requests do.
    pub operation: Operation,
    /// Where they go.
    pub pattern: Pattern,
    /// Bytes of each.
    pub request_size: Bytes,
    /// Requests outstanding a worker.
    pub depth: u32,
    /// Requests handed to the kernel with one call, at most. With 1 the device starts on the first while the next are
    /// being made; more cost less processor time a request.
    #[serde(default = "one")]
    pub submit_batch: u32,
    /// Threads that issue requests.
    pub workers: u32,
    /// Use of caches.
    pub buffering: Buffering,
    /// The way to do it.
    pub personality: Personality,
    /// How much of the target, from its start, the requests go to.
    pub span: Bytes,
    /// When the sample ends.
    pub limits: Limits,
    /// Time at the start that is not counted.
    #[serde(rename = "warmup_s", with = "seconds")]
    pub warmup: Nanoseconds,
    /// Spacing of the recorded intervals.
    #[serde(rename = "interval_s", with = "seconds")]
    pub interval: Nanoseconds,
    /// State of the file cache before.
    pub cache: CachePolicy,
    /// Flush inside the timing.
    pub durability: Durability,
    /// Draws the offsets, the mix and the data.
    pub seed: u64,
    /// Processors the workers are pinned to in turn; empty: not pinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
}

/// What records from before there was a choice did not say.
fn one() -> u32 {
    1
}

impl Operation {
    /// True when some requests write.
    pub fn writes(self) -> bool {
        self != Operation::Read
    }

    /// True when some requests read.
    pub fn reads(self) -> bool {
        self != Operation::Write
    }
}

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

/// A word that is none of the choices; the message lists them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not one of {choices}")]
pub struct ChoiceError {
    /// What was written.
    pub word: String,
    /// What would do.
    pub choices: &'static str,
}

/// Gives an enum its words: one table for reading, writing and listing them.
macro_rules! words {
    ($type:ty, $choices:literal, $($word:literal => $value:expr),+ $(,)?) => {
        impl $type {
            /// Every choice, in the order they are explained.
            pub const ALL: &'static [$type] = &[$($value),+];

            /// The word for it, as in records and on the command line.
            pub fn word(self) -> &'static str {
                match self { $(v if v == $value => $word,)+ _ => unreachable!("every value has a word") }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }

        impl FromStr for $type {
            type Err = ChoiceError;

            fn from_str(word: &str) -> Result<Self, ChoiceError> {
                match word.replace('-', "_").as_str() {
                    $($word => Ok($value),)+
                    _ => Err(ChoiceError { word: word.to_owned(), choices: $choices }),
                }
            }
        }
    };
}

words!(Pattern, "sequential, random", "sequential" => Pattern::Sequential, "random" => Pattern::Random);
words!(Buffering, "buffered, direct, through, none",
    "buffered" => Buffering::Buffered, "direct" => Buffering::Direct,
    "through" => Buffering::Through, "none" => Buffering::None);
words!(Personality, "sync, io_uring, sg, nvme, null",
    "sync" => Personality::Sync, "io_uring" => Personality::IoUring, "sg" => Personality::Sg,
    "nvme" => Personality::Nvme, "null" => Personality::Null);
words!(CachePolicy, "keep, cold, warm",
    "keep" => CachePolicy::Keep, "cold" => CachePolicy::Cold, "warm" => CachePolicy::Warm);
words!(Durability, "none, flush_at_end",
    "none" => Durability::None, "flush_at_end" => Durability::FlushAtEnd);

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Read => f.write_str("read"),
            Operation::Write => f.write_str("write"),
            Operation::Mix { read_percent } => write!(f, "mix={read_percent}"),
        }
    }
}

impl FromStr for Operation {
    type Err = ChoiceError;

    fn from_str(word: &str) -> Result<Self, ChoiceError> {
        let unknown =
            || ChoiceError { word: word.to_owned(), choices: "read, write, mix=PERCENT (share of reads, 1 to 99)" };
        match word {
            "read" => Ok(Operation::Read),
            "write" => Ok(Operation::Write),
            _ => match word.strip_prefix("mix=").map(|percent| percent.trim_end_matches('%').parse()) {
                Some(Ok(read_percent @ 1..=99)) => Ok(Operation::Mix { read_percent }),
                _ => Err(unknown()),
            },
        }
    }
}

impl Serialize for Operation {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Operation {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for Workload {
    /// In the words of a report: `random read, 4 KiB, 32 deep, direct`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, {}, {} deep", self.pattern, self.operation, self.request_size, self.depth)?;
        if self.workers > 1 {
            write!(f, " × {} workers", self.workers)?;
        }
        match self.buffering {
            Buffering::None => write!(f, ", direct and through")?,
            buffering => write!(f, ", {buffering}")?,
        }
        if self.durability == Durability::FlushAtEnd {
            write!(f, ", flushed")?;
        }
        Ok(())
    }
}

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
            assert_eq!(serde_json::to_string(personality).unwrap(), format!("\"{personality}\""));
        }
        assert_eq!("io-uring".parse(), Ok(Personality::IoUring));
        assert_eq!("mix=70".parse(), Ok(Operation::Mix { read_percent: 70 }));
        for bad in ["mix", "mix=0", "mix=100", "mix=x", "Read", ""] {
            assert!(bad.parse::<Operation>().is_err(), "{bad}");
        }
        assert!("buffed".parse::<Buffering>().unwrap_err().to_string().contains("through"));
    }
}

/// A plain workload for the tests of this crate.
#[cfg(test)]
pub(crate) mod tests_support {
    use super::*;

    pub(crate) fn workload() -> Workload {
        Workload {
            operation: Operation::Read,
            pattern: Pattern::Sequential,
            request_size: Bytes(4096),
            depth: 1,
            submit_batch: 1,
            workers: 1,
            buffering: Buffering::Direct,
            personality: Personality::Sync,
            span: Bytes(1 << 20),
            limits: Limits { duration: Some(Nanoseconds(1_000_000_000)), requests: None, bytes: None },
            warmup: Nanoseconds(0),
            interval: Nanoseconds(1_000_000_000),
            cache: CachePolicy::Keep,
            durability: Durability::None,
            seed: 1,
            cpus: Vec::new(),
        }
    }
}
