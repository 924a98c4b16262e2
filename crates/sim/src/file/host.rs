//! The keys of processors and of the operating system.

use super::bounds::{
    Blocks, Clock, Count, LEAST_CALL_NS, Long, MOST_BYTES, Named, SECOND, Share, Short, Size, Time, Word,
};
use super::error::Wrong;
use crate::machine::{Cost, FileCache, Fill, Growth, OperatingSystem, Parallel, SlowReads, SplitAt};
use halfpower_model::Bytes;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ProcessorKeys {
    /// How many.
    pub(super) count: Count<1, 4096>,
    /// What they are called.
    pub(super) model: String,
    /// How fast they run.
    pub(super) clock: Option<Clock>,
    /// Main memory of the machine.
    pub(super) memory: Size<{ 1 << 20 }, MOST_BYTES>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SystemKeys {
    /// What it is called.
    pub(super) name: String,
    /// Direct requests beyond this are cut into pieces of it.
    pub(super) split: Option<Blocks<512, { 1 << 30 }>>,
    /// volume or disk: whether a request is cut before it comes to a volume that the system makes, as the file systems of
    /// Windows do, or what each of its disks is given, as Linux does by each disk's max_sectors_kb.
    #[serde(default)]
    pub(super) split_at: Word<SplitAt>,
    /// Processor time of a direct read.
    pub(super) direct_read: CostKeys,
    /// Processor time of a direct write.
    pub(super) direct_write: CostKeys,
    /// The part of it that comes after the bytes, 0 to 1.
    pub(super) completion_share: Share,
    /// The file cache; none: requests that go through one are refused.
    pub(super) cache: Option<CacheKeys>,
    /// free or serial: whether writes that extend a file go as they come, or one after another, with noughts in the gap
    /// before a write.
    #[serde(default)]
    pub(super) growth: Word<Growth>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CacheKeys {
    /// Processor time of a read that it has: the call, and the copy.
    pub(super) read: CostKeys<LEAST_CALL_NS>,
    /// Processor time of a write into it.
    pub(super) write: CostKeys<LEAST_CALL_NS>,
    /// Processor time of a request of its own, beside that of a direct one; nobody waits for it.
    #[serde(default)]
    pub(super) paging: Short,
    /// The part of memory that it may take, 0 to 1.
    pub(super) share: Share,
    /// The part of memory that may be dirty before writers wait, 0 to 1.
    pub(super) dirty_share: Share,
    /// How long after a scan for dirty pages the next begins, unless a writer waits for room.
    pub(super) scan: Time<10_000_000, 3_600_000_000_000>,
    /// page or frame: what a write of a part of it reads first.
    pub(super) fill: Word<Fill>,
    /// Reads of more than so many bytes are not read ahead, and each of their pieces waits; none: there are none such.
    pub(super) slow_reads: Option<SlowReadsKeys>,
    /// How many requests of its own there are at once, and how long; none: one that reads each target and one that writes, of
    /// 64 KiB.
    pub(super) parallel: Option<ParallelKeys>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ParallelKeys {
    /// How many read a target at once.
    pub(super) reads: Count<1, 65_536>,
    /// How many write to it.
    pub(super) writes: Count<1, 65_536>,
    /// The longest of either.
    pub(super) largest: Size<{ 64 << 10 }, { 64 << 20 }>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SlowReadsKeys {
    /// The longest that are not concerned.
    pub(super) above: Size<0, { 1 << 30 }>,
    /// How long each piece of 64 KiB waits.
    pub(super) wait: Long,
}

impl Named for Growth {
    const WORDS: &'static [(&'static str, Self)] = &Growth::WORDS;
}

impl Named for SplitAt {
    const WORDS: &'static [(&'static str, Self)] = &SplitAt::WORDS;
}

impl Named for Fill {
    const WORDS: &'static [(&'static str, Self)] = &Fill::WORDS;
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CostKeys<const LEAST_NS: u64 = 0> {
    /// Time a request.
    pub(super) fixed: Time<LEAST_NS, SECOND>,
    /// Time a KiB.
    pub(super) marginal: Time<0, 100_000_000>,
}

impl<const LEAST_NS: u64> CostKeys<LEAST_NS> {
    pub(super) fn cost(self) -> Cost {
        Cost { fixed_us: self.fixed.0.0 as f64 / 1e3, marginal_us_per_kib: self.marginal.0.0 as f64 / 1e3 }
    }
}

/// Less than that has no room for what is read and what is written at the same time.
const LEAST_CACHE: Bytes = Bytes(1 << 20);

impl CacheKeys {
    /// Of a machine with so much memory.
    fn cache(&self, memory: Bytes) -> FileCache {
        let part = |share: f64| Bytes((memory.0 as f64 * share) as u64);
        FileCache {
            read: self.read.cost(),
            write: self.write.cost(),
            paging_ns: self.paging.0.0,
            capacity: part(self.share.0),
            dirty_limit: part(self.dirty_share.0),
            scan_ns: self.scan.0.0,
            fill: self.fill.0,
            slow_reads: self.slow_reads.map(|keys| SlowReads { above: keys.above.0, wait_ns: keys.wait.0.0 }),
            parallel: self.parallel.map(|ParallelKeys { reads, writes, largest }| Parallel {
                reads: reads.0,
                writes: writes.0,
                largest: largest.0,
            }),
        }
    }
}

impl SystemKeys {
    /// Holds what depends on one another, on a machine with so much memory; `place` is where its keys are.
    ///
    /// # Errors
    /// What cannot be.
    pub(super) fn check(&self, place: &[&str], memory: Bytes) -> Result<(), Wrong> {
        let Some(cache) = &self.cache else { return Ok(()) };
        let key = |key| [place, &["cache", key]].concat();
        if cache.dirty_share.0 > cache.share.0 {
            return Err(Wrong::at(&key("dirty-share"), "it has to be no more than share, of which it is a part"));
        }
        let capacity = cache.cache(memory).capacity;
        if capacity < LEAST_CACHE {
            let message = format!(
                "it leaves the cache {capacity} of the memory, and it needs {LEAST_CACHE}; without one leave the table out"
            );
            return Err(Wrong::at(&key("share"), message));
        }
        Ok(())
    }

    /// On a machine with so much memory.
    pub(super) fn system(&self, memory: Bytes) -> OperatingSystem {
        OperatingSystem {
            name: self.name.clone(),
            split: self.split.map(|split| split.0),
            split_at: self.split_at.0,
            direct_read: self.direct_read.cost(),
            direct_write: self.direct_write.cost(),
            completion_share: self.completion_share.0,
            cache: self.cache.map(|cache| cache.cache(memory)),
            growth: self.growth.0,
        }
    }
}
