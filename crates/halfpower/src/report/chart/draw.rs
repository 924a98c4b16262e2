//! A chart as SVG by `kuva`, to stand inside the report: colours are the page's own, so that it follows the dark, and the
//! size follows the column.

use super::swatch::{FITTED_WIDTH, REFERENCE_DASHES, colour, marker};
use super::{Chart, Curve, LINES_SHOWN, Line, Point, Stroke, Value, YAxis};
use kuva::backend::svg::SvgBackend;
use kuva::plot::{BandPlot, LinePlot, ScatterPlot};
use kuva::prelude::LineStyle;
use kuva::render::annotations::ReferenceLine;
use kuva::render::layout::{Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::render::render_multiple;
use kuva::render::theme::Theme;
use std::sync::Arc;

/// The user space of a chart. A column of a wide page is about as wide; a telephone shrinks it by a quarter.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 310.0;
/// Room for the numbers and the name of the vertical axis.
const MARGIN_LEFT: f64 = 68.0;
const MARGIN_RIGHT: f64 = 16.0;
/// Points of a line that are marked; more would hide the line.
const MARKED: usize = 40;

/// How far above its figure an interval can raise the axis; one that reaches beyond is cut, and its table has it whole.
const TALLEST_BAND: f64 = 1.5;

/// Draws a chart; `None` when nothing in it can be drawn.
pub(in crate::report) fn svg(chart: &Chart) -> Option<String> {
    let lines = &chart.lines[..chart.lines.len().min(LINES_SHOWN)];
    let scale = Scale::of(chart.y, lines)?;
    let mut plots = Vec::new();
    plots.extend(lines.iter().enumerate().filter_map(|(index, line)| band(chart, &scale, index, line)));
    for (index, line) in lines.iter().enumerate() {
        let points: Vec<(f64, f64)> =
            corners(line).map(|(x, point)| (chart.x.place(x), scale.place(point.y.figure()))).collect();
        let (whiskers, stroke_of) = (whiskers(&scale, line), line.stroke);
        let style = line.stroke.dashes().map_or(LineStyle::Solid, |dashes| LineStyle::Custom(dashes.to_owned()));
        // Earlier lines are wider, so that one that coincides with a later one is seen to either side of it.
        let behind = (lines.len() - index) as f64;
        let many = points.len() > MARKED;
        if line.stroke == Stroke::Points {
            let markers = ScatterPlot::new().with_data(points).with_color(colour(index)).with_marker(marker(index));
            // A few are read one by one, many as a cloud.
            let (size, opacity) = if many { (2.0, 0.75) } else { (5.0, 1.0) };
            plots.push(Plot::Scatter(markers.with_size(size).with_marker_opacity(opacity)));
            continue;
        }
        let line = LinePlot::new().with_data(points.clone()).with_color(colour(index)).with_line_style(style);
        plots.push(Plot::Line(line.with_stroke_width(1.6 + 0.2 * behind)));
        if many || stroke_of == Stroke::Steps {
            continue;
        }
        let markers = ScatterPlot::new().with_data(points).with_color(colour(index)).with_marker(marker(index));
        let markers = markers.with_y_err_asymmetric(whiskers);
        plots.push(Plot::Scatter(markers.with_size(3.0 + 0.2 * behind)));
    }
    plots.extend(lines.iter().enumerate().flat_map(|(index, line)| fitted(chart, &scale, index, line)));
    let layout = layout(chart, &scale, lines);
    let drawn = SvgBackend::new().render_scene(&render_multiple(plots, layout));
    Some(embed(&drawn, &chart.id))
}

/// The body of the drawing, without its own opening tag: the page gives it one with a title, a description and no fixed
/// size. `kuva` counts its clip paths through the life of the program; here they are named after the chart.
fn embed(drawn: &str, id: &str) -> String {
    let body = drawn.split_once('>').map_or(drawn, |(_, body)| body);
    let body = body.trim_end().trim_end_matches("</svg>");
    let Some((_, after)) = body.split_once("<clipPath id=\"") else { return body.to_owned() };
    let counted = after.split('"').next().unwrap_or_default();
    body.replace(&format!("\"{counted}\""), &format!("\"clip-{id}\""))
        .replace(&format!("(#{counted})"), &format!("(#clip-{id})"))
}

/// The box that the page gives a drawing.
pub(in crate::report) fn view_box() -> String {
    format!("0 0 {WIDTH} {HEIGHT}")
}

/// Where a line bends: at its points, and of steps at the end of each as well.
fn corners(line: &Line) -> impl Iterator<Item = (f64, &Point)> {
    let ends = line.points.iter().skip(1).map(|next| next.x);
    let ends = ends.filter(|_| line.stroke == Stroke::Steps).map(Some).chain(std::iter::repeat(None));
    let of_point = |(point, end): (_, Option<f64>)| {
        let point: &Point = point;
        [Some(point.x), end].into_iter().flatten().map(move |x| (x, point))
    };
    line.points.iter().zip(ends).flat_map(of_point)
}

/// The ends of a point's interval.
fn interval(scale: &Scale, point: &Point) -> Option<(f64, f64)> {
    match point.y {
        Value::Estimate(estimate) => Some((scale.place(estimate.low?), scale.place(estimate.high?))),
        Value::LatencyNs(_) | Value::Once(_) => None,
    }
}

/// How far the interval of a lone point, which has no room for a band, reaches to either side.
fn whiskers(scale: &Scale, line: &Line) -> Option<(f64, f64)> {
    let [point] = line.points.as_slice() else { return None };
    let (low, high) = interval(scale, point)?;
    let middle = scale.place(point.y.figure());
    Some((middle - low, high - middle))
}

/// The 95 % band behind a line, where every point has an interval.
fn band(chart: &Chart, scale: &Scale, index: usize, line: &Line) -> Option<Plot> {
    (line.points.len() > 1).then_some(())?;
    let ends: Vec<(f64, f64)> = corners(line).map(|(_, point)| interval(scale, point)).collect::<Option<_>>()?;
    let x = corners(line).map(|(x, _)| chart.x.place(x));
    let (low, high): (Vec<f64>, Vec<f64>) = ends.into_iter().unzip();
    Some(Plot::Band(BandPlot::new(x, low, high).with_color(colour(index)).with_opacity(0.18)))
}

/// The curves of a line's model, thin enough to be told from what was measured.
fn fitted(chart: &Chart, scale: &Scale, index: usize, line: &Line) -> Vec<Plot> {
    let curves = line.fitted.iter().flat_map(|fitted| &fitted.curves);
    let plot = |curve: &Curve| {
        let points: Vec<(f64, f64)> =
            curve.iter().map(|(x, figure)| (chart.x.place(*x), scale.place(*figure))).collect();
        let line = LinePlot::new().with_data(points).with_color(colour(index));
        Plot::Line(line.with_stroke_width(FITTED_WIDTH))
    };
    curves.map(plot).collect()
}

fn layout(chart: &Chart, scale: &Scale, lines: &[Line]) -> Layout {
    let places = lines.iter().flat_map(|line| &line.points).map(|point| chart.x.place(point.x));
    let (left, right) = places.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    let tick_step = chart.x.tick_step(right - left);
    let margin = chart.x.margin() * tick_step;
    let (left, right) = (left - margin, right + margin);
    let x_axis = chart.x;
    let divisor = scale.divisor;
    let y_axis = chart.y;
    let mut layout = Layout::new((left, right), (scale.low, scale.high))
        .with_width(WIDTH)
        .with_height(HEIGHT)
        .with_force_margins(MARGIN_LEFT, MARGIN_RIGHT)
        .with_x_axis_min(left)
        .with_x_axis_max(right)
        .with_y_axis_min(scale.low)
        .with_y_axis_max(scale.high)
        .with_x_tick_step(tick_step)
        .with_ticks(5)
        .with_label_size(13)
        .with_tick_size(13)
        .with_tick_length(4.0)
        .with_font_family("inherit")
        .with_theme(theme())
        .with_x_label(chart.x.label())
        .with_y_label(format!("{}{}", scale.unit, chart.y.label()))
        .with_x_tick_format(TickFormat::Custom(Arc::new(move |place| x_axis.tick(place))))
        .with_y_tick_format(TickFormat::Custom(Arc::new(move |place| y_axis.tick(place * divisor, divisor))));
    if chart.y.is_logarithmic() {
        layout = layout.with_log_y();
    }
    if let Some(half) = chart.half_of_peak.map(|half| half / scale.divisor).filter(|half| *half < scale.high) {
        let line = ReferenceLine::horizontal(half).with_color("var(--muted)").with_dasharray(REFERENCE_DASHES);
        layout = layout.with_reference_line(line);
    }
    layout
}

/// Everything in the colours of the page.
fn theme() -> Theme {
    let ink = || "var(--muted)".to_owned();
    Theme {
        background: "none".to_owned(),
        axis_color: "var(--rule-strong)".to_owned(),
        grid_color: "var(--rule)".to_owned(),
        tick_color: "var(--rule-strong)".to_owned(),
        text_color: ink(),
        legend_bg: "none".to_owned(),
        legend_border: "none".to_owned(),
        font_family: None,
        ..Theme::light()
    }
}

/// The vertical axis: its ends and the unit of its numbers.
struct Scale {
    low: f64,
    high: f64,
    divisor: f64,
    unit: &'static str,
}

impl Scale {
    fn of(axis: YAxis, lines: &[Line]) -> Option<Scale> {
        let points = lines.iter().flat_map(|line| &line.points);
        let (least, most) = points.fold((f64::MAX, 0.0_f64), |(low, high), point| {
            let top = match point.y {
                Value::Estimate(estimate) => estimate.high.unwrap_or(estimate.value).min(TALLEST_BAND * estimate.value),
                Value::LatencyNs(_) | Value::Once(_) => point.y.figure(),
            };
            (low.min(point.y.figure()), high.max(top))
        });
        (most > 0.0).then_some(())?;
        let (divisor, unit) = axis.unit(most);
        let (low, high) = if axis.is_logarithmic() {
            (round_down(least / divisor), round_up(most / divisor * 1.05))
        } else {
            (0.0, most / divisor * 1.06)
        };
        Some(Scale { low, high, divisor, unit })
    }

    /// Where a figure lies. An interval may reach beyond the axis: it is cut there.
    fn place(&self, figure: f64) -> f64 {
        (figure / self.divisor).clamp(self.low, self.high)
    }
}

/// The next of 1, 2, 5 times a power of ten, at or below.
fn round_down(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0].map(|step| step * power).into_iter().find(|step| *step <= value).unwrap_or(power)
}

