//! What ranks say of a change, beside the means that decide: whether one side tends to be above the other whatever the size
//! of single figures, how often, and by how much in the middle.
//!
//! A few repetitions far off move a mean, or hide its change; they hardly move ranks. So where the two disagree it is said. It
//! changes no verdict, and is not looked at below four repetitions a side: of three against three no order of all
//! six is rare enough to tell anything. Arms that were measured as pairs are tested as pairs. p-values are adjusted over all
//! workloads of a figure, as those of the means are.
//! Sources: see [`cliffs_delta`], [`shift`], [`pseudomedian`], [`mann_whitney`], [`signed_rank`] and [`adjusted_p_values`].

use super::{Change, Standing};
use crate::statistics::{adjusted_p_values, cliffs_delta, mann_whitney, pseudomedian, shift, signed_rank};
use halfpower_model::{Estimate, Quantity};
use serde::Serialize;

/// The fewest repetitions of either side.
const OF_EACH_MIN: usize = 4;
/// A p-value up to here is told.
const TOLD: f64 = 0.05;

/// Which repetitions belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pairing {
    /// None: the sides were measured at different times.
    Apart,
    /// The first of one side with the first of the other, and so on: neighbours in time.
    InOrder,
}

/// What ranks say of a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ranks {
    /// How the p-value was found.
    pub test: RankedBy,
    /// Cliff's δ: how much more often a repetition after is above one before than below it, from -1 to 1.
    pub delta: Estimate,
    /// After over before by Hodges and Lehmann, of logarithms.
    pub shift: Estimate,
    /// The chance of ranks as far apart or further where nothing differs, adjusted over all workloads of the figure.
    pub p_value: f64,
    /// In what ranks and means disagree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disagreement: Option<Disagreement>,
}

/// A rank test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RankedBy {
    /// Of two sides apart.
    MannWhitney,
    /// Of pairs.
    SignedRank,
}

/// In what ranks and means disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Disagreement {
    /// The means differ, and ranks do not tell it: p is above 5 %, and the interval of δ holds 0.
    OnlyMeans,
    /// The ranks differ, and the means do not tell it.
    OnlyRanks,
    /// They differ in opposite directions.
    Opposite,
}

impl Ranks {
    /// Of the repetitions of two sides, which are above zero; the p-value is not adjusted yet. None with too few of either,
    /// or where all are equal.
    pub(super) fn of(before: &[f64], after: &[f64], pairing: Pairing) -> Option<Ranks> {
        if before.len().min(after.len()) < OF_EACH_MIN {
            return None;
        }
        let [old, new] = [before, after].map(|values| values.iter().map(|value| value.ln()).collect::<Vec<f64>>());
        let (test, shift, p_value) = if pairing == Pairing::InOrder && old.len() == new.len() {
            let differences: Vec<f64> = new.iter().zip(&old).map(|(new, old)| new - old).collect();
            let shift = pseudomedian(Quantity::Ratio, &differences)?;
            (RankedBy::SignedRank, shift, signed_rank(&differences)?.p_value)
        } else {
            let shift = shift(Quantity::Ratio, &new, &old)?;
            (RankedBy::MannWhitney, shift, mann_whitney(&new, &old)?.p_value)
        };
        let (low, high) = (shift.low.map(f64::exp), shift.high.map(f64::exp));
        let shift = Estimate { value: shift.value.exp(), low, high, ..shift };
        Some(Ranks { test, delta: cliffs_delta(after, before)?, shift, p_value, disagreement: None })
    }

