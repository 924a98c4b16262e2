//! The options of `halfpower io` that describe a workload.
//!
//! A key that does not depend on the machine is left out if it has the default. One that does (personality, caches,
//! size, workers) is always written, so the command does the same or fails. The targets of a workload are arguments,
//! not options.

use halfpower_model::key::{Given, Kind};
use halfpower_model::{KEYS, Key, Workload};

/// The options of `halfpower io` that resolve to this workload on its targets.
pub(crate) fn options(workload: &Workload) -> Vec<String> {
    let mut options: Vec<String> = KEYS
        .iter()
        .filter(|key| key.about.given != Given::Study && is_needed(key, workload))
        .filter_map(|key| {
            let option = format!("--{}", key.option());
            let value = key.exact(workload)?;
            Some(match (key.about.kind, value.as_str()) {
                (Kind::Switch, "on") => vec![option],
                (Kind::Switch, value) => vec![format!("{option}={value}")],
                _ => vec![option, value],
            })
        })
        .flatten()
        .collect();
    options.extend(workload.set.0.iter().flat_map(|(key, value)| ["--set".to_owned(), format!("{key}={value}")]));
    options
}

fn is_needed(key: &Key, workload: &Workload) -> bool {
    match key.name {
        "request_size" => workload.sizes.is_empty(),
        // Samples differ by the seed alone.
        "seed" => true,
        _ => key.about.depends.is_some() || !key.is_default(workload),
    }
}
