//! A finding: a claim with estimates, intervals and samples.

use crate::units::{BytesPerSecond, Nanoseconds, significant};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Quantities of estimates, with their units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Bytes per second.
    BytesPerSecond,
    /// Requests per second.
    RequestsPerSecond,
    /// Files per second.
    FilesPerSecond,
    /// A request size in bytes.
    RequestSizeBytes,
    /// Requests outstanding.
    Depth,
    /// Workers at once.
    Workers,
    /// Microseconds of CPU time per I/O.
    MicrosecondsPerRequest,
    /// Microseconds of CPU time per KiB.
    MicrosecondsPerKib,
    /// Milliseconds of CPU time per MB (10^6).
    MillisecondsPerMegabyte,
    /// Latency in nanoseconds.
    Nanoseconds,
    /// Money per request of up to 8 KiB per second.
    PricePerKaps,
    /// Money per request of a megabyte per second.
    PricePerMaps,
    /// MB (10^6) per unit of money.
    MegabytesPerPrice,
    /// A ratio of two like figures.
    Ratio,
}

/// A figure with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Its quantity.
    pub quantity: Quantity,
    /// The best single figure.
    pub value: f64,
    /// Lower end of the 95 % CI; none with too few repetitions.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Repetitions behind it.
    pub repetitions: u32,
}

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingCode {
    /// The highest throughput or IOPS of a kind of requests.
    Peak,
    /// The request size that reaches half of the peak.
    HalfPower,
    /// The queue depth at which throughput stops rising.
    Knee,
    /// The bottleneck of a workload, with suspects ruled out.
    #[serde(rename = "bottleneck")]
    Owner,
    /// A request size slower than both its neighbours.
    Dip,
    /// Fixed and marginal CPU cost.
    CpuCost,
    /// A saturated CPU, or the throughput at which it would be saturated.
    CpuSaturation,
    /// Gain or loss of buffered against direct requests.
    BufferingGain,
    /// Cost of timed flushes.
    FlushCost,
    /// Read-modify-write of small writes.
    SmallWritePenalty,
    /// Cost of writes beyond the end of a file against writes into existing data.
    ExtensionCost,
    /// Cost of misaligned requests.
    Misalignment,
    /// Several writers with less throughput together than one alone.
    WriterCollapse,
    /// Reads and writes that differ by more than a factor of two.
    Asymmetry,
    /// Tail latency beyond chance.
    TailLatency,
    /// Reads meant for the storage that a cache served.
    CacheHits,
    /// Throughput that changed over time: drift, burst credit, throttling.
    Drift,
    /// Whether several targets share a limit.
    SharedLimit,
    /// Price of throughput, IOPS and capacity.
    Price,
}

/// How far the requests of a finding reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// To the storage.
    Storage,
    /// Memory only: unflushed writes, reads of a warmed cache.
    Memory,
}

/// A claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its kind.
    pub code: FindingCode,
    /// Its subject in the words of a workload: `sequential read, QD8, direct`.
    pub subject: String,
    /// Storage or memory.
    pub reach: Reach,
    /// The claim in a few words, beside the subject: `128 KiB (79.3 KiB ± 14 %)`.
    pub brief: String,
    /// The claim in a sentence.
    pub sentence: String,
    /// Its figures, the main one first.
    pub estimates: Vec<Estimate>,
    /// Store numbers of its samples.
    pub samples: Vec<i64>,
}

impl Estimate {
    /// Half of the interval over the value: 0.02 is ±2 %. None without an interval or for a value of zero.
    pub fn relative_half_width(&self) -> Option<f64> {
        let (low, high) = (self.low?, self.high?);
        (self.value != 0.0).then(|| (high - low) / 2.0 / self.value.abs())
    }

    fn write_interval(&self, f: &mut fmt::Formatter<'_>, low: f64, high: f64) -> fmt::Result {
        let (divisor, _) = self.quantity.unit(self.value);
        write!(f, " [{} to {}]", self.quantity.number(low / divisor), self.quantity.number(high / divisor))
    }
}

impl Quantity {
    /// A figure of this quantity for people, unit included.
    pub fn format(self, value: f64) -> String {
        let (divisor, unit) = self.unit(value);
        match self {
            Quantity::Depth => format!("QD{}", self.number(value)),
            _ => format!("{} {unit}", self.number(value / divisor)),
        }
    }

