//! Samples from the fields of a record: these are set and marked as known, others stay unknown.

use super::{Format, Source};
use halfpower_model::sample::{CpuTime, Latency, Totals};
use halfpower_model::workload::Mix;
use halfpower_model::{Bytes, BytesPerSecond, Environment, Histogram, Operation, Origin, RequestKind, Sample};

/// The known figures of requests of one kind, or of all.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub(super) requests: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) requests_per_s: Option<f64>,
    pub(super) bytes_per_s: Option<f64>,
    pub(super) latency: Latency,
    pub(super) histogram: Option<Histogram>,
    pub(super) short_transfers: Option<u64>,
}

impl Figures {
    /// Amounts, and their rates over a time; without time there is no rate.
    pub(super) fn over(seconds: f64, requests: Option<u64>, bytes: Option<u64>) -> Self {
        let per_s = |amount: Option<u64>| amount.filter(|_| seconds > 0.0).map(|amount| amount as f64 / seconds);
        Figures { requests, bytes, requests_per_s: per_s(requests), bytes_per_s: per_s(bytes), ..Figures::default() }
    }

    /// The same figures with the latencies of a histogram.
    pub(super) fn with_histogram(self, histogram: Histogram) -> Self {
        Figures { latency: Latency::of(&histogram), histogram: Some(histogram), ..self }
    }
}

/// The origin of a record; `line`, `record` and `version` if they exist.
pub(super) fn origin(
    format: Format,
    source: Source<'_>,
    line: Option<u64>,
    record: Option<&str>,
    version: Option<&str>,
) -> Origin {
    Origin {
        format: format.word().to_owned(),
        file: source.name.to_owned(),
        line,
        record: record.map(str::to_owned),
        tool: format.tool().map(str::to_owned),
        version: version.map(str::to_owned),
        ..Origin::default()
    }
}

/// The environment of files, in order: only their names and sizes are known.
pub(super) fn environment<'f>(files: impl IntoIterator<Item = &'f str>, size: Option<Bytes>) -> Environment {
    let mut each = files.into_iter().map(|file| Environment::unknown(file, size));
    let mut environment = each.next().unwrap_or_else(|| Environment::unknown("", size));
    environment.more_targets = each.map(|more| more.target).collect();
    environment
}

/// Sets the figures of one kind of request, or the total, whose histogram is of any kind.
pub(super) fn fill(sample: &mut Sample, kind: Option<RequestKind>, figures: Figures) {
    let histograms = &mut sample.latency_histogram;
    let (part, histogram) = match kind {
        None => ("total", &mut histograms.any),
        Some(RequestKind::Read) => ("read", &mut histograms.read),
        Some(RequestKind::Write) => ("write", &mut histograms.write),
        Some(RequestKind::Trim) => ("trim", &mut histograms.trim),
        Some(RequestKind::Flush) => ("flush", &mut histograms.flush),
    };
    *histogram = figures.histogram;
    let known = [
        ("requests", figures.requests.is_some()),
        ("bytes", figures.bytes.is_some()),
        ("requests_per_s", figures.requests_per_s.is_some()),
        ("bytes_per_s", figures.bytes_per_s.is_some()),
        ("short_transfers", figures.short_transfers.is_some()),
    ];
    known.iter().filter(|(_, known)| *known).for_each(|(field, _)| sample.mark_known(&format!("{part}.{field}")));
    let totals = Totals {
        requests: figures.requests.unwrap_or_default(),
        bytes: figures.bytes.unwrap_or_default(),
        requests_per_s: figures.requests_per_s.unwrap_or_default(),
        bytes_per_s: BytesPerSecond(figures.bytes_per_s.unwrap_or_default()),
        latency_ns: figures.latency,
        short_transfers: figures.short_transfers.unwrap_or_default(),
        ..Totals::default()
    };
    match kind {
        None => sample.total = totals,
        Some(RequestKind::Read) => sample.read = Some(totals),
        Some(RequestKind::Write) => sample.write = Some(totals),
        Some(RequestKind::Trim) => sample.trim = Some(totals.into()),
        Some(RequestKind::Flush) => sample.flush = Some(totals.into()),
    }
}

/// Sets the total, and the same for the only kind of request, if there is one kind.
pub(super) fn fill_only(sample: &mut Sample, mut figures: Figures) {
    if let Some(kind) = sample.workload.operation.only() {
        fill(sample, Some(kind), figures.clone());
        figures.histogram = None;
    }
    fill(sample, None, figures);
}

/// Sets the elapsed time.
pub(super) fn lasted(sample: &mut Sample, elapsed_s: f64) {
    sample.elapsed_s = elapsed_s;
    sample.mark_known("elapsed_s");
}

/// Sets the start.
pub(super) fn began(sample: &mut Sample, at: jiff::Timestamp) {
    sample.started_at = at;
    sample.mark_known("started_at");
}

/// Sets the CPU time, in total and per I/O.
pub(super) fn used(sample: &mut Sample, user_s: f64, system_s: f64) {
    sample.cpu.lower = CpuTime { user_s, system_s };
    sample.mark_known("cpu.lower");
    let requests = sample.total.requests as f64;
    sample.cpu.lower_us_per_request = (requests > 0.0).then(|| (user_s + system_s) * 1e6 / requests);
}

/// The operation with this percentage of reads.
pub(super) fn of_reads(percent: u8) -> Option<Operation> {
    match percent {
        0 => Some(Operation::Write),
        100 => Some(Operation::Read),
        percent => Mix::of_reads(percent).map(Operation::Mix),
    }
}

/// A size; none for 0.
pub(super) fn size(bytes: u64) -> Option<Bytes> {
    Some(Bytes(bytes)).filter(|size| size.0 > 0)
}

/// A histogram of counts, each with a value of its bucket.
pub(super) fn histogram(bins: impl Iterator<Item = (u64, u64)>, sum: f64, min: u64, max: u64) -> Option<Histogram> {
    let mut counts = vec![0_u64; halfpower_model::histogram::BUCKETS];
    let mut total = 0_u64;
    for (value, count) in bins {
        let bucket = &mut counts[halfpower_model::histogram::bucket_of(value)];
        *bucket = bucket.checked_add(count)?;
        total = total.checked_add(count)?;
    }
    (total > 0 && min <= max).then(|| Histogram::from_counts(counts, sum, min, max))
}
