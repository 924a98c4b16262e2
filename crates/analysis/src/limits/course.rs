//! How a long sample went on: a burst, and the rate that lasts.
//!
//! A token bucket of size σ that refills at ρ lets through at most σ + ρt in any time t (Cruz, IEEE Transactions on Information Theory
//! 37, 1991). With the rate of the end as ρ, the burst is the largest surplus over ρt. It ends where that is reached.

use crate::statistics::mean_estimate;
use halfpower_model::{Estimate, Quantity, Sample};

/// Fewer full intervals do not show where a burst ends.
const INTERVALS_MIN: usize = 60;
/// A rate lasts if it is that of the last part, at least this share of the sample.
const LAST: f64 = 0.15;
/// Windows of the rate that lasts; each is at least as long as a slice of the kernel's throttle, 0.1 s.
const WINDOWS: usize = 8;
/// Shorter surpluses are within a slice of a throttle or the outstanding requests. Seconds at the rate that lasts.
const BURST_MIN_S: f64 = 0.04;
/// The end of a burst is told as closely as this share of its surplus, or these seconds at the rate that lasts.
const ROUGH: f64 = 0.02;
/// Half-second windows of a limited rate deviate by this share at most: behind QEMU's throttles, where those of the disk beside them
/// without one deviated by 8 %.
const REGULAR: f64 = 0.01;

/// The course of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Course {
    /// Requests per second at the end.
    pub(crate) requests_per_s: Estimate,
    /// Bytes of a request.
    pub(crate) request_bytes: f64,
    /// The burst before.
    pub(crate) burst: Option<Burst>,
    /// Whether the rate at the end varies less than a device's does.
    pub(crate) is_regular: bool,
}

/// A burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Burst {
    /// Its length.
    pub(crate) seconds: f64,
    /// Requests per second in it.
    pub(crate) requests_per_s: f64,
    /// Requests in it beyond the rate that lasts: the size of the bucket.
    pub(crate) requests: f64,
}

impl Course {
    /// Of a sample with enough intervals whose rate settles.
    pub(crate) fn of(sample: &Sample) -> Option<Course> {
        if !sample.is_complete() || sample.flush_s.is_some() || sample.intervals.len() < INTERVALS_MIN {
            return None;
        }
        let done = Done::of(sample)?;
        let (end_s, all) = *done.0.last()?;
        let surplus_after = |from_s: f64| {
            let per_s = (all - done.at(from_s)) / (end_s - from_s);
            let surplus = |(at_s, requests): &(f64, f64)| requests - per_s * at_s;
            let most = done.0.iter().map(surplus).fold(0.0, f64::max);
            // Beyond the end of the burst the surplus stays, but for scatter.
            let scatter = (ROUGH * most).max(ROUGH * per_s);
            let (at_s, _) = *done.0.iter().find(|point| surplus(point) >= most - scatter)?;
            (per_s > 0.0).then_some((per_s, at_s, most))
        };
        let latest_s = end_s * (1.0 - LAST);
        let (_, first_end_s, _) = surplus_after(latest_s)?;
        if first_end_s > latest_s {
            return None;
        }
        // The end of the burst may be within an interval.
        let from_s = (first_end_s + 0.1 * end_s).min(latest_s);
        let (per_s, burst_s, requests) = surplus_after(from_s)?;
        let rates = done.windows(from_s, WINDOWS);
        let requests_per_s = mean_estimate(Quantity::RequestsPerSecond, &rates)?;
        let half_second = done.windows(from_s, (((end_s - from_s) / 0.5) as usize).clamp(4, 40));
        let scatter = half_second.iter().map(|rate| (rate - per_s).powi(2)).sum::<f64>() / half_second.len() as f64;
        let a_request = half_second.len() as f64 / (end_s - from_s);
        let burst = Burst { seconds: burst_s, requests_per_s: done.at(burst_s) / burst_s, requests };
        Some(Course {
            requests_per_s,
            request_bytes: sample.total.bytes as f64 / sample.total.requests.max(1) as f64,
            burst: (burst_s > 0.0 && requests > BURST_MIN_S * per_s && requests > 4.0).then_some(burst),
            is_regular: scatter.sqrt() <= REGULAR * per_s + a_request,
        })
    }

    /// Whether a limiter held it at the end.
    pub(crate) fn is_limited(&self) -> bool {
        self.is_regular && self.burst.is_some()
    }

