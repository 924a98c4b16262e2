//! How a long sample went on: a burst, and the rate that lasts.
//!
//! A token bucket of size σ that refills at ρ lets through at most σ + ρt in any time t (Cruz, IEEE Transactions on Information Theory
//! 37, 1991). With the rate of the end as ρ, the burst is the surplus over ρt that stays. It ends where that is reached.

use crate::rate_over_time::of_all_workers;
use crate::statistics::{mean, mean_estimate};
use halfpower_model::{Estimate, Quantity, Sample};

/// Fewer full intervals do not show where a burst ends.
const INTERVALS_MIN: usize = 60;
/// A rate lasts if it is that of the last part, at least this share of the sample.
const LAST: f64 = 0.15;
/// Windows of the rate that lasts; each is at least as long as a slice of the kernel's throttle, 0.1 s.
const WINDOWS: usize = 8;
/// Windows of a burst are no shorter: a quarter of a slice of the kernel's throttle.
const STEADY_S: f64 = 0.025;
/// Shorter surpluses are within a slice of a throttle or the outstanding requests. Seconds at the rate that lasts.
const BURST_MIN_S: f64 = 0.04;
/// The same in requests.
const BURST_MIN: f64 = 4.0;
/// Its rate exceeds that which lasts by at least this share.
const FASTER: f64 = 0.1;
/// The end of a burst is told as closely as this share of its surplus, or these seconds at the rate that lasts.
const ROUGH: f64 = 0.02;
/// Samples with a longer pause between them do not continue each other.
const GAP_MAX_S: f64 = 1.0;
/// What a bucket got in the pause has passed after the first, and shows until the second of these seconds.
const REFILL_S: [f64; 2] = [0.25, 1.0];
/// A rate falls if it is lower by this share.
const FALL: f64 = 0.1;
/// A rate that drops to less than this share at the end may have further to go.
const DROP: f64 = 0.67;
/// The end of a burst is told from the time at which it has this share of its surplus, at least.
const NEARLY: f64 = 0.8;
/// How many times as fast a burst begins, if it is not steady.
const HALVES: f64 = 2.0;
/// Requests within so many seconds may have completed together.
const LUMP_S: f64 = 0.15;
/// The share of the requests that lumps have, at least.
const IN_LUMPS: f64 = 0.9;
/// A rate lasts if its interval is no wider than this share on a side and one request in a window.
const PRECISE: f64 = 0.03;
/// The same of a limiter's rate without a burst before. Set by hand: that of a virtual disk without a limit has 0.5 % and more.
const EXACT: f64 = 0.002;
/// The requests done by a limiter deviate from a straight line by so many seconds of the rate at most, and by those outstanding, which
/// may complete together: what a busy host delays, a bucket lets through afterwards. A device's deviations add up.
const REGULAR_S: f64 = 0.05;

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
    /// Whether it varies no more than a limiter's, which lets through later what was delayed.
    pub(crate) is_exact: bool,
    /// Length of the part with that rate.
    pub(crate) seconds: f64,
    /// Whether the rate falls so late that what lasts is not known.
    pub(crate) falls_late: bool,
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
    /// Of a sample with enough intervals.
    pub(crate) fn of(sample: &Sample) -> Option<Course> {
        Course::of_each(&[sample])
    }

    /// Of samples that continue each other.
    pub(crate) fn of_each(samples: &[&Sample]) -> Option<Course> {
        let sample = samples.last()?;
        let outstanding = f64::from(sample.workload.depth) * f64::from(sample.workload.workers);
        let done = Done::of_each(samples)?;
        let lumps = done.by_lumps(f64::from(sample.workload.depth), outstanding);
        let is_in_lumps = lumps.is_some();
        let done = lumps.unwrap_or(done);
        let (end_s, all) = *done.0.last()?;
        let latest_s = end_s * (1.0 - LAST);
        let surplus_after = |from_s: f64| {
            let per_s = (all - done.at(from_s)) / (end_s - from_s);
            let surplus = |(at_s, requests): &(f64, f64)| requests - per_s * at_s;
            // Beyond the end of the burst the surplus stays, but for scatter.
            let late: Vec<f64> = done.0.iter().filter(|(at_s, _)| *at_s >= latest_s).map(surplus).collect();
            let most = mean(&late)?.max(0.0);
            let [low, high] = [f64::min, f64::max].map(|of| late.iter().copied().reduce(of).unwrap_or_default());
            let scatter = (ROUGH * most).max(ROUGH * per_s).max(high - low);
            // Found a little before its end, so that scatter does not hide it.
            let nearly = (most - scatter).max(NEARLY * most);
            let reached = done.0.iter().position(|point| surplus(point) >= nearly)?;
            let [before, then] = [reached.saturating_sub(1), reached].map(|number| done.0[number]);
            let rise = surplus(&then) - surplus(&before);
            let beyond = if rise > 0.0 { (surplus(&then) - nearly) / rise } else { 0.0 };
            let nearly_s = then.0 - beyond * (then.0 - before.0);
            // The last part has one request more or less by chance.
            let by_chance = end_s / (end_s - from_s);
            let is_burst = most > BURST_MIN_S * per_s && most > BURST_MIN.max(by_chance);
            let burst_s = if is_burst { nearly_s * most / nearly } else { 0.0 };
            (per_s > 0.0).then_some((per_s, burst_s, most, high - low))
        };
        let (last_per_s, first_end_s, _, spread) = surplus_after(latest_s)?;
        // A cache that is full may let through a part of it at a time.
        let late = done.0.iter().filter(|(at_s, _)| *at_s >= latest_s);
        let at_once = late.map(|(at_s, before)| done.at(at_s + LUMP_S) - before).fold(0.0, f64::max);
        let uneven = (at_once - LUMP_S * last_per_s).max(BURST_MIN);
        let settles = first_end_s <= latest_s && spread <= FALL * last_per_s * (end_s - latest_s) + uneven;
        // The end of the burst may be within an interval.
        let from_s = (first_end_s + 0.1 * end_s).min(latest_s);
        let (per_s, burst_s, requests, _) = surplus_after(from_s)?;
        let rates = done.windows(from_s, end_s, WINDOWS);
        let requests_per_s = mean_estimate(Quantity::RequestsPerSecond, &rates)?;
        // A window begins and ends between two requests.
        let one = WINDOWS as f64 / (end_s - from_s);
        let is_within = |share: f64| requests_per_s.low.is_some_and(|low| low >= (1.0 - share) * per_s - one);
        let lump = if is_in_lumps { outstanding } else { outstanding.min(REGULAR_S * per_s) };
        let allowed = REGULAR_S * per_s + lump + 1.0;
        let burst = Burst { seconds: burst_s, requests_per_s: done.at(burst_s) / burst_s, requests };
        let is_faster = burst_s > 0.0 && burst.requests_per_s > (1.0 + FASTER) * per_s;
        // A device varies as much before, but does not halve. The last window may be of the end.
        let before = if burst_s > WINDOWS as f64 * STEADY_S { done.windows(0.0, burst_s, WINDOWS) } else { Vec::new() };
        let slowest = before.iter().take(WINDOWS - 1).copied().reduce(f64::min).unwrap_or(burst.requests_per_s);
        let is_steady = burst.requests_per_s - slowest < slowest - per_s;
        let is_faster = is_faster && (is_steady || before[0] > HALVES * per_s);
        let burst = (settles && is_faster).then_some(burst);
        Some(Course {
            requests_per_s,
            request_bytes: sample.total.bytes as f64 / sample.total.requests.max(1) as f64,
            burst,
            is_regular: settles && is_within(PRECISE) && done.spread(from_s) <= allowed,
            is_exact: is_within(EXACT),
            seconds: if burst.is_some() { end_s - burst_s } else { end_s },
            falls_late: !settles && last_per_s < (1.0 - FALL) * done.at(latest_s) / latest_s || done.drops_at(end_s),
        })
    }

    /// Bytes per second at the end.
    pub(crate) fn bytes_per_s(&self) -> Estimate {
        let scaled = |value: f64| value * self.request_bytes;
        let Estimate { value, low, high, .. } = self.requests_per_s;
        let quantity = Quantity::BytesPerSecond;
        Estimate { quantity, value: scaled(value), low: low.map(scaled), high: high.map(scaled), ..self.requests_per_s }
    }
}

