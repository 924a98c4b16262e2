//! Charts: which cells become which lines on which axes. [`draw`] turns a chart into SVG.
//!
//! A chart whose lines would have fewer than three points is left out, and the report says so.

mod axis;
mod bars;
mod draw;
mod figures;
mod lines;
pub(super) mod swatch;

pub(crate) use axis::{XAxis, YAxis};
pub(super) use bars::{bars, bars_view_box};
pub(super) use draw::{svg, view_box};
pub(super) use figures::PAPER;
pub(super) use figures::of_figure;
pub(super) use swatch::{bar_legend, fitted_swatch, reference_swatch, swatch};

use super::ReportInput;
use halfpower_analysis::CellSummary;
use halfpower_analysis::models::Curve;
use halfpower_model::{
    Buffering, BytesPerSecond, Durability, Estimate, FindingCode, Operation, Pattern, Quantity, Reach,
};
use lines::{Along, by_depth, by_size, shapes};

/// Lines a chart can show and still be read. The table below it has all.
pub(super) const LINES_SHOWN: usize = 7;

/// A chart before it is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// Unique in the report; a word for `id` attributes.
    pub(crate) id: String,
    /// What it shows, in a few words.
    pub(crate) title: String,
    /// What a point is.
    pub(crate) point: &'static str,
    /// The horizontal axis.
    pub(crate) x: XAxis,
    /// The vertical axis.
    pub(crate) y: YAxis,
    /// The lines, in the plan's order.
    pub(crate) lines: Vec<Line>,
    /// Half of the peak, where a finding names the peak, in bytes per second.
    pub(crate) half_of_peak: Option<f64>,
}

/// A line of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// What sets it apart from the others of the chart.
    pub(crate) label: String,
    /// How it is stroked.
    pub(crate) stroke: Stroke,
    /// Its points, by `x`.
    pub(crate) points: Vec<Point>,
    /// The model that describes them, where one does.
    pub(crate) fitted: Option<Fitted>,
}

/// A model's curve beside what was measured.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    /// The model, in words.
    pub(crate) law: &'static str,
    /// Its pieces, in the units of the axes.
    pub(crate) curves: Vec<Curve>,
}

/// Strokes tell the use of the caches, so that a line is told apart without colour, or what its points have between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stroke {
    /// Direct.
    Solid,
    /// Through the page cache.
    Dashed,
    /// Flushed to the medium inside the timing.
    Dotted,
    /// Nothing: each point is by itself.
    Points,
    /// The same as at the point before.
    Steps,
}

/// A point of a line, in the units of the axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// Bytes, a depth, a share or a place.
    pub(crate) x: f64,
    /// The figure.
    pub(crate) y: Value,
}

/// What a point stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// A mean over repetitions.
    Estimate(Estimate),
    /// A percentile of a merged histogram, in ns.
    LatencyNs(u64),
    /// Of one request.
    Once(BytesPerSecond),
}

impl Value {
    /// The bare figure.
    pub(crate) fn figure(self) -> f64 {
        match self {
            Value::Estimate(estimate) => estimate.value,
            Value::LatencyNs(latency_ns) => latency_ns as f64,
            Value::Once(rate) => rate.0,
        }
    }

    /// For people.
    pub(crate) fn text(self) -> String {
        match self {
            Value::Estimate(estimate) => estimate.to_string(),
            Value::LatencyNs(latency_ns) => Quantity::Nanoseconds.format(latency_ns as f64),
            Value::Once(rate) => rate.to_string(),
        }
    }
}

impl Stroke {
    fn of(cell: &CellSummary) -> Stroke {
        match (cell.workload.durability, cell.workload.buffering) {
            (Durability::None, Buffering::Buffered) => Stroke::Dashed,
            (Durability::None, Buffering::Direct) => Stroke::Solid,
            _ => Stroke::Dotted,
        }
    }

    /// In units of a user space of CSS pixels.
    pub(super) fn dashes(self) -> Option<&'static str> {
        match self {
            Stroke::Solid | Stroke::Points | Stroke::Steps => None,
            Stroke::Dashed => Some("7 4"),
            Stroke::Dotted => Some("1.5 4"),
        }
    }
}

/// The charts of a report, and a sentence for each kind that cannot be shown.
pub(super) fn charts(input: &ReportInput<'_>) -> (Vec<Chart>, Vec<&'static str>) {
    if !input.paper_figures.is_empty() {
        // They stand with their figures.
        return (Vec::new(), Vec::new());
    }
    let groups = groups(&input.analysis.cells);
    let kinds: [(Vec<Chart>, &'static str); 4] = [
        (
            groups.iter().filter_map(|group| throughput(input, group)).collect(),
            "Throughput by request size: no workload was measured at three request sizes or more.",
        ),
        (
            groups.iter().filter_map(|group| rate(input, group)).collect(),
            "IOPS by queue depth: no random workload was measured at three queue depths or more.",
        ),
        (
            groups.iter().filter_map(latency).collect(),
            "Latency percentiles: no direct random workload has enough requests for them.",
        ),
        (groups.iter().filter_map(cpu_cost).collect(), "CPU cost: it was not measured at three request sizes or more."),
    ];
    let absent = kinds.iter().filter(|(charts, _)| charts.is_empty()).map(|(_, absent)| *absent).collect();
    (kinds.into_iter().flat_map(|(charts, _)| charts).collect(), absent)
}

/// Cells of one operation and pattern; a chart never mixes them.
struct Group<'a> {
    pattern: Pattern,
    operation: Operation,
    cells: Vec<&'a CellSummary>,
}

