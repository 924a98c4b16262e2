//! The keys of processors and of the operating system.

use super::bounds::{Blocks, Clock, Count, LEAST_CALL, Long, MOST_BYTES, Share, Short, Size, Time, Word};
use super::error::Wrong;
use super::table::table;
use crate::machine::{Cost, Fill, Growth, OperatingSystem, PageCache, Parallel, SlowReads, SplitAt};
use halfpower_model::Bytes;

table! { ProcessorKeys {
    /// number of CPU cores
    count: Count<1, 4096>,
    /// CPU model
    model: String,
    /// clock frequency, for CPU cost in clocks per byte. The file's CPU times hold at this clock and scale with `--set
    /// processor.clock=1466MHz`
    clock: Option<Clock>,
    /// main memory
    memory: Size<{ 1 << 20 }, MOST_BYTES>,
} }

table! { SystemKeys {
    /// name of the system
    name: String,
    /// direct requests above this size are split into parts of it
    split: Option<Blocks<512, { 1 << 30 }>>,
    /// split a request above a software volume (`volume`), or for each of its disks (`disk`)
    split_at: Word<SplitAt> = default,
    /// CPU time of a direct read; a request without any cost takes 1 ns
    direct_read: CostKeys,
    /// the same for a write
    direct_write: CostKeys,
    /// share of that CPU time after the data transfer
    completion_share: Share,
    /// the page cache; without it buffered requests are rejected
    cache: Option<CacheKeys>,
    /// writes that extend a file run in parallel (`free`), or one by one with zeros in the gap before them (`serial`)
    growth: Word<Growth> = default,
} }

table! { CacheKeys {
    /// CPU time of a read from the cache: call and copy; `fixed` is at least 50 ns
    read: CostKeys,
    /// the same for a write into it
    write: CostKeys,
    /// CPU time of one of the cache's own requests, on top of a direct one; nobody waits for it
    paging: Short = default,
    /// maximum share of memory for the cache, at least 1 MiB
    share: Share,
    /// dirty share of memory above which writers wait; at most `share`
    dirty_share: Share,
    /// pause between two scans for dirty pages; a writer that waits for room starts one at once
    scan: Time<10_000_000, 3_600_000_000_000>,
    /// unit that a partial write reads first
    fill: Word<Fill>,
    /// long reads without read-ahead; without it all are read ahead
    slow_reads: Option<SlowReadsKeys>,
    /// the cache's own requests; without it there is one read per target and one write in all, of at most 64 KiB, and a write
    /// that must read first waits for the end of a scan
    parallel: Option<ParallelKeys>,
} }

table! { ParallelKeys {
    /// reads of the cache per target at once; each request with missing pages reads them itself, and so does the read-ahead
    reads: Count<1, 65_536>,
    /// writes of the cache per target at once
    writes: Count<1, 65_536>,
    /// maximum size of either; neighbours are joined
    largest: Size<{ 64 << 10 }, { 64 << 20 }>,
} }

table! { SlowReadsKeys {
    /// longer reads get no read-ahead, and each part of them waits
    above: Size<0, { 1 << 30 }>,
    /// wait of each part of 64 KiB
    wait: Long,
} }

table! { CostKeys {
    /// CPU time per request
    fixed: Short,
    /// CPU time per KiB
    marginal: Time<0, 100_000_000>,
} }

impl CostKeys {
    pub(super) fn cost(&self) -> Cost {
        Cost { fixed_us: self.fixed.0.0 as f64 / 1e3, marginal_us_per_kib: self.marginal.0.0 as f64 / 1e3 }
    }
}

/// Less than that has no room for what is read and what is written at the same time.
const LEAST_CACHE: Bytes = Bytes(1 << 20);

impl CacheKeys {
    /// Of a machine with so much memory.
    fn cache(&self, memory: Bytes) -> PageCache {
        let part = |share: f64| Bytes((memory.0 as f64 * share) as u64);
        PageCache {
            read: self.read.cost(),
            write: self.write.cost(),
            paging_ns: self.paging.0.0,
            capacity: part(self.share.0),
            dirty_limit: part(self.dirty_share.0),
            scan_ns: self.scan.0.0,
            fill: self.fill.0,
            slow_reads: self.slow_reads.as_ref().map(|keys| SlowReads { above: keys.above.0, wait_ns: keys.wait.0.0 }),
            parallel: self.parallel.as_ref().map(|ParallelKeys { reads, writes, largest }| Parallel {
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
        for (call, cost) in [("read", &cache.read), ("write", &cache.write)] {
            if cost.fixed.0 < LEAST_CALL {
                let message = format!("it has to be at least {LEAST_CALL}");
                return Err(Wrong::at(&[&key(call)[..], &["fixed"]].concat(), message));
            }
        }
        if cache.dirty_share.0 > cache.share.0 {
            return Err(Wrong::at(&key("dirty-share"), "it has to be at most share"));
        }
        let capacity = cache.cache(memory).capacity;
        if capacity < LEAST_CACHE {
            let message =
                format!("it leaves the cache {capacity}, and it needs {LEAST_CACHE}; for no cache leave the table out");
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
            cache: self.cache.as_ref().map(|cache| cache.cache(memory)),
            growth: self.growth.0,
        }
    }
}
