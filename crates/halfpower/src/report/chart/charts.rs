//! The charts of a report.

use super::axis::{XAxis, YAxis};
use super::lines::{POINTS_NEEDED, fitted, lines, shapes};
use super::model::{Chart, LINES_SHOWN, Line, Point, Stroke, without_interval};
use crate::report::analysed::Analysed;
use crate::text::grouped;
use halfpower_analysis::{CellSummary, OverTime, STEP_S};
use halfpower_model::sample::Interval;
use halfpower_model::{BytesPerSecond, FindingCode, Operation, Pattern, Quantity, Reach, Sample};

/// The charts of a report by what they are about.
#[derive(Debug, Default)]
pub(crate) struct Charts {
    /// Throughput by request size.
    pub(crate) throughput: Vec<Chart>,
    /// IOPS by queue depth.
    pub(crate) rate: Vec<Chart>,
    /// Percentiles of latency.
    pub(crate) latency: Vec<Chart>,
    /// CPU cost by request size.
    pub(crate) cpu: Vec<Chart>,
}

/// The charts of a report; none of a study of a paper, whose charts are beside its figures.
pub(crate) fn charts(analysed: &Analysed) -> Charts {
    if !analysed.paper_figures.is_empty() {
        return Charts::default();
    }
    let of = |cell: &&CellSummary| (cell.workload.pattern, cell.workload.operation);
    let groups = grouped(&analysed.analysis.cells, of);
    let groups = groups.into_iter().map(|((pattern, operation), cells)| Group { pattern, operation, cells });
    let groups: Vec<Group<'_>> = groups.collect();
    let of_each =
        |chart: &dyn Fn(&Group<'_>) -> Option<Chart>| -> Vec<Chart> { groups.iter().filter_map(chart).collect() };
    let is_only = analysed.only().is_some();
    let over_time = (!is_only).then(|| latencies_over_time(analysed)).into_iter().flatten();
    Charts {
        throughput: of_each(&|group| throughput(analysed, group)),
        rate: of_each(&|group| rate(analysed, group)),
        latency: of_each(&|group| latency(group, is_only)).into_iter().chain(over_time).collect(),
        cpu: of_each(&cpu_cost),
    }
}

/// The long samples over time: throughput of sequential requests, IOPS of others. Shorter repetitions show no course.
pub(crate) fn over_time(analysed: &Analysed) -> Vec<Chart> {
    let chart = |is_ordered: bool| {
        let (id, title, y, quantity) = match is_ordered {
            true => ("time-throughput", "Throughput over time", YAxis::BytesPerSecond, Quantity::BytesPerSecond),
            false => ("time-rate", "IOPS over time", YAxis::RequestsPerSecond, Quantity::RequestsPerSecond),
        };
        let line = |one: &OverTime| {
            let (cell, name) = analysed.named_cells().find(|(cell, _)| cell.cell == one.cell)?;
            let unit = if is_ordered { cell.workload.request_size.0 as f64 } else { 1.0 };
            let point = |(step, rate): (usize, &f64)| Point {
                x: (step + 1) as f64 * STEP_S,
                y: without_interval(quantity, rate * unit, 1),
            };
            let points = one.requests_per_s.iter().enumerate().map(point).collect();
            let line = Line { label: name.to_owned(), stroke: Stroke::of(cell), points, fitted: None };
            (cell.workload.pattern.is_ordered() == is_ordered).then_some(line)
        };
        let lines: Vec<Line> = analysed.analysis.over_time.iter().filter_map(line).collect();
        let (id, title) = (id.to_owned(), title.to_owned());
        let chart = Chart::new(id, title, "the mean of a tenth of a second", (XAxis::Time, y), lines);
        (1..=LINES_SHOWN).contains(&chart.lines.len()).then_some(chart)
    };
    [true, false].into_iter().filter_map(chart).collect()
}

/// The latencies of a run with a single sample over time.
pub(super) fn latency_over_time(analysed: &Analysed) -> Option<Chart> {
    let [stored] = analysed.samples.as_slice() else { return None };
    latency_of(&stored.sample, "time-latency".to_owned(), "Latency over time".to_owned())
}

/// The latencies of the first long sample of random reads and of random writes over time.
fn latencies_over_time(analysed: &Analysed) -> impl Iterator<Item = Chart> {
    [Operation::Read, Operation::Write].into_iter().filter_map(move |operation| {
        let is_of = |sample: &Sample| {
            let workload = &sample.workload;
            sample.heat.is_some() && workload.operation == operation && workload.pattern == Pattern::Random
        };
        let stored = analysed.samples.iter().find(|stored| is_of(&stored.sample))?;
        let (_, name) = analysed.named_cells().find(|(cell, _)| cell.cell as usize == stored.cell)?;
        latency_of(&stored.sample, format!("time-latency-{operation}"), format!("Latency over time: {name}"))
    })
}

/// p50 and p99 of the requests of each interval, before a heatmap of all.
fn latency_of(sample: &Sample, id: String, title: String) -> Option<Chart> {
    let line = |label: &str, of: fn(&Interval) -> Option<u64>| {
        let points = sample.intervals.iter().filter_map(|interval| {
            Some(Point { x: interval.at_s, y: without_interval(Quantity::Nanoseconds, of(interval)? as f64, 1) })
        });
        Line { label: label.to_owned(), stroke: Stroke::Solid, points: points.collect(), fitted: None }
    };
    let lines = vec![line("p50", |interval| interval.latency_p50_ns), line("p99", |interval| interval.latency_p99_ns)];
    let axes = (XAxis::Time, YAxis::Latency);
    let is_long = lines.iter().all(|line| line.points.len() >= POINTS_NEEDED);
    let chart = Chart::new(id, title, "a percentile over the requests of an interval", axes, lines);
    is_long.then(|| Chart { heat: sample.heat.as_deref().cloned(), ..chart })
}

/// Cells of one operation and pattern, in the order of the plan. A chart shows one group.
struct Group<'a> {
    pattern: Pattern,
    operation: Operation,
    cells: Vec<&'a CellSummary>,
}