/// Whether a long sample continues another.
pub(crate) fn continues(first: &Sample, next: &Sample) -> bool {
    (0.0..GAP_MAX_S).contains(&gap_s(first, next))
        && [first, next].into_iter().all(|one| one.intervals.len() >= INTERVALS_MIN)
}

fn gap_s(first: &Sample, next: &Sample) -> f64 {
    next.started_at.duration_since(first.started_at).as_secs_f64() - first.elapsed_s
}

/// Requests per second by windows of `step_s` over samples that continue each other; none if they are short.
pub(crate) fn over_time(samples: &[&Sample], step_s: f64) -> Option<Vec<f64>> {
    let done = Done::of_each(samples)?;
    let windows = (done.0.last()?.0 / step_s + 1e-6) as usize;
    let at = |number: usize| done.at(number as f64 * step_s);
    Some((0..windows).map(|number| (at(number + 1) - at(number)) / step_s).collect())
}

/// Requests done by the end of each interval.
struct Done(Vec<(f64, f64)>);

impl Done {
    /// None if the sample has too few intervals.
    fn of(sample: &Sample) -> Option<Done> {
        if !sample.is_complete() || sample.flush_s.is_some() || sample.intervals.len() < INTERVALS_MIN {
            return None;
        }
        // What was outstanding when the time was over is awaited, but nothing new is issued.
        let duration_s = sample.workload.limits.duration.map_or(f64::INFINITY, |duration| duration.seconds());
        let mut sum = 0.0;
        let counted = of_all_workers(sample).iter().take_while(|interval| interval.at_s <= duration_s + 1e-6);
        let done = counted.map(|interval| {
            sum += interval.requests as f64;
            (interval.at_s, sum)
        });
        let done: Vec<(f64, f64)> = std::iter::once((0.0, 0.0)).chain(done).collect();
        (sum > 0.0 && done.len() > INTERVALS_MIN).then_some(Done(done))
    }

