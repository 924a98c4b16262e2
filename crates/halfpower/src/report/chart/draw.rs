//! A line chart as SVG inside the report. It uses colours of the style sheet, so that it follows the dark mode; its size
//! follows the column.

use super::axis::{XAxis, YAxis};
use super::model::{Chart, LINES_SHOWN, Line, Point, Stroke};
use super::scale::{Scale, round_down, round_up};
use super::swatch::{ADVISED, FITTED_WIDTH, REFERENCE_DASHES, STRIP_FILL, colour, marker, shade};
use halfpower_model::Estimate;
use halfpower_model::sample::Heat;
use std::fmt::Write;

/// The user space of a chart, about as wide as a column of a wide page.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 310.0;
/// The box of the axes. Labels and name of the vertical axis are on its left, those of the horizontal one below.
const LEFT: f64 = 68.0;
const RIGHT: f64 = WIDTH - 16.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 260.0;
/// Maximum number of marks on a line; more would hide it.
const MARKED: usize = 40;
/// Maximum height of an interval relative to its figure; a longer one is cut, and the table has it.
const TALLEST_BAND: f64 = 1.5;
/// Height of the strip of IOPS over a heatmap, and its distance to the axes.
const STRIP: f64 = 34.0;
const STRIP_GAP: f64 = 6.0;
/// Shades of a heatmap, from one request up to the most of a cell.
const SHADES: usize = 6;
/// Maximum number of steps of a linear vertical axis.
const STEPS_MAX: f64 = 8.0;

/// A chart as SVG.
pub(super) struct Drawing {
    pub(super) svg: String,
    /// Where the values of its horizontal axis are.
    pub(super) places: String,
    /// The references within its vertical axis.
    pub(super) references: Vec<String>,
}

