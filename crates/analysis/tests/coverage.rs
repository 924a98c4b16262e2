//! Coverage of the intervals: each method on thousands of generated data sets with known truth.
//!
//! A 95 % interval must hold the truth in 93 to 97 % of them, from the least number of repetitions that the method is used
//! with; two samples of the same must be called changed in under 5 %. For the choices see docs/decisions/statistics.md.
//! Seeded: the same figures every time. Run by `just coverage` (release build, five to eight minutes), not by `cargo test`.

use halfpower_analysis::statistics::{
    Contrast, Equation, Interval, Margin, Verdict, bootstrap_of_means, divisive_change_points, is_precise,
    lasting_changes, least_squares, mean_estimate, mean_interval, median_estimate, paired_ratio, ratio_of_means,
    series_mean, verdicts,
};
use halfpower_model::random::{Random, derive_seed};
use halfpower_model::{Estimate, Quantity};

const TRIALS: usize = 10_000;

/// How a figure scatters about 1.
#[derive(Clone, Copy, Debug)]
enum Scatter {
    Normal(f64),
    Lognormal(f64),
    /// Two-sided exponential: long tails on both sides.
    Laplace(f64),
}

impl Scatter {
    fn mean(self) -> f64 {
        match self {
            Scatter::Lognormal(sigma) => (sigma * sigma / 2.0).exp(),
            Scatter::Normal(_) | Scatter::Laplace(_) => 1.0,
        }
    }
}

struct Draws(Random);

impl Draws {
    /// Standard normal (Box and Muller).
    fn normal(&mut self) -> f64 {
        let (radius, turn) = (1.0 - self.0.next_unit(), self.0.next_unit());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
    }

    fn one(&mut self, scatter: Scatter) -> f64 {
        match scatter {
            Scatter::Normal(deviation) => 1.0 + deviation * self.normal(),
            Scatter::Lognormal(sigma) => (sigma * self.normal()).exp(),
            Scatter::Laplace(scale) => {
                let place = self.0.next_unit() - 0.5;
                1.0 - scale * place.signum() * (1.0 - 2.0 * place.abs()).max(1e-300).ln()
            }
        }
    }

    fn many(&mut self, scatter: Scatter, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.one(scatter)).collect()
    }

    /// Standard normal, each value leaning on the one before.
    fn leaning(&mut self, share: f64, count: usize) -> Vec<f64> {
        let mut value = self.normal();
        let next = |_| {
            value = share * value + (1.0 - share * share).sqrt() * self.normal();
            value
        };
        (0..count).map(next).collect()
    }
}

/// The rows of a table, printed at once; rows out of bounds fail at the end.
#[derive(Default)]
struct Table {
    /// Number of rows, so that each has its own draws.
    rows: u64,
    wrong: Vec<String>,
}

impl Table {
    /// How often `trial` holds the truth, of the times that it has an interval.
    fn covers(&mut self, name: &str, trials: usize, mut trial: impl FnMut(&mut Draws) -> Option<bool>) {
        let mut draws = self.draws();
        let results: Vec<bool> = (0..trials).filter_map(|_| trial(&mut draws)).collect();
        let held = results.iter().filter(|held| **held).count() as f64 / results.len() as f64;
        let withheld = match trials - results.len() {
            0 => String::new(),
            none => format!(", no interval in {:.1} %", 100.0 * none as f64 / trials as f64),
        };
        self.row(name, held, 0.93..=0.97, &withheld);
    }

    /// How often something happens that should happen in this share.
    fn happens(
        &mut self,
        name: &str,
        bounds: std::ops::RangeInclusive<f64>,
        mut trial: impl FnMut(&mut Draws) -> bool,
    ) {
        let mut draws = self.draws();
        let happened = (0..TRIALS).filter(|_| trial(&mut draws)).count() as f64 / TRIALS as f64;
        self.row(name, happened, bounds, "");
    }

    fn draws(&mut self) -> Draws {
        self.rows += 1;
        Draws(Random::new(derive_seed(1997, self.rows)))
    }

