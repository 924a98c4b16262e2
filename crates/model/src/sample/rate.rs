//! Whether a requested rate was reached.

use super::record::{Sample, Warning};
use crate::units::{BytesPerSecond, significant};
use crate::workload::Rate;

/// Below this share the rate was not reached, unless chance explains it.
const RATE_SHARE: f64 = 0.95;
/// Standard deviations of the number of arrivals that chance explains.
const DEVIATIONS: f64 = 5.0;

/// The warning for a requested rate that was not reached, open loop or closed.
pub fn rate_not_reached(sample: &Sample) -> Option<Warning> {
    let workload = &sample.workload;
    // No requests are issued during the final flush.
    let elapsed_s = sample.elapsed_s - sample.flush_s.unwrap_or(0.0);
    let rate = workload.rate.filter(|_| sample.is_complete() && elapsed_s > 0.0)?;
    let (asked, reached, arrivals_per_s) = match rate {
        Rate::Requests(asked) => (asked as f64, sample.total.requests as f64 / elapsed_s, asked as f64),
        Rate::Bytes(asked) => {
            (asked as f64, sample.total.bytes as f64 / elapsed_s, asked as f64 / workload.request_size.0.max(1) as f64)
        }
    };
    let arrivals_a_worker = arrivals_per_s * elapsed_s / f64::from(workload.workers);
    let by_chance = 1.0 - DEVIATIONS / arrivals_a_worker.sqrt();
    let text = |rate_per_s: f64| match rate {
        Rate::Requests(_) => format!("{} IOPS", significant(rate_per_s)),
        Rate::Bytes(_) => BytesPerSecond(rate_per_s).to_string(),
    };
    (reached < asked * RATE_SHARE.min(by_chance)).then(|| {
        let message = format!("{} were asked for and {} reached", text(asked), text(reached));
        Warning::new("rate_not_reached", message, "lower the rate, or use a larger depth or more workers")
    })
}
