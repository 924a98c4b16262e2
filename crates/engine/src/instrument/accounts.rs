//! Machine-wide CPU accounts of a sample's measured part: the kernel's (/proc/stat), and a soaker's on request.
//!
//! The kernel counts ticks of 10 ms. Most kernels charge a whole tick to the task that runs at its end
//! (TICK_CPU_ACCOUNTING), so the account is right over seconds and random over milliseconds. It includes other programs.
//! Reading it costs about 50 µs.

use super::clock::Clock;
use super::dirty;
use super::kernel_threads::{self, Used};
use super::soaker::{self, IdleCpu, Soaker};
use halfpower_model::sample::{Dirty, SystemAccount};
use halfpower_model::{CpuAccounting, Personality, Workload};
use std::io;
use std::time::{Duration, Instant};

/// The instruments that are read at the start and the end.
pub(crate) struct Accounts {
    soaker: Option<Soaker>,
    /// Whether writes stay in the page cache for a while.
    makes_dirty: bool,
    /// Whether the requests pass through the kernel.
    reaches_kernel: bool,
    threads: Option<kernel_threads::Moment>,
    /// How long before the measured part the kernel threads are read again; none once they were.
    lead: Option<Duration>,
    begun: Option<Begun>,
}

struct Begun {
    dirty: Option<dirty::Looks>,
    system: Option<Moment>,
    soaker: Option<soaker::Moment>,
}

/// The result.
#[derive(Debug, Default)]
pub(crate) struct Accounted {
    pub(crate) system: Option<SystemAccount>,
    pub(crate) threads: Option<Used>,
    /// Of each CPU, if the soaker ran.
    pub(crate) soaked: Option<Vec<IdleCpu>>,
    pub(crate) dirty: Option<Dirty>,
}

/// The resolution of the kernel's account: a tick of USER_HZ, 100 per second on Linux.
pub(crate) const TICK_S: f64 = 0.01;

impl Accounts {
    /// For a workload; starts its soaker, before any worker.
    ///
    /// # Errors
    /// The soaker's.
    pub(crate) fn prepare(workload: &Workload, clock: Clock) -> io::Result<Accounts> {
        let soaker = match workload.cpu_accounting {
            CpuAccounting::Account => None,
            CpuAccounting::Soaker => Some(Soaker::start(clock)?),
        };
        let reaches_kernel = workload.personality != Personality::Null;
        let makes_dirty = reaches_kernel && workload.operation.writes() && !workload.buffering.is_direct();
        Ok(Accounts { soaker, makes_dirty, reaches_kernel, threads: None, lead: None, begun: None })
    }

    /// While the workers prepare: reads the kernel threads, which is slow, and measures how long that takes.
    pub(crate) fn look_ahead(&mut self) {
        if !self.reaches_kernel {
            return;
        }
        self.threads = kernel_threads::Moment::now();
        self.lead = self.threads.as_ref().map(|threads| threads.took * 2);
    }

    /// The measured part begins after `left`. Returns the time until the next call is due; none after slow work.
    pub(crate) fn approach(&mut self, left: Duration) -> Option<Duration> {
        if left.is_zero() {
            self.begin();
            return Some(Duration::MAX);
        }
        let Some(lead) = self.lead else { return Some(left) };
        if left > lead {
            return Some(left - lead);
        }
        self.lead = None;
        // So short a warm-up began just now, as did the first reading.
        if left > lead / 2 {
            self.threads = kernel_threads::Moment::now();
        }
        None
    }

    /// The measured part begins; later calls do nothing.
    pub(crate) fn begin(&mut self) {
        if self.begun.is_none() {
            let soaker = self.soaker.as_ref().map(Soaker::begin);
            let dirty = if self.makes_dirty { dirty::Looks::begin() } else { None };
            self.begun = Some(Begun { dirty, system: Moment::now(), soaker });
        }
    }

    /// At each progress report.
    pub(crate) fn look(&mut self) {
        self.begun.iter_mut().filter_map(|begun| begun.dirty.as_mut()).for_each(dirty::Looks::look);
    }

