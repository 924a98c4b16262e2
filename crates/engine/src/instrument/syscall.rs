//! What entering and leaving the kernel costs: the part of a request's CPU time that no storage can save.
//!
//! `getppid` does next to nothing, is answered by the kernel and is not cached by the C library. Rounds of many calls are timed
//! as a whole, so that one reading of the clock costs each call less than a hundredth of a nanosecond. The median of the rounds
//! is the result: interrupts and other programs lengthen some. Method: McVoy and Staelin, "lmbench: portable tools for
//! performance analysis", USENIX 1996, section 6.3.

use super::clock::Clock;
use halfpower_model::reading::Rounds;
use halfpower_model::{Cancel, MeasureError};
use serde::{Deserialize, Serialize};

/// Rounds: their median has an interval of 2 · 5.
const ROUNDS: usize = 21;
/// Calls of a round, some milliseconds.
const CALLS: u32 = 20_000;

/// The cost of an empty system call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemCall {
    /// Calls of each round.
    pub calls: u32,
    /// Nanoseconds of a call.
    pub call_ns: Rounds,
    /// What the clock may be off, as part of a call.
    pub resolution_ns: f64,
}

/// Measures it on the CPU that this thread is on.
///
/// # Errors
/// If it was cancelled.
pub fn syscall(cancel: &Cancel) -> Result<SystemCall, MeasureError> {
    let clock = Clock::host();
    let mut rounds = Vec::with_capacity(ROUNDS);
    // The first one warms caches up.
    for round in 0..=ROUNDS {
        if cancel.is_cancelled() {
            return Err(MeasureError::Cancelled);
        }
        let from = clock.tick();
        for _ in 0..CALLS {
            // SAFETY: takes no argument and touches no memory.
            unsafe { libc::syscall(libc::SYS_getppid) };
        }
        let took_ns = clock.nanoseconds(clock.tick() - from);
        if round > 0 {
            rounds.push(took_ns as f64 / f64::from(CALLS));
        }
    }
    let facts = clock.facts();
    let resolution_ns = (facts.resolution_ns + facts.cost_ns) / f64::from(CALLS);
    Ok(SystemCall { calls: CALLS, call_ns: Rounds::new(rounds), resolution_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_counts_and_a_call_takes_longer_than_the_clock_resolves() {
        let measured = syscall(&Cancel::default()).unwrap();
        assert_eq!(measured.call_ns.rounds.len(), ROUNDS);
        assert!(measured.call_ns.median > 10.0 * measured.resolution_ns, "{measured:?}");
        let cancelled = Cancel::default();
        cancelled.cancel();
        assert!(matches!(syscall(&cancelled), Err(MeasureError::Cancelled)));
    }
}
