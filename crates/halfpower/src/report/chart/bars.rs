//! The chart of a pyramid: one bar per level on one scale, PAP as an outline, RAP filled, half of PAP as a dashed line.
//!
//! Levels are often decades apart. Then the scale is logarithmic, on which half of PAP is the same step from every PAP. A
//! level without figures has no bar.

use super::scale::Scale;
use super::swatch::{HALF_DASHES, bar_legend, colour};
use halfpower_analysis::{Pyramid, PyramidLevel, Standing};
use halfpower_model::BytesPerSecond;
use minijinja::Value;
use std::fmt::Write;

/// Width of the user space, as in the other charts.
const WIDTH: f64 = 480.0;
/// Height of a level: its name and figures, then its bar.
const ROW: f64 = 46.0;
const NAME_BASELINE: f64 = 15.0;
const BAR_TOP: f64 = 22.0;
const PEAK_HEIGHT: f64 = 16.0;
const REAL_HEIGHT: f64 = 8.0;
/// Height of the labels of the axis.
const AXIS: f64 = 24.0;
/// From this ratio of figures on, the scale is logarithmic.
const DECADES_FROM: f64 = 20.0;
/// Maximum number of steps of a linear axis.
const STEPS_MAX: f64 = 5.0;

/// Draws the pyramid: its view box, the drawing and the legend; none without two different figures.
pub(crate) fn bars(pyramid: &Pyramid) -> Option<(String, String, Value)> {
    let rates = shown(pyramid).flat_map(rates);
    let (least, most) =
        rates.fold((f64::MAX, 0.0), |(least, most): (f64, f64), rate| (least.min(rate), most.max(rate)));
    if least >= most {
        return None;
    }
    // Half of the lowest figure must be on the axis too.
    let decade = 10_f64.powf((least / 2.0).log10().floor());
    let scale = Scale { low: if most / least > DECADES_FROM { decade } else { 0.0 }, high: most };
    let bottom = ROW * shown(pyramid).count() as f64;
    let mut svg = String::from("<g font-family=\"inherit\" font-size=\"13\">");
    for rate in scale.ticks(STEPS_MAX, &[1.0]) {
        let place = WIDTH * scale.share(rate);
        let label = if rate == 0.0 { "0".to_owned() } else { BytesPerSecond(rate).to_string() };
        let anchor = match place {
            ..1.0 => "start",
            _ if place > WIDTH - 24.0 => "end",
            _ => "middle",
        };
        let _ = write!(
            svg,
            "<path d=\"M{place:.1} 0V{bottom}\" stroke=\"var(--rule)\"/>\
             <text x=\"{place:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{label}</text>",
            bottom + AXIS - 6.0
        );
    }
    for (index, level) in shown(pyramid).enumerate() {
        row(&mut svg, &scale, level, ROW * index as f64);
    }
    svg.push_str("</g>");
    Some((format!("0 0 {WIDTH} {}", bottom + AXIS), svg, bar_legend(pyramid.bottleneck.is_some())))
}

/// Levels about which something is known: with an advertised peak, or with another figure than the level below.
fn shown(pyramid: &Pyramid) -> impl Iterator<Item = &PyramidLevel> {
    let levels = pyramid.levels.iter().enumerate();
    let below = |number: usize| pyramid.levels[number + 1..].iter().find_map(|level| level.rap);
    let known = levels.filter(move |(number, level)| {
        let rap = level.rap.map(|rap| rap.value);
        level.pap_bytes_per_s.is_some() || rap.is_some() && rap != below(*number).map(|rap| rap.value)
    });
    known.map(|(_, level)| level)
}

fn rates(level: &PyramidLevel) -> impl Iterator<Item = f64> {
    let known = [level.pap_bytes_per_s.map(|rate| rate.0), level.rap.map(|rap| rap.value)].into_iter().flatten();
    known.filter(|rate| rate.is_finite() && *rate > 0.0)
}

fn row(svg: &mut String, scale: &Scale, level: &PyramidLevel, top: f64) {
    let name = level.level.name();
    // The bottleneck has the second colour.
    let (name, fill) = match level.standing {
        Standing::Bottleneck => (
            format!("<tspan font-weight=\"600\">{name}</tspan> <tspan fill=\"{}\">◂ bottleneck</tspan>", colour(1)),
            colour(1),
        ),
        _ => (name.to_owned(), colour(0)),
    };
    let rap = level.rap.map(|rap| BytesPerSecond(rap.value).to_string());
    let text = match (rap, level.pap_bytes_per_s) {
        (Some(rap), Some(pap)) => format!("{rap} of {pap}"),
        (Some(rap), None) => rap,
        (None, Some(pap)) => format!("peak {pap}"),
        (None, None) => String::new(),
    };
    let baseline = top + NAME_BASELINE;
    let _ = write!(
        svg,
        "<text x=\"0\" y=\"{baseline:.1}\" fill=\"var(--ink)\">{name}</text>\
         <text x=\"{WIDTH}\" y=\"{baseline:.1}\" text-anchor=\"end\">{text}</text>"
    );
    let bar = top + BAR_TOP;
    if let Some(rap) = level.rap {
        let (y, width) = (bar + (PEAK_HEIGHT - REAL_HEIGHT) / 2.0, WIDTH * scale.share(rap.value));
        let _ = write!(svg, "<path d=\"M0 {y:.1}h{width:.1}v{REAL_HEIGHT}h-{width:.1}z\" fill=\"{fill}\"/>");
    }
    if let Some(pap) = level.pap_bytes_per_s {
        // The outline is half a stroke inside the box at either end.
        let (half, width) = (WIDTH * scale.share(pap.0 / 2.0), (WIDTH * scale.share(pap.0) - 1.0).max(1.0));
        let _ = write!(
            svg,
            "<path d=\"M0.5 {bar:.1}h{width:.1}v{PEAK_HEIGHT}h-{width:.1}z\" fill=\"none\" stroke=\"var(--muted)\"/>\
             <path d=\"M{half:.1} {:.1}v{:.1}\" stroke=\"var(--ink)\" stroke-dasharray=\"{HALF_DASHES}\"/>",
            bar - 3.0,
            PEAK_HEIGHT + 6.0
        );
    }
}
