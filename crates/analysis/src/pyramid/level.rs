//! One level of a pyramid.

use halfpower_model::{BytesPerSecond, Estimate};
use serde::Serialize;

/// A rate this far beyond the peak is not noise.
const BEYOND: f64 = 1.05;

/// One level.
#[derive(Clone, Debug, Serialize)]
pub struct PyramidLevel {
    /// Its kind.
    pub level: Stage,
    /// Its name on this machine; may be empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<String>,
    /// Advertised peak; none if unknown. A mirror leaves a part of it for writes.
    pub pap_bytes_per_s: Option<BytesPerSecond>,
    /// Its source, or why it is unknown.
    pub pap_source: String,
    /// Real performance in bytes per second.
    pub rap: Option<Estimate>,
    /// Its source, or why it is unknown.
    pub rap_source: String,
    /// RAP over PAP.
    pub share: Option<f64>,
    /// Whether that is at least half.
    pub half: Half,
    /// Its role in the search for the bottleneck.
    pub standing: Standing,
    /// Its capacity: peak or separate measurement, the smaller.
    #[serde(skip)]
    pub(super) capacity: Option<f64>,
    /// Its throughput with the storage at its best; none if bypassed.
    #[serde(skip)]
    pub(super) through: Option<f64>,
    /// Whether all targets share it.
    #[serde(skip)]
    pub(super) is_shared: bool,
}

/// Kinds of levels: those of a record and the software between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Memory.
    Memory,
    /// Memory copy by the CPUs.
    MemoryCopy,
    /// Page cache.
    FileCache,
    /// The file system.
    FileSystem,
    /// Stacked devices: dm, md, loop.
    Stack,
    /// Limit of a control group.
    Limit,
    /// Bus of the controllers, or another shared path.
    Bus,
    /// Link of the device.
    Link,
    /// The device.
    Device,
}

/// Whether RAP reaches half of PAP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Half {
    /// Yes.
    Reached,
    /// No.
    Missed,
    /// Unknown, or the interval includes the half.
    CannotTell,
    /// Beyond the peak, which is wrong, or a cache answered.
    BeyondPeak,
}

/// Role of a level in the search for the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The bottleneck.
    Bottleneck,
    /// Ruled out: it had room.
    RuledOut,
    /// Undecided.
    Open,
    /// The best requests bypassed it.
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
            Stage::Limit => "control group limit",
            Stage::Bus => "bus",
            Stage::Link => "link",
            Stage::Device => "device",
        }
    }

    /// Whether it is between page cache and medium.
    pub(super) fn is_storage(self) -> bool {
        self >= Stage::FileSystem
    }
}

impl Half {
    /// Of a figure and its peak.
    pub(super) fn of(rap: Option<Estimate>, pap: Option<f64>) -> Half {
        let Some((rap, pap)) = rap.zip(pap) else { return Half::CannotTell };
        // An interval that includes the peak may mean the peak; one that begins below half of the value is too wide to decide.
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
