//! The report: what a run found, as one HTML file for a browser and as a few lines for a terminal.
//!
//! It shows findings and samples and computes no statistic: cells are grouped into lines, figures get their units, and
//! that is all. Everything that comes from a record (paths, notes, model names) is untrusted and escaped. The HTML file
//! loads nothing: no script, no font, no picture from elsewhere.

mod chart;
mod file;
mod html;
mod summary;
mod table;
#[cfg(test)]
mod tests;
mod view;
mod wrap;

pub(crate) use file::write_atomically;
pub(crate) use html::html;
pub(crate) use summary::summary;

use halfpower_analysis::{Analysis, CellSummary, Observed};
use halfpower_model::sample::Program;
use halfpower_model::{Environment, Finding, FindingCode};

/// What a report is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReportInput<'a> {
    /// Name of the run or its study.
    pub(crate) title: &'a str,
    /// The question the study asks; none when there was none.
    pub(crate) question: Option<&'a str>,
    /// The store's number of the run.
    pub(crate) run: i64,
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
    /// Workloads that were not run, each with the reason.
    pub(crate) skipped: &'a [(String, String)],
    /// The plan in a paragraph.
    pub(crate) plan: &'a str,
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

    /// Half-power findings; those of direct sequential reads, which everybody asks for, come first.
    fn half_power(&self) -> Vec<&'a Finding> {
        let mut findings: Vec<_> = self.findings(FindingCode::HalfPower).collect();
        findings.sort_by_key(|finding| !is_direct_sequential_read(&finding.subject));
        findings
    }

    /// What a peak is about, and the workload that reached it: `random read` and `4 KiB, 32 deep, direct`.
    fn peak_words(&self, finding: &Finding) -> (String, String) {
        let rests_on = |cell: &&CellSummary| finding.samples.iter().any(|sample| cell.samples.contains(sample));
        let words = self.analysis.cells.iter().find(rests_on).map(|cell| cell.workload.to_string());
        match words.as_deref().and_then(|words| words.split_once(", ")) {
            Some((about, how)) => (about.to_owned(), how.to_owned()),
            None => (finding.subject.clone(), String::new()),
        }
    }

    /// Samples that failed and stand behind no figure.
    fn failed(&self) -> usize {
        self.samples.iter().filter(|observed| !observed.sample.is_complete()).count()
    }
}

fn is_direct_sequential_read(subject: &str) -> bool {
    subject.starts_with("sequential read") && subject.contains("direct")
}
