//! Groups cells into lines: cells that differ only in the parameter of the axis.

use super::axis::XAxis;
use super::model::{Line, Point, Stroke};
use crate::report::analysed::Analysed;
use crate::text::grouped;
use halfpower_analysis::CellSummary;
use halfpower_analysis::models::{Curve, Load, Match};
use halfpower_model::{Buffering, Bytes, CachePolicy, Durability, Estimate, NamedPersonality, Reach, Settings};

/// Minimum number of points of a line.
pub(super) const POINTS_NEEDED: usize = 3;

/// The parameters that the cells of a line share.
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

/// The shape of each cell, without the parameter of the axis. Latencies have one request size. The personality counts only
/// if two cells differ in nothing else, because it usually follows from the depth.
pub(super) fn shapes(cells: &[&CellSummary], along: XAxis) -> Vec<Shape> {
    let of = |cell: &&CellSummary| shape(cell, along);
    let place = |cell: &CellSummary| (cell.workload.request_size, cell.workload.depth);
    let ambiguous = cells
        .iter()
        .enumerate()
        .any(|(index, cell)| cells[..index].iter().any(|other| place(other) == place(cell) && of(other) == of(cell)));
    let personality = |cell: &CellSummary| ambiguous.then(|| cell.workload.named_personality());
    cells.iter().map(|cell| Shape { personality: personality(cell), ..of(cell) }).collect()
}

fn shape(cell: &CellSummary, along: XAxis) -> Shape {
    let workload = &cell.workload;
    Shape {
        request_size: (along == XAxis::Depth).then_some(workload.request_size),
        depth: (along != XAxis::Depth).then_some(workload.depth),
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
    /// The label in the words of a workload. The state of the cache is named only if lines differ in it alone.
    pub(super) fn label(&self, all: &[Shape]) -> String {
        let buffering = match self.buffering {
            Buffering::None => "direct and through".to_owned(),
            buffering => buffering.to_string(),
        };
        let but_for_the_cache = |other: &Shape| Shape { cache: self.cache, ..other.clone() } == *self;
        let is_of_cache = all.iter().any(|other| other.cache != self.cache && but_for_the_cache(other));
        let is_set = all.iter().any(|other| other.set != self.set) && !self.set.is_empty();
        crate::text::joined([
            Some(buffering),
            self.depth.map(|depth| format!("QD{depth}")),
            self.request_size.map(|size| size.to_string()),
            (self.workers > 1).then(|| format!("{} workers", self.workers)),
            self.durability.in_words(),
            (self.reach == Reach::Memory).then(|| "page cache only".to_owned()),
            self.personality.as_ref().map(ToString::to_string),
            is_of_cache.then(|| format!("cache {}", self.cache)),
            is_set.then(|| self.set.to_string()),
        ])
    }
}

/// The model that was fitted to exactly the cells of a line.
pub(super) fn fitted(analysed: &Analysed, along: XAxis, of_line: &[u32]) -> Option<(&'static str, Vec<Curve>)> {
    let is_all = |cells: &[u32]| cells.len() == of_line.len() && cells.iter().all(|cell| of_line.contains(cell));
    let models = &analysed.analysis.models;
    if along == XAxis::RequestSize {
        let model = models.service_times.iter().find(|model| model.matches == Match::Good && is_all(&model.cells))?;
        return Some((model.law(), model.curves.clone()));
    }
    let mut models = models.concurrency.iter().filter(|model| model.load == Load::Depth);
    let model = models.find(|model| model.matches == Match::Good && is_all(&model.cells))?;
    Some((model.law.words(), vec![model.curve.clone()]))
}

/// Lines along the request size or the depth, in the order of the plan; none if no line has enough points. A single point
/// beside real lines is kept: buffered requests at QD1 beside direct ones at many queue depths.
pub(super) fn lines(
    cells: &[&CellSummary],
    along: XAxis,
    figure: fn(&CellSummary) -> Option<Estimate>,
    fitted: impl Fn(&[u32]) -> Option<(&'static str, Vec<Curve>)>,
) -> Option<Vec<Line>> {
    let point = |cell: &CellSummary| {
        let size = cell.workload.request_size.0 as f64;
        let x = if along == XAxis::RequestSize { size } else { f64::from(cell.workload.depth) };
        Some(Point { x, y: figure(cell)? }).filter(Point::is_drawable)
    };
    let drawn = cells.iter().zip(shapes(cells, along));
    let drawn = drawn.filter_map(|(cell, own)| Some((own, *cell, point(cell)?)));
    let groups = grouped(drawn, |(own, ..)| own.clone());
    let all: Vec<Shape> = groups.iter().map(|(own, _)| own.clone()).collect();
    let line = |(own, of_line): (Shape, Vec<(Shape, &CellSummary, Point)>)| {
        let numbers: Vec<u32> = of_line.iter().map(|(_, cell, _)| cell.cell).collect();
        let mut points: Vec<Point> = of_line.iter().map(|(.., point)| *point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Line { label: own.label(&all), stroke: Stroke::of(of_line[0].1), points, fitted: fitted(&numbers) }
    };
    let lines: Vec<Line> = groups.into_iter().map(line).collect();
    lines.iter().any(|line| line.points.len() >= POINTS_NEEDED).then_some(lines)
}
