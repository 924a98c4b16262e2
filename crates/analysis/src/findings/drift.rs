//! Throughput that changed over time: within a sample, and over the blocks of a run.
//!
//! *Within a sample*: at least twelve full intervals are cut at lasting level changes (`lasting_changes`). A change of more than 10 %
//! between the first and last level is reported if four repetitions of five show it.
//! *Over the run*: one figure per block, the mean of its rates relative to their cells. From ten blocks on E-divisive cuts them; from
//! five on, a significant slope of more than 10 % is reported if no five blocks are steady (SNIA PTS).
//! The cause may be the device, the host or another program, so only possible causes are given. Sources: see `statistics`.

use super::frame::found;
use crate::cells::Cell;
use crate::device::share_for_others;
use crate::evidence::Evidence;
use crate::rate_over_time::{Levels, MARGIN, Trend, rates_of};
use crate::statistics::{divisive_change_points, estimate, is_ever_steady, line_through, mean, mean_estimate};
use crate::warm_up::warm_up_of;
use crate::wording::{caching, named, noted, place, ratio_to, sentence};
use halfpower_model::sample::Warning;
use halfpower_model::{BytesPerSecond, Estimate, Finding, FindingCode, Quantity, Reach, Sample};
use std::collections::BTreeMap;

/// Share of the repetitions that must show it.
const AGREEING: f64 = 0.8;
const BLOCKS_MIN: usize = 5;
const BLOCKS_DIVISIVE: usize = 10;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let within = evidence.cells.iter().filter_map(|cell| within(cell));
    within.chain(over_blocks(evidence)).collect()
}

/// The warning for a sample without a described workload, such as a log's, which no finding covers.
pub(crate) fn warning(sample: &Sample) -> Option<Warning> {
    let (quantity, rates) = rates_of(sample).filter(|_| !sample.workload.is_described())?;
    let levels = Levels::of_rates(&rates)?;
    let trend = levels.trend().filter(|trend| *trend != Trend::Rose || warm_up_of(sample).is_none())?;
    let (first, last) = (levels.0.first()?, levels.0.last()?);
    let [first, last] = [first.1, last.1].map(|rate| quantity.format(rate));
    let until = Quantity::Nanoseconds.format(levels.0.get(1)?.0 * 1e9);
    let message = match trend {
        Trend::Drifted => format!("throughput changed {} times and returned to {last}", levels.0.len() - 1),
        _ => format!("throughput changed during the run: {first} for {until}, {last} at the end"),
    };
    Some(Warning::new(
        "rate_changed",
        message,
        "treat the figure as a mean over several states; the intervals show each",
    ))
}

/// A trend that is no warm-up: a rise that settles is one and has a warning.
fn course(sample: &Sample) -> Option<(Trend, Levels)> {
    let levels = Levels::of(sample)?;
    let trend = levels.trend().filter(|trend| *trend != Trend::Rose || warm_up_of(sample).is_none())?;
    Some((trend, levels))
}

fn within(cell: &Cell<'_>) -> Option<Finding> {
    let each: Vec<(Trend, Levels)> = cell.repetitions.iter().filter_map(|one| course(one.sample)).collect();
    let of = |trend: Trend| each.iter().filter(|one| one.0 == trend).map(|(_, levels)| levels).collect::<Vec<_>>();
    let (trend, shown) = each.iter().map(|(trend, _)| (*trend, of(*trend))).max_by_key(|(_, shown)| shown.len())?;
    if (shown.len() as f64) < AGREEING * cell.repetitions.len() as f64 {
        return None;
    }
    let changes: Vec<f64> = shown.iter().map(|levels| levels.change()).collect();
    let change = mean_estimate(Quantity::Ratio, &changes)?;
    let middle = shown[shown.len() / 2];
    let (first, last) = (middle.0.first()?, middle.0.last()?);
    let [high, low] = [first.1, last.1].map(BytesPerSecond);
    let from = Quantity::Nanoseconds.format(middle.0.get(1)?.0 * 1e9);
    let times = match middle.0.len() - 1 {
        1 => "once".to_owned(),
        changes => format!("{changes} times"),
    };
    let (brief, claim) = match trend {
        Trend::Fell => (
            format!("fell: {high} for {from}, then {low}"),
            format!("throughput was {high} for the first {from}, then a steady {low} ({change} of the initial rate)"),
        ),
        Trend::FellInSteps => (
            format!("fell from {high} to {low}"),
            format!("throughput changed {times}, from {high} at first to {low} at last ({change} of the initial rate)"),
        ),
        Trend::Rose => (
            format!("rose from {high} to {low}"),
            format!("throughput rose from {high} to {low} ({change} the initial rate)"),
        ),
        Trend::Drifted => {
            (format!("changed {times}"), format!("throughput changed {times} and returned to its initial level"))
        }
    };
    let workload = cell.workload;
    let how = format!("{}, {}", place(workload), caching(workload));
    let (what, causes) = (named(workload, &how), possible_causes(trend));
    let claim = format!("{what}: {claim}. Possible causes: {causes}{}", for_others(cell));
    let subject = format!("{} {}, {how}", workload.pattern, workload.operation);
    Some(found(FindingCode::Drift, subject, [cell], [brief, noted(workload, &claim)], vec![change]))
}