    fn disagreement(&self, standing: Standing, ratio: Estimate) -> Option<Disagreement> {
        let is_told = self.p_value <= TOLD;
        // Where its interval leaves 0 out ranks show it, though few repetitions or many workloads keep p above the line.
        let holds_zero = self.delta.low.zip(self.delta.high).is_some_and(|(low, high)| low <= 0.0 && 0.0 <= high);
        let leaves_one_open = ratio.low.is_none_or(|low| low <= 1.0) && ratio.high.is_none_or(|high| high >= 1.0);
        match standing {
            Standing::Better | Standing::Worse if is_told => {
                ((self.shift.value > 1.0) != (ratio.value > 1.0)).then_some(Disagreement::Opposite)
            }
            Standing::Better | Standing::Worse => holds_zero.then_some(Disagreement::OnlyMeans),
            Standing::Undecided => (is_told && leaves_one_open).then_some(Disagreement::OnlyRanks),
            Standing::Equivalent => None,
        }
    }
}

/// Adjusts the p-values of all changes of a figure, and says where ranks and means disagree.
pub(super) fn settle<'a>(changes: impl Iterator<Item = &'a mut Change>) {
    let mut changes: Vec<&mut Change> = changes.filter(|change| change.ranks.is_some()).collect();
    let p_values: Vec<f64> = changes.iter().filter_map(|change| Some(change.ranks?.p_value)).collect();
    for (change, p_value) in changes.iter_mut().zip(adjusted_p_values(&p_values)) {
        let (standing, ratio) = (change.standing, change.ratio);
        if let Some(ranks) = &mut change.ranks {
            ranks.p_value = p_value;
            ranks.disagreement = ranks.disagreement(standing, ratio);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Comparison, Figure, Margins, against_itself, compare};
    use crate::support::{Run, read};
    use halfpower_model::Sample;

    fn compared(cells: &[(&[f64], &[f64])]) -> Comparison {
        let (mut before, mut after) = (Run::default(), Run::default());
        for (kib, (old, new)) in (0..).map(|exponent| 4 << exponent).zip(cells) {
            before.add(read(kib), old);
            after.add(read(kib), new);
        }
        let [before, after] =
            [&before, &after].map(|run| run.samples.iter().map(|placed| &placed.sample).collect::<Vec<&Sample>>());
        compare(&before, &after, Margins::Usual)
    }

    fn change(comparison: &Comparison, cell: usize) -> &Change {
        comparison.cells[cell].change(Figure::Throughput).unwrap()
    }

    const OLD: [f64; 5] = [98e6, 99e6, 100e6, 101e6, 102e6];

    #[test]
    fn four_a_side_have_ranks_and_three_have_none() {
        let comparison = compared(&[(&OLD[..4], &[2.0e8, 2.1e8, 2.2e8, 2.3e8]), (&OLD[..3], &[2e8; 3])]);
        let ranks = change(&comparison, 0).ranks.unwrap();
        // All of four above all of four: one order of 70, either way.
        assert!((ranks.p_value - 2.0 / 70.0).abs() < 1e-12 && ranks.test == RankedBy::MannWhitney, "{ranks:?}");
        assert_eq!((ranks.delta.value, ranks.disagreement), (1.0, None));
        // The middle of the sixteen ratios is between 2.2/101 × 100 … and lies between 2.1/0.99 and 2.2/0.99.
        assert!((2.1..2.23).contains(&ranks.shift.value), "{ranks:?}");
        assert_eq!(change(&comparison, 1).ranks, None);
    }

    #[test]
    fn p_values_are_adjusted_over_the_workloads() {
        let same: &[f64] = &[98.5e6, 99.5e6, 100.5e6, 101.5e6, 100.2e6];
        let doubled = OLD.map(|rate| 2.0 * rate);
        let alone = change(&compared(&[(&OLD, &doubled)]), 0).ranks.unwrap().p_value;
        let comparison = compared(&[(&OLD, &doubled), (&OLD, same), (&OLD, same), (&OLD, same)]);
        let among = change(&comparison, 0).ranks.unwrap().p_value;
        assert!((among - 4.0 * alone).abs() < 1e-12, "{alone} {among}");
    }

    #[test]
    fn where_means_and_ranks_disagree_it_is_said() {
        // One repetition of eight far off hides a change that every other one shows.
        let old = [98e6, 99e6, 99.5e6, 100e6, 100.5e6, 101e6, 102e6, 103e6];
        let mut hidden = old.map(|rate| 0.9 * rate);
        hidden[3] = 400e6;
        let comparison = compared(&[(&old, &hidden)]);
        let one = change(&comparison, 0);
        assert_eq!(
            (one.standing, one.ranks.unwrap().disagreement),
            (Standing::Undecided, Some(Disagreement::OnlyRanks))
        );
        let agreed = compared(&[(&old, &old.map(|rate| 0.9 * rate)), (&old, &old)]);
        for (cell, standing) in [(0, Standing::Worse), (1, Standing::Equivalent)] {
            let one = change(&agreed, cell);
            assert_eq!((one.standing, one.ranks.unwrap().disagreement), (standing, None));
        }
    }

    #[test]
    fn each_kind_of_disagreement_by_its_rule() {
        let ratio = |value: f64, low: f64, high: f64| Estimate {
            quantity: Quantity::Ratio,
            value,
            low: Some(low),
            high: Some(high),
            repetitions: 5,
        };
        let ranks = |p_value: f64, delta: f64, shift: f64| {
            let [delta, shift] = [ratio(delta, delta - 0.3, delta + 0.3), ratio(shift, shift, shift)];
            Ranks { test: RankedBy::MannWhitney, delta, shift, p_value, disagreement: None }
        };
        let higher = ratio(1.2, 1.1, 1.3);
        let said = |ranks: Ranks, standing| ranks.disagreement(standing, higher);
        assert_eq!(said(ranks(0.2, 0.2, 1.1), Standing::Better), Some(Disagreement::OnlyMeans));
        assert_eq!(said(ranks(0.052, 0.6, 1.1), Standing::Better), None, "δ leaves 0 out, whatever the adjusted p");
        assert_eq!(said(ranks(0.06, 1.0, 1.1), Standing::Better), None, "wholly apart, and too few to tell more");
        assert_eq!(said(ranks(0.01, 0.9, 1.1), Standing::Better), None);
        assert_eq!(said(ranks(0.01, -0.9, 0.9), Standing::Worse), Some(Disagreement::Opposite));
        assert_eq!(said(ranks(0.01, 0.9, 1.1), Standing::Undecided), None, "sure to differ, but not by how much");
        let open = ratio(1.2, 0.9, 1.5);
        assert_eq!(ranks(0.01, 0.9, 1.1).disagreement(Standing::Undecided, open), Some(Disagreement::OnlyRanks));
        assert_eq!(ranks(0.2, 0.5, 1.1).disagreement(Standing::Undecided, open), None);
    }

    #[test]
    fn arms_of_one_run_are_tested_as_pairs() {
        let mut run = Run::default();
        // Twelve repetitions that fall by a third: pairs differ little, the arms scatter much.
        let rates: Vec<f64> = (0..12).map(|block| 1e8 * (1.0 - 0.03 * f64::from(block))).collect();
        run.add(read(4), &rates);
        let noise = against_itself(&run.observed(), 1).unwrap();
        let ranks = change(&noise.comparison, 0).ranks.unwrap();
        assert_eq!(ranks.test, RankedBy::SignedRank);
        assert!((0.96..1.04).contains(&ranks.shift.value) && ranks.shift.low.unwrap() > 0.94, "{ranks:?}");
        // One that failed takes its pair with it.
        run.samples[2].sample.failure =
            Some(halfpower_model::sample::Failure { code: "EIO".to_owned(), message: "it broke".to_owned() });
        let noise = against_itself(&run.observed(), 1).unwrap();
        let change = change(&noise.comparison, 0);
        assert_eq!((change.before.repetitions, change.after.repetitions), (5, 5));
        assert_eq!(change.ranks.unwrap().test, RankedBy::SignedRank);
    }
}
