//! `halfpower soak`: how idle the machine is.

use super::instrument::{self, Keeping};
use super::{Context, Ending};
use clap::Args;
use halfpower_engine::{NULL_TARGET, environment, soak};
use halfpower_model::reading::Figures;
use halfpower_model::units::UnitError;
use halfpower_model::{Bytes, Cancel, Nanoseconds, Reading, TargetFacts, TargetKind};

/// Show how idle the machine is, processor by processor
///
/// A busy loop of the lowest priority runs on every processor; what it does not get, somebody used: programs, the kernel,
/// interrupts, the hypervisor. `halfpower io --cpu-accounting soaker` measures the cost of I/O the same way; look here first
/// what the machine does without it.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// How long to look
    #[arg(default_value = "5s", value_name = "TIME", value_parser = length)]
    length: Nanoseconds,
    #[command(flatten)]
    keeping: Keeping,
}

/// The kernel's account has steps of 10 ms, and what is measured is kept only in the end.
const LENGTHS: std::ops::RangeInclusive<Nanoseconds> = Nanoseconds(100_000_000)..=Nanoseconds(86_400_000_000_000);

fn length(text: &str) -> Result<Nanoseconds, String> {
    let length: Nanoseconds = text.parse().map_err(|error: UnitError| error.to_string())?;
    if LENGTHS.contains(&length) { Ok(length) } else { Err("look for 100ms to 24h".to_owned()) }
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let started_at = jiff::Timestamp::now();
    let length = arguments.length;
    context.console.start_bar(length.0);
    let mut progress = |at: Nanoseconds| context.console.move_bar(at.0, length.0, "", "");
    // Part of it is worth nothing, so that a signal ends the program.
    let soaked = soak(length, &Cancel::default(), &mut progress)?;
    let nowhere = TargetFacts::bare(NULL_TARGET, TargetKind::Null, Bytes(0));
    let reading = Reading::new(Figures::Soak(soaked), environment(nowhere, Vec::new()), started_at);
    instrument::conclude(context, &arguments.keeping, &[], reading)?;
    Ok(Ending::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_times_as_every_other_option_does() {
        assert_eq!(length("500ms"), Ok(Nanoseconds(500_000_000)));
        assert_eq!((length("0.5"), length("5")), (length("500ms"), Ok(Nanoseconds(5_000_000_000))));
        for bad in ["0", "10ms", "25h", "-1", "soon"] {
            assert!(length(bad).is_err(), "{bad}");
        }
    }
}