impl Group<'_> {
    fn name(&self) -> String {
        format!("{} {}", self.pattern, self.operation)
    }

    fn id(&self, kind: &str) -> String {
        format!("{kind}-{}", self.name().replace([' ', '='], "-"))
    }
}

/// In the order of the plan.
fn groups(cells: &[CellSummary]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for cell in cells {
        let (pattern, operation) = (cell.workload.pattern, cell.workload.operation);
        match groups.iter_mut().find(|group| (group.pattern, group.operation) == (pattern, operation)) {
            Some(group) => group.cells.push(cell),
            None => groups.push(Group { pattern, operation, cells: vec![cell] }),
        }
    }
    groups
}

fn throughput(input: &ReportInput<'_>, group: &Group<'_>) -> Option<Chart> {
    let name = group.name();
    let lines = by_size(&group.cells, |cell| Some(cell.bytes_per_s), |cells| lines::of_sizes(input, cells))?;
    let peak = input.findings(FindingCode::Peak).find(|finding| finding.subject.starts_with(&name));
    let peak = peak
        .and_then(|finding| finding.estimates.iter().find(|estimate| estimate.quantity == Quantity::BytesPerSecond));
    Some(Chart {
        id: group.id("throughput"),
        title: format!("Throughput of {name}s"),
        point: "the mean throughput of a workload",
        x: XAxis::RequestSize,
        y: YAxis::BytesPerSecond,
        lines,
        half_of_peak: peak.map(|estimate| estimate.value / 2.0),
    })
}

fn cpu_cost(group: &Group<'_>) -> Option<Chart> {
    Some(Chart {
        id: group.id("cpu"),
        title: format!("CPU time of {}s", group.name()),
        point: "the mean CPU time per MB of a workload, a lower bound,",
        x: XAxis::RequestSize,
        y: YAxis::CpuCost,
        lines: by_size(&group.cells, |cell| cell.cpu_ms_per_mb.filter(|cost| cost.value > 0.0), |_| None)?,
        half_of_peak: None,
    })
}

/// Without what only reached memory, beside which the storage would be a flat line.
fn rate(input: &ReportInput<'_>, group: &Group<'_>) -> Option<Chart> {
    (group.pattern == Pattern::Random).then_some(())?;
    let cells: Vec<_> = group.cells.iter().copied().filter(|cell| cell.reach == Reach::Storage).collect();
    Some(Chart {
        id: group.id("rate"),
        title: format!("IOPS of {}s", group.name()),
        point: "the mean IOPS of a workload",
        x: XAxis::Depth,
        y: YAxis::RequestsPerSecond,
        lines: by_depth(&cells, |cells| lines::of_depths(input, cells))?,
        half_of_peak: None,
    })
}

/// Latency by depth, of the smallest random requests that bypass the page cache, where the device shows.
fn latency(group: &Group<'_>) -> Option<Chart> {
    (group.pattern == Pattern::Random).then_some(())?;
    let direct = group.cells.iter().copied().filter(|cell| cell.workload.buffering.is_direct());
    let size = direct.clone().map(|cell| cell.workload.request_size).min()?;
    let cells: Vec<_> = direct.filter(|cell| cell.workload.request_size == size).collect();
    let shapes = shapes(&cells, Along::Share);
    let lines: Vec<Line> = cells
        .iter()
        .zip(&shapes)
        .map(|(cell, own)| Line {
            label: own.label(&shapes),
            stroke: Stroke::of(cell),
            points: percentiles(cell),
            fitted: None,
        })
        .filter(|line| line.points.len() >= lines::POINTS_NEEDED)
        .collect();
    (!lines.is_empty()).then(|| Chart {
        id: group.id("latency"),
        title: format!("Latency of {}s, {size}", group.name()),
        point: "a percentile of the merged latencies of a workload, from submission to completion",
        x: XAxis::Share,
        y: YAxis::Latency,
        lines,
        half_of_peak: None,
    })
}

fn percentiles(cell: &CellSummary) -> Vec<Point> {
    let valid = cell.percentiles.iter().filter(|(share, latency_ns)| (0.5..1.0).contains(share) && *latency_ns > 0);
    valid.map(|(share, latency_ns)| Point { x: *share, y: Value::LatencyNs(*latency_ns) }).collect()
}
