//! Cells into lines: those that differ only in what runs along the axis belong together.

use super::{Fitted, Line, Point, Stroke, Value};
use crate::report::ReportInput;
use halfpower_analysis::CellSummary;
use halfpower_analysis::models::{Load, Match};
use halfpower_model::{Buffering, Bytes, CachePolicy, Durability, Estimate, NamedPersonality, Reach, Settings};

/// A line of fewer points says less than its table.
pub(super) const POINTS_NEEDED: usize = 3;

/// What varies along a line and so does not tell lines apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Along {
    /// The request size.
    RequestSize,
    /// The depth.
    Depth,
    /// The share of requests; all lines have one request size.
    Share,
}

/// What the cells of a line have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    request_size: Option<Bytes>,
    depth: Option<u32>,
    workers: u32,
    buffering: Buffering,
    durability: Durability,
    cache: CachePolicy,
    personality: Option<NamedPersonality>,
    reach: Reach,
    set: Settings,
}

/// Of each cell. The personality counts only where two cells differ in nothing else: it usually follows from the depth.
pub(super) fn shapes(cells: &[&CellSummary], along: Along) -> Vec<Shape> {
    let of = |cell: &&CellSummary| shape(cell, along);
    let ambiguous = cells.iter().enumerate().any(|(index, cell)| {
        let same_place = |other: &&CellSummary| {
            let (own, other) = (&cell.workload, &other.workload);
            (own.request_size, own.depth) == (other.request_size, other.depth)
        };
        cells[..index].iter().any(|other| same_place(other) && of(other) == of(cell))
    });
    let personality = |cell: &CellSummary| ambiguous.then(|| cell.workload.named_personality());
    cells.iter().map(|cell| Shape { personality: personality(cell), ..of(cell) }).collect()
}

fn shape(cell: &CellSummary, along: Along) -> Shape {
    let workload = &cell.workload;
    Shape {
        request_size: (along == Along::Depth).then_some(workload.request_size),
        depth: (along != Along::Depth).then_some(workload.depth),
        workers: workload.workers,
        buffering: workload.buffering,
        durability: workload.durability,
        cache: workload.cache,
        personality: None,
        reach: cell.reach,
        set: workload.set.clone(),
    }
}

impl Shape {
    /// In the words of a workload; the cache's state is named only where it alone tells lines apart.
    pub(super) fn label(&self, all: &[Shape]) -> String {
        let mut label = match self.buffering {
            Buffering::None => "direct and through".to_owned(),
            buffering => buffering.to_string(),
        };
        if let Some(depth) = self.depth {
            label += &format!(", QD{depth}");
        }
        if let Some(size) = self.request_size {
            label += &format!(", {size}");
        }
        if self.workers > 1 {
            label += &format!(", {} workers", self.workers);
        }
        if self.durability == Durability::FlushAtEnd {
            label += ", flushed";
        }
        if self.reach == Reach::Memory {
            label += ", memory only";
        }
        if let Some(personality) = &self.personality {
            label += &format!(", {personality}");
        }
        let but_for_the_cache = |other: &Shape| Shape { cache: self.cache, ..other.clone() } == *self;
        if all.iter().any(|other| other.cache != self.cache && but_for_the_cache(other)) {
            label += &format!(", cache {}", self.cache);
        }
        if all.iter().any(|other| other.set != self.set) && !self.set.is_empty() {
            label += &format!(", {}", self.set);
        }
        label
    }
}

/// Lines along the request size; none when no line has enough points.
pub(super) fn by_size(
    cells: &[&CellSummary],
    figure: fn(&CellSummary) -> Option<Estimate>,
    fitted: impl Fn(&[u32]) -> Option<Fitted>,
) -> Option<Vec<Line>> {
    let point =
        |cell: &CellSummary| Some(Point { x: cell.workload.request_size.0 as f64, y: Value::Estimate(figure(cell)?) });
    lines(cells, Along::RequestSize, point, fitted)
}

/// Lines of the request rate along the depth; none when no line has enough points.
pub(super) fn by_depth(cells: &[&CellSummary], fitted: impl Fn(&[u32]) -> Option<Fitted>) -> Option<Vec<Line>> {
    let point =
        |cell: &CellSummary| Some(Point { x: f64::from(cell.workload.depth), y: Value::Estimate(cell.requests_per_s) });
    lines(cells, Along::Depth, point, fitted)
}

/// The line of fixed time and rate that describes cells of several sizes.
pub(super) fn of_sizes(input: &ReportInput<'_>, cells: &[u32]) -> Option<Fitted> {
    let models = input.analysis.models.service_times.iter().filter(|model| model.matches == Match::Good);
    let model = models.into_iter().find(|model| is_all_of(&model.cells, cells))?;
    Some(Fitted { law: model.law(), curves: model.curves.clone() })
}

/// The law of queues that describes cells of several depths.
pub(super) fn of_depths(input: &ReportInput<'_>, cells: &[u32]) -> Option<Fitted> {
    let models = input.analysis.models.concurrency.iter();
    let mut models = models.filter(|model| model.load == Load::Depth && model.matches == Match::Good);
    let model = models.find(|model| is_all_of(&model.cells, cells))?;
    Some(Fitted { law: model.law.words(), curves: vec![model.curve.clone()] })
}

/// Whether a model is of just the cells of a line: beside others it would describe a part of it.
fn is_all_of(of_model: &[u32], of_line: &[u32]) -> bool {
    of_model.len() == of_line.len() && of_model.iter().all(|cell| of_line.contains(cell))
}

/// A cell whose samples all failed has no figure.
pub(super) fn is_drawable(point: &Point) -> bool {
    let measured = match point.y {
        Value::Estimate(estimate) => estimate.repetitions > 0,
        Value::LatencyNs(_) | Value::Once(_) => true,
    };
    measured && point.x > 0.0 && point.y.figure().is_finite()
}

/// Lines of the cells that have a point, in the order of the plan. A lone point beside real lines is kept: buffered
/// requests at QD1 beside direct ones at many queue depths.
fn lines(
    cells: &[&CellSummary],
    along: Along,
    point: impl Fn(&CellSummary) -> Option<Point>,
    fitted: impl Fn(&[u32]) -> Option<Fitted>,
) -> Option<Vec<Line>> {
    let mut of_lines: Vec<Shape> = Vec::new();
    let mut numbers: Vec<Vec<u32>> = Vec::new();
    let mut lines: Vec<Line> = Vec::new();
    for (cell, own) in cells.iter().zip(shapes(cells, along)) {
        let Some(point) = point(cell).filter(is_drawable) else { continue };
        match of_lines.iter().position(|shape| *shape == own) {
            Some(index) => {
                lines[index].points.push(point);
                numbers[index].push(cell.cell);
            }
            None => {
                of_lines.push(own);
                numbers.push(vec![cell.cell]);
                let (label, stroke) = (String::new(), Stroke::of(cell));
                lines.push(Line { label, stroke, points: vec![point], fitted: None });
            }
        }
    }
    for ((line, own), numbers) in lines.iter_mut().zip(&of_lines).zip(&numbers) {
        line.label = own.label(&of_lines);
        line.fitted = fitted(numbers);
        line.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    lines.iter().any(|line| line.points.len() >= POINTS_NEEDED).then_some(lines)
}
