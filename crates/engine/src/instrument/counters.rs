//! Hardware counters of a thread: clocks and instructions, in user space and in the kernel (perf_event_open(2)). They include
//! the threads that it starts. Opening them takes some microseconds, reading them two system calls.
//!
//! Counts of user space alone need fewer rights, but are not used: most of a request's work is in the kernel.

use super::perf::{self, Attributes, Whose};
use halfpower_model::sample::Counters;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;

/// PERF_TYPE_HARDWARE and two of its events.
const HARDWARE: u32 = 0;
const CYCLES: u64 = 0;
const INSTRUCTIONS: u64 = 1;
/// PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING.
const WITH_TIMES: u64 = 3;
/// `inherit` and `exclude_hv`.
const FLAGS: u64 = 1 << 1 | 1 << 6;
/// Counters of the thread that opened them.
#[derive(Debug)]
pub(crate) struct ThreadCounters {
    cycles: OwnedFd,
    instructions: OwnedFd,
}

/// Both at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    cycles: Count,
    instructions: Count,
}

/// A count, with its enabled and running times: the kernel multiplexes counters if there are too few.
#[derive(Clone, Copy, Debug)]
struct Count {
    value: u64,
    enabled_ns: u64,
    running_ns: u64,
}

impl ThreadCounters {
    /// Of the calling thread, from now on; or why not, with the remedy.
    pub(crate) fn open() -> Result<ThreadCounters, String> {
        let open = |event| open(event).map_err(|error| reason(&error));
        Ok(ThreadCounters { cycles: open(CYCLES)?, instructions: open(INSTRUCTIONS)? })
    }

    /// Their values; none if they cannot be read.
    pub(crate) fn read(&self) -> Option<Moment> {
        Some(Moment { cycles: read(self.cycles.as_fd())?, instructions: read(self.instructions.as_fd())? })
    }
}

impl Moment {
    /// The counts since an earlier moment; none if the counters never ran.
    pub(crate) fn since(&self, before: &Moment) -> Option<Counters> {
        Some(Counters {
            cycles: self.cycles.since(before.cycles)?,
            instructions: self.instructions.since(before.instructions)?,
        })
    }
}

impl Count {
    fn since(self, before: Count) -> Option<u64> {
        let running = self.running_ns.checked_sub(before.running_ns).filter(|ns| *ns > 0)?;
        let enabled = self.enabled_ns.saturating_sub(before.enabled_ns);
        let value = self.value.saturating_sub(before.value);
        u64::try_from(u128::from(value) * u128::from(enabled) / u128::from(running)).ok()
    }
}

fn open(event: u64) -> io::Result<OwnedFd> {
    let attributes =
        Attributes { kind: HARDWARE, config: event, read_format: WITH_TIMES, flags: FLAGS, ..Attributes::default() };
    perf::open(attributes, Whose::ThisThread)
}

fn read(counter: BorrowedFd<'_>) -> Option<Count> {
    let mut bytes = [0; 24];
    let length = rustix::io::read(counter, &mut bytes).ok()?;
    let word = |index: usize| Some(u64::from_ne_bytes(*bytes.get(index * 8..)?.first_chunk()?));
    (length == bytes.len()).then_some(())?;
    Some(Count { value: word(0)?, enabled_ns: word(1)?, running_ns: word(2)? })
}

fn reason(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            "the CPU offers no counters, as in most virtual machines".to_owned()
        }
        Some(libc::EACCES | libc::EPERM) => {
            "needs root, CAP_PERFMON, or kernel.perf_event_paranoid at 1 or less".to_owned()
        }
        Some(libc::ENOSYS) => "the kernel was built without perf_event_open".to_owned(),
        _ => format!("perf_event_open: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_count_or_say_why_not() {
        let counters = match ThreadCounters::open() {
            Ok(counters) => counters,
            Err(reason) => {
                eprintln!("skipped: {reason}");
                return;
            }
        };
        let before = counters.read().unwrap();
        let mut value = 1_u64;
        for _ in 0..1_000_000 {
            value = std::hint::black_box(value.wrapping_mul(3));
        }
        let counted = counters.read().unwrap().since(&before).unwrap();
        assert!(counted.instructions > 1_000_000 && counted.cycles > 100_000, "{counted:?}");
    }

    #[test]
    fn what_ran_for_half_of_the_time_counts_twice() {
        let before = Count { value: 100, enabled_ns: 1000, running_ns: 400 };
        let after = Count { value: 350, enabled_ns: 2000, running_ns: 900 };
        assert_eq!(after.since(before), Some(500));
        assert_eq!(before.since(before), None);
    }
}
