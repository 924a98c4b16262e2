//! Fixed and marginal processor cost: µs a request = fixed + marginal × KiB, over the request sizes of a series.
//!
//! The points are the cells' means of the lower bound (user and system time of the workers), each weighing by its
//! relative error, 1/y². The intervals come from the scatter about the line, so that a cost that does not grow in a
//! straight line is told by them; cells of one repetition have none. Source: Chung, Gray, Worthington and Horst,
//! "Windows 2000 disk IO performance" (2000), which gives these two figures for each way to do I/O.

use super::Evidence;
use crate::CostFit;
use crate::series::Series;
use crate::statistics::{Interval, Point, mean, weighted_line};
use crate::words::{reach, requests, sentence};
use halfpower_model::units::significant;
use halfpower_model::{Estimate, Finding, FindingCode, Pattern, Quantity};

const SIZES_MIN: usize = 3;

/// A fit with the samples behind it.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    pub(crate) fit: CostFit,
    samples: Vec<i64>,
}

/// A fit for each sequential series with enough sizes.
pub(crate) fn processor_costs(evidence: &Evidence<'_>) -> Vec<Cost> {
    let sequential = |series: &&Series<'_>| series.workload().pattern == Pattern::Sequential;
    evidence.by_size.iter().filter(sequential).filter_map(fit).collect()
}

fn fit(series: &Series<'_>) -> Option<Cost> {
    let mut points = Vec::new();
    let mut cells = Vec::new();
    let mut samples = Vec::new();
    let mut repetitions = usize::MAX;
    for cell in &series.cells {
        let costs = cell.cpu_us_per_request();
        let Some(cost) = mean(&costs) else { continue };
        points.push(Point { x: cell.workload.request_size.kib(), y: cost, weight: cost.powi(-2) });
        cells.push(cell.number);
        samples.extend(cell.samples());
        repetitions = repetitions.min(costs.len());
    }
    if points.len() < SIZES_MIN {
        return None;
    }
    let line = weighted_line(&points)?;
    let estimate = |quantity, value, interval: Option<Interval>| {
        let interval = interval.filter(|_| repetitions > 1);
        Estimate {
            quantity,
            value,
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            repetitions: repetitions as u32,
        }
    };
    let fit = CostFit {
        workload: series.workload().clone(),
        subject: series.subject.clone(),
        fixed: estimate(Quantity::MicrosecondsPerRequest, line.intercept, line.intercept_interval),
        marginal: estimate(Quantity::MicrosecondsPerKib, line.slope, line.slope_interval),
        r_squared: line.r_squared,
        cells,
    };
    Some(Cost { fit, samples })
}

pub(super) fn find(costs: &[Cost]) -> Vec<Finding> {
    costs.iter().map(finding).collect()
}

fn finding(cost: &Cost) -> Finding {
    let fit = &cost.fit;
    let workload = &fit.workload;
    let circumstances = fit.subject.split_once(", ").map_or("", |(_, circumstances)| circumstances);
    let parts = match (is_told_from_zero(fit.fixed), is_told_from_zero(fit.marginal)) {
        (true, true) => format!("at least {} plus {}", fit.fixed, fit.marginal),
        (true, false) => format!("at least {}; a part that grows with the size is not told from zero", fit.fixed),
        (false, true) => format!("at least {}; a fixed part is not told from zero", fit.marginal),
        (false, false) => "too uneven to tell a fixed part from one that grows with the size".to_owned(),
    };
    let what = format!("sequential {}, {circumstances}", requests(workload.operation));
    Finding {
        code: FindingCode::ProcessorCost,
        subject: fit.subject.clone(),
        reach: reach(workload),
        brief: brief(fit),
        sentence: sentence(&format!("processor time of {what}: {parts} (R² {:.2})", fit.r_squared)),
        estimates: vec![fit.fixed, fit.marginal],
        samples: cost.samples.clone(),
    }
}

/// `11.3 µs + 5.06 ns a KiB`; a part that is not told from zero has its upper end, `< 6.21 µs`.
fn brief(fit: &CostFit) -> String {
    let fixed = |us: f64| format!("{} µs", significant(us));
    let marginal = |us: f64| Quantity::MicrosecondsPerKib.format(us);
    let part = |estimate: Estimate, words: &dyn Fn(f64) -> String| match estimate.high {
        _ if is_told_from_zero(estimate) => Some(words(estimate.value)),
        Some(high) if high > 0.0 => Some(format!("< {}", words(high))),
        _ => None,
    };
    if !is_told_from_zero(fit.fixed) && !is_told_from_zero(fit.marginal) {
        return "too uneven to tell".to_owned();
    }
    let parts = [part(fit.fixed, &fixed), part(fit.marginal, &marginal)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" + ")
}

