//! Scrubbing: making the next buffered read of a target cold.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What scrubbing came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scrubbed {
    /// Each target, in the order they were named.
    pub targets: Vec<ScrubbedTarget>,
}

/// One target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScrubbedTarget {
    /// As it was named.
    pub path: String,
    /// Bytes it holds.
    pub size_bytes: Bytes,
    /// Share of it that was in the file cache; none where the kernel does not tell.
    pub cached_before: Option<f64>,
    /// What was done, in order, each with the share that was left after it.
    pub steps: Vec<Step>,
}

/// Something done to empty the cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What.
    pub way: Way,
    /// Share of the target in the file cache afterwards; none where the kernel does not tell.
    pub cached_after: Option<f64>,
}

/// The ways to empty the cache, the gentlest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The target flushed, and the kernel told that nobody will need it (posix_fadvise).
    Advice,
    /// The whole cache of the machine dropped (/proc/sys/vm/drop_caches).
    DropCaches,
    /// A scratch file read until it has pushed the target out, as the studies did.
    ScratchFile,
}

impl ScrubbedTarget {
    /// Share of it in the file cache now; none where the kernel does not tell.
    pub fn cached_now(&self) -> Option<f64> {
        self.steps.last().map_or(self.cached_before, |step| step.cached_after)
    }
}
