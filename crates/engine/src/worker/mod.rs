//! A worker: one thread that keeps its requests outstanding and records what they do.
//!
//! The loop takes one clock reading a turn, and one more for each further batch it submits in that turn: it ends the
//! service time of what was reaped and starts that of what is submitted next, so service time is from before the
//! submission to after the reaping and includes the program's own few nanoseconds. Nothing in the loop allocates, locks, formats or looks at options.

pub(crate) mod buffers;
pub(crate) mod recorder;

use crate::instrument::clock::Clock;
use crate::instrument::cpu;
use crate::personality::{Completion, Personality, Transfer};
use buffers::Buffers;
use halfpower_model::Workload;
use halfpower_model::sample::CpuTime;
use halfpower_model::stream::{Request, RequestKind, RequestStream};
use recorder::Recorder;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Requests made at a time.
const BATCH: usize = 128;

/// When a worker measures, in ticks, and how much.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// Completions after this count.
    pub(crate) measure_from: u64,
    /// Completions after this do not count, unless `count_drain`; `u64::MAX` without a time limit.
    pub(crate) measure_until: u64,
    /// Requests to submit after `measure_from`; `u64::MAX` without such a limit.
    pub(crate) requests: u64,
    /// Whether what is outstanding at the end counts, and the time until it is back.
    pub(crate) count_drain: bool,
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

/// What a worker found out beside the counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// Ticks from `measure_from` to the end of its measured part.
    pub(crate) elapsed_ticks: u64,
    /// Mean number of requests outstanding in the measured part.
    pub(crate) depth_mean: f64,
    /// Processor time of the thread in the measured part.
    pub(crate) cpu: CpuTime,
    /// What [`Personality::would_block`] counted in the measured part.
    pub(crate) would_block: Option<u64>,
    /// The error that ended it, with the request it struck; none when it ran to its limits.
    pub(crate) failure: Option<RequestFailure>,
}

/// A request that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestFailure {
    pub(crate) request: Request,
    pub(crate) cause: FailureCause,
}

/// How it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureCause {
    /// With this error number.
    Errno(i32),
    /// No byte was moved: the target ends before the request.
    EndOfTarget,
}

/// A request in flight.
#[derive(Clone, Copy, Default)]
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

/// Counts of the measured part, by the number of the kind; others read them meanwhile.
pub(crate) type Recorders = [Recorder; 4];

/// What a worker works with, beside its personality.
pub(crate) struct Surroundings<'a> {
    pub(crate) clock: Clock,
    pub(crate) workload: &'a Workload,
    /// Its number.
    pub(crate) index: u32,
    pub(crate) recorders: &'a Recorders,
    /// Ends every worker: it submits nothing more and returns when nothing is outstanding.
    pub(crate) stop: &'a AtomicBool,
    /// The cursor it shares with others.
    pub(crate) cursor: Option<&'a AtomicU64>,
}

/// A worker about to run: everything is opened and allocated.
pub(crate) struct Worker<'a, P> {
    /// Closed before the buffers go.
    personality: P,
    buffers: Buffers,
    clock: Clock,
    recorders: &'a Recorders,
    stop: &'a AtomicBool,
    stream: RequestStream<'a>,
    batch: [Request; BATCH],
    batch_length: usize,
    batch_next: usize,
    slots: Vec<Slot>,
    free: Vec<u32>,
    done: Vec<Completion>,
    submit_batch: u32,
    wait_batch: u32,
    phase: Phase,
    count_drain: bool,
    /// Requests that may still be submitted.
    remaining: u64,
    /// Outstanding requests times ticks over the measured part, and the tick up to which they are counted.
    depth_ticks: u64,
    depth_until: u64,
    outcome: Outcome,
}

