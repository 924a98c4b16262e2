//! Runs a workload's workers, each on a thread or in a process, and watches them.

mod affinity;
mod barrier;
mod processes;
mod state;
#[cfg(test)]
mod tests;
mod watch;
mod work;
mod worker_process;

pub use worker_process::worker_process;

use crate::errno;
use crate::instrument::accounts::{Accounted, Accounts};
use crate::instrument::clock::Clock;
use crate::personality::interface::{Granted, Personality};
use crate::target::OpenTarget;
use crate::worker::ledger::Volumes;
use crate::worker::recorder::{Recorder, Snapshot};
use crate::worker::{Outcome, Record, RequestFailure};
use affinity::Restricted;
use barrier::Start;
use halfpower_model::RequestKind;
use halfpower_model::sample::{Heat, Interval};
use halfpower_model::{Cancel, MeasureError, Nanoseconds, Observer, WorkerKind, Workload};
use state::{Event, Shared};
use std::any::Any;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::ScopedJoinHandle;
use std::time::Duration;
use watch::Watched;
use work::{panic_message, work};
use worker_process::Launcher;

/// The raw results of the workers, from which the sample is made.
#[derive(Debug)]
pub(crate) struct RawRun {
    pub(crate) workers: Vec<WorkerRun>,
    /// By the number of the kind.
    pub(crate) counts: [Snapshot; 4],
    /// Of an open loop: response times and lateness.
    pub(crate) response: Snapshot,
    pub(crate) lateness: Snapshot,
    pub(crate) backlog_max: u64,
    pub(crate) backlog_at_end: u64,
    /// Bytes of all workers when the first had finished.
    pub(crate) bytes_at_first_finish: u64,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) heat: Heat,
    pub(crate) started_at: jiff::Timestamp,
    /// The longest of the workers' measured parts.
    pub(crate) elapsed: Nanoseconds,
    /// How long after the start the last worker began.
    pub(crate) late: Nanoseconds,
    pub(crate) granted: Granted,
    /// The whole machine's CPU time in the measured part.
    pub(crate) accounted: Accounted,
    /// The longest pause of the program or of a worker process in the measured part.
    pub(crate) stood_still: Duration,
}

impl RawRun {
    /// Every request that failed.
    pub(crate) fn failures(&self) -> impl Iterator<Item = &RequestFailure> {
        self.workers.iter().flat_map(|worker| &worker.outcome.failures)
    }
}

/// The result of one worker.
#[derive(Debug)]
pub(crate) struct WorkerRun {
    pub(crate) outcome: Outcome,
    /// Requests and bytes of its measured part.
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    /// Why the worker itself failed, not one of its requests.
    pub(crate) breakdown: Option<String>,
}

/// Sends [`Event::Done`] when a worker ends, by a panic too, and then stops the others.
struct ThreadLink<'a> {
    events: Sender<Event>,
    stop: &'a AtomicBool,
}

impl Drop for ThreadLink<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.stop.store(true, Relaxed);
        }
        // The receiver outlives the workers; without it no thread would wait.
        let _ = self.events.send(Event::Done);
    }
}

/// Called once all workers are ready; returns the tick from which they run, which may be about to come, or none to give up.
pub(crate) type Gate<'a> = &'a mut dyn FnMut() -> Option<u64>;

/// Runs the workload with the personality `P`, on targets that were opened for it. `ledger` holds the expected blocks of a
/// verified workload.
pub(crate) fn run<P: Personality>(
    workload: &Workload,
    targets: &[OpenTarget],
    clock: Clock,
    ledger: Option<Volumes<'_>>,
    observer: &mut dyn Observer,
    cancel: &Cancel,
    gate: Option<Gate<'_>>,
) -> Result<RawRun, MeasureError> {
    // Before the workers, and on all CPUs.
    let mut accounts = Accounts::prepare(workload, clock).map_err(setup_failed)?;
    let _restricted = Restricted::to(workload.cpu_count).map_err(setup_failed)?;
    let shared = Shared::new(workload, targets, clock, ledger).map_err(setup_failed)?;
    let launcher = match workload.worker_kind {
        WorkerKind::Thread => None,
        WorkerKind::Process => Some(Launcher::new(&shared).map_err(setup_failed)?),
    };
    std::thread::scope(|scope| {
        let (sender, events) = channel();
        let (mut workers, shared) = (Vec::new(), &shared);
        let spawned = (0..workload.workers).try_for_each(|index| -> io::Result<()> {
            let link = ThreadLink { events: sender.clone(), stop: shared.stop() };
            let child = launcher.as_ref().map(|launcher| launcher.start(index)).transpose()?;
            let work = move || {
                let ready = |granted| drop(link.events.send(Event::Ready(granted)));
                match child {
                    None => work::<P>(shared, index, &ready),
                    Some(child) => child.follow(shared, &ready),
                }
            };
            workers.push(std::thread::Builder::new().spawn_scoped(scope, work)?);
            Ok(())
        });
        accounts.look_ahead();
        let ready = spawned.and_then(|()| await_ready(shared, &events, cancel));
        let from = match gate.filter(|_| ready.is_ok()) {
            Some(gate) => gate(),
            None => Some(clock.tick()),
        };
        let ready = from.map_or_else(|| Err(io::ErrorKind::Interrupted.into()), |_| ready);
        if workload.warmup.0 == 0 {
            accounts.begin();
        }
        let measure_from = from.unwrap_or_default() + clock.ticks(workload.warmup.0);
        shared.barrier().release(if ready.is_ok() { Start::At(measure_from) } else { Start::Never });
        let watched = match &ready {
            Ok(_) => watch::watch(shared, &events, measure_from, &mut accounts, observer, cancel),
            Err(_) => Watched::default(),
        };
        let accounted = accounts.end();
        let ended = workers.into_iter().map(join).collect();
        let granted = ready.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => MeasureError::Cancelled,
            _ => setup_failed(error),
        })?;
        let started_at = jiff::Timestamp::now() - since(clock, measure_from);
        Ok(RawRun { accounted, ..gather(shared, ended, watched, started_at, granted) })
    })
}

