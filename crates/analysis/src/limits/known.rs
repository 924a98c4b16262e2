//! What pairs of limits are known for.

use super::{Limit, SAME};
use halfpower_model::Quantity;

/// What a provider promises, or gives in a burst that may outlast a survey: Amazon EC2 User Guide, "General Purpose SSD volumes"; Azure,
/// "Managed disk bursting".
const KNOWN: [(f64, &[f64], &str); 3] = [
    (3000.0, &[125.0], "what an Amazon EBS gp3 volume includes"),
    (
        3000.0,
        &[128.0, 250.0],
        "the burst of an Amazon EBS gp2 volume, which falls to 3 IOPS per GiB when its credits are used up",
    ),
    (3500.0, &[170.0], "the burst of an Azure Premium SSD up to P20, whose credits last for half an hour"),
];

/// Adds what a pair of limits is known for.
pub(super) fn say_what_is_known(limits: &mut [Limit]) {
    let near = |what: Quantity, value: f64| {
        let is_near = |limit: &Limit| limit.what == what && (limit.sustained.value / value - 1.0).abs() < SAME;
        limits.iter().any(is_near)
    };
    let is_known = |(requests, rates, _): &&(f64, &[f64], &str)| {
        let mut rates = rates.iter().map(|rate| rate * f64::from(1 << 20));
        near(Quantity::RequestsPerSecond, *requests) && rates.any(|rate| near(Quantity::BytesPerSecond, rate))
    };
    // The nearest of two that differ by less than the tolerance.
    let bytes = limits.iter().find(|limit| limit.what == Quantity::BytesPerSecond).map(|limit| limit.sustained.value);
    let far = |(_, rates, _): &(f64, &[f64], &str)| {
        let off = |rate: &f64| (rate * f64::from(1 << 20) - bytes.unwrap_or_default()).abs();
        rates.iter().map(off).fold(f64::INFINITY, f64::min)
    };
    let known = KNOWN.iter().filter(is_known).min_by(|one, other| far(one).total_cmp(&far(other)));
    if let (Some((requests, _, known)), Some(last)) = (known, limits.last_mut()) {
        last.sentence += &format!(" With {} it is {known}.", Quantity::RequestsPerSecond.format(*requests));
        last.known = Some(known);
    }
}