    /// Bytes per second at the end.
    pub(crate) fn bytes_per_s(&self) -> Estimate {
        let scaled = |value: f64| value * self.request_bytes;
        let Estimate { value, low, high, .. } = self.requests_per_s;
        let quantity = Quantity::BytesPerSecond;
        Estimate { quantity, value: scaled(value), low: low.map(scaled), high: high.map(scaled), ..self.requests_per_s }
    }
}

/// Requests done by the end of each interval.
struct Done(Vec<(f64, f64)>);

impl Done {
    fn of(sample: &Sample) -> Option<Done> {
        // What was outstanding when the time was over is awaited, but nothing new is issued.
        let duration_s = sample.workload.limits.duration.map_or(f64::INFINITY, |duration| duration.seconds());
        let mut sum = 0.0;
        let counted = sample.intervals.iter().take_while(|interval| interval.at_s <= duration_s + 1e-6);
        let done = counted.map(|interval| {
            sum += interval.requests as f64;
            (interval.at_s, sum)
        });
        let done: Vec<(f64, f64)> = std::iter::once((0.0, 0.0)).chain(done).collect();
        (sum > 0.0).then_some(Done(done))
    }

    /// By a time, in proportion within an interval.
    fn at(&self, at_s: f64) -> f64 {
        let next = self.0.partition_point(|(end_s, _)| *end_s < at_s).clamp(1, self.0.len() - 1);
        let ((from_s, before), (to_s, after)) = (self.0[next - 1], self.0[next]);
        before + (after - before) * ((at_s - from_s) / (to_s - from_s)).clamp(0.0, 1.0)
    }

    /// Requests per second of equal windows from a time to the end.
    fn windows(&self, from_s: f64, count: usize) -> Vec<f64> {
        let end_s = self.0.last().map_or(0.0, |(end_s, _)| *end_s);
        let length_s = (end_s - from_s) / count as f64;
        let at = |number: usize| self.at(from_s + number as f64 * length_s);
        (0..count).map(|number| (at(number + 1) - at(number)) / length_s).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Normal, Run, random, read};
    use halfpower_model::sample::Interval;
    use halfpower_model::{Limits, Nanoseconds, Workload};

    /// Six seconds of 20 ms each, at rates given by the time.
    pub(crate) fn course_of(rate: impl FnMut(f64) -> f64) -> Option<Course> {
        let limits = Limits { duration: Some(Nanoseconds(6_000_000_000)), ..Limits::default() };
        let mut run = Run::of([(Workload { limits, ..random(read(4)) }, [1e6])]);
        let sample = &mut run.samples[0].sample;
        let mut rate = rate;
        sample.intervals = (0..300)
            .map(|number| Interval {
                at_s: f64::from(number + 1) * 0.02,
                requests: (rate(f64::from(number) * 0.02) * 0.02).round() as u64,
                bytes: 0,
                latency_p50_ns: None,
                latency_p99_ns: None,
            })
            .collect();
        sample.total.requests = 1000;
        sample.total.bytes = 4_096_000;
        Course::of(sample)
    }

    #[test]
    fn a_burst_is_told_from_what_lasts() {
        let course = course_of(|at_s| if at_s < 1.99 { 9000.0 } else { 3000.0 }).unwrap();
        let burst = course.burst.unwrap();
        assert!((burst.seconds - 2.0).abs() < 0.03 && (burst.requests_per_s - 9000.0).abs() < 50.0, "{burst:?}");
        assert!((burst.requests - 12_000.0).abs() < 100.0 && course.is_regular, "{course:?}");
        assert!((course.requests_per_s.value - 3000.0).abs() < 5.0);
        assert!((course.bytes_per_s().value - 3000.0 * 4096.0).abs() < 5.0 * 4096.0);
        // A tenth of a second, as QEMU's throttle allows.
        let short = course_of(|at_s| if at_s < 0.01 { 6850.0 } else { 1000.0 }).unwrap().burst.unwrap();
        assert!((short.requests - 117.0).abs() < 2.0, "{short:?}");
    }

    #[test]
    fn a_rate_without_a_limit_has_no_burst_that_counts() {
        let mut normal = Normal::new(7);
        let noisy = course_of(|_| 20_000.0 * (1.0 + 0.08 * normal.draw())).unwrap();
        assert!(noisy.burst.is_none(), "{noisy:?}");
        let rising = course_of(|at_s| if at_s < 1.5 { 600.0 } else { 2500.0 }).unwrap();
        assert_eq!(rising.burst, None);
        // It falls too late.
        assert_eq!(course_of(|at_s| if at_s < 5.5 { 9000.0 } else { 3000.0 }), None);
    }
}
