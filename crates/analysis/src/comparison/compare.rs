//! Matches workloads of two groups and compares every figure with its margin.

use super::between::{self, BUSY, Beside, Between, Runs};
use super::change::{Change, ComparedCell, Doubt, Standing};
use super::copies::{self, are_simulated};
use super::environment::{self, Difference};
use super::figure::Figure;
use super::load::Load;
use super::machine::{self, Sides};
use super::matching::{self, Group, Index, Spans, gather};
use super::programs::Habit;
use super::verdict::{self, Outcome};
use crate::resolution::{no_finer, no_finer_ratio};
use crate::statistics::{Contrast, Margin, Verdict, geometric_mean_estimate, mean, mean_estimate, verdicts};
use halfpower_model::sample::Warning;
use halfpower_model::{Estimate, Sample, Workload};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Settings that do not separate workloads, and so do not name them.
pub(super) const NO_PART: [&str; 5] = ["duration", "requests", "bytes", "warmup", "interval"];

/// The samples of a run.
pub type OfRun<'a> = Vec<&'a Sample>;

/// How two groups are compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Method<'a> {
    /// The margin of every figure; none for each figure's default.
    pub margin: Option<Margin>,
    /// Where the variation between runs is known from.
    pub design: Design<'a>,
}

/// A side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    /// `before` and `after`, or `A` and `B`.
    pub name: &'static str,
    /// What was measured, filled in by the caller.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub of: String,
}

/// What was measured together.
#[derive(Clone, Copy, Debug)]
pub enum Design<'a> {
    /// Runs apart in time; with earlier runs of the first group's machine.
    Runs(&'a [OfRun<'a>]),
    /// One run that measured both in turn: of each workload, the samples at one place are a pair.
    Pairs,
}

impl Default for Design<'_> {
    fn default() -> Self {
        Design::Runs(&[])
    }
}

/// A comparison of two groups.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The two sides.
    pub sides: [Side; 2],
    /// The overall outcome.
    pub outcome: Outcome,
    /// In one line.
    pub sentence: String,
    /// Warnings about the named runs, added by the caller.
    pub warnings: Vec<Warning>,
    /// The variation between runs; none of pairs and of simulated machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between_runs: Option<Between>,
    /// Differences between the environments.
    pub differences: Vec<Difference>,
    /// Common workloads, in the first group's order.
    pub cells: Vec<ComparedCell>,
    /// Workloads of the first group only.
    pub only_before: Vec<String>,
    /// Workloads of the second group only.
    pub only_after: Vec<String>,
}

