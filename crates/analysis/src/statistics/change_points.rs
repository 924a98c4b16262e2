//! Changes in the level of a series: the partition into stretches with the least cost, found exactly.
//!
//! The cost of a stretch is the sum of the squared distances to its mean, in units of the scatter, and each change costs
//! four times the logarithm of the number of values. Schwarz's criterion would be two (a place and a level); twice that
//! avoids false changes in flat series with long-tailed or bimodal scatter, as in read latencies. The median instead of the
//! mean would jump between the modes.
//!
//! An outlier is first moved to three times the scatter from the median of its eleven neighbours (itself included), so that it
//! forms no stretch. A stretch has at least six values, so this moves no step. The scatter is the mean of the smaller nine tenths
//! of the distances between neighbours, which excludes outliers and changes. It is at least a given resolution.
//!
//! Only levels are considered; [`super::divisive_change_points`] considers scatter and shape too. The values must be independent
//! except for the changes; [`super::lasting_changes()`] is for autocorrelated ones.
//!
//! Sources: Jackson and others, "An algorithm for optimal partitioning of data on an interval", IEEE Signal Processing
//! Letters 12 (2005), for the search; Yao, "Estimating the number of change-points via Schwarz' criterion", Statistics &
//! Probability Letters 6 (1988), for cost and penalty; Hampel, "The influence curve and its role in robust estimation",
//! Journal of the American Statistical Association 69 (1974), for outliers.

/// The fewest values of a stretch.
const STRETCH_MIN: usize = 6;
/// The fewest values that can show a change.
pub const CHANGE_VALUES_MIN: usize = 2 * STRETCH_MIN;
/// Cost of a change, times the logarithm of the number of values.
const PENALTY: f64 = 4.0;
/// Maximum distance of a value from the median of its neighbours, in units of the scatter.
pub(super) const FAR_OFF: f64 = 3.0;
/// The share of the distances between neighbours that count for the scatter, and their mean for normal values with a deviation
/// of 1: the distances are normal with √2, folded; nine tenths are below 1.645 √2, and the mean of those is
/// √2 × 0.798 × (1 - e^(-1.645² / 2)) / 0.9.
const KEPT: f64 = 0.9;
const MEAN_KEPT: f64 = 0.93;

/// The first index of every stretch but the first, in order; empty for a flat series. The scatter is taken to be at least
/// `resolution`, which is above zero.
pub fn change_points(values: &[f64], resolution: f64) -> Vec<usize> {
    let count = values.len();
    if count < CHANGE_VALUES_MIN {
        return Vec::new();
    }
    let scale = scatter(values).max(resolution);
    let sums = Sums::of(&moved_in(values, FAR_OFF * scale));
    let penalty = PENALTY * (count as f64).ln();
    // best[end]: the least cost of the values before it, and where the last of their stretches begins.
    let mut best = vec![(f64::INFINITY, 0); count + 1];
    best[0] = (-penalty, 0);
    for end in STRETCH_MIN..=count {
        for start in 0..=end - STRETCH_MIN {
            let cost = best[start].0 + penalty + sums.squares(start, end) / scale.powi(2);
            if cost < best[end].0 {
                best[end] = (cost, start);
            }
        }
    }
    let before = |end: &usize| (*end > 0).then(|| best[*end].1);
    let mut starts: Vec<usize> = std::iter::successors(before(&count), before).filter(|start| *start > 0).collect();
    starts.reverse();
    starts
}

/// The values, none further than `most` from the median of its neighbours.
pub(super) fn moved_in(values: &[f64], most: f64) -> Vec<f64> {
    let near = STRETCH_MIN - 1;
    let moved = |(index, value): (usize, &f64)| {
        let mut window = values[index.saturating_sub(near)..values.len().min(index + near + 1)].to_vec();
        window.sort_by(f64::total_cmp);
        let (lower, upper) = (window[(window.len() - 1) / 2], window[window.len() / 2]);
        // A window of even length at an end has two medians.
        value.clamp(lower - most, upper + most)
    };
    values.iter().enumerate().map(moved).collect()
}

/// The scale of the scatter between neighbours.
pub(super) fn scatter(values: &[f64]) -> f64 {
    let mut distances: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    distances.sort_by(f64::total_cmp);
    distances.truncate((distances.len() as f64 * KEPT).ceil() as usize);
    distances.iter().sum::<f64>() / distances.len() as f64 / MEAN_KEPT
}

