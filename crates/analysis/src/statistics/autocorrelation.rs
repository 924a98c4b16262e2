//! Autocorrelated series: the number of independent values they are worth, and the mean with an interval.
//!
//! Seconds of one run are such a series. The *autocorrelation time* is the number of values per independent one. It is the sum of
//! pairs of neighbouring autocovariances while these are positive, each at most as large as the one before. It is slightly too
//! short in short series, so it decides only whether a series is long enough.
//!
//! The interval is that of batch means: the series is cut into five equal parts, whose means are nearly independent,
//! with Student's t. With 20 autocorrelation times five batches cover the truth in 93 to 95 %, but ten or twenty batches, and
//! the interval by the effective size, in 86 to 92 %. Shorter series have no interval.
//!
//! The mean of a series is no repetition: another run may have another level. The interval is within one run only.
//! Sources: Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7 (1992), section 3.3, for the sum; Law and
//! Carson, "A sequential procedure for determining the length of a steady-state simulation", Operations Research 27
//! (1979), and Schmeiser, "Batch size effects in the analysis of simulation output", Operations Research 30 (1982), for
//! few batches.

use super::interval::estimate;
use super::mean::{mean, mean_interval, variance};
use halfpower_model::{Estimate, Quantity};

const BATCHES: usize = 5;
/// The fewest autocorrelation times that carry an interval, and the fewest values.
const TIMES_MIN: f64 = 20.0;
const VALUES_MIN: usize = 100;

/// Number of independent values of a series: its length over its autocorrelation time, at most its length. A constant series has
/// one, an empty one zero.
fn effective_size(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let covariance = autocovariance(values);
    let Some(variance) = covariance(0).filter(|variance| *variance > 0.0) else {
        return count.min(1.0);
    };
    let mut sum = 0.0;
    let mut least = f64::INFINITY;
    for lag in (0..values.len()).step_by(2) {
        let pair = covariance(lag).unwrap_or(0.0) + covariance(lag + 1).unwrap_or(0.0);
        if pair <= 0.0 {
            break;
        }
        least = least.min(pair);
        sum += least;
    }
    let time = 2.0 * sum / variance - 1.0;
    count / time.max(1.0)
}

/// Number of independent values whose mean is as precise as that of five batches; at most `effective_size`, whose sum ends at the
/// first pair below zero and misses longer waves.
pub fn worth_by_batches(values: &[f64]) -> f64 {
    let by_batches = variance(values).zip(variance(&batch_means(values)));
    let by_batches = by_batches.map_or(f64::INFINITY, |(single, batch)| BATCHES as f64 * single / batch);
    effective_size(values).min(by_batches)
}

/// The means of five equal parts.
fn batch_means(values: &[f64]) -> Vec<f64> {
    let batch = (values.len() / BATCHES).max(1);
    // The remainder is skipped at the beginning, where a series is the least settled.
    values[values.len().saturating_sub(batch * BATCHES)..].chunks(batch).filter_map(mean).collect()
}

/// The autocovariance at a lag; none if the lag is the whole series.
fn autocovariance(values: &[f64]) -> impl Fn(usize) -> Option<f64> {
    let mean = mean(values).unwrap_or(0.0);
    move |lag| {
        let later = values.get(lag..).filter(|later| !later.is_empty())?;
        let products = values.iter().zip(later).map(|(one, other)| (one - mean) * (other - mean));
        Some(products.sum::<f64>() / values.len() as f64)
    }
}

