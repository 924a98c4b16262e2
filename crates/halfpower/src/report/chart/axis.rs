//! The axes of charts: their scales, numbers and words.

use halfpower_model::units::significant;
use halfpower_model::{Bytes, Nanoseconds};

/// Maximum number of labels with a unit on a horizontal axis.
const TICKS_WITH_UNITS: f64 = 6.0;

/// The horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum XAxis {
    /// Request size in bytes; a step is a doubling.
    RequestSize,
    /// Queue depth; a step is a doubling.
    Depth,
    /// Share of the requests from the median up; a step is another nine.
    Share,
    /// Bytes of a working set; a step is a doubling.
    WorkingSet,
    /// Bytes from the start of the target.
    Place,
    /// Seconds from the first request.
    Time,
    /// Numbers of runs, which only `serve` draws.
    #[cfg_attr(not(feature = "serve"), expect(dead_code))]
    Run,
}

/// The vertical axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum YAxis {
    /// Bytes per second from zero.
    BytesPerSecond,
    /// Requests per second from zero.
    RequestsPerSecond,
    /// Milliseconds of CPU time per MB, logarithmic.
    CpuCost,
    /// Latency in nanoseconds, logarithmic.
    Latency,
    /// Bytes per second, logarithmic.
    Bandwidth,
}

impl XAxis {
    /// Steps from the origin. The origin is 1 KiB, QD1, the median, the first byte or the start.
    pub(super) fn place(self, x: f64) -> f64 {
        match self {
            XAxis::RequestSize | XAxis::WorkingSet => (x / 1024.0).log2(),
            XAxis::Depth => x.log2(),
            XAxis::Share if x < 0.9 => (0.5 / (1.0 - x)).log10() / 5_f64.log10(),
            XAxis::Share => -(1.0 - x).log10(),
            XAxis::Place | XAxis::Time | XAxis::Run => x,
        }
    }

    /// Steps between two labels on an axis with this number of steps.
    pub(super) fn tick_step(self, steps: f64) -> f64 {
        match self {
            XAxis::WorkingSet => (steps / TICKS_WITH_UNITS).ceil().max(1.0),
            XAxis::Place | XAxis::Time | XAxis::Run => (steps / TICKS_WITH_UNITS).max(1.0).log2().ceil().exp2(),
            XAxis::RequestSize | XAxis::Depth | XAxis::Share => 1.0,
        }
    }

    /// Room beside the outermost points, as a share of the distance of two labels.
    pub(super) fn margin(self) -> f64 {
        if matches!(self, XAxis::Place | XAxis::Time | XAxis::Run) { 0.15 } else { 0.3 }
    }

    /// The label at a place.
    pub(super) fn tick(self, place: f64) -> String {
        match self {
            XAxis::RequestSize if place >= 10.0 => format!("{} MiB", significant((place - 10.0).exp2())),
            XAxis::RequestSize | XAxis::Depth => significant(place.exp2()),
            XAxis::WorkingSet => Bytes((place.exp2() * 1024.0).round() as u64).to_string(),
            XAxis::Place => Bytes(place.round() as u64).to_string(),
            XAxis::Time | XAxis::Run => significant(place),
            XAxis::Share if place < 0.5 => "50 %".to_owned(),
            XAxis::Share => {
                let decimals = (place.round() - 2.0).max(0.0) as usize;
                format!("{:.decimals$} %", 100.0 - 10_f64.powf(2.0 - place.round()))
            }
        }
    }

    /// Its name below the axis, in a sentence, and as the head of a column.
    pub(super) fn words(self) -> [&'static str; 3] {
        match self {
            XAxis::RequestSize => ["request size, KiB", "the request size", "request size"],
            XAxis::Depth => ["queue depth", "the queue depth", "queue depth"],
            XAxis::Share => ["percentile of requests", "the share of requests", "share of requests"],
            XAxis::WorkingSet => ["working set of a thread", "the working set of a thread", "working set"],
            XAxis::Place => ["from the start of the target", "the target, from its first byte to its last", "place"],
            XAxis::Time => ["seconds", "the time", "seconds"],
            XAxis::Run => ["run", "the runs", "run"],
        }
    }

    /// A value in its column.
    pub(crate) fn text(self, x: f64) -> String {
        match self {
            XAxis::RequestSize | XAxis::WorkingSet | XAxis::Place => Bytes(x as u64).to_string(),
            XAxis::Depth | XAxis::Time | XAxis::Run => significant(x),
            XAxis::Share => {
                let percent = format!("{:.6}", x * 100.0);
                format!("{} %", percent.trim_end_matches('0').trim_end_matches('.'))
            }
        }
    }
}

impl YAxis {
    /// Whether the axis is logarithmic.
    pub(super) fn is_logarithmic(self) -> bool {
        matches!(self, YAxis::CpuCost | YAxis::Latency | YAxis::Bandwidth)
    }

    /// The unit that suits the largest figure: its divisor and name.
    pub(crate) fn unit(self, most: f64) -> (f64, &'static str) {
        match self {
            YAxis::BytesPerSecond | YAxis::Bandwidth if most >= 1e9 => (1e9, "GB/s"),
            YAxis::BytesPerSecond | YAxis::Bandwidth if most >= 1e6 => (1e6, "MB/s"),
            YAxis::BytesPerSecond | YAxis::Bandwidth => (1e3, "kB/s"),
            YAxis::RequestsPerSecond if most >= 1e4 => (1e3, "thousand IOPS"),
            YAxis::RequestsPerSecond => (1.0, "IOPS"),
            YAxis::CpuCost => (1.0, "ms per MB"),
            YAxis::Latency => (1.0, ""),
        }
    }

    /// Words after the unit.
    pub(super) fn label(self) -> &'static str {
        if self == YAxis::CpuCost { " of CPU time" } else { "" }
    }

    /// The label at a figure.
    pub(crate) fn tick(self, figure: f64, divisor: f64) -> String {
        if self == YAxis::Latency {
            return Nanoseconds(figure.round() as u64).to_string();
        }
        significant(figure / divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_doublings_and_nines() {
        for (axis, x, place, label) in [
            (XAxis::RequestSize, 512.0, -1.0, "0.5"),
            (XAxis::RequestSize, 2048.0, 1.0, "2"),
            (XAxis::RequestSize, 1_048_576.0, 10.0, "1 MiB"),
            (XAxis::Depth, 32.0, 5.0, "32"),
            (XAxis::Share, 0.5, 0.0, "50 %"),
            (XAxis::Share, 0.9, 1.0, "90 %"),
            (XAxis::Share, 0.99, 2.0, "99 %"),
            (XAxis::Share, 0.9999, 4.0, "99.99 %"),
            (XAxis::WorkingSet, 524_288.0, 9.0, "512 KiB"),
            (XAxis::Place, 1_073_741_824.0, 1_073_741_824.0, "1 GiB"),
        ] {
            assert!((axis.place(x) - place).abs() < 1e-9, "{axis:?} {x}");
            assert_eq!(axis.tick(place), label);
        }
        assert!((XAxis::Share.place(0.899_999_9) - XAxis::Share.place(0.9)).abs() < 1e-5);
        // A disk of 1 TB has 931 GiB.
        for (axis, steps, step) in [
            (XAxis::WorkingSet, 15.0, 3.0),
            (XAxis::WorkingSet, 2.0, 1.0),
            (XAxis::Depth, 15.0, 1.0),
            (XAxis::Place, 1e12, 256.0 * 1_073_741_824.0),
        ] {
            assert_eq!(axis.tick_step(steps), step, "{axis:?}");
        }
    }
}
