//! Kinds and sizes of requests.

use crate::units::Bytes;
use crate::words::{ChoiceError, Value, by_text, forms};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
// Fills the rest of a 16-byte request, so that a request is copied in two pieces.
#[repr(u32)]
pub enum RequestKind {
    /// Reads.
    Read = 0,
    /// Writes.
    Write = 1,
    /// Discards blocks on a device, or punches a hole in a file.
    Trim = 2,
    /// Flushes written data; no offset, no length.
    Flush = 3,
}

impl RequestKind {
    /// Every kind, in the order of its number.
    pub const ALL: [RequestKind; 4] = [RequestKind::Read, RequestKind::Write, RequestKind::Trim, RequestKind::Flush];

    /// Its word.
    pub fn word(self) -> &'static str {
        ["read", "write", "trim", "flush"][self as usize]
    }

    /// The kind by the letters of the kernel's block layer, such as `WS`: R, W, D for a discard, F alone for a flush; none for
    /// others.
    pub fn of_letters(letters: &[u8]) -> Option<RequestKind> {
        // The first F of FWS is a flush before the write.
        let kind = letters.iter().find_map(|letter| match letter {
            b'R' => Some(RequestKind::Read),
            b'W' => Some(RequestKind::Write),
            b'D' => Some(RequestKind::Trim),
            _ => None,
        });
        kind.or_else(|| letters.contains(&b'F').then_some(RequestKind::Flush))
    }

    fn of(word: &str) -> Option<RequestKind> {
        RequestKind::ALL.into_iter().find(|kind| kind.word() == word.trim())
    }
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// First byte, from the start of the target.
    pub offset: u64,
    /// Number of bytes; 0 for a flush.
    pub length: u32,
    /// Its kind.
    pub kind: RequestKind,
}

impl Default for Request {
    fn default() -> Self {
        Request { offset: 0, length: 0, kind: RequestKind::Read }
    }
}

/// Kinds of a workload's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Reads only.
    #[default]
    Read,
    /// Writes only.
    Write,
    /// Trims only.
    Trim,
    /// Flushes only.
    Flush,
    /// A trim, then a write of the same bytes, and so on.
    TrimWrite,
    /// Several kinds, drawn at random.
    Mix(Mix),
}

/// Shares of a mix in percent; written `mix=70` for 70 % reads and 30 % writes, else `mix=read:60,write:30,trim:10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mix {
    /// By kind; they add up to 100, and at least two are not 0.
    percent: [u8; 4],
}

const CHOICES: &str =
    "read, write, trim, flush, trim_write, mix=PERCENT (share of reads, 1 to 99), mix=read:60,write:30,trim:9,flush:1";

impl Mix {
    /// Reads and writes; none unless reads are 1 to 99 %.
    pub fn of_reads(percent: u8) -> Option<Mix> {
        (1..=99).contains(&percent).then(|| Mix { percent: [percent, 100 - percent, 0, 0] })
    }

    /// Share of a kind in percent.
    pub fn percent(self, kind: RequestKind) -> u8 {
        self.percent[kind as usize]
    }
}

impl Operation {
    /// The mix of these numbers of requests by kind, in whole percent; a kind that is there has at least 1.
    pub fn of_counts(requests: [u64; 4]) -> Operation {
        let total: u64 = requests.iter().sum();
        let share =
            |count: u64| if count == 0 { 0 } else { (count as f64 * 100.0 / total as f64).round().max(1.0) as u8 };
        let mut percent = requests.map(share);
        // The most frequent kind takes what rounding left.
        let others: u8 = percent.iter().sum::<u8>() - percent.iter().max().unwrap_or(&0);
        if let Some(most) = percent.iter_mut().max() {
            *most = 100 - others;
        }
        match RequestKind::ALL.into_iter().find(|kind| percent[*kind as usize] == 100) {
            Some(RequestKind::Read) => Operation::Read,
            Some(RequestKind::Write) => Operation::Write,
            Some(RequestKind::Trim) => Operation::Trim,
            Some(RequestKind::Flush) => Operation::Flush,
            None => Operation::Mix(Mix { percent }),
        }
    }

    /// Share of a kind in percent.
    pub fn percent(self, kind: RequestKind) -> u8 {
        match self {
            Operation::Mix(mix) => mix.percent(kind),
            Operation::TrimWrite => 50 * u8::from(matches!(kind, RequestKind::Trim | RequestKind::Write)),
            only => 100 * u8::from(only.only() == Some(kind)),
        }
    }

    /// The one kind of all requests; none for a mix.
    pub fn only(self) -> Option<RequestKind> {
        match self {
            Operation::Read => Some(RequestKind::Read),
            Operation::Write => Some(RequestKind::Write),
            Operation::Trim => Some(RequestKind::Trim),
            Operation::Flush => Some(RequestKind::Flush),
            Operation::TrimWrite | Operation::Mix(_) => None,
        }
    }

