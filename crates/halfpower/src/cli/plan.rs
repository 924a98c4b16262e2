//! `halfpower plan`: what a study would measure.

use super::run::{PlanArguments, prepare};
use super::targets::TargetArgument;
use super::{Context, Ending};
use clap::Args;

/// Shows every workload a study comes to on a target, with its limits; measures nothing and writes nothing.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A built-in study's name or a file
    study: String,
    #[command(flatten)]
    target: TargetArgument,
    #[command(flatten)]
    plan: PlanArguments,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let study = super::study::load(&arguments.study)?;
    let plan = prepare(&study, &arguments.target.targets, &arguments.plan)?.plan;
    if context.global.json {
        context.console.print_json(&plan)?;
    } else {
        context.console.print(&format!("{}\n\n{}", plan.describe(), plan.table()))?;
    }
    Ok(Ending::Done)
}
