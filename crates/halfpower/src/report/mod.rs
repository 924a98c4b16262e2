//! The report: what a run found, as one HTML file for a browser and as a few lines for a terminal.
//!
//! It shows findings and samples and computes no statistic: cells are grouped into lines, figures get their units, and
//! that is all. Everything that comes from a record (paths, notes, model names) is untrusted and escaped. The HTML file
//! loads nothing: no script, no font, no picture from elsewhere.

mod analysed;
pub(crate) mod chart;
mod comparison;
pub(crate) mod html;
mod page;
mod pyramid;
mod summary;
pub(crate) mod table;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod wrap;

pub(crate) use analysed::Analysed;
pub(crate) use comparison::{comparison_html, comparison_text};
pub(crate) use page::html;
pub(crate) use summary::summary;
pub(crate) use tables::of_environment;
