//! fio's options for a workload, as far as it has the same: for job files, and for exported results.

use halfpower_model::{
    Advise, Bytes, Durability, Nanoseconds, Operation, Pattern, Personality, RequestKind, WorkerKind, Workload,
};

/// fio's engines with the same personality.
const ENGINES: [(Personality, &str); 9] = [
    (Personality::Sync, "psync"),
    (Personality::Vectored, "pvsync2"),
    (Personality::Libaio, "libaio"),
    (Personality::IoUring, "io_uring"),
    (Personality::Nvme, "io_uring_cmd"),
    (Personality::Mmap, "mmap"),
    (Personality::Null, "null"),
    (Personality::Sg, "sg"),
    (Personality::Nbd, "nbd"),
];

/// The options and their values, each with its field of the workload.
pub(crate) fn words(workload: &Workload) -> Vec<(&'static str, &'static str, String)> {
    let mut words = Vec::new();
    let mut put = |field, key, value: Option<String>| words.extend(value.map(|value| (field, key, value)));
    let switch = |on: bool| Some(u8::from(on).to_string());
    let is_ordered = workload.pattern.is_ordered();
    let random = if is_ordered { "" } else { "rand" };
    let is_mix = matches!(workload.operation, Operation::Mix(_));
    let kind = if is_mix { "rw".to_owned() } else { workload.operation.to_string().replace('_', "") };
    put("operation", "rw", Some(format!("{random}{kind}")));
    put("operation", "rwmixread", is_mix.then(|| workload.operation.percent(RequestKind::Read).to_string()));
    let distribution = match workload.pattern {
        Pattern::Zipf { theta } => Some(format!("zipf:{theta}")),
        Pattern::Pareto { share } => Some(format!("pareto:{share}")),
        Pattern::HotCold { requests_percent: requests, places_percent: places } => {
            Some(format!("zoned:{requests}/{places}:{}/{}", 100 - requests, 100 - places))
        }
        Pattern::Zoned { zones } => Some(format!("zoned:{zones}")),
        _ => None,
    };
    put("pattern", "random_distribution", distribution);
    if let Pattern::Runs { length, gap } = workload.pattern {
        put("pattern", "zonemode", Some("strided".to_owned()));
        put("pattern", "zonesize", bytes(length));
        put("pattern", "zoneskip", bytes(gap));
    }
    // Offsets may repeat; with its map, fio visits each once.
    put("pattern", "norandommap", switch(workload.pattern != Pattern::Shuffled).filter(|_| !is_ordered));
    put("offset", "offset", bytes(workload.offset));
    put("depth", "iodepth", Some(workload.depth.to_string()));
    put("processes", "thread", switch(workload.worker_kind == WorkerKind::Thread));
    put("buffering", "direct", switch(workload.buffering.is_direct()));
    put("buffering", "sync", Some(if workload.buffering.is_through() { "dsync" } else { "none" }.to_owned()));
    put("advise", "fadvise_hint", (workload.advise == Advise::On).then(|| "1".to_owned()));
    let (key, every) = match workload.durability {
        Durability::None => ("fsync", None),
        Durability::FlushAtEnd => ("end_fsync", Some(1)),
        Durability::Fsync { every } => ("fsync", Some(every)),
        Durability::Fdatasync { every } => ("fdatasync", Some(every)),
    };
    put("durability", key, every.map(|every| every.to_string()));
    let time = |time: Nanoseconds| format!("{}us", time.0 / 1000);
    put("think", "thinktime", workload.think.map(|think| time(think.pause)));
    put("think", "thinktime_blocks", workload.think.map(|think| think.every.to_string()));
    put("limits", "runtime", workload.limits.duration.map(time));
    put("warmup_s", "ramp_time", Some(workload.warmup).filter(|warmup| warmup.0 > 0).map(time));
    words
}

/// An amount; none for 0.
pub(crate) fn bytes(bytes: Bytes) -> Option<String> {
    (bytes.0 > 0).then(|| bytes.0.to_string())
}

/// fio's engine; our word if it has none.
pub(crate) fn engine(personality: Personality) -> &'static str {
    ENGINES.iter().find(|(known, _)| *known == personality).map_or(personality.word(), |(_, engine)| engine)
}
