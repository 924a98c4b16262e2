//! Warns of a sample that deviated from its workload: its queue depth or rate was not reached, it was paused, or its end cut off
//! slow requests.

use super::warnings::submits_synchronously;
use crate::instrument::clock::Clock;
use crate::run::RawRun;
use halfpower_model::sample::{CutOff, Totals, Warning, rate_not_reached, stalled_at_end};
use halfpower_model::{Nanoseconds, Rate, Sample, Workload};

/// Share of the depth below which it was not reached.
const DEPTH_SHARE: f64 = 0.75;
/// Share of the workload's rate from which the rate was the limit.
const KEPT_SHARE: f64 = 0.97;

/// Observations of the workers and of the watching thread during a sample.
#[derive(Clone, Debug, Default)]
pub(super) struct Observations {
    /// Requests outstanding at the end that do not count.
    cut_off: CutOff,
    /// Time of a pause of the program.
    stood_still: Nanoseconds,
    /// Share of the workers' time in which a request waited for one that it overlaps.
    held_share: f64,
}

impl Observations {
    /// The observations of a run.
    pub(super) fn of(raw: &RawRun, clock: Clock) -> Observations {
        let outcomes = || raw.workers.iter().map(|worker| &worker.outcome);
        let longest = |ticks: Option<u64>| clock.nanoseconds(ticks.unwrap_or(0));
        let held: u64 = outcomes().map(|outcome| outcome.held_ticks).sum();
        let elapsed: u64 = outcomes().map(|outcome| outcome.elapsed_ticks).sum();
        Observations {
            cut_off: CutOff {
                requests: outcomes().map(|outcome| outcome.overhang.requests).sum(),
                longest_ns: longest(outcomes().map(|outcome| outcome.overhang.longest_ticks).max()),
                longest_response_ns: longest(outcomes().map(|outcome| outcome.overhang.longest_response_ticks).max()),
                // They completed after the window, and only the longest is known.
                ..CutOff::default()
            },
            stood_still: Nanoseconds(u64::try_from(raw.stood_still.as_nanos()).unwrap_or(u64::MAX)),
            held_share: held as f64 / elapsed.max(1) as f64,
        }
    }
}

/// Warnings of a sample by its observations.
pub(super) fn warnings(sample: &Sample, observations: &Observations) -> Vec<Warning> {
    let cut_off = stalled_at_end(sample, &observations.cut_off);
    let found = [paused(sample, observations), cut_off, rate_not_reached(sample), depth(sample, observations)];
    found.into_iter().flatten().collect()
}

/// A pause. One longer than the measured part was in part outside of it.
fn paused(sample: &Sample, observations: &Observations) -> Option<Warning> {
    let measured = Nanoseconds::from_seconds(sample.elapsed_s);
    let figures = match observations.stood_still <= measured {
        true => "the figures include that time".to_owned(),
        false => format!("longer than the measured {measured}, so the figures include only part of it"),
    };
    let stood_still = observations.stood_still;
    let message = format!("the program or a worker was paused for {stood_still}: {figures}");
    let remedy = "measure again without stopping it, on a machine with a free CPU";
    (observations.stood_still.0 > 0).then(|| Warning::new("paused", message, remedy))
}

/// Whether the workload has a rate and reached it, so that the rate was the limit.
pub(super) fn keeps_rate(workload: &Workload, total: &Totals) -> bool {
    match workload.rate {
        None => false,
        Some(Rate::Requests(rate)) => total.requests_per_s >= KEPT_SHARE * rate as f64,
        Some(Rate::Bytes(rate)) => total.bytes_per_s.0 >= KEPT_SHARE * rate as f64,
    }
}

