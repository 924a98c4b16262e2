//! A paper's figures, one chart for each volume and operation of each: our lines, and what the paper prints as points.

use super::lines::is_drawable;
use super::{Chart, Line, Point, Stroke, Value, XAxis, YAxis};
use crate::report::ReportInput;
use crate::study::published::beside::{PaperCell, PaperFigure};
use halfpower_analysis::CellSummary;
use halfpower_model::{Estimate, Quantity};

/// The charts of all figures, in their order.
pub(super) fn figures(input: &ReportInput<'_>) -> Vec<Chart> {
    let charts = input.paper_figures.iter().enumerate();
    charts.flat_map(|(number, figure)| of_figure(input, figure, number)).collect()
}

/// A cell that was measured, as the figure has it.
type Measured<'a> = (&'a PaperCell, &'a CellSummary);

fn of_figure(input: &ReportInput<'_>, figure: &PaperFigure, number: usize) -> Vec<Chart> {
    let summary = |cell: &PaperCell| input.analysis.cells.iter().find(|summary| summary.cell == cell.cell);
    let measured: Vec<Measured<'_>> = figure.cells.iter().filter_map(|cell| Some((cell, summary(cell)?))).collect();
    let mut groups: Vec<(String, Vec<Measured<'_>>)> = Vec::new();
    for (cell, summary) in measured {
        let name = format!("{}, {}", cell.volume, summary.workload.work());
        match groups.iter_mut().find(|(other, _)| *other == name) {
            Some((_, cells)) => cells.push((cell, summary)),
            None => groups.push((name, vec![(cell, summary)])),
        }
    }
    let charts = groups.into_iter().enumerate();
    charts
        .filter_map(|(group, (name, cells))| {
            let x = axis(&cells)?;
            let is_ordered = cells[0].1.workload.pattern.is_ordered();
            Some(Chart {
                id: format!("figure-{number}-{group}"),
                title: format!("{} ({name})", figure.label),
                point: "the mean of a workload, or what the paper prints of it",
                x,
                y: if is_ordered { YAxis::BytesPerSecond } else { YAxis::RequestsPerSecond },
                lines: lines(&cells, x, is_ordered),
                half_of_peak: None,
            })
        })
        .collect()
}

/// What runs from left to right: what has more values; none where nothing varies.
fn axis(cells: &[Measured<'_>]) -> Option<XAxis> {
    let count = |of: fn(&CellSummary) -> u64| {
        let mut values: Vec<u64> = cells.iter().map(|(_, summary)| of(summary)).collect();
        values.sort_unstable();
        values.dedup();
        values.len()
    };
    let (sizes, depths) =
        (count(|summary| summary.workload.request_size.0), count(|summary| u64::from(summary.workload.depth)));
    if sizes.max(depths) < 2 {
        return None;
    }
    Some(if sizes >= depths { XAxis::RequestSize } else { XAxis::Depth })
}

fn lines(cells: &[Measured<'_>], x: XAxis, is_ordered: bool) -> Vec<Line> {
    let place = |summary: &CellSummary| match x {
        XAxis::Depth => f64::from(summary.workload.depth),
        _ => summary.workload.request_size.0 as f64,
    };
    let quantity = if is_ordered { Quantity::BytesPerSecond } else { Quantity::RequestsPerSecond };
    let printed = |(cell, summary): &Measured<'_>| {
        let value = cell.printed.as_ref()?.rate;
        let estimate = Estimate { quantity, value, low: None, high: None, repetitions: 1 };
        Some(Point { x: place(summary), y: Value::Estimate(estimate) })
    };
    // Of several depths at one size, the paper's point lies on the line that it is of.
    let paper: Vec<Point> = cells.iter().filter_map(printed).collect();
    let mut lines: Vec<Line> = Vec::new();
    for (_, summary) in cells {
        let label = match x {
            XAxis::Depth => summary.workload.request_size.to_string(),
            _ => format!("{} deep", summary.workload.depth),
        };
        let label = format!("{}, {label}", summary.workload.buffering);
        let estimate = if is_ordered { summary.bytes_per_s } else { summary.requests_per_s };
        let point = Point { x: place(summary), y: Value::Estimate(estimate) };
        match lines.iter_mut().find(|line| line.label == label) {
            Some(line) => line.points.push(point),
            None => lines.push(Line { label, stroke: Stroke::of(summary), points: vec![point], fitted: None }),
        }
    }
    for line in &mut lines {
        line.points.retain(is_drawable);
        line.points.sort_by(|one, other| one.x.total_cmp(&other.x));
    }
    let paper = (!paper.is_empty()).then(|| Line {
        label: "the paper".to_owned(),
        stroke: Stroke::Points,
        points: paper,
        fitted: None,
    });
    paper.into_iter().chain(lines.into_iter().filter(|line| !line.points.is_empty())).collect()
}
