//! fio's ordinary output and its terse one (version 3), as the JSON that fio writes of the same jobs.
//!
//! Ordinary output rounds: requests are those issued, rates are worked out. Terse output does not say the workload, nor whether its
//! reads verified the writes, nor of how many jobs its CPU time is. Neither says whether a job was direct.
//!
//! Source: fio's HOWTO, "Normal output" and "Terse output".

use super::super::error::Fault;
use super::super::json::Document;
use super::super::text::{lines, number, whole};
use crate::fio::units::bytes;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Fields of a job in terse output before its first direction, and those of a direction.
const TERSE_FIRST: usize = 5;
const TERSE_DIRECTION: usize = 41;
/// Kinds of requests, and all as one with `unified_rw_reporting`.
const KINDS: [&str; 4] = ["read", "write", "trim", MIXED];
const MIXED: &str = "mixed";

/// Whether it is terse or ordinary output of fio.
pub(super) fn is_printed(text: &str) -> bool {
    is_ordinary(text) || text.lines().any(is_terse)
}

/// Whether a text begins with a version of fio, or with ours in its place.
fn is_version(text: &str) -> bool {
    ["fio-", "halfpower-"].iter().any(|program| text.starts_with(program))
}

fn is_terse(line: &str) -> bool {
    line.split_once(';').is_some_and(|(version, rest)| whole(version).is_some() && is_version(rest))
}

fn is_ordinary(text: &str) -> bool {
    text.contains(": (groupid=") && text.contains("issued rwt")
}

/// A document with the jobs of each run; terse output is one.
///
/// # Errors
/// At a job that lacks a figure, and of another version of terse output.
pub(super) fn documents(text: &str) -> Result<Vec<Document>, Fault> {
    let runs = if is_ordinary(text) { ordinary(text)? } else { vec![terse(text)?] };
    let document = |(version, jobs)| Document::made(json!({ "fio version": version, "printed": true, "jobs": jobs }));
    Ok(runs.into_iter().map(document).collect())
}

fn terse(text: &str) -> Result<(String, Vec<Value>), Fault> {
    let (mut version, mut jobs) = (String::new(), Vec::new());
    for line in lines(text) {
        let (line, text) = line?;
        if !is_terse(text) {
            continue;
        }
        let fields: Vec<&str> = text.split(';').collect();
        if fields[0] != "3" {
            let message = format!("terse output of version {}; run fio with --terse-version=3", fields[0]);
            return Err(Fault::at(line, message));
        }
        // Behind the directions is the CPU time, in percent. With unified_rw_reporting there is one direction of all requests.
        let firsts = (TERSE_FIRST..fields.len()).step_by(TERSE_DIRECTION);
        let firsts: Vec<usize> = firsts.take_while(|first| !fields[*first].ends_with('%')).collect();
        let is_mixed = firsts.len() == 1;
        if fields.len() <= TERSE_FIRST + TERSE_DIRECTION * if is_mixed { 1 } else { 2 } {
            return Err(Fault::at(line, format!("the job has {} fields only; is it cut short?", fields.len())));
        }
        version = fields[1].to_owned();
        let mut job = json!({ "jobname": fields[2], "groupid": whole(fields[3]), "error": whole(fields[4]) });
        let kinds = if is_mixed { [MIXED].as_slice() } else { &KINDS[..2] };
        for (kind, first) in kinds.iter().zip(firsts) {
            let of = |at: usize| {
                number(fields[first + at])
                    .ok_or_else(|| Fault::at(line, format!("field {} is not a number", first + at + 1)))
            };
            let (kib, bw, iops, runtime_ms) = (of(0)?, of(1)?, of(2)?, of(3)?);
            let ends = |at: usize| {
                Ok(json!({ "min": of(at)?, "max": of(at + 1)?, "mean": of(at + 2)?, "stddev": of(at + 3)? }))
            };
            let mut clat = ends(8)?;
            let percentiles = fields[first + 12..first + 32].iter().filter_map(|field| field.split_once("%="));
            let percentiles = percentiles.filter_map(|(percent, us)| Some((percent.to_owned(), json!(number(us)?))));
            clat["percentile"] = percentiles.filter(|(percent, _)| percent != "0").collect::<Map<_, _>>().into();
            job[*kind] = json!({ "io_bytes": (kib * 1024.0) as u64, "io_kbytes": kib as u64, "bw": bw, "iops": iops,
                "runtime": runtime_ms as u64, "total_ios": (iops * runtime_ms / 1e3).round() as u64,
                "clat": clat, "lat": ends(32)? });
        }
        jobs.push(job);
    }
    Ok((version, jobs))
}

