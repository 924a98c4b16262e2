//! Resolution of a rate, and samples with too few requests.
//!
//! A window of fixed length holds a whole number of requests. If each window starts at the same phase, as after equal warm-ups,
//! all repetitions are off by the same amount and show no scatter, so no interval is narrower than one request either way.
//! Rates whose window begins and ends with completions are exact; set rates and imported samples are not judged.
//! A short window that waits for all outstanding requests counts those of the warm-up whole, up to a tenth of all.

use halfpower_model::sample::{MEASURE_LONGER, Warning};
use halfpower_model::{Closing, Durability, Estimate, Sample};

/// Tolerance of two clock reads of the same time.
const SAME_TIME: f64 = 1e-6;
/// Fewer requests are few, however their time ended.
const TOO_FEW: u64 = 10;
/// From this share on, requests begun in the warm-up change the rate.
const UNDER_WAY: f64 = 0.1;

/// Whether the window ended by time, exactly or after draining.
fn is_of_a_time(sample: &Sample) -> Option<f64> {
    let window_s = sample.workload.limits.duration.filter(|_| sample.origin.is_none())?.seconds();
    let share = sample.elapsed_s / window_s;
    (share.is_finite() && share > 1.0 - SAME_TIME).then_some(share)
}

/// One request as a share of the rate, if time decided their number; else zero.
pub(crate) fn of(sample: &Sample) -> f64 {
    let workload = &sample.workload;
    // A timed flush or close drains outstanding requests first.
    let is_cut = workload.durability != Durability::FlushAtEnd && workload.closing == Closing::Untimed;
    let is_of_window = is_cut && is_of_a_time(sample).is_some_and(|share| share < 1.0 + SAME_TIME);
    let requests = sample.total.requests;
    if is_of_window && requests > 0 && !workload.is_held_back() { 1.0 / requests as f64 } else { 0.0 }
}

/// A rate whose interval is at least that wide.
pub(crate) fn no_finer(rate: Estimate, share: f64) -> Estimate {
    let [lower, higher] = [rate.value * (1.0 - share), rate.value * (1.0 + share)];
    Estimate { low: rate.low.map(|low| low.min(lower)), high: rate.high.map(|high| high.max(higher)), ..rate }
}

/// A ratio of two rates, likewise.
pub(crate) fn no_finer_ratio(ratio: Estimate, above: f64, below: f64) -> Estimate {
    let lowest = ratio.value * (1.0 - above) / (1.0 + below);
    // A single request has no upper bound.
    let highest = if below < 1.0 { ratio.value * (1.0 + above) / (1.0 - below) } else { f64::INFINITY };
    let high = ratio.high.map(|high| high.max(highest)).filter(|high| high.is_finite());
    Estimate { low: ratio.low.map(|low| low.min(lowest)), high, ..ratio }
}

/// The warning for a sample that ended by time after few requests.
pub(crate) fn warning(sample: &Sample) -> Option<Warning> {
    let requests = sample.total.requests;
    is_of_a_time(sample).filter(|_| sample.is_complete() && requests > 0)?;
    let message = if requests < TOO_FEW {
        let count = if requests == 1 { "one request".to_owned() } else { format!("{requests} requests") };
        format!("the rate rests on only {count} per trial: a disturbance of one changes it")
    } else {
        let before = begun_before(sample)?;
        format!(
            "the rate rests on {requests} requests per trial, up to {before} of them started in the warm-up: their earlier work \
             counts too"
        )
    };
    Some(Warning::new("few_requests", message, MEASURE_LONGER))
}

/// For a sample that drained at its end: the most requests whose work it counted only in part.
pub(crate) fn begun_before(sample: &Sample) -> Option<u64> {
    is_of_a_time(sample).filter(|share| *share > 1.0 + SAME_TIME).and_then(|_| under_way(sample))
}

