//! Requests through the page cache: copies where it has the pages, and its own requests of the disks where it has not.
//!
//! A target has one request for reading outstanding, whether somebody waits for it or it reads ahead; all targets together
//! have one for writing, the lazy writer's (Chung and others, 2000, section 6.1), which scans for what is dirty a second after
//! its last scan, and whenever a writer waits for room. While it scans, writes that have to read first wait. Both are of 64 KiB at most. A read
//! that goes on where the worker's last one ended makes the cache read ahead: to the next 64 KiB behind it, and as far
//! again as the request is long. A write is done when it is copied. What it writes of a page that is not there, is read
//! first: that is what makes writes of 2 KiB slow. When too much is dirty, writers wait.
//!
//! With `parallel` (Linux) each request of the program that lacks pages has one request of the cache's for them, and what lies side by side
//! goes as one, in and out; several write out at once, to each target by itself; nobody waits for a scan to end. Of Linux it does not have: a first,
//! lower limit from which on writing begins while nobody waits, writers that are slowed down before they stop, age (what is dirty for
//! less than 30 s is left alone), and a read-ahead that grows.
//!
//! Each run begins with an empty cache, as the studies scrubbed theirs, or where it is to be warm with what a reading of each
//! span in turn leaves in it. Copies are work of the program's thread; what the
//! cache asks of the disks is work of the system's, and costs its own time beside that of a direct request.
//!
//! Sources: Riedel, van Ingen and Gray (1997), sections 2 and 5.3; Chung, Gray, Worthington and Horst (2000), sections 6.1
//! and 6.5. It does not tell apart files of a target, nor does it keep pages by how often they are used.

mod frames;
pub(super) mod pages;
#[cfg(test)]
mod tests;

use crate::machine::{self, Machine};
use halfpower_model::{CachePolicy, Request, RequestKind, Workload};
use pages::{FRAME, Lane, Pages, Run};
use std::collections::VecDeque;
use std::ops::Range;

/// A request that waits for pages.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) request: u32,
    pub(super) worker: u32,
    /// What it lacks still, as far as it is known: up to two stretches.
    pub(super) lacks: [Range<u64>; 2],
    /// Whether it is a read that goes on where the worker's last one ended: whole frames are read for it.
    pub(super) is_stream: bool,
    /// Whether what it lacks first is on its way.
    pub(super) is_asked: bool,
}

/// Who reads for a target.
#[derive(Clone, Debug, Default)]
pub(super) struct Reader {
    pub(super) waiting: VecDeque<Waiting>,
    /// How many of its requests are under way.
    pub(super) under_way: u32,
}

/// What a worker's requests show of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stream {
    /// Where its last request ended.
    pub(super) end: u64,
    /// What is to be read ahead.
    pub(super) ahead: u64,
    pub(super) ahead_end: u64,
}

/// The page cache at work.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) model: machine::PageCache,
    pub(super) pages: Pages,
    pub(super) readers: Vec<Reader>,
    pub(super) streams: Vec<Stream>,
    /// What writes out.
    pub(super) lanes: Vec<Lane>,
    /// When its next scan is to begin, and when it is to be woken.
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
        let [capacity, dirty] = model.sizes(machine.memory);
        let mut pages = Pages::new(capacity, dirty);
        // A file that grows begins empty.
        if workload.cache == CachePolicy::Warm && !workload.file_state.grows() {
            // What lies before would have left again.
            let start = workload.span.0.saturating_sub(capacity.0);
            (0..workload.volumes() as u32)
                .for_each(|volume| pages.keep(&Run { volume, bytes: start..workload.span.0 }));
        }
        let targets = workload.volumes();
        let each = |target| Lane::to(target..target + 1);
        Some(Cache {
            pages,
            lanes: match model.parallel {
                Some(_) => (0..targets).map(each).collect(),
                None => vec![Lane::to(0..targets)],
            },
            readers: vec![Reader::default(); workload.volumes() as usize],
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
        self.lanes.iter().any(|lane| lane.writing > 0)
    }

    /// How many of its requests read a target at once.
    pub(super) fn most_reads(&self) -> u32 {
        self.model.parallel.map_or(1, |parallel| parallel.reads)
    }

    /// How long one of its requests may be; zero: no longer than a frame.
    pub(super) fn largest(&self) -> u64 {
        self.model.parallel.map_or(0, |parallel| parallel.largest.0)
    }

    /// What to write out next: dirty pages of a target to which no more than may be are under way.
    pub(super) fn take(&mut self) -> Option<Run> {
        let most_writes = self.model.parallel.map_or(1, |parallel| parallel.writes);
        let most = self.largest();
        let run = self
            .lanes
            .iter_mut()
            .filter(|lane| lane.writing < most_writes)
            .find_map(|lane| Some((self.pages.take(lane, most)?, lane)));
        run.map(|(run, lane)| {
            lane.writing += 1;
            run
        })
    }

    /// Takes note of where a worker is; whether it goes on where it was.
    pub(super) fn follow(&mut self, worker: u32, asked: &Request, size: u64) -> bool {
        let stream = &mut self.streams[worker as usize];
        let end = asked.offset + u64::from(asked.length);
        let continues = stream.end == asked.offset && asked.offset > 0;
        stream.end = end;
        if asked.kind == RequestKind::Read && continues {
            stream.ahead = stream.ahead.max(end);
            stream.ahead_end =
                (end.next_multiple_of(FRAME) + u64::from(asked.length).next_multiple_of(FRAME)).min(size);
        } else {
            (stream.ahead, stream.ahead_end) = (end, end);
        }
        continues
    }
}

impl Waiting {
    /// The pages that it waits for now; what came before is there.
    pub(super) fn missing(&mut self, volume: u32, pages: &Pages) -> Option<Run> {
        self.lacks.iter_mut().filter(|lack| !lack.is_empty()).find_map(|lack| {
            let missing = pages.missing(&Run { volume, bytes: lack.clone() });
            lack.start = missing.as_ref().map_or(lack.end, |run| run.bytes.start);
            missing
        })
    }

    /// These bytes were read: of what it lacks they are no part, whether they stay in the cache or not. Whether they were.
    pub(super) fn give(&mut self, bytes: &Range<u64>) -> bool {
        let first = self.lacks.iter_mut().find(|lack| !lack.is_empty());
        let Some(lack) = first.filter(|lack| bytes.contains(&lack.start)) else { return false };
        lack.start = bytes.end.min(lack.end);
        true
    }
}
