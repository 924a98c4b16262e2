//! The words of a comparison, for page and terminal.

use crate::report::table::Table;
use halfpower_analysis::comparison::{Change, Comparison, Difference, Doubt, Figure, Standing};
use halfpower_model::units::significant;

/// A verdict in a word.
pub(super) fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Better => "better",
        Standing::Worse => "worse",
        Standing::Equivalent => "equivalent",
        Standing::Undecided => "undecided",
    }
}

/// A ratio as a change: `+3.1`, in percent; 0 below a thousandth.
pub(super) fn signed(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    match percent {
        _ if percent.abs() < 0.001 => "0".to_owned(),
        _ if percent < 0.0 => format!("−{}", significant(-percent)),
        _ => format!("+{}", significant(percent)),
    }
}

/// The basis of a verdict: `+1.2 to +5`, and any further reason why it is undecided.
pub(super) fn basis(change: &Change) -> String {
    let doubt = match change.doubt {
        Some(Doubt::OneOfMany { workloads }) => format!("; one of {workloads} looked at"),
        None => String::new(),
    };
    format!("{}{doubt}", interval(change))
}

fn interval(change: &Change) -> String {
    match (change.ratio.low, change.ratio.high) {
        _ if change.same_samples => "the same, sample by sample".to_owned(),
        (Some(low), Some(high)) => format!("{} to {}", signed(low), signed(high)),
        _ if change.single => "one sample".to_owned(),
        _ => "they scatter too much for an interval".to_owned(),
    }
}

/// From this number on, facts that only one side records share a row.
const ONE_SIDED_MOST: usize = 8;

/// Each difference with its two sides. Results of another program lack many facts; these share one row.
pub(super) fn differences(fact: &str, comparison: &Comparison) -> Table {
    let [before, after] = comparison.sides.each_ref().map(|side| side.name);
    let differences = &comparison.differences;
    let (one_sided, both): (Vec<_>, Vec<_>) = differences.iter().partition(|difference| difference.is_one_sided());
    let row = |of: &Difference| [of.fact.clone(), format!("{} → {}", of.before.join(", "), of.after.join(", "))];
    let head = [fact, &format!("{before} → {after}")];
    if one_sided.len() < ONE_SIDED_MOST {
        return Table::new(head, differences.iter().map(row));
    }
    let mut heads: Vec<&str> = one_sided.iter().filter_map(|difference| difference.fact.split('.').next()).collect();
    heads.dedup();
    let summary = [format!("{} facts recorded on one side only", one_sided.len()), format!("of {}", heads.join(", "))];
    Table::new(head, both.into_iter().map(row).chain([summary]))
}

pub(super) fn title(figure: Figure) -> &'static str {
    match figure {
        Figure::Throughput => "throughput",
        Figure::ParentThroughput => "throughput, as the parent sees it",
        Figure::TailLatency => "p99 latency",
        Figure::CpuCost => "CPU time",
    }
}
