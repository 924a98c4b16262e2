//! The pages of stored runs.

use super::guard::{Html, Refusal};
use super::shelf::{Held, Shelf};
use crate::cli::compare::{self, Runs};
use crate::cli::history::{self, Course};
use crate::cli::report::reading_page;
use crate::report::chart::{Chart, Line, Point, Stroke, XAxis, YAxis, chart_view, without_interval};
use crate::report::html::render;
use crate::report::{Analysed, TwoArms, comparison_html, html};
use crate::store::{RunId, RunStatus, RunSummary, word};
use anyhow::Context as _;
use axum::extract::{Path, Query, State};
use halfpower_analysis::comparison::History;
use halfpower_model::Quantity;
use minijinja::context;
use minijinja::value::Value;
use serde::Deserialize;

/// Runs on a page of the list.
const ROWS: usize = 50;
/// Workloads of a history that are drawn: those that changed first.
const DRAWN: usize = 6;

/// A search.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Search {
    q: String,
    page: usize,
}

pub(super) async fn list(State(shelf): State<Shelf>, Query(search): Query<Search>) -> Result<Html, Refusal> {
    Ok(Html(shelf.ask(move |held| listed(held, &search)).await?))
}

fn listed(held: &Held, search: &Search) -> anyhow::Result<String> {
    let words: Vec<String> = search.q.split_whitespace().map(str::to_lowercase).collect();
    let mut runs = held.store.runs()?;
    let of_all = runs.len();
    runs.reverse();
    let headline = |run: &RunSummary| held.headlines.get(&run.id.0).map_or("", String::as_str);
    runs.retain(|run| {
        let texts = [run.name.as_str(), &run.target, run.note.as_deref().unwrap_or_default(), headline(run)];
        let text = format!("{} {} {}", word(run.kind), word(run.status), texts.join(" ")).to_lowercase();
        words.iter().all(|word| text.contains(word))
    });
    let (found, first) = (runs.len(), search.page.saturating_mul(ROWS));
    let row = |run: &RunSummary| {
        context! {
            id => run.id.0,
            is_running => run.status == RunStatus::Running,
            status => word(run.status),
            begun => run.started_at.strftime("%Y-%m-%d %H:%M").to_string(),
            name => &run.name,
            target => &run.target,
            note => &run.note,
            headline => headline(run),
            samples => run.samples,
        }
    };
    let view = context! {
        title => "Runs",
        up => "./",
        query => &search.q,
        runs => runs.iter().skip(first).take(ROWS).map(row).collect::<Value>(),
        found, of_all,
        before => (search.page > 0 && first <= found).then(|| search.page.saturating_sub(1)),
        after => (first.saturating_add(ROWS) < found).then(|| search.page + 1),
    };
    render("runs.html", view)
}

pub(super) async fn run(State(shelf): State<Shelf>, Path(run): Path<i64>) -> Result<Html, Refusal> {
    let page = shelf.ask(move |held| report(held, RunId(run))).await?;
    let links = format!(
        "<nav class=\"site\"><a href=\"../\">All runs</a> <a href=\"../history/{run}\">History</a> \
         <a href=\"../live/{run}\">Live</a></nav>"
    );
    Ok(Html(page.replacen("<main>", &format!("{links}<main>"), 1)))
}

/// The report of a run, or the page of a reading or of two arms.
fn report(Held { store, .. }: &Held, id: RunId) -> anyhow::Result<String> {
    if let Some(reading) = store.reading(id)? {
        return reading_page(&store.run(id)?, &reading);
    }
    match TwoArms::load(store, id, None)? {
        Some(arms) => arms.html(),
        None => html(&Analysed::load(store, id)?),
    }
}

/// Two sides of a comparison, each a run or several like `3,5`.
#[derive(Debug, Deserialize)]
pub(super) struct Sides {
    before: String,
    after: String,
}

pub(super) async fn compare(State(shelf): State<Shelf>, Query(sides): Query<Sides>) -> Result<Html, Refusal> {
    let page = shelf.ask(move |Held { store, .. }| {
        let runs = |text: &str| text.parse::<Runs>().map_err(anyhow::Error::msg);
        let (before, after) = (runs(&sides.before)?, runs(&sides.after)?);
        let comparison = compare::of_runs(store, &before, &after, None)?;
        let command = format!("halfpower compare {} {}", before.numbers(), after.numbers());
        comparison_html(&comparison, &before.to_string(), &after.to_string(), &command)
    });
    let page = page.await?;
    Ok(Html(page.replacen("<main>", "<nav class=\"site\"><a href=\"./\">All runs</a></nav><main>", 1)))
}

pub(super) async fn history(State(shelf): State<Shelf>, Path(run): Path<i64>) -> Result<Html, Refusal> {
    Ok(Html(shelf.ask(move |held| course(held, RunId(run))).await?))
}

fn course(held: &Held, run: RunId) -> anyhow::Result<String> {
    let Course { target, runs, workloads } = Course::up_to(&held.store, run)?;
    let mut drawn: Vec<&History> = workloads.iter().collect();
    drawn.sort_by_key(|one| one.changes.is_empty());
    let charts = drawn.iter().take(DRAWN).enumerate().map(|(number, one)| chart(number, one, &runs));
    let view = context! {
        title => format!("History of {target}"),
        up => "../",
        sentence => history::verdict(&workloads, &runs, &target),
        charts => charts.filter_map(|chart| chart_view(&chart)).collect::<Value>(),
        table => history::each_workload(&workloads),
    };
    render("history.html", view).context("the page of a history")
}

/// The mean of a workload in each run, and its levels as lines across.
fn chart(number: usize, one: &History, runs: &[RunSummary]) -> Chart {
    let point = |(place, mean): (&usize, &f64)| Point {
        x: runs[*place].id.0 as f64,
        y: without_interval(one.quantity, *mean, 1),
    };
    let points = one.runs.iter().zip(&one.means).map(point).collect();
    let line = Line { label: "mean of a run".to_owned(), stroke: Stroke::Solid, points, fitted: None };
    let y = if one.quantity == Quantity::BytesPerSecond { YAxis::BytesPerSecond } else { YAxis::RequestsPerSecond };
    let axes = (XAxis::Run, y);
    let mut chart = Chart::new(format!("history-{number}"), one.name.clone(), "the mean of a run", axes, vec![line]);
    if one.levels.len() > 1 {
        let level = |level: &f64| (format!("level of {}", one.quantity.format(*level)), *level);
        chart.references = one.levels.iter().map(level).collect();
    }
    chart
}
