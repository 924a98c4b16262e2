//! `halfpower run`: the survey of the storage under a path.

use crate::command::context::{Context, Ending};
use crate::command::note::Keeping;
use crate::command::number::{any, count};
use crate::command::price::PriceArguments;
use crate::command::session::{self, ReportArguments, Session};
use crate::command::targets::{OverwriteArgument, PeakArguments};
use crate::plan::{Expected, Overrides, Plan, PlanError};
use crate::simulator::name::SetArgument;
use crate::simulator::name::SimulatedName;
use crate::store::{NewRun, RunKind};
use crate::study::Study;
use crate::target::{self, Contents, Site, TargetOptions};
use crate::text::UsageError;
use clap::Args;
use halfpower_model::{Bytes, Environment, WorkloadSpec};
use jiff::Timestamp;
use std::path::PathBuf;

/// Surveys the storage under a path: sequential and random, reads and writes, direct and buffered, 4 KiB to 1 MiB
///
/// A directory gets a test file, which is removed afterwards. A file or block device is only read, unless --overwrite names
/// it. Several paths show a limit that they share, such as a bus. Prints the plan first, then a summary, and writes a report.
#[derive(Clone, Debug, Args)]
pub(super) struct Arguments {
    /// Directories, files and block devices; several are measured alone and together
    #[arg(default_value = ".", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Take about half a minute: fewer sizes and queue depths, shorter repetitions
    #[arg(long, conflicts_with = "thorough")]
    quick: bool,
    /// Take up to 15 minutes, until rates are within 2 %: QD1, 2, 4 and 8, longer repetitions
    #[arg(long)]
    thorough: bool,
    #[command(flatten)]
    common: CommonArguments,
}

/// The options of every command that carries out a study.
#[derive(Clone, Debug, Args)]
pub(super) struct CommonArguments {
    #[command(flatten)]
    pub(super) plan: PlanArguments,
    /// Measure the noise of this machine: run the plan twice, interleaved, and compare the halves (A/A test)
    #[arg(long)]
    aa: bool,
    /// What reads and writes are to sustain each, like iops=3000,throughput=125MiB/s; status 3 if more than 1 % is missing
    #[arg(long, value_name = "RATES")]
    expect: Option<Expected>,
    /// Print the plan and measure nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    report: ReportArguments,
    #[command(flatten)]
    keeping: Keeping,
}

/// The options of every command that plans a study.
#[derive(Clone, Debug, Args)]
pub(super) struct PlanArguments {
    /// Measure reads only; a directory still gets its test file
    #[arg(long)]
    no_writes: bool,
    /// Limit on the bytes written, test file included, to spare flash [default: as in the study; 32GiB, of `run --quick` 8GiB]
    #[arg(long, value_name = "SIZE")]
    pub(super) write_budget: Option<Bytes>,
    #[command(flatten)]
    pub(super) overwrite: OverwriteArgument,
    #[command(flatten)]
    peaks: PeakArguments,
    #[command(flatten)]
    pub(super) set: SetArgument,
    #[command(flatten)]
    price: PriceArguments,
    /// Test files to make in each directory [default: 1]
    #[arg(long, value_name = "N", value_parser = count::<u32>)]
    files: Option<u32>,
    /// Size of the test file, or how much of a file or device is used [default: a test file of 1GiB, 512MiB with --quick, 2GiB with --thorough; all of a file or device]
    #[arg(long, value_name = "SIZE")]
    pub(super) size: Option<Bytes>,
    /// Seed of order, offsets and data: the same seed gives the same requests [default: as in the study, or 1]
    #[arg(long, value_name = "N", value_parser = any::<u64>)]
    seed: Option<u64>,
}

/// The study that the survey of several targets includes.
const TARGETS: &str = "targets";

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let name = match (arguments.quick, arguments.thorough) {
        (true, _) => "survey-quick",
        (_, true) => "survey-thorough",
        _ => "survey",
    };
    let study = Study::builtin(name).ok_or_else(|| UsageError(format!("there is no study {name}")))?;
    let study = with_each_target(study, &arguments.paths, &arguments.common);
    carry_out_study(context, &study, RunKind::Survey, &arguments.paths, &arguments.common)
}

/// A study that also measures each target alone and several together, if there are several.
pub(super) fn with_each_target(study: Study, targets: &[PathBuf], arguments: &CommonArguments) -> Study {
    let several = targets.len() > 1 || arguments.plan.files.is_some_and(|files| files > 1);
    match Study::builtin(TARGETS).filter(|_| several) {
        Some(targets) => study.and(targets),
        None => study,
    }
}

