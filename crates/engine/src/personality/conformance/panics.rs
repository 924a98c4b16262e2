//! A worker that panics ends the others.

use super::*;
use crate::instrument::clock::Clock;
use crate::run;
use halfpower_model::{Cancel, Limits, Nanoseconds};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Completes everything at once; that of the worker which is opened first panics after a while.
struct Panics {
    taken: Vec<Completion>,
    /// Waits until then; none for ever.
    left: Option<u32>,
}

static OPENED: AtomicU32 = AtomicU32::new(0);

impl Personality for Panics {
    const MOVES_DATA: bool = false;

    fn open(setup: Setup<'_>) -> io::Result<(Self, Granted)> {
        let left = (OPENED.fetch_add(1, Relaxed) == 0).then_some(1000);
        Ok((Panics { taken: Vec::with_capacity(setup.outstanding as usize), left }, Granted::default()))
    }

    unsafe fn submit(&mut self, transfer: Transfer) {
        self.taken.push(Completion { tag: transfer.tag, result: transfer.length as i32 });
    }

    fn reap(&mut self, done: &mut Vec<Completion>, _: u32) -> io::Result<()> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1).expect("a thousand times is enough");
        }
        done.append(&mut self.taken);
        Ok(())
    }
}

#[test]
fn a_worker_that_panics_ends_the_others() {
    let workload = Workload {
        request_size: Bytes(4096),
        span: Bytes(SPAN as u64),
        workers: 4,
        limits: Limits { duration: Some(Nanoseconds(600_000_000_000)), ..Limits::default() },
        ..Workload::default()
    };
    let begun = Instant::now();
    let ended = run::run::<Panics>(&workload, &[], Clock::Monotonic, None, &mut (), &Cancel::default(), None).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_eq!(OPENED.load(Relaxed), 4);
    let breakdowns: Vec<_> = ended.workers.iter().filter_map(|worker| worker.breakdown.as_deref()).collect();
    assert!(matches!(breakdowns[..], [why] if why.contains("a thousand times is enough")), "{breakdowns:?}");
}
