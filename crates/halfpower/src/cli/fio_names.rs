//! fio's names for a few options, where a hand is used to them. Those whose meaning differs (fio's rates are of one job)
//! are left out rather than bent.

use crate::command::number::{any, count};
use crate::text::UsageError;
use clap::Args;
use halfpower_model::workload::Mix;
use halfpower_model::{Buffering, Durability, Operation, Pattern, Personality, WorkloadSpec};

/// What was said in fio's words.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "fio's option names (also --bs, --iodepth, --numjobs, --runtime and --ramp_time)")]
pub(super) struct FioArguments {
    /// Sets --op and --pattern: read, write, trim, randread, randwrite, randtrim, rw, randrw
    #[arg(long, value_name = "RW", conflicts_with_all = ["operation", "pattern"])]
    rw: Option<Direction>,
    /// Sets the mix: percent of the requests of rw and randrw that read [default: 50]
    #[arg(long, value_name = "PERCENT", requires = "rw", value_parser = count::<u8>)]
    rwmixread: Option<u8>,
    /// Sets --buffering: 0 buffered, 1 direct
    #[arg(long, value_name = "0|1", conflicts_with = "buffering", value_parser = any::<u8>)]
    direct: Option<u8>,
    /// Sets --personality: psync, sync, pvsync2, mmap, libaio, io_uring, io_uring_cmd, sg, null
    #[arg(long, value_name = "ENGINE", conflicts_with = "personality")]
    ioengine: Option<String>,
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
    /// None for a mix.
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
            _ => Err(format!("`{text}` is not one of read, write, trim, randread, randwrite, randtrim, rw, randrw")),
        }
    }
}

impl FioArguments {
    /// What was said, in our words.
    ///
    /// # Errors
    /// A word of fio's that has no meaning here.
    pub(super) fn spec(&self) -> Result<WorkloadSpec, UsageError> {
        Ok(WorkloadSpec {
            operation: self.rw.map(|rw| self.operation(rw)).transpose()?,
            pattern: self.rw.map(|rw| rw.pattern),
            personality: self.ioengine.as_deref().map(personality).transpose()?,
            buffering: self.direct.map(buffering).transpose()?,
            durability: self.durability()?,
            ..WorkloadSpec::default()
        })
    }

    fn operation(&self, rw: Direction) -> Result<Operation, UsageError> {
        match (rw.only, self.rwmixread) {
            (Some(only), None) => Ok(only),
            (Some(_), Some(_)) => Err(UsageError("--rwmixread goes with --rw rw and --rw randrw only".to_owned())),
            (None, percent) => {
                let percent = percent.unwrap_or(50);
                let mix = Mix::of_reads(percent).map(Operation::Mix);
                mix.ok_or_else(|| UsageError(format!("--rwmixread is {percent}; use 1 to 99, or --rw read or write")))
            }
        }
    }

    fn durability(&self) -> Result<Option<Durability>, UsageError> {
        let said = self.fsync.map(|every| Durability::Fsync { every });
        let said = said.or(self.fdatasync.map(|every| Durability::Fdatasync { every }));
        match said.and_then(Durability::every) {
            Some(0) => Err(UsageError("a flush after every 0 writes is none; use 1 or more".to_owned())),
            _ => Ok(said),
        }
    }
}

fn personality(engine: &str) -> Result<Personality, UsageError> {
    match engine.replace('-', "_").as_str() {
        "psync" | "sync" | "pvsync" => Ok(Personality::Sync),
        "pvsync2" => Ok(Personality::Vectored),
        "mmap" => Ok(Personality::Mmap),
        "libaio" => Ok(Personality::Libaio),
        "io_uring" => Ok(Personality::IoUring),
        "sg" => Ok(Personality::Sg),
        "io_uring_cmd" => Ok(Personality::Nvme),
        "null" => Ok(Personality::Null),
        _ => Err(UsageError(format!("--ioengine {engine} has no personality here; use --personality, which has more"))),
    }
}

fn buffering(direct: u8) -> Result<Buffering, UsageError> {
    match direct {
        0 => Ok(Buffering::Buffered),
        1 => Ok(Buffering::Direct),
        other => Err(UsageError(format!("--direct is {other}; use 0 or 1, or --buffering"))),
    }
}
