//! What a comparison means for each use.

use super::change::ComparedCell;
use super::compare::Comparison;
use super::figure::Figure;
use crate::kind::Kind;
use crate::wording::reaches_storage;

/// Fewer uses are no overview.
const LEAST: usize = 3;

impl Comparison {
    /// Of each use the workload with the highest throughput of both sides, of low latency the shallowest queue. Empty if the
    /// workloads are of few uses.
    pub fn by_use(&self) -> Vec<(&'static str, &ComparedCell)> {
        let most = |cell: &ComparedCell| {
            let change = cell.change(Figure::Throughput);
            change.map_or(0.0, |change| change.before.value.max(change.after.value))
        };
        let of_kind = |kind: Kind| {
            let is_of_kind =
                move |cell: &&ComparedCell| Kind::of(&cell.workload) == Some(kind) && reaches_storage(&cell.workload);
            let cells = self.cells.iter().filter(is_of_kind);
            cells.filter(|cell| cell.change(Figure::Throughput).is_some())
        };
        // What a cache takes is another question.
        let is_direct = |cell: &&ComparedCell| cell.workload.buffering.is_direct();
        let best = |kind: Kind| {
            let any_is_direct = of_kind(kind).any(|cell| is_direct(&cell));
            let cells = of_kind(kind).filter(|cell| is_direct(cell) || !any_is_direct);
            cells.max_by(|one, other| most(one).total_cmp(&most(other)))
        };
        let outstanding =
            |cell: &&ComparedCell| (cell.workload.workers, cell.workload.depth, cell.workload.request_size);
        let shallow = of_kind(Kind::RandomRead).min_by_key(outstanding).filter(|cell| cell.workload.depth == 1);
        let all = [
            ("random reads", best(Kind::RandomRead)),
            ("low latency", shallow),
            ("random writes", best(Kind::RandomWrite)),
            ("database (70/30)", best(Kind::Mix)),
            ("commits", best(Kind::Commit)),
            ("streaming", best(Kind::SequentialRead)),
            ("backup", best(Kind::SequentialWrite)),
        ];
        let found: Vec<_> = all.into_iter().filter_map(|(of, cell)| Some((of, cell?))).collect();
        if found.len() < LEAST { Vec::new() } else { found }
    }
}
