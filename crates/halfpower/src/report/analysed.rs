//! A stored run and its analysis, for the summary and the report.

use crate::plan::{Judged, Plan, Skipped, sentences, sustained};
use crate::sanitize::sanitize;
use crate::simulator::paper_figures::{PaperFigure, paper_figures};
use crate::simulator::published::figures;
use crate::store::{Run, RunId, RunKind, RunStatus, Store, StoredSample};
use crate::study::LIMITS;
use crate::target::notes::on_memory;
use crate::text::counted;
use halfpower_analysis::comparison::{Noise, against_itself};
use halfpower_analysis::{Analysis, CellSummary, Context, Observed, analyse_with};
use halfpower_model::names::names;
use halfpower_model::{Finding, FindingCode, Nanoseconds, Offer, Operation, Quantity, Reach};

/// A stored run, analysed.
#[derive(Debug)]
pub(crate) struct Analysed {
    pub(super) run: Run,
    pub(super) samples: Vec<StoredSample>,
    pub(super) analysis: Analysis,
    /// The names of the analysed cells, which distinguish them from all cells of the plan.
    pub(super) cell_names: Vec<String>,
    /// The noise of the machine, if the run measured it (`--aa`).
    pub(super) noise: Option<Noise>,
    /// The figures of a paper that the plan reproduces; may be empty.
    pub(super) paper_figures: Vec<PaperFigure>,
    /// Number of samples that are damaged in the store and left out.
    damaged: usize,
}

impl Analysed {
    /// Reads a run from the store and analyses it.
    ///
    /// # Errors
    /// If there is no such run, or it is damaged.
    pub(crate) fn load(store: &Store, id: RunId) -> anyhow::Result<Self> {
        let offer = store.run(id)?.plan.and_then(|plan| plan.offer);
        Analysed::load_at(store, id, offer)
    }

