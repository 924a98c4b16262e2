//! Counts, rates and latencies, out of a histogram of service times.

use crate::histogram::Histogram;
use crate::origin::null_as_default;
use crate::units::BytesPerSecond;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts, rates and latencies of one operation or of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Completed requests.
    #[serde(deserialize_with = "null_as_default")]
    pub requests: u64,
    /// Their bytes.
    #[serde(deserialize_with = "null_as_default")]
    pub bytes: u64,
    /// Requests over `elapsed_s`.
    #[serde(deserialize_with = "null_as_default")]
    pub requests_per_s: f64,
    /// Bytes over `elapsed_s`.
    #[serde(deserialize_with = "null_as_default")]
    pub bytes_per_s: BytesPerSecond,
    /// Latencies.
    pub latency_ns: Latency,
    /// Transfers that moved fewer bytes than asked and were continued.
    #[serde(deserialize_with = "null_as_default")]
    pub short_transfers: u64,
    /// Failed requests by the name of the error: `EIO`, `ENOSPC`.
    #[serde(deserialize_with = "null_as_default")]
    pub errors: BTreeMap<String, u64>,
}

/// A summary of a latency histogram. A percentile with fewer than ten requests beyond it is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Smallest.
    pub min: Option<u64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Standard deviation.
    pub stddev: Option<f64>,
    /// Median.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    pub p99_9: Option<u64>,
    /// 99.99th percentile.
    pub p99_99: Option<u64>,
    /// Largest.
    pub max: Option<u64>,
}

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
