//! How idle the machine is, per processor: what `halfpower idle` reads.

use super::account;
use super::accounts::mean;
use super::clock::Clock;
use super::soaker::Soaker;
use halfpower_model::reading::{IdleCpu, Idleness};
use halfpower_model::{Cancel, MeasureError, Nanoseconds};
use std::time::{Duration, Instant};

/// How often it is looked whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the soaker on every CPU that this process may use, for `length`; `progress` gets the time elapsed.
///
/// # Errors
/// When the soaker cannot run here, or it was cancelled.
pub fn idle(
    length: Nanoseconds,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Nanoseconds),
) -> Result<Idleness, MeasureError> {
    let failed = |source| MeasureError::System { action: "idle", subject: "the processors".to_owned(), source };
    let soaker = Soaker::start(Clock::host()).map_err(failed)?;
    let cpus: Vec<u32> = soaker.calibration().1.iter().map(|share| share.cpu).collect();
    // Of the same processors: the others may be anybody's.
    let account_now = || account::Moment::now_of(&cpus);
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
    let (calibrated_s, calibration) = soaker.calibration();
    let busy_share = mean(&shares, |share| share.busy);
    let soaked_s = (1.0 - busy_share) * shares.len() as f64 * measured_s;
    let processors = shares.iter().zip(calibration).map(|(share, calibration)| IdleCpu {
        cpu: share.cpu,
        counts_per_s: share.counts_per_s,
        busy_share: share.busy,
        calibration_busy_share: calibration.busy,
        error_share: share.error,
    });
    Ok(Idleness {
        measured_s,
        calibrated_s,
        busy_share,
        error_share: mean(&shares, |share| share.error),
        processors: processors.collect(),
        account: account_now().zip(account).map(|(now, before)| now.since(&before, soaked_s)),
    })
}
