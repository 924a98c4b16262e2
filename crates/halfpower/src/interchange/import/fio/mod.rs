//! fio's JSON and JSON+, of a client and of a server's clients, and of fio 2.x, which has microseconds and KiB.
//!
//! Each job is a sample. Latencies are those of the family with a histogram (JSON+), else with percentiles: `lat` if it
//! was enabled, else `clat`, which excludes the submission. fio's buckets are ours, so a histogram is copied bucket by
//! bucket; its sum is mean times count. Rates of a direction are fio's, over its run time. Documents that
//! `--status-interval` printed during the run are left out: the last one contains them.

mod direction;
mod log;
mod options;
mod printed;

use super::error::Fault;
use super::json::{Document, count, documents, figure};
use super::record::{Figures, began, environment, fill, lasted, origin, used};
use super::{Collected, Format, Source};
use crate::fio::ran_together;
use crate::text::once;
use direction::Direction;
use halfpower_model::sample::{self, Block, Failure, Warning};
use halfpower_model::{Bytes, Nanoseconds, Operation, RequestKind, Sample, WorkloadSpec};
use options::Options;
use serde_json::Value;
use std::collections::BTreeMap;

pub(super) use log::{is_one as is_log, read as read_log};

/// The parts of a job by kind of request.
const DIRECTIONS: [(&str, RequestKind); 3] =
    [("read", RequestKind::Read), ("write", RequestKind::Write), ("trim", RequestKind::Trim)];

/// Prefix of the jobs of an emitted plan that remove its files.
const REMOVES: &str = "remove-test-file-";

/// Whether it is fio's JSON, or what it prints without.
pub(super) fn is_one(source: Source<'_>) -> bool {
    let is_json = source.text.contains("\"fio version\"")
        && (source.text.contains("\"jobs\"") || source.text.contains("\"client_stats\""));
    is_json || printed::is_printed(source.text)
}

/// Every job of every document.
///
/// # Errors
/// At the first invalid document.
pub(super) fn read(source: Source<'_>) -> Result<Collected, Fault> {
    let is_printed = printed::is_printed(source.text) && !source.text.contains("\"fio version\"");
    let documents = if is_printed { printed::documents(source.text) } else { documents(source.text) }?;
    let mut collected = Collected::default();
    let mut superseded = 0;
    for (index, document) in documents.iter().enumerate() {
        if documents.get(index + 1).is_some_and(|next| goes_on(&document.value, &next.value)) {
            superseded += 1;
            continue;
        }
        read_document(document, source, &mut collected)?;
    }
    if superseded > 0 {
        let message = format!("{superseded} documents printed while the jobs ran are left out");
        collected.note("status_documents", message, "nothing to do: the last document has all that is in them");
    }
    Ok(collected)
}

/// The jobs of a document; in client mode, those of each client without their sum.
fn jobs(document: &Value) -> impl Iterator<Item = &Value> {
    let entries = ["jobs", "client_stats"].into_iter().filter_map(|key| document.get(key)?.as_array()).flatten();
    entries.filter(|job| job.get("jobname").and_then(Value::as_str) != Some("All clients"))
}

/// Whether `later` reports the same jobs as `earlier`: they began before `earlier` was printed.
fn goes_on(earlier: &Value, later: &Value) -> bool {
    let names = |document| jobs(document).map(|job| job.get("jobname").cloned()).collect::<Vec<_>>();
    let at_ms = |document: &Value| document.get("timestamp_ms").and_then(count);
    let longest = jobs(later)
        .flat_map(|job| DIRECTIONS.iter().filter_map(|(key, _)| job.get(key)?.get("runtime").and_then(count)));
    let (Some(first), Some(second), Some(runtime)) = (at_ms(earlier), at_ms(later), longest.max()) else {
        return false;
    };
    second >= first && second - first < runtime && names(earlier) == names(later)
}