/// Draws a chart, with the places of values of its horizontal axis; none if nothing in it can be drawn.
pub(super) fn svg(chart: &Chart, values: &[f64]) -> Option<Drawing> {
    let lines = &chart.lines[..chart.lines.len().min(LINES_SHOWN)];
    let frame = Frame { x: Across::of(chart, lines), y: Up::of(chart, lines)? };
    let mut svg = String::from("<g font-family=\"inherit\" font-size=\"13\" fill=\"none\">");
    frame.axes(&mut svg);
    svg.push_str("<g class=\"plot\">");
    if let Some(ends) = chart.advised {
        frame.advised(&mut svg, ends);
    }
    if let Some(heat) = &chart.heat {
        frame.heat(&mut svg, heat);
    }
    for (index, line) in lines.iter().enumerate() {
        frame.band(&mut svg, index, line);
    }
    for (index, line) in lines.iter().enumerate() {
        // Earlier lines are wider, so that they show on both sides of a later line at the same place.
        frame.line(&mut svg, index, line, 1.6 + 0.2 * (lines.len() - index) as f64);
    }
    for (index, line) in lines.iter().enumerate() {
        for curve in line.fitted.iter().flat_map(|(_, curves)| curves) {
            let path = path(curve.iter().map(|(x, figure)| frame.at(*x, *figure)));
            let colour = colour(index);
            let stroke = format!("stroke=\"{colour}\" stroke-width=\"{FITTED_WIDTH}\"");
            let _ = write!(svg, "<path data-line=\"{index}\" d=\"{path}\" {stroke}/>");
        }
    }
    svg.push_str("</g>");
    let mut references = Vec::new();
    for (name, figure) in &chart.references {
        if *figure >= frame.y.scale.high * frame.y.divisor {
            continue;
        }
        references.push(name.clone());
        let y = frame.y.along(*figure);
        let dashes = format!("stroke=\"var(--muted)\" stroke-dasharray=\"{REFERENCE_DASHES}\"");
        let _ = write!(svg, "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" {dashes}/>");
    }
    svg.push_str("</g>");
    let places: Vec<String> = values.iter().map(|x| format!("{:.1}", frame.x.along(frame.x.axis.place(*x)))).collect();
    Some(Drawing { svg, places: places.join(" "), references })
}

/// The view box of a chart.
pub(super) fn view_box() -> String {
    format!("0 0 {WIDTH} {HEIGHT}")
}

/// The ends of the axes in the user space: left, right, top and bottom.
pub(super) fn axes_box() -> String {
    format!("{LEFT} {RIGHT} {TOP} {BOTTOM}")
}

/// Both axes.
struct Frame {
    x: Across,
    y: Up,
}

impl Frame {
    /// The place of a figure in the user space.
    fn at(&self, x: f64, figure: f64) -> (f64, f64) {
        (self.x.along(self.x.axis.place(x)), self.y.along(figure))
    }

    /// The grid, the labels and the names of the axes.
    fn axes(&self, svg: &mut String) {
        let (x_axis, y) = (self.x.axis, &self.y);
        let mut grid = String::new();
        let mut words = String::from("<g class=\"ticks\">");
        for place in self.x.ticks() {
            let at = self.x.along(place);
            let _ = write!(grid, "M{at:.1} {TOP}V{BOTTOM}");
            let _ = write!(words, "<text x=\"{at:.1}\" y=\"{}\">{}</text>", BOTTOM + 18.0, x_axis.tick(place));
        }
        words.push_str("</g>");
        let middle = (LEFT + RIGHT) / 2.0;
        let _ = write!(words, "<text x=\"{middle}\" y=\"{}\">{}</text>", HEIGHT - 6.0, x_axis.words()[0]);
        let (x, middle) = (18, (TOP + BOTTOM) / 2.0);
        let turned = format!("transform=\"rotate(-90,{x},{middle})\"");
        let _ = write!(words, "<text x=\"{x}\" y=\"{middle}\" {turned}>{}{}</text>", y.unit, y.axis.label());
        words.push_str("<g text-anchor=\"end\">");
        for figure in y.ticks() {
            let at = y.along(figure * y.divisor);
            let _ = write!(grid, "M{LEFT} {at:.1}H{RIGHT}");
            let label = y.axis.tick(figure * y.divisor, y.divisor);
            let _ = write!(words, "<text x=\"{}\" y=\"{:.1}\">{label}</text>", LEFT - 7.0, at + 4.5);
        }
        words.push_str("</g>");
        let _ = write!(
            svg,
            "<path d=\"{grid}\" stroke=\"var(--rule)\"/>\
             <path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" stroke=\"var(--rule-strong)\"/>\
             <g fill=\"var(--muted)\" text-anchor=\"middle\">{words}</g>"
        );
    }

    /// The advised part, half a step wider on both sides.
    fn advised(&self, svg: &mut String, ends: [f64; 2]) {
        let [from, to] = ends.map(|end| self.x.axis.place(end));
        let margin = self.x.axis.margin() * self.x.step;
        let [left, right] = [from - margin, to + margin].map(|place| self.x.along(place).clamp(LEFT, RIGHT));
        let _ = write!(svg, "<path d=\"M{left:.1} {TOP}H{right:.1}V{BOTTOM}H{left:.1}z\" {ADVISED}/>");
    }

    /// The cells of a heatmap: each shade a path. Shades are logarithmic, so that a single request is seen.
    fn heat(&self, svg: &mut String, heat: &Heat) {
        let most = heat.cells().map(|(.., requests)| requests).max().unwrap_or(1) as f64;
        let mut shades = vec![String::new(); SHADES];
        let sides = |column: usize| {
            [column, column + 1].map(|column| self.x.along(column as f64 * heat.column_s).clamp(LEFT, RIGHT))
        };
        for (column, ends, requests) in heat.cells() {
            let share = if most > 1.0 { (requests as f64).ln() / most.ln() } else { 1.0 };
            let shade = &mut shades[((share * SHADES as f64) as usize).min(SHADES - 1)];
            let [left, right] = sides(column);
            let [low, high] = ends.map(|ns| self.y.along(ns.max(1) as f64));
            let _ = write!(shade, "M{left:.1} {low:.1}H{right:.1}V{high:.1}H{left:.1}z");
        }
        let rates = heat.requests_per_s();
        let fastest = rates.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let strip: String = rates
            .iter()
            .enumerate()
            .map(|(column, rate)| {
                let share = rate / fastest;
                let [left, right] = sides(column);
                let bottom = TOP + STRIP - STRIP_GAP;
                format!("M{left:.1} {bottom}H{right:.1}V{:.1}H{left:.1}z", bottom - (STRIP - STRIP_GAP) * share)
            })
            .collect();
        let _ = write!(svg, "<path d=\"{strip}\" {STRIP_FILL}/>");
        for (number, cells) in shades.iter().enumerate().filter(|(_, cells)| !cells.is_empty()) {
            let _ = write!(svg, "<path d=\"{cells}\" {}/>", shade((number + 1) as f64 / SHADES as f64));
        }
    }

    /// The ends of a point's interval: the low one, then the high one.
    fn interval(&self, x: f64, point: &Point) -> Option<[(f64, f64); 2]> {
        Some([self.at(x, point.y.low?), self.at(x, point.y.high?)])
    }

    /// The 95 % band behind a line, if every point has an interval. A single point has no band.
    fn band(&self, svg: &mut String, index: usize, line: &Line) {
        let ends: Option<Vec<_>> = corners(line).map(|(x, point)| self.interval(x, point)).collect();
        if let Some(ends) = ends.filter(|ends| ends.len() > 1) {
            let around = ends.iter().map(|[low, _]| *low).chain(ends.iter().rev().map(|[_, high]| *high));
            let _ = write!(
                svg,
                "<path data-line=\"{index}\" d=\"{}z\" fill=\"{}\" fill-opacity=\"0.18\"/>",
                path(around),
                colour(index)
            );
        }
    }

    fn line(&self, svg: &mut String, index: usize, line: &Line, width: f64) {
        let colour = colour(index);
        let points: Vec<(f64, f64)> = corners(line).map(|(x, point)| self.at(x, point.y.value)).collect();
        let many = points.len() > MARKED;
        if line.stroke != Stroke::Points {
            let (path, dashes) = (path(points.iter().copied()), line.stroke.dashes());
            let _ = write!(
                svg,
                "<path data-line=\"{index}\" d=\"{path}\" stroke=\"{colour}\" stroke-width=\"{width:.1}\"{dashes}/>"
            );
        }
        // Many points are drawn as a cloud, and left out on a line.
        let mark = match line.stroke {
            Stroke::Steps => return,
            Stroke::Points if many => "h0",
            _ if many => return,
            _ => marker(index),
        };
        let mut marks: String = points.iter().map(|(x, y)| format!("M{x:.1} {y:.1}{mark}")).collect();
        if let [point] = line.points.as_slice()
            && let Some([(x, low), (_, high)]) = self.interval(point.x, point)
        {
            let _ = write!(marks, "M{x:.1} {low:.1}V{high:.1}");
        }
        let style = match many {
            true => "stroke-width=\"4\" stroke-linecap=\"round\" stroke-opacity=\"0.75\"".to_owned(),
            false => format!("fill=\"{colour}\" stroke-width=\"1.2\""),
        };
        let _ = write!(svg, "<path data-line=\"{index}\" d=\"{marks}\" stroke=\"{colour}\" {style}/>");
    }
}

/// A line through points.
fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path: String = points.map(|(x, y)| format!("L{x:.1} {y:.1}")).collect();
    if !path.is_empty() {
        path.replace_range(..1, "M");
    }
    path
}

