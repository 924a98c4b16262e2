//! A straight line through points by [weighted least squares](super::least_squares()), and the share of the scatter it explains.
//!
//! Two points give a line without intervals.

use super::interval::Interval;
use super::least_squares::{Equation, least_squares};

/// A point and how much it counts; the weight is above zero.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// How high.
    pub y: f64,
    /// How much it counts against the others.
    pub weight: f64,
}

/// A line.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Its height at zero.
    pub intercept: f64,
    /// None with two points.
    pub intercept_interval: Option<Interval>,
    /// What it rises by for each unit of x.
    pub slope: f64,
    /// None with two points.
    pub slope_interval: Option<Interval>,
    /// 1 - (weighted squares about the line) / (weighted squares about the weighted mean); 1 where all points have
    /// the same height, since then the line leaves nothing unexplained.
    pub r_squared: f64,
}

/// The line of least weighted squares; none where all points have the same place, or there are fewer than two.
pub fn weighted_line(points: &[Point]) -> Option<Line> {
    let equation = |point: &Point| Equation { terms: vec![1.0, point.x], value: point.y, weight: point.weight };
    let fit = least_squares(&points.iter().map(equation).collect::<Vec<_>>())?;
    let weight: f64 = points.iter().map(|point| point.weight).sum();
    let mean_y = points.iter().map(|point| point.weight * point.y).sum::<f64>() / weight;
    let squares_total: f64 = points.iter().map(|point| point.weight * (point.y - mean_y).powi(2)).sum();
    Some(Line {
        intercept: fit.coefficients[0],
        intercept_interval: fit.interval(0),
        slope: fit.coefficients[1],
        slope_interval: fit.interval(1),
        r_squared: if squares_total > 0.0 { (1.0 - fit.squares_left / squares_total).clamp(0.0, 1.0) } else { 1.0 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn even(points: &[(f64, f64)]) -> Vec<Point> {
        points.iter().map(|(x, y)| Point { x: *x, y: *y, weight: 1.0 }).collect()
    }

    #[test]
    fn anscombes_first_set_gives_its_published_line() {
        // Anscombe, "Graphs in statistical analysis", The American Statistician 27 (1973): y = 3 + 0.5 x, R² 0.667,
        // standard error of the slope 0.118; of the intercept 1.1247 (R, `summary(lm(y1 ~ x1, anscombe))`).
        let points = even(&[
            (10.0, 8.04),
            (8.0, 6.95),
            (13.0, 7.58),
            (9.0, 8.81),
            (11.0, 8.33),
            (14.0, 9.96),
            (6.0, 7.24),
            (4.0, 4.26),
            (12.0, 10.84),
            (7.0, 4.82),
            (5.0, 5.68),
        ]);
        let line = weighted_line(&points).unwrap();
        assert!((line.intercept - 3.0001).abs() < 5e-5 && (line.slope - 0.5001).abs() < 5e-5, "{line:?}");
        assert!((line.r_squared - 0.6665).abs() < 5e-5, "{line:?}");
        // Half widths are t(9) = 2.26216 standard errors.
        let half = |interval: Option<Interval>| interval.map(|interval| (interval.high - interval.low) / 2.0).unwrap();
        assert!((half(line.slope_interval) / 2.262_16 - 0.1179).abs() < 5e-5, "{line:?}");
        assert!((half(line.intercept_interval) / 2.262_16 - 1.1247).abs() < 5e-5, "{line:?}");
    }

    #[test]
    fn three_weighted_points_by_hand() {
        // Weights 1, 1/4, 1/16: Σw 21/16, x̄ 9/7, ȳ 4/3, Sxx 11/28, Sxy 1/2, so slope 14/11, intercept -10/33;
        // Σw(y-ȳ)² = 2/3 and Sxy²/Sxx = 7/11, so R² 21/22.
        let points = [(1.0, 1.0), (2.0, 2.0), (3.0, 4.0)].map(|(x, y): (f64, f64)| Point { x, y, weight: y.powi(-2) });
        let line = weighted_line(&points).unwrap();
        assert!((line.slope - 14.0 / 11.0).abs() < 1e-12, "{line:?}");
        assert!((line.intercept + 10.0 / 33.0).abs() < 1e-12, "{line:?}");
        assert!((line.r_squared - 21.0 / 22.0).abs() < 1e-12, "{line:?}");
    }

    #[test]
    fn what_is_no_line_gives_none() {
        assert!(weighted_line(&[]).is_none());
        assert!(weighted_line(&even(&[(1.0, 2.0)])).is_none());
        assert!(weighted_line(&even(&[(0.1, 2.0), (0.1, 3.0), (0.1, 4.0)])).is_none());
        let two = weighted_line(&even(&[(1.0, 2.0), (2.0, 4.0)])).unwrap();
        assert!((two.slope - 2.0).abs() < 1e-15 * 2.0);
        assert_eq!((two.slope_interval, two.intercept_interval), (None, None));
        let flat = weighted_line(&even(&[(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)])).unwrap();
        assert!(flat.slope.abs() < 1e-15 && flat.r_squared == 1.0);
    }

    proptest! {
        #[test]
        fn a_line_gives_itself_back(intercept in -100.0_f64..100.0, slope in -100.0_f64..100.0,
                                    weights in proptest::collection::vec(0.01_f64..100.0, 3..12)) {
            let points: Vec<_> = (0..).zip(&weights)
                .map(|(x, weight)| Point { x: f64::from(x), y: intercept + slope * f64::from(x), weight: *weight })
                .collect();
            let line = weighted_line(&points).unwrap();
            prop_assert!((line.intercept - intercept).abs() < 1e-6 && (line.slope - slope).abs() < 1e-6);
        }

        #[test]
        fn a_weight_of_two_is_a_point_twice(heights in proptest::collection::vec(1.0_f64..100.0, 3..10)) {
            let mut points: Vec<_> = (0..).zip(&heights).map(|(x, y)| (f64::from(x), *y)).collect();
            let mut weighted = even(&points);
            weighted[0].weight = 2.0;
            points.push(points[0]);
            let (one, other) = (weighted_line(&weighted).unwrap(), weighted_line(&even(&points)).unwrap());
            prop_assert!((one.slope - other.slope).abs() < 1e-9 && (one.intercept - other.intercept).abs() < 1e-9);
            prop_assert!((one.r_squared - other.r_squared).abs() < 1e-9);
        }

        #[test]
        fn r_squared_is_the_squared_correlation(heights in proptest::collection::vec(1.0_f64..100.0, 3..10)) {
            let points: Vec<_> = (0..).zip(&heights).map(|(x, y)| (f64::from(x), *y)).collect();
            let count = points.len() as f64;
            let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
            let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
            let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 { points.iter().map(|(x, y)| term(x - mean_x, y - mean_y)).sum() };
            let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
            prop_assume!(yy > 1e-6);
            prop_assert!((weighted_line(&even(&points)).unwrap().r_squared - xy * xy / xx / yy).abs() < 1e-9);
        }
    }
}
