//! Watches the workers while they run: progress, intervals, cancellation.

use super::state::{Event, Shared};
use crate::instrument::accounts::Accounts;
use crate::worker::recorder::Snapshot;
use halfpower_model::sample::{Heat, Interval, IntervalPart};
use halfpower_model::{
    Bytes, BytesPerSecond, Cancel, Histogram, Nanoseconds, Observer, Operation, Progress, RequestKind,
};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Interval of the watching thread.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// An excess of a wait from which the program counts as paused.
const STOOD_STILL: Duration = Duration::from_secs(1);

/// The observations of the watching thread.
#[derive(Debug, Default)]
pub(super) struct Watched {
    pub(super) intervals: Vec<Interval>,
    pub(super) heat: Heat,
    /// Pauses of the program in the measured part: stopped by a signal, frozen, or without a CPU.
    pub(super) stood_still: Duration,
}

/// Watches until every worker has ended.
pub(super) fn watch(
    shared: &Shared<'_>,
    events: &Receiver<Event>,
    measure_from: u64,
    accounts: &mut Accounts,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Watched {
    let clock = shared.clock;
    let interval_ns = shared.workload.interval.0;
    let mut watched = Watched { heat: Heat::new(LOOK.as_secs_f64()), ..Watched::default() };
    let mut last = Moment::default();
    let mut last_shown = Moment::default();
    let mut done = 0;
    while done < shared.workload.workers {
        let now = clock.tick();
        let warmup = Duration::from_nanos(clock.nanoseconds(measure_from.saturating_sub(now)));
        let Some(nothing_to_do) = accounts.approach(warmup) else { continue };
        let elapsed_ns = clock.nanoseconds(now.saturating_sub(measure_from));
        let next_ns = (last.at_ns / interval_ns + 1) * interval_ns;
        let wait = Duration::from_nanos(next_ns.saturating_sub(elapsed_ns)).clamp(Duration::from_micros(100), LOOK);
        let wait = wait.min(nothing_to_do);
        let (is_over, waits_from) = (shared.is_over(), Instant::now());
        match events.recv_timeout(wait) {
            // Many end together: reading the counts after each would take longer than the workers did.
            Ok(_) => done += 1 + events.try_iter().count() as u32,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let too_long = waits_from.elapsed().saturating_sub(wait);
        if too_long > STOOD_STILL && !is_over && clock.tick() > measure_from {
            watched.stood_still += too_long;
        }
        if cancel.is_cancelled() {
            shared.stop().store(true, Relaxed);
        }
        let at_ns = clock.nanoseconds(clock.tick().saturating_sub(measure_from));
        let interval_is_over = at_ns >= next_ns;
        let show = at_ns.saturating_sub(last_shown.at_ns) >= LOOK.as_nanos() as u64;
        if done < shared.workload.workers && (interval_is_over || show) {
            let moment = Moment::of(shared, at_ns);
            if show {
                accounts.look();
                observer.progress(&moment.progress(&last_shown));
                watched.heat.add(moment.at_s(), &moment.latencies(&last_shown));
                last_shown = moment.clone();
            }
            if interval_is_over {
                let moment = moment.with_parts(shared);
                watched.intervals.push(moment.interval(&last));
                last = moment;
            }
        }
    }
    let end = Moment::of(shared, clock.nanoseconds(clock.tick().saturating_sub(measure_from))).with_parts(shared);
    let rest = end.interval(&last);
    watched.intervals.extend((rest.requests > 0).then_some(rest));
    watched.heat.add(end.at_s(), &end.latencies(&last_shown));
    watched
}

/// The counts of all workers and both directions at some moment.
#[derive(Clone, Default)]
struct Moment {
    at_ns: u64,
    counts: Snapshot,
    /// Reads and writes alone, at the end of an interval of a workload that mixes them.
    parts: Option<[Snapshot; 2]>,
}

impl Moment {
    fn of(shared: &Shared<'_>, at_ns: u64) -> Self {
        Moment { at_ns, counts: Snapshot::of(shared.records.iter().flat_map(|record| &record.kinds)), parts: None }
    }

    /// The same at the end of an interval.
    fn with_parts(self, shared: &Shared<'_>) -> Self {
        let of = |kind| Snapshot::of(shared.records.iter().map(|record| &record.kinds[kind as usize]));
        let is_mixed = matches!(shared.workload.operation, Operation::Mix(_));
        Moment { parts: is_mixed.then(|| [RequestKind::Read, RequestKind::Write].map(of)), ..self }
    }

    fn at_s(&self) -> f64 {
        self.at_ns as f64 / 1e9
    }

    /// The latencies of the requests that completed since.
    fn latencies(&self, since: &Moment) -> Histogram {
        self.counts.since(&since.counts)
    }

    fn interval(&self, since: &Moment) -> Interval {
        let latencies = self.latencies(since);
        let part = |number: usize| {
            let (now, then) = (&self.parts.as_ref()?[number], since.parts.as_ref().map(|parts| &parts[number]));
            let latencies = then.map_or_else(|| now.histogram(), |then| now.since(then));
            let (requests, bytes) = (latencies.count(), now.bytes - then.map_or(0, |then| then.bytes));
            Some(IntervalPart { requests, bytes, latency_p50_ns: latencies.quantile(0.50) })
        };
        Interval {
            at_s: self.at_s(),
            requests: latencies.count(),
            bytes: self.counts.bytes - since.counts.bytes,
            latency_p50_ns: latencies.quantile(0.50),
            latency_p99_ns: latencies.quantile(0.99),
            read: part(0),
            write: part(1),
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
