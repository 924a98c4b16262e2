//! The view of a chart for the template: drawing, words, legend and table.

use super::axis::XAxis;
use super::draw::{Drawing, axes_box, svg, view_box};
use super::figures::PAPER;
use super::model::{Chart, LINES_SHOWN, Stroke};
use super::swatch::{advised_swatch, entry, fitted_swatch, heat_swatch, reference_swatch, strip_swatch, swatch};
use crate::report::table::{Table, or_dash};
use halfpower_model::{Estimate, Quantity};
use minijinja::{Value, context};

/// Draws a chart; none if nothing in it can be drawn. The SVG is trusted, because it has only enumerations and numbers.
pub(crate) fn chart_view(chart: &Chart) -> Option<Value> {
    let Drawing { svg, places, references } = svg(chart, &places(chart))?;
    let shown = chart.lines.iter().take(LINES_SHOWN).enumerate();
    let legend = shown.flat_map(|(index, line)| {
        let own = entry(swatch(index, line.stroke), &line.label, Some(index));
        let fitted = line.fitted.as_ref();
        [Some(own), fitted.map(|(law, _)| entry(fitted_swatch(index), &format!("{}, fitted: {law}", line.label), None))]
    });
    let references = references.iter().map(|name| entry(reference_swatch(), name, None));
    let advised = chart.advised.map(|_| entry(advised_swatch(), "advised", None));
    let heat = chart.heat.iter().flat_map(|heat| {
        let fastest = heat.requests_per_s().into_iter().fold(0.0, f64::max);
        let above = format!("above: up to {}", Quantity::RequestsPerSecond.format(fastest));
        [entry(heat_swatch(), "few to many requests", None), entry(strip_swatch(), &above, None)]
    });
    Some(context! {
        id => &chart.id,
        title => &chart.title,
        description => description(chart),
        caption => caption(chart),
        view_box => view_box(),
        svg,
        places,
        axes_box => axes_box(),
        zooms => chart.x == XAxis::Time,
        legend => legend.flatten().chain(references).chain(advised).chain(heat).collect::<Value>(),
        table => chart_table(chart, Estimate::to_string),
    })
}

/// The values of the horizontal axis, as in the table.
fn places(chart: &Chart) -> Vec<f64> {
    let mut places: Vec<f64> = chart.lines.iter().flat_map(|line| &line.points).map(|point| point.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// The chart as a table: a row for each `x`, a column for each line, with cells by `text`.
pub(crate) fn chart_table(chart: &Chart, text: impl Fn(&Estimate) -> String) -> Table {
    let head = std::iter::once(chart.x.words()[2].to_owned()).chain(chart.lines.iter().map(|line| line.label.clone()));
    let row = |x: &f64| {
        let point = chart.lines.iter().map(|line| line.points.iter().find(|point| point.x == *x));
        std::iter::once(chart.x.text(*x)).chain(point.map(|point| or_dash(point.map(|point| text(&point.y))))).collect()
    };
    Table { head: head.collect(), rows: places(chart).iter().map(row).collect() }
}

/// The chart in words for screen readers: the first and last value of each line.
fn description(chart: &Chart) -> String {
    let ends = chart.lines.iter().take(LINES_SHOWN).filter_map(|line| {
        let (first, last) = (line.points.first()?, line.points.last()?);
        let fitted = line.fitted.as_ref().map(|(law, _)| format!(", described by {law}")).unwrap_or_default();
        Some(format!("{}: from {} to {}{fitted}", line.label, first.y, last.y))
    });
    format!("Lines along {}. {}.", chart.x.words()[1], ends.collect::<Vec<_>>().join("; "))
}

/// The meaning of a point and of the band, and the number of repetitions.
fn caption(chart: &Chart) -> String {
    let mut caption = format!("A point is {}", chart.point);
    let is_of_paper = chart.lines.iter().any(|line| line.label == PAPER);
    if !is_of_paper && chart.lines.iter().any(|line| line.stroke == Stroke::Points) {
        return caption;
    }
    let ours = chart.lines.iter().filter(|line| line.label != PAPER).flat_map(|line| &line.points);
    let repetitions = || ours.clone().map(|point| point.y.repetitions);
    caption += &match (repetitions().min(), repetitions().max()) {
        _ if chart.x == XAxis::Share => {
            "; percentiles with fewer than ten requests beyond them are left out.".to_owned()
        }
        _ if chart.x == XAxis::Time => ".".to_owned(),
        (Some(least), Some(most)) if least == most => format!(" over {most} repetitions."),
        (Some(least), Some(most)) => format!(" over {least} to {most} repetitions."),
        _ => ".".to_owned(),
    };
    if ours.clone().any(|point| point.y.low.is_some()) {
        caption += " The band, or the bar of a lone point, is the 95 % confidence interval. An invisible one is narrower than the line.";
    }
    if is_of_paper {
        caption += " Points without a line are printed in the paper.";
    }
    if chart.lines.iter().take(LINES_SHOWN).any(|line| line.fitted.is_some()) {
        caption += " A thin curve is a model fitted to the points of its colour, not a measurement.";
    }
    caption += &match chart.lines.len().saturating_sub(LINES_SHOWN) {
        0 => String::new(),
        1 => " One more line is in the table.".to_owned(),
        beyond => format!(" {beyond} more lines are in the table."),
    };
    caption
}
