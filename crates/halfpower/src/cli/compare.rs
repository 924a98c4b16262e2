//! `halfpower compare`: what changed between two runs, or two groups of runs.

use crate::command::{
    context::{Context, Ending},
    session,
};
use crate::console::Medium;
use crate::output::{Force, Output};
use crate::report::{comparison_html, comparison_text};
use crate::store::{Run, RunId, RunKind, RunSummary, Store, StoredSample};
use crate::target::notes::on_memory;
use crate::text::{once, plural, refuse};
use clap::Args;
use halfpower_analysis::comparison::{Comparison, Design, Method, OfRun, Outcome, are_copies, are_simulated, compare};
use halfpower_analysis::statistics::Margin;
use halfpower_model::sample::Warning;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

const EXAMPLES: &str = "\
Examples:
  halfpower compare 3 4                    the run before a change, and the one after
  halfpower compare 3,5,7 4,6,8            several of each, made in turn: finds smaller changes
  halfpower compare 3 4 --threshold 10%    ignore smaller changes
  halfpower compare 3 4 --report new.html  the same as a page, with a forest plot
  halfpower compare 3 4 --markdown         the same for a pull request

Exit status: 0 equivalent or better; 3 a regression; 4 undecided.";

/// Compare two stored runs, or two groups of runs
///
/// Prints what changed, with the verdict first; --all prints every workload. Two runs of one machine differ by more than
/// their repetitions show. The verdict says how far runs vary, and the next line from which runs that is known: the
/// compared ones, earlier ones in the store, or none, so that a variation is assumed. `halfpower ab` compares two targets
/// or settings more precisely.
///
/// Workloads with the same settings are compared. If no two cover the same size, those of two targets of different sizes
/// are; runs of two programs, by the settings that both record. A workload changed if the 95 % interval of its change lies
/// outside the margin, and is equivalent if the interval lies inside. The margin is 2 % for throughput and CPU time, 5 %
/// for the 99th percentile of latency. With many workloads some intervals lie outside by chance, so a stricter test
/// applies; its row then says so. Equal samples of a simulated machine are reported as identical.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Numbers of the runs before, like 3 or 3,5; `halfpower runs` lists them
    #[arg(value_name = "BEFORE")]
    before: Runs,
    /// Numbers of the runs after
    #[arg(value_name = "AFTER")]
    after: Runs,
    /// Margin of every figure, like 5% [default: 2% of throughput and cost, 5% of p99]. It is a factor: 50% is from 1/1.5
    /// (−33.3%) to 1.5 (+50%)
    #[arg(long, value_name = "SHARE", value_parser = threshold)]
    threshold: Option<Margin>,
    /// List every workload, not only those that changed
    #[arg(long, alias = "verbose")]
    all: bool,
    /// Print Markdown, for a pull request
    #[arg(long, conflicts_with = "json", help_heading = "Results")]
    markdown: bool,
    /// Also write a page with a forest plot here
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    report: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

/// The runs of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Runs(Vec<RunId>);

impl FromStr for Runs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let runs: Result<Vec<RunId>, _> = text.split(',').map(|number| number.trim().parse::<RunId>()).collect();
        let runs = runs.map_err(|_| format!("`{text}` is no run; write its number, or several like 3,5"))?;
        // Its samples would count twice as repetitions.
        match runs.iter().enumerate().find(|(place, run)| runs[..*place].contains(run)) {
            Some((_, twice)) => Err(format!("run {twice} is named twice; name it once")),
            None => Ok(Runs(runs)),
        }
    }
}

impl Runs {
    /// `3,5`.
    pub(super) fn numbers(&self) -> String {
        self.0.iter().map(RunId::to_string).collect::<Vec<_>>().join(",")
    }
}

impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run{} {}", plural(self.0.len()), self.numbers().replace(',', ", "))
    }
}

