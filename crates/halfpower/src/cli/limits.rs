//! `halfpower limits`: what of a volume's speed lasts.

use super::run::{CommonArguments, carry_out_study, with_each_target};
use crate::command::context::{Context, Ending};
use crate::store::RunKind;
use crate::study::{LIMITS, Study};
use crate::text::UsageError;
use clap::Args;
use std::path::PathBuf;

/// Find the limits of a rate-limited volume: what lasts, and how long a burst is faster
///
/// Measures small random and large sequential requests for ten seconds each: reads, writes, and both together. With
/// --expect it answers whether a volume is what was paid for. A directory gets a test file, which is removed afterwards. A
/// file or block device is only read, unless --overwrite names it.
#[derive(Clone, Debug, Args)]
pub(super) struct Arguments {
    /// Directory, file or block device; several are measured alone and together
    #[arg(default_value = ".", value_name = "TARGET")]
    targets: Vec<PathBuf>,
    #[command(flatten)]
    common: CommonArguments,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let study = Study::builtin(LIMITS).ok_or_else(|| UsageError(format!("there is no study {LIMITS}")))?;
    let study = with_each_target(study, &arguments.targets, &arguments.common);
    carry_out_study(context, &study, RunKind::Study, &arguments.targets, &arguments.common)
}
