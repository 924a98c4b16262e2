//! Plans: a study resolved on one testbed, cell by cell, before it is measured.
//!
//! A stored plan is complete: it repeats the same work in the same order. It leaves out cells that the testbed cannot
//! run, with the reason, and never changes a workload. Writes are limited before the start (`budget`). The order is
//! that of randomised complete blocks (Fisher, 1926): every cell once per block, so drift affects all cells alike.

mod arms;
mod budget;
mod describe;
mod expected;
mod limited;
mod make;
mod model;
#[cfg(test)]
mod tests;

pub(crate) use expected::{Expected, Judged, sentences, sustained};
pub(crate) use make::Overrides;
pub(crate) use model::{Arm, Cell, FigurePlan, Plan, PlanError, Probe, Skipped, TestFileEnd};
