//! Whether requests cut off at the end of a sample took so long that its figures, which exclude them, are too low.

use super::record::{Histograms, MEASURE_LONGER, Sample, Warning};
use super::totals::Latency;
use crate::histogram::Histogram;
use crate::stream::RequestKind;
use crate::units::Nanoseconds;

/// Requests cut off at the end are reported if they took this many times the longest counted one, and at least this long, or if a
/// figure would be this many times as high with them.
const TIMES: u64 = 2;
const LONG_NS: u64 = 10_000_000;
/// A long enough run loses up to this share of its outstanding time at the end.
const LITTLE_TIME: f64 = 0.1;

/// Requests outstanding at the end that do not count.
#[derive(Clone, Debug, Default)]
pub struct CutOff {
    /// Their number.
    pub requests: u64,
    /// Time of the longest.
    pub longest_ns: u64,
    /// The same from its intended arrival.
    pub longest_response_ns: u64,
    /// Whether the times end with the sample, because it did not wait for them, instead of with their completion.
    pub is_until_end: bool,
    /// Time of each; empty if only the longest is known.
    pub latency: Histogram,
    /// The sum of their times within the measured part.
    pub measured_ns: f64,
}

impl CutOff {
    /// Whether the mean or a percentile would be far higher with them, although a counted request may have taken as long. In a short
    /// run many are outstanding at the end, but no percentile moves if all times are similar.
    fn moves(&self, sample: &Sample) -> bool {
        let given = &sample.total.latency_ns;
        let counted_ns = given.mean.unwrap_or(0.0) * sample.total.requests as f64;
        // After a warm-up, counted times include some before the measured part, and outstanding ones include flushes.
        let outstanding_ns = sample.depth_mean.counted * sample.elapsed_s * 1e9;
        let all_ns = (counted_ns + self.measured_ns).min(outstanding_ns);
        if self.longest_ns <= LONG_NS || all_ns - counted_ns <= LITTLE_TIME * all_ns {
            return false;
        }
        // By Little's law the mean is the outstanding time over the number of requests.
        if all_ns > counted_ns * TIMES as f64 {
            return true;
        }
        let mut all = self.latency.clone();
        counted(sample).for_each(|histogram| all.merge(histogram));
        let percentiles = |of: &Latency| [of.p50, of.p90, of.p95, of.p99, of.p99_9, of.p99_99];
        let with = percentiles(&Latency::of(&all));
        percentiles(given).iter().zip(with).any(|(given, with)| {
            given.zip(with).is_some_and(|(given, with)| with > LONG_NS && with > given.saturating_mul(TIMES))
        })
    }
}

/// The histograms behind a sample's total.
fn counted(sample: &Sample) -> impl Iterator<Item = &Histogram> {
    let Histograms { read, write, trim, flush, .. } = &sample.latency_histogram;
    let flush = flush.as_ref().filter(|_| sample.workload.operation.has(RequestKind::Flush));
    [read.as_ref(), write.as_ref(), trim.as_ref(), flush].into_iter().flatten()
}

