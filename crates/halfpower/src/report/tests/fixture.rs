//! A run with fixed figures: a device with a known cost a request and a known ceiling, and a target whose names bite.

use crate::report::{ReportInput, RunStatus};
use halfpower_analysis::{Analysis, CellSummary, CostFit, Observed};
use halfpower_model::environment::{ClockFacts, PersonalityFacts};
use halfpower_model::sample::{Cpu, DepthMean, Histograms, Instrument, Latency, Program, SCHEMA, Totals, Warning};
use halfpower_model::workload::Limits;
use halfpower_model::{
    Buffering, Bytes, BytesPerSecond, CachePolicy, Durability, Environment, Estimate, Finding, FindingCode, Histogram,
    Nanoseconds, Operation, Pattern, Personality, Quantity, Sample, TargetFacts, TargetKind, Workload,
};
use std::collections::BTreeMap;

/// How much of a run there is.
pub(super) struct Extent {
    pub(super) sizes_kib: &'static [u64],
    pub(super) random_sizes_kib: &'static [u64],
    pub(super) sequential_depths: &'static [u32],
    pub(super) random_depths: &'static [u32],
    pub(super) repetitions: u32,
}

/// As much as the test of every part needs.
pub(super) const SMALL: Extent = Extent {
    sizes_kib: &[4, 64, 1024],
    random_sizes_kib: &[4],
    sequential_depths: &[1],
    random_depths: &[1, 8, 32],
    repetitions: 2,
};

