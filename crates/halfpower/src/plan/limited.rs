//! Longer trials under a control group's limit.
//!
//! The kernel's throttle grants at once what was left unused for about a tenth of a second. A trial of that length
//! reaches up to twice the limit, so the fastest of several such trials is not representative. Throttled workloads
//! therefore get longer trials, after a warm-up that uses up the unused part.

use super::model::Plan;
use halfpower_model::{Environment, LevelName, Nanoseconds, Workload};

/// Warm-up that uses up the unused part of a throttle.
const WARMUP: Nanoseconds = Nanoseconds(250_000_000);

/// Extends every trial that is throttled to `least`, and notes that in the plan.
pub(super) fn lengthen(plan: &mut Plan, least: Nanoseconds, environment: &Environment) {
    let source = |name: LevelName| {
        let mut levels = environment.all_targets().flat_map(|target| &target.levels);
        levels
            .find(|level| level.name == name)
            .and_then(|level| level.channels.iter().find(|c| c.pap_bytes_per_s.is_some()))
    };
    let (of_reads, of_writes) = (source(LevelName::ReadLimit), source(LevelName::WriteLimit));
    let is_short = |workload: &Workload| workload.limits.duration.is_some_and(|duration| duration < least);
    let mut seen = [false; 2];
    for workload in plan.cells.iter_mut().map(|cell| &mut cell.workload).filter(|workload| is_short(workload)) {
        let held =
            [of_reads.is_some() && workload.operation.reads(), of_writes.is_some() && workload.operation.writes()];
        if held.contains(&true) {
            workload.limits.duration = Some(least);
            workload.warmup = workload.warmup.max(WARMUP);
            seen = [seen[0] || held[0], seen[1] || held[1]];
        }
    }
    let what = match seen {
        [true, true] => "reads and writes",
        [true, false] => "reads",
        [false, true] => "writes",
        [false, false] => return,
    };
    let by = [of_reads, of_writes].into_iter().zip(seen).find_map(|(channel, seen)| channel.filter(|_| seen));
    let by = by.map_or("a limit", |channel| channel.source.as_str());
    plan.lengthened =
        Some(format!("Trials of {what} last {least}: {by} throttles them, and shorter ones would exceed the limit"));
}
