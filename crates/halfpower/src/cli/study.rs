//! `halfpower study`: list, show, check, run, resume, repeat.

use super::fio;
use super::plugin::PluginArguments;
use super::run::{CommonArguments, carry_out_study};
use crate::command::context::{Context, Ending};
use crate::command::session::{self, ReportArguments, Session};
use crate::command::targets::{OverwriteArgument, TargetArgument};
use crate::input::{self, Times};
use crate::output::Output;
use crate::plan::{Overrides, Plan};
use crate::simulator::name::SimulatedName;
use crate::store::{NewRun, Run, RunId, RunKind, RunStatus, Store, StoreError};
use crate::study::{Shelf, Study, VOLUME, natural, volumes_in};
use crate::target::{self, Site, TargetOptions};
use crate::target_name::is_time_virtual;
use crate::text::{UsageError, refuse};
use anyhow::Context as _;
use clap::{Args, Subcommand};
use halfpower_engine::{NULL_TARGET, is_remote};
use halfpower_model::{Environment, Settings};
use jiff::Timestamp;
use std::path::{Path, PathBuf};

/// Studies: a question, a target and a sweep, from a TOML file (docs/FORMAT.md) or built in
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the built-in studies, or those of a folder
    List {
        /// A folder of built-in studies (nt4, win2000), or a folder with study files
        folder: Option<String>,
    },
    /// Print a study's file
    Show {
        /// A built-in study's name, a file or a folder
        study: String,
    },
    /// Report every mistake in study files
    Check {
        /// Built-in studies' names, files or folders
        #[arg(required = true)]
        studies: Vec<String>,
    },
    /// Make a study of a job file of fio, with a sweep for each job
    From {
        /// The job file
        job: String,
        /// The file to write, which must not exist; standard output without it
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Run a study
    Run(Box<RunArguments>),
    /// Continue an interrupted run at the first missing repetition
    Resume(AgainArguments),
    /// Measure the workloads and repetitions of a run once more, in their order, as a new run
    Repeat(AgainArguments),
}

#[derive(Debug, Args)]
struct AgainArguments {
    /// The run's number; `halfpower runs` lists them
    run: RunId,
    #[command(flatten)]
    report: ReportArguments,
    #[command(flatten)]
    overwrite: OverwriteArgument,
    #[command(flatten)]
    plugins: PluginArguments,
}

#[derive(Debug, Args)]
struct RunArguments {
    /// A built-in study's name (win2000, win2000/figure-34), a file or a folder
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
        Action::List { folder } => list(context, folder.as_deref()),
        Action::Show { study } => {
            let study = load(study)?;
            match context.global.json {
                true => context.console.print_json(&summary(&study))?,
                false => context.console.print(&study.text)?,
            }
            Ok(Ending::Done)
        }
        Action::Check { studies } => check(context, studies),
        Action::From { job, output } => {
            let text = fio::study_from(job)?;
            match output {
                Some(path) => Output::new_file(path).write(&text)?,
                None => context.console.print(&text)?,
            }
            Ok(Ending::Done)
        }
        Action::Run(arguments) => {
            let study = load(&arguments.study)?;
            arguments.plugins.check(study.plugins())?;
            let (study, targets) = arguments.target.of(context, study, &arguments.common.plan.overwrite)?;
            carry_out_study(context, &study, RunKind::Study, &targets, &arguments.common)
        }
        Action::Resume(arguments) => again(context, arguments, Again::Resumed),
        Action::Repeat(arguments) => again(context, arguments, Again::Repeated),
    }
}

/// The built-in study of this name, or the one in this file or folder. Its target is not checked, because the command line
/// may name another.
pub(super) fn load(name: &str) -> anyhow::Result<Study> {
    load_from(name, Shelf::of(&open))
}

fn load_from(name: &str, shelf: Shelf<'_>) -> anyhow::Result<Study> {
    if let Some(study) = Study::builtin(name) {
        return Ok(study);
    }
    if Path::new(name).is_dir() {
        return Ok(Study::of_folder(name.trim_end_matches('/'), &study_files(name)?, shelf)?);
    }
    let text = match input::read_text(Path::new(name), Times::Once) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let folder = name.split_once('/').map_or("", |(folder, _)| folder);
            let mut known: Vec<&str> = Study::files_of(folder).collect();
            if known.is_empty() {
                known = Study::builtin_names().collect();
            }
            let known = known.join(", ");
            refuse!("there is no file {name} and no built-in study of that name ({known})");
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read the study {name}")),
    };
    Ok(Study::parse_with(name, &text, shelf)?)
}

