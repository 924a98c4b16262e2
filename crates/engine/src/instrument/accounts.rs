//! The accounts of a sample's measured part that are of the whole machine: the kernel's, and a soaker's where asked for.

use super::account;
use super::clock::Clock;
use super::soaker::{self, Share, Soaker};
use halfpower_model::sample::SystemAccount;
use halfpower_model::{CpuAccounting, Workload};
use std::io;

/// What is read at the start and at the end.
pub(crate) struct Accounts {
    soaker: Option<Soaker>,
    begun: Option<Begun>,
}

struct Begun {
    system: Option<account::Moment>,
    soaker: Option<soaker::Moment>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Accounted {
    pub(crate) system: Option<SystemAccount>,
    pub(crate) soaked: Option<Soaked>,
}

/// Shares of the processors' time that were not left for a soaker.
#[derive(Debug)]
pub(crate) struct Soaked {
    pub(crate) processors: u32,
    pub(crate) busy: f64,
    pub(crate) error: f64,
    pub(crate) calibration_busy: f64,
}

impl Accounts {
    /// As the workload asks: starts the soaker, before anybody else.
    ///
    /// # Errors
    /// The soaker's.
    pub(crate) fn prepare(workload: &Workload, clock: Clock) -> io::Result<Accounts> {
        let soaker = match workload.cpu_accounting {
            CpuAccounting::Account => None,
            CpuAccounting::Soaker => Some(Soaker::start(clock)?),
        };
        Ok(Accounts { soaker, begun: None })
    }

    /// The measured part begins; later calls do nothing.
    pub(crate) fn begin(&mut self) {
        if self.begun.is_none() {
            let soaker = self.soaker.as_ref().map(Soaker::begin);
            self.begun = Some(Begun { system: account::Moment::now(), soaker });
        }
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
        Accounted { system, soaked }
    }
}

/// The mean of a figure over processors.
pub(crate) fn mean(shares: &[Share], figure: fn(&Share) -> f64) -> f64 {
    shares.iter().map(figure).sum::<f64>() / shares.len().max(1) as f64
}
