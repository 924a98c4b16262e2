//! A change between runs, judged by the variation between runs.
//!
//! A run is one draw of a state: where its file lies, what else the host did, how warm the device was. Its repetitions show
//! how precisely the run measured that state, not how far the next run will be. So the observation is the mean of a run, in
//! two levels: logarithm of a figure = workload + run + repetition. The variance of run means comes from
//!
//! 1. the named runs, if each side has several;
//! 2. the named and earlier runs of the same workload, or several runs of the other side, from two degrees of freedom on;
//!    but it is at least that of single repetitions, because load comes and goes, and runs close in time share it;
//! 3. else an assumed variation, learned from identical runs (`bench/between_runs.py`, docs/decisions/comparison.md), plus
//!    the variance of single repetitions and that of their mean.
//!
//! The change is then judged by Student's t. Sources: Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM
//! 2013, for the levels; Searle, Casella and McCulloch, "Variance Components" (1992), chapter 3, for the one-way random model;
//! Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics Bulletin 2 (1946), for the
//! degrees of freedom of a sum.

use super::change::{Basis, ComparedCell, Variation};
use super::figure::Figure;
use crate::statistics::{Contrast, Margin, mean, variance};
use halfpower_model::units::significant;
use serde::Serialize;

/// From this many degrees of freedom on, measured variation replaces the assumed one: three runs of one state.
const FREEDOM_LEAST: f64 = 2.0;
/// Stands for a variance that is known.
const KNOWN: f64 = 1e6;

/// The figure of each repetition, by run.
pub(super) type Runs = Vec<Vec<f64>>;

/// The variation of a 99th percentile between runs that is assumed, as a share.
pub(crate) const ASSUMED_OF_P99: f64 = 0.20;

/// The variation between runs that is assumed beside the scatter of repetitions, as a share.
fn assumed(figure: Figure) -> f64 {
    match figure {
        Figure::Throughput | Figure::ParentThroughput => 0.12,
        Figure::CpuCost => 0.08,
        Figure::TailLatency => ASSUMED_OF_P99,
    }
}

/// The variation that is assumed of a single sample, whose own scatter nothing shows: two differ by up to a factor of 1.5, or
/// of 4 in p99 latency. A rule set by hand.
fn assumed_of_one(figure: Figure) -> f64 {
    let factor: f64 = if figure == Figure::TailLatency { 4.0 } else { 1.5 };
    factor.ln() / (1.96 * 2.0_f64.sqrt())
}

/// The change from the old runs to the new ones, and the variation it was judged by. None if a side has no runs.
pub(super) fn change(figure: Figure, [old, new, earlier]: [&Runs; 3], margin: Margin) -> Option<(Contrast, Variation)> {
    let logarithms = |runs: &Runs| runs.iter().map(|run| Some(mean(run)?.ln())).collect::<Option<Vec<f64>>>();
    let (of_old, of_new) = (logarithms(old)?, logarithms(new)?);
    let logarithm = mean(&of_new)? - mean(&of_old)?;
    let are_several = of_old.len() > 1 && of_new.len() > 1;
    let earlier = if are_several { &Vec::new() } else { earlier };
    let before = [of_old.as_slice(), &logarithms(earlier)?].concat();
    let (between, freedom) = pooled([before.as_slice(), &of_new].map(|group| (group.len(), variance(group))));
    // Relative, as that of a logarithm.
    let of_run =
        |run: &Vec<f64>| (run.len(), variance(run).zip(mean(run)).map(|(variance, mean)| variance / mean.powi(2)));
    let (within, freedom_within) = pooled([old, new].into_iter().flatten().map(of_run));
    let runs = before.len() + of_new.len();
    let (basis, (variance, freedom)) = match () {
        () if are_several => (Basis::NamedRuns, (between, freedom)),
        () if freedom >= FREEDOM_LEAST => {
            let basis = if earlier.is_empty() { Basis::NamedRuns } else { Basis::EarlierRuns };
            (basis, if within > between { (within, freedom_within) } else { (between, freedom) })
        }
        () => {
            let [of_old_samples, of_new_samples] = [old, new].map(|runs| runs.iter().map(Vec::len).sum::<usize>());
            let (samples, is_single) = (of_old_samples + of_new_samples, of_old_samples.min(of_new_samples) == 1);
            let share = if is_single { assumed_of_one(figure) } else { assumed(figure) };
            // Of the state of a run, and of the mean of its repetitions.
            let within = within * (1.0 + (of_old.len() + of_new.len()) as f64 / samples as f64);
            let all = share.powi(2).max(between) + within;
            let freedom = (all / within).powi(2) * freedom_within;
            (Basis::Assumed, (all, if within > 0.0 { freedom.min(KNOWN) } else { KNOWN }))
        }
    };
    let variance_of_change = variance * (1.0 / of_old.len() as f64 + 1.0 / of_new.len() as f64);
    let contrast = Contrast::of_logarithm(logarithm, Some((variance_of_change, freedom)), margin);
    Some((contrast, Variation { share: variance.sqrt(), freedom, basis, runs }))
}

