//! Randomised complete blocks: several settings, each measured once in every block.
//!
//! A block takes what drifts with time out of the comparison: figure = setting + block + scatter. The scatter is what is left when
//! both are taken out, of all settings together, so that a difference of two has more behind it than its own pairs. It
//! takes for granted that settings scatter alike and that a block adds the same to all; where it multiplies, as with rates,
//! take logarithms, or [`super::paired_ratio`] of two settings.
//! Source: Fisher, "The Design of Experiments" (1935), chapter 4; Montgomery, "Design and Analysis of Experiments",
//! 8th edition (2013), section 4.1.

use super::interval::{Interval, estimate};
use super::mean::{mean, t_quantile, variance};
use halfpower_model::{Estimate, Quantity};

/// The analysis of a table of settings by blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomisedBlocks {
    /// The mean of each setting over the blocks.
    pub settings: Vec<f64>,
    /// The mean of each block over the settings.
    pub blocks: Vec<f64>,
    /// The deviation of a single figure from its setting and block.
    pub deviation: f64,
    /// What it was estimated from: (settings - 1) × (blocks - 1).
    pub degrees_of_freedom: usize,
}

impl RandomisedBlocks {
    /// Of a table with a row for each setting and a column for each block. None unless there are two of either at least and
    /// every setting is in every block.
    pub fn of(table: &[Vec<f64>]) -> Option<RandomisedBlocks> {
        let count = table.first()?.len();
        if table.len() < 2 || count < 2 || table.iter().any(|row| row.len() != count) {
            return None;
        }
        let settings: Vec<f64> = table.iter().filter_map(|row| mean(row)).collect();
        let blocks: Vec<f64> =
            (0..count).map(|block| table.iter().map(|row| row[block]).sum::<f64>() / table.len() as f64).collect();
        let middle = mean(&settings)?;
        let left = |(row, setting): (&Vec<f64>, &f64)| -> f64 {
            row.iter().zip(&blocks).map(|(figure, block)| (figure - setting - block + middle).powi(2)).sum()
        };
        let squares_left: f64 = table.iter().zip(&settings).map(left).sum();
        let degrees_of_freedom = (table.len() - 1) * (count - 1);
        let deviation = (squares_left / degrees_of_freedom as f64).sqrt();
        Some(RandomisedBlocks { settings, blocks, deviation, degrees_of_freedom })
    }

    /// The deviation of blocks from one another, without what the scatter of single figures makes of it; zero where they
    /// differ by no more than that.
    pub fn between_blocks(&self) -> f64 {
        let of_scatter = self.deviation.powi(2) / self.settings.len() as f64;
        variance(&self.blocks).map_or(0.0, |variance| (variance - of_scatter).max(0.0).sqrt())
    }

    /// By how much one setting lies above another; none where there is no such setting.
    pub fn difference(&self, quantity: Quantity, above: usize, below: usize) -> Option<Estimate> {
        let value = self.settings.get(above)? - self.settings.get(below)?;
        let blocks = self.blocks.len();
        let half = t_quantile(self.degrees_of_freedom as f64) * self.deviation * (2.0 / blocks as f64).sqrt();
        Some(estimate(quantity, value, Some(Interval { low: value - half, high: value + half }), blocks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::mean_interval;
    use proptest::prelude::*;

    #[test]
    fn vascular_grafts() {
        // Montgomery (2013), example 4.1: four extrusion pressures on six batches of resin; the mean square of the error is
        // 7.33 with 15 degrees of freedom, the means 92.82, 91.68, 88.92 and 85.77.
        let table = [
            vec![90.3, 89.2, 98.2, 93.9, 87.4, 97.9],
            vec![92.5, 89.5, 90.6, 94.7, 87.0, 95.8],
            vec![85.5, 90.8, 89.6, 86.2, 88.0, 93.4],
            vec![82.5, 89.5, 85.6, 87.4, 78.9, 90.7],
        ];
        let blocks = RandomisedBlocks::of(&table).unwrap();
        assert_eq!(blocks.degrees_of_freedom, 15);
        assert!((blocks.deviation.powi(2) - 7.33).abs() < 0.005, "{blocks:?}");
        for (mean, published) in blocks.settings.iter().zip([92.82, 91.68, 88.92, 85.77]) {
            assert!((mean - published).abs() < 0.006, "{mean}");
        }
        // t(15) = 2.13145 × √(2 × 7.33 / 6) = 3.33.
        let difference = blocks.difference(Quantity::Ratio, 0, 3).unwrap();
        assert!(
            (difference.value - 7.05).abs() < 0.01 && (difference.value - difference.low.unwrap() - 3.33).abs() < 0.01
        );
        assert_eq!(blocks.difference(Quantity::Ratio, 0, 4), None);
        // The mean square of the batches is 192.25 / 5 = 38.45: (38.45 - 7.33) / 4 = 7.78.
        assert!((blocks.between_blocks().powi(2) - 7.78).abs() < 0.01, "{}", blocks.between_blocks());
    }

    #[test]
    fn a_table_with_holes_is_refused() {
        assert_eq!(RandomisedBlocks::of(&[]), None);
        assert_eq!(RandomisedBlocks::of(&[vec![1.0, 2.0]]), None);
        assert_eq!(RandomisedBlocks::of(&[vec![1.0], vec![2.0]]), None);
        assert_eq!(RandomisedBlocks::of(&[vec![1.0, 2.0], vec![2.0]]), None);
    }

    proptest! {
        #[test]
        fn what_a_block_adds_does_not_count(table in proptest::collection::vec(proptest::collection::vec(0.0_f64..100.0, 4), 2..6),
                                            added in -1e3_f64..1e3) {
            let mut moved = table.clone();
            moved.iter_mut().for_each(|row| row[2] += added);
            let (one, other) = (RandomisedBlocks::of(&table).unwrap(), RandomisedBlocks::of(&moved).unwrap());
            let difference = |blocks: &RandomisedBlocks| blocks.difference(Quantity::Ratio, 1, 0).unwrap();
            prop_assert!((difference(&one).value - difference(&other).value).abs() < 1e-9);
            prop_assert!((difference(&one).low.unwrap() - difference(&other).low.unwrap()).abs() < 1e-6);
        }

        #[test]
        fn of_two_settings_it_is_the_paired_t(pairs in proptest::collection::vec((0.0_f64..100.0, 0.0_f64..100.0), 2..12)) {
            let (above, below): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
            let differences: Vec<f64> = pairs.iter().map(|(above, below)| above - below).collect();
            let estimate = RandomisedBlocks::of(&[above, below]).unwrap().difference(Quantity::Ratio, 0, 1).unwrap();
            let interval = mean_interval(&differences).unwrap();
            prop_assert!((estimate.low.unwrap() - interval.low).abs() < 1e-6);
            prop_assert!((estimate.high.unwrap() - interval.high).abs() < 1e-6);
        }
    }
}
