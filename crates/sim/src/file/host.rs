//! The keys of processors and of the operating system.

use super::Said;
use crate::machine::{Cost, FileCache, Fill, Growth, OperatingSystem, SlowReads, SplitAt};
use halfpower_model::{Bytes, Nanoseconds};
use serde::Deserialize;
use std::str::FromStr;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ProcessorKeys {
    /// How many.
    pub(super) count: u32,
    /// What they are called.
    pub(super) model: String,
    /// Main memory of the machine.
    pub(super) memory: Said<Bytes>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SystemKeys {
    /// What it is called.
    pub(super) name: String,
    /// Direct requests beyond this are cut into pieces of it.
    pub(super) split: Option<Said<Bytes>>,
    /// volume or disk: whether a request is cut before it comes to a volume that the system makes, as the file systems of
    /// Windows do, or what each of its disks is given, as Linux does by each disk's max_sectors_kb.
    #[serde(default)]
    pub(super) split_at: Said<SplitAt>,
    /// Processor time of a direct read.
    pub(super) direct_read: CostKeys,
    /// Processor time of a direct write.
    pub(super) direct_write: CostKeys,
    /// The part of it that comes after the bytes, 0 to 1.
    pub(super) completion_share: f64,
    /// The file cache; none: requests that go through one are refused.
    pub(super) cache: Option<CacheKeys>,
    /// free or serial: whether writes that extend a file go as they come, or one after another, with noughts in the gap
    /// before a write.
    #[serde(default)]
    pub(super) growth: Said<Growth>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CacheKeys {
    /// Processor time of a read that it has: the call, and the copy.
    pub(super) read: CostKeys,
    /// Processor time of a write into it.
    pub(super) write: CostKeys,
    /// Processor time of a request of its own, beside that of a direct one; nobody waits for it.
    #[serde(default)]
    pub(super) paging: Said<Nanoseconds>,
    /// The part of memory that it may take, 0 to 1.
    pub(super) share: f64,
    /// The part of memory that may be dirty before writers wait, 0 to 1.
    pub(super) dirty_share: f64,
    /// How long after a scan for dirty pages the next begins, unless a writer waits for room.
    pub(super) scan: Said<Nanoseconds>,
    /// page or frame: what a write of a part of it reads first.
    pub(super) fill: Said<Fill>,
    /// Reads of more than so many bytes are not read ahead, and each of their pieces waits; none: there are none such.
    pub(super) slow_reads: Option<SlowReadsKeys>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SlowReadsKeys {
    /// The longest that are not concerned.
    pub(super) above: Said<Bytes>,
    /// How long each piece of 64 KiB waits.
    pub(super) wait: Said<Nanoseconds>,
}

impl FromStr for Growth {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        super::word("growth", &Growth::WORDS, text)
    }
}

impl FromStr for SplitAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        super::word("place to split at", &SplitAt::WORDS, text)
    }
}

impl FromStr for Fill {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        super::word("fill", &Fill::WORDS, text)
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CostKeys {
    /// Time a request.
    pub(super) fixed: Said<Nanoseconds>,
    /// Time a KiB.
    pub(super) marginal: Said<Nanoseconds>,
}

impl CostKeys {
    pub(super) fn cost(self) -> Cost {
        Cost { fixed_us: self.fixed.0.0 as f64 / 1e3, marginal_us_per_kib: self.marginal.0.0 as f64 / 1e3 }
    }
}

impl CacheKeys {
    /// Of a machine with so much memory.
    fn cache(&self, memory: Bytes) -> FileCache {
        let part = |share: f64| Bytes((memory.0 as f64 * share) as u64);
        FileCache {
            read: self.read.cost(),
            write: self.write.cost(),
            paging_ns: self.paging.0.0,
            capacity: part(self.share),
            dirty_limit: part(self.dirty_share),
            scan_ns: self.scan.0.0,
            fill: self.fill.0,
            slow_reads: self.slow_reads.map(|keys| SlowReads { above: keys.above.0, wait_ns: keys.wait.0.0 }),
        }
    }
}

impl SystemKeys {
    /// What is wrong with a figure, if one is.
    pub(super) fn mistake(&self) -> Option<&'static str> {
        let is_share = |share: f64| (0.0..=1.0).contains(&share);
        if !is_share(self.completion_share) {
            return Some("completion-share lies between 0 and 1");
        }
        let is_cache = |cache: &CacheKeys| is_share(cache.share) && (0.0..=cache.share).contains(&cache.dirty_share);
        (!self.cache.as_ref().is_none_or(is_cache))
            .then_some("the cache's share lies between 0 and 1, and its dirty-share between 0 and that")
    }

    /// On a machine with so much memory.
    pub(super) fn system(&self, memory: Bytes) -> OperatingSystem {
        OperatingSystem {
            name: self.name.clone(),
            split: self.split.map(|split| split.0),
            split_at: self.split_at.0,
            direct_read: self.direct_read.cost(),
            direct_write: self.direct_write.cost(),
            completion_share: self.completion_share,
            cache: self.cache.map(|cache| cache.cache(memory)),
            growth: self.growth.0,
        }
    }
}