pub(super) fn threshold(text: &str) -> Result<Margin, String> {
    let wrong = || format!("`{text}` is no share; write one like 5%, from 0% to below 1000%");
    let percent: f64 = text.strip_suffix('%').ok_or_else(wrong)?.trim().parse().map_err(|_| wrong())?;
    Margin::new(percent / 100.0).filter(|_| percent < 1000.0).ok_or_else(wrong)
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let store = session::read_store(context)?;
    let named = arguments.before.0.iter().chain(&arguments.after.0).filter(|_| arguments.report.is_some());
    let of = named.map(|run| Ok(store.run(*run)?.identity())).collect::<anyhow::Result<Vec<_>>>()?.join("+");
    let report = arguments.report.as_ref().map(|path| (path, Output::report(path, &of, arguments.force)));
    if let Some((_, output)) = report {
        output.check()?;
    }
    let comparison = of_runs(&store, &arguments.before, &arguments.after, arguments.threshold)?;
    if context.global.json {
        context.console.print_json(&comparison)?;
    } else {
        let medium = if arguments.markdown { Medium::Markdown } else { context.console.medium() };
        context.console.print_styled(&comparison_text(&comparison, arguments.all, medium))?;
    }
    if let Some((path, output)) = report {
        let (before, after) = (arguments.before.to_string(), arguments.after.to_string());
        let html = comparison_html(&comparison, &before, &after, &context.command())?;
        output.write(&html)?;
        context.console.message(&format!("Report: {}", path.display()));
    }
    Ok(ending(comparison.outcome))
}

/// Compares stored runs.
pub(super) fn of_runs(
    store: &Store,
    before: &Runs,
    after: &Runs,
    threshold: Option<Margin>,
) -> anyhow::Result<Comparison> {
    if let Some(both) = before.0.iter().find(|run| after.0.contains(run)) {
        refuse!("run {both} is on both sides; name it once");
    }
    let ((before, after), warnings) = without_copies((load(store, before)?, load(store, after)?));
    let earlier = earlier_runs(store, &before, &after)?;
    let earlier: Vec<OfRun<'_>> = earlier.iter().map(|stored| of_run(stored)).collect();
    let method = Method { margin: threshold, design: Design::Runs(&earlier) };
    let mut comparison = compare(&samples(&before), &samples(&after), method);
    comparison.warnings.extend(on_memory(before.iter().chain(&after).flat_map(|(_, stored)| stored)));
    comparison.warnings.extend(warnings);
    for (side, runs) in comparison.sides.iter_mut().zip([&before, &after]) {
        side.of = what(runs);
    }
    Ok(comparison)
}

/// How a run differs from another, in a sentence.
pub(super) fn in_a_sentence(store: &Store, before: RunId, after: RunId) -> anyhow::Result<String> {
    let compared = of_runs(store, &Runs(vec![before]), &Runs(vec![after]), None)?;
    Ok(format!("Run {after} against run {before}: {}", compared.sentence))
}

pub(super) fn ending(outcome: Outcome) -> Ending {
    match outcome {
        Outcome::Regression => Ending::Regression,
        Outcome::Undecided => Ending::Undecided,
        Outcome::Improved | Outcome::Equivalent => Ending::Done,
    }
}

/// The most earlier runs to read: of many, the old ones say little about today.
const EARLIER_MOST: usize = 10;
/// Maximum number of samples of earlier runs: ten thorough surveys have fewer, and 100 000 take two seconds.
const EARLIER_SAMPLES: u64 = 10_000;

/// Earlier runs of the same name on the same target, the latest ones; what of them fits is found by the comparison.
fn earlier_runs(store: &Store, before: &Side, after: &Side) -> anyhow::Result<Vec<Vec<StoredSample>>> {
    let is_named = |id: RunId| before.iter().chain(after).any(|(named, _)| named.id == id);
    let runs = store.runs()?;
    let of_before: Vec<&RunSummary> =
        runs.iter().filter(|run| before.iter().any(|(named, _)| named.id == run.id)).collect();
    let Some(last) = of_before.last().map(|run| run.id) else { return Ok(Vec::new()) };
    let is_like = |run: &&RunSummary| {
        let is_same = |of: &&RunSummary| of.name == run.name && of.target == run.target;
        run.id < last && !is_named(run.id) && of_before.iter().any(is_same)
    };
    let mut left = EARLIER_SAMPLES;
    let fits = |run: &&RunSummary| left.checked_sub(run.samples).map(|rest| left = rest).is_some();
    let earlier = runs.iter().rev().filter(is_like).filter(fits).take(EARLIER_MOST);
    Ok(earlier.map(|run| store.samples(run.id)).collect::<Result<_, _>>()?)
}

