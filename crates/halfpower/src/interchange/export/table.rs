//! The table of CSV and Parquet: a row per sample, a column per figure, its name ending with the unit.

use crate::store::StoredSample;
use serde_json::Value;

/// Types of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// An unsigned number of up to 64 bits.
    Count,
    Figure,
    Truth,
}

/// Columns that identify the sample of a row.
pub(super) const PLACE: [&str; 3] = ["sample", "cell", "block"];

/// The columns after those, with the place of their figures in the record.
pub(super) const COLUMNS: [(&str, &str, Kind); 46] = [
    ("started_at", "/started_at", Kind::Text),
    ("elapsed_s", "/elapsed_s", Kind::Figure),
    ("operation", "/workload/operation", Kind::Text),
    ("pattern", "/workload/pattern", Kind::Text),
    ("request_size_bytes", "/workload/request_size", Kind::Count),
    ("sizes", "/workload/sizes", Kind::Text),
    ("depth", "/workload/depth", Kind::Count),
    ("workers", "/workload/workers", Kind::Count),
    ("buffering", "/workload/buffering", Kind::Text),
    ("personality", "/workload/personality", Kind::Text),
    ("durability", "/workload/durability", Kind::Text),
    ("cache", "/workload/cache", Kind::Text),
    ("file_state", "/workload/file_state", Kind::Text),
    ("size_bytes", "/workload/size", Kind::Count),
    ("seed", "/workload/seed", Kind::Count),
    ("set", "/workload/set", Kind::Text),
    ("target", "/environment/target/path", Kind::Text),
    ("host", "/environment/host", Kind::Text),
    ("kernel", "/environment/kernel", Kind::Text),
    ("requests", "/total/requests", Kind::Count),
    ("bytes", "/total/bytes", Kind::Count),
    ("requests_per_s", "/total/requests_per_s", Kind::Figure),
    ("bytes_per_s", "/total/bytes_per_s", Kind::Figure),
    ("read_requests_per_s", "/read/requests_per_s", Kind::Figure),
    ("read_bytes_per_s", "/read/bytes_per_s", Kind::Figure),
    ("write_requests_per_s", "/write/requests_per_s", Kind::Figure),
    ("write_bytes_per_s", "/write/bytes_per_s", Kind::Figure),
    ("latency_min_ns", "/total/latency_ns/min", Kind::Count),
    ("latency_mean_ns", "/total/latency_ns/mean", Kind::Figure),
    ("latency_stddev_ns", "/total/latency_ns/stddev", Kind::Figure),
    ("latency_p50_ns", "/total/latency_ns/p50", Kind::Count),
    ("latency_p90_ns", "/total/latency_ns/p90", Kind::Count),
    ("latency_p95_ns", "/total/latency_ns/p95", Kind::Count),
    ("latency_p99_ns", "/total/latency_ns/p99", Kind::Count),
    ("latency_p99_9_ns", "/total/latency_ns/p99_9", Kind::Count),
    ("latency_p99_99_ns", "/total/latency_ns/p99_99", Kind::Count),
    ("latency_max_ns", "/total/latency_ns/max", Kind::Count),
    ("depth_mean", "/depth_mean/counted", Kind::Figure),
    ("depth_mean_little", "/depth_mean/little", Kind::Figure),
    ("cpu_user_s", "/cpu/lower/user_s", Kind::Figure),
    ("cpu_system_s", "/cpu/lower/system_s", Kind::Figure),
    ("cpu_upper_s", "/cpu/upper_s", Kind::Figure),
    ("parent_bytes_per_s", "/parallel/parent_bytes_per_s", Kind::Figure),
    ("generator_bound", "/generator_bound", Kind::Truth),
    ("failure", "/failure/code", Kind::Text),
    ("note", "/note", Kind::Text),
];

/// The values of a sample in the order of the columns; null for unmeasured ones.
pub(super) fn values(stored: &StoredSample) -> impl Iterator<Item = Value> {
    // Unknown fields are null in the record.
    let record = serde_json::to_value(&stored.sample).unwrap_or_default();
    // An empty name of a target or host means unknown.
    let known =
        move |path| record.pointer(path).filter(|value| value.as_str() != Some("")).cloned().unwrap_or_default();
    COLUMNS.iter().map(move |(_, path, _)| known(path))
}

/// The values of [`PLACE`].
pub(super) fn place(stored: &StoredSample) -> [i64; 3] {
    [stored.id, stored.cell as i64, i64::from(stored.block)]
}
