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
use halfpower_model::sample::{Interval, Latency, Totals};
use halfpower_model::{RequestKind, Sample};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

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
    /// Without histograms.
    Json,
    /// With histograms (json+).
    JsonPlus,
    Normal,
    Terse,
}

/// Options by their names.
type Given = [(String, String)];

/// A group of jobs that is reported together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported<'s> {
    pub(crate) name: &'s str,
    /// Number of the jobs that run together.
    pub(crate) group: usize,
    /// Its own options.
    pub(crate) given: &'s Given,
    pub(crate) sample: &'s Sample,
}

/// Groups of jobs as fio prints them, in each form; `global` has the options of all.
///
/// # Errors
/// If figures that fio has are unknown.
pub(crate) fn of_jobs(groups: &[Reported<'_>], global: &Given, forms: &[Printed]) -> Result<String, &'static str> {
    let options = |given: &Given| given.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<Map<_, _>>();
    let each = groups.iter().map(|group| {
        let mut given = options(group.given);
        given.insert("name".to_owned(), json!(group.name));
        let mut job = job(group.sample, given)?;
        job.insert("jobname".to_owned(), json!(group.name));
        job.insert("groupid".to_owned(), json!(group.group));
        Ok(job)
    });
    let mut each = each.collect::<Result<Vec<_>, &'static str>>()?;
    for (direction, _) in DIRECTIONS {
        let rate = |job: &Map<String, Value>, name: &str| job[direction][name].as_f64().unwrap_or_default();
        let mut all: BTreeMap<usize, f64> = BTreeMap::new();
        groups.iter().zip(&each).for_each(|(group, job)| *all.entry(group.group).or_default() += rate(job, "bw"));
        for (group, job) in groups.iter().zip(&mut each) {
            let share = 100.0 * rate(job, "bw_mean") / all[&group.group].max(1.0);
            job[direction]["bw_agg"] = json!(share.min(100.0));
        }
    }
    let mut document = around(each, groups.iter().map(|group| group.sample));
    if !global.is_empty() {
        document["global options"] = options(global).into();
    }
    let form = |form: &Printed| match form {
        Printed::JsonPlus => text(&document),
        Printed::Json => text(&without_bins(document.clone())),
        Printed::Normal => sanitize_lines(&printed::normal(&document)).into_owned(),
        Printed::Terse => sanitize_lines(&printed::terse(&document)).into_owned(),
    };
    Ok(forms.iter().map(form).collect())
}

/// As fio's plain JSON: percentiles are those of `clat_ns`, as by default.
fn without_bins(mut document: Value) -> Value {
    for job in document["jobs"].as_array_mut().into_iter().flatten() {
        for direction in ["read", "write", "trim", "sync"] {
            for (family, key) in [("lat_ns", "bins"), ("clat_ns", "bins"), ("lat_ns", "percentile")] {
                let family = job[direction].get_mut(family).and_then(Value::as_object_mut);
                family.filter(|_| (direction, key) != ("sync", "percentile")).map(|family| family.remove(key));
            }
        }
    }
    document
}

/// The document around jobs: the program, and when the last of them ended.
fn around<'s>(jobs: Vec<Map<String, Value>>, samples: impl Iterator<Item = &'s Sample> + Clone) -> Value {
    let version = samples.clone().next().map(|sample| sample.program.version.clone()).unwrap_or_default();
    let mut document = json!({ "fio version": format!("halfpower-{version}"), "jobs": jobs });
    let end_ms = |sample: &Sample| {
        let elapsed_ms = (sample.elapsed_s * 1e3).round() as u64;
        sample.is_known("started_at").then(|| sample.started_at.as_millisecond().saturating_add_unsigned(elapsed_ms))
    };
    if let Some(end_ms) = samples.clone().filter_map(end_ms).max() {
        document["timestamp"] = json!(end_ms / 1000);
        document["timestamp_ms"] = json!(end_ms);
        let end = jiff::Timestamp::from_millisecond(end_ms);
        document["time"] = json!(end.map(|end| end.strftime("%a %b %e %H:%M:%S %Y").to_string()).unwrap_or_default());
    }
    // A device's counts are those of all jobs that ran.
    let only = samples.clone().next().filter(|_| samples.count() == 1);
    document["disk_util"] = only.and_then(disk).into_iter().collect();
    document
}

/// What the kernel counted at the only device of a sample.
fn disk(sample: &Sample) -> Option<Value> {
    let block = sample.block.as_ref().filter(|block| sample.is_known("block") && block.devices == 1)?;
    let (read, write) = (block.read?, block.write?);
    let device = sample.environment.devices().into_iter().next().unwrap_or_default();
    Some(json!({
        "name": device,
        "read_ios": read.requests, "write_ios": write.requests,
        "read_sectors": read.bytes / 512, "write_sectors": write.bytes / 512,
        "read_merges": block.merges, "write_merges": 0,
        "read_ticks": 0, "write_ticks": 0, "in_queue": 0,
        "util": block.busy_fraction * 100.0,
    }))
}

/// A sample as a group of jobs with these options, without a name.
fn job(sample: &Sample, options: Map<String, Value>) -> Result<Map<String, Value>, &'static str> {
    if !sample.is_known("elapsed_s") || sample.elapsed_s <= 0.0 {
        return Err("fio's rates are over a time, and it took none that is known");
    }
    let elapsed_ms = ((sample.elapsed_s * 1e3).round() as u64).max(1);
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
        let (part, counts) = direction(sample, kind, elapsed_ms)?;
        put(key, part);
        counts.iter().for_each(|counts| histogram.merge(counts));
    }
    put("sync", flushes(sample));
    put("eta", json!(0));
    put("elapsed", json!(elapsed_ms.div_ceil(1000)));
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
    // fio's format always has these; figures that are not counted here are 0.
    let switches = sample.cpu.context_switches.as_ref().map(|all| all.voluntary + all.involuntary);
    put("ctx", json!(switches.unwrap_or_default()));
    put("majf", json!(0));
    put("minf", json!(0));
    let depth = if sample.workload.is_known("depth") { sample.workload.depth } else { 0 };
    let levels = |names: [&str; 7], is_counted: bool| {
        let level = |name: &str| (name.to_owned(), json!(if is_counted && name == "1" { 100.0 } else { 0.0 }));
        names.into_iter().map(level).collect::<Map<_, _>>().into()
    };
    put("iodepth_level", levels(printed::LEVELS, depth == 1));
    put("iodepth_submit", levels(printed::BATCHES, false));
    put("iodepth_complete", levels(printed::BATCHES, false));
    if depth > 0 {
        put("latency_depth", json!(depth));
        for (key, value) in
            [("target", 0.0), ("target_ns", 0.0), ("percentile", 100.0), ("window", 0.0), ("window_us", 0.0)]
        {
            put(&format!("latency_{key}"), json!(value));
        }
    }
    if sample.is_known("started_at") {
        put("job_start", json!(sample.started_at.as_millisecond()));
    }
    Ok(job)
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

