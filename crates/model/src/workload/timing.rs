//! The course of a sample: how requests arrive, when it ends, what makes written data safe, what the file is like.

use crate::units::{Bytes, Nanoseconds};
use crate::words::{ChoiceError, by_text, forms, positive, words};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// When a sample ends: whichever comes first.
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

/// With fewer requests than these done in its window, a measured part goes from completion to completion: the rate of a
/// window is a multiple of one request a window, which is then more than 1 % of it.
pub const FEW_REQUESTS: u64 = 100;

/// What makes written data safe, inside the timing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Nothing: the sample ends when the last write returned.
    #[default]
    None,
    /// An fsync by each worker after its last write; the time counts.
    FlushAtEnd,
    /// An fsync by each worker after so many of its writes, before the next: none after its last.
    Fsync {
        /// Writes between two.
        every: u32,
    },
    /// An fdatasync by each worker after so many of its writes, before the next.
    Fdatasync {
        /// Writes between two.
        every: u32,
    },
}

words! {
    /// Whether closing the target is part of the timing.
    pub enum Closing {
        /// The time ends before.
        Untimed = "off",
        /// Each worker closes its target, and the time counts.
        Timed = "on",
    }

    /// How requests arrive.
    pub enum Arrivals {
        /// As fast as those before are done, or, with a rate, no faster than that.
        Closed = "closed",
        /// At the rate, evenly, whether those before are done or not.
        Constant = "constant",
        /// At the rate, by chance: gaps are exponential, whether those before are done or not.
        Poisson = "poisson",
    }

    /// What a file is like before it is written.
    pub enum FileState {
        /// It holds data from its first byte to its last.
        Written = "written",
        /// Its blocks are reserved (fallocate) and hold nothing yet.
        Preallocated = "preallocated",
        /// It is empty, and every write makes it longer.
        Append = "append",
        /// It is empty, and its last block is written before all others, inside the timing.
        LastFirst = "last_first",
        /// It holds data, and is cut to nothing inside the timing; then every write makes it longer.
        Truncated = "truncated",
        /// It has its length, and nothing is stored.
        Sparse = "sparse",
    }

    /// Whether blocks are stamped and checked.
    pub enum Verify {
        /// Neither.
        Off = "off",
        /// Writes are stamped, and reads of the same run checked; what is left can be checked later.
        Stamp = "stamp",
        /// The same, and when the writing is over everything written is read back.
        ReadBack = "read_back",
    }
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
    /// True when every write makes the file longer, so that requests go on from the end.
    pub fn grows(self) -> bool {
        matches!(self, FileState::Append | FileState::LastFirst | FileState::Truncated)
    }

    /// True when the file holds data before.
    pub fn holds_data(self) -> bool {
        matches!(self, FileState::Written | FileState::Truncated)
    }
}

impl Durability {
    /// Words for every choice, with an example where it takes a number.
    pub const EXAMPLES: [&'static str; 4] = ["none", "flush_at_end", "fsync=100", "fdatasync=100"];

    /// Writes between two flushes; none where there are no flushes between.
    pub fn every(self) -> Option<u32> {
        match self {
            Durability::Fsync { every } | Durability::Fdatasync { every } => Some(every),
            Durability::None | Durability::FlushAtEnd => None,
        }
    }

    /// True for fdatasync.
    pub fn is_data_only(self) -> bool {
        matches!(self, Durability::Fdatasync { .. })
    }
}

const DURABILITIES: &str = "none, flush_at_end, fsync=WRITES, fdatasync=WRITES (1 or more)";

forms!(Durability, |_| DURABILITIES, { "none" => None, "flush_at_end" => FlushAtEnd, },
    { "fsync" => Fsync { every: every } = positive, "fdatasync" => Fdatasync { every: every } = positive, });

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
        let unknown = || ChoiceError::new(text, "requests a second, like 50000/s, or bytes a second, like 100MB/s");
        let amount = text.trim().strip_suffix("/s").unwrap_or(text).trim();
        let rate = match amount.parse::<u64>() {
            Ok(requests) => Rate::Requests(requests),
            Err(_) => Rate::Bytes(amount.parse::<Bytes>().map_err(|_| unknown())?.0),
        };
        if matches!(rate, Rate::Requests(0) | Rate::Bytes(0)) { Err(unknown()) } else { Ok(rate) }
    }
}

by_text!(Rate);
