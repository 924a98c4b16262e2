//! The rate of one sample by interval, and its levels.

use crate::statistics::{lasting_changes, mean};
use halfpower_model::sample::Interval;
use halfpower_model::{Quantity, Sample};

/// Smaller changes are not reported.
pub(crate) const MARGIN: f64 = 0.1;
/// Scatter is taken to be at least this share of the mean.
const RESOLUTION: f64 = 0.02;
/// Fewer intervals show no lasting change.
const INTERVALS_MIN: usize = 12;
/// More intervals are averaged in groups: the search for changes is quadratic in their number.
const INTERVALS_MAX: usize = 400;

/// How the rate changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trend {
    /// High, then lower and level.
    Fell,
    /// Down in several steps.
    FellInSteps,
    /// Higher at the end.
    Rose,
    /// Up and down.
    Drifted,
}

/// Levels in time order: start and rate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Levels(pub(crate) Vec<(f64, f64)>);

/// The intervals until the first worker has done its share; afterwards fewer targets are measured.
pub(crate) fn of_all_workers(sample: &Sample) -> &[Interval] {
    let end_s = sample.workers.iter().map(|worker| worker.elapsed_s).fold(f64::INFINITY, f64::min);
    let count = sample.intervals.partition_point(|interval| interval.at_s <= end_s + 1e-6);
    &sample.intervals[..count]
}

/// Start of each full interval in seconds, and its rate.
fn rates(sample: &Sample, amount: fn(&Interval) -> u64) -> Vec<(f64, f64)> {
    let spacing_s = sample.workload.interval.seconds();
    let mut from_s = 0.0;
    let mut rates = Vec::new();
    for interval in of_all_workers(sample) {
        let length_s = interval.at_s - from_s;
        // The last interval may be cut short.
        if length_s > 0.5 * spacing_s && length_s > 0.0 {
            rates.push((from_s, amount(interval) as f64 / length_s));
        }
        from_s = interval.at_s;
    }
    rates
}

/// Bytes per second, or requests without bytes; none if the figure is not the mean of the intervals.
pub(crate) fn rates_of(sample: &Sample) -> Option<(Quantity, Vec<(f64, f64)>)> {
    if !sample.is_complete() || sample.flush_s.is_some() {
        return None;
    }
    let has_bytes = sample.intervals.iter().any(|interval| interval.bytes > 0);
    Some(if has_bytes {
        (Quantity::BytesPerSecond, rates(sample, |interval| interval.bytes))
    } else {
        (Quantity::RequestsPerSecond, rates(sample, |interval| interval.requests))
    })
}

impl Levels {
    /// Of a sample's full intervals; none if too few.
    pub(crate) fn of(sample: &Sample) -> Option<Levels> {
        Levels::of_rates(&rates(sample, |interval| interval.bytes))
    }

    /// Of interval starts and their rates.
    pub(crate) fn of_rates(rates: &[(f64, f64)]) -> Option<Levels> {
        let together = rates.len().div_ceil(INTERVALS_MAX).max(1);
        let rates: Vec<(f64, f64)> = rates
            .chunks(together)
            .filter_map(|some| Some((some[0].0, mean(&some.iter().map(|(_, rate)| *rate).collect::<Vec<_>>())?)))
            .collect();
        let values: Vec<f64> = rates.iter().map(|(_, rate)| *rate).collect();
        let level = mean(&values).filter(|level| values.len() >= INTERVALS_MIN && *level > 0.0)?;
        let mut starts = lasting_changes(&values, RESOLUTION * level);
        starts.insert(0, 0);
        let ends = starts[1..].iter().copied().chain([values.len()]);
        let stretches =
            starts.iter().zip(ends).filter_map(|(start, end)| Some((rates[*start].0, mean(&values[*start..end])?)));
        Some(Levels(stretches.collect()))
    }

    /// The last level over the first.
    pub(crate) fn change(&self) -> f64 {
        let ends = self.0.first().zip(self.0.last());
        ends.filter(|(first, _)| first.1 > 0.0).map_or(1.0, |(first, last)| last.1 / first.1)
    }

    pub(crate) fn trend(&self) -> Option<Trend> {
        let levels: Vec<f64> = self.0.iter().map(|(_, level)| *level).collect();
        let (first, rest) = levels.split_first()?;
        let (lowest, highest) =
            rest.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), level| (low.min(*level), high.max(*level)));
        let change = self.change();
        if rest.is_empty() {
            return None;
        }
        if change < 1.0 - MARGIN {
            let is_level = highest <= lowest * (1.0 + MARGIN) && highest < *first * (1.0 - MARGIN);
            return Some(if is_level { Trend::Fell } else { Trend::FellInSteps });
        }
        match (change > 1.0 + MARGIN, highest.max(*first) > lowest.min(*first) * (1.0 + 2.0 * MARGIN)) {
            (true, _) => Some(Trend::Rose),
            (false, true) => Some(Trend::Drifted),
            (false, false) => None,
        }
    }
}

/// The lowest and highest level of a sample; none with too few intervals. A single change counts even if one side is short:
/// then all rates before are beyond all rates after.
pub(crate) fn levels_between(sample: &Sample) -> Option<(Quantity, f64, f64)> {
    let (quantity, rates) = rates_of(sample)?;
    let values: Vec<f64> = rates.iter().map(|(_, rate)| *rate).collect();
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let levels: Vec<f64> = Levels::of_rates(&rates)?.0.iter().map(|(_, level)| *level).collect();
    let lasting = (least(&levels), most(&levels));
    let once = (2..values.len().saturating_sub(2)).filter_map(|cut| {
        let (before, after) = (&values[..cut], &values[cut + 1..]);
        let [slow, fast] = if before[0] < after[0] { [before, after] } else { [after, before] };
        (least(fast) > (1.0 + MARGIN) * most(slow)).then(|| mean(slow).zip(mean(fast))).flatten()
    });
    // The interval of the change is in neither.
    let once = once.max_by(|(slow, fast), (slower, faster)| (fast - slow).total_cmp(&(faster - slower)));
    let (low, high) = once.filter(|_| levels.len() == 1).unwrap_or(lasting);
    Some((quantity, low, high))
}

/// Whether the rate changes in a way other than a warm-up.
pub(crate) fn changes_otherwise(sample: &Sample) -> bool {
    let trend = Levels::of(sample).and_then(|levels| levels.trend());
    trend.is_some_and(|trend| trend != Trend::Rose)
}
