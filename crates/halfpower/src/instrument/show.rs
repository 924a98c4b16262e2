//! Shows a reading as text and as an HTML page. It computes no figure and escapes every text of a record.

use super::drop_cache::page as drop_cache_page;
use super::files::page as files_page;
use super::idle::page as idle_page;
use super::inspect::page as inspect_page;
use super::link::page as link_page;
use super::map::page as map_page;
use super::memory::page as memory_page;
use super::page::{Bar, Body, Branch, Page};
use crate::reading::{Figures, Reading};
use crate::report::chart::{Chart, Stroke, XAxis, chart_table, chart_view};
use crate::report::html::render;
use crate::report::of_environment;
use crate::report::wrap::wrap;
use crate::sanitize::sanitize;
use halfpower_model::Estimate;
use minijinja::context;
use minijinja::value::{Serde, Value as View};
use std::fmt::Write;

/// Maximum number of rows of a table on the terminal; the HTML page has all.
const ROWS_SHOWN: usize = 32;
/// Maximum width of a column; a longer cell moves the rest of its row to the right.
const CELL: usize = 40;
/// Size of a plot on the terminal.
const COLUMNS: usize = 64;
const ROWS: usize = 10;

/// A reading, and where it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadingInput<'a> {
    /// The run's number in the store.
    pub(crate) run: i64,
    /// The targets as they were named; empty if the instrument has none.
    pub(crate) target: &'a str,
    /// The command line of the run.
    pub(crate) command: &'a str,
    pub(crate) reading: &'a Reading,
}

/// The page of a reading; `run` is its number in the store.
fn page_of(reading: &Reading, run: &str) -> Page {
    match &reading.figures {
        Figures::Inspect(inspected) => inspect_page::page(inspected),
        Figures::DropCache(dropped) => drop_cache_page::page(dropped),
        Figures::Link(link) => link_page::page(link),
        Figures::Map(map) => map_page::page(map, run),
        Figures::Memory(speed) => memory_page::page(speed),
        Figures::Idle(idleness) => idle_page::page(idleness),
        Figures::Files(rates) => files_page::page(rates),
    }
}

/// The charts of a reading.
pub(crate) fn reading_charts(reading: &Reading) -> Vec<Chart> {
    page_of(reading, "RUN").charts
}

/// The page of a reading.
///
/// # Errors
/// If the template does not fit the view, which a test would have shown.
pub(crate) fn reading_html(input: &ReadingInput<'_>) -> anyhow::Result<String> {
    let reading = input.reading;
    let page = page_of(reading, &input.run.to_string());
    let view = context! {
        title => page.title,
        version => &reading.program.version,
        run => input.run,
        date => reading.started_at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        target => input.target,
        host => &reading.environment.host,
        note => reading.note.as_deref(),
        verdict => page.verdict.into_iter().collect::<View>(),
        unfinished => page.unfinished,
        charts => page.charts.iter().filter_map(chart_view).collect::<View>(),
        bars_of => Serde(page.bars),
        sections => Serde(page.sections),
        warnings => Serde(&reading.warnings),
        environment => of_environment(&reading.environment, &reading.program),
        method => page.method.into_iter().collect::<View>(),
        command => input.command,
    };
    render("reading.html", view)
}

/// A reading for a terminal with this many columns.
pub(crate) fn reading_text(reading: &Reading, width: usize) -> String {
    let page = page_of(reading, "RUN");
    let mut text = String::new();
    for sentence in page.verdict.iter().chain(&page.unfinished) {
        wrap(&mut text, sentence, 2, width);
    }
    for warning in &reading.warnings {
        wrap(&mut text, &format!("Warning: {}; {}", warning.message, warning.remedy), 2, width);
    }
    for shown in &page.charts {
        match shown.x {
            XAxis::Place => plot(&mut text, shown),
            _ => matrix(&mut text, shown),
        }
    }
    for section in &page.sections {
        let _ = writeln!(text, "\n{}", sanitize(&section.title));
        if !section.about.is_empty() {
            wrap(&mut text, &format!("  {}", section.about), 2, width);
        }
        match &section.body {
            Body::Table(figures) => rows(&mut text, &figures.head, &figures.rows, None),
            Body::Facts(facts) => rows(&mut text, &facts.head, &facts.rows, Some(width)),
            Body::Bars(bars) => {
                let cells = |bar: &Bar| vec![bar.label.clone(), bar.figure.clone(), bar.about.clone()];
                rows(&mut text, &[], &bars.iter().map(cells).collect::<Vec<_>>(), Some(width));
            }
            Body::Tree(branches) => tree(&mut text, branches, 1, width),
        }
    }
    text
}

