//! Comparison of two groups of samples, before and after: what differs in what they were measured on, and what changed in
//! each workload that both have.
//!
//! Workloads are matched by all that is of their nature (`alike`), not by their place in a plan. The two groups
//! were measured at different times, so nothing pairs their repetitions: a ratio of means with Fieller's interval, held
//! against a margin ([`Contrast`]), and Benjamini and Hochberg's adjustment over all cells of a figure. Where a side has
//! one repetition there is no interval. Then only what is beyond any plausible noise is called changed: a ratio further
//! from 1 than [`Figure::plausible_noise`], which is larger than what single runs of the same workload on one machine were
//! seen to differ by.

mod environment;
#[cfg(test)]
mod tests;
mod verdict;

pub use environment::Difference;
pub use verdict::Outcome;

use crate::alike::bare;
use crate::statistics::{Contrast, Margin, Verdict, mean_estimate, verdicts};
use halfpower_model::{Estimate, Quantity, Sample, Workload};
use serde::Serialize;
use std::collections::HashMap;

/// What two groups of samples come to.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// What it comes to as a whole.
    pub outcome: Outcome,
    /// The same in a line.
    pub sentence: String,
    /// What the two were measured on, as far as it differs.
    pub differences: Vec<Difference>,
    /// What both have, in the order of the first group.
    pub cells: Vec<ComparedCell>,
    /// What only the first has.
    pub only_before: Vec<String>,
    /// What only the second has.
    pub only_after: Vec<String>,
}

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
    /// The second over the first.
    pub ratio: Estimate,
    /// What that means.
    pub standing: Standing,
    /// Whether one repetition a side is all there is.
    pub single: bool,
}

/// A figure that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Bytes a second of all workers; requests a second of what moves no bytes.
    Throughput,
    /// Bytes a second over the time to the last worker's finish: what the parent of parallel writers sees.
    ParentThroughput,
    /// The 99th percentile of latency.
    TailLatency,
    /// Processor time a request, lower bound.
    ProcessorCost,
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

impl Figure {
    /// Every one, in the order they are shown.
    pub const ALL: [Figure; 4] =
        [Figure::Throughput, Figure::ParentThroughput, Figure::TailLatency, Figure::ProcessorCost];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Throughput => "throughput",
            Figure::ParentThroughput => "throughput as the parent sees it",
            Figure::TailLatency => "p99 latency",
            Figure::ProcessorCost => "processor time a request",
        }
    }

    /// The change that does not matter, where nobody says another.
    fn margin(self) -> Margin {
        match self {
            Figure::Throughput | Figure::ParentThroughput => Margin::THROUGHPUT,
            Figure::TailLatency => Margin::TAIL,
            Figure::ProcessorCost => Margin::COST,
        }
    }

    /// The factor that single runs of the same workload do not differ by.
    pub fn plausible_noise(self) -> f64 {
        match self {
            Figure::Throughput | Figure::ParentThroughput | Figure::ProcessorCost => 1.5,
            Figure::TailLatency => 4.0,
        }
    }

    /// Whether more of it is better.
    fn more_is_better(self) -> bool {
        matches!(self, Figure::Throughput | Figure::ParentThroughput)
    }

    fn quantity(self, of_bytes: bool) -> Quantity {
        match self {
            Figure::Throughput if !of_bytes => Quantity::RequestsPerSecond,
            Figure::Throughput | Figure::ParentThroughput => Quantity::BytesPerSecond,
            Figure::TailLatency => Quantity::Nanoseconds,
            Figure::ProcessorCost => Quantity::MicrosecondsPerRequest,
        }
    }

    /// What a sample tells of it; none where it does not.
    fn of(self, sample: &Sample, of_bytes: bool) -> Option<f64> {
        let figure = match self {
            Figure::Throughput if of_bytes => sample.total.bytes_per_s.0,
            Figure::Throughput => sample.tells("total.requests_per_s").then_some(sample.total.requests_per_s)?,
            Figure::ParentThroughput => {
                // Of one worker it is the throughput.
                let parallel = sample.parallel.filter(|_| sample.workload.workers > 1)?;
                sample.tells("parallel.parent_bytes_per_s").then_some(parallel.parent_bytes_per_s.0)?
            }
            Figure::TailLatency => sample.total.latency_ns.p99? as f64,
            Figure::ProcessorCost => {
                let lower = sample.cpu.lower;
                let is_told = sample.tells("cpu.lower") && sample.tells("total.requests");
                is_told.then(|| (lower.user_s + lower.system_s) * 1e6 / sample.total.requests as f64)?
            }
        };
        (figure.is_finite() && figure > 0.0).then_some(figure)
    }
}

