//! `halfpower drop-cache`: makes the next buffered read cold.

pub(super) mod page;

use super::command;
use crate::command::context::{Context, Ending};
use crate::command::note::Keeping;
use crate::reading::{Figures, Reading};
use clap::Args;
use halfpower_engine::drop_cache::{DropOptions, DroppedTarget, drop_cache};
use halfpower_engine::{Access, Target, environment};
use std::path::PathBuf;

/// Drop files and devices from the page cache, and verify it
///
/// Dirty pages are written back first. The kernel then drops the clean ones (posix_fadvise), and mincore shows how much of each
/// target is still cached. Exit status 1 if 1 % or more of a target is still cached, or if that is unknown. The contents of the
/// targets do not change.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Files and block devices
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Also drop the whole page cache of this machine (/proc/sys/vm/drop_caches); needs root, slows other programs
    #[arg(long)]
    drop_caches: bool,
    /// If a target is still cached, read a sparse scratch file as large as the memory, made in this directory
    #[arg(long, value_name = "DIRECTORY")]
    scratch: Option<PathBuf>,
    #[command(flatten)]
    keeping: Keeping,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let started_at = jiff::Timestamp::now();
    let options = DropOptions { drop_caches: arguments.drop_caches, scratch: arguments.scratch.clone() };
    let instead = "set the cache state of a workload instead: `halfpower io sim:MACHINE:VOLUME --cache cold`";
    command::refuse_elsewhere(&arguments.paths, "drop-cache", instead)?;
    let heeded = context.interrupts.heeded();
    let dropped = drop_cache(&arguments.paths, &options, &heeded)?;
    let facts = |path: &PathBuf| Ok(Target::open(path, Access::Read)?.facts().clone());
    let mut targets = arguments.paths.iter().map(facts).collect::<anyhow::Result<Vec<_>>>()?;
    let first = targets.remove(0);
    let cold = dropped.targets.iter().all(DroppedTarget::is_cold);
    let reading = Reading::new(Figures::DropCache(dropped), environment(first, targets), started_at);
    command::conclude(context, &arguments.keeping, &arguments.paths, reading)?;
    if heeded.is_cancelled() {
        return Ok(Ending::Interrupted);
    }
    if !cold {
        context.console.message(
            "Not cold, or unknown. --drop-caches drops the whole page cache; --scratch DIRECTORY evicts pages that are in use.",
        );
        return Ok(Ending::Failed);
    }
    Ok(Ending::Done)
}
