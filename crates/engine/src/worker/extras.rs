//! The options of the full form of the loop: arrivals, flushes between writes, data of writes, verification, and the steps
//! before the first and after the last request.

use super::ledger::{Page, Volumes};
use super::pace::{Lateness, Pace};
use crate::instrument::clock::Clock;
use crate::personality::interface::{Personality, Transfer};
use crate::system::cache::drop_clean;
use crate::target::Opened;
use halfpower_model::content::Freshener;
use halfpower_model::random::derive_seed;
use halfpower_model::stream::{Request, RequestKind};
use halfpower_model::{CachePolicy, Closing, Durability, FileState, Layout, Sharing, Workload};
use std::io;
use std::time::Duration;

/// Part of a workload's seed that makes writes unlike one another.
const FRESH_SEED: u64 = 1 << 43;

/// Maximum of arrivals counted per turn of the loop.
const BACKLOG_A_TURN: u64 = 64;

/// The extras of one worker.
#[derive(Debug)]
pub(crate) struct Extras<'a> {
    workload: &'a Workload,
    index: u32,
    pace: Option<Pace>,
    flushes: Option<Flushes>,
    freshener: Option<Freshener>,
    page: Option<Page<'a>>,
    /// A request that waits for its blocks, and its intended arrival.
    held: Option<(Request, u64)>,
    /// Tick since which one waits, and the ticks waited in the measured part.
    held_since: Option<u64>,
    held_ticks: u64,
    /// The worker's own descriptors of its files and devices; none of a server's volumes.
    files: Vec<Opened>,
    /// Tick after which arrivals are not counted.
    until: u64,
    /// The rest of the worker's share of a limit in bytes with requests of several sizes.
    bytes_left: Option<u64>,
    /// Bytes until the page cache is dropped for another pass.
    pass_left: Option<u64>,
}

/// Flushes between writes.
#[derive(Debug)]
struct Flushes {
    every: u32,
    writes: u32,
}

/// Flushes one of the targets by the personality itself. Nothing is outstanding.
fn flush<P: Personality>(personality: &mut P, target: u16) -> io::Result<()> {
    let address = std::ptr::null_mut();
    let flush = Transfer { tag: 0, length: 0, offset: 0, address, target, kind: RequestKind::Flush };
    let mut done = Vec::with_capacity(1);
    // SAFETY: a flush has no memory.
    unsafe { personality.submit(flush) };
    personality.reap(&mut done, 1)?;
    match done.first().map_or(0, |completion| completion.result) {
        0.. => Ok(()),
        errno => Err(io::Error::from_raw_os_error(-errno)),
    }
}

/// A worker's share of a limit in bytes, where requests have several sizes and so are no fixed number.
fn bytes_of_several_sizes(workload: &Workload) -> Option<u64> {
    let limit = workload.limits.bytes.filter(|_| !workload.sizes.is_empty())?;
    Some(limit.0.div_ceil(u64::from(workload.workers)))
}

/// Bytes of a worker's pass over the span, in whole requests.
fn pass(workload: &Workload) -> u64 {
    let (_, on_one_target) = workload.position(0);
    let sharers = if workload.sharing == Sharing::Whole { 1 } else { on_one_target.max(1) };
    let bytes = (workload.span.0 - workload.offset.0) / sharers;
    (bytes - bytes % workload.request_size.0).max(1)
}

/// Whether a step after the last request counts: a flush, or closing the targets.
pub(crate) fn has_timed_end(workload: &Workload) -> bool {
    workload.durability == Durability::FlushAtEnd || workload.closing == Closing::Timed
}

/// Whether a request may go.
pub(super) enum Admission {
    /// Not now.
    Wait,
    /// A flush comes first.
    Flush,
    /// The held request, with its intended arrival.
    Held(Request, u64),
    /// The next request of the stream.
    Next,
}

impl<'a> Extras<'a> {
    /// Whether a workload needs the full form of the loop. A verified workload has a ledger.
    pub(crate) fn are_needed(workload: &Workload, has_ledger: bool) -> bool {
        workload.is_held_back()
            || workload.trace.is_some()
            || workload.operation.writes()
            || workload.durability != Durability::None
            || workload.closing == Closing::Timed
            || workload.layout != Layout::Each
            || bytes_of_several_sizes(workload).is_some()
            || workload.cache == CachePolicy::ColdEachPass
            || has_ledger
    }

