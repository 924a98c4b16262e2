//! Plans with two arms: the same workloads on two targets, or on one target in two settings.
//!
//! The second half of the cells are the workloads of the first half, for B. A block measures one arm wholly, then the other; a
//! coin decides which comes first. Both have the same order of workloads and the same requests, so that the two samples of a
//! workload in a block are a pair: what changes from block to block cancels.
//! Source: Fisher, "The Design of Experiments" (1935).

use super::model::{Arm, Cell, Plan, PlanError};
use halfpower_model::Bytes;
use halfpower_model::random::{Random, derive_seed};

/// The seed of the coins, which neither a cell nor the orders have.
const COINS: u64 = u64::MAX - 1;

impl Plan {
    /// This plan as arm A, and another of the same study as B.
    ///
    /// # Errors
    /// If their workloads differ.
    pub(crate) fn with_arms(self, other: Plan, arms: [Arm; 2]) -> Result<Plan, PlanError> {
        let are_alike = self.cells.iter().map(|cell| &cell.workload).eq(other.cells.iter().map(|cell| &cell.workload));
        if !are_alike {
            let reason = |plan: &Plan| plan.skipped.first().map(|skipped| skipped.reason.clone());
            let why = reason(&other).or_else(|| reason(&self));
            let why = why.map(|reason| format!(" ({reason})")).unwrap_or_default();
            let [a, b] = arms.map(|arm| arm.target);
            let message = format!(
                "A ({a}) and B ({b}) cannot run the same workloads{why}; give --no-writes or a --study that both can run"
            );
            return Err(PlanError::NothingLeft(message));
        }
        let count = self.cells.len();
        let mut cells = self.cells;
        cells.extend(other.cells.into_iter().map(|cell| Cell { index: cell.index + count, ..cell }));
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
