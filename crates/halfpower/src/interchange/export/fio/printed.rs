//! fio's ordinary and terse outputs (version 3), made from its JSON, so that they agree. Source: fio's HOWTO, "Interpreting
//! the output" and "Terse output", and outputs of 3.33.

use crate::fio::units::{bytes, is_on};
use halfpower_model::units::significant;
use halfpower_model::{Bytes, BytesPerSecond};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Percentiles that a terse line has room for.
const TERSE_PERCENTILES: usize = 20;
/// Latency classes of a terse line, in µs and ms.
const CLASSES: [(&str, &[&str]); 2] = [
    ("latency_us", &["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"]),
    ("latency_ms", &["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"]),
];

const KINDS: [&str; 3] = ["read", "write", "trim"];
/// fio's classes of depths, and of requests in a batch.
pub(super) const LEVELS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
pub(super) const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn jobs(document: &Value) -> impl Iterator<Item = &Value> {
    document["jobs"].as_array().into_iter().flatten()
}

/// Percentiles in order: percent and nanoseconds.
fn percentiles(latency: &Value) -> Vec<(f64, f64)> {
    let of = latency["percentile"].as_object().into_iter().flatten();
    let mut found: Vec<(f64, f64)> = of.filter_map(|(name, value)| Some((name.parse().ok()?, number(value)))).collect();
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    found
}

/// A line for each group of jobs, fields with semicolons between.
pub(super) fn terse(document: &Value) -> String {
    let mut lines = String::new();
    for job in jobs(document) {
        let head = format!(
            "3;{};{};{};{}",
            text(&document["fio version"]),
            text(&job["jobname"]),
            job["groupid"],
            job["error"]
        );
        lines.push_str(&head);
        for direction in ["read", "write"] {
            terse_direction(&mut lines, &job[direction]);
        }
        let (user, system) = (number(&job["usr_cpu"]), number(&job["sys_cpu"]));
        let _ = write!(lines, ";{user:.6}%;{system:.6}%;0;0;0");
        for level in LEVELS {
            let _ = write!(lines, ";{:.1}%", number(&job["iodepth_level"][level]));
        }
        // What took less than 1 µs is in the first class here.
        let nanos: f64 = job["latency_ns"].as_object().into_iter().flatten().map(|(_, share)| number(share)).sum();
        for (unit, classes) in CLASSES {
            for class in classes {
                let below = if (unit, *class) == ("latency_us", "2") { nanos } else { 0.0 };
                let _ = write!(lines, ";{:.2}%", number(&job[unit][class]) + below);
            }
        }
        lines.push('\n');
    }
    lines
}

fn terse_direction(line: &mut String, of: &Value) {
    let whole = |name: &str| number(&of[name]) as u64;
    let _ = write!(line, ";{};{};{};{}", whole("io_kbytes"), whole("bw"), whole("iops"), whole("runtime"));
    let latency = |line: &mut String, of: &Value| {
        let micros = |name: &str| number(&of[name]) / 1e3;
        let (least, most) = (micros("min") as u64, micros("max") as u64);
        let _ = write!(line, ";{least};{most};{:.6};{:.6}", micros("mean"), micros("stddev"));
    };
    latency(line, &of["slat_ns"]);
    latency(line, &of["clat_ns"]);
    let found = percentiles(&of["clat_ns"]);
    for index in 0..TERSE_PERCENTILES {
        let _ = match found.get(index) {
            Some((percent, nanoseconds)) => write!(line, ";{percent:.6}%={}", (nanoseconds / 1e3) as u64),
            None => write!(line, ";0%=0"),
        };
    }
    latency(line, &of["lat_ns"]);
    // Bandwidth by interval, from IOPS and the mean size.
    let size_kib =
        if whole("total_ios") > 0 { number(&of["io_bytes"]) / number(&of["total_ios"]) / 1024.0 } else { 0.0 };
    let bandwidth = |name: &str| number(&of[name]) * size_kib;
    let share = if whole("iops_samples") > 0 { 100.0 } else { 0.0 };
    let (least, most) = (bandwidth("iops_min") as u64, bandwidth("iops_max") as u64);
    let _ = write!(line, ";{least};{most};{share:.6}%;{:.6};{:.6}", bandwidth("iops_mean"), bandwidth("iops_stddev"));
}

/// An option of a job, or of all.
fn given<'d>(document: &'d Value, job: &'d Value, name: &str) -> Option<&'d str> {
    job["job options"][name].as_str().or_else(|| document["global options"][name].as_str())
}

