//! `halfpower plan`: the workloads of a study, printed, or emitted as a script or fio job.

use super::fio;
use super::plugin::PluginArguments;
use super::run::{PlanArguments, prepare};
use crate::command::context::{Context, Ending};
use crate::command::note;
use crate::command::targets::TargetArgument;
use crate::emit::{self, Emission};
use crate::sanitize::sanitize;
use crate::text::{UsageError, refuse};
use clap::{Args, ValueEnum};

/// Shows every workload of a study on a target, with its limits; measures nothing and writes nothing.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A built-in study's name (win2000, win2000/figure-34), a file or a folder; or a job file of fio (x.fio)
    study: String,
    #[command(flatten)]
    target: TargetArgument,
    /// Output format
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
      fio --output-format=json mine.fio               workloads that fio cannot do are left out in comments";

/// The output format of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A table for people
    Table,
    /// A shell script of `halfpower io` commands, with the minimum number of repetitions
    Shell,
    /// A job file for fio; workloads that fio cannot do are left out in comments
    Fio,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    if context.global.json && arguments.emit != Form::Table {
        let form = if arguments.emit == Form::Shell { "shell" } else { "fio" };
        refuse!("--emit {form} is no JSON document; leave --json out, or --emit for the plan as JSON");
    }
    if fio::is_job_file(&arguments.study) {
        if arguments.emit != Form::Table || arguments.target.is_given() || arguments.plan.size.is_some() {
            refuse!(
                "fio's jobs name their own files and sizes; make a study of them with `halfpower study from {}`, and plan that",
                sanitize(&arguments.study)
            );
        }
        return fio::plan(context, &arguments.study);
    }
    let study = super::study::load(&arguments.study)?;
    if arguments.emit == Form::Shell {
        // The script loads them.
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
