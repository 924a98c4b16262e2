//! The comparison as a page, and for a terminal.

use super::forest::forest;
use super::words::{basis, differences, signed, title, word};
use crate::console::Medium;
use crate::report::html::render;
use crate::report::table::Table;
use crate::report::wrap::{Page, Style};
use crate::sanitize::sanitize;
use crate::text::{counted, percent};
use halfpower_analysis::comparison::{Change, ComparedCell, Comparison, Figure, Standing};
use halfpower_model::Estimate;
use halfpower_model::sample::Program;
use minijinja::value::Serde;
use minijinja::{Value, context};

/// In the order of tables.
const STANDINGS: [Standing; 4] = [Standing::Better, Standing::Worse, Standing::Equivalent, Standing::Undecided];

/// The page of a comparison as an HTML file that loads nothing. `before` and `after` name the sides (`run 3`, `runs 3, 5`);
/// `command` repeats the comparison.
///
/// # Errors
/// If the template does not fit the view, which a test would have shown.
pub(crate) fn comparison_html(
    comparison: &Comparison,
    before: &str,
    after: &str,
    command: &str,
) -> anyhow::Result<String> {
    let only = only(comparison).map(|(side, cells)| context! { side, workloads => cells.iter().collect::<Value>() });
    let (first, rest) = after.split_at(1);
    let view = context! {
        title => format!("{}{rest} against {before}", first.to_uppercase()),
        version => Program::this().version,
        verdict => [&comparison.sentence].into_iter().collect::<Value>(),
        sides => sides(comparison).collect::<Value>(),
        unfinished => (),
        warnings => Serde(&comparison.warnings),
        between => comparison.between_runs.as_ref().map(|between| &between.sentence),
        differences => differences("fact", comparison),
        uses => uses(comparison),
        counts => counts(comparison),
        figures => Figure::ALL.into_iter().filter_map(|figure| figure_view(comparison, figure)).collect::<Value>(),
        only => only.collect::<Value>(),
        command,
    };
    render("comparison.html", view)
}

/// A line for each side that is described: `Before: run 3 (survey on /data)`.
fn sides(comparison: &Comparison) -> impl Iterator<Item = String> {
    let described = comparison.sides.iter().filter(|side| !side.of.is_empty());
    described.map(|side| {
        let (first, rest) = side.name.split_at(1);
        format!("{}{rest}: {}.", first.to_uppercase(), sanitize(&side.of))
    })
}

/// Workloads that only one side has.
fn only(comparison: &Comparison) -> impl Iterator<Item = (&'static str, &[String])> {
    let names = comparison.sides.each_ref().map(|side| side.name);
    let only = names.into_iter().zip([&comparison.only_before[..], &comparison.only_after[..]]);
    only.filter(|(_, workloads)| !workloads.is_empty())
}

fn figure_view(comparison: &Comparison, figure: Figure) -> Option<Value> {
    Some(context! {
        id => title(figure).replace([' ', ','], "-"),
        title => title(figure),
        better => if figure.is_throughput() { "more is better" } else { "less is better" },
        forest => forest(comparison, figure)?,
        table => table(&comparison.cells, comparison.sides.each_ref().map(|side| side.name), figure),
    })
}

fn table(cells: &[ComparedCell], names: [&str; 2], figure: Figure) -> Table {
    let [before, after] = names;
    let head = ["workload", before, "n", after, "n", "change", "95 % interval", "margin", "verdict"];
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
            percent(change.margin.share()),
            word(change.standing).to_owned(),
        ])
    };
    Table::new(head, cells.iter().filter_map(row))
}

