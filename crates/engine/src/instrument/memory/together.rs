//! Threads that start together, each pinned to its own CPU.
//!
//! A round lasts from the common start until the last thread ends, so a delayed thread counts. Every round creates new threads;
//! that takes about 50 µs and is not timed.

use crate::instrument::clock::Clock;
use crate::system::pin;
use halfpower_model::Nanoseconds;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};

/// From the last arrival to the start: enough for all threads to see it.
const NOTICE_NS: u64 = 20_000;
/// Polls of a waiting thread before it yields.
const LOOKS: u32 = 1_000;

/// Runs `warm` on each part, each on its CPU, then `work` on all at once; returns the time of that and the results.
///
/// # Errors
/// If a thread cannot be pinned.
pub(super) fn together<P: Send, T: Send>(
    clock: Clock,
    cpus: &[u32],
    parts: &mut [P],
    warm: impl Fn(&mut P) + Sync,
    work: impl Fn(&mut P) -> T + Sync,
) -> io::Result<(Nanoseconds, Vec<T>)> {
    let count = parts.len();
    let gate = Gate { arrived: AtomicUsize::new(0), start: AtomicU64::new(0) };
    let outcomes: Vec<io::Result<(u64, T)>> = std::thread::scope(|scope| {
        let threads: Vec<_> = parts
            .iter_mut()
            .zip(cpus)
            .map(|(part, cpu)| {
                let (gate, warm, work) = (&gate, &warm, &work);
                scope.spawn(move || {
                    let pinned = pin(*cpu);
                    warm(part);
                    gate.wait(clock, count);
                    let outcome = work(part);
                    let end = clock.tick();
                    pinned.map(|()| (end, outcome)).map_err(io::Error::from)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let (ends, outcomes): (Vec<u64>, Vec<T>) =
        outcomes.into_iter().collect::<io::Result<Vec<_>>>()?.into_iter().unzip();
    let last = ends.into_iter().max().unwrap_or_default();
    Ok((Nanoseconds(clock.nanoseconds(last.saturating_sub(gate.start.into_inner()))), outcomes))
}

/// A barrier, and a common start tick.
struct Gate {
    arrived: AtomicUsize,
    /// 0 until all have arrived.
    start: AtomicU64,
}

impl Gate {
    fn wait(&self, clock: Clock, count: usize) {
        if self.arrived.fetch_add(1, AcqRel) + 1 == count {
            self.start.store(clock.tick() + clock.ticks(NOTICE_NS), Release);
        }
        let mut looks = 0_u32;
        let start = loop {
            match self.start.load(Acquire) {
                0 => {}
                start => break start,
            }
            looks += 1;
            // Another thread may have to start on this CPU.
            if looks.is_multiple_of(LOOKS) { std::thread::yield_now() } else { std::hint::spin_loop() }
        };
        while clock.tick() < start {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn all_have_arrived_before_the_first_begins_and_the_last_one_ends_the_round() {
        let cpus = crate::system::allowed_cpus();
        let mut parts: Vec<u64> = (0..cpus.len() as u64).collect();
        let warmed = AtomicUsize::new(0);
        let (elapsed, seen) = together(
            Clock::host(),
            &cpus,
            &mut parts,
            |part| {
                std::thread::sleep(Duration::from_millis(*part));
                warmed.fetch_add(1, AcqRel);
            },
            |part| {
                std::thread::sleep(Duration::from_millis(20 + *part));
                (warmed.load(Acquire), rustix::thread::sched_getcpu())
            },
        )
        .unwrap();
        assert!(elapsed.0 >= 20_000_000 + 1_000_000 * (parts.len() as u64 - 1), "{elapsed}");
        for ((warmed, cpu), own) in seen.into_iter().zip(&cpus) {
            assert_eq!((warmed, cpu), (cpus.len(), *own as usize));
        }
    }
}
