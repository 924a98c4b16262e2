//! A trace: requests that a program issued earlier, with their times. The entries are in a file, which is read elsewhere.

use super::greatest_common_divisor;
use super::operation::{Request, RequestKind};
use super::pattern::Thousandths;
use crate::units::{Bytes, Nanoseconds};
use crate::words::{ChoiceError, by_text};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::io;
use std::str::FromStr;
use std::sync::Arc;

/// One request of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// From the first request of the trace to its issue.
    pub at: Nanoseconds,
    /// The request.
    pub request: Request,
    /// From issue to completion; none if the source does not say.
    pub latency: Option<Nanoseconds>,
    /// Requests outstanding at its issue, itself included; 0 if the source does not say.
    pub outstanding: u16,
}

/// Gives the entries of a trace by number.
pub trait Entries: fmt::Debug + Send + Sync {
    /// Overwrites `into` with the entries from number `first` on, all of which exist.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read(&self, first: u64, into: &mut [Entry]) -> io::Result<()>;
}

/// Sums over a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// Requests by the number of their kind: reads, writes, trims, flushes.
    pub requests: [u64; 4],
    /// Their bytes.
    pub bytes: [u64; 4],
    /// The largest request.
    pub largest: Bytes,
    /// The greatest common divisor of all offsets and sizes.
    pub grain: Bytes,
    /// End of the last byte used.
    pub end: Bytes,
    /// From the first request to the last.
    #[serde(rename = "duration_s")]
    pub duration: Nanoseconds,
    /// Most requests outstanding; 0 if unknown.
    pub outstanding: u16,
}

impl Contents {
    /// Number of requests.
    pub fn total(&self) -> u64 {
        self.requests.iter().sum()
    }

    /// Adds an entry, whose time is not before those of the others.
    pub fn add(&mut self, entry: &Entry) {
        let (request, kind) = (entry.request, entry.request.kind as usize);
        self.requests[kind] += 1;
        self.bytes[kind] += u64::from(request.length);
        self.largest.0 = self.largest.0.max(request.length.into());
        if request.kind != RequestKind::Flush {
            self.grain.0 =
                [request.offset, request.length.into()].into_iter().fold(self.grain.0, greatest_common_divisor);
        }
        self.end.0 = self.end.0.max(request.offset.saturating_add(request.length.into()));
        self.duration = self.duration.max(entry.at);
        self.outstanding = self.outstanding.max(entry.outstanding);
    }
}

/// How fast a trace is replayed; written `1`, `2.5` or `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speed {
    /// Arrivals are as in the trace, this many times as fast.
    Times(Thousandths),
    /// Each request is issued as soon as no more are outstanding than were at its issue in the trace.
    Max,
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Speed::Times(times) => times.fmt(f),
            Speed::Max => f.write_str("max"),
        }
    }
}

impl FromStr for Speed {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let times = || text.parse().ok().filter(|times: &Thousandths| (1..=1_000_000).contains(&times.0));
        let speed = if text == "max" { Some(Speed::Max) } else { times().map(Speed::Times) };
        speed.ok_or_else(|| ChoiceError::new(text, "max, 1, 2.5 (0.001 to 1000 times as fast)"))
    }
}

by_text!(Speed);

/// A trace to replay. Two are equal if their contents are, wherever they are read from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trace {
    /// The name of its file.
    pub name: String,
    /// A digest of its entries.
    pub digest: String,
    /// Its sums.
    pub contents: Contents,
    /// How fast it is replayed.
    pub speed: Speed,
    /// Its entries; none in a record.
    #[serde(skip)]
    pub entries: Option<Arc<dyn Entries>>,
}

impl Trace {
    /// A trace without requests.
    #[cfg(test)]
    pub(crate) fn of_nothing() -> Trace {
        let (name, digest) = Default::default();
        Trace { name, digest, contents: Contents::default(), speed: Speed::Max, entries: None }
    }
}

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        (&self.digest, &self.contents, self.speed) == (&other.digest, &other.contents, other.speed)
    }
}

impl Eq for Trace {}

impl Hash for Trace {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.digest, self.speed).hash(state);
    }
}
