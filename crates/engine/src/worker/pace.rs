//! The time of the next request: the arrivals of an open loop, the gaps of a loop held to a rate, or pauses.
//!
//! An open loop's requests have an intended arrival, whether a slot is free or not. None is skipped: a late request is submitted as
//! soon as possible, and its response time counts from the intended arrival.

use super::recorder::Recorder;
use crate::instrument::clock::Clock;
use crate::shared_memory::Zeroed;
use halfpower_model::Workload;
use halfpower_model::arrivals::ArrivalStream;
use halfpower_model::workload::Arrivals;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Longer waits sleep first and spin for this rest, because a sleeper may be woken that much late.
const SPIN_NS: u64 = 150_000;
/// Maximum length of a sleep, so that a stop is noticed.
const SLEEP_NS: u64 = 20_000_000;

/// Maximum delay that a loop held to a rate makes up for.
const MADE_UP_NS: u64 = 10_000_000;

/// What a worker records of its arrivals in the measured part.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Lateness {
    /// From intended arrival to completion.
    pub(crate) response: Recorder,
    /// From intended arrival to submission.
    pub(crate) late: Recorder,
    /// Most requests that had arrived and were not submitted.
    pub(crate) backlog_max: AtomicU64,
    /// Those at the end.
    pub(crate) backlog_at_end: AtomicU64,
}

// SAFETY: recorders and numbers, each of which may be zero, changed as atomics.
unsafe impl Zeroed for Lateness {}

/// The pace of one worker.
#[derive(Debug)]
pub(crate) struct Pace {
    clock: Clock,
    is_open: bool,
    arrivals: ArrivalStream,
    /// Tick that the arrivals count from, and that of the next.
    origin: u64,
    next: u64,
    /// The same arrivals, gone through up to now to see how many are due; requests before them that were submitted.
    due: ArrivalStream,
    backlog: i64,
}

impl Pace {
    /// The pace of a worker; none without a rate, pauses or a trace.
    pub(crate) fn new(workload: &Workload, worker: u32, clock: Clock) -> Option<Pace> {
        let arrivals = ArrivalStream::new(workload, worker)?;
        let is_open = workload.arrivals != Arrivals::Closed;
        Some(Pace { clock, is_open, due: arrivals.clone(), arrivals, origin: 0, next: 0, backlog: 0 })
    }

    /// Arrivals begin.
    pub(crate) fn begin(&mut self, now: u64) {
        self.origin = now;
        self.next = now + self.clock.ticks(self.arrivals.next_ns());
        // A sleeper is otherwise woken up to 50 µs late, to save power.
        // SAFETY: sets a number of the calling thread and touches no memory.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
    }

    /// The tick before which no request may be submitted.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Whether the clock holds requests back, not only their number outstanding.
    pub(crate) fn is_timed(&self) -> bool {
        self.arrivals.is_timed()
    }

    /// Whether the next request has to wait, for its time or for one of those outstanding. A pause that is due begins with none.
    #[inline]
    pub(crate) fn must_wait(&mut self, now: u64, outstanding: u64) -> bool {
        if outstanding == 0
            && let Some(pause_ns) = self.arrivals.begin_pause()
        {
            self.next = now + self.clock.ticks(pause_ns);
        }
        self.next > now || outstanding >= self.arrivals.outstanding_max()
    }

    /// Whether response times count from an intended arrival.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// A request of `length` bytes is submitted now; returns the tick of its intended submission.
    pub(crate) fn take(&mut self, length: u32, now: u64) -> u64 {
        let intended = self.next;
        if self.is_open {
            self.backlog -= 1;
            self.arrivals.advance(length);
            self.next = self.origin + self.clock.ticks(self.arrivals.next_ns());
            intended
        } else {
            // Held to a rate: a short delay is made up for, so that the rate is kept; a long one is not.
            let gap = self.clock.ticks(self.arrivals.gap_ns(length) as u64);
            self.next = (intended + gap).max(now.saturating_sub(self.clock.ticks(MADE_UP_NS)));
            now
        }
    }

    /// Counts the requests that have arrived by now and were not submitted, up to `most` arrivals per call: an overloaded loop must
    /// not spend its time on counting its backlog. Requests of a byte rate count as `length` bytes; at most `remaining` requests
    /// are left to submit.
    pub(crate) fn count_backlog(&mut self, now: u64, length: u32, most: u64, remaining: u64, lateness: &Lateness) {
        if !self.is_open {
            return;
        }
        let left = i64::try_from(remaining).unwrap_or(i64::MAX);
        for _ in 0..most {
            if self.backlog >= left || self.origin + self.clock.ticks(self.due.next_ns()) > now {
                break;
            }
            self.due.advance(length);
            self.backlog += 1;
        }
        let backlog = u64::try_from(self.backlog.min(left)).unwrap_or(0);
        if backlog > lateness.backlog_max.load(Relaxed) {
            lateness.backlog_max.store(backlog, Relaxed);
        }
        lateness.backlog_at_end.store(backlog, Relaxed);
    }

