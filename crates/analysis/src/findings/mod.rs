//! Findings, one file for each kind. A finding without enough evidence is left out.

mod asymmetry;
mod bottleneck;
mod buffering_gain;
mod cache_hits;
mod dip;
mod drift;
mod extension_cost;
mod flush_cost;
mod half_power;
mod knee;
mod misalignment;
mod neighbours;
mod paired;
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
use crate::evidence::Evidence;
use crate::models::Models;
use crate::wording::reach;
use halfpower_model::{Estimate, Finding, FindingCode, Offer, Reach};

pub(crate) use bottleneck::{Paces, paces};
pub(crate) use drift::warning as warning_of_trend;
pub use peak::first_peak;
pub(crate) use processor_cost::{Cost, processor_costs};

/// A finding about some cells, of which the first is of the storage or of memory, with its brief and its sentence.
fn found<'a>(
    code: FindingCode,
    subject: impl Into<String>,
    cells: impl IntoIterator<Item = &'a Cell<'a>>,
    [brief, sentence]: [String; 2],
    estimates: Vec<Estimate>,
) -> Finding {
    let cells: Vec<&Cell<'_>> = cells.into_iter().collect();
    let reach = cells.first().map_or(Reach::Storage, |cell| reach(cell.workload));
    let mut samples: Vec<i64> = cells.iter().flat_map(|cell| cell.samples()).collect();
    samples.sort_unstable();
    samples.dedup();
    Finding { code, subject: subject.into(), reach, brief, sentence, estimates, samples }
}

/// At how many other sizes and depths a claim holds, as a suffix.
fn extent(shown: usize, looked_at: usize) -> String {
    match (shown, looked_at) {
        (_, 0 | 1) => String::new(),
        (1, 2) => "; not at the other measured size or queue depth".to_owned(),
        (1, all) => format!("; not at the other {} measured sizes and queue depths", all - 1),
        (_, 2) => "; the same at both measured sizes or queue depths".to_owned(),
        (shown, all) if shown == all => format!("; the same at all {all} measured sizes and queue depths"),
        (shown, all) => format!("; the same at {shown} of {all} measured sizes and queue depths"),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_elsewhere_is_said() {
        for (shown, looked_at, words) in [
            (1, 1, ""),
            (1, 2, "; not at the other measured size or queue depth"),
            (2, 2, "; the same at both measured sizes or queue depths"),
            (1, 3, "; not at the other 2 measured sizes and queue depths"),
            (2, 3, "; the same at 2 of 3 measured sizes and queue depths"),
            (3, 3, "; the same at all 3 measured sizes and queue depths"),
        ] {
            assert_eq!(extent(shown, looked_at), words);
        }
    }
}