/// Causes with the same signature.
fn possible_causes(trend: Trend) -> &'static str {
    match trend {
        Trend::Fell => "exhausted burst credit, thermal throttling, or another program that started",
        Trend::FellInSteps => "thermal throttling, a tightening rate limit, or other programs",
        Trend::Rose => "a warm-up, or another program that ended",
        Trend::Drifted => "intermittent load, such as another program",
    }
}

/// Other programs' share of the device's bytes, if it matters.
fn for_others(cell: &Cell<'_>) -> String {
    let shares: Vec<f64> = cell.repetitions.iter().filter_map(|observed| share_for_others(observed.sample)).collect();
    let share = mean(&shares).filter(|share| *share > MARGIN).map(|share| share * 100.0);
    share.map(|share| format!(". Other programs caused {share:.0} % of the device's bytes")).unwrap_or_default()
}

/// The run's blocks, each with its mean relative rate.
fn over_blocks(evidence: &Evidence<'_>) -> Option<Finding> {
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let whole = evidence.cells.iter().map(|cell| cell.repetitions.len()).max()?;
    let even =
        || evidence.cells.iter().filter(|cell| cell.repetitions.len() == whole && cell.mean_requests_per_s() > 0.0);
    for cell in even() {
        let level = cell.mean_requests_per_s();
        for observed in &cell.repetitions {
            blocks.entry(observed.block).or_default().push(observed.sample.total.requests_per_s / level);
        }
    }
    let rates: Vec<f64> = blocks.values().filter_map(|rates| mean(rates)).collect();
    if rates.len() < BLOCKS_MIN || rates.len() != whole {
        return None;
    }
    let (change, words) = step(&rates).or_else(|| slope(&rates))?;
    let count = rates.len();
    let claim = format!("throughput changed over the {count} blocks of this run: {words}, across all workloads");
    let finding = found(FindingCode::Drift, "the whole run", even().copied(), [words, sentence(&claim)], vec![change]);
    Some(Finding { reach: Reach::Storage, ..finding })
}

/// A cut between two levels.
fn step(rates: &[f64]) -> Option<(Estimate, String)> {
    if rates.len() < BLOCKS_DIVISIVE {
        return None;
    }
    let starts = divisive_change_points(rates);
    let (first, last) = (*starts.first()?, *starts.last()?);
    let change = mean(&rates[last..])? / mean(&rates[..first])?;
    let estimate = estimate(Quantity::Ratio, change, None, rates.len());
    ((change - 1.0).abs() > MARGIN).then(|| {
        let block = first + 1;
        (estimate, format!("from block {block} on it is {}", ratio_to(estimate, "its earlier level")))
    })
}