/// As much as the survey measures by default.
pub(super) const SURVEY: Extent = Extent {
    sizes_kib: &[2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
    random_sizes_kib: &[4],
    sequential_depths: &[1, 8],
    random_depths: &[1, 2, 4, 8, 16, 32],
    repetitions: 5,
};

/// The largest run a report is made for.
pub(super) const LARGE: Extent = Extent {
    sizes_kib: &[2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
    random_sizes_kib: &[4, 8],
    sequential_depths: &[1, 2, 4, 8, 16],
    random_depths: &[1, 2, 4, 8, 16, 32, 64],
    repetitions: 10,
};

pub(super) const PATH: &str = "/srv/data/<script>alert(1)</script>/\"quoted\" & 'single'/a-directory-with-a-name-that-is-\
    much-longer-than-any-line-of-a-terminal-or-a-telephone-would-like-it-to-be/halfpower-4f1c.dat";

pub(super) struct Fixture {
    pub(super) environment: Environment,
    pub(super) program: Program,
    pub(super) analysis: Analysis,
    pub(super) samples: Vec<(i64, u32, u32, Sample)>,
    pub(super) skipped: Vec<(String, String)>,
    pub(super) status: RunStatus,
}

impl Fixture {
    pub(super) fn new(extent: &Extent) -> Fixture {
        let environment = environment();
        let workloads = workloads(extent);
        let count = workloads.len() as i64;
        let ids = |cell: usize| (0..i64::from(extent.repetitions)).map(move |block| 1 + block * count + cell as i64);
        let cells: Vec<CellSummary> = workloads
            .iter()
            .enumerate()
            .map(|(index, workload)| summary(index as u32, workload, ids(index).collect()))
            .collect();
        let mut samples = Vec::new();
        for block in 0..extent.repetitions {
            for cell in &cells {
                let id = cell.samples[block as usize];
                samples.push((id, cell.cell, block, sample(cell, block, &environment)));
            }
        }
        let findings = findings(&cells);
        let analysis = Analysis { findings, costs: costs(&cells), warnings: warnings(), cells };
        let skipped =
            vec![("random read, 4 KiB, 64 deep, direct".to_owned(), "io_uring is <disabled> here".to_owned())];
        let program = Program { version: "0.1.0".to_owned(), commit: Some("5a7b366".to_owned()), features: Vec::new() };
        Fixture { environment, program, analysis, samples, skipped, status: RunStatus::Finished }
    }

    /// Hands the report's input to `use_it`.
    pub(super) fn with<T>(&self, use_it: impl FnOnce(&ReportInput<'_>) -> T) -> T {
        let observed: Vec<Observed<'_>> = self
            .samples
            .iter()
            .map(|(id, cell, block, sample)| Observed { id: *id, cell: *cell, block: *block, sample })
            .collect();
        use_it(&ReportInput {
            title: "Survey",
            question: Some("What does the storage under this path deliver, and at which price?"),
            run: 7,
            command: "halfpower run '/srv/data/<script>alert(1)</script>' --seed 42",
            started_at: "2026-03-01T12:34:56Z".parse().unwrap(),
            status: self.status,
            environment: &self.environment,
            program: &self.program,
            analysis: &self.analysis,
            skipped: &self.skipped,
            plan: "Measures 74 workloads 5 times each in randomised blocks (seed 42): about 150 s, writing 21 GiB.",
            samples: &observed,
        })
    }
}

fn environment() -> Environment {
    Environment {
        host: "bench-3".to_owned(),
        kernel: "6.12.9-amd64".to_owned(),
        cpus: 8,
        cpu_model: Some("Example Processor 7 <b>9</b>".to_owned()),
        memory_bytes: Bytes(32 << 30),
        clock: ClockFacts { source: "tsc".to_owned(), resolution_ns: 0.42, cost_ns: 9.1 },
        personalities: vec![
            PersonalityFacts { personality: Personality::Sync, unavailable: None },
            PersonalityFacts { personality: Personality::IoUring, unavailable: None },
        ],
        target: TargetFacts {
            filesystem: Some("ext4".to_owned()),
            mount_options: Some("rw,relatime".to_owned()),
            device: Some("nvme0n1".to_owned()),
            transport: Some("nvme".to_owned()),
            model: Some("Example <img src=x onerror=alert(2)> 1TB".to_owned()),
            rotational: Some(false),
            scheduler: Some("none".to_owned()),
            read_ahead_bytes: Some(Bytes(128 << 10)),
            logical_block_bytes: Some(Bytes(512)),
            direct_alignment_bytes: Some(Bytes(512)),
            allocated_bytes: Some(Bytes(4 << 30)),
            pap_bytes_per_s: Some(BytesPerSecond(3.5e9)),
            ..TargetFacts::bare(PATH, TargetKind::File, Bytes(4 << 30))
        },
    }
}

fn workloads(extent: &Extent) -> Vec<Workload> {
    use Operation::{Read, Write};
    let mut workloads = Vec::new();
    for operation in [Read, Write] {
        for size_kib in extent.sizes_kib {
            let mut add = |depth, buffering, durability| {
                let base = workload(operation, Pattern::Sequential, *size_kib, depth, buffering);
                workloads.push(Workload { durability, ..base });
            };
            for depth in extent.sequential_depths {
                add(*depth, Buffering::Direct, Durability::None);
            }
            add(1, Buffering::Buffered, Durability::None);
            if operation == Write {
                add(1, Buffering::Buffered, Durability::FlushAtEnd);
            }
        }
        for size_kib in extent.random_sizes_kib {
            for depth in extent.random_depths {
                workloads.push(workload(operation, Pattern::Random, *size_kib, *depth, Buffering::Direct));
            }
            workloads.push(workload(operation, Pattern::Random, *size_kib, 1, Buffering::Buffered));
        }
    }
    workloads
}

fn workload(operation: Operation, pattern: Pattern, size_kib: u64, depth: u32, buffering: Buffering) -> Workload {
    Workload {
        operation,
        pattern,
        request_size: Bytes(size_kib << 10),
        depth,
        workers: 1,
        buffering,
        personality: if depth > 1 { Personality::IoUring } else { Personality::Sync },
        span: Bytes(4 << 30),
        limits: Limits { duration: Some(Nanoseconds(400_000_000)), requests: None, bytes: None },
        warmup: Nanoseconds(100_000_000),
        interval: Nanoseconds(100_000_000),
        cache: if buffering == Buffering::Buffered { CachePolicy::Cold } else { CachePolicy::Keep },
        durability: Durability::None,
        submit_batch: 1,
        seed: 42,
        cpus: Vec::new(),
    }
}

/// Requests per second of the device: each costs a time of its own, the channel has a ceiling.
fn rate(workload: &Workload) -> f64 {
    let reads = workload.operation == Operation::Read;
    let (fixed_s, ceiling) = match (workload.buffering, workload.durability, reads) {
        (Buffering::Buffered, Durability::None, true) => (4e-6, 2.1e9),
        (Buffering::Buffered, Durability::None, false) => (3e-6, 2.6e9),
        (Buffering::Buffered, Durability::FlushAtEnd, _) => (6e-6, 0.9e9),
        (_, _, true) => (80e-6, 3.3e9),
        _ => (25e-6, 1.2e9),
    };
    let depth = f64::from(workload.depth);
    let alone = depth / (fixed_s + workload.request_size.0 as f64 / 3.6e9);
    let channel = (ceiling / workload.request_size.0 as f64).min(240_000.0);
    // A soft corner, as queues have: the harmonic fourth power.
    (alone.powi(-4) + channel.powi(-4)).powf(-0.25)
}

fn estimate(quantity: Quantity, value: f64, relative: f64) -> Estimate {
    let low = Some(value * (1.0 - relative));
    Estimate { quantity, value, low, high: Some(value * (1.0 + relative)), repetitions: 5 }
}

fn summary(cell: u32, workload: &Workload, samples: Vec<i64>) -> CellSummary {
    let rate = rate(workload);
    let bytes_per_s = rate * workload.request_size.0 as f64;
    let spread = 0.004 + 0.05 / (1.0 + f64::from(cell % 7));
    let repetitions = samples.len() as u32;
    let of = |quantity, value| Estimate { repetitions, ..estimate(quantity, value, spread) };
    let buffered = workload.buffering == Buffering::Buffered;
    let cpu_us = if buffered { 1.8 } else { 5.4 } + workload.request_size.kib() * if buffered { 0.16 } else { 0.02 };
    let latency_ns = f64::from(workload.depth) / rate * 1e9;
    let tail = |nines: f64| (latency_ns * (0.9 + 0.35 * nines * nines)) as u64;
    let latency = Latency {
        min: Some(tail(0.0) / 2),
        mean: Some(latency_ns),
        stddev: Some(latency_ns * 0.3),
        p50: Some(tail(0.3)),
        p90: Some(tail(1.0)),
        p95: Some(tail(1.3)),
        p99: Some(tail(2.0)),
        p99_9: (rate > 5_000.0).then(|| tail(3.0)),
        p99_99: (rate > 50_000.0).then(|| tail(4.0)),
        max: Some(tail(5.0)),
    };
    let shares = [0.5, 0.9, 0.99, 0.999, 0.9999];
    let known = [latency.p50, latency.p90, latency.p99, latency.p99_9, latency.p99_99];
    CellSummary {
        cell,
        workload: workload.clone(),
        bytes_per_s: of(Quantity::BytesPerSecond, bytes_per_s),
        requests_per_s: of(Quantity::RequestsPerSecond, rate),
        cpu_us_per_request: Some(of(Quantity::MicrosecondsPerRequest, cpu_us)),
        cpu_ms_per_mb: Some(of(Quantity::MillisecondsPerMegabyte, cpu_us * 1e3 / workload.request_size.0 as f64)),
        latency,
        percentiles: shares.into_iter().zip(known).filter_map(|(share, ns)| Some((share, ns?))).collect(),
        histogram: Histogram::default(),
        samples,
        failed: u32::from(cell == 3),
    }
}

fn sample(cell: &CellSummary, block: u32, environment: &Environment) -> Sample {
    let factor = 1.0 + 0.01 * (f64::from(block) - 2.0);
    let requests_per_s = cell.requests_per_s.value * factor;
    let total = Totals {
        requests: (requests_per_s * 0.4) as u64,
        bytes: (cell.bytes_per_s.value * factor * 0.4) as u64,
        requests_per_s,
        bytes_per_s: BytesPerSecond(cell.bytes_per_s.value * factor),
        latency_ns: cell.latency,
        short_transfers: 0,
        errors: BTreeMap::new(),
    };
    let failure = (cell.cell == 3 && block == 0).then(|| halfpower_model::sample::Failure {
        code: "EIO".to_owned(),
        message: "a read failed: input/output error".to_owned(),
    });
    let slow = cell.cell == 5 && block < 2;
    Sample {
        schema: SCHEMA.to_owned(),
        program: Program { version: "0.1.0".to_owned(), commit: None, features: Vec::new() },
        workload: cell.workload.clone(),
        environment: environment.clone(),
        started_at: "2026-03-01T12:34:56Z".parse().unwrap(),
        elapsed_s: 0.4,
        flush_s: None,
        total,
        read: None,
        write: None,
        latency_histogram: Histograms::default(),
        intervals: Vec::new(),
        depth_mean: DepthMean { little: 1.0, counted: 1.0 },
        cpu: Cpu::default(),
        block: None,
        instrument: Instrument::default(),
        generator_bound: false,
        cached_share_before: None,
        failure,
        warnings: if slow { vec![warnings()[0].0.clone()] } else { Vec::new() },
        note: None,
    }
}

fn warnings() -> Vec<(Warning, u32)> {
    vec![(
        Warning::new(
            "cache_not_cold",
            "12 % of the span of \"<i>file</i>\" was in the file cache when a cold read began",
            "close what reads the file, or use a larger file (--size)",
        ),
        2,
    )]
}

fn costs(cells: &[CellSummary]) -> Vec<CostFit> {
    let Some(cell) = cells.first() else { return Vec::new() };
    vec![CostFit {
        workload: cell.workload.clone(),
        subject: "sequential read, 1 deep, direct".to_owned(),
        fixed: estimate(Quantity::MicrosecondsPerRequest, 5.4, 0.03),
        marginal: estimate(Quantity::MicrosecondsPerKib, 0.02, 0.05),
        r_squared: 0.998,
        cells: vec![0],
    }]
}

fn findings(cells: &[CellSummary]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for (pattern, operation) in [
        (Pattern::Sequential, Operation::Read),
        (Pattern::Sequential, Operation::Write),
        (Pattern::Random, Operation::Read),
        (Pattern::Random, Operation::Write),
    ] {
        let of_kind = cells.iter().filter(|cell| {
            (cell.workload.pattern, cell.workload.operation) == (pattern, operation)
                && cell.workload.buffering.is_direct()
        });
        let figure =
            |cell: &CellSummary| if pattern == Pattern::Random { cell.requests_per_s } else { cell.bytes_per_s };
        let best = of_kind.max_by(|a, b| figure(a).value.total_cmp(&figure(b).value));
        findings.extend(best.map(|cell| Finding {
            code: FindingCode::Peak,
            subject: format!("{pattern} {operation}"),
            sentence: format!("The highest {pattern} {operation} is {}, with {}.", figure(cell), cell.workload),
            estimates: vec![figure(cell)],
            samples: cell.samples.clone(),
        }));
    }
    let claim = |code, subject: &str, sentence: &str, estimates: Vec<Estimate>| Finding {
        code,
        subject: subject.to_owned(),
        sentence: sentence.to_owned(),
        estimates,
        samples: vec![1, 2, 3, 4, 9, 11, 12],
    };
    let size = |value| vec![estimate(Quantity::RequestSizeBytes, value, 0.08)];
    let fixed = estimate(Quantity::MicrosecondsPerRequest, 5.4, 0.03);
    let marginal = estimate(Quantity::MicrosecondsPerKib, 0.02, 0.05);
    findings.extend([
        claim(
            FindingCode::HalfPower,
            "sequential write, 1 deep, direct",
            "Direct sequential writes, 1 deep, reach half of the peak with requests of 24 KiB.",
            size(24.0 * 1024.0),
        ),
        claim(
            FindingCode::HalfPower,
            "sequential read, 8 deep, direct",
            "Direct sequential reads, 8 deep, reach half of the peak (1.65 GB/s) with requests of 18.4 KiB.",
            size(18.4 * 1024.0),
        ),
        claim(
            FindingCode::HalfPower,
            "sequential read, 1 deep, direct",
            "Direct sequential reads, 1 deep, reach half of the peak with requests of 242 KiB.",
            size(242.0 * 1024.0),
        ),
        claim(
            FindingCode::Knee,
            "random read, 4 KiB, direct",
            "Random reads of 4 KiB gain less than 5 % beyond a depth of 16.",
            vec![Estimate { low: None, high: None, ..estimate(Quantity::Depth, 16.0, 0.0) }],
        ),
        claim(
            FindingCode::ProcessorCost,
            "sequential read, 1 deep, direct",
            "A direct sequential read costs 5.4 µs of processor time and 0.02 µs for each KiB.",
            vec![fixed, marginal],
        ),
        claim(
            FindingCode::BufferingGain,
            "sequential read, 1 deep",
            "Buffering makes sequential reads of 4 KiB 13 times as fast, one deep, and those of 1 MiB 0.8 times.",
            vec![estimate(Quantity::Ratio, 13.0, 0.04)],
        ),
        claim(
            FindingCode::Recommendation,
            "sequential read",
            "Read with at least 32 KiB requests, eight deep, direct.",
            Vec::new(),
        ),
    ]);
    findings
}
