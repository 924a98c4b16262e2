//! The barrier at which all workers wait for the start, threads and processes.

use crate::shared_memory::Zeroed;
use rustix::thread::futex;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Whether and when to start.
#[derive(Clone, Copy)]
pub(super) enum Start {
    At(u64),
    Never,
}

/// Begins closed, in memory that processes share.
#[derive(Debug)]
pub(super) struct Barrier {
    state: AtomicU32,
    tick: AtomicU64,
}

// SAFETY: two numbers, both zero while it is closed, changed as atomics.
unsafe impl Zeroed for Barrier {}

const CLOSED: u32 = 0;
const STARTED: u32 = 1;
const GIVEN_UP: u32 = 2;

impl Barrier {
    /// Releases all workers, also those that arrive later.
    pub(super) fn release(&self, start: Start) {
        let state = match start {
            Start::At(tick) => {
                self.tick.store(tick, Relaxed);
                STARTED
            }
            Start::Never => GIVEN_UP,
        };
        // Release: a thread that reads this state also reads the tick.
        self.state.store(state, Release);
        // It is no error if no thread waits.
        let _ = futex::wake(&self.state, futex::Flags::empty(), i32::MAX as u32);
    }

    /// The tick of the start, once it is set.
    pub(super) fn started_at(&self) -> Option<u64> {
        (self.state.load(Acquire) == STARTED).then(|| self.tick.load(Relaxed))
    }

    /// Waits until it is released.
    pub(super) fn wait(&self) -> Start {
        loop {
            match self.state.load(Acquire) {
                CLOSED => {}
                STARTED => return Start::At(self.tick.load(Relaxed)),
                _ => return Start::Never,
            }
            // Returns at once if it was released meanwhile, and after signals, so the state is read again.
            let _ = futex::wait(&self.state, futex::Flags::empty(), CLOSED, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_memory::Shared;

    #[test]
    fn all_waiting_threads_are_released() {
        for (start, tick) in [(Start::At(7), Some(7)), (Start::Never, None)] {
            let barrier = &Shared::<Barrier>::new(1).unwrap();
            let wait = || match barrier[0].wait() {
                Start::At(tick) => Some(tick),
                Start::Never => None,
            };
            std::thread::scope(|scope| {
                let waiting: Vec<_> = (0..4).map(|_| scope.spawn(wait)).collect();
                barrier[0].release(start);
                assert!(waiting.into_iter().all(|thread| thread.join().unwrap() == tick));
            });
            assert_eq!(wait(), tick, "one that comes late");
        }
    }
}
