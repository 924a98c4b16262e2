//! Samples in, findings out. Pure: no files, no clock, no `unsafe`, so that stored results can be analysed again.

mod attribution;
mod block;
mod cells;
mod comparable;
pub mod comparison;
mod cost;
mod device;
mod evidence;
mod findings;
#[cfg(test)]
mod fixtures;
mod kind;
mod limits;
mod littles_law;
pub mod models;
mod parts;
mod pyramid;
mod rate_over_time;
mod resolution;
mod series;
pub mod statistics;
mod summary;
mod verdict;
mod warm_up;
mod warnings;
mod wording;

use halfpower_model::reading::MemorySpeed;
use halfpower_model::sample::Warning;
use halfpower_model::{Finding, Offer};
use serde::Serialize;

pub use attribution::{Attribution, Owner, Sureness, attribute};
pub use block::BlockLayer;
pub use cells::Observed;
pub use cost::{CostBound, CostByUnit, CostFit, CostPoint};
pub use findings::first_peak;
pub use limits::{Limit, OverTime, STEP_S, Shown, shown_by};
pub use parts::{PartUse, busiest_first};
pub use pyramid::{Half, HalfPowerSize, Pyramid, PyramidLevel, Stage, Standing};
pub use summary::CellSummary;
pub use verdict::{Account, Advice, Best, Bottlenecks, Verdict, next};
pub use warm_up::{WithinRun, within_run};
pub use warnings::derived_warnings;

/// Everything that a report shows.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// The answer.
    #[serde(skip)]
    pub verdict: Verdict,
    /// Cells in the plan's order.
    pub cells: Vec<CellSummary>,
    /// Findings, the most useful first within each code.
    pub findings: Vec<Finding>,
    /// CPU cost against request size, one fit per series.
    pub costs: Vec<CostFit>,
    /// Fitted models of the cells.
    pub models: models::Models,
    /// Limits of a rate-limited storage.
    #[serde(skip)]
    pub limits: Vec<Limit>,
    /// Long samples over time, for a chart.
    #[serde(skip)]
    pub over_time: Vec<OverTime>,
    /// Advertised against real performance by level, for reads and writes.
    pub pyramids: Vec<Pyramid>,
    /// Warnings with their number of samples, the most frequent first.
    pub warnings: Vec<(Warning, u32)>,
}

/// Analyses the samples of one run. Failed samples, and those without a usable rate, are counted only.
pub fn analyse(samples: &[Observed<'_>]) -> Analysis {
    analyse_with(samples, &Context::default())
}

/// Facts besides the samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'a> {
    /// Memory bandwidth of the machine.
    pub memory: Option<&'a MemorySpeed>,
    /// Price of the storage.
    pub offer: Option<&'a Offer>,
}

