//! A sample's workload as the options fio repeats in its results: those that fio has words for, and what is known.

use halfpower_model::{
    Arrivals, Bytes, Durability, Nanoseconds, Operation, Pattern, Personality, Rate, RequestKind, Sample, TargetKind,
    Verify, WorkerKind, Workload,
};
use serde_json::{Map, Value};

/// The options; numjobs are a group's.
///
/// # Errors
/// When a reader of fio's results would take them for another workload.
pub(super) fn of(sample: &Sample) -> Result<Map<String, Value>, &'static str> {
    let workload = &sample.workload;
    let needed = ["operation", "pattern", "request_size", "depth", "workers"];
    if needed.iter().any(|field| !workload.tells(field)) {
        return Err("its operation, pattern, size, depth or workers is not known, and fio's options say them");
    }
    if !workload.sizes.is_empty() {
        return Err("its requests are of several sizes, and readers of fio's results look for one");
    }
    let mut options = Map::new();
    let mut put = |key: &str, value: String| drop(options.insert(key.to_owned(), Value::String(value)));
    let random = if workload.pattern.is_ordered() { "" } else { "rand" };
    match workload.operation {
        Operation::Read | Operation::Write | Operation::Trim => put("rw", format!("{random}{}", workload.operation)),
        mix if !mix.has(RequestKind::Trim) && !mix.has(RequestKind::Flush) => {
            put("rw", format!("{random}rw"));
            put("rwmixread", mix.percent(RequestKind::Read).to_string());
        }
        _ => return Err("fio's jobs read, write, trim, or mix reads and writes"),
    }
    match workload.pattern {
        Pattern::Sequential | Pattern::Shuffled => {}
        Pattern::Random => put("norandommap", "1".to_owned()),
        Pattern::Zipf { theta } => put("random_distribution", format!("zipf:{theta}")),
        Pattern::Pareto { share } => put("random_distribution", format!("pareto:{share}")),
        _ => return Err("fio has no word for its pattern"),
    }
    put("bs", workload.request_size.0.to_string());
    put("iodepth", workload.depth.to_string());
    put("numjobs", workload.workers.to_string());
    put("group_reporting", "1".to_owned());
    for (key, value) in told(workload) {
        put(key, value);
    }
    let files: Vec<String> = sample
        .environment
        .all_targets()
        .filter(|facts| facts.kind != TargetKind::Null && !facts.path.is_empty())
        // fio's own way to have a colon in a name.
        .map(|facts| facts.path.replace(':', "\\:"))
        .collect();
    if !files.is_empty() {
        put("filename", files.join(":"));
    }
    Ok(options)
}

/// Options of what is known.
fn told(workload: &Workload) -> Vec<(&'static str, String)> {
    let switch = |on: bool| u8::from(on).to_string();
    let mut options = Vec::new();
    let mut put = |field: &str, key, value: Option<String>| {
        if let Some(value) = value.filter(|_| workload.tells(field)) {
            options.push((key, value));
        }
    };
    let bytes = |bytes: Bytes| (bytes.0 > 0).then(|| bytes.0.to_string());
    let time = |time: Nanoseconds| format!("{}us", time.0 / 1000);
    put("processes", "thread", Some(switch(workload.worker_kind == WorkerKind::Thread)));
    put("buffering", "direct", Some(switch(workload.buffering.is_direct())));
    put("buffering", "sync", Some(if workload.buffering.is_through() { "dsync" } else { "none" }.to_owned()));
    put("personality", "ioengine", Some(engine(workload.personality).to_owned()));
    put("size", "size", bytes(workload.span));
    put("offset", "offset", bytes(workload.offset));
    put("limits", "runtime", workload.limits.duration.map(time));
    put("warmup_s", "ramp_time", Some(workload.warmup).filter(|warmup| warmup.0 > 0).map(time));
    let (key, every) = match workload.durability {
        Durability::None => ("fsync", None),
        Durability::FlushAtEnd => ("end_fsync", Some(1)),
        Durability::Fsync { every } => ("fsync", Some(every)),
        Durability::Fdatasync { every } => ("fdatasync", Some(every)),
    };
    put("durability", key, every.map(|every| every.to_string()));
    if workload.arrivals != Arrivals::Closed {
        let process = if workload.arrivals == Arrivals::Poisson { "poisson" } else { "linear" };
        put("arrivals", "rate_process", Some(process.to_owned()));
        match workload.rate {
            Some(Rate::Requests(rate)) => put("arrivals", "rate_iops", Some(rate.to_string())),
            Some(Rate::Bytes(rate)) => put("arrivals", "rate", Some(rate.to_string())),
            None => {}
        }
    }
    put("verify", "verify", (workload.verify != Verify::Off).then(|| "crc32c".to_owned()));
    options
}

/// fio's engine; our own word where it has none.
fn engine(personality: Personality) -> &'static str {
    match personality {
        Personality::Sync => "psync",
        Personality::Vectored => "pvsync2",
        Personality::Nvme => "io_uring_cmd",
        other => other.word(),
    }
}