    fn row(&mut self, name: &str, share: f64, bounds: std::ops::RangeInclusive<f64>, more: &str) {
        let row = format!("| {name} | {:.1} %{more} |", 100.0 * share);
        println!("{row}");
        if !bounds.contains(&share) {
            self.wrong.push(row);
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let is_wrong = !self.wrong.is_empty() && !std::thread::panicking();
        assert!(!is_wrong, "out of bounds:\n{}", self.wrong.join("\n"));
    }
}

fn holds(estimate: Option<Estimate>, truth: f64) -> Option<bool> {
    let estimate = estimate?;
    Some(Interval { low: estimate.low?, high: estimate.high? }.holds(truth))
}

#[test]
fn means() {
    let mut table = Table::default();
    for (scatter, counts) in [
        (Scatter::Normal(0.1), [2, 5, 10, 20]),
        (Scatter::Lognormal(0.1), [2, 5, 10, 20]),
        (Scatter::Lognormal(0.25), [2, 5, 10, 20]),
        (Scatter::Lognormal(0.5), [25, 30, 40, 50]),
    ] {
        for count in counts {
            table.covers(&format!("mean, t | {scatter:?} | {count}"), TRIALS, |draws| {
                holds(mean_estimate(Quantity::Ratio, &draws.many(scatter, count)), scatter.mean())
            });
        }
    }
}

#[test]
fn medians() {
    let mut table = Table::default();
    for scatter in [Scatter::Normal(0.1), Scatter::Lognormal(0.5), Scatter::Lognormal(1.0), Scatter::Laplace(0.1)] {
        for count in [6, 7, 8, 10, 15, 20, 40] {
            table.covers(&format!("median, order statistics | {scatter:?} | {count}"), TRIALS, |draws| {
                holds(median_estimate(Quantity::Ratio, &draws.many(scatter, count)), 1.0)
            });
        }
    }
}

#[test]
fn ratios() {
    let mut table = Table::default();
    for blocks in [0.1, 0.6] {
        for scatter in [Scatter::Lognormal(0.02), Scatter::Normal(0.1), Scatter::Lognormal(0.5)] {
            for count in [2, 5, 10, 20] {
                let name = format!("paired ratio, t of logarithms | blocks {blocks}, {scatter:?} | {count}");
                table.covers(&name, TRIALS, |draws| {
                    let pair = |draws: &mut Draws| {
                        let block = draws.one(Scatter::Lognormal(blocks));
                        (2.0 * block * draws.one(scatter), block * draws.one(scatter))
                    };
                    holds(paired_ratio(&(0..count).map(|_| pair(draws)).collect::<Vec<_>>()), 2.0)
                });
            }
        }
    }
    let alike = [Scatter::Normal(0.1), Scatter::Normal(0.2), Scatter::Lognormal(0.1), Scatter::Lognormal(0.5)];
    let cases = alike
        .map(|scatter| (scatter, scatter))
        .into_iter()
        .chain([(Scatter::Normal(0.02), Scatter::Normal(0.2)), (Scatter::Lognormal(0.2), Scatter::Lognormal(0.05))]);
    for (above, below) in cases {
        for (first, second) in [(5, 5), (5, 10), (10, 10), (20, 20)] {
            let name = format!("ratio of means, Fieller | {above:?} over {below:?} | {first} and {second}");
            table.covers(&name, TRIALS, |draws| {
                let ratio = ratio_of_means(&draws.many(above, first), &draws.many(below, second));
                holds(ratio, above.mean() / below.mean())
            });
        }
    }
}

#[test]
fn lines() {
    let mut table = Table::default();
    for count in [3, 5, 10] {
        table.covers(&format!("slope of a line | Normal(0.1) | {count}"), TRIALS, |draws| {
            let equation = |x: usize, draws: &mut Draws| {
                let x = x as f64;
                Equation { terms: vec![1.0, x], value: 3.0 + 2.0 * x + draws.one(Scatter::Normal(0.1)), weight: 1.0 }
            };
            let equations: Vec<Equation> = (0..count).map(|x| equation(x, draws)).collect();
            Some(least_squares(&equations)?.interval(1)?.holds(2.0))
        });
    }
    // Hockney's half-power size: a fixed time of 50 000 ns and half a ns a byte, sizes from 2 KiB on, relative weights.
    for (count, scatter) in [3, 5, 10].into_iter().flat_map(|count| [(count, 0.01), (count, 0.05)]) {
        table.covers(&format!("half-power size of a line | Normal({scatter}) | {count}"), TRIALS, |draws| {
            let equation = |exponent: usize, draws: &mut Draws| {
                let bytes = 2048.0 * 512_f64.powf(exponent as f64 / (count - 1) as f64);
                let value = (50_000.0 + 0.5 * bytes) * draws.one(Scatter::Normal(scatter));
                Equation { terms: vec![1.0, bytes], value, weight: value.powi(-2) }
            };
            let equations: Vec<Equation> = (0..count).map(|exponent| equation(exponent, draws)).collect();
            Some(least_squares(&equations)?.ratio(&[1.0, 0.0], &[0.0, 1.0])?.1?.holds(100_000.0))
        });
    }
}

/// Where means at 1, 2 and 3 come up to a height; endlessly far where they do not.
fn crossing(means: &[f64], height: f64) -> f64 {
    let between = means.windows(2).enumerate().find(|(_, pair)| height <= pair[1]);
    between.map_or(f64::INFINITY, |(at, pair)| at as f64 + 1.0 + (height - pair[0]) / (pair[1] - pair[0]))
}

#[test]
fn bootstraps() {
    const BOOTSTRAPS: usize = 8000;
    let mut table = Table::default();
    for (scatter, counts) in [
        (Scatter::Normal(0.1), [15, 20, 40]),
        (Scatter::Lognormal(0.25), [15, 20, 40]),
        (Scatter::Lognormal(0.5), [15, 20, 40]),
    ] {
        for count in counts {
            table.covers(&format!("mean, bootstrap | {scatter:?} | {count}"), BOOTSTRAPS, |draws| {
                let interval = bootstrap_of_means(&[draws.many(scatter, count)], |means| means[0]);
                Some(interval?.holds(scatter.mean()))
            });
        }
    }
    for scatter in [Scatter::Normal(0.05), Scatter::Lognormal(0.25)] {
        for count in [4, 5, 10, 20] {
            let name = format!("ratio of means, bootstrap | {scatter:?} | {count} and {count}");
            table.covers(&name, BOOTSTRAPS, |draws| {
                let cells = [draws.many(scatter, count), draws.many(scatter, count)];
                Some(bootstrap_of_means(&cells, |means| means[0] / means[1])?.holds(1.0))
            });
            // Rates of 1, 3 and 8 at sizes 1, 2 and 3: half of 8 is reached a fifth of the way from 3 to 8.
            let cells = |draws: &mut Draws| {
                [1.0, 3.0, 8.0].map(|rate| draws.many(scatter, count).iter().map(|value| value * rate).collect())
            };
            let name = format!("half of the peak, bootstrap | {scatter:?} | {count} each");
            table.covers(&name, BOOTSTRAPS, |draws| {
                Some(bootstrap_of_means(&cells(draws), |means| crossing(means, means[2] / 2.0))?.holds(2.2))
            });
            let name = format!("half of what is advertised, bootstrap | {scatter:?} | {count} each");
            table.covers(&name, BOOTSTRAPS, |draws| {
                let half = 4.0 * scatter.mean();
                Some(bootstrap_of_means(&cells(draws), |means| crossing(means, half))?.holds(2.2))
            });
        }
    }
}

#[test]
fn autocorrelated_series() {
    let mut table = Table::default();
    for (share, counts) in [
        (0.0, [100, 200, 1000]),
        (0.3, [100, 200, 1000]),
        (0.5, [100, 200, 1000]),
        (0.8, [300, 500, 1000]),
        (0.9, [600, 1000, 2000]),
    ] {
        for count in counts {
            table.covers(&format!("mean of a series, batch means | AR(1), φ = {share} | {count}"), TRIALS, |draws| {
                holds(series_mean(Quantity::Ratio, &draws.leaning(share, count)), 0.0)
            });
        }
    }
    for count in [300, 1000] {
        let name = format!("mean of a series, batch means | exp of AR(1) / 2, φ = 0.7 | {count}");
        table.covers(&name, TRIALS, |draws| {
            let values: Vec<f64> = draws.leaning(0.7, count).iter().map(|value| (value / 2.0).exp()).collect();
            holds(series_mean(Quantity::Ratio, &values), 0.125_f64.exp())
        });
    }
}

#[test]
fn sequential_stopping() {
    let mut table = Table::default();
    for deviation in [0.02, 0.03, 0.05, 0.08] {
        for (least, most) in [(10, 20), (10, 80)] {
            let name = format!("mean, stopped at ±3 % | Normal({deviation}) | {least} to {most}");
            table.covers(&name, TRIALS, |draws| {
                let mut values = Vec::new();
                while values.len() < least || (values.len() < most && !is_precise(&values, 0.03)) {
                    values.push(draws.one(Scatter::Normal(deviation)));
                }
                Some(mean_interval(&values)?.holds(1.0))
            });
        }
    }
}

#[test]
fn comparisons_of_the_same() {
    const CELLS: usize = 20;
    let mut table = Table::default();
    let changed =
        |verdicts: &[Verdict]| verdicts.iter().any(|verdict| matches!(verdict, Verdict::Higher | Verdict::Lower));
    for scatter in [
        Scatter::Normal(0.01),
        Scatter::Normal(0.05),
        Scatter::Normal(0.2),
        Scatter::Lognormal(0.1),
        Scatter::Lognormal(0.5),
    ] {
        for count in [5, 10, 20] {
            for cells in [1, CELLS] {
                let name = format!("A/A apart, called changed | {cells} cells, {scatter:?} | {count} and {count}");
                table.happens(&name, 0.0..=0.05, |draws| {
                    let contrast = |_| {
                        let (new, old) = (draws.many(scatter, count), draws.many(scatter, count));
                        Contrast::apart(&new, &old, Margin::THROUGHPUT)
                    };
                    changed(&verdicts(&(0..cells).filter_map(contrast).collect::<Vec<_>>()))
                });
                let name =
                    format!("A/A paired in drifting blocks, called changed | {cells} cells, {scatter:?} | {count}");
                table.happens(&name, 0.0..=0.05, |draws| {
                    let drift = draws.leaning(0.8, count);
                    let contrast = |_| {
                        let pair = |drift: &f64| {
                            let block = (0.2 * drift).exp();
                            (block * draws.one(scatter).abs(), block * draws.one(scatter).abs())
                        };
                        Contrast::paired(&drift.iter().map(pair).collect::<Vec<_>>(), Margin::THROUGHPUT)
                    };
                    changed(&verdicts(&(0..cells).filter_map(contrast).collect::<Vec<_>>()))
                });
            }
        }
    }
}

#[test]
fn comparisons_of_others() {
    let mut table = Table::default();
    for (change, verdict, bounds) in [
        (1.0, Verdict::Equivalent, 0.9..=1.0),
        (1.1, Verdict::Higher, 0.9..=1.0),
        // At the edge of the margin neither may be claimed often.
        (1.02, Verdict::Equivalent, 0.0..=0.05),
        (1.02, Verdict::Higher, 0.0..=0.05),
    ] {
        let name = format!("a change of {:.0} % called {verdict:?} | Normal(0.01) | 10 and 10", 100.0 * (change - 1.0));
        table.happens(&name, bounds, |draws| {
            let new: Vec<f64> = draws.many(Scatter::Normal(0.01), 10).iter().map(|value| value * change).collect();
            let old = draws.many(Scatter::Normal(0.01), 10);
            Contrast::apart(&new, &old, Margin::THROUGHPUT).is_some_and(|contrast| contrast.verdict() == verdict)
        });
    }
}

/// What `lasting_changes` says of series that lean on themselves and do not change, and of such that do.
#[test]
fn lasting() {
    const LEAST: f64 = 0.02;
    let mut table = Table::default();
    let about_one = |draws: &mut Draws, lean, count| -> Vec<f64> {
        draws.leaning(lean, count).iter().map(|value| 1.0 + 0.2 * value).collect()
    };
    for lean in [0.0, 0.3, 0.5, 0.8, 0.9] {
        for count in [12, 13, 16, 24, 60, 120] {
            table.happens(&format!("false changes | leaning by {lean} | {count}"), 0.0..=0.05, |draws| {
                !lasting_changes(&about_one(draws, lean, count), LEAST).is_empty()
            });
        }
    }
    for (lean, count) in [(0.0, 12), (0.0, 24), (0.0, 120), (0.5, 24), (0.5, 120), (0.8, 120)] {
        table.happens(&format!("a step of 6 deviations is found | leaning by {lean} | {count}"), 0.97..=1.0, |draws| {
            let mut values = about_one(draws, lean, count);
            values[..count / 2].iter_mut().for_each(|value| *value += 1.2);
            lasting_changes(&values, LEAST).iter().any(|start| start.abs_diff(count / 2) <= 1)
        });
    }
}

/// What `divisive_change_points` says of series that do not change, and of such that do; beyond 400 values by batches.
#[test]
fn divisive() {
    let mut table = Table::default();
    for scatter in [Scatter::Normal(0.02), Scatter::Lognormal(0.5)] {
        for count in [10, 40, 401, 1_999] {
            table.happens(&format!("false changes by E-divisive | {scatter:?} | {count}"), 0.03..=0.06, |draws| {
                !divisive_change_points(&draws.many(scatter, count)).is_empty()
            });
        }
    }
    for count in [20, 40, 401, 1_999] {
        let name = format!("a step of 6 deviations is found by E-divisive | {count}");
        table.happens(&name, 0.97..=1.0, |draws| {
            let mut values = draws.many(Scatter::Normal(0.02), count);
            values[..count / 2].iter_mut().for_each(|value| *value += 0.12);
            divisive_change_points(&values).iter().any(|start| start.abs_diff(count / 2) <= 1)
        });
    }
}
