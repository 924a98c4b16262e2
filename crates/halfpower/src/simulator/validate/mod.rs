//! Comparison of the simulated machines with published figures.
//!
//! A figure is simulated with its workloads, one sample each, and computed from the samples as in the papers: rates in
//! SQLIO's MB/s of 2^20 bytes, fixed and marginal CPU cost by the fit of the analysis. A figure that a machine cannot
//! simulate counts as outside its tolerance.

pub(super) mod command;
mod derive;
#[cfg(test)]
mod pages;
mod summary;
#[cfg(test)]
mod tests;

use super::paper_figures::{PaperFigure, Printed};
use super::published::Figure;
use crate::text::UsageError;
use halfpower_analysis::Observed;
use halfpower_model::{Cancel, Sample, Testbed, WorkloadSpec};
use halfpower_sim::{Simulated, shipped};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A published figure compared with a machine.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Checked {
    /// The figure.
    #[serde(flatten)]
    pub figure: Figure,
    /// The simulated figure; none if the machine has none.
    pub simulated: Option<f64>,
    /// Its error; none without a simulated figure.
    pub error: Option<f64>,
    /// Whether it is within the tolerance; none if it is left out.
    pub pass: Option<bool>,
    /// Why it was not simulated, is left out or is missed.
    pub reason: Option<String>,
    /// What is wrong with its reason: a missed figure has none, or a met one has one.
    pub fault: Option<&'static str>,
}

/// Counts of figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Tally {
    /// Figures that are compared.
    pub figures: usize,
    /// Those within their tolerance.
    pub within: usize,
    /// Those that no machine can simulate yet.
    pub not_simulated: usize,
    /// Figures that are left out.
    pub left_out: usize,
}

/// Share of the figures that must be within tolerance.
pub(crate) const ENOUGH: f64 = 0.9;

impl Tally {
    /// Counts the figures.
    pub(crate) fn of<'a>(checked: impl IntoIterator<Item = &'a Checked>) -> Tally {
        let mut tally = Tally { figures: 0, within: 0, not_simulated: 0, left_out: 0 };
        for figure in checked {
            match figure.pass {
                None => tally.left_out += 1,
                Some(pass) => {
                    tally.figures += 1;
                    tally.within += usize::from(pass);
                    tally.not_simulated += usize::from(figure.simulated.is_none());
                }
            }
        }
        tally
    }

    /// Whether enough figures are within tolerance.
    pub(crate) fn is_enough(&self) -> bool {
        self.within as f64 >= ENOUGH * self.figures as f64
    }
}

/// A sample that figures need: target and workload.
type Run<'a> = (&'a str, &'a WorkloadSpec);

/// Simulates the figures, on all CPUs.
pub(crate) fn check(figures: &[Figure]) -> Vec<Checked> {
    let runs: HashSet<Run<'_>> = figures.iter().filter(|figure| figure.left_out.is_none()).flat_map(runs_of).collect();
    let samples = simulate(&Vec::from_iter(runs));
    let value = |figure: &Figure| {
        let samples = runs_of(figure).map(|run| samples[&run].as_ref().map_err(Clone::clone));
        derive::value(&figure.measure, &samples.collect::<Result<Vec<_>, _>>()?)
    };
    figures.iter().map(|figure| judge(figure, || value(figure))).collect()
}

/// Computes the value of a run for each printed figure: the mean over its repetitions.
pub(crate) fn beside(figures: &mut [PaperFigure], samples: &[Observed<'_>]) {
    let taken: HashMap<(u32, u32), &Sample> =
        samples.iter().map(|observed| ((observed.cell, observed.block), observed.sample)).collect();
    let blocks = samples.iter().map(|observed| observed.block + 1).max().unwrap_or(0);
    let worth = |printed: &Printed| {
        let of_block = |block: u32| {
            let samples = printed.cells.iter().map(|cell| taken.get(&(*cell, block)).copied());
            derive::value(&printed.figure.measure, &samples.collect::<Option<Vec<_>>>()?).ok()
        };
        let values: Vec<f64> = (0..blocks).filter_map(of_block).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    for printed in figures.iter_mut().flat_map(|figure| &mut figure.printed) {
        printed.here = worth(printed);
    }
}

/// The samples of a figure: all workloads on its first target, then on its second.
fn runs_of(figure: &Figure) -> impl Iterator<Item = Run<'_>> {
    figure.targets.iter().flat_map(|target| figure.cells.iter().map(|cell| (target.as_str(), cell)))
}

fn simulate<'a>(runs: &[Run<'a>]) -> HashMap<Run<'a>, Result<Sample, String>> {
    let machines = machines(runs);
    let next = AtomicUsize::new(0);
    let work = || {
        let taken =
            std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).map_while(|number| runs.get(number));
        let sample = |(target, spec): &Run<'_>| machines[target].clone().and_then(|machine| measure(machine, spec));
        taken.map(|run| (*run, sample(run))).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let cpus = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads: Vec<_> = (0..cpus).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// Each machine with each of its volumes in use.
fn machines<'a>(runs: &[Run<'a>]) -> HashMap<&'a str, Result<Simulated, String>> {
    let mut machines = HashMap::new();
    for (target, _) in runs {
        machines.entry(*target).or_insert_with(|| {
            let (machine, volume) = target.split_once(':').unwrap_or((target, ""));
            match shipped::testbed(machine, volume) {
                Some(made) => made.map_err(|error| error.to_string()),
                None => Err(format!("there is no machine {machine}")),
            }
        });
    }
    machines
}

fn measure(mut machine: Simulated, spec: &WorkloadSpec) -> Result<Sample, String> {
    let workload = spec.resolve(machine.describe()).map_err(|error| UsageError::from(error).0)?;
    machine.measure(&workload, &mut (), &Cancel::default()).map_err(|error| error.to_string())
}

fn judge(figure: &Figure, value: impl FnOnce() -> Result<f64, String>) -> Checked {
    let (simulated, failure) = match &figure.left_out {
        Some(reason) => (None, Some(reason.clone())),
        None => match value() {
            Ok(value) => (Some(value), None),
            Err(reason) => (None, Some(reason)),
        },
    };
    let error = simulated.map(|simulated| figure.tolerance.error(simulated, figure.published));
    // The margin makes a figure at the limit the same in all outputs.
    let is_within = error.is_some_and(|error| error.abs() <= figure.tolerance.most + 1e-9);
    let pass = figure.left_out.is_none().then_some(is_within);
    Checked {
        simulated,
        error,
        pass,
        reason: failure.or_else(|| figure.missed.clone()),
        fault: match (pass, &figure.missed) {
            (Some(false), None) => Some("missed without a reason; add `missed` to studies/published.toml"),
            (Some(true), Some(_)) => Some("met; remove `missed` from studies/published.toml"),
            _ => None,
        },
        figure: figure.clone(),
    }
}
