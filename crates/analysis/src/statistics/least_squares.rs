//! Weighted least squares with any number of terms, with 95 % t intervals of the coefficients.
//!
//! The weights are relative: they say how much each equation counts against the others, not how exact it is; the scatter
//! about the fit says that. So a model that does not fit shows in wider intervals. As many equations as terms give
//! coefficients without intervals. Solved by singular values after every term is brought to the same size, so that
//! terms that can hardly be told apart cost digits, not the answer, and ones that cannot are refused.
//! Source: Draper and Smith, "Applied Regression Analysis", 3rd edition (1998); Golub and Van Loan, "Matrix Computations",
//! 4th edition (2013), section 5.5; Schwarz, "Estimating the dimension of a model", Annals of Statistics 6 (1978), for BIC.

use super::Interval;
use super::mean::t_quantile;
use nalgebra::{DMatrix, DVector};

/// One equation: terms × coefficients = value.
#[derive(Clone, Debug)]
pub struct Equation {
    /// What each coefficient is multiplied by; as many in every equation.
    pub terms: Vec<f64>,
    /// What they should come to.
    pub value: f64,
    /// How much it counts; above zero.
    pub weight: f64,
}

/// A fit.
#[derive(Clone, Debug)]
pub struct Fit {
    /// One for each term.
    pub coefficients: Vec<f64>,
    /// What the coefficients scatter by; none with no more equations than terms.
    pub standard_errors: Option<Vec<f64>>,
    /// The weighted squares that are left.
    pub squares_left: f64,
    /// Equations less terms.
    pub degrees_of_freedom: usize,
}

impl Fit {
    /// The interval of a coefficient; none with no more equations than terms, or without such a coefficient.
    pub fn interval(&self, coefficient: usize) -> Option<Interval> {
        let value = *self.coefficients.get(coefficient)?;
        let half = t_quantile(self.degrees_of_freedom as f64) * self.standard_errors.as_ref()?.get(coefficient)?;
        Some(Interval { low: value - half, high: value + half })
    }

    /// Schwarz's criterion, for comparing models of the same equations: the smaller the better. Endlessly good where
    /// nothing is left to explain.
    pub fn bic(&self) -> f64 {
        let terms = self.coefficients.len();
        let equations = (self.degrees_of_freedom + terms) as f64;
        equations * (self.squares_left / equations).ln() + terms as f64 * equations.ln()
    }
}

