//! Free numbers of the machines beside the figures that they meet, and the goals for both.

use super::{Checked, ENOUGH, Tally};
use crate::simulator::published::Basis;
use halfpower_sim::file::Fitted;
use serde::Serialize;
use std::fmt::Write as _;

/// The maximum of free numbers in all machines.
const FREE_NUMBERS: f64 = 40.0;
/// The minimum of independent predictions that are met.
const PREDICTIONS: f64 = 60.0;

/// A machine, or all.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    /// Its name; `all` for the last.
    pub machine: String,
    /// Numbers that were chosen with a published figure in view.
    pub free_numbers: usize,
    /// Figures that `[fitted]` names.
    pub fitted: Tally,
    /// Independent figures that no number was chosen for.
    pub predicted: Tally,
    /// Figures that repeat others or are arithmetic on them.
    pub follows: Tally,
    /// All figures.
    pub figures: Tally,
}

/// A goal.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Goal {
    /// Its quantity.
    pub goal: &'static str,
    /// `at_most` or `at_least`.
    pub bound: &'static str,
    /// The bound.
    pub limit: f64,
    /// Its value today.
    pub value: f64,
    /// Whether it is reached.
    pub reached: bool,
    /// Limit and value in words.
    #[serde(skip)]
    words: String,
}

/// A row for each machine in the order of the figures, and the last for all.
pub(super) fn rows(checked: &[Checked], fitted: &[(&str, Fitted)]) -> Vec<Row> {
    let mut machines: Vec<&str> = Vec::new();
    for machine in checked.iter().map(machine_of) {
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    let row = |name: &str, is_own: &dyn Fn(&str) -> bool| {
        let own = || checked.iter().filter(|one| is_own(machine_of(one)));
        let of = |basis: Basis| Tally::of(own().filter(|one| one.figure.basis == basis));
        Row {
            machine: name.to_owned(),
            free_numbers: fitted.iter().filter(|(of, _)| is_own(of)).map(|(_, fitted)| fitted.numbers).sum(),
            fitted: of(Basis::Fitted),
            predicted: of(Basis::Predicted),
            follows: of(Basis::Follows),
            figures: Tally::of(own()),
        }
    };
    let mut rows: Vec<Row> = machines.iter().map(|name| row(name, &|of| of == *name)).collect();
    rows.push(row("all", &|of| machines.contains(&of)));
    rows
}

fn machine_of(checked: &Checked) -> &str {
    let target = checked.figure.targets.first().map_or("", String::as_str);
    target.split_once(':').map_or(target, |(machine, _)| machine)
}

/// The goals, by the row of all machines.
pub(super) fn goals(all: &Row) -> Vec<Goal> {
    let (free, predictions) = (all.free_numbers as f64, all.predicted.within as f64);
    let share = all.figures.within as f64 / all.figures.figures.max(1) as f64;
    let most =
        |goal, limit, value, words| Goal { goal, bound: "at_most", limit, value, reached: value <= limit, words };
    let least =
        |goal, limit, value, words| Goal { goal, bound: "at_least", limit, value, reached: value >= limit, words };
    let (percent, enough) = (share * 100.0, ENOUGH * 100.0);
    vec![
        most("free_numbers", FREE_NUMBERS, free, format!("at most {FREE_NUMBERS} free numbers: {free}")),
        least(
            "predictions_met",
            PREDICTIONS,
            predictions,
            format!("at least {PREDICTIONS} independent predictions met: {predictions}"),
        ),
        least("share_met", ENOUGH, share, format!("at least {enough:.0} % of all figures met: {percent:.1} %")),
    ]
}

/// The rows and goals as a table.
pub(super) fn text(rows: &[Row], goals: &[Goal]) -> String {
    let width = rows.iter().map(|row| row.machine.len()).max().unwrap_or(0);
    let mut text = format!(
        "{:width$}  {:>12} {:>12} {:>12} {:>12} {:>12}\n",
        "", "free numbers", "fitted", "predicted", "follow", "met in all"
    );
    for row in rows {
        let of = |tally: Tally| format!("{} of {}", tally.within, tally.figures);
        let _ = writeln!(
            text,
            "{:width$}  {:>12} {:>12} {:>12} {:>12} {:>12}",
            row.machine,
            row.free_numbers,
            of(row.fitted),
            of(row.predicted),
            of(row.follows),
            of(row.figures)
        );
    }
    text += if goals.is_empty() { "" } else { "\nGoals:\n" };
    for Goal { words, reached, .. } in goals {
        let _ = writeln!(text, "  {words}, {}", if *reached { "reached" } else { "not reached" });
    }
    text
}
