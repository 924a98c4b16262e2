use super::*;
use crate::personality::interface::{Granted, Setup, Transfer};
use halfpower_model::Bytes;

/// Completes one transfer in 40 ms of a clock that nothing else moves.
struct Slow {
    taken: Vec<Transfer>,
    clock: &'static AtomicU64,
}

impl Personality for Slow {
    const MOVES_DATA: bool = false;

    fn open(_: Setup<'_>) -> io::Result<(Self, Granted)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    unsafe fn submit(&mut self, transfer: Transfer) {
        self.taken.push(transfer);
    }

    fn reap(&mut self, done: &mut Vec<Completion>, _: u32) -> io::Result<()> {
        self.clock.fetch_add(40_000_000, Relaxed);
        let transfer = self.taken.remove(0);
        done.push(Completion { tag: transfer.tag, result: transfer.length as i32 });
        Ok(())
    }
}

fn run_of_few(depth: u32, warmup_ms: u64, window_ms: u64, few: u64) -> (Outcome, halfpower_model::Histogram) {
    let workload = Workload { request_size: Bytes(4096), depth, span: Bytes(1 << 20), ..Workload::default() };
    let records = crate::shared_memory::Shared::<Record>::new(1).unwrap();
    let stop = AtomicBool::new(false);
    let buffers = Buffers::new(1, 1).unwrap();
    let now: &'static AtomicU64 = Box::leak(Box::default());
    let slow = Slow { taken: Vec::new(), clock: now };
    let clock = Clock::Virtual(now);
    let worker = Worker::<_, false>::new(
        slow,
        buffers,
        Surroundings {
            clock,
            workload: &workload,
            index: 0,
            record: &records[0],
            stop: &stop,
            cursor: None,
            extras: Extras::new(&workload, 0, clock, Vec::new(), None),
            meter: Meter::start(),
        },
    );
    let measure_from = clock.tick() + warmup_ms * 1_000_000;
    let outcome = worker.run(Schedule {
        measure_from,
        measure_until: measure_from + window_ms * 1_000_000,
        requests: u64::MAX,
        count_drain: false,
        few,
    });
    let mut counted = recorder::Snapshot::default();
    records[0].kinds.iter().for_each(|recorder| counted.add(recorder));
    (outcome.unwrap(), counted.histogram())
}

#[test]
fn a_request_longer_than_the_window_lengthens_it() {
    for warmup_ms in [0, 5] {
        let (outcome, latencies) = run_of_few(1, warmup_ms, 10, 0);
        assert_eq!(latencies.count(), 1, "after {warmup_ms} ms of warm-up");
        assert!(outcome.elapsed_ticks >= (40 - warmup_ms) * 1_000_000, "{outcome:?}");
        assert!((0.9..=1.0).contains(&outcome.depth_mean), "{outcome:?}");
    }
}

/// Whatever the window cuts: the time of the requests that count is the measured part, one after another.
#[test]
fn the_measured_part_of_few_requests_is_theirs() {
    for (warmup_ms, window_ms) in [(0, 10), (5, 60), (0, 100), (60, 99), (90, 90)] {
        let (outcome, latencies) = run_of_few(1, warmup_ms, window_ms, 100);
        let share = latencies.sum() / outcome.elapsed_ticks as f64;
        assert!((0.99..=1.0).contains(&share), "{share} after {warmup_ms} ms in {window_ms} ms: {outcome:?}");
        assert!((0.99..=1.0).contains(&outcome.depth_mean), "{outcome:?}");
        assert_eq!(outcome.overhang, Overhang::default(), "what was waited for counts");
    }
    // No more than were asked for, some of which were begun before it.
    let (outcome, latencies) = run_of_few(3, 60, 100, 100);
    assert!((1.0..=3.0).contains(&outcome.depth_mean) && latencies.count() >= 4, "{outcome:?}");
}
