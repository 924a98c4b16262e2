//! A comparison as a page with a forest plot, and as text. Both have the verdict first, then the differences of the
//! environments, then the figures of each workload. Nothing is computed here.

mod forest;
mod page;
mod words;

pub(crate) use page::{comparison_html, comparison_text};
