//! A chart before it is drawn.

use super::axis::{XAxis, YAxis};
use halfpower_analysis::CellSummary;
use halfpower_analysis::models::Curve;
use halfpower_model::sample::Heat;
use halfpower_model::{Buffering, Durability, Estimate, Quantity};

/// Maximum number of lines in a chart. The table below it has all.
pub(super) const LINES_SHOWN: usize = 7;

/// A chart.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// The `id` attribute, unique in the report.
    pub(crate) id: String,
    /// The title.
    pub(crate) title: String,
    /// The meaning of a point, for the caption.
    pub(crate) point: &'static str,
    /// The horizontal axis.
    pub(crate) x: XAxis,
    /// The vertical axis.
    pub(crate) y: YAxis,
    /// The lines, in the plan's order.
    pub(crate) lines: Vec<Line>,
    /// Figures with a name, as lines across: half of the peak, a limit.
    pub(crate) references: Vec<(String, f64)>,
    /// The advised values of the horizontal axis, from and to.
    pub(crate) advised: Option<[f64; 2]>,
    /// The number of requests by latency and time, as shades behind the lines.
    pub(crate) heat: Option<Heat>,
}

impl Chart {
    /// With lines only.
    pub(crate) fn new(
        id: String,
        title: String,
        point: &'static str,
        (x, y): (XAxis, YAxis),
        lines: Vec<Line>,
    ) -> Chart {
        Chart { id, title, point, x, y, lines, references: Vec::new(), advised: None, heat: None }
    }
}

/// A line of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Its differences to the other lines.
    pub(crate) label: String,
    /// How it is stroked.
    pub(crate) stroke: Stroke,
    /// Its points, by `x`.
    pub(crate) points: Vec<Point>,
    /// The fitted model, if any: in words, and its curves in the units of the axes.
    pub(crate) fitted: Option<(&'static str, Vec<Curve>)>,
}

/// The stroke shows the use of caches, or how points are connected, so that lines differ without colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stroke {
    /// Direct.
    Solid,
    /// Through the page cache.
    Dashed,
    /// Flushed to the medium inside the timing.
    Dotted,
    /// Points only.
    Points,
    /// Steps: constant up to the next point.
    Steps,
}

/// A point of a line, in the units of the axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// Bytes, a queue depth, a share or a place.
    pub(crate) x: f64,
    /// The figure.
    pub(crate) y: Estimate,
}

impl Point {
    /// Whether there is a figure. A cell whose samples all failed has none.
    pub(super) fn is_drawable(&self) -> bool {
        self.y.repetitions > 0 && self.x > 0.0 && self.y.value.is_finite()
    }
}

/// A figure for which no interval is drawn.
pub(crate) fn without_interval(quantity: Quantity, value: f64, repetitions: u32) -> Estimate {
    Estimate { quantity, value, low: None, high: None, repetitions }
}

impl Stroke {
    pub(super) fn of(cell: &CellSummary) -> Stroke {
        match (cell.workload.durability, cell.workload.buffering) {
            (Durability::None, Buffering::Buffered) => Stroke::Dashed,
            (Durability::None, Buffering::Direct) => Stroke::Solid,
            _ => Stroke::Dotted,
        }
    }

    /// The SVG attribute, in CSS pixels.
    pub(super) fn dashes(self) -> &'static str {
        match self {
            Stroke::Solid | Stroke::Points | Stroke::Steps => "",
            Stroke::Dashed => " stroke-dasharray=\"7 4\"",
            Stroke::Dotted => " stroke-dasharray=\"1.5 4\"",
        }
    }
}
