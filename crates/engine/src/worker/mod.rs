//! A worker: one thread that keeps its requests outstanding and records what they do.
//!
//! The loop takes one clock reading a turn, and one more for each further batch it submits in that turn: it ends the
//! service time of what was reaped and starts that of what is submitted next, so service time is from before the
//! submission to after the reaping and includes the program's own few nanoseconds. Nothing in the loop allocates, locks, formats or looks at options.

pub(crate) mod buffers;
pub(crate) mod recorder;

use crate::instrument::clock::Ticks;
use crate::instrument::cpu;
use crate::personality::{Completion, Personality, Transfer};
use halfpower_model::Workload;
use halfpower_model::sample::CpuTime;
use halfpower_model::stream::{Direction, Request, RequestStream};
use recorder::Recorder;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

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

/// A worker about to run: everything is opened and allocated.
pub(crate) struct Worker<'a, P, T> {
    personality: P,
    ticks: T,
    /// Counts of the measured part, by direction; others read them meanwhile.
    recorders: &'a [Recorder; 2],
    /// Ends every worker: it submits nothing more and returns when nothing is outstanding.
    stop: &'a AtomicBool,
    stream: RequestStream,
    batch: [Request; BATCH],
    batch_next: usize,
    slots: Vec<Slot>,
    free: Vec<u32>,
    done: Vec<Completion>,
    submit_batch: u32,
    phase: Phase,
    count_drain: bool,
    /// Requests that may still be submitted.
    remaining: u64,
    /// Outstanding requests times ticks over the measured part, and the tick up to which they are counted.
    depth_ticks: u64,
    depth_until: u64,
    outcome: Outcome,
}

impl<'a, P: Personality, T: Ticks> Worker<'a, P, T> {
    pub(crate) fn new(
        personality: P,
        ticks: T,
        recorders: &'a [Recorder; 2],
        stop: &'a AtomicBool,
        workload: &Workload,
        index: u32,
    ) -> Self {
        let depth = workload.depth;
        Worker {
            personality,
            ticks,
            recorders,
            stop,
            stream: RequestStream::new(workload, index),
            batch: [Request::default(); BATCH],
            batch_next: BATCH,
            slots: vec![Slot::default(); depth as usize],
            free: (0..depth).rev().collect(),
            done: Vec::with_capacity(depth as usize),
            submit_batch: workload.submit_batch,
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

    /// Runs to the end of the schedule, a failure or a stop.
    ///
    /// # Errors
    /// When the personality itself fails, not a request of it; requests may then still be outstanding.
    pub(crate) fn run(mut self, schedule: Schedule) -> io::Result<Outcome> {
        self.count_drain = schedule.count_drain;
        let mut now = self.ticks.now();
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
            if let Err(error) = self.personality.reap(&mut self.done) {
                // The kernel may still be moving bytes: the buffers must outlive this worker.
                std::mem::forget(self.personality);
                return Err(error);
            }
            now = self.ticks.now();
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
                now = self.ticks.now();
                self.count_depth(now);
                batched = 0;
            }
            batched += 1;
            self.remaining = self.remaining.saturating_sub(u64::from(self.remaining != u64::MAX));
            let request = self.next_request();
            self.slots[slot as usize] = Slot { request, submitted_at: now, done: 0 };
            self.personality.submit(Transfer {
                slot,
                offset: request.offset,
                from: 0,
                length: request.length,
                direction: request.direction,
            });
        }
    }

    #[inline]
    fn next_request(&mut self) -> Request {
        if self.batch_next == BATCH {
            self.stream.fill(&mut self.batch);
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
            let slot = &mut self.slots[completion.slot as usize];
            let moved = u32::try_from(completion.result).unwrap_or(0);
            if slot.done + moved != slot.request.length || moved == 0 {
                self.complete_partly(*completion, counts);
                continue;
            }
            if counts {
                let latency_ns = self.ticks.nanoseconds(now - slot.submitted_at);
                let recorder = &self.recorders[slot.request.direction as usize];
                recorder.record(latency_ns, u64::from(slot.request.length));
            }
            self.free.push(completion.slot);
        }
        done.clear();
        self.done = done;
    }

    /// A transfer that failed or was short.
    #[cold]
    fn complete_partly(&mut self, completion: Completion, counts: bool) {
        let slot = &mut self.slots[completion.slot as usize];
        if completion.result <= 0 {
            let cause =
                if completion.result < 0 { FailureCause::Errno(-completion.result) } else { FailureCause::EndOfTarget };
            self.outcome.failure.get_or_insert(RequestFailure { request: slot.request, cause });
            self.free.push(completion.slot);
            // The failure ends this worker and the others: nobody goes on writing to a disk that is full.
            self.stop.store(true, Relaxed);
            return;
        }
        slot.done += completion.result as u32;
        if counts {
            self.recorders[slot.request.direction as usize].record_short();
        }
        let request = slot.request;
        let done = slot.done;
        self.personality.submit(Transfer {
            slot: completion.slot,
            offset: request.offset + u64::from(done),
            from: done,
            length: request.length - done,
            direction: request.direction,
        });
    }

    fn finish(mut self, schedule: &Schedule, last_reap: u64, cpu_before: CpuTime) -> Outcome {
        if self.phase == Phase::Draining && self.count_drain {
            self.outcome.elapsed_ticks = last_reap.saturating_sub(schedule.measure_from);
            self.outcome.cpu = cpu::since(cpu::thread_time(), cpu_before);
        }
        self.outcome.depth_mean =
            self.depth_ticks as f64 / self.depth_until.saturating_sub(schedule.measure_from).max(1) as f64;
        self.outcome
    }
}

/// Index of a direction's recorder.
pub(crate) const READ: usize = Direction::Read as usize;
/// Index of a direction's recorder.
pub(crate) const WRITE: usize = Direction::Write as usize;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instrument::clock::Monotonic;
    use crate::personality::Setup;
    use crate::worker::buffers::Buffers;
    use halfpower_model::{
        Buffering, Bytes, CachePolicy, Durability, Limits, Nanoseconds, Operation, Pattern, Personality as Name,
    };
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

        fn submit(&mut self, transfer: Transfer) {
            self.taken.push(transfer);
        }

        fn reap(&mut self, done: &mut Vec<Completion>) -> io::Result<()> {
            std::thread::sleep(Duration::from_millis(40));
            let transfer = self.taken.remove(0);
            done.push(Completion { slot: transfer.slot, result: transfer.length as i32 });
            Ok(())
        }
    }

    fn run(depth: u32, warmup_ms: u64, window_ms: u64) -> (Outcome, u64) {
        let workload = Workload {
            operation: Operation::Read,
            pattern: Pattern::Sequential,
            request_size: Bytes(4096),
            depth,
            submit_batch: 1,
            workers: 1,
            buffering: Buffering::Direct,
            personality: Name::Sync,
            span: Bytes(1 << 20),
            limits: Limits { duration: None, requests: None, bytes: None },
            warmup: Nanoseconds(0),
            interval: Nanoseconds(1_000_000_000),
            cache: CachePolicy::Keep,
            durability: Durability::None,
            seed: 1,
            cpus: Vec::new(),
        };
        let (recorders, stop) = (Default::default(), AtomicBool::new(false));
        let buffers = Buffers::new(1, 1, None).unwrap();
        let slow = Slow::open(Setup { file: None, buffers, workload: &workload }).unwrap();
        let worker = Worker::new(slow, Monotonic, &recorders, &stop, &workload, 0);
        let measure_from = Monotonic.now() + warmup_ms * 1_000_000;
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
