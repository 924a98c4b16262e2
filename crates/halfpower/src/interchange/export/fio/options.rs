//! A sample's known workload as the options that fio repeats in its results.

use crate::emit::fio::{bytes, engine, has_whole_rate, pace, words};
use halfpower_model::{
    Advise, Arrivals, HugePages, Operation, Pattern, RequestKind, Sample, TargetKind, Verify, Workload,
};
use serde_json::{Map, Value};

/// The options; numjobs counts the jobs of the group.
///
/// # Errors
/// If readers of fio's results would take them for another workload.
pub(super) fn of(sample: &Sample) -> Result<Map<String, Value>, &'static str> {
    let workload = &sample.workload;
    let needed = ["operation", "pattern", "request_size", "depth", "workers"];
    if needed.iter().any(|field| !workload.is_known(field)) {
        return Err("its operation, pattern, size, depth or workers is not known, and fio's options say them");
    }
    if !workload.sizes.is_empty() {
        return Err("its requests are of several sizes, and readers of fio's results look for one");
    }
    let mut options = Map::new();
    let mut put = |key: &str, value: String| drop(options.insert(key.to_owned(), Value::String(value)));
    let operation = workload.operation;
    if operation.has(RequestKind::Flush)
        || (operation.has(RequestKind::Trim) && !matches!(operation, Operation::Trim | Operation::TrimWrite))
    {
        return Err("fio's jobs read, write, trim, trim and write, or mix reads and writes");
    }
    match workload.pattern {
        Pattern::Sequential
        | Pattern::Runs { .. }
        | Pattern::Shuffled
        | Pattern::Random
        | Pattern::Zipf { .. }
        | Pattern::Pareto { .. }
        | Pattern::Zoned { .. } => {}
        _ => return Err("fio has no word for its pattern"),
    }
    put("bs", workload.request_size.0.to_string());
    put("numjobs", workload.workers.to_string());
    put("group_reporting", "1".to_owned());
    words(workload)
        .into_iter()
        .chain(more_words(workload))
        .filter(|(field, ..)| workload.is_known(field))
        .for_each(|(_, key, value)| put(key, value));
    let files: Vec<String> = sample
        .environment
        .all_targets()
        .filter(|facts| facts.kind != TargetKind::Null && !facts.path.is_empty())
        // fio separates names by colons.
        .map(|facts| facts.path.replace(':', "\\:"))
        .collect();
    if !files.is_empty() {
        put("filename", files.join(":"));
    }
    Ok(options)
}

/// Options that a job file writes differently.
fn more_words(workload: &Workload) -> Vec<(&'static str, &'static str, String)> {
    let mut more = vec![("personality", "ioengine", engine(workload.personality).to_owned())];
    let mut put = |field, key, value: Option<String>| more.extend(value.map(|value| (field, key, value)));
    put("size", "size", bytes(workload.span));
    put("advise", "fadvise_hint", (workload.advise == Advise::Off).then(|| "0".to_owned()));
    put("huge_pages", "mem", (workload.huge_pages == HugePages::On).then(|| "mmaphuge".to_owned()));
    for (key, value) in pace(workload) {
        // A rate of a job or direction that is no whole number is not known afterwards.
        put("arrivals", key, Some(value).filter(|_| key == "rate_process" || has_whole_rate(workload)));
    }
    let is_open = workload.arrivals == Arrivals::Constant;
    put("arrivals", "io_submit_mode", is_open.then(|| "offload".to_owned()));
    put("verify", "verify", (workload.verify != Verify::Off).then(|| "crc32c".to_owned()));
    more
}
