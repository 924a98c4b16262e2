//! Several runs in one report: their charts over each other, their best figures side by side.

use super::analysed::Analysed;
use super::chart::{Chart, chart_view, overview};
use super::html::render;
use super::page::about;
use super::table::{Table, or_dash};
use crate::text::{grouped, once};
use halfpower_analysis::Best;
use halfpower_model::sample::Program;
use halfpower_model::{Estimate, Nanoseconds};
use minijinja::{Value, context};

/// The report of several runs; `compared` says how the others differ from the first.
///
/// # Errors
/// If the template does not fit the view, which a test would have shown.
pub(crate) fn several_html(runs: &[Analysed], compared: &[String], command: &str) -> anyhow::Result<String> {
    let numbers: Vec<String> = runs.iter().map(|analysed| analysed.run.id.to_string()).collect();
    let named = format!("runs {}", numbers.join(", "));
    let view = context! {
        title => format!("Runs {}", numbers.join(", ")),
        runs => named,
        version => Program::this().version,
        verdict => compared.iter().collect::<Value>(),
        unfinished => (),
        charts => overlaid(runs).iter().filter_map(chart_view).collect::<Value>(),
        best => best(runs),
        environment => described(runs),
        command,
    };
    render("several.html", view)
}

fn number(analysed: &Analysed) -> String {
    format!("run {}", analysed.run.id)
}

/// The charts of the first screens with the lines of every run, those of the same title in one.
fn overlaid(runs: &[Analysed]) -> Vec<Chart> {
    let labelled = |analysed: &Analysed| {
        let mut charts = overview(analysed);
        for line in charts.iter_mut().flat_map(|chart| &mut chart.lines) {
            line.label = format!("{}: {}", number(analysed), line.label);
            line.fitted = None;
        }
        charts
    };
    let charts: Vec<Chart> = runs.iter().flat_map(labelled).collect();
    let one = |(index, (_, charts)): (usize, (String, Vec<&Chart>))| {
        let lines = charts.iter().flat_map(|chart| chart.lines.clone()).collect();
        // The limits and the advice are of a single run.
        Chart {
            id: format!("chart-{index}"),
            lines,
            references: Vec::new(),
            advised: None,
            heat: None,
            ..charts[0].clone()
        }
    };
    grouped(&charts, |chart| chart.title.clone()).into_iter().enumerate().map(one).collect()
}

/// The best of each kind of requests, or the figures of single workloads, a column for each run.
fn best(runs: &[Analysed]) -> Table {
    let of_best = |best: &Best| {
        let p99 = best.p99.map(|p99| format!(", p99 {}", Nanoseconds(p99))).unwrap_or_default();
        (best.kind.clone(), format!("{} at {}{p99}", best.rate, best.at))
    };
    let figures = |analysed: &Analysed| -> Vec<(String, String)> {
        let Some(cell) = analysed.only() else { return analysed.analysis.verdict.peaks.iter().map(of_best).collect() };
        let rate = |name: &str, rate: Estimate| (name.to_owned(), rate.to_string());
        let latency = |name: &str, latency: Option<u64>| (name.to_owned(), or_dash(latency.map(Nanoseconds)));
        vec![
            rate("IOPS", cell.requests_per_s),
            rate("throughput", cell.bytes_per_s),
            latency("latency p50", cell.latency.p50),
            latency("latency p99", cell.latency.p99),
        ]
    };
    let columns: Vec<Vec<(String, String)>> = runs.iter().map(figures).collect();
    let row = |kind: &String| {
        let of =
            |column: &Vec<(String, String)>| column.iter().find(|(name, _)| name == kind).map(|(_, text)| text.clone());
        std::iter::once(kind.clone()).chain(columns.iter().map(|column| or_dash(of(column)))).collect()
    };
    let kinds = once(columns.iter().flatten().map(|(kind, _)| kind.clone()));
    let head = std::iter::once("best".to_owned()).chain(runs.iter().map(number)).collect();
    Table { head, rows: kinds.iter().map(row).collect() }
}

/// What each run measured, where and when.
fn described(runs: &[Analysed]) -> Table {
    let row = |analysed: &Analysed| {
        let run = &analysed.run;
        let note = run.note.as_deref().unwrap_or_default();
        let parts = [run.name.as_str(), &run.target, &run.started_at.strftime("%Y-%m-%d %H:%M UTC").to_string()];
        let about = about(analysed);
        let parts: Vec<&str> =
            parts.into_iter().chain([about.as_str(), note]).filter(|part| !part.is_empty()).collect();
        [number(analysed), parts.join(" · ")]
    };
    Table::new(["run", "of"], runs.iter().map(row))
}