fn ordinary(text: &str) -> Result<Vec<(String, Vec<Value>)>, Fault> {
    let (mut runs, mut version) = (Vec::new(), String::new());
    // Options by job, operations by group.
    let (mut options, mut operations) = (BTreeMap::<&str, Value>::new(), BTreeMap::<Option<u64>, Vec<Value>>::new());
    // Jobs of a run, and the process of each.
    let (mut jobs, mut reported) = (Vec::<Value>::new(), Vec::<Process>::new());
    // Of the job that is read: its options, the kind of requests, and the latency whose percentiles follow.
    let (mut own, mut workers, mut kind, mut family) = (Value::Null, 1_u64, "", String::new());
    for line in lines(text) {
        let (line, text) = line?;
        let wrong = |what: &str| Fault::at(line, format!("{what} is not as fio prints it"));
        let trimmed = text.trim();
        if let Some((name, rest)) = text.split_once(": (g=") {
            if !jobs.is_empty() {
                // The next run.
                runs.push((std::mem::take(&mut version), std::mem::take(&mut jobs)));
                (options, operations, reported) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
            }
            let own = options_of(rest);
            let group = rest.split_once(')').and_then(|(group, _)| whole(group));
            operations.entry(group).or_default().push(own["rw"].clone());
            options.insert(name, own);
        } else if is_version(text) {
            version = trimmed.to_owned();
        } else if let Some((name, rest)) = text.split_once(": (groupid=") {
            let (job, process) = reported_job(name, rest, &options).ok_or_else(|| wrong("the group"))?;
            own = job.get("job options").cloned().unwrap_or_default();
            workers = process.jobs;
            // With --status-interval the last report of a job has all of the earlier ones.
            if let Some(earlier) = reported.iter().position(|other| process.id.is_some() && *other == process) {
                reported.remove(earlier);
                jobs.remove(earlier);
            }
            reported.push(process);
            jobs.push(job);
        } else if let Some(job) = jobs.last_mut() {
            if let Some(of) = KINDS.into_iter().find(|kind| trimmed.starts_with(&format!("{kind}: IOPS="))) {
                kind = of;
                // Behind a semicolon are resets of zones.
                let rate = trimmed.split(';').next().unwrap_or(trimmed);
                let moved = rate.rsplit_once('(').and_then(|(_, rest)| rest.strip_suffix("msec)")?.split_once('/'));
                let (moved, ms) = moved.ok_or_else(|| wrong("the amount and its time"))?;
                let (moved, ms) = amount(moved).zip(whole(ms)).ok_or_else(|| wrong("the amount or its time"))?;
                job[kind] = json!({ "io_bytes": moved, "io_kbytes": moved / 1024, "runtime": ms,
                    "bw": moved as f64 / 1024.0 / (ms as f64 / 1e3).max(1e-9), "iops": 0 });
                let longest = job["job_runtime"].as_u64().unwrap_or(0).max(ms.saturating_mul(workers));
                job["job_runtime"] = longest.into();
            } else if let Some((name, rest)) = trimmed.split_once(" (").filter(|_| trimmed.contains("): min=")) {
                let unit = rest.split(')').next().unwrap_or_default();
                let of = figures(rest);
                let ns = |key: &str| of.get(key).map(|value| value * unit_ns(unit));
                let summary = json!({ "min": ns("min").map(|ns| ns as u64), "max": ns("max").map(|ns| ns as u64),
                    "mean": ns("avg"), "stddev": ns("stdev") });
                if kind == "sync" && name == kind {
                    job[kind]["lat_ns"] = summary;
                } else if ["lat", "clat"].contains(&name) && !kind.is_empty() {
                    job[kind][format!("{name}_ns")] = summary;
                }
            } else if let Some((name, unit)) = trimmed.split_once(" percentiles (") {
                let name = if name == "sync" { "lat" } else { name };
                family = format!("{name}_ns {}", unit.trim_end_matches("):"));
            } else if trimmed.starts_with("fsync/fdatasync/sync_file_range") {
                kind = "sync";
            } else if let Some(percentiles) = trimmed.strip_prefix('|') {
                let (name, unit) = family.split_once(' ').unwrap_or(("clat_ns", "usec"));
                if !kind.is_empty() && job[kind][name].is_object() {
                    put_percentiles(&mut job[kind][name], percentiles, unit).ok_or_else(|| wrong("a percentile"))?;
                }
            } else if let Some(cpu) = trimmed.strip_prefix("cpu").and_then(|rest| rest.trim_start().strip_prefix(':')) {
                let of = figures(cpu);
                (job["usr_cpu"], job["sys_cpu"]) = (json!(of.get("usr")), json!(of.get("sys")));
            } else if let Some(totals) = trimmed.strip_prefix("issued rwt").and_then(|rest| rest.split_once("total=")) {
                let totals = totals.1.split_whitespace().next().unwrap_or_default();
                let totals: Option<Vec<u64>> = totals.split(',').map(whole).collect();
                let totals = totals.ok_or_else(|| wrong("the number of requests"))?;
                issued(job, &totals, &own);
                if operations.get(&job["groupid"].as_u64()).is_some_and(|all| all.iter().all(wrote)) {
                    verified(job, workers);
                }
                kind = "";
            }
        }
    }
    runs.push((version, jobs));
    Ok(runs)
}