    /// Maximum wait for completions, so that the next arrival is not missed.
    pub(crate) fn patience(&self, now: u64) -> Duration {
        let left_ns = self.clock.nanoseconds(self.next.saturating_sub(now));
        Duration::from_nanos(left_ns.saturating_sub(SPIN_NS).min(SLEEP_NS))
    }
}

/// Waits until a tick or a stop; gives the present tick.
pub(crate) fn wait_until(clock: Clock, tick: u64, stop: &AtomicBool) -> u64 {
    loop {
        let now = clock.tick();
        if now >= tick || stop.load(Relaxed) {
            return now;
        }
        let left_ns = clock.nanoseconds(tick - now);
        match left_ns.checked_sub(SPIN_NS) {
            Some(sleep_ns) if sleep_ns > 0 => std::thread::sleep(Duration::from_nanos(sleep_ns.min(SLEEP_NS))),
            _ => std::hint::spin_loop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_memory::Shared;
    use halfpower_model::workload::Rate;

    fn pace(arrivals: Arrivals) -> Pace {
        let workload = Workload { arrivals, rate: Some(Rate::Requests(1000)), ..Workload::default() };
        Pace::new(&workload, 0, Clock::Monotonic).unwrap()
    }

    #[test]
    fn an_open_loop_keeps_to_its_arrivals_and_counts_what_waits() {
        let lateness = &Shared::<Lateness>::new(1).unwrap()[0];
        let mut pace = pace(Arrivals::Constant);
        pace.begin(5_000_000);
        // Five have arrived, at 5 to 9 ms.
        pace.count_backlog(9_500_000, 4096, 3, u64::MAX, lateness);
        assert_eq!(lateness.backlog_max.load(Relaxed), 3, "no more than its limit");
        pace.count_backlog(9_500_000, 4096, u64::MAX, u64::MAX, lateness);
        assert_eq!(lateness.backlog_max.load(Relaxed), 5);
        assert_eq!([0; 5].map(|_| pace.take(4096, 9_500_000)), [5, 6, 7, 8, 9].map(|ms| ms * 1_000_000));
        pace.count_backlog(9_600_000, 4096, u64::MAX, u64::MAX, lateness);
        assert_eq!((lateness.backlog_max.load(Relaxed), lateness.backlog_at_end.load(Relaxed)), (5, 0));
        assert_eq!(pace.next(), 10_000_000);
    }

    #[test]
    fn arrivals_beyond_the_number_of_requests_are_no_backlog() {
        let lateness = &Shared::<Lateness>::new(1).unwrap()[0];
        let mut pace = pace(Arrivals::Constant);
        pace.begin(0);
        let backlog = || (lateness.backlog_max.load(Relaxed), lateness.backlog_at_end.load(Relaxed));
        // A thousand would have arrived, but seven requests are left.
        pace.count_backlog(1_000_000_000, 4096, u64::MAX, 7, lateness);
        assert_eq!(backlog(), (7, 7));
        assert_eq!([0; 4].map(|_| pace.take(4096, 1_000_000_000)), [0, 1, 2, 3].map(|ms| ms * 1_000_000));
        pace.count_backlog(1_000_000_000, 4096, u64::MAX, 3, lateness);
        assert_eq!(backlog(), (7, 3));
        assert_eq!([0; 3].map(|_| pace.take(4096, 1_000_000_000)), [4, 5, 6].map(|ms| ms * 1_000_000));
        pace.count_backlog(2_000_000_000, 4096, u64::MAX, 0, lateness);
        assert_eq!(backlog(), (7, 0));
    }

    #[test]
    fn a_loop_held_to_a_rate_makes_up_for_short_delays_only() {
        let mut pace = pace(Arrivals::Closed);
        pace.begin(0);
        assert_eq!((pace.take(4096, 0), pace.next()), (0, 1_000_000));
        assert_eq!((pace.take(4096, 7_000_000), pace.next()), (7_000_000, 2_000_000));
        assert_eq!((pace.take(4096, 50_000_000), pace.next()), (50_000_000, 40_000_000));
        assert!(!pace.is_open());
    }

    #[test]
    fn a_pause_begins_when_nothing_is_outstanding() {
        let think = Some("1ms/2".parse().unwrap());
        let mut pace = Pace::new(&Workload { think, ..Workload::default() }, 0, Clock::Monotonic).unwrap();
        pace.begin(0);
        for now in [5, 6] {
            assert!(!pace.must_wait(now, now - 5));
            assert_eq!(pace.take(4096, now), now);
        }
        assert!(pace.must_wait(7, 2) && pace.must_wait(8, 1) && pace.must_wait(9, 0));
        assert_eq!(pace.next(), 1_000_009);
        assert!(pace.must_wait(1_000_008, 0) && !pace.must_wait(1_000_009, 0));
        assert!(!pace.is_timed() && !pace.is_open());
    }

    #[test]
    fn waiting_ends_at_the_tick_or_with_a_stop() {
        let clock = Clock::Monotonic;
        let tick = clock.tick() + 2_000_000;
        let stop = AtomicBool::new(false);
        assert!(wait_until(clock, tick, &stop) >= tick);
        stop.store(true, Relaxed);
        assert!(wait_until(clock, u64::MAX, &stop) < u64::MAX);
    }
}
