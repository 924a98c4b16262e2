//! The report of a run: an HTML file, and a summary for a terminal.
//!
//! It shows findings and samples and computes no statistic. All text of a record (paths, notes, model names) is untrusted
//! and escaped. The HTML file loads no script, font or picture; its script needs nothing else.

mod analysed;
mod answer;
mod arms;
pub(crate) mod chart;
mod comparison;
pub(crate) mod html;
mod page;
mod pyramid;
mod sections;
mod several;
mod summary;
pub(crate) mod table;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod wrap;

pub(crate) use analysed::Analysed;
pub(crate) use answer::answer;
pub(crate) use arms::TwoArms;
pub(crate) use comparison::{comparison_html, comparison_text};
pub(crate) use page::html;
pub(crate) use sections::every_chart;
pub(crate) use several::several_html;
pub(crate) use summary::summary;
pub(crate) use tables::of_environment;
