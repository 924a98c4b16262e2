//! Findings, one file for each kind. A finding without enough evidence is left out.

mod asymmetry;
mod bottleneck;
mod buffering_gain;
mod cache_hits;
mod cpu_cost;
mod cpu_saturation;
mod dip;
mod drift;
mod extension_cost;
mod flush_cost;
mod frame;
mod half_power;
mod knee;
mod misalignment;
mod neighbours;
mod paired;
mod peak;
mod price;
mod read_before_write;
pub(crate) mod shared_limit;
mod small_write_penalty;
mod tail_latency;
mod writer_collapse;

use crate::evidence::Evidence;
use crate::models::Models;
use halfpower_model::{Finding, Offer};

pub(crate) use bottleneck::{Paces, paces};
pub(crate) use cpu_cost::{Cost, cpu_costs};
pub(crate) use drift::warning as warning_of_trend;
pub use peak::first_peak;

/// Every finding the evidence carries.
pub(crate) fn all(
    evidence: &Evidence<'_>,
    costs: &[Cost<'_>],
    models: &Models,
    paces: &Paces,
    offer: Option<&Offer>,
) -> Vec<Finding> {
    let plateaus = bottleneck::plateaus(evidence);
    [
        peak::find(evidence),
        half_power::find(evidence, models),
        knee::find(evidence, models),
        bottleneck::find(&plateaus, paces),
        dip::find(evidence),
        cpu_cost::find(costs),
        cpu_saturation::find(&plateaus, paces),
        buffering_gain::find(evidence),
        flush_cost::find(evidence),
        small_write_penalty::find(evidence),
        extension_cost::find(evidence),
        misalignment::find(evidence),
        writer_collapse::find(evidence),
        asymmetry::find(evidence),
        tail_latency::find(evidence),
        cache_hits::find(evidence),
        drift::find(evidence),
        shared_limit::find(evidence, models),
        price::find(evidence, offer),
    ]
    .concat()
}
