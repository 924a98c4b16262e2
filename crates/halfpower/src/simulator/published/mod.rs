//! What others measured and printed: figures of papers, each with the workload that it is of in the words of studies.
//!
//! `studies/published.toml` has them. A simulated machine is held against them (`sim validate`), and a report of a paper's
//! study shows them beside its own points.

mod read;
#[cfg(test)]
mod tests;

use crate::study::Shows;
use halfpower_model::WorkloadSpec;
use serde::{Deserialize, Serialize};

/// The figures in the binary.
const FIGURES: &str = include_str!("../../../../../studies/published.toml");

/// A figure that somebody printed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// One word for it, its own.
    pub id: String,
    /// Which paper: a word of the file's head.
    pub source: String,
    /// Table, figure or section.
    pub place: String,
    /// The simulated volumes that it is of, `MACHINE:VOLUME`: one, or two where it says what the second lacks.
    pub targets: Vec<String>,
    /// What it tells of them.
    pub measure: Measure,
    /// The figure as printed.
    pub published: f64,
    /// Whether a machine was made to give it.
    pub basis: Basis,
    /// How far off a simulated one may be.
    pub tolerance: Tolerance,
    /// The workloads it takes: one, or several where it is worked out from all.
    pub cells: Vec<WorkloadSpec>,
    /// Why nothing is held against it; none for all others.
    pub left_out: Option<String>,
}

/// What a figure tells.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "measure", rename_all = "snake_case")]
pub(crate) enum Measure {
    /// Throughput in 2^20 bytes a second, which SQLIO prints as MB/s.
    Megabytes,
    /// Bytes copied: half of what a mix of reads and writes moves, in the same unit.
    Copied,
    /// Requests a second.
    Requests,
    /// Mean of the requests a second of all its workloads.
    MeanRequests,
    /// How many percent less the last workload, or the second target, gives than the first.
    LossPercent,
    /// Fixed CPU time of a request in µs, over the sizes of all its workloads.
    FixedUs,
    /// The part that grows with the size, in µs a KiB.
    MarginalUs,
    /// CPU time of a request in µs.
    CpuUs,
    /// CPU time of 2^20 bytes in ms.
    CpuMsPerMegabyte,
    /// Percent of all CPUs' time.
    CpuPercent,
    /// CPU clocks a byte.
    ClocksPerByte {
        /// Clocks of a CPU in millions a second.
        mhz: f64,
    },
    /// Throughput at which one CPU has nothing left, in 2^20 bytes a second.
    SaturationMegabytes,
    /// Mean service time in ms.
    ServiceMs,
    /// Percent of the time that a part is busy.
    BusyPercent {
        /// As the record names it.
        part: String,
    },
    /// Percent of a part's busy time that goes to a phase.
    PhasePercent {
        /// As the record names it.
        part: String,
        /// As the record names it.
        phase: String,
    },
    /// Dollars for each request a second.
    DollarsPerRequest {
        /// Dollars.
        price: f64,
    },
    /// Requests a second for each dollar.
    RequestsPerDollar {
        /// Dollars.
        price: f64,
    },
    /// Requests of 2^20 bytes a second: each takes the time of a small random request, and of its bytes in a sequential read.
    MegabyteAccesses,
    /// The same for each dollar.
    MegabyteAccessesPerDollar {
        /// Dollars.
        price: f64,
    },
    /// 10^6 bytes of capacity for each dollar.
    MegabytesPerDollar {
        /// Dollars.
        price: f64,
    },
}

/// Where a simulated figure is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Basis {
    /// A parameter of the machine was chosen for it, or is it.
    Fitted,
    /// It came out.
    Predicted,
}

/// How far off a simulated figure may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tolerance {
    /// Of the published one.
    Percent(f64),
    /// Of figures that are percents: how many more or less.
    Points(f64),
}

impl Tolerance {
    /// How far off a figure is, as the tolerance counts.
    pub(crate) fn error(self, simulated: f64, published: f64) -> f64 {
        match self {
            Tolerance::Percent(_) => (simulated / published - 1.0) * 100.0,
            Tolerance::Points(_) => simulated - published,
        }
    }

    /// The most that [`error`](Tolerance::error) may be, either way.
    pub(crate) fn most(self) -> f64 {
        match self {
            Tolerance::Percent(most) | Tolerance::Points(most) => most,
        }
    }

    /// What it counts in.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Tolerance::Percent(_) => "%",
            Tolerance::Points(_) => "points",
        }
    }
}

/// How far off a figure is, in words: tenths, halves of them away from zero, on every page and on the terminal. Never -0.0.
pub(crate) fn off(error: f64) -> String {
    format!("{:+.1}", (error * 10.0).round() / 10.0 + 0.0).replace('-', "−")
}

impl Measure {
    /// The unit, the kind of chart that shows it, and the quantity if the unit does not name it.
    fn about(&self) -> (&'static str, Shows, &'static str) {
        match self {
            Measure::Megabytes => ("MiB/s", Shows::Throughput, ""),
            Measure::Copied => ("MiB/s", Shows::Throughput, "copied"),
            Measure::Requests => ("IOPS", Shows::Throughput, ""),
            Measure::MeanRequests => ("IOPS", Shows::Throughput, "mean"),
            Measure::LossPercent => ("%", Shows::Throughput, "lost"),
            Measure::FixedUs => ("µs per I/O", Shows::Cpu, "fixed CPU time"),
            Measure::MarginalUs => ("µs per KiB", Shows::Cpu, "CPU time that grows"),
            Measure::CpuUs => ("µs per I/O", Shows::Cpu, "CPU time"),
            Measure::CpuMsPerMegabyte => ("ms per MiB", Shows::Cpu, "CPU time"),
            Measure::CpuPercent => ("%", Shows::Cpu, "CPU time"),
            Measure::ClocksPerByte { .. } => ("clocks per byte", Shows::Cpu, "CPU time"),
            Measure::SaturationMegabytes => ("MiB/s", Shows::Cpu, "where a CPU has nothing left"),
            Measure::ServiceMs => ("ms", Shows::Latency, ""),
            Measure::BusyPercent { .. } | Measure::PhasePercent { .. } => ("%", Shows::Parts, ""),
            Measure::DollarsPerRequest { .. } => ("dollars per IOPS", Shows::Throughput, ""),
            Measure::RequestsPerDollar { .. } => ("IOPS per dollar", Shows::Throughput, ""),
            Measure::MegabyteAccesses => ("IOPS", Shows::Throughput, "accesses of a MB"),
            Measure::MegabyteAccessesPerDollar { .. } => ("IOPS per dollar", Shows::Throughput, "accesses of a MB"),
            Measure::MegabytesPerDollar { .. } => ("MB per dollar", Shows::Throughput, "capacity"),
        }
    }

    /// The quantity, if the unit does not name it.
    pub(crate) fn words(&self) -> Option<String> {
        match self {
            Measure::BusyPercent { part } => Some(format!("{part} is busy")),
            Measure::PhasePercent { part, phase } => Some(format!("{part}, {phase}")),
            _ => Some(self.about().2.to_owned()).filter(|words| !words.is_empty()),
        }
    }

    /// The unit.
    pub(crate) fn unit(&self) -> &'static str {
        self.about().0
    }

    /// The kind of chart that shows it.
    pub(crate) fn shows(&self) -> Shows {
        self.about().1
    }
}

/// Every figure of the file.
///
/// # Panics
/// When the file that is part of the program has a mistake, which the tests make sure of.
pub(crate) fn figures() -> Vec<Figure> {
    read::figures(FIGURES).expect("the published figures are right")
}
