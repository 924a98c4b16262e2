//! Charts of a paper's figures: measured lines, and the paper's values as points. One chart per operation, or one per volume
//! and operation if there would be too many lines.

use super::axis::{XAxis, YAxis};
use super::model::{Chart, LINES_SHOWN, Line, Point, Stroke, without_interval};
use crate::report::analysed::Analysed;
use crate::simulator::paper_figures::{PaperCell, PaperFigure, Printed};
use crate::study::Shows;
use crate::text::{counted, grouped, joined};
use halfpower_analysis::CellSummary;
use halfpower_model::{Among, Estimate, FileState, Quantity};

/// A measured cell of the figure.
type Measured<'a> = (&'a PaperCell, &'a CellSummary);

/// The charts of a figure; `number` is its place in the report.
pub(crate) fn of_figure(analysed: &Analysed, figure: &PaperFigure, number: usize) -> Vec<Chart> {
    let summary = |cell: &PaperCell| analysed.analysis.cells.iter().find(|summary| summary.cell == cell.cell);
    let measured = figure.cells.iter().filter_map(|cell| Some((cell, summary(cell)?)));
    let mut charts = Vec::new();
    for (work, cells) in grouped(measured, |(_, summary)| summary.workload.work()) {
        let Some(x) = axis(&cells) else { continue };
        let all = lines(figure, &cells, x, true);
        let own = |lines: &[Line]| lines.iter().filter(|line| line.stroke != Stroke::Points).count();
        let by_volume = grouped(cells.clone(), |(cell, _)| cell.volume.clone());
        // The paper's points take the place of a line.
        if by_volume.len() > 1 && own(&all) < LINES_SHOWN {
            charts.push((work, all, cells, x));
            continue;
        }
        for (volume, cells) in by_volume {
            let Some(x) = axis(&cells) else { continue };
            charts.push((format!("{work}, {volume}"), lines(figure, &cells, x, false), cells, x));
        }
    }
    charts.retain(|(_, lines, ..)| !lines.is_empty());
    let shows = figure.exhibit.shows;
    let chart = |(at, (title, lines, cells, x)): (usize, (_, _, Vec<Measured<'_>>, _))| {
        let (id, y) = (format!("figure-{number}-{at}"), y_axis(shows, cells[0].1));
        Chart::new(id, title, point(shows), (x, y), lines)
    };
    charts.into_iter().enumerate().map(chart).collect()
}

/// Label of the paper's points.
pub(super) const PAPER: &str = "the paper";

fn point(shows: Shows) -> &'static str {
    match shows {
        Shows::Cpu => "the mean CPU time per MB of a workload",
        Shows::Latency => "the mean time of a workload's requests",
        Shows::Throughput | Shows::Parts => "the mean of a workload",
    }
}

fn y_axis(shows: Shows, summary: &CellSummary) -> YAxis {
    match shows {
        Shows::Cpu => YAxis::CpuCost,
        Shows::Latency => YAxis::Latency,
        _ if summary.workload.pattern.is_ordered() => YAxis::BytesPerSecond,
        _ => YAxis::RequestsPerSecond,
    }
}

