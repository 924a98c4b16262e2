//! Matches workloads of two groups and compares every figure with its margin.

use super::change::{Change, ComparedCell, Standing};
use super::copies::{self, are_simulated};
use super::environment::{self, Difference};
use super::figure::Figure;
use super::machine;
use super::margins::{FoundMargins, Held, Margins, judged, margin_of};
use super::matching::{self, Group, Index, gather};
use super::verdict::{self, Outcome};
use crate::resolution::{no_finer, no_finer_ratio};
use crate::statistics::{Contrast, Margin, Verdict, mean, mean_estimate, next_interval, verdicts};
use halfpower_model::sample::Warning;
use halfpower_model::{Estimate, Sample, Workload};
use serde::Serialize;

/// Settings that do not separate workloads, and so do not name them.
const NO_PART: [&str; 4] = ["duration", "requests", "bytes", "interval"];

/// A comparison of two groups.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The overall outcome.
    pub outcome: Outcome,
    /// In one line.
    pub sentence: String,
    /// Warnings about the named runs, added by the caller.
    pub warnings: Vec<Warning>,
    /// Margins from an A/A comparison, if used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_margins: Option<FoundMargins>,
    /// Differences between the environments.
    pub differences: Vec<Difference>,
    /// Common workloads, in the first group's order.
    pub cells: Vec<ComparedCell>,
    /// Workloads of the first group only.
    pub only_before: Vec<String>,
    /// Workloads of the second group only.
    pub only_after: Vec<String>,
}

/// Compares two groups; failed samples are skipped.
pub fn compare(before: &[&Sample], after: &[&Sample], margins: Margins<'_>) -> Comparison {
    let sides = machine::with_settings(before, after);
    let [before_cells, after_cells] = sides.each_ref().map(|side| gather(side));
    let all: Vec<&Workload> = before_cells.iter().chain(&after_cells).map(|cell| cell.workload).collect();
    let mut names = halfpower_model::names::names(&all, &NO_PART);
    let after_names = names.split_off(before_cells.len());
    let index = Index::of(after_cells.iter().map(|cell| cell.workload));
    let mut taken = vec![false; after_cells.len()];
    let (mut cells, mut pairs, mut only_before) = (Vec::new(), Vec::new(), Vec::new());
    for (cell, name) in before_cells.iter().zip(names) {
        let of_one = |place: &usize| cell.is_of_one_workload() && after_cells[*place].is_of_one_workload();
        let Some(place) = index.find(cell.workload).filter(of_one) else {
            only_before.push(name);
            continue;
        };
        taken[place] = true;
        pairs.push((cell, &after_cells[place]));
        cells.push(ComparedCell { name, workload: cell.samples[0].workload.clone(), changes: Vec::new() });
    }
    let only_after = after_names.into_iter().zip(&taken).filter(|(_, taken)| !**taken).map(|(name, _)| name).collect();
    let found: &[ComparedCell] = if let Margins::Found(cells) = margins { cells } else { &[] };
    let found = Index::of(found.iter().map(|cell| &cell.workload));
    let held = |figure, workload: &Workload| margin_of(margins, &found, figure, workload);
    Figure::ALL.into_iter().for_each(|figure| add_changes(&mut cells, &pairs, figure, &held));
    let (outcome, mut sentence) = verdict::of(&cells);
    if cells.is_empty() {
        let apart = matching::apart(&before_cells, &after_cells);
        sentence.extend(apart.map(|apart| format!(" {apart}")));
    }
    let differences = environment::differences(before, after);
    let found_margins = matches!(margins, Margins::Found(_)).then(|| FoundMargins::of(&cells));
    let warnings = Vec::new();
    Comparison { outcome, sentence, warnings, found_margins, differences, cells, only_before, only_after }
}