    /// Whether some requests are of this kind.
    pub fn has(self, kind: RequestKind) -> bool {
        self.percent(kind) > 0
    }

    /// Whether some requests read.
    pub fn reads(self) -> bool {
        self.has(RequestKind::Read)
    }

    /// Whether some requests write.
    pub fn writes(self) -> bool {
        self.has(RequestKind::Write)
    }

    /// Whether writes or trims destroy data of the target.
    pub fn destroys(self) -> bool {
        self.writes() || self.has(RequestKind::Trim)
    }
}

impl Value for Mix {
    fn exact(&self) -> Option<String> {
        if let [read, _, 0, 0] = self.percent {
            return Some(read.to_string());
        }
        let shares = RequestKind::ALL.into_iter().filter(|kind| self.percent(*kind) > 0);
        let shares: Vec<_> = shares.map(|kind| format!("{}:{}", kind.word(), self.percent(kind))).collect();
        Some(shares.join(","))
    }
}

fn mix(text: &str) -> Option<Mix> {
    let number = |text: &str| text.trim().trim_end_matches('%').parse().ok().filter(|share| (1..=99).contains(share));
    if let Some(percent) = number(text) {
        return Mix::of_reads(percent);
    }
    let mut percent = [0_u8; 4];
    for share in text.split(',') {
        let (name, value) = share.split_once(':')?;
        let of_kind = &mut percent[RequestKind::of(name)? as usize];
        *of_kind = number(value).filter(|_| *of_kind == 0)?;
    }
    (percent.iter().map(|percent| u32::from(*percent)).sum::<u32>() == 100).then_some(Mix { percent })
}

forms!(Operation, |_| CHOICES, { "read" => Read, "write" => Write, "trim" => Trim, "flush" => Flush, "trim_write" => TrimWrite, },
    { "mix" => Mix { 0: mix } = mix, });

/// Weighted sizes by operation. Written `4KiB:70/64KiB:30` for every operation, or
/// `read=4KiB:70/64KiB:30,write=64KiB`; a missing weight is 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sizes {
    /// Sizes and weights by kind; empty for unspecified kinds.
    by_kind: [Vec<(Bytes, u32)>; 4],
}

const SIZE_CHOICES: &str =
    "a list of sizes and weights, like 4KiB:70/64KiB:30 or read=4KiB:70/64KiB:30,write=64KiB (weights up to 1000)";

impl Sizes {
    /// Whether every request has the one request size.
    pub fn is_empty(&self) -> bool {
        self.by_kind.iter().all(Vec::is_empty)
    }

    /// The sizes of a kind with their weights; empty if all have the one request size.
    pub fn of(&self, kind: RequestKind) -> &[(Bytes, u32)] {
        &self.by_kind[kind as usize]
    }

    /// Every size of every kind.
    pub fn all(&self) -> impl Iterator<Item = Bytes> {
        self.by_kind.iter().flatten().map(|(size, _)| *size)
    }
}

fn weighted(list: &str) -> Option<Vec<(Bytes, u32)>> {
    let one = |item: &str| {
        let (size, weight) = item.split_once(':').unwrap_or((item, "1"));
        let size: Bytes = size.parse().ok()?;
        let weight: u32 = weight.trim().trim_end_matches('%').parse().ok()?;
        (size.0 > 0 && (1..=1000).contains(&weight)).then_some((size, weight))
    };
    list.split('/').map(one).collect()
}

impl FromStr for Sizes {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let unknown = || ChoiceError::new(text, SIZE_CHOICES);
        let mut sizes = Sizes::default();
        if !text.contains('=') {
            sizes.by_kind[..3].fill(weighted(text).ok_or_else(unknown)?);
            return Ok(sizes);
        }
        for part in text.split(',') {
            let (name, list) = part.split_once('=').ok_or_else(unknown)?;
            let kind = RequestKind::of(name).filter(|kind| *kind != RequestKind::Flush).ok_or_else(unknown)?;
            sizes.by_kind[kind as usize] = weighted(list).ok_or_else(unknown)?;
        }
        Ok(sizes)
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |list: &[(Bytes, u32)]| {
            let items = list.iter().map(|(size, weight)| format!("{}:{weight}", size.exactly()));
            items.collect::<Vec<_>>().join("/")
        };
        let [read, write, trim, _] = &self.by_kind;
        if read == write && write == trim {
            return f.write_str(&list(read));
        }
        let parts = RequestKind::ALL.into_iter().filter(|kind| !self.of(*kind).is_empty());
        let parts: Vec<_> = parts.map(|kind| format!("{}={}", kind.word(), list(self.of(kind)))).collect();
        f.write_str(&parts.join(","))
    }
}

by_text!(Sizes);