/// The line that begins a job: its kind, sizes, engine and depth.
fn begins(document: &Value, job: &Value) -> String {
    let of = |name: &str, default: &'static str| given(document, job, name).unwrap_or(default).to_owned();
    let all = of("bs", "4k");
    let parts: Vec<&str> = all.split(',').collect();
    let sizes = ["R", "W", "T"].iter().enumerate().map(|(kind, name)| {
        let part = parts.get(kind).or(parts.last()).filter(|part| !part.is_empty()).unwrap_or(&"4k");
        let range = given(document, job, "bsrange").unwrap_or(part);
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let [low, high] = [low, high].map(|size| bytes(size, 1024).unwrap_or_default());
        format!("({name}) {low}B-{high}B")
    });
    let sizes = sizes.collect::<Vec<_>>().join(", ");
    let (name, group, rw) = (text(&job["jobname"]), &job["groupid"], of("rw", "read"));
    format!(
        "{name}: (g={group}): rw={rw}, bs={sizes}, ioengine={}, iodepth={}",
        of("ioengine", "psync"),
        of("iodepth", "1")
    )
}

/// fio's ordinary output.
pub(super) fn normal(document: &Value) -> String {
    let mut page = String::new();
    for job in jobs(document) {
        let _ = writeln!(page, "{}", begins(document, job));
    }
    let _ = writeln!(page, "{}\n", text(&document["fio version"]));
    for job in jobs(document) {
        let is_group = given(document, job, "group_reporting").is_some_and(is_on);
        let clones = given(document, job, "numjobs").filter(|_| is_group).unwrap_or("1");
        let (name, group, error) = (text(&job["jobname"]), &job["groupid"], &job["error"]);
        let _ = writeln!(page, "{name}: (groupid={group}, jobs={clones}): err= {error}: pid=0");
        normal_job(&mut page, job);
    }
    let mut groups: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    jobs(document).for_each(|job| groups.entry(number(&job["groupid"]) as u64).or_default().push(job));
    for (group, jobs) in groups {
        let _ = writeln!(page, "\nRun status group {group} (all jobs):");
        KINDS.iter().for_each(|kind| normal_group(&mut page, kind, &jobs));
    }
    for disk in document["disk_util"].as_array().into_iter().flatten() {
        let both = |what: &str| format!("{}/{}", disk[format!("read_{what}")], disk[format!("write_{what}")]);
        let (name, ios, merges, util) = (text(&disk["name"]), both("ios"), both("merges"), number(&disk["util"]));
        let _ = writeln!(page, "\nDisk stats (read/write):\n  {name}: ios={ios}, merge={merges}, util={util:.2}%");
    }
    page
}

fn normal_job(page: &mut String, job: &Value) {
    for kind in KINDS.into_iter().filter(|kind| number(&job[kind]["total_ios"]) > 0.0) {
        normal_direction(page, kind, &job[kind]);
    }
    for (unit, name) in [("latency_ns", "nsec"), ("latency_us", "usec"), ("latency_ms", "msec")] {
        let classes = job[unit].as_object().into_iter().flatten().filter(|(_, share)| number(share) > 0.0);
        let order =
            |class: &str| class.trim_start_matches(">=").parse().unwrap_or(0) + u64::from(class.starts_with('>'));
        let class = |(class, share): (&String, &Value)| (order(class), format!("{class}={:.2}%", number(share)));
        let mut classes: Vec<(u64, String)> = classes.map(class).collect();
        classes.sort();
        if !classes.is_empty() {
            let classes: Vec<String> = classes.into_iter().map(|(_, class)| class).collect();
            let _ = writeln!(page, "  lat ({name})   : {}", classes.join(", "));
        }
    }
    let (user, system) = (number(&job["usr_cpu"]), number(&job["sys_cpu"]));
    let _ = writeln!(page, "  cpu          : usr={user:.2}%, sys={system:.2}%, ctx={}, majf=0, minf=0", job["ctx"]);
    for (line, key) in [("IO depths    ", "level"), ("   submit    ", "submit"), ("   complete  ", "complete")] {
        let names = if key == "level" { LEVELS } else { BATCHES };
        let levels = names.map(|name| format!("{name}={:.1}%", number(&job[format!("iodepth_{key}")][name])));
        let _ = writeln!(page, "  {line}: {}", levels.join(", "));
    }
    let count = |key: &str| KINDS.map(|kind| (number(&job[kind][key]) as u64).to_string()).join(",");
    let (total, flushes, short) = (count("total_ios"), &job["sync"]["total_ios"], count("short_ios"));
    let _ = writeln!(page, "     issued rwts: total={total},{flushes} short={short},0 dropped=0,0,0,0");
}

