//! The kernel's account of CPU time: /proc/stat, of all CPUs or some of them.
//!
//! It counts ticks of 10 ms. Most kernels charge a whole tick to the task that runs at its end (TICK_CPU_ACCOUNTING), so the
//! account is right over seconds and random over milliseconds. It includes other programs. Reading it costs about 50 µs.

use halfpower_model::sample::SystemAccount;
use std::time::Instant;

/// The account at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    at: Instant,
    /// User, nice, system, idle, iowait, irq, softirq, steal.
    ticks: [u64; 8],
}

impl Moment {
    /// Now; none if unknown.
    pub(crate) fn now() -> Option<Moment> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        Some(Moment { at: Instant::now(), ticks: parse(&stat)? })
    }

    /// Now, of some CPUs; none if one of them is unknown.
    pub(crate) fn now_of(cpus: &[u32]) -> Option<Moment> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        Some(Moment { at: Instant::now(), ticks: parse_of(&stat, cpus)? })
    }

    /// The time since an earlier moment, of which a soaker used `soaked_s`.
    pub(crate) fn since(&self, before: &Moment, soaked_s: f64) -> SystemAccount {
        let a_second = rustix::param::clock_ticks_per_second() as f64;
        let seconds = |index: usize| self.ticks[index].saturating_sub(before.ticks[index]) as f64 / a_second;
        let [user_s, nice_s, system_s, idle_s, iowait_s, irq_s, softirq_s, steal_s] = std::array::from_fn(seconds);
        SystemAccount {
            wall_s: self.at.duration_since(before.at).as_secs_f64(),
            user_s,
            nice_s,
            system_s,
            irq_s,
            softirq_s,
            steal_s,
            idle_s,
            iowait_s,
            busy_s: (user_s + nice_s + system_s + irq_s + softirq_s - soaked_s).max(0.0),
            kernel_threads_s: None,
        }
    }
}

fn parse(stat: &str) -> Option<[u64; 8]> {
    of_line(stat.lines().next()?.strip_prefix("cpu ")?)
}

fn parse_of(stat: &str, cpus: &[u32]) -> Option<[u64; 8]> {
    let of = |cpu: &u32| {
        let name = format!("cpu{cpu} ");
        of_line(stat.lines().find_map(|line| line.strip_prefix(&name))?)
    };
    let add = |sum: [u64; 8], more: [u64; 8]| std::array::from_fn(|index| sum[index] + more[index]);
    cpus.iter().try_fold([0; 8], |sum, cpu| Some(add(sum, of(cpu)?)))
}

fn of_line(figures: &str) -> Option<[u64; 8]> {
    let mut words = figures.split_ascii_whitespace();
    let mut ticks = [0; 8];
    for tick in &mut ticks {
        *tick = words.next()?.parse().ok()?;
    }
    Some(ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_readings_make_an_account() {
        let at = Instant::now();
        let moment = |stat| Moment { at, ticks: parse(stat).unwrap() };
        let before = moment("cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8\n");
        let after = moment("cpu  300 120 40 4300 60 7 9 12 0 0\n");
        let account = after.since(&before, 0.75);
        assert_eq!((account.user_s, account.nice_s, account.system_s), (2.0, 1.0, 0.1));
        assert_eq!((account.irq_s, account.softirq_s, account.steal_s), (0.01, 0.02, 0.04));
        assert_eq!((account.idle_s, account.iowait_s), (3.0, 0.1));
        assert!((account.busy_s - 2.38).abs() < 1e-9, "{account:?}");
        let some = "cpu  9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8\ncpu1 7 7 7 7 7 7 7 7\ncpu10 10 0 0 0 0 0 0 1\n";
        assert_eq!(parse_of(some, &[0, 10]), Some([11, 2, 3, 4, 5, 6, 7, 9]), "of those alone");
        assert_eq!(parse_of(some, &[0, 2]), None);
        assert!(parse("cpu0 1 2 3 4 5 6 7 8").is_none() && parse("cpu  1 2").is_none());
    }
}
