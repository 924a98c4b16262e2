//! A job's options, which fio repeats in its results, and the workload they describe.
//!
//! fio repeats the given options only. The others have their documented default, which is used for rw, bs, iodepth,
//! numjobs and direct. Options without a counterpart are unknown. `rw=randread` is read as `random`, as on our command
//! line; without `norandommap` fio visits each block once before it repeats one.

use super::super::json::count;
use super::super::record::of_reads;
use super::direction::Direction;
use crate::emit::fio::ENGINES;
use crate::fio::units::{bytes, think, time};
use halfpower_model::{
    Arrivals, Buffering, Bytes, Durability, Nanoseconds, Operation, Pattern, Personality, Rate, RequestKind, Sizes,
    Verify, WorkerKind, WorkloadSpec,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// The given options, by their name in fio's manual.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    given: BTreeMap<String, String>,
    /// Whether our export wrote them: its depth is the number outstanding, for any engine.
    of_our_export: bool,
    /// Whether others may have been given.
    in_part: bool,
}

/// Synonyms of options.
const SYNONYMS: [(&str, &str); 6] = [
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("io_limit", "io_size"),
    ("write_barrier", "barrier"),
    ("timeout", "runtime"),
];

/// Options that change the pace in a way without a counterpart.
const PACE: [&str; 5] = ["rate_min", "flow", "rate_iops_min", "latency_target", "thinktime_iotime"];

impl Options {
    /// The options of a job over those of all jobs.
    pub(super) fn of(global: Option<&Value>, job: &Value) -> Self {
        let mut options = BTreeMap::new();
        for (name, value) in [global, Some(job)].into_iter().flatten().filter_map(Value::as_object).flatten() {
            let known = SYNONYMS.iter().find(|(synonym, _)| synonym == name).map_or(name.as_str(), |(_, known)| known);
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            options.insert(known.to_owned(), value);
        }
        Options { given: options, of_our_export: false, in_part: false }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(|value| value.trim())
    }

