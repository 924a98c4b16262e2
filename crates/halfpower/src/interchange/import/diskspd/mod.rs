//! diskspd's XML (`-Rxml`) and text: a sample for each time span, over all threads and targets.
//!
//! MiB are 2^20 bytes. Totals of the XML are summed over threads and targets; rates are over the test time. CPU time is
//! of the whole machine, so an upper bound. A setting is known if all targets have the same. Buffering refers to the
//! cache of Windows: `DisableOSCache` is direct, `WriteThrough` through.

mod output;
mod xml;

use super::error::Fault;
use super::record::{Figures, began, fill, lasted, of_reads, origin, size};
use super::text::{number, whole};
use super::{Collected, Format, Source};
use crate::interchange::percentiles;
use halfpower_model::sample::{Interval, IntervalPart, Latency};
use halfpower_model::{
    Arrivals, Buffering, Bytes, Environment, Nanoseconds, Operation, Origin, Pattern, Rate, RequestKind, Sample,
    WorkerKind, WorkloadSpec,
};
use xml::Element;

/// Whether it is a file of diskspd.
pub(super) fn is_one(source: Source<'_>) -> bool {
    let start: String = source.text.chars().take(4000).collect();
    (start.contains("<Results>") && source.text.contains("<TimeSpan>")) || output::is_one(source.text)
}

/// Every time span.
///
/// # Errors
/// At the first invalid place.
pub(super) fn read(source: Source<'_>) -> Result<Collected, Fault> {
    if !source.text.trim_start().starts_with('<') {
        return output::read(source);
    }
    let document = xml::parsed(source.text)?;
    let results = xml::root(&document);
    if results.name() != "Results" {
        return Err(Fault::at(results.line(), format!("`{}` is not diskspd's `Results`", results.name())));
    }
    let version = results.child("System").and_then(|system| system.child("Tool")).and_then(|tool| tool.text("Version"));
    let host = results.child("System").and_then(|system| system.text("ComputerName"));
    let start = results.child("System").and_then(|system| system.text("RunTime")).and_then(utc);
    let profiles: Vec<Element<'_>> = results
        .child("Profile")
        .and_then(|profile| profile.child("TimeSpans"))
        .into_iter()
        .flat_map(|spans| spans.all("TimeSpan"))
        .collect();
    let mut collected = Collected::default();
    let (mut line, mut counted) = (1, 0);
    for (number, span) in results.all("TimeSpan").enumerate() {
        let before = &source.text[counted..span.start()];
        line += before.bytes().filter(|byte| *byte == b'\n').count() as u64;
        counted = span.start();
        let from = facts(source, line, number + 1, version);
        let mut sample = of_span(span, profiles.get(number).copied(), from)?;
        sample.environment.host = host.unwrap_or_default().to_owned();
        start.into_iter().filter(|_| number == 0).for_each(|start| began(&mut sample, start));
        collected.take(sample)?;
    }
    Ok(collected)
}

fn facts(source: Source<'_>, line: u64, number: usize, version: Option<&str>) -> Origin {
    origin(Format::Diskspd, source, Some(line), Some(&format!("time span {number}")), version)
}

/// `2026/01/09 10:00:00 UTC`: the start of the program, so of its first time span.
fn utc(text: &str) -> Option<jiff::Timestamp> {
    let civil = jiff::civil::DateTime::strptime("%Y/%m/%d %H:%M:%S", text.strip_suffix(" UTC")?).ok()?;
    jiff::tz::TimeZone::UTC.to_timestamp(civil).ok()
}

/// The limit of all threads, from that of each: in IOPS, or in bytes per millisecond.
fn rate_of(each: u64, is_iops: bool, threads: Option<u32>) -> Option<Rate> {
    let all = each.checked_mul(u64::from(threads?)).filter(|all| *all > 0)?;
    if is_iops { Some(Rate::Requests(all)) } else { all.checked_mul(1000).map(Rate::Bytes) }
}

/// A figure, which must be a number if it exists.
fn figure(element: Element<'_>, name: &str) -> Result<Option<f64>, Fault> {
    let Some(child) = element.child(name) else { return Ok(None) };
    let wrong = || Fault::at(child.line(), format!("`{name}` is not a number"));
    number(child.own_text()).map(Some).ok_or_else(wrong)
}

