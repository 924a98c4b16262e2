//! `halfpower study`: list, show, check, run, resume.

use super::plugin::PluginArguments;
use super::run::{CommonArguments, carry_out_study};
use super::session::{self, DEFAULT_REPORT};
use super::targets::{OverwriteArgument, TargetArgument};
use super::{Context, Ending, UsageError};
use crate::ground::{self, Wish};
use crate::plan::Plan;
use crate::store::{RunId, RunKind, RunStatus, StoreError};
use crate::study::Study;
use anyhow::Context as _;
use clap::{Args, Subcommand};
use halfpower_engine::NULL_TARGET;
use std::path::{Path, PathBuf};

/// Studies: a question, a target and a sweep, as a TOML file (docs/FORMAT.md) or built in.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the built-in studies
    List,
    /// Print a study's file
    Show {
        /// A built-in study's name or a file
        study: String,
    },
    /// Report every mistake in study files
    Check {
        /// Built-in studies' names or files
        #[arg(required = true)]
        studies: Vec<String>,
    },
    /// Carry a study out
    Run(Box<RunArguments>),
    /// Go on with a run that was interrupted, at the first missing repetition
    Resume {
        /// The run's number; `halfpower runs` lists them
        run: RunId,
        /// Write the report here
        #[arg(long, value_name = "FILE", default_value = DEFAULT_REPORT)]
        report: PathBuf,
        #[command(flatten)]
        overwrite: OverwriteArgument,
        #[command(flatten)]
        plugins: PluginArguments,
    },
}

#[derive(Debug, Args)]
struct RunArguments {
    /// A built-in study's name or a file
    study: String,
    #[command(flatten)]
    target: TargetArgument,
    #[command(flatten)]
    plugins: PluginArguments,
    #[command(flatten)]
    common: CommonArguments,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    match &arguments.action {
        Action::List => list(context),
        Action::Show { study } => {
            let study = load(study)?;
            if context.global.json {
                context.console.print_json(&summary(&study))?;
            } else {
                context.console.print(&study.text)?;
            }
            Ok(Ending::Done)
        }
        Action::Check { studies } => check(context, studies),
        Action::Run(arguments) => {
            let study = load(&arguments.study)?;
            arguments.plugins.check(study.plugins())?;
            let (study, targets) = arguments.target.of(study);
            carry_out_study(context, &study, RunKind::Study, &targets, &arguments.common)
        }
        Action::Resume { run, report, overwrite, plugins } => resume(context, *run, report, overwrite, plugins),
    }
}

/// The built-in study of this name, or the one in this file.
pub(super) fn load(name: &str) -> anyhow::Result<Study> {
    if let Some(study) = Study::builtin(name) {
        return Ok(study);
    }
    let text = match std::fs::read_to_string(name) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let known: Vec<String> = Study::builtins().map(|study| study.name).collect();
            let known = known.join(", ");
            return Err(
                UsageError(format!("there is no file {name} and no built-in study of that name ({known})")).into()
            );
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read the study {name}")),
    };
    Ok(Study::parse(name, &text)?)
}

fn list(context: &Context) -> anyhow::Result<Ending> {
    let studies: Vec<Study> = Study::builtins().collect();
    if context.global.json {
        context.console.print_json(&studies.iter().map(summary).collect::<Vec<_>>())?;
        return Ok(Ending::Done);
    }
    for study in &studies {
        let question = study.question.as_deref().unwrap_or_default();
        context.console.print(&format!("{:<16} {:>4} workloads  {question}", study.name, study.cells()))?;
    }
    Ok(Ending::Done)
}

fn summary(study: &Study) -> serde_json::Value {
    serde_json::json!({
        "name": study.name,
        "question": study.question,
        "cells": study.cells(),
        "text": study.text,
    })
}

fn check(context: &Context, studies: &[String]) -> anyhow::Result<Ending> {
    let results: Vec<_> = studies.iter().map(|name| (name, load(name))).collect();
    if context.global.json {
        let of = |(name, result): &(&String, anyhow::Result<Study>)| {
            let error = result.as_ref().err().map(|error| format!("{error:#}"));
            serde_json::json!({ "study": name, "cells": result.as_ref().ok().map(Study::cells), "error": error })
        };
        context.console.print_json(&results.iter().map(of).collect::<Vec<_>>())?;
    }
    let mut wrong = false;
    for (name, result) in results {
        match result {
            Ok(_) if context.global.json => {}
            Ok(study) => context.console.print(&format!("{name}: {} workloads", study.cells()))?,
            Err(error) => {
                context.console.error(&error);
                wrong = true;
            }
        }
    }
    // The messages are out; the status is that of wrong usage.
    if wrong { Err(super::Reported.into()) } else { Ok(Ending::Done) }
}

fn resume(
    context: &Context,
    id: RunId,
    report: &Path,
    overwrite: &OverwriteArgument,
    plugins: &PluginArguments,
) -> anyhow::Result<Ending> {
    let mut store = session::open_store(context, true)?;
    let stored = store.run(id)?;
    let Some(plan) = &stored.plan else {
        return Err(
            UsageError(format!("run {id} is a single workload; start it again with `{}`", stored.command)).into()
        );
    };
    if stored.status == RunStatus::Complete {
        return Err(StoreError::Complete(id).into());
    }
    plugins.check(plan.cells.iter().filter_map(|cell| cell.workload.plugin.as_ref()))?;
    let targets = if plan.targets.is_empty() { std::slice::from_ref(&stored.target) } else { plan.targets.as_slice() };
    let targets: Vec<PathBuf> = targets.iter().map(PathBuf::from).collect();
    let is_file = |path: &&PathBuf| path.as_os_str() != NULL_TARGET && !ground::is_simulated(path);
    if let Some(gone) = targets.iter().filter(is_file).find(|path| !path.exists()) {
        return Err(UsageError(format!(
            "{}, where run {id} was begun, is not there any more; bring it back, or start again with `{}`",
            gone.display(),
            stored.command
        ))
        .into());
    }
    let wish = Wish {
        size: plan.file_bytes.or(plan.test_file_bytes),
        size_is_fixed: plan.test_file_bytes.is_some(),
        overwrite: overwrite.of(&targets)?,
        held: store.test_files_left()?.into_iter().filter(|left| left.run == Some(id)).collect(),
        files: plan.files,
        peaks: stored.environment.target.given_peaks(),
        targets,
        ..Wish::default()
    };
    let site = ground::look(&wish)?;
    let writes = plan.cells.iter().any(|cell| cell.workload.operation.destroys());
    if let Some(path) = site.only_read().filter(|_| writes) {
        return Err(UsageError(format!("run {id} writes over {}; say --overwrite once more", path.display())).into());
    }
    store.resume_run(id)?;
    warn_of_changes(context, plan, &stored.environment, &site);
    let end = session::carry_out(context, &mut store, id, plan, &site)?;
    session::show_end(context, &store, id, end, Some(report))
}

/// Says where the host is not what it was: the samples before and after then measured different things.
fn warn_of_changes(context: &Context, plan: &Plan, before: &halfpower_model::Environment, site: &ground::Site) {
    let now = site.environment();
    for (what, before, now) in [
        ("host", &before.host, &now.host),
        ("kernel", &before.kernel, &now.kernel),
        ("device", &before.target.device.clone().unwrap_or_default(), &now.target.device.clone().unwrap_or_default()),
    ] {
        if before != now {
            context.console.warning(&format!("the {what} was {before} when the run began and is {now}"));
        }
    }
    context.console.message(&plan.describe());
}
