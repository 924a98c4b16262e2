//! Matches equal workloads of two groups, wherever they are in their plans.

use crate::comparable::{Axis, bare, fields, same_span};
use crate::limits;
use crate::wording::listed;
use halfpower_model::{Sample, Workload};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// Which spans match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Spans {
    /// Equal ones, but for a partial request at the end.
    #[default]
    Equal,
    /// All: the targets differ in size.
    Any,
}

/// Workloads, found by equality in constant time.
#[derive(Default)]
pub(super) struct Index<'a> {
    places: HashMap<Workload, Vec<(&'a Workload, usize)>>,
    spans: Spans,
}

impl<'a> Index<'a> {
    /// Of workloads with their places.
    pub(super) fn of(workloads: impl Iterator<Item = &'a Workload>, spans: Spans) -> Index<'a> {
        let mut index = Index { spans, ..Index::default() };
        workloads.enumerate().for_each(|(place, workload)| index.add(workload, place));
        index
    }

    /// The place of the first equal one.
    pub(super) fn find(&self, workload: &Workload) -> Option<usize> {
        let alike = self.places.get(&bare(workload, &[Axis::Warmup]))?;
        let is_same = |other: &Workload| self.spans == Spans::Any || same_span(other, workload);
        alike.iter().find(|(other, _)| is_same(other)).map(|(_, place)| *place)
    }

    fn add(&mut self, workload: &'a Workload, place: usize) {
        self.places.entry(bare(workload, &[Axis::Warmup])).or_default().push((workload, place));
    }
}

/// A workload with its samples.
pub(super) struct Group<'w, 'a> {
    /// With the settings of its machine (`machine`).
    pub(super) workload: &'w Workload,
    pub(super) samples: Vec<&'a Sample>,
    /// Where each comes from.
    origins: Vec<Origin>,
}

/// Where a sample comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// Its run.
    pub(super) run: usize,
    /// Its rate that lasts, as a share of its own.
    pub(super) lasts: f64,
}

/// The samples of runs, without those of a burst.
pub(super) fn lasting<'a>(runs: &[Vec<&'a Sample>]) -> (Vec<&'a Sample>, Vec<Origin>) {
    let of_run = |(run, samples): (usize, &Vec<&'a Sample>)| {
        let shares = limits::shares_that_last(samples);
        let one = move |(sample, lasts): (&'a Sample, Option<f64>)| Some((sample, Origin { run, lasts: lasts? }));
        samples.iter().copied().zip(shares).filter_map(one).collect::<Vec<_>>()
    };
    runs.iter().enumerate().flat_map(of_run).unzip()
}

/// A field's name without its unit.
fn words_of(field: &str) -> String {
    let name = field.strip_suffix("_s").unwrap_or(field);
    if name == "warmup" { "warm-up".to_owned() } else { name.replace('_', " ") }
}

/// `processes, ring and 5 more`; none of no fields.
pub(super) fn in_words(fields: &[impl AsRef<str>]) -> Option<String> {
    const NAMED: usize = 6;
    let more = fields.len().saturating_sub(NAMED);
    let mut words: Vec<String> = fields.iter().take(NAMED).map(|field| words_of(field.as_ref())).collect();
    words.extend((more > 0).then(|| format!("{more} more")));
    (!words.is_empty()).then(|| listed(&words))
}

/// How the closest pair differs if no workloads match, as a sentence; only the first of each side are tried.
pub(super) fn apart(before: &[Group<'_, '_>], after: &[Group<'_, '_>]) -> Option<String> {
    const LOOKED_AT: usize = 64;
    let first = |groups: &[Group<'_, '_>]| -> Vec<(Workload, Map<String, Value>)> {
        let of = |group: &Group<'_, '_>| (group.workload.clone(), fields(&bare(group.workload, &[])));
        groups.iter().take(LOOKED_AT).map(of).collect()
    };
    let unsure = before.iter().chain(after).find(|group| !group.is_of_one_workload());
    let (before, after) = (first(before), first(after));
    let pairs = before.iter().flat_map(|one| after.iter().map(move |other| differing(one, other)));
    let keys = pairs.min_by_key(|(both, one)| (both.len() + one.len(), both.len()))?;
    let one_sided = in_words(&keys.1).map(|keys| format!("{keys}, unknown on one side"));
    if let Some(group) = unsure.filter(|_| keys.0.is_empty() && keys.1.is_empty()) {
        let lacking: Vec<&str> = group.workload.lacks().collect();
        let lacking = in_words(&lacking).unwrap_or_default();
        return Some(format!(
            "Several samples that do not record {lacking} may be of unlike workloads; compare one with one."
        ));
    }
    let words: Vec<String> = in_words(&keys.0).into_iter().chain(one_sided).collect();
    Some(format!("The closest pair differs in {}.", words.join(", and in ")))
}

/// Differing fields: those known on both sides, and those known on one.
fn differing(
    (one, one_fields): &(Workload, Map<String, Value>),
    (other, other_fields): &(Workload, Map<String, Value>),
) -> (Vec<String>, Vec<String>) {
    let mut keys: Vec<&String> = one_fields.keys().chain(other_fields.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let differs = |key: &&String| match key.as_str() {
        // A partial request at the end of a span does not count.
        "size" => one.is_known("size") != other.is_known("size") || !same_span(one, other),
        key => one_fields.get(key) != other_fields.get(key),
    };
    keys.into_iter().filter(differs).cloned().partition(|key| one.is_known(key) && other.is_known(key))
}

impl Group<'_, '_> {
    /// A figure of each sample and its share that lasts, by run; empty unless all have it, because a mean over some would be of other samples.
    pub(super) fn by_run(&self, figure: impl Fn(&Sample, f64) -> Option<f64>) -> Vec<Vec<f64>> {
        let mut runs: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (origin, sample) in self.origins.iter().zip(&self.samples) {
            let Some(figure) = figure(sample, origin.lasts) else { return Vec::new() };
            runs.entry(origin.run).or_default().push(figure);
        }
        runs.into_values().collect()
    }

    /// The runs that have samples of it.
    pub(super) fn runs(&self) -> Vec<usize> {
        let runs: std::collections::BTreeSet<usize> = self.origins.iter().map(|origin| origin.run).collect();
        runs.into_iter().collect()
    }

    /// Whether all samples surely have one workload; with fields that they do not record they may differ.
    pub(super) fn is_of_one_workload(&self) -> bool {
        self.samples.len() == 1 || self.samples.iter().all(|sample| sample.workload.is_described())
    }
}

/// Samples by workload, in the order of their first ones; failed ones are skipped. `origins` has that of each sample.
pub(super) fn gather<'w, 'a>(samples: &'w [(Cow<'_, Workload>, &'a Sample)], origins: &[Origin]) -> Vec<Group<'w, 'a>> {
    let mut groups: Vec<Group<'w, 'a>> = Vec::new();
    let mut index = Index::default();
    let origins = origins.iter().copied().chain(std::iter::repeat(Origin { run: 0, lasts: 1.0 }));
    let usable = samples.iter().zip(origins).filter(|((_, sample), _)| crate::cells::is_usable(sample));
    for ((workload, sample), origin) in usable {
        let place = index.find(workload).unwrap_or_else(|| {
            index.add(workload, groups.len());
            groups.push(Group { workload, samples: Vec::new(), origins: Vec::new() });
            groups.len() - 1
        });
        groups[place].samples.push(sample);
        groups[place].origins.push(origin);
    }
    groups
}