fn of_span(span: Element<'_>, profile: Option<Element<'_>>, from: Origin) -> Result<Sample, Fault> {
    let seconds = figure(span, "TestTimeSeconds")?;
    let seconds = seconds.ok_or_else(|| Fault::at(span.line(), "a time span has no `TestTimeSeconds`"))?;
    let mut counts = [0_u64; 6];
    let names = ["IOCount", "BytesCount", "ReadCount", "ReadBytes", "WriteCount", "WriteBytes"];
    for target in span.all("Thread").flat_map(|thread| thread.all("Target")) {
        for (sum, name) in counts.iter_mut().zip(names) {
            let text = target.text(name).unwrap_or("0");
            let wrong = || Fault::at(target.line(), format!("`{name}` is not a count"));
            *sum = sum.checked_add(whole(text).ok_or_else(wrong)?).ok_or_else(wrong)?;
        }
    }
    let mut spec = profile.map_or_else(WorkloadSpec::default, spec_of);
    spec.workers = span.text("ThreadCount").and_then(|count| count.parse().ok());
    let limit = profile.and_then(|profile| {
        let mut targets = profile.child("Targets")?.all("Target");
        let first = targets.next()?;
        if targets.next().is_some() { None } else { first.child("Throughput") }
    });
    let is_iops = |limit: Element<'_>| limit.attribute("unit") == Some("IOPS");
    spec.rate = limit.and_then(|limit| rate_of(whole(limit.own_text())?, is_iops(limit), spec.workers));
    spec.arrivals = spec.rate.map(|_| Arrivals::Closed);
    let mut paths = span.all("Thread").flat_map(|thread| thread.all("Target")).filter_map(|target| target.text("Path"));
    let first = paths.next().unwrap_or_default();
    let path = if paths.all(|path| path == first) { first } else { "" };
    let file_size =
        span.child("Thread").and_then(|thread| thread.child("Target")).and_then(|target| target.text("FileSize"));
    let file_size = file_size.and_then(whole).map(Bytes).filter(|_| !path.is_empty());
    spec.size = spec.size.or(file_size);
    let request_size = spec.request_size.map(|size| size.0);
    let is_mix = spec.operation.is_some_and(|operation| operation.only().is_none());
    let mut sample = Sample::imported(spec.imported(None), Environment::unknown(path, file_size), from);
    let parts = [(None, 0, "Total"), (Some(RequestKind::Read), 2, "Read"), (Some(RequestKind::Write), 4, "Write")];
    for (kind, at, word) in parts {
        if kind.is_none() || counts[at] > 0 {
            let amounts = Figures::over(seconds, Some(counts[at]), Some(counts[at + 1]));
            fill(&mut sample, kind, Figures { latency: latency(span, word)?, ..amounts });
        }
    }
    lasted(&mut sample, seconds);
    sample.intervals = intervals(span, request_size, is_mix)?;
    if !sample.intervals.is_empty() {
        sample.mark_known("intervals.requests");
        if request_size.is_some() {
            sample.mark_known("intervals.bytes");
        }
    }
    let cpus = span.text("ProcCount").and_then(|count| count.parse::<u32>().ok());
    let average = span.child("CpuUtilization").and_then(|cpu| cpu.child("Average"));
    if let (Some(cpus), Some(average)) = (cpus, average) {
        sample.environment.cpus = cpus;
        // The time of all programs on the machine.
        if let Some(percent) = figure(average, "UsagePercent")? {
            let busy_s = percent / 100.0 * f64::from(cpus) * seconds;
            let requests = sample.total.requests as f64;
            sample.cpu.upper_s = Some(busy_s);
            sample.cpu.upper_method = Some("diskspd: all that used the machine".to_owned());
            sample.cpu.upper_us_per_request = (requests > 0.0).then(|| busy_s * 1e6 / requests);
        }
    }
    Ok(sample)
}

