//! `halfpower sim validate`: compares the machines with published figures.

use super::summary::{self, Goal, Row};
use super::{Checked, Tally, check};
use crate::command::context::{Context, Ending};
use crate::report::wrap::wrap;
use crate::simulator::published::{self, Basis, Figure, is_named};
use crate::text::refuse;
use clap::Args;
use halfpower_model::units::significant;
use std::fmt::Write as _;

/// Columns of the reason below a figure.
const REASON_WIDTH: usize = 100;

#[derive(Debug, Args)]
pub(in crate::simulator) struct Arguments {
    /// Only figures whose id, or its beginning, is one of these; the exit status is then of them
    #[arg(long, value_name = "ID", num_args = 1..)]
    only: Vec<String>,
}

pub(in crate::simulator) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let figures = chosen(published::figures(), &arguments.only)?;
    let checked = check(&figures);
    let tally = Tally::of(&checked);
    let rows = summary::rows(&checked, &published::fitted());
    // The goals are those of all figures.
    let goals = if arguments.only.is_empty() { rows.last().map(summary::goals) } else { None };
    let goals = goals.unwrap_or_default();
    let document = serde_json::json!({
        "figures": checked,
        "tally": tally,
        "machines": rows,
        "goals": goals,
        "enough": tally.is_enough(),
    });
    context.print(&document, || text(&checked, &tally, &rows, &goals))?;
    Ok(if tally.is_enough() { Ending::Done } else { Ending::Failed })
}

/// The figures whose id is one of the words, or begins with one.
fn chosen(figures: Vec<Figure>, only: &[String]) -> anyhow::Result<Vec<Figure>> {
    let is_it = |figure: &Figure, word: &String| !word.is_empty() && is_named(&figure.id, word);
    if let Some(word) = only.iter().find(|word| !figures.iter().any(|figure| is_it(figure, word))) {
        let mut known: Vec<&str> =
            figures.iter().map(|figure| figure.id.split('.').next().unwrap_or_default()).collect();
        known.sort_unstable();
        known.dedup();
        let known = known.join(", ");
        refuse!("no published figure is called \"{word}\"; they begin with {known}");
    }
    let is_chosen = |figure: &Figure| only.is_empty() || only.iter().any(|word| is_it(figure, word));
    Ok(figures.into_iter().filter(is_chosen).collect())
}

fn text(checked: &[Checked], tally: &Tally, rows: &[Row], goals: &[Goal]) -> String {
    let width = checked.iter().map(|checked| checked.figure.id.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    let _ = writeln!(text, "{:width$}  {:>9} {:>9} {:>9} {:>9}", "", "published", "simulated", "error", "at most");
    for one in checked {
        let _ = writeln!(text, "{}", line(one, width));
    }
    text.push('\n');
    for (id, fault) in checked.iter().filter_map(|one| one.fault.map(|fault| (&one.figure.id, fault))) {
        let _ = writeln!(text, "error: {id} is {fault}");
    }
    if tally.figures > 0 {
        text += &summary::text(rows, goals);
    }
    let _ = write!(
        text,
        "Not simulated: {}. Left out, because they cannot be compared: {}.",
        tally.not_simulated, tally.left_out
    );
    text
}

fn line(checked: &Checked, width: usize) -> String {
    let Figure { id, place, measure, published, basis, follows, tolerance, .. } = &checked.figure;
    let verdict = match checked.pass {
        Some(true) => "",
        Some(false) => "  off",
        None => "  left out",
    };
    let head = format!("{id:width$}  {published:>9}");
    let mut text = match (checked.simulated, checked.error) {
        (Some(simulated), Some(error)) => {
            let unit = tolerance.unit;
            let most = match tolerance.range {
                Some((low, high)) => format!("{low} to {high}"),
                None => format!("{} {unit}", significant(tolerance.most)),
            };
            let follows = follows.as_ref().filter(|_| *basis == Basis::Follows);
            let follows = follows.map(|first| format!(" {first}")).unwrap_or_default();
            let source = tolerance.source.as_ref().map(|source| format!("; {source}")).unwrap_or_default();
            format!(
                "{head} {:>9} {:>9} {most:>9}{verdict:5}  {} ({place}, {}{follows}{source})",
                significant(simulated),
                format!("{} {unit}", published::off(error)),
                measure.unit(),
                basis.word(),
            )
        }
        _ => format!("{head} {:>9} {:>9} {:>9}{verdict}", "-", "", ""),
    };
    if let Some(reason) = checked.reason.as_deref().filter(|_| checked.pass != Some(true)) {
        text.push('\n');
        wrap(&mut text, &format!("    {reason}"), 4, REASON_WIDTH);
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_as_far_off_as_on_the_pages() {
        let figure = published::figures().into_iter().find(|figure| figure.id == "atlas.outer").unwrap();
        let mut checked = check(&[figure]).remove(0);
        for (error, shown) in [(6.25, " +6.3 %"), (-6.25, " −6.3 %"), (-0.01, " +0.0 %")] {
            checked.error = Some(error);
            let line = line(&checked, 10);
            assert!(line.contains(shown), "{line}");
        }
    }
}
