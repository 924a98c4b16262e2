//! The end of a series' warm-up: MSER-5.
//!
//! The series is cut into batches of five; the batches to leave out are those without which the standard error of the mean
//! of the rest is the smallest. Only the first half may be left out: where the best place is its very end, the series
//! had not settled, and there is no answer. It finds the approach to a level, not a later change, for which
//! [`super::change_points()`] is.
//! Source: White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69 (1997); the
//! batches: White, Cobb and Spratt, "A comparison of five steady-state truncation heuristics for simulation", Proceedings
//! of the Winter Simulation Conference (2000).

const BATCH: usize = 5;
/// Fewer batches have no answer.
const BATCHES_MIN: usize = 10;

/// Number of values to exclude at the start; a multiple of five. None with fewer than fifty values, or where the series
/// does not settle in its first half.
pub fn warm_up(values: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = values.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    if batches.len() < BATCHES_MIN {
        return None;
    }
    // From the last batch backwards: mean and sum of squared distances to it (Welford, 1962).
    let (mut mean, mut squares) = (0.0, 0.0);
    let mut errors = vec![0.0; batches.len()];
    for (index, batch) in batches.iter().enumerate().rev() {
        let count = (batches.len() - index) as f64;
        let distance = batch - mean;
        mean += distance / count;
        squares += distance * (batch - mean);
        errors[index] = squares / count.powi(2);
    }
    let half = batches.len() / 2;
    // The first of equals: nothing is left out without a gain.
    let best = (0..=half).min_by(|one, other| errors[*one].total_cmp(&errors[*other]))?;
    (best < half || errors[half] == errors[half - 1]).then_some(best * BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Normal;

    #[test]
    fn a_step_by_hand() {
        // Ten batches: 9, 5, then 1, 2, 1, 2, … Mean square distance over count, from each of the first six on: 0.584,
        // 0.159122, 0.03125, 0.034985, 0.041667, 0.048 (by hand for the third: 0.25 / 8); the third is the least.
        let levels = [9.0, 5.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0];
        let values: Vec<f64> =
            levels.iter().flat_map(|level| [level - 1.0, level + 1.0, *level, *level, *level]).collect();
        assert_eq!(warm_up(&values), Some(10));
    }

    #[test]
    fn what_is_settled_keeps_all_and_what_never_settles_has_no_end() {
        assert_eq!(warm_up(&[7.0; 60]), Some(0));
        assert_eq!(warm_up(&[7.0; 49]), None);
        let falling: Vec<f64> = (0..200).map(|index| f64::from(200 - index)).collect();
        assert_eq!(warm_up(&falling), None);
    }

    #[test]
    fn an_exponential_approach_is_left_out_and_noise_is_not() {
        let mut normal = Normal::new(1997);
        let mut left_out = (0, 0);
        for _ in 0..100 {
            let noise: Vec<f64> = (0..500).map(|_| normal.draw()).collect();
            let approach: Vec<f64> =
                noise.iter().zip(0..).map(|(noise, index)| noise + 30.0 * (-f64::from(index) / 20.0).exp()).collect();
            // After 60 values 5 % is left, one and a half deviations.
            left_out.0 += usize::from(warm_up(&approach).is_some_and(|end| (40..=200).contains(&end)));
            left_out.1 += usize::from(warm_up(&noise).is_some_and(|end| end <= 100));
        }
        assert!(left_out.0 >= 95 && left_out.1 >= 70, "{left_out:?}");
    }
}
