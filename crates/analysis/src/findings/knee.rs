//! The queue depth at which the rate stops rising: the smallest with 90 % of the maximum.
//!
//! If that is the highest depth measured, the knee lies beyond and is not stated. If the interval includes a smaller depth, that is
//! said. The interval is a bootstrap over repetitions with measured depths as ends. A
//! [queueing model](crate::models::Concurrency) stands beside it.

use super::frame::found;
use crate::cells::Cell;
use crate::evidence::Evidence;
use crate::models::{Load, Models};
use crate::series::{Series, index_of_knee};
use crate::statistics::{bootstrap_estimate, filled_up};
use crate::wording::{named, sentence};
use halfpower_model::{Estimate, Finding, FindingCode, Quantity};

const DEPTHS_MIN: usize = 3;
/// Rates below this share of the maximum are never taken for the knee, however often they were measured.
const FAR_BELOW: f64 = 0.75;

/// The knee of a series.
#[derive(Clone, Copy, Debug)]
pub(super) struct Knee<'a> {
    pub(super) cell: &'a Cell<'a>,
    /// The rate there: bytes if sequential, else requests.
    pub(super) rate: Estimate,
    /// The maximum over all depths.
    pub(super) best: f64,
    /// Whether only the highest depth reaches it.
    pub(super) still_growing: bool,
}

/// A smaller depth at which it may level off.
fn stops_before(depth: Estimate) -> Option<f64> {
    depth.low.filter(|low| *low < depth.value)
}

pub(super) fn find(evidence: &Evidence<'_>, models: &Models) -> Vec<Finding> {
    evidence.by_depth.iter().filter_map(|series| Some(finding(series, knee(series)?, models))).collect()
}

/// None with too few depths, or if nothing moved.
pub(super) fn knee<'a>(series: &Series<'a>) -> Option<Knee<'a>> {
    let means: Vec<f64> = series.cells.iter().map(|cell| cell.mean_requests_per_s()).collect();
    let highest = means.iter().copied().fold(0.0, f64::max);
    if series.cells.len() < DEPTHS_MIN || highest <= 0.0 {
        return None;
    }
    let index = index_of_knee(&means);
    let cell = series.cells[index];
    let rate = cell.own_rate()?;
    Some(Knee { cell, rate, best: rate.value * highest / means[index], still_growing: index == means.len() - 1 })
}

fn finding(series: &Series<'_>, knee: Knee<'_>, models: &Models) -> Finding {
    let Knee { cell, rate, best, still_growing } = knee;
    let what = named(cell.workload, &series.circumstances);
    let depth = depth_estimate(series, cell.workload.depth);
    let (brief, claim, estimates) = if still_growing {
        let highest = cell.workload.depth;
        let (brief, doubt) = match stops_before(depth) {
            Some(low) => (format!("QD{highest} or more (CI from QD{low})"), format!("; the CI also allows QD{low}")),
            None => (format!("QD{highest} or more, the highest depth measured"), String::new()),
        };
        (brief, format!("{what}: {rate} at QD{highest}, the highest depth measured, and still rising{doubt}"), vec![])
    } else {
        let best = rate.quantity.format(best);
        let claim = format!("{what}: {rate} at {depth}, where it stops rising; the maximum is {best}");
        (format!("{depth} ({rate})"), claim, vec![depth, rate])
    };
    let model = models.concurrency.iter().find(|model| model.load == Load::Depth && model.subject == series.subject);
    let fitted = model.map(|model| format!(" {}", model.sentence())).unwrap_or_default();
    let words = [brief, sentence(&claim) + &fitted];
    found(FindingCode::Knee, &series.subject, series.cells.iter().copied(), words, estimates)
}

