//! A worker: one thread or process that keeps its requests outstanding and records their results.
//!
//! Each turn of the loop reads the clock once, and once more per further batch that it submits. This reading ends the
//! service time of the reaped requests and starts that of the next ones. So service time includes a few nanoseconds of the
//! program. The loop does not allocate, lock or format. It is compiled in two forms: the plain one ignores options; the full
//! one has arrivals at a rate, flushes between writes, data generated at submission, and verification.

mod batches;
pub(crate) mod extras;
pub(crate) mod ledger;
pub(crate) mod pace;
pub(crate) mod recorder;
mod requests;

use crate::buffers::Buffers;
use crate::errno;
use crate::instrument::clock::Clock;
use crate::instrument::cpu::{Meter, Usage};
use crate::personality::interface::{Completion, Personality};
use crate::shared_memory::Zeroed;
use batches::Batches;
use extras::{Extras, has_timed_end};
use halfpower_model::Workload;
use halfpower_model::sample::Connections;
use halfpower_model::stream::{Request, RequestKind, RequestStream};
use pace::{Lateness, wait_until};
use recorder::Recorder;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Requests generated at a time.
const BATCH: usize = 128;

/// The measured part of a worker, in ticks and requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// Completions after this count.
    pub(crate) measure_from: u64,
    /// Completions after this do not count, unless `count_drain`; `u64::MAX` without a time limit.
    pub(crate) measure_until: u64,
    /// Requests to submit after `measure_from`; `u64::MAX` without such a limit.
    pub(crate) requests: u64,
    /// Whether requests outstanding at the end count, and the time until they complete.
    pub(crate) count_drain: bool,
    /// With fewer completions than these by `measure_until` the measured part goes from completion to completion.
    pub(crate) few: u64,
}

impl Schedule {
    /// The same, begun at `now` where that is later: a thread that was woken late has not been measuring meanwhile.
    fn not_before(self, now: u64) -> Self {
        let late = now.saturating_sub(self.measure_from);
        Schedule {
            measure_from: self.measure_from + late,
            measure_until: self.measure_until.saturating_add(late),
            ..self
        }
    }
}

/// The result of a worker beside its counters.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Ticks from `measure_from` to the end of its measured part.
    pub(crate) elapsed_ticks: u64,
    /// Ticks of the flush and the closing after the last request.
    pub(crate) end_ticks: u64,
    /// Mean number of requests outstanding in the measured part.
    pub(crate) depth_mean: f64,
    /// Requests it submitted, the warm-up included: with the seed, these are its writes.
    pub(crate) submitted: u64,
    /// Ticks from the start that all were told to its own.
    pub(crate) late_ticks: u64,
    /// CPU time of the thread in the measured part.
    pub(crate) cpu: Usage,
    /// Requests that were not done, the one that ended it first.
    pub(crate) failures: Vec<RequestFailure>,
    /// The first block that was not as it was written, in a sentence.
    pub(crate) mismatch: Option<String>,
    /// The connections to servers, in the measured part.
    pub(crate) connections: Option<Box<Connections>>,
    /// The count of [`Personality::would_block`] in the measured part.
    pub(crate) would_block: Option<u64>,
    /// Requests that were outstanding at the end of the window and do not count.
    pub(crate) overhang: Overhang,
    /// Ticks of the measured part in which a request waited for another on the same blocks.
    pub(crate) held_ticks: u64,
    /// How long its process was stopped by a signal.
    pub(crate) stopped: Duration,
}

/// Requests that came back after the window, uncounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Overhang {
    pub(crate) requests: u64,
    /// Of the one that took longest.
    pub(crate) longest_ticks: u64,
    /// From its intended arrival, of an open loop.
    pub(crate) longest_response_ticks: u64,
}

/// A request that failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RequestFailure {
    pub(crate) request: Request,
    pub(crate) cause: FailureCause,
    /// The cause, where the error number alone does not explain it.
    pub(crate) words: Option<String>,
}

impl RequestFailure {
    /// The name of the cause: the error's, or `end_of_target`.
    pub(crate) fn code(&self) -> String {
        match self.cause {
            FailureCause::Errno(number) => errno::name(number),
            FailureCause::EndOfTarget => "end_of_target".to_owned(),
        }
    }