    /// An option that is on or off; without a value it is on.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !matches!(value, "0" | "false"))
    }

    /// Names of the files; a colon in a name is escaped.
    pub(super) fn files(&self) -> Vec<String> {
        let Some(names) = self.get("filename") else { return Vec::new() };
        let escaped = names.replace("\\:", "\0");
        escaped.split(':').take(1024).map(|name| name.replace('\0', ":")).collect()
    }

    /// The number of jobs of an entry.
    fn workers(&self) -> Option<u32> {
        if self.is_on("group_reporting") {
            self.get("numjobs").map_or(Some(1), |jobs| jobs.parse().ok())
        } else {
            Some(1)
        }
    }

    /// Clones of the job that are reported as one: fio 3.33 leaves options without a value out, like `group_reporting`, but a group's
    /// run time is the sum of its jobs'.
    pub(super) fn workers_of(&self, job: &Value, directions: &[(RequestKind, Direction)]) -> Option<u32> {
        let clones: u32 = self.get("numjobs")?.parse().ok().filter(|clones| *clones > 1)?;
        let longest_ms = directions.iter().map(|(_, direction)| direction.runtime_ms).max().filter(|ms| *ms > 0)?;
        let times = job.get("job_runtime").and_then(count)? as f64 / longest_ms as f64;
        (times > 1.5).then_some(clones)
    }

    /// Whether the job wrote, and then verified by reading.
    pub(super) fn verifies_writes(&self) -> bool {
        let is_verified = self.get("verify").is_some_and(|verify| !matches!(verify, "0" | "none" | "null"));
        is_verified && self.operation().is_some_and(|(operation, _)| operation == Operation::Write)
    }

    /// The operation, and whether the requests are random.
    pub(super) fn operation(&self) -> Option<(Operation, bool)> {
        let rw = self.get("rw").unwrap_or("read");
        let (word, run) = rw.split_once(':').map_or((rw, None), |(word, run)| (word, Some(run)));
        let (random, kind) = word.strip_prefix("rand").map_or((false, word), |kind| (true, kind));
        let reads: u8 = match (self.get("rwmixread"), self.get("rwmixwrite")) {
            (Some(reads), _) => reads.parse().ok()?,
            (None, Some(writes)) => 100_u8.checked_sub(writes.parse().ok()?)?,
            (None, None) => 50,
        };
        let operation = match kind {
            "read" => Operation::Read,
            "write" => Operation::Write,
            "trim" => Operation::Trim,
            "trimwrite" => Operation::TrimWrite,
            "rw" | "readwrite" => of_reads(reads).filter(|operation| operation.only().is_none())?,
            _ => return None,
        };
        run.is_none().then_some((operation, random))
    }

    fn pattern(&self, random: bool) -> Option<Pattern> {
        if !random {
            let is_whole = self.get("percentage_random").is_none() && self.get("zonerange").is_none();
            return match self.get("zonemode").unwrap_or("none") {
                "none" if is_whole => Some(Pattern::Sequential),
                "strided" if is_whole => {
                    let size = |name| bytes(self.get(name)?, 1024).map(Bytes);
                    Some(Pattern::Runs { length: size("zonesize")?, gap: size("zoneskip")? })
                }
                _ => None,
            };
        }
        let distribution = self.get("random_distribution").unwrap_or("random");
        let (law, parameter) = distribution.split_once(':').unwrap_or((distribution, ""));
        match (law, self.get("percentage_random")) {
            ("random", None) => Some(Pattern::Random),
            ("zipf" | "pareto" | "zoned", None) => format!("{law}={parameter}").parse().ok(),
            _ => None,
        }
    }

    fn request_size(&self) -> Option<Bytes> {
        if ["bsrange", "bssplit", "kb_base"].iter().any(|other| self.get(other).is_some()) {
            return None;
        }
        // Sizes of reads, writes and trims: known only if they are the same.
        let mut sizes = self.get("bs").unwrap_or("4k").split(',').filter(|size| !size.is_empty()).map(size);
        let first = sizes.next()?.filter(|size| size.0 > 0)?;
        sizes.all(|size| size == Some(first)).then_some(first)
    }

    /// The rate of all workers together; those of reads and writes added.
    fn rate(&self) -> Option<Rate> {
        let (name, of): (_, fn(u64) -> Rate) = match self.get("rate_iops") {
            Some(_) => ("rate_iops", Rate::Requests),
            None => ("rate", Rate::Bytes),
        };
        let parts: Vec<&str> = self.get(name)?.split(',').collect();
        let (operation, _) = self.operation()?;
        let kinds = [RequestKind::Read, RequestKind::Write, RequestKind::Trim];
        let each = kinds.iter().enumerate().filter(|(_, kind)| operation.has(**kind));
        let each: Option<Vec<u64>> =
            each.map(|(at, _)| Some(size(parts.get(at).or(parts.last())?)?.0).filter(|rate| *rate > 0)).collect();
        each?.iter().sum::<u64>().checked_mul(u64::from(self.workers()?)).map(of)
    }

    fn buffering(&self) -> Buffering {
        let direct = self.is_on("direct") || self.get("buffered") == Some("0");
        Buffering::of(direct, self.is_on("sync") && self.get("sync") != Some("none"))
    }

    fn personality(&self) -> Option<Personality> {
        let named = self.get("ioengine")?;
        ENGINES.iter().find(|(_, engine)| *engine == named).map(|(personality, _)| *personality)
    }

    /// The same options, written by our export.
    pub(super) fn of_our_export(self) -> Self {
        Options { of_our_export: true, ..self }
    }

    /// The same options, of which fio printed a few.
    pub(super) fn in_part(self) -> Self {
        Options { in_part: true, ..self }
    }

    /// Queue depth: the given one, unless the engine keeps one request outstanding, or is unknown.
    fn depth(&self) -> Option<u32> {
        let given: u32 = self.get("iodepth").map_or(Some(1), |depth| depth.parse().ok())?;
        match self.get("ioengine") {
            Some("sync" | "psync" | "vsync" | "pvsync" | "pvsync2" | "mmap") => Some(1),
            Some(_) => Some(given),
            None => Some(given).filter(|depth| *depth <= 1 || self.of_our_export),
        }
    }

    fn durability(&self) -> Option<Durability> {
        let every = |name: &str| self.get(name).and_then(|every| every.parse().ok()).filter(|every| *every > 0);
        if self.get("sync_file_range").is_some() || self.is_on("fsync_on_close") {
            return None;
        }
        match (every("fsync"), every("fdatasync"), self.is_on("end_fsync")) {
            (Some(every), None, false) => Some(Durability::Fsync { every }),
            (None, Some(every), false) => Some(Durability::Fdatasync { every }),
            (None, None, true) => Some(Durability::FlushAtEnd),
            (None, None, false) => Some(Durability::None),
            _ => None,
        }
    }

    /// The workload of a job.
    pub(super) fn spec(&self) -> WorkloadSpec {
        let operation = self.operation();
        if self.in_part {
            return WorkloadSpec {
                // The share of reads is not printed.
                operation: operation.map(|(operation, _)| operation).filter(|operation| operation.only().is_some()),
                pattern: operation.and_then(|(_, random)| self.pattern(random)),
                request_size: self.request_size(),
                depth: self.depth(),
                workers: self.workers(),
                personality: self.personality(),
                ..WorkloadSpec::default()
            };
        }
        let is_odd = PACE.iter().any(|pace| self.get(pace).is_some());
        let rate = self.rate();
        let think = self.get("thinktime").and_then(|pause| think(pause, self.get("thinktime_blocks")));
        let is_paced = ["rate", "rate_iops", "rate_process"].iter().any(|pace| self.get(pace).is_some());
        let arrivals = match (self.get("rate_process"), self.get("io_submit_mode")) {
            _ if is_paced && rate.is_none() => None,
            (Some("poisson"), _) => Some(Arrivals::Poisson),
            (_, Some("offload")) if is_paced => Some(Arrivals::Constant),
            _ => Some(Arrivals::Closed),
        };
        WorkloadSpec {
            operation: operation.map(|(operation, _)| operation),
            pattern: operation.and_then(|(_, random)| self.pattern(random)),
            request_size: self.request_size(),
            offset: Some(self.get("offset").map_or(Some(Bytes(0)), size)).flatten(),
            depth: self.depth(),
            workers: self.workers(),
            processes: Some(if self.is_on("thread") { WorkerKind::Thread } else { WorkerKind::Process }),
            buffering: Some(self.buffering()),
            personality: self.personality(),
            size: self.get("size").and_then(size),
            duration: self.get("runtime").and_then(time),
            sizes: self.get("bssplit").and_then(sizes),
            arrivals: arrivals.filter(|_| !is_odd),
            rate: rate.filter(|_| !is_odd),
            think: think.filter(|_| !is_odd),
            cpus: self.get("cpus_allowed").and_then(|cpus| cpus.parse().ok()),
            warmup: self.get("ramp_time").map_or(Some(Nanoseconds(0)), time),
            durability: operation.filter(|(operation, _)| operation.writes()).and_then(|_| self.durability()),
            verify: self.get("verify").is_none().then_some(Verify::Off),
            ..WorkloadSpec::default()
        }
    }

    /// Whether it waits for the jobs before it.
    pub(super) fn waits(&self) -> bool {
        self.is_on("stonewall") || self.get("wait_for").is_some()
    }
}

