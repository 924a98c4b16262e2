//! The chart of a pyramid: a bar a level on one scale, the peak as an outline, what it really gave filled in, half of the
//! peak as a dashed line across.
//!
//! Levels lie decades apart more often than not; where they do the scale is logarithmic, on which the half is the same step
//! from every peak. A level that nobody knows anything of has no bar.

use super::swatch::{HALF_DASHES, bottleneck_colour, colour};
use halfpower_analysis::{Pyramid, PyramidLevel, Standing};
use halfpower_model::BytesPerSecond;
use std::fmt::Write;

/// The user space, as wide as that of the other charts.
const WIDTH: f64 = 480.0;
/// Room for a level: its name and figures, then its bar.
const ROW: f64 = 46.0;
const NAME_BASELINE: f64 = 15.0;
const BAR_TOP: f64 = 22.0;
const PEAK_HEIGHT: f64 = 16.0;
const REAL_HEIGHT: f64 = 8.0;
/// Room for the numbers of the axis.
const AXIS: f64 = 24.0;
/// Figures that are further apart than this take a logarithmic scale.
const DECADES_FROM: f64 = 20.0;
/// Steps of a linear axis, at most.
const STEPS_MAX: f64 = 5.0;

/// The box that the page gives the drawing.
pub(in crate::report) fn bars_view_box(pyramid: &Pyramid) -> String {
    format!("0 0 {WIDTH} {}", ROW * shown(pyramid).count() as f64 + AXIS)
}

/// Draws the pyramid; `None` where there are no two figures to compare.
pub(in crate::report) fn bars(pyramid: &Pyramid) -> Option<String> {
    let figures = shown(pyramid).flat_map(figures);
    let (least, most) =
        figures.fold((f64::MAX, 0.0), |(least, most): (f64, f64), rate| (least.min(rate), most.max(rate)));
    if least >= most {
        return None;
    }
    let scale = Scale::of(least, most);
    let bottom = ROW * shown(pyramid).count() as f64;
    let mut svg = String::from("<g font-family=\"inherit\" font-size=\"13\">");
    for (place, label) in scale.ticks() {
        let anchor = if place < 1.0 {
            "start"
        } else if place > WIDTH - 24.0 {
            "end"
        } else {
            "middle"
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
    Some(svg)
}

/// Levels of which something is known.
fn shown(pyramid: &Pyramid) -> impl Iterator<Item = &PyramidLevel> {
    pyramid.levels.iter().filter(|level| level.pap_bytes_per_s.is_some() || level.rap.is_some())
}

fn figures(level: &PyramidLevel) -> impl Iterator<Item = f64> {
    let known = [level.pap_bytes_per_s.map(|rate| rate.0), level.rap.map(|rap| rap.value)].into_iter().flatten();
    known.filter(|rate| rate.is_finite() && *rate > 0.0)
}

fn row(svg: &mut String, scale: &Scale, level: &PyramidLevel, top: f64) {
    let is_bottleneck = level.standing == Standing::Bottleneck;
    let name = level.level.name();
    let name = if is_bottleneck {
        format!(
            "<tspan font-weight=\"600\">{name}</tspan> <tspan fill=\"{}\">◂ bottleneck</tspan>",
            bottleneck_colour()
        )
    } else {
        name.to_owned()
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
        let fill = if is_bottleneck { bottleneck_colour() } else { colour(0) };
        let (y, width) = (bar + (PEAK_HEIGHT - REAL_HEIGHT) / 2.0, scale.place(rap.value));
        let _ = write!(svg, "<path d=\"M0 {y:.1}h{width:.1}v{REAL_HEIGHT}h-{width:.1}z\" fill=\"{fill}\"/>");
    }
    if let Some(pap) = level.pap_bytes_per_s {
        // Half a stroke inside the box at either end.
        let (half, width) = (scale.place(pap.0 / 2.0), (scale.place(pap.0) - 1.0).max(1.0));
        let _ = write!(
            svg,
            "<path d=\"M0.5 {bar:.1}h{width:.1}v{PEAK_HEIGHT}h-{width:.1}z\" fill=\"none\" stroke=\"var(--muted)\"/>\
             <path d=\"M{half:.1} {:.1}v{:.1}\" stroke=\"var(--ink)\" stroke-dasharray=\"{HALF_DASHES}\"/>",
            bar - 3.0,
            PEAK_HEIGHT + 6.0
        );
    }
}

/// From bytes a second to a place along the bar.
struct Scale {
    /// What is at the left end; none: the scale is linear and begins at nothing.
    first_decade: Option<f64>,
    most: f64,
}

impl Scale {
    fn of(least: f64, most: f64) -> Scale {
        // The half of the least has to be on it too.
        let decade = 10_f64.powf((least / 2.0).log10().floor());
        Scale { first_decade: (most / least > DECADES_FROM).then_some(decade), most }
    }

    fn place(&self, rate: f64) -> f64 {
        let share = match self.first_decade {
            Some(first) => (rate / first).log10() / (self.most / first).log10(),
            None => rate / self.most,
        };
        WIDTH * share.clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        let rates: Vec<f64> = match self.first_decade {
            Some(first) => {
                let decades = (self.most / first).log10().floor() as i32;
                (0..=decades).map(|decade| first * 10_f64.powi(decade)).collect()
            }
            None => {
                let step = nice_step(self.most / STEPS_MAX);
                (0..=(self.most / step).floor() as u32).map(|count| f64::from(count) * step).collect()
            }
        };
        let label = |rate: f64| if rate == 0.0 { "0".to_owned() } else { BytesPerSecond(rate).to_string() };
        rates.into_iter().map(|rate| (self.place(rate), label(rate))).collect()
    }
}

/// The next of 1, 2, 5 times a power of ten.
pub(super) fn nice_step(least: f64) -> f64 {
    let decade = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * decade).find(|step| *step >= least).unwrap_or(decade * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_decades_apart_take_a_logarithmic_scale() {
        let scale = Scale::of(24e6, 20e9);
        assert_eq!(scale.first_decade, Some(1e7));
        assert!((scale.place(20e9) - WIDTH).abs() < 1e-9 && scale.place(1e7).abs() < 1e-9);
        let step = scale.place(20e9) - scale.place(10e9);
        assert!((scale.place(60e6) - scale.place(30e6) - step).abs() < 1e-9, "the half is the same step everywhere");
        let labels: Vec<String> = scale.ticks().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["10 MB/s", "100 MB/s", "1 GB/s", "10 GB/s"]);
    }

    #[test]
    fn levels_near_one_another_begin_at_nothing() {
        let scale = Scale::of(24e6, 96e6);
        assert_eq!(scale.first_decade, None);
        assert_eq!(scale.place(48e6), WIDTH / 2.0);
        let labels: Vec<String> = scale.ticks().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["0", "20 MB/s", "40 MB/s", "60 MB/s", "80 MB/s"]);
        assert_eq!([nice_step(0.9), nice_step(12.0), nice_step(20.0)], [1.0, 20.0, 20.0]);
    }
}
