//! Published figures beside the workloads of a run that they are of: figure by figure of the paper that its study carries out.
//!
//! A printed figure stands in the figure that it is printed in; where that is not part of the run, in the first that shows such
//! figures of its workloads. On targets that are no simulated machine's nothing printed stands beside: the papers' machines are others.

use crate::plan::{FigurePlan, Plan};
use crate::simulator::published::{Figure, Measure};
use crate::study::{Exhibit, Shows, VOLUME};
use halfpower_model::{Among, Workload, WorkloadSpec};

/// A figure of a paper, as a run has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PaperFigure {
    /// Which.
    pub exhibit: Exhibit,
    /// Its workloads, with the volume of each.
    pub cells: Vec<PaperCell>,
    /// What the paper prints of them.
    pub printed: Vec<Printed>,
}

/// A workload of a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PaperCell {
    /// Its place in the plan.
    pub cell: u32,
    /// The volume that it is of, or the target where there are several.
    pub volume: String,
}

/// A printed figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Printed {
    /// What is printed.
    pub figure: Figure,
    /// The workloads that it takes, as places in the plan: all of them on its first target, then on its second.
    pub cells: Vec<u32>,
    /// What they come to here; none before that is worked out, or where they do not tell.
    pub here: Option<f64>,
}

/// A plan's figures of a paper, in its order; empty where it is the study of none.
pub(crate) fn paper_figures(plan: &Plan, target: &str, published: &[Figure]) -> Vec<PaperFigure> {
    let base = target.strip_prefix("sim:").map(|name| name.split_once(',').map_or(name, |(volume, _)| volume));
    let base = base.and_then(|name| name.rsplit_once(':'));
    let cells = |figure: &FigurePlan| {
        let of = |cell: &usize| PaperCell { cell: *cell as u32, volume: volume(plan, base, *cell) };
        figure.cells.iter().map(of).collect()
    };
    let figure = |figure: &FigurePlan| PaperFigure {
        exhibit: figure.exhibit.clone(),
        cells: cells(figure),
        printed: Vec::new(),
    };
    let mut figures: Vec<PaperFigure> = plan.figures.iter().map(figure).collect();
    // With another part set it is not the paper's machine.
    let Some((machine, own)) = base.filter(|_| !target.contains(',')) else { return figures };
    let is_of_machine = |figure: &&Figure| figure.targets.iter().any(|target| machine_of(target) == machine);
    let sources: Vec<&str> = published.iter().filter(is_of_machine).map(|figure| figure.source.as_str()).collect();
    for figure in published.iter().filter(|figure| sources.contains(&figure.source.as_str())) {
        let full = |cell: &usize| full_volume(&plan.cells[*cell].workload, machine, own);
        let found = plan.figures.iter().enumerate();
        let found: Vec<(usize, Vec<u32>)> = found
            .filter_map(|(number, in_plan)| Some((number, cells_of(figure, plan, &in_plan.cells, full)?)))
            .collect();
        let is_named = |(number, _): &&(usize, _)| is_printed_in(figure, &figures[*number].exhibit.label);
        let suits = |(number, _): &&(usize, _)| figures[*number].exhibit.shows == figure.measure.shows();
        // Rates and costs are of any workload; of the others only those that are asked for.
        let is_common = matches!(figure.measure.shows(), Shows::Throughput | Shows::Cpu);
        let any = found.first().filter(|_| is_common);
        let place = found.iter().find(is_named).or_else(|| found.iter().find(suits)).or(any);
        if let Some((number, cells)) = place.cloned() {
            figures[number].printed.push(Printed { figure: figure.clone(), cells, here: None });
        }
    }
    figures
}

fn machine_of(target: &str) -> &str {
    target.split_once(':').map_or(target, |(machine, _)| machine)
}

