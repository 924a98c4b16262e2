//! What the same differed by, on the page and on the terminal: its tables. What they say is the analysis'.

use super::table::Table;
use halfpower_analysis::comparison::{FigureNoise, Noise};
use halfpower_model::units::significant;

/// For the page, a row for each figure.
pub(super) fn table(noise: &Noise) -> Table {
    let head = [
        "figure",
        "workloads",
        "median difference",
        "largest difference",
        "called changed",
        "median margin",
        "largest margin",
        "too noisy for a margin",
        "largest difference in",
    ];
    let row = |found: &FigureNoise| {
        [
            found.figure.name().to_owned(),
            found.workloads.to_string(),
            percent(found.median_difference),
            percent(found.largest_difference),
            found.called_changed.to_string(),
            found.median_margin.map_or_else(cannot_tell, percent),
            found.largest_margin.map_or_else(cannot_tell, percent),
            found.without_margin.to_string(),
            found.largest_of.clone(),
        ]
    };
    Table::new(head, noise.figures.iter().map(row))
}

/// For the terminal: the difference, and the margin that it implies.
pub(super) fn rows(noise: &Noise) -> Vec<[String; 3]> {
    let row = |found: &FigureNoise| {
        let (half, most) = (percent(found.median_difference), percent(found.largest_difference));
        let margins = found.median_margin.zip(found.largest_margin);
        let margins = margins
            .map_or_else(cannot_tell, |(half, most)| format!("{} (median), {} at most", percent(half), percent(most)));
        let without = match found.without_margin {
            0 => String::new(),
            without => format!("; {without} too noisy for a margin"),
        };
        [
            found.figure.name().to_owned(),
            format!("{half} (median of {}), {most} at most", found.workloads),
            format!("{margins}{without}"),
        ]
    };
    noise.figures.iter().map(row).collect()
}

/// Where the same differs by so much that it gives no margin.
fn cannot_tell() -> String {
    "too noisy".to_owned()
}

fn percent(share: f64) -> String {
    format!("{} %", significant(share * 100.0))
}
