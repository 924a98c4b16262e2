//! Limits that a control group of the host sets, as the kernel reports them.

use super::{Limit, Long};
use crate::attribution::Sureness;
use crate::wording::reaches_storage;
use halfpower_model::reading::inspect;
use halfpower_model::sample::Totals;
use halfpower_model::{Operation, Quantity, Sample};

/// The rate of a control group's limit is so close to it.
const NEAR_GROUP: f64 = 0.05;
/// A busy host's may be lower by so much.
const BELOW_GROUP: f64 = 0.1;

/// What a control group allows.
fn configured(limit: &inspect::Limit, what: Quantity, operation: Operation) -> Option<f64> {
    match (what, operation) {
        (Quantity::BytesPerSecond, Operation::Read) => limit.read_bytes_per_s.map(|rate| rate.0),
        (Quantity::BytesPerSecond, _) => limit.write_bytes_per_s.map(|rate| rate.0),
        (_, Operation::Read) => limit.read_requests_per_s.map(|rate| rate as f64),
        _ => limit.write_requests_per_s.map(|rate| rate as f64),
    }
}

/// Whether a sample of one target moved more bytes than its control groups allow for long, as a short one may.
pub(super) fn exceeds_configured(sample: &Sample) -> bool {
    let parts = [(Operation::Read, &sample.read), (Operation::Write, &sample.write)];
    let exceeds = |(operation, part): (Operation, &Option<Totals>)| {
        let limits = sample.environment.target.limits.iter();
        let most = limits.filter_map(|held| configured(&held.limit, Quantity::BytesPerSecond, operation));
        let rate = part.as_ref().map_or(0.0, |totals| totals.bytes_per_s.0);
        most.fold(f64::INFINITY, f64::min) * (1.0 + NEAR_GROUP) < rate
    };
    sample.workload.targets == 1 && reaches_storage(&sample.workload) && parts.into_iter().any(exceeds)
}

/// Names the control group of each limit that it sets, and adds those that it sets and a long sample runs at, whose rate may be
/// irregular. A limit in requests that a configured limit in bytes explains is left out, and the other way round.
pub(super) fn add_configured(limits: &mut Vec<Limit>, long: &[&Long<'_>]) {
    for operation in [Operation::Read, Operation::Write] {
        for what in [Quantity::BytesPerSecond, Quantity::RequestsPerSecond] {
            for one in long.iter().filter(|one| one.is_of(operation)) {
                let rate = one.limit(what);
                let near = |(most, group): (f64, String)| {
                    let share = rate.sustained.value / most;
                    (1.0 - BELOW_GROUP..1.0 + NEAR_GROUP).contains(&share).then_some(group)
                };
                let facts = one.observed.sample.environment.all_targets().flat_map(|target| &target.limits);
                let groups = facts.filter_map(|held| {
                    let limit = &held.limit;
                    Some((configured(limit, what, operation)?, limit.group.clone()))
                });
                let Some(group) = groups.filter_map(near).next() else { continue };
                let is_it = |limit: &&mut Limit| limit.what == what && limit.operation.is_none_or(|of| of == operation);
                match limits.iter_mut().find(is_it) {
                    Some(found) => found.group = Some(group),
                    None => limits.push(Limit { group: Some(group), confidence: Sureness::Sure, ..rate }),
                }
            }
        }
    }
    let set: Vec<Limit> = limits.iter().filter(|limit| limit.group.is_some()).cloned().collect();
    limits.retain(|limit| {
        let explains = |set: &Limit, one: &Long<'_>| {
            let is_at_it = (one.limit(set.what).sustained.value / set.sustained.value - 1.0).abs() < NEAR_GROUP;
            set.what != limit.what && set.operation.is_none_or(|of| one.is_of(of)) && is_at_it
        };
        let mut own = long.iter().filter(|one| limit.samples.contains(&one.observed.id)).peekable();
        let is_explained = own.peek().is_some() && own.all(|one| set.iter().any(|set| explains(set, one)));
        limit.group.is_some() || !is_explained
    });
}
