//! The figures of a sample that OpenMetrics text has: for the export.

/// What every name begins with.
pub(super) const PREFIX: &str = "halfpower_";
/// The histogram of service times.
pub(super) const LATENCY: &str = "latency_seconds";

/// Figures of one meaning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gauge {
    pub(super) name: &'static str,
    /// The end of the name; empty where it has none.
    pub(super) unit: &'static str,
    pub(super) help: &'static str,
    /// The label that tells several apart.
    pub(super) label: Option<&'static str>,
    /// The word of the label, and where the figure is in the record.
    pub(super) figures: &'static [(&'static str, &'static str)],
    /// What the record's figure is times.
    pub(super) scale: f64,
}

/// All of them.
pub(super) const GAUGES: [Gauge; 9] = [
    Gauge {
        label: Some("kind"),
        ..alone("requests_per_second", "", "Requests completed per second.", &OPERATIONS_REQUESTS)
    },
    Gauge { label: Some("kind"), ..alone("bytes_per_second", "", "Bytes moved per second.", &OPERATIONS_BYTES) },
    Gauge {
        scale: 1e-9,
        ..alone("latency_mean_seconds", "seconds", "Mean service time of a request.", &[("", "/total/latency_ns/mean")])
    },
    Gauge {
        label: Some("percentile"),
        scale: 1e-9,
        ..alone("latency_percentile_seconds", "seconds", "Percentile of the service time.", &PERCENTILES)
    },
    alone("depth_mean", "", "Mean queue depth.", &[("", "/depth_mean/counted")]),
    alone("depth_mean_little", "", "The same by Little's law.", &[("", "/depth_mean/little")]),
    alone("cpu_user_seconds", "seconds", "CPU time of the workers in user mode.", &[("", "/cpu/lower/user_s")]),
    alone("cpu_system_seconds", "seconds", "CPU time of the workers in kernel mode.", &[("", "/cpu/lower/system_s")]),
    alone("elapsed_seconds", "seconds", "Length of the measured part.", &[("", "/elapsed_s")]),
];
const OPERATIONS_REQUESTS: [(&str, &str); 4] = [
    ("all", "/total/requests_per_s"),
    ("read", "/read/requests_per_s"),
    ("write", "/write/requests_per_s"),
    ("trim", "/trim/requests_per_s"),
];
const OPERATIONS_BYTES: [(&str, &str); 4] = [
    ("all", "/total/bytes_per_s"),
    ("read", "/read/bytes_per_s"),
    ("write", "/write/bytes_per_s"),
    ("trim", "/trim/bytes_per_s"),
];
const PERCENTILES: [(&str, &str); 6] = [
    ("50", "/total/latency_ns/p50"),
    ("90", "/total/latency_ns/p90"),
    ("95", "/total/latency_ns/p95"),
    ("99", "/total/latency_ns/p99"),
    ("99.9", "/total/latency_ns/p99_9"),
    ("99.99", "/total/latency_ns/p99_99"),
];

const fn alone(
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    figures: &'static [(&'static str, &'static str)],
) -> Gauge {
    Gauge { name, unit, help, label: None, figures, scale: 1.0 }
}
