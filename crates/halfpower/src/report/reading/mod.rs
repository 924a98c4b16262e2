//! The page of a reading: what an instrument found, as one HTML file in the form of the report.
//!
//! An instrument says what is particular to it as a [`Page`]: sentences, charts, tables. What every page has (the frame,
//! the environment, warnings, the command) is added here. It computes nothing, and everything from a record is escaped.

mod bars;
mod drop_cache;
mod idle;
mod inspect;
mod link;
mod map;
mod memory;
#[cfg(test)]
mod tests;

use super::chart::Chart;
use super::html::render;
use super::table::{self, Table};
use super::view::{ChartView, chart_view};
use anyhow::Result;
use bars::Bar;
use halfpower_model::Reading;
use halfpower_model::reading::{Branch, Figures};
use halfpower_model::sample::Warning;
use serde::Serialize;

/// What a page is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadingInput<'a> {
    /// The store's number of the run.
    pub(crate) run: i64,
    /// What was named as the targets; empty where the instrument has none.
    pub(crate) target: &'a str,
    /// The command that does the same again.
    pub(crate) command: &'a str,
    /// The reading.
    pub(crate) reading: &'a Reading,
}

/// What an instrument has to show.
#[derive(Debug)]
struct Page {
    title: &'static str,
    /// What the reader came for, in sentences.
    verdict: Vec<String>,
    /// What is missing, where the instrument was interrupted.
    unfinished: Option<String>,
    charts: Vec<Chart>,
    sections: Vec<Section>,
    /// How it was measured, a paragraph each.
    method: Vec<&'static str>,
}

/// Something to see under a title, with a sentence about it.
#[derive(Debug, Serialize)]
struct Section {
    title: String,
    /// May be empty.
    about: String,
    body: Body,
}

/// What can be under a title.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
enum Body {
    /// Figures in rows.
    Table(Table),
    /// Text in rows.
    Facts(Table),
    /// A bar for each figure.
    Bars(Vec<Bar>),
    /// What lies on what.
    Tree(Vec<Branch>),
}

/// What the template is given.
#[derive(Debug, Serialize)]
struct View<'a> {
    title: &'a str,
    version: &'a str,
    run: i64,
    date: String,
    target: &'a str,
    host: &'a str,
    note: Option<&'a str>,
    verdict: Vec<String>,
    unfinished: Option<String>,
    charts: Vec<ChartView>,
    sections: Vec<Section>,
    warnings: &'a [Warning],
    environment: Table,
    method: Vec<&'static str>,
    command: &'a str,
}

/// The page of a reading.
///
/// # Errors
/// When the template does not fit what it is given, which a test would have shown.
pub(crate) fn reading_html(input: &ReadingInput<'_>) -> Result<String> {
    let page = match &input.reading.figures {
        Figures::Inspect(inspected) => inspect::page(inspected),
        Figures::DropCache(dropped) => drop_cache::page(dropped),
        Figures::Link(link) => link::page(link),
        Figures::Map(map) => map::page(map, input.run),
        Figures::Memory(speed) => memory::page(speed),
        Figures::Idle(idleness) => idle::page(idleness),
    };
    let reading = input.reading;
    let view = View {
        title: page.title,
        version: &reading.program.version,
        run: input.run,
        date: reading.started_at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        target: input.target,
        host: &reading.environment.host,
        note: reading.note.as_deref(),
        verdict: page.verdict,
        unfinished: page.unfinished,
        charts: page.charts.iter().filter_map(chart_view).collect(),
        sections: page.sections,
        warnings: &reading.warnings,
        environment: table::of_environment(&reading.environment, &reading.program),
        method: page.method,
        command: input.command,
    };
    render("reading.html", view)
}

/// Words as a sentence; not for such as begin with a name.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str() + "."
}