/// The mean of a series without warm-up; none if empty. No interval with fewer than a hundred values or twenty autocorrelation
/// times. `repetitions` is one.
pub fn series_mean(quantity: Quantity, values: &[f64]) -> Option<Estimate> {
    let enough = values.len() >= VALUES_MIN && effective_size(values) >= TIMES_MIN;
    let interval = enough.then(|| mean_interval(&batch_means(values)));
    let mean = mean(values)?;
    // The skipped values may lie beyond a narrow interval.
    Some(estimate(quantity, mean, interval.flatten().map(|interval| interval.with(mean)), 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Normal;

    /// Each value is a share of the one before, and chance.
    fn series(share: f64, count: usize, seed: u64) -> Vec<f64> {
        let mut normal = Normal::new(seed);
        let mut value = normal.draw() / (1.0 - share * share).sqrt();
        let next = |_| {
            value = share * value + normal.draw();
            value
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn eight_values_by_hand() {
        // 1 1 1 1 -1 -1 -1 -1: covariances times 8 are 8, 5, 2, -1, …: pairs 13, then 2 - 1 = 1, then -4 - 3. The time is
        // 2 × 14 / 8 - 1 = 2.5.
        let values = [1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0];
        assert!((effective_size(&values) - 8.0 / 2.5).abs() < 1e-12);
        // 1 -1 1 -1: 4, -3 → 1; 2, -1 → 1; the time 2 × 2 / 4 - 1 = 0 counts as 1.
        assert_eq!(effective_size(&[1.0, -1.0, 1.0, -1.0]), 4.0);
        assert_eq!((effective_size(&[]), effective_size(&[3.0; 9])), (0.0, 1.0));
    }

    #[test]
    fn what_swings_back_at_once_is_worth_no_more_than_its_batches_tell() {
        // Two values later the swing has turned, which ends the sum at its second pair; the level steps up from batch to batch.
        let level = |place: usize| (place / 60) as f64 * 0.3;
        let values: Vec<f64> = (0..300).map(|place| level(place) + [1.0, 0.0, -1.0, 0.0][place % 4]).collect();
        assert!(effective_size(&values) > 100.0, "{}", effective_size(&values));
        // The five levels 0, 0.3, … 1.2: variance 0.225; of all values 300/299 of 0.5 + 0.18.
        let worth = worth_by_batches(&values);
        assert!((worth - 5.0 * (0.68 * 300.0 / 299.0) / 0.225).abs() < 1e-9, "{worth}");
        let settled: Vec<f64> = (0..300).map(|place| if place % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert_eq!(worth_by_batches(&settled), 300.0, "batches that do not differ say nothing against it");
    }

    #[test]
    fn the_time_of_a_known_series_is_found() {
        // (1 + φ) / (1 - φ): 3 for 0.5, 9 for 0.8.
        for (share, time) in [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0)] {
            let found = 20_000.0 / effective_size(&series(share, 20_000, 1992));
            assert!((found / time - 1.0).abs() < 0.15, "{share}: {found}");
        }
    }

    #[test]
    fn batches_by_hand() {
        // 102 values: the first two are left over; means of twenty 1, 2, 3, 4, 5: 3 ± 2.77645 × √(2.5 / 5), and the mean of all.
        let mut values = vec![3.0, 3.0];
        for level in 1..=5 {
            values.extend((0..20).map(|index| f64::from(level) + if index % 2 == 0 { 9.0 } else { -9.0 }));
        }
        let estimate = series_mean(Quantity::Ratio, &values).unwrap();
        assert!((estimate.value - 3.0).abs() < 1e-12 && estimate.repetitions == 1);
        assert!((estimate.high.unwrap() - 3.0 - 2.776_445 * 0.5_f64.sqrt()).abs() < 1e-5, "{estimate:?}");
    }

    #[test]
    fn a_short_series_has_no_interval() {
        assert_eq!(series_mean(Quantity::Ratio, &[]), None);
        assert_eq!(series_mean(Quantity::Ratio, &series(0.0, 99, 1)).unwrap().low, None);
        assert_eq!(series_mean(Quantity::Ratio, &series(0.97, 200, 1)).unwrap().low, None);
        assert!(series_mean(Quantity::Ratio, &series(0.5, 200, 1)).unwrap().low.is_some());
        assert_eq!(series_mean(Quantity::Ratio, &[7.0; 200]).unwrap().low, None, "a constant series");
    }
}
