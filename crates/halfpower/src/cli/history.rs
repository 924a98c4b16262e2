//! `halfpower history`: how workloads went over many runs.

use crate::command::context::{Context, Ending};
use crate::command::session;
use crate::report::table::Table;
use crate::report::wrap::{Page, Style};
use crate::store::{RunId, RunSummary, Store, StoredSample};
use crate::text::{counted, refuse, sparkline};
use clap::Args;
use halfpower_analysis::comparison::{History, OfRun, history};
use halfpower_analysis::statistics::CHANGE_VALUES_MIN;
use halfpower_model::units::significant;

const EXAMPLES: &str = "\
Examples:
  halfpower history 12                     the workloads of run 12 in all runs on its target
  halfpower history 12 --workload 'random read, 4 KiB, QD32'   one by one";

/// The maximum number of runs that are read.
const RUNS_MAX: usize = 200;

/// Show workloads over all runs on a target, and where their level changed
///
/// The runs are those on the target of RUN, up to RUN. A level is the mean throughput of a run; the partition of the runs
/// into levels is the one with the least cost (Jackson and others, 2005), from twelve runs on.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The last run's number; `halfpower runs` lists them
    run: RunId,
    /// Only workloads with these words, each run on a line
    #[arg(long, value_name = "WORDS")]
    workload: Option<String>,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let store = session::read_store(context)?;
    let Course { target, runs, workloads: mut all } = Course::up_to(&store, arguments.run)?;
    if let Some(words) = &arguments.workload {
        all.retain(|one| words.split_whitespace().all(|word| one.name.contains(word.trim_end_matches(','))));
        if all.is_empty() {
            refuse!("no workload with `{words}` is in two runs on {target}");
        }
    }
    if context.global.json {
        let ids: Vec<i64> = runs.iter().map(|run| run.id.0).collect();
        let document =
            serde_json::json!({ "schema": "halfpower.history/1", "target": target, "runs": ids, "workloads": all });
        context.console.print_json(&document)?;
        return Ok(Ending::Done);
    }
    let mut page = Page::new(context.console.medium());
    page.paragraph("", &[(Style::Strong, verdict(&all, &runs, &target))]);
    if arguments.workload.is_some() {
        for one in &all {
            page.table_of(&each_run(one, &runs));
        }
    } else {
        page.table_of(&each_workload(&all));
    }
    context.console.print_styled(&page.finish())?;
    Ok(Ending::Done)
}

/// Workloads over the runs on a target.
pub(super) struct Course {
    pub(super) target: String,
    pub(super) runs: Vec<RunSummary>,
    pub(super) workloads: Vec<History>,
}

impl Course {
    /// Over the runs on the target of a run, up to that run.
    pub(super) fn up_to(store: &Store, run: RunId) -> anyhow::Result<Course> {
        let last = store.run(run)?;
        let is_of_target = |run: &RunSummary| run.target == last.target && run.id <= last.id && run.samples > 0;
        let mut runs: Vec<RunSummary> = store.runs()?.into_iter().filter(is_of_target).collect();
        runs.drain(..runs.len().saturating_sub(RUNS_MAX));
        let stored: Vec<Vec<StoredSample>> = runs.iter().map(|run| store.samples(run.id)).collect::<Result<_, _>>()?;
        let samples: Vec<OfRun<'_>> =
            stored.iter().map(|stored| stored.iter().map(|stored| &stored.sample).collect()).collect();
        Ok(Course { target: last.target, workloads: history(&samples), runs })
    }
}

/// `2 of 48 workloads changed over 14 runs on /data: random read …: 44 000 IOPS → 39 000 IOPS since run 9.`
pub(super) fn verdict(all: &[History], runs: &[RunSummary], target: &str) -> String {
    let changed: Vec<&History> = all.iter().filter(|one| !one.changes.is_empty()).collect();
    let of = format!("over {} on {target}", counted(runs.len(), "run"));
    if let ([only], true) = (runs, all.is_empty()) {
        return format!("Run {} is the first on {target}: name a later one, up to which the history goes.", only.id);
    }
    if all.is_empty() {
        let last = runs.last().map(|run| format!(", the last of them run {}; name a later one", run.id));
        return format!("No workload is in two runs {of}{}.", last.unwrap_or_default());
    }
    if changed.is_empty() {
        let are_few = all.iter().all(|one| one.means.len() < CHANGE_VALUES_MIN);
        let few = if are_few { format!("; {CHANGE_VALUES_MIN} runs of a workload are needed") } else { String::new() };
        return format!("No change of level in {} {of}{few}.", counted(all.len(), "workload"));
    }
    let told = |one: &&History| {
        let since = one.changes.last().map(|change| runs[one.runs[*change]].id);
        let since = since.map(|run| format!(" since run {run}")).unwrap_or_default();
        let [.., before, now] = one.levels.as_slice() else { return one.name.clone() };
        let [before, now] = [before, now].map(|level| one.quantity.format(*level));
        format!("{}: {before} → {now}{since}", one.name)
    };
    let listed: Vec<String> = changed.iter().take(3).map(told).collect();
    let more = changed.len().saturating_sub(3);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{} of {} changed {of}: {}{more}.", changed.len(), counted(all.len(), "workload"), listed.join("; "))
}

pub(super) fn each_workload(all: &[History]) -> Table {
    let row = |one: &History| {
        let levels: Vec<String> = one.levels.iter().map(|level| one.quantity.format(*level)).collect();
        let last = one.means.last().zip(one.means.first()).map(|(last, first)| last / first);
        let ratio = last.map(|ratio| format!("{} ×", significant(ratio))).unwrap_or_default();
        [one.name.clone(), one.means.len().to_string(), sparkline(&one.means), levels.join(" → "), ratio]
    };
    Table::new(["workload", "runs", "throughput", "levels", "last over first"], all.iter().map(row))
}

fn each_run(one: &History, runs: &[RunSummary]) -> Table {
    let most = one.means.iter().copied().fold(0.0, f64::max);
    let row = |(number, (place, mean)): (usize, (&usize, &f64))| {
        let run = &runs[*place];
        let bar = "█".repeat((mean / most * 24.0).round() as usize);
        let mark = if one.changes.contains(&number) { " a new level" } else { "" };
        let date = run.started_at.strftime("%Y-%m-%d %H:%M").to_string();
        [run.id.to_string(), date, one.quantity.format(*mean), format!("{bar}{mark}")]
    };
    let rows = one.runs.iter().zip(&one.means).enumerate().map(row);
    Table::new([one.name.as_str(), "begun (UTC)", "throughput", ""], rows)
}
