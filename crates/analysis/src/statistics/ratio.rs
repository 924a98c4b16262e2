//! The ratio of two workloads measured in the same randomised blocks.
//!
//! Each block gives one ratio; the estimate is their geometric mean and the interval Student's t of their logarithms, so
//! that whatever slowed a whole block cancels out, and a/b and b/a say the same. A block with a rate of zero has no
//! ratio, and then there is none at all. Source: Fleming and Wallace, "How not to lie with statistics: the correct way
//! to summarize benchmark results", CACM 29 (1986), for the geometric mean.

use super::interval::{mean, mean_interval};
use halfpower_model::{Estimate, Quantity};

/// The ratio of the first of each pair to the second; a pair is a block. None without pairs or with a rate of zero.
pub(crate) fn paired_ratio(blocks: &[(f64, f64)]) -> Option<Estimate> {
    if blocks.iter().any(|(above, below)| *above <= 0.0 || *below <= 0.0) {
        return None;
    }
    let logarithms: Vec<f64> = blocks.iter().map(|(above, below)| (above / below).ln()).collect();
    let interval = mean_interval(&logarithms);
    Some(Estimate {
        quantity: Quantity::Ratio,
        value: mean(&logarithms)?.exp(),
        low: interval.map(|interval| interval.low.exp()),
        high: interval.map(|interval| interval.high.exp()),
        repetitions: blocks.len() as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn three_blocks_by_hand() {
        // Logarithms ln 2 × (1, 2, 3): mean 2 ln 2, deviation ln 2; t(2) = 4.30265, so 4 × e^(±4.30265 ln 2 / √3).
        let estimate = paired_ratio(&[(2.0, 1.0), (40.0, 10.0), (8.0, 1.0)]).unwrap();
        let half = 4.302_65 * 2_f64.ln() / 3_f64.sqrt();
        assert!((estimate.value - 4.0).abs() < 1e-12);
        assert!((estimate.low.unwrap() / (4.0 * (-half).exp()) - 1.0).abs() < 1e-5, "{estimate:?}");
        assert!((estimate.high.unwrap() / (4.0 * half.exp()) - 1.0).abs() < 1e-5, "{estimate:?}");
    }

    #[test]
    fn nothing_to_compare_gives_no_ratio() {
        assert_eq!(paired_ratio(&[]), None);
        assert_eq!(paired_ratio(&[(1.0, 2.0), (0.0, 2.0)]), None);
        assert_eq!(paired_ratio(&[(1.0, 0.0)]), None);
        let one = paired_ratio(&[(1.0, 2.0)]).unwrap();
        assert_eq!((one.value, one.low, one.high), (0.5, None, None));
    }

    proptest! {
        #[test]
        fn turned_around_it_is_the_reciprocal(blocks in proptest::collection::vec((0.1_f64..1e3, 0.1_f64..1e3), 2..12)) {
            let turned: Vec<_> = blocks.iter().map(|(above, below)| (*below, *above)).collect();
            let (one, other) = (paired_ratio(&blocks).unwrap(), paired_ratio(&turned).unwrap());
            prop_assert!((one.value * other.value - 1.0).abs() < 1e-9);
            prop_assert!((one.low.unwrap() * other.high.unwrap() - 1.0).abs() < 1e-6);
        }

        #[test]
        fn what_slows_a_whole_block_cancels(blocks in proptest::collection::vec((0.1_f64..1e3, 0.1_f64..1e3), 2..12),
                                            slow in 0.01_f64..1.0) {
            let mut slowed = blocks.clone();
            slowed[0] = (blocks[0].0 * slow, blocks[0].1 * slow);
            let (one, other) = (paired_ratio(&blocks).unwrap(), paired_ratio(&slowed).unwrap());
            prop_assert!((one.value / other.value - 1.0).abs() < 1e-9);
        }
    }
}
