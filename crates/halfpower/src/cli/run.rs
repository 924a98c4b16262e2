//! `halfpower run`: the survey of what is under a path.

use super::session::{self, DEFAULT_REPORT};
use super::{Context, Ending, UsageError};
use crate::ground::{self, Making, Site, Wish};
use crate::plan::{Overrides, Plan, PlanError};
use crate::store::{NewRun, RunKind};
use crate::study::Study;
use clap::Args;
use halfpower_engine::Access;
use halfpower_model::{Bytes, Environment, TargetFacts, WorkloadSpec};
use std::path::{Path, PathBuf};

/// Surveys the storage under a path: sequential and random, reads and writes, direct and buffered, from 2 KiB to 1 MiB.
///
/// A directory gets a test file that is removed afterwards; a file or a block device is only read unless --overwrite
/// names it. Prints what it will do first, and ends with a summary and a report.
#[derive(Clone, Debug, Args)]
pub(super) struct Arguments {
    /// A directory, a file or a block device
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Forty seconds: fewer sizes and depths, shorter trials
    #[arg(long, conflicts_with = "thorough")]
    quick: bool,
    /// A quarter of an hour: every size at depths 1, 2, 4 and 8, longer trials
    #[arg(long)]
    thorough: bool,
    #[command(flatten)]
    common: CommonArguments,
}

/// What carrying out any study takes.
#[derive(Clone, Debug, Args)]
pub(super) struct CommonArguments {
    #[command(flatten)]
    plan: PlanArguments,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Write the report here
    #[arg(long, value_name = "FILE", default_value = DEFAULT_REPORT, help_heading = "Results")]
    report: PathBuf,
    /// Write no report
    #[arg(long, help_heading = "Results")]
    no_report: bool,
    /// Keep nothing in the store
    #[arg(long, conflicts_with = "store", help_heading = "Results")]
    no_store: bool,
    /// Something to remember the run by
    #[arg(long, value_name = "TEXT", help_heading = "Results")]
    note: Option<String>,
}

/// What planning any study takes.
#[derive(Clone, Debug, Args)]
pub(super) struct PlanArguments {
    /// Measure reads only; a directory still gets its test file
    #[arg(long)]
    no_writes: bool,
    /// Bytes the run may write, the test file included: flash wears [default: the study's, 32GiB]
    #[arg(long, value_name = "SIZE")]
    write_budget: Option<Bytes>,
    /// Lose what the file or device holds; `--overwrite=TARGET` makes sure it is that one
    #[arg(long, value_name = "TARGET", num_args = 0..=1, require_equals = true)]
    overwrite: Option<Option<PathBuf>>,
    /// Size of the test file, or how much of the target is used [default: 1GiB of a directory, all of a target]
    #[arg(long, value_name = "SIZE")]
    size: Option<Bytes>,
    /// Draws order, places and data; the same seed does the same work [default: the study's, 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let name = match (arguments.quick, arguments.thorough) {
        (true, _) => "survey-quick",
        (_, true) => "survey-thorough",
        _ => "survey",
    };
    let study = Study::builtin(name).ok_or_else(|| UsageError(format!("there is no study {name}")))?;
    carry_out_study(context, &study, RunKind::Survey, &arguments.path, &arguments.common)
}

/// Whether the user allowed what the target holds to be lost.
///
/// # Errors
/// When `--overwrite=` names another target.
pub(super) fn access(overwrite: Option<&Option<PathBuf>>, target: &Path) -> Result<Access, UsageError> {
    match overwrite {
        None => Ok(Access::Read),
        Some(None) => Ok(Access::Overwrite),
        Some(Some(named)) if is_same_name(named, target) => Ok(Access::Overwrite),
        Some(Some(named)) => Err(UsageError(format!(
            "--overwrite names {}, but the target is {}; name the same one",
            named.display(),
            target.display()
        ))),
    }
}

/// Whether two names are one, seen from here: `disk.img`, `./disk.img` and its absolute name.
fn is_same_name(one: &Path, other: &Path) -> bool {
    one == other || std::path::absolute(one).is_ok_and(|one| std::path::absolute(other).is_ok_and(|other| one == other))
}

