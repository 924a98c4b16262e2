//! Two programs rarely record the same settings. Their workloads are compared by those that both record.

use super::machine::WithSettings;
use crate::comparable::bare;
use halfpower_model::{Unknown, Workload};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Both sides by what both record.
pub(super) struct ByBoth<'a> {
    pub(super) sides: [WithSettings<'a>; 2],
    /// The fields that one side lacks.
    pub(super) lacking: Unknown,
}

/// Both sides without the fields that either lacks; none if both have all. Workloads that only such a field tells apart keep
/// it, so they match nothing.
pub(super) fn by_both<'a>(sides: &[WithSettings<'a>; 2]) -> Option<ByBoth<'a>> {
    let lacking: Unknown = sides.iter().flatten().flat_map(|(workload, _)| workload.unknown.fields()).collect();
    if lacking.is_empty() {
        return None;
    }
    Some(ByBoth { sides: sides.each_ref().map(|side| reduced_side(side, &lacking)), lacking })
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
    let mut reduced = Workload { unknown: lacking.clone(), ..workload.clone() };
    if workload.workers == 1 {
        // A lone process does what a lone thread does.
        reduced.worker_kind = Default::default();
    }
    // Its record has null for what is unknown, which is read as the default.
    let read_back = serde_json::to_value(&reduced).and_then(serde_json::from_value);
    read_back.unwrap_or(reduced)
}
