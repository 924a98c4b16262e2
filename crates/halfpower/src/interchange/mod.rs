//! Import of other programs' results, and export of ours. Units are converted only here.

pub(crate) mod export;
pub(crate) mod import;

use halfpower_model::sample::Latency;

/// The latencies that are percentiles, with their percents: the minimum is 0, the maximum 100.
fn percentiles(latency: &mut Latency) -> [(f64, &mut Option<u64>); 8] {
    [
        (0.0, &mut latency.min),
        (50.0, &mut latency.p50),
        (90.0, &mut latency.p90),
        (95.0, &mut latency.p95),
        (99.0, &mut latency.p99),
        (99.9, &mut latency.p99_9),
        (99.99, &mut latency.p99_99),
        (100.0, &mut latency.max),
    ]
}
