//! Weighted least squares with any number of terms, with 95 % t intervals of the coefficients.
//!
//! Weights are relative: they compare equations, and the scatter about the fit gives their precision. So a bad fit has wider
//! intervals. As many equations as terms give coefficients without intervals. Solved by singular values of scaled terms, so nearly
//! collinear terms cost digits, and collinear ones are rejected.
//! Source: Draper and Smith, "Applied Regression Analysis", 3rd edition (1998); Golub and Van Loan, "Matrix Computations",
//! 4th edition (2013), section 5.5; Schwarz, "Estimating the dimension of a model", Annals of Statistics 6 (1978), for BIC.

use super::interval::Interval;
use super::mean::t_quantile;
use super::ratio::fieller;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// A relative error of rounding.
const NEGLIGIBLE: f64 = 1e-9;

/// One equation: terms × coefficients = value.
#[derive(Clone, Debug)]
pub struct Equation {
    /// Factors of the coefficients; as many in every equation.
    pub terms: Vec<f64>,
    /// The right side.
    pub value: f64,
    /// Its weight; above zero.
    pub weight: f64,
}

/// A fit.
#[derive(Clone, Debug)]
pub struct Fit {
    /// One for each term.
    pub coefficients: Vec<f64>,
    /// Covariance matrix by rows; none with no more equations than terms.
    covariance: Option<Vec<Vec<f64>>>,
    /// Weighted residual squares.
    pub squares_left: f64,
    /// Equations less terms.
    pub degrees_of_freedom: usize,
}

impl Fit {
    /// The interval of a coefficient; none with no more equations than terms, or without such a coefficient.
    pub fn interval(&self, coefficient: usize) -> Option<Interval> {
        let value = *self.coefficients.get(coefficient)?;
        let half =
            t_quantile(self.degrees_of_freedom as f64) * self.covariance.as_ref()?[coefficient][coefficient].sqrt();
        Some(Interval { low: value - half, high: value + half })
    }

    /// The ratio of two linear combinations of the coefficients, with factors `above` and `below`, and its interval by Fieller's
    /// theorem. None if the one below is not above zero; no interval if it may be zero.
    pub fn ratio(&self, above: &[f64], below: &[f64]) -> Option<(f64, Option<Interval>)> {
        let sum = |shares: &[f64]| shares.iter().zip(&self.coefficients).map(|(share, one)| share * one).sum::<f64>();
        let (top, bottom) = (sum(above), sum(below));
        if bottom.is_nan() || bottom <= 0.0 {
            return None;
        }
        let together = |one: &[f64], other: &[f64]| -> Option<f64> {
            let rows = self.covariance.as_ref()?.iter().zip(one);
            Some(rows.map(|(row, share)| share * row.iter().zip(other).map(|(each, of)| each * of).sum::<f64>()).sum())
        };
        let squares = || Some([together(above, above)?, together(above, below)?, together(below, below)?]);
        let interval = || fieller([top, bottom], squares()?, self.degrees_of_freedom as f64);
        Some((top / bottom, interval().map(|interval| interval.with(top / bottom))))
    }

    /// Mean relative error of the equations, with weights by relative error: 0.02 is 2 %.
    pub fn relative_error(&self) -> f64 {
        (self.squares_left / self.equations()).sqrt()
    }

    /// Schwarz's criterion for models of the same equations: the smaller the better; minus infinity for an exact fit.
    pub fn bic(&self) -> f64 {
        self.equations() * (self.squares_left / self.equations()).ln()
            + self.coefficients.len() as f64 * self.equations().ln()
    }

    fn equations(&self) -> f64 {
        (self.degrees_of_freedom + self.coefficients.len()) as f64
    }

    /// Whether a richer fit of the same equations, with the best of `places` places, is worth its terms. Two conditions: Schwarz's
    /// criterion, in which the place counts as a coefficient, and an F test at 5 % over the number of places (Bonferroni). With
    /// ten equations and five places Schwarz alone finds a break in two of five straight lines.
    pub fn is_worth(&self, plain: &Fit, places: usize) -> bool {
        let place = if places > 1 { self.equations().ln() } else { 0.0 };
        let added = plain.degrees_of_freedom as f64 - self.degrees_of_freedom as f64;
        let free = self.degrees_of_freedom as f64;
        // An exact line needs no break, whatever rounding errors remain.
        if self.degrees_of_freedom == 0 || added <= 0.0 || plain.relative_error() < NEGLIGIBLE {
            return false;
        }
        let ratio = (plain.squares_left - self.squares_left) / added * free / self.squares_left;
        let chance = FisherSnedecor::new(added, free).map_or(1.0, |of| of.sf(ratio.clamp(0.0, f64::MAX)));
        self.bic() + place < plain.bic() && chance * (places as f64) < 0.05
    }
}

