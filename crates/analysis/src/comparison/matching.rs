//! Which workload of one group is which of another: the one that is the same in all that is of its nature (`alike`),
//! whatever its place in a plan.

use crate::alike::{bare, same_span};
use halfpower_model::{Sample, Workload};
use std::collections::HashMap;

/// Workloads that are found by their nature, at the cost of one look each.
#[derive(Default)]
pub(super) struct Index<'a> {
    places: HashMap<Workload, Vec<(&'a Workload, usize)>>,
}

impl<'a> Index<'a> {
    /// Of workloads with their places.
    pub(super) fn of(workloads: impl Iterator<Item = &'a Workload>) -> Index<'a> {
        let mut index = Index::default();
        workloads.enumerate().for_each(|(place, workload)| index.add(workload, place));
        index
    }

    /// The place of the first that is the same.
    pub(super) fn find(&self, workload: &Workload) -> Option<usize> {
        let alike = self.places.get(&bare(workload, &[]))?;
        alike.iter().find(|(other, _)| same_span(other, workload)).map(|(_, place)| *place)
    }

    fn add(&mut self, workload: &'a Workload, place: usize) {
        self.places.entry(bare(workload, &[])).or_default().push((workload, place));
    }
}

/// A workload with its samples.
pub(super) struct Group<'a> {
    pub(super) workload: &'a Workload,
    pub(super) samples: Vec<&'a Sample>,
}

impl Group<'_> {
    /// Whether its samples are of one workload as far as anybody knows: of several that do not tell their depth, say, each
    /// may be of another.
    pub(super) fn is_of_one_workload(&self) -> bool {
        self.samples.len() == 1 || self.workload.is_described()
    }
}

/// What one side does not tell, of the first workload that would else be on both.
pub(super) fn untold(before: &[Group<'_>], after: &[Group<'_>]) -> Option<Vec<String>> {
    before.iter().find_map(|one| after.iter().find_map(|other| crate::alike::untold(one.workload, other.workload)))
}

/// Samples by workload, in the order of their first ones; those that failed are left out.
pub(super) fn gather<'a>(samples: &[&'a Sample]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut index = Index::default();
    for sample in samples.iter().filter(|sample| crate::cells::is_usable(sample)) {
        match index.find(&sample.workload) {
            Some(place) => groups[place].samples.push(sample),
            None => {
                index.add(&sample.workload, groups.len());
                groups.push(Group { workload: &sample.workload, samples: vec![sample] });
            }
        }
    }
    groups
}
