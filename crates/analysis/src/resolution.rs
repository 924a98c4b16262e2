//! How finely the rate of a sample is told, and samples of too few requests.
//!
//! In a window of fixed length a whole number of requests is done, so a rate is a multiple of one request a window. Where the
//! window begins at the same place of the requests each time, as after the same warm-up, every repetition is off by the same,
//! and no scatter tells it: no interval is narrower than that one request either way. Where the measured part began and ended
//! with completions, or with the last of so many requests, the rate is theirs. So it is with a rate that was set, and what
//! another program measured may have ended either way: nothing is said of these. Where few requests made the measured part last
//! until all were back, those under way at its start count whole and none at its end is left: they may be a tenth of all.

use halfpower_model::sample::{MEASURE_LONGER, Warning};
use halfpower_model::{Closing, Durability, Estimate, Sample};

/// What two readings of the clock make of the same time.
const SAME_TIME: f64 = 1e-6;
/// With fewer requests a rate is that of a few, whatever ends their time.
const TOO_FEW: u64 = 10;
/// From this share of the requests on those that were under way at the start change a rate.
const UNDER_WAY: f64 = 0.1;

/// Whether the measured part lasted until its time was over, as long as that or until what was outstanding was back.
fn is_of_a_time(sample: &Sample) -> Option<f64> {
    let window_s = sample.workload.limits.duration.filter(|_| sample.origin.is_none())?.seconds();
    let share = sample.elapsed_s / window_s;
    (share.is_finite() && share > 1.0 - SAME_TIME).then_some(share)
}

/// The share of its rate that one request is, where the window decided how many there are; else nothing.
pub(crate) fn of(sample: &Sample) -> f64 {
    let workload = &sample.workload;
    // What is outstanding is waited for before a flush or a closing that counts.
    let is_cut = workload.durability != Durability::FlushAtEnd && workload.closing == Closing::Untimed;
    let is_of_window = is_cut && is_of_a_time(sample).is_some_and(|share| share < 1.0 + SAME_TIME);
    let requests = sample.total.requests;
    if is_of_window && requests > 0 && workload.rate.is_none() { 1.0 / requests as f64 } else { 0.0 }
}

/// A rate with an interval that is no narrower than that share of it.
pub(crate) fn no_finer(rate: Estimate, share: f64) -> Estimate {
    let [lower, higher] = [rate.value * (1.0 - share), rate.value * (1.0 + share)];
    Estimate { low: rate.low.map(|low| low.min(lower)), high: rate.high.map(|high| high.max(higher)), ..rate }
}

/// A ratio of two rates, likewise.
pub(crate) fn no_finer_ratio(ratio: Estimate, above: f64, below: f64) -> Estimate {
    let lowest = ratio.value * (1.0 - above) / (1.0 + below);
    // What one request is all of has no bound above.
    let highest = if below < 1.0 { ratio.value * (1.0 + above) / (1.0 - below) } else { f64::INFINITY };
    let high = ratio.high.map(|high| high.max(highest)).filter(|high| high.is_finite());
    Estimate { low: ratio.low.map(|low| low.min(lowest)), high, ..ratio }
}

/// What is to be said of a sample that was ended by its time after a few requests.
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

/// The same of a sample that waited for what was outstanding at its end, and so counts whole what it has a part of: up to how many.
pub(crate) fn begun_before(sample: &Sample) -> Option<u64> {
    is_of_a_time(sample).filter(|share| *share > 1.0 + SAME_TIME).and_then(|_| under_way(sample))
}

/// How many requests may have been under way when the measured part began, where they are many of those that were counted; a request
/// that began with it is not among them. Nothing where what is outstanding is waited for anyway, or does not go when it can.
fn under_way(sample: &Sample) -> Option<u64> {
    let workload = &sample.workload;
    let is_cut = workload.durability != Durability::FlushAtEnd && workload.closing == Closing::Untimed;
    let outstanding = u64::from(workload.depth) * u64::from(workload.workers);
    let before = outstanding.checked_sub(u64::from(workload.workers))?;
    let is_much = before as f64 >= UNDER_WAY * sample.total.requests as f64;
    (is_cut && workload.rate.is_none() && workload.warmup.0 > 0 && is_much).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Figure, Margins, Standing, compare};
    use crate::fixtures::{Run, read};
    use halfpower_model::Nanoseconds;

    /// Five samples of a second without any scatter, of so many requests of 1 MiB.
    fn run(requests: u32) -> Run {
        let mut run = Run::default();
        run.add(read(1024), &[f64::from(requests) * 1_048_576.0; 5]);
        run
    }

    fn standing(before: &Run, after: &Run) -> (Standing, Estimate) {
        let samples = |run: &Run| run.samples.iter().map(|placed| placed.sample.clone()).collect::<Vec<_>>();
        let (before, after) = (samples(before), samples(after));
        let (before, after): (Vec<&Sample>, Vec<&Sample>) = (before.iter().collect(), after.iter().collect());
        let comparison = compare(&before, &after, Margins::Usual);
        let change = comparison.cells[0].change(Figure::Throughput).unwrap().clone();
        (change.standing, change.ratio)
    }

    #[test]
    fn a_rate_is_no_finer_than_a_request_of_its_window() {
        let mut one = run(4);
        let of = |run: &Run| crate::analyse(&run.observed()).cells[0].bytes_per_s;
        let rate = of(&one);
        assert_eq!((rate.low, rate.high), (Some(0.75 * rate.value), Some(1.25 * rate.value)));
        // Ended by a completion, or told by another program.
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
    fn few_requests_are_told() {
        let told = |requests| warning(&run(requests).samples[0].sample).map(|warning| warning.message);
        assert!(told(1).unwrap().ends_with("only one request per trial: a disturbance of one changes it"));
        assert!(told(9).unwrap().contains("only 9 requests per trial"));
        assert_eq!(told(10), None);
        let remedy = warning(&run(1).samples[0].sample).unwrap().remedy;
        assert!(["--duration (io)", "[trial] (a study)", "--thorough (run)"].iter().all(|way| remedy.contains(way)));
        let mut counted = run(4).samples.remove(0).sample;
        counted.workload.limits.duration = Some(Nanoseconds(2_000_000_000));
        assert_eq!(warning(&counted), None, "its requests were used up before its time");
        let mut waited = run(4).samples.remove(0).sample;
        waited.elapsed_s += 0.3;
        assert!(warning(&waited).is_some() && of(&waited) == 0.0, "at most those, but of their own time");
    }

    #[test]
    fn requests_of_the_warm_up_that_are_many_are_told() {
        let told = |requests, depth, change: fn(&mut Sample)| {
            let mut sample = run(requests).samples.remove(0).sample;
            (sample.workload.depth, sample.workload.warmup) = (depth, Nanoseconds(20_000_000));
            sample.elapsed_s += 0.3;
            change(&mut sample);
            warning(&sample).map(|warning| warning.message)
        };
        let said = told(46, 8, |_| {}).unwrap();
        assert!(said.contains("46 requests per trial, up to 7 of them started in the warm-up"), "{said}");
        assert_eq!(told(46, 4, |_| {}), None, "3 are less than a tenth");
        assert_eq!(told(46, 8, |sample| sample.workload.warmup = Nanoseconds(0)), None, "none was under way");
        assert_eq!(told(460, 80, |sample| sample.elapsed_s -= 0.3), None, "as many are left out at the window's end");
    }
}
