//! `halfpower ab`: two targets, or one in two settings, measured in turn and compared by pairs.

use super::run::{PlanArguments, Prepared, prepare};
use super::{compare, study};
use crate::command::context::{Context, Ending};
use crate::command::note::Keeping;
use crate::command::number::count;
use crate::command::session::{self, Session};
use crate::output::{Force, Output};
use crate::plan::Arm;
use crate::report::{TwoArms, comparison_text};
use crate::store::{NewRun, RunKind, RunStatus};
use crate::study::{Repetitions, Study};
use crate::target;
use crate::text::{UsageError, refuse};
use clap::Args;
use halfpower_analysis::statistics::Margin;
use halfpower_model::Bytes;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  halfpower ab /mnt/old /mnt/new                           two file systems
  halfpower ab /dev/nvme0n1 /dev/nvme1n1 --no-writes       two drives, reads only
  halfpower ab /data --before-a 'blockdev --setra 256 /dev/sda' \\
                     --before-b 'blockdev --setra 4096 /dev/sda' --study readahead.toml
  halfpower ab /data --before-a 'echo none > /sys/block/sda/queue/scheduler' \\
                     --before-b 'echo bfq > /sys/block/sda/queue/scheduler'

Exit status: 0 equivalent or B better; 3 B worse; 4 undecided.";

/// Compare two targets, or two settings of one target
///
/// Measures A and B in turn, many short pairs in about a minute; a coin decides which of a pair comes first. The pairs are
/// compared, so what changes over time cancels. Random reads and writes at QD1 and QD32, a mix (70/30) and sequential ones at
/// QD8, buffered sequential reads, fsynced writes, or a study of yours; what only one of the two can run is left out. A directory gets a
/// test file, which is removed afterwards. A file or block device is only read, unless --overwrite names it.
///
/// With one target, commands apply the settings: --before-a before A's part of each block, --before-b before B's. The
/// target stays open, so a command can remount it, but not unmount it. The setting of the last block stays.
///
/// Short pairs see the burst of a rate-limited volume: `halfpower limits` finds what lasts.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Directory, file or block device
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The other one [default: A, in another setting]
    #[arg(value_name = "B")]
    b: Option<PathBuf>,
    /// Command for `sh -c` before A's part of each block
    #[arg(long, value_name = "COMMAND")]
    before_a: Option<String>,
    /// Command for `sh -c` before B's part of each block
    #[arg(long, value_name = "COMMAND")]
    before_b: Option<String>,
    /// Measure the workloads of this study: a file, a folder or a built-in name
    #[arg(long, value_name = "STUDY")]
    study: Option<String>,
    /// Number of pairs of each workload [default: the repetitions of the study; 10 without --study]
    #[arg(long, value_name = "N", value_parser = count::<u32>)]
    pairs: Option<u32>,
    /// Margin of every figure, like 5% [default: 2% of throughput and cost, 5% of p99]
    #[arg(long, value_name = "SHARE", value_parser = compare::threshold)]
    threshold: Option<Margin>,
    #[command(flatten)]
    plan: PlanArguments,
    /// Print the plan and measure nothing
    #[arg(long)]
    dry_run: bool,
    /// Also write a page with a forest plot here
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    report: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    #[command(flatten)]
    keeping: Keeping,
}

