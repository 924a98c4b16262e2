//! `halfpower sim validate`: compares the machines with published figures.

use super::{Checked, ENOUGH, Tally, check};
use crate::command::context::{Context, Ending};
use crate::simulator::published::{self, Basis, Figure};
use crate::text::refuse;
use clap::Args;
use halfpower_model::units::significant;
use std::fmt::Write as _;

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
    let document = serde_json::json!({ "figures": checked, "tally": tally, "enough": tally.is_enough() });
    context.print(&document, || text(&checked, &tally))?;
    Ok(if tally.is_enough() { Ending::Done } else { Ending::Failed })
}

/// The figures whose id is one of the words, or begins with one.
fn chosen(figures: Vec<Figure>, only: &[String]) -> anyhow::Result<Vec<Figure>> {
    let is_it = |figure: &Figure, word: &String| figure.id == *word || figure.id.starts_with(&format!("{word}."));
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

fn text(checked: &[Checked], tally: &Tally) -> String {
    let width = checked.iter().map(|figure| figure.id.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    let _ = writeln!(text, "{:width$}  {:>9} {:>9} {:>9} {:>9}", "", "published", "simulated", "error", "at most");
    for figure in checked {
        let _ = writeln!(text, "{}", line(figure, width));
    }
    if tally.figures == 0 {
        let _ = write!(text, "\nLeft out, because they cannot be compared: {}.", tally.left_out);
        return text;
    }
    let basis = |basis| Tally::of(checked.iter().filter(|figure| figure.basis == basis));
    let (fitted, predicted) = (basis(Basis::Fitted), basis(Basis::Predicted));
    let _ = writeln!(
        text,
        "\n{} of {} figures are within their tolerance ({:.1} %; enough is {:.0} %): {} of {} that a machine was fitted to, \
         {} of {} that came out.",
        tally.within,
        tally.figures,
        100.0 * tally.within as f64 / tally.figures.max(1) as f64,
        100.0 * ENOUGH,
        fitted.within,
        fitted.figures,
        predicted.within,
        predicted.figures,
    );
    let _ = write!(
        text,
        "Not simulated: {}. Left out, because they cannot be compared: {}.",
        tally.not_simulated, tally.left_out
    );
    text
}

fn line(figure: &Checked, width: usize) -> String {
    let verdict = match figure.pass {
        Some(true) => "",
        Some(false) => "  off",
        None => "  left out",
    };
    let basis = if figure.basis == Basis::Fitted { ", fitted" } else { "" };
    let head = format!("{:width$}  {:>9}", figure.id, figure.published);
    let unit = figure.tolerance_unit;
    match (figure.simulated, figure.error, &figure.reason) {
        (Some(simulated), Some(error), _) => format!(
            "{head} {:>9} {:>9} {:>9}{verdict:5}  {} ({}{basis})",
            significant(simulated),
            format!("{} {unit}", published::off(error)),
            format!("{} {unit}", significant(figure.tolerance)),
            figure.quantity,
            figure.place,
        ),
        (.., reason) => {
            format!("{head} {:>9} {:>9} {:>9}{verdict:5}  {}", "-", "", "", reason.as_deref().unwrap_or_default())
        }
    }
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
