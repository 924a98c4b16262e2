//! Studies: a question, a target and a sweep, as a TOML file.
//!
//! A study says what is to be measured; what that comes to on a machine is a [`Plan`](crate::plan::Plan). Nothing is
//! guessed: an unknown key, a value out of range or a repeated cell is a mistake, and every mistake of a file is
//! reported at once. `docs/FORMAT.md` describes the form; the built-in studies are its examples.

mod diagnostic;
mod near;
pub(crate) mod published;
mod read;
mod setting;
mod sweep;
mod table;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use diagnostic::StudyErrors;

use halfpower_model::{Bytes, GivenPeak, Nanoseconds, Offer, Plugin, WorkloadSpec};
use serde::{Deserialize, Serialize};

/// The studies in the binary: name and text.
const BUILTINS: &[(&str, &str)] = &[
    ("survey", include_str!("../../../../studies/survey.toml")),
    ("survey-quick", include_str!("../../../../studies/survey-quick.toml")),
    ("survey-thorough", include_str!("../../../../studies/survey-thorough.toml")),
    ("targets", include_str!("../../../../studies/targets.toml")),
    ("cached-read-cost", include_str!("../../../../studies/cached-read-cost.toml")),
    ("nt4", include_str!("../../../../studies/nt4.toml")),
    ("win2000", include_str!("../../../../studies/win2000.toml")),
];

/// A study as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Study {
    /// One word for it.
    pub name: String,
    /// What it is to find out.
    pub question: Option<String>,
    /// What it goes to where nobody names a target; none: here.
    pub path: Option<String>,
    /// Size of the test file to make where the target is a directory; none: whoever makes it chooses.
    pub test_file: Option<Bytes>,
    /// What levels below the target advertise, where the kernel does not tell.
    pub peaks: Vec<GivenPeak>,
    /// What the targets cost.
    pub offer: Option<Offer>,
    /// How each cell is measured.
    pub trial: Trial,
    /// The sweeps, in the order of the file; never empty.
    pub sweeps: Vec<Sweep>,
    /// The text it was read from.
    pub text: String,
}

/// How each cell is measured. Warm-up and duration are in the workloads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trial {
    /// How often.
    pub repetitions: Repetitions,
    /// What a trial lasts at least whose target a control group is known to hold back; none: no longer than any other.
    pub limited_duration: Option<Nanoseconds>,
    /// No repetition beyond the least is started after this time, counted from the first trial of this start of the run.
    pub time_limit: Option<Nanoseconds>,
    /// Bytes that all trials may write, the test file included.
    pub write_budget: Option<Bytes>,
    /// In which order.
    pub order: Order,
    /// Draws the order and the requests.
    pub seed: u64,
}

/// How often a cell is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repetitions {
    /// At least.
    pub min: u32,
    /// At most.
    pub max: u32,
    /// A cell stops, once it has the least, at this half-width of the 95 % interval relative to the mean; none: every
    /// cell gets the most.
    pub precision: Option<f64>,
}

/// The order of the trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Randomised complete blocks: every cell once, in an order of its own, then every cell again.
    Blocks,
    /// Every cell once in the order of the file, then every cell again.
    Listed,
}

/// One sweep: a name and the workloads it crosses to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sweep {
    /// Its name, or `sweep 3`.
    pub name: String,
    /// Its cells; never empty.
    pub cells: Vec<WorkloadSpec>,
}

impl Study {
    /// Reads a study; `file` is what messages call it.
    ///
    /// # Errors
    /// Every mistake in the text.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Study, StudyErrors> {
        read::study(file, text)
    }

    /// The built-in study of a name; none when there is none.
    ///
    /// # Panics
    /// When a study that is part of the program has a mistake, which the tests make sure of.
    pub(crate) fn builtin(name: &str) -> Option<Study> {
        let (name, text) = BUILTINS.iter().find(|(builtin, _)| *builtin == name)?;
        Some(Study::parse(&format!("{name}.toml"), text).expect("built-in studies are right"))
    }

    /// The same with the sweeps of another, and with the time that they may take.
    #[must_use]
    pub(crate) fn and(mut self, other: Study) -> Study {
        self.sweeps.extend(other.sweeps);
        let limits = self.trial.time_limit.zip(other.trial.time_limit);
        self.trial.time_limit = limits.map(|(own, more)| Nanoseconds(own.0 + more.0));
        self
    }

    /// The same with twice as many repetitions, and the time that they may take.
    #[must_use]
    pub(crate) fn twice(mut self) -> Study {
        let repetitions = &mut self.trial.repetitions;
        (repetitions.min, repetitions.max) = (repetitions.min.saturating_mul(2), repetitions.max.saturating_mul(2));
        self.trial.time_limit = self.trial.time_limit.map(|limit| Nanoseconds(limit.0.saturating_mul(2)));
        self
    }

    /// The same for a machine that cannot be another one: workloads that differ in its settings alone are one.
    #[must_use]
    pub(crate) fn without_settings(mut self) -> Study {
        let mut seen = std::collections::HashSet::new();
        for sweep in &mut self.sweeps {
            sweep.cells.iter_mut().for_each(|cell| cell.set = None);
            sweep.cells.retain(|cell| seen.insert(cell.clone()));
        }
        self.sweeps.retain(|sweep| !sweep.cells.is_empty());
        self
    }

    /// Every built-in study.
    pub(crate) fn builtins() -> impl Iterator<Item = Study> {
        BUILTINS.iter().filter_map(|(name, _)| Study::builtin(name))
    }

    /// The plug-ins that it names.
    pub(crate) fn plugins(&self) -> impl Iterator<Item = &Plugin> {
        self.sweeps.iter().flat_map(|sweep| &sweep.cells).filter_map(|cell| cell.plugin.as_ref())
    }

    /// Cells of all sweeps.
    pub(crate) fn cells(&self) -> usize {
        self.sweeps.iter().map(|sweep| sweep.cells.len()).sum()
    }
}