    /// The unit to display a figure in: its factor and name.
    fn unit(self, value: f64) -> (f64, &'static str) {
        match self {
            Quantity::BytesPerSecond => BytesPerSecond(value).unit(),
            Quantity::RequestsPerSecond => (1.0, "IOPS"),
            Quantity::FilesPerSecond => (1.0, "files/s"),
            Quantity::RequestSizeBytes if value < 1024.0 => (1.0, "B"),
            Quantity::RequestSizeBytes if value < 1_048_576.0 => (1024.0, "KiB"),
            Quantity::RequestSizeBytes => (1_048_576.0, "MiB"),
            Quantity::Depth => (1.0, ""),
            Quantity::Workers => (1.0, "workers"),
            Quantity::MicrosecondsPerRequest => (1.0, "µs per I/O"),
            Quantity::MicrosecondsPerKib if value.abs() < 1.0 => (1e-3, "ns per KiB"),
            Quantity::MicrosecondsPerKib => (1.0, "µs per KiB"),
            Quantity::MillisecondsPerMegabyte => (1.0, "ms per MB"),
            Quantity::Nanoseconds => Nanoseconds(value.max(0.0).round() as u64).unit(),
            Quantity::PricePerKaps => (1.0, "per KAPS"),
            Quantity::PricePerMaps => (1.0, "per MAPS"),
            Quantity::MegabytesPerPrice => (1.0, "MB"),
            Quantity::Ratio if value < 1.0 => (0.01, "%"),
            Quantity::Ratio => (1.0, "times"),
        }
    }

    /// A figure that was divided by its unit.
    fn number(self, value: f64) -> String {
        match self {
            Quantity::RequestsPerSecond => thousands(value),
            Quantity::FilesPerSecond => thousands(three_digits(value)),
            _ => significant(value),
        }
    }
}

/// Rounded to three significant digits.
fn three_digits(value: f64) -> f64 {
    let step = 10_f64.powf(value.abs().max(1.0).log10().floor() - 2.0);
    (value / step).round() * step
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
    /// `1.65 GB/s ± 2 %`; where a share of the figure would mislead, the interval itself in the figure's unit:
    /// `46 KiB [44 to 64]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.quantity.format(self.value))?;
        let (Some(low), Some(high), Some(half)) = (self.low, self.high, self.relative_half_width()) else {
            return Ok(());
        };
        let lopsided = ((high - self.value) - (self.value - low)).abs() > 0.2 * (high - low);
        match self.quantity {
            // Counts that never vary need no interval.
            Quantity::Depth | Quantity::Workers if self.quantity.number(low) == self.quantity.number(high) => Ok(()),
            // A relative error of a share or of a count would be misread.
            Quantity::Depth | Quantity::Workers | Quantity::Ratio => self.write_interval(f, low, high),
            _ if half < 0.001 => write!(f, " ± 0.1 %"),
            _ if lopsided || half > 0.5 => self.write_interval(f, low, high),
            // Rounded up, without rounding errors.
            _ if half < 0.1 => write!(f, " ± {} %", significant((half * 1000.0 - 1e-6).ceil() / 10.0)),
            _ => write!(f, " ± {:.0} %", (half * 100.0 - 1e-6).ceil()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_read_well_with_the_interval_in_the_unit_of_the_figure() {
        let (rate, share) = (Quantity::BytesPerSecond, Quantity::MicrosecondsPerKib);
        for (quantity, value, low, high, text) in [
            (rate, 1.65e9, 1.62e9, 1.68e9, "1.65 GB/s ± 1.9 %"),
            (Quantity::RequestsPerSecond, 56_800.0, 56_000.0, 57_600.0, "56\u{202f}800 IOPS ± 1.5 %"),
            (Quantity::FilesPerSecond, 45_231.0, 43_931.0, 46_531.0, "45\u{202f}200 files/s ± 2.9 %"),
            (rate, 1.65e9, 1.43e9, 1.87e9, "1.65 GB/s ± 14 %"),
            (rate, 1.65e9, 1.65e9, 1.65e9, "1.65 GB/s ± 0.1 %"),
            (share, 0.02, 0.019, 0.021, "20 ns per KiB ± 5 %"),
            (share, -0.0029, -0.0059, 0.00015, "-2.9 ns per KiB [-5.9 to 0.15]"),
            (Quantity::Depth, 8.0, 8.0, 8.0, "QD8"),
            (Quantity::Depth, 8.0, 8.0, 16.0, "QD8 [8 to 16]"),
            (Quantity::RequestSizeBytes, 47_104.0, 45_056.0, 65_536.0, "46 KiB [44 to 64]"),
            (Quantity::RequestSizeBytes, 921_600.0, 716_800.0, 1_536_000.0, "900 KiB [700 to 1500]"),
            (Quantity::Ratio, 17.6, 12.1, 25.4, "17.6 times [12.1 to 25.4]"),
            (Quantity::Ratio, 0.36, 0.23, 1.1, "36 % [23 to 110]"),
        ] {
            let of = Estimate { quantity, value, low: Some(low), high: Some(high), repetitions: 5 };
            assert_eq!(of.to_string(), text);
            assert!(!Estimate { low: None, high: None, ..of }.to_string().contains(['±', '[']), "{text}");
        }
    }
}
