//! Changes in the distribution of a series, by level, scatter or shape: E-divisive.
//!
//! A stretch is cut at the largest weighted energy distance between its parts. The cut is a change if fewer than one in twenty of 199
//! random orders of every stretch gives a distance as large. The largest is cut first, until one is no change. The values must be
//! independent except for the changes; use batch means of an autocorrelated series. For levels with outliers,
//! [`super::change_points()`] locates changes more precisely. The seed is fixed.
//!
//! Its time grows with n log n. The distances that a value adds follow from the numbers and sums of smaller and larger values before
//! it, which a tree over the ranks holds, so a stretch takes n log n, not n². A test ends once the remaining random orders cannot
//! change its result. A series of more
//! than 400 values is cut by the means of batches of equal size, which keeps the level of the test and bounds the number of
//! tests. Each place is then looked for once more among the values themselves, within a batch on either side. A change that
//! lasts for fewer than five batches can be missed.
//!
//! Sources: Matteson and James, "A nonparametric approach for multiple change point analysis of multivariate data", Journal
//! of the American Statistical Association 109 (2014), with α = 1 and each stretch cut in two; used on benchmarks by Daly and
//! others, "The use of change point detection to identify software performance regressions in a continuous integration
//! system", ICPE (2020). Huo and Székely, "Fast computing for distance covariance", Technometrics 58 (2016), for sums of
//! distances in n log n; Fenwick, "A new data structure for cumulative frequency tables", Software: Practice and Experience 24
//! (1994), for the tree; Besag and Clifford, "Sequential Monte Carlo p-values", Biometrika 78 (1991), for the early end; Lu,
//! Banerjee and Michailidis, "Intelligent sampling and inference for multiple change points in extremely long data sequences",
//! arXiv 1710.07420 (2017), for a coarse search and a fine one around each of its places.

use halfpower_model::random::Random;

/// The fewest values of a stretch.
const STRETCH_MIN: usize = 5;
const PERMUTATIONS: usize = 199;
const SIGNIFICANCE: f64 = 0.05;
const SEED: u64 = 2014;
/// More values are grouped in batches.
const VALUES_MAX: usize = 400;
/// Equal distances of two orders differ by no more than this share, since their sums are rounded in another order.
const ROUNDING: f64 = 1e-9;

/// The first index of every stretch but the first, in order; empty without a change.
pub fn divisive_change_points(values: &[f64]) -> Vec<usize> {
    let together = values.len().div_ceil(VALUES_MAX).max(1);
    if together == 1 {
        return cuts(values);
    }
    let batches = values.len() / together;
    let mean = |batch: usize| {
        let end = if batch + 1 == batches { values.len() } else { (batch + 1) * together };
        let batch = &values[batch * together..end];
        batch.iter().sum::<f64>() / batch.len() as f64
    };
    let coarse = cuts(&(0..batches).map(mean).collect::<Vec<_>>());
    // Places are five batches apart at least, so that no other one is within reach.
    let reach = together + STRETCH_MIN;
    let fine = |batch: usize| {
        let from = batch * together - reach;
        let near = Ranked::of(&values[from..values.len().min(from + 2 * reach)]);
        largest(&near).map_or(batch * together, |(at, _)| from + at)
    };
    coarse.into_iter().map(fine).collect()
}

/// The cuts without batches.
fn cuts(values: &[f64]) -> Vec<usize> {
    let mut random = Random::new(SEED);
    let mut starts = vec![0];
    loop {
        let count = values.len();
        let ends = starts[1..].iter().chain([&count]);
        let stretches: Vec<Vec<Ranked>> =
            starts.iter().zip(ends).map(|(start, end)| Ranked::of(&values[*start..*end])).collect();
        let cuts = starts.iter().zip(&stretches).filter_map(|(start, stretch)| {
            let (at, distance) = largest(stretch)?;
            Some((start + at, distance))
        });
        let Some((at, distance)) = cuts.max_by(|one, other| one.1.total_cmp(&other.1)) else { break };
        if is_chance(stretches, distance, &mut random) {
            break;
        }
        starts.push(at);
        starts.sort_unstable();
    }
    starts.remove(0);
    starts
}

/// Whether stretches without a change have a cut with as large a distance more often than one in twenty times, by their
/// values in random orders.
fn is_chance(mut stretches: Vec<Vec<Ranked>>, distance: f64, random: &mut Random) -> bool {
    let least = distance * (1.0 - ROUNDING);
    let most = SIGNIFICANCE * (PERMUTATIONS + 1) as f64;
    // The series itself counts as one order.
    let mut as_large = 1;
    (0..PERMUTATIONS).any(|_| {
        let is_as_large = stretches.iter_mut().any(|stretch| {
            random.shuffle(stretch);
            largest(stretch).is_some_and(|(_, other)| other >= least)
        });
        as_large += u32::from(is_as_large);
        f64::from(as_large) > most
    })
}

/// A value relative to the mean of its stretch, and its rank.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    value: f64,
    rank: usize,
}

impl Ranked {
    fn of(values: &[f64]) -> Vec<Ranked> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
        let mut ranked: Vec<Ranked> = values.iter().map(|value| Ranked { value: value - mean, rank: 0 }).collect();
        order.into_iter().enumerate().for_each(|(rank, index)| ranked[index].rank = rank);
        ranked
    }
}