/// `50.00th=[  748], 99.00th=[ 1085]` as the percentiles of a latency; none where one is no number.
fn put_percentiles(latency: &mut Value, text: &str, unit: &str) -> Option<()> {
    for (percent, value) in text.split(',').filter_map(|part| part.split_once("th=[")) {
        let percent = number(percent)?;
        let ns = number(value.trim_end_matches(']')).map(|value| (value * unit_ns(unit)) as u64);
        latency["percentile"][format!("{percent:.6}")] = json!(ns);
    }
    Some(())
}

fn wrote(operation: &Value) -> bool {
    *operation == "write" || *operation == "randwrite"
}

/// A group that wrote only read for its verification, before or behind the writes.
fn verified(job: &mut Value, workers: u64) {
    if job.get("read").is_some() {
        job["job options"]["verify"] = "unnamed".into();
        let each = KINDS[..3].iter().filter_map(|kind| job.get(kind)?.get("runtime")?.as_u64());
        job["job_runtime"] = each.sum::<u64>().saturating_mul(workers).into();
    }
}

/// Which job a report is of.
#[derive(PartialEq)]
struct Process {
    name: String,
    group: u64,
    id: Option<u64>,
    /// The clones that are reported together.
    jobs: u64,
}

/// `a: (groupid=0, jobs=2): err= 0: pid=10: …`: a job, with its options if the run named them.
fn reported_job(name: &str, rest: &str, options: &BTreeMap<&str, Value>) -> Option<(Value, Process)> {
    let after = |key: &str| {
        let digits = rest.split_once(key)?.1.trim_start();
        whole(digits.split(|letter: char| !letter.is_ascii_digit()).next()?)
    };
    let group = rest.split_once(',').and_then(|(group, _)| whole(group))?;
    let jobs = after("jobs=").unwrap_or(1).max(1);
    let mut job = json!({ "jobname": name, "groupid": group, "error": after("err=").unwrap_or(0) });
    if let Some(own) = options.get(name) {
        job["job options"] = own.clone();
        job["job options"]["numjobs"] = json!(jobs.to_string());
        job["job options"]["group_reporting"] = json!("1");
    }
    Some((job, Process { name: name.to_owned(), group, id: after("pid="), jobs }))
}

