//! Plans with two arms: the same workloads on two targets, or on one target in two settings.
//!
//! The second half of the cells are the workloads of the first half, for B. A block measures one arm wholly, then the other; a
//! coin decides which comes first. Both have the same order of workloads and the same requests, so that the two samples of a
//! workload in a block are a pair: what changes from block to block cancels.
//! Source: Fisher, "The Design of Experiments" (1935).

use super::model::{Arm, Cell, Plan, PlanError, Skipped};
use halfpower_model::random::{Random, derive_seed};
use halfpower_model::{Bytes, Limits, Workload};
use std::collections::HashSet;

/// The seed of the coins, which neither a cell nor the orders have.
const COINS: u64 = u64::MAX - 1;

/// The longer time, because a limited target needs it, and the fewer requests and bytes.
fn of_both(one: Limits, other: Limits) -> Limits {
    Limits {
        duration: one.duration.max(other.duration),
        requests: one.requests.into_iter().chain(other.requests).min(),
        bytes: one.bytes.into_iter().chain(other.bytes).min(),
    }
}

impl Plan {
    /// This plan as arm A, and another of the same study as B: the workloads that both have.
    ///
    /// # Errors
    /// If they have none in common.
    pub(crate) fn with_arms(self, other: Plan, arms: [Arm; 2]) -> Result<Plan, PlanError> {
        let [mut first, mut second] = [self.cells, other.cells];
        let (mut skipped, mut figures) = (self.skipped, self.figures);
        // Where one leaves some out, the others have other seeds and another share of the write budget.
        let bare = |cell: &Cell| Workload { seed: 0, limits: Limits::default(), ..cell.workload.clone() };
        let [of_first, of_second] = [&first, &second].map(|cells| cells.iter().map(bare).collect::<HashSet<_>>());
        let all = first.len().max(second.len());
        first.retain(|cell| of_second.contains(&bare(cell)));
        second.retain(|cell| of_first.contains(&bare(cell)));
        // Workloads that differ only in their limits may not find each other.
        let are_pairs = !first.is_empty() && first.iter().map(bare).eq(second.iter().map(bare));
        if first.len() < all || !are_pairs {
            let reason = skipped.iter().chain(&other.skipped).next();
            // Its remedy is for one target alone.
            let reason = reason.map(|skipped| skipped.reason.split(';').next().unwrap_or_default().to_owned());
            let [a, b] = arms.each_ref().map(|arm| &arm.target);
            let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            if !are_pairs {
                let message =
                    format!("A ({a}) and B ({b}) have no workload in common{why}; give a --study that both can run");
                return Err(PlanError::NothingLeft(message));
            }
            let reason = format!("A or B cannot run it{why}");
            skipped = vec![Skipped { label: "one arm only".to_owned(), reason, cells: all - first.len() }];
            figures = Vec::new();
        }
        for (index, (cell, other)) in first.iter_mut().zip(&mut second).enumerate() {
            (cell.index, other.index) = (index, index);
            cell.workload.limits = of_both(cell.workload.limits, other.workload.limits);
            other.workload.clone_from(&cell.workload);
        }
        let count = first.len();
        let mut cells = first;
        cells.extend(second.into_iter().map(|cell| Cell { index: cell.index + count, ..cell }));
        let is_one = arms[0].target == arms[1].target;
        let size = |one: Option<Bytes>, other: Option<Bytes>| match (one, other.filter(|_| !is_one)) {
            (Some(one), Some(other)) => Some(Bytes(one.0 + other.0)),
            (one, other) => one.or(other),
        };
        Ok(Plan {
            test_file_bytes: size(self.test_file_bytes, other.test_file_bytes),
            write_budget: Bytes(self.write_budget.0 + other.write_budget.0),
            target: if is_one { self.target } else { format!("{}, {}", self.target, other.target) },
            targets: if is_one { self.targets } else { [self.targets, other.targets].concat() },
            cells,
            skipped,
            figures,
            arms: Some(arms),
            ..self
        })
    }

    /// The arm of a cell, 0 or 1.
    pub(crate) fn arm_of(&self, cell: usize) -> usize {
        usize::from(self.arms.is_some() && cell >= self.cells.len() / 2)
    }

    /// The order of a block of both arms, from the order of one.
    pub(super) fn in_turn(&self, order: Vec<usize>, block: u32) -> Vec<usize> {
        let half = self.cells.len() / 2;
        let coin = Random::new(derive_seed(derive_seed(self.seed, COINS), u64::from(block))).below(2) as usize;
        [coin, 1 - coin].iter().flat_map(|arm| order.iter().map(move |cell| cell + arm * half)).collect()
    }
}