    /// The measured part has ended.
    pub(crate) fn end(self) -> Accounted {
        let Some(begun) = self.begun else { return Accounted::default() };
        let soaked = self.soaker.as_ref().zip(begun.soaker).map(|(soaker, from)| soaker.since(&from));
        let system = Moment::now().zip(begun.system).map(|(now, before)| {
            let account = now.since(&before, 0.0);
            let of_all =
                |cpus: &[IdleCpu]| (1.0 - mean(cpus, |cpu| cpu.busy_share)) * cpus.len() as f64 * account.wall_s;
            now.since(&before, soaked.as_deref().map_or(0.0, of_all))
        });
        let dirty = begun.dirty.and_then(|looks| looks.end());
        // After the account, because it is slow.
        let threads = self.threads.and_then(|before| Some(kernel_threads::Moment::now()?.since(&before)));
        let kernel_threads_s = threads.as_ref().map(|used| used.total_s);
        let system = system.map(|account| SystemAccount { kernel_threads_s, ..account });
        Accounted { system, threads, soaked, dirty }
    }
}

/// The mean of a figure over CPUs.
pub(crate) fn mean(shares: &[IdleCpu], figure: fn(&IdleCpu) -> f64) -> f64 {
    shares.iter().map(figure).sum::<f64>() / shares.len().max(1) as f64
}

/// The kernel's account at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    at: Instant,
    /// User, nice, system, idle, iowait, irq, softirq, steal.
    ticks: [u64; 8],
}

impl Moment {
    /// Now; none if unknown.
    pub(crate) fn now() -> Option<Moment> {
        Moment::of(&["cpu ".to_owned()])
    }

    /// Now, of some CPUs; none if one of them is unknown.
    pub(crate) fn now_of(cpus: &[u32]) -> Option<Moment> {
        Moment::of(&cpus.iter().map(|cpu| format!("cpu{cpu} ")).collect::<Vec<_>>())
    }

    fn of(lines: &[String]) -> Option<Moment> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        Some(Moment { at: Instant::now(), ticks: parse(&stat, lines)? })
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

/// The sums of the lines that begin with these names; none if a line or a figure is missing.
fn parse(stat: &str, lines: &[String]) -> Option<[u64; 8]> {
    let mut sums = [0; 8];
    for name in lines {
        let mut words = stat.lines().find_map(|line| line.strip_prefix(name))?.split_ascii_whitespace();
        for sum in &mut sums {
            *sum += words.next()?.parse::<u64>().ok()?;
        }
    }
    Some(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_readings_make_an_account() {
        let at = Instant::now();
        let parse =
            |stat, names: &[&str]| parse(stat, &names.iter().map(|name| format!("{name} ")).collect::<Vec<_>>());
        let moment = |stat| Moment { at, ticks: parse(stat, &["cpu"]).unwrap() };
        let before = moment("cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8\n");
        let after = moment("cpu  300 120 40 4300 60 7 9 12 0 0\n");
        let account = after.since(&before, 0.75);
        assert_eq!((account.user_s, account.nice_s, account.system_s), (2.0, 1.0, 0.1));
        assert_eq!((account.irq_s, account.softirq_s, account.steal_s), (0.01, 0.02, 0.04));
        assert_eq!((account.idle_s, account.iowait_s), (3.0, 0.1));
        assert!((account.busy_s - 2.38).abs() < 1e-9, "{account:?}");
        let some = "cpu  9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8\ncpu1 7 7 7 7 7 7 7 7\ncpu10 10 0 0 0 0 0 0 1\n";
        assert_eq!(parse(some, &["cpu0", "cpu10"]), Some([11, 2, 3, 4, 5, 6, 7, 9]), "of those alone");
        assert_eq!(parse(some, &["cpu0", "cpu2"]), None);
        assert!(parse("cpu0 1 2 3 4 5 6 7 8", &["cpu"]).is_none() && parse("cpu  1 2", &["cpu"]).is_none());
    }
}
