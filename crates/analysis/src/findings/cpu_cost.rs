//! Fixed and marginal CPU cost: µs per request = fixed + marginal × KiB, over a series of request sizes.
//!
//! The points are cell means of the lower bound (user and system time of the workers), weighted by 1/y². Cells in which the warm-up
//! began a tenth of the requests are skipped if enough remain. A soaker adds an upper bound. A cost of c µs for s bytes saturates
//! one CPU at s/c bytes per µs. Intervals come from the scatter about the line, so a non-linear cost widens them.
//!
//! Buffered requests may also cost something per unit of the page cache that they touch (the study's lazy-writer term per 64 KiB). Units
//! from 4 to 512 KiB are tried, and the best is reported if it is [worth it](crate::statistics::Fit::is_worth) and all parts
//! are positive. Source: Chung, Gray, Worthington and Horst, "Windows 2000 disk IO performance" (2000).

use super::frame::found;
use crate::cells::Cell;
use crate::cost::{CostBound, CostByUnit, CostFit, CostPoint};
use crate::evidence::Evidence;
use crate::models::fitted;
use crate::resolution::begun_before;
use crate::series::{Series, is_twin};
use crate::statistics::{Equation, Fit, Interval, Point, least_squares, mean, weighted_line};
use crate::wording::{named, sentence};
use halfpower_model::units::significant;
use halfpower_model::{Bytes, BytesPerSecond, Estimate, Finding, FindingCode, Pattern, Quantity};

const SIZES_MIN: usize = 3;
/// Possible units of a page cache.
const UNITS_KIB: [u32; 8] = [4, 8, 16, 32, 64, 128, 256, 512];

/// A fit with its cells.
#[derive(Clone, Debug)]
pub(crate) struct Cost<'a> {
    /// Of the lower bound.
    pub(crate) fit: CostFit,
    /// Of the upper bound.
    pub(crate) upper: Option<CostFit>,
    cpus: u32,
    cells: Vec<&'a Cell<'a>>,
}

/// A fit for each sequential series with enough sizes.
pub(crate) fn cpu_costs<'a>(evidence: &Evidence<'a>) -> Vec<Cost<'a>> {
    let is_sequential = |series: &&Series<'_>| series.workload().pattern == Pattern::Sequential;
    let soaked = || evidence.soaked_by_size.iter().filter(is_sequential);
    let plain = || evidence.by_size.iter().filter(is_sequential);
    // Series measured only with a soaker take both bounds from it.
    let alone = soaked().filter(|soaked| !plain().any(|plain| is_twin(soaked, plain)));
    let costs = plain().chain(alone).filter_map(|series| {
        let (fit, mut cells) = fit(series, CostBound::Lower)?;
        let is_it = |soaked: &&Series<'_>| std::ptr::eq(*soaked, series) || is_twin(soaked, series);
        let upper = soaked().find(is_it).and_then(|soaked| self::fit(soaked, CostBound::Upper));
        // Named like the series without a soaker.
        let upper = upper.map(|(upper, others)| {
            cells.extend(others);
            CostFit { subject: fit.subject.clone(), ..upper }
        });
        let cpus = series.cells.first()?.repetitions.first()?.sample.environment.cpus;
        Some(Cost { fit, upper, cpus, cells })
    });
    costs.collect()
}