fn direction(sample: &Sample, kind: RequestKind, elapsed_ms: u64) -> Result<(Value, Option<&Histogram>), &'static str> {
    let (totals, histogram) = part(sample, kind)?;
    let nothing = Totals::default();
    let rates = if totals.is_some() { rates(sample, kind) } else { Vec::new() };
    // Of jobs of a group, the longest that has such requests.
    let own_ms =
        |of: &Totals| (of.requests as f64 * 1e3 / of.requests_per_s).round().min(elapsed_ms as f64).max(1.0) as u64;
    let runtime_ms = totals.map_or(0, |of| if of.requests_per_s > 0.0 { own_ms(of) } else { elapsed_ms });
    let totals = totals.unwrap_or(&nothing);
    let mut part = json!({
        "io_bytes": totals.bytes,
        "io_kbytes": totals.bytes >> 10,
        "bw_bytes": totals.bytes_per_s.0.round() as u64,
        "bw": (totals.bytes_per_s.0 / 1024.0) as u64,
        "iops": totals.requests_per_s,
        "runtime": runtime_ms,
        "total_ios": totals.requests,
        "drop_ios": 0,
        "slat_ns": latency(Latency::default(), None, 0),
        "lat_ns": latency(totals.latency_ns, histogram, totals.requests),
    });
    // Readers of fio's results look there first.
    part["clat_ns"] = part["lat_ns"].clone();
    if sample.is_known("total.short_transfers") {
        part["short_ios"] = json!(totals.short_transfers);
    }
    for (name, deviation, of) in [("iops", "stddev", 0), ("bw", "dev", 1)] {
        let values: Vec<f64> = rates.iter().map(|rate| rate[of]).collect();
        let (mean, stddev) = mean_and_deviation(&values);
        part[format!("{name}_min")] =
            json!(values.iter().copied().fold(f64::INFINITY, f64::min).min(mean).round() as u64);
        part[format!("{name}_max")] = json!(values.iter().copied().fold(0.0, f64::max).round() as u64);
        part[format!("{name}_mean")] = json!(mean);
        part[format!("{name}_{deviation}")] = json!(stddev);
        part[format!("{name}_samples")] = json!(values.len());
    }
    // The share of all jobs is known with them.
    part["bw_agg"] = json!(0.0);
    Ok((part, histogram))
}

