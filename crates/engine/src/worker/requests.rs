//! Submission and completion of requests.

use super::extras::Admission;
use super::{FailureCause, Phase, RequestFailure, Slot, Surroundings, Worker};
use crate::personality::interface::{Completion, Personality, Transfer};
use halfpower_model::stream::{Request, RequestKind};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Requests of one kind with the same submission and completion time, counted together.
#[derive(Clone, Copy)]
struct Alike {
    kind: RequestKind,
    submitted_at: u64,
    requests: u64,
    bytes: u64,
}

impl<P: Personality, const FULL: bool> Worker<'_, P, FULL> {
    /// Fills every free slot. Each batch is started and reads the clock anew, so that no request includes the submission time
    /// of earlier batches.
    #[inline]
    pub(super) fn submit_all(&mut self, mut now: u64) {
        let mut batched = 0;
        while self.remaining > 0 && !self.free.is_empty() {
            if batched == self.batches.size() {
                self.personality.start();
                now = self.around.clock.tick();
                self.count_depth(now);
                batched = 0;
            }
            if FULL {
                if self.around.extras.begin_pass(self.in_flight()) {
                    now = self.around.clock.tick();
                    self.count_depth(now);
                }
                let Some((request, arrived_at)) = self.admit(now) else { break };
                let Some(slot) = self.free.pop() else { break };
                self.arrived_at[slot as usize] = arrived_at;
                self.prepare(slot, &request);
                if self.around.extras.spend(&request) {
                    self.remaining = 1;
                }
                self.remaining -= 1;
                self.begin(slot, request, now);
                batched += 1;
            } else {
                batched += self.submit_run(self.batches.size() - batched, now);
            }
        }
    }

    /// Submits up to `at_most` of the generated requests while slots are free; returns their number.
    #[inline]
    fn submit_run(&mut self, at_most: u32, now: u64) -> u32 {
        if self.batch_next == self.batch_length {
            self.make_requests();
        }
        let run = (at_most as usize)
            .min(self.free.len())
            .min(self.batch_length - self.batch_next)
            .min(usize::try_from(self.remaining).unwrap_or(usize::MAX));
        for _ in 0..run {
            let Some(slot) = self.free.pop() else { break };
            let request = self.batch[self.batch_next];
            self.batch_next += 1;
            self.begin(slot, request, now);
        }
        self.remaining -= run as u64;
        self.outcome.submitted += run as u64;
        run as u32
    }

    /// Puts a request into its slot and submits it.
    #[inline]
    fn begin(&mut self, slot: u32, request: Request, now: u64) {
        self.slots[slot as usize] = Slot { request, submitted_at: now, done: 0 };
        self.submit(slot, &request, 0);
    }

    /// Submits the rest of a request from byte `from` on.
    #[inline]
    fn submit(&mut self, slot: u32, request: &Request, from: u32) {
        let address =
            if P::MOVES_DATA { self.buffers.address(slot as usize, from as usize) } else { std::ptr::null_mut() };
        let transfer = Transfer {
            tag: slot,
            length: request.length - from,
            offset: request.offset + u64::from(from),
            address,
            target: 0,
            kind: request.kind,
        };
        // SAFETY: the slot is this request's until it comes back, and the buffers outlive the personality.
        unsafe { self.personality.submit(transfer) };
    }

    #[inline]
    pub(super) fn next_request(&mut self) -> Request {
        if self.batch_next == self.batch_length {
            self.make_requests();
        }
        let request = self.batch[self.batch_next];
        self.batch_next += 1;
        request
    }

    /// Generates the next batch of requests.
    #[inline]
    fn make_requests(&mut self) {
        self.stream.fill(&mut self.batch[..self.batch_length]);
        self.batch_next = 0;
        if !FULL {
            let submitted = self.around.record.submitted.load(Relaxed);
            self.around.record.submitted.store(submitted + self.batch_length as u64, Relaxed);
        }
    }

    /// The next request that may be submitted now, with its intended arrival.
    fn admit(&mut self, now: u64) -> Option<(Request, u64)> {
        let drawn = match self.around.extras.admission(now, self.in_flight()) {
            Admission::Wait => return None,
            Admission::Flush => {
                // The flush is not part of the stream.
                self.remaining = self.remaining.saturating_add(1);
                return Some((Request { offset: 0, length: 0, kind: RequestKind::Flush }, now));
            }
            Admission::Held(request, arrived_at) => (request, arrived_at),
            Admission::Next => {
                let request = self.next_request();
                (request, self.around.extras.arrive(&request, now))
            }
        };
        let (request, arrived_at) = drawn;
        if !self.around.extras.claim(&request, arrived_at, now) {
            return None;
        }
        self.outcome.submitted += 1;
        // Stored before the submission, so that a worker killed now has not written an uncounted request.
        self.around.record.submitted.store(self.outcome.submitted, Relaxed);
        if self.phase == Phase::Measuring && self.around.extras.is_open() {
            let late_ns = self.around.clock.nanoseconds(now.saturating_sub(arrived_at));
            self.around.record.lateness.late.record(late_ns, u64::from(request.length));
        }
        Some(drawn)
    }

    /// Generates the data of a write.
    #[inline]
    fn prepare(&mut self, slot: u32, request: &Request) {
        if request.kind == RequestKind::Write && P::MOVES_DATA {
            let buffer = self.buffers.slot_mut(slot as usize, 0);
            self.around.extras.prepare(&mut buffer[..request.length as usize], request);
        }
    }

    /// With nothing outstanding: the tick of the next submission, if there will be one.
    pub(super) fn next_submission(&self) -> Option<u64> {
        if FULL && self.remaining > 0 { self.around.extras.next_submission() } else { None }
    }

    /// The longest wait for completions, where another request is due meanwhile.
    pub(super) fn patience(&self, now: u64) -> Option<Duration> {
        if self.remaining == 0 || self.free.is_empty() { None } else { self.around.extras.patience(now) }
    }

    /// Handles the reaped completions: counts whole requests, resubmits the rest of short ones, stops the worker at a failure.
    #[inline]
    pub(super) fn complete(&mut self, now: u64, counts: bool) {
        if FULL && self.phase == Phase::Measuring {
            self.around.extras.count_backlog(now, false, self.remaining, &self.around.record.lateness);
        }
        let mut done = std::mem::take(&mut self.done);
        let mut alike = Alike { kind: RequestKind::Read, submitted_at: 0, requests: 0, bytes: 0 };
        for completion in &done {
            let slot = &self.slots[completion.tag as usize];
            let moved = u32::try_from(completion.result).unwrap_or(0);
            if slot.done + moved != slot.request.length || moved == 0 {
                self.complete_otherwise(*completion, now, counts);
            } else {
                let Slot { request, submitted_at, .. } = *slot;
                if submitted_at != alike.submitted_at || request.kind != alike.kind {
                    self.record(alike, now, counts);
                    alike = Alike { kind: request.kind, submitted_at, requests: 0, bytes: 0 };
                }
                alike.requests += 1;
                alike.bytes += u64::from(request.length);
                self.complete_whole(completion.tag, now, counts);
            }
        }
        self.record(alike, now, counts);
        if counts {
            self.around.record.counted_until.store(now, Relaxed);
        }
        done.clear();
        self.done = done;
    }

    /// Counts whole requests.
    #[inline]
    fn record(&mut self, alike: Alike, now: u64, counts: bool) {
        if alike.requests == 0 {
            return;
        }
        if !counts {
            return self.overhang(alike, now);
        }
        let latency_ns = self.around.clock.nanoseconds(now - alike.submitted_at);
        self.around.record.kinds[alike.kind as usize].record_alike(latency_ns, alike.requests, alike.bytes);
    }

    /// Handles completions that do not count: for those after the window, keeps their number and longest time.
    #[cold]
    fn overhang(&mut self, alike: Alike, now: u64) {
        if self.phase == Phase::Warmup {
            self.settled_at = now;
        } else {
            let overhang = &mut self.outcome.overhang;
            overhang.requests += alike.requests;
            overhang.longest_ticks = overhang.longest_ticks.max(now - alike.submitted_at);
        }
    }

    /// Settles a whole request beside its count.
    #[inline]
    fn complete_whole(&mut self, tag: u32, now: u64, counts: bool) {
        if FULL {
            let slot = self.slots[tag as usize];
            if self.around.extras.is_open() {
                let response_ticks = now.saturating_sub(self.arrived_at[tag as usize]);
                if counts {
                    let response_ns = self.around.clock.nanoseconds(response_ticks);
                    self.around.record.lateness.response.record(response_ns, u64::from(slot.request.length));
                } else if self.phase != Phase::Warmup {
                    let longest = &mut self.outcome.overhang.longest_response_ticks;
                    *longest = (*longest).max(response_ticks);
                }
            }
            let buffer = P::MOVES_DATA.then(|| &*self.buffers.slot_mut(tag as usize, 0));
            if let Some(mismatch) = self.around.extras.settle(&slot.request, buffer) {
                self.outcome.mismatch.get_or_insert(mismatch);
            }
        }
        self.free.push(tag);
    }

    /// A transfer that failed, was short, or is not of bytes.
    #[cold]
    fn complete_otherwise(&mut self, completion: Completion, now: u64, counts: bool) {
        let slot = &mut self.slots[completion.tag as usize];
        let request = slot.request;
        let moves_bytes = matches!(request.kind, RequestKind::Read | RequestKind::Write);
        if completion.result >= 0 && !moves_bytes {
            let alike = Alike {
                kind: request.kind,
                submitted_at: slot.submitted_at,
                requests: 1,
                bytes: request.length.into(),
            };
            self.record(alike, now, counts);
            return self.complete_whole(completion.tag, now, counts);
        }
        if completion.result <= 0 {
            let cause =
                if completion.result < 0 { FailureCause::Errno(-completion.result) } else { FailureCause::EndOfTarget };
            let words = self.personality.cause();
            self.outcome.failures.push(RequestFailure { request, cause, words });
            self.around.extras.fail(&request);
            self.free.push(completion.tag);
            // The failure ends this worker and the others: no worker continues to write to a full disk.
            self.around.stop.store(true, Relaxed);
            return;
        }
        slot.done += completion.result as u32;
        let from = slot.done;
        if counts {
            self.around.record.kinds[request.kind as usize].record_short();
        }
        self.submit(completion.tag, &request, from);
    }

    /// The shortest form of the loop, for personalities that do a transfer at once: request, transfer, clock, record. It runs
    /// inside the plain form and hands back to it whatever is out of the ordinary: the end of the window, a stop, a transfer
    /// that failed or was short.
    ///
    /// Runs until the tick `until` or something out of the ordinary, all of it measured; gives the present tick.
    #[inline(never)]
    pub(super) fn run_synchronous(&mut self, mut now: u64, until: u64) -> u64 {
        let Surroundings { record, stop, clock, .. } = self.around;
        let address = self.buffers.address(0, 0);
        let mut submitted = 0;
        while now < until && submitted < self.remaining && !stop.load(Relaxed) {
            let request = self.next_request();
            submitted += 1;
            let transfer = Transfer {
                tag: 0,
                length: request.length,
                offset: request.offset,
                address,
                target: 0,
                kind: request.kind,
            };
            // SAFETY: the one slot is this request's until it is done, and the buffers outlive the personality.
            let result = unsafe { self.personality.transfer(&transfer) };
            let end = clock.tick();
            if result as u32 != request.length || request.length == 0 || end > until {
                self.free.clear();
                self.slots[0] = Slot { request, submitted_at: now, done: 0 };
                self.done.push(Completion { tag: 0, result });
                now = end;
                break;
            }
            let latency_ns = clock.nanoseconds(end - now);
            record.kinds[request.kind as usize].record(latency_ns, u64::from(request.length));
            record.counted_until.store(end, Relaxed);
            now = end;
        }
        self.outcome.submitted += submitted;
        self.remaining -= submitted;
        // One was always outstanding.
        self.depth_ticks += now.saturating_sub(self.depth_until);
        self.depth_until = now;
        now
    }
}
