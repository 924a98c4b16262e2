//! `halfpower syscall`: what an empty system call costs.

pub(super) mod page;

use super::command::{self, Keeping};
use crate::command::context::{Context, Ending};
use crate::reading::{Figures, Reading};
use clap::Args;
use halfpower_engine::syscall::syscall;
use halfpower_engine::{NULL_TARGET, environment};
use halfpower_model::{Bytes, Cancel, TargetFacts, TargetKind};

/// Measure the cost of an empty system call
///
/// Each request of `sync` makes at least one system call. This is the part of its CPU time that no storage can save; io_uring with
/// --submit-batch shares one call among several requests.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    keeping: Keeping,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let started_at = jiff::Timestamp::now();
    // It takes less than a second, so a signal ends the program.
    let call = syscall(&Cancel::default())?;
    let nowhere = TargetFacts::bare(NULL_TARGET, TargetKind::Null, Bytes(0));
    let reading = Reading::new(Figures::Syscall(call), environment(nowhere, Vec::new()), started_at);
    command::conclude(context, &arguments.keeping, &[], reading)?;
    Ok(Ending::Done)
}