/// The same with a context.
pub fn analyse_with(samples: &[Observed<'_>], context: &Context<'_>) -> Analysis {
    let mut cells = cells::gather(samples);
    let limits = limits::of(&mut cells);
    let evidence = evidence::Evidence::new(&cells);
    let costs = findings::cpu_costs(&evidence);
    let models = models::Models::of(&evidence);
    let paces = findings::paces(&evidence);
    let findings = findings::all(&evidence, &costs, &models, &paces, context.offer);
    let summarise = |cell| CellSummary { pace: paces.get(cell).cloned(), ..summary::summarise(cell) };
    let cells_in_short: Vec<CellSummary> = cells.iter().map(summarise).collect();
    let mut pyramids = pyramid::all(&evidence, &findings, context.memory);
    let verdict = verdict::of(&evidence, &cells_in_short, &paces, &limits, &pyramids);
    verdict::lead(&verdict, &mut pyramids);
    Analysis {
        verdict,
        cells: cells_in_short,
        over_time: limits::over_time(&cells),
        limits,
        pyramids,
        findings,
        models,
        costs: costs.into_iter().flat_map(|cost| [Some(cost.fit), cost.upper]).flatten().collect(),
        warnings: warnings::collect(samples),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Normal, Run, buffered, deep, flushed, hockney, random, read, write};
    use halfpower_model::histogram::Histogram;
    use halfpower_model::sample::Failure;
    use halfpower_model::{Bytes, FileState, FindingCode, Quantity, Sample, Workload};
    use proptest::prelude::*;

    /// The survey's cells with rates of a made-up disk and 1 % of noise.
    fn survey() -> Run {
        let mut run = Run::default();
        let mut normal = Normal::new(2);
        let mut repeat = |rate: f64| -> Vec<f64> { (0..5).map(|_| rate * (1.0 + 0.01 * normal.draw())).collect() };
        for exponent in 1..=10 {
            let (kib, size) = (1 << exponent, Bytes(1024 << exponent));
            for workload in [read(kib), write(kib)] {
                run.add(deep(8, workload.clone()), &repeat(hockney(size, 12e-6, 2e9)));
                run.add(buffered(workload.clone()), &repeat(hockney(size, 2e-6, 1.5e9)));
                let cell = run.add(workload, &repeat(hockney(size, 80e-6, 2e9)));
                run.cost(cell, |block| 4.0 + 0.02 * kib as f64 + 0.05 * f64::from(block));
            }
            run.add(flushed(buffered(write(kib))), &repeat(hockney(size, 4e-6, 0.9e9)));
        }
        for (depth, rate) in [(1, 9e3), (2, 18e3), (4, 35e3), (8, 60e3), (16, 79e3), (32, 80e3)] {
            run.add(deep(depth, random(read(4))), &repeat(rate * 4096.0));
            run.add(deep(depth, random(write(4))), &repeat(rate * 2048.0));
        }
        run.add(buffered(random(read(4))), &repeat(8e3 * 4096.0));
        run
    }

    /// Kinds that name a fault, or something that was not measured there.
    const SHAPES: [FindingCode; 8] = [
        FindingCode::Dip,
        FindingCode::SmallWritePenalty,
        FindingCode::ExtensionCost,
        FindingCode::Misalignment,
        FindingCode::WriterCollapse,
        FindingCode::Asymmetry,
        FindingCode::TailLatency,
        FindingCode::CacheHits,
    ];

    /// The survey with everything in it that those kinds look for.
    fn faulty_survey() -> Run {
        let mut run = survey();
        let (spread, mut normal) = ([0.97, 1.02, 0.99, 1.03, 1.0], Normal::new(3));
        let mut add = |workload: Workload, rate: f64, read: u64| {
            let cell = run.add(workload, &spread.map(|factor| factor * rate));
            run.device_reads(cell, |block| (read + u64::from(block), (read + u64::from(block)) * 4096));
            for placed in run.samples.iter_mut().filter(|placed| placed.cell == cell) {
                let mut latencies = Histogram::default();
                (0..1000).for_each(|number| {
                    latencies.record(if number % 20 == 0 { 9_000_000 } else { (1e5 + 1e3 * normal.draw()) as u64 })
                });
                let histograms = &mut placed.sample.latency_histogram;
                (histograms.read, histograms.write) = (Some(latencies.clone()), Some(latencies));
            }
        };
        for (kib, rate) in [(4, 50e6), (8, 80e6), (16, 30e6), (32, 200e6)] {
            add(Workload { offset: Bytes(512), ..random(write(kib)) }, rate, 5000);
            add(Workload { file_state: FileState::Append, ..write(kib) }, rate, 0);
        }
        add(buffered(random(write(1))), 4e6, 3000);
        add(Workload { offset: Bytes(512), ..random(read(4)) }, 4e6, 0);
        for (workers, rate) in [(1, 100e6), (2, 60e6), (4, 40e6)] {
            add(Workload { workers, targets: workers, verify: halfpower_model::Verify::Stamp, ..write(64) }, rate, 0);
        }
        run
    }

    fn check(analysis: &Analysis, ids: &[i64]) {
        for finding in &analysis.findings {
            assert!(!finding.samples.is_empty() && finding.samples.iter().all(|id| ids.contains(id)), "{finding:?}");
            for word in ["NaN", "inf", "not available"] {
                assert!(!finding.sentence.contains(word), "{}", finding.sentence);
            }
            assert!(finding.sentence.ends_with('.'), "{}", finding.sentence);
        }
        let of_cells = analysis.cells.iter().flat_map(|cell| {
            [Some(cell.bytes_per_s), Some(cell.requests_per_s), cell.cpu_us_per_request, cell.cpu_ms_per_mb]
        });
        let of_costs = analysis.costs.iter().flat_map(|fit| [Some(fit.fixed), Some(fit.marginal)]);
        let of_findings = analysis.findings.iter().flat_map(|finding| finding.estimates.iter().copied().map(Some));
        for estimate in of_cells.chain(of_costs).chain(of_findings).flatten() {
            let (low, high) = (estimate.low.unwrap_or(estimate.value), estimate.high.unwrap_or(estimate.value));
            assert!(low.is_finite() && high.is_finite(), "{estimate:?}");
            // Rounding may part the mean of equal values from them.
            let slack = 1e-9 * estimate.value.abs();
            assert!(low <= estimate.value + slack && estimate.value <= high + slack, "{estimate:?}");
            assert_eq!(estimate.low.is_some(), estimate.high.is_some());
            assert!(estimate.low.is_none() || estimate.repetitions > 1, "{estimate:?}");
        }
        for pyramid in &analysis.pyramids {
            assert!(!pyramid.samples.is_empty() && pyramid.samples.iter().all(|id| ids.contains(id)), "{pyramid:?}");
            assert!(pyramid.sentence.ends_with('.') && !pyramid.sentence.contains("NaN"), "{}", pyramid.sentence);
            let named = pyramid.levels.iter().filter(|level| level.standing == Standing::Bottleneck);
            assert!(named.map(|level| level.level).eq(pyramid.bottleneck));
            assert!(
                pyramid.levels.iter().filter_map(|level| level.share).all(|share| share.is_finite() && share > 0.0)
            );
        }
        assert!(analysis.costs.iter().all(|fit| (0.0..=1.0).contains(&fit.r_squared)));
        for found in analysis.cells.iter().filter_map(|cell| cell.pace.as_ref()) {
            assert!(!found.reason.is_empty() && found.owner.is_some() == found.sureness.is_some(), "{found:?}");
        }
    }

    #[test]
    fn a_whole_survey_gives_every_kind_of_finding() {
        let run = survey();
        let observed = run.observed();
        let analysis = analyse(&observed);
        check(&analysis, &observed.iter().map(|observed| observed.id).collect::<Vec<_>>());
        let mut codes: Vec<_> = analysis.findings.iter().map(|finding| finding.code).collect();
        assert!(codes.is_sorted(), "kinds in their order");
        codes.dedup();
        let shapes = analysis.findings.iter().filter(|finding| SHAPES.contains(&finding.code));
        assert!(shapes.clone().next().is_none(), "a clean survey has none of them: {:?}", shapes.collect::<Vec<_>>());
        assert_eq!(codes.len(), 6, "{codes:?}");
        assert_eq!((analysis.cells.len(), analysis.costs.len()), (83, 2));
        let of = |code, subject: &str| {
            analysis.findings.iter().find(|finding| finding.code == code && finding.subject == subject).unwrap()
        };
        // 80 µs at 2 GB/s: n½ = 160 000 bytes of an endless peak; the measured one, QD8 at 1 MiB, is 2.2 % lower.
        let half = of(FindingCode::HalfPower, "sequential read, QD1, direct").estimates[0];
        let expected = 160_000.0 * 0.4888 / 0.5112;
        assert!(half.low.unwrap() < expected && expected < half.high.unwrap(), "{half:?}");
        let knee = of(FindingCode::Knee, "random read, 4 KiB, direct").estimates[0];
        assert_eq!((knee.quantity, knee.value), (Quantity::Depth, 16.0));
    }

    #[test]
    fn a_survey_with_faults_names_each_of_them() {
        let run = faulty_survey();
        let observed = run.observed();
        let analysis = analyse(&observed);
        check(&analysis, &observed.iter().map(|observed| observed.id).collect::<Vec<_>>());
        for code in SHAPES {
            assert!(analysis.findings.iter().any(|finding| finding.code == code), "{code:?}");
        }
    }

    #[test]
    fn one_cell_is_a_summary_without_findings() {
        let nothing = analyse(&[]);
        assert!(nothing.cells.is_empty() && nothing.findings.is_empty());
        assert!(nothing.costs.is_empty() && nothing.warnings.is_empty());
        let mut run = Run::of([(read(64), [1e9])]);
        let analysis = analyse(&run.observed());
        assert_eq!((analysis.cells.len(), analysis.findings.len()), (1, 0));
        assert_eq!(analysis.cells[0].cpu_us_per_request, None, "nobody measured it");
        assert_eq!(analysis.cells[0].pace.as_ref().map(|pace| pace.owner), Some(None), "it unknown");
        assert_eq!((analysis.cells[0].bytes_per_s.value, analysis.cells[0].bytes_per_s.low), (1e9, None));
        run.samples[0].sample.failure = Some(Failure { code: "EIO".into(), message: "it broke".into() });
        let Analysis { cells, findings, .. } = analyse(&run.observed());
        assert_eq!((cells[0].failed, cells[0].samples.len(), cells[0].bytes_per_s.repetitions), (1, 0, 0));
        assert!(findings.is_empty());
    }

    #[test]
    fn what_is_not_known_of_imported_samples_carries_no_claim() {
        let run = |unknown: &[&str]| {
            let mut run = Run::default();
            for (depth, rate) in [(1, 9e3), (2, 18e3), (4, 35e3), (8, 36e3)] {
                let unknown = unknown.iter().copied().collect();
                run.add(Workload { unknown, ..deep(depth, random(read(4))) }, &[rate * 4096.0]);
            }
            run
        };
        let findings = |unknown: &[&str]| analyse(&run(unknown).observed()).findings.len();
        assert!(findings(&["seed"]) > 0);
        assert_eq!((findings(&["pattern"]), findings(&["depth", "seed"])), (0, 0));
        // Latencies alone are no failure, and no rate of zero.
        let mut latencies = run(&["seed"]);
        for placed in &mut latencies.samples {
            let (workload, environment) = (placed.sample.workload.clone(), placed.sample.environment.clone());
            placed.sample = Sample::imported(workload, environment, halfpower_model::Origin::default());
        }
        let cells = analyse(&latencies.observed()).cells;
        assert!(cells.iter().all(|cell| cell.bytes_per_s.repetitions == 0 && cell.failed == 0));
    }

    #[test]
    fn the_order_of_the_samples_does_not_matter() {
        let run = survey();
        let mut observed = run.observed();
        let once = analyse(&observed).findings;
        observed.reverse();
        assert_eq!(once, analyse(&observed).findings);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn whatever_is_missing_or_zero_every_figure_is_a_number(
            seed in any::<u64>(), kept_percent in 5_u64..100, advertised in proptest::option::of(0.0_f64..1e10)
        ) {
            let mut run = faulty_survey();
            let mut chance = halfpower_model::random::Random::new(seed);
            run.samples.retain(|_| chance.below(100) < kept_percent);
            for placed in &mut run.samples {
                match chance.below(20) {
                    0 => placed.sample.failure = Some(Failure { code: "EIO".into(), message: "broken".into() }),
                    1 => (placed.sample.total.bytes_per_s.0, placed.sample.total.requests_per_s) = (0.0, 0.0),
                    2 => placed.sample.total.requests = 0,
                    3 => placed.sample.total.bytes_per_s.0 = f64::NAN,
                    _ => {}
                }
            }
            advertised.into_iter().for_each(|rate| run.advertise(rate));
            let observed = run.observed();
            check(&analyse(&observed), &observed.iter().map(|observed| observed.id).collect::<Vec<_>>());
        }
    }
}
