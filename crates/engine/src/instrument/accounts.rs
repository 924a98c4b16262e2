//! Machine-wide CPU accounts of a sample's measured part: the kernel's, and a soaker's on request.

use super::account;
use super::clock::Clock;
use super::dirty;
use super::kernel_threads::{self, Used};
use super::soaker::{self, Share, Soaker};
use halfpower_model::sample::{Dirty, SystemAccount};
use halfpower_model::{CpuAccounting, Personality, Workload};
use std::io;
use std::time::Duration;

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
    system: Option<account::Moment>,
    soaker: Option<soaker::Moment>,
}

/// The result.
#[derive(Debug, Default)]
pub(crate) struct Accounted {
    pub(crate) system: Option<SystemAccount>,
    pub(crate) threads: Option<Used>,
    pub(crate) soaked: Option<Soaked>,
    pub(crate) dirty: Option<Dirty>,
}

/// Shares of CPU time that were not left for a soaker.
#[derive(Debug)]
pub(crate) struct Soaked {
    pub(crate) processors: u32,
    pub(crate) busy: f64,
    pub(crate) error: f64,
    pub(crate) calibration_busy: f64,
}

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

    /// While the workers prepare: reads what is slow to read, and measures how long that takes.
    pub(crate) fn look_ahead(&mut self) {
        if !self.reaches_kernel {
            return;
        }
        self.threads = kernel_threads::Moment::now();
        self.lead = self.threads.as_ref().map(|threads| threads.took * 2);
    }

    /// The measured part begins after `left`. Returns how long nothing is to be done here; none after slow work.
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
            self.begun = Some(Begun { dirty, system: account::Moment::now(), soaker });
        }
    }

    /// At each progress report.
    pub(crate) fn look(&mut self) {
        self.begun.iter_mut().filter_map(|begun| begun.dirty.as_mut()).for_each(dirty::Looks::look);
    }

    /// The measured part has ended.
    pub(crate) fn end(self) -> Accounted {
        let Some(begun) = self.begun else { return Accounted::default() };
        let shares = self.soaker.as_ref().zip(begun.soaker).map(|(soaker, from)| (soaker, soaker.since(&from)));
        let soaked = shares.map(|(soaker, shares)| Soaked {
            processors: shares.len() as u32,
            busy: mean(&shares, |share| share.busy),
            error: mean(&shares, |share| share.error),
            calibration_busy: mean(soaker.calibration().1, |share| share.busy),
        });
        let system = account::Moment::now().zip(begun.system).map(|(now, before)| {
            let account = now.since(&before, 0.0);
            let of_all = |soaked: &Soaked| (1.0 - soaked.busy) * f64::from(soaked.processors) * account.wall_s;
            now.since(&before, soaked.as_ref().map_or(0.0, of_all))
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
pub(crate) fn mean(shares: &[Share], figure: fn(&Share) -> f64) -> f64 {
    shares.iter().map(figure).sum::<f64>() / shares.len().max(1) as f64
}