/// The study files of a folder, in their order.
fn study_files(name: &str) -> anyhow::Result<Vec<String>> {
    let folder = name.trim_end_matches('/');
    let mut files = Vec::new();
    for entry in std::fs::read_dir(name).with_context(|| format!("cannot read the folder {name}"))? {
        let file = entry?.file_name().into_string().map_err(|file| {
            let file = file.display();
            UsageError(format!("{file} in the folder {name} is not UTF-8, as every name here has to be; rename it"))
        })?;
        files.push(format!("{folder}/{file}"));
    }
    files.retain(|file| file.ends_with(".toml"));
    files.sort_by_cached_key(|file| natural(file));
    Ok(files)
}

/// The text of a study file.
fn open(file: &str) -> Result<String, String> {
    input::read_text(Path::new(file), Times::Once).map_err(|error| format!("cannot read {file}: {error}"))
}

/// The studies of a list by the names to run them with.
type Listed = Vec<(String, Study)>;

/// Lists the built-in studies, or those of a built-in folder or of a folder on disk.
fn list(context: &Context, folder: Option<&str>) -> anyhow::Result<Ending> {
    let names: Vec<&str> = match folder {
        None => Study::builtin_names().collect(),
        Some(folder) => Study::files_of(folder.trim_end_matches('/')).collect(),
    };
    let is_folder = |name: &str| Study::files_of(name).next().is_some();
    let builtin = |name: &&str| Some(((*name).to_owned(), Study::builtin(name)?));
    let (studies, others): (Listed, Vec<String>) = match folder.filter(|_| names.is_empty()) {
        None => (names.iter().filter_map(builtin).collect(), Vec::new()),
        Some(folder) if Path::new(folder).is_dir() => in_folder(folder)?,
        Some(folder) => {
            let folders: Vec<&str> = Study::builtin_names().filter(|name| is_folder(name)).collect();
            let folders = folders.join(", ");
            refuse!("{folder} is no folder, and none of built-in studies; those are {folders}");
        }
    };
    if context.global.json {
        context.console.print_json(&studies.iter().map(|(_, study)| summary(study)).collect::<Vec<_>>())?;
        return Ok(Ending::Done);
    }
    let width = studies.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, study) in &studies {
        let question = study.question.as_deref().unwrap_or_default();
        let line = format!("{name:<width$}  {:>4} workloads  {question}", workloads(study));
        context.console.print_line(line.trim_end())?;
    }
    for (name, folder) in studies.iter().filter(|(name, _)| is_folder(name)) {
        let figures = folder.exhibits().len();
        context.console.print(&format!(
            "\n{name} is a folder of {figures} figures and tables, each a study; `halfpower study list {name}` names them."
        ))?;
    }
    if !others.is_empty() {
        let others = others.join(", ");
        context
            .console
            .message(&format!("No studies, or with mistakes, which `halfpower study check` names: {others}"));
    }
    Ok(Ending::Done)
}

/// The studies in a folder on disk: its files, and its folders with a `study.toml`. Then the files that are not studies.
fn in_folder(folder: &str) -> anyhow::Result<(Listed, Vec<String>)> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read the folder {folder}"))? {
        let path = entry?.path();
        let is_file = path.extension().is_some_and(|extension| extension == "toml") && !path.ends_with("study.toml");
        if (is_file && path.is_file()) || path.join("study.toml").is_file() {
            names.push(path.strip_prefix(".").unwrap_or(&path).to_string_lossy().into_owned());
        }
    }
    names.sort_by_cached_key(|name| natural(name));
    let (mut studies, mut others) = (Listed::new(), Vec::new());
    for name in names {
        match load(&name) {
            Ok(study) => studies.push((name, study)),
            Err(_) => others.push(name),
        }
    }
    if studies.is_empty() && others.is_empty() {
        refuse!("there are no study files (.toml) in {folder}; `halfpower study list` names the built-in ones");
    }
    Ok((studies, others))
}

fn summary(study: &Study) -> serde_json::Value {
    serde_json::json!({
        "name": study.name,
        "question": study.question,
        "cells": workloads(study),
        "figures": study.exhibits().iter().map(|exhibit| &exhibit.label).collect::<Vec<_>>(),
        "text": study.text,
    })
}