    /// The error's name and meaning; none at the end of the target.
    pub(crate) fn explanation(&self) -> Option<String> {
        let FailureCause::Errno(number) = self.cause else { return None };
        let words = self.words.clone().unwrap_or_else(|| errno::explanation(number));
        Some(format!("{}: {words}", errno::name(number)))
    }
}

/// How it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FailureCause {
    /// With this error number.
    Errno(i32),
    /// No byte was moved: the target ends before the request.
    EndOfTarget,
}

/// Counters that a worker writes while the watching thread reads them.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Record {
    /// Counts of the measured part, by the number of the kind.
    pub(crate) kinds: [Recorder; 4],
    /// Of an open loop.
    pub(crate) lateness: Lateness,
    /// Requests it submitted, so that they outlive it: to the last where blocks are verified, else up to a batch more.
    pub(crate) submitted: AtomicU64,
    /// Tick of the last completion that was counted.
    pub(crate) counted_until: AtomicU64,
}

impl Record {
    /// The outcome of a worker that died before it reported one.
    pub(crate) fn outcome(&self, measure_from: u64) -> Outcome {
        Outcome {
            elapsed_ticks: self.counted_until.load(Relaxed).saturating_sub(measure_from),
            submitted: self.submitted.load(Relaxed),
            ..Outcome::default()
        }
    }
}

// SAFETY: recorders and numbers, each of which may be zero, changed as atomics.
unsafe impl Zeroed for Record {}

/// A request in flight. Half a cache line, since the request's data have evicted it from L1 by its completion.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Slot {
    request: Request,
    submitted_at: u64,
    done: u32,
}

/// Where completions are being counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Warmup,
    Measuring,
    Draining,
}

/// Everything that a worker needs beside its personality and buffers.
pub(crate) struct Surroundings<'a> {
    pub(crate) clock: Clock,
    pub(crate) workload: &'a Workload,
    /// Its number.
    pub(crate) index: u32,
    pub(crate) record: &'a Record,
    /// Makes every worker stop submitting and return once nothing is outstanding.
    pub(crate) stop: &'a AtomicBool,
    /// The cursor it shares with others.
    pub(crate) cursor: Option<&'a AtomicU64>,
    pub(crate) extras: Extras<'a>,
    /// Of its thread.
    pub(crate) meter: Meter,
}

/// A worker, ready to run. The full form handles its extras.
pub(crate) struct Worker<'a, P, const FULL: bool> {
    /// Closed before the buffers go.
    personality: P,
    buffers: Buffers,
    around: Surroundings<'a>,
    stream: RequestStream<'a>,
    batches: Batches,
    batch: [Request; BATCH],
    batch_length: usize,
    batch_next: usize,
    slots: Vec<Slot>,
    /// When each was to be submitted, in the full form.
    arrived_at: Vec<u64>,
    free: Vec<u32>,
    done: Vec<Completion>,
    phase: Phase,
    count_drain: bool,
    /// The schedule's limit of few requests, and whether there were fewer.
    few: u64,
    is_of_few: bool,
    /// Tick of the last completion of the warm-up, of the start without one; outstanding requests times ticks from there to
    /// where the window begins.
    settled_at: u64,
    lead_ticks: u64,
    /// Requests that may still be submitted; without a limit, `u64::MAX`.
    remaining: u64,
    /// Outstanding requests times ticks over the measured part, and the tick up to which they are counted.
    depth_ticks: u64,
    depth_until: u64,
    outcome: Outcome,
}

impl<'a, P: Personality, const FULL: bool> Worker<'a, P, FULL> {
    pub(crate) fn new(personality: P, buffers: Buffers, around: Surroundings<'a>) -> Self {
        let (depth, batches) = (around.workload.depth, Batches::new(around.workload));
        let stream = RequestStream::new(around.workload, around.index, around.cursor);
        let batch_length = BATCH.min(stream.look_ahead());
        Worker {
            personality,
            buffers,
            around,
            stream,
            batches,
            batch: [Request::default(); BATCH],
            batch_length,
            batch_next: batch_length,
            slots: vec![Slot::default(); depth as usize],
            arrived_at: vec![0; if FULL { depth as usize } else { 0 }],
            free: (0..depth).rev().collect(),
            done: Vec::with_capacity(depth as usize),
            phase: Phase::Warmup,
            count_drain: false,
            few: 0,
            is_of_few: false,
            settled_at: 0,
            lead_ticks: 0,
            remaining: u64::MAX,
            depth_ticks: 0,
            depth_until: 0,
            outcome: Outcome::default(),
        }
    }