/// How many requests may have been outstanding when the measured part began, if that matters; none if they are drained anyway.
fn under_way(sample: &Sample) -> Option<u64> {
    let workload = &sample.workload;
    let is_cut = workload.durability != Durability::FlushAtEnd && workload.closing == Closing::Untimed;
    let outstanding = u64::from(workload.depth) * u64::from(workload.workers);
    let before = outstanding.checked_sub(u64::from(workload.workers))?;
    let is_much = before as f64 >= UNDER_WAY * sample.total.requests as f64;
    (is_cut && !workload.is_held_back() && workload.warmup.0 > 0 && is_much).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Design, Figure, Method, Standing, compare};
    use crate::fixtures::{Run, read, says};
    use halfpower_model::Nanoseconds;

    /// Five samples of one second without scatter, with this number of 1 MiB requests.
    fn run(requests: u32) -> Run {
        let mut run = Run::default();
        run.add(read(1024), &[f64::from(requests) * 1_048_576.0; 5]);
        run
    }

    fn standing(before: &Run, after: &Run) -> (Standing, Estimate) {
        let samples = |run: &Run| run.samples.iter().map(|placed| placed.sample.clone()).collect::<Vec<_>>();
        let (before, after) = (samples(before), samples(after));
        let (before, after): (Vec<&Sample>, Vec<&Sample>) = (before.iter().collect(), after.iter().collect());
        let comparison = compare(&[before], &[after], Method { design: Design::Pairs, ..Method::default() });
        let change = comparison.cells[0].change(Figure::Throughput).unwrap().clone();
        (change.standing, change.ratio)
    }

    #[test]
    fn a_rate_is_no_finer_than_a_request_of_its_window() {
        let mut one = run(4);
        let of = |run: &Run| crate::analyse(&run.observed()).cells[0].bytes_per_s;
        let rate = of(&one);
        assert_eq!((rate.low, rate.high), (Some(0.75 * rate.value), Some(1.25 * rate.value)));
        // Ended by a completion, or imported from another program.
        for placed in &mut one.samples {
            placed.sample.elapsed_s += 0.01;
        }
        assert_eq!(of(&one).low, Some(of(&one).value));
        let mut imported = run(4);
        imported.samples.iter_mut().for_each(|placed| placed.sample.origin = Some(Box::default()));
        assert_eq!(of(&imported).low, Some(of(&imported).value));
        // Enough scatter is all that is said.
        let mut scattered = Run::default();
        scattered.add(read(1024), &[100e6, 200e6, 100e6, 200e6, 100e6].map(|rate| rate * 1.048_576));
        let (rate, values) = (of(&scattered), [100e6, 200e6, 100e6, 200e6, 100e6].map(|rate| rate * 1.048_576));
        assert_eq!(rate.low, crate::statistics::mean_interval(&values).map(|interval| interval.low));
    }

    #[test]
    fn what_one_request_may_hide_is_not_equivalent() {
        let (standing_of_few, ratio) = standing(&run(4), &run(4));
        assert_eq!((standing_of_few, ratio.value), (Standing::Undecided, 1.0));
        assert!(
            (ratio.low.unwrap() - 0.6).abs() < 1e-12 && (ratio.high.unwrap() - 5.0 / 3.0).abs() < 1e-12,
            "{ratio:?}"
        );
        assert_eq!(standing(&run(1), &run(1)).1.high, None, "nothing bounds the one");
        assert_eq!(standing(&run(500), &run(500)).0, Standing::Equivalent);
        assert_eq!(standing(&run(4), &run(40)).0, Standing::Better, "more than per I/O can be");
    }

    #[test]
    fn few_requests_are_reported() {
        let message = |requests| warning(&run(requests).samples[0].sample).map(|warning| warning.message);
        assert!(message(1).unwrap().ends_with("only one request per trial: a disturbance of one changes it"));
        assert!(message(9).unwrap().contains("only 9 requests per trial"));
        assert_eq!(message(10), None);
        assert_eq!(warning(&run(1).samples[0].sample).unwrap().remedy, MEASURE_LONGER);
        let mut counted = run(4).samples.remove(0).sample;
        counted.workload.limits.duration = Some(Nanoseconds(2_000_000_000));
        assert_eq!(warning(&counted), None, "its requests were used up before its time");
        let mut waited = run(4).samples.remove(0).sample;
        waited.elapsed_s += 0.3;
        assert!(warning(&waited).is_some() && of(&waited) == 0.0, "at most those, but of their own time");
    }

    #[test]
    fn requests_of_the_warm_up_that_are_many_are_reported() {
        let message = |requests, depth, change: fn(&mut Sample)| {
            let mut sample = run(requests).samples.remove(0).sample;
            (sample.workload.depth, sample.workload.warmup) = (depth, Nanoseconds(20_000_000));
            sample.elapsed_s += 0.3;
            change(&mut sample);
            warning(&sample).map(|warning| warning.message)
        };
        let said = message(46, 8, |_| {}).unwrap();
        says(&said, "46 requests per trial, up to 7 of them started in the warm-up");
        assert_eq!(message(46, 4, |_| {}), None, "3 are less than a tenth");
        assert_eq!(message(46, 8, |sample| sample.workload.warmup = Nanoseconds(0)), None, "none was under way");
        assert_eq!(
            message(460, 80, |sample| sample.elapsed_s -= 0.3),
            None,
            "as many are left out at the window's end"
        );
    }
}
