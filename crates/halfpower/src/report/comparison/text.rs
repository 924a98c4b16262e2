//! The comparison for a terminal.

use super::{basis, difference_rows, signed, title, word};
use crate::report::wrap::{Page, Style};
use halfpower_analysis::comparison::{Change, ComparedCell, Comparison, Figure};

/// The text, `width` columns wide.
pub(crate) fn comparison_text(comparison: &Comparison, colour: bool, width: usize) -> String {
    let mut page = Page::new(width, colour);
    page.paragraph("", &[(Style::Strong, &comparison.sentence)]);
    for warning in &comparison.warnings {
        page.paragraph("", &[(Style::Plain, format!("Warning: {}; {}.", warning.message, warning.remedy))]);
    }
    if let Some(margins) = &comparison.found_margins {
        page.paragraph("", &[(Style::Plain, &margins.sentence)]);
    }
    let differences = difference_rows(&comparison.differences);
    page.table(["Measured on what differs", "before → after"], &differences);
    if differences.is_empty() {
        page.gap();
        page.paragraph("", &[(Style::Plain, "Measured on the same, as far as the samples tell.")]);
    }
    for figure in Figure::ALL {
        let rows: Vec<[String; 4]> = comparison.cells.iter().filter_map(|cell| row(cell, figure)).collect();
        page.table([title(figure), "before", "after", "change"], &rows);
    }
    for (cells, which) in [(&comparison.only_before, "before"), (&comparison.only_after, "after")] {
        if !cells.is_empty() {
            page.gap();
            page.paragraph("", &[(Style::Plain, format!("Only {which}, so not compared:"))]);
            cells.iter().for_each(|cell| page.paragraph("  ", &[(Style::Plain, cell)]));
        }
    }
    page.finish()
}

/// A workload's figure, before and after.
fn row(cell: &ComparedCell, figure: Figure) -> Option<[String; 4]> {
    let change = cell.change(figure)?;
    Some([cell.name.clone(), change.before.to_string(), change.after.to_string(), changed(change)])
}

/// `+3.1 %, better (+1.2 to +5)`.
fn changed(change: &Change) -> String {
    format!("{} %, {} ({})", signed(change.ratio.value), word(change.standing), basis(change))
}
