//! fio's names for a few options. Names whose meaning differs are left out: fio's rates are per job.

use crate::command::number::count;
use crate::text::{UsageError, refuse};
use clap::Args;
use halfpower_model::workload::Mix;
use halfpower_model::{Buffering, Durability, Operation, Pattern, Personality, WorkloadSpec};

/// Options with fio's names.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "fio's option names (also --bs, --iodepth, --numjobs, --runtime and --ramp_time)")]
pub(super) struct FioArguments {
    /// Sets --op and --pattern: read, write, trim, rw, trimwrite, or these with `rand` before
    #[arg(long, value_name = "RW", conflicts_with_all = ["operation", "pattern"])]
    rw: Option<Direction>,
    /// Sets the mix: percent of the requests of rw and randrw that read [default: 50]
    #[arg(long, value_name = "PERCENT", requires = "rw", value_parser = mix)]
    rwmixread: Option<Mix>,
    /// Sets --buffering: 0 buffered, 1 direct
    #[arg(long, value_name = "0|1", conflicts_with = "buffering", value_parser = buffering)]
    direct: Option<Buffering>,
    /// Sets --personality: psync, sync, pvsync2, mmap, libaio, io_uring, io_uring_cmd, sg, null
    #[arg(long, value_name = "ENGINE", conflicts_with = "personality", value_parser = personality)]
    ioengine: Option<Personality>,
    /// Sets --durability fsync=WRITES
    #[arg(long, value_name = "WRITES", conflicts_with_all = ["durability", "fdatasync"], value_parser = count::<u32>)]
    fsync: Option<u32>,
    /// Sets --durability fdatasync=WRITES
    #[arg(long, value_name = "WRITES", conflicts_with = "durability", value_parser = count::<u32>)]
    fdatasync: Option<u32>,
}

/// fio's `--rw`.
#[derive(Clone, Copy, Debug)]
struct Direction {
    /// The only kind of request; none for a mix.
    only: Option<Operation>,
    pattern: Pattern,
}

impl std::str::FromStr for Direction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, pattern) = match text.strip_prefix("rand") {
            Some(word) => (word, Pattern::Random),
            None if text == "readwrite" => ("rw", Pattern::Sequential),
            None => (text, Pattern::Sequential),
        };
        match word {
            "rw" => Ok(Direction { only: None, pattern }),
            "read" | "write" | "trim" => Ok(Direction { only: word.parse().ok(), pattern }),
            "trimwrite" => Ok(Direction { only: Some(Operation::TrimWrite), pattern }),
            _ => Err(format!("`{text}` is not one of read, write, trim, rw, trimwrite, or these with `rand` before")),
        }
    }
}

impl FioArguments {
    /// The workload of these options.
    ///
    /// # Errors
    /// If `--rwmixread` is given for requests of one kind.
    pub(super) fn spec(&self) -> Result<WorkloadSpec, UsageError> {
        if self.rwmixread.is_some() && self.rw.is_some_and(|rw| rw.only.is_some()) {
            refuse!("--rwmixread goes with --rw rw and --rw randrw only");
        }
        let mixed = || self.rwmixread.or(Mix::of_reads(50)).map(Operation::Mix);
        let fsync = self.fsync.map(|every| Durability::Fsync { every });
        Ok(WorkloadSpec {
            operation: self.rw.and_then(|rw| rw.only.or_else(mixed)),
            pattern: self.rw.map(|rw| rw.pattern),
            personality: self.ioengine,
            buffering: self.direct,
            durability: fsync.or(self.fdatasync.map(|every| Durability::Fdatasync { every })),
            ..WorkloadSpec::default()
        })
    }
}

fn mix(text: &str) -> Result<Mix, String> {
    Mix::of_reads(count(text)?).ok_or("use 1 to 99, or --rw read or write".to_owned())
}

fn personality(engine: &str) -> Result<Personality, String> {
    match engine.replace('-', "_").as_str() {
        "psync" | "sync" | "pvsync" => Ok(Personality::Sync),
        "pvsync2" => Ok(Personality::Vectored),
        "mmap" => Ok(Personality::Mmap),
        "libaio" => Ok(Personality::Libaio),
        "io_uring" => Ok(Personality::IoUring),
        "sg" => Ok(Personality::Sg),
        "io_uring_cmd" => Ok(Personality::Nvme),
        "null" => Ok(Personality::Null),
        _ => Err("it has no personality here; use --personality, which has more".to_owned()),
    }
}

fn buffering(direct: &str) -> Result<Buffering, String> {
    match direct {
        "0" => Ok(Buffering::Buffered),
        "1" => Ok(Buffering::Direct),
        _ => Err("use 0 or 1, or --buffering".to_owned()),
    }
}
