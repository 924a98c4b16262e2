//! `halfpower runs`: the runs in the store.

use crate::command::context::{Context, Ending};
use crate::command::session;
use crate::instrument::command;
use crate::report::{self, Analysed, TwoArms, comparison_text};
use crate::sanitize::sanitize;
use crate::store::{Repaired, RunId, RunSummary, Store, StoreError, word};
use crate::target::{self, Cleaned};
use crate::text::counted;
use clap::{Args, Subcommand};

/// Lists the stored runs; shows or removes some; removes test files that killed runs left; repairs the store.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List every run (the default)
    List,
    /// Show the findings of a run
    Show {
        /// The run's number
        run: RunId,
    },
    /// Remove runs with their samples
    Rm {
        /// The runs' numbers
        #[arg(required = true)]
        runs: Vec<RunId>,
    },
    /// Remove test files that killed runs left
    Clean,
    /// Report damage in the store, and recover the readable runs and samples
    ///
    /// They go into a new store, which replaces the damaged one. The damaged one is kept as FILE.damaged-1. A store without
    /// damage does not change. No run may be in progress.
    Repair,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let store = session::read_store(context);
    let mut store = match &arguments.action {
        Some(Action::Repair) => return repair(context, store),
        _ => store?,
    };
    match arguments.action.as_ref().unwrap_or(&Action::List) {
        Action::List => {
            let runs = store.runs()?;
            if context.global.json {
                context.console.print_json(&runs.iter().map(json).collect::<Vec<_>>())?;
            } else if runs.is_empty() {
                context.console.message("The store is empty; `halfpower run .` makes a first run.");
            } else {
                context.console.print(&table(&runs))?;
            }
        }
        Action::Show { run } => {
            if let Some(reading) = store.reading(*run)? {
                command::show(context, &reading)?;
                return Ok(Ending::Done);
            }
            let medium = context.console.medium();
            if let Some(arms) = TwoArms::load(&store, *run, None)? {
                match context.global.json {
                    true => context.console.print_json(&arms.json())?,
                    false => context.console.print_styled(&comparison_text(&arms.comparison, true, medium))?,
                }
                return Ok(Ending::Done);
            }
            let analysed = Analysed::load(&store, *run)?;
            match context.global.json {
                true => context.console.print_json(&analysed.json())?,
                false => context.console.print_styled(&report::summary(&analysed, medium))?,
            }
        }
        Action::Repair => unreachable!("it needs no open store"),
        Action::Rm { runs } => {
            for run in runs {
                store.remove_run(*run)?;
                context.console.message(&format!("Removed run {run}."));
            }
            if context.global.json {
                let removed: Vec<i64> = runs.iter().map(|run| run.0).collect();
                context.console.print_json(&serde_json::json!({ "removed": removed }))?;
            }
        }
        Action::Clean => {
            let Cleaned { removed, kept } = target::remove_leftovers(&mut store)?;
            removed.iter().for_each(|file| context.console.message(&format!("Removed {}.", file.path.display())));
            kept.iter().for_each(|(_, reason)| context.console.warning(reason));
            if removed.is_empty() && kept.is_empty() {
                context.console.message("No test file was left.");
            }
            if context.global.json {
                let removed: Vec<_> = removed.iter().map(|file| file.path.to_string_lossy()).collect();
                let kept: Vec<_> = kept.iter().map(|(path, _)| path.to_string_lossy()).collect();
                context.console.print_json(&serde_json::json!({ "removed": removed, "kept": kept }))?;
            }
        }
    }
    Ok(Ending::Done)
}

fn repair(context: &Context, store: anyhow::Result<Store>) -> anyhow::Result<Ending> {
    let repaired = match store {
        Ok(mut store) => {
            // The damage is printed below, all at once.
            store.report_damage(|_| {});
            store.repair()?
        }
        Err(error) if error.downcast_ref().is_some_and(StoreError::is_of_content) => {
            Store::salvage(&session::store_path(context)?)?.ok_or(error)?
        }
        Err(error) => return Err(error),
    };
    let Repaired { damaged, runs, samples, lost, kept } = repaired;
    let counts = format!("{} with {}", counted(runs, "run"), counted(samples, "sample"));
    damaged.iter().for_each(|damage| context.console.warning(damage));
    match &kept {
        None => context.console.message(&format!("The store is sound: {counts}.")),
        Some(kept) => context.console.message(&format!(
            "Saved {counts}; {} could not be read. The damaged store is kept as {}.",
            counted(lost, "sample"),
            kept.display()
        )),
    }
    if context.global.json {
        let kept = kept.map(|kept| kept.to_string_lossy().into_owned());
        context.console.print_json(&serde_json::json!({
            "damaged": damaged, "runs": runs, "samples": samples, "lost": lost, "damaged_store": kept
        }))?;
    }
    Ok(Ending::Done)
}

fn json(run: &RunSummary) -> serde_json::Value {
    serde_json::json!({
        "run": run.id.0,
        "kind": word(run.kind),
        "name": run.name,
        "target": run.target,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "status": word(run.status),
        "samples": run.samples,
        "note": run.note,
    })
}

fn table(runs: &[RunSummary]) -> String {
    let mut lines =
        vec![format!("{:>4}  {:<16}  {:<11}  {:>7}  {}", "run", "begun (UTC)", "status", "samples", "what")];
    lines.extend(runs.iter().map(|run| {
        let begun = run.started_at.strftime("%Y-%m-%d %H:%M").to_string();
        // An instrument of the machine itself has no target.
        let on = if run.target.is_empty() { String::new() } else { format!(" on {}", run.target) };
        let note = run.note.as_deref().map(|note| format!(" ({note})")).unwrap_or_default();
        let what = format!("{}{on}{note}", run.name);
        let what = sanitize(&what);
        format!("{:>4}  {begun:<16}  {:<11}  {:>7}  {what}", run.id.0, word(run.status), run.samples)
    }));
    lines.join("\n")
}
