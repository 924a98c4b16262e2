//! A sample made from what a record tells: what is told is filled in and noted as known, the rest stays unknown.

use super::{Format, Source};
use halfpower_model::sample::{Latency, Totals};
use halfpower_model::{BytesPerSecond, Histogram, Origin, RequestKind, Sample};
use std::collections::BTreeMap;

/// What a source tells of the requests of one kind, or of all.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) requests: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) requests_per_s: Option<f64>,
    pub(super) bytes_per_s: Option<f64>,
    pub(super) latency: Latency,
    pub(super) short_transfers: Option<u64>,
    pub(super) errors: Option<BTreeMap<String, u64>>,
}

/// Where a record is from; `line` and `record` as far as there are such things.
pub(super) fn origin(format: Format, source: Source<'_>, line: Option<u64>, record: Option<&str>) -> Origin {
    Origin {
        format: format.word().to_owned(),
        file: source.name.to_owned(),
        line,
        record: record.map(str::to_owned),
        ..Origin::default()
    }
}

/// Fills in the part of a kind, or the total.
pub(super) fn fill(sample: &mut Sample, kind: Option<RequestKind>, told: Told) {
    let part = match kind {
        None => "total",
        Some(RequestKind::Read) => "read",
        Some(RequestKind::Write) => "write",
        Some(RequestKind::Trim) => "trim",
        Some(RequestKind::Flush) => "flush",
    };
    let known = [
        ("requests", told.requests.is_some()),
        ("bytes", told.bytes.is_some()),
        ("requests_per_s", told.requests_per_s.is_some()),
        ("bytes_per_s", told.bytes_per_s.is_some()),
        ("short_transfers", told.short_transfers.is_some()),
        ("errors", told.errors.is_some()),
    ];
    known.iter().filter(|(_, known)| *known).for_each(|(field, _)| sample.tell(&format!("{part}.{field}")));
    let totals = Totals {
        requests: told.requests.unwrap_or_default(),
        bytes: told.bytes.unwrap_or_default(),
        requests_per_s: told.requests_per_s.unwrap_or_default(),
        bytes_per_s: BytesPerSecond(told.bytes_per_s.unwrap_or_default()),
        latency_ns: told.latency,
        short_transfers: told.short_transfers.unwrap_or_default(),
        errors: told.errors.unwrap_or_default(),
    };
    match kind {
        None => sample.total = totals,
        Some(RequestKind::Read) => sample.read = Some(totals),
        Some(RequestKind::Write) => sample.write = Some(totals),
        Some(RequestKind::Trim) => sample.trim = Some(totals.into()),
        Some(RequestKind::Flush) => sample.flush = Some(totals.into()),
    }
}

/// Fills in the total, and the same for the one kind of request there is.
pub(super) fn fill_only(sample: &mut Sample, told: Told) {
    if let Some(kind) = sample.workload.operation.only() {
        fill(sample, Some(kind), told.clone());
    }
    fill(sample, None, told);
}

/// Notes how long it took.
pub(super) fn lasted(sample: &mut Sample, elapsed_s: f64) {
    sample.elapsed_s = elapsed_s;
    sample.tell("elapsed_s");
}

/// Notes when it began.
pub(super) fn began(sample: &mut Sample, at: jiff::Timestamp) {
    sample.started_at = at;
    sample.tell("started_at");
}

/// Notes the processor time and what that is a request.
pub(super) fn used(sample: &mut Sample, user_s: f64, system_s: f64) {
    sample.cpu.lower = halfpower_model::sample::CpuTime { user_s, system_s };
    sample.tell("cpu.lower");
    let requests = sample.total.requests as f64;
    sample.cpu.lower_us_per_request = (requests > 0.0).then(|| (user_s + system_s) * 1e6 / requests);
}

/// A histogram of fio's counts by the value that stands for their bucket.
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
