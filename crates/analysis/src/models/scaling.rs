//! Throughput against the number of targets: each adds its own rate up to a shared limit.
//!
//! n targets deliver x with x⁻ᵖ = (n × each)⁻ᵖ + limit⁻ᵖ, a rounded minimum that is sharper the higher p is. For given p this is linear in
//! each⁻ᵖ and limit⁻ᵖ; the best of a few p is taken. For unequal targets n is the sum of the first n alone over their mean.
//! Intervals are a bootstrap over repetitions at that p, because three or four points scatter too little about the curve; the
//! error of the curve itself is given separately.
//! Source: Riedel, van Ingen and Gray, "A performance study of sequential I/O on Windows NT 4" (1997), who add disks to a bus.

use super::fit::{Match, fitted, off};
use crate::cells::Cell;
use crate::comparable::{Axis, groups};
use crate::evidence::{Evidence, of_targets};
use crate::statistics::{Equation, bootstrap_of_means, least_squares};
use halfpower_model::{Estimate, Quantity, Workload};
use serde::Serialize;

/// One, two and three targets.
const COUNTS_MIN: usize = 3;
/// From a wide bend to a corner.
const SHARPNESS: [u32; 4] = [1, 2, 4, 8];

/// Throughput against the number of targets.
#[derive(Clone, Debug, Serialize)]
pub struct Scaling {
    /// Workload of all targets together.
    pub workload: Workload,
    /// Name: `sequential read, 1 MiB`.
    pub subject: String,
    /// Bytes per second of one target without the limit.
    pub each: Estimate,
    /// Shared limit; none if the rate grows with the targets.
    pub limit: Option<Estimate>,
    /// Sharpness p.
    pub sharpness: u32,
    /// Mean error: 0.02 is 2 %.
    pub relative_error: f64,
    /// Whether that is small.
    pub matches: Match,
    /// Its cells, single targets first.
    pub cells: Vec<u32>,
}

/// Single targets, and the first n together.
struct Growth<'a> {
    alone: Vec<&'a Cell<'a>>,
    together: Vec<&'a Cell<'a>>,
}

/// Both parameters in bytes per second.
#[derive(Clone, Copy)]
struct Curve {
    each: f64,
    /// Infinite without a limit.
    limit: f64,
    relative_error: f64,
}

pub(super) fn all(evidence: &Evidence<'_>) -> Vec<Scaling> {
    if evidence.cells.iter().all(|cell| cell.workload.targets < 2) {
        return Vec::new();
    }
    let groups = groups(evidence.cells.iter().copied(), &[Axis::Targets]);
    groups.iter().filter_map(|group| fit(&Growth::of(group)?)).collect()
}

impl<'a> Growth<'a> {
    /// None if a target was not measured alone, or with too few numbers.
    fn of(group: &[&'a Cell<'a>]) -> Option<Growth<'a>> {
        let (alone, together) = of_targets(group)?;
        (together.len() + 1 >= COUNTS_MIN).then_some(Growth { alone, together })
    }

    /// From the means.
    fn curve(&self, means: &[f64], sharpness: u32) -> Option<Curve> {
        let power = -f64::from(sharpness);
        let (alone, together) = means.split_at(self.alone.len());
        let each = alone.iter().sum::<f64>() / alone.len() as f64;
        let counts =
            self.together.iter().map(|cell| alone[..cell.workload.targets as usize].iter().sum::<f64>() / each);
        let points: Vec<(f64, f64)> =
            std::iter::once((1.0, each)).chain(counts.zip(together.iter().copied())).collect();
        // In units of one target, because powers of bytes per second overflow. The weight turns the error of a power into the relative
        // error of its base.
        let equation = |(count, rate): &(f64, f64)| {
            let value = (rate / each).powf(power);
            Equation { terms: vec![count.powf(power), 1.0], value, weight: (power * value).powi(-2) }
        };
        let equations: Vec<Equation> = points.iter().map(equation).collect();
        let whole = least_squares(&equations)?;
        let unlimited = || {
            let alone = |of: &Equation| Equation { terms: of.terms[..1].to_vec(), ..of.clone() };
            least_squares(&equations.iter().map(alone).collect::<Vec<_>>())
        };
        let fit = if whole.coefficients[1] > 0.0 { whole } else { unlimited()? };
        let base = |part: Option<&f64>| part.map_or(f64::INFINITY, |part| each * part.powf(1.0 / power));
        let curve = Curve {
            each: base(fit.coefficients.first().filter(|part| **part > 0.0)),
            limit: base(fit.coefficients.get(1)),
            relative_error: fit.relative_error(),
        };
        curve.each.is_finite().then_some(curve)
    }
}

