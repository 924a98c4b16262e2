//! Warnings of the samples, each code once, with those that follow from a sample's figures.
//!
//! Derived are: generator-bound, [Little's law](crate::littles_law), [warm-up](crate::warm_up), [few requests](crate::resolution),
//! [other programs](crate::device::share_for_others) and changing rates. Memory speed is left out where the workload shows it,
//! because the findings say so.

use crate::cells::Observed;
use crate::device::{MOST_FOR_OTHERS, share_for_others};
use crate::{findings, littles_law, resolution, warm_up, wording};
use halfpower_model::Sample;
use halfpower_model::sample::{MEMORY_SPEED, Warning};
use std::collections::BTreeSet;

const GENERATOR_BOUND: &str = "generator_bound";

/// Each code in its first wording with its number of samples, failed ones included; the most frequent first.
pub(crate) fn collect(samples: &[Observed<'_>]) -> Vec<(Warning, u32)> {
    let mut collected: Vec<(Warning, u32)> = Vec::new();
    for sample in samples.iter().map(|observed| observed.sample) {
        let doubts = derived_warnings(sample);
        let is_of_storage = wording::reaches_storage(&sample.workload);
        let kept = sample.warnings.iter().filter(|warning| is_of_storage || warning.code != MEMORY_SPEED);
        // A sample counts once per code.
        let mut codes = BTreeSet::new();
        for warning in kept.chain(&doubts).filter(|warning| codes.insert(&warning.code)) {
            match collected.iter_mut().find(|(known, _)| known.code == warning.code) {
                Some((_, count)) => *count += 1,
                None => collected.push((warning.clone(), 1)),
            }
        }
    }
    collected.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    collected
}

/// Warnings that follow from a sample's figures.
pub fn derived_warnings(sample: &Sample) -> Vec<Warning> {
    let derived = [
        generator_bound(sample),
        littles_law::warning(sample),
        warm_up::warning(sample),
        resolution::warning(sample),
        for_others(sample),
        findings::warning_of_trend(sample),
    ];
    derived.into_iter().flatten().collect()
}

/// Other programs caused most of the device's bytes.
fn for_others(sample: &Sample) -> Option<Warning> {
    let percent = share_for_others(sample).filter(|share| *share >= MOST_FOR_OTHERS)? * 100.0;
    Some(Warning::new(
        "for_others",
        format!(
            "{percent:.0} % of the device's traffic came from other programs or file-system metadata: throughput may be too low"
        ),
        "measure again while no other program uses the device",
    ))
}

/// Unless it is said already.
fn generator_bound(sample: &Sample) -> Option<Warning> {
    let is_unsaid = sample.generator_bound && sample.warnings.iter().all(|warning| warning.code != GENERATOR_BOUND);
    is_unsaid.then(|| {
        Warning::new(
            GENERATOR_BOUND,
            "the load generator, not the storage, was the bottleneck: the storage can do more than this figure",
            "use more workers, larger requests or a cheaper personality",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, ends, intervals, read};
    use halfpower_model::{Buffering, CachePolicy, Nanoseconds, Workload};

    #[test]
    fn each_code_shows_once_with_its_count() {
        let mut run = Run::of([(read(4), [1.0, 1.0, 1.0])]);
        let stolen = |share: &str| Warning::new("stolen", format!("{share} of the time was stolen"), "wait");
        run.samples[0].sample.warnings = vec![Warning::new("sparse", "holes", "fill it")];
        run.samples[1].sample.warnings = vec![stolen("2 %"), stolen("2 %")];
        run.samples[2].sample.warnings = vec![stolen("3 %")];
        let collected = collect(&run.observed());
        let counts: Vec<_> = collected.iter().map(|(warning, count)| (warning.code.as_str(), *count)).collect();
        assert_eq!(counts, [("stolen", 2), ("sparse", 1)]);
        assert!(collected[0].0.message.starts_with("2 %"));
        // Memory speed is reported where the findings do not.
        let memory = vec![Warning::new(MEMORY_SPEED, "of memory", "flush")];
        run.samples.iter_mut().for_each(|placed| placed.sample.warnings.clone_from(&memory));
        let Workload { buffering, cache, .. } = &mut run.samples[0].sample.workload;
        (*buffering, *cache) = (Buffering::Buffered, CachePolicy::Warm);
        assert_eq!(collect(&run.observed()).iter().map(|(_, count)| *count).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_device_that_works_most_for_others_is_warned_of() {
        let messages = |bytes: u64| {
            let mut run = Run::of([(read(4), [4_096_000.0])]);
            run.device_reads(0, |_| (5000, bytes));
            collect(&run.observed()).into_iter().map(|(warning, _)| warning.message).collect::<Vec<_>>()
        };
        let message =
            "80 % of the device's traffic came from other programs or file-system metadata: throughput may be too low";
        assert_eq!(messages(5 * 1001 * 4096), [message]);
        assert!(messages(1001 * 4096 * 3 / 2).is_empty(), "a third");
    }

    #[test]
    fn a_generator_bound_sample_shows_even_if_it_does_not_say_so() {
        let mut run = Run::of([(read(4), [1.0, 1.0])]);
        assert!(collect(&run.observed()).is_empty());
        run.samples.iter_mut().for_each(|sample| sample.sample.generator_bound = true);
        run.samples[0].sample.warnings = vec![Warning::new(GENERATOR_BOUND, "said already", "more workers")];
        let collected = collect(&run.observed());
        assert_eq!((collected.len(), collected[0].1, collected[0].0.message.as_str()), (1, 2, "said already"));
    }

    #[test]
    fn a_log_of_an_unknown_workload_has_its_levels_reported() {
        let message = |levels: &[u64], is_of_bytes: bool, is_log: bool| {
            let mut sample = crate::fixtures::sample(read(4), 1e9);
            sample.workload.interval = Nanoseconds(200_000_000);
            if is_log {
                sample.workload.unknown = ["pattern", "depth"].into_iter().collect();
            }
            sample.intervals = intervals(0.2, levels.iter().map(|level| *level as f64));
            sample.intervals.iter_mut().for_each(|one| if is_of_bytes { one.requests = 0 } else { one.bytes = 0 });
            let doubts = derived_warnings(&sample);
            doubts.into_iter().find(|doubt| doubt.code == "rate_changed").map(|doubt| doubt.message)
        };
        let fell = [102, 104, 98, 101, 99, 103, 41, 40, 42, 39, 41, 40, 38];
        ends(&message(&fell, true, true).unwrap(), "101 MB/s for 1.2 s, 40.1 MB/s at the end");
        assert!(message(&fell, false, true).unwrap().contains(" IOPS for 1.2 s"));
        assert_eq!(message(&fell, true, false), None, "a finding says it");
        assert_eq!(message(&[100, 102, 98, 101, 99, 103, 100, 98, 99, 102, 101, 100, 99], true, true), None);
    }
}
