//! CPU time of a thread, by getrusage and its counters.
//!
//! The kernel counts a thread's total in nanoseconds and splits it into user and system by ticks: the total is exact, the split
//! a sample. The time that a thread was runnable without a CPU is the second figure of its `schedstat` (Linux,
//! Documentation/scheduler/sched-stats.rst), in nanoseconds. It includes the throttling by a control group's quota. Reading
//! it costs a microsecond.

use super::counters::{self, ThreadCounters};
use halfpower_model::sample::{ContextSwitches, Counters, CpuTime};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// CPU time of a thread over a period.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Usage {
    pub(crate) time: CpuTime,
    pub(crate) switches: ContextSwitches,
    /// Runnable, without a CPU; none if unknown.
    pub(crate) waited_s: Option<f64>,
    /// None if they cannot be read.
    pub(crate) counters: Option<Counters>,
    /// The reason.
    pub(crate) counters_unavailable: Option<String>,
}

/// Measures the thread that creates it.
#[derive(Debug)]
pub(crate) struct Meter {
    counters: Result<ThreadCounters, String>,
    /// Kept open, so that reading it is one system call.
    schedstat: Option<File>,
    waited_before_s: Option<f64>,
    time_before: CpuTime,
    switches_before: ContextSwitches,
    counters_before: Option<counters::Moment>,
}

impl Meter {
    /// From now on.
    pub(crate) fn start() -> Meter {
        let mut meter = Meter {
            counters: ThreadCounters::open(),
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
            waited_before_s: None,
            time_before: CpuTime::default(),
            switches_before: ContextSwitches::default(),
            counters_before: None,
        };
        meter.restart();
        meter
    }

    /// Restarts the period now.
    pub(crate) fn restart(&mut self) {
        self.counters_before = self.read_counters();
        self.waited_before_s = self.waited_s();
        (self.time_before, self.switches_before) = thread_usage();
    }

    /// The use since then.
    pub(crate) fn used(&self) -> Usage {
        let (time, switches) = thread_usage();
        let counted = self.read_counters().zip(self.counters_before);
        let counters = counted.and_then(|(now, before)| now.since(&before));
        let why = || self.counters.as_ref().err().cloned().unwrap_or_else(|| "the counters did not run".to_owned());
        Usage {
            time: CpuTime {
                user_s: (time.user_s - self.time_before.user_s).max(0.0),
                system_s: (time.system_s - self.time_before.system_s).max(0.0),
            },
            switches: ContextSwitches {
                voluntary: switches.voluntary.saturating_sub(self.switches_before.voluntary),
                involuntary: switches.involuntary.saturating_sub(self.switches_before.involuntary),
            },
            waited_s: self.waited_s().zip(self.waited_before_s).map(|(now, before)| (now - before).max(0.0)),
            counters,
            counters_unavailable: counters.is_none().then(why),
        }
    }

    /// Time the thread has waited for a CPU so far.
    fn waited_s(&self) -> Option<f64> {
        let mut text = [0_u8; 64];
        let read = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        let waited_ns: u64 = std::str::from_utf8(&text[..read]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(waited_ns as f64 / 1e9)
    }

    fn read_counters(&self) -> Option<counters::Moment> {
        self.counters.as_ref().ok()?.read()
    }
}

/// CPU time and context switches of the calling thread so far.
fn thread_usage() -> (CpuTime, ContextSwitches) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a rusage this function owns; all zeros is a valid one should the call fail.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let time = CpuTime { user_s: seconds(usage.ru_utime), system_s: seconds(usage.ru_stime) };
    let switches = ContextSwitches { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 };
    (time, switches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_on_one_cpu_wait_for_each_other() {
        let before = rustix::thread::sched_getaffinity(None).unwrap();
        let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| before.is_set(*cpu)).unwrap();
        let burn = || {
            let mut one = rustix::thread::CpuSet::new();
            one.set(first);
            rustix::thread::sched_setaffinity(None, &one).unwrap();
            let (meter, start) = (Meter::start(), std::time::Instant::now());
            while start.elapsed().as_millis() < 200 {
                std::hint::spin_loop();
            }
            (meter.used(), start.elapsed().as_secs_f64())
        };
        let both = std::thread::scope(|scope| [scope.spawn(burn), scope.spawn(burn)].map(|one| one.join().unwrap()));
        if both.iter().any(|(used, _)| used.waited_s.is_none()) {
            eprintln!("skipped: the kernel does not count how long threads wait for a CPU");
            return;
        }
        let waited_s: f64 = both.iter().filter_map(|(used, _)| used.waited_s).sum();
        assert!(waited_s > 0.05, "{both:?}");
        for (used, took_s) in &both {
            let sum_s = used.time.user_s + used.time.system_s + used.waited_s.unwrap_or(0.0);
            assert!((sum_s / took_s - 1.0).abs() < 0.25, "it ran or it waited: {sum_s} s of {took_s} s, {used:?}");
        }
    }

    #[test]
    fn sleeping_gives_the_cpu_up() {
        let meter = Meter::start();
        for _ in 0..5 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!((5..10).contains(&meter.used().switches.voluntary), "{:?}", meter.used());
    }
}
