//! `halfpower soak`: how idle the machine is.

use super::instrument::{self, Keeping};
use super::{Context, Ending};
use clap::Args;
use halfpower_engine::{NULL_TARGET, environment, soak};
use halfpower_model::reading::Figures;
use halfpower_model::{Bytes, MeasureError, Nanoseconds, Reading, TargetFacts, TargetKind};

/// Shows how idle the machine is, processor by processor
///
/// A busy loop of the lowest priority runs on every processor; what it does not get, somebody used: programs, the kernel,
/// interrupts, the hypervisor. `halfpower io --cpu-accounting soaker` measures the cost of I/O the same way; look here first
/// what the machine does without it.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// How long to look
    #[arg(default_value = "5", value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
    #[command(flatten)]
    keeping: Keeping,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let started_at = jiff::Timestamp::now();
    let length = Nanoseconds(u64::from(arguments.seconds) * 1_000_000_000);
    context.console.start_bar(length.0);
    let mut progress = |at: Nanoseconds| context.console.move_bar(at.0, length.0, "", "");
    let soaked = match soak(length, &context.cancel, &mut progress) {
        Err(MeasureError::Cancelled) => {
            context.console.end_bar();
            context.console.message("Interrupted; nothing is kept.");
            return Ok(Ending::Interrupted);
        }
        soaked => soaked?,
    };
    let nowhere = TargetFacts::bare(NULL_TARGET, TargetKind::Null, Bytes(0));
    let reading = Reading::new(Figures::Soak(soaked), environment(nowhere, Vec::new()), started_at);
    instrument::conclude(context, &arguments.keeping, &[], reading)?;
    Ok(Ending::Done)
}