    /// By a time, in proportion within an interval.
    fn at(&self, at_s: f64) -> f64 {
        let next = self.0.partition_point(|(end_s, _)| *end_s < at_s).clamp(1, self.0.len() - 1);
        let ((from_s, before), (to_s, after)) = (self.0[next - 1], self.0[next]);
        before + (after - before) * ((at_s - from_s) / (to_s - from_s)).clamp(0.0, 1.0)
    }

    /// Of samples that continue each other, without what passed at once because a bucket got it in the pause.
    fn of_each(samples: &[&Sample]) -> Option<Done> {
        let mut all = vec![(0.0, 0.0)];
        for (number, sample) in samples.iter().enumerate() {
            let (from_s, before) = all.last().copied()?;
            let own = Done::of(sample)?;
            let gap_s = number.checked_sub(1).map_or(0.0, |last| gap_s(samples[last], sample));
            let refill = own.surplus_at_first().clamp(0.0, own.0.last()?.1 / own.0.last()?.0 * gap_s);
            let point = |(at_s, done): &(f64, f64)| (from_s + at_s, before + (done - refill).max(0.0));
            all.extend(own.0.iter().skip(1).map(point));
        }
        Some(Done(all))
    }

    /// Requests beyond the rate that follows, in the first moment.
    fn surplus_at_first(&self) -> f64 {
        let [from_s, to_s] = REFILL_S;
        let Some((end_s, all)) = self.0.last().copied().filter(|(end_s, _)| *end_s > 2.0 * to_s) else { return 0.0 };
        let per_s = (all - self.at(to_s)) / (end_s - to_s);
        let first = self.0.iter().filter(|(at_s, _)| (from_s..to_s).contains(at_s));
        mean(&first.map(|(at_s, done)| done - per_s * at_s).collect::<Vec<_>>()).unwrap_or(0.0)
    }

    /// Range of 98 % of the deviations from the straight line through the requests done from a time on.
    fn spread(&self, from_s: f64) -> f64 {
        let points: Vec<(f64, f64)> = self.0.iter().copied().filter(|(at_s, _)| *at_s >= from_s).collect();
        let count = points.len().max(1) as f64;
        let [x, y] = [0, 1].map(|of| points.iter().map(|point| [point.0, point.1][of]).sum::<f64>() / count);
        let sum = |of: fn(f64, f64) -> f64| points.iter().map(|(at_s, done)| of(at_s - x, done - y)).sum::<f64>();
        let slope = sum(|x, y| x * y) / sum(|x, _| x * x).max(f64::MIN_POSITIVE);
        let mut off: Vec<f64> = points.iter().map(|(at_s, done)| done - y - slope * (at_s - x)).collect();
        off.sort_by(f64::total_cmp);
        // A delay of the host is short.
        let beyond = off.len() / 100;
        off.get(off.len().saturating_sub(beyond + 1)).zip(off.get(beyond)).map_or(0.0, |(high, low)| high - low)
    }

    /// By the ends of lumps, if nearly all requests of the second half complete in lumps of half of a worker's `own` to all
    /// `outstanding`: a server that works on one at a time may answer all together. A lump may be in two intervals.
    fn by_lumps(&self, own: f64, outstanding: f64) -> Option<Done> {
        let (mut lumps, mut was_idle) = (vec![self.0[0]], true);
        for ends in self.0.windows(2) {
            let is_idle = ends[1].1 <= ends[0].1;
            if is_idle && !was_idle {
                lumps.push(ends[0]);
            }
            was_idle = is_idle;
        }
        lumps.extend(self.0.last().copied().filter(|_| !was_idle));
        let half_s = self.0.last()?.0 / 2.0;
        let late = |points: &[(f64, f64)]| points.iter().filter(|(at_s, _)| *at_s >= half_s).count();
        let sizes = || lumps.windows(2).filter(|ends| ends[1].0 >= half_s).map(|ends| ends[1].1 - ends[0].1);
        let whole: f64 = sizes().filter(|requests| (own / 2.0..=outstanding).contains(requests)).sum();
        let are_lumps = own > 1.0 && 2 * late(&lumps) < late(&self.0) && whole >= IN_LUMPS * sizes().sum::<f64>();
        are_lumps.then_some(Done(lumps))
    }