/// Cumulative sums of the values and of their squares, relative to the mean to limit rounding errors.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn of(values: &[f64]) -> Sums {
        let middle = values.iter().sum::<f64>() / values.len() as f64;
        let add = |sums: &mut (f64, f64), value: &f64| {
            let distance = value - middle;
            *sums = (sums.0 + distance, sums.1 + distance * distance);
            Some(*sums)
        };
        Sums(std::iter::once((0.0, 0.0)).chain(values.iter().scan((0.0, 0.0), add)).collect())
    }

    /// The sum of the squared distances of the values from `start` to before `end` to their mean.
    fn squares(&self, start: usize, end: usize) -> f64 {
        let (sum, squares) = (self.0[end].0 - self.0[start].0, self.0[end].1 - self.0[start].1);
        squares - sum * sum / (end - start) as f64
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::fixtures::Normal;
    use halfpower_model::random::Random;

    type Draw<'a> = &'a dyn Fn(&mut Normal, &mut Random) -> f64;

    /// The Nile's yearly flow at Aswan from 1871 to 1970, in 10^8 m³: Cobb, "The problem of the Nile", Biometrika 65
    /// (1978), table 1.
    pub(in crate::statistics) const NILE: [f64; 100] = [
        1120., 1160., 963., 1210., 1160., 1160., 813., 1230., 1370., 1140., 995., 935., 1110., 994., 1020., 960.,
        1180., 799., 958., 1140., 1100., 1210., 1150., 1250., 1260., 1220., 1030., 1100., 774., 840., 874., 694., 940.,
        833., 701., 916., 692., 1020., 1050., 969., 831., 726., 456., 824., 702., 1120., 1100., 832., 764., 821., 768.,
        845., 864., 862., 698., 845., 744., 796., 1040., 759., 781., 865., 845., 944., 984., 897., 822., 1010., 771.,
        676., 649., 846., 812., 742., 801., 1040., 860., 874., 848., 890., 744., 749., 838., 1050., 918., 986., 797.,
        923., 975., 815., 1020., 906., 901., 1170., 912., 746., 919., 718., 714., 740.,
    ];

    #[test]
    fn the_nile_changed_after_1898() {
        // Cobb's answer, and that of all who came after: 1899 is the first year of the lower level.
        assert_eq!(change_points(&NILE, 1.0), [1899 - 1871]);
    }

    #[test]
    fn the_scatter_by_hand() {
        // Distances 1, 1, 3 of which nine tenths, rounded up, are all: 5 / 3 / 0.93.
        assert!((scatter(&[0.0, 1.0, 2.0, 5.0]) - 5.0 / 3.0 / 0.93).abs() < 1e-12);
        // Ten distances of 1 and one of 90, which is left out.
        let values: Vec<f64> = (0..=10).map(f64::from).chain([100.0]).collect();
        assert!((scatter(&values) - 1.0 / 0.93).abs() < 1e-12);
    }

    #[test]
    fn values_far_off_are_moved_in_and_steps_stay() {
        let values = [1.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 0.0, 5.0];
        let moved = [1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 4.0, 5.0];
        assert_eq!(moved_in(&values, 1.0), moved);
    }

    #[test]
    fn squares_by_hand() {
        // 1, 2, 6 have the mean 3: 4 + 1 + 9.
        let sums = Sums::of(&[100.0, 1.0, 2.0, 6.0]);
        assert!((sums.squares(1, 4) - 14.0).abs() < 1e-9);
        assert!(sums.squares(2, 3).abs() < 1e-9);
    }

    #[test]
    fn scatter_of_many_kinds_is_no_change() {
        let humps = |random: &mut Random, share: f64| if random.next_unit() < share { 10.0 } else { 0.0 };
        let kinds: [(&str, Draw<'_>); 8] = [
            ("even", &|_, random| random.next_unit()),
            ("normal", &|normal, _| normal.draw()),
            ("Laplace", &|_, random| {
                let draw = random.next_unit() - 0.5;
                -draw.signum() * (1.0 - 2.0 * draw.abs()).max(1e-12).ln()
            }),
            ("skewed", &|normal, _| normal.draw().exp()),
            ("two humps", &|normal, random| humps(random, 0.5) + normal.draw()),
            ("two sharp humps", &|normal, random| humps(random, 0.5) + 0.1 * normal.draw()),
            ("one in ten far off", &|normal, random| humps(random, 0.1) + 0.1 * normal.draw()),
            ("one in twenty far off", &|normal, random| 3.0 * humps(random, 0.05) + normal.draw()),
        ];
        for (name, draw) in kinds {
            let (mut normal, mut random) = (Normal::new(1988), Random::new(1998));
            let changed = (0..100)
                .filter(|_| {
                    let values: Vec<f64> = (0..256).map(|_| draw(&mut normal, &mut random)).collect();
                    !change_points(&values, 1e-3).is_empty()
                })
                .count();
            assert!(changed <= 10, "{name}: {changed} of 100 flat series are said to change");
        }
    }

    #[test]
    fn a_step_of_three_times_the_scatter_is_found_within_one() {
        let mut normal = Normal::new(2005);
        let found = (0..100).filter(|_| {
            let step = |index| if index < 100 { 3.0 } else { 0.0 } + normal.draw();
            let points = change_points(&(0..256).map(step).collect::<Vec<f64>>(), 1e-3);
            points.len() == 1 && points[0].abs_diff(100) <= 1
        });
        let found = found.count();
        assert!(found >= 90, "{found} of 100");
    }

    /// Chance alone makes a change of a few even draws now and then: less often than once in fifty series.
    #[test]
    fn short_flat_series_hardly_ever_change() {
        for count in [12, 14, 20, 40] {
            let changes = |seed: &u64| {
                let mut random = Random::new(*seed);
                let values: Vec<f64> = (0..count).map(|_| 100.0 + 0.1 * random.next_unit()).collect();
                !change_points(&values, 0.01).is_empty()
            };
            let changed = (0..2_000).filter(changes).count();
            assert!(changed <= 40, "{changed} of 2 000 flat series of {count} values are said to change");
        }
    }

    /// The same of series of several levels: the steps, and nothing else, but for once in fifty.
    #[test]
    fn steps_are_hardly_ever_found_where_none_is() {
        let exact = |seed: &u64| {
            let mut random = Random::new(*seed);
            let (mut values, mut edges) = (Vec::new(), Vec::new());
            for level in 0..1 + random.below(11) {
                edges.push(values.len());
                let length = STRETCH_MIN as u64 + random.below(34);
                values.extend((0..length).map(|_| 100.0 - 4.0 * level as f64 + 0.1 * random.next_unit()));
            }
            change_points(&values, 0.01) == edges[1..]
        };
        let exact = (0..500).filter(exact).count();
        assert!(exact >= 490, "{exact} of 500");
    }
}
