//! Bars: figures that are compared with one another, each with its name and as text beside it. They lie in the page's own
//! markup, so that long names wrap and the figures stay text.

use halfpower_model::Estimate;
use serde::Serialize;

/// One figure.
#[derive(Debug, Serialize)]
pub(super) struct Bar {
    /// Of what.
    pub(super) label: String,
    /// How long, in percent of the longest there can be.
    pub(super) length: f64,
    /// The ends of its interval, likewise; none where it has none.
    pub(super) interval: Option<(f64, f64)>,
    /// The figure for people.
    pub(super) figure: String,
    /// What there is to say of it; may be empty.
    pub(super) about: String,
}

impl Bar {
    /// Of a share; what lies outside of 0 to 1 is cut, and its text says so. None is no bar.
    pub(super) fn of_share(label: String, share: Option<f64>, figure: String, about: String) -> Bar {
        Bar { label, length: percent(share.unwrap_or(0.0)), interval: None, figure, about }
    }

    /// Of a figure beside others of which `most` is the largest.
    pub(super) fn of_estimate(label: String, estimate: Estimate, most: f64, about: String) -> Bar {
        let place = |value: f64| percent(value / most);
        let interval = estimate.low.zip(estimate.high).map(|(low, high)| (place(low), place(high)));
        Bar { label, length: place(estimate.value), interval, figure: estimate.to_string(), about }
    }
}

/// To a hundredth, so that a page has no more digits than can be seen.
fn percent(share: f64) -> f64 {
    let cut = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    (cut * 1e4).round() / 1e2
}