/// A cost is above zero with its whole interval, where it has one.
fn is_told_from_zero(estimate: Estimate) -> bool {
    estimate.low.unwrap_or(estimate.value) > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::support::{Run, deep, read};
    use proptest::prelude::*;

    const NOISE: [f64; 3] = [0.97, 1.0, 1.03];

    /// Cells of these sizes with a cost of µs a request, by size and block.
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
        let is_cost = |finding: &Finding| finding.code == FindingCode::ProcessorCost;
        (analysis.costs, analysis.findings.into_iter().filter(is_cost).collect())
    }

    #[test]
    fn the_two_parts_come_back() {
        // The studies' form: a request of n KiB costs fixed + n × marginal; the noise averages out over the blocks.
        let run = sweep(&[2, 8, 64, 256, 1024], |kib, block| (5.0 + 0.25 * kib as f64) * NOISE[block as usize]);
        let (fits, findings) = costs(&run);
        assert!((fits[0].fixed.value - 5.0).abs() < 1e-6 && (fits[0].marginal.value - 0.25).abs() < 1e-6, "{fits:?}");
        assert!(fits[0].r_squared > 0.999_999);
        assert_eq!((fits[0].cells.as_slice(), fits[0].fixed.repetitions), ([0, 1, 2, 3, 4].as_slice(), 3));
        assert_eq!(
            findings[0].sentence,
            "Processor time of sequential reads, 8 deep, direct: at least 5 µs a request ± 0.1 % plus 250 ns a KiB ± 0.1 % \
             (R² 1.00)."
        );
        assert_eq!(findings[0].brief, "5 µs + 250 ns a KiB");
        assert_eq!(findings[0].samples.len(), 15);
    }

    #[test]
    fn weights_are_relative_by_hand() {
        // The line through (1, 1), (2, 2), (3, 4) with weights 1/y² has slope 14/11, intercept -10/33 and R² 21/22.
        let run = sweep(&[1, 2, 3], |kib, _| [1.0, 2.0, 4.0][kib as usize - 1]);
        let (fits, findings) = costs(&run);
        assert!((fits[0].marginal.value - 14.0 / 11.0).abs() < 1e-9, "{fits:?}");
        assert!((fits[0].fixed.value + 10.0 / 33.0).abs() < 1e-9, "{fits:?}");
        assert!((fits[0].r_squared - 21.0 / 22.0).abs() < 1e-9, "{fits:?}");
        assert!(findings[0].sentence.contains("too uneven to tell"), "one degree of freedom: {}", findings[0].sentence);
        assert_eq!(findings[0].brief, "too uneven to tell");
    }

    #[test]
    fn a_flat_cost_has_no_marginal_part() {
        let run = sweep(&[4, 16, 64, 256, 1024], |kib, _| if kib.ilog2() % 4 == 0 { 5.1 } else { 5.0 });
        let (_, findings) = costs(&run);
        assert!(findings[0].sentence.contains("a part that grows with the size is not told from zero"), "{findings:?}");
        assert_eq!(findings[0].brief, "5.05 µs + < 0.185 ns a KiB");
    }

    #[test]
    fn too_few_sizes_or_no_processor_time_are_no_fit() {
        let (fits, findings) = costs(&sweep(&[4, 64], |_, _| 5.0));
        assert!(fits.is_empty() && findings.is_empty());
        let (fits, findings) = costs(&sweep(&[4, 64, 1024], |_, _| 0.0));
        assert!(fits.is_empty() && findings.is_empty());
    }

    #[test]
    fn one_repetition_has_no_interval() {
        let mut run = sweep(&[4, 16, 64, 256], |kib, _| 5.0 + 0.1 * kib as f64);
        run.samples.retain(|placed| placed.block == 0);
        let (fits, _) = costs(&run);
        assert_eq!((fits[0].fixed.low, fits[0].marginal.high, fits[0].fixed.repetitions), (None, None, 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_two_parts_come_back(fixed in 0.1_f64..500.0, marginal in 0.001_f64..5.0) {
            let (fits, _) = costs(&sweep(&[2, 8, 64, 256, 1024], |kib, _| fixed + marginal * kib as f64));
            prop_assert!((fits[0].fixed.value / fixed - 1.0).abs() < 1e-6);
            prop_assert!((fits[0].marginal.value / marginal - 1.0).abs() < 1e-6);
        }
    }
}
