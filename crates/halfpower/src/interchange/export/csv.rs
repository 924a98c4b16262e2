//! A tidy table (RFC 4180): a row a sample, a column a figure with its unit last. What nobody measured is empty.

use crate::store::StoredSample;
use halfpower_model::Sample;
use serde_json::Value;

/// The columns and where their figures are in the record.
const COLUMNS: [(&str, &str); 44] = [
    ("started_at", "/started_at"),
    ("elapsed_s", "/elapsed_s"),
    ("operation", "/workload/operation"),
    ("pattern", "/workload/pattern"),
    ("request_size_bytes", "/workload/request_size"),
    ("sizes", "/workload/sizes"),
    ("depth", "/workload/depth"),
    ("workers", "/workload/workers"),
    ("buffering", "/workload/buffering"),
    ("personality", "/workload/personality"),
    ("durability", "/workload/durability"),
    ("cache", "/workload/cache"),
    ("file_state", "/workload/file_state"),
    ("span_bytes", "/workload/span"),
    ("seed", "/workload/seed"),
    ("target", "/environment/target/path"),
    ("host", "/environment/host"),
    ("kernel", "/environment/kernel"),
    ("requests", "/total/requests"),
    ("bytes", "/total/bytes"),
    ("requests_per_s", "/total/requests_per_s"),
    ("bytes_per_s", "/total/bytes_per_s"),
    ("read_requests_per_s", "/read/requests_per_s"),
    ("read_bytes_per_s", "/read/bytes_per_s"),
    ("write_requests_per_s", "/write/requests_per_s"),
    ("write_bytes_per_s", "/write/bytes_per_s"),
    ("latency_min_ns", "/total/latency_ns/min"),
    ("latency_mean_ns", "/total/latency_ns/mean"),
    ("latency_stddev_ns", "/total/latency_ns/stddev"),
    ("latency_p50_ns", "/total/latency_ns/p50"),
    ("latency_p90_ns", "/total/latency_ns/p90"),
    ("latency_p95_ns", "/total/latency_ns/p95"),
    ("latency_p99_ns", "/total/latency_ns/p99"),
    ("latency_p99_9_ns", "/total/latency_ns/p99_9"),
    ("latency_p99_99_ns", "/total/latency_ns/p99_99"),
    ("latency_max_ns", "/total/latency_ns/max"),
    ("depth_mean", "/depth_mean/counted"),
    ("cpu_user_s", "/cpu/lower/user_s"),
    ("cpu_system_s", "/cpu/lower/system_s"),
    ("cpu_upper_s", "/cpu/upper_s"),
    ("parent_bytes_per_s", "/parallel/parent_bytes_per_s"),
    ("generator_bound", "/generator_bound"),
    ("failure", "/failure/code"),
    ("note", "/note"),
];

/// The table.
pub(super) fn write(samples: &[StoredSample]) -> String {
    let names = COLUMNS.iter().map(|(name, _)| *name);
    let mut text = ["sample", "cell", "block"].into_iter().chain(names).collect::<Vec<_>>().join(",") + "\r\n";
    for stored in samples {
        let place = [stored.id.to_string(), stored.cell.to_string(), stored.block.to_string()];
        text += &place.into_iter().chain(figures(&stored.sample)).collect::<Vec<_>>().join(",");
        text += "\r\n";
    }
    text
}

fn figures(sample: &Sample) -> impl Iterator<Item = String> {
    // A record always is JSON; what is not told is null in it.
    let record = serde_json::to_value(sample).unwrap_or_default();
    COLUMNS.iter().map(move |(_, path)| match record.pointer(path) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => quoted(text),
        Some(other) => quoted(&other.to_string()),
    })
}

/// In quotes where it needs them. A spreadsheet would compute a text that begins like a formula: a blank goes before it.
fn quoted(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@']) { format!(" {text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
