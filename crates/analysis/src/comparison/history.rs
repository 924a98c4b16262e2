//! Each workload over many runs, and where its level changed.

use super::compare::{NO_PART, OfRun};
use super::matching::{Group, gather, lasting};
use crate::statistics::{change_points, mean};
use halfpower_model::{Quantity, Workload};
use serde::Serialize;
use std::borrow::Cow;

/// The scatter of a level is taken to be at least this share of it. Assumed.
const RESOLUTION: f64 = 0.01;

/// A workload over the runs that measured it.
#[derive(Clone, Debug, Serialize)]
pub struct History {
    /// Its name.
    pub name: String,
    /// As in the first run.
    pub workload: Workload,
    /// Bytes or requests per second.
    pub quantity: Quantity,
    /// The place of each run in the given list.
    pub runs: Vec<usize>,
    /// Mean throughput, or IOPS of requests at random places, of each.
    pub means: Vec<f64>,
    /// The first of `means` of each later level; empty with fewer than [`CHANGE_VALUES_MIN`](crate::statistics::CHANGE_VALUES_MIN) runs.
    pub changes: Vec<usize>,
    /// The mean of each level.
    pub levels: Vec<f64>,
}

/// The workloads that the last run and at least one other measured, in the order of their first samples.
pub fn history(runs: &[OfRun<'_>]) -> Vec<History> {
    let (samples, origins) = lasting(runs);
    let samples: Vec<_> = samples.into_iter().map(|sample| (Cow::Borrowed(&sample.workload), sample)).collect();
    let groups = gather(&samples, &origins);
    let workloads: Vec<&Workload> = groups.iter().map(|group| group.workload).collect();
    let names = halfpower_model::names::names(&workloads, &NO_PART);
    let of = |(group, name): (&Group<'_, '_>, String)| {
        let of_runs = group.runs();
        (of_runs.len() > 1 && of_runs.last() == Some(&(runs.len() - 1))).then_some(())?;
        let quantity = group.samples.first()?.rate().0;
        let means: Vec<f64> = group
            .by_run(|sample, lasts| Some(sample.rate().1 * lasts))
            .iter()
            .filter_map(|rates| mean(rates))
            .collect();
        let logarithms: Vec<f64> = means.iter().map(|mean| mean.ln()).collect();
        logarithms.iter().all(|one| one.is_finite()).then_some(())?;
        let changes = change_points(&logarithms, RESOLUTION);
        let starts = std::iter::once(0).chain(changes.iter().copied());
        let ends = changes.iter().copied().chain([means.len()]);
        let levels = starts.zip(ends).filter_map(|(start, end)| mean(&means[start..end])).collect();
        Some(History { name, workload: group.workload.clone(), quantity, runs: of_runs, means, changes, levels })
    };
    groups.iter().zip(names).filter_map(of).collect()
}
