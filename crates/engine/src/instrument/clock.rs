//! The clock of latencies: the CPU's time stamp counter if it is steady, else CLOCK_MONOTONIC_RAW.
//!
//! The counter is used if the CPU reports it as constant and non-stop, and the kernel uses it as clock source. Its frequency is
//! calibrated against CLOCK_MONOTONIC_RAW while the program starts. The cost of a reading and the smallest step are measured
//! and recorded in every sample.

use crate::system::machine::of_cpuinfo;
use crate::system::{Root, text};
use halfpower_model::Nanoseconds;
use halfpower_model::environment::ClockFacts;
use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;

/// Minimum length of the calibration. The pairs at its ends are read within about 50 ns: an error of about 10 ppm.
const CALIBRATION_NS: u64 = 5_000_000;

/// The first pair of the calibration.
static FIRST_PAIR: OnceLock<(u64, u64)> = OnceLock::new();

/// The clock of this host: the source of ticks and their length.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub enum Clock {
    /// The time stamp counter.
    Tsc {
        /// Nanoseconds per tick, times 2^32, as calibrated.
        nanoseconds_per_tick_32: u64,
    },
    /// CLOCK_MONOTONIC_RAW: a tick is a nanosecond.
    Monotonic,
    /// For tests, in nanoseconds: it stands still until the test moves it.
    #[cfg(test)]
    #[serde(skip)]
    Virtual(&'static std::sync::atomic::AtomicU64),
}

fn read_monotonic() -> u64 {
    let time = clock_gettime(ClockId::MonotonicRaw);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn read_tsc() -> u64 {
    // SAFETY: every x86_64 CPU has the instruction; it reads a register.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn read_tsc() -> u64 {
    unreachable!("the counter is chosen on x86_64 only")
}

impl Clock {
    /// Begins the calibration, so that the work until the clock is needed counts towards its length.
    pub fn begin_calibration() {
        if cfg!(target_arch = "x86_64") {
            FIRST_PAIR.get_or_init(read_pair);
        }
    }

    /// The clock of this host, calibrated once per process.
    pub fn host() -> Clock {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(|| if tsc_is_steady() { calibrate() } else { None }.unwrap_or(Clock::Monotonic))
    }

    /// The time since some instant of this host's past.
    pub fn now(self) -> Nanoseconds {
        Nanoseconds(self.nanoseconds(self.tick()))
    }

    /// The current tick.
    #[inline]
    pub(crate) fn tick(self) -> u64 {
        match self {
            Clock::Tsc { .. } => read_tsc(),
            Clock::Monotonic => read_monotonic(),
            #[cfg(test)]
            Clock::Virtual(now) => now.load(std::sync::atomic::Ordering::Relaxed),
        }
    }

    /// Nanoseconds in a number of ticks.
    #[inline]
    pub(crate) fn nanoseconds(self, ticks: u64) -> u64 {
        match self {
            Clock::Tsc { nanoseconds_per_tick_32 } => {
                ((u128::from(ticks) * u128::from(nanoseconds_per_tick_32)) >> 32) as u64
            }
            Clock::Monotonic => ticks,
            #[cfg(test)]
            Clock::Virtual(_) => ticks,
        }
    }

    /// The tick at an instant, near now.
    pub(crate) fn tick_at(self, instant: Nanoseconds) -> u64 {
        let now = self.tick();
        let ahead = self.ticks(instant.0.saturating_sub(self.nanoseconds(now)));
        let behind = self.ticks(self.nanoseconds(now).saturating_sub(instant.0));
        now + ahead - behind
    }

    /// Ticks in a number of nanoseconds.
    pub(crate) fn ticks(self, nanoseconds: u64) -> u64 {
        match self {
            Clock::Tsc { nanoseconds_per_tick_32 } => {
                let ticks = (u128::from(nanoseconds) << 32) / u128::from(nanoseconds_per_tick_32);
                u64::try_from(ticks).unwrap_or(u64::MAX)
            }
            Clock::Monotonic => nanoseconds,
            #[cfg(test)]
            Clock::Virtual(_) => nanoseconds,
        }
    }

    /// Its name, and its resolution and cost as measured now.
    pub fn facts(self) -> ClockFacts {
        const READS: u64 = 2_000;
        let first = self.tick();
        let mut previous = first;
        let mut smallest = u64::MAX;
        for _ in 0..READS {
            let now = self.tick();
            let step = now - previous;
            if step > 0 {
                smallest = smallest.min(step);
            }
            previous = now;
        }
        let tick_ns = self.nanoseconds(1_000_000) as f64 / 1e6;
        ClockFacts {
            source: if matches!(self, Clock::Monotonic) { "monotonic" } else { "tsc" }.to_owned(),
            resolution_ns: if smallest == u64::MAX { tick_ns } else { smallest as f64 * tick_ns },
            cost_ns: (previous - first) as f64 * tick_ns / READS as f64,
        }
    }
}

/// Whether both CPU and kernel report the counter as steady.
fn tsc_is_steady() -> bool {
    if !cfg!(target_arch = "x86_64") {
        return false;
    }
    let source = text("/sys/devices/system/clocksource/clocksource0/current_clocksource").unwrap_or_default();
    let kernel_trusts = matches!(source.as_str(), "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page");
    let flags = of_cpuinfo(&Root::host(), "flags").unwrap_or_default();
    let has = |flag| flags.split_ascii_whitespace().any(|word| word == flag);
    kernel_trusts && has("constant_tsc") && has("nonstop_tsc")
}

/// A tick and the kernel's time at that tick: the closest pair of a few tries.
fn read_pair() -> (u64, u64) {
    let pairs = (0..5).map(|_| {
        let before = read_tsc();
        let nanoseconds = read_monotonic();
        let after = read_tsc();
        (after - before, before + (after - before) / 2, nanoseconds)
    });
    pairs.min().map(|(_, tick, nanoseconds)| (tick, nanoseconds)).unwrap_or_default()
}

fn calibrate() -> Option<Clock> {
    let (first_tick, first_ns) = *FIRST_PAIR.get_or_init(read_pair);
    while read_monotonic() - first_ns < CALIBRATION_NS {
        std::hint::spin_loop();
    }
    let (last_tick, last_ns) = read_pair();
    let ticks = last_tick.checked_sub(first_tick).filter(|ticks| *ticks > 0)?;
    let rate = (u128::from(last_ns - first_ns) << 32) / u128::from(ticks);
    // Outside 0.1 to 100 GHz the counter is broken.
    let rate = u64::try_from(rate).ok().filter(|rate| (1 << 25..1 << 36).contains(rate))?;
    Some(Clock::Tsc { nanoseconds_per_tick_32: rate })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn the_clock_agrees_with_the_systems() {
        let clock = Clock::host();
        // An interrupt between the readings of the two clocks is no error of the clock: take the best of a few tries.
        let best = (0..10)
            .map(|_| {
                let (before, instant) = (clock.tick(), Instant::now());
                std::thread::sleep(Duration::from_millis(20));
                let (after, elapsed) = (clock.tick(), instant.elapsed());
                (clock.nanoseconds(after - before) as f64 / elapsed.as_nanos() as f64 - 1.0).abs()
            })
            .fold(f64::INFINITY, f64::min);
        assert!(best < 1e-3, "off by {best}");
    }

    #[test]
    fn ticks_and_nanoseconds_convert_both_ways() {
        for clock in [Clock::host(), Clock::Monotonic] {
            let back = clock.nanoseconds(clock.ticks(1_000_000_000));
            assert!(back.abs_diff(1_000_000_000) <= 2, "{back}");
        }
    }
}
