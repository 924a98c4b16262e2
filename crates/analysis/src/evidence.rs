//! The measured cells of a run, arranged in the series that models and findings look at.

use crate::cells::Cell;
use crate::comparable::{Axis, are_comparable};
use crate::series::{Series, group};
use halfpower_model::{Among, CpuAccounting, Estimate, Workload};

/// The measured cells and their series.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    /// Cells with repetitions, in the plan's order.
    pub(crate) cells: Vec<&'a Cell<'a>>,
    pub(crate) by_size: Vec<Series<'a>>,
    pub(crate) by_depth: Vec<Series<'a>>,
    pub(crate) by_workers: Vec<Series<'a>>,
    /// Cells with a CPU soaker beside them: used for CPU cost only.
    pub(crate) soaked_by_size: Vec<Series<'a>>,
    /// Peak advertised performance, if given.
    pub(crate) advertised_bytes_per_s: Option<f64>,
}

impl<'a> Evidence<'a> {
    /// From all cells of a run.
    pub(crate) fn new(cells: &'a [Cell<'a>]) -> Self {
        let is_soaked = |cell: &&Cell<'_>| cell.workload.cpu_accounting == CpuAccounting::Soaker;
        let described = || cells.iter().filter(|cell| cell.workload.is_described() && !cell.is_burst);
        let plain = || described().filter(move |cell| !is_soaked(cell));
        let measured: Vec<_> = plain().filter(|cell| !cell.repetitions.is_empty()).collect();
        let advertised_bytes_per_s = measured
            .iter()
            .flat_map(|cell| &cell.repetitions)
            .find_map(|observed| observed.sample.environment.target.pap_bytes_per_s)
            .map(|rate| rate.0)
            .filter(|rate| rate.is_finite() && *rate > 0.0);
        Evidence {
            cells: measured,
            by_size: group(plain(), &[Axis::RequestSize], 1),
            by_depth: group(plain(), &[Axis::Depth], 1),
            by_workers: group(plain(), &[Axis::Workers], 1),
            soaked_by_size: group(described().filter(is_soaked), &[Axis::RequestSize], 1),
            advertised_bytes_per_s,
        }
    }

    /// The cells that count, in groups of at least `cells_min` that differ in size, depth and workers only.
    pub(crate) fn by_load(&self, cells_min: usize, counts: impl Fn(&Cell<'a>) -> bool) -> Vec<Series<'a>> {
        group(self.cells.iter().copied().filter(|cell| counts(cell)), Axis::LOAD, cells_min)
    }

    /// The cell of a workload, as far as workloads are compared.
    pub(crate) fn cell_of(&self, wanted: &Workload) -> Option<&'a Cell<'a>> {
        self.cells.iter().copied().find(|cell| are_comparable(cell.workload, wanted, &[]))
    }
}

/// The best cell and its mean: by throughput if sequential, else by IOPS.
pub(crate) fn best<'a>(cells: &[&'a Cell<'a>]) -> Option<(&'a Cell<'a>, Estimate)> {
    let cell = match cells.first()?.workload.pattern.is_ordered() {
        true => highest(cells, Cell::mean_bytes_per_s)?,
        false => highest(cells, Cell::mean_requests_per_s)?,
    };
    Some((cell, cell.own_rate()?))
}

/// Each target alone, and several together, the fewest first; none if one of the most was not measured alone.
pub(crate) fn of_targets<'a>(group: &[&'a Cell<'a>]) -> Option<(Vec<&'a Cell<'a>>, Vec<&'a Cell<'a>>)> {
    let mut together: Vec<&Cell<'_>> = group.iter().copied().filter(|cell| cell.workload.targets > 1).collect();
    together.sort_by_key(|cell| cell.workload.targets);
    let alone = |number| group.iter().copied().find(|cell| cell.workload.among == Among::Only(number));
    let alone = (1..=together.last()?.workload.targets).map(alone).collect::<Option<_>>()?;
    Some((alone, together))
}

/// The cell with the highest figure above zero; the first of equals.
pub(crate) fn highest<'a>(cells: &[&'a Cell<'a>], figure: impl Fn(&Cell<'a>) -> f64) -> Option<&'a Cell<'a>> {
    let mut best: Option<(&'a Cell<'a>, f64)> = None;
    for cell in cells {
        let value = figure(cell);
        if value > best.map_or(0.0, |(_, highest)| highest) {
            best = Some((cell, value));
        }
    }
    best.map(|(cell, _)| cell)
}
