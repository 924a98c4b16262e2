//! `halfpower plan`: what a study would measure, shown or emitted for other hands.

use super::plugin::PluginArguments;
use super::run::{PlanArguments, prepare};
use crate::command::context::{Context, Ending};
use crate::command::note;
use crate::command::targets::TargetArgument;
use crate::emit::{self, Emission};
use crate::sanitize::sanitize;
use crate::text::{UsageError, refuse};
use clap::{Args, ValueEnum};

/// Shows every workload a study comes to on a target, with its limits; measures nothing and writes nothing.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A built-in study's name (win2000, win2000/figure-34), a file or a folder
    study: String,
    #[command(flatten)]
    target: TargetArgument,
    /// In which form
    #[arg(long, value_name = "FORM", default_value = "table")]
    emit: Form,
    #[command(flatten)]
    plugins: PluginArguments,
    #[command(flatten)]
    plan: PlanArguments,
}

const EXAMPLES: &str = "\
Examples:
  halfpower plan survey-quick --target /mnt/data --emit shell >survey.sh
      HALFPOWER_NOTE='old firmware' sh survey.sh      each trial is kept with the note
  halfpower plan mine.toml --target /mnt/data --emit fio >mine.fio
      fio --output-format=json mine.fio               what fio has no equal of is left out in comments";

/// What a plan is shown as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    Table,
    /// A script of single commands, `halfpower io`, the least repetitions of each
    Shell,
    /// A job file for fio; what fio has no equal of is left out in comments
    Fio,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    if context.global.json && arguments.emit != Form::Table {
        let form = if arguments.emit == Form::Shell { "shell" } else { "fio" };
        refuse!("--emit {form} is no JSON document; leave --json out, or --emit for the plan as JSON");
    }
    let study = super::study::load(&arguments.study)?;
    if arguments.emit == Form::Shell {
        // Whoever runs the script loads them.
        arguments.plugins.check(study.plugins())?;
    }
    let (study, targets) = arguments.target.of(context, study, &arguments.plan.overwrite)?;
    let targets = arguments.plan.set.on(&targets)?;
    let prepared = prepare(&study, &targets, &arguments.plan)?;
    let plan = &prepared.plan;
    let emission = Emission { plan, site: &prepared.site, typed: &context.typed, note: note::in_environment() };
    match arguments.emit {
        Form::Shell => context.console.print(&emit::shell(&emission).map_err(UsageError)?)?,
        Form::Fio => context.console.print(&emit::fio(&emission).map_err(UsageError)?)?,
        Form::Table if context.global.json => context.console.print_json(plan)?,
        Form::Table => context.console.print(&format!("{}\n\n{}", sanitize(&plan.describe()), plan.table()))?,
    }
    Ok(Ending::Done)
}