/// A study on a path, from looking at the ground to the report.
pub(super) fn carry_out_study(
    context: &Context,
    study: &Study,
    kind: RunKind,
    path: &Path,
    arguments: &CommonArguments,
) -> anyhow::Result<Ending> {
    let mut store = if arguments.dry_run { None } else { Some(session::open_store(context, !arguments.no_store)?) };
    if let Some(store) = &mut store {
        // Before the room is looked at: a test file that was left may be what takes it.
        ground::offer_removal(store, session::directory_of(path).as_deref(), &context.console, &context.cancel)?;
    }
    let Prepared { site, environment, plan } = prepare(study, path, &arguments.plan)?;
    context.console.message(&format!("Ground: {}", site.describe(environment.memory_bytes)));
    for note in &site.notes {
        context.console.warning(&format!("{}; {}", note.message, note.remedy));
    }
    context.console.message(&format!("Plan: {}", plan.describe()));
    let Some(mut store) = store else {
        if context.global.json {
            context.console.print_json(&plan)?;
        }
        return Ok(Ending::Done);
    };
    let target = session::stored_target(path)?;
    let command = format!("halfpower {}", context.typed);
    let run = store.begin_run(&NewRun {
        kind,
        name: &study.name,
        question: study.question.as_deref(),
        study_text: Some(&study.text),
        plan: Some(&plan),
        command: &command,
        target: &target.to_string_lossy(),
        seed: plan.seed,
        note: arguments.note.as_deref(),
        environment: &environment,
    })?;
    let end = session::carry_out(context, &mut store, run, &plan, &site)?;
    let report = (!arguments.no_report).then_some(arguments.report.as_path());
    session::show_end(context, &store, run, end, report)
}

/// The ground looked at, and the plan for it.
pub(super) struct Prepared {
    pub(super) site: Site,
    pub(super) environment: Environment,
    pub(super) plan: Plan,
}

/// Looks at the ground and makes the plan; changes nothing.
pub(super) fn prepare(study: &Study, path: &Path, arguments: &PlanArguments) -> anyhow::Result<Prepared> {
    let wish = Wish {
        path: path.to_owned(),
        size: arguments.size.or(study.test_file),
        size_is_fixed: arguments.size.is_some(),
        access: access(arguments.overwrite.as_ref(), path)?,
        held: Bytes(0),
    };
    let site = ground::look(&wish)?;
    // Facts of the target as it will be: a file that is made holds what was written.
    let facts = TargetFacts { allocated_bytes: None, ..site.facts.clone() };
    let environment = halfpower_engine::environment(facts);
    let overrides = Overrides {
        workload: WorkloadSpec { span: arguments.size, ..WorkloadSpec::default() },
        seed: arguments.seed,
        write_budget: arguments.write_budget,
        no_writes: no_writes(&site, arguments.no_writes),
        no_cold_cache: site.no_cold_cache(environment.memory_bytes),
        test_file: site.fill_bytes(),
        test_file_end: site.test_file_end(),
    };
    let plan = Plan::make(study, &overrides, &environment).map_err(|error| match site.memory_note() {
        Some(note) if matches!(error, PlanError::NothingLeft { .. }) => anyhow::Error::new(UsageError(format!(
            "{}: nothing of {} can be measured there; {}",
            note.message, study.name, note.remedy
        ))),
        _ => error.into(),
    })?;
    let reads = plan.cells.iter().map(|cell| &cell.workload).filter(|workload| workload.operation.reads());
    if let Some(span) = reads.map(|workload| workload.span).max() {
        site.refuse_holes(span)?;
    }
    Ok(Prepared { site, environment, plan })
}

/// Why nothing is written, if nothing is.
fn no_writes(site: &Site, said: bool) -> Option<String> {
    if said {
        return Some("--no-writes".to_owned());
    }
    let ours = matches!(site.making, Making::TestFile(_));
    (!ours && site.access == Access::Read)
        .then(|| format!("{} is only read unless --overwrite is said", site.path.display()))
}