    /// Reads a run and analyses it at another price, or at none.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(crate) fn load_at(store: &Store, id: RunId, offer: Option<Offer>) -> anyhow::Result<Self> {
        let run = store.run(id)?;
        let samples = store.samples(id)?;
        let memory = store.memory_beside(&run)?;
        let analysed = Analysed::of(run, samples, &Context { memory: memory.as_ref(), offer: offer.as_ref() });
        Ok(Analysed { damaged: store.lost_samples(id), ..analysed })
    }

    fn of(run: Run, samples: Vec<StoredSample>, context: &Context<'_>) -> Self {
        let observed = observed(&samples);
        let mut analysis = analyse_with(&observed, context);
        if on_memory(&samples).iter().any(|note| note.code == "memory") {
            analysis.verdict.advise_nothing();
        }
        let noise = if run.kind == RunKind::Aa { against_itself(&observed, run.seed) } else { None };
        let of_paper = run.plan.as_ref().filter(|plan| !plan.figures.is_empty());
        let mut paper_figures =
            of_paper.map_or_else(Vec::new, |plan| paper_figures(plan, &plan.targets.join(", "), &figures()));
        crate::simulator::validate::beside(&mut paper_figures, &observed);
        let cell_names = cell_names(run.plan.as_ref(), &analysis.cells);
        Analysed { run, samples, analysis, cell_names, noise, paper_figures, damaged: 0 }
    }

    /// Analyses the run again, after a test changed its samples.
    #[cfg(test)]
    pub(super) fn again(self) -> Self {
        Analysed::of(self.run, self.samples, &Context::default())
    }

    /// The run.
    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    /// Whether the run has samples.
    pub(crate) fn has_samples(&self) -> bool {
        !self.samples.is_empty()
    }

    /// Every sample, in the order of measurement.
    pub(super) fn observed(&self) -> Vec<Observed<'_>> {
        observed(&self.samples)
    }

    /// Findings of one kind, in order of usefulness.
    pub(super) fn findings(&self, code: FindingCode) -> impl Iterator<Item = &Finding> {
        self.analysis.findings.iter().filter(move |finding| finding.code == code)
    }

    /// Findings of one kind about the storage, not about memory.
    pub(super) fn findings_of_storage(&self, code: FindingCode) -> impl Iterator<Item = &Finding> {
        self.findings(code).filter(|finding| finding.reach == Reach::Storage)
    }

    /// Whether any workload has a figure with an interval, which takes several repetitions.
    pub(super) fn has_intervals(&self) -> bool {
        let of_cell = |cell: &CellSummary| cell.bytes_per_s.low.or(cell.requests_per_s.low).is_some();
        self.analysis.cells.iter().any(of_cell)
    }

    /// The cells of the analysis with their names.
    pub(super) fn named_cells(&self) -> impl Iterator<Item = (&CellSummary, &str)> {
        self.analysis.cells.iter().zip(self.cell_names.iter().map(String::as_str))
    }

    /// The only workload of a run that has one and is no survey.
    pub(super) fn only(&self) -> Option<&CellSummary> {
        let [cell] = self.analysis.cells.as_slice() else { return None };
        let has_figures = cell.requests_per_s.repetitions > 0;
        (has_figures && !self.is_survey() && self.noise.is_none() && self.paper_figures.is_empty()).then_some(cell)
    }

    /// What it gave, in a few words: `reads 1.92 GB/s sequential and 52 000 IOPS random; writes …`.
    #[cfg(feature = "serve")]
    pub(crate) fn headline(&self) -> String {
        let figure = |rate: &halfpower_model::Estimate| rate.quantity.format(rate.value);
        match (self.only(), self.analysis.verdict.sentences.first()) {
            (Some(cell), _) => {
                figure(if cell.workload.pattern.is_ordered() { &cell.bytes_per_s } else { &cell.requests_per_s })
            }
            (None, Some(gives)) => gives.split_once(": ").map_or(gives.as_str(), |(_, gives)| gives).to_owned(),
            (None, None) => String::new(),
        }
    }

    /// Workloads that were not run, with the reasons.
    pub(super) fn skipped(&self) -> &[Skipped] {
        self.run.plan.as_ref().map_or(&[], |plan| &plan.skipped)
    }

    /// The number of workloads, repetitions and samples: `85 workloads, 5 to 10 repetitions each, 673 samples, none failed`.
    pub(super) fn counts(&self) -> String {
        let repetitions = self.analysis.cells.iter().map(|cell| cell.bytes_per_s.repetitions);
        let repetitions = match (repetitions.clone().min(), repetitions.max()) {
            (Some(least), Some(most)) if least < most => {
                format!(", {least} to {most} repetitions each{}", self.limited())
            }
            (_, Some(most)) if most > 1 => format!(", {most} repetitions each"),
            _ => String::new(),
        };
        let failed = match self.samples.iter().filter(|stored| !stored.sample.is_complete()).count() {
            0 => "none failed".to_owned(),
            failed => format!("{failed} failed"),
        };
        let (workloads, samples) = (self.analysis.cells.len(), self.samples.len());
        format!("{}{repetitions}, {}, {failed}", counted(workloads, "workload"), counted(samples, "sample"))
    }

    /// Whether the time limit or the write budget ended repetitions before the intervals were as narrow as planned.
    fn limited(&self) -> &'static str {
        // Where only what the verdict needs is repeated, others are as wide as they are.
        let repetitions = self.run.plan.as_ref().filter(|plan| !plan.as_needed).map(|plan| plan.repetitions);
        let is_limited = repetitions.is_some_and(|planned| {
            let is_wide = |half: f64| planned.precision.is_some_and(|precision| half > precision);
            let rates = self.analysis.cells.iter().map(|cell| cell.bytes_per_s);
            rates
                .filter(|rate| rate.repetitions < planned.max)
                .any(|rate| rate.relative_half_width().is_some_and(is_wide))
        });
        if is_limited { " (ended by the time limit or write budget)" } else { "" }
    }

    /// A sentence for a run that was stopped.
    pub(super) fn unfinished(&self) -> Option<String> {
        let plan = self.run.plan.as_ref().filter(|_| self.run.status != RunStatus::Complete)?;
        let measured = self.samples.len();
        let planned = plan.cells.len() * plan.repetitions.min as usize;
        let measured = match plan.as_needed {
            true => counted(measured, "sample"),
            false => format!("{measured} of {}", counted(planned, "sample")),
        };
        Some(format!("The run was stopped after {measured}: its answer is less certain."))
    }

    /// The plan in a paragraph, or the source of an imported run.
    pub(super) fn plan_in_words(&self) -> String {
        let plan = self.run.plan.as_ref().map(Plan::describe).or_else(|| self.imported()).unwrap_or_default();
        let are = if self.damaged == 1 { "is" } else { "are" };
        match self.damaged {
            0 => plan,
            damaged => format!("{plan} {} {are} damaged in the store and left out.", counted(damaged, "sample")),
        }
    }

    fn imported(&self) -> Option<String> {
        let origin = self.samples.first()?.sample.origin.as_ref()?;
        let tool = [&origin.tool, &origin.version].into_iter().flatten().map(String::as_str).collect::<Vec<_>>();
        let tool = if tool.is_empty() { String::new() } else { format!(", measured by {}", tool.join(" ")) };
        Some(format!(
            "Imported from {} ({}{tool}). Nothing of it was measured here; the method is that of the program. Facts that \
             the file does not contain are left out.",
            sanitize(&origin.file),
            origin.format
        ))
    }

    /// What was expected of the storage, with what it sustains.
    pub(crate) fn expected(&self) -> Vec<Judged> {
        let expected = self.run.plan.as_ref().and_then(|plan| plan.expected);
        expected.map(|expected| expected.against(&self.analysis)).unwrap_or_default()
    }

    /// The same in words.
    pub(super) fn expected_in_words(&self) -> Vec<String> {
        sentences(&self.expected())
    }

    /// The limits in words. Without any, a run that looks for them gives its rates and for how long they were seen.
    pub(super) fn limits_in_words(&self) -> Vec<String> {
        let limits = &self.analysis.limits;
        let mut words: Vec<String> = limits.iter().map(|limit| limit.sentence.clone()).collect();
        if !self.looks_for_limits() {
            return words;
        }
        let is_at_budget = |stored: &&StoredSample| {
            let (workload, written) = (&stored.sample.workload, stored.sample.total.bytes);
            workload.operation == Operation::Write && workload.limits.bytes.is_some_and(|most| written >= most.0)
        };
        let ended_s = self.samples.iter().filter(is_at_budget).map(|stored| stored.sample.elapsed_s).reduce(f64::max);
        if !limits.is_empty() {
            words.extend(ended_s.map(|ended_s| {
                let after = Nanoseconds::from_seconds(ended_s);
                format!("The write budget ended writes after {after}: a larger --write-budget follows them for longer.")
            }));
            return words;
        }
        let of_one = [(Operation::Read, "reads"), (Operation::Write, "writes")].map(|(of, name)| {
            let rate = |what| sustained(&self.analysis, what, of).map(|(rate, _)| what.format(rate.value));
            let rates: Vec<String> =
                [Quantity::RequestsPerSecond, Quantity::BytesPerSecond].into_iter().filter_map(rate).collect();
            let samples = self.samples.iter().filter(|stored| stored.sample.workload.operation == of);
            let seen = Nanoseconds::from_seconds(samples.map(|stored| stored.sample.elapsed_s).fold(0.0, f64::max));
            (!rates.is_empty()).then(|| format!("{name} {} for up to {seen}", rates.join(" and ")))
        });
        let given = of_one.into_iter().flatten().collect::<Vec<_>>().join("; ");
        if given.is_empty() {
            return vec!["Too little was measured to find a limit; run it again.".to_owned()];
        }
        let more = if ended_s.is_some() { ", for writes with a larger --write-budget" } else { "" };
        let is_given = |stored: &&StoredSample| !matches!(stored.sample.workload.operation, Operation::Mix(_));
        let is_of_it = |finding: &&Finding| {
            self.samples.iter().filter(is_given).any(|stored| finding.samples.contains(&stored.id))
        };
        let changed = self.findings(FindingCode::Drift).filter(is_of_it).map(|finding| finding.sentence.clone());
        let changed: Vec<String> = changed.collect();
        let but = if changed.is_empty() { ":" } else { ", but rates changed. On average:" };
        let seen = format!(
            "No rate limit was seen{but} {given}. A cache or credits that last longer show with a longer --duration{more}."
        );
        std::iter::once(seen).chain(changed).collect()
    }

    /// Whether the run looks for limits, so that its answer is a course over time.
    pub(super) fn looks_for_limits(&self) -> bool {
        self.run.name == LIMITS
    }

    /// Whether it is a survey, which ends with an answer.
    pub(crate) fn is_survey(&self) -> bool {
        self.run.kind == RunKind::Survey
    }

    /// The run as one JSON document.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "schema": "halfpower.run/1",
            "run": self.run.id.0,
            "name": self.run.name,
            "status": crate::store::word(self.run.status),
            "started_at": self.run.started_at,
            "target": self.run.target,
            "command": self.run.command,
            "note": self.run.note,
            "program": self.run.program,
            "environment": self.run.environment,
            "verdict": self.analysis.verdict,
            "limits": self.analysis.limits,
            "expected": self.expected(),
            "samples": self.samples.len(),
            "damaged_samples": self.damaged,
            "analysis": self.analysis,
            "noise": self.noise,
        })
    }
}

/// The names of the cells, which distinguish them also from cells of the plan that were not measured.
fn cell_names(plan: Option<&Plan>, cells: &[CellSummary]) -> Vec<String> {
    let planned = plan.into_iter().flat_map(|plan| &plan.cells);
    let missing = planned.filter(|cell| cells.iter().all(|known| known.cell as usize != cell.index));
    let workloads = cells.iter().map(|cell| &cell.workload).chain(missing.map(|cell| &cell.workload));
    let mut names = names(&workloads.collect::<Vec<_>>(), &[]);
    names.truncate(cells.len());
    names
}

fn observed(samples: &[StoredSample]) -> Vec<Observed<'_>> {
    samples.iter().map(StoredSample::observed).collect()
}