    /// The extras of a worker, with its own descriptors of its files and devices.
    pub(crate) fn new(
        workload: &'a Workload,
        index: u32,
        clock: Clock,
        files: Vec<Opened>,
        ledger: Option<Volumes<'a>>,
    ) -> Extras<'a> {
        let fresh_seed = derive_seed(workload.seed, FRESH_SEED + u64::from(index));
        Extras {
            workload,
            index,
            pace: Pace::new(workload, index, clock),
            flushes: workload.durability.every().map(|every| Flushes { every, writes: 0 }),
            freshener: workload.data.freshener(fresh_seed),
            page: ledger.map(|ledger| ledger.page(workload.volume_of(index))),
            held: None,
            held_since: None,
            held_ticks: 0,
            files,
            until: u64::MAX,
            bytes_left: None,
            pass_left: (workload.cache == CachePolicy::ColdEachPass).then(|| pass(workload)),
        }
    }

    /// Starts the arrivals, which count up to the tick `until`, and truncates the file if its state is truncated.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn begin(&mut self, now: u64, until: u64) -> io::Result<()> {
        self.until = until;
        if let Some(pace) = &mut self.pace {
            pace.begin(now);
        }
        if self.workload.file_state == FileState::Truncated && self.workload.position(self.index).0 == 0 {
            self.files.iter().try_for_each(|target| target.file.set_len(0))?;
        }
        Ok(())
    }

    /// Carries out the timed flush and close at the end.
    pub(super) fn end<P: Personality>(self, mut personality: P) -> io::Result<()> {
        if self.workload.durability == Durability::FlushAtEnd {
            self.files.iter().try_for_each(|target| target.file.sync_all())?;
            if self.workload.personality.is_remote() {
                let volumes = if self.workload.layout == Layout::Each { 1 } else { self.workload.targets };
                (0..volumes).try_for_each(|volume| flush(&mut personality, volume as u16))?;
            }
        }
        if self.workload.closing == Closing::Timed {
            drop(personality);
            drop(self.files);
        }
        Ok(())
    }

    pub(super) fn is_open(&self) -> bool {
        self.pace.as_ref().is_some_and(Pace::is_open)
    }

    /// Drops the page cache before another pass, once none is outstanding; returns whether it did.
    pub(super) fn begin_pass(&mut self, outstanding: u64) -> bool {
        let is_due = self.pass_left == Some(0) && outstanding == 0;
        if is_due {
            // The kernel may keep pages; reads of them count like the others.
            self.files.iter().for_each(|target| drop(drop_clean(&target.file, self.workload.span)));
            self.pass_left = Some(pass(self.workload));
        }
        is_due
    }

    /// The next step now, with this number of requests outstanding.
    pub(super) fn admission(&mut self, now: u64, outstanding: u64) -> Admission {
        if self.flushes.as_ref().is_some_and(|flushes| flushes.writes >= flushes.every) {
            return if outstanding == 0 { Admission::Flush } else { Admission::Wait };
        }
        if self.pass_left == Some(0) {
            return Admission::Wait;
        }
        if let Some((request, arrived_at)) = self.held.take() {
            return Admission::Held(request, arrived_at);
        }
        let must_wait = self.pace.as_mut().is_some_and(|pace| pace.must_wait(now, outstanding));
        if must_wait { Admission::Wait } else { Admission::Next }
    }

    /// The intended arrival of a request taken from the stream.
    pub(super) fn arrive(&mut self, request: &Request, now: u64) -> u64 {
        self.pace.as_mut().map_or(now, |pace| pace.take(request.length, now))
    }

    /// Claims the blocks of a request for verification; false where another request has one of them, and this one is held.
    pub(super) fn claim(&mut self, request: &Request, arrived_at: u64, now: u64) -> bool {
        let claimed = self.page.as_ref().is_none_or(|page| page.claim(request));
        if !claimed {
            self.held = Some((*request, arrived_at));
            self.held_since.get_or_insert(now);
            return false;
        }
        if let Some(since) = self.held_since.take() {
            self.held_ticks += now.saturating_sub(since);
        }
        if let Some(flushes) = &mut self.flushes {
            flushes.writes += u32::from(request.kind == RequestKind::Write);
        }
        if let Some(left) = &mut self.pass_left {
            *left = left.saturating_sub(u64::from(request.length));
        }
        true
    }

    /// Counts a submitted request against the limit in bytes; true if it is the last.
    pub(super) fn spend(&mut self, request: &Request) -> bool {
        let left = self.bytes_left.as_mut().map(|left| {
            *left = left.saturating_sub(u64::from(request.length));
            *left
        });
        left == Some(0)
    }

    /// Starts the measured part, with this many outstanding bytes that will count.
    pub(super) fn measure_from(&mut self, tick: u64, outstanding: u64) {
        self.bytes_left = bytes_of_several_sizes(self.workload).map(|bytes| bytes.saturating_sub(outstanding).max(1));
        self.held_ticks = 0;
        self.held_since = self.held_since.map(|_| tick);
    }

    /// Ticks of the measured part, which ends now, in which a request waited for its blocks.
    pub(super) fn held_ticks(&self, now: u64) -> u64 {
        self.held_ticks + self.held_since.map_or(0, |since| now.saturating_sub(since))
    }

    /// Whether a request waits for blocks that another has.
    pub(super) fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// Generates the data of a write.
    #[inline]
    pub(super) fn prepare(&mut self, buffer: &mut [u8], request: &Request) {
        if let Some(page) = &self.page {
            page.stamp(buffer, request);
        } else if let Some(freshener) = &mut self.freshener {
            freshener.freshen(buffer);
        }
    }

    /// Settles a completed request; returns the first mismatch of the data that it read.
    pub(super) fn settle(&mut self, request: &Request, buffer: Option<&[u8]>) -> Option<String> {
        if request.kind == RequestKind::Flush
            && let Some(flushes) = &mut self.flushes
        {
            flushes.writes = 0;
        }
        let page = self.page.as_ref()?;
        let bytes = buffer.filter(|_| request.kind == RequestKind::Read);
        let mismatch = bytes.and_then(|bytes| page.check(&bytes[..request.length as usize], request).err());
        page.release(request, false);
        mismatch.map(|mismatch| mismatch.to_string())
    }

    /// Settles a failed request.
    pub(super) fn fail(&mut self, request: &Request) {
        if let Some(page) = &self.page {
            page.release(request, true);
        }
    }

    /// The tick of the next submission with nothing outstanding, where something delays it.
    pub(super) fn next_submission(&self) -> Option<u64> {
        // A held request retries at once.
        if self.is_holding() { Some(0) } else { self.pace.as_ref().map(Pace::next) }
    }

    /// The longest wait for completions, if there is a limit.
    pub(super) fn patience(&self, now: u64) -> Option<Duration> {
        let flushing = self.flushes.as_ref().is_some_and(|flushes| flushes.writes >= flushes.every);
        // A held request retries at the next completion: polling would take CPU time from the other workers.
        let paced = self.pace.as_ref().filter(|pace| pace.is_timed() && !flushing && !self.is_holding());
        paced.map(|pace| pace.patience(now))
    }

    /// Counts arrivals among the `remaining` requests that are not submitted yet; at the end of the window, all of them.
    #[inline]
    pub(super) fn count_backlog(&mut self, now: u64, is_end: bool, remaining: u64, lateness: &Lateness) {
        if let Some(pace) = &mut self.pace {
            let most = if is_end { u64::MAX } else { BACKLOG_A_TURN };
            pace.count_backlog(now.min(self.until), self.workload.request_size.0 as u32, most, remaining, lateness);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ledger::Ledger;
    use super::*;
    use halfpower_model::workload::Arrivals;
    use halfpower_model::{Bytes, Rate, Verify};

    #[test]
    fn a_held_request_waits_for_a_completion_without_polling() {
        let workload = Workload {
            request_size: Bytes(4096),
            span: Bytes(1 << 20),
            workers: 2,
            verify: Verify::Stamp,
            arrivals: Arrivals::Constant,
            rate: Some(Rate::Requests(1_000_000)),
            ..Workload::default()
        };
        let ledger = Ledger::new(&workload).unwrap();
        let clock = Clock::Monotonic;
        let extras = |index| Extras::new(&workload, index, clock, Vec::new(), Some(ledger.volumes(0)));
        let (mut one, mut other) = (extras(0), extras(1));
        let request = Request { offset: 0, length: 4096, kind: RequestKind::Write };
        assert!(one.claim(&request, 0, 100));
        assert!(other.patience(100).is_some(), "an arrival is not to be missed");
        other.measure_from(50, 0);
        for now in [100, 150] {
            assert!(!other.claim(&request, 7, now));
            assert_eq!(other.patience(now), None, "it waits as long as it takes");
            assert_eq!(other.next_submission(), Some(0), "with nothing outstanding it tries again");
            assert_eq!(other.held_ticks(now), now - 100);
            assert!(matches!(other.admission(now, 1), Admission::Held(held, 7) if held == request));
        }
        one.settle(&request, None);
        assert!(other.claim(&request, 7, 300));
        assert!(!other.is_holding() && other.patience(300).is_some());
        assert_eq!(other.held_ticks(400), 200);
    }
}
