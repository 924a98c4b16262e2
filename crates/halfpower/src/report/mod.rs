//! The report: what a run found, as one HTML file for a browser and as a few lines for a terminal.
//!
//! It shows findings and samples and computes no statistic: cells are grouped into lines, figures get their units, and
//! that is all. Everything that comes from a record (paths, notes, model names) is untrusted and escaped. The HTML file
//! loads nothing: no script, no font, no picture from elsewhere.

pub(crate) mod chart;
mod comparison;
pub(crate) mod html;
mod noise;
mod pyramid;
mod stored;
mod summary;
pub(crate) mod table;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod view;
mod wrap;

pub(crate) use comparison::{ComparisonInput, comparison_html, comparison_text};
pub(crate) use html::html;
pub(crate) use stored::Analysed;
pub(crate) use summary::summary;

use crate::paper_figures::PaperFigure;
use halfpower_analysis::comparison::Noise;
use halfpower_analysis::{Analysis, CellSummary, Observed};
use halfpower_model::sample::Program;
use halfpower_model::{Environment, Finding, FindingCode, Reach};

/// What a report is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReportInput<'a> {
    /// Name of the run or its study.
    pub(crate) title: &'a str,
    /// The question the study asks; none when there was none.
    pub(crate) question: Option<&'a str>,
    /// The store's number of the run.
    pub(crate) run: i64,
    /// What was named as the target, as an absolute path.
    pub(crate) target: &'a str,
    /// The command that does the same again.
    pub(crate) command: &'a str,
    /// When the run began.
    pub(crate) started_at: jiff::Timestamp,
    /// Whether all of the plan was measured.
    pub(crate) status: RunStatus,
    /// What it was measured on.
    pub(crate) environment: &'a Environment,
    /// What measured it.
    pub(crate) program: &'a Program,
    /// What the samples say.
    pub(crate) analysis: &'a Analysis,
    /// What each cell of the analysis is called among all of the plan, also where few of them were measured.
    pub(crate) cell_names: &'a [String],
    /// What the same differed by, where the run measured that.
    pub(crate) noise: Option<&'a Noise>,
    /// Workloads that were not run, each with the reason.
    pub(crate) skipped: &'a [(String, String)],
    /// The plan in a paragraph.
    pub(crate) plan: &'a str,
    /// The plan as figures of a paper; empty where it is none.
    pub(crate) paper_figures: &'a [PaperFigure],
    /// Every sample, in the order they were taken.
    pub(crate) samples: &'a [Observed<'a>],
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunStatus {
    /// To its end.
    Finished,
    /// It was stopped before.
    Unfinished {
        /// Samples there are.
        measured: usize,
        /// Samples there were to be.
        planned: usize,
    },
}

impl<'a> ReportInput<'a> {
    /// Findings of one kind, the most useful first.
    fn findings(&self, code: FindingCode) -> impl Iterator<Item = &'a Finding> + use<'a> {
        self.analysis.findings.iter().filter(move |finding| finding.code == code)
    }

    /// Those whose figures are of the storage.
    fn findings_of_storage(&self, code: FindingCode) -> impl Iterator<Item = &'a Finding> + use<'a> {
        self.findings(code).filter(|finding| finding.reach == Reach::Storage)
    }

    /// Samples that failed and stand behind no figure.
    fn failed(&self) -> usize {
        self.samples.iter().filter(|observed| !observed.sample.is_complete()).count()
    }

    /// Whether any workload has figures with an interval: of a single repetition none has.
    fn has_intervals(&self) -> bool {
        let of_cell = |cell: &CellSummary| cell.bytes_per_s.low.or(cell.requests_per_s.low).is_some();
        self.analysis.cells.iter().any(of_cell)
    }

    /// The cells of the analysis with their names.
    fn named_cells(&self) -> impl Iterator<Item = (&'a CellSummary, &'a str)> + use<'a> {
        self.analysis.cells.iter().zip(self.cell_names.iter().map(String::as_str))
    }

    /// How much stands behind the figures: `85 workloads, 5 to 10 repetitions each, 673 samples, none failed`.
    fn counts(&self) -> String {
        let repetitions = self.analysis.cells.iter().map(|cell| cell.bytes_per_s.repetitions);
        let repetitions = match (repetitions.clone().min(), repetitions.max()) {
            (Some(least), Some(most)) if least < most => format!(", {least} to {most} repetitions each"),
            (_, Some(most)) if most > 1 => format!(", {most} repetitions each"),
            _ => String::new(),
        };
        let failed = match self.failed() {
            0 => "none failed".to_owned(),
            failed => format!("{failed} failed"),
        };
        let (workloads, samples) = (self.analysis.cells.len(), self.samples.len());
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        format!("{workloads} workload{}{repetitions}, {samples} sample{}, {failed}", plural(workloads), plural(samples))
    }
}
