//! A job's options, which fio repeats in its results, and the workload they describe: read as those of a job file, so that a
//! result of fio's and a run of the same job here have one workload.
//!
//! fio repeats the given options only; the others have their documented default. Options without a counterpart are unknown.

use super::super::json::count;
use super::direction::Direction;
use crate::fio::job::{Settings, list};
use crate::fio::job_file::{Job, Place, Setting};
use halfpower_model::{Operation, Rate, RequestKind, WorkerKind, WorkloadSpec};
use serde_json::Value;

/// The given options.
#[derive(Clone, Debug)]
pub(super) struct Options {
    job: Job,
    /// Whether our export wrote them: its depth is the number outstanding, for any engine.
    of_our_export: bool,
    /// Whether others may have been given.
    in_part: bool,
}

/// Options that Halfpower has no counterpart of, and the keys that are unknown with them.
const WITHOUT: [(&str, &[&str]); 8] = [
    ("rate_min", &PACE),
    ("rate_iops_min", &PACE),
    ("flow", &PACE),
    ("latency_target", &PACE),
    ("thinktime_iotime", &PACE),
    ("percentage_random", &["pattern"]),
    ("sync_file_range", &["durability"]),
    ("verify", &["verify"]),
];
const PACE: [&str; 3] = ["arrivals", "rate", "think"];
/// What fio prints of a job without its JSON.
const PRINTED: [&str; 5] = ["operation", "pattern", "request_size", "depth", "personality"];