/// Number and sum of the values so far, in a tree over their ranks (Fenwick).
struct Tree(Vec<(f64, f64)>);

impl Tree {
    /// The sum of all distances among the first n values, for each n.
    fn distances<'a>(values: impl ExactSizeIterator<Item = &'a Ranked>) -> Vec<f64> {
        let mut tree = Tree(vec![(0.0, 0.0); values.len() + 1]);
        let (mut all, mut distances) = ((0.0, 0.0), 0.0);
        let add = |came: &Ranked| {
            let below = tree.below(came.rank);
            let above = (all.0 - below.0, all.1 - below.1);
            distances += came.value * (below.0 - above.0) - below.1 + above.1;
            all = (all.0 + 1.0, all.1 + came.value);
            tree.add(came);
            distances
        };
        values.map(add).collect()
    }

    /// Number and sum of values of lower rank.
    fn below(&self, rank: usize) -> (f64, f64) {
        let (mut node, mut sums) = (rank, (0.0, 0.0));
        while node > 0 {
            sums = (sums.0 + self.0[node].0, sums.1 + self.0[node].1);
            node &= node - 1;
        }
        sums
    }

    fn add(&mut self, came: &Ranked) {
        let mut node = came.rank + 1;
        while let Some(sums) = self.0.get_mut(node) {
            *sums = (sums.0 + 1.0, sums.1 + came.value);
            node += node & node.wrapping_neg();
        }
    }
}

/// The cut with the largest distance: the index of the first value after it; the first of equals. None in a stretch that is
/// too short.
fn largest(values: &[Ranked]) -> Option<(usize, f64)> {
    let count = values.len();
    // Sums of the distances within the left part and within the right one; the rest of all is between them.
    let (left, right) = (Tree::distances(values.iter()), Tree::distances(values.iter().rev()));
    let all = left.last()?;
    let distance = |size: usize| {
        let (left, right) = (left[size - 1], right[count - size - 1]);
        let (m, n) = (size as f64, (count - size) as f64);
        let between = all - left - right;
        let energy = 2.0 * between / (m * n) - 2.0 * left / (m * (m - 1.0)) - 2.0 * right / (n * (n - 1.0));
        (size, m * n / (m + n) * energy)
    };
    let sizes = STRETCH_MIN..(count + 1).saturating_sub(STRETCH_MIN);
    sizes.map(distance).reduce(|best, next| if next.1 > best.1 { next } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Normal;
    use crate::statistics::change_points::tests::NILE;

    #[test]
    fn the_largest_distance_by_hand() {
        // Five zeros and five ones: between 25, within nothing, so 25 / 10 × 2 × 25 / 25 = 5.
        let values = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(largest(&Ranked::of(&values)), Some((5, 5.0)));
        assert_eq!(largest(&Ranked::of(&values[..9])), None);
        assert_eq!(largest(&Ranked::of(&values[..0])), None);
    }

    #[test]
    fn the_sums_of_the_distances_are_those_over_all_pairs() {
        let mut normal = Normal::new(1994);
        // Half of them rounded, so that there are equal ones.
        let draw = |index: usize| normal.draw() * if index.is_multiple_of(2) { 1.0 } else { 1e3 };
        let values: Vec<f64> =
            (0..60).map(draw).map(|value| if value.abs() < 2.0 { value.round() } else { value }).collect();
        let all_pairs = |values: &[f64]| -> f64 {
            (1..values.len()).flat_map(|end| values[..end].iter().map(move |value| (values[end] - value).abs())).sum()
        };
        let sums = Tree::distances(Ranked::of(&values).iter());
        for (index, sum) in sums.iter().enumerate() {
            let expected = all_pairs(&values[..=index]);
            assert!((sum - expected).abs() <= 1e-9 * expected, "{index}: {sum}, not {expected}");
        }
    }

    #[test]
    fn the_nile_changed_after_1898() {
        // As Cobb found, and R's `ecp::e.divisive`.
        assert_eq!(divisive_change_points(&NILE), [1899 - 1871]);
        let (at, distance) = largest(&Ranked::of(&NILE)).unwrap();
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
        for (seed, length) in [(2020, 40), (1991, 1_999)] {
            let mut normal = Normal::new(seed);
            let changed = (0..200).filter(|_| {
                let values: Vec<f64> = (0..length).map(|_| normal.draw().exp()).collect();
                !divisive_change_points(&values).is_empty()
            });
            let changed = changed.count();
            // 10 expected; three deviations of a binomial with n = 200, p = 0.05.
            assert!((1..=19).contains(&changed), "{changed} of 200");
        }
    }

    #[test]
    fn steps_of_a_long_series_are_found_at_their_places() {
        let mut normal = Normal::new(1710);
        for (count, edges) in
            [(401, [137, 290]), (1_000, [333, 700]), (14_286, [5_001, 9_999]), (100_000, [17_777, 50_001])]
        {
            let level = |index: usize| edges.iter().filter(|edge| **edge <= index).count() as f64;
            let values: Vec<f64> = (0..count).map(|index| 100.0 - level(index) + 0.1 * normal.draw()).collect();
            let found = divisive_change_points(&values);
            assert!(edges.iter().all(|edge| found.contains(edge)), "{edges:?} in {found:?}");
            assert!(found.len() <= 3 && found.is_sorted(), "{found:?}");
        }
    }
}
