//! fio's JSON with histograms (`--output-format=json+`): a document per sample, as fio 3 writes it for a group of jobs.
//!
//! Latencies count from the submission on, and are both `lat_ns` and `clat_ns`. `slat_ns` has N = 0, fio's form for no values.
//! fio's buckets are ours, so histograms are exact; its rates are whole bytes per second, its times whole milliseconds.
//! Percentages of latency classes are of whole buckets. Source: fio's HOWTO, "Interpreting the output", and `stat.c` of
//! 3.33.

mod files;
mod options;
mod printed;

use super::exported::Exported;
use crate::interchange::percentiles;
use crate::sanitize::{sanitize_json, sanitize_lines};
use crate::store::StoredSample;
use halfpower_model::histogram::{Histogram, bucket_middle};
use halfpower_model::sample::{Latency, Totals};
use halfpower_model::{RequestKind, Sample};
use serde_json::{Map, Value, json};

pub(crate) use files::files;

/// Upper ends of fio's latency classes in each unit; milliseconds also have a last class without an end.
const CLASSES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
const DIRECTIONS: [(&str, RequestKind); 3] =
    [("read", RequestKind::Read), ("write", RequestKind::Write), ("trim", RequestKind::Trim)];

/// The documents in sequence.
pub(super) fn write(samples: &[StoredSample]) -> Exported {
    Exported::of("", samples, |stored| Ok(text(&document(stored)?)))
}

fn text(document: &Value) -> String {
    sanitize_json(&format!("{document:#}\n")).into_owned()
}

/// A sample as fio reports a group of jobs.
fn document(stored: &StoredSample) -> Result<Value, &'static str> {
    let sample = &stored.sample;
    if !sample.is_complete() {
        return Err("it failed");
    }
    let mut job = job(sample, options::of(sample)?)?;
    job.insert("jobname".to_owned(), json!(format!("sample-{}", stored.id)));
    Ok(around(vec![job], [sample].into_iter()))
}

/// fio's forms of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Printed {
    /// With histograms (json+), which a reader of plain JSON ignores.
    Json,
    Normal,
    Terse,
}

/// Groups of jobs with their names and given options, as fio prints them.
pub(crate) fn of_jobs<'s>(
    jobs: impl Iterator<Item = (&'s str, &'s [(String, String)], &'s Sample)> + Clone,
    form: Printed,
) -> Result<String, &'static str> {
    let each = jobs.clone().enumerate().map(|(number, (name, options, sample))| {
        let options = options.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let mut job = job(sample, options)?;
        job.insert("jobname".to_owned(), json!(name));
        job.insert("groupid".to_owned(), json!(number));
        Ok(job)
    });
    let each = each.collect::<Result<Vec<_>, &'static str>>()?;
    let document = around(each, jobs.map(|(.., sample)| sample));
    Ok(match form {
        Printed::Json => text(&document),
        Printed::Normal => sanitize_lines(&printed::normal(&document)).into_owned(),
        Printed::Terse => sanitize_lines(&printed::terse(&document)).into_owned(),
    })
}

/// The document around jobs: the program, and when the last of them ended.
fn around<'s>(jobs: Vec<Map<String, Value>>, samples: impl Iterator<Item = &'s Sample> + Clone) -> Value {
    let version = samples.clone().next().map(|sample| sample.program.version.clone()).unwrap_or_default();
    let mut document = json!({ "fio version": format!("halfpower-{version}"), "jobs": jobs });
    let end_ms = |sample: &Sample| {
        let elapsed_ms = (sample.elapsed_s * 1e3).round() as u64;
        sample.is_known("started_at").then(|| sample.started_at.as_millisecond().saturating_add_unsigned(elapsed_ms))
    };
    if let Some(end_ms) = samples.filter_map(end_ms).max() {
        document["timestamp"] = json!(end_ms / 1000);
        document["timestamp_ms"] = json!(end_ms);
    }
    document
}

