//! A comparison for a terminal: the verdict, what differs in what the two were measured on, and each workload's figures.

use super::wrap::{Page, Style};
use halfpower_analysis::comparison::{Change, ComparedCell, Comparison, Figure, Standing};
use halfpower_model::units::significant;

/// The text, `width` columns wide.
pub(crate) fn comparison_text(comparison: &Comparison, colour: bool, width: usize) -> String {
    let mut page = Page::new(width, colour);
    page.paragraph("", &[(Style::Strong, &comparison.sentence)]);
    let differences: Vec<Vec<String>> = comparison
        .differences
        .iter()
        .map(|difference| {
            vec![difference.fact.clone(), format!("{} → {}", difference.before.join(", "), difference.after.join(", "))]
        })
        .collect();
    page.table(&["Measured on what differs", "before → after"], &differences);
    if differences.is_empty() {
        page.gap();
        page.paragraph("", &[(Style::Plain, "Measured on the same, as far as the samples tell.")]);
    }
    for figure in Figure::ALL {
        let rows: Vec<Vec<String>> = comparison.cells.iter().filter_map(|cell| row(cell, figure)).collect();
        page.table(&[title(figure), "before", "after", "change"], &rows);
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
fn row(cell: &ComparedCell, figure: Figure) -> Option<Vec<String>> {
    let change = cell.change(figure)?;
    Some(vec![cell.name.clone(), change.before.to_string(), change.after.to_string(), changed(change)])
}

/// `+3.1 %, better (+1.2 to +5)`.
fn changed(change: &Change) -> String {
    let standing = match change.standing {
        Standing::Better => "better",
        Standing::Worse => "worse",
        Standing::Equivalent => "equivalent",
        Standing::Undecided => "undecided",
    };
    let signed = |ratio: f64| {
        let share = (ratio - 1.0) * 100.0;
        format!("{}{}", if share < 0.0 { "−" } else { "+" }, significant(share.abs()))
    };
    let ratio = change.ratio;
    let why = match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!("{} to {}", signed(low), signed(high)),
        _ if change.standing == Standing::Undecided => "one sample".to_owned(),
        _ => format!("one sample, but more than {} times", significant(change.figure.plausible_noise())),
    };
    format!("{} %, {standing} ({why})", signed(ratio.value))
}

fn title(figure: Figure) -> &'static str {
    match figure {
        Figure::Throughput => "throughput",
        Figure::ParentThroughput => "throughput, as the parent sees it",
        Figure::TailLatency => "p99 latency",
        Figure::ProcessorCost => "processor time",
    }
}