impl Options {
    /// The options of a job over those of all jobs.
    pub(super) fn of(global: Option<&Value>, job: &Value) -> Self {
        let given = [global, Some(job)].into_iter().flatten().filter_map(Value::as_object).flatten();
        let setting = |(name, value): (&String, &Value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned());
            Setting { name: name.clone(), value, place: Place::CommandLine }
        };
        let settings = given.map(setting).collect();
        let job = Job { name: String::new(), place: Place::CommandLine, settings, global: 0 };
        Options { job, of_our_export: false, in_part: false }
    }

    fn settings(&self) -> Settings<'_> {
        Settings::of(&self.job)
    }

    /// An option that is on or off; without a value it is on.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.settings().is_on(name)
    }

    /// Names of the files; a colon in a name is escaped.
    pub(super) fn files(&self) -> Vec<String> {
        let names = self.settings().get("filename").map(list).unwrap_or_default();
        names.into_iter().take(1024).collect()
    }

    /// The number of jobs of an entry.
    fn workers(&self) -> Option<u32> {
        let settings = self.settings();
        let jobs = settings.get("numjobs").filter(|_| settings.is_on("group_reporting"));
        jobs.map_or(Some(1), |jobs| jobs.parse().ok())
    }

    /// Clones of the job that are reported as one: fio 3.33 leaves options without a value out, like `group_reporting`, but a group's
    /// run time is the sum of its jobs'.
    pub(super) fn workers_of(&self, job: &Value, directions: &[(RequestKind, Direction)]) -> Option<u32> {
        let clones: u32 = self.settings().get("numjobs")?.parse().ok().filter(|clones| *clones > 1)?;
        let longest_ms = directions.iter().map(|(_, direction)| direction.runtime_ms).max().filter(|ms| *ms > 0)?;
        let times = job.get("job_runtime").and_then(count)? as f64 / longest_ms as f64;
        (times > 1.5).then_some(clones)
    }

    /// Whether the job wrote, and then verified by reading.
    pub(super) fn verifies_writes(&self) -> bool {
        let is_verified = self.settings().get("verify").is_some_and(|verify| !matches!(verify, "0" | "none" | "null"));
        is_verified && self.spec().operation == Some(Operation::Write)
    }

    /// The same options, written by our export.
    pub(super) fn of_our_export(self) -> Self {
        Options { of_our_export: true, ..self }
    }

    /// The same options, of which fio printed a few.
    pub(super) fn in_part(self) -> Self {
        Options { in_part: true, ..self }
    }

    /// The workload of a job, as far as it has a counterpart.
    pub(super) fn spec(&self) -> WorkloadSpec {
        let settings = self.settings();
        let engine = settings.get("ioengine");
        let is_unknown = |key: &str| {
            let is_without = WITHOUT.iter().any(|(name, keys)| keys.contains(&key) && settings.get(name).is_some());
            is_without || self.in_part && !PRINTED.contains(&key)
        };
        let mut spec = settings.known(is_unknown);
        spec.workers = self.workers();
        if self.in_part {
            // The share of reads is not printed.
            spec.operation = spec.operation.filter(|operation| operation.only().is_some());
            return spec;
        }
        let depth = || settings.get("iodepth").map_or(Some(1), |depth| depth.parse().ok());
        match engine {
            // One that is not here keeps the depth, too.
            Some(_) if spec.depth.is_none() => spec.depth = depth(),
            // The default depends on the system.
            None => (spec.personality, spec.depth) = (None, depth().filter(|depth| *depth <= 1 || self.of_our_export)),
            // It is another way of the same.
            Some("posixaio") => spec.personality = None,
            Some(_) => {}
        }
        let is_thread = settings.is_on("thread") || self.of_our_export && settings.last(&["thread"]).is_none();
        spec.processes = Some(if is_thread { WorkerKind::Thread } else { WorkerKind::Process });
        if let (Some(rate), Some(workers)) = (&mut spec.rate, spec.workers) {
            let (Rate::Requests(each) | Rate::Bytes(each)) = rate;
            *each = each.saturating_mul(u64::from(workers));
        }
        spec
    }

    /// Whether it waits for the jobs before it.
    pub(super) fn waits(&self) -> bool {
        let settings = self.settings();
        settings.is_on("stonewall") || settings.get("wait_for").is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::{Bytes, Nanoseconds, Pattern, Personality};
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
        assert_eq!(of(json!({ "rw": "randread", "ioengine": "psync" })), "shuffled read, 4 KiB, QD1, buffered");
        assert_eq!(spec(json!({ "bs": "4k,64k", "rw": "randrw" })).sizes, "read=4KiB,write=64KiB".parse().ok());
    }

    #[test]
    fn what_has_no_counterpart_is_unknown() {
        assert_eq!(spec(json!({ "rw": "trimwrite" })).operation, Some(Operation::TrimWrite));
        let zones = |zones: &str| spec(json!({ "zonemode": zones, "zonesize": "1m", "zoneskip": "3m" })).pattern;
        assert_eq!((zones("strided"), zones("zbd")), ("runs=1MiB/3MiB".parse().ok(), None));
        assert_eq!(spec(json!({ "rw": "randwrite:8" })).operation, None);
        assert_eq!(spec(json!({ "bs": "4k,4k" })).request_size, Some(Bytes(4096)));
        assert_eq!(spec(json!({ "bs": "4kib" })).request_size, Some(Bytes(4000)));
        assert_eq!(spec(json!({ "bs": "0" })).request_size, None);
        assert_eq!(spec(json!({ "size": "50%" })).size, None);
        assert_eq!(spec(json!({ "iodepth": "8" })).depth, None, "of an engine nobody named");
        let ours = Options::of(None, &json!({ "iodepth": "8" })).of_our_export();
        assert_eq!(ours.spec().depth, Some(8));
        assert_eq!(spec(json!({ "iodepth": "8", "ioengine": "psync" })).depth, Some(1));
        assert_eq!(spec(json!({ "iodepth": "8", "ioengine": "rados" })).depth, Some(8));
        assert_eq!(spec(json!({ "ioengine": "posixaio" })).personality, None);
        assert_eq!(spec(json!({ "rate_iops": "100", "rate_min": "90" })).arrivals, None);
        assert_eq!(spec(json!({ "rate_iops": "many" })).arrivals, None);
        assert_eq!(spec(json!({ "bssplit": "4k/60:64k/x" })).sizes, None);
        assert_eq!(spec(json!({ "size": "99999999999t", "runtime": "99999999999d" })).size, None);
    }
}