/// The least-squares fit. None without terms, with fewer equations than terms, or with collinear terms.
pub fn least_squares(equations: &[Equation]) -> Option<Fit> {
    let terms = equations.first().map(|equation| equation.terms.len()).filter(|terms| *terms > 0)?;
    if equations.len() < terms || equations.iter().any(|equation| equation.terms.len() != terms) {
        return None;
    }
    let of_each = |value: &dyn Fn(&Equation) -> f64| -> Vec<f64> {
        equations.iter().map(|equation| equation.weight.sqrt() * value(equation)).collect()
    };
    let mut columns: Vec<Vec<f64>> = (0..terms).map(|term| of_each(&|equation| equation.terms[term])).collect();
    let values = of_each(&|equation| equation.value);
    let sizes: Vec<f64> = columns.iter().map(|column| dot(column, column).sqrt()).collect();
    if sizes.iter().any(|size| *size == 0.0 || !size.is_finite()) {
        return None;
    }
    columns.iter_mut().zip(&sizes).for_each(|(column, size)| column.iter_mut().for_each(|value| *value /= size));
    let (turned, right) = orthogonal(columns.clone());
    let squares: Vec<f64> = turned.iter().map(|column| dot(column, column)).collect();
    let negligible = f64::EPSILON * equations.len() as f64;
    if squares.iter().any(|square| square.sqrt() <= negligible) {
        return None;
    }
    let sum = |columns: &[Vec<f64>], factors: &[f64]| -> Vec<f64> {
        let row = |at: usize| columns.iter().zip(factors).map(|(column, factor)| column[at] * factor).sum();
        (0..columns[0].len()).map(row).collect()
    };
    let solved = |values: &[f64]| -> Vec<f64> {
        let along: Vec<f64> =
            turned.iter().zip(&squares).map(|(column, square)| dot(column, values) / square).collect();
        sum(&right, &along)
    };
    let rest = |scaled: &[f64]| less(&values, &sum(&columns, scaled));
    let mut scaled = solved(&values);
    // One refinement removes errors of the last digits.
    scaled = scaled.iter().zip(solved(&rest(&scaled))).map(|(one, more)| one + more).collect();
    let left = rest(&scaled);
    let squares_left = dot(&left, &left);
    let degrees_of_freedom = equations.len() - terms;
    let together = |one: usize, other: usize| {
        let spread: f64 = right.iter().zip(&squares).map(|(axis, square)| axis[one] * axis[other] / square).sum();
        squares_left / degrees_of_freedom as f64 * spread / sizes[one] / sizes[other]
    };
    Some(Fit {
        coefficients: scaled.iter().zip(&sizes).map(|(coefficient, size)| coefficient / size).collect(),
        covariance: (degrees_of_freedom > 0).then(|| {
            let row = |one: usize| (0..terms).map(|other| together(one, other)).collect();
            (0..terms).map(row).collect()
        }),
        squares_left,
        degrees_of_freedom,
    })
}

/// A matrix (by columns) rotated until its columns are orthogonal, and the rotation (by columns). The columns' lengths are the
/// singular values. One-sided Jacobi rotations (Hestenes): Golub and Van Loan,
/// section 8.6.3.
fn orthogonal(mut columns: Vec<Vec<f64>>) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    /// Six to ten are usual.
    const MOST_SWEEPS: usize = 40;
    let terms = columns.len();
    let mut turn: Vec<Vec<f64>> =
        (0..terms).map(|column| (0..terms).map(|row| f64::from(u8::from(row == column))).collect()).collect();
    // Rounding error of a product of this many rows.
    let rounding = f64::EPSILON * (columns.first().map_or(1, Vec::len) as f64).sqrt();
    for _ in 0..MOST_SWEEPS {
        let mut is_orthogonal = true;
        for (one, other) in (1..terms).flat_map(|other| (0..other).map(move |one| (one, other))) {
            let [first, second] = [one, other].map(|column| dot(&columns[column], &columns[column]));
            let both = dot(&columns[one], &columns[other]);
            if both.abs() <= rounding * (first * second).sqrt() {
                continue;
            }
            is_orthogonal = false;
            let cotangent = (second - first) / (2.0 * both);
            let tangent = cotangent.signum() / (cotangent.abs() + cotangent.hypot(1.0));
            let cosine = tangent.hypot(1.0).recip();
            for set in [&mut columns, &mut turn] {
                for row in 0..set[one].len() {
                    let (left, right) = (set[one][row], set[other][row]);
                    set[one][row] = cosine * (left - tangent * right);
                    set[other][row] = cosine * (tangent * left + right);
                }
            }
        }
        if is_orthogonal {
            break;
        }
    }
    (columns, turn)
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn less(one: &[f64], other: &[f64]) -> Vec<f64> {
    one.iter().zip(other).map(|(one, other)| one - other).collect()
}