/// A significant slope.
fn slope(rates: &[f64]) -> Option<(Estimate, String)> {
    if is_ever_steady(rates) {
        return None;
    }
    let line = line_through(rates)?;
    let interval = line.interval(1).filter(|interval| !interval.holds(0.0))?;
    let (start, span) = (line.coefficients[0], (rates.len() - 1) as f64);
    let over = |slope: f64| (start + slope * span) / start;
    let change = estimate(Quantity::Ratio, over(line.coefficients[1]), Some(interval.map(over)), rates.len());
    let is_large = change.value.is_finite() && change.value > 0.0 && (change.value - 1.0).abs() > MARGIN;
    is_large.then(|| (change, format!("at the end it is {}", ratio_to(change, "its initial level"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Normal, Run, begins, ends, intervals, read, says, write};
    use halfpower_model::Nanoseconds;

    /// A run of one cell whose samples have these megabytes per 0.1 s interval, 1 % of noise added.
    fn run_of(repetitions: usize, megabytes: &[f64]) -> Run {
        let mut run = Run::default();
        let mut normal = Normal::new(11);
        run.add(read(64), &vec![1e9; repetitions]);
        for placed in &mut run.samples {
            placed.sample.workload.interval = Nanoseconds(100_000_000);
            let noisy = megabytes.iter().map(|level| 10.0 * level * (1.0 + 0.01 * normal.draw()));
            placed.sample.intervals = intervals(0.1, noisy);
        }
        run
    }

    fn levels(levels: &[(usize, f64)]) -> Vec<f64> {
        levels.iter().flat_map(|(count, level)| std::iter::repeat_n(*level, *count)).collect()
    }

    #[test]
    fn a_fall_is_reported_with_possible_causes() {
        let burst = run_of(5, &levels(&[(10, 30.0), (20, 10.0)])).findings(FindingCode::Drift);
        assert_eq!(burst[0].brief, "fell: 301 MB/s for 1 s, then 99.9 MB/s");
        assert!((burst[0].estimates[0].value - 1.0 / 3.0).abs() < 0.01);
        let throttled = run_of(5, &levels(&[(10, 30.0), (10, 20.0), (10, 10.0)])).findings(FindingCode::Drift);
        says(&throttled[0].sentence, "changed 2 times, from 30");
        let rose = run_of(1, &levels(&[(8, 10.0), (20, 20.0)])).findings(FindingCode::Drift);
        says(&rose[0].sentence, "rose from");
        let disturbed = run_of(1, &levels(&[(10, 20.0), (10, 10.0), (10, 20.0)])).findings(FindingCode::Drift);
        says(&disturbed[0].sentence, "changed 2 times and returned to its initial level");
        let beside = |device_bytes: u64| {
            let mut run = run_of(3, &levels(&[(10, 30.0), (20, 10.0)]));
            run.device_reads(0, |_| (20_000, device_bytes));
            run.sentences(FindingCode::Drift).remove(0)
        };
        let may_be = "exhausted burst credit, thermal throttling, or another program that started.";
        ends(&beside(1_000_000_000), may_be);
        let others = " Other programs caused 37 % of the device's bytes.";
        ends(&beside(1_600_000_000), &format!("or another program that started.{others}"));
    }

    #[test]
    fn rates_that_wander_by_themselves_say_nothing() {
        for lean in [0.0, 0.5, 0.8] {
            let is_reported = |seed: &u64| {
                let mut normal = Normal::new(*seed);
                let wave: Vec<f64> =
                    normal.leaning(lean, 16).map(|value| 10.0 * (1.0 + 0.2 * value).max(0.1)).collect();
                !run_of(1, &wave).findings(FindingCode::Drift).is_empty()
            };
            let false_ones = (0..100).filter(is_reported).count();
            assert!(false_ones <= 5, "{false_ones} of 100 leaning by {lean}");
        }
    }

    #[test]
    fn a_long_course_is_looked_at_as_a_whole() {
        let long = run_of(1, &levels(&[(20_000, 30.0), (20_000, 10.0)])).findings(FindingCode::Drift);
        begins(&long[0].brief, "fell: 300 MB/s for 33.3 min");
    }

    #[test]
    fn a_level_course_a_small_step_and_few_intervals_say_nothing() {
        assert_eq!(run_of(5, &levels(&[(30, 10.0)])).findings(FindingCode::Drift), []);
        assert_eq!(run_of(5, &levels(&[(15, 10.0), (15, 9.5)])).findings(FindingCode::Drift), []);
        assert_eq!(run_of(5, &levels(&[(5, 30.0), (6, 10.0)])).findings(FindingCode::Drift), []);
        let mut once = run_of(5, &levels(&[(10, 30.0), (20, 10.0)]));
        once.samples.iter_mut().skip(1).for_each(|placed| placed.sample.intervals.clear());
        assert_eq!(once.findings(FindingCode::Drift), [], "one repetition of five");
    }

    /// Two cells over blocks, whose rates follow `at`.
    fn blocks(count: usize, at: impl Fn(usize) -> f64) -> Run {
        let mut run = Run::default();
        let mut normal = Normal::new(5);
        for (workload, level) in [(read(64), 1e9), (write(4), 1e7)] {
            let rates: Vec<f64> = (0..count).map(|block| level * at(block) * (1.0 + 0.01 * normal.draw())).collect();
            run.add(workload, &rates);
        }
        run
    }

    #[test]
    fn a_run_that_changes_over_its_blocks_says_so() {
        let step = blocks(20, |block| if block < 12 { 1.0 } else { 0.7 }).findings(FindingCode::Drift);
        says(&step[0].sentence, "from block 13 on it is 70");
        assert_eq!(step[0].samples.len(), 40);
        let slope = blocks(6, |block| 1.0 - 0.06 * block as f64).findings(FindingCode::Drift);
        says(&slope[0].sentence, "at the end it is 69.9 %");
    }

    #[test]
    fn a_level_run_and_a_short_one_say_nothing() {
        assert_eq!(blocks(20, |_| 1.0).findings(FindingCode::Drift), []);
        assert_eq!(blocks(6, |_| 1.0).findings(FindingCode::Drift), []);
        assert_eq!(blocks(20, |block| if block < 12 { 1.0 } else { 0.96 }).findings(FindingCode::Drift), []);
        assert_eq!(blocks(4, |block| 1.0 - 0.1 * block as f64).findings(FindingCode::Drift), []);
    }
}