/// The study without --study.
const STUDY: &str = "ab";

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let b = arguments.b.as_ref().unwrap_or(&arguments.a);
    let targets = arguments.plan.set.on(&[arguments.a.clone(), b.clone()])?;
    let hooks = [&arguments.before_a, &arguments.before_b];
    let is_one = targets[0] == targets[1];
    if is_one && hooks.iter().all(|hook| hook.is_none()) {
        refuse!(
            "A and B are the same: {}; name two targets, or apply two settings with --before-a and --before-b",
            targets[0].display()
        );
    }
    if let Some(path) = &arguments.report {
        Output::report(path, "", arguments.force).check()?;
    }
    if is_one && hooks.iter().any(|hook| hook.as_ref().is_none_or(|hook| hook.trim().is_empty())) {
        refuse!(
            "with one target each setting needs a command, or what A set stays for B; give both --before-a and --before-b"
        );
    }
    let mut store =
        if arguments.dry_run { None } else { Some(session::open_store(context, !arguments.keeping.no_store)?) };
    if let Some(store) = &mut store {
        target::offer_removal(store, &targets, &context.console)?;
    }
    let study = study_of(arguments)?;
    let ([a, b], smaller) = prepare_both(&study, &targets, &arguments.plan)?;
    if let Some(size) = smaller {
        context.console.message(&format!("Both are measured on {size}, the size of the smaller."));
    }
    for (name, arm) in ["A", "B"].into_iter().zip([&a, &b]) {
        context.console.message(&format!("{name}: {}", arm.site.describe(&arm.environment)));
        context.warn(&arm.site.notes);
    }
    let names = session::stored_targets(&targets)?;
    let arm = |place: usize| Arm { target: names[place].clone(), before: hooks[place].clone() };
    let plan = a.plan.with_arms(b.plan, [arm(0), arm(1)])?;
    context.console.message(&format!("Plan: {}", plan.describe()));
    let Some(mut store) = store else {
        if context.global.json {
            context.console.print_json(&plan)?;
        }
        return Ok(Ending::Done);
    };
    let run = store.begin_run(&NewRun {
        kind: RunKind::Ab,
        name: &study.name,
        question: study.question.as_deref(),
        study_text: Some(&study.text),
        plan: Some(&plan),
        command: &context.command(),
        target: &if is_one { names[0].clone() } else { names.join(", ") },
        seed: plan.seed,
        note: arguments.keeping.note.text().as_deref(),
        environment: &a.environment,
    })?;
    let mut session = Session { context, store, run };
    let status = session.measure_on(&plan, &a.site, (!is_one).then_some(&b.site))?;
    show_end(&session, arguments, status)
}

/// The study with a fixed number of repetitions, which pairs need, and half of its write budget for each arm.
fn study_of(arguments: &Arguments) -> anyhow::Result<Study> {
    let mut study = study::load(arguments.study.as_deref().unwrap_or(STUDY))?;
    let pairs = arguments.pairs.unwrap_or(study.trial.repetitions.min);
    study.trial.repetitions = Repetitions { min: pairs, max: pairs, precision: None };
    study.trial.probe = None;
    study.trial.write_budget = study.trial.write_budget.map(half);
    Ok(study)
}

fn half(budget: Bytes) -> Bytes {
    Bytes(budget.0 / 2)
}

/// Both arms with the same part of their targets; the smaller size if they differ.
fn prepare_both(
    study: &Study,
    targets: &[PathBuf],
    arguments: &PlanArguments,
) -> anyhow::Result<([Prepared; 2], Option<Bytes>)> {
    arguments.overwrite.of(targets)?;
    let mut arguments = arguments.clone();
    arguments.write_budget = arguments.write_budget.map(half);
    let one = |place: usize, arguments: &PlanArguments| {
        let targets = &targets[place..=place];
        let mut arguments = arguments.clone();
        arguments.overwrite = arguments.overwrite.only(&targets[0]);
        prepare(study, targets, &arguments)
    };
    let both = [one(0, &arguments)?, one(1, &arguments)?];
    let sizes = both.each_ref().map(|arm| arm.environment.target.size_bytes);
    if sizes[0] == sizes[1] {
        return Ok((both, None));
    }
    arguments.size = Some(sizes[0].min(sizes[1]));
    Ok(([one(0, &arguments)?, one(1, &arguments)?], arguments.size))
}

fn show_end(session: &Session<'_>, arguments: &Arguments, status: RunStatus) -> anyhow::Result<Ending> {
    let (context, console) = (session.context, &session.context.console);
    let shown = TwoArms::load(&session.store, session.run, arguments.threshold)?;
    let shown = shown.ok_or_else(|| UsageError("the run has no arms".to_owned()))?;
    match context.global.json {
        true => console.print_json(&shown.json())?,
        false => {
            let text = comparison_text(&shown.comparison, true, console.medium());
            session.or_where(console.print_styled(&text))?;
        }
    }
    if let Some(path) = &arguments.report {
        let of = session.store.run(session.run)?.identity();
        Output::report(path, &of, arguments.force).write(&shown.html()?)?;
        console.message(&format!("Report: {}", path.display()));
    }
    if status == RunStatus::Interrupted {
        console.message("Interrupted; the pairs measured so far are compared.");
        return Ok(Ending::Interrupted);
    }
    Ok(compare::ending(shown.comparison.outcome))
}