fn check(context: &Context, studies: &[String]) -> anyhow::Result<Ending> {
    let shelf = Shelf { open: &open, fits: &fits };
    let results: Vec<_> = studies.iter().map(|name| (name, checked(name, shelf))).collect();
    if context.global.json {
        let of = |(name, result): &(&String, Result<Study, Vec<anyhow::Error>>)| {
            let error = |error: &anyhow::Error| format!("{error:#}");
            let error = result.as_ref().err().map(|errors| errors.iter().map(error).collect::<Vec<_>>().join("\n"));
            serde_json::json!({ "study": name, "cells": result.as_ref().ok().map(workloads), "error": error })
        };
        context.console.print_json(&results.iter().map(of).collect::<Vec<_>>())?;
    }
    let mut wrong = false;
    for (name, result) in results {
        match result {
            Ok(_) if context.global.json => {}
            Ok(study) => context.console.print_line(&format!("{name}: {} workloads", workloads(&study)))?,
            Err(errors) => {
                errors.iter().for_each(|error| super::failure::report(&context.console, error));
                wrong = true;
            }
        }
    }
    Ok(if wrong { Ending::WrongUsage } else { Ending::Done })
}

/// A study, or its errors. Reading a folder ends at its first faulty file, so its other files are then read one by one.
fn checked(name: &str, shelf: Shelf<'_>) -> Result<Study, Vec<anyhow::Error>> {
    load_from(name, shelf).and_then(as_a_whole).map_err(|error| {
        let mut errors = vec![error];
        for file in study_files(name).unwrap_or_default().iter().filter(|file| !file.ends_with("/study.toml")) {
            let error = load_from(file, shelf).err();
            let is_new = |error: &anyhow::Error| errors.iter().all(|other| other.to_string() != error.to_string());
            errors.extend(error.filter(is_new));
        }
        errors
    })
}

/// The number of its workloads. If it names a simulated machine, workloads that are equal there count once.
fn workloads(study: &Study) -> usize {
    let planned = || -> anyhow::Result<usize> {
        let site = machine(study.path.as_deref().unwrap_or_default()).context("it names no machine")??;
        let machines = site.machines(&study.settings())?;
        let plan = Plan::make(study, &Overrides { machines, ..Overrides::default() }, &site.environment())?;
        Ok(plan.cells.len())
    };
    planned().unwrap_or_else(|_| study.cells())
}

/// The simulated machine of this name; none if the name is not that of a machine.
fn machine(path: &str) -> Option<anyhow::Result<Site>> {
    let examine = || target::examine(&TargetOptions { targets: vec![path.into()], ..TargetOptions::default() });
    is_time_virtual(Path::new(path)).then(examine)
}

/// Checks that a simulated machine exists and accepts these settings. Without a machine there is nothing to check.
fn fits(path: &str, set: &Settings) -> Result<(), String> {
    let Some(site) = machine(path) else { return Ok(()) };
    let made = site.and_then(|site| Ok(site.machines(std::slice::from_ref(set))?));
    made.map(drop).map_err(|error| format!("{error:#}"))
}

/// Checks all settings of a study, included ones too, on the machine that the study names.
fn as_a_whole(study: Study) -> anyhow::Result<Study> {
    let path = study.path.as_deref().unwrap_or_default();
    study.settings().iter().try_for_each(|set| fits(path, set)).map_err(UsageError)?;
    if let Some(site) = machine(path) {
        site?.machines_of(&study)?;
    }
    Ok(study)
}

/// What is done with a stored run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    /// Its missing repetitions are measured.
    Resumed,
    /// A new run measures what it measured.
    Repeated,
}