/// A sample as a group of jobs with these options, without a name.
fn job(sample: &Sample, options: Map<String, Value>) -> Result<Map<String, Value>, &'static str> {
    let elapsed_ms = (sample.elapsed_s * 1e3).round() as u64;
    if !sample.is_known("elapsed_s") || elapsed_ms == 0 {
        return Err("fio counts milliseconds, and it took none that is known");
    }
    let mut job = Map::new();
    let mut put = |key: &str, value: Value| drop(job.insert(key.to_owned(), value));
    if !sample.workload.set.is_empty() {
        // fio's `description` of a job.
        put("desc", json!(format!("set {}", sample.workload.set)));
    }
    put("groupid", json!(0));
    // fio counts no interruption as an error.
    let is_failed = sample.failure.as_ref().is_some_and(|failure| failure.code != "interrupted");
    put("error", json!(u8::from(is_failed)));
    put("job options", Value::Object(options));
    let mut histogram = Histogram::default();
    for (key, kind) in DIRECTIONS {
        let (totals, counts) = part(sample, kind)?;
        put(key, direction(sample, totals, counts, elapsed_ms));
        counts.iter().for_each(|counts| histogram.merge(counts));
    }
    for (key, classes) in ["latency_ns", "latency_us", "latency_ms"].into_iter().zip(classes(&histogram)) {
        put(key, classes);
    }
    if sample.is_known("cpu.lower") && sample.workload.is_known("workers") {
        // In a group, fio's run time is the sum over its jobs.
        let job_ms = elapsed_ms.saturating_mul(u64::from(sample.workload.workers.max(1)));
        let percent = |cpu_s: f64| json!(cpu_s * 1e5 / job_ms as f64);
        put("job_runtime", json!(job_ms));
        put("usr_cpu", percent(sample.cpu.lower.user_s));
        put("sys_cpu", percent(sample.cpu.lower.system_s));
    }
    if sample.is_known("depth_mean") && sample.is_known("depth_mean.counted") {
        put("iodepth_level", depth_levels(sample.depth_mean.counted / f64::from(sample.workload.workers.max(1))));
    }
    if sample.is_known("started_at") {
        put("job_start", json!(sample.started_at.as_millisecond()));
    }
    Ok(job)
}

/// Shares of the requests by the queue depth of a job: all at the mean one, in fio's classes.
fn depth_levels(depth: f64) -> Value {
    let class = (depth.round().max(1.0) as u64).ilog2().min(6) as usize;
    let names = ["1", "2", "4", "8", "16", "32", ">=64"];
    let level = |(index, name): (usize, &str)| (name.to_owned(), json!(if index == class { 100.0 } else { 0.0 }));
    names.into_iter().enumerate().map(level).collect::<Map<_, _>>().into()
}

/// Totals and latencies of one kind; none if the workload has no such requests.
fn part(sample: &Sample, kind: RequestKind) -> Result<(Option<&Totals>, Option<&Histogram>), &'static str> {
    let histograms = &sample.latency_histogram;
    let (name, totals, histogram) = match kind {
        RequestKind::Read => ("read", sample.read.as_ref(), &histograms.read),
        RequestKind::Write => ("write", sample.write.as_ref(), &histograms.write),
        _ => ("trim", sample.trim.as_deref(), &histograms.trim),
    };
    // Of jobs that did not do the same, the operation is unknown.
    let is_there = match sample.workload.is_known("operation") {
        true => sample.workload.operation.has(kind),
        false => totals.is_some(),
    };
    if !is_there {
        return Ok((None, None));
    }
    let fields = ["requests", "bytes", "requests_per_s", "bytes_per_s"];
    if totals.is_none() || fields.iter().any(|field| !sample.is_known(&format!("{name}.{field}"))) {
        return Err("fio counts requests, bytes and their rates, and these are not all known");
    }
    Ok((totals, histogram.as_ref().filter(|histogram| histogram.count() > 0)))
}