fn fit(growth: &Growth<'_>) -> Option<Scaling> {
    let cells: Vec<&Cell<'_>> = [&growth.alone[..], &growth.together[..]].concat();
    let repetitions: Vec<Vec<f64>> = cells.iter().map(|cell| cell.bytes_per_s.clone()).collect();
    let means: Vec<f64> = cells.iter().map(|cell| cell.mean_bytes_per_s()).collect();
    let curves = SHARPNESS.iter().filter_map(|sharpness| Some((*sharpness, growth.curve(&means, *sharpness)?)));
    let (sharpness, curve) =
        curves.min_by(|(_, one), (_, other)| one.relative_error.total_cmp(&other.relative_error))?;
    let interval = |part: fn(Curve) -> f64| {
        let figure = |means: &[f64]| growth.curve(means, sharpness).map_or(f64::INFINITY, part);
        bootstrap_of_means(&repetitions, figure).filter(|interval| interval.high.is_finite())
    };
    let fewest = repetitions.iter().map(Vec::len).min()?;
    let estimate = |value: f64, part| {
        let interval = interval(part).map(|interval| interval.with(value));
        fitted(Quantity::BytesPerSecond, value, interval, fewest)
    };
    let workload = growth.together.last()?.workload;
    // A limit far beyond the measured rates was not observed.
    let most = means.iter().copied().fold(0.0, f64::max);
    let is_seen = curve.limit < 2.0 * most;
    Some(Scaling {
        workload: workload.clone(),
        subject: format!("{} {}, {}", workload.pattern, workload.operation, workload.request_size),
        each: estimate(curve.each, |curve| curve.each),
        limit: is_seen.then(|| estimate(curve.limit, |curve| curve.limit)),
        sharpness,
        relative_error: curve.relative_error,
        matches: Match::of(curve.relative_error),
        cells: cells.iter().map(|cell| cell.number).collect(),
    })
}

impl Scaling {
    /// In a sentence.
    pub(crate) fn sentence(&self) -> String {
        let off = off(self.relative_error);
        match (self.matches, self.limit) {
            (Match::Poor, _) => {
                format!("No shared-limit model fits: the best is {off}.")
            }
            (Match::Good, Some(limit)) => {
                format!("Fitted model: each target delivers {}, with a shared limit of {limit} ({off}).", self.each)
            }
            (Match::Good, None) => {
                format!(
                    "Fitted model: each target delivers {}, with no shared limit in the measured range ({off}).",
                    self.each
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::fixtures::{Run, around, begins, deep, read, says};
    use halfpower_model::Among;

    fn among(among: Among, targets: u32) -> Workload {
        Workload { among, targets, workers: targets, ..deep(8, read(1024)) }
    }

    /// Targets with these rates alone, and of the first ones together.
    fn model(alone: &[f64], together: impl Fn(f64) -> f64) -> Option<Scaling> {
        let mut run = Run::default();
        for (number, rate) in (1..).zip(alone) {
            run.add(among(Among::Only(number), 1), &around(*rate));
        }
        let all = alone.len() as u32;
        for targets in 2..=all {
            let which = if targets == all { Among::All } else { Among::First(targets) };
            run.add(among(which, targets), &around(together(alone[..targets as usize].iter().sum())));
        }
        analyse(&run.observed()).models.scaling.pop()
    }

    #[test]
    fn the_studies_bus_comes_back() {
        // Four disks of 24 MB/s on a bus of 60, rounded by the fourth power; 24 alone is itself rounded from 24.15…
        let meet = |sum: f64| (sum.powi(-4) + 60e6_f64.powi(-4)).powf(-0.25);
        let each = (24e6_f64.powi(-4) - 60e6_f64.powi(-4)).powf(-0.25);
        let model = model(&[24e6; 4], |sum| meet(sum / 24e6 * each)).unwrap();
        assert!((model.each.value / each - 1.0).abs() < 1e-9, "{model:?}");
        assert!((model.limit.unwrap().value / 60e6 - 1.0).abs() < 1e-9, "{model:?}");
        assert_eq!((model.sharpness, model.matches, model.cells.len()), (4, Match::Good, 7));
        let limit = model.limit.unwrap();
        assert!(limit.low.unwrap() < 60e6 && limit.high.unwrap() > 60e6, "{model:?}");
        let sentence = model.sentence();
        begins(&sentence, "Fitted model: each target delivers 24.2 MB/s ± ");
        says(&sentence, "with a shared limit of 60 MB/s ± ");
    }

    #[test]
    fn targets_may_differ() {
        let model = model(&[10e6, 40e6, 10e6], |sum| sum.min(45e6)).unwrap();
        assert!((model.each.value / 20e6 - 1.0).abs() < 0.05, "{model:?}");
        assert!((model.limit.unwrap().value / 45e6 - 1.0).abs() < 0.05, "{model:?}");
    }

    #[test]
    fn a_corner_is_near_enough() {
        let model = model(&[24e6; 4], |sum| sum.min(60e6)).unwrap();
        assert!((model.limit.unwrap().value / 60e6 - 1.0).abs() < 0.03 && model.sharpness == 8, "{model:?}");
    }

    #[test]
    fn what_adds_up_shares_nothing_and_two_are_too_few() {
        let free = model(&[24e6; 4], |sum| sum).unwrap();
        assert!(free.limit.is_none() && (free.each.value / 24e6 - 1.0).abs() < 1e-6, "{free:?}");
        assert!(free.sentence().contains("no shared limit in the measured range"), "{}", free.sentence());
        assert!(model(&[24e6; 2], |sum| sum).is_none());
    }
}
