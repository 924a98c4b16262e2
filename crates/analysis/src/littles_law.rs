//! Little's law as a check on every sample: outstanding requests = rate × latency.
//!
//! Rate × mean latency may not exceed depth × workers; otherwise rate, latency or depth is wrong, in imported samples mostly
//! by a wrong field. It must also match the counted mean. The law is exact but for the ends of the measured part: requests begun before
//! count with their whole latency, which bounds the excess; requests cut off at the end are missing from the rate, which is
//! allowed up to the time that may pass unreported. A further 5 % cover clock reads. Samples with a flush, a close or
//! workers that end early are skipped, because the count is over each worker's own time.
//! Source: Little, "A proof for the queuing formula L = λW", Operations Research 9 (1961); Little, "Little's law as viewed on
//! its 50th anniversary", Operations Research 59 (2011), for finite spans of time.

use halfpower_model::sample::Warning;
use halfpower_model::units::significant;
use halfpower_model::{Closing, Durability, Sample};

/// What two clock reads per loop can add or take.
const SLACK: f64 = 0.05;
/// A request cut off at the end is not reported (`stalled_at_end`) below this time, or this multiple of the longest.
const CUT_OFF_NS: f64 = 10e6;
const CUT_OFF_TIMES: f64 = 2.0;

/// The contradiction in a sample; none if its figures agree or are too few.
pub(crate) fn warning(sample: &Sample) -> Option<Warning> {
    let workload = &sample.workload;
    if !(sample.is_complete() && workload.is_known("depth") && workload.is_known("workers")) {
        return None;
    }
    let asked = f64::from(workload.depth) * f64::from(workload.workers);
    let outstanding = outstanding(sample)?;
    let latency = &sample.total.latency_ns;
    let longest_ns = latency.max.map(|ns| ns as f64).or(latency.mean).unwrap_or(0.0);
    // No request takes longer than its sample.
    let too_high = asked * (SLACK + share_of_time(sample, longest_ns).min(1.0));
    let too_low = asked * (SLACK + share_of_time(sample, CUT_OFF_NS.max(CUT_OFF_TIMES * longest_ns)));
    let counted = Some(sample.depth_mean.counted).filter(|_| sample.is_known("depth_mean") && is_of_one_time(sample));
    let against = if outstanding > asked + too_high {
        format!("at most {} were configured", significant(asked))
    } else {
        let counted = counted.filter(|counted| {
            outstanding > counted + too_high || (outstanding < counted - too_low && ends_cleanly(sample))
        })?;
        format!("{} were counted", significant(counted))
    };
    Some(Warning::new(
        "littles_law",
        format!(
            "rate × latency implies {} outstanding requests, but {against} (Little's law)",
            significant(outstanding)
        ),
        "do not rely on this sample: its rate or its latency is wrong",
    ))
}

/// Rate × mean latency; none if one is unknown.
fn outstanding(sample: &Sample) -> Option<f64> {
    if sample.is_known("depth_mean") {
        return Some(sample.depth_mean.little).filter(|little| little.is_finite());
    }
    let rate = sample.is_known("total.requests_per_s").then_some(sample.total.requests_per_s)?;
    Some(rate * sample.total.latency_ns.mean? / 1e9).filter(|little| little.is_finite())
}

/// As a share of the measured part; none if its length is unknown.
fn share_of_time(sample: &Sample, time_ns: f64) -> f64 {
    let share = time_ns / 1e9 / sample.elapsed_s;
    if sample.is_known("elapsed_s") && share.is_finite() { share } else { 0.0 }
}

/// Whether all workers spent the whole measured part on requests.
fn is_of_one_time(sample: &Sample) -> bool {
    let workload = &sample.workload;
    let ends_together =
        workload.workers == 1 || (workload.limits.requests.is_none() && workload.limits.bytes.is_none());
    ends_together && workload.durability == Durability::None && workload.closing == Closing::Untimed
}

/// Whether no long request was cut off and no worker stalled.
fn ends_cleanly(sample: &Sample) -> bool {
    sample.warnings.iter().all(|warning| !["stalled_at_end", "paused"].contains(&warning.code.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, deep, flushed, read, write};
    use halfpower_model::sample::Latency;
    use halfpower_model::{Origin, Workload};

    /// One second at QD8 with these outstanding by rate × latency and by count; the longest request took 1 ms.
    fn sample(workload: Workload, little: f64, counted: f64) -> Sample {
        let mut run = Run::of([(workload, [1e9])]);
        let mut sample = run.samples.remove(0).sample;
        (sample.depth_mean.little, sample.depth_mean.counted) = (little, counted);
        sample.total.latency_ns = Latency { max: Some(1_000_000), ..Latency::default() };
        sample
    }

    fn is_doubted(workload: Workload, little: f64, counted: f64) -> bool {
        warning(&sample(workload, little, counted)).is_some_and(|warning| warning.code == "littles_law")
    }

    #[test]
    fn more_than_was_asked_for_cannot_be() {
        assert!(!is_doubted(deep(8, read(4)), 8.4, 8.0));
        assert!(is_doubted(deep(8, read(4)), 8.5, 8.0));
        let words = "rate × latency implies 16 outstanding requests, but at most 8 were configured (Little's law)";
        assert_eq!(warning(&sample(deep(8, read(4)), 16.0, 8.0)).unwrap().message, words);
        assert!(is_doubted(flushed(deep(8, write(4))), 8.5, 8.0), "whatever else is in the time");
    }

    #[test]
    fn the_count_must_agree_but_for_the_ends() {
        // 5 % of 8, and 8 × 1 ms a second above, 8 × 10 ms a second below.
        assert!(!is_doubted(deep(8, read(4)), 4.4, 4.0) && is_doubted(deep(8, read(4)), 4.41, 4.0));
        assert!(!is_doubted(deep(8, read(4)), 7.53, 8.0) && is_doubted(deep(8, read(4)), 7.51, 8.0));
        assert!(!is_doubted(flushed(deep(8, write(4))), 4.0, 8.0), "half of the time was the flush");
        let mut stalled = sample(deep(8, read(4)), 4.0, 8.0);
        stalled.warnings = vec![Warning::new("stalled_at_end", "", "")];
        assert_eq!(warning(&stalled), None);
    }

    #[test]
    fn imported_samples_are_checked_where_they_tell() {
        let mut sample = sample(deep(8, read(4)), 8.0, 8.0);
        sample.origin = Some(Box::new(Origin { unknown: ["depth_mean"].into_iter().collect(), ..Origin::default() }));
        sample.total.requests_per_s = 10_000.0;
        sample.total.latency_ns = Latency { mean: Some(800e3), ..Latency::default() };
        assert_eq!(warning(&sample), None);
        // Microseconds that were taken for milliseconds.
        sample.total.latency_ns.mean = Some(800e6);
        assert!(warning(&sample).unwrap().message.contains("8000 outstanding requests, but at most 8"));
        sample.total.latency_ns.mean = None;
        assert_eq!(warning(&sample), None, "too little is known");
    }
}