/// Compares two groups of runs; failed samples are skipped.
pub fn compare<'a>(before: &[OfRun<'a>], after: &[OfRun<'a>], method: Method<'_>) -> Comparison {
    let origins_of = |runs: &[OfRun<'a>]| match method.design {
        Design::Runs(_) => matching::lasting(runs),
        // Those of a pair are measured one after the other.
        Design::Pairs => (runs.concat(), Vec::new()),
    };
    let ((before, before_origins), (after, after_origins)) = (origins_of(before), origins_of(after));
    let Sides { workloads: [of_before, of_after], spans, lacking, habits } = machine::with_settings(&before, &after);
    let before_cells = gather(&of_before, &before_origins);
    let after_cells = gather(&of_after, &after_origins);
    let all: Vec<&Workload> = before_cells.iter().chain(&after_cells).map(|cell| cell.workload).collect();
    let no_part = if spans == Spans::Any { [&NO_PART[..], &["size"]].concat() } else { NO_PART.to_vec() };
    let mut names = halfpower_model::names::names(&all, &no_part);
    let after_names = names.split_off(before_cells.len());
    let index = Index::of(after_cells.iter().map(|cell| cell.workload), spans);
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
    let earlier = match method.design {
        Design::Runs(earlier) => like(&before, earlier),
        Design::Pairs => Vec::new(),
    };
    let (earlier, origins) = matching::lasting(&earlier);
    let earlier: Vec<(Cow<'_, Workload>, &Sample)> =
        earlier.into_iter().map(|sample| (Cow::Borrowed(&sample.workload), sample)).collect();
    let earlier = gather(&earlier, &origins);
    let index = Index::of(earlier.iter().map(|group| group.workload), Spans::Equal);
    let of_cell = |before: &Group<'_, '_>| index.find(before.workload).map(|place| &earlier[place]);
    let earlier: Vec<Option<&Group<'_, '_>>> = pairs.iter().map(|(before, _)| of_cell(before)).collect();
    let load = [&before, &after].map(|samples| Load::of(samples));
    Figure::ALL.into_iter().for_each(|figure| add_changes(&mut cells, &pairs, (&earlier, load), figure, method));
    let (names, places) = match method.design {
        Design::Runs(_) => (["before", "after"], ["before", "after"]),
        Design::Pairs => (["A", "B"], ["in A", "in B"]),
    };
    let sides = names.map(|name| Side { name, of: String::new() });
    let (mut outcome, mut sentence) =
        verdict::of(&cells, matches!(method.design, Design::Pairs), are_on_one_target(&before, &after));
    let all = before_cells.len().max(after_cells.len());
    if matches!(outcome, Outcome::Equivalent | Outcome::Improved) && 2 * cells.len() < all {
        outcome = Outcome::Undecided;
        sentence = format!("Undecided: only {} of {all} workloads are in both. {sentence}", cells.len());
    }
    if cells.is_empty() {
        let apart = matching::apart(&before_cells, &after_cells);
        sentence.extend(apart.map(|apart| format!(" {apart}")));
    } else if spans == Spans::Any {
        sentence += " The targets differ in size: each workload covers its own.";
    }
    let lacking: Vec<&str> = lacking.fields().collect();
    let lacking = matching::in_words(&lacking);
    sentence.extend(lacking.map(|fields| format!(" One side does not record {fields}: these may differ.")));
    sentence.extend(habits.into_iter().map(Habit::sentence));
    let differences = environment::differences(&before, &after);
    sentence.extend(environment::throttled(&differences, places));
    let between_runs = Between::of(&cells, load);
    let is_busy = matches!(method.design, Design::Pairs) && load.iter().any(|load| load.most() >= BUSY);
    let busy = Load::in_words(load, places).filter(|_| is_busy);
    let warnings = busy.map(|words| Warning::new("busy", words, "repeat it when nothing else runs"));
    let warnings = warnings.into_iter().collect();
    if let Some(between) = &between_runs {
        sentence = sentence.replacen(": ", &format!(" ({}): ", between.brief()), 1);
    }
    Comparison { sides, outcome, sentence, warnings, between_runs, differences, cells, only_before, only_after }
}

/// The earlier runs that measured the same machine in the same environment. They are of the same target, whose path depends on where the
/// command was typed.
fn like<'a>(before: &[&Sample], earlier: &[OfRun<'a>]) -> Vec<OfRun<'a>> {
    let are_same = |run: &OfRun<'_>| environment::differences(before, run).iter().all(|of| of.fact.ends_with("path"));
    let is_like = |run: &&OfRun<'_>| run.iter().all(|sample| sample.origin.is_none()) && are_same(run);
    earlier.iter().filter(is_like).cloned().collect()
}