impl Group<'_> {
    fn name(&self) -> String {
        format!("{} {}", self.pattern, self.operation)
    }

    /// `random reads`, `random requests, mix=70`.
    fn plural(&self) -> String {
        match self.operation {
            Operation::TrimWrite | Operation::Mix(_) => format!("{} requests, {}", self.pattern, self.operation),
            _ => format!("{}s", self.name()),
        }
    }

    fn chart(&self, kind: &str, title: String, point: &'static str, (x, y): (XAxis, YAxis), lines: Vec<Line>) -> Chart {
        let id = format!("{kind}-{}", self.name().replace([' ', '='], "-"));
        Chart::new(id, title, point, (x, y), lines)
    }
}

fn throughput(analysed: &Analysed, group: &Group<'_>) -> Option<Chart> {
    let (name, along) = (group.name(), XAxis::RequestSize);
    let lines = lines(&group.cells, along, |cell| Some(cell.bytes_per_s), |cells| fitted(analysed, along, cells))?;
    let peak = analysed.findings(FindingCode::Peak).find(|finding| finding.subject.starts_with(&name));
    let peak = peak
        .and_then(|finding| finding.estimates.iter().find(|estimate| estimate.quantity == Quantity::BytesPerSecond));
    let (title, axes) = (format!("Throughput of {}", group.plural()), (along, YAxis::BytesPerSecond));
    let chart = group.chart("throughput", title, "the mean throughput of a workload", axes, lines);
    let half = peak.map(|peak| BytesPerSecond(peak.value / 2.0));
    let references = half.map(|half| (format!("half of the peak ({half})"), half.0)).into_iter().collect();
    Some(Chart { references, ..chart })
}

fn cpu_cost(group: &Group<'_>) -> Option<Chart> {
    let cost = |cell: &CellSummary| cell.cpu_ms_per_mb.filter(|cost| cost.value > 0.0);
    let lines = lines(&group.cells, XAxis::RequestSize, cost, |_| None)?;
    let point = "the mean CPU time per MB of a workload, a lower bound,";
    let (title, axes) = (format!("CPU time of {}", group.plural()), (XAxis::RequestSize, YAxis::CpuCost));
    Some(group.chart("cpu", title, point, axes, lines))
}

/// IOPS by queue depth, without workloads in memory, beside which the storage would be a flat line.
fn rate(analysed: &Analysed, group: &Group<'_>) -> Option<Chart> {
    (group.pattern == Pattern::Random).then_some(())?;
    let cells: Vec<_> = group.cells.iter().copied().filter(|cell| cell.reach == Reach::Storage).collect();
    let along = XAxis::Depth;
    let lines = lines(&cells, along, |cell| Some(cell.requests_per_s), |cells| fitted(analysed, along, cells))?;
    let (title, axes) = (format!("IOPS of {}", group.plural()), (along, YAxis::RequestsPerSecond));
    Some(group.chart("rate", title, "the mean IOPS of a workload", axes, lines))
}

/// Latency percentiles of the smallest direct random requests, by queue depth; or of the only workload.
fn latency(group: &Group<'_>, is_only: bool) -> Option<Chart> {
    (is_only || group.pattern == Pattern::Random).then_some(())?;
    let direct = group.cells.iter().copied().filter(|cell| is_only || cell.workload.buffering.is_direct());
    let size = direct.clone().map(|cell| cell.workload.request_size).min()?;
    let cells: Vec<_> = direct.filter(|cell| cell.workload.request_size == size).collect();
    let shapes = shapes(&cells, XAxis::Share);
    let line = |(cell, own): (&&CellSummary, _)| {
        let (label, stroke, points) = (super::lines::Shape::label(own, &shapes), Stroke::of(cell), percentiles(cell));
        (points.len() >= POINTS_NEEDED).then_some(Line { label, stroke, points, fitted: None })
    };
    let lines: Vec<Line> = cells.iter().zip(&shapes).filter_map(line).collect();
    let point = "a percentile of the merged latencies of a workload, from submission to completion";
    let (title, axes) = (format!("Latency of {}, {size}", group.plural()), (XAxis::Share, YAxis::Latency));
    (!lines.is_empty()).then(|| group.chart("latency", title, point, axes, lines))
}

fn percentiles(cell: &CellSummary) -> Vec<Point> {
    let valid = cell.percentiles.iter().filter(|(share, latency_ns)| (0.5..1.0).contains(share) && *latency_ns > 0);
    let point = |(share, latency_ns): &(f64, u64)| Point {
        x: *share,
        y: without_interval(Quantity::Nanoseconds, *latency_ns as f64, 1),
    };
    valid.map(point).collect()
}
