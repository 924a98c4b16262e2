//! A finding: a claim with its estimate, its interval and the samples it rests on.

use crate::units::{Bytes, BytesPerSecond, Nanoseconds, significant};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What an estimate is of, and so its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Bytes per second.
    BytesPerSecond,
    /// Requests per second.
    RequestsPerSecond,
    /// A request size in bytes.
    RequestSizeBytes,
    /// Requests outstanding.
    Depth,
    /// Microseconds of processor time a request.
    MicrosecondsPerRequest,
    /// Microseconds of processor time a KiB.
    MicrosecondsPerKib,
    /// Milliseconds of processor time a MB (10^6).
    MillisecondsPerMegabyte,
    /// Latency in nanoseconds.
    Nanoseconds,
    /// A ratio of two like figures.
    Ratio,
}

/// A figure with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Of what.
    pub quantity: Quantity,
    /// The best single figure.
    pub value: f64,
    /// Lower end of the 95 % interval; none when there are too few repetitions for one.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Repetitions behind it.
    pub repetitions: u32,
}

/// Which kind of claim a finding makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingCode {
    /// The highest throughput or rate measured of its kind.
    Peak,
    /// The request size that reaches half of the peak.
    HalfPower,
    /// The depth where throughput stops growing.
    Knee,
    /// Fixed and marginal processor cost.
    ProcessorCost,
    /// What buffering gains or costs against direct.
    BufferingGain,
    /// What a flush in the timing costs.
    FlushCost,
    /// How to do I/O here.
    Recommendation,
}

/// A claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its kind.
    pub code: FindingCode,
    /// What it is about, in the words of a workload: `sequential read, 8 deep, direct`.
    pub subject: String,
    /// The claim in a sentence.
    pub sentence: String,
    /// The figures it states, the main one first.
    pub estimates: Vec<Estimate>,
    /// The store's numbers of the samples it rests on.
    pub samples: Vec<i64>,
}

impl Estimate {
    /// Half of the interval over the value: 0.02 is ±2 %. None without an interval or for a value of zero.
    pub fn relative_half_width(&self) -> Option<f64> {
        let (low, high) = (self.low?, self.high?);
        (self.value != 0.0).then(|| (high - low) / 2.0 / self.value.abs())
    }
}

impl Quantity {
    /// A figure of this quantity for people, unit included.
    pub fn format(self, value: f64) -> String {
        match self {
            Quantity::BytesPerSecond => BytesPerSecond(value).to_string(),
            Quantity::RequestsPerSecond => format!("{} requests/s", thousands(value)),
            Quantity::RequestSizeBytes if value < 1024.0 => format!("{value:.0} B"),
            Quantity::RequestSizeBytes if value < 1_048_576.0 => format!("{} KiB", significant(value / 1024.0)),
            Quantity::RequestSizeBytes => format!("{} MiB", significant(value / 1_048_576.0)),
            Quantity::Depth => format!("{} deep", significant(value)),
            Quantity::MicrosecondsPerRequest => format!("{} µs a request", significant(value)),
            Quantity::MicrosecondsPerKib => format!("{} µs a KiB", significant(value)),
            Quantity::MillisecondsPerMegabyte => format!("{} ms a MB", significant(value)),
            Quantity::Nanoseconds => Nanoseconds(value.max(0.0).round() as u64).to_string(),
            Quantity::Ratio => format!("× {}", significant(value)),
        }
    }
}

/// Groups the digits of a whole number: `57 000`; below 100 it keeps three significant digits.
fn thousands(value: f64) -> String {
    if value < 100.0 {
        return significant(value);
    }
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

impl fmt::Display for Estimate {
    /// `1.65 GB/s ± 2 %`, with the interval itself where it is lopsided or wide.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.quantity.format(self.value))?;
        let (Some(low), Some(high), Some(half)) = (self.low, self.high, self.relative_half_width()) else {
            return Ok(());
        };
        // Depths are counted: a share of one says nothing, and one that never varies needs no interval.
        if self.quantity == Quantity::Depth {
            if low == high {
                return Ok(());
            }
            return write!(f, " [{} to {}]", self.quantity.format(low), self.quantity.format(high));
        }
        let lopsided = ((high - self.value) - (self.value - low)).abs() > 0.2 * (high - low);
        if lopsided || half > 0.5 {
            write!(f, " [{} to {}]", self.quantity.format(low), self.quantity.format(high))
        } else if half < 0.001 {
            write!(f, " ± 0.1 %")
        } else {
            write!(f, " ± {} %", significant((half * 1000.0).ceil() / 10.0))
        }
    }
}

/// Sizes are shown like sizes elsewhere where they are whole.
impl From<Bytes> for Estimate {
    fn from(size: Bytes) -> Self {
        Estimate { quantity: Quantity::RequestSizeBytes, value: size.0 as f64, low: None, high: None, repetitions: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(quantity: Quantity, value: f64, low: f64, high: f64) -> String {
        Estimate { quantity, value, low: Some(low), high: Some(high), repetitions: 5 }.to_string()
    }

    #[test]
    fn estimates_read_well() {
        assert_eq!(estimate(Quantity::BytesPerSecond, 1.65e9, 1.62e9, 1.68e9), "1.65 GB/s ± 1.9 %");
        assert_eq!(
            estimate(Quantity::RequestsPerSecond, 56_800.0, 56_000.0, 57_600.0),
            "56\u{202f}800 requests/s ± 1.5 %"
        );
        assert_eq!(estimate(Quantity::RequestSizeBytes, 47_104.0, 45_056.0, 65_536.0), "46 KiB [44 KiB to 64 KiB]");
        assert_eq!(estimate(Quantity::Depth, 8.0, 8.0, 16.0), "8 deep [8 deep to 16 deep]");
        assert_eq!(estimate(Quantity::Depth, 8.0, 8.0, 8.0), "8 deep");
        assert_eq!(Estimate::from(Bytes(4096)).to_string(), "4 KiB");
    }
}
