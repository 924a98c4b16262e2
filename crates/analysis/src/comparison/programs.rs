//! Two programs rarely record the same settings. Their workloads are compared by those that both record.

use super::machine::WithSettings;
use crate::comparable::bare;
use halfpower_model::{Bytes, HugePages, Pattern, Unknown, WorkerKind, Workload};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

/// A difference between programs rather than between workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Habit {
    /// The workers of one are threads, and those of the other processes.
    Workers,
    /// One uses each place once before it repeats any, and the other draws each anew.
    Places,
    /// The buffers of one are in huge pages, and those of the other are not.
    Pages,
}

impl Habit {
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Habit::Workers => " Workers are threads on one side and processes on the other.",
            Habit::Places => " One side uses each offset once before it repeats any; the other draws each at random.",
            Habit::Pages => " Buffers are in huge pages on one side only, which can make large requests faster.",
        }
    }
}

/// 16 segments in pages of 4 KiB. Pages change nothing at 4 KiB, and a factor of five at 1 MiB (docs/decisions/engine-loop.md).
const PAGES_MATTER: Bytes = Bytes(64 << 10);

/// What both sides have in common by the settings that both record.
pub(super) struct Both<'a> {
    pub(super) workloads: [WithSettings<'a>; 2],
    /// The settings that one of them lacks.
    pub(super) lacking: Unknown,
    pub(super) habits: Vec<Habit>,
}

/// Both sides without the fields that one of them lacks; none if they lack the same. Workloads that differ only in such a
/// field keep it, so they match nothing.
pub(super) fn by_both<'a>(sides: &[WithSettings<'a>; 2]) -> Option<Both<'a>> {
    let workloads = || sides.iter().flatten().map(|(workload, _)| workload);
    let unknown: BTreeSet<&str> = workloads().flat_map(|workload| workload.unknown.fields()).collect();
    let is_known = |field: &&str| workloads().any(|workload| workload.is_known(field));
    let lacking: Unknown = unknown.into_iter().filter(is_known).collect();
    if lacking.is_empty() {
        return None;
    }
    let differ = |is_first: fn(&Workload) -> bool, is_other: fn(&Workload) -> bool| {
        let all = |side: usize, is: fn(&Workload) -> bool| sides[side].iter().all(|(workload, _)| is(workload));
        all(0, is_first) && all(1, is_other) || all(1, is_first) && all(0, is_other)
    };
    let workers = differ(|one| is(one, WorkerKind::Thread), |one| is(one, WorkerKind::Process));
    let places = differ(|one| !has(one, Pattern::Random), |one| !has(one, Pattern::Shuffled));
    let are_several = workloads().any(|workload| workload.workers > 1);
    let are_random =
        workloads().any(|one| has(one, Pattern::Random)) && workloads().any(|one| has(one, Pattern::Shuffled));
    let pages = differ(|one| has_pages(one, HugePages::On), |one| has_pages(one, HugePages::Off));
    let are_large = workloads().any(|workload| workload.request_size >= PAGES_MATTER);
    let habits = [
        (Habit::Workers, workers && are_several),
        (Habit::Places, places && are_random),
        (Habit::Pages, pages && are_large),
    ];
    let habits: Vec<Habit> = habits.into_iter().filter(|(_, differs)| *differs).map(|(habit, _)| habit).collect();
    let workloads = sides.each_ref().map(|side| reduced_side(side, &lacking, &habits));
    Some(Both { workloads, lacking, habits })
}

fn is(workload: &Workload, kind: WorkerKind) -> bool {
    workload.is_known("processes") && workload.worker_kind == kind
}

fn has(workload: &Workload, pattern: Pattern) -> bool {
    workload.is_known("pattern") && workload.pattern == pattern
}

fn has_pages(workload: &Workload, pages: HugePages) -> bool {
    workload.is_known("huge_pages") && workload.huge_pages == pages
}

fn reduced_side<'a>(side: &WithSettings<'a>, lacking: &Unknown, habits: &[Habit]) -> WithSettings<'a> {
    let reduced: Vec<Workload> = side.iter().map(|(workload, _)| reduced(workload, lacking, habits)).collect();
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

fn reduced(workload: &Workload, lacking: &Unknown, habits: &[Habit]) -> Workload {
    let unknown = workload.unknown.fields().chain(lacking.fields()).collect();
    let mut reduced = Workload { unknown, ..workload.clone() };
    if habits.contains(&Habit::Places) && reduced.pattern == Pattern::Shuffled {
        reduced.pattern = Pattern::Random;
    }
    if habits.contains(&Habit::Pages) || workload.request_size < PAGES_MATTER {
        reduced.huge_pages = Default::default();
    }
    if workload.workers == 1 || habits.contains(&Habit::Workers) {
        // A lone process does what a lone thread does.
        reduced.worker_kind = Default::default();
    }
    if workload.workers == 1 {
        reduced.sharing = Default::default();
    }
    // Unknown fields are null in its record, and null is read as the default.
    let read_back = serde_json::to_value(&reduced).and_then(serde_json::from_value);
    read_back.unwrap_or(reduced)
}