/// A queue depth that was not reached, with the cause if known.
fn depth(sample: &Sample, observations: &Observations) -> Option<Warning> {
    let workload = &sample.workload;
    let depth = f64::from(workload.depth) * f64::from(workload.workers);
    let is_expected = sample.is_complete()
        // Reported with the reason elsewhere.
        && !submits_synchronously(workload)
        && !workload.is_held_back()
        && workload.trace.is_none()
        && workload.durability.every().is_none()
        && sample.total.requests > 0;
    let message = format!("the mean queue depth was {:.1}, not {depth}", sample.depth_mean.counted);
    (is_expected && sample.depth_mean.counted < DEPTH_SHARE * depth).then(|| {
        // A worker without waits reaches its whole depth, so the waits explain the missing share.
        if observations.held_share > 1.0 - DEPTH_SHARE {
            let waited = format!(
                "{:.0} % of the time a request waited for one that it overlaps",
                observations.held_share * 100.0
            );
            let remedy = "verified requests that overlap run one after the other: use a larger --size, a \
                          smaller --depth, fewer --workers or no --verify";
            return Warning::new("depth_not_reached", format!("{message}: {waited}"), remedy);
        }
        Warning::new(
            "depth_not_reached",
            message,
            "the workers submitted too slowly, or the sample was too short: use more workers, or measure longer",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::{Buffering, Bytes, Personality, TargetFacts, TargetKind};

    fn sample(workload: Workload) -> Sample {
        let facts = TargetFacts::bare("a", TargetKind::File, Bytes(1 << 20));
        Sample { elapsed_s: 1.0, ..Sample::empty(workload, crate::environment(facts, Vec::new())) }
    }

    fn codes(sample: &Sample, observations: &Observations) -> Vec<String> {
        warnings(sample, observations).into_iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn a_depth_that_was_not_reached_is_reported_with_its_cause() {
        let of = |buffering, held_share| {
            let workload = Workload { personality: Personality::Libaio, buffering, depth: 8, ..Workload::default() };
            let mut sample = sample(workload);
            (sample.total.requests, sample.depth_mean.counted) = (100, 4.0);
            warnings(&sample, &Observations { held_share, ..Observations::default() })
        };
        assert!(of(Buffering::Buffered, 0.5).is_empty(), "submits_synchronously reports that");
        let [unknown] = &of(Buffering::Direct, 0.1)[..] else { panic!("one warning") };
        assert_eq!(unknown.code, "depth_not_reached");
        assert!(!unknown.message.contains("overlaps"), "{unknown:?}");
        let [known] = &of(Buffering::Direct, 0.5)[..] else { panic!("one warning") };
        assert_eq!(known.code, "depth_not_reached");
        assert!(known.message.contains("50 % of the time a request waited for one that it overlaps"), "{known:?}");
    }

    #[test]
    fn a_program_that_stood_still_is_reported() {
        let observations = Observations { stood_still: Nanoseconds(3_000_000_000), ..Observations::default() };
        let message = |elapsed_s| {
            let sample = Sample { elapsed_s, ..sample(Workload::default()) };
            let [warning] = &warnings(&sample, &observations)[..] else { panic!("one warning") };
            assert_eq!(warning.code, "paused");
            warning.message.clone()
        };
        assert!(message(4.0).ends_with("paused for 3 s: the figures include that time"), "{}", message(4.0));
        assert!(
            message(0.08).contains("longer than the measured 80 ms, so the figures include only part"),
            "{}",
            message(0.08)
        );
    }

    #[test]
    fn a_rate_that_was_not_reached_is_reported_unless_chance_explains_it() {
        let of = |rate, requests: u64| {
            let mut sample = sample(Workload { rate: Some(rate), request_size: Bytes(4096), ..Workload::default() });
            (sample.total.requests, sample.total.bytes) = (requests, requests * 4096);
            codes(&sample, &Observations::default())
        };
        assert_eq!(of(Rate::Requests(1_000_000), 45_616), ["rate_not_reached"]);
        assert!(of(Rate::Requests(1_000_000), 960_000).is_empty());
        assert_eq!(of(Rate::Bytes(40_960_000), 8_000), ["rate_not_reached"]);
        assert!(of(Rate::Bytes(40_960_000), 9_990).is_empty());
        // A deviation of 10.
        assert!(of(Rate::Requests(100), 60).is_empty());
        assert_eq!(of(Rate::Requests(100), 45), ["rate_not_reached"]);
    }
}