/// The outcome of a worker, or why it broke down.
fn join(worker: ScopedJoinHandle<'_, io::Result<Outcome>>) -> Result<Outcome, String> {
    let panicked = |panic: Box<dyn Any + Send>| format!("it panicked: {}", panic_message(&*panic));
    worker.join().map_err(panicked)?.map_err(|error| error.to_string())
}

fn gather(
    shared: &Shared<'_>,
    ended: Vec<Result<Outcome, String>>,
    watched: Watched,
    started_at: jiff::Timestamp,
    granted: Granted,
) -> RawRun {
    let measure_from = shared.barrier().started_at().unwrap_or(u64::MAX);
    let of_worker = |(record, ended): (&Record, Result<Outcome, String>)| {
        let counts = Snapshot::of(&record.kinds);
        let so_far = |why| (record.outcome(measure_from), Some(why));
        let (outcome, breakdown) = ended.map_or_else(so_far, |outcome| (outcome, None));
        WorkerRun { outcome, requests: counts.requests(), bytes: counts.bytes, breakdown }
    };
    let workers: Vec<_> = shared.records.iter().zip(ended).map(of_worker).collect();
    let of_all = |recorder: &dyn Fn(&Record) -> &Recorder| Snapshot::of(shared.records.iter().map(recorder));
    let sum =
        |number: fn(&Record) -> &AtomicU64| shared.records.iter().map(|record| number(record).load(Relaxed)).sum();
    let elapsed_ticks = workers.iter().map(|worker| worker.outcome.elapsed_ticks).max().unwrap_or(0);
    let late_ticks = workers.iter().map(|worker| worker.outcome.late_ticks).max().unwrap_or(0);
    let stopped = workers.iter().map(|worker| worker.outcome.stopped).max().unwrap_or_default();
    RawRun {
        workers,
        counts: RequestKind::ALL.map(|kind| of_all(&|record| &record.kinds[kind as usize])),
        response: of_all(&|record| &record.lateness.response),
        lateness: of_all(&|record| &record.lateness.late),
        backlog_max: sum(|record| &record.lateness.backlog_max),
        backlog_at_end: sum(|record| &record.lateness.backlog_at_end),
        bytes_at_first_finish: shared.common[0].bytes_at_first_finish.load(Relaxed),
        intervals: watched.intervals,
        heat: watched.heat,
        stood_still: watched.stood_still.max(stopped),
        started_at,
        elapsed: Nanoseconds(shared.clock.nanoseconds(elapsed_ticks)),
        late: Nanoseconds(shared.clock.nanoseconds(late_ticks)),
        granted,
        accounted: Accounted::default(),
    }
}

fn since(clock: Clock, from: u64) -> jiff::SignedDuration {
    let elapsed = clock.nanoseconds(clock.tick().saturating_sub(from));
    jiff::SignedDuration::from_nanos(i64::try_from(elapsed).unwrap_or(i64::MAX))
}

fn setup_failed(source: io::Error) -> MeasureError {
    let remedy = match source.raw_os_error() {
        Some(libc::EAGAIN) => "; use fewer --workers, or raise ulimit -u".to_owned(),
        Some(libc::ENOMEM) => "; use fewer --workers, a smaller --depth or smaller requests".to_owned(),
        _ => {
            errno::limit_remedy(&source).map(|remedy| format!("; use fewer --workers, or {remedy}")).unwrap_or_default()
        }
    };
    MeasureError::System { action: "prepare", subject: format!("a worker{remedy}"), source }
}

/// Waits until every worker is ready; returns the options that one of them was granted.
fn await_ready(shared: &Shared<'_>, events: &Receiver<Event>, cancel: &Cancel) -> io::Result<Granted> {
    let mut granted = Granted::default();
    let mut awaited = shared.workload.workers;
    while awaited > 0 {
        match events.recv_timeout(watch::LOOK) {
            Ok(Event::Ready(result)) => granted = result?,
            Err(RecvTimeoutError::Timeout) => {
                if cancel.is_cancelled() {
                    shared.stop().store(true, Relaxed);
                }
                continue;
            }
            // It panicked; joining it gives the message.
            Ok(Event::Done) | Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("a worker ended before it was ready"));
            }
        }
        awaited -= 1;
    }
    Ok(granted)
}
