//! `halfpower scrub`: makes the next buffered read cold.

use super::instrument::{self, Keeping};
use super::{Context, Ending};
use clap::Args;
use halfpower_engine::scrub::{ScrubOptions, scrub};
use halfpower_engine::{Access, Target, environment};
use halfpower_model::Reading;
use halfpower_model::reading::{Figures, ScrubbedTarget};
use std::path::PathBuf;

/// Put files and block devices out of the file cache, so that the next buffered read is cold, and prove it
///
/// What is dirty is written out, and the kernel is told that the rest will not be needed. What share is in the cache then is
/// looked up (mincore), before and after each step. Ends with status 1 where a target is not cold: 1 % of it or more is in
/// the cache, or nobody knows. Nothing that the targets hold is changed.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Files and block devices
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Drop the whole cache of the machine as well; needs root, and slows down whatever else runs
    #[arg(long)]
    drop_caches: bool,
    /// Where that was not enough, read a file without data, as large as the memory, made in this directory for the purpose
    #[arg(long, value_name = "DIRECTORY")]
    scratch: Option<PathBuf>,
    #[command(flatten)]
    keeping: Keeping,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let started_at = jiff::Timestamp::now();
    let options = ScrubOptions { drop_caches: arguments.drop_caches, scratch: arguments.scratch.clone() };
    let instead =
        "each of its runs begins as its workload's `cache` says (`halfpower io sim:MACHINE:VOLUME --cache cold`)";
    instrument::refuse_simulated(&arguments.paths, "scrub", instead)?;
    let heeded = context.interrupts.heeded();
    let scrubbed = scrub(&arguments.paths, &options, &heeded)?;
    let facts = |path: &PathBuf| Ok(Target::open(path, Access::Read)?.facts().clone());
    let mut targets = arguments.paths.iter().map(facts).collect::<anyhow::Result<Vec<_>>>()?;
    let first = targets.remove(0);
    let cold = scrubbed.targets.iter().all(ScrubbedTarget::is_cold);
    let reading = Reading::new(Figures::Scrub(scrubbed), environment(first, targets), started_at);
    instrument::conclude(context, &arguments.keeping, &arguments.paths, reading)?;
    if heeded.is_cancelled() {
        return Ok(Ending::Interrupted);
    }
    if !cold {
        context.console.message(
            "Not cold: something holds pages, or the kernel does not tell. --drop-caches drops all there are; \
             --scratch DIRECTORY pushes them out.",
        );
        return Ok(Ending::Failed);
    }
    Ok(Ending::Done)
}
