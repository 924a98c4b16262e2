//! Plans: what a study comes to on one testbed, cell by cell, before anything is measured.
//!
//! A plan is complete: run again from its stored form it does the same work in the same order. It leaves out what the
//! testbed cannot do, and says so; it never changes a workload into another that would work. Writing is bounded before
//! it starts (`budget`), and the order is that of randomised complete blocks (Fisher, 1926): every cell once a block,
//! so that whatever drifts during the run drifts for all of them alike.

mod budget;
mod describe;
mod limited;
mod make;
mod model;
#[cfg(test)]
mod tests;

pub(crate) use make::Overrides;
pub(crate) use model::{Cell, FigurePlan, Plan, PlanError, Skipped, TestFileEnd};