/// The corners of a line: its points, and the end of each step.
fn corners(line: &Line) -> impl Iterator<Item = (f64, &Point)> {
    let ends = line.points.iter().skip(1).map(|next| next.x);
    let ends = ends.filter(|_| line.stroke == Stroke::Steps).map(Some).chain(std::iter::repeat(None));
    let of_point = |(point, end): (_, Option<f64>)| {
        let point: &Point = point;
        [Some(point.x), end].into_iter().flatten().map(move |x| (x, point))
    };
    line.points.iter().zip(ends).flat_map(of_point)
}

/// The horizontal axis: its ends and the distance of two labels, in steps.
struct Across {
    axis: XAxis,
    left: f64,
    right: f64,
    step: f64,
}

impl Across {
    fn of(chart: &Chart, lines: &[Line]) -> Across {
        let axis = chart.x;
        // A heatmap begins at the start, lines at the end of the first interval.
        let start = chart.heat.iter().map(|_| 0.0);
        let places = lines.iter().flat_map(|line| &line.points).map(|point| axis.place(point.x)).chain(start);
        let (left, right) = places.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
        let step = axis.tick_step(right - left);
        let margin = axis.margin() * step;
        Across { axis, left: left - margin, right: right + margin, step }
    }

    fn along(&self, place: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * (place - self.left) / (self.right - self.left)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let first = (self.left / self.step).ceil() as i64;
        let last = (self.right / self.step).floor() as i64;
        (first..=last).map(|tick| tick as f64 * self.step)
    }
}

