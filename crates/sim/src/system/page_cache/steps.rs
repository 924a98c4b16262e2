//! Requests and the page cache.

use crate::system::events::Event;
use crate::system::page_cache::pages::{FRAME, PAGE, Run};
use crate::system::page_cache::{Cache, Waiting};
use crate::system::state::{Open, Origin, System};
use halfpower_model::{Request, RequestKind};
use std::ops::Range;

impl System<'_> {
    fn size(&self) -> u64 {
        self.machine.size().0
    }

    /// A call has come to the cache.
    pub(in crate::system) fn enter_cache(&mut self, request: u32, worker: u32) {
        let Open { volume, asked, .. } = self.requests.all[request as usize];
        let (size, valid) = (self.size(), self.valid(volume));
        let Some(cache) = &mut self.cache else { return };
        let continues = cache.follow(worker, &asked, size);
        // Beyond the end of a growing file there is nothing to read.
        let lacks = needed(&asked).map(|lack| lack.start.min(valid)..lack.end.min(valid));
        let is_stream = continues && asked.kind == RequestKind::Read;
        let mut waiting = Waiting { request, worker, lacks, is_stream, is_asked: false };
        if waiting.lack(volume, &cache.pages).is_some() {
            cache.targets[volume as usize].waiting.push_back(waiting);
        } else {
            self.proceed(request, worker);
        }
        self.read_in(volume);
    }

    /// Reads as much as a target may: for the requests that wait, then ahead.
    fn read_in(&mut self, volume: u32) {
        self.proceed_with_present(volume);
        while let Some(run) = self.next_read(volume) {
            let end = run.bytes.end.min(self.size());
            let run = Run { bytes: run.bytes.start..end, ..run };
            if let Some(cache) = &mut self.cache {
                cache.targets[volume as usize].reads += 1;
                cache.pages.ask(&run);
            }
            self.page(Origin::PageIn, RequestKind::Read, &run);
        }
    }

    /// Requests whose pages are all present, since others brought them, need not wait.
    fn proceed_with_present(&mut self, volume: u32) {
        let Some(cache) = self.cache.as_mut().filter(|cache| cache.may_read(volume)) else { return };
        let mut waiting = std::mem::take(&mut cache.targets[volume as usize].waiting);
        waiting.retain_mut(|one| {
            let Some(cache) = self.cache.as_mut().filter(|_| !one.is_asked) else { return true };
            let waits = one.lack(volume, &cache.pages).is_some();
            if !waits {
                self.proceed(one.request, one.worker);
            }
            waits
        });
        if let Some(cache) = &mut self.cache {
            cache.targets[volume as usize].waiting = waiting;
        }
    }

    fn next_read(&mut self, volume: u32) -> Option<Run> {
        let cache = self.cache.as_mut().filter(|cache| cache.may_read(volume))?;
        let (largest, targets) = (cache.largest(), cache.targets.len());
        // A write that must read first waits for the end of a scan.
        let waits_for_scan = cache.is_scanning() && cache.model.parallel.is_none();
        for one in cache.targets[volume as usize].waiting.iter_mut().filter(|one| !one.is_asked) {
            if waits_for_scan && self.requests.all[one.request as usize].asked.kind == RequestKind::Write {
                return None;
            }
            let Some(lack) = one.lack(volume, &cache.pages) else { continue };
            one.is_asked = true;
            // Otherwise another request's read brings it.
            if let Some(mut run) = cache.pages.absent(&lack, largest).filter(|run| run.bytes.start == lack.bytes.start)
            {
                if one.is_stream {
                    run.bytes.end = run.bytes.end.next_multiple_of(FRAME);
                }
                return Some(run);
            }
        }
        let streams = cache.streams.iter_mut().skip(volume as usize).step_by(targets);
        streams.filter(|stream| stream.ahead < stream.ahead_end).find_map(|stream| {
            let found = cache.pages.absent(&Run { volume, bytes: stream.ahead..stream.ahead_end }, largest);
            stream.ahead = found.as_ref().map_or(stream.ahead_end, |run| run.bytes.end);
            found
        })
    }

    /// One of the cache's own requests.
    fn page(&mut self, origin: Origin, kind: RequestKind, run: &Run) {
        let end = run.bytes.end.min(self.size());
        let asked = Request { offset: run.bytes.start, length: (end - run.bytes.start) as u32, kind };
        let open = Open::made(origin, run.volume, asked, self.now_ns);
        let spent_ns = self.cost_ns(&open.asked, 1.0 - self.machine.system.completion_share);
        let done_ns = self.cpus.serve(self.now_ns, self.now_ns, spent_ns);
        let request = self.requests.put(open);
        self.at(done_ns, Event::Dispatch { request });
    }

    pub(in crate::system) fn paged_in(&mut self, volume: u32, asked: &Request) {
        let Some(cache) = &mut self.cache else { return };
        let run = pages_of(volume, asked);
        cache.pages.keep(&run);
        let target = &mut cache.targets[volume as usize];
        target.reads -= 1;
        target.waiting.iter_mut().for_each(|one| one.give(&run.bytes));
        self.read_in(volume);
    }

    /// A request has its pages: it is copied, unless it is a write and too much is dirty.
    fn proceed(&mut self, request: u32, worker: u32) {
        let asked = self.requests.all[request as usize].asked;
        let Some(cache) = &mut self.cache else { return };
        let is_write_behind = asked.kind == RequestKind::Write && !cache.is_through;
        if is_write_behind && !(cache.blocked.is_empty() && cache.pages.has_room(u64::from(asked.length))) {
            cache.blocked.push_back((request, worker));
        } else {
            self.copy(request, worker);
        }
        if is_write_behind {
            self.write_out();
        }
    }

    fn copy(&mut self, request: u32, worker: u32) {
        let Open { volume, asked, .. } = self.requests.all[request as usize];
        let Some(cache) = &mut self.cache else { return };
        let (cost, is_through) = (cache.cost(asked.kind), cache.is_through);
        let copy_ns = cost.ns(u64::from(asked.length)) - cost.ns(0);
        let run = Run { volume, bytes: asked.offset..asked.offset + u64::from(asked.length) };
        match asked.kind {
            RequestKind::Write if is_through => {
                cache.pages.keep(&run);
                let asking_ns = self.cost_ns(&asked, 1.0 - self.machine.system.completion_share);
                let copied_ns = self.spend(worker, copy_ns + asking_ns);
                return self.at(copied_ns, Event::Through { request });
            }
            RequestKind::Write => cache.pages.write(&run),
            _ => {}
        }
        let copied_ns = self.spend(worker, copy_ns);
        self.at(copied_ns, Event::Complete { request });
    }

    /// The lazy writer continues its scan, or begins the next if it is time or a writer waits.
    pub(in crate::system) fn write_out(&mut self) {
        let (now_ns, is_pressed) = (self.now_ns, self.flushes.press());
        let Some(cache) = &mut self.cache else { return };
        let is_due = now_ns >= cache.scan_ns || is_pressed || !cache.blocked.is_empty();
        if !cache.is_scanning() && is_due {
            cache.pages.scan();
        }
        while let Some(run) = self.cache.as_mut().and_then(Cache::take) {
            self.page(Origin::PageOut, RequestKind::Write, &run);
        }
        let Some(cache) = &mut self.cache else { return };
        if cache.is_writing() {
            return;
        }
        if !cache.pages.is_clean() && cache.awake_ns != Some(cache.scan_ns) {
            let scan_ns = cache.scan_ns;
            cache.awake_ns = Some(scan_ns);
            self.at(scan_ns, Event::LazyWriter);
        }
    }

    /// A scan is over: writes that must read first may do so.
    fn scanned(&mut self) {
        let now_ns = self.now_ns;
        let Some(cache) = &mut self.cache else { return };
        cache.scan_ns = now_ns + cache.model.scan.0;
        for volume in 0..cache.targets.len() as u32 {
            self.read_in(volume);
        }
    }

    pub(in crate::system) fn paged_out(&mut self, volume: u32, asked: &Request) {
        let Some(cache) = &mut self.cache else { return };
        cache.pages.is_out(&pages_of(volume, asked));
        cache.targets[volume as usize].writes -= 1;
        if !cache.is_scanning() {
            self.scanned();
        }
        while let Some((request, worker)) = self.unblocked() {
            self.copy(request, worker);
        }
        self.write_out();
    }

    /// The first writer that waited, once there is room for what it writes.
    fn unblocked(&mut self) -> Option<(u32, u32)> {
        let cache = self.cache.as_mut()?;
        let (request, _) = cache.blocked.front()?;
        let bytes = u64::from(self.requests.all[*request as usize].asked.length);
        if cache.pages.has_room(bytes) { cache.blocked.pop_front() } else { None }
    }
}

/// The bytes of a request that must be present before the copy: all of a read, the pages that a write covers in part.
fn needed(asked: &Request) -> [Range<u64>; 2] {
    let (start, end) = (asked.offset, asked.offset + u64::from(asked.length));
    let first_page = start - start % PAGE;
    if asked.kind == RequestKind::Read {
        return [first_page..end, end..end];
    }
    let first = first_page..start.next_multiple_of(PAGE);
    let last = (end - end % PAGE).max(first.end)..end.next_multiple_of(PAGE);
    [first, last]
}

/// The pages of a request of the cache's: the last may lie beyond the end of the target.
fn pages_of(volume: u32, asked: &Request) -> Run {
    let end = (asked.offset + u64::from(asked.length)).next_multiple_of(PAGE);
    Run { volume, bytes: asked.offset..end }
}