fn read_document(document: &Document, source: Source<'_>, collected: &mut Collected) -> Result<(), Fault> {
    let value = &document.value;
    let Some(version) = value.get("fio version").and_then(Value::as_str) else {
        return Err(Fault::at(document.line, "the document is not fio's: it has no `fio version`"));
    };
    let global = value.get("global options");
    let mut read: Vec<(Option<u64>, bool, Sample)> = Vec::new();
    for (number, job) in jobs(value).enumerate() {
        let name = job.get("jobname").and_then(Value::as_str).unwrap_or_default();
        let host = job.get("hostname").and_then(Value::as_str).unwrap_or_default();
        let options = job.get("job options").map(|options| Options::of(global, options));
        let options = if version.starts_with("halfpower") { options.map(Options::of_our_export) } else { options };
        let options = if value.get("printed").is_some() { options.map(Options::in_part) } else { options };
        if name.starts_with(REMOVES) && options.as_ref().is_some_and(|options| options.is_on("unlink")) {
            let message = format!("the job `{name}` removes a test file and measures nothing; it is left out");
            collected.note("test_left_out", message, "nothing to do");
            continue;
        }
        let record = if host.is_empty() { name.to_owned() } else { format!("{name} on {host}") };
        // `export --format fio` writes its program there.
        let (tool, version) = version.split_once('-').unwrap_or(("fio", version));
        let mut from = origin(Format::Fio, source, Some(document.line), Some(&record), Some(version));
        from.tool = Some(tool.to_owned());
        from.also = also(job);
        let place = || format!("job {} (`{}`)", number + 1, name.chars().take(60).collect::<String>());
        let wrong = |what: String| Fault::at(document.line, format!("{}: {what}", place()));
        let mut sample = sample_of(job, options.as_ref(), from, collected).map_err(wrong)?;
        sample.environment.host = host.to_owned();
        began_at(&mut sample, value, job);
        // A job that waits begins a group; fio does not always repeat the option. Its clones repeat it.
        let waits = options.as_ref().is_some_and(Options::waits);
        read.push((job.get("groupid").and_then(count), waits, sample));
    }
    if let [(.., sample)] = &mut read[..] {
        counted_at_device(sample, value, collected);
    }
    let is_clone = |one: &Sample, next: &Sample| {
        let name = |sample: &Sample| sample.origin.as_ref().and_then(|origin| origin.record.clone());
        name(one) == name(next)
    };
    let together = read
        .chunk_by(|one, next| one.0 == next.0 && (!next.1 || is_clone(&one.2, &next.2)))
        .map(|group| group.len())
        .collect::<Vec<_>>();
    let mut read = read.into_iter().map(|(.., sample)| sample);
    for count in together {
        let jobs: Vec<Sample> = read.by_ref().take(count).collect();
        take_together(jobs, value.get("printed").is_some(), collected)?;
    }
    Ok(())
}

/// Jobs that ran at the same time: as one sample, if they did the same.
fn take_together(jobs: Vec<Sample>, are_printed: bool, collected: &mut Collected) -> Result<(), Fault> {
    let count = jobs.len();
    // Of a workload that is not known the name has to do.
    let name = |one: &Sample| one.origin.as_ref()?.record.clone().filter(|_| !one.workload.is_known("request_size"));
    let alike = |one: &Sample| (one.workload.clone_of_job(), name(one));
    if count > 1 && are_printed && jobs.iter().all(|job| name(job).is_some()) {
        let message = "several lines are of one job: whether they ran together, or one after another, is not in them";
        collected.doubt("terse_lines", message, "run fio with --output-format=json+, which has it");
        return jobs.into_iter().try_for_each(|job| collected.take(job));
    }
    let are_alike = jobs.windows(2).all(|pair| alike(&pair[0]) == alike(&pair[1]));
    if count > 1 && !are_alike {
        return jobs.into_iter().try_for_each(|mut job| {
            job.warnings.push(ran_together(count));
            collected.take(job)
        });
    }
    let names = once(jobs.iter().filter_map(|job| job.origin.as_ref()?.record.clone())).join(", ");
    let origins = jobs.iter().filter_map(|job| job.origin.as_ref());
    let also = origins.flat_map(|origin| {
        let of = |(name, value): (&String, &String)| {
            (format!("{name}, {}", origin.record.as_deref().unwrap_or_default()), value.clone())
        };
        origin.also.iter().map(of)
    });
    let also: BTreeMap<String, String> = also.collect();
    let Some(mut whole) = Sample::together(jobs) else { return Ok(()) };
    if let Some(origin) = whole.origin.as_mut().filter(|_| count > 1) {
        (origin.record, origin.also) = (Some(names), also);
    }
    collected.take(whole)
}

