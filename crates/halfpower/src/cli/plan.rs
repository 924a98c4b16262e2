//! `halfpower plan`: what a study would measure.

use super::run::{PlanArguments, prepare};
use super::{Context, Ending};
use clap::Args;
use std::path::PathBuf;

/// Shows every workload a study comes to on a target, with its limits; measures nothing and writes nothing.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A built-in study's name or a file
    study: String,
    /// A directory, a file or a block device
    #[arg(long, value_name = "PATH", default_value = ".")]
    target: PathBuf,
    #[command(flatten)]
    plan: PlanArguments,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let study = super::study::load(&arguments.study)?;
    let plan = prepare(&study, &arguments.target, &arguments.plan)?.plan;
    if context.global.json {
        context.console.print_json(&plan)?;
    } else {
        context.console.print(&format!("{}\n\n{}", plan.describe(), plan.table()))?;
    }
    Ok(Ending::Done)
}
