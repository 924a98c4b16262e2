//! The logs of one run of fio: for each job and direction one sample with the figures of all its logs.

use super::Format;
use halfpower_model::Sample;
use serde_json::Value;
use std::path::Path;

/// Endings of a log's name. Figures of an earlier one are preferred: latencies with the submission are, and exact ones.
const KINDS: [&str; 6] = ["_bw", "_iops", "_lat", "_clat", "_clat_hist", "_slat"];

/// The job of a log and the kind of the log, by its name: `job_bw.1.log`. None of other files.
pub(crate) fn job_of(path: &Path) -> Option<(String, usize)> {
    let name = path.file_name()?.to_str()?.strip_suffix(".log")?;
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let of = |(kind, ending): (usize, &&str)| Some((stem.strip_suffix(*ending)?, kind));
    let (job, kind) = KINDS.iter().enumerate().find_map(of)?;
    Some((format!("{job}{}", &name[stem.len()..]), kind))
}

/// Adds the sample of a further log of the job to those of its directions. Returns a sample that is of no log.
pub(crate) fn gather(held: &mut Vec<Sample>, job: &str, mut sample: Sample) -> Option<Sample> {
    let origin = sample.origin.as_mut().filter(|origin| origin.format == Format::FioLog.word());
    let Some(origin) = origin else { return Some(sample) };
    origin.record = Some(job.to_owned());
    let same = held.iter_mut().find(|one| one.workload.operation == sample.workload.operation);
    match same.and_then(|one| Some((both(one, &sample)?, one))) {
        Some((both, one)) => *one = both,
        None => held.push(sample),
    }
    None
}

/// The first sample, completed by the figures of the second.
fn both(one: &Sample, other: &Sample) -> Option<Sample> {
    let (mut record, mut more) = (serde_json::to_value(one).ok()?, serde_json::to_value(other).ok()?);
    // Logs of one job write their lines at the same times; those of other times cannot be added.
    if !one.intervals.is_empty() && one.intervals.len() != other.intervals.len() {
        more["intervals"] = Value::Null;
        more["origin"]["unknown"].as_array_mut()?.extend(["intervals.requests", "intervals.bytes"].map(Value::from));
    }
    fill(&mut record, more);
    serde_json::from_value(record).ok()
}

/// Puts the values of a record in the place of nulls and of empty lists.
fn fill(into: &mut Value, other: Value) {
    match (into, other) {
        (Value::Object(own), Value::Object(other)) => {
            for (key, value) in other {
                match (own.get_mut(&key), &value) {
                    (Some(Value::Array(own)), Value::Array(other)) if key == "unknown" => {
                        own.retain(|field| other.contains(field));
                    }
                    (Some(own), _) => fill(own, value),
                    (None, _) => drop(own.insert(key, value)),
                }
            }
        }
        (Value::Array(own), Value::Array(other)) if own.len() == other.len() => {
            own.iter_mut().zip(other).for_each(|(own, other)| fill(own, other));
        }
        (Value::Array(own), Value::Array(other)) if own.is_empty() => *own = other,
        (own @ Value::Null, other) => *own = other,
        _ => {}
    }
}
