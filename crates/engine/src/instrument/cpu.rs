//! Processor time: of a thread by getrusage, and what the hypervisor took by /proc/stat.
//!
//! The kernel keeps a thread's sum to the nanosecond and divides it into user and system by its ticks, so the sum is
//! exact and the split is a sample of it. Stolen time comes in steps of 10 ms.

use halfpower_model::sample::CpuTime;

/// Processor time of the calling thread so far.
pub(crate) fn thread_time() -> CpuTime {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a rusage this function owns; all zeros is a valid one should the call fail.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    CpuTime { user_s: seconds(usage.ru_utime), system_s: seconds(usage.ru_stime) }
}

/// The difference of two readings.
pub(crate) fn since(now: CpuTime, before: CpuTime) -> CpuTime {
    CpuTime { user_s: (now.user_s - before.user_s).max(0.0), system_s: (now.system_s - before.system_s).max(0.0) }
}

/// The step in which the kernel counts stolen time: a tick of USER_HZ, 100 a second on Linux.
pub(crate) const STOLEN_STEP_S: f64 = 0.01;

/// Time the hypervisor ran something else while this machine was ready, all processors together; none where the
/// kernel does not say.
pub(crate) fn stolen_s() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let ticks: f64 = stat.lines().next()?.split_ascii_whitespace().nth(8)?.parse().ok()?;
    Some(ticks / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_thread_uses_time() {
        let before = thread_time();
        let start = std::time::Instant::now();
        while start.elapsed().as_millis() < 30 {
            std::hint::spin_loop();
        }
        let used = since(thread_time(), before);
        let sum = used.user_s + used.system_s;
        assert!(sum > 0.001 && sum < 0.2, "{used:?}");
    }
}