/// The coefficients with the least weighted squares. None without terms, with fewer equations than terms, or where the
/// equations do not tell the terms apart.
pub fn least_squares(equations: &[Equation]) -> Option<Fit> {
    let terms = equations.first().map(|equation| equation.terms.len()).filter(|terms| *terms > 0)?;
    if equations.len() < terms || equations.iter().any(|equation| equation.terms.len() != terms) {
        return None;
    }
    let weighted = |row: usize, value: f64| equations[row].weight.sqrt() * value;
    let mut matrix = DMatrix::from_fn(equations.len(), terms, |row, term| weighted(row, equations[row].terms[term]));
    let values = DVector::from_fn(equations.len(), |row, _| weighted(row, equations[row].value));
    let sizes: Vec<f64> = matrix.column_iter().map(|column| column.norm()).collect();
    if sizes.iter().any(|size| *size == 0.0 || !size.is_finite()) {
        return None;
    }
    matrix.column_iter_mut().zip(&sizes).for_each(|(mut column, size)| column /= *size);
    let decomposed = matrix.clone().svd(true, true);
    let negligible = f64::EPSILON * equations.len() as f64;
    if decomposed.singular_values.iter().any(|singular| *singular <= negligible) {
        return None;
    }
    let mut scaled = decomposed.solve(&values, 0.0).ok()?;
    // Once more on what is left, which takes the last digits' errors away.
    scaled += decomposed.solve(&(&values - &matrix * &scaled), 0.0).ok()?;
    let squares_left = (&matrix * &scaled - &values).norm_squared();
    let degrees_of_freedom = equations.len() - terms;
    let right = decomposed.v_t.as_ref()?;
    let error = |term: usize| {
        let spread: f64 = (0..terms).map(|row| (right[(row, term)] / decomposed.singular_values[row]).powi(2)).sum();
        (squares_left / degrees_of_freedom as f64 * spread).sqrt() / sizes[term]
    };
    Some(Fit {
        coefficients: scaled.iter().zip(&sizes).map(|(coefficient, size)| coefficient / size).collect(),
        standard_errors: (degrees_of_freedom > 0).then(|| (0..terms).map(error).collect()),
        squares_left,
        degrees_of_freedom,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn longleys_data_give_their_certified_values() {
        // NIST Statistical Reference Datasets, Longley: terms that can hardly be told apart.
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
        let errors = fit.standard_errors.clone().unwrap();
        for (index, (coefficient, error)) in certified.iter().enumerate() {
            assert!((fit.coefficients[index] / coefficient - 1.0).abs() < 1e-8, "{index}: {}", fit.coefficients[index]);
            assert!((errors[index] / error - 1.0).abs() < 1e-8, "{index}: {}", errors[index]);
        }
        assert!(((fit.squares_left / 9.0).sqrt() / 304.854_073_561_965 - 1.0).abs() < 1e-10);
        // t(9) = 2.262157.
        let interval = fit.interval(6).unwrap();
        assert!((interval.high - 1_829.151_464_613_55 - 2.262_157 * 455.478_499_142_212).abs() < 1e-3);
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        let equation = |terms: &[f64], value| Equation { terms: terms.to_vec(), value, weight: 1.0 };
        assert!(least_squares(&[]).is_none());
        assert!(least_squares(&[equation(&[], 1.0)]).is_none());
        assert!(least_squares(&[equation(&[1.0, 2.0], 1.0)]).is_none(), "fewer than terms");
        assert!(least_squares(&[equation(&[1.0], 1.0), equation(&[1.0, 2.0], 1.0)]).is_none());
        let twice: Vec<_> = (0..5).map(|x| equation(&[f64::from(x), 0.3 * f64::from(x)], 1.0)).collect();
        assert!(least_squares(&twice).is_none());
        let exact = least_squares(&[equation(&[1.0, 1.0], 3.0), equation(&[1.0, 2.0], 5.0)]).unwrap();
        assert!((exact.coefficients[0] - 1.0).abs() < 1e-12 && (exact.coefficients[1] - 2.0).abs() < 1e-12);
        assert!(exact.standard_errors.is_none() && exact.interval(0).is_none());
    }

    #[test]
    fn a_term_that_explains_nothing_costs() {
        // 8 equations: a parabola is worth its third term, a line with a wriggle is not.
        let with = |terms: u32, value: &dyn Fn(f64) -> f64| {
            let equation = |x: u32| Equation {
                terms: (0..terms).map(|power| f64::from(x).powi(power as i32)).collect(),
                value: value(f64::from(x)),
                weight: 1.0,
            };
            least_squares(&(0..8).map(equation).collect::<Vec<_>>()).unwrap().bic()
        };
        let wriggle = |x: f64| if (x as u32).is_multiple_of(2) { 0.1 } else { -0.1 };
        assert!(with(3, &|x| x * x + wriggle(x)) < with(2, &|x| x * x + wriggle(x)));
        assert!(with(2, &|x| x + wriggle(x)) < with(3, &|x| x + wriggle(x)));
    }

    proptest! {
        #[test]
        fn what_was_put_in_comes_out(coefficients in proptest::collection::vec(-100.0_f64..100.0, 1..4),
                                     weights in proptest::collection::vec(0.01_f64..100.0, 5..12), scale in 1e-6_f64..1e6) {
            let equation = |(x, weight): (u32, &f64)| {
                let terms: Vec<f64> = (0..coefficients.len()).map(|power| scale * f64::from(x).powi(power as i32)).collect();
                let value = terms.iter().zip(&coefficients).map(|(term, coefficient)| term * coefficient).sum();
                Equation { terms, value, weight: *weight }
            };
            let fit = least_squares(&(1..).zip(&weights).map(equation).collect::<Vec<_>>()).unwrap();
            for (one, other) in fit.coefficients.iter().zip(&coefficients) {
                prop_assert!((one - other).abs() < 1e-6, "{} {}", one, other);
            }
        }
    }
}