/// The depth with its interval.
pub(super) fn depth_estimate(series: &Series<'_>, depth: u32) -> Estimate {
    let highest = series.cells.iter().map(|cell| cell.mean_requests_per_s()).fold(0.0, f64::max);
    let is_far = |cell: &Cell<'_>| cell.mean_requests_per_s() < FAR_BELOW * highest;
    let near = series.cells.iter().filter(|cell| !is_far(cell));
    let fewest = near.map(|cell| cell.requests_per_s.len()).min().unwrap_or(0);
    let of_cell = |cell: &&Cell<'_>| match is_far(cell) {
        true => filled_up(&cell.requests_per_s, fewest),
        false => cell.requests_per_s.clone(),
    };
    let repetitions: Vec<Vec<f64>> = series.cells.iter().map(of_cell).collect();
    let depth_of = |index: usize| f64::from(series.cells[index].workload.depth);
    bootstrap_estimate(Quantity::Depth, f64::from(depth), &repetitions, |means| depth_of(index_of_knee(means)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, by_depth, deep, random, read, says, write};

    #[test]
    fn the_knee_by_hand() {
        // 90 % of 100 is 90: the first at or above it is the third.
        assert_eq!(index_of_knee(&[50.0, 89.9, 90.0, 100.0, 97.0]), 2);
        assert_eq!(index_of_knee(&[100.0, 90.0, 80.0]), 0);
        assert_eq!(index_of_knee(&[50.0, 75.0, 100.0]), 2);
        assert_eq!(by_depth(&[(1, 10e3), (8, 20e3)]).findings(FindingCode::Knee), [], "two depths");
        assert_eq!(by_depth(&[(1, 0.0), (2, 0.0), (4, 0.0)]).findings(FindingCode::Knee), [], "no rate");
    }

    #[test]
    fn where_it_stops_is_said() {
        let run = by_depth(&[(1, 10e3), (2, 20e3), (4, 40e3), (8, 57e3), (16, 58e3), (32, 58e3)]);
        let findings = run.findings(FindingCode::Knee);
        let words = "Random reads (4 KiB, direct): 57\u{202f}000 IOPS ± 2 % at QD8, where it stops rising; the maximum is 58\u{202f}000 IOPS. Fitted model, a fixed latency up to a throughput limit (0.578 % off on average): one I/O alone takes 100 µs ± 1.2 %, the limit is 57\u{202f}671 IOPS ± 1.2 %, with the knee at QD5.77 [5.68 to 5.86].";
        assert_eq!(findings[0].sentence, words);
        assert_eq!(findings[0].subject, "random read, 4 KiB, direct");
        assert_eq!(findings[0].brief, "QD8 (57\u{202f}000 IOPS ± 2 %)");
        let depth = findings[0].estimates[0];
        assert_eq!((depth.quantity, depth.value, depth.low, depth.high), (Quantity::Depth, 8.0, Some(8.0), Some(8.0)));
    }

    #[test]
    fn a_close_call_has_an_interval() {
        // 90.2 % with repetitions 2 % apart: some resamples find it short.
        let run = by_depth(&[(1, 50e3), (8, 90.2e3), (16, 100e3)]);
        let findings = run.findings(FindingCode::Knee);
        assert_eq!((findings[0].estimates[0].low, findings[0].estimates[0].high), (Some(8.0), Some(16.0)));
        says(&findings[0].sentence, "QD8 [8 to 16]");
    }

    #[test]
    fn what_still_grows_has_no_knee() {
        let findings = by_depth(&[(1, 10e3), (2, 20e3), (4, 40e3)]).findings(FindingCode::Knee);
        assert!(findings[0].estimates.is_empty());
        assert_eq!(findings[0].brief, "QD4 or more, the highest depth measured");
        let words = "Random reads (4 KiB, direct): 40\u{202f}000 IOPS ± 2 % at QD4, the highest depth measured, and still rising.";
        assert_eq!(findings[0].sentence, words);
    }

    #[test]
    fn growth_within_the_scatter_is_uncertain() {
        let mut run = Run::default();
        let scattered = |mean: f64, spread: f64| [-1.3, -0.7, 0.0, 0.7, 1.3].map(|by| (mean + by * spread) * 4096.0);
        for (depth, mean, spread) in [(1, 5e3, 500.0), (8, 25e3, 9e3), (32, 39e3, 23e3)] {
            run.add(deep(depth, random(read(4))), &scattered(mean, spread));
        }
        let findings = run.findings(FindingCode::Knee);
        assert_eq!(findings[0].brief, "QD32 or more (CI from QD8)");
        says(&findings[0].sentence, "; the CI also allows QD8.");
    }

    #[test]
    fn sequential_requests_are_reported_in_bytes() {
        let run = Run::of([(1, 0.5e9), (2, 1e9), (4, 1e9)].map(|(depth, rate)| (deep(depth, write(64)), [rate])));
        let words = "Sequential writes (64 KiB, direct): 1 GB/s at QD2, where it stops rising; the maximum is 1 GB/s.";
        assert_eq!(run.findings(FindingCode::Knee)[0].sentence, words);
    }
}
