//! Changes in the level of an autocorrelated series.
//!
//! [`change_points`] assumes independent values, so every wave of an autocorrelated series would be a change. A change found there
//! is kept only if autocorrelation alone does not explain it. The model is a first-order autoregression about one or several
//! levels, by its exact likelihood; each change must gain five times the logarithm of the number of values. The autocorrelation
//! (0 to 0.98) is fitted again each time, so steps and autocorrelation are not confused. Changes are added one by one, the best
//! first. If a straight line explains a series as well, all its changes are kept.
//!
//! Among series of 12 to 240 values with an autocorrelation of 0, 0.5, 0.8 or 0.9 fewer than 5 % show a change
//! (`tests/coverage.rs`); a step of six times the scatter is found in all.
//!
//! Sources: Davis, Huang and Yao, "Testing for a change in the parameter values and order of an autoregressive model", Annals
//! of Statistics 23 (1995), for the ratio of likelihoods; Robbins, Gallagher, Lund and Aue, "Mean shift testing in correlated
//! data", Journal of Time Series Analysis 32 (2011), for the use of one-step-ahead residuals; the penalty is
//! set by simulation.

use super::change_points::{FAR_OFF, change_points, moved_in, scatter};
use super::mean::mean;

/// Gain of a change, times the logarithm of the number of values.
const PENALTY: f64 = 5.0;
/// Maximum autocorrelation; closer to one there is no level.
const LEAN_MOST: f64 = 0.98;

/// The first index of every stretch but the first, in order; empty for a flat or merely autocorrelated series. The scatter is taken
/// to be at least `resolution`, which is above zero.
pub fn lasting_changes(values: &[f64], resolution: f64) -> Vec<usize> {
    let mut candidates = change_points(values, resolution);
    let (Some(middle), false) = (mean(values), candidates.is_empty()) else { return Vec::new() };
    // In units of the scatter, so that the slopes below do not depend on the values' unit.
    let scale = scatter(values).max(resolution);
    let values: Vec<f64> = moved_in(values, FAR_OFF * scale).iter().map(|value| (value - middle) / scale).collect();
    let series = Series { values: &values, resolution: resolution / scale };
    let penalty = PENALTY * (values.len() as f64).ln();
    let mut starts = vec![0];
    let mut deviance = series.about_levels(&starts);
    if deviance - series.about_a_line() >= penalty {
        return candidates;
    }
    let with = |starts: &[usize], start: usize| {
        let mut starts = starts.to_vec();
        starts.insert(starts.partition_point(|other| *other < start), start);
        starts
    };
    loop {
        let next = candidates.iter().map(|start| (series.about_levels(&with(&starts, *start)), *start));
        match next.min_by(|one, other| one.0.total_cmp(&other.0)) {
            Some((less, start)) if deviance - less >= penalty => {
                (deviance, starts) = (less, with(&starts, start));
                candidates.retain(|candidate| *candidate != start);
            }
            _ => break,
        }
    }
    starts.split_off(1)
}

/// A series about zero, in units of its scatter.
struct Series<'a> {
    values: &'a [f64],
    resolution: f64,
}

impl Series<'_> {
    /// Minus twice the log-likelihood, up to a constant, about levels that begin at `starts`.
    fn about_levels(&self, starts: &[usize]) -> f64 {
        self.least_deviance(|lean| squares_left(self.values, starts, lean))
    }

    /// The same about a straight line. The residual is a parabola over the slope, so three slopes give its minimum.
    fn about_a_line(&self) -> f64 {
        let centre = (self.values.len() - 1) as f64 / 2.0;
        let tilted = |slope: f64| -> Vec<f64> {
            (0..).zip(self.values).map(|(index, value)| value - slope * (f64::from(index) - centre)).collect()
        };
        let (down, up) = (tilted(-1.0), tilted(1.0));
        self.least_deviance(|lean| {
            let [left, level, right] = [&down, self.values, &up].map(|values| squares_left(values, &[0], lean));
            let (bend, tilt) = (f64::midpoint(left, right) - level, (right - left) / 2.0);
            level - tilt * tilt / (4.0 * bend)
        })
    }

    fn least_deviance(&self, squares_left: impl Fn(f64) -> f64) -> f64 {
        let count = self.values.len() as f64;
        let deviance = |lean: f64| {
            let variance = squares_left(lean).max(0.0) / count + self.resolution.powi(2);
            count * variance.ln() - (1.0 - lean * lean).ln()
        };
        let leans = (0..20).map(|step| f64::from(step) * 0.05).chain([LEAN_MOST]);
        leans.map(deviance).fold(f64::INFINITY, f64::min)
    }
}

