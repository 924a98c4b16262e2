//! Limits that are one.

use super::{Limit, Long, is_same};
use halfpower_model::Quantity;

/// Joins a limit in requests with one in bytes of other operations at which its samples run: without a long sample of large requests,
/// small ones do not show which of the two it is.
pub(super) fn those_of_bytes(limits: &mut Vec<Limit>, long: &[&Long<'_>]) {
    let (mut of_bytes, of_requests): (Vec<Limit>, Vec<Limit>) =
        std::mem::take(limits).into_iter().partition(|limit| limit.what == Quantity::BytesPerSecond);
    for limit in of_requests {
        let own: Vec<&&Long<'_>> = long.iter().filter(|one| limit.samples.contains(&one.observed.id)).collect();
        let is_it = |other: &&mut Limit| {
            let is_at_it = |one: &&Long<'_>| is_same(&one.course.bytes_per_s(), &other.sustained);
            limit.operation.is_some() && !own.is_empty() && own.iter().all(|one| is_at_it(one))
        };
        let Some(both) = of_bytes.iter_mut().find(is_it) else {
            limits.push(limit);
            continue;
        };
        let burst = own.iter().filter(|one| one.course.burst.is_some()).map(|one| one.limit(both.what));
        let in_all = |limit: &Limit| limit.burst.zip(limit.burst_seconds).map_or(0.0, |(rate, seconds)| rate * seconds);
        if let Some(larger) =
            burst.max_by(|one, other| in_all(one).total_cmp(&in_all(other))).filter(|one| in_all(one) > in_all(both))
        {
            (both.burst, both.burst_seconds, both.refill_per_s) =
                (larger.burst, larger.burst_seconds, larger.refill_per_s);
        }
        if both.operation != limit.operation {
            both.operation = None;
        }
        both.confidence = both.confidence.max(limit.confidence);
        both.samples.extend(&limit.samples);
    }
    limits.append(&mut of_bytes);
}
