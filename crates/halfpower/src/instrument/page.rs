//! The contents of an instrument's page: sentences, charts, tables, bars and trees, for HTML and terminal alike.

use crate::report::chart::Chart;
use crate::report::table::Table;
use halfpower_model::Estimate;
use serde::Serialize;

/// The contents of an instrument's page.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) title: &'static str,
    /// The result, in sentences.
    pub(crate) verdict: Vec<String>,
    /// The missing part of an interrupted run.
    pub(crate) unfinished: Option<String>,
    pub(crate) charts: Vec<Chart>,
    /// A title, and figures of a table as bars; on the HTML page only.
    pub(crate) bars: Option<(&'static str, Vec<Bar>)>,
    pub(crate) sections: Vec<Section>,
    /// How it was measured, in paragraphs; on the HTML page only.
    pub(crate) method: Vec<&'static str>,
}

/// A section with a title and a sentence about it, which may be empty.
#[derive(Debug, Serialize)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) about: String,
    pub(crate) body: Body,
}

/// The body of a section.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub(crate) enum Body {
    /// Figures in rows.
    Table(Table),
    /// Text in rows.
    Facts(Table),
    /// A bar for each figure.
    Bars(Vec<Bar>),
    /// A tree of devices.
    Tree(Vec<Branch>),
}

/// A node of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Branch {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) below: Vec<Branch>,
}

/// One figure beside others.
#[derive(Debug, Serialize)]
pub(crate) struct Bar {
    pub(crate) label: String,
    /// Length in percent of the longest possible bar.
    pub(crate) length: f64,
    /// The ends of its interval, likewise.
    pub(crate) interval: Option<(f64, f64)>,
    /// The figure as text.
    pub(crate) figure: String,
    /// A remark; may be empty.
    pub(crate) about: String,
}

impl Section {
    pub(crate) fn new(title: impl Into<String>, about: impl Into<String>, body: Body) -> Section {
        Section { title: title.into(), about: about.into(), body }
    }
}

impl Branch {
    pub(crate) fn leaf(name: impl Into<String>, text: String) -> Branch {
        Branch { name: name.into(), text, below: Vec::new() }
    }
}

impl Bar {
    /// The bar of a share, cut to 0 to 1; an unknown one has no length.
    pub(crate) fn of_share(label: String, share: Option<f64>, figure: String, about: String) -> Bar {
        Bar { label, length: percent(share.unwrap_or(0.0)), interval: None, figure, about }
    }

    /// The bar of a figure; `most` is the largest one.
    pub(crate) fn of_estimate(label: String, estimate: Estimate, most: f64, about: String) -> Bar {
        let place = |value: f64| percent(value / most);
        let interval = estimate.low.zip(estimate.high).map(|(low, high)| (place(low), place(high)));
        Bar { label, length: place(estimate.value), interval, figure: estimate.to_string(), about }
    }
}

/// In percent, rounded to a hundredth.
fn percent(share: f64) -> f64 {
    let cut = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    (cut * 1e4).round() / 1e2
}
