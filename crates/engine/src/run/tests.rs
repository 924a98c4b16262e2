//! The window of a run on a clock that only its requests move: every figure is known beforehand, however busy the
//! machine is.

use super::*;
use crate::personality::interface::{Completion, Setup, Transfer};
use crate::worker::Overhang;
use halfpower_model::Durability;
use halfpower_model::{Arrivals, Bytes, Limits, Rate};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

const WARMUP_NS: u64 = 20_000_000;
const WINDOW_NS: u64 = 100_000_000;
/// From one completion to the next; neither the warm-up nor the window is a multiple of it.
const SERVICE_NS: u64 = 7_000;
/// Completions from the start up to the end of the warm-up, and up to the end of the window.
const BEFORE: u64 = WARMUP_NS / SERVICE_NS;
const UNTIL: u64 = (WARMUP_NS + WINDOW_NS) / SERVICE_NS;

/// Of a slow device.
const SLOW_SERVICE_NS: u64 = 40_000_000;

const STALL_NS: u64 = 4_000_000_000;
const STALLS_FROM: u64 = WARMUP_NS + WINDOW_NS / 2;

/// Forms of the law: as usual, all at once, one that from the middle of the window on takes until long after its end, and a
/// slow one.
const DEEP: usize = 0;
const SYNCHRONOUS: usize = 1;
const STALLING: usize = 2;
const SLOW: usize = 3;

/// A clock for each form, since tests run side by side.
static CLOCKS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

/// For tests that share the first of them.
static TURN: Mutex<()> = Mutex::new(());

/// Completes one transfer after another and moves the clock by what that takes.
struct Law<const FORM: usize>(Vec<Transfer>);

impl<const FORM: usize> Personality for Law<FORM> {
    const MOVES_DATA: bool = false;
    const SYNCHRONOUS: bool = FORM == SYNCHRONOUS;

    fn open(_: Setup<'_>) -> io::Result<(Self, Granted)> {
        CLOCKS[FORM].store(0, Relaxed);
        Ok((Law(Vec::new()), Granted::default()))
    }

    unsafe fn submit(&mut self, transfer: Transfer) {
        self.0.push(transfer);
    }

    fn reap(&mut self, done: &mut Vec<Completion>, _: u32) -> io::Result<()> {
        let transfer = self.0.remove(0);
        // SAFETY: it moves no data.
        let result = unsafe { self.transfer(&transfer) };
        done.push(Completion { tag: transfer.tag, result });
        Ok(())
    }

    unsafe fn transfer(&mut self, transfer: &Transfer) -> i32 {
        let now = CLOCKS[FORM].load(Relaxed);
        let stalls = FORM == STALLING && (STALLS_FROM..WARMUP_NS + WINDOW_NS).contains(&now);
        let service_ns = if FORM == SLOW { SLOW_SERVICE_NS } else { SERVICE_NS };
        CLOCKS[FORM].store(now + if stalls { STALL_NS } else { service_ns }, Relaxed);
        transfer.length as i32
    }
}

fn workload(depth: u32) -> Workload {
    Workload {
        request_size: Bytes(4096),
        span: Bytes(1 << 20),
        depth,
        warmup: Nanoseconds(WARMUP_NS),
        interval: Nanoseconds(WINDOW_NS / 10),
        limits: window(WINDOW_NS),
        ..Workload::default()
    }
}

fn run_law<const FORM: usize>(workload: &Workload) -> RawRun {
    let clock = Clock::Virtual(&CLOCKS[FORM]);
    run::<Law<FORM>>(workload, &[], clock, None, &mut (), &Cancel::default(), None).unwrap()
}

fn window(ns: u64) -> Limits {
    Limits { duration: Some(Nanoseconds(ns)), requests: None, bytes: None }
}

fn check_window<const FORM: usize>() {
    for depth in if FORM == SYNCHRONOUS { vec![1] } else { vec![1, 4] } {
        let raw = run_law::<FORM>(&workload(depth));
        assert_eq!(raw.elapsed, Nanoseconds(WINDOW_NS), "QD{depth}: neither the warm-up nor what is drained");
        let counted = raw.counts[0].histogram();
        assert_eq!(counted.count(), UNTIL - BEFORE, "QD{depth}: those that completed inside");
        assert_eq!(raw.counts[0].bytes, (UNTIL - BEFORE) * 4096);
        let outcome = &raw.workers[0].outcome;
        assert_eq!(outcome.submitted, UNTIL + u64::from(depth), "QD{depth}: and those that were out at the end");
        assert_eq!(outcome.depth_mean, f64::from(depth));
        // Once the depth is reached each waits for those before it.
        let latency_ns = SERVICE_NS * u64::from(depth);
        assert_eq!((counted.min(), counted.max()), (Some(latency_ns), Some(latency_ns)), "QD{depth}");
        let in_intervals: u64 = raw.intervals.iter().map(|interval| interval.requests).sum();
        assert_eq!(in_intervals, UNTIL - BEFORE, "the intervals are the whole");
    }
}

