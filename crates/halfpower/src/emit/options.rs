//! The command line of a workload: the options of `halfpower io` that come to it again.
//!
//! What does not depend on the machine is left out where it is the default. What does (the method, the use of caches, the
//! size, how many workers) is always said, so that the command does the same or refuses, never something else. Which
//! targets a workload goes to is not among the options: those are named.

use halfpower_model::key::{Given, Kind};
use halfpower_model::{KEYS, Key, Workload};

/// The options of `halfpower io` that resolve to this workload on the targets it goes to.
pub(crate) fn options(workload: &Workload) -> Vec<String> {
    let mut said: Vec<String> = KEYS
        .iter()
        .filter(|key| key.about.given != Given::Study && is_needed(key, workload))
        .filter_map(|key| {
            let option = format!("--{}", key.option());
            let value = key.exact(workload)?;
            Some(if key.about.kind == Kind::Switch { vec![option] } else { vec![option, value] })
        })
        .flatten()
        .collect();
    said.extend(workload.set.0.iter().flat_map(|(key, value)| ["--set".to_owned(), format!("{key}={value}")]));
    said
}

fn is_needed(key: &Key, workload: &Workload) -> bool {
    match key.name {
        "request_size" => workload.sizes.is_empty(),
        // Samples differ by it alone.
        "seed" => true,
        _ => key.about.depends.is_some() || !key.is_default(workload),
    }
}
