//! What the measured cells amount to, one file for each kind of finding.
//!
//! A finding is made where the cells carry it and left out where they do not; none is ever filled in.

mod asymmetry;
mod beside;
mod buffering_gain;
mod cache_hits;
mod comparison;
mod dip;
mod drift;
mod extension_cost;
mod flush_cost;
mod half_power;
mod knee;
mod load;
mod misalignment;
mod owner;
mod peak;
mod price;
mod processor_cost;
mod processor_saturation;
mod read_before_write;
mod recommendation;
pub(crate) mod shared_limit;
mod small_write_penalty;
mod tail_latency;
mod writer_collapse;

use crate::cells::Cell;
use crate::models::Models;
use crate::series::{Series, group};
use crate::words::Varied;
use halfpower_model::{CpuAccounting, Estimate, Finding, Offer, Quantity};

pub(crate) use drift::{changes_otherwise, doubt as doubt_of_course, levels_between};
pub(crate) use knee::still_grows;
pub(crate) use owner::{Paces, paces};
pub use peak::first_peak;
pub(crate) use processor_cost::{Cost, processor_costs};
pub(crate) use read_before_write::{BLOCKS_EACH_MAX, PER_REQUEST_MAX};

/// The measured cells in the arrangements that findings look at them.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    /// Cells with at least one repetition, in the plan's order.
    pub(crate) cells: Vec<&'a Cell<'a>>,
    pub(crate) by_size: Vec<Series<'a>>,
    pub(crate) by_depth: Vec<Series<'a>>,
    pub(crate) by_workers: Vec<Series<'a>>,
    /// Cells that a soaker ran beside, and may have disturbed: they say what they cost, and nothing else.
    soaked_by_size: Vec<Series<'a>>,
    /// Peak advertised performance, where it was given.
    advertised_bytes_per_s: Option<f64>,
}

impl<'a> Evidence<'a> {
    /// From all cells of a run.
    pub(crate) fn new(cells: &'a [Cell<'a>]) -> Self {
        let is_soaked = |cell: &&Cell<'_>| cell.workload.cpu_accounting == CpuAccounting::Soaker;
        let described = || cells.iter().filter(|cell| cell.workload.is_described());
        let plain = || described().filter(move |cell| !is_soaked(cell));
        let measured: Vec<_> = plain().filter(|cell| !cell.repetitions.is_empty()).collect();
        let advertised_bytes_per_s = measured
            .iter()
            .flat_map(|cell| &cell.repetitions)
            .find_map(|observed| observed.sample.environment.target.pap_bytes_per_s)
            .map(|rate| rate.0)
            .filter(|rate| rate.is_finite() && *rate > 0.0);
        Evidence {
            cells: measured,
            by_size: group(plain(), Varied::RequestSize),
            by_depth: group(plain(), Varied::Depth),
            by_workers: group(plain(), Varied::Workers),
            soaked_by_size: group(described().filter(is_soaked), Varied::RequestSize),
            advertised_bytes_per_s,
        }
    }
}

/// Every finding the evidence carries.
pub(crate) fn all(
    evidence: &Evidence<'_>,
    costs: &[Cost],
    models: &Models,
    paces: &Paces,
    offer: Option<&Offer>,
) -> Vec<Finding> {
    let plateaus = owner::plateaus(evidence);
    [
        peak::find(evidence),
        half_power::find(evidence, models),
        knee::find(evidence, models),
        owner::find(&plateaus, paces),
        dip::find(evidence),
        processor_cost::find(costs),
        processor_saturation::find(&plateaus, paces),
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
        recommendation::find(evidence),
    ]
    .concat()
}

/// The best of some cells and its mean: by throughput where requests come in an order, by their rate where they do not.
pub(crate) fn best<'a>(cells: &[&'a Cell<'a>]) -> Option<(&'a Cell<'a>, Estimate)> {
    let ordered = cells.first()?.workload.pattern.is_ordered();
    let cell = highest(cells, if ordered { Cell::mean_bytes_per_s } else { Cell::mean_requests_per_s })?;
    let mean = if ordered { cell.rate(Quantity::BytesPerSecond) } else { cell.rate(Quantity::RequestsPerSecond) };
    Some((cell, mean?))
}

/// The cell with the highest of a figure; the first of equals. None where none is above zero.
pub(crate) fn highest<'a>(cells: &[&'a Cell<'a>], figure: impl Fn(&Cell<'a>) -> f64) -> Option<&'a Cell<'a>> {
    let mut best: Option<(&'a Cell<'a>, f64)> = None;
    for cell in cells {
        let value = figure(cell);
        if value > best.map_or(0.0, |(_, highest)| highest) {
            best = Some((cell, value));
        }
    }
    best.map(|(cell, _)| cell)
}