/// The residual squares of the best levels, with each value predicted from the one before. The first counts by the stationary
/// variance. The normal equations are tridiagonal.
fn squares_left(values: &[f64], starts: &[usize], lean: f64) -> f64 {
    let count = starts.len();
    let (mut own, mut beside, mut right) = (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
    let first = 1.0 - lean * lean;
    let mut squares = first * values[0] * values[0];
    (own[0], right[0]) = (first, first * values[0]);
    let mut level = 0;
    for (index, pair) in (1..).zip(values.windows(2)) {
        let ahead = pair[1] - lean * pair[0];
        squares += ahead * ahead;
        if starts.get(level + 1) == Some(&index) {
            level += 1;
            own[level - 1] += lean * lean;
            right[level - 1] -= lean * ahead;
            own[level] += 1.0;
            right[level] += ahead;
            beside[level] -= lean;
        } else {
            own[level] += (1.0 - lean).powi(2);
            right[level] += (1.0 - lean) * ahead;
        }
    }
    // Elimination from the top; each level's share follows once those above it are eliminated.
    for level in 0..count {
        if level > 0 {
            let share = beside[level] / own[level - 1];
            own[level] -= share * beside[level];
            right[level] -= share * right[level - 1];
        }
        squares -= right[level] * right[level] / own[level];
    }
    squares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Normal;
    use crate::statistics::change_points::tests::NILE;

    const LEVEL: f64 = 1e9;

    /// About a thousand million, as bytes a second are, with a deviation of a fifth, each value leaning on the one before.
    fn leaning(normal: &mut Normal, lean: f64, count: usize) -> Vec<f64> {
        normal.leaning(lean, count).map(|value| LEVEL * (1.0 + 0.2 * value)).collect()
    }

    #[test]
    fn squares_by_hand() {
        // No leaning: 1, 2, 6 about 3 leave 4 + 1 + 9; 5, 5 leave nothing.
        assert!((squares_left(&[1.0, 2.0, 6.0, 5.0, 5.0], &[0, 3], 0.0) - 14.0).abs() < 1e-12);
        // Leaning by a half, 2 and 2 about level m: 3/4 (2 - m)² + (1 - m/2)² leave nothing; 0 and 2: 3/4 m² + (2 - m/2)², the
        // least at m = 1: 0.75 + 2.25.
        assert!(squares_left(&[2.0, 2.0], &[0], 0.5).abs() < 1e-12);
        assert!((squares_left(&[0.0, 2.0], &[0], 0.5) - 3.0).abs() < 1e-12);
        // A level each takes up both, whatever the leaning.
        assert!(squares_left(&[0.0, 2.0], &[0, 1], 0.5).abs() < 1e-12);
    }

    #[test]
    fn what_wanders_does_not_change() {
        for lean in [0.0, 0.5, 0.8, 0.9] {
            for count in [12, 13, 16, 24, 60] {
                let mut normal = Normal::new(count as u64);
                let wave = |_: &u32| !lasting_changes(&leaning(&mut normal, lean, count), 0.02 * LEVEL).is_empty();
                let changed = (0..300).filter(wave).count();
                // 5 % would be 15; three deviations of a binomial above that are 26.
                assert!(changed <= 15, "{changed} of 300 with {count} values leaning by {lean}");
            }
        }
    }

    #[test]
    fn steps_stay_where_they_are() {
        for (lean, count) in [(0.0, 13), (0.0, 24), (0.5, 13), (0.5, 24), (0.8, 100)] {
            let mut normal = Normal::new(2011);
            let found = (0..100).filter(|_| {
                let mut values = leaning(&mut normal, lean, count);
                values[..count / 2].iter_mut().for_each(|value| *value += 1.2 * LEVEL);
                let starts = lasting_changes(&values, 0.02 * LEVEL);
                starts.len() == 1 && starts[0].abs_diff(count / 2) <= 1
            });
            assert!(found.count() >= 95, "{count} values leaning by {lean}");
        }
        let levels = [(10, 3.0), (6, 2.0), (30, 2.5), (7, 1.0)];
        let values: Vec<f64> = levels.iter().flat_map(|(count, level)| std::iter::repeat_n(*level, *count)).collect();
        assert_eq!(lasting_changes(&values, 0.01), [10, 16, 46]);
        assert_eq!(change_points(&values, 0.01), [10, 16, 46]);
        assert_eq!(lasting_changes(&NILE, 1.0), [1899 - 1871]);
    }

    #[test]
    fn a_ramp_is_no_wandering() {
        let mut normal = Normal::new(5);
        let ramp: Vec<f64> = (0..100).map(|index| 100.0 - 0.5 * f64::from(index) + normal.draw()).collect();
        assert_eq!(lasting_changes(&ramp, 1.0), change_points(&ramp, 1.0));
        assert!(!lasting_changes(&ramp, 1.0).is_empty());
    }
}
