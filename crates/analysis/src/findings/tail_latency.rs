//! Tail latency beyond what chance explains.
//!
//! With memoryless (exponential) latencies one request in 2^k exceeds k medians: one in 1024 exceeds ten. A FIFO queue of any depth has
//! fewer, a random-order queue as many, so a deep queue alone does not cause a longer tail; pauses, two kinds of requests or
//! unfair scheduling do.
//!
//! Each repetition gives its share of requests beyond ten of its own medians (seven with fewer requests); the mean share has a t
//! interval. It is named if the whole interval is above twice the expected share, which memoryless latencies exceed in at most 1 % of
//! the cells (tested below). Percentiles are of all repetitions merged. Only direct requests of one operation and size are judged.
//! Source: Feller, "An Introduction to Probability Theory and Its Applications", volume 2 (1971), chapter I.3, for the lack
//! of memory and for geometric sums.

use super::frame::{extent, found};
use crate::cells::Cell;
use crate::evidence::Evidence;
use crate::series::Series;
use crate::statistics::{estimate, mean_estimate};
use crate::wording::{place, sentence};
use halfpower_model::histogram::bucket_low;
use halfpower_model::units::significant;
use halfpower_model::{Estimate, Finding, FindingCode, Histogram, Nanoseconds, Operation, Quantity, Sample};

/// Multiples of the median, the higher one if there are enough requests, with the percentile shown.
const MULTIPLES: [(u32, f64, &str); 2] = [(10, 0.999, "p99.9"), (7, 0.99, "p99")];
/// Requests expected beyond the multiple, at least.
const EXPECTED_MIN: f64 = 10.0;
/// Requests of a repetition for a usable median.
const OF_EACH_MIN: u64 = 100;
/// Named from this multiple of the expected share on.
const TIMES_CHANCE: f64 = 2.0;

/// The tail of a cell.
struct Tail<'a> {
    cell: &'a Cell<'a>,
    multiple: u32,
    /// Share of requests beyond the multiple.
    beyond: Estimate,
    /// Expected share.
    chance: f64,
    median_ns: u64,
    percentile: &'static str,
    percentile_ns: u64,
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let is_plain = |cell: &Cell<'_>| {
        let workload = cell.workload;
        workload.buffering.is_direct()
            && workload.sizes.is_empty()
            && matches!(workload.operation, Operation::Read | Operation::Write)
    };
    evidence.by_load(1, is_plain).iter().filter_map(finding).collect()
}

fn finding(group: &Series<'_>) -> Option<Finding> {
    let tails: Vec<Tail<'_>> = group.cells.iter().filter_map(|cell| Tail::of(cell)).collect();
    let long: Vec<&Tail<'_>> = tails.iter().filter(|tail| tail.is_out_of_proportion()).collect();
    let excess = |tail: &Tail<'_>| tail.beyond.value / tail.chance;
    let worst = long.iter().max_by(|one, other| excess(one).total_cmp(&excess(other)))?;
    let Tail { cell, multiple, beyond, chance, median_ns, percentile, percentile_ns } = worst;
    let times = significant(*percentile_ns as f64 / *median_ns as f64);
    let (median, far, chance) = (Nanoseconds(*median_ns), Nanoseconds(*percentile_ns), Quantity::Ratio.format(*chance));
    let queued = crate::block::of(cell).and_then(|block| block.queued);
    let queued = queued.map(|share| format!(". They spend {share} of their time queued in the block layer"));
    let claim = format!(
        "{}: {beyond} of the requests exceed {multiple} times the median of {median} ({chance} for exponential latency); {percentile} is {far}, \
         {times} times the median{}{}",
        group.requests_of(cell.workload),
        extent(long.len(), tails.len()),
        queued.unwrap_or_default(),
    );
    let brief = format!("{percentile} is {times} times the median of {median} ({})", place(cell.workload));
    let figure = |ns: u64| estimate(Quantity::Nanoseconds, ns as f64, None, beyond.repetitions as usize);
    let estimates = vec![*beyond, figure(*percentile_ns), figure(*median_ns)];
    let cells = long.iter().map(|tail| tail.cell);
    Some(found(FindingCode::TailLatency, &group.subject, cells, [brief, sentence(&claim)], estimates))
}

impl<'a> Tail<'a> {
    /// None without histograms or with too few requests.
    fn of(cell: &'a Cell<'a>) -> Option<Tail<'a>> {
        let measured = cell.repetitions.iter().filter_map(|observed| histogram(observed.sample));
        let histograms: Vec<&Histogram> = measured.filter(|histogram| histogram.count() >= OF_EACH_MIN).collect();
        let mut merged = Histogram::default();
        histograms.iter().for_each(|histogram| merged.merge(histogram));
        let median_ns = merged.quantile(0.5).filter(|median| *median > 0)?;
        let chance = |multiple: u32| 0.5_f64.powi(multiple as i32);
        let enough = |(multiple, ..): &&(u32, f64, &str)| merged.count() as f64 * chance(*multiple) >= EXPECTED_MIN;
        let (multiple, quantile, percentile) = *MULTIPLES.iter().find(enough)?;
        let shares = histograms.iter().map(|histogram| share_beyond(histogram, multiple));
        let shares: Vec<f64> = shares.collect::<Option<_>>()?;
        Some(Tail {
            cell,
            multiple,
            beyond: mean_estimate(Quantity::Ratio, &shares)?,
            chance: chance(multiple),
            median_ns,
            percentile,
            percentile_ns: merged.quantile(quantile)?,
        })
    }

    fn is_out_of_proportion(&self) -> bool {
        self.beyond.low.is_some_and(|low| low > TIMES_CHANCE * self.chance)
    }
}

