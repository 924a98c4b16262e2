//! Figures published in papers, each with its workload in the form of studies.
//!
//! They are in `studies/published.toml`. `sim validate` compares the simulated machines with them, and the report of a
//! paper's study shows them beside its results.

mod read;
#[cfg(test)]
mod tests;
mod tolerance;

pub(crate) use tolerance::Tolerance;

use crate::study::Shows;
use halfpower_model::WorkloadSpec;
use halfpower_sim::file::{Fitted, MachineFile};
use halfpower_sim::shipped;
use serde::{Deserialize, Serialize, Serializer};

/// The built-in figures.
const FIGURES: &str = include_str!("../../../../../studies/published.toml");

/// A published figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Figure {
    /// Its unique name.
    pub id: String,
    /// Its paper: a word of the file's head.
    pub source: String,
    /// Table, figure or section.
    #[serde(rename = "where")]
    pub place: String,
    /// Its simulated volumes, `MACHINE:VOLUME`: one, or two that are compared.
    #[serde(serialize_with = "names")]
    pub targets: Vec<String>,
    /// The quantity; in JSON its unit.
    #[serde(rename = "quantity", serialize_with = "unit")]
    pub measure: Measure,
    /// The figure as printed.
    pub published: f64,
    /// Origin of the simulated figure.
    pub basis: Basis,
    /// The figure that it repeats, or from which it is computed.
    pub follows: Option<String>,
    /// Tolerance of a simulated figure.
    #[serde(flatten)]
    pub tolerance: Tolerance,
    /// Its workloads: one, or all from which it is computed.
    #[serde(skip)]
    pub cells: Vec<WorkloadSpec>,
    /// Why it is not compared; none for most.
    #[serde(skip)]
    pub left_out: Option<String>,
    /// The known reason why the simulated figure is outside the tolerance.
    #[serde(skip)]
    pub missed: Option<String>,
}

/// Quantities of published figures.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "measure", rename_all = "snake_case")]
pub(crate) enum Measure {
    /// Throughput in 2^20 bytes per second, which SQLIO prints as MB/s.
    Megabytes,
    /// Copied bytes, half of those moved by a mix of reads and writes, in 2^20 bytes per second.
    Copied,
    /// IOPS.
    Requests,
    /// Mean IOPS of all its workloads.
    MeanRequests,
    /// Throughput lost, in percent, from the first to the last workload, or to the second target.
    LossPercent,
    /// Fixed CPU time per I/O in µs, over the sizes of all its workloads.
    FixedUs,
    /// Marginal CPU time in µs per KiB.
    MarginalUs,
    /// CPU time per I/O in µs.
    CpuUs,
    /// CPU time per 2^20 bytes in ms.
    CpuMsPerMegabyte,
    /// Percent of all CPUs' time.
    CpuPercent,
    /// CPU clocks per byte.
    ClocksPerByte {
        /// Clock rate of a CPU in MHz.
        mhz: f64,
    },
    /// Throughput that saturates one CPU, in 2^20 bytes per second.
    SaturationMegabytes,
    /// Mean service time in ms.
    ServiceMs,
    /// Busy time of a part in percent.
    BusyPercent {
        /// Its name in the record.
        part: String,
    },
    /// Share of a phase in a part's busy time, in percent.
    PhasePercent {
        /// Its name in the record.
        part: String,
        /// Its name in the record.
        phase: String,
    },
    /// Dollars per IOPS.
    DollarsPerRequest {
        /// Dollars.
        price: f64,
    },
    /// IOPS per dollar.
    RequestsPerDollar {
        /// Dollars.
        price: f64,
    },
    /// Requests of 2^20 bytes per second: each takes the time of a small random request and of its bytes in a
    /// sequential read.
    MegabyteAccesses,
    /// Requests of 2^20 bytes per second and dollar.
    MegabyteAccessesPerDollar {
        /// Dollars.
        price: f64,
    },
    /// 10^6 bytes of capacity per dollar.
    MegabytesPerDollar {
        /// Dollars.
        price: f64,
    },
}

/// Origin of a simulated figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Basis {
    /// `[fitted]` of a machine names it: a number was chosen with it in view.
    Fitted,
    /// No number was chosen with it in view.
    Predicted,
    /// It repeats another figure or is arithmetic on one, so it is no independent test.
    Follows,
}

impl Basis {
    /// Its word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Basis::Fitted => "fitted",
            Basis::Predicted => "predicted",
            Basis::Follows => "follows",
        }
    }
}

/// The names of targets.
fn names<S: Serializer>(targets: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(targets.iter().map(|target| format!("sim:{target}")))
}

/// The unit of a quantity.
fn unit<S: Serializer>(measure: &Measure, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(measure.unit())
}

/// An error as text, in tenths, halves of them rounded away from zero. Never -0.0.
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

/// The entries of `[fitted]` of every shipped machine, each with its machine.
///
/// # Panics
/// If a shipped machine file has a mistake, which tests exclude.
pub(crate) fn fitted() -> Vec<(&'static str, Fitted)> {
    let of = |machine: &'static str| {
        let text = shipped::machine_text(machine).unwrap_or_default();
        let file = MachineFile::parse(machine, text).expect("a shipped machine is right");
        file.fitted().iter().map(|fitted| (machine, fitted.clone())).collect::<Vec<_>>()
    };
    shipped::machines().flat_map(of).collect()
}

/// Whether an id is a name, or is of the group of that name.
pub(crate) fn is_named(id: &str, name: &str) -> bool {
    id.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Every figure of the file.
///
/// # Panics
/// If the built-in file has a mistake, which tests exclude.
pub(crate) fn figures() -> Vec<Figure> {
    read::figures(FIGURES, &fitted()).expect("the published figures are right")
}
