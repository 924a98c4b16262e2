//! A change of one figure of one workload, and how it stands.

use super::figure::Figure;
use crate::statistics::Margin;
use halfpower_model::{Estimate, Workload};
use serde::Serialize;

/// A workload that both groups have.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedCell {
    /// In the words of a workload.
    pub name: String,
    /// As the first group has it.
    pub workload: Workload,
    /// Each figure that both tell, throughput first.
    pub changes: Vec<Change>,
}

/// How a figure of a workload changed.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// Which.
    pub figure: Figure,
    /// Of the first group.
    pub before: Estimate,
    /// Of the second.
    pub after: Estimate,
    /// The second over the first; without an interval of one sample, and where the repetitions before scatter so much that
    /// it has no bounds.
    pub ratio: Estimate,
    /// The change that does not matter; none where the same differs by so much that nobody can tell.
    pub margin: Option<Margin>,
    /// What that means.
    pub standing: Standing,
    /// Why it is undecided, where the interval alone does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
    /// Whether one repetition a side is all there is.
    pub single: bool,
    /// Whether both sides have the same samples of a simulated machine, one by one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub same_samples: bool,
}

/// What a change means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// More throughput, less latency or cost, by more than the margin.
    Better,
    /// The reverse.
    Worse,
    /// Within the margin.
    Equivalent,
    /// The repetitions do not tell.
    Undecided,
}

/// Why a change is undecided, beside what its interval says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Doubt {
    /// Its interval lies beyond the margin, but not surely enough of one among so many workloads.
    OneOfMany {
        /// How many have this figure with an interval.
        workloads: usize,
    },
    /// It lies beyond what usually does not matter, and not beyond what the same differed by.
    NoiseMayExplain,
    /// The same differed by so much there that it gives no margin, and the change does not lie beyond that.
    TooNoisy,
}

impl Standing {
    /// Whether it says that something changed.
    pub fn is_change(self) -> bool {
        matches!(self, Standing::Better | Standing::Worse)
    }
}

impl ComparedCell {
    /// How a figure of it changed.
    pub fn change(&self, figure: Figure) -> Option<&Change> {
        self.changes.iter().find(|change| change.figure == figure)
    }
}
