//! Published figures beside the workloads of a run, by figure of the paper that the study repeats.
//!
//! A printed value belongs to the figure in which the paper prints it; if the run has no such figure, to the first
//! figure with the same quantity and workloads. On the paper's simulated machine a value is met or missed. Any other target
//! stands for the volumes of the study, and its values are multiples of the paper's.

use crate::plan::{FigurePlan, Plan};
use crate::simulator::name::SIMULATED;
use crate::simulator::published::{Figure, Measure};
use crate::study::{Exhibit, Shows, Study, VOLUME};
use halfpower_model::{Among, Workload, WorkloadSpec};

/// A figure of a paper in a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PaperFigure {
    /// The figure in the paper.
    pub exhibit: Exhibit,
    /// Its workloads with their volumes.
    pub cells: Vec<PaperCell>,
    /// The values that the paper prints.
    pub printed: Vec<Printed>,
}

/// A workload of a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PaperCell {
    /// Its index in the plan.
    pub cell: u32,
    /// Its volume, or its target if there are several.
    pub volume: String,
}

/// A printed value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Printed {
    /// The published figure.
    pub figure: Figure,
    /// The indices of its workloads in the plan: all on its first target, then on its second.
    pub cells: Vec<u32>,
    /// Whether the run is of the paper's machine; only then its tolerance says anything.
    pub is_its_machine: bool,
    /// The value of this run; none before it is computed, or if the samples lack it.
    pub here: Option<f64>,
}

/// The volumes of a paper's machine that a run measures, or that its targets stand for. Names are full: `MACHINE:VOLUME`.
enum Volumes {
    /// The simulated machine, and the volume of workloads that name none.
    Simulated(String),
    /// Those of a study that ran on other targets.
    Replaced {
        /// Every volume, which a workload on all targets stands for.
        all: Vec<String>,
        /// In place of each target.
        each: Vec<String>,
    },
}

impl Volumes {
    /// Those of a plan on `target`; none if no paper has its machine, or not with its settings.
    fn of(plan: &Plan, target: &str) -> Option<Volumes> {
        if let Some(own) = target.strip_prefix(SIMULATED) {
            return (!own.contains(',')).then(|| Volumes::Simulated(own.to_owned()));
        }
        let study = Study::builtin(&plan.study)?;
        let own = study.path.as_deref()?.strip_prefix(SIMULATED)?;
        let all = study.volumes_or_target().iter().map(|named| full(named.as_deref(), own)).collect();
        Some(Volumes::Replaced { all, each: study.volumes().iter().map(|named| full(Some(named), own)).collect() })
    }

    /// Whether a workload is on this volume, or on a target that stands for it.
    fn has(&self, workload: &Workload, volume: &String) -> bool {
        match (self, workload.among) {
            (Volumes::Simulated(own), Among::All) => {
                let (named, others) = workload.set.without(VOLUME);
                others.is_empty() && full(named, own) == *volume
            }
            (Volumes::Replaced { all, .. }, Among::All) => all.contains(volume),
            (Volumes::Replaced { each, .. }, Among::Only(number)) => each.get(number as usize - 1) == Some(volume),
            _ => false,
        }
    }

    /// Whether a published figure is of its machine, or of its volumes.
    fn is_in(&self, figure: &Figure) -> bool {
        figure.targets.iter().any(|target| match self {
            Volumes::Simulated(own) => machine(target) == machine(own),
            Volumes::Replaced { all, .. } => all.contains(target),
        })
    }
}

/// The machine of a volume.
fn machine(volume: &str) -> Option<&str> {
    Some(volume.rsplit_once(':')?.0)
}

/// A volume with its machine: its own, or that of `own`. Without a volume, `own`.
fn full(named: Option<&str>, own: &str) -> String {
    match (named, machine(own)) {
        (None, _) => own.to_owned(),
        (Some(named), Some(machine)) if !named.contains(':') => format!("{machine}:{named}"),
        (Some(named), _) => named.to_owned(),
    }
}