/// Each use at its best on both sides: rate and p99.
fn uses(comparison: &Comparison) -> Table {
    let [before, after] = comparison.sides.each_ref().map(|side| side.name);
    let rows = comparison.by_use().into_iter().filter_map(|(of, cell)| {
        let (rate, tail) = (cell.change(Figure::Throughput)?, cell.change(Figure::TailLatency));
        let side = |of: fn(&Change) -> &Estimate| {
            let figure = |change| of(change).quantity.format(of(change).value);
            let p99 = tail.map(|tail| format!(", p99 {}", figure(tail))).unwrap_or_default();
            figure(rate) + &p99
        };
        let judged = |change: &Change| format!("{} %, {}", signed(change.ratio.value), word(change.standing));
        let tail = tail.map(|tail| format!("; p99 {}", judged(tail))).unwrap_or_default();
        let change = judged(rate) + &tail;
        let workload = &cell.workload;
        let size = match workload.sizes.all().count() {
            0 | 1 => workload.request_size.to_string(),
            _ => "several sizes".to_owned(),
        };
        let settings = [
            ("request_size", size),
            ("depth", format!("QD{}", workload.depth)),
            ("buffering", workload.buffering.to_string()),
        ];
        let known = settings.into_iter().filter(|(field, _)| workload.is_known(field)).map(|(_, word)| word);
        let of = [format!("{of}: "), known.collect::<Vec<_>>().join(", ")].concat();
        Some([of, side(|change| &change.before), side(|change| &change.after), change])
    });
    Table::new(["Use", before, after, "change"], rows)
}

/// How many workloads of each figure changed, and how many did not.
fn counts(comparison: &Comparison) -> Table {
    let row = |figure: Figure| {
        let changes = comparison.cells.iter().filter_map(|cell| cell.change(figure));
        let count = |standing| changes.clone().filter(|change| change.standing == standing).count();
        let counts = STANDINGS.map(count);
        (counts.iter().sum::<usize>() > 0).then(|| {
            let counts = counts.iter().map(usize::to_string);
            std::iter::once(title(figure).to_owned()).chain(counts).collect::<Vec<_>>()
        })
    };
    let head = std::iter::once("workloads by figure").chain(STANDINGS.map(word)).map(str::to_owned).collect();
    Table { head, rows: Figure::ALL.into_iter().filter_map(row).collect() }
}

/// The changes of a figure, or with `all` every workload. The parent's throughput adds nothing if the throughput changed alike.
fn changes(comparison: &Comparison, figure: Figure, all: bool) -> Table {
    let changed = |change: &Change| {
        let (changed, verdict) = (signed(change.ratio.value), word(change.standing));
        [change.before.to_string(), change.after.to_string(), format!("{changed} %, {verdict} ({})", basis(change))]
    };
    let rows = comparison.cells.iter().filter_map(|cell| {
        let change = cell.change(figure).filter(|change| all || change.standing.is_change())?;
        let throughput = cell.change(Figure::Throughput).map(|throughput| throughput.standing);
        if figure == Figure::ParentThroughput && throughput == Some(change.standing) {
            return None;
        }
        let [before, after, change] = changed(change);
        Some([cell.name.clone(), before, after, change])
    });
    let [before, after] = comparison.sides.each_ref().map(|side| side.name);
    Table::new([title(figure), before, after, "change"], rows)
}

/// The text: what changed, or with `all` every workload; all of few.
pub(crate) fn comparison_text(comparison: &Comparison, all: bool, medium: Medium) -> String {
    const FEW: usize = 3;
    let all = all || comparison.cells.len() <= FEW;
    let mut page = Page::new(medium);
    page.paragraph("", &[(Style::Strong, &comparison.sentence)]);
    for warning in &comparison.warnings {
        page.plain(format!("Warning: {}; {}.", warning.message, warning.remedy));
    }
    if let Some(between) = &comparison.between_runs {
        page.plain(&between.sentence);
    }
    sides(comparison).for_each(|side| page.plain(side));
    page.table_of(&uses(comparison));
    // They may explain what follows.
    page.table_of(&differences("Differences of the environment", comparison));
    // Samples record the settings that a hook of `ab` makes only in part.
    if comparison.differences.is_empty() && comparison.sides[0].name != "A" {
        page.plain("The environment is the same, as far as the samples record it.");
    }
    page.table_of(&counts(comparison));
    for figure in Figure::ALL {
        page.table_of(&changes(comparison, figure, all));
    }
    for (which, cells) in only(comparison) {
        page.gap();
        if all {
            page.plain(format!("Measured, or lasting, only {which}, so not compared:"));
            cells.iter().for_each(|cell| page.paragraph("  ", &[(Style::Plain, cell)]));
        } else {
            page.plain(format!(
                "Measured, or lasting, only {which}, so not compared: {}.",
                counted(cells.len(), "workload")
            ));
        }
    }
    page.finish()
}
