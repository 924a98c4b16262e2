//! A comparison for people: a page with a forest plot, and the same for a terminal. Both say the verdict first, then what
//! differs in what the two were measured on, then each workload's figures. Nothing is worked out here.

mod forest;
mod page;
mod words;

pub(crate) use page::{comparison_html, comparison_text};
