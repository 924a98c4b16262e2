//! Published figures beside the workloads of a run that are of the same volume: points for its charts.

use super::{Figure, Measure};
use crate::plan::Plan;
use halfpower_model::Workload;

/// The part of a plan that is one figure of a paper.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PaperFigure {
    /// The sweep's name.
    pub label: String,
    /// Its workloads, with the volume of each.
    pub cells: Vec<PaperCell>,
}

/// A workload of a figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PaperCell {
    /// Its place in the plan.
    pub cell: u32,
    /// The volume that it is of.
    pub volume: String,
    /// What the paper prints of it.
    pub printed: Option<Printed>,
}

/// A printed figure in our units.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Printed {
    /// Bytes a second of a sequential workload, requests a second of others.
    pub rate: f64,
    /// As it is printed, with its unit.
    pub text: String,
    /// Where.
    pub place: String,
}

/// A plan's sweeps as figures of papers, in its order; empty where it is of no simulated machine, or of none that a paper
/// has figures of.
pub(crate) fn paper_figures(plan: &Plan, target: &str, figures: &[Figure]) -> Vec<PaperFigure> {
    let Some((machine, own)) = target.strip_prefix("sim:").and_then(|name| name.rsplit_once(':')) else {
        return Vec::new();
    };
    let mut found: Vec<PaperFigure> = Vec::new();
    for cell in &plan.cells {
        let (volume, other) = cell.workload.set.without("volume");
        let volume = volume.unwrap_or(own);
        let name = format!("{machine}:{volume}");
        let is_it = |figure: &&Figure| other.is_empty() && is_of(figure, &name, &cell.workload);
        let printed = figures.iter().find(is_it).map(printed);
        let cell_of = PaperCell { cell: cell.index as u32, volume: volume.to_owned(), printed };
        match found.last_mut().filter(|figure| figure.label == cell.label) {
            Some(figure) => figure.cells.push(cell_of),
            None => found.push(PaperFigure { label: cell.label.clone(), cells: vec![cell_of] }),
        }
    }
    let has_printed = |figure: &PaperFigure| figure.cells.iter().any(|cell| cell.printed.is_some());
    if found.iter().any(has_printed) { found } else { Vec::new() }
}

/// Whether a figure is the rate of a workload; how much of the volume it uses and for how long may differ.
fn is_of(figure: &Figure, target: &str, workload: &Workload) -> bool {
    let ([own], [spec]) = (figure.targets.as_slice(), figure.cells.as_slice()) else { return false };
    let is_rate = match figure.measure {
        Measure::Megabytes => workload.pattern.is_ordered(),
        Measure::Requests => !workload.pattern.is_ordered(),
        _ => false,
    };
    is_rate
        && figure.left_out.is_none()
        && own == target
        && spec.operation.unwrap_or_default() == workload.operation
        && spec.pattern.unwrap_or_default() == workload.pattern
        && spec.request_size == Some(workload.request_size)
        && spec.depth == Some(workload.depth)
        && spec.buffering == Some(workload.buffering)
        && spec.offset.unwrap_or_default() == workload.offset
        && spec.file_state.unwrap_or_default() == workload.file_state
}

fn printed(figure: &Figure) -> Printed {
    let rate = match figure.measure {
        Measure::Megabytes => figure.published * 1_048_576.0,
        _ => figure.published,
    };
    Printed { rate, text: format!("{} {}", figure.published, figure.measure.unit()), place: figure.place.clone() }
}