/// Sizes with their shares in percent, of all kinds of requests.
fn sizes(split: &str) -> Option<Sizes> {
    let part = |part: &str| {
        let (size, share) = part.split_once('/')?;
        Some(format!("{}B:{}", bytes(size, 1024)?, share.parse::<u32>().ok().filter(|share| *share > 0)?))
    };
    split.split(':').map(part).collect::<Option<Vec<_>>>()?.join("/").parse().ok()
}

/// A size with fio's default base of 1024.
fn size(text: &str) -> Option<Bytes> {
    bytes(text, 1024).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(options: Value) -> WorkloadSpec {
        Options::of(None, &options).spec()
    }

    #[test]
    fn a_job_makes_a_workload_and_what_was_not_said_has_fio_s_default() {
        let spec = spec(json!({}));
        assert_eq!((spec.operation, spec.pattern), (Some(Operation::Read), Some(Pattern::Sequential)));
        assert_eq!((spec.request_size, spec.depth, spec.workers), (Some(Bytes(4096)), Some(1), Some(1)));
        let global = json!({ "direct": "1", "ioengine": "libaio", "bs": "64k" });
        let job = json!({ "rw": "randrw", "rwmixread": "70", "iodepth": "16", "blocksize": "8k", "size": "1g",
            "runtime": "2m", "numjobs": "4", "group_reporting": "", "fsync": "8", "random_distribution": "zipf:0.99" });
        let workload = Options::of(Some(&global), &job).spec().imported(None);
        assert_eq!(workload.to_string(), "zipf=0.99 mix=70, 8 KiB, QD16 × 4 processes, direct, fsync=8");
        assert_eq!((workload.personality, workload.span), (Personality::Libaio, Bytes(1 << 30)));
        assert_eq!(workload.limits.duration, Some(Nanoseconds(120_000_000_000)));
    }

    #[test]
    fn rates_pauses_sizes_and_cpus_come_along() {
        let of = |options: Value| spec(options).imported(None).to_string();
        let rates = json!({ "rw": "randrw", "rate_iops": "100,50", "rate_process": "poisson", "numjobs": "2",
            "group_reporting": "1", "bssplit": "4k/60:64k/40", "cpus_allowed": "0-1" });
        assert_eq!(
            of(rates.clone()),
            "random mix=50, 4KiB:60/64KiB:40, QD1 × 2 processes, buffered, poisson arrivals at 300/s"
        );
        assert_eq!(spec(rates).cpus.unwrap().0, [0, 1]);
        assert_eq!(
            of(json!({ "rate": "1m", "thinktime": "500", "thinktime_blocks": "8" })),
            "sequential read, 4 KiB, QD1, buffered, at most 1048576B/s, pauses of 500 µs after 8 requests"
        );
    }

    #[test]
    fn what_has_no_counterpart_is_unknown() {
        assert_eq!(spec(json!({ "rw": "trimwrite" })).operation, Some(Operation::TrimWrite));
        let zones = |zones: &str| spec(json!({ "zonemode": zones, "zonesize": "1m", "zoneskip": "3m" })).pattern;
        assert_eq!((zones("strided"), zones("zbd")), ("runs=1MiB/3MiB".parse().ok(), None));
        assert_eq!(spec(json!({ "rw": "write:8" })).operation, None);
        assert_eq!(spec(json!({ "bssplit": "4k/50:64k/50" })).request_size, None);
        assert_eq!(spec(json!({ "bs": "4k,64k" })).request_size, None);
        assert_eq!(spec(json!({ "bs": "4k,4k" })).request_size, Some(Bytes(4096)));
        assert_eq!(spec(json!({ "bs": "4ki" })).request_size, Some(Bytes(4000)));
        assert_eq!(spec(json!({ "bs": "0" })).request_size, None);
        assert_eq!(spec(json!({ "size": "50%" })).size, None);
        assert_eq!(spec(json!({ "iodepth": "8" })).depth, None, "of an engine nobody named");
        let ours = Options::of(None, &json!({ "iodepth": "8" })).of_our_export();
        assert_eq!(ours.spec().depth, Some(8));
        assert_eq!(spec(json!({ "iodepth": "8", "ioengine": "psync" })).depth, Some(1));
        assert_eq!(spec(json!({ "rate_iops": "100", "rate_min": "90" })).arrivals, None);
        assert_eq!(spec(json!({ "rate_iops": "many" })).arrivals, None);
        assert_eq!(spec(json!({ "bssplit": "4k/60:64k/" })).sizes, None);
        assert_eq!(spec(json!({ "size": "99999999999t", "runtime": "99999999999d" })).size, None);
    }
}
