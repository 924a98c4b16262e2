//! Noise of a machine: a run compared with itself (A/A comparison).
//!
//! The repetitions of a workload form pairs, and the run's seed assigns the two of each pair to the arms at random. Nothing changed
//! between the arms, so every difference is noise within a run. Differences between runs, such as file placement, are not
//! included; but in comparisons of two runs it counts as an earlier one.
//! Source: Kohavi, Longbotham, Sommerfield and Henne, "Controlled experiments on the web: survey and practical guide",
//! Data Mining and Knowledge Discovery 18 (2009).

use super::compare::{Comparison, Design, Method, compare};
use super::figure::Figure;
use crate::cells::{Cell, Observed, gather, is_usable};
use crate::statistics::{RandomisedBlocks, median_estimate};
use halfpower_model::random::derive_seed;
use halfpower_model::units::significant;
use halfpower_model::{Estimate, Quantity, Sample};
use serde::Serialize;
use std::collections::BTreeMap;

/// A run compared with itself.
#[derive(Clone, Debug, Serialize)]
pub struct Noise {
    /// In one line.
    pub sentence: String,
    /// Figures with an interval in some workload.
    pub figures: Vec<FigureNoise>,
    /// Variance components of throughput; needs two workloads in the same blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scatter: Option<Scatter>,
    /// The arms compared by the default margins.
    pub comparison: Comparison,
}

/// Variance components of throughput over complete workloads, as relative deviations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scatter {
    /// Between blocks: drift of the machine, removed by interleaving.
    pub between_blocks: f64,
    /// Within a block, reduced by more repetitions only.
    pub within_blocks: f64,
    /// Number of blocks.
    pub blocks: usize,
    /// Number of workloads.
    pub workloads: usize,
}

impl Scatter {
    /// Randomised-blocks analysis of logarithms: workload + block + scatter.
    fn of(samples: &[Observed<'_>]) -> Option<Scatter> {
        let cells = gather(samples);
        let most = cells.iter().map(|cell| cell.repetitions.len()).max()?;
        let is_whole = |cell: &&Cell<'_>| {
            cell.bytes_per_s.len() == most && cell.failed == 0 && cell.bytes_per_s.iter().all(|rate| *rate > 0.0)
        };
        let logarithms = |cell: &Cell<'_>| cell.bytes_per_s.iter().map(|rate| rate.ln()).collect::<Vec<f64>>();
        let table: Vec<Vec<f64>> = cells.iter().filter(is_whole).map(logarithms).collect();
        let deviations = RandomisedBlocks::of(&table)?;
        Some(Scatter {
            between_blocks: deviations.between.exp() - 1.0,
            within_blocks: deviations.within.exp() - 1.0,
            blocks: most,
            workloads: table.len(),
        })
    }

    /// Both in a sentence, with the remedies.
    pub fn sentence(&self) -> String {
        let [between, within] =
            [self.between_blocks, self.within_blocks].map(|share| format!("{} %", significant(share * 100.0)));
        format!(
            "Throughput varies by {between} between blocks, as the machine changes over time, and by {within} within a block. \
             Interleaving removes the first; more repetitions average out the second."
        )
    }
}

/// Difference of a figure between the arms; 0.02 is a factor of 1.02 either way.
#[derive(Clone, Debug, Serialize)]
pub struct FigureNoise {
    /// The figure.
    pub figure: Figure,
    /// Workloads with an interval.
    pub workloads: usize,
    /// Median difference.
    pub median_difference: f64,
    /// Largest difference.
    pub largest_difference: f64,
    /// Its workload.
    pub largest_of: String,
    /// Workloads that the default margin calls changed.
    pub called_changed: usize,
}

/// Compares a run with itself; `seed` is the run's. None without an interval: four repetitions are needed.
pub fn against_itself(samples: &[Observed<'_>], seed: u64) -> Option<Noise> {
    let mut pairs: BTreeMap<(u32, u32), Vec<&Observed<'_>>> = BTreeMap::new();
    for observed in samples.iter().filter(|observed| is_usable(observed.sample)) {
        pairs.entry((observed.cell, observed.block / 2)).or_default().push(observed);
    }
    let (mut first, mut second): (Vec<&Sample>, Vec<&Sample>) = (Vec::new(), Vec::new());
    for ((cell, pair), both) in &pairs {
        // A repetition without its partner is skipped.
        let [one, other] = both[..] else { continue };
        let drawn = derive_seed(derive_seed(seed, u64::from(*cell)), u64::from(*pair));
        let is_first = drawn & 1 == u64::from(one.block & 1);
        let (one, other) = if is_first { (one, other) } else { (other, one) };
        first.push(one.sample);
        second.push(other.sample);
    }
    let comparison = compare(&[first], &[second], Method { design: Design::Pairs, ..Method::default() });
    let figures: Vec<FigureNoise> =
        Figure::ALL.into_iter().filter_map(|figure| of_figure(&comparison, figure)).collect();
    let sentence = sentence(figures.first()?);
    Some(Noise { sentence, figures, scatter: Scatter::of(samples), comparison })
}

fn of_figure(comparison: &Comparison, figure: Figure) -> Option<FigureNoise> {
    let changes = || comparison.cells.iter().filter_map(move |cell| Some((cell, cell.change(figure)?)));
    let with_interval = || changes().filter(|(_, change)| change.ratio.low.is_some() && change.ratio.high.is_some());
    let differences: Vec<f64> = with_interval().map(|(_, change)| difference(change.ratio)).collect();
    let (furthest, change) =
        with_interval().max_by(|one, other| difference(one.1.ratio).total_cmp(&difference(other.1.ratio)))?;
    Some(FigureNoise {
        figure,
        workloads: differences.len(),
        median_difference: median(&differences)?,
        largest_difference: difference(change.ratio),
        largest_of: furthest.name.clone(),
        called_changed: with_interval().filter(|(_, change)| change.standing.is_change()).count(),
    })
}

fn median(shares: &[f64]) -> Option<f64> {
    Some(median_estimate(Quantity::Ratio, shares)?.value)
}

/// Distance of a ratio from 1, either way.
fn difference(ratio: Estimate) -> f64 {
    ratio.value.max(1.0 / ratio.value) - 1.0
}

fn sentence(noise: &FigureNoise) -> String {
    let percent = |share: f64| format!("{} %", significant(share * 100.0));
    let FigureNoise { figure, workloads, largest_of, .. } = noise;
    let (most, changed) = (percent(noise.largest_difference), noise.called_changed);
    let verdict = match changed {
        0 => "none is reported as a change".to_owned(),
        1 => "1 is reported as a change, although nothing changed".to_owned(),
        changed => format!("{changed} are reported as changes, although nothing changed"),
    };
    let found = match workloads {
        1 => format!("two halves of the run differed by {most} in {} ({largest_of})", figure.name()),
        _ => format!(
            "two halves of the run differed in {} by less than {} in half of {workloads} workloads, and by at most {most} \
             ({largest_of})",
            figure.name(),
            percent(noise.median_difference),
        ),
    };
    format!("Noise of this machine: {found}; {verdict}.")
}