    /// Runs to the end of the schedule, a failure or a stop.
    ///
    /// # Errors
    /// When the personality itself fails, not a request of it; requests may then still be outstanding.
    pub(crate) fn run(mut self, schedule: Schedule) -> io::Result<Outcome> {
        self.count_drain = schedule.count_drain;
        self.few = schedule.few;
        let mut now = self.around.clock.tick();
        self.settled_at = now;
        let warmup = self.around.clock.ticks(self.around.workload.warmup.0);
        self.outcome.late_ticks = (now + warmup).saturating_sub(schedule.measure_from);
        self.around.meter.restart();
        let schedule = schedule.not_before(now);
        let mut next_event = schedule.measure_from;
        if now >= next_event {
            next_event = self.begin_measuring(&schedule);
        }
        if FULL {
            self.around.extras.begin(now, schedule.measure_until)?;
        }
        let mut last_reap = now;
        loop {
            if now >= next_event || self.remaining == 0 || self.around.stop.load(Relaxed) {
                next_event = self.change_phase(&schedule, now);
            }
            if P::SYNCHRONOUS && !FULL && self.phase == Phase::Measuring && self.in_flight() == 0 {
                now = self.run_synchronous(now, next_event);
                last_reap = now;
                if self.done.is_empty() {
                    continue;
                }
            } else {
                self.submit_all(now);
            }
            if !self.done.is_empty() {
                // Done at once, and out of the ordinary.
            } else if self.in_flight() == 0 {
                let Some(tick) = self.next_submission() else { break };
                if FULL && self.around.extras.is_holding() {
                    // The worker with its blocks may need this CPU to release them.
                    std::thread::yield_now();
                }
                now = wait_until(self.around.clock, tick.min(next_event), self.around.stop);
            } else if let Err(error) = self.await_completions(now) {
                // The kernel may still be moving bytes: the buffers must outlive this worker.
                std::mem::forget((self.personality, self.buffers));
                return Err(error);
            } else {
                now = self.around.clock.tick();
            }
            if self.phase == Phase::Warmup && now >= schedule.measure_from {
                next_event = self.begin_measuring(&schedule);
            }
            self.count_depth(now);
            last_reap = now;
            // The window is fixed beforehand, so that the last completion does not decide where it ends.
            let counts = match self.phase {
                Phase::Warmup => false,
                Phase::Measuring => now <= schedule.measure_until || self.counts_late(),
                Phase::Draining => self.count_drain,
            };
            self.complete(now, counts);
        }
        self.finish(&schedule, last_reap)
    }

    /// The warm-up is over: later completions count. Returns the tick of the next event.
    #[cold]
    fn begin_measuring(&mut self, schedule: &Schedule) -> u64 {
        self.phase = Phase::Measuring;
        self.around.meter.restart();
        self.outcome.would_block = self.personality.would_block();
        self.outcome.connections = self.personality.connections().map(Box::new);
        self.depth_until = schedule.measure_from;
        // Since the last completion the same ones are outstanding.
        self.lead_ticks = self.in_flight() * schedule.measure_from.saturating_sub(self.settled_at);
        if FULL {
            self.around.extras.measure_from(schedule.measure_from, self.outstanding_bytes());
        }
        // Outstanding requests will count, so they are part of the number.
        self.remaining = schedule.requests.saturating_sub(self.in_flight());
        schedule.measure_until
    }

    /// Changes the phase at the end of the time, after the last request, or at a stop. Returns the tick of the next event.
    #[cold]
    fn change_phase(&mut self, schedule: &Schedule, now: u64) -> u64 {
        let time_is_up = now >= schedule.measure_until;
        let stopped = self.around.stop.load(Relaxed);
        if self.phase == Phase::Measuring && (time_is_up || stopped || self.remaining == 0) {
            self.phase = Phase::Draining;
            self.outcome.cpu = self.around.meter.used();
            // Requests used up: the last ones count.
            self.count_drain |= self.remaining == 0;
            if time_is_up && self.in_flight() > 0 {
                self.see_whether_few();
            }
            let end = schedule.measure_until.min(now);
            self.outcome.elapsed_ticks = end - schedule.measure_from;
            if FULL {
                self.around.extras.count_backlog(end, true, self.remaining, &self.around.record.lateness);
                self.outcome.held_ticks = self.around.extras.held_ticks(end);
            }
        }
        if self.phase == Phase::Draining || stopped {
            self.remaining = 0;
            return u64::MAX;
        }
        schedule.measure_until
    }

