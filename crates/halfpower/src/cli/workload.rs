//! The options that describe a workload, and fio's names for them where a hand is used to those.

use super::UsageError;
use clap::Args;
use halfpower_model::workload::Mix;
use halfpower_model::{
    Buffering, Bytes, CachePolicy, Durability, Nanoseconds, Operation, Pattern, Personality, RwFlags, WorkloadSpec,
};

/// What was said of a workload.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WorkloadArguments {
    /// What the requests do: read, write, or mix=70 for 70 % reads [default: read]
    #[arg(long, value_name = "OP", help_heading = "Requests")]
    op: Option<Operation>,
    /// Where they go: sequential or random [default: sequential]
    #[arg(long, help_heading = "Requests")]
    pattern: Option<Pattern>,
    /// Bytes of each, like 4KiB or 64k [default: 64KiB sequential, 4KiB random]
    #[arg(long, value_name = "SIZE", visible_alias = "bs", help_heading = "Requests")]
    request_size: Option<Bytes>,
    /// Requests outstanding a worker [default: 1]
    #[arg(long, value_name = "N", visible_alias = "iodepth", help_heading = "Requests")]
    depth: Option<u32>,
    /// Requests handed to the kernel with one call, at most: more cost less processor time, one keeps the device busiest
    /// [default: 1]
    #[arg(long, value_name = "N", help_heading = "The way to do it")]
    submit_batch: Option<u32>,
    /// Threads that issue requests [default: 1]
    #[arg(long, value_name = "N", visible_alias = "numjobs", help_heading = "Requests")]
    workers: Option<u32>,
    /// How much of the target they go to, from its start [default: all of it]
    #[arg(long, value_name = "SIZE", help_heading = "Requests")]
    size: Option<Bytes>,
    /// Draws places, mix and data; the same seed gives the same requests [default: 1]
    #[arg(long, value_name = "N", help_heading = "Requests")]
    seed: Option<u64>,

    /// Use of caches: buffered, direct (past the file cache), through (on the medium before a write returns), none
    /// (direct and through) [default: direct where it can be]
    #[arg(long, help_heading = "The way to do it")]
    buffering: Option<Buffering>,
    /// sync (pread, pwrite), vectored (preadv2, pwritev2, with flags), mmap (copies in and out of a mapping), libaio,
    /// io_uring, or null (does nothing: measures the program)
    /// [default: vectored with --rw-flags, io_uring when direct or deep, else sync]
    #[arg(long, help_heading = "The way to do it")]
    personality: Option<Personality>,
    /// Flags of each read and write of vectored, as a list: hipri (ask the device until it is done, direct only), dsync
    /// (each write on the medium), nowait (what would have to wait is counted, and done again), dontcache (the file
    /// cache keeps nothing) [default: none]
    #[arg(long, value_name = "FLAGS", help_heading = "The way to do it")]
    rw_flags: Option<RwFlags>,
    /// State of the file cache before: keep, cold or warm [default: keep]
    #[arg(long, value_name = "STATE", help_heading = "The way to do it")]
    cache: Option<CachePolicy>,
    /// none, or flush-at-end: one fsync after the last write, inside the timing [default: none]
    #[arg(long, help_heading = "The way to do it")]
    durability: Option<Durability>,
    /// Processors to pin the workers to in turn, like 0,2 or 0-3 [default: not pinned]
    #[arg(long, value_name = "LIST", help_heading = "The way to do it")]
    cpus: Option<CpuList>,

    /// Measured time, like 3s or 500ms [default: 5s, unless another limit is given]
    #[arg(long, value_name = "TIME", visible_alias = "runtime", help_heading = "Limits, whichever comes first")]
    duration: Option<Nanoseconds>,
    /// Requests of all workers
    #[arg(long, value_name = "N", help_heading = "Limits, whichever comes first")]
    requests: Option<u64>,
    /// Bytes of all workers
    #[arg(long, value_name = "SIZE", help_heading = "Limits, whichever comes first")]
    bytes: Option<Bytes>,
    /// Time at the start that is not counted [default: none]
    #[arg(long, value_name = "TIME", help_heading = "Limits, whichever comes first")]
    warmup: Option<Nanoseconds>,
    /// Spacing of the recorded intervals, 10ms or more [default: 1s]
    #[arg(long, value_name = "TIME", help_heading = "Limits, whichever comes first")]
    interval: Option<Nanoseconds>,

    /// fio's name for --op and --pattern: read, write, randread, randwrite, rw, randrw
    #[arg(long, value_name = "RW", conflicts_with_all = ["op", "pattern"], help_heading = "fio's names")]
    rw: Option<FioDirection>,
    /// fio's name for --buffering: 0 buffered, 1 direct
    #[arg(long, value_name = "0|1", conflicts_with = "buffering", help_heading = "fio's names")]
    direct: Option<u8>,
    /// fio's name for --personality: psync, sync, pvsync2, mmap, libaio, io_uring, null
    #[arg(long, value_name = "ENGINE", conflicts_with = "personality", help_heading = "fio's names")]
    ioengine: Option<String>,
}

