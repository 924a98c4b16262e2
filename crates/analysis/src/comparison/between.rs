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
//! Two repetitions may agree by chance on a busy machine, so the variance of repetitions is at least the median over all
//! workloads of the comparison. Other programs slow a run down by what they take, and none knows how much they took of the next:
//! their share ([`Load`]) is one more deviation of a run, unless several named runs show it. Of these, the shares of both sides may
//! differ.
//!
//! The change is then judged by Student's t. Sources: Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM
//! 2013, for the levels; Searle, Casella and McCulloch, "Variance Components" (1992), chapter 3, for the one-way random model;
//! Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics Bulletin 2 (1946), for the
//! degrees of freedom of a sum.

use super::change::{Basis, ComparedCell, Variation};
use super::figure::Figure;
use super::load::Load;
use crate::statistics::{Contrast, Margin, mean, variance, with_known};
use halfpower_model::units::significant;
use serde::Serialize;

/// From this many degrees of freedom on, measured variation replaces the assumed one: three runs of one state.
const FREEDOM_LEAST: f64 = 2.0;

/// From this share on the verdict names other programs.
pub(super) const BUSY: f64 = 0.2;

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

/// By how much the load varies a figure, as a multiple of its share. A rule set by hand, by the surveys in docs/decisions/comparison.md.
pub(super) fn by_load(figure: Figure) -> f64 {
    if figure == Figure::TailLatency { 2.0 } else { 1.0 }
}

/// The variation that is assumed of a single sample, whose own scatter nothing shows: two differ by up to a factor of 1.5, or
/// of 4 in p99 latency. A rule set by hand.
fn assumed_of_one(figure: Figure) -> f64 {
    let factor: f64 = if figure == Figure::TailLatency { 4.0 } else { 1.5 };
    factor.ln() / (1.96 * 2.0_f64.sqrt())
}

/// The variance of single repetitions in the logarithm, and its degrees of freedom.
type Scatter = (f64, f64);

/// The scatter of a run's repetitions.
fn of_run(run: &[f64]) -> (usize, Option<f64>) {
    (run.len(), variance(&run.iter().map(|figure| figure.ln()).collect::<Vec<_>>()))
}

/// The median scatter of repetitions over workloads, each with its runs of both sides.
pub(super) fn usual<'a>(workloads: impl Iterator<Item = [&'a Runs; 2]>) -> Scatter {
    let of_workload = |sides: [&'a Runs; 2]| pooled(sides.into_iter().flatten().map(|run| of_run(run)));
    let known: Vec<Scatter> = workloads.map(of_workload).filter(|(_, freedom)| *freedom > 0.0).collect();
    // The median of such a variance lies below it (Wilson and Hilferty, PNAS 17 (1931)).
    let mut variances: Vec<f64> =
        known.iter().map(|(variance, freedom)| variance / (1.0 - 2.0 / (9.0 * freedom)).powi(3)).collect();
    variances.sort_by(f64::total_cmp);
    let median = variances.get(variances.len() / 2).copied();
    (median.unwrap_or(0.0), known.iter().map(|(_, freedom)| freedom).sum())
}

/// What comes from beside the repetitions of one workload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside {
    /// The scatter of other workloads.
    pub(super) usual: Scatter,
    /// The load of both sides.
    pub(super) load: [Load; 2],
}

/// The change from the old runs to the new ones, and the variation it was judged by. None if a side has no runs.
pub(super) fn change(
    figure: Figure,
    [old, new, earlier]: [&Runs; 3],
    Beside { usual, load }: Beside,
    margin: Margin,
) -> Option<(Contrast, Variation)> {
    let logarithms = |runs: &Runs| runs.iter().map(|run| Some(mean(run)?.ln())).collect::<Option<Vec<f64>>>();
    let (of_old, of_new) = (logarithms(old)?, logarithms(new)?);
    let logarithm = mean(&of_new)? - mean(&of_old)?;
    let are_several = of_old.len() > 1 && of_new.len() > 1;
    let earlier = if are_several { &Vec::new() } else { earlier };
    let before = [of_old.as_slice(), &logarithms(earlier)?].concat();
    let (between, freedom) = pooled([before.as_slice(), &of_new].map(|group| (group.len(), variance(group))));
    let [of_before, of_after] = load.map(|load| load.most() * by_load(figure));
    let of_load = of_before.max(of_after).powi(2);
    let own = pooled([old, new].into_iter().flatten().map(|run| of_run(run)));
    let (within, freedom_within) = if own.0 < usual.0 { usual } else { own };
    let runs = before.len() + of_new.len();
    let (basis, (variance, freedom)) = match () {
        () if are_several => (Basis::NamedRuns, (between, freedom)),
        () if freedom >= FREEDOM_LEAST => {
            let basis = if earlier.is_empty() { Basis::NamedRuns } else { Basis::EarlierRuns };
            let (seen, freedom) = if within > between { (within, freedom_within) } else { (between, freedom) };
            (basis, with_known(seen, freedom, of_load))
        }
        () => {
            let [of_old_samples, of_new_samples] = [old, new].map(|runs| runs.iter().map(Vec::len).sum::<usize>());
            let (samples, is_single) = (of_old_samples + of_new_samples, of_old_samples.min(of_new_samples) == 1);
            let share = if is_single { assumed_of_one(figure) } else { assumed(figure) };
            // Of the state of a run, and of the mean of its repetitions.
            let within = within * (1.0 + (of_old.len() + of_new.len()) as f64 / samples as f64);
            (Basis::Assumed, with_known(within, freedom_within, share.powi(2).max(between) + of_load))
        }
    };
    let of_sides = if are_several { (of_before - of_after).powi(2) } else { 0.0 };
    let of_means = variance * (1.0 / of_old.len() as f64 + 1.0 / of_new.len() as f64);
    let of_change = with_known(of_means, freedom, of_sides);
    let contrast = Contrast::of_logarithm(logarithm, Some(of_change), margin);
    Some((contrast, Variation { share: variance.sqrt(), freedom, basis, runs }))
}

/// The mean variance of groups, by their degrees of freedom, and the sum of these.
fn pooled(groups: impl IntoIterator<Item = (usize, Option<f64>)>) -> Scatter {
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
    /// What other programs did meanwhile, of both sides.
    pub load: [Load; 2],
}

impl Between {
    /// For the verdict's line: `runs vary by 1.2 %`.
    pub(super) fn brief(&self) -> String {
        let verb = if self.basis == Basis::Assumed { "are assumed to vary" } else { "vary" };
        let is_beside = self.load.iter().any(|load| load.most() >= BUSY);
        let beside = if is_beside { " beside other programs" } else { "" };
        format!("runs {verb} by {} %{beside}", significant(self.variation * 100.0))
    }

    /// None if no throughput was judged by it.
    pub(super) fn of(cells: &[ComparedCell], load: [Load; 2]) -> Option<Between> {
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
                "Fewer than two earlier runs of these workloads are stored: {percent} variation of throughput between runs is \
                 assumed{}. `halfpower ab`, or several runs on each side, made in turn, are surer.",
                if median.is_empty() { median } else { format!(" ({})", &median[2..]) }
            ),
        };
        let others = all.len() - of_basis.len();
        let others =
            if others > 0 { format!(" {others} of {} workloads differ in this.", all.len()) } else { String::new() };
        let beside = Load::in_words(load, ["before", "after"]).map(|words| format!(" {words}.")).unwrap_or_default();
        Some(Between { sentence: sentence + &others + &beside, basis, variation: share, runs, load })
    }
}
