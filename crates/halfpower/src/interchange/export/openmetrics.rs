//! OpenMetrics text, version 1.0: gauges for the figures of each sample, and its service times as a histogram.
//!
//! A sample is a set of labels. Buckets end at octaves, one below a power of two nanoseconds, where our buckets end
//! too, so no count is split. Unmeasured gauges are left out. Labels are escaped; times of day are the ends of samples.

use super::exported::Exported;
use crate::store::StoredSample;
use halfpower_model::Sample;
use halfpower_model::histogram::{Histogram, bucket_low};
use std::fmt::Write as _;

/// Prefix of every name.
const PREFIX: &str = "halfpower_";
/// The histogram of service times.
const LATENCY: &str = "latency_seconds";

/// A gauge: name, help, label that distinguishes its figures, words of that label, and the place of a word's figure in
/// the record.
type Gauge = (&'static str, &'static str, &'static str, &'static str, &'static str);

const KINDS: &str = "all read write trim";
const PERCENTILES: &str = "50 90 95 99 99.9 99.99";
const GAUGES: [Gauge; 9] = [
    ("requests_per_second", "Requests completed per second.", "kind", KINDS, "/{}/requests_per_s"),
    ("bytes_per_second", "Bytes moved per second.", "kind", KINDS, "/{}/bytes_per_s"),
    ("latency_mean_seconds", "Mean service time per request.", "", "", "/total/latency_ns/mean"),
    (
        "latency_percentile_seconds",
        "Percentile of the service time.",
        "percentile",
        PERCENTILES,
        "/total/latency_ns/p{}",
    ),
    ("depth_mean", "Mean queue depth.", "", "", "/depth_mean/counted"),
    ("depth_mean_little", "The same by Little's law.", "", "", "/depth_mean/little"),
    ("cpu_user_seconds", "CPU time of the workers in user mode.", "", "", "/cpu/lower/user_s"),
    ("cpu_system_seconds", "CPU time of the workers in kernel mode.", "", "", "/cpu/lower/system_s"),
    ("elapsed_seconds", "Length of the measured part.", "", "", "/elapsed_s"),
];

/// The text.
pub(super) fn write(samples: &[StoredSample]) -> Exported {
    let mut exported = Exported::default();
    let mut shown = Vec::new();
    for stored in samples {
        if stored.sample.is_complete() {
            // Unknown fields are null in the record.
            shown.push((stored, serde_json::to_value(&stored.sample).unwrap_or_default()));
        } else {
            exported.leave_out(stored, "it failed");
        }
    }
    let mut text = String::new();
    for (name, help, label, words, place) in GAUGES {
        head(&mut text, name, "gauge", help);
        let scale = if place.contains("_ns/") { 1e-9 } else { 1.0 };
        for (stored, record) in &shown {
            for word in words.split(' ') {
                let key = if word == "all" { "total".to_owned() } else { word.replace('.', "_") };
                let figure = record.pointer(&place.replace("{}", &key)).and_then(serde_json::Value::as_f64);
                let Some(figure) = figure else { continue };
                let own = if label.is_empty() { String::new() } else { format!(",{label}=\"{word}\"") };
                let labels = labels(stored);
                let _ = writeln!(text, "{PREFIX}{name}{{{labels}{own}}} {}{}", figure * scale, stamp(&stored.sample));
            }
        }
    }
    head(&mut text, LATENCY, "histogram", "Service times of the requests.");
    for (stored, _) in &shown {
        let histogram = stored.sample.latency_histogram.total();
        if histogram.count() > 0 {
            buckets(&mut text, &labels(stored), &histogram, &stamp(&stored.sample));
        }
    }
    text += "# EOF\n";
    exported.content = text.into_bytes();
    exported
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# TYPE {PREFIX}{name} {kind}");
    if name.ends_with("_seconds") {
        let _ = writeln!(text, "# UNIT {PREFIX}{name} seconds");
    }
    let _ = writeln!(text, "# HELP {PREFIX}{name} {help}");
}

fn buckets(text: &mut String, labels: &str, histogram: &Histogram, stamp: &str) {
    let mut line = |end: &str, value: &dyn std::fmt::Display| {
        let _ = writeln!(text, "{PREFIX}{LATENCY}{end} {value}{stamp}");
    };
    let (lowest, highest) = (histogram.min().unwrap_or_default(), histogram.max().unwrap_or_default());
    let first = lowest.max(1).ilog2();
    for power in first..=highest.max(1).ilog2() {
        // All counts below the next power of two.
        let Some(end) = 1_u64.checked_shl(power + 1).filter(|end| *end > 0) else { break };
        let below: u64 = histogram.bins().take_while(|(bucket, _)| bucket_low(*bucket) < end).map(|(_, n)| n).sum();
        line(&format!("_bucket{{{labels},le=\"{}\"}}", (end - 1) as f64 / 1e9), &below);
    }
    line(&format!("_bucket{{{labels},le=\"+Inf\"}}"), &histogram.count());
    line(&format!("_count{{{labels}}}"), &histogram.count());
    line(&format!("_sum{{{labels}}}"), &(histogram.sum() / 1e9));
}

/// Labels that identify the sample, with the known parts of its workload.
fn labels(stored: &StoredSample) -> String {
    let sample = &stored.sample;
    let workload = &sample.workload;
    let known = |field: &str, value: String| if workload.is_known(field) { value } else { String::new() };
    let labels = [
        ("sample", stored.id.to_string()),
        ("cell", stored.cell.to_string()),
        ("block", stored.block.to_string()),
        ("operation", known("operation", workload.operation.to_string())),
        ("pattern", known("pattern", workload.pattern.to_string())),
        ("request_size_bytes", known("request_size", workload.request_size.0.to_string())),
        ("depth", known("depth", workload.depth.to_string())),
        ("workers", known("workers", workload.workers.to_string())),
        ("buffering", known("buffering", workload.buffering.to_string())),
        ("personality", known("personality", workload.personality.to_string())),
        ("set", workload.set.to_string()),
        ("target", sample.environment.target.path.clone()),
        ("host", sample.environment.host.clone()),
    ];
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let present = labels.iter().filter(|(_, value)| !value.is_empty());
    present.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect::<Vec<_>>().join(",")
}

/// The end of the sample in seconds; empty if it is unknown.
fn stamp(sample: &Sample) -> String {
    if !sample.is_known("started_at") || !sample.is_known("elapsed_s") {
        return String::new();
    }
    format!(" {:.3}", sample.started_at.as_millisecond() as f64 / 1e3 + sample.elapsed_s)
}