/// Adds a figure's change to each cell in which both sides have it.
fn add_changes(
    compared: &mut [ComparedCell],
    pairs: &[(&Group<'_, '_>, &Group<'_, '_>)],
    (earlier, load): (&[Option<&Group<'_, '_>>], [Load; 2]),
    figure: Figure,
    method: Method<'_>,
) {
    let margin = method.margin.unwrap_or(figure.usual_margin());
    let of_pair = |((before, after), earlier): (&(&Group<'_, '_>, &Group<'_, '_>), &Option<&Group<'_, '_>>)| {
        let mut samples = before.samples.iter().chain(&after.samples);
        // IOPS of random requests, if known.
        let are_counted =
            samples.all(|sample| sample.is_known("total.requests_per_s") && sample.total.requests_per_s > 0.0);
        let by_requests = before.workload.pattern.is_uniform() && are_counted;
        let of_bytes = !by_requests && before.samples.iter().all(|sample| sample.total.bytes_per_s.0 > 0.0);
        let by_run = |group: &Group<'_, '_>| group.by_run(|sample, lasts| figure.of(sample, of_bytes, lasts));
        (of_bytes, [by_run(before), by_run(after), earlier.map(by_run).unwrap_or_default()])
    };
    let figures: Vec<_> = pairs.iter().zip(earlier).map(of_pair).collect();
    let usual = between::usual(figures.iter().map(|(_, [old, new, _])| [old, new]));
    let beside = Beside { usual, load };
    let mut changes = Vec::new();
    for (place, ((before, after), (of_bytes, [old, new, earlier]))) in pairs.iter().zip(&figures).enumerate() {
        let single = [old, new].iter().any(|runs| runs.concat().len() == 1);
        let is_replayed = is_replayed(before, after);
        let judged = match method.design {
            Design::Pairs => {
                let blocks: Vec<(f64, f64)> = new.concat().into_iter().zip(old.concat()).collect();
                // The load comes and goes, so that pairs near in time share it.
                let most = load.map(Load::most).into_iter().fold(0.0, f64::max);
                let deviation = if most < BUSY { 0.0 } else { most * between::by_load(figure) };
                Contrast::paired_beside(&blocks, deviation, margin).map(|contrast| (contrast, None))
            }
            Design::Runs(_) if !single && is_replayed => {
                Contrast::apart(&new.concat(), &old.concat(), margin).map(|contrast| (contrast, None))
            }
            Design::Runs(_) => {
                let change = between::change(figure, [old, new, earlier], beside, margin);
                change.map(|(contrast, variation)| (contrast, (!is_replayed).then_some(variation)))
            }
        };
        let quantity = figure.quantity(*of_bytes);
        // Of several runs, the runs are the observations. Where logarithms are compared, their means are shown, so that before,
        // after and ratio agree.
        let by_logarithm = matches!(method.design, Design::Pairs) || old.len().max(new.len()) > 1 && !is_replayed;
        let estimate = if by_logarithm { geometric_mean_estimate } else { mean_estimate };
        let side = |runs: &Runs| match (runs.as_slice(), method.design) {
            ([one], _) => estimate(quantity, one),
            (all, Design::Pairs) => estimate(quantity, &all.concat()),
            (all, _) => estimate(quantity, &all.iter().filter_map(|run| mean(run)).collect::<Vec<_>>()),
        };
        let estimates = side(old).zip(side(new));
        let Some(((old, new), (contrast, variation))) = estimates.zip(judged) else { continue };
        let [old_share, new_share] = [before, after].map(|group| figure.resolution(&group.samples));
        let ratio = no_finer_ratio(contrast.ratio, new_share, old_share);
        let are_long_enough = before.samples.iter().chain(&after.samples).all(|sample| figure.is_long_enough(sample));
        let contrast = match single && !are_long_enough {
            true => Contrast { ratio: Estimate { low: None, high: None, ..ratio }, margin, p_value: None },
            false => Contrast { ratio, ..contrast },
        };
        changes.push((place, no_finer(old, old_share), no_finer(new, new_share), contrast, variation, single));
    }
    let contrasts: Vec<Contrast> = changes.iter().map(|change| change.3).collect();
    let workloads = contrasts.iter().filter(|contrast| contrast.p_value.is_some()).count();
    for ((place, before, after, contrast, variation, single), verdict) in changes.into_iter().zip(verdicts(&contrasts))
    {
        let is_one_of_many = verdict == Verdict::Undecided && contrast.verdict() != Verdict::Undecided;
        let doubt = is_one_of_many.then_some(Doubt::OneOfMany { workloads });
        let (ratio, standing, same_samples) = (contrast.ratio, standing(figure, verdict), are_the_same(pairs[place]));
        let change = Change { figure, before, after, ratio, margin, variation, standing, doubt, single, same_samples };
        // With identical samples nothing differs, whatever the scatter.
        let ratio = Estimate { value: 1.0, low: Some(1.0), high: Some(1.0), ..ratio };
        let same = Change { ratio, standing: Standing::Equivalent, doubt: None, ..change.clone() };
        compared[place].changes.push(if same_samples { same } else { change });
    }
}

/// Whether both measured the same targets.
fn are_on_one_target(before: &[&Sample], after: &[&Sample]) -> bool {
    let paths = |samples: &[&Sample]| -> BTreeSet<String> {
        let targets = samples.iter().flat_map(|sample| sample.environment.all_targets());
        targets.map(|target| target.path.clone()).collect()
    };
    paths(before) == paths(after)
}

fn is_simulated(groups: &[&Group<'_, '_>]) -> bool {
    groups.iter().all(|group| are_simulated(&group.samples))
}

/// Whether both are simulated with the same seeds, of which one may have more: only a change of the machine shows.
fn is_replayed(before: &Group<'_, '_>, after: &Group<'_, '_>) -> bool {
    let [one, other] =
        [before, after].map(|group| group.samples.iter().map(|sample| sample.workload.seed).collect::<BTreeSet<u64>>());
    is_simulated(&[before, after]) && (one.is_subset(&other) || other.is_subset(&one))
}

/// Whether both have identical samples of a simulated machine.
fn are_the_same((before, after): (&Group<'_, '_>, &Group<'_, '_>)) -> bool {
    is_simulated(&[before, after]) && copies::are_equal(&before.samples, &after.samples)
}

fn standing(figure: Figure, verdict: Verdict) -> Standing {
    match verdict {
        Verdict::Equivalent => Standing::Equivalent,
        Verdict::Undecided => Standing::Undecided,
        Verdict::Higher | Verdict::Lower if (verdict == Verdict::Higher) == figure.is_throughput() => Standing::Better,
        Verdict::Higher | Verdict::Lower => Standing::Worse,
    }
}
