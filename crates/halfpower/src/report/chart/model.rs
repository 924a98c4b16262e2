//! A chart before it is drawn.

use super::axis::{XAxis, YAxis};
use halfpower_analysis::CellSummary;
use halfpower_analysis::models::Curve;
use halfpower_model::{Buffering, BytesPerSecond, Durability, Estimate, Quantity};

/// Lines a chart can show and still be read. The table below it has all.
pub(super) const LINES_SHOWN: usize = 7;

/// A chart.
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
    /// The model that describes them, where one does: in words, and its curves in the units of the axes.
    pub(crate) fitted: Option<(&'static str, Vec<Curve>)>,
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

impl Point {
    /// Whether there is a figure: a cell whose samples all failed has none.
    pub(super) fn is_drawable(&self) -> bool {
        let measured = self.y.estimate().is_none_or(|estimate| estimate.repetitions > 0);
        measured && self.x > 0.0 && self.y.figure().is_finite()
    }
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

    /// The estimate, if it is one.
    pub(super) fn estimate(self) -> Option<Estimate> {
        if let Value::Estimate(estimate) = self { Some(estimate) } else { None }
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
    pub(super) fn of(cell: &CellSummary) -> Stroke {
        match (cell.workload.durability, cell.workload.buffering) {
            (Durability::None, Buffering::Buffered) => Stroke::Dashed,
            (Durability::None, Buffering::Direct) => Stroke::Solid,
            _ => Stroke::Dotted,
        }
    }

    /// An attribute of SVG, in units of a user space of CSS pixels.
    pub(super) fn dashes(self) -> &'static str {
        match self {
            Stroke::Solid | Stroke::Points | Stroke::Steps => "",
            Stroke::Dashed => " stroke-dasharray=\"7 4\"",
            Stroke::Dotted => " stroke-dasharray=\"1.5 4\"",
        }
    }
}
