//! The system clock: every record has a time, so a clock beyond the range of a record is rejected at start.

use jiff::Timestamp;
use std::time::{Duration, SystemTime};

/// A hundred years, longer than any run.
const AHEAD: Duration = Duration::from_secs(100 * 366 * 86_400);

/// The clock is beyond the range of a record.
#[derive(Debug, thiserror::Error)]
#[error(
    "the system clock is in the year 9900 or later, or before -9999, which no record can hold; set it (`timedatectl set-time`, `date --set`)"
)]
pub(crate) struct ClockError;

/// Checks that records can hold the time now and a hundred years on.
///
/// # Errors
/// If they cannot.
pub(crate) fn check(now: SystemTime) -> Result<(), ClockError> {
    let end = now.checked_add(AHEAD).ok_or(ClockError)?;
    [now, end].into_iter().try_for_each(|time| Timestamp::try_from(time).map(drop).map_err(|_| ClockError))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_no_record_can_hold_is_refused() {
        let at = |second: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        for (time, is_fine) in [
            (SystemTime::now(), true),
            (at(0), true),
            // 2500, 9999-06-01, the last second of 9999, and one far beyond.
            (at(16_725_225_600), true),
            (at(253_384_070_400), false),
            (at(253_402_300_799), false),
            (at(99_999_999_999_999), false),
        ] {
            assert_eq!(check(time).is_ok(), is_fine, "{time:?}");
        }
    }
}