/// Compares the samples of two groups; those that failed are left out. With a threshold, that is the margin of every figure.
pub fn compare(before: &[&Sample], after: &[&Sample], threshold: Option<Margin>) -> Comparison {
    let (before_cells, after_cells) = (gather(before), gather(after));
    let mut taken = vec![false; after_cells.len()];
    let mut places: HashMap<Workload, Vec<usize>> = HashMap::new();
    for (place, cell) in after_cells.iter().enumerate() {
        places.entry(bare(cell.workload, &[])).or_default().push(place);
    }
    let all: Vec<&Workload> = before_cells.iter().chain(&after_cells).map(|cell| cell.workload).collect();
    let names = halfpower_model::workload::names(&all, &[]);
    let (mut cells, mut only_before) = (Vec::new(), Vec::new());
    for (cell, name) in before_cells.iter().zip(&names) {
        let same = |place: &usize| crate::alike::same_span(cell.workload, after_cells[*place].workload);
        let found = places.get(&bare(cell.workload, &[])).and_then(|places| places.iter().copied().find(same));
        let Some(place) = found else {
            only_before.push(name.clone());
            continue;
        };
        taken[place] = true;
        cells.push((name, cell, &after_cells[place]));
    }
    let after_names = after_cells.iter().zip(&names[before_cells.len()..]).zip(&taken);
    let only_after = after_names.filter(|(_, taken)| !**taken).map(|((_, name), _)| name.clone()).collect();
    let mut compared: Vec<ComparedCell> = cells
        .iter()
        .map(|(name, cell, _)| ComparedCell {
            name: (*name).clone(),
            workload: cell.workload.clone(),
            changes: Vec::new(),
        })
        .collect();
    for figure in Figure::ALL {
        add_changes(&mut compared, &cells, figure, threshold.unwrap_or(figure.margin()));
    }
    let (outcome, sentence) = verdict::of(&compared);
    let differences = environment::differences(before, after);
    Comparison { outcome, sentence, differences, cells: compared, only_before, only_after }
}

/// A workload with its samples.
struct Group<'a> {
    workload: &'a Workload,
    samples: Vec<&'a Sample>,
}

/// Samples by workload, in the order of their first ones.
fn gather<'a>(samples: &[&'a Sample]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut places: HashMap<Workload, Vec<usize>> = HashMap::new();
    for sample in samples.iter().filter(|sample| crate::cells::is_usable(sample)) {
        let places = places.entry(bare(&sample.workload, &[])).or_default();
        let same = |place: &usize| crate::alike::same_span(groups[*place].workload, &sample.workload);
        match places.iter().copied().find(same) {
            Some(place) => groups[place].samples.push(sample),
            None => {
                places.push(groups.len());
                groups.push(Group { workload: &sample.workload, samples: vec![sample] });
            }
        }
    }
    groups
}

/// Adds a figure's change to each cell where both sides tell it.
fn add_changes(
    compared: &mut [ComparedCell],
    cells: &[(&String, &Group<'_>, &Group<'_>)],
    figure: Figure,
    margin: Margin,
) {
    let values = |group: &Group<'_>, of_bytes: bool| -> Vec<f64> {
        // All of them or none: a mean over some would be of others than it says.
        let told: Option<Vec<f64>> = group.samples.iter().map(|sample| figure.of(sample, of_bytes)).collect();
        told.unwrap_or_default()
    };
    let mut changes = Vec::new();
    for (place, (_, before, after)) in cells.iter().enumerate() {
        let of_bytes = before.samples.iter().all(|sample| sample.total.bytes_per_s.0 > 0.0);
        let (old, new) = (values(before, of_bytes), values(after, of_bytes));
        let quantity = figure.quantity(of_bytes);
        let estimates = mean_estimate(quantity, &old).zip(mean_estimate(quantity, &new));
        if let Some(((before, after), contrast)) = estimates.zip(Contrast::apart(&new, &old, margin)) {
            changes.push((place, before, after, contrast, old.len() == 1 || new.len() == 1));
        }
    }
    let contrasts: Vec<Contrast> = changes.iter().map(|change| change.3).collect();
    for ((place, before, after, contrast, single), verdict) in changes.into_iter().zip(verdicts(&contrasts)) {
        let standing = standing(figure, contrast.ratio.value, verdict, single);
        compared[place].changes.push(Change { figure, before, after, ratio: contrast.ratio, standing, single });
    }
}

fn standing(figure: Figure, ratio: f64, verdict: Verdict, single: bool) -> Standing {
    let noise = figure.plausible_noise();
    let is_beyond_noise = ratio > noise || ratio < 1.0 / noise;
    match verdict {
        Verdict::Equivalent => Standing::Equivalent,
        Verdict::Changed if (ratio > 1.0) == figure.more_is_better() => Standing::Better,
        Verdict::Changed => Standing::Worse,
        Verdict::Undecided if single && is_beyond_noise => {
            if (ratio > 1.0) == figure.more_is_better() {
                Standing::Better
            } else {
                Standing::Worse
            }
        }
        Verdict::Undecided => Standing::Undecided,
    }
}

impl ComparedCell {
    /// How a figure of it changed.
    pub fn change(&self, figure: Figure) -> Option<&Change> {
        self.changes.iter().find(|change| change.figure == figure)
    }
}
