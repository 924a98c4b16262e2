//! Latency of a small random read on an idle device: what a program waits for that reads one block after another.
//!
//! Each repetition gives its mean service time; the mean of these has a t interval. p99 is of all repetitions merged and has
//! none. Only direct reads of up to 8 KiB at QD1 by one worker count; the smallest size is named.

use super::frame::found;
use crate::cells::Cell;
use crate::evidence::Evidence;
use crate::series::Series;
use crate::statistics::{estimate, mean_estimate};
use crate::wording::{place, sentence};
use halfpower_model::{Bytes, Finding, FindingCode, Histogram, Nanoseconds, Operation, Quantity};

/// Largest request whose transfer is a small part of its latency.
const SMALL: Bytes = Bytes(8192);

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Finding> {
    let counts = |cell: &Cell<'_>| {
        let workload = cell.workload;
        workload.operation == Operation::Read
            && !workload.pattern.is_ordered()
            && workload.buffering.is_direct()
            && workload.sizes.is_empty()
            && workload.request_size <= SMALL
            && (workload.depth, workload.workers) == (1, 1)
    };
    evidence.by_load(1, counts).iter().filter_map(finding).collect()
}

fn finding(group: &Series<'_>) -> Option<Finding> {
    let cell = *group.cells.iter().min_by_key(|cell| cell.workload.request_size)?;
    let samples = || cell.repetitions.iter().map(|observed| observed.sample);
    let means: Vec<f64> = samples().filter_map(|sample| sample.total.latency_ns.mean).collect();
    let mean = mean_estimate(Quantity::Nanoseconds, &means)?;
    let mut merged = Histogram::default();
    samples().filter_map(|sample| sample.latency_histogram.read.as_ref()).for_each(|own| merged.merge(own));
    let p99 = merged.quantile(0.99);
    let words = p99.map_or(String::new(), |p99| format!("; p99 is {}", Nanoseconds(p99)));
    let claim = format!("{}: the mean latency is {mean}{words}", group.requests_of(cell.workload));
    let brief = format!("{mean} ({})", place(cell.workload));
    let p99 = p99.map(|p99| estimate(Quantity::Nanoseconds, p99 as f64, None, means.len()));
    let estimates = std::iter::once(mean).chain(p99).collect();
    Some(found(FindingCode::Latency, &group.subject, [cell], [brief, sentence(&claim)], estimates))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Run, buffered, deep, random, read, write};
    use halfpower_model::Workload;

    /// A cell whose repetitions have these mean latencies in µs, with one request of 20 times as much in fifty.
    fn of(workload: Workload, means_us: [f64; 3]) -> Run {
        let mut run = Run::default();
        run.add(workload, &[40e6; 3]);
        for (placed, mean_us) in run.samples.iter_mut().zip(means_us) {
            let mut histogram = Histogram::default();
            (0..1000).for_each(|number| histogram.record(if number % 50 == 0 { 2_000_000 } else { 100_000 }));
            placed.sample.total.latency_ns.mean = Some(mean_us * 1e3);
            placed.sample.latency_histogram.read = Some(histogram);
        }
        run
    }

    #[test]
    fn the_mean_of_the_repetitions_is_told_with_p99_of_all() {
        let findings = of(random(read(4)), [99.0, 100.0, 101.0]).findings(FindingCode::Latency);
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        // t of two degrees of freedom times the standard error: 4.303 / √3 = 2.48 µs.
        assert_eq!(finding.brief, "100 µs ± 2.5 % (4 KiB, QD1)");
        assert!(
            finding.sentence.starts_with("Random reads (4 KiB, QD1, direct): the mean latency is 100 µs ± 2.5 %; p99")
        );
        let [mean, p99] = finding.estimates[..] else { panic!("{finding:?}") };
        assert!((mean.low.unwrap() - 97_516.0).abs() < 1.0 && (p99.value - 2e6).abs() < 2e4, "{mean:?} {p99:?}");
        assert_eq!(finding.samples.len(), 3);
    }

    #[test]
    fn other_requests_have_none() {
        let means = [99.0, 100.0, 101.0];
        for workload in
            [read(4), random(write(4)), deep(2, random(read(4))), buffered(random(read(4))), random(read(16))]
        {
            assert_eq!(of(workload.clone(), means).findings(FindingCode::Latency), [], "{workload}");
        }
        let mut unmeasured = of(random(read(4)), means);
        unmeasured.samples.iter_mut().for_each(|placed| placed.sample.total.latency_ns.mean = None);
        assert_eq!(unmeasured.findings(FindingCode::Latency), []);
    }
}
