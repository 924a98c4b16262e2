//! The comparison as a page.

use super::forest::{Forest, forest};
use super::{basis, difference_rows, signed, title, word};
use crate::report::html::render;
use crate::report::table::Table;
use anyhow::Result;
use halfpower_analysis::comparison::{ComparedCell, Comparison, Figure};
use halfpower_model::sample::{Program, Warning};
use halfpower_model::units::significant;
use serde::Serialize;

/// What the page is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComparisonInput<'a> {
    /// What is called before: `run 3`, `runs 3, 5`.
    pub(crate) before: &'a str,
    /// And after.
    pub(crate) after: &'a str,
    /// The command that does the same again.
    pub(crate) command: &'a str,
    /// What came of it.
    pub(crate) comparison: &'a Comparison,
}

/// What the template is given.
#[derive(Debug, Serialize)]
struct View<'a> {
    title: String,
    version: String,
    verdict: [&'a str; 1],
    unfinished: Option<String>,
    warnings: &'a [Warning],
    /// What was taken from a comparison of the same with the same.
    margins: Option<&'a str>,
    differences: Table,
    figures: Vec<FigureView>,
    only: Vec<Only<'a>>,
    command: &'a str,
}

#[derive(Debug, Serialize)]
struct FigureView {
    id: String,
    title: &'static str,
    /// Which way is better.
    better: &'static str,
    forest: Forest,
    table: Table,
}

/// Workloads that only one side has.
#[derive(Debug, Serialize)]
struct Only<'a> {
    side: &'static str,
    workloads: &'a [String],
}

/// The page of a comparison: a whole file that loads nothing from elsewhere.
///
/// # Errors
/// When the template does not fit what it is given, which a test would have shown.
pub(crate) fn comparison_html(input: &ComparisonInput<'_>) -> Result<String> {
    let comparison = input.comparison;
    let differences = difference_rows(&comparison.differences).into_iter();
    let only = [("before", &comparison.only_before), ("after", &comparison.only_after)];
    let view = View {
        title: format!("{} against {}", capital(input.after), input.before),
        version: Program::this().version,
        verdict: [&comparison.sentence],
        unfinished: None,
        warnings: &comparison.warnings,
        margins: comparison.found_margins.as_ref().map(|margins| margins.sentence.as_str()),
        differences: Table::new(["fact", "before → after"], differences),
        figures: Figure::ALL.into_iter().filter_map(|figure| figure_view(comparison, figure)).collect(),
        only: only
            .into_iter()
            .filter(|(_, workloads)| !workloads.is_empty())
            .map(|(side, workloads)| Only { side, workloads })
            .collect(),
        command: input.command,
    };
    render("comparison.html", view)
}

fn figure_view(comparison: &Comparison, figure: Figure) -> Option<FigureView> {
    Some(FigureView {
        id: title(figure).replace([' ', ','], "-"),
        title: title(figure),
        better: if figure.more_is_better() { "more is better" } else { "less is better" },
        forest: forest(comparison, figure)?,
        table: table(&comparison.cells, figure),
    })
}

fn table(cells: &[ComparedCell], figure: Figure) -> Table {
    let head = ["workload", "before", "n", "after", "n", "change", "95 % interval", "does not matter", "verdict"];
    let row = |cell: &ComparedCell| {
        let change = cell.change(figure)?;
        Some([
            cell.name.clone(),
            change.before.to_string(),
            change.before.repetitions.to_string(),
            change.after.to_string(),
            change.after.repetitions.to_string(),
            format!("{} %", signed(change.ratio.value)),
            basis(change),
            change.margin.map_or_else(
                || "cannot tell".to_owned(),
                |margin| format!("{} %", significant(margin.share() * 100.0)),
            ),
            word(change.standing).to_owned(),
        ])
    };
    Table::new(head, cells.iter().filter_map(row))
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default() + letters.as_str()
}