/// Sets the requests of a job: its reads, writes, trims and flushes.
fn issued(job: &mut Value, totals: &[u64], options: &Value) {
    let mut are_alike = true;
    for (kind, total) in ["read", "write", "trim", "sync"].into_iter().zip(totals) {
        if let Some(part) = job.get_mut(kind) {
            are_alike &= count_requests(part, *total, options);
        }
    }
    if let Some(part) = job.get_mut(MIXED) {
        let all = totals.iter().take(3).fold(0_u64, |sum, total| sum.saturating_add(*total));
        are_alike &= count_requests(part, all, options);
    }
    let options = job.get_mut("job options").and_then(Value::as_object_mut);
    if let Some(options) = options.filter(|_| !are_alike) {
        options.remove("bs");
        options.insert("bsrange".to_owned(), "several".into());
    }
}

/// Sets the requests of a kind, its rate, and its exact bytes if all have one size. False where the printed amount, rounded
/// to three digits, says that they have not.
fn count_requests(part: &mut Value, requests: u64, options: &Value) -> bool {
    part["total_ios"] = requests.into();
    let Some(ms) = part.get("runtime").and_then(Value::as_u64) else { return true };
    let seconds = (ms as f64 / 1e3).max(1e-9);
    part["iops"] = json!(requests as f64 / seconds);
    let size = options.get("bs").and_then(Value::as_str).and_then(|size| bytes(size, 1024));
    let Some(moved) = size.and_then(|size| requests.checked_mul(size)) else { return true };
    let printed = part.get("io_bytes").and_then(Value::as_u64).unwrap_or_default();
    let is_one_size = printed.abs_diff(moved) <= printed / 50 + 4096;
    if is_one_size {
        (part["io_bytes"], part["bw"]) = (moved.into(), json!(moved as f64 / 1024.0 / seconds));
    }
    is_one_size
}

/// `0): rw=randread, bs=(R) 4096B-4096B, (W) …, ioengine=psync, iodepth=1`: the options that fio repeats of a job.
fn options_of(text: &str) -> Value {
    let mut options = Map::new();
    for (key, value) in text.split(", ").filter_map(|part| part.rsplit_once('=')) {
        let key = key.rsplit(' ').next().unwrap_or(key);
        if ["rw", "ioengine", "iodepth"].contains(&key) {
            options.insert(key.to_owned(), json!(value.trim()));
        }
    }
    let ranges: Vec<Option<(&str, &str)>> = ["(R) ", "(W) "]
        .iter()
        .filter_map(|kind| Some(text.split_once(kind)?.1.split([',', ' ']).next()?.split_once('-')))
        .collect();
    let same = ranges.first().copied().flatten().filter(|(from, to)| from == to);
    let same = same.filter(|first| ranges.iter().all(|range| *range == Some(*first)));
    match same.and_then(|(size, _)| amount(size)) {
        Some(size) => options.insert("bs".to_owned(), json!(size.to_string())),
        // Several sizes, of which the shares are not printed.
        None => options.insert("bsrange".to_owned(), json!("several")),
    };
    options.into()
}

/// `min=40, max=2.6k, avg=53.97` by name; percent signs are left out.
fn figures(text: &str) -> BTreeMap<&str, f64> {
    let figure = |part| -> Option<(&str, f64)> {
        let (key, value): (&str, &str) = str::split_once(part, '=')?;
        let value = value.trim().trim_end_matches(['%', ')', ':']);
        let digits = value.trim_end_matches(['k', 'M']);
        let factor = match &value[digits.len()..] {
            "k" => 1e3,
            "M" => 1e6,
            _ => 1.0,
        };
        Some((key.rsplit([' ', ':']).next()?, number(digits)? * factor))
    };
    text.split(',').filter_map(figure).collect()
}

/// `4096KiB`, `1.5GiB`.
fn amount(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "B" => 0_i32,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return None,
    };
    number(digits).map(|value| (value * f64::from(factor).exp2()) as u64)
}

fn unit_ns(unit: &str) -> f64 {
    match unit {
        "nsec" => 1.0,
        "usec" => 1e3,
        _ => 1e6,
    }
}
