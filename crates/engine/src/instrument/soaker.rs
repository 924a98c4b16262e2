//! The soaker: a busy loop of the lowest priority on every CPU. The time that it does not get was used by something else.
//!
//! Each loop is a pinned process, so that the program's own CPU time excludes it, with the policy SCHED_IDLE.
//! With sched_autogroup that policy counts within a session only, so each loop moves to a session of the lowest weight. The
//! loop is a chain of dependent multiplications without memory accesses. Its speed depends on their latency, not on a
//! sibling thread of the core.
//!
//! Calibration takes the speed of the fastest uninterrupted span of about 0.1 ms. Counts over that speed are the time the loop
//! had, without interrupts, other programs and the hypervisor. If every span was interrupted, the fastest is too slow, so
//! calibration continues until a part agrees with those before. A faster span later replaces it: nothing is faster than an
//! uninterrupted loop, so a share stays within 0 to 1.
//!
//! It fails if no parts agree within 5 s, and if a limit of CPU time (`cpu.max`) would make the loops slow the measured program.
//! Method: Chung, Gray, Worthington and Horst, "Windows 2000 disk IO performance" (2000), section 4.

use super::clock::Clock;
use crate::shared_memory::{Shared, Zeroed};
use crate::system::limits::cpu_limit;
use crate::system::{Root, allowed_cpus, pin};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Dependent multiplications per count: 1 to 2 µs.
const MULTIPLICATIONS: u32 = 1000;
/// Counts per span.
const SPAN: u64 = 64;
/// Length of a part of the calibration: at least two parts, each twice as long as the last, until they agree; and the maximum.
const CALIBRATION_PART: Duration = Duration::from_millis(150);
const CALIBRATION_MOST: Duration = Duration::from_secs(5);

/// Maximum difference of a part's fastest span from that of the parts before; CPU clocks change.
const AGREEING: f64 = 0.1;

/// Share of CPU time that a loop takes from other sessions.
const TAKEN: f64 = 0.015;

/// What a loop reports.
#[derive(Debug)]
#[repr(C, align(128))]
struct Slot {
    counts: AtomicU64,
    /// Ticks of the fastest span since it was set to 0.
    best_ticks: AtomicU64,
}

// SAFETY: two numbers, zero before the loop begins, changed as atomics.
unsafe impl Zeroed for Slot {}

/// Busy loops on all CPUs that the creating thread may use; drop ends them.
#[derive(Debug)]
pub(crate) struct Soaker {
    slots: Shared<Slot>,
    processes: Vec<Pid>,
    cpus: Vec<u32>,
    clock: Clock,
    /// Calibrated ticks per span.
    span_ticks: Vec<u64>,
    calibrated_s: f64,
    /// The busy share of each CPU during calibration.
    calibration: Vec<f64>,
}

/// The counts at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    tick: u64,
    counts: Vec<u64>,
}

/// One CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleCpu {
    /// Its number.
    pub cpu: u32,
    /// Calibrated speed of the loop, in counts per second, when nothing interrupts it.
    pub counts_per_s: f64,
    /// Share of its time that was not left for the loop; noise may make it negative.
    pub busy_share: f64,
    /// The same during calibration.
    pub calibration_busy_share: f64,
    /// Error of `busy_share`.
    pub error_share: f64,
}

impl Soaker {
    /// Starts the loops and calibrates them.
    ///
    /// # Errors
    /// If a process cannot be created, CPU time is limited, or a CPU has no time left for its loop.
    pub(crate) fn start(clock: Clock) -> io::Result<Soaker> {
        if let Some(reason) = refusal() {
            return Err(io::Error::other(reason));
        }
        let cpus = allowed_cpus();
        let slots = Shared::new(cpus.len())?;
        let mut soaker = Soaker {
            slots,
            processes: Vec::new(),
            cpus,
            clock,
            span_ticks: Vec::new(),
            calibrated_s: 0.0,
            calibration: Vec::new(),
        };
        let parent = rustix::process::getpid();
        for (slot, cpu) in soaker.slots.iter().zip(&soaker.cpus) {
            // SAFETY: the child calls the kernel and turns its loop; it allocates nothing, takes no lock, and never
            // returns.
            match unsafe { libc::fork() } {
                -1 => return Err(io::Error::last_os_error()),
                0 => soak(slot, *cpu, clock, parent),
                pid => soaker.processes.extend(Pid::from_raw(pid)),
            }
        }
        soaker.calibrate()?;
        Ok(soaker)
    }