    /// Whether the rate of the last twentieth before a time is below [`DROP`] of the rate until then.
    fn drops_at(&self, end_s: f64) -> bool {
        let from_s = end_s * 0.95;
        (self.at(end_s) - self.at(from_s)) / (end_s - from_s) < DROP * self.at(from_s) / from_s
    }

    /// Requests per second of equal windows between two times.
    fn windows(&self, from_s: f64, end_s: f64, count: usize) -> Vec<f64> {
        let length_s = (end_s - from_s) / count as f64;
        let at = |number: usize| self.at(from_s + number as f64 * length_s);
        (0..count).map(|number| (at(number + 1) - at(number)) / length_s).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Normal, Run, random, read};
    use halfpower_model::sample::{Interval, WorkerTotals};
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
                ..Interval::default()
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
    fn what_is_left_when_a_worker_has_done_its_share_is_no_rate_that_lasts() {
        let mut run = Run::of([(Workload { limits: Limits::default(), ..random(read(4)) }, [1e6])]);
        let sample = &mut run.samples[0].sample;
        let interval = |number: u32| Interval {
            at_s: f64::from(number + 1) * 0.02,
            requests: if number < 125 { 2000 } else { 100 },
            bytes: 0,
            ..Interval::default()
        };
        sample.intervals = (0..300).map(interval).collect();
        assert!(Course::of(sample).unwrap().burst.is_some());
        sample.workers = [2.5, 6.0].map(|elapsed_s| WorkerTotals { elapsed_s, ..WorkerTotals::default() }).to_vec();
        let course = Course::of(sample).unwrap();
        assert!(course.burst.is_none() && (course.requests_per_s.value - 100_000.0).abs() < 1.0, "{course:?}");
    }

    #[test]
    fn what_a_bucket_got_in_a_pause_is_no_burst() {
        let part = |burst: f64| {
            let limits = Limits { duration: Some(Nanoseconds(6_000_000_000)), ..Limits::default() };
            let mut run = Run::of([(Workload { limits, ..random(read(4)) }, [1e6])]);
            let sample = &mut run.samples[0].sample;
            let requests = |number: u32| 10 + if number == 0 { burst as u64 } else { 0 };
            let interval = |number: u32| Interval {
                at_s: f64::from(number + 1) * 0.01,
                requests: requests(number),
                bytes: 0,
                ..Interval::default()
            };
            (sample.intervals, sample.elapsed_s) = ((0..600).map(interval).collect(), 6.0);
            sample.clone()
        };
        let (first, mut next) = (part(2000.0), part(280.0));
        next.started_at = first.started_at + std::time::Duration::from_millis(6300);
        assert!(continues(&first, &next));
        let course = Course::of_each(&[&first, &next]).unwrap();
        assert!(course.is_regular && (course.requests_per_s.value - 1000.0).abs() < 1.0, "{course:?}");
        assert!((course.burst.unwrap().requests - 2000.0).abs() < 20.0, "{course:?}");
    }

    #[test]
    fn a_rate_without_a_limit_has_no_burst_that_counts() {
        let mut normal = Normal::new(7);
        let noisy = course_of(|_| 20_000.0 * (1.0 + 0.08 * normal.draw())).unwrap();
        assert!(noisy.burst.is_none(), "{noisy:?}");
        let rising = course_of(|at_s| if at_s < 1.5 { 600.0 } else { 2500.0 }).unwrap();
        assert_eq!(rising.burst, None);
        // Few requests, of which the last part has one more or less.
        for tenths in 600..700 {
            let per_s = f64::from(tenths) * 0.1;
            let even = course_of(|at_s| (((at_s + 0.02) * per_s).floor() - (at_s * per_s).floor()) / 0.02).unwrap();
            assert!(even.is_regular && even.burst.is_none(), "{per_s}: {even:?}");
        }
        // It falls too late, by more or by less.
        assert!(course_of(|at_s| if at_s < 5.8 { 9000.0 } else { 3000.0 }).unwrap().falls_late);
        let late = course_of(|at_s| if at_s < 5.5 { 9000.0 } else { 3000.0 }).unwrap();
        assert!(late.falls_late && !late.is_regular && late.burst.is_none(), "{late:?}");
    }
}
