//! Limits that a control group of the host sets, as the kernel reports them.

use super::{Limit, Long};
use crate::attribution::Sureness;
use halfpower_model::{Operation, Quantity};

/// The rate of a control group's limit is so close to it.
const NEAR_GROUP: f64 = 0.05;

/// Names the control group of each limit that it sets, and adds those that it sets and a long sample runs at, whose rate may be
/// irregular. A limit in requests that a configured limit in bytes explains is left out, and the other way round.
pub(super) fn add_configured(limits: &mut Vec<Limit>, long: &[&Long<'_>]) {
    for operation in [Operation::Read, Operation::Write] {
        for what in [Quantity::BytesPerSecond, Quantity::RequestsPerSecond] {
            for one in long.iter().filter(|one| one.is_of(operation)) {
                let rate = one.limit(what);
                let near = |(most, group): (f64, String)| {
                    ((rate.sustained.value / most - 1.0).abs() < NEAR_GROUP).then_some(group)
                };
                let facts = one.observed.sample.environment.all_targets().flat_map(|target| &target.limits);
                let groups = facts.filter_map(|held| {
                    let limit = &held.limit;
                    let most = match (what, operation) {
                        (Quantity::BytesPerSecond, Operation::Read) => limit.read_bytes_per_s.map(|rate| rate.0),
                        (Quantity::BytesPerSecond, _) => limit.write_bytes_per_s.map(|rate| rate.0),
                        (_, Operation::Read) => limit.read_requests_per_s.map(|rate| rate as f64),
                        _ => limit.write_requests_per_s.map(|rate| rate as f64),
                    };
                    Some((most?, limit.group.clone()))
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