#[test]
fn the_window_is_the_duration() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    check_window::<DEEP>();
}

#[test]
fn the_window_of_transfers_at_once_is_the_duration() {
    check_window::<SYNCHRONOUS>();
}

#[test]
fn a_number_of_requests_ends_with_the_last_of_them() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for depth in [1, 4] {
        let limits = Limits { duration: None, requests: Some(1000), bytes: None };
        let raw = run_law::<DEEP>(&Workload { limits, ..workload(depth) });
        assert_eq!(raw.counts[0].requests(), 1000, "QD{depth}");
        assert_eq!(raw.elapsed, Nanoseconds((BEFORE + 1000) * SERVICE_NS - WARMUP_NS), "QD{depth}");
        assert_eq!(raw.workers[0].outcome.submitted, BEFORE + 1000, "QD{depth}");
    }
}

#[test]
fn with_a_timed_flush_requests_outstanding_at_the_end_count() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for depth in [1, 4] {
        let raw = run_law::<DEEP>(&Workload { durability: Durability::FlushAtEnd, ..workload(depth) });
        assert_eq!(raw.counts[0].requests(), UNTIL + u64::from(depth) - BEFORE, "QD{depth}");
        let end_ns = (UNTIL + u64::from(depth)) * SERVICE_NS;
        assert_eq!(raw.elapsed, Nanoseconds(end_ns - WARMUP_NS), "QD{depth}");
    }
}

#[test]
fn a_stall_past_the_end_of_the_window_is_recorded() {
    for rate in [None, Some(Rate::Requests(1_000_000_000))] {
        let arrivals = if rate.is_some() { Arrivals::Constant } else { Arrivals::Closed };
        let raw = run_law::<STALLING>(&Workload { arrivals, rate, ..workload(8) });
        assert_eq!(raw.elapsed, Nanoseconds(WINDOW_NS), "the window is fixed all the same");
        assert_eq!(raw.counts[0].histogram().max(), Some(8 * SERVICE_NS));
        let overhang = raw.workers[0].outcome.overhang;
        // Each waits for the seven that were submitted before it as well.
        assert_eq!((overhang.requests, overhang.longest_ticks), (8, STALL_NS + 7 * SERVICE_NS), "{rate:?}");
        // The backlog grows so fast that every submitted request arrived at the very beginning.
        let since_arrival = if rate.is_some() { STALL_NS + STALLS_FROM - WARMUP_NS } else { 0 };
        assert!(overhang.longest_response_ticks >= since_arrival, "{overhang:?}");
        assert_eq!(rate.is_some(), overhang.longest_response_ticks > 0, "{overhang:?}");
    }
}

/// The outcome of a worker on a slow device, and the latencies of what counted.
fn run_slow(depth: u32, warmup_ms: u64, window_ms: u64, rate: Option<Rate>) -> (Outcome, halfpower_model::Histogram) {
    let (warmup, limits) = (Nanoseconds(warmup_ms * 1_000_000), window(window_ms * 1_000_000));
    let mut raw = run_law::<SLOW>(&Workload { warmup, limits, rate, ..workload(depth) });
    (raw.workers.remove(0).outcome, raw.counts[0].histogram())
}

#[test]
fn few_slow_requests_lengthen_the_window_to_their_own_time() {
    // Without a request in the window the first one after it counts, also at a rate, where few requests are not special.
    let rate = Some(Rate::Requests(1_000_000_000));
    for (warmup_ms, rate) in [(0, None), (5, None), (0, rate), (5, rate)] {
        let (outcome, latencies) = run_slow(1, warmup_ms, 10, rate);
        assert_eq!(latencies.count(), 1, "after {warmup_ms} ms of warm-up");
        assert!(outcome.elapsed_ticks >= (40 - warmup_ms) * 1_000_000, "{outcome:?}");
        assert!((0.9..=1.0).contains(&outcome.depth_mean), "{outcome:?}");
    }
    // Whatever the window cuts: the time of the requests that count is the measured part, one after another.
    for (warmup_ms, window_ms) in [(0, 10), (5, 60), (0, 100), (60, 99), (90, 90)] {
        let (outcome, latencies) = run_slow(1, warmup_ms, window_ms, None);
        let share = latencies.sum() / outcome.elapsed_ticks as f64;
        assert!((0.99..=1.0).contains(&share), "{share} after {warmup_ms} ms in {window_ms} ms: {outcome:?}");
        assert!((0.99..=1.0).contains(&outcome.depth_mean), "{outcome:?}");
        assert_eq!(outcome.overhang, Overhang::default(), "what was waited for counts");
    }
    // At most the queue depth is outstanding, in part from before the window.
    let (outcome, latencies) = run_slow(3, 60, 100, None);
    assert!((1.0..=3.0).contains(&outcome.depth_mean) && latencies.count() >= 4, "{outcome:?}");
}