/// A list of processors, `0,2-4`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CpuList(Vec<u32>);

impl std::str::FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no list of processors; write one like 0,2 or 0-3");
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: u32 = first.trim().parse().map_err(|_| wrong())?;
            let last: u32 = last.trim().parse().map_err(|_| wrong())?;
            if last < first || last > 65_535 {
                return Err(wrong());
            }
            cpus.extend(first..=last);
        }
        Ok(CpuList(cpus))
    }
}

/// fio's `--rw`.
#[derive(Clone, Copy, Debug)]
struct FioDirection(Operation, Pattern);

impl std::str::FromStr for FioDirection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mix = Mix::of_reads(50).map(Operation::Mix).unwrap_or_default();
        Ok(match text {
            "read" => FioDirection(Operation::Read, Pattern::Sequential),
            "write" => FioDirection(Operation::Write, Pattern::Sequential),
            "randread" => FioDirection(Operation::Read, Pattern::Random),
            "randwrite" => FioDirection(Operation::Write, Pattern::Random),
            "rw" | "readwrite" => FioDirection(mix, Pattern::Sequential),
            "randrw" => FioDirection(mix, Pattern::Random),
            other => return Err(format!("`{other}` is not one of read, write, randread, randwrite, rw, randrw")),
        })
    }
}

impl WorkloadArguments {
    /// What was said, fio's names translated.
    ///
    /// # Errors
    /// A word of fio's that has no meaning here.
    pub(crate) fn spec(&self) -> Result<WorkloadSpec, UsageError> {
        let personality = match self.ioengine.as_deref() {
            None => self.personality,
            Some("psync" | "sync" | "pvsync") => Some(Personality::Sync),
            Some("pvsync2") => Some(Personality::Vectored),
            Some("mmap") => Some(Personality::Mmap),
            Some("libaio") => Some(Personality::Libaio),
            Some("io_uring") => Some(Personality::IoUring),
            Some("null") => Some(Personality::Null),
            Some(other) => {
                return Err(UsageError(format!(
                    "--ioengine {other} has no personality here; use --personality sync, vectored, mmap, libaio, io_uring or null"
                )));
            }
        };
        let buffering = match self.direct {
            None => self.buffering,
            Some(0) => Some(Buffering::Buffered),
            Some(1) => Some(Buffering::Direct),
            Some(other) => return Err(UsageError(format!("--direct is {other}; use 0 or 1, or --buffering"))),
        };
        Ok(WorkloadSpec {
            operation: self.op.or(self.rw.map(|rw| rw.0)),
            pattern: self.pattern.or(self.rw.map(|rw| rw.1)),
            request_size: self.request_size,
            depth: self.depth,
            submit_batch: self.submit_batch,
            workers: self.workers,
            buffering,
            personality,
            rw_flags: self.rw_flags,
            span: self.size,
            duration: self.duration,
            requests: self.requests,
            bytes: self.bytes,
            warmup: self.warmup,
            interval: self.interval,
            cache: self.cache,
            durability: self.durability,
            seed: self.seed,
            cpus: self.cpus.as_ref().map(|list| list.0.clone()),
            ..WorkloadSpec::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_lists_are_read() {
        assert_eq!("0,2-4".parse(), Ok(CpuList(vec![0, 2, 3, 4])));
        for bad in ["", "a", "3-1", "0,", "0-99999999"] {
            assert!(bad.parse::<CpuList>().is_err(), "{bad}");
        }
    }
}
