//! Timing of a sample: arrivals, limits, flushes, and the state of the file before.

use crate::units::{Bytes, Nanoseconds};
use crate::words::{ChoiceError, by_text, forms, positive, words};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// When a sample ends: the first limit reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Limits {
    /// Measured time.
    #[serde(rename = "duration_s")]
    pub duration: Option<Nanoseconds>,
    /// Requests of all workers.
    pub requests: Option<u64>,
    /// Bytes of all workers.
    pub bytes: Option<Bytes>,
}

/// With fewer requests in its window, a measured part goes from completion to completion, because one request would be more than
/// 1 % of the rate.
pub const FEW_REQUESTS: u64 = 100;

/// Flushes inside the timing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// None: the sample ends when the last write has returned.
    #[default]
    None,
    /// A timed fsync by each worker after its last write.
    FlushAtEnd,
    /// An fsync by each worker between writes; none after the last.
    Fsync {
        /// Writes between two flushes.
        every: u32,
    },
    /// An fdatasync by each worker between writes; none after the last.
    Fdatasync {
        /// Writes between two flushes.
        every: u32,
    },
}

words! {
    /// Whether closing the target is timed.
    pub enum Closing {
        /// The time ends before the close.
        Untimed = "off",
        /// Each worker closes its target inside the timing.
        Timed = "on",
    }

    /// How requests arrive.
    pub enum Arrivals {
        /// Closed loop: as earlier requests complete, at most at the rate if there is one.
        Closed = "closed",
        /// Open loop: evenly at the rate.
        Constant = "constant",
        /// Open loop: at the rate with exponential gaps.
        Poisson = "poisson",
        /// Open loop: when they arrived in the trace.
        Recorded = "recorded",
    }

    /// State of a file before it is written.
    pub enum FileState {
        /// It holds data from its first byte to its last.
        Written = "written",
        /// Its blocks are reserved (fallocate) and hold no data yet.
        Preallocated = "preallocated",
        /// It is empty, and every write extends it.
        Append = "append",
        /// It is empty, and its last block is written before all others, inside the timing.
        LastFirst = "last_first",
        /// It holds data, and is truncated inside the timing; then every write extends it.
        Truncated = "truncated",
        /// It has its length, but no data is stored.
        Sparse = "sparse",
    }

    /// Whether blocks are stamped and checked.
    pub enum Verify {
        /// Neither.
        Off = "off",
        /// Writes are stamped, and reads of the same run checked; the data can be checked later.
        Stamp = "stamp",
        /// The same, and all written data is read back at the end.
        ReadBack = "read_back",
    }
}

impl Rate {
    /// The rate of several processes together.
    #[must_use]
    pub fn times(self, processes: u64) -> Rate {
        match self {
            Rate::Requests(rate) => Rate::Requests(rate.saturating_mul(processes)),
            Rate::Bytes(rate) => Rate::Bytes(rate.saturating_mul(processes)),
        }
    }
}

impl FileState {
    /// As part of a workload's name. Writing a new file is no appending to one with data.
    pub fn in_words(self) -> String {
        if self == FileState::Append { "new file".to_owned() } else { self.to_string().replace('_', " ") }
    }
}

/// A worker's pause after so many requests, once all of them are complete; written `1ms` or `1ms/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Think {
    /// Length of the pause.
    pub pause: Nanoseconds,
    /// Requests between two pauses.
    pub every: u32,
}

/// A rate of all workers together; written `50000/s` or `100MB/s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rate {
    /// Requests per second.
    Requests(u64),
    /// Bytes per second.
    Bytes(u64),
}

impl FileState {
    /// Whether every write extends the file.
    pub fn grows(self) -> bool {
        matches!(self, FileState::Append | FileState::LastFirst | FileState::Truncated)
    }

    /// Whether the file holds data before.
    pub fn holds_data(self) -> bool {
        matches!(self, FileState::Written | FileState::Truncated)
    }
}

impl Think {
    /// In the words of a report: `pauses of 1 ms after 8 requests`.
    pub fn in_words(self) -> String {
        let Think { pause, every } = self;
        if every == 1 { format!("pauses of {pause}") } else { format!("pauses of {pause} after {every} requests") }
    }
}

impl Durability {
    /// In the words of a report: `flushed`, `fsync=8`; none without a flush.
    pub fn in_words(self) -> Option<String> {
        match self {
            Durability::None => None,
            Durability::FlushAtEnd => Some("flushed".to_owned()),
            every => Some(every.to_string()),
        }
    }

    /// An example of every choice.
    pub const EXAMPLES: [&'static str; 4] = ["none", "flush_at_end", "fsync=100", "fdatasync=100"];

    /// Writes between two flushes; none without flushes between writes.
    pub fn every(self) -> Option<u32> {
        match self {
            Durability::Fsync { every } | Durability::Fdatasync { every } => Some(every),
            Durability::None | Durability::FlushAtEnd => None,
        }
    }

    /// Whether it uses fdatasync.
    pub fn is_data_only(self) -> bool {
        matches!(self, Durability::Fdatasync { .. })
    }
}

const DURABILITIES: &str = "none, flush_at_end, fsync=WRITES, fdatasync=WRITES (1 or more)";

forms!(Durability, |_| DURABILITIES, { "none" => None, "flush_at_end" => FlushAtEnd, },
    { "fsync" => Fsync { every: every } = positive, "fdatasync" => Fdatasync { every: every } = positive, });

impl fmt::Display for Think {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.every {
            1 => write!(f, "{}", self.pause.exactly()),
            every => write!(f, "{}/{every}", self.pause.exactly()),
        }
    }
}

impl FromStr for Think {
    type Err = ChoiceError;

    /// A time, and after how many requests (`1ms`, `1ms/8`).
    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let unknown = || ChoiceError::new(text, "a time, or a time and a number of requests, like 1ms or 1ms/8");
        let (pause, every) = text.split_once('/').unwrap_or((text, "1"));
        let think = Think {
            pause: pause.trim().parse().map_err(|_| unknown())?,
            every: every.trim().parse().map_err(|_| unknown())?,
        };
        if think.pause.0 == 0 || think.every == 0 { Err(unknown()) } else { Ok(think) }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::Requests(number) => write!(f, "{number}/s"),
            Rate::Bytes(number) if number % 1_000_000 == 0 => write!(f, "{}MB/s", number / 1_000_000),
            Rate::Bytes(number) => write!(f, "{number}B/s"),
        }
    }
}

impl FromStr for Rate {
    type Err = ChoiceError;

    /// A number of requests (`50000`, `50000/s`), or a size a second (`100MB/s`).
    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let unknown = || ChoiceError::new(text, "requests per second, like 50000/s, or bytes per second, like 100MB/s");
        let amount = text.trim().strip_suffix("/s").unwrap_or(text).trim();
        let rate = match amount.parse::<u64>() {
            Ok(requests) => Rate::Requests(requests),
            Err(_) => Rate::Bytes(amount.parse::<Bytes>().map_err(|_| unknown())?.0),
        };
        if matches!(rate, Rate::Requests(0) | Rate::Bytes(0)) { Err(unknown()) } else { Ok(rate) }
    }
}

by_text!(Rate);
by_text!(Think);
