//! A change of one figure of one workload.

use super::figure::Figure;
use crate::statistics::Margin;
use halfpower_model::{Estimate, Workload};
use serde::Serialize;

/// A workload in both groups.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedCell {
    /// Its name.
    pub name: String,
    /// As in the first group.
    pub workload: Workload,
    /// Figures known on both sides, throughput first.
    pub changes: Vec<Change>,
}

/// A change of one figure.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// The figure.
    pub figure: Figure,
    /// Mean of the first group.
    pub before: Estimate,
    /// Mean of the second.
    pub after: Estimate,
    /// Second over first; without an interval for single pairs, too little CPU time or unbounded scatter.
    pub ratio: Estimate,
    /// The change that counts as noise.
    pub margin: Margin,
    /// The variation between runs; none of pairs and of simulated machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variation: Option<Variation>,
    /// The verdict.
    pub standing: Standing,
    /// Why it is undecided, if the interval alone does not show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
    /// Whether a side has one repetition.
    pub single: bool,
    /// Whether both sides have identical simulated samples.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub same_samples: bool,
}

/// The verdict on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Better by more than the margin.
    Better,
    /// Worse by more than the margin.
    Worse,
    /// Within the margin.
    Equivalent,
    /// Not enough evidence.
    Undecided,
}

/// Why a change is undecided besides its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Doubt {
    /// Beyond the margin, but not significant among so many workloads.
    OneOfMany {
        /// Workloads with an interval of this figure.
        workloads: usize,
    },
}

/// The variation between runs that a change was judged by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Variation {
    /// Standard deviation of a run's mean, as a share of it.
    pub share: f64,
    /// Degrees of freedom.
    pub freedom: f64,
    /// How it is known.
    pub basis: Basis,
    /// Number of runs that show it.
    pub runs: usize,
}

/// How the variation between runs is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// From the compared runs.
    NamedRuns,
    /// From them and earlier runs.
    EarlierRuns,
    /// Assumed.
    Assumed,
}

impl Standing {
    /// Whether something changed.
    pub fn is_change(self) -> bool {
        matches!(self, Standing::Better | Standing::Worse)
    }
}

impl ComparedCell {
    /// The change of a figure.
    pub fn change(&self, figure: Figure) -> Option<&Change> {
        self.changes.iter().find(|change| change.figure == figure)
    }
}
