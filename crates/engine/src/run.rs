//! Runs a workload's workers, each on its own thread, and watches them: progress, intervals, cancellation.

use crate::instrument::clock::Clock;
use crate::personality::{Personality, Setup};
use crate::target::Opened;
use crate::worker::buffers::Buffers;
use crate::worker::recorder::Snapshot;
use crate::worker::{Outcome, Recorders, Schedule, Surroundings, Worker};
use halfpower_model::RequestKind;
use halfpower_model::random::derive_seed;
use halfpower_model::sample::Interval;
use halfpower_model::{
    Bytes, BytesPerSecond, Cancel, Durability, Layout, MeasureError, Nanoseconds, Observer, Progress, Sharing, Workload,
};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How often the watching thread looks up.
const LOOK: Duration = Duration::from_millis(50);
/// Part of a workload's seed that draws the data written.
const DATA_SEED: u64 = 1 << 40;

/// What the workers gave, before it becomes a sample.
#[derive(Debug)]
pub(crate) struct RawRun {
    pub(crate) outcomes: Vec<Outcome>,
    /// By the number of the kind.
    pub(crate) counts: [Snapshot; 4],
    pub(crate) intervals: Vec<Interval>,
    pub(crate) started_at: jiff::Timestamp,
    /// The longest of the workers' measured parts.
    pub(crate) elapsed: Nanoseconds,
    /// Tick at which the measured part began.
    pub(crate) measure_from: u64,
    pub(crate) options: Options,
}

/// What became of a personality's options.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) obtained: Vec<String>,
    pub(crate) refused: Vec<String>,
}

/// What a worker tells the watching thread.
enum Event {
    /// It is ready to start, with what became of its options, or cannot be.
    Ready(io::Result<Options>),
    /// It has ended.
    Done,
}

/// Whether and when to start.
#[derive(Clone, Copy)]
enum Start {
    At(u64),
    Never,
}

/// Sends [`Event::Done`] when a worker ends, by a panic too, and then stops the others.
struct DoneGuard<'a> {
    events: Sender<Event>,
    stop: &'a AtomicBool,
}

impl Drop for DoneGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.stop.store(true, Relaxed);
        }
        // The receiver outlives the workers; were it gone, nobody would be waiting.
        let _ = self.events.send(Event::Done);
    }
}

/// Where all workers wait until everybody is ready.
#[derive(Default)]
struct Gate {
    start: Mutex<Option<Start>>,
    opened: Condvar,
}

impl Gate {
    fn open(&self, start: Start) {
        *self.start.lock().unwrap_or_else(PoisonError::into_inner) = Some(start);
        self.opened.notify_all();
    }

