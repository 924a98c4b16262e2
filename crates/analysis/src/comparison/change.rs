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
    /// Second over first; without an interval for single samples or unbounded scatter.
    pub ratio: Estimate,
    /// The change that counts as noise; none if A/A noise is too large.
    pub margin: Option<Margin>,
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
    /// Beyond the usual margin, but within A/A noise.
    NoiseMayExplain,
    /// A/A noise is too large for a margin, and the change is within it.
    TooNoisy,
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