/// What the kernel counted at the device of the only job; without bytes, as before 3.36, it is left out.
fn counted_at_device(sample: &mut Sample, document: &Value, collected: &mut Collected) {
    let Some([disk]) = document.get("disk_util").and_then(Value::as_array).map(Vec::as_slice) else { return };
    let of = |key: &str| disk.get(key).and_then(count);
    let direction = |kind: &str| {
        let bytes = of(&format!("{kind}_sectors"))?.checked_mul(512)?;
        Some(sample::Direction { requests: of(&format!("{kind}_ios"))?, bytes, amplification: None })
    };
    let (Some(read), Some(write)) = (direction("read"), direction("write")) else {
        let message = "the counts of the disk are left out: this version of fio does not say its bytes";
        return collected.note("disk_left_out", message, "use fio 3.36 or later");
    };
    let merges = of("read_merges").unwrap_or_default().saturating_add(of("write_merges").unwrap_or_default());
    let Some(busy) = disk.get("util").and_then(figure).filter(|percent| *percent <= 100.0) else { return };
    sample.block = Some(Block {
        requests: read.requests.saturating_add(write.requests),
        bytes: read.bytes.saturating_add(write.bytes),
        merges,
        busy_fraction: busy / 100.0,
        devices: 1,
        read: Some(read),
        write: Some(write),
        ..Block::default()
    });
    sample.mark_known("block");
}

/// Since 3.36 a job has its start. Before, the document has the time of printing, and a job its length in seconds.
fn began_at(sample: &mut Sample, document: &Value, job: &Value) {
    let at = |ms: u64| jiff::Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok();
    let printed = || {
        let elapsed_ms = count(job.get("elapsed")?)?.checked_mul(1000)?;
        count(document.get("timestamp_ms")?)?.checked_sub(elapsed_ms)
    };
    let start = job.get("job_start").and_then(count).or_else(printed);
    if let Some(start) = start.and_then(at) {
        began(sample, start);
    }
}

fn sample_of(
    job: &Value,
    options: Option<&Options>,
    origin: halfpower_model::Origin,
    collected: &mut Collected,
) -> Result<Sample, String> {
    let mut directions = Vec::new();
    for (key, kind) in DIRECTIONS {
        if let Some(part) = job.get(key)
            && let Some(direction) = Direction::read(part, collected).map_err(|what| format!("`{key}`: {what}"))?
        {
            directions.push((kind, direction));
        }
    }
    let mixed = job.get("mixed").map(|mixed| Direction::read(mixed, collected)).transpose();
    // With `unified_rw_reporting=both` it repeats the others.
    let mixed = mixed.map_err(|what| format!("`mixed`: {what}"))?.flatten().filter(|_| directions.is_empty());
    let is_verified_write = options.is_some_and(Options::verifies_writes);
    if is_verified_write && directions.len() > 1 {
        directions.retain(|(kind, _)| *kind != RequestKind::Read);
        collected.note("verification", "the reads of the verification are left out", "nothing to do");
    }
    let workers = options.and_then(|options| options.workers_of(job, &directions));
    let mut spec = options.map(Options::spec).unwrap_or_default();
    spec.workers = workers.or(spec.workers);
    contradict(&mut spec, &directions, collected);
    let files = options.map(Options::files).unwrap_or_default();
    let environment = environment(files.iter().map(String::as_str), None);
    let targets = u32::try_from(files.len()).ok().filter(|count| *count > 0);
    let mut sample = Sample::imported(spec.imported(targets), environment, origin);
    let longest_ms = directions.iter().map(|(_, direction)| direction.runtime_ms).max().unwrap_or_default();
    fill_directions(&mut sample, directions, mixed);
    if let Some(flushes) = job.get("sync").and_then(|part| direction::flushes(part, longest_ms)) {
        fill(&mut sample, Some(RequestKind::Flush), flushes);
    }
    if let (Some(ms), Some(user), Some(system)) =
        (job.get("job_runtime").and_then(count), cpu_share(job, "usr_cpu"), cpu_share(job, "sys_cpu"))
    {
        used(&mut sample, user * ms as f64 / 1e3, system * ms as f64 / 1e3);
    }
    if let Some(error) = job.get("error").and_then(Value::as_i64).filter(|error| *error != 0) {
        let words = i32::try_from(error).map(|number| format!(": {}", std::io::Error::from_raw_os_error(number)));
        let message = format!("fio says that the job ended with error {error}{}", words.unwrap_or_default());
        // The error is the reason why nothing was measured.
        sample.warnings.retain(|warning| warning.code != "nothing_measured");
        sample.warnings.push(Warning::new("job_failed", message.clone(), "see what the target refuses"));
        let code = i32::try_from(error).map_or_else(|_| format!("errno {error}"), halfpower_engine::error_name);
        sample.failure = Some(Failure { code, message });
    }
    Ok(sample)
}