/// A study on its targets, from examining them to the report.
pub(super) fn carry_out_study(
    context: &Context,
    study: &Study,
    kind: RunKind,
    targets: &[PathBuf],
    arguments: &CommonArguments,
) -> anyhow::Result<Ending> {
    let targets = &arguments.plan.set.on(targets)?;
    let mut store =
        if arguments.dry_run { None } else { Some(session::open_store(context, !arguments.keeping.no_store)?) };
    if let Some(store) = &mut store {
        // Before the free space is checked: a leftover test file may take it.
        target::offer_removal(store, targets, &context.console)?;
    }
    let twice = arguments.aa.then(|| study.clone().twice());
    let (study, kind) = twice.as_ref().map_or((study, kind), |twice| (twice, RunKind::Aa));
    let Prepared { site, environment, mut plan } = prepare(study, targets, &arguments.plan)?;
    plan.expected = arguments.expect;
    context.console.message(&format!("Target: {}", site.describe(&environment)));
    context.warn(&site.notes);
    context.console.message(&format!("Plan: {}", plan.describe()));
    let Some(mut store) = store else {
        if context.global.json {
            context.console.print_json(&plan)?;
        }
        return Ok(Ending::Done);
    };
    let target = session::stored_targets(targets)?.join(", ");
    let report = arguments.report.place((&environment.host, &target), Timestamp::now(), "")?;
    let command = context.command();
    let run = store.begin_run(&NewRun {
        kind,
        name: &study.name,
        question: study.question.as_deref(),
        study_text: Some(&study.text),
        plan: Some(&plan),
        command: &command,
        target: plan.measured(&target),
        seed: plan.seed,
        note: arguments.keeping.note.text().as_deref(),
        environment: &environment,
    })?;
    Session { context, store, run }.carry_out(&plan, &site, report)
}

/// The examined targets and their plan.
pub(super) struct Prepared {
    pub(super) site: Site,
    /// The environment of all volumes that the workloads use.
    pub(super) environment: Environment,
    pub(super) plan: Plan,
}

/// Examines the targets and makes the plan; changes nothing.
pub(super) fn prepare(study: &Study, targets: &[PathBuf], arguments: &PlanArguments) -> anyhow::Result<Prepared> {
    refuse_set_twice(study, targets)?;
    let options = TargetOptions {
        targets: targets.to_vec(),
        files: arguments.files,
        size: arguments.size.or(study.test_file),
        size_is_fixed: arguments.size.is_some(),
        overwrite: arguments.overwrite.of(targets)?,
        // The last value of a level counts.
        peaks: [study.peaks.as_slice(), arguments.peaks.given()?].concat(),
        ..TargetOptions::default()
    };
    let site = target::examine(&options)?;
    let environment = site.environment();
    let overrides = Overrides {
        workload: WorkloadSpec { size: arguments.size, ..WorkloadSpec::default() },
        seed: arguments.seed,
        write_budget: arguments.write_budget,
        no_writes: no_writes(&site, study, arguments.no_writes),
        no_cold_cache: site.no_cold_cache(environment.memory_bytes),
        test_file: site.fill_bytes(Contents::Data),
        each_file: site.each_file(),
        test_file_end: site.test_file_end(),
        targets: session::stored_targets(targets)?,
        files: arguments.files,
        offer: arguments.price.over(study.offer)?,
        machines: site.machines_of(study)?,
    };
    let memory = site.notes.iter().find(|note| note.code == "memory");
    let plan = Plan::make(study, &overrides, &environment).map_err(|error| match memory {
        Some(note) if matches!(error, PlanError::NothingLeft(_)) => anyhow::Error::new(UsageError(format!(
            "{}: nothing of {} can be measured there; {}",
            note.message, study.name, note.remedy
        ))),
        _ => error.into(),
    })?;
    site.refuse_holes(plan.cells.iter().map(|cell| &cell.workload))?;
    let environment = site.environment_of(&study.volumes_or_target())?;
    Ok(Prepared { site, environment, plan })
}

/// Rejects settings that both the target and the study set. The machine itself rejects one setting under two names.
fn refuse_set_twice(study: &Study, targets: &[PathBuf]) -> Result<(), UsageError> {
    let names = targets.iter().filter_map(|target| SimulatedName::of(target)).collect::<Result<Vec<_>, _>>()?;
    let own = study.settings();
    let by_study = |key: &str| own.iter().find_map(|set| set.without(key).0);
    let given = names.iter().flat_map(|name| &name.settings.0);
    match given.into_iter().find_map(|(key, value)| Some((key, value, by_study(key)?))) {
        Some((key, value, own)) => Err(UsageError(format!(
            "`{key}` is set twice: {value} for the target, and {own} by the study {}; leave it out of one of the two",
            study.name
        ))),
        None => Ok(()),
    }
}

/// The reason, if nothing is written.
fn no_writes(site: &Site, study: &Study, by_option: bool) -> Option<String> {
    if by_option {
        return Some("--no-writes".to_owned());
    }
    let place = site.only_read(study.plugins())?;
    let why = place.facts.server.as_ref().and_then(|server| server.read_only.as_deref());
    Some(format!("{} is only read; {}", place.path.display(), why.unwrap_or("give --overwrite to write it")))
}