/// Adds a figure's change to each cell in which both sides have it.
fn add_changes(
    compared: &mut [ComparedCell],
    pairs: &[(&Group<'_, '_>, &Group<'_, '_>)],
    figure: Figure,
    held: &dyn Fn(Figure, &Workload) -> Held,
) {
    let values = |group: &Group<'_, '_>, of_bytes: bool| -> Vec<f64> {
        // All or none: a mean over some would be of other samples.
        let figures: Option<Vec<f64>> = group.samples.iter().map(|sample| figure.of(sample, of_bytes)).collect();
        figures.unwrap_or_default()
    };
    let mut changes = Vec::new();
    for (place, (before, after)) in pairs.iter().enumerate() {
        let of_bytes = before.samples.iter().all(|sample| sample.total.bytes_per_s.0 > 0.0);
        let (old, new) = (values(before, of_bytes), values(after, of_bytes));
        let (quantity, held) = (figure.quantity(of_bytes), held(figure, &before.samples[0].workload));
        let margin = held.least(figure);
        let are_long_enough = before.samples.iter().chain(&after.samples).all(|sample| figure.is_long_enough(sample));
        let estimates = mean_estimate(quantity, &old).zip(mean_estimate(quantity, &new));
        let Some(((old_mean, new_mean), contrast)) = estimates.zip(Contrast::apart(&new, &old, margin)) else {
            continue;
        };
        let [old_share, new_share] = [before, after].map(|group| figure.resolution(&group.samples));
        let contrast = Contrast { ratio: no_finer_ratio(contrast.ratio, new_share, old_share), ..contrast };
        let of_single = verdict_of_single(figure, margin, &old, &new, contrast.ratio.value);
        let of_single = of_single.map(|verdict| if are_long_enough { verdict } else { Verdict::Undecided });
        let (before, after) = (no_finer(old_mean, old_share), no_finer(new_mean, new_share));
        changes.push((place, before, after, (contrast, held), of_single));
    }
    let contrasts: Vec<Contrast> = changes.iter().map(|change| change.3.0).collect();
    let looked_at = contrasts.iter().filter(|contrast| contrast.p_value.is_some()).count();
    for ((place, before, after, (contrast, held), of_single), verdict) in changes.into_iter().zip(verdicts(&contrasts))
    {
        let (ratio, margin) = (contrast.ratio, held.margin());
        let (verdict, doubt) = judged(figure, held, &contrast, of_single.unwrap_or(verdict), looked_at);
        let (standing, single) = (standing(figure, verdict), of_single.is_some());
        let same_samples = are_the_same(pairs[place]);
        let change = Change { figure, before, after, ratio, margin, standing, doubt, single, same_samples };
        // With identical samples nothing differs, whatever the scatter.
        let ratio = Estimate { value: 1.0, low: Some(1.0), high: Some(1.0), ..ratio };
        let same = Change { ratio, standing: Standing::Equivalent, doubt: None, ..change.clone() };
        compared[place].changes.push(if same_samples { same } else { change });
    }
}

/// Whether both have identical samples of a simulated machine.
fn are_the_same((before, after): (&Group<'_, '_>, &Group<'_, '_>)) -> bool {
    let are_simulated = are_simulated(&before.samples) && are_simulated(&after.samples);
    are_simulated && copies::are_equal(&before.samples, &after.samples)
}

/// The verdict if a side has a single sample, which has no interval: a change if the difference exceeds the margin, plausible
/// noise and the other side's scatter. None if both sides have several.
fn verdict_of_single(figure: Figure, margin: Margin, old: &[f64], new: &[f64], ratio: f64) -> Option<Verdict> {
    let (single, others) = match (old, new) {
        ([single], others) | (others, [single]) => (*single, others),
        _ => return None,
    };
    let factor = mean(others).map_or(1.0, |mean| (single / mean).max(mean / single));
    let is_one_of_them = next_interval(others).is_some_and(|next| next.holds(single));
    let is_beyond = factor > figure.plausible_noise().max(margin.ends().1) && !is_one_of_them;
    Some(match ratio > 1.0 {
        _ if !is_beyond => Verdict::Undecided,
        true => Verdict::Higher,
        false => Verdict::Lower,
    })
}

fn standing(figure: Figure, verdict: Verdict) -> Standing {
    match verdict {
        Verdict::Equivalent => Standing::Equivalent,
        Verdict::Undecided => Standing::Undecided,
        Verdict::Higher | Verdict::Lower if (verdict == Verdict::Higher) == figure.more_is_better() => Standing::Better,
        Verdict::Higher | Verdict::Lower => Standing::Worse,
    }
}