/// What a workload goes to, in few words: its volume and what is set beside, or its target.
fn volume(plan: &Plan, base: Option<(&str, &str)>, cell: usize) -> String {
    let workload = &plan.cells[cell].workload;
    let (volume, others) = workload.set.without(VOLUME);
    let target = match (base, workload.among) {
        (Some((_, own)), _) => own,
        (None, Among::Only(number)) => plan.targets.get(number as usize - 1).map_or("", String::as_str),
        (None, _) => plan.targets.first().map_or("", String::as_str),
    };
    let others = if others.is_empty() { String::new() } else { format!(", {others}") };
    format!("{}{others}", volume.unwrap_or(target))
}

/// The volume with its machine, as published figures name it; none where something else is set.
fn full_volume(workload: &Workload, machine: &str, own: &str) -> Option<String> {
    let (volume, others) = workload.set.without(VOLUME);
    let volume = volume.unwrap_or(own);
    let full = if volume.contains(':') { volume.to_owned() } else { format!("{machine}:{volume}") };
    others.is_empty().then_some(full)
}

/// The workloads among these that a figure takes; none where one is missing, or nothing is held against it.
fn cells_of(
    figure: &Figure,
    plan: &Plan,
    among: &[usize],
    full_volume: impl Fn(&usize) -> Option<String>,
) -> Option<Vec<u32>> {
    if figure.left_out.is_some() {
        return None;
    }
    let wanted = figure.targets.iter().flat_map(|target| figure.cells.iter().map(move |spec| (target, spec)));
    let found = wanted.map(|(target, spec)| {
        let is_it =
            |cell: &&usize| is_of(spec, &plan.cells[**cell].workload) && full_volume(cell).as_deref() == Some(target);
        among.iter().find(is_it).map(|cell| *cell as u32)
    });
    found.collect()
}

/// Whether a workload is the one of a figure. For how long it ran may differ, and in the file cache how much it used.
fn is_of(spec: &WorkloadSpec, workload: &Workload) -> bool {
    let span = spec.size.map_or(1.0, |span| workload.span.0 as f64 / span.0.max(1) as f64);
    spec.operation.unwrap_or_default() == workload.operation
        && spec.pattern.unwrap_or_default() == workload.pattern
        && spec.request_size == Some(workload.request_size)
        && spec.depth == Some(workload.depth)
        && spec.buffering == Some(workload.buffering)
        && spec.offset.unwrap_or_default() == workload.offset
        && spec.sharing.unwrap_or_default() == workload.sharing
        && spec.file_state.unwrap_or_default() == workload.file_state
        && spec.durability.unwrap_or_default() == workload.durability
        && spec.rate == workload.rate
        && spec.personality.is_none_or(|personality| personality == workload.personality)
        && workload.among == Among::All
        && (!workload.buffering.is_direct() || (0.5..=2.0).contains(&span))
}

/// Whether a figure is printed in what the paper calls `label`.
fn is_printed_in(figure: &Figure, label: &str) -> bool {
    figure.place.split([',', ';']).any(|place| place.trim().eq_ignore_ascii_case(label))
}

impl Printed {
    /// Whether it is within what it may be off by; none where it is not known what it comes to here.
    pub(crate) fn is_within(&self) -> Option<bool> {
        let tolerance = self.figure.tolerance;
        self.here.map(|here| tolerance.error(here, self.figure.published).abs() <= tolerance.most())
    }

    /// Whether it is printed in the exhibit, and not elsewhere in the paper.
    pub(crate) fn is_of(&self, exhibit: &Exhibit) -> bool {
        is_printed_in(&self.figure, &exhibit.label)
    }

    /// Where it lies in a chart of one workload: in bytes or requests a second, ms of CPU time a MB, or ns; none of what is
    /// worked out from several, or is no such figure.
    pub(crate) fn point(&self, workload: &Workload) -> Option<f64> {
        if self.cells.len() > 1 {
            return None;
        }
        let published = self.figure.published;
        match self.figure.measure {
            Measure::Megabytes => Some(published * 1_048_576.0),
            Measure::Requests => Some(published),
            Measure::CpuMsPerMegabyte => Some(published / 1.048_576),
            Measure::CpuUs => Some(published * 1e3 / workload.request_size.0 as f64),
            Measure::ServiceMs => Some(published * 1e6),
            _ => None,
        }
    }
}
