//! Two programs rarely record the same settings. Their workloads are compared by those that both record.

use super::machine::WithSettings;
use crate::comparable::bare;
use halfpower_model::{Unknown, Workload};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Both sides without the fields that one of them lacks, and these fields; none if they lack the same. Workloads that differ
/// only in such a field keep it, so they match nothing.
pub(super) fn by_both<'a>(sides: &[WithSettings<'a>; 2]) -> Option<([WithSettings<'a>; 2], Unknown)> {
    let workloads = || sides.iter().flatten().map(|(workload, _)| workload);
    let unknown: BTreeSet<&str> = workloads().flat_map(|workload| workload.unknown.fields()).collect();
    let is_known = |field: &&str| workloads().any(|workload| workload.is_known(field));
    let lacking: Unknown = unknown.into_iter().filter(is_known).collect();
    if lacking.is_empty() {
        return None;
    }
    let reduced = sides.each_ref().map(|side| reduced_side(side, &lacking));
    Some((reduced, lacking))
}

fn reduced_side<'a>(side: &WithSettings<'a>, lacking: &Unknown) -> WithSettings<'a> {
    let reduced: Vec<Workload> = side.iter().map(|(workload, _)| reduced(workload, lacking)).collect();
    let mut told_apart: HashMap<Workload, HashSet<Workload>> = HashMap::new();
    for (reduced, (workload, _)) in reduced.iter().zip(side) {
        told_apart.entry(bare(reduced, &[])).or_default().insert(bare(workload, &[]));
    }
    let pairs = reduced.into_iter().zip(side);
    let unless_ambiguous = |(reduced, (workload, sample)): (Workload, &(Cow<'a, Workload>, _))| {
        let is_one = told_apart[&bare(&reduced, &[])].len() == 1;
        (if is_one { Cow::Owned(reduced) } else { workload.clone() }, *sample)
    };
    pairs.map(unless_ambiguous).collect()
}

fn reduced(workload: &Workload, lacking: &Unknown) -> Workload {
    let unknown = workload.unknown.fields().chain(lacking.fields()).collect();
    let mut reduced = Workload { unknown, ..workload.clone() };
    if workload.workers == 1 {
        // A lone process does what a lone thread does.
        reduced.worker_kind = Default::default();
    }
    // Unknown fields are null in its record, and null is read as the default.
    let read_back = serde_json::to_value(&reduced).and_then(serde_json::from_value);
    read_back.unwrap_or(reduced)
}
