//! Each workload over many runs, and where its level changed.

use super::compare::{NO_PART, OfRun, run_of_each};
use super::matching::{Group, gather};
use crate::statistics::{change_points, mean};
use halfpower_model::{Quantity, Sample, Workload};
use serde::Serialize;
use std::borrow::Cow;

/// A change of level below this share of it is none: two quiet runs differ by as much.
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
    /// The first of `means` of each later level; empty with fewer than twelve runs.
    pub changes: Vec<usize>,
}

/// The workloads that at least two of the runs measured, in the order of their first samples.
pub fn history(runs: &[OfRun<'_>]) -> Vec<History> {
    let samples: Vec<_> = runs.concat().into_iter().map(|sample| (Cow::Borrowed(&sample.workload), sample)).collect();
    let groups = gather(&samples, &run_of_each(runs));
    let workloads: Vec<&Workload> = groups.iter().map(|group| group.workload).collect();
    let names = halfpower_model::names::names(&workloads, &NO_PART);
    let of = |(group, name): (&Group<'_, '_>, String)| {
        // Requests at random places are counted, others by their bytes.
        let total = |sample: &Sample| {
            let total = &sample.total;
            if group.workload.pattern.is_ordered() { total.bytes_per_s.0 } else { total.requests_per_s }
        };
        let rates = group.by_run(|sample| Some(total(sample)));
        let means: Vec<f64> = rates.iter().filter_map(|rates| mean(rates)).collect();
        let logarithms: Vec<f64> = means.iter().map(|mean| mean.ln()).collect();
        let is_whole = means.len() > 1 && logarithms.iter().all(|one| one.is_finite());
        let is_ordered = group.workload.pattern.is_ordered();
        let quantity = if is_ordered { Quantity::BytesPerSecond } else { Quantity::RequestsPerSecond };
        let changes = change_points(&logarithms, RESOLUTION);
        is_whole.then(|| History {
            name,
            workload: group.workload.clone(),
            quantity,
            runs: group.runs(),
            means,
            changes,
        })
    };
    groups.iter().zip(names).filter_map(of).collect()
}
