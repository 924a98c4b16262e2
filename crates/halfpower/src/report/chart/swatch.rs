//! Colours and markers of lines, and their swatches in a legend.
//!
//! The colours are those of Okabe and Ito (2008), which people with common kinds of colour blindness can distinguish. The
//! style sheet names them `--line-0` and up. Each has its marker.

use super::model::{LINES_SHOWN, Stroke};
use minijinja::{Value, context};

/// Markers in the order of the colours: paths that begin at the middle.
const MARKERS: [&str; LINES_SHOWN] = [
    "m4 0a4 4 0 1 1-8 0a4 4 0 1 1 8 0z",
    "m-3.5-3.5h7v7h-7z",
    "m0-4.4l4 7h-8z",
    "m0-5l5 5-5 5-5-5z",
    "m0 4.4l4-7h-8z",
    "m-3.5-3.5l7 7m0-7l-7 7",
    "m0-4.5v9m-4.5-4.5h9",
];

/// Dashes of a reference line.
pub(super) const REFERENCE_DASHES: &str = "3 4";

/// The fill of the advised part.
pub(super) const ADVISED: &str = "fill=\"var(--line-2)\" fill-opacity=\"0.16\"";

/// Width of a model's curve.
pub(super) const FITTED_WIDTH: f64 = 0.9;

/// Dashes of the line across a bar.
pub(super) const HALF_DASHES: &str = "2 2";

/// The legend of the parts of a bar.
pub(super) fn bar_legend(has_bottleneck: bool) -> Value {
    let filled = |index: usize| format!("<path d=\"M1 3h32v8h-32z\" fill=\"{}\"/>", colour(index));
    let outline = "<path d=\"M1 1h32v12h-32z\" fill=\"none\" stroke=\"var(--muted)\"/>".to_owned();
    let half = format!("<path d=\"M17 0v14\" stroke=\"var(--ink)\" stroke-dasharray=\"{HALF_DASHES}\"/>");
    let bottleneck = has_bottleneck.then(|| (filled(1), "RAP of the bottleneck"));
    let parts = [(filled(0), "RAP"), (outline, "PAP"), (half, "half of PAP")].into_iter().chain(bottleneck);
    parts.map(|(paths, label)| entry(picture(&paths), label, None)).collect()
}

/// An entry of a legend, with the number of its line if it can be turned off.
pub(super) fn entry(swatch: String, label: &str, line: Option<usize>) -> Value {
    context! { swatch, label, line }
}

/// The marker of the line at this place in its chart.
pub(super) fn marker(index: usize) -> &'static str {
    MARKERS[index % MARKERS.len()]
}

/// The colour of the line at this place, as a CSS value.
pub(super) fn colour(index: usize) -> String {
    format!("var(--line-{})", index % MARKERS.len())
}

/// A legend's picture of a line, as SVG of 34 by 14.
pub(super) fn swatch(index: usize, stroke: Stroke) -> String {
    let colour = colour(index);
    let line = format!("<path d=\"M0 7h34\" stroke=\"{colour}\" stroke-width=\"2\"{}/>", stroke.dashes());
    let mark =
        format!("<path d=\"M17 7{}\" fill=\"{colour}\" stroke=\"{colour}\" stroke-width=\"1.2\"/>", marker(index));
    picture(&match stroke {
        Stroke::Points => mark,
        Stroke::Steps => line,
        Stroke::Solid | Stroke::Dashed | Stroke::Dotted => line + &mark,
    })
}

/// The picture of a model's curve beside the line with this place.
pub(super) fn fitted_swatch(index: usize) -> String {
    let colour = colour(index);
    picture(&format!(
        "<path d=\"M0 11C10 3 20 3 34 3\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{FITTED_WIDTH}\"/>"
    ))
}

/// The picture of a reference line.
pub(super) fn reference_swatch() -> String {
    picture(&format!("<path d=\"M0 7h34\" stroke=\"var(--muted)\" stroke-dasharray=\"{REFERENCE_DASHES}\"/>"))
}

/// The picture of the advised part of a chart.
pub(super) fn advised_swatch() -> String {
    picture(&format!("<path d=\"M1 1h32v12h-32z\" {ADVISED}/>"))
}

/// The fill of the strip over a heatmap.
pub(super) const STRIP_FILL: &str = "fill=\"var(--line-2)\" fill-opacity=\"0.55\"";

/// The picture of the strip over a heatmap.
pub(super) fn strip_swatch() -> String {
    picture(&format!("<path d=\"M1 13v-9h8v3h8v-5h8v2h8v9z\" {STRIP_FILL}/>"))
}

/// The fill of a heatmap's cells, by the share of the darkest.
pub(super) fn shade(share: f64) -> String {
    format!("fill=\"var(--muted)\" fill-opacity=\"{:.2}\"", 0.7 * share)
}

/// The picture of a heatmap's shades.
pub(super) fn heat_swatch() -> String {
    let cell = |(number, share): (usize, f64)| format!("<path d=\"M{} 1h11v12h-11z\" {}/>", 11 * number, shade(share));
    picture(&[0.2, 0.6, 1.0].into_iter().enumerate().map(cell).collect::<String>())
}

fn picture(paths: &str) -> String {
    let size = "viewBox=\"0 0 34 14\" width=\"34\" height=\"14\"";
    format!("<svg class=\"swatch\" {size} aria-hidden=\"true\">{paths}</svg>")
}
