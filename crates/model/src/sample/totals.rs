//! Rates and latencies out of a histogram of service times.

use super::{Latency, Totals};
use crate::histogram::Histogram;
use crate::units::BytesPerSecond;

impl Totals {
    /// Of requests that all succeeded, whole, within a time: their service times and their bytes. Rates of no time are 0.
    pub fn of(histogram: &Histogram, bytes: u64, elapsed_s: f64) -> Totals {
        let per_second = |amount: u64| if elapsed_s > 0.0 { amount as f64 / elapsed_s } else { 0.0 };
        Totals {
            requests: histogram.count(),
            bytes,
            requests_per_s: per_second(histogram.count()),
            bytes_per_s: BytesPerSecond(per_second(bytes)),
            latency_ns: Latency::of(histogram),
            ..Totals::default()
        }
    }
}

impl Latency {
    /// From a histogram.
    pub fn of(histogram: &Histogram) -> Self {
        Latency {
            min: histogram.min(),
            mean: histogram.mean(),
            stddev: histogram.stddev(),
            p50: histogram.quantile(0.50),
            p90: histogram.quantile(0.90),
            p95: histogram.quantile(0.95),
            p99: histogram.quantile(0.99),
            p99_9: histogram.quantile(0.999),
            p99_99: histogram.quantile(0.9999),
            max: histogram.max(),
        }
    }
}
