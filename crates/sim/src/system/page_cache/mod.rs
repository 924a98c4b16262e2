//! Requests through the page cache: copies of present pages, and the cache's own requests for the rest.
//!
//! - A target has one read of the cache outstanding, for a waiting request or ahead, and one write-back; both of 64 KiB at most.
//! - A read that continues the worker's last one makes the cache read ahead: to the next 64 KiB, and as far again as the request
//!   is long.
//! - A write is done when it is copied. Missing pages that it covers in part are read first, which makes writes of 2 KiB slow.
//! - The lazy writer scans for dirty pages a while after its last scan, or when a writer waits for room. During a scan, writes
//!   that must read first wait. Above the limit of dirty pages all writers wait.
//! - With `parallel` (Linux) each request reads its own missing pages, neighbours form one request, several write-backs run at
//!   once, and no write waits for the end of a scan.
//!
//! A run begins with an empty cache, or with what reading each span once leaves in it. Copies are work of the program's thread;
//! the cache's own requests are the system's. Not modelled: files of a target, pages kept by use, Linux's background limit,
//! gradual throttling, age of dirty pages and growing read-ahead.
//!
//! Sources: Riedel, van Ingen and Gray (1997), sections 2 and 5.3; Chung, Gray, Worthington and Horst (2000), sections 6.1
//! and 6.5.

pub(super) mod pages;
mod steps;
#[cfg(test)]
mod tests;

use crate::machine::{self, Machine};
use halfpower_model::{CachePolicy, Request, RequestKind, Workload};
use pages::{FRAME, Pages, Run};
use std::collections::VecDeque;
use std::ops::Range;

/// A request that waits for pages.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) request: u32,
    pub(super) worker: u32,
    /// The bytes whose pages it still lacks: the first and the last page of a write, or one range.
    pub(super) lacks: [Range<u64>; 2],
    /// Whether it is a read that continues a stream, for which whole frames are read.
    pub(super) is_stream: bool,
    /// Whether its first missing page is on its way.
    pub(super) is_asked: bool,
}

impl Waiting {
    /// What it lacks first, after what is present by now.
    pub(super) fn lack(&mut self, volume: u32, pages: &Pages) -> Option<Run> {
        self.lacks.iter_mut().filter(|lack| !lack.is_empty()).find_map(|lack| {
            lack.start = pages.missing(&Run { volume, bytes: lack.clone() }).unwrap_or(lack.end);
            (!lack.is_empty()).then(|| Run { volume, bytes: lack.clone() })
        })
    }

    /// These bytes were read: it has its part of them, even if the cache has no room to keep them.
    pub(super) fn give(&mut self, bytes: &Range<u64>) {
        let first = self.lacks.iter_mut().find(|lack| !lack.is_empty());
        if let Some(lack) = first.filter(|lack| bytes.contains(&lack.start)) {
            lack.start = bytes.end.min(lack.end);
            self.is_asked = false;
        }
    }
}

/// The cache's own requests for a target.
#[derive(Clone, Debug, Default)]
pub(super) struct Target {
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) reads: u32,
    pub(super) writes: u32,
}

/// A worker's stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stream {
    /// Where its last request ended.
    end: u64,
    /// What is to be read ahead.
    pub(super) ahead: u64,
    pub(super) ahead_end: u64,
}

/// The page cache at work.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) model: machine::PageCache,
    pub(super) pages: Pages,
    pub(super) targets: Vec<Target>,
    pub(super) streams: Vec<Stream>,
    /// When the next scan may begin, and the time of the event for it.
    pub(super) scan_ns: u64,
    pub(super) awake_ns: Option<u64>,
    /// Writes that wait until less is dirty, with their workers.
    pub(super) blocked: VecDeque<(u32, u32)>,
    /// Whether a write is on the medium before it is done.
    pub(super) is_through: bool,
}

impl Cache {
    /// None where requests go past it, or there is none.
    pub(super) fn of(machine: &Machine, workload: &Workload) -> Option<Cache> {
        let model = machine.system.cache.clone().filter(|_| !workload.buffering.is_direct())?;
        let [capacity, dirty] = model.sizes(machine.cpu.memory);
        let targets = workload.volumes();
        let mut pages = Pages::new(capacity, dirty, targets);
        // A file that grows begins empty.
        if workload.cache == CachePolicy::Warm && !workload.file_state.grows() {
            // Earlier pages would have left again.
            let bytes = workload.span.0.saturating_sub(capacity.0)..workload.span.0;
            (0..targets as u32).for_each(|volume| pages.keep(&Run { volume, bytes: bytes.clone() }));
        }
        Some(Cache {
            pages,
            targets: vec![Target::default(); targets as usize],
            streams: vec![Stream::default(); workload.workers as usize],
            scan_ns: model.scan.0,
            awake_ns: None,
            blocked: VecDeque::new(),
            is_through: workload.buffering.is_through(),
            model,
        })
    }

    pub(super) fn cost(&self, kind: RequestKind) -> machine::Cost {
        if kind == RequestKind::Write { self.model.write } else { self.model.read }
    }

    /// Whether the lazy writer is at work.
    pub(super) fn is_scanning(&self) -> bool {
        self.is_writing() || self.pages.is_scanning()
    }

    pub(super) fn is_writing(&self) -> bool {
        self.targets.iter().any(|target| target.writes > 0)
    }

    /// Maximum size of one of its requests; zero: a frame.
    pub(super) fn largest(&self) -> u64 {
        self.model.parallel.map_or(0, |parallel| parallel.largest.0)
    }

    /// Whether a target may have another read.
    pub(super) fn may_read(&self, volume: u32) -> bool {
        self.targets[volume as usize].reads < self.model.parallel.map_or(1, |parallel| parallel.reads)
    }

    /// What to write out next.
    pub(super) fn take(&mut self) -> Option<Run> {
        let most = self.model.parallel.map_or(1, |parallel| parallel.writes);
        let largest = self.largest();
        let may_write = self.targets.iter_mut().enumerate().filter(|(_, target)| target.writes < most);
        may_write.into_iter().find_map(|(volume, target)| {
            let run = self.pages.take(volume as u32, largest)?;
            target.writes += 1;
            Some(run)
        })
    }

    /// Follows a worker's stream. Gives whether the request continues it.
    pub(super) fn follow(&mut self, worker: u32, asked: &Request, size: u64) -> bool {
        let stream = &mut self.streams[worker as usize];
        let length = u64::from(asked.length);
        let end = asked.offset + length;
        let continues = stream.end == asked.offset && asked.offset > 0;
        stream.end = end;
        if asked.kind == RequestKind::Read && continues {
            stream.ahead = stream.ahead.max(end);
            stream.ahead_end = (end.next_multiple_of(FRAME) + length.next_multiple_of(FRAME)).min(size);
        } else {
            (stream.ahead, stream.ahead_end) = (end, end);
        }
        continues
    }
}