impl<'a, P: Personality> Worker<'a, P> {
    pub(crate) fn new(personality: P, buffers: Buffers, surroundings: &Surroundings<'a>) -> Self {
        let Surroundings { clock, workload, index, recorders, stop, cursor } = *surroundings;
        let depth = workload.depth;
        let stream = RequestStream::new(workload, index, cursor);
        let batch_length = BATCH.min(stream.look_ahead());
        Worker {
            personality,
            buffers,
            clock,
            recorders,
            stop,
            stream,
            batch: [Request::default(); BATCH],
            batch_length,
            batch_next: batch_length,
            slots: vec![Slot::default(); depth as usize],
            free: (0..depth).rev().collect(),
            done: Vec::with_capacity(depth as usize),
            submit_batch: workload.submit_batch,
            wait_batch: workload.wait_batch,
            phase: Phase::Warmup,
            count_drain: false,
            remaining: u64::MAX,
            depth_ticks: 0,
            depth_until: 0,
            outcome: Outcome::default(),
        }
    }

    /// Options that the kernel granted the personality.
    pub(crate) fn obtained(&self) -> Vec<String> {
        self.personality.obtained()
    }

    /// Options that it did not grant, each with the reason.
    pub(crate) fn refused(&self) -> Vec<String> {
        self.personality.refused()
    }

