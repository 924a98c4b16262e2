//! The clock latencies are taken with: the processor's time stamp counter where it is steady, else CLOCK_MONOTONIC_RAW.
//!
//! The counter is taken when the processor calls it constant and non-stop and the kernel itself keeps time by it. Its
//! rate is calibrated against CLOCK_MONOTONIC_RAW when the program starts; what a reading costs and the smallest step
//! seen are measured on the spot and go into every sample.

use halfpower_model::Nanoseconds;
use halfpower_model::environment::ClockFacts;
use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;

/// How long the calibration takes. The pairs at its ends are read within some 50 ns: an error near 10 in a million.
const CALIBRATION_NS: u64 = 5_000_000;

/// A source of ticks. The worker's loop is compiled for each.
pub(crate) trait Ticks: Copy + Send + Sync + 'static {
    /// The present tick.
    fn now(self) -> u64;
    /// Nanoseconds in a number of ticks.
    fn nanoseconds(self, ticks: u64) -> u64;
    /// Ticks in a number of nanoseconds.
    fn ticks(self, nanoseconds: u64) -> u64;
}

/// The time stamp counter with its calibrated rate.
#[derive(Clone, Copy, Debug)]
pub struct Tsc {
    /// Nanoseconds a tick, times 2^32.
    nanoseconds_per_tick_32: u64,
}

/// CLOCK_MONOTONIC_RAW: a tick is a nanosecond.
#[derive(Clone, Copy, Debug)]
pub struct Monotonic;

/// The clock of this host.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// The counter.
    Tsc(Tsc),
    /// The kernel's.
    Monotonic(Monotonic),
}

impl Ticks for Monotonic {
    #[inline]
    fn now(self) -> u64 {
        let time = clock_gettime(ClockId::MonotonicRaw);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    #[inline]
    fn nanoseconds(self, ticks: u64) -> u64 {
        ticks
    }

    fn ticks(self, nanoseconds: u64) -> u64 {
        nanoseconds
    }
}

impl Ticks for Tsc {
    #[inline]
    fn now(self) -> u64 {
        read_tsc()
    }

    #[inline]
    fn nanoseconds(self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.nanoseconds_per_tick_32)) >> 32) as u64
    }

    fn ticks(self, nanoseconds: u64) -> u64 {
        let ticks = (u128::from(nanoseconds) << 32) / u128::from(self.nanoseconds_per_tick_32);
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn read_tsc() -> u64 {
    // SAFETY: every x86_64 processor has the instruction; it reads a register.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn read_tsc() -> u64 {
    unreachable!("the counter is chosen on x86_64 only")
}

impl Clock {
    /// The clock of this host, calibrated once a process.
    pub fn host() -> Clock {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(|| {
            if tsc_is_steady()
                && let Some(tsc) = calibrate()
            {
                return Clock::Tsc(tsc);
            }
            Clock::Monotonic(Monotonic)
        })
    }

    /// Its name, and its resolution and cost as measured now.
    pub fn facts(self) -> ClockFacts {
        match self {
            Clock::Tsc(tsc) => measure(tsc, "tsc"),
            Clock::Monotonic(monotonic) => measure(monotonic, "monotonic"),
        }
    }

    /// Time since some fixed moment.
    pub fn now(self) -> Nanoseconds {
        Nanoseconds(match self {
            Clock::Tsc(tsc) => tsc.nanoseconds(tsc.now()),
            Clock::Monotonic(monotonic) => monotonic.now(),
        })
    }
}

/// Whether processor and kernel both vouch for the counter.
fn tsc_is_steady() -> bool {
    if !cfg!(target_arch = "x86_64") {
        return false;
    }
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let kernel_trusts = matches!(source.trim(), "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page");
    let cpuinfo = read("/proc/cpuinfo");
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |flag| flags.split_ascii_whitespace().any(|word| word == flag);
    kernel_trusts && has("constant_tsc") && has("nonstop_tsc")
}

/// A tick and the kernel's time at that tick, as close together as a few tries get.
fn read_pair() -> (u64, u64) {
    let pairs = (0..5).map(|_| {
        let before = read_tsc();
        let nanoseconds = Monotonic.now();
        let after = read_tsc();
        (after - before, before + (after - before) / 2, nanoseconds)
    });
    pairs.min().map(|(_, tick, nanoseconds)| (tick, nanoseconds)).unwrap_or_default()
}

fn calibrate() -> Option<Tsc> {
    let (first_tick, first_ns) = read_pair();
    while Monotonic.now() - first_ns < CALIBRATION_NS {
        std::hint::spin_loop();
    }
    let (last_tick, last_ns) = read_pair();
    let ticks = last_tick.checked_sub(first_tick).filter(|ticks| *ticks > 0)?;
    let rate = (u128::from(last_ns - first_ns) << 32) / u128::from(ticks);
    // Between 0.1 and 100 GHz, or the counter is not what it says.
    let rate = u64::try_from(rate).ok().filter(|rate| (1 << 25..1 << 36).contains(rate))?;
    Some(Tsc { nanoseconds_per_tick_32: rate })
}

fn measure<T: Ticks>(clock: T, source: &str) -> ClockFacts {
    const READS: u64 = 2_000;
    let first = clock.now();
    let mut previous = first;
    let mut smallest = u64::MAX;
    for _ in 0..READS {
        let now = clock.now();
        let step = now - previous;
        if step > 0 {
            smallest = smallest.min(step);
        }
        previous = now;
    }
    let million = clock.nanoseconds(1_000_000) as f64 / 1e6;
    ClockFacts {
        source: source.to_owned(),
        resolution_ns: if smallest == u64::MAX { million } else { smallest as f64 * million },
        cost_ns: (previous - first) as f64 * million / READS as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn the_clock_agrees_with_the_systems() {
        let clock = Clock::host();
        // An interruption between the two clocks' readings is not the clock's fault: the best of a few tries counts.
        let best = (0..10)
            .map(|_| {
                let (before, instant) = (clock.now(), Instant::now());
                std::thread::sleep(Duration::from_millis(20));
                let (after, elapsed) = (clock.now(), instant.elapsed());
                ((after.0 - before.0) as f64 / elapsed.as_nanos() as f64 - 1.0).abs()
            })
            .fold(f64::INFINITY, f64::min);
        assert!(best < 1e-3, "off by {best}");
    }

    #[test]
    fn ticks_and_nanoseconds_convert_both_ways() {
        if let Clock::Tsc(tsc) = Clock::host() {
            let back = tsc.nanoseconds(tsc.ticks(1_000_000_000));
            assert!(back.abs_diff(1_000_000_000) <= 2, "{back}");
        }
        assert_eq!(Monotonic.nanoseconds(Monotonic.ticks(7)), 7);
    }

    #[test]
    fn facts_are_measured() {
        let facts = Clock::host().facts();
        assert!(facts.cost_ns > 0.0 && facts.resolution_ns > 0.0, "{facts:?}");
    }
}