/// The warning for a stall beyond the end of the window, which is in no figure.
pub fn stalled_at_end(sample: &Sample, cut_off: &CutOff) -> Option<Warning> {
    let CutOff { requests, longest_ns, longest_response_ns, is_until_end, .. } = *cut_off;
    let beyond = |cut_off_ns: u64, most: Option<u64>| {
        cut_off_ns > LONG_NS && cut_off_ns > most.unwrap_or(0).saturating_mul(TIMES)
    };
    let response = sample.open_loop.as_ref().map(|open| open.response_ns.max);
    let of_response = response.is_some_and(|most| beyond(longest_response_ns, most));
    let of_latency = beyond(longest_ns, sample.total.latency_ns.max) || cut_off.moves(sample);
    let figures = match (of_latency, of_response) {
        (true, true) => "the percentiles of the latency and of the response",
        (true, false) => "the percentiles",
        (false, true) => "the percentiles of the response",
        (false, false) => return None,
    };
    let took = if of_response {
        format!("{}, {} from its intended arrival", Nanoseconds(longest_ns), Nanoseconds(longest_response_ns))
    } else {
        Nanoseconds(longest_ns).to_string()
    };
    let (noun, were) = if requests == 1 { ("request", "was") } else { ("requests", "were") };
    let had = if is_until_end { "had taken" } else { "took" };
    let message = format!(
        "{requests} {noun} {were} still outstanding at the end and the longest {had} {took}; {figures} exclude them"
    );
    Some(Warning::new("stalled_at_end", message, MEASURE_LONGER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::sample::Totals;
    use crate::workload::Workload;

    const MS: u64 = 1_000_000;

    fn histogram(times: impl IntoIterator<Item = (u64, u64)>) -> Histogram {
        let mut histogram = Histogram::default();
        times.into_iter().for_each(|(count, ms)| (0..count).for_each(|_| histogram.record(ms * MS)));
        histogram
    }

    /// Whether a sample of one second has the warning, with these (count, ms) of counted and cut-off requests, and this mean number
    /// outstanding.
    fn is_reported_with(counted: &[(u64, u64)], cut_off: &[(u64, u64)], outstanding: f64) -> bool {
        let (all, latency) = (histogram(counted.iter().copied()), histogram(cut_off.iter().copied()));
        let mut sample = Sample::empty(Workload::default(), Environment::unknown("a", None));
        (sample.total, sample.depth_mean.counted) = (Totals::of(&all, 0, 1.0), outstanding);
        (sample.latency_histogram.read, sample.elapsed_s) = (Some(all), 1.0);
        let cut_off = CutOff {
            requests: latency.count(),
            longest_ns: latency.max().unwrap_or(0),
            is_until_end: true,
            measured_ns: cut_off.iter().map(|(count, ms)| (count * ms.min(&1000) * MS) as f64).sum(),
            latency,
            ..CutOff::default()
        };
        stalled_at_end(&sample, &cut_off).is_some_and(|warning| warning.code == "stalled_at_end")
    }

    /// The same with all outstanding from the start on.
    fn is_reported(counted: &[(u64, u64)], cut_off: &[(u64, u64)]) -> bool {
        is_reported_with(counted, cut_off, f64::INFINITY)
    }

    #[test]
    fn one_long_answer_does_not_hide_those_that_had_none() {
        assert!(is_reported(&[(1000, 8)], &[(60, 900)]), "longer than any that was counted");
        assert!(is_reported(&[(1000, 8), (1, 990)], &[(100, 900)]), "most of the time was spent on these");
        assert!(
            is_reported(&[(1000, 8), (10, 990)], &[(100, 150)]),
            "the 95th percentile would be 150 ms and not 8 ms"
        );
        assert!(!is_reported(&[(1000, 8), (100, 990)], &[(10, 900)]), "those are in the percentiles as they are");
        assert!(!is_reported(&[(1000, 8), (1, 990)], &[(1, 900)]), "a tenth of the time is not worth a word");
        assert!(!is_reported(&[(1000, 0), (1, 9)], &[(100, 9)]), "as short as this it is no stall");
    }

    /// Of a queue that is in order each request takes as long as the others: those under way say nothing else, be they many.
    #[test]
    fn an_ordinary_end_is_not_reported() {
        let queue = |ms: u64| (0..100).map(|number| (1, number * ms / 100)).collect::<Vec<_>>();
        assert!(!is_reported(&[(400, 250)], &queue(250)), "behind a warm-up");
        assert!(!is_reported(&[queue(250), vec![(300, 250)]].concat(), &queue(250)), "from an empty queue on");
        assert!(!is_reported(&[(100, 2000)], &[(50, 2000), (50, 1000)]), "behind a warm-up, in less than a latency");
        let [stream, starved] = [[(300, 50), (24, 1500)], [(24, 1400), (8, 40)]];
        assert!(
            is_reported(&stream, &starved) && !is_reported_with(&stream, &starved, 52.0),
            "as many were starved at its start"
        );
        assert!(
            is_reported(&queue(1000), &[(150, 1000)]),
            "less than a latency from an empty queue on: none took its time"
        );
        assert!(!is_reported(&[(100, 8)], &[]), "all were waited for");
    }
}