    /// Whether completions after the window count: where the flush is timed, and where the window saw few; the measured
    /// part then lasts until they are back.
    #[cold]
    fn counts_late(&mut self) -> bool {
        self.see_whether_few();
        self.count_drain
    }

    /// The window is over, and something is outstanding. A few requests make no rate by a window, which would be a multiple
    /// of one in it: their measured part begins with the last completion before it and ends when the last one is back. None
    /// at all are waited for even where a rate holds them back.
    #[cold]
    fn see_whether_few(&mut self) {
        if !self.count_drain {
            let done: u64 = self.around.record.kinds.iter().map(Recorder::requests).sum();
            self.is_of_few = done < self.few;
            self.count_drain = self.is_of_few || done == 0;
        }
    }

    /// Bytes of the requests outstanding.
    fn outstanding_bytes(&self) -> u64 {
        let all: u64 = self.slots.iter().map(|slot| u64::from(slot.request.length)).sum();
        let free: u64 = self.free.iter().map(|slot| u64::from(self.slots[*slot as usize].request.length)).sum();
        all - free
    }

    /// Requests outstanding.
    #[inline]
    fn in_flight(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// Adds the requests outstanding since the last reading.
    #[inline]
    fn count_depth(&mut self, now: u64) {
        if self.phase == Phase::Measuring || self.is_of_few {
            self.depth_ticks += self.in_flight() * now.saturating_sub(self.depth_until);
            self.depth_until = now;
        }
    }

    /// Waits for completions: for the workload's batch, or until the next arrival.
    #[inline]
    fn await_completions(&mut self, now: u64) -> io::Result<()> {
        if FULL && let Some(patience) = self.patience(now) {
            return self.personality.poll(&mut self.done, patience);
        }
        let outstanding = self.in_flight();
        let at_least = self.around.workload.wait_batch.min(outstanding as u32);
        self.personality.reap(&mut self.done, at_least)?;
        self.batches.reaped(self.done.len(), outstanding, at_least);
        Ok(())
    }

    /// The steps after the last request: the timed flush and close.
    fn finish(mut self, schedule: &Schedule, last_reap: u64) -> io::Result<Outcome> {
        let (measured_from, lead_ticks) =
            if self.is_of_few { (self.settled_at, self.lead_ticks) } else { (schedule.measure_from, 0) };
        self.outcome.depth_mean =
            (self.depth_ticks + lead_ticks) as f64 / self.depth_until.saturating_sub(measured_from).max(1) as f64;
        let now = self.personality.connections();
        self.outcome.connections =
            now.zip(self.outcome.connections.take()).map(|(now, before)| now.since(&before).into());
        let before = self.outcome.would_block.unwrap_or(0);
        self.outcome.would_block = self.personality.would_block().map(|all| all - before);
        let Worker { personality, around: Surroundings { extras, meter, clock, workload, .. }, mut outcome, .. } = self;
        let (mut end, mut personality) = (last_reap, Some(personality));
        if FULL
            && has_timed_end(workload)
            && let Some(personality) = personality.take()
        {
            let from = clock.tick();
            if let Err(error) = extras.end(personality) {
                let request = Request { offset: 0, length: 0, kind: RequestKind::Flush };
                let cause = FailureCause::Errno(error.raw_os_error().unwrap_or(libc::EIO));
                outcome.failures.push(RequestFailure { request, cause, words: None });
            }
            end = clock.tick();
            outcome.end_ticks = end - from;
        }
        if self.phase == Phase::Draining && self.count_drain {
            outcome.elapsed_ticks = end.saturating_sub(measured_from);
            outcome.cpu = meter.used();
        }
        if let Some((connections, mut personality)) = outcome.connections.as_mut().zip(personality) {
            connections.acknowledgements = personality.try_acknowledgements(workload.request_size.0 as usize);
        }
        Ok(outcome)
    }
}
