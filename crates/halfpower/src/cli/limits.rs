//! `halfpower limits`: what of a volume's speed lasts.

use super::run::{CommonArguments, carry_out_study, with_each_target};
use crate::command::context::{Context, Ending};
use crate::store::RunKind;
use crate::study::{LIMITS, Study};
use crate::text::UsageError;
use clap::Args;
use halfpower_model::Nanoseconds;
use std::path::PathBuf;

/// Find the limits of a rate-limited volume: what lasts, and how long a burst is faster
///
/// Measures small random and large sequential requests for ten seconds each: reads, writes, and both together. With
/// --expect it answers whether a volume is what was paid for. A burst that outlasts ten seconds shows with a longer
/// --duration. A directory gets a test file, which is removed afterwards. A file or block device is only read, unless
/// --overwrite names it.
#[derive(Clone, Debug, Args)]
pub(super) struct Arguments {
    /// Directory, file or block device; several are measured alone and together
    #[arg(default_value = ".", value_name = "TARGET")]
    targets: Vec<PathBuf>,
    /// Length of each of the six measurements, from 1s to 1h [default: 10s, and 15s more where the rate still changes]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    duration: Option<Nanoseconds>,
    #[command(flatten)]
    common: CommonArguments,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let mut study = Study::builtin(LIMITS).ok_or_else(|| UsageError(format!("there is no study {LIMITS}")))?;
    study.trial.probe = arguments.duration.map(|duration| [duration; 2]).or(study.trial.probe);
    let study = with_each_target(study, &arguments.targets, &arguments.common);
    carry_out_study(context, &study, RunKind::Study, &arguments.targets, &arguments.common)
}

/// A duration that shows a burst, and whose intervals a record can hold.
fn duration(text: &str) -> Result<Nanoseconds, String> {
    let duration: Nanoseconds = text.parse().map_err(|error| format!("{error}"))?;
    let range = Nanoseconds::from_seconds(1.0)..=Nanoseconds::from_seconds(3600.0);
    range.contains(&duration).then_some(duration).ok_or_else(|| "give 1s to 1h".to_owned())
}
