//! `halfpower idle`: how idle each CPU is.

pub(super) mod page;

use super::command;
use crate::command::context::{Context, Ending};
use crate::command::note::Keeping;
use crate::reading::{Figures, Reading};
use clap::Args;
use halfpower_engine::idle::idle;
use halfpower_engine::{NULL_TARGET, environment};
use halfpower_model::units::UnitError;
use halfpower_model::{Bytes, Cancel, Nanoseconds, TargetFacts, TargetKind};

/// Measure how idle each CPU is
///
/// A busy loop at the lowest priority runs on every CPU. The time it does not get was used by programs, the kernel, interrupts
/// or the hypervisor. `halfpower io --cpu-accounting soaker` measures the CPU cost of I/O the same way; run `idle` first to see
/// the background load.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How long to measure
    #[arg(default_value = "5s", value_name = "TIME", value_parser = length)]
    length: Nanoseconds,
    #[command(flatten)]
    keeping: Keeping,
}

/// The kernel's account has a resolution of 10 ms, and a reading is stored only at the end.
const LENGTHS: std::ops::RangeInclusive<Nanoseconds> = Nanoseconds(100_000_000)..=Nanoseconds(86_400_000_000_000);

fn length(text: &str) -> Result<Nanoseconds, String> {
    let length: Nanoseconds = text.parse().map_err(|error: UnitError| error.to_string())?;
    if LENGTHS.contains(&length) { Ok(length) } else { Err("use a time from 100ms to 24h".to_owned()) }
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let started_at = jiff::Timestamp::now();
    let length = arguments.length;
    context.console.start_bar(length.0);
    let mut progress = |at: Nanoseconds| context.console.move_bar(at.0, length.0, "", "");
    // A part of it is of no use, so a signal ends the program.
    let idleness = idle(length, &Cancel::default(), &mut progress)?;
    let nowhere = TargetFacts::bare(NULL_TARGET, TargetKind::Null, Bytes(0));
    let reading = Reading::new(Figures::Idle(idleness), environment(nowhere, Vec::new()), started_at);
    command::conclude(context, &arguments.keeping, &[], reading)?;
    Ok(Ending::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units_and_bounds() {
        assert_eq!((length("500ms"), length("5")), (Ok(Nanoseconds(500_000_000)), Ok(Nanoseconds(5_000_000_000))));
        for bad in ["0", "10ms", "25h", "-1", "soon"] {
            assert!(length(bad).is_err(), "{bad}");
        }
    }
}