fn again(context: &Context, arguments: &AgainArguments, again: Again) -> anyhow::Result<Ending> {
    let AgainArguments { run: id, report, overwrite, plugins } = arguments;
    let id = *id;
    let mut store = session::open_store(context, true)?;
    let stored = store.run(id)?;
    let (begun, of) = match again {
        Again::Resumed => (stored.started_at, stored.identity()),
        Again::Repeated => (Timestamp::now(), String::new()),
    };
    let report = report.place((&stored.environment.host, &stored.target), begun, &of)?;
    stored.check_plan()?;
    let Some(plan) = &stored.plan else {
        refuse!("run {id} is a single workload; start it again with `{}`", stored.command);
    };
    if plan.arms.is_some() {
        refuse!("run {id} compares two arms, whose pairs belong together; start it again with `{}`", stored.command);
    }
    if stored.status == RunStatus::Complete && again == Again::Resumed {
        return Err(StoreError::Complete(id).into());
    }
    plugins.check(plan.cells.iter().filter_map(|cell| cell.workload.plugin.as_ref()))?;
    if let Some(target) = plan.targets.iter().find(|target| target.contains(char::REPLACEMENT_CHARACTER)) {
        refuse!(
            "run {id} was begun in {target}, and what of that name was not UTF-8 is not known; start again with `{}`",
            stored.command
        );
    }
    refuse_other_processes(context, &store, id)?;
    let targets: Vec<PathBuf> = plan.targets.iter().map(PathBuf::from).collect();
    let is_named = |path: &&PathBuf| path.as_os_str() != NULL_TARGET && !is_remote(path);
    let file = |path: &PathBuf| match SimulatedName::of(path) {
        None => Some(path.clone()),
        Some(name) => Some(name.ok()?.file()?.to_owned()),
    };
    if let Some(gone) = targets.iter().filter(is_named).filter_map(file).find(|path| !path.exists()) {
        refuse!(
            "{}, where run {id} was begun, is not there any more{}; bring it back, or start again with `{}`",
            gone.display(),
            // Real targets are stored with absolute names.
            if gone.is_relative() { ", seen from here" } else { "" },
            stored.command
        );
    }
    overwrite.refuse_without_name(&targets, &format!("run {id}"))?;
    let options = TargetOptions {
        size: plan.file_bytes.or(plan.test_file_bytes),
        size_is_fixed: plan.test_file_bytes.is_some(),
        overwrite: overwrite.of(&targets)?,
        held: match again {
            Again::Resumed => store.test_files_left()?.into_iter().filter(|left| left.run == Some(id)).collect(),
            Again::Repeated => Vec::new(),
        },
        files: plan.files,
        peaks: stored.environment.target.given_peaks(),
        targets,
        ..TargetOptions::default()
    };
    let volumes = volumes_in(plan.cells.iter().map(|cell| cell.workload.set.without(VOLUME).0));
    let site = target::examine(&options)?;
    let now = site.environment_of(&volumes)?;
    let writes = plan.cells.iter().any(|cell| cell.workload.operation.destroys());
    let plugins = plan.cells.iter().filter_map(|cell| cell.workload.plugin.as_ref());
    if let Some(place) = site.only_read(plugins).filter(|_| writes) {
        refuse!("run {id} overwrites {path}; allow it once more with --overwrite={path}", path = place.path.display());
    }
    refuse_another_machine(&stored, &now)?;
    warn_of_changes(context, plan, &stored.environment, &now);
    if again == Again::Resumed {
        store.resume_run(id)?;
        return Session { context, store, run: id }.carry_out(plan, &site, report);
    }
    let measured = store.samples(id)?.into_iter().map(|stored| (stored.cell, stored.block));
    let plan = Plan { repeats: measured.collect(), ..plan.clone() };
    let run = store.begin_run(&NewRun {
        kind: stored.kind,
        name: &stored.name,
        question: stored.question.as_deref(),
        study_text: stored.study_text.as_deref(),
        plan: Some(&plan),
        command: &context.command(),
        target: &stored.target,
        seed: plan.seed,
        note: None,
        environment: &now,
    })?;
    Session { context, store, run }.carry_out(&plan, &site, report)
}

/// Rejects another number of processes than measured the run, because it would then have samples of two loads.
fn refuse_other_processes(context: &Context, store: &Store, id: RunId) -> anyhow::Result<()> {
    let Some(first) = store.samples(id)?.into_iter().next() else { return Ok(()) };
    let then = first.sample.ranks.len().max(1);
    let now = context.ranks.as_ref().map_or(1, |ranks| ranks.count() as usize);
    if then != now {
        refuse!(
            "run {id} was measured by mpirun -n {then}, and this is -n {now}; continue with mpirun -n {then} halfpower …"
        );
    }
    Ok(())
}

/// Rejects a simulated machine whose file has changed, because the run would then have samples of two machines.
fn refuse_another_machine(stored: &Run, now: &Environment) -> Result<(), UsageError> {
    let files = [&stored.environment, now].map(|environment| environment.machine_file_crc32c.as_ref());
    // Workloads left out of the plan may have named more machines.
    let is_known = |before: &str, now: &str| now.split(", ").all(|now| before.split(", ").any(|before| before == now));
    match files {
        [Some(before), Some(now)] if !is_known(before, now) => Err(UsageError(format!(
            "the file of the machine {} says something else than when run {} was begun, with halfpower {}: one run would be of two \
             machines; bring the file, or that halfpower, back, or start again with `{}`",
            stored.environment.host, stored.id, stored.program.version, stored.command
        ))),
        _ => Ok(()),
    }
}

/// Warns if host, kernel or device have changed since the run began, because the samples then differ in more than time.
fn warn_of_changes(context: &Context, plan: &Plan, before: &Environment, now: &Environment) {
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
