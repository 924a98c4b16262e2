//! One level of a pyramid, and how it stands.

use halfpower_model::{BytesPerSecond, Estimate};
use serde::Serialize;

/// What is beyond the peak it is held against by more than this is not noise.
const BEYOND: f64 = 1.05;

/// One level of it.
#[derive(Clone, Debug, Serialize)]
pub struct PyramidLevel {
    /// Which.
    pub level: Stage,
    /// What it consists of on this machine; empty where it has no name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<String>,
    /// Peak advertised performance; none where nobody tells. Of a mirror, what it leaves for writes.
    pub pap_bytes_per_s: Option<BytesPerSecond>,
    /// Where that is from, or why there is none.
    pub pap_source: String,
    /// Real performance, in bytes a second; none where nothing measured it.
    pub rap: Option<Estimate>,
    /// What showed it, or why nothing did.
    pub rap_source: String,
    /// RAP over PAP.
    pub share: Option<f64>,
    /// Whether that is half at least.
    pub half: Half,
    /// How it stands in the question of the bottleneck.
    pub standing: Standing,
}

/// The levels of a pyramid: those of a record, and the software between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The machine's memory.
    Memory,
    /// The processors copying from memory to memory.
    MemoryCopy,
    /// The kernel's file cache.
    FileCache,
    /// The file system.
    FileSystem,
    /// What makes the target of other devices: dm, md, loop.
    Stack,
    /// What a control group lets through.
    Limit,
    /// What controllers are attached by, and whatever else several devices may share.
    Bus,
    /// What the device itself is attached by.
    Link,
    /// The device.
    Device,
}

/// Whether RAP reaches half of PAP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Half {
    /// It does.
    Reached,
    /// It does not.
    Missed,
    /// One of them is not known, or the interval holds the half.
    CannotTell,
    /// It passes the whole: the peak is wrong, or a cache answered.
    BeyondPeak,
}

/// How a level stands in the question of the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is.
    Bottleneck,
    /// It is not: it had more to give.
    RuledOut,
    /// It may be or not.
    Open,
    /// The best requests went past it.
    NotPassed,
}

impl Stage {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Memory => "memory",
            Stage::MemoryCopy => "memory copy",
            Stage::FileCache => "page cache",
            Stage::FileSystem => "file system",
            Stage::Stack => "stack",
            Stage::Limit => "control group",
            Stage::Bus => "bus",
            Stage::Link => "link",
            Stage::Device => "device",
        }
    }

    /// Whether it is on the way between the file cache and the medium, which every request to the storage goes.
    pub(super) fn is_storage(self) -> bool {
        self >= Stage::FileSystem
    }
}

impl Half {
    /// Of a figure against its peak.
    pub(super) fn of(rap: Option<Estimate>, pap: Option<f64>) -> Half {
        let Some((rap, pap)) = rap.zip(pap) else { return Half::CannotTell };
        // Where the interval holds the peak, it is as likely the peak that was reached. One that reaches below half of
        // its own figure is too wide to say so.
        if rap.value > pap * BEYOND && rap.low.unwrap_or(rap.value).max(rap.value / 2.0) > pap {
            return Half::BeyondPeak;
        }
        let half = pap / 2.0;
        match (rap.low.unwrap_or(rap.value) >= half, rap.high.unwrap_or(rap.value) < half) {
            (true, _) => Half::Reached,
            (_, true) => Half::Missed,
            _ => Half::CannotTell,
        }
    }
}
