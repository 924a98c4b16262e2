//! `halfpower memory`: bandwidth and latency of memory.

pub(super) mod page;

use super::command;
use crate::command::context::{Context, Ending};
use crate::command::note::Keeping;
use crate::command::number;
use crate::reading::{Figures, Reading};
use crate::text::UsageError;
use clap::Args;
use halfpower_engine::memory::{MemoryError, MemoryOptions, memory};
use halfpower_engine::{NULL_TARGET, environment};
use halfpower_model::reading::MemorySpeed;
use halfpower_model::sample::Warning;
use halfpower_model::{Bytes, TargetFacts, TargetKind};

/// Measure memory bandwidth and load latency
///
/// By working set and number of threads. First the eight memory tests of the studies: 10 MiB by 64-bit loads and stores, by memcpy, and through a cached file, each
/// less a null test. Then the widest loads and stores of the CPU, cached and non-temporal, from the L1 cache to main memory.
/// Last, the latency of dependent loads. A copy counts each byte once. Takes about half a minute.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Fewer working sets, rounds and thread counts; takes about five seconds
    #[arg(long)]
    quick: bool,
    /// Thread counts, such as 1,4; each thread is pinned to a CPU and has its own working set
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = number::count::<u32>)]
    threads: Vec<u32>,
    /// Working sets per thread, such as 16KiB,1GiB; a copy splits its working set into source and destination
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    sizes: Vec<Bytes>,
    #[command(flatten)]
    keeping: Keeping,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let started_at = jiff::Timestamp::now();
    let options =
        MemoryOptions { quick: arguments.quick, threads: arguments.threads.clone(), sizes: arguments.sizes.clone() };
    context.console.start_bar(1);
    let mut progress = |done, of, what: &str| context.console.move_bar(done, of, "", what);
    // A part of it is of no use, so a signal ends the program.
    let measured = memory(&options, &mut progress);
    context.console.end_bar();
    let speed = match measured {
        Err(MemoryError::Usage(error)) => return Err(UsageError(error).into()),
        measured => measured?,
    };
    let none = TargetFacts::bare(NULL_TARGET, TargetKind::Null, Bytes(0));
    let warnings = disturbed(&speed).into_iter().collect();
    let reading = Reading::new(Figures::Memory(speed), environment(none, Vec::new()), started_at);
    let reading = Reading { warnings, ..reading };
    command::conclude(context, &arguments.keeping, &[], reading)?;
    Ok(Ending::Done)
}

fn disturbed(speed: &MemorySpeed) -> Option<Warning> {
    let (off, all) = (speed.disturbed()?, speed.bandwidth.len());
    Some(Warning::new(
        "disturbed",
        format!(
            "the best round of {off} of {all} figures was over 25 % above their median, so other programs disturbed them"
        ),
        "measure again on an idle machine; `halfpower idle` shows how idle it is",
    ))
}