/// Service times of a sample's one operation.
fn histogram(sample: &Sample) -> Option<&Histogram> {
    match sample.workload.operation {
        Operation::Read => sample.latency_histogram.read.as_ref(),
        _ => sample.latency_histogram.write.as_ref(),
    }
}

/// Share of values surely beyond the multiple; none with a zero median.
fn share_beyond(histogram: &Histogram, multiple: u32) -> Option<f64> {
    let limit = histogram.quantile(0.5).filter(|median| *median > 0)?.saturating_mul(u64::from(multiple));
    let beyond: u64 = histogram.bins().filter(|(bucket, _)| bucket_low(*bucket) > limit).map(|(_, count)| count).sum();
    Some(beyond as f64 / histogram.count() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, begins, buffered, deep, random, read, says};
    use halfpower_model::Workload;
    use halfpower_model::random::Random;

    /// Adds a cell with drawn latencies in ns.
    fn add(run: &mut Run, workload: Workload, repetitions: usize, requests: usize, draw: &mut dyn FnMut() -> f64) {
        let cell = run.add(workload, &vec![1e6; repetitions]);
        for placed in run.samples.iter_mut().filter(|placed| placed.cell == cell) {
            let mut histogram = Histogram::default();
            (0..requests).for_each(|_| histogram.record(draw() as u64));
            placed.sample.latency_histogram.read = Some(histogram);
        }
    }

    /// The sum of `stages` exponential latencies with a mean of 100 µs; one in `slow` requests takes 20 ms.
    fn latencies(random: &mut Random, stages: u32, slow: Option<u64>) -> f64 {
        if slow.is_some_and(|slow| random.below(slow) == 0) {
            return 20e6;
        }
        let mut uniform = || (random.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64;
        (0..stages).map(|_| -100e3 * uniform().ln()).sum()
    }

    fn tails(stages: u32, slow: Option<u64>, repetitions: usize, requests: usize, seed: u64) -> Vec<Finding> {
        let mut chance = Random::new(seed);
        let mut run = Run::default();
        add(&mut run, deep(stages, random(read(4))), repetitions, requests, &mut || {
            latencies(&mut chance, stages, slow)
        });
        run.findings(FindingCode::TailLatency)
    }

    #[test]
    fn the_page_cache_s_two_kinds_of_requests_are_no_tail() {
        let (mut run, mut chance) = (Run::default(), Random::new(3));
        add(&mut run, buffered(read(4)), 5, 4000, &mut || if chance.below(32) == 0 { 200e3 } else { 1e3 });
        assert_eq!(run.findings(FindingCode::TailLatency), []);
    }

    #[test]
    fn pauses_show_as_a_tail() {
        let findings = tails(1, Some(100), 5, 4000, 1);
        assert_eq!(findings.len(), 1);
        let [beyond, percentile, median] = findings[0].estimates[..] else { panic!("{findings:?}") };
        assert!((beyond.value - 0.011).abs() < 0.002, "1 % paused and 0.1 % by chance: {beyond:?}");
        assert!((percentile.value - 20e6).abs() < 0.2e6 && (median.value - 69.3e3).abs() < 2e3);
        begins(&findings[0].sentence, "Random reads (4 KiB, QD1, direct): ");
        says(&findings[0].sentence, "exceed 10 times the median");
        begins(&findings[0].brief, "p99.9 is ");
    }

    #[test]
    fn few_requests_are_looked_at_less_far_out() {
        let findings = tails(1, Some(20), 5, 500, 1);
        assert!(findings[0].sentence.contains("exceed 7 times the median"), "{findings:?}");
        assert_eq!(tails(1, Some(20), 5, 200, 1), [], "a thousand are too few for either");
        assert_eq!(tails(1, Some(100), 1, 40_000, 1), [], "one repetition has no interval");
    }

    #[test]
    fn a_repetition_that_is_slower_as_a_whole_is_no_tail() {
        let mut run = Run::default();
        let (mut chance, mut drawn) = (Random::new(5), 0);
        let mut draw = || {
            drawn += 1;
            let pace = if drawn > 4 * 4000 { 20.0 } else { 1.0 };
            pace * latencies(&mut chance, 1, None)
        };
        add(&mut run, random(read(4)), 5, 4000, &mut draw);
        assert_eq!(run.findings(FindingCode::TailLatency), []);
    }

    #[test]
    fn chance_and_queues_alone_have_hardly_any() {
        // 200 cells of memoryless latencies, of few requests and of many; and a queue QD8, served in order.
        let wrong =
            |stages, requests| (0..200).filter(|seed| !tails(stages, None, 5, requests, *seed).is_empty()).count();
        let counts = [wrong(1, 400), wrong(1, 2100), wrong(8, 2100)];
        assert!(counts[0] <= 2 && counts[1] <= 2 && counts[2] == 0, "{counts:?}");
    }
}