/// A weighted point; the weight is above zero.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Position.
    pub x: f64,
    /// Height.
    pub y: f64,
    /// Relative weight.
    pub weight: f64,
}

/// The line of least weighted squares: its coefficients are the height at zero and the slope. None if all points have the
/// same position, or with fewer than two.
pub fn weighted_line(points: &[Point]) -> Option<Fit> {
    let equation = |point: &Point| Equation { terms: vec![1.0, point.x], value: point.y, weight: point.weight };
    least_squares(&points.iter().map(equation).collect::<Vec<_>>())
}

/// The same through values at 0, 1, 2 and so on, all of one weight.
pub(crate) fn line_through(values: &[f64]) -> Option<Fit> {
    let points = (0..).zip(values).map(|(x, value)| Point { x: f64::from(x), y: *value, weight: 1.0 });
    weighted_line(&points.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deflator, gross national product, unemployed, armed forces, population, year; employed. Longley, "An appraisal of
    /// least squares programs for the electronic computer from the point of view of the user", Journal of the American
    /// Statistical Association 62 (1967).
    const LONGLEY: [[f64; 7]; 16] = [
        [83.0, 234_289., 2356., 1590., 107_608., 1947., 60_323.],
        [88.5, 259_426., 2325., 1456., 108_632., 1948., 61_122.],
        [88.2, 258_054., 3682., 1616., 109_773., 1949., 60_171.],
        [89.5, 284_599., 3351., 1650., 110_929., 1950., 61_187.],
        [96.2, 328_975., 2099., 3099., 112_075., 1951., 63_221.],
        [98.1, 346_999., 1932., 3594., 113_270., 1952., 63_639.],
        [99.0, 365_385., 1870., 3547., 115_094., 1953., 64_989.],
        [100.0, 363_112., 3578., 3350., 116_219., 1954., 63_761.],
        [101.2, 397_469., 2904., 3048., 117_388., 1955., 66_019.],
        [104.6, 419_180., 2822., 2857., 118_734., 1956., 67_857.],
        [108.4, 442_769., 2936., 2798., 120_445., 1957., 68_169.],
        [110.8, 444_546., 4681., 2637., 121_950., 1958., 66_513.],
        [112.6, 482_704., 3813., 2552., 123_366., 1959., 68_655.],
        [114.2, 502_601., 3931., 2514., 125_368., 1960., 69_564.],
        [115.7, 518_173., 4806., 2572., 127_852., 1961., 69_331.],
        [116.9, 554_894., 4007., 2827., 130_081., 1962., 70_551.],
    ];

    /// Anscombe, "Graphs in statistical analysis", The American Statistician 27 (1973), the first set.
    const ANSCOMBE: [[f64; 11]; 2] = [
        [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0],
        [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68],
    ];

    fn anscombe() -> [(f64, f64); 11] {
        std::array::from_fn(|at| (ANSCOMBE[0][at], ANSCOMBE[1][at]))
    }

    fn even(points: &[(f64, f64)]) -> Vec<Point> {
        points.iter().map(|(x, y)| Point { x: *x, y: *y, weight: 1.0 }).collect()
    }

    #[test]
    fn anscombes_first_set_gives_its_published_line() {
        // y = 3 + 0.5 x, standard error of the slope 0.118; of the intercept 1.1247 (R, `summary(lm(y1 ~ x1, anscombe))`).
        let line = weighted_line(&even(&anscombe())).unwrap();
        for (index, (value, error)) in [(3.0001, 1.1247), (0.5001, 0.1179)].into_iter().enumerate() {
            assert!((line.coefficients[index] - value).abs() < 5e-5, "{line:?}");
            // Half widths are t(9) = 2.26216 standard errors.
            let interval = line.interval(index).unwrap();
            assert!(((interval.high - interval.low) / 2.0 / 2.262_16 - error).abs() < 5e-5, "{line:?}");
        }
    }

    #[test]
    fn what_is_no_line_gives_none() {
        assert!(weighted_line(&[]).is_none());
        assert!(weighted_line(&even(&[(1.0, 2.0)])).is_none());
        assert!(weighted_line(&even(&[(0.1, 2.0), (0.1, 3.0), (0.1, 4.0)])).is_none());
        let two = weighted_line(&even(&[(1.0, 2.0), (2.0, 4.0)])).unwrap();
        assert!((two.coefficients[1] - 2.0).abs() < 1e-15 * 2.0);
        assert_eq!((two.interval(0), two.interval(1)), (None, None));
        assert!(line_through(&[2.0, 2.0, 2.0]).unwrap().coefficients[1].abs() < 1e-15);
    }

    #[test]
    fn longleys_data_give_their_certified_values() {
        // NIST Statistical Reference Datasets, Longley: nearly collinear terms.
        let certified = [
            (-3_482_258.634_595_82, 890_420.383_607_373),
            (15.061_872_271_373_3, 84.914_925_774_766_9),
            (-0.035_819_179_292_591_0, 0.033_491_007_772_243_2),
            (-2.020_229_803_816_83, 0.488_399_681_651_699),
            (-1.033_226_867_173_59, 0.214_274_163_161_675),
            (-0.051_104_105_653_580_7, 0.226_073_200_069_370),
            (1_829.151_464_613_55, 455.478_499_142_212),
        ];
        let equation = |row: &[f64; 7]| Equation { terms: [&[1.0], &row[..6]].concat(), value: row[6], weight: 1.0 };
        let fit = least_squares(&LONGLEY.iter().map(equation).collect::<Vec<_>>()).unwrap();
        let error_of = |index: usize| fit.covariance.as_ref().unwrap()[index][index].sqrt();
        for (index, (coefficient, error)) in certified.iter().enumerate() {
            assert!((fit.coefficients[index] / coefficient - 1.0).abs() < 1e-8, "{index}: {}", fit.coefficients[index]);
            assert!((error_of(index) / error - 1.0).abs() < 1e-8, "{index}: {}", error_of(index));
        }
        assert!(((fit.squares_left / 9.0).sqrt() / 304.854_073_561_965 - 1.0).abs() < 1e-10);
        // t(9) = 2.262157.
        let interval = fit.interval(6).unwrap();
        assert!((interval.high - 1_829.151_464_613_55 - 2.262_157 * 455.478_499_142_212).abs() < 1e-3);
    }

    #[test]
    fn what_cannot_be_distinguished_is_refused() {
        let equation = |terms: &[f64], value| Equation { terms: terms.to_vec(), value, weight: 1.0 };
        assert!(least_squares(&[]).is_none());
        assert!(least_squares(&[equation(&[], 1.0)]).is_none());
        assert!(least_squares(&[equation(&[1.0, 2.0], 1.0)]).is_none(), "fewer than terms");
        assert!(least_squares(&[equation(&[1.0], 1.0), equation(&[1.0, 2.0], 1.0)]).is_none());
        let twice: Vec<_> = (0..5).map(|x| equation(&[f64::from(x), 0.3 * f64::from(x)], 1.0)).collect();
        assert!(least_squares(&twice).is_none());
        let exact = least_squares(&[equation(&[1.0, 1.0], 3.0), equation(&[1.0, 2.0], 5.0)]).unwrap();
        assert!((exact.coefficients[0] - 1.0).abs() < 1e-12 && (exact.coefficients[1] - 2.0).abs() < 1e-12);
        assert!(exact.interval(0).is_none());
    }

    #[test]
    fn a_term_that_explains_nothing_costs() {
        // 8 equations: a parabola is worth its third term, a line with a wriggle is not.
        let with = |terms: u32, value: &dyn Fn(f64) -> f64| {
            let powers = |x: u32| (0..terms).map(move |power| f64::from(x).powi(power as i32)).collect();
            let equation = |x: u32| Equation { terms: powers(x), value: value(f64::from(x)), weight: 1.0 };
            least_squares(&(0..8).map(equation).collect::<Vec<_>>()).unwrap().bic()
        };
        let wriggle = |x: f64| if (x as u32).is_multiple_of(2) { 0.1 } else { -0.1 };
        assert!(with(3, &|x| x * x + wriggle(x)) < with(2, &|x| x * x + wriggle(x)));
        assert!(with(2, &|x| x + wriggle(x)) < with(3, &|x| x + wriggle(x)));
    }

    #[test]
    fn where_a_line_meets_zero_is_the_published_calibration() {
        // Anscombe's first set: y = 3 + 0.5 x, so that -x at zero is 6. The band of the line about there is
        // y ± t(9) s √(1/11 + (x - 9)² / 110), s² = 13.7627 / 9; its roots are those of Fieller.
        let equation = |(x, y): (f64, f64)| Equation { terms: vec![1.0, x], value: y, weight: 1.0 };
        let fit = least_squares(&anscombe().map(equation)).unwrap();
        let (ratio, interval) = fit.ratio(&[1.0, 0.0], &[0.0, 1.0]).unwrap();
        let band = |x: f64| 2.262_157 * (13.762_7_f64 / 9.0 * (1.0 / 11.0 + (x - 9.0).powi(2) / 110.0)).sqrt();
        let line = |x: f64| fit.coefficients[0] + fit.coefficients[1] * x;
        assert!((ratio - 5.999).abs() < 5e-3, "{ratio}");
        let interval = interval.unwrap();
        for end in [interval.low, interval.high] {
            assert!((line(-end).abs() - band(-end)).abs() < 2e-4, "{interval:?}");
        }
    }

    #[test]
    fn a_ratio_by_hand() {
        // Two means, 20 and 10, of five values each with variances 10 and 2.5 about them, as in the test of Fieller's theorem
        // for two runs, but with one variance for both: (10 × 4 + 2.5 × 4) / 8 = 6.25, errors² 1.25, t(8)² = 5.317657. So
        // 100 - 6.647071 = 93.352929 r², 2 × 200 r, 400 - 6.647071 = 393.352929.
        let mean = |terms: [f64; 2], values: [f64; 5]| {
            values.map(|value| Equation { terms: terms.to_vec(), value, weight: 1.0 })
        };
        let above = mean([1.0, 0.0], [16.0, 18.0, 20.0, 22.0, 24.0]);
        let equations = [above, mean([0.0, 1.0], [8.0, 9.0, 10.0, 11.0, 12.0])].concat();
        let (ratio, interval) = least_squares(&equations).unwrap().ratio(&[1.0, 0.0], &[0.0, 1.0]).unwrap();
        let (interval, root) = (interval.unwrap(), (40_000.0_f64 - 93.352_929 * 393.352_929).sqrt());
        assert!((ratio - 2.0).abs() < 1e-12);
        assert!((interval.low - (200.0 - root) / 93.352_929).abs() < 1e-5, "{interval:?}");
        assert!((interval.high - (200.0 + root) / 93.352_929).abs() < 1e-5, "{interval:?}");
        assert!(least_squares(&equations).unwrap().ratio(&[1.0, 0.0], &[0.0, -1.0]).is_none(), "not above zero");
    }

    #[test]
    fn few_straight_lines_are_taken_for_broken_ones() {
        // Ten places, 2 % of scatter, lines that may break in five places: at most one in twenty does.
        let mut normal = crate::fixtures::Normal::new(64);
        let broken = (0..400).filter(|_| {
            let values: Vec<f64> = (0..10).map(|x| (10.0 + f64::from(x)) * (1.0 + 0.02 * normal.draw())).collect();
            let fit = |place: usize| {
                let equation = |(x, value): (usize, &f64)| {
                    let line = [1.0, x as f64];
                    let terms = if place == 0 {
                        line.to_vec()
                    } else if x < place {
                        [line, [0.0; 2]].concat()
                    } else {
                        [[0.0; 2], line].concat()
                    };
                    Equation { terms, value: *value, weight: value.powi(-2) }
                };
                least_squares(&values.iter().enumerate().map(equation).collect::<Vec<_>>()).unwrap()
            };
            (3..=7).map(fit).any(|pieces| pieces.is_worth(&fit(0), 5))
        });
        let broken = broken.count();
        assert!((1..=20).contains(&broken), "{broken} of 400");
    }
}