fn fit<'a>(series: &Series<'a>, bound: CostBound) -> Option<(CostFit, Vec<&'a Cell<'a>>)> {
    // A request begun in the warm-up lacks the first part of its cost.
    let is_whole = |cell: &&Cell<'_>| cell.repetitions.iter().all(|one| begun_before(one.sample).is_none());
    let whole: Vec<&Cell<'_>> = series.cells.iter().copied().filter(is_whole).collect();
    let of_cell = |cell: &&'a Cell<'a>| {
        let costs = match bound {
            CostBound::Lower => cell.cpu_us_per_request(),
            CostBound::Upper => cell.cpu_us_per_request_upper(),
        };
        let cost = mean(&costs)?;
        let point = Point { x: cell.workload.request_size.kib(), y: cost, weight: cost.powi(-2) };
        Some((*cell, (point, costs.len())))
    };
    let of = if whole.len() < SIZES_MIN { &series.cells } else { &whole };
    let (cells, measured): (Vec<&Cell<'_>>, Vec<(Point, usize)>) = of.iter().filter_map(of_cell).unzip();
    let (points, counts): (Vec<Point>, Vec<usize>) = measured.into_iter().unzip();
    let repetitions = counts.into_iter().min().filter(|_| cells.len() >= SIZES_MIN)?;
    // A cost below zero is shown only with an interval that holds zero.
    let line = weighted_line(&points).filter(|line| repetitions > 1 || line.coefficients[0] >= 0.0)?;
    let estimate = |quantity, value, interval| fitted(quantity, value, interval, repetitions);
    let is_buffered = !series.workload().buffering.is_direct();
    let fit = CostFit {
        workload: series.workload().clone(),
        subject: series.subject.clone(),
        bound,
        fixed: estimate(Quantity::MicrosecondsPerRequest, line.coefficients[0], line.interval(0)),
        marginal: estimate(Quantity::MicrosecondsPerKib, line.coefficients[1], line.interval(1)),
        r_squared: r_squared(&points, &line),
        by_unit: if is_buffered { by_unit(&points, &line, &estimate) } else { None },
        cells: cells.iter().map(|cell| cell.number).collect(),
        points: cells.iter().zip(&points).map(|(cell, point)| cost_point(cell, point, &line)).collect(),
    };
    Some((fit, cells))
}

/// 1 - (weighted squares about the line) / (weighted squares about the weighted mean); 1 if all points have one height.
fn r_squared(points: &[Point], line: &Fit) -> f64 {
    let weight: f64 = points.iter().map(|point| point.weight).sum();
    let mean = points.iter().map(|point| point.weight * point.y).sum::<f64>() / weight;
    let squares: f64 = points.iter().map(|point| point.weight * (point.y - mean).powi(2)).sum();
    if squares > 0.0 { (1.0 - line.squares_left / squares).clamp(0.0, 1.0) } else { 1.0 }
}

/// The third part, if it is worth it.
fn by_unit(
    points: &[Point],
    line: &Fit,
    estimate: &dyn Fn(Quantity, f64, Option<Interval>) -> Estimate,
) -> Option<CostByUnit> {
    let fit = |unit_kib: u32| {
        let equation = |point: &Point| {
            let terms = vec![1.0, point.x, (point.x / f64::from(unit_kib)).ceil()];
            Equation { terms, value: point.y, weight: point.weight }
        };
        least_squares(&points.iter().map(equation).collect::<Vec<_>>())
    };
    let fits = UNITS_KIB.iter().filter_map(|unit_kib| Some((*unit_kib, fit(*unit_kib)?)));
    let (unit_kib, best) = fits.min_by(|(_, one), (_, other)| one.squares_left.total_cmp(&other.squares_left))?;
    let part = |quantity, index: usize| estimate(quantity, best.coefficients[index], best.interval(index));
    let parts = CostByUnit {
        unit: Bytes(u64::from(unit_kib) << 10),
        call: part(Quantity::MicrosecondsPerRequest, 0),
        copy: part(Quantity::MicrosecondsPerKib, 1),
        each_unit: part(Quantity::MicrosecondsPerRequest, 2),
    };
    let all_count = [parts.call, parts.copy, parts.each_unit].into_iter().all(is_above_zero);
    (all_count && best.is_worth(line, UNITS_KIB.len())).then_some(parts)
}

fn cost_point(cell: &Cell<'_>, point: &Point, line: &Fit) -> CostPoint {
    let cpus = cell.repetitions.first().map_or(1, |observed| observed.sample.environment.cpus);
    let one = cell.workload.request_size.0 as f64 / (point.y / 1e6);
    CostPoint {
        request_size: cell.workload.request_size,
        us_per_request: point.y,
        residual_us: point.y - (line.coefficients[0] + line.coefficients[1] * point.x),
        one_cpu: BytesPerSecond(one),
        // Unknown for imported samples.
        all_cpus: (cpus > 0).then(|| BytesPerSecond(one * f64::from(cpus))),
    }
}

pub(super) fn find(costs: &[Cost<'_>]) -> Vec<Finding> {
    costs.iter().map(finding).collect()
}

fn finding(cost: &Cost<'_>) -> Finding {
    let Cost { fit, upper, cells, .. } = cost;
    let circumstances = fit.subject.split_once(", ").map_or("", |(_, circumstances)| circumstances);
    let mut claim = format!("CPU time of {}: {}", named(&fit.workload, circumstances), parts(fit, "at least"));
    let mut brief = brief(fit);
    let mut estimates = vec![fit.fixed, fit.marginal];
    if let Some(upper) = upper {
        claim += &format!(", {}", parts(upper, "at most"));
        brief += &format!(", at most {}", self::brief(upper));
        estimates.extend([upper.fixed, upper.marginal]);
    }
    let saturation = saturation(cost).map(|saturation| format!(" {}", sentence(&saturation)));
    let words = [brief, sentence(&claim) + &saturation.unwrap_or_default()];
    found(FindingCode::CpuCost, &fit.subject, cells.iter().copied(), words, estimates)
}

/// A fit in words with its R²; `bound` names the bound.
fn parts(fit: &CostFit, bound: &str) -> String {
    let parts = match (is_above_zero(fit.fixed), is_above_zero(fit.marginal)) {
        (true, true) => format!("{bound} {} plus {}", fit.fixed, fit.marginal),
        (true, false) => {
            format!("{bound} {}, with no significant marginal cost", fit.fixed)
        }
        (false, true) => format!("{bound} {}, with no significant fixed cost", fit.marginal),
        (false, false) => "fixed and marginal cost are not resolved".to_owned(),
    };
    let in_three = fit.by_unit.map(|by_unit| {
        let CostByUnit { unit, call, copy, each_unit } = by_unit;
        let each_unit = each_unit.to_string().replace(" per I/O", "");
        format!("; a three-part fit is better: {call} plus {copy} plus {each_unit} per {unit} block")
    });
    format!("{parts} (R² {:.2}){}", fit.r_squared, in_three.unwrap_or_default())
}

/// Throughput at which the largest requests saturate the CPUs; the lower cost bound gives the maximum.
fn saturation(cost: &Cost<'_>) -> Option<String> {
    let lower = cost.fit.points.last()?;
    let upper = cost.upper.as_ref().and_then(|upper| upper.points.last());
    let upper = upper.filter(|upper| upper.request_size == lower.request_size);
    let words = |cpus: u32| {
        let rate = |point: &CostPoint| BytesPerSecond(point.one_cpu.0 * f64::from(cpus));
        match upper {
            Some(upper) => format!("{} to {}", rate(upper), rate(lower)),
            None => format!("up to {}", rate(lower)),
        }
    };
    let all = match cost.cpus {
        0 | 1 => String::new(),
        cpus => format!(", all {cpus} at {}", words(cpus)),
    };
    let one = words(1);
    Some(format!("{} requests would saturate one CPU at {one}{all}", lower.request_size))
}

/// `11.3 µs + 5.06 ns per KiB`; a part that may be zero shows its upper end, `< 6.21 µs`.
fn brief(fit: &CostFit) -> String {
    let fixed = |us: f64| format!("{} µs", significant(us));
    let marginal = |us: f64| Quantity::MicrosecondsPerKib.format(us);
    let part = |estimate: Estimate, words: &dyn Fn(f64) -> String| match estimate.high {
        _ if is_above_zero(estimate) => Some(words(estimate.value)),
        Some(high) if high > 0.0 => Some(format!("< {}", words(high))),
        _ => None,
    };
    if !is_above_zero(fit.fixed) && !is_above_zero(fit.marginal) {
        return "not resolved".to_owned();
    }
    let parts = [part(fit.fixed, &fixed), part(fit.marginal, &marginal)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" + ")
}

/// Whether the whole interval is above zero.
fn is_above_zero(estimate: Estimate) -> bool {
    estimate.low.unwrap_or(estimate.value) > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::fixtures::{Run, buffered, deep, read, says, write};
    use halfpower_model::sample::CpuTime;
    use halfpower_model::{CpuAccounting, Nanoseconds, Workload};

    const NOISE: [f64; 3] = [0.97, 1.0, 1.03];

    /// Cells of these sizes with a cost of µs per I/O, by size and block.
    fn sweep(sizes_kib: &[u64], cost_us: impl Fn(u64, u32) -> f64) -> Run {
        let mut run = Run::default();
        for kib in sizes_kib {
            let cell = run.add(deep(8, read(*kib)), &[1e9, 1e9, 1e9]);
            run.cost(cell, |block| cost_us(*kib, block));
        }
        run
    }

    fn costs(run: &Run) -> (Vec<CostFit>, Vec<Finding>) {
        let analysis = analyse(&run.observed());
        let is_cost = |finding: &Finding| finding.code == FindingCode::CpuCost;
        (analysis.costs, analysis.findings.into_iter().filter(is_cost).collect())
    }

    #[test]
    fn the_two_parts_come_back() {
        // The studies' form: a request of n KiB costs fixed + n × marginal; the noise averages out over the blocks.
        let mut run = sweep(&[2, 8, 64, 256, 1024], |kib, block| (5.0 + 0.25 * kib as f64) * NOISE[block as usize]);
        let (fits, findings) = costs(&run);
        assert!((fits[0].fixed.value - 5.0).abs() < 1e-6 && (fits[0].marginal.value - 0.25).abs() < 1e-6, "{fits:?}");
        assert!(fits[0].r_squared > 0.999_999);
        assert_eq!((fits[0].cells.as_slice(), fits[0].fixed.repetitions), ([0, 1, 2, 3, 4].as_slice(), 3));
        let words = "CPU time of sequential reads (QD8, direct): at least 5 µs per I/O ± 0.1 % plus 250 ns per KiB ± 0.1 % (R² 1.00). 1 MiB requests would saturate one CPU at up to 4.02 GB/s, all 2 at up to 8.04 GB/s.";
        assert_eq!(findings[0].sentence, words);
        assert_eq!(findings[0].brief, "5 µs + 250 ns per KiB");
        assert_eq!(findings[0].samples.len(), 15);
        run.samples.retain(|placed| placed.block == 0);
        let one = &costs(&run).0[0];
        assert_eq!((one.fixed.low, one.marginal.high, one.fixed.repetitions), (None, None, 1));
        for (fixed, marginal) in [(0.1, 5.0), (0.1, 0.001), (500.0, 5.0), (500.0, 0.001), (7.0, 0.3)] {
            let (fits, _) = costs(&sweep(&[2, 8, 64, 256, 1024], |kib, _| fixed + marginal * kib as f64));
            let CostFit { fixed: found, marginal: slope, .. } = &fits[0];
            assert!(
                (found.value / fixed - 1.0).abs() < 1e-6 && (slope.value / marginal - 1.0).abs() < 1e-6,
                "{fits:?}"
            );
        }
    }

    #[test]
    fn what_was_begun_in_the_warm_up_is_left_out() {
        let mut run =
            sweep(&[4, 64, 256, 1024], |kib, _| (5.0 + 0.25 * kib as f64) * if kib == 1024 { 0.8 } else { 1.0 });
        let mut of_few = |kib: u64| {
            for sample in run.samples.iter_mut().map(|placed| &mut placed.sample) {
                sample.workload.warmup = Nanoseconds(1_000_000_000);
                if sample.workload.request_size == Bytes(kib << 10) {
                    let share = 34.0 / sample.total.requests as f64;
                    let CpuTime { user_s, system_s } = sample.cpu.lower;
                    sample.cpu.lower = CpuTime { user_s: user_s * share, system_s: system_s * share };
                    sample.total.requests = 34;
                    // It waited for the last of them.
                    sample.elapsed_s = sample.workload.limits.duration.unwrap().seconds() * 1.1;
                }
            }
            costs(&run).0.remove(0)
        };
        let fit = of_few(1024);
        assert_eq!(fit.cells, [0, 1, 2]);
        assert!((fit.marginal.value - 0.25).abs() < 1e-6, "{fit:?}");
        assert_eq!(of_few(256).cells, [0, 1, 2, 3], "two are too few");
    }

    #[test]
    fn a_soaker_gives_the_upper_bound_and_is_evidence_of_nothing_else() {
        let mut run = sweep(&[4, 64, 1024], |kib, _| 4.0 + 0.25 * kib as f64);
        for kib in [4, 64, 1024] {
            let soaked = Workload { cpu_accounting: CpuAccounting::Soaker, ..deep(8, read(kib)) };
            // Faster than the others, which must not count.
            let cell = run.add(soaked, &[9e9, 9e9, 9e9]);
            run.cost(cell, |_| 1.0);
            for placed in run.samples.iter_mut().filter(|placed| placed.cell == cell) {
                placed.sample.cpu.upper_us_per_request = Some(5.0 + 0.5 * kib as f64);
            }
        }
        let (fits, findings) = costs(&run);
        let bounds: Vec<_> = fits.iter().map(|fit| (fit.bound, fit.fixed.value.round(), fit.cells.len())).collect();
        assert_eq!(bounds, [(CostBound::Lower, 4.0, 3), (CostBound::Upper, 5.0, 3)]);
        assert_eq!((findings.len(), findings[0].samples.len(), findings[0].estimates.len()), (1, 18, 4));
        says(&findings[0].brief, "4 µs + 250 ns per KiB, at most 5 µs + 500 ns per KiB");
        // 1 MiB over 4 + 256 µs and over 5 + 512 µs.
        let saturation = "saturate one CPU at 2.03 GB/s to 4.03 GB/s, all 2 at 4.06 GB/s to 8.07 GB/s.";
        assert!(findings[0].sentence.ends_with(saturation), "{}", findings[0].sentence);
        let fastest = analyse(&run.observed()).findings;
        assert!(fastest.iter().all(|finding| !finding.sentence.contains("9 GB/s")), "{fastest:?}");
        // Alone, it has both bounds.
        run.samples.retain(|placed| placed.sample.workload.cpu_accounting == CpuAccounting::Soaker);
        let (fits, _) = costs(&run);
        assert_eq!(fits.iter().map(|fit| fit.bound).collect::<Vec<_>>(), [CostBound::Lower, CostBound::Upper]);
        assert!((fits[0].fixed.value - 1.0).abs() < 1e-6, "{fits:?}");
    }

    #[test]
    fn weights_are_relative_by_hand() {
        // The line through (1, 1), (2, 2), (3, 4) with weights 1/y² has slope 14/11, intercept -10/33 and R² 21/22.
        let run = sweep(&[1, 2, 3], |kib, _| [1.0, 2.0, 4.0][kib as usize - 1]);
        let (fits, findings) = costs(&run);
        assert!((fits[0].marginal.value - 14.0 / 11.0).abs() < 1e-9, "{fits:?}");
        assert!((fits[0].fixed.value + 10.0 / 33.0).abs() < 1e-9, "{fits:?}");
        assert!((fits[0].r_squared - 21.0 / 22.0).abs() < 1e-9, "{fits:?}");
        for (point, residual) in fits[0].points.iter().zip([1.0 / 33.0, -8.0 / 33.0, 16.0 / 33.0]) {
            assert!((point.residual_us - residual).abs() < 1e-9, "{point:?}");
        }
        assert!((fits[0].points[2].one_cpu.0 - 3072.0 / 4e-6).abs() < 1.0, "{:?}", fits[0].points);
        assert!(findings[0].sentence.contains("are not resolved"), "one degree of freedom: {}", findings[0].sentence);
        assert_eq!(findings[0].brief, "not resolved");
    }

    #[test]
    fn the_lazy_writers_part_comes_back() {
        // The study's own figures for buffered requests: 12 µs a call, 0.8 ns a byte copied, 45 µs for each 64 KiB.
        let mut normal = crate::fixtures::Normal::new(2000);
        let mut run = Run::default();
        for exponent in 1..=10 {
            let kib = 1_u64 << exponent;
            let cell = run.add(buffered(write(kib)), &[1e9, 1e9, 1e9]);
            let noise: Vec<f64> = (0..3).map(|_| 1.0 + 0.01 * normal.draw()).collect();
            let us = 12.0 + 0.8192 * kib as f64 + 45.0 * (kib as f64 / 64.0).ceil();
            run.cost(cell, |block| us * noise[block as usize]);
        }
        let (fits, findings) = costs(&run);
        let parts = fits[0].by_unit.unwrap();
        let holds = |estimate: Estimate, truth| estimate.low.unwrap() < truth && truth < estimate.high.unwrap();
        assert_eq!(parts.unit, Bytes(65_536), "{parts:?}");
        assert!(holds(parts.copy, 0.8192) && holds(parts.each_unit, 45.0) && holds(parts.call, 12.0), "{parts:?}");
        let sentence = &findings[0].sentence;
        says(sentence, "per 64 KiB block");
        // Direct requests have no page cache, and two parts are enough for a cost that has two.
        let mut direct = Run::default();
        let mut straight = Run::default();
        for exponent in 1..=10 {
            let kib = 1_u64 << exponent;
            let cell = direct.add(write(kib), &[1e9, 1e9, 1e9]);
            direct.cost(cell, |_| 12.0 + 0.8192 * kib as f64 + 45.0 * (kib as f64 / 64.0).ceil());
            let cell = straight.add(buffered(write(kib)), &[1e9, 1e9, 1e9]);
            straight.cost(cell, |_| (12.0 + 1.5 * kib as f64) * NOISE[(kib.ilog2() % 3) as usize]);
        }
        assert!(costs(&direct).0[0].by_unit.is_none() && costs(&straight).0[0].by_unit.is_none());
    }

    #[test]
    fn a_flat_cost_has_no_marginal_part() {
        let run = sweep(&[4, 16, 64, 256, 1024], |kib, _| if kib.ilog2() % 4 == 0 { 5.1 } else { 5.0 });
        let (_, findings) = costs(&run);
        assert!(findings[0].sentence.contains("with no significant marginal cost"), "{findings:?}");
        assert_eq!(findings[0].brief, "5.05 µs + < 0.185 ns per KiB");
        let (fits, _) = costs(&sweep(&[4, 64, 1024], |_, _| 5.0));
        assert_eq!(fits[0].r_squared, 1.0, "nothing is left to explain");
    }

    #[test]
    fn too_few_sizes_or_no_cpu_time_are_no_fit() {
        let (fits, findings) = costs(&sweep(&[4, 64], |_, _| 5.0));
        assert!(fits.is_empty() && findings.is_empty());
        let (fits, findings) = costs(&sweep(&[4, 64, 1024], |_, _| 0.0));
        assert!(fits.is_empty() && findings.is_empty());
    }
}
