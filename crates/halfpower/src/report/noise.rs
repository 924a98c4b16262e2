//! What the same differed by, on the page and on the terminal: its tables. What they say is the analysis'.

use super::table::Table;
use halfpower_analysis::comparison::{FigureNoise, Noise};
use halfpower_model::units::significant;

/// For the page, a row for each figure.
pub(super) fn table(noise: &Noise) -> Table {
    let head = [
        "figure",
        "workloads",
        "half differ by less than",
        "largest difference",
        "called changed",
        "margin of half",
        "largest margin",
        "differed most",
    ];
    let row = |found: &FigureNoise| {
        [
            found.figure.name().to_owned(),
            found.workloads.to_string(),
            percent(found.median_difference),
            percent(found.largest_difference),
            found.called_changed.to_string(),
            percent(found.median_margin),
            percent(found.largest_margin),
            found.largest_of.clone(),
        ]
    };
    Table::new(head, noise.figures.iter().map(row))
}

/// For the terminal: the difference, and the margin that it implies.
pub(super) fn rows(noise: &Noise) -> Vec<[String; 3]> {
    let row = |found: &FigureNoise| {
        let (half, most) = (percent(found.median_difference), percent(found.largest_difference));
        let (half_margin, most_margin) = (percent(found.median_margin), percent(found.largest_margin));
        [
            found.figure.name().to_owned(),
            format!("{half} in half of {}, {most} at most", found.workloads),
            format!("{half_margin} in half, {most_margin} at most"),
        ]
    };
    noise.figures.iter().map(row).collect()
}

fn percent(share: f64) -> String {
    format!("{} %", significant(share * 100.0))
}