/// The next of 1, 2, 5 times a power of ten, at or above.
fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0].map(|step| step * power).into_iter().find(|step| *step >= value).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::chart::Stroke;
    use halfpower_model::{Estimate, Quantity};

    #[test]
    fn logarithmic_axes_end_at_one_two_or_five() {
        for (value, below, above) in
            [(1.0, 1.0, 1.0), (3.7, 2.0, 5.0), (0.019, 0.01, 0.02), (7_200.0, 5_000.0, 10_000.0)]
        {
            assert!((round_down(value) / below - 1.0).abs() < 1e-9, "{value}");
            assert!((round_up(value) / above - 1.0).abs() < 1e-9, "{value}");
        }
    }

    #[test]
    fn a_wild_interval_does_not_flatten_the_chart() {
        let estimate = Estimate {
            quantity: Quantity::BytesPerSecond,
            value: 1e9,
            low: Some(-8e9),
            high: Some(f64::INFINITY),
            repetitions: 2,
        };
        let point = Point { x: 4096.0, y: Value::Estimate(estimate) };
        let lines = [Line { label: String::new(), stroke: Stroke::Solid, points: vec![point], fitted: None }];
        let scale = Scale::of(YAxis::BytesPerSecond, &lines).unwrap();
        assert!(scale.low == 0.0 && scale.high < 2.0, "{}", scale.high);
        assert_eq!(scale.place(-8e9), 0.0);
        assert!(scale.place(f64::INFINITY).is_finite());
    }
}
