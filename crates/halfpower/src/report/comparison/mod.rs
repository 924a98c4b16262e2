//! A comparison for people: a page with a forest plot, and the same for a terminal. Both say the verdict first, then what
//! differs in what the two were measured on, then each workload's figures. Nothing is worked out here.

mod forest;
mod page;
mod text;

pub(crate) use page::{ComparisonInput, comparison_html};
pub(crate) use text::comparison_text;

use halfpower_analysis::comparison::{Change, Difference, Doubt, Figure, Standing};
use halfpower_model::units::significant;

/// In a word.
fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Better => "better",
        Standing::Worse => "worse",
        Standing::Equivalent => "equivalent",
        Standing::Undecided => "undecided",
    }
}

/// A ratio as a change: `+3.1`, in percent.
fn signed(ratio: f64) -> String {
    let share = (ratio - 1.0) * 100.0;
    format!("{}{}", if share < 0.0 { "−" } else { "+" }, significant(share.abs()))
}

/// What the verdict rests on: `+1.2 to +5`, and what else keeps it undecided.
fn basis(change: &Change) -> String {
    let doubt = change.doubt.map(|doubt| format!("; {}", in_doubt(doubt))).unwrap_or_default();
    format!("{}{doubt}", interval(change))
}

fn in_doubt(doubt: Doubt) -> String {
    match doubt {
        Doubt::OneOfMany { workloads } => format!("one of {workloads} looked at"),
        Doubt::NoiseMayExplain => "the same may differ as far".to_owned(),
        Doubt::TooNoisy => "the same differs by too much to tell".to_owned(),
    }
}

fn interval(change: &Change) -> String {
    match (change.ratio.low, change.ratio.high) {
        _ if change.same_samples => "the same, sample by sample".to_owned(),
        (Some(low), Some(high)) => format!("{} to {}", signed(low), signed(high)),
        _ if !change.single => "they scatter too much for an interval".to_owned(),
        _ if change.standing == Standing::Undecided => "one sample".to_owned(),
        _ => {
            let margin = change.margin.map_or(1.0, |margin| margin.ends().1);
            format!("one sample, but more than {} times", significant(change.figure.plausible_noise().max(margin)))
        }
    }
}

/// From so many on, facts that only one side tells are told in one row.
const ONE_SIDED_MOST: usize = 8;

/// Each difference with its two sides. Of many facts that only one side tells, as another program's results have it, one row
/// says what they are of.
fn difference_rows(differences: &[Difference]) -> Vec<[String; 2]> {
    let (one_sided, both): (Vec<_>, Vec<_>) = differences.iter().partition(|difference| difference.is_one_sided());
    let row = |difference: &&Difference| [difference.fact.clone(), arrow(difference)];
    if one_sided.len() < ONE_SIDED_MOST {
        return differences.iter().map(|difference| row(&difference)).collect();
    }
    let mut heads: Vec<&str> = one_sided.iter().filter_map(|difference| difference.fact.split('.').next()).collect();
    heads.dedup();
    let told = [format!("{} facts that only one side tells", one_sided.len()), format!("of {}", heads.join(", "))];
    both.iter().map(row).chain([told]).collect()
}

/// A difference as `before → after`.
fn arrow(difference: &Difference) -> String {
    format!("{} → {}", difference.before.join(", "), difference.after.join(", "))
}

fn title(figure: Figure) -> &'static str {
    match figure {
        Figure::Throughput => "throughput",
        Figure::ParentThroughput => "throughput, as the parent sees it",
        Figure::TailLatency => "p99 latency",
        Figure::ProcessorCost => "CPU time",
    }
}
