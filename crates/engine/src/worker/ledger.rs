//! The expected contents of every block of a verified target: its generation, and whether a request is using it.
//!
//! Overlapping requests would race and cause false mismatches. So a request of any worker claims its blocks before its submission
//! and releases them at its completion; a request whose blocks are claimed waits.

use crate::shared_memory::{Handle, Shared};
use halfpower_model::content::{Mismatch, Stamper, UNWRITTEN};
use halfpower_model::stream::{Request, RequestKind, RequestStream};
use halfpower_model::{Sharing, Workload};
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A request uses the block.
const BUSY: u32 = 1 << 31;
/// Its last write failed: the block may hold either generation.
const UNSURE: u32 = 1 << 30;
/// The other bits are the generation.
const GENERATION: u32 = UNSURE - 1;

/// The blocks of every volume of a workload; with handles for its memory, for another process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ledger<B = Shared<AtomicU32>, C = Shared<AtomicU64>> {
    seed: u64,
    block_bytes: u64,
    blocks_a_volume: usize,
    blocks: B,
    /// Blocks checked, and found wrong.
    counts: C,
}

/// The volumes of a ledger from one on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Volumes<'a> {
    ledger: &'a Ledger,
    first: usize,
}

/// The same, for a worker's process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LedgerHandle {
    ledger: Ledger<Handle, Handle>,
    first: usize,
}

impl LedgerHandle {
    /// The descriptors for a process to inherit.
    pub(crate) fn descriptors(&self) -> [RawFd; 2] {
        [self.ledger.blocks.descriptor, self.ledger.counts.descriptor]
    }
}

impl<'a> Volumes<'a> {
    /// A handle for another process.
    pub(crate) fn handle(self) -> LedgerHandle {
        let Ledger { seed, block_bytes, blocks_a_volume, ref blocks, ref counts } = *self.ledger;
        let (blocks, counts) = (blocks.handle(), counts.handle());
        LedgerHandle { ledger: Ledger { seed, block_bytes, blocks_a_volume, blocks, counts }, first: self.first }
    }

    /// The page of a volume, counted from the first.
    pub(crate) fn page(self, volume: usize) -> Page<'a> {
        self.ledger.page(self.first + volume)
    }
}

/// The ledger of one volume, as a worker sees it.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    stamper: Stamper,
    block_bytes: u64,
    blocks: &'a [AtomicU32],
    counts: &'a [AtomicU64],
}

impl Ledger {
    /// A ledger without written blocks.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub(crate) fn new(workload: &Workload) -> io::Result<Ledger> {
        let block_bytes = workload.verify_block().0;
        let blocks_a_volume = usize::try_from(workload.span.0.div_ceil(block_bytes)).map_err(io::Error::other)?;
        let blocks = Shared::new(blocks_a_volume * workload.volumes() as usize)?;
        Ok(Ledger { seed: workload.seed, block_bytes, blocks_a_volume, blocks, counts: Shared::new(2)? })
    }

    /// The ledger of the process that started this one, and its first volume.
    ///
    /// # Errors
    /// The kernel's.
    ///
    /// # Safety
    /// As of [`Shared::attach`], of both descriptors.
    pub(crate) unsafe fn attach(handle: LedgerHandle) -> io::Result<(Ledger, usize)> {
        let Ledger { seed, block_bytes, blocks_a_volume, blocks, counts } = handle.ledger;
        // SAFETY: the caller passes their ownership, and `Volumes::handle` made both of these types.
        let (blocks, counts) = unsafe { (Shared::attach(blocks)?, Shared::attach(counts)?) };
        Ok((Ledger { seed, block_bytes, blocks_a_volume, blocks, counts }, handle.first))
    }

    /// The ledger after each worker has submitted this number of requests of the workload's stream, of which `failed` failed.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub(crate) fn replay(workload: &Workload, submitted: &[u64], failed: &[(u32, Request)]) -> io::Result<Ledger> {
        let ledger = Ledger::new(workload)?;
        let cursors: Vec<_> = (0..workload.volumes()).map(|_| AtomicU64::new(0)).collect();
        for (worker, requests) in (0..).zip(submitted) {
            let volume = workload.volume_of(worker);
            let cursor = (workload.sharing == Sharing::Cursor).then(|| &cursors[volume]);
            let mut stream = RequestStream::new(workload, worker, cursor);
            let page = ledger.page(volume);
            let mut request = [Request::default()];
            for _ in 0..*requests {
                stream.fill(&mut request);
                if request[0].kind == RequestKind::Write {
                    page.blocks_of(&request[0]).iter().for_each(|block| {
                        block.fetch_add(1, Ordering::Relaxed);
                    });
                }
            }
        }
        for (worker, request) in failed {
            let page = ledger.page(workload.volume_of(*worker));
            page.blocks_of(request).iter().for_each(|block| {
                block.fetch_or(UNSURE, Ordering::Relaxed);
            });
        }
        Ok(ledger)
    }

    /// Its volumes from one on.
    pub(crate) fn volumes(&self, first: usize) -> Volumes<'_> {
        Volumes { ledger: self, first }
    }

    /// The page of a volume.
    fn page(&self, volume: usize) -> Page<'_> {
        let first = volume * self.blocks_a_volume;
        Page {
            stamper: Stamper::new(self.seed, volume as u32, self.block_bytes as usize),
            block_bytes: self.block_bytes,
            blocks: &self.blocks[first..first + self.blocks_a_volume],
            counts: &self.counts,
        }
    }

    /// Bytes of a volume up to the last written block: a file may end there.
    pub(crate) fn end(&self, volume: usize) -> u64 {
        self.page(volume).blocks.iter().rposition(is_written).map_or(0, |last| (last as u64 + 1) * self.block_bytes)
    }

    /// Releases the blocks of a volume that are still claimed after all workers have ended: their requests may or may not have been
    /// carried out. Returns these blocks as writes.
    pub(crate) fn abandon(&self, volume: usize) -> Vec<Request> {
        let mut requests: Vec<Request> = Vec::new();
        for (block, offset) in self.page(volume).blocks.iter().zip((0..).step_by(self.block_bytes as usize)) {
            let entry = block.load(Ordering::Relaxed);
            if entry & BUSY != 0 {
                block.store((entry & !BUSY) | UNSURE, Ordering::Relaxed);
                requests.push(Request { offset, length: self.block_bytes as u32, kind: RequestKind::Write });
            }
        }
        requests
    }

    /// Number of checked blocks.
    pub(crate) fn checked(&self) -> u64 {
        self.counts[0].load(Ordering::Relaxed)
    }

    /// Number of wrong blocks among them.
    pub(crate) fn wrong(&self) -> u64 {
        self.counts[1].load(Ordering::Relaxed)
    }
}

