//! Randomised complete blocks: several settings, each measured once in every block.
//!
//! Figure = setting + block + scatter, where the block contains the drift over time. All settings must scatter equally, and a block
//! must add the same to all; for factors, as with rates, use logarithms.
//! Source: Fisher, "The Design of Experiments" (1935), chapter 4; Montgomery, "Design and Analysis of Experiments",
//! 8th edition (2013), section 4.1.

use super::mean::{mean, variance};

/// Deviations of the parts of a table's figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomisedBlocks {
    /// Within a block: of a single figure.
    pub within: f64,
    /// Between blocks, without the part due to the scatter of single figures; zero if that explains it.
    pub between: f64,
}

impl RandomisedBlocks {
    /// From a table with a row for each setting and a column for each block. None unless it is complete and at least 2 by 2.
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
        let square = squares_left / ((table.len() - 1) * (count - 1)) as f64;
        let between = (variance(&blocks)? - square / table.len() as f64).max(0.0).sqrt();
        Some(RandomisedBlocks { within: square.sqrt(), between })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vascular_grafts() {
        // Montgomery (2013), example 4.1: four extrusion pressures on six batches of resin; the mean square of the error is
        // 7.33, that of the batches 192.25 / 5 = 38.45: (38.45 - 7.33) / 4 = 7.78.
        let table = [
            vec![90.3, 89.2, 98.2, 93.9, 87.4, 97.9],
            vec![92.5, 89.5, 90.6, 94.7, 87.0, 95.8],
            vec![85.5, 90.8, 89.6, 86.2, 88.0, 93.4],
            vec![82.5, 89.5, 85.6, 87.4, 78.9, 90.7],
        ];
        let RandomisedBlocks { within, between } = RandomisedBlocks::of(&table).unwrap();
        assert!((within.powi(2) - 7.33).abs() < 0.005 && (between.powi(2) - 7.78).abs() < 0.01, "{within} {between}");
        for holes in [&[][..], &[vec![1.0, 2.0]], &[vec![1.0], vec![2.0]], &[vec![1.0, 2.0], vec![2.0]]] {
            assert_eq!(RandomisedBlocks::of(holes), None);
        }
    }
}
