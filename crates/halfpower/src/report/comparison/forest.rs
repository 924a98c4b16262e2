//! The forest plot: a row for each workload with its ratio and interval on a logarithmic axis, and its margin as a band.
//! Rows are markup of the page, so that long names wrap; places are in percent of the plot's width. Each verdict has its
//! shape and colour.

use super::words::{basis, signed, word};
use halfpower_analysis::comparison::{Change, ComparedCell, Comparison, Figure};
use minijinja::{Value, context};

/// Maximum number of rows of a plot. The table below it has all.
const ROWS_SHOWN: usize = 60;
/// An interval longer than this many times the largest ratio and margin, by logarithm, is cut.
const BEYOND: f64 = 1.6;
/// Length of the axis relative to its contents.
const ROOM: f64 = 1.08;
/// Width of the label in the middle on a narrow screen, in percent.
const LABEL: f64 = 14.0;
/// Ratios that have labels, and their reciprocals.
const NAMED: [(f64, f64, &str, &str); 11] = [
    (1.0 / 1000.0, 1000.0, "÷1000", "×1000"),
    (0.01, 100.0, "÷100", "×100"),
    (0.1, 10.0, "÷10", "×10"),
    (0.2, 5.0, "÷5", "×5"),
    (0.5, 2.0, "÷2", "×2"),
    (0.8, 1.25, "−20 %", "+25 %"),
    (0.9, 1.1, "−10 %", "+10 %"),
    (0.95, 1.05, "−5 %", "+5 %"),
    (0.98, 1.02, "−2 %", "+2 %"),
    (0.99, 1.01, "−1 %", "+1 %"),
    (0.999, 1.001, "−0.1 %", "+0.1 %"),
];

/// The plot of a figure; none if no workload has it.
pub(super) fn forest(comparison: &Comparison, figure: Figure) -> Option<Value> {
    let changes: Vec<(&ComparedCell, &Change)> =
        comparison.cells.iter().filter_map(|cell| Some((cell, cell.change(figure)?))).collect();
    let shown = shown(&changes);
    let axis = Axis::of(shown.iter().map(|(_, change)| *change))?;
    let ticks = axis.ticks().into_iter().map(|(place, label)| context! { place, label });
    Some(context! {
        left_out => changes.len() - shown.len(),
        rows => shown.into_iter().map(|(cell, change)| row(&axis, cell, change)).collect::<Value>(),
        ticks => ticks.collect::<Value>(),
    })
}

/// The changes with a row: verdicts of a change first, then the largest ratios; in the order of the comparison.
fn shown<'a>(changes: &[(&'a ComparedCell, &'a Change)]) -> Vec<(&'a ComparedCell, &'a Change)> {
    let mut places: Vec<usize> = (0..changes.len()).collect();
    let key = |place: &usize| {
        let change = changes[*place].1;
        (change.standing.is_change(), change.ratio.value.ln().abs())
    };
    places.sort_by(|one, other| {
        let (one, other) = (key(one), key(other));
        other.0.cmp(&one.0).then(other.1.total_cmp(&one.1))
    });
    places.truncate(ROWS_SHOWN);
    places.sort_unstable();
    places.into_iter().map(|place| changes[place]).collect()
}

fn row(axis: &Axis, cell: &ComparedCell, change: &Change) -> Value {
    let ends = change.ratio.low.zip(change.ratio.high);
    let (least, most) = change.margin.ends();
    let [left, right] = [least, most].map(|end| axis.place(end));
    context! {
        name => &cell.name,
        // A class of the style sheet, and the name of the row.
        standing => word(change.standing),
        point => axis.place(change.ratio.value),
        // The ends of the interval, cut at the ends of the axis.
        interval => ends.map(|(low, high)| [low, high].map(|end| axis.place(end)).into_iter().collect::<Value>()),
        // Left end and width of the margin.
        margin => [left, hundredths(right - left)].into_iter().collect::<Value>(),
        change => format!("{} %", signed(change.ratio.value)),
        basis => basis(change),
    }
}

/// A logarithmic axis with 1 in its middle.
struct Axis {
    /// The logarithm of the ratio at its right end.
    reach: f64,
}

impl Axis {
    /// None without changes.
    fn of<'a>(changes: impl Iterator<Item = &'a Change>) -> Option<Axis> {
        let away = |ratio: f64| if ratio > 0.0 { ratio.ln().abs() } else { f64::INFINITY };
        let (mut points, mut ends) = (0.0_f64, 0.0_f64);
        let mut count = 0;
        for change in changes {
            points = points.max(away(change.ratio.value)).max(away(change.margin.ends().1));
            let interval = [change.ratio.low, change.ratio.high].into_iter().flatten();
            ends = interval.map(away).fold(ends, f64::max);
            count += 1;
        }
        let least = 1.001_f64.ln();
        (count > 0).then(|| Axis { reach: ROOM * ends.min(BEYOND * points).max(points).max(least) })
    }

    /// In percent from the left.
    fn place(&self, ratio: f64) -> f64 {
        let share = if ratio > 0.0 { ratio.ln() / self.reach } else { -1.0 };
        hundredths(50.0 + 50.0 * share.clamp(-1.0, 1.0))
    }

    /// The middle, the outermost label, and one about half way.
    fn ticks(&self) -> Vec<(f64, &'static str)> {
        let within = |most: f64| NAMED.into_iter().find(move |(_, ratio, ..)| ratio.ln() <= most);
        // Further out, the two labels would overlap.
        let far = within(0.9 * self.reach).or_else(|| within(self.reach));
        let near = far.and_then(|(_, ratio, ..)| within(0.55 * ratio.ln()));
        let mut ticks = vec![(50.0, "same")];
        for (low, high, less, more) in [far, near].into_iter().flatten() {
            ticks.extend([(self.place(low), less), (self.place(high), more)]);
        }
        ticks.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        // Labels too close to the middle are left out.
        ticks.retain(|(place, _)| *place == 50.0 || (place - 50.0).abs() > LABEL);
        ticks
    }
}

/// Rounded to hundredths.
fn hundredths(percent: f64) -> f64 {
    (percent * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_and_its_opposite_are_as_far_from_the_middle() {
        let axis = Axis { reach: 10_f64.ln() };
        assert_eq!([0.1, 1.0, 10.0, 0.0, 99.0].map(|ratio| axis.place(ratio)), [0.0, 50.0, 100.0, 0.0, 100.0]);
        assert!((axis.place(2.0) - 50.0 - (50.0 - axis.place(0.5))).abs() < 0.011);
        let labels = |axis: &Axis| -> Vec<&str> { axis.ticks().into_iter().map(|(_, label)| label).collect() };
        assert_eq!(labels(&axis), ["÷5", "÷2", "same", "×2", "×5"]);
        assert_eq!(labels(&Axis { reach: 1.06_f64.ln() }), ["−5 %", "−2 %", "same", "+2 %", "+5 %"]);
    }
}