    fn wait(&self) -> Start {
        let mut start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(start) = *start {
                return start;
            }
            start = self.opened.wait(start).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What the threads of a run share.
struct Shared<'a> {
    workload: &'a Workload,
    targets: &'a [Opened],
    clock: Clock,
    recorders: Vec<Recorders>,
    /// One for each target that has workers of its own, else one.
    cursors: Vec<AtomicU64>,
    stop: AtomicBool,
    gate: Gate,
}

/// Runs the workload with the personality `P`.
pub(crate) fn run<P: Personality>(
    workload: &Workload,
    targets: &[Opened],
    clock: Clock,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<RawRun, MeasureError> {
    let shared = Shared {
        workload,
        targets,
        clock,
        recorders: (0..workload.workers).map(|_| Recorders::default()).collect(),
        cursors: (0..workload.volumes()).map(|_| AtomicU64::new(0)).collect(),
        stop: AtomicBool::new(false),
        gate: Gate::default(),
    };
    std::thread::scope(|scope| {
        let (sender, events) = channel();
        let mut handles = Vec::new();
        let mut spawned = Ok(());
        for worker in 0..workload.workers {
            let guard = DoneGuard { events: sender.clone(), stop: &shared.stop };
            let shared = &shared;
            let body = move || work::<P>(shared, worker, &guard);
            match std::thread::Builder::new().spawn_scoped(scope, body) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    spawned = Err(error);
                    break;
                }
            }
        }
        drop(sender);
        let ready = spawned.and_then(|()| await_ready(&events, workload.workers));
        let measure_from = clock.tick() + clock.ticks(workload.warmup.0);
        shared.gate.open(if ready.is_ok() { Start::At(measure_from) } else { Start::Never });
        let intervals = match &ready {
            Ok(_) => watch(&shared, &events, measure_from, observer, cancel),
            Err(_) => Vec::new(),
        };
        let results: Vec<_> = handles.into_iter().map(|handle| handle.join()).collect();
        let options = ready.map_err(setup_failed)?;
        let started_at = jiff::Timestamp::now() - since(clock, measure_from);
        let outcomes = results
            .into_iter()
            .map(|result| match result {
                Ok(outcome) => outcome.map_err(|error| MeasureError::Worker(error.to_string())),
                Err(panic) => Err(MeasureError::Worker(panic_message(panic.as_ref()))),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let elapsed_ticks = outcomes.iter().map(|outcome| outcome.elapsed_ticks).max().unwrap_or(0);
        let counts = snapshots(&shared.recorders);
        Ok(RawRun {
            outcomes,
            counts,
            intervals,
            started_at,
            elapsed: Nanoseconds(clock.nanoseconds(elapsed_ticks)),
            measure_from,
            options,
        })
    })
}

fn since(clock: Clock, from: u64) -> jiff::SignedDuration {
    let elapsed = clock.nanoseconds(clock.tick().saturating_sub(from));
    jiff::SignedDuration::from_nanos(i64::try_from(elapsed).unwrap_or(i64::MAX))
}

fn setup_failed(source: io::Error) -> MeasureError {
    let remedy = match source.raw_os_error() {
        Some(libc::EAGAIN) => "; use fewer --workers, or raise ulimit -u",
        Some(libc::EMFILE | libc::ENFILE) => "; use fewer --workers, or raise ulimit -n",
        Some(libc::ENOMEM) => "; use fewer --workers, a smaller --depth or smaller requests",
        _ => "",
    };
    MeasureError::System { action: "prepare", subject: format!("a worker{remedy}"), source }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// Waits until every worker is ready; gives what became of the options of the last one.
fn await_ready(events: &Receiver<Event>, workers: u32) -> io::Result<Options> {
    let mut last = Options::default();
    for _ in 0..workers {
        match events.recv() {
            Ok(Event::Ready(Ok(options))) => last = options,
            Ok(Event::Ready(Err(error))) => return Err(error),
            // Ended without being ready: it panicked, which joining it will tell.
            Ok(Event::Done) | Err(_) => return Err(io::Error::other("a worker ended before it was ready")),
        }
    }
    Ok(last)
}

/// A worker's thread.
fn work<P: Personality>(shared: &Shared<'_>, index: u32, guard: &DoneGuard<'_>) -> io::Result<Outcome> {
    let (worker, told) = match prepare::<P>(shared, index) {
        Ok(worker) => {
            let options = Options { obtained: worker.obtained(), refused: worker.refused() };
            (Some(worker), Ok(options))
        }
        Err(error) => (None, Err(error)),
    };
    // As in the guard's drop: nobody waits when the receiver is gone.
    let _ = guard.events.send(Event::Ready(told));
    match (worker, shared.gate.wait()) {
        (Some(worker), Start::At(measure_from)) => {
            let outcome = worker.run(schedule(shared.workload, index, shared.clock, measure_from));
            if outcome.is_err() {
                shared.stop.store(true, Relaxed);
            }
            outcome
        }
        _ => Ok(Outcome::default()),
    }
}

fn prepare<'a, P: Personality>(shared: &'a Shared<'_>, index: u32) -> io::Result<Worker<'a, P>> {
    let workload = shared.workload;
    pin(workload, index)?;
    let (slots, slot_bytes) =
        if P::MOVES_DATA { (workload.depth as usize, workload.request_size.0 as usize) } else { (1, 1) };
    let seed = derive_seed(workload.seed, DATA_SEED + u64::from(index));
    let buffers = Buffers::new(slots, slot_bytes, workload.operation.writes().then_some(seed))?;
    let volume = index as usize % shared.cursors.len();
    let targets = match workload.layout {
        Layout::Each => shared.targets.get(volume..=volume).unwrap_or_default(),
        _ => shared.targets,
    };
    let personality = P::open(Setup { targets, buffers: &buffers, outstanding: workload.depth, workload })?;
    let cursor = (workload.sharing == Sharing::Cursor).then(|| &shared.cursors[volume]);
    let (recorders, stop) = (&shared.recorders[index as usize], &shared.stop);
    let surroundings = Surroundings { clock: shared.clock, workload, index, recorders, stop, cursor };
    Ok(Worker::new(personality, buffers, &surroundings))
}

/// Pins the calling thread as the workload asks.
fn pin(workload: &Workload, index: u32) -> io::Result<()> {
    let Some(cpu) = workload.cpus.get(index as usize % workload.cpus.len().max(1)) else { return Ok(()) };
    let mut set = rustix::thread::CpuSet::new();
    if *cpu as usize >= rustix::thread::CpuSet::MAX_CPU {
        return Err(io::Error::other(format!("there is no processor {cpu}; use a smaller number in --cpus")));
    }
    set.set(*cpu as usize);
    rustix::thread::sched_setaffinity(None, &set).map_err(|error| {
        io::Error::other(format!("cannot pin a worker to processor {cpu} ({error}); use one this host has in --cpus"))
    })
}

/// Worker `index`'s part of the limits.
fn schedule(workload: &Workload, index: u32, clock: Clock, measure_from: u64) -> Schedule {
    let limits = &workload.limits;
    let by_bytes = limits.bytes.map(|bytes| bytes.0.div_ceil(workload.request_size.0));
    let requests = [limits.requests, by_bytes].into_iter().flatten().min();
    let workers = u64::from(workload.workers);
    let share = requests.map(|all| all / workers + u64::from(u64::from(index) < all % workers));
    Schedule {
        measure_from,
        measure_until: limits.duration.map_or(u64::MAX, |span| measure_from.saturating_add(clock.ticks(span.0))),
        requests: share.unwrap_or(u64::MAX),
        count_drain: workload.durability == Durability::FlushAtEnd,
    }
}

fn snapshots(recorders: &[Recorders]) -> [Snapshot; 4] {
    RequestKind::ALL.map(|kind| {
        let mut snapshot = Snapshot::default();
        recorders.iter().for_each(|of| snapshot.add(&of[kind as usize]));
        snapshot
    })
}

/// Watches until every worker has ended; gives the intervals.
fn watch(
    shared: &Shared<'_>,
    events: &Receiver<Event>,
    measure_from: u64,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Vec<Interval> {
    let clock = shared.clock;
    let interval_ns = shared.workload.interval.0;
    let mut intervals = Vec::new();
    let mut last = Moment::default();
    let mut last_shown = Moment::default();
    let mut done = 0;
    while done < shared.workload.workers {
        let elapsed_ns = clock.nanoseconds(clock.tick().saturating_sub(measure_from));
        let next_ns = (last.at_ns / interval_ns + 1) * interval_ns;
        let wait = Duration::from_nanos(next_ns.saturating_sub(elapsed_ns)).clamp(Duration::from_micros(100), LOOK);
        match events.recv_timeout(wait) {
            // Many end at once: looking at the counts after each would take longer than all of them did.
            Ok(_) => done += 1 + events.try_iter().count() as u32,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if cancel.is_cancelled() {
            shared.stop.store(true, Relaxed);
        }
        let at_ns = clock.nanoseconds(clock.tick().saturating_sub(measure_from));
        let interval_is_over = at_ns >= next_ns;
        let show = at_ns.saturating_sub(last_shown.at_ns) >= LOOK.as_nanos() as u64;
        if done < shared.workload.workers && (interval_is_over || show) {
            let moment = Moment::of(shared, at_ns);
            if show {
                observer.progress(&moment.progress(&last_shown));
                last_shown = moment.clone();
            }
            if interval_is_over {
                intervals.push(moment.interval(&last));
                last = moment;
            }
        }
    }
    let end = Moment::of(shared, clock.nanoseconds(clock.tick().saturating_sub(measure_from)));
    let rest = end.interval(&last);
    intervals.extend((rest.requests > 0).then_some(rest));
    intervals
}

/// The counts of all workers and both directions at some moment.
#[derive(Clone, Default)]
struct Moment {
    at_ns: u64,
    counts: Snapshot,
}

impl Moment {
    fn of(shared: &Shared<'_>, at_ns: u64) -> Self {
        let mut counts = Snapshot::default();
        shared.recorders.iter().flatten().for_each(|recorder| counts.add(recorder));
        Moment { at_ns, counts }
    }

    fn interval(&self, since: &Moment) -> Interval {
        let histogram = self.counts.since(&since.counts);
        Interval {
            at_s: self.at_ns as f64 / 1e9,
            requests: histogram.count(),
            bytes: self.counts.bytes - since.counts.bytes,
            latency_p50_ns: histogram.quantile(0.50),
            latency_p99_ns: histogram.quantile(0.99),
        }
    }

    fn progress(&self, since: &Moment) -> Progress {
        let span_s = (self.at_ns - since.at_ns) as f64 / 1e9;
        Progress {
            elapsed: Nanoseconds(self.at_ns),
            requests: self.counts.requests(),
            bytes: Bytes(self.counts.bytes),
            rate: BytesPerSecond((self.counts.bytes - since.counts.bytes) as f64 / span_s),
        }
    }
}