/// A plan's figures of a paper, in order; empty for other studies.
pub(crate) fn paper_figures(plan: &Plan, target: &str, published: &[Figure]) -> Vec<PaperFigure> {
    let volumes = Volumes::of(plan, target);
    let cells = |figure: &FigurePlan| {
        let of = |cell: &usize| PaperCell { cell: *cell as u32, volume: volume(plan, target, *cell) };
        figure.cells.iter().map(of).collect()
    };
    let figure = |figure: &FigurePlan| PaperFigure {
        exhibit: figure.exhibit.clone(),
        cells: cells(figure),
        printed: Vec::new(),
    };
    let mut figures: Vec<PaperFigure> = plan.figures.iter().map(figure).collect();
    let Some(volumes) = volumes else { return figures };
    let is_its_machine = matches!(volumes, Volumes::Simulated(_));
    let sources: Vec<&str> =
        published.iter().filter(|figure| volumes.is_in(figure)).map(|figure| figure.source.as_str()).collect();
    for figure in published.iter().filter(|figure| sources.contains(&figure.source.as_str())) {
        let found = plan.figures.iter().enumerate();
        let found: Vec<(usize, Vec<u32>)> = found
            .filter_map(|(number, in_plan)| Some((number, cells_of(figure, plan, &in_plan.cells, &volumes)?)))
            .collect();
        let is_named = |(number, _): &&(usize, _)| is_printed_in(figure, &figures[*number].exhibit.label);
        let suits = |(number, _): &&(usize, _)| figures[*number].exhibit.shows == figure.measure.shows();
        // Throughput and CPU cost suit any figure, other quantities only figures that show them.
        let is_common = matches!(figure.measure.shows(), Shows::Throughput | Shows::Cpu);
        let any = found.first().filter(|_| is_common);
        let place = found.iter().find(is_named).or_else(|| found.iter().find(suits)).or(any);
        if let Some((number, cells)) = place.cloned() {
            figures[number].printed.push(Printed { figure: figure.clone(), cells, is_its_machine, here: None });
        }
    }
    figures
}

/// The volume of a workload with its other settings, or its target.
fn volume(plan: &Plan, target: &str, cell: usize) -> String {
    let workload = &plan.cells[cell].workload;
    let (named, others) = workload.set.without(VOLUME);
    let simulated = target.strip_prefix(SIMULATED).map(|name| name.split_once(',').map_or(name, |(own, _)| own));
    let target = match (simulated.and_then(|own| own.rsplit_once(':')), workload.among) {
        (Some((_, own)), _) => own,
        (None, Among::Only(number)) => plan.targets.get(number as usize - 1).map_or("", String::as_str),
        (None, _) => plan.targets.first().map_or("", String::as_str),
    };
    let others = if others.is_empty() { String::new() } else { format!(", {others}") };
    format!("{}{others}", named.unwrap_or(target))
}

/// The workloads of a published figure among these; none if one is missing, or the figure is left out.
fn cells_of(figure: &Figure, plan: &Plan, among: &[usize], volumes: &Volumes) -> Option<Vec<u32>> {
    if figure.left_out.is_some() {
        return None;
    }
    let wanted = figure.targets.iter().flat_map(|target| figure.cells.iter().map(move |spec| (target, spec)));
    let found = wanted.map(|(target, spec)| {
        let workload = |cell: &usize| &plan.cells[*cell].workload;
        let is_it = |cell: &&usize| is_of(spec, workload(cell)) && volumes.has(workload(cell), target);
        among.iter().find(is_it).map(|cell| *cell as u32)
    });
    found.collect()
}

/// Whether a workload is that of a published figure. The duration may differ, and the size of buffered files.
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
        && (!workload.buffering.is_direct() || (0.5..=2.0).contains(&span))
}

/// Whether the paper prints a figure in `label`.
fn is_printed_in(figure: &Figure, label: &str) -> bool {
    figure.place.split([',', ';']).any(|place| place.trim().eq_ignore_ascii_case(label))
}

impl Printed {
    /// Whether it is within its tolerance; none if this run has no value, or is of another machine.
    pub(crate) fn is_within(&self) -> Option<bool> {
        let tolerance = &self.figure.tolerance;
        self.here
            .filter(|_| self.is_its_machine)
            .map(|here| tolerance.error(here, self.figure.published).abs() <= tolerance.most)
    }

    /// This run's value as a multiple of the paper's; none without one, or if it is a share.
    pub(crate) fn times(&self) -> Option<f64> {
        self.here.filter(|_| self.figure.measure.unit() != "%").map(|here| here / self.figure.published)
    }

    /// Whether the paper prints it in this exhibit.
    pub(crate) fn is_of(&self, exhibit: &Exhibit) -> bool {
        is_printed_in(&self.figure, &exhibit.label)
    }

    /// Its value in a chart of one workload: bytes per second, IOPS, ms of CPU time per MB, or ns; none if it has
    /// several workloads or another unit.
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
