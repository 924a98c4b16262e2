//! How idle each CPU is: the time that is left for a busy loop of the lowest priority.

use super::accounts::{Moment, mean};
use super::clock::Clock;
pub use super::soaker::IdleCpu;
use super::soaker::Soaker;
use halfpower_model::sample::SystemAccount;
use halfpower_model::{Cancel, MeasureError, Nanoseconds};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How idle the machine is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Idleness {
    /// Length of the measurement.
    pub measured_s: f64,
    /// Length of the calibration before it.
    pub calibrated_s: f64,
    /// Share of the time of all CPUs that was not left for the loops.
    pub busy_share: f64,
    /// Error of that: the loops' speed at the end against their speed when calibrated.
    pub error_share: f64,
    /// Each CPU this process may use, by number.
    pub cpus: Vec<IdleCpu>,
    /// The kernel's account of the same time and CPUs; none if unknown.
    pub account: Option<SystemAccount>,
}

/// Interval between checks for cancellation.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the soaker on every CPU that this process may use, for `length`; `progress` gets the time elapsed.
///
/// # Errors
/// If the soaker cannot run here, or it was cancelled.
pub fn idle(
    length: Nanoseconds,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Nanoseconds),
) -> Result<Idleness, MeasureError> {
    let failed = |source| MeasureError::System { action: "run the soaker on", subject: "the CPUs".to_owned(), source };
    let soaker = Soaker::start(Clock::host()).map_err(failed)?;
    // Of the same CPUs: others may belong to another container.
    let account_now = || Moment::now_of(soaker.cpus());
    let (from, moment, account) = (Instant::now(), soaker.begin(), account_now());
    let length = Duration::from_nanos(length.0);
    while let Some(left) = length.checked_sub(from.elapsed()).filter(|left| !left.is_zero()) {
        if cancel.is_cancelled() {
            return Err(MeasureError::Cancelled);
        }
        std::thread::sleep(left.min(LOOK));
        progress(Nanoseconds(from.elapsed().as_nanos() as u64));
    }
    let shares = soaker.since(&moment);
    let measured_s = from.elapsed().as_secs_f64();
    let busy_share = mean(&shares, |share| share.busy_share);
    let soaked_s = (1.0 - busy_share) * shares.len() as f64 * measured_s;
    Ok(Idleness {
        measured_s,
        calibrated_s: soaker.calibrated_s(),
        busy_share,
        error_share: mean(&shares, |share| share.error_share),
        account: account_now().zip(account).map(|(now, before)| now.since(&before, soaked_s)),
        cpus: shares,
    })
}