/// The generations that a block with this entry may hold.
fn admissible(entry: u32) -> RangeInclusive<u32> {
    let generation = entry & GENERATION;
    if entry & UNSURE == 0 { generation..=generation } else { generation.saturating_sub(1)..=generation }
}

/// Whether the block was certainly written, and so can be checked.
fn is_written(block: &AtomicU32) -> bool {
    !admissible(block.load(Ordering::Relaxed)).contains(&UNWRITTEN)
}

impl Page<'_> {
    fn blocks_of(&self, request: &Request) -> &[AtomicU32] {
        let first = (request.offset / self.block_bytes) as usize;
        let last = (request.offset + u64::from(request.length)).div_ceil(self.block_bytes) as usize;
        &self.blocks[first..last.max(first)]
    }

    /// Claims the blocks of a request; false if another request has one of them.
    pub(crate) fn claim(&self, request: &Request) -> bool {
        let blocks = self.blocks_of(request);
        let taken = blocks.iter().position(|block| block.fetch_or(BUSY, Ordering::Acquire) & BUSY != 0);
        if let Some(taken) = taken {
            blocks[..taken].iter().for_each(|block| {
                block.fetch_and(!BUSY, Ordering::Release);
            });
        }
        taken.is_none()
    }

    /// Stamps the data of a write, with the next generation for each claimed block.
    pub(crate) fn stamp(&self, buffer: &mut [u8], request: &Request) {
        self.blocks_of(request).iter().for_each(|block| {
            // Certain again if this write succeeds.
            let next = (block.load(Ordering::Relaxed) & GENERATION) + 1;
            block.store(BUSY | (next & GENERATION).max(1), Ordering::Relaxed);
        });
        let generation = |block: u64| self.blocks[block as usize].load(Ordering::Relaxed) & GENERATION;
        self.stamper.stamp(buffer, request.offset, generation);
    }

    /// Checks the data of a read.
    ///
    /// # Errors
    /// The first block that is not as written; every wrong one is counted.
    pub(crate) fn check(&self, buffer: &[u8], request: &Request) -> Result<(), Mismatch> {
        let entry = |block: u64| admissible(self.blocks[block as usize].load(Ordering::Relaxed));
        let blocks = self.blocks_of(request);
        let known = blocks.iter().filter(|block| is_written(block)).count();
        self.counts[0].fetch_add(known as u64, Ordering::Relaxed);
        let first = self.stamper.check(buffer, request.offset, entry);
        if first.is_err() {
            let block_bytes = self.block_bytes as usize;
            let each = buffer.chunks_exact(block_bytes).zip((request.offset..).step_by(block_bytes));
            let wrong = each.filter(|(block, offset)| self.stamper.check(block, *offset, entry).is_err()).count();
            self.counts[1].fetch_add(wrong as u64, Ordering::Relaxed);
        }
        first
    }

    /// Releases the blocks of a request; those of a failed write may hold either generation.
    pub(crate) fn release(&self, request: &Request, failed: bool) {
        let unsure = if failed && request.kind == RequestKind::Write { UNSURE } else { 0 };
        self.blocks_of(request).iter().for_each(|block| {
            let entry = block.load(Ordering::Relaxed) & !BUSY;
            block.store(entry | unsure, Ordering::Release);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::Bytes;

    #[test]
    fn abandoned_blocks_are_released_and_may_hold_either_generation() {
        let workload = Workload { request_size: Bytes(4096), span: Bytes(1 << 20), ..Workload::default() };
        let ledger = Ledger::new(&workload).unwrap();
        let page = ledger.page(0);
        let write = |offset, length| Request { offset, length, kind: RequestKind::Write };
        let (done, cut_off) = (write(0, 16384), write(8192, 8192));
        let (mut older, mut newer) = (vec![0; 16384], vec![0; 8192]);
        assert!(page.claim(&done));
        page.stamp(&mut older, &done);
        page.release(&done, false);
        assert!(page.claim(&cut_off));
        page.stamp(&mut newer, &cut_off);
        assert_eq!(ledger.abandon(0), [write(8192, 4096), write(12288, 4096)]);
        assert_eq!(ledger.abandon(0), [], "only once");
        let read = Request { kind: RequestKind::Read, ..done };
        assert!(page.claim(&read), "nobody has them");
        let torn = [&older[..8192], &newer[..4096], &older[12288..]].concat();
        assert_eq!(page.check(&torn, &read), Ok(()));
        let damaged = [&newer[..8192], &older[8192..]].concat();
        assert!(page.check(&damaged, &read).is_err(), "those that were done are known");
    }
}