/// The horizontal axis: the parameter with most values; none if nothing varies.
fn axis(cells: &[Measured<'_>]) -> Option<XAxis> {
    let count = |x: XAxis| {
        let mut places: Vec<u64> = cells.iter().map(|(_, summary)| place(summary, x) as u64).collect();
        places.sort_unstable();
        places.dedup();
        places.len()
    };
    let axes = [XAxis::Depth, XAxis::RequestSize, XAxis::Place];
    axes.into_iter().filter(|x| count(*x) > 1).max_by_key(|x| count(*x))
}

fn place(summary: &CellSummary, x: XAxis) -> f64 {
    match x {
        XAxis::Depth => f64::from(summary.workload.depth),
        XAxis::Place => summary.workload.offset.0 as f64,
        _ => summary.workload.request_size.0 as f64,
    }
}

/// The value of a workload in a figure; none if it was not measured.
fn value(shows: Shows, summary: &CellSummary) -> Option<Estimate> {
    match shows {
        Shows::Cpu => summary.cpu_ms_per_mb.filter(|cost| cost.value > 0.0),
        Shows::Latency => {
            let repetitions = summary.requests_per_s.repetitions;
            Some(without_interval(Quantity::Nanoseconds, summary.histogram.mean()?, repetitions))
        }
        // The parts have their own table.
        Shows::Parts => None,
        Shows::Throughput if summary.workload.pattern.is_ordered() => Some(summary.bytes_per_s),
        Shows::Throughput => Some(summary.requests_per_s),
    }
}

/// Measured lines and the paper's points. A line's name begins with its volume, unless the title has it.
fn lines(figure: &PaperFigure, cells: &[Measured<'_>], x: XAxis, of_volumes: bool) -> Vec<Line> {
    let shows = figure.exhibit.shows;
    let points = cells.iter().filter_map(|(cell, summary)| {
        let volume = of_volumes.then(|| cell.volume.clone());
        let label = joined([volume, Some(label(cells, summary, x))]);
        Some((label, *summary, Point { x: place(summary, x), y: value(shows, summary)? }))
    });
    let line = |(label, of_line): (String, Vec<(String, &CellSummary, Point)>)| {
        let stroke = Stroke::of(of_line[0].1);
        Line { label, stroke, points: of_line.into_iter().map(|(.., point)| point).collect(), fitted: None }
    };
    let mut lines: Vec<Line> = grouped(points, |(label, ..)| label.clone()).into_iter().map(line).collect();
    let paper: Vec<Point> = figure.printed.iter().filter_map(|printed| paper_point(shows, printed, cells, x)).collect();
    // The points are drawn last, over the lines, but among the lines that are shown.
    let last = lines.len().min(LINES_SHOWN - 1);
    lines.insert(last, Line { label: PAPER.to_owned(), stroke: Stroke::Points, points: paper, fitted: None });
    for line in &mut lines {
        line.points.retain(Point::is_drawable);
        line.points.sort_by(|one, other| one.x.total_cmp(&other.x));
    }
    lines.retain(|line| !line.points.is_empty());
    if lines.iter().all(|line| line.stroke == Stroke::Points) { Vec::new() } else { lines }
}

/// The buffering, and any other differences to the workloads of its chart.
fn label(cells: &[Measured<'_>], summary: &CellSummary, x: XAxis) -> String {
    let workload = &summary.workload;
    let varies = |x: XAxis| cells.iter().any(|(_, other)| place(other, x) != place(summary, x));
    let is_size = x != XAxis::RequestSize && varies(XAxis::RequestSize);
    let is_among = workload.among != Among::All || workload.targets > 1;
    joined([
        Some(workload.buffering.to_string()),
        (x != XAxis::Depth).then(|| format!("QD{}", workload.depth)),
        is_size.then(|| workload.request_size.to_string()),
        is_among.then(|| counted(workload.targets as usize, "target")),
        (workload.file_state != FileState::Written).then(|| format!("{} file", workload.file_state)),
        workload.durability.in_words(),
        workload.rate.map(|_| "read ahead".to_owned()),
    ])
}

/// A value of the paper for one of the workloads.
fn paper_point(shows: Shows, printed: &Printed, cells: &[Measured<'_>], x: XAxis) -> Option<Point> {
    let (_, summary) = cells.iter().find(|(cell, _)| printed.cells.first() == Some(&cell.cell))?;
    let value = printed.point(&summary.workload).filter(|_| printed.figure.measure.shows() == shows)?;
    let quantity = match y_axis(shows, summary) {
        YAxis::Latency => Quantity::Nanoseconds,
        YAxis::CpuCost => Quantity::MillisecondsPerMegabyte,
        YAxis::BytesPerSecond | YAxis::Bandwidth => Quantity::BytesPerSecond,
        YAxis::RequestsPerSecond => Quantity::RequestsPerSecond,
    };
    Some(Point { x: place(summary, x), y: without_interval(quantity, value, 1) })
}
