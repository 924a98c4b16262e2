//! `halfpower compare`: what changed between two runs, or two groups of runs.

use super::{Context, Ending, UsageError, session};
use crate::report::comparison_text;
use crate::store::{RunId, Store, StoredSample};
use clap::Args;
use halfpower_analysis::comparison::{Outcome, compare};
use halfpower_analysis::statistics::Margin;
use std::str::FromStr;

const EXAMPLES: &str = "\
Examples:
  halfpower compare 3 4                    the run before a change, and the one after
  halfpower compare 3,5,7 4,6,8            several of each, taken by turns
  halfpower compare 3 4 --threshold 10%    less than that does not matter

Exit status: 0 equivalent or better; 3 a regression; 4 undecided.";

/// Say what changed from one stored run to another, with confidence
///
/// Workloads are matched by all that is of their nature. A change is called one where its 95 % interval lies beyond what
/// does not matter, and equivalent where it lies within: 2 % of throughput and of processor time, 5 % of the 99th percentile
/// of latency. One sample has no interval: there only a factor of 1.5 (of 4 in the percentile) is called a change.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Numbers of the runs before, like 3 or 3,5; `halfpower runs` lists them
    #[arg(value_name = "BEFORE")]
    before: Runs,
    /// Numbers of the runs after
    #[arg(value_name = "AFTER")]
    after: Runs,
    /// What does not matter, of every figure, like 5% [default: 2% of throughput and cost, 5% of p99]
    #[arg(long, value_name = "SHARE", value_parser = threshold)]
    threshold: Option<Margin>,
}

/// One side.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Runs(Vec<RunId>);

impl FromStr for Runs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let runs: Result<Vec<RunId>, _> = text.split(',').map(|number| number.trim().parse::<RunId>()).collect();
        runs.map(Runs).map_err(|_| format!("`{text}` is no run; write its number, or several like 3,5"))
    }
}

fn threshold(text: &str) -> Result<Margin, String> {
    let wrong = || format!("`{text}` is no share; write one like 5%");
    let percent: f64 = text.strip_suffix('%').ok_or_else(wrong)?.trim().parse().map_err(|_| wrong())?;
    Margin::new(percent / 100.0).filter(|_| percent < 1000.0).ok_or_else(wrong)
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    if let Some(both) = arguments.before.0.iter().find(|run| arguments.after.0.contains(run)) {
        return Err(UsageError(format!("run {both} is on both sides; name it once")).into());
    }
    let store = session::open_store(context, true)?;
    let (before, after) = (load(&store, &arguments.before)?, load(&store, &arguments.after)?);
    let side = |samples: &[StoredSample]| samples.iter().map(|stored| stored.sample.clone()).collect::<Vec<_>>();
    let (before, after) = (side(&before), side(&after));
    let comparison =
        compare(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>(), arguments.threshold);
    if context.global.json {
        context.console.print_json(&comparison)?;
    } else {
        let (colour, width) = (context.console.output_colour(), context.console.output_width());
        context.console.print(&comparison_text(&comparison, colour, width))?;
    }
    Ok(match comparison.outcome {
        Outcome::Regression => Ending::Regression,
        Outcome::Undecided => Ending::Undecided,
        Outcome::Improved | Outcome::Equivalent => Ending::Done,
    })
}

/// The samples of one side.
fn load(store: &Store, runs: &Runs) -> anyhow::Result<Vec<StoredSample>> {
    let mut samples = Vec::new();
    for run in &runs.0 {
        store.run(*run)?;
        let of_run = store.samples(*run)?;
        if of_run.is_empty() {
            return Err(UsageError(format!("run {run} has no samples to compare")).into());
        }
        samples.extend(of_run);
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_and_shares_are_read() {
        assert_eq!("3, 5".parse(), Ok(Runs(vec![RunId(3), RunId(5)])));
        for bad in ["", "3,", "x", "3;4"] {
            assert!(bad.parse::<Runs>().is_err(), "{bad}");
        }
        assert_eq!(threshold("5%"), Ok(Margin::new(0.05).unwrap()));
        for bad in ["5", "-1%", "nan%", "%", "5000%"] {
            assert!(threshold(bad).is_err(), "{bad}");
        }
    }
}