/// The runs of a side with their samples.
type Side = Vec<(Run, Vec<StoredSample>)>;

/// What the runs of a side measured: `runs 3, 5 (survey on /data)`.
fn what(side: &Side) -> String {
    let runs = Runs(side.iter().map(|(run, _)| run.id).collect());
    let of = |run: &Run| {
        if run.target.is_empty() || run.name == run.target {
            run.name.clone()
        } else {
            format!("{} on {}", run.name, run.target)
        }
    };
    let of = once(side.iter().map(|(run, _)| of(run)));
    format!("{runs} ({})", of.join("; "))
}

fn samples(side: &Side) -> Vec<OfRun<'_>> {
    side.iter().map(|(_, stored)| of_run(stored)).collect()
}

fn of_run(stored: &[StoredSample]) -> OfRun<'_> {
    stored.iter().map(|stored| &stored.sample).collect()
}

fn load(store: &Store, runs: &Runs) -> anyhow::Result<Side> {
    let load = |run: &RunId| {
        let stored = store.run(*run)?;
        if stored.kind == RunKind::Ab {
            refuse!("run {run} compares its two arms already; `halfpower runs show {run}` prints that");
        }
        let samples = store.samples(*run)?;
        if samples.is_empty() {
            refuse!("run {run} has no samples to compare");
        }
        Ok((stored, samples))
    };
    runs.0.iter().map(load).collect()
}

/// The sides with each measurement once, and a warning for every run that holds the samples of another.
fn without_copies((before, after): (Side, Side)) -> ((Side, Side), Vec<Warning>) {
    let mut warnings = Vec::new();
    let mut once = |side: Side| {
        let mut kept: Side = Vec::new();
        for (run, samples) in side {
            match original(&kept, &samples) {
                Some(first) => {
                    let message =
                        format!("run {} holds the samples of run {first} again, so that they count once", run.id);
                    warnings.push(copy_warning(message, run.id, &samples));
                }
                None => kept.push((run, samples)),
            }
        }
        kept
    };
    let (before, after) = (once(before), once(after));
    // A simulated machine repeats its samples; the comparison itself reports that.
    for (run, samples) in after.iter().filter(|(_, samples)| !are_simulated(&of_run(samples))) {
        if let Some(first) = original(&before, samples) {
            let message = format!("run {} holds the samples of run {first}: they are compared with themselves", run.id);
            warnings.push(copy_warning(message, run.id, samples));
        }
    }
    ((before, after), warnings)
}

/// The run among these that holds the same samples.
fn original(side: &Side, samples: &[StoredSample]) -> Option<RunId> {
    let is_copied = |(_, others): &&(Run, Vec<StoredSample>)| are_copies(&of_run(others), &of_run(samples));
    side.iter().find(is_copied).map(|(run, _)| run.id)
}

fn copy_warning(message: String, run: RunId, samples: &[StoredSample]) -> Warning {
    let remedy = match are_simulated(&of_run(samples)) {
        true => "a simulated machine gives the same again, and others with another --seed".to_owned(),
        false => format!("leave run {run} out, or name the run that was meant"),
    };
    Warning::new("same_samples", message, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_and_shares_are_read() {
        assert_eq!("3, 5".parse(), Ok(Runs(vec![RunId(3), RunId(5)])));
        for bad in ["", "3,", "x", "3;4", "3,5,3"] {
            assert!(bad.parse::<Runs>().is_err(), "{bad}");
        }
        assert_eq!(threshold("5%"), Ok(Margin::new(0.05).unwrap()));
        for bad in ["5", "-1%", "nan%", "%", "5000%"] {
            assert!(threshold(bad).is_err(), "{bad}");
        }
    }
}
