//! Many tests at once: p-values adjusted so that of what is then called changed at most a share is not.
//!
//! A hundred cells compared at 5 % each name five by chance. An adjusted p-value of 5 % or less keeps the expected share
//! of false ones among those named at 5 %. It wants tests that are independent, or depend on one another positively, as
//! cells of one machine do. Source: Benjamini and Hochberg, "Controlling the false discovery rate: a practical and powerful
//! approach to multiple testing", Journal of the Royal Statistical Society B 57 (1995).

/// The adjusted p-values, in the order of what was given: for each the least rate of false discoveries at which it is one.
pub fn adjusted_p_values(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| p_values[*one].total_cmp(&p_values[*other]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least = 1.0_f64;
    for (rank, index) in order.iter().enumerate().rev() {
        least = least.min(p_values[*index] * (p_values.len() as f64 / (rank + 1) as f64));
        adjusted[*index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_papers_fifteen() {
        // Benjamini and Hochberg (1995), section 3.2: at 5 % the four smallest of fifteen are discoveries.
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0000,
        ];
        let adjusted = adjusted_p_values(&p_values);
        assert_eq!(adjusted.iter().filter(|p_value| **p_value <= 0.05).count(), 4);
        // 0.0095 × 15 / 4; 0.0344 × 15 / 8 from the eighth down to the sixth; 0.0201 × 15 / 5 stays below it.
        for (index, expected) in
            [(0, 0.0015), (3, 0.035_625), (4, 0.0603), (5, 0.063_857_142_857), (7, 0.0645), (14, 1.0)]
        {
            assert!((adjusted[index] - expected).abs() < 1e-9, "{index}: {}", adjusted[index]);
        }
    }

    #[test]
    fn one_stays_as_it_is() {
        assert_eq!(adjusted_p_values(&[0.03]), [0.03]);
        assert!(adjusted_p_values(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn none_gets_smaller_and_the_order_stays(p_values in proptest::collection::vec(0.0_f64..=1.0, 1..50)) {
            let adjusted = adjusted_p_values(&p_values);
            for (one, p_value) in adjusted.iter().zip(&p_values) {
                prop_assert!(p_value <= one && *one <= 1.0);
                for (other, larger) in adjusted.iter().zip(&p_values) {
                    prop_assert!(p_value > larger || one <= other);
                }
            }
        }
    }
}
