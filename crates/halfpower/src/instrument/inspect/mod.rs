//! `halfpower inspect`: the path from a file to the hardware, and what each level of it advertises.

pub(super) mod page;
mod tree;

use super::command;
use crate::command::context::{Context, Ending};
use crate::command::note::Keeping;
use crate::command::targets::PeakArguments;
use crate::reading::{Figures, Reading};
use clap::Args;
use halfpower_engine::{environment, inspect::inspect};
use halfpower_model::reading::Inspected;
use halfpower_model::sample::Warning;
use std::path::PathBuf;

/// Show the I/O path to the hardware, and what each level advertises
///
/// File system, partition, stacked devices, disk, queue, links up to the CPU, configured limits, memory. Nothing is opened or
/// measured. A fact that the kernel does not report is shown as unknown; some need root.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Files, directories and block devices
    #[arg(default_value = ".", value_name = "TARGET")]
    targets: Vec<PathBuf>,
    #[command(flatten)]
    peaks: PeakArguments,
    #[command(flatten)]
    keeping: Keeping,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let started_at = jiff::Timestamp::now();
    let given = arguments.peaks.given()?;
    let instead = "`halfpower sim show MACHINE:VOLUME` shows the path from its disks to memory";
    command::refuse_elsewhere(&arguments.targets, "inspect", instead)?;
    let (mut inspected, mut facts) = inspect(&arguments.targets)?;
    for (target, facts) in inspected.targets.iter_mut().zip(&mut facts) {
        facts.give_peaks(given);
        target.levels.clone_from(&facts.levels);
    }
    let warnings = slow_links(&inspected);
    let first = facts.remove(0);
    let mut reading = Reading::new(Figures::Inspect(Box::new(inspected)), environment(first, facts), started_at);
    reading.warnings = warnings;
    command::conclude(context, &arguments.keeping, &arguments.targets, reading)?;
    Ok(Ending::Done)
}

/// Links that run slower than both of their ends support.
fn slow_links(inspected: &Inspected) -> Vec<Warning> {
    let devices = inspected.targets.iter().filter_map(|target| target.storage.device.as_ref());
    let links = devices.flat_map(|device| device.stack()).flat_map(|device| &device.links);
    let mut warnings: Vec<Warning> = Vec::new();
    for link in links.filter(|link| link.is_below_its_best()) {
        let message = format!("the link {} runs at {}, but both ends support more", link.at, link.source);
        let remedy = "check the slot, the cable and power saving";
        if warnings.iter().all(|warning| warning.message != message) {
            warnings.push(Warning::new("slow_link", message, remedy));
        }
    }
    warnings
}