fn direction(sample: &Sample, totals: Option<&Totals>, histogram: Option<&Histogram>, elapsed_ms: u64) -> Value {
    let nothing = Totals::default();
    let alone = sample.workload.is_known("operation") && sample.workload.operation.only().is_some();
    let rates = if totals.is_some() && alone { rates(sample) } else { Vec::new() };
    let runtime_ms = if totals.is_some() { elapsed_ms } else { 0 };
    let totals = totals.unwrap_or(&nothing);
    let (mean, deviation) = mean_and_deviation(&rates);
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min).min(mean);
    let most = rates.iter().copied().fold(0.0, f64::max);
    let mut part = json!({
        "io_bytes": totals.bytes,
        "io_kbytes": totals.bytes >> 10,
        "bw_bytes": totals.bytes_per_s.0.round() as u64,
        "bw": (totals.bytes_per_s.0 / 1024.0).round() as u64,
        "iops": totals.requests_per_s,
        "runtime": runtime_ms,
        "total_ios": totals.requests,
        "slat_ns": latency(Latency::default(), 0),
        "lat_ns": latency(totals.latency_ns, histogram.map_or(totals.requests, Histogram::count)),
        "iops_min": least.round() as u64,
        "iops_max": most.round() as u64,
        "iops_mean": mean,
        "iops_stddev": deviation,
        "iops_samples": rates.len(),
    });
    if sample.is_known("total.short_transfers") {
        part["short_ios"] = json!(totals.short_transfers);
    }
    if let Some(histogram) = histogram {
        let name = |percent: f64| format!("{percent:.6}");
        let percentiles = PERCENTILES.iter().filter_map(|p| Some((name(*p), json!(histogram.quantile(p / 100.0)?))));
        part["lat_ns"]["percentile"] = percentiles.collect::<Map<_, _>>().into();
        let bins = histogram.bins().map(|(bucket, count)| (bucket_middle(bucket).to_string(), json!(count)));
        part["lat_ns"]["bins"] = bins.collect::<Map<_, _>>().into();
    }
    // Readers of fio's results look there first.
    part["clat_ns"] = part["lat_ns"].clone();
    part
}

/// A family of latencies; N is 0 if nothing was counted, as in fio.
fn latency(mut latency: Latency, count: u64) -> Value {
    let known = latency.mean.is_some();
    let mut family = json!({
        "min": latency.min.unwrap_or_default(),
        "max": latency.max.unwrap_or_default(),
        "mean": latency.mean.unwrap_or_default(),
        "stddev": latency.stddev.unwrap_or_default(),
        "N": if known { count } else { 0 },
    });
    for (percent, value) in &percentiles(&mut latency)[1..7] {
        if let Some(value) = value {
            family["percentile"][format!("{percent:.6}")] = json!(value);
        }
    }
    family
}

/// IOPS of each interval.
fn rates(sample: &Sample) -> Vec<f64> {
    if !sample.is_known("intervals.requests") {
        return Vec::new();
    }
    let starts = [0.0].into_iter().chain(sample.intervals.iter().map(|interval| interval.at_s));
    let lengths = starts.zip(&sample.intervals).map(|(start, interval)| (interval.at_s - start, interval.requests));
    lengths.filter(|(length_s, _)| *length_s > 0.0).map(|(length_s, requests)| requests as f64 / length_s).collect()
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0).max(1.0)).sqrt())
}

/// Percentages of requests by fio's latency classes: nanoseconds, microseconds, milliseconds.
fn classes(histogram: &Histogram) -> [Value; 3] {
    let mut counts = [[0_u64; CLASSES.len()]; 3];
    let (mut over_1000_ms, mut over_2000_ms) = (0, 0);
    for (bucket, count) in histogram.bins() {
        let latency_ns = bucket_middle(bucket);
        let (unit, value) = match latency_ns {
            0..1_000 => (0, latency_ns),
            1_000..1_000_000 => (1, latency_ns / 1_000),
            _ => (2, latency_ns / 1_000_000),
        };
        match CLASSES.iter().position(|end| value < *end) {
            Some(class) => counts[unit][class] += count,
            None if value < 2000 => over_1000_ms += count,
            None => over_2000_ms += count,
        }
    }
    let percent = |count: u64| json!(count as f64 * 100.0 / histogram.count().max(1) as f64);
    let mut units = counts.map(|counts| {
        CLASSES.iter().zip(counts).map(|(end, count)| (end.to_string(), percent(count))).collect::<Map<_, _>>()
    });
    units[2].insert("2000".to_owned(), percent(over_1000_ms));
    units[2].insert(">=2000".to_owned(), percent(over_2000_ms));
    units.map(Value::Object)
}