/// A kind of requests of the jobs that ran together.
fn normal_group(page: &mut String, kind: &str, jobs: &[&Value]) {
    let all = |name: &str| -> Vec<f64> {
        let of = jobs.iter().map(|job| &job[kind]).filter(|of| number(&of["total_ios"]) > 0.0);
        of.map(|of| number(&of[name])).collect()
    };
    let least = |all: &[f64]| all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
    let (rates, times, moved) = (all("bw_bytes"), all("runtime"), all("io_bytes").iter().sum::<f64>());
    if rates.is_empty() {
        return;
    }
    let rates = [moved * 1e3 / most(&times).max(1.0), least(&rates), most(&rates)].map(|rate| both(rate, "/s"));
    let [(rate, decimal), (low, low_decimal), (high, high_decimal)] = rates;
    let ((io, io_decimal), from, to) = (both(moved, ""), least(&times), most(&times));
    let _ = writeln!(
        page,
        "{:>7}: bw={rate} ({decimal}), {low}-{high} ({low_decimal}-{high_decimal}), io={io} ({io_decimal}), run={from}-{to}msec",
        kind.to_uppercase()
    );
}

fn normal_direction(page: &mut String, direction: &str, of: &Value) {
    let (rate, decimal) = both(number(&of["bw_bytes"]), "/s");
    let (io, _) = both(number(&of["io_bytes"]), "");
    let runtime = number(&of["runtime"]) as u64;
    let _ = writeln!(
        page,
        "  {direction}: IOPS={}, BW={rate} ({decimal})({io}/{runtime}msec)",
        thousands(number(&of["iops"]))
    );
    let unit = unit_of(number(&of["clat_ns"]["mean"]));
    for name in ["clat", "lat"] {
        let latency = &of[format!("{name}_ns")];
        let figure = |name: &str| number(&latency[name]) / unit.1;
        let (least, most) = (thousands(figure("min").floor()), thousands(figure("max").floor()));
        let _ = writeln!(
            page,
            "    {name:>4} ({}): min={least}, max={most}, avg={:.2}, stdev={:.2}",
            unit.0,
            figure("mean"),
            figure("stddev")
        );
    }
    let found = percentiles(&of["clat_ns"]);
    if !found.is_empty() {
        let _ = writeln!(page, "    clat percentiles ({}):", unit.0);
        let cell = |(percent, value): &(f64, f64)| format!("{percent:>5.2}th=[{:>5}]", (value / unit.1) as u64);
        for row in found.chunks(4) {
            let end = if row.last() == found.last() { "" } else { "," };
            let _ = writeln!(page, "     | {}{end}", row.iter().map(cell).collect::<Vec<_>>().join(", "));
        }
    }
    let figure = |name: &str| number(&of[name]);
    if figure("iops_samples") > 0.0 {
        let _ = writeln!(
            page,
            "   iops        : min={:>5}, max={:>5}, avg={:.2}, stdev={:.2}, samples={}",
            figure("iops_min"),
            figure("iops_max"),
            figure("iops_mean"),
            figure("iops_stddev"),
            figure("iops_samples")
        );
    }
}

/// A unit of latency whose figures are at least 10 where possible.
fn unit_of(nanoseconds: f64) -> (&'static str, f64) {
    match nanoseconds {
        ..10_000.0 => ("nsec", 1.0),
        10_000.0..10_000_000.0 => ("usec", 1e3),
        _ => ("msec", 1e6),
    }
}

/// Bytes in binary and in decimal units, as fio writes them: `238MiB/s`, `250MB/s`.
fn both(bytes: f64, per: &str) -> (String, String) {
    let binary = Bytes(bytes.round() as u64).to_string().replace(' ', "");
    let decimal = BytesPerSecond(bytes).to_string().replace(' ', "");
    (format!("{binary}{per}"), decimal.trim_end_matches("/s").to_owned() + per)
}

/// A number with k or M, as fio shortens it.
fn thousands(value: f64) -> String {
    match value {
        ..10_000.0 => format!("{}", value.round()),
        10_000.0..10_000_000.0 => format!("{}k", significant(value / 1e3)),
        _ => format!("{}M", significant(value / 1e6)),
    }
}