/// The vertical axis: its ends in the unit of its labels.
struct Up {
    axis: YAxis,
    scale: Scale,
    divisor: f64,
    unit: &'static str,
    /// Its upper end in the user space.
    top: f64,
}

impl Up {
    fn of(chart: &Chart, lines: &[Line]) -> Option<Up> {
        let axis = chart.y;
        let points = lines.iter().flat_map(|line| &line.points);
        let (least, most) = points.fold((f64::MAX, 0.0_f64), |(low, high), point| {
            let Estimate { value, high: end, .. } = point.y;
            (low.min(value), high.max(end.unwrap_or(value).min(TALLEST_BAND * value)))
        });
        (most > 0.0).then_some(())?;
        let cells = chart.heat.iter().flat_map(Heat::cells).map(|(_, ends, _)| ends.map(|ns| ns.max(1) as f64));
        let (least, most) = cells.fold((least, most), |(low, high), [from, to]| (low.min(from), high.max(to)));
        let near = chart.references.iter().map(|(_, figure)| *figure).filter(|figure| *figure < TALLEST_BAND * most);
        let most = near.fold(most, f64::max);
        let (divisor, unit) = axis.unit(most);
        let scale = match axis.is_logarithmic() {
            true => Scale { low: round_down(least / divisor), high: round_up(most / divisor * 1.05) },
            false => Scale { low: 0.0, high: most / divisor * 1.06 },
        };
        let top = if chart.heat.is_some() { TOP + STRIP } else { TOP };
        Some(Up { axis, scale, divisor, unit, top })
    }

    /// The place of a figure. An interval is cut at the end of the axis.
    fn along(&self, figure: f64) -> f64 {
        BOTTOM - (BOTTOM - self.top) * self.scale.share(figure / self.divisor)
    }

    /// The labels in its unit. A logarithmic axis has 1, 2 and 5 of each decade, or only the decades if they are more than
    /// three.
    fn ticks(&self) -> Vec<f64> {
        let is_long = self.scale.high / self.scale.low > 1001.0;
        self.scale.ticks(STEPS_MAX, if is_long { &[1.0] } else { &[1.0, 2.0, 5.0] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::chart::model::without_interval;
    use halfpower_model::Quantity;

    #[test]
    fn a_wild_interval_does_not_flatten_the_chart() {
        let estimate = Estimate {
            quantity: Quantity::BytesPerSecond,
            value: 1e9,
            low: Some(-8e9),
            high: Some(f64::INFINITY),
            repetitions: 2,
        };
        let point = Point { x: 4096.0, y: estimate };
        let lines = [Line { label: String::new(), stroke: Stroke::Solid, points: vec![point], fitted: None }];
        let axes = (XAxis::RequestSize, YAxis::BytesPerSecond);
        let chart = Chart::new(String::new(), String::new(), "", axes, lines.to_vec());
        let up = Up::of(&chart, &lines).unwrap();
        assert!(up.scale.low == 0.0 && up.scale.high < 2.0, "{}", up.scale.high);
        assert_eq!([-8e9, f64::INFINITY].map(|figure| up.along(figure)), [BOTTOM, TOP]);
    }

    #[test]
    fn a_heatmap_has_a_path_for_each_shade_below_its_strip() {
        let estimate = without_interval(Quantity::Nanoseconds, 90_000.0, 1);
        let points = [1.0, 2.0].map(|x| Point { x, y: estimate }).to_vec();
        let lines = vec![Line { label: "p50".to_owned(), stroke: Stroke::Solid, points, fitted: None }];
        let axes = (XAxis::Time, YAxis::Latency);
        // 100 requests of about 80 µs, then one of 20 ms.
        let (columns, seconds) = (vec![vec![(44, 100)], vec![(44, 100), (76, 1)]], vec![1.0, 1.0]);
        let heat = Some(Heat { column_s: 1.0, columns, seconds });
        let chart = Chart { heat, ..Chart::new(String::new(), String::new(), "", axes, lines) };
        let svg = svg(&chart, &[1.0, 2.0]).unwrap().svg;
        assert_eq!(svg.matches("fill=\"var(--muted)\" fill-opacity").count(), 2, "{svg}");
        assert_eq!((svg.matches(STRIP_FILL).count(), svg.matches(">10 ms<").count()), (1, 1), "{svg}");
    }
}