/// Latencies of the submission and levels of the queue depth, in words.
fn also(job: &Value) -> BTreeMap<String, String> {
    let mut also = BTreeMap::new();
    for (key, _) in DIRECTIONS {
        let Some(part) = job.get(key) else { continue };
        let slat = part.get("slat_ns").map(|slat| (slat, 1.0)).or_else(|| Some((part.get("slat")?, 1e3)));
        let of = |name: &str| {
            let (slat, factor) = slat?;
            let taken = slat.get(name).and_then(figure).map(|taken| taken * factor)?;
            Some(Nanoseconds(taken as u64)).filter(|taken| taken.0 > 0)
        };
        if let (Some(mean), Some(max)) = (of("mean"), of("max")) {
            also.insert(format!("submission latency of {key}s"), format!("mean {mean}, maximum {max}"));
        }
    }
    let levels = job.get("iodepth_level").and_then(Value::as_object).into_iter().flatten();
    let share = |(level, percent): (&String, &Value)| {
        let percent = figure(percent).filter(|percent| *percent >= 0.05)?;
        let level: String = level.chars().take(8).collect();
        Some((level.trim_start_matches(">=").parse().unwrap_or(0_u64), format!("{level}: {percent:.1} %")))
    };
    let mut levels: Vec<(u64, String)> = levels.filter_map(share).take(16).collect();
    levels.sort();
    if !levels.is_empty() {
        let levels: Vec<String> = levels.into_iter().map(|(_, level)| level).collect();
        also.insert("queue depth".to_owned(), levels.join(", "));
    }
    also
}

/// A share of the run time of the job's threads, from percent.
fn cpu_share(job: &Value, key: &str) -> Option<f64> {
    job.get(key).and_then(figure).map(|percent| percent / 100.0)
}

/// The options of a group are those of one job: if its requests are of other kinds, the workload is unknown.
fn contradict(spec: &mut WorkloadSpec, directions: &[(RequestKind, Direction)], collected: &mut Collected) {
    let Some(operation) = spec.operation else {
        spec.operation = only(directions);
        return;
    };
    let sum = |of: fn(&Figures) -> Option<u64>| directions.iter().map(|(_, one)| of(&one.figures)).sum::<Option<u64>>();
    let (bytes, requests) = (sum(|figures| figures.bytes), sum(|figures| figures.requests));
    // The last request of a file may be shorter.
    let has_its_size = |size: Bytes| match bytes.zip(requests) {
        Some((bytes, requests)) if requests >= 50 && spec.sizes.is_none() => {
            (bytes as f64 / (requests as f64 * size.0 as f64) - 1.0).abs() < 0.05
        }
        _ => true,
    };
    if directions.iter().all(|(kind, _)| operation.has(*kind)) && spec.request_size.is_none_or(has_its_size) {
        return;
    }
    *spec = WorkloadSpec { operation: only(directions), ..WorkloadSpec::default() };
    let message = "the options of a group are those of one job, but its requests are of all, of other kinds or sizes: its workload is left unknown";
    collected.doubt("options_of_one_job", message, "run without group_reporting, or one kind of job in a group");
}

/// The operation of requests of one kind.
fn only(directions: &[(RequestKind, Direction)]) -> Option<Operation> {
    let [(kind, _)] = directions else { return None };
    [Operation::Read, Operation::Write, Operation::Trim].into_iter().find(|one| one.only() == Some(*kind))
}

fn fill_directions(sample: &mut Sample, directions: Vec<(RequestKind, Direction)>, mixed: Option<Direction>) {
    let all: Vec<Direction> = directions.iter().map(|(_, direction)| direction.clone()).chain(mixed).collect();
    directions.into_iter().for_each(|(kind, direction)| fill(sample, Some(kind), direction.figures));
    let elapsed_ms = all.iter().map(|direction| direction.runtime_ms).max().unwrap_or_default();
    let total = match &all[..] {
        [] => Figures { requests: Some(0), bytes: Some(0), ..Figures::default() },
        [alone] => Figures { histogram: None, ..alone.figures.clone() },
        several => direction::together(several, elapsed_ms, &sample.latency_histogram.total()),
    };
    fill(sample, None, total);
    if elapsed_ms > 0 {
        lasted(sample, elapsed_ms as f64 / 1e3);
    } else {
        let message = "the job ran for less than a millisecond, or not at all";
        sample.warnings.push(Warning::new("nothing_measured", message, "let it run longer"));
    }
}