/// Flushes, which fio counts apart.
fn flushes(sample: &Sample) -> Value {
    let flush = sample.flush.as_deref().filter(|_| sample.is_known("flush.requests"));
    let of = flush.map(|flush| (flush.requests, flush.latency_ns)).unwrap_or_default();
    json!({ "total_ios": of.0, "lat_ns": latency(of.1, sample.latency_histogram.flush.as_ref(), of.0) })
}

/// A family of latencies; N is 0 if nothing was counted, as in fio. Percentiles and bins are those of the histogram, if there is one.
fn latency(mut latency: Latency, histogram: Option<&Histogram>, requests: u64) -> Value {
    let known = latency.mean.is_some();
    let mut family = json!({
        "min": latency.min.unwrap_or_default(),
        "max": latency.max.unwrap_or_default(),
        "mean": latency.mean.unwrap_or_default(),
        "stddev": latency.stddev.unwrap_or_default(),
        "N": if known { histogram.map_or(requests, Histogram::count) } else { 0 },
    });
    let name = |percent: f64| format!("{percent:.6}");
    let Some(histogram) = histogram.filter(|histogram| histogram.count() > 0) else {
        for (percent, value) in &percentiles(&mut latency)[1..7] {
            if let Some(value) = value {
                family["percentile"][name(*percent)] = json!(value);
            }
        }
        return family;
    };
    let percentiles = PERCENTILES.iter().filter_map(|p| Some((name(*p), json!(histogram.value_at(p / 100.0)?))));
    family["percentile"] = percentiles.collect::<Map<_, _>>().into();
    let bins = histogram.bins().map(|(bucket, count)| (bucket_middle(bucket).to_string(), json!(count)));
    family["bins"] = bins.collect::<Map<_, _>>().into();
    family
}

/// IOPS and KiB/s of requests of a kind, in each interval.
fn rates(sample: &Sample, kind: RequestKind) -> Vec<[f64; 2]> {
    if !sample.is_known("intervals.requests") {
        return Vec::new();
    }
    let starts = [0.0].into_iter().chain(sample.intervals.iter().map(|interval| interval.at_s));
    let lengths = starts.zip(&sample.intervals).map(|(start, interval)| (interval.at_s - start, interval));
    let rate = |(length_s, interval): (f64, &Interval)| {
        let of = sample.of_kind(interval, kind)?;
        Some([of.requests as f64, of.bytes as f64 / 1024.0].map(|amount| amount / length_s))
    };
    // The rest at the end is no interval.
    let least_s = sample.workload.interval.seconds() / 2.0;
    let is_whole =
        |(number, (length_s, _)): &(usize, (f64, &Interval))| *length_s > 0.0 && (*number == 0 || *length_s >= least_s);
    lengths.enumerate().filter(is_whole).filter_map(|(_, interval)| rate(interval)).collect()
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