    /// Runs to the end of the schedule, a failure or a stop.
    ///
    /// # Errors
    /// When the personality itself fails, not a request of it; requests may then still be outstanding.
    pub(crate) fn run(mut self, schedule: Schedule) -> io::Result<Outcome> {
        self.count_drain = schedule.count_drain;
        let mut now = self.clock.tick();
        let mut cpu_before = cpu::thread_time();
        let schedule = schedule.not_before(now);
        let mut next_event = schedule.measure_from;
        if now >= next_event {
            next_event = self.begin_measuring(&schedule, &mut cpu_before);
        }
        let mut last_reap = now;
        loop {
            if now >= next_event || self.remaining == 0 || self.stop.load(Relaxed) {
                next_event = self.change_phase(&schedule, now, cpu_before);
            }
            self.submit_all(now);
            if self.in_flight() == 0 {
                break;
            }
            let at_least = self.wait_batch.min(self.in_flight() as u32);
            if let Err(error) = self.personality.reap(&mut self.done, at_least) {
                // The kernel may still be moving bytes: the buffers must outlive this worker.
                std::mem::forget((self.personality, self.buffers));
                return Err(error);
            }
            now = self.clock.tick();
            if self.phase == Phase::Warmup && now >= schedule.measure_from {
                next_event = self.begin_measuring(&schedule, &mut cpu_before);
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
        Ok(self.finish(&schedule, last_reap, cpu_before))
    }

    /// The warm-up is over: what completes from now on counts. Gives the tick of the next event.
    #[cold]
    fn begin_measuring(&mut self, schedule: &Schedule, cpu_before: &mut CpuTime) -> u64 {
        self.phase = Phase::Measuring;
        *cpu_before = cpu::thread_time();
        self.outcome.would_block = self.personality.would_block();
        self.depth_until = schedule.measure_from;
        self.remaining = match schedule.requests {
            u64::MAX => u64::MAX,
            // What is outstanding will count, so it is part of the number.
            requests => requests.saturating_sub(self.in_flight()),
        };
        schedule.measure_until
    }

    /// The rare turns of the loop: the time is up, the requests are used up, somebody says stop. Gives the tick of the
    /// next one.
    #[cold]
    fn change_phase(&mut self, schedule: &Schedule, now: u64, cpu_before: CpuTime) -> u64 {
        let time_is_up = now >= schedule.measure_until;
        let stopped = self.stop.load(Relaxed);
        if self.phase == Phase::Measuring && (time_is_up || stopped || self.remaining == 0) {
            self.phase = Phase::Draining;
            self.outcome.cpu = cpu::since(cpu::thread_time(), cpu_before);
            // Requests used up: the last ones count.
            self.count_drain |= self.remaining == 0;
            self.outcome.elapsed_ticks = schedule.measure_until.min(now) - schedule.measure_from;
        }
        if self.phase == Phase::Draining || stopped {
            self.remaining = 0;
            return u64::MAX;
        }
        schedule.measure_until
    }

    /// Whether completions after the window count: where the flush is timed, and where the window saw none at all,
    /// because a request took longer than it; the measured part then lasts until they are back.
    #[cold]
    fn counts_late(&mut self) -> bool {
        self.count_drain |= self.recorders.iter().all(Recorder::is_empty);
        self.count_drain
    }

    /// Requests outstanding.
    #[inline]
    fn in_flight(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// Adds what was outstanding since the last reading.
    #[inline]
    fn count_depth(&mut self, now: u64) {
        if self.phase == Phase::Measuring {
            self.depth_ticks += self.in_flight() * now.saturating_sub(self.depth_until);
            self.depth_until = now;
        }
    }

    /// Fills every free slot. Every batch starts the kernel on its requests and takes a new clock reading, so that none
    /// is charged the time its predecessors took to submit.
    #[inline]
    fn submit_all(&mut self, mut now: u64) {
        let mut batched = 0;
        while self.remaining > 0
            && let Some(slot) = self.free.pop()
        {
            if batched == self.submit_batch {
                self.personality.start();
                now = self.clock.tick();
                self.count_depth(now);
                batched = 0;
            }
            batched += 1;
            self.remaining = self.remaining.saturating_sub(u64::from(self.remaining != u64::MAX));
            let request = self.next_request();
            self.slots[slot as usize] = Slot { request, submitted_at: now, done: 0 };
            self.submit(slot, &request, 0);
        }
    }

    /// Hands over what is left of a request from byte `from` on.
    #[inline]
    fn submit(&mut self, slot: u32, request: &Request, from: u32) {
        let transfer = Transfer {
            tag: slot,
            length: request.length - from,
            offset: request.offset + u64::from(from),
            address: if P::MOVES_DATA {
                self.buffers.address(slot as usize, from as usize)
            } else {
                std::ptr::null_mut()
            },
            target: 0,
            kind: request.kind,
        };
        // SAFETY: the slot is this request's until it comes back, and the buffers outlive the personality.
        unsafe { self.personality.submit(transfer) };
    }

    #[inline]
    fn next_request(&mut self) -> Request {
        if self.batch_next == self.batch_length {
            self.stream.fill(&mut self.batch[..self.batch_length]);
            self.batch_next = 0;
        }
        let request = self.batch[self.batch_next];
        self.batch_next += 1;
        request
    }

    /// Takes what was reaped: counts whole requests, continues short ones, ends the worker at a failed one.
    #[inline]
    fn complete(&mut self, now: u64, counts: bool) {
        let mut done = std::mem::take(&mut self.done);
        for completion in &done {
            let slot = &mut self.slots[completion.tag as usize];
            let moved = u32::try_from(completion.result).unwrap_or(0);
            if slot.done + moved != slot.request.length || moved == 0 {
                self.complete_otherwise(*completion, now, counts);
                continue;
            }
            if counts {
                let latency_ns = self.clock.nanoseconds(now - slot.submitted_at);
                let recorder = &self.recorders[slot.request.kind as usize];
                recorder.record(latency_ns, u64::from(slot.request.length));
            }
            self.free.push(completion.tag);
        }
        done.clear();
        self.done = done;
    }

    /// A transfer that failed, was short, or is not of bytes.
    #[cold]
    fn complete_otherwise(&mut self, completion: Completion, now: u64, counts: bool) {
        let slot = &mut self.slots[completion.tag as usize];
        let request = slot.request;
        let is_whole = matches!(request.kind, RequestKind::Trim | RequestKind::Flush);
        if completion.result >= 0 && is_whole {
            self.free.push(completion.tag);
            if counts {
                let latency_ns = self.clock.nanoseconds(now - slot.submitted_at);
                self.recorders[request.kind as usize].record(latency_ns, u64::from(request.length));
            }
            return;
        }
        if completion.result <= 0 {
            let cause =
                if completion.result < 0 { FailureCause::Errno(-completion.result) } else { FailureCause::EndOfTarget };
            self.outcome.failure.get_or_insert(RequestFailure { request, cause });
            self.free.push(completion.tag);
            // The failure ends this worker and the others: nobody goes on writing to a disk that is full.
            self.stop.store(true, Relaxed);
            return;
        }
        slot.done += completion.result as u32;
        let from = slot.done;
        if counts {
            self.recorders[request.kind as usize].record_short();
        }
        self.submit(completion.tag, &request, from);
    }

    fn finish(mut self, schedule: &Schedule, last_reap: u64, cpu_before: CpuTime) -> Outcome {
        if self.phase == Phase::Draining && self.count_drain {
            self.outcome.elapsed_ticks = last_reap.saturating_sub(schedule.measure_from);
            self.outcome.cpu = cpu::since(cpu::thread_time(), cpu_before);
        }
        let before = self.outcome.would_block.unwrap_or(0);
        self.outcome.would_block = self.personality.would_block().map(|all| all - before);
        self.outcome.depth_mean =
            self.depth_ticks as f64 / self.depth_until.saturating_sub(schedule.measure_from).max(1) as f64;
        self.outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::personality::Setup;
    use halfpower_model::Bytes;
    use std::time::Duration;

    /// Completes one transfer in 40 ms.
    struct Slow {
        taken: Vec<Transfer>,
    }

    impl Personality for Slow {
        const MOVES_DATA: bool = false;

        fn open(_: Setup<'_>) -> io::Result<Self> {
            Ok(Slow { taken: Vec::new() })
        }

        unsafe fn submit(&mut self, transfer: Transfer) {
            self.taken.push(transfer);
        }

        fn reap(&mut self, done: &mut Vec<Completion>, _: u32) -> io::Result<()> {
            std::thread::sleep(Duration::from_millis(40));
            let transfer = self.taken.remove(0);
            done.push(Completion { tag: transfer.tag, result: transfer.length as i32 });
            Ok(())
        }
    }

    fn run(depth: u32, warmup_ms: u64, window_ms: u64) -> (Outcome, u64) {
        let workload = Workload { request_size: Bytes(4096), depth, span: Bytes(1 << 20), ..Workload::default() };
        let (recorders, stop) = (Recorders::default(), AtomicBool::new(false));
        let buffers = Buffers::new(1, 1, None).unwrap();
        let slow = Slow { taken: Vec::new() };
        let clock = Clock::Monotonic;
        let surroundings =
            Surroundings { clock, workload: &workload, index: 0, recorders: &recorders, stop: &stop, cursor: None };
        let worker = Worker::new(slow, buffers, &surroundings);
        let measure_from = clock.tick() + warmup_ms * 1_000_000;
        let outcome = worker.run(Schedule {
            measure_from,
            measure_until: measure_from + window_ms * 1_000_000,
            requests: u64::MAX,
            count_drain: false,
        });
        let mut counted = recorder::Snapshot::default();
        recorders.iter().for_each(|recorder| counted.add(recorder));
        (outcome.unwrap(), counted.requests())
    }

    #[test]
    fn a_request_longer_than_the_window_lengthens_it() {
        for warmup_ms in [0, 5] {
            let (outcome, requests) = run(1, warmup_ms, 10);
            assert_eq!(requests, 1, "after {warmup_ms} ms of warm-up");
            assert!(outcome.elapsed_ticks >= (40 - warmup_ms) * 1_000_000, "{outcome:?}");
            assert!((0.9..=1.0).contains(&outcome.depth_mean), "{outcome:?}");
        }
    }

    #[test]
    fn what_completes_after_the_window_does_not_count() {
        // Completions at 40, 80 and, too late, 120 ms or more.
        let (outcome, requests) = run(1, 0, 100);
        assert!(requests <= 2, "{requests}");
        assert_eq!(outcome.elapsed_ticks, 100_000_000);
        assert!((0.9..=1.0).contains(&outcome.depth_mean), "{outcome:?}");
    }
}