/// The mean variance of groups, by their degrees of freedom, and the sum of these.
fn pooled(groups: impl IntoIterator<Item = (usize, Option<f64>)>) -> (f64, f64) {
    let parts = groups.into_iter().filter_map(|(count, variance)| Some((variance?, count as f64 - 1.0)));
    let (squares, freedom) =
        parts.fold((0.0, 0.0), |sum, (variance, freedom)| (sum.0 + variance * freedom, sum.1 + freedom));
    (if freedom > 0.0 { squares / freedom } else { 0.0 }, freedom)
}

/// How runs vary, over all workloads of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Between {
    /// In one line.
    pub sentence: String,
    /// The basis of most throughputs.
    pub basis: Basis,
    /// Median over the workloads of this basis, of throughput, as a share.
    pub variation: f64,
    /// Runs of which it is known, the compared ones included.
    pub runs: usize,
}

impl Between {
    /// For the verdict's line: `runs vary by 1.2 %`.
    pub(super) fn brief(&self) -> String {
        let verb = if self.basis == Basis::Assumed { "are assumed to vary" } else { "vary" };
        format!("runs {verb} by {} %", significant(self.variation * 100.0))
    }

    /// None if no throughput was judged by it.
    pub(super) fn of(cells: &[ComparedCell]) -> Option<Between> {
        let of_cell = |cell: &ComparedCell| cell.change(Figure::Throughput)?.variation;
        let all: Vec<Variation> = cells.iter().filter_map(of_cell).collect();
        let count = |basis| all.iter().filter(|variation| variation.basis == basis).count();
        let basis =
            [Basis::Assumed, Basis::EarlierRuns, Basis::NamedRuns].into_iter().max_by_key(|basis| count(*basis))?;
        let mut of_basis: Vec<Variation> = all.iter().filter(|variation| variation.basis == basis).copied().collect();
        of_basis.sort_by(|one, other| one.share.total_cmp(&other.share));
        let Variation { share, runs, .. } = *of_basis.get(of_basis.len() / 2)?;
        let percent = format!("{} %", significant(share * 100.0));
        let median =
            if of_basis.len() > 1 { format!(", median of {} workloads", of_basis.len()) } else { String::new() };
        let sentence = match basis {
            Basis::NamedRuns => {
                format!("Between runs: throughput varies by {percent} (CV{median}) among the {runs} compared runs.")
            }
            Basis::EarlierRuns => {
                format!(
                    "Between runs: throughput varies by {percent} (CV{median}) among these and earlier runs, {runs} in all."
                )
            }
            Basis::Assumed => format!(
                "Too few other runs of these workloads are stored: {percent} variation of throughput between runs is assumed{}. \
                 A busy machine varies more: `halfpower ab`, or several runs on each side, are surer.",
                if median.is_empty() { median } else { format!(" ({})", &median[2..]) }
            ),
        };
        let others = all.len() - of_basis.len();
        let others =
            if others > 0 { format!(" {others} of {} workloads differ in this.", all.len()) } else { String::new() };
        Some(Between { sentence: sentence + &others, basis, variation: share, runs })
    }
}
