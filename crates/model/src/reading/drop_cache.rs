//! Dropping targets from the page cache.

use crate::units::{Bytes, significant};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A target counts as cold with less than this share of it in the cache.
pub const COLD: f64 = 0.01;

/// Targets that were dropped from the page cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DroppedCache {
    /// Each target, in the order they were named.
    pub targets: Vec<DroppedTarget>,
}

/// One target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DroppedTarget {
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

impl DroppedTarget {
    /// Share of it in the file cache now; none where the kernel does not tell.
    pub fn cached_now(&self) -> Option<f64> {
        self.steps.last().map_or(self.cached_before, |step| step.cached_after)
    }

    /// Whether the next buffered read is cold; not where nobody tells.
    pub fn is_cold(&self) -> bool {
        self.cached_now().is_some_and(|share| share < COLD)
    }
}

impl DroppedCache {
    /// What the reader came for: whether the next buffered reads are cold.
    pub fn verdict(&self) -> String {
        match &self.targets[..] {
            [target] => match (target.cached_now(), target.is_cold()) {
                (None, _) => format!("cold or not, nobody knows; {}", cached_share(None)),
                (share, true) => format!("cold: {} of it in the file cache", cached_share(share)),
                (share, false) => format!("not cold: {} of it in the file cache", cached_share(share)),
            },
            targets => match targets.iter().filter(|target| !target.is_cold()).count() {
                0 => format!("cold: all {} targets", targets.len()),
                warm => format!("not cold, or nobody knows: {warm} of {} targets", targets.len()),
            },
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Way::Advice => "flushed and let go of",
            Way::DropCaches => "all caches dropped",
            Way::ScratchFile => "scratch file read",
        })
    }
}

/// A share of a target in percent, or that nobody tells.
pub fn cached_share(share: Option<f64>) -> String {
    share.map_or_else(
        || "unknown: the kernel tells it to who may write the file".to_owned(),
        |share| format!("{} %", significant(share * 100.0)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_knows_is_not_said_to_be_cold() {
        let target = |share| DroppedTarget {
            path: "file".to_owned(),
            size_bytes: Bytes::MIB,
            cached_before: Some(1.0),
            steps: vec![Step { way: Way::Advice, cached_after: share }],
        };
        let verdict = |shares: &[Option<f64>]| {
            DroppedCache { targets: shares.iter().map(|share| target(*share)).collect() }.verdict()
        };
        assert_eq!(verdict(&[Some(0.002)]), "cold: 0.2 % of it in the file cache");
        assert_eq!(verdict(&[Some(0.01)]), "not cold: 1 % of it in the file cache");
        assert!(verdict(&[None]).starts_with("cold or not, nobody knows; unknown: "));
        assert_eq!(verdict(&[Some(0.0), Some(0.0)]), "cold: all 2 targets");
        assert_eq!(verdict(&[Some(0.0), None, Some(0.5)]), "not cold, or nobody knows: 2 of 3 targets");
    }
}