    fn calibrate(&mut self) -> io::Result<()> {
        let from = Instant::now();
        // The processes start up first.
        std::thread::sleep(CALIBRATION_PART / 5);
        let before = self.now();
        self.span_ticks = vec![0; self.cpus.len()];
        let mut part = CALIBRATION_PART;
        for number in 0.. {
            self.slots.iter().for_each(|slot| slot.best_ticks.store(0, Relaxed));
            std::thread::sleep(part);
            let mut unsure = None;
            for (index, (fastest, slot)) in self.span_ticks.iter_mut().zip(self.slots.iter()).enumerate() {
                let later = slot.best_ticks.load(Relaxed);
                if !agree(*fastest, later) {
                    unsure = Some(index);
                }
                *fastest = [*fastest, later].into_iter().filter(|ticks| *ticks > 0).min().unwrap_or(0);
            }
            let Some(unsure) = unsure else { break };
            if from.elapsed() > CALIBRATION_MOST {
                return Err(io::Error::other(format!(
                    "CPU {} has too little time left to calibrate the soaker; use it on an idle machine",
                    self.cpus[unsure]
                )));
            }
            part *= if number == 0 { 1 } else { 2 };
        }
        self.calibrated_s = from.elapsed().as_secs_f64();
        self.calibration = self.since(&before).iter().map(|share| share.busy_share).collect();
        Ok(())
    }

    pub(crate) fn calibrated_s(&self) -> f64 {
        self.calibrated_s
    }

    pub(crate) fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    /// Resets the fastest spans, which give the error of the next period.
    pub(crate) fn begin(&self) -> Moment {
        self.slots.iter().for_each(|slot| slot.best_ticks.store(0, Relaxed));
        self.now()
    }

    fn now(&self) -> Moment {
        let counts = self.slots.iter().map(|slot| slot.counts.load(Relaxed)).collect();
        Moment { tick: self.clock.tick(), counts }
    }

    /// The use of each CPU since an earlier moment.
    pub(crate) fn since(&self, before: &Moment) -> Vec<IdleCpu> {
        let now = self.now();
        let ticks = (now.tick - before.tick).max(1);
        let of = |index: usize| {
            let counts = now.counts[index] - before.counts[index];
            let best = self.slots[index].best_ticks.load(Relaxed);
            let (busy_share, error_share) = busy(counts, ticks, self.span_ticks[index], best);
            let counts_per_s = SPAN as f64 / (self.clock.nanoseconds(self.span_ticks[index]) as f64 / 1e9);
            let calibration_busy_share = self.calibration.get(index).copied().unwrap_or_default();
            IdleCpu { cpu: self.cpus[index], counts_per_s, busy_share, calibration_busy_share, error_share }
        };
        (0..self.cpus.len()).map(of).collect()
    }
}

/// Whether the fastest spans of two parts of the calibration agree; 0 is no span.
fn agree(one: u64, other: u64) -> bool {
    let (least, most) = (one.min(other), one.max(other));
    least > 0 && most as f64 <= least as f64 * (1.0 + AGREEING)
}

/// The busy share of a CPU whose loop made `counts` in `ticks`, and its error. A span took `calibrated` ticks in the
/// calibration, and `best` ticks at the fastest since then, 0 if there was none.
fn busy(counts: u64, ticks: u64, calibrated: u64, best: u64) -> (f64, f64) {
    let fastest = if best == 0 { calibrated } else { calibrated.min(best) } as f64;
    let ticks = ticks as f64;
    let soaked = (counts as f64 / SPAN as f64 * fastest / ticks).min(1.0);
    // A loop at another speed than calibrated counted the wrong time. A count may have begun before either end, and the loop
    // takes a little time from other programs.
    let drift = if best == 0 { 0.0 } else { (best as f64 / calibrated as f64 - 1.0).abs() };
    let busy = 1.0 - soaked;
    (busy, (soaked * drift + 2.0 * fastest / SPAN as f64 / ticks + TAKEN * busy).min(1.0))
}