/// Rows in columns as wide as their cells. Figures are aligned on the right; facts are wrapped in their last column.
fn rows(text: &mut String, head: &[String], rows: &[Vec<String>], wrapped: Option<usize>) {
    let head = (!head.is_empty()).then(|| head.to_vec());
    let shown = head.iter().chain(rows.iter().take(ROWS_SHOWN));
    let lines: Vec<Vec<_>> = shown.map(|cells| cells.iter().map(|cell| sanitize(cell)).collect()).collect();
    let count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let wide =
        |column: usize| lines.iter().filter_map(|cells| cells.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|column| wide(column).unwrap_or(0).min(CELL)).collect();
    for cells in &lines {
        let mut line = String::new();
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let _ = match wrapped.is_none() && column > 0 {
                true => write!(line, "  {cell:>width$}"),
                false => write!(line, "  {cell:<width$}"),
            };
        }
        let last: usize = widths.iter().take(count.saturating_sub(1)).map(|width| width + 2).sum();
        wrap(text, line.trim_end(), last + 2, wrapped.unwrap_or(usize::MAX));
    }
    if rows.len() > ROWS_SHOWN {
        let _ = writeln!(text, "  and {} more", rows.len() - ROWS_SHOWN);
    }
}

/// A line for each branch, indented by its depth.
fn tree(text: &mut String, branches: &[Branch], depth: usize, width: usize) {
    for branch in branches {
        let indent = "  ".repeat(depth);
        wrap(text, &format!("{indent}{:<13} {}", branch.name, branch.text), 2 * depth + 14, width);
        tree(text, &branch.below, depth + 1, width);
    }
}

/// A chart as a table: a row for each `x`, a column for each line. The unit of several lines is in the title.
fn matrix(text: &mut String, chart: &Chart) {
    let most = chart.lines.iter().flat_map(|line| &line.points).map(|point| point.y.value).fold(0.0, f64::max);
    let (divisor, unit) = chart.y.unit(most);
    let (title, figures) = match chart.lines.len() {
        0 | 1 => (chart.title.clone(), chart_table(chart, Estimate::to_string)),
        _ => {
            let bare = |estimate: &Estimate| chart.y.tick(estimate.value, divisor);
            (format!("{}, {unit}", chart.title), chart_table(chart, bare))
        }
    };
    let _ = writeln!(text, "\n{title}");
    rows(text, &figures.head, &figures.rows, None);
}

/// A chart in characters: points as `*`, each the median of its column, and steps as `-` behind them. It begins at zero.
fn plot(text: &mut String, chart: &Chart) {
    let points = |stroke| chart.lines.iter().filter(move |line| line.stroke == stroke).flat_map(|line| &line.points);
    let all = chart.lines.iter().flat_map(|line| &line.points);
    let (end, top) = all.fold((0.0, 0.0), |(end, top): (f64, f64), it| (end.max(it.x), top.max(it.y.value)));
    if top <= 0.0 || end <= 0.0 {
        return;
    }
    let mut columns = vec![Vec::new(); COLUMNS];
    for point in points(Stroke::Points) {
        columns[((point.x / end * COLUMNS as f64) as usize).min(COLUMNS - 1)].push(point.y.value);
    }
    let row_of = |figure: f64| ((figure / top * ROWS as f64).ceil() as usize).clamp(1, ROWS);
    let medians: Vec<Option<usize>> = columns.iter_mut().map(|figures| median(figures).map(row_of)).collect();
    let step = |column: usize| {
        let at = (column as f64 + 0.5) / COLUMNS as f64 * end;
        points(Stroke::Steps).take_while(|point| point.x <= at).last().map(|point| row_of(point.y.value))
    };
    let _ = writeln!(text, "\n{}", chart.title);
    for row in (1..=ROWS).rev() {
        let cell = |column: usize| match (medians[column] == Some(row), step(column) == Some(row)) {
            (true, _) => '*',
            (false, true) => '-',
            (false, false) => ' ',
        };
        let (divisor, unit) = chart.y.unit(top);
        let label = if row == ROWS { format!("{} {unit}", chart.y.tick(top, divisor)) } else { String::new() };
        let line: String = (0..COLUMNS).map(cell).collect();
        let _ = writeln!(text, "  {label:>10} |{}", line.trim_end());
    }
    let _ = writeln!(text, "  {:>10} +{}", "0", "-".repeat(COLUMNS));
    let _ = writeln!(text, "  {:>10}  0{:>width$}", "", chart.x.text(end), width = COLUMNS - 1);
}

fn median(figures: &mut [f64]) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied()
}
