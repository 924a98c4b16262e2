//! The charts that carry the verdict. Of a survey: rate and p99 by queue depth, with the limits and the advised depths; of a single
//! workload: its latency, and its course.

use super::axis::{XAxis, YAxis};
use super::charts::{charts, latency_over_time, over_time};
use super::model::{Chart, Line, Point, Stroke, without_interval};
use crate::report::analysed::Analysed;
use crate::text::grouped;
use halfpower_analysis::{Advice, CellSummary};
use halfpower_model::{Among, Durability, Estimate, Quantity, Reach};

/// IOPS and p99 of the smallest direct random requests by queue depth; in place of one, throughput of sequential requests by size.
/// Empty without two points on a line.
pub(crate) fn overview(analysed: &Analysed) -> Vec<Chart> {
    if analysed.only().is_some() {
        let over_time = over_time(analysed).into_iter().chain(latency_over_time(analysed));
        return charts(analysed).latency.into_iter().chain(over_time).collect();
    }
    if analysed.looks_for_limits() {
        return over_time(analysed);
    }
    let advice = |of: &str| analysed.analysis.verdict.advice.iter().find(|advice| advice.of == of);
    let mut charts = by_depth(analysed, advice("random reads"));
    if charts.len() < 2 {
        charts.extend(by_size(analysed, advice("streaming")));
    }
    charts
}

fn by_depth(analysed: &Analysed, advice: Option<&Advice>) -> Vec<Chart> {
    let all = cells(analysed, |cell| cell.workload.pattern.is_uniform() && cell.workload.buffering.is_direct());
    let Some(size) = all.iter().map(|cell| cell.workload.request_size).min() else { return Vec::new() };
    let cells: Vec<&CellSummary> = all.into_iter().filter(|cell| cell.workload.request_size == size).collect();
    let depth = |cell: &CellSummary| f64::from(cell.workload.depth);
    let rates = lines(&cells, depth, |cell| Some(cell.requests_per_s));
    let p99 = |cell: &CellSummary| Some(without_interval(Quantity::Nanoseconds, cell.latency.p99? as f64, 1));
    let tails = lines(&cells, depth, p99);
    let (id, title) = ("overview-rate".to_owned(), format!("IOPS of random {size} requests by queue depth"));
    let axes = (XAxis::Depth, YAxis::RequestsPerSecond);
    let advised = advice.map(|advice| advice.depth.map(f64::from));
    let rate = Chart {
        references: limits(analysed, |limit| match limit.quantity {
            Quantity::BytesPerSecond => limit.value / size.0 as f64,
            _ => limit.value,
        }),
        advised,
        ..Chart::new(id, title, "the mean IOPS of a workload", axes, rates)
    };
    let (id, title) = ("overview-p99".to_owned(), format!("99th percentile of latency of random {size} requests"));
    let axes = (XAxis::Depth, YAxis::Latency);
    let tail = Chart { advised, ..Chart::new(id, title, "a p99 over all requests of a workload", axes, tails) };
    [rate, tail].into_iter().filter(|chart| !chart.lines.is_empty()).collect()
}

fn by_size(analysed: &Analysed, advice: Option<&Advice>) -> Vec<Chart> {
    let cells = cells(analysed, |cell| cell.workload.pattern.is_ordered());
    let deepest = cells.iter().map(|cell| cell.workload.depth).max();
    let cells: Vec<&CellSummary> = cells.into_iter().filter(|cell| Some(cell.workload.depth) == deepest).collect();
    let lines = lines(&cells, |cell| cell.workload.request_size.0 as f64, |cell| Some(cell.bytes_per_s));
    let (id, title) = ("overview-throughput".to_owned(), "Throughput of sequential requests by their size".to_owned());
    let axes = (XAxis::RequestSize, YAxis::BytesPerSecond);
    let chart = Chart {
        references: limits(analysed, |limit| {
            if limit.quantity == Quantity::BytesPerSecond { limit.value } else { f64::INFINITY }
        }),
        advised: advice.map(|advice| advice.request_size.map(|size| size.0 as f64)),
        ..Chart::new(id, title, "the mean throughput of a workload", axes, lines)
    };
    if chart.lines.is_empty() { Vec::new() } else { vec![chart] }
}

/// The cells that show the storage with all targets, without a flush and without rates of a burst.
fn cells(analysed: &Analysed, is_wanted: fn(&CellSummary) -> bool) -> Vec<&CellSummary> {
    let cells = analysed.analysis.cells.iter();
    let is_of_all = |cell: &CellSummary| cell.workload.among == Among::All;
    let shows = |cell: &&CellSummary| cell.reach == Reach::Storage && !cell.is_burst && is_of_all(cell);
    cells.filter(shows).filter(|cell| cell.workload.durability == Durability::None && is_wanted(cell)).collect()
}

/// A line for each operation with two points or more.
fn lines(
    cells: &[&CellSummary],
    x: fn(&CellSummary) -> f64,
    y: impl Fn(&CellSummary) -> Option<Estimate>,
) -> Vec<Line> {
    let line = |(label, cells): (String, Vec<&&CellSummary>)| {
        let point = |cell: &&&CellSummary| Some(Point { x: x(cell), y: y(cell)? }).filter(Point::is_drawable);
        let mut points: Vec<Point> = cells.iter().filter_map(point).collect();
        points.sort_by(|one, other| one.x.total_cmp(&other.x));
        points.dedup_by(|one, other| one.x == other.x);
        (points.len() > 1).then_some(Line { label, stroke: Stroke::Solid, points, fitted: None })
    };
    let name = |cell: &&&CellSummary| match cell.workload.operation.to_string() {
        _ if !cell.workload.is_known("operation") => "requests".to_owned(),
        mix if mix.starts_with("mix") => format!("{} % reads", mix.trim_start_matches("mix=")),
        operation => operation + "s",
    };
    grouped(cells, name).into_iter().filter_map(line).collect()
}

/// The limits that were found, each on the chart's axis.
fn limits(analysed: &Analysed, on_axis: impl Fn(&Estimate) -> f64) -> Vec<(String, f64)> {
    let limits = analysed.analysis.limits.iter();
    limits.map(|limit| (format!("a limit of {}", limit.brief()), on_axis(&limit.sustained))).collect()
}
