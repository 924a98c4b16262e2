//! A run from the store, analysed: what the summary and the report are made from.

use super::{ReportInput, RunStatus as Course};
use crate::paper_figures::paper_figures;
use crate::plan::Plan;
use crate::sanitize::sanitize;
use crate::store::{Run, RunId, RunKind, RunStatus, Store, StoredSample};
use crate::study::published::figures;
use halfpower_analysis::comparison::{Noise, against_itself};
use halfpower_analysis::{Analysis, Context, Observed, analyse_with};
use halfpower_model::Offer;
use halfpower_model::key::names;

/// A stored run, analysed.
#[derive(Debug)]
pub(crate) struct Analysed {
    pub(super) run: Run,
    pub(super) samples: Vec<StoredSample>,
    pub(super) analysis: Analysis,
    /// Of a run that measured the same twice.
    noise: Option<Noise>,
    /// Samples that are damaged in the store and left out.
    damaged: usize,
}

impl Analysed {
    /// Reads a run from the store and analyses it.
    ///
    /// # Errors
    /// When there is no such run, or it is damaged.
    pub(crate) fn load(store: &Store, id: RunId) -> anyhow::Result<Self> {
        let offer = store.run(id)?.plan.and_then(|plan| plan.offer);
        Analysed::load_at(store, id, offer)
    }

    /// The same, at another price than the run's or at none.
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
        let analysis = analyse_with(&observed, context);
        let is_twice = run.kind == RunKind::Aa;
        let noise = if is_twice { against_itself(&observed, run.seed) } else { None };
        Analysed { run, samples, analysis, noise, damaged: 0 }
    }

    /// What the same differed by, where that was measured.
    pub(crate) fn noise(&self) -> Option<&Noise> {
        self.noise.as_ref()
    }

    /// Analysed once more, after a test changed its samples.
    #[cfg(test)]
    pub(super) fn again(self) -> Self {
        Analysed::of(self.run, self.samples, &Context::default())
    }

    /// Whether anything was measured.
    pub(crate) fn has_samples(&self) -> bool {
        !self.samples.is_empty()
    }

    /// Calls `show` with what a report is made from.
    pub(crate) fn with_input<T>(&self, show: impl FnOnce(&ReportInput<'_>) -> T) -> T {
        let plan = self.run.plan.as_ref();
        let skipped: Vec<(String, String)> = plan.map_or_else(Vec::new, |plan| {
            plan.skipped.iter().map(|skipped| (skipped.label.clone(), skipped.reason.clone())).collect()
        });
        let status = match (self.run.status, plan) {
            (RunStatus::Complete, _) | (_, None) => Course::Finished,
            (_, Some(plan)) => Course::Unfinished {
                measured: self.samples.len(),
                planned: plan.cells.len() * plan.repetitions.min as usize,
            },
        };
        let mut paragraph = plan.map_or_else(|| self.imported().unwrap_or_default(), Plan::describe);
        if self.damaged > 0 {
            let (plural, are) = if self.damaged == 1 { ("", "is") } else { ("s", "are") };
            paragraph += &format!(" {} sample{plural} {are} damaged in the store and left out.", self.damaged);
        }
        let samples = observed(&self.samples);
        let cell_names = self.cell_names();
        let mut figures = plan.map_or_else(Vec::new, |plan| paper_figures(plan, &plan.targets.join(", "), &figures()));
        crate::validate::beside(&mut figures, &samples);
        show(&ReportInput {
            title: &self.run.name,
            question: self.run.question.as_deref(),
            run: self.run.id.0,
            target: &self.run.target,
            command: &self.run.command,
            started_at: self.run.started_at,
            status,
            environment: &self.run.environment,
            program: &self.run.program,
            analysis: &self.analysis,
            cell_names: &cell_names,
            noise: self.noise.as_ref(),
            skipped: &skipped,
            plan: &paragraph,
            paper_figures: &figures,
            samples: &samples,
        })
    }

    /// What the cells are called: whatever parts them from those of the plan that were not come to is said as well.
    fn cell_names(&self) -> Vec<String> {
        let cells = &self.analysis.cells;
        let planned = self.run.plan.iter().flat_map(|plan| &plan.cells);
        let missing = planned.filter(|cell| cells.iter().all(|known| known.cell as usize != cell.index));
        let workloads = cells.iter().map(|cell| &cell.workload).chain(missing.map(|cell| &cell.workload));
        let mut names = names(&workloads.collect::<Vec<_>>(), &[]);
        names.truncate(cells.len());
        names
    }

    /// Where an imported run is from, in a paragraph; none for one that was measured here.
    fn imported(&self) -> Option<String> {
        let origin = self.samples.first()?.sample.origin.as_ref()?;
        let tool = [&origin.tool, &origin.version].into_iter().flatten().map(String::as_str).collect::<Vec<_>>();
        let tool = if tool.is_empty() { String::new() } else { format!(", measured by {}", tool.join(" ")) };
        let file = sanitize(&origin.file);
        Some(format!(
            "Imported from {file} ({}{tool}). Nothing of it was measured here: how is for that program to say. What the \
             file does not tell is left out.",
            origin.format
        ))
    }

    /// The run as one JSON document.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "schema": "halfpower.run/1",
            "run": self.run.id.0,
            "name": self.run.name,
            "status": self.run.status.word(),
            "started_at": self.run.started_at,
            "target": self.run.target,
            "command": self.run.command,
            "note": self.run.note,
            "program": self.run.program,
            "environment": self.run.environment,
            "samples": self.samples.len(),
            "damaged_samples": self.damaged,
            "analysis": self.analysis,
            "noise": self.noise,
        })
    }
}

fn observed(samples: &[StoredSample]) -> Vec<Observed<'_>> {
    samples
        .iter()
        .map(|stored| Observed { id: stored.id, cell: stored.cell as u32, block: stored.block, sample: &stored.sample })
        .collect()
}
