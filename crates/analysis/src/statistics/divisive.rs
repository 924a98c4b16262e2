//! Where the distribution of a series changes, by level, scatter or shape: E-divisive.
//!
//! A stretch is cut where the energy distance between the parts, weighed by their sizes, is the largest; that is a change
//! when fewer than one in twenty of 199 random orders of every stretch gives one as large. The stretch with the largest is
//! cut first, and so on until one is not a change. The values must be independent but for the changes: take the means of
//! batches of a series that leans on itself. For levels alone, with values far off, [`super::change_points()`] is surer of the
//! place. The seed is fixed.
//! Source: Matteson and James, "A nonparametric approach for multiple change point analysis of multivariate data", Journal
//! of the American Statistical Association 109 (2014), with α = 1 and each stretch cut in two; used on benchmarks by Daly and
//! others, "The use of change point detection to identify software performance regressions in a continuous integration
//! system", ICPE (2020).

use halfpower_model::random::Random;

/// The fewest values of a stretch.
const STRETCH_MIN: usize = 5;
const PERMUTATIONS: usize = 199;
const SIGNIFICANCE: f64 = 0.05;
const SEED: u64 = 2014;

/// The first index of every stretch but the first, in order; none in a series that does not change.
pub fn divisive_change_points(values: &[f64]) -> Vec<usize> {
    let mut random = Random::new(SEED);
    let mut starts = vec![0];
    loop {
        let stretches: Vec<&[f64]> = starts
            .iter()
            .zip(starts[1..].iter().chain([&values.len()]))
            .map(|(start, end)| &values[*start..*end])
            .collect();
        let cuts = starts.iter().zip(&stretches).filter_map(|(start, stretch)| {
            let (at, distance) = largest(stretch)?;
            Some((start + at, distance))
        });
        let Some((at, distance)) = cuts.max_by(|one, other| one.1.total_cmp(&other.1)) else { break };
        if chance(&stretches, distance, &mut random) > SIGNIFICANCE {
            break;
        }
        starts.push(at);
        starts.sort_unstable();
    }
    starts.remove(0);
    starts
}

/// The chance that stretches without a change have a cut with as large a distance, by their values in random orders.
fn chance(stretches: &[&[f64]], distance: f64, random: &mut Random) -> f64 {
    let mut shuffled: Vec<Vec<f64>> = stretches.iter().map(|stretch| stretch.to_vec()).collect();
    let as_large = (0..PERMUTATIONS)
        .filter(|_| {
            shuffled.iter_mut().any(|stretch| {
                random.shuffle(stretch);
                largest(stretch).is_some_and(|(_, other)| other >= distance)
            })
        })
        .count();
    (as_large + 1) as f64 / (PERMUTATIONS + 1) as f64
}

/// The cut with the largest distance: the index of the first value after it; the first of equals. None in a stretch that is
/// too short.
fn largest(values: &[f64]) -> Option<(usize, f64)> {
    let mut best: Option<(usize, f64)> = None;
    // Sums of the distances within the left part, within the right one, and between them.
    let (mut left, mut right, mut between) = (0.0, 0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        right += values[..index].iter().map(|before| (value - before).abs()).sum::<f64>();
    }
    for (index, value) in values.iter().enumerate() {
        let size = index + 1;
        // The value goes over to the left.
        let before: f64 = values[..index].iter().map(|other| (value - other).abs()).sum();
        let after: f64 = values[size..].iter().map(|other| (value - other).abs()).sum();
        left += before;
        right -= after;
        between += after - before;
        if size < STRETCH_MIN || values.len() - size < STRETCH_MIN {
            continue;
        }
        let (m, n) = (size as f64, (values.len() - size) as f64);
        let energy = 2.0 * between / (m * n) - 2.0 * left / (m * (m - 1.0)) - 2.0 * right / (n * (n - 1.0));
        let distance = m * n / (m + n) * energy;
        if best.is_none_or(|(_, largest)| distance > largest) {
            best = Some((size, distance));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::change_points::tests::NILE;
    use crate::support::Normal;
    use proptest::prelude::*;

    #[test]
    fn the_largest_distance_by_hand() {
        // Five zeros and five ones: between 25, within nothing, so 25 / 10 × 2 × 25 / 25 = 5.
        let values = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(largest(&values), Some((5, 5.0)));
        assert_eq!(largest(&values[..9]), None);
    }

    #[test]
    fn the_nile_changed_after_1898() {
        // As Cobb found, and R's `ecp::e.divisive`.
        assert_eq!(divisive_change_points(&NILE), [1899 - 1871]);
        let (at, distance) = largest(&NILE).unwrap();
        // An independent program (NumPy, sums over all pairs).
        assert!(at == 28 && (distance - 4_807.521_314_554).abs() < 1e-6, "{at} {distance}");
    }

    #[test]
    fn scatter_that_grows_is_a_change_too() {
        let mut normal = Normal::new(3);
        let values: Vec<f64> = (0..200).map(|index| normal.draw() * if index < 100 { 1.0 } else { 6.0 }).collect();
        let points = divisive_change_points(&values);
        assert!(points.len() == 1 && points[0].abs_diff(100) <= 8, "{points:?}");
    }

    #[test]
    fn of_flat_series_one_in_twenty_is_said_to_change() {
        let mut normal = Normal::new(2020);
        let changed = (0..200)
            .filter(|_| {
                let values: Vec<f64> = (0..40).map(|_| normal.draw().exp()).collect();
                !divisive_change_points(&values).is_empty()
            })
            .count();
        // 10 expected; three deviations of a binomial with n = 200, p = 0.05.
        assert!((1..=19).contains(&changed), "{changed} of 200");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn known_steps_are_found_whatever_the_unit(lengths in proptest::collection::vec(8_usize..30, 1..6), seed in 0_u64..1000,
                                                   scale in 0.5_f64..50.0) {
            let mut random = Random::new(seed);
            let mut values = Vec::new();
            let mut edges = Vec::new();
            for (level, length) in lengths.iter().enumerate() {
                edges.push(values.len());
                values.extend((0..*length).map(|_| scale * (level as f64 * 5.0 + 0.1 * random.next_unit())));
            }
            let found = divisive_change_points(&values);
            prop_assert!(edges[1..].iter().all(|edge| found.contains(edge)), "{:?} {:?}", found, edges);
            prop_assert!(found.is_sorted());
        }
    }
}