/// IOPS over time (`-D`), each with the end of its interval; those of reads and of writes, if the workload mixes them. Bytes are
/// zero for an unknown request size.
fn intervals(span: Element<'_>, request_size: Option<u64>, is_mix: bool) -> Result<Vec<Interval>, Fault> {
    let mut before_s = 0.0;
    let interval = |bucket: Element<'_>| {
        let of = |name: &str| bucket.attribute(name).and_then(number);
        let wrong = || Fault::at(bucket.line(), "an interval of the IOPS has no later time or no rates");
        let at_s = of("SampleMillisecond").map(|ms| ms / 1e3).filter(|at_s| *at_s > before_s).ok_or_else(wrong)?;
        let seconds = at_s - std::mem::replace(&mut before_s, at_s);
        let part = |name: &str| {
            let requests = (of(name)? * seconds).round() as u64;
            let bytes = requests.saturating_mul(request_size.unwrap_or(0));
            Some(IntervalPart { requests, bytes, latency_p50_ns: None })
        };
        let IntervalPart { requests, bytes, .. } = part("Total").ok_or_else(wrong)?;
        let kind = |name: &str| part(name).filter(|_| is_mix);
        Ok(Interval { at_s, requests, bytes, read: kind("Read"), write: kind("Write"), ..Interval::default() })
    };
    span.child("Iops").into_iter().flat_map(|iops| iops.all("Bucket")).map(interval).collect()
}

/// Milliseconds as whole nanoseconds.
fn nanoseconds(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

fn latency(span: Element<'_>, word: &str) -> Result<Latency, Fault> {
    let Some(element) = span.child("Latency") else { return Ok(Latency::default()) };
    let deviation = if word == "Total" { "LatencyStdev".to_owned() } else { format!("{word}LatencyStdev") };
    let ms = |name: &str| figure(element, name);
    let mut latency = Latency {
        mean: ms(&format!("Average{word}Milliseconds"))?.map(|ms| ms * 1e6),
        stddev: ms(&deviation)?.map(|ms| ms * 1e6),
        ..Latency::default()
    };
    for bucket in element.all("Bucket") {
        let value = figure(bucket, &format!("{word}Milliseconds"))?.map(nanoseconds);
        if let Some(percentile) = figure(bucket, "Percentile")? {
            put(&mut latency, percentile, value);
        }
    }
    Ok(latency)
}

/// Sets a percentile, if it is one of ours; 0 is the minimum, 100 the maximum.
fn put(latency: &mut Latency, percentile: f64, value: Option<u64>) {
    if let Some((_, place)) = percentiles(latency).into_iter().find(|(own, _)| (own - percentile).abs() < 1e-9) {
        *place = value;
    }
}

/// The settings of a time span's profile that all its targets share.
fn spec_of(profile: Element<'_>) -> WorkloadSpec {
    let targets: Vec<Element<'_>> =
        profile.child("Targets").into_iter().flat_map(|targets| targets.all("Target")).collect();
    let seconds =
        |name: &str| profile.text(name).and_then(whole).map(|seconds| Nanoseconds::from_seconds(seconds as f64));
    let common = |name: &str| {
        let first = targets.first()?.text(name)?;
        targets.iter().all(|target| target.text(name) == Some(first)).then_some(first)
    };
    let is_on = |name: &str| targets.iter().all(|target| target.text(name) == Some("true")) && !targets.is_empty();
    let nowhere = |name: &str| targets.iter().all(|target| target.child(name).is_none());
    let pattern = if is_on_all(&targets, "Random") && nowhere("RandomRatio") && nowhere("Distribution") {
        Some(Pattern::Random)
    } else if is_on_all(&targets, "StrideSize") && common("StrideSize") == common("BlockSize") {
        Some(Pattern::Sequential)
    } else {
        None
    };
    // With a thread count for all files, the depth is that of the time span.
    let shared = profile.text("ThreadCount").and_then(whole).is_some_and(|threads| threads > 0);
    let depth = if shared { profile.text("RequestCount") } else { common("RequestCount") };
    WorkloadSpec {
        operation: common("WriteRatio").and_then(|percent| of_writes(percent.parse().ok()?)),
        pattern,
        request_size: common("BlockSize").and_then(whole).and_then(size),
        depth: depth.and_then(|depth| depth.parse().ok()).filter(|depth| *depth > 0),
        processes: Some(WorkerKind::Thread),
        buffering: (!targets.is_empty()).then(|| {
            let neither = is_on("DisableAllCache");
            Buffering::of(is_on("DisableOSCache") || neither, is_on("WriteThrough") || neither)
        }),
        duration: seconds("Duration"),
        warmup: seconds("Warmup"),
        size: common("MaxFileSize").and_then(whole).and_then(size),
        ..WorkloadSpec::default()
    }
}

fn is_on_all(targets: &[Element<'_>], name: &str) -> bool {
    !targets.is_empty() && targets.iter().all(|target| target.child(name).is_some())
}

/// The operation with this percentage of writes.
fn of_writes(percent: u8) -> Option<Operation> {
    of_reads(100_u8.checked_sub(percent)?)
}