impl Drop for Soaker {
    fn drop(&mut self) {
        for process in &self.processes {
            // It may have ended already.
            let _ = kill_process(*process, Signal::KILL);
        }
        for process in &self.processes {
            let _ = waitpid(Some(*process), WaitOptions::empty());
        }
    }
}

/// The loop. Never returns; ends with the thread that created its process.
fn soak(slot: &Slot, cpu: u32, clock: Clock, parent: Pid) -> ! {
    let lowest = libc::sched_param { sched_priority: 0 };
    // SAFETY: each sets something of this process; the one pointer is to a value that outlives the call. Nothing but
    // the shared memory of its parent stays open.
    let is_set = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        // By its number: older C libraries have no function for it.
        libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
        libc::setsid();
        libc::setpriority(libc::PRIO_PROCESS, 0, 19);
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const lowest) == 0
    };
    leave_the_session();
    let is_orphan = rustix::process::getppid() != Some(parent);
    if !is_set || is_orphan || pin(cpu).is_err() {
        // SAFETY: ends the process without running what its parent registered.
        unsafe { libc::_exit(1) }
    }
    let mut counts = 0;
    let mut value = 1_u64;
    loop {
        let from = clock.tick();
        for _ in 0..SPAN {
            for _ in 0..MULTIPLICATIONS {
                // The rotation keeps the compiler from merging the multiplications.
                value = value.rotate_left(7).wrapping_mul(6_364_136_223_846_793_005);
            }
            counts += 1;
            slot.counts.store(counts, Relaxed);
        }
        std::hint::black_box(value);
        let took = clock.tick() - from;
        let best = slot.best_ticks.load(Relaxed);
        if best == 0 || took < best {
            slot.best_ticks.store(took, Relaxed);
        }
    }
}

/// Gives the new session of this process the lowest weight, if sessions are scheduled as groups.
fn leave_the_session() {
    use rustix::fs::{Mode, OFlags, open};
    if let Ok(file) = open(c"/proc/self/autogroup", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
        let _ = rustix::io::write(&file, b"19");
    }
}

/// Why the soaker cannot run here; none if it can.
pub(crate) fn refusal() -> Option<String> {
    cpu_limit(&Root::host()).map(|group| {
        let group = group.display();
        format!("{group} limits the CPU time of this program, and the soaker would use it up; remove the limit")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_that_was_disturbed_is_taken_again() {
        // Every span of one part was interrupted, or none was finished.
        assert!(!agree(4_000_000, 200_000) && !agree(200_000, 4_000_000) && !agree(0, 200_000) && !agree(0, 0));
        assert!(agree(200_000, 204_000) && agree(204_000, 200_000));
    }

    #[test]
    fn a_share_is_one_whatever_the_calibration_was() {
        let ticks = 1_000_000_000;
        let counts = |share: f64, span: f64| (share * ticks as f64 / span * SPAN as f64) as u64;
        // Of a true span of 200 000 ticks the loop had half of the time, and was calibrated at twenty times that, at it, and
        // at a tenth.
        for (calibrated, told) in [(4_000_000, 0.5), (200_000, 0.5), (20_000, 0.95)] {
            let (busy, error) = busy(counts(0.5, 200_000.0), ticks, calibrated, 200_000);
            assert!((busy - told).abs() < 1e-6 && (0.0..=1.0).contains(&error), "{calibrated}: {busy} ± {error}");
            assert!((busy - 0.5).abs() <= error, "{calibrated}: {busy} ± {error}");
        }
        // A count at either end that began before.
        assert_eq!(busy(counts(1.01, 200_000.0), ticks, 200_000, 200_000).0, 0.0);
        assert_eq!(busy(0, ticks, 200_000, 0).0, 1.0);
    }
}
