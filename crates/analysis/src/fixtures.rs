//! Builds samples with given figures for tests.

use crate::cells::Observed;
use halfpower_model::environment::ClockFacts;
use halfpower_model::random::Random;
use halfpower_model::sample::{Block, CpuTime, DepthMean, Direction, Interval, Totals};
use halfpower_model::{
    Buffering, Bytes, BytesPerSecond, CachePolicy, Channel, Durability, Environment, Finding, FindingCode, Limits,
    Nanoseconds, Operation, Pattern, Personality, Sample, TargetFacts, TargetKind, Workload,
};

const ELAPSED_S: f64 = 1.0;

/// A sequential direct read at QD1.
pub(crate) fn read(kib: u64) -> Workload {
    Workload {
        request_size: Bytes(kib << 10),
        buffering: Buffering::Direct,
        personality: Personality::IoUring,
        span: Bytes::GIB,
        limits: Limits { duration: Some(Nanoseconds::from_seconds(ELAPSED_S)), requests: None, bytes: None },
        ..Workload::default()
    }
}

/// A sequential direct write at QD1.
pub(crate) fn write(kib: u64) -> Workload {
    Workload { operation: Operation::Write, ..read(kib) }
}

/// With random offsets.
pub(crate) fn random(workload: Workload) -> Workload {
    Workload { pattern: Pattern::Random, ..workload }
}

/// With a deeper queue.
pub(crate) fn deep(depth: u32, workload: Workload) -> Workload {
    Workload { depth, ..workload }
}

/// Buffered as in the survey: cold for reads, personality sync.
pub(crate) fn buffered(workload: Workload) -> Workload {
    let cache = if workload.operation.reads() { CachePolicy::Cold } else { CachePolicy::Keep };
    Workload { buffering: Buffering::Buffered, personality: Personality::Sync, cache, ..workload }
}

/// With a timed final flush.
pub(crate) fn flushed(workload: Workload) -> Workload {
    Workload { durability: Durability::FlushAtEnd, ..workload }
}

/// A sample with its place in the plan.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) cell: u32,
    pub(crate) block: u32,
    pub(crate) sample: Sample,
}

/// The samples of a run.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) samples: Vec<Placed>,
}

impl Run {
    /// Cells with these bytes per second, one per repetition.
    pub(crate) fn of<const N: usize>(cells: impl IntoIterator<Item = (Workload, [f64; N])>) -> Run {
        let mut run = Run::default();
        cells.into_iter().for_each(|(workload, rates)| _ = run.add(workload, &rates));
        run
    }

    /// Adds a cell with these bytes per second, one per repetition, and returns its number.
    pub(crate) fn add(&mut self, workload: Workload, bytes_per_s: &[f64]) -> u32 {
        let cell = self.samples.iter().map(|placed| placed.cell + 1).max().unwrap_or(0);
        for (block, rate) in (0..).zip(bytes_per_s) {
            self.samples.push(Placed { cell, block, sample: sample(workload.clone(), *rate) });
        }
        cell
    }

    /// Sets CPU µs per request by block.
    pub(crate) fn cost(&mut self, cell: u32, us_per_request: impl Fn(u32) -> f64) {
        for placed in self.samples.iter_mut().filter(|placed| placed.cell == cell) {
            let cost_s = us_per_request(placed.block) * 1e-6 * placed.sample.total.requests as f64;
            placed.sample.cpu.lower = CpuTime { user_s: cost_s / 4.0, system_s: cost_s * 0.75 };
        }
    }

    /// Sets device reads (requests, bytes) by block.
    pub(crate) fn device_reads(&mut self, cell: u32, counts: impl Fn(u32) -> (u64, u64)) {
        for placed in self.samples.iter_mut().filter(|placed| placed.cell == cell) {
            let (requests, bytes) = counts(placed.block);
            placed.sample.block = Some(Block { read: moved(requests, bytes), ..block(requests, bytes) });
        }
    }

    /// Sets the advertised peak.
    pub(crate) fn advertise(&mut self, bytes_per_s: f64) {
        for placed in &mut self.samples {
            placed.sample.environment.target.pap_bytes_per_s = Some(BytesPerSecond(bytes_per_s));
        }
    }

    /// The findings of one kind.
    pub(crate) fn findings(&self, code: FindingCode) -> Vec<Finding> {
        let mut findings = crate::analyse(&self.observed()).findings;
        findings.retain(|finding| finding.code == code);
        findings
    }

    /// What the findings of one kind say.
    pub(crate) fn sentences(&self, code: FindingCode) -> Vec<String> {
        self.findings(code).into_iter().map(|finding| finding.sentence).collect()
    }

    /// Input of the analysis, numbered from 100.
    pub(crate) fn observed(&self) -> Vec<Observed<'_>> {
        (100..)
            .zip(&self.samples)
            .map(|(id, placed)| Observed { id, cell: placed.cell, block: placed.block, sample: &placed.sample })
            .collect()
    }
}

/// Asserts that a text contains a part.
#[track_caller]
pub(crate) fn says(text: &str, part: &str) {
    assert!(text.contains(part), "{text:?} does not say {part:?}");
}

/// Asserts that a text begins with a part.
#[track_caller]
pub(crate) fn begins(text: &str, part: &str) {
    assert!(text.starts_with(part), "{text:?} does not begin with {part:?}");
}

/// Asserts that a text ends with a part.
#[track_caller]
pub(crate) fn ends(text: &str, part: &str) {
    assert!(text.ends_with(part), "{text:?} does not end with {part:?}");
}

/// Five repetitions 1 % apart around a mean.
pub(crate) fn around(rate: f64) -> [f64; 5] {
    [0.98, 0.99, 1.0, 1.01, 1.02].map(|factor| factor * rate)
}

/// Random 4 KiB reads at these depths and IOPS.
pub(crate) fn by_depth(rates: &[(u32, f64)]) -> Run {
    Run::of(rates.iter().map(|(depth, iops)| (deep(*depth, random(read(4))), around(iops * 4096.0))))
}

/// Throughput with a fixed time per request and a final rate (Hockney).
pub(crate) fn hockney(request: Bytes, fixed_s: f64, final_bytes_per_s: f64) -> f64 {
    let bytes = request.0 as f64;
    bytes / (fixed_s + bytes / final_bytes_per_s)
}

/// A one-second sample at this rate; nothing else is measured.
pub(crate) fn sample(workload: Workload, bytes_per_s: f64) -> Sample {
    let requests_per_s = bytes_per_s / workload.request_size.0 as f64;
    let total = Totals {
        requests: (requests_per_s * ELAPSED_S) as u64,
        bytes: (requests_per_s * ELAPSED_S) as u64 * workload.request_size.0,
        requests_per_s,
        bytes_per_s: BytesPerSecond(bytes_per_s),
        ..Totals::default()
    };
    Sample {
        elapsed_s: ELAPSED_S,
        read: workload.operation.reads().then(|| total.clone()),
        write: workload.operation.writes().then(|| total.clone()),
        total,
        depth_mean: DepthMean { little: f64::from(workload.depth), counted: f64::from(workload.depth) },
        ..Sample::empty(workload, environment())
    }
}

fn environment() -> Environment {
    Environment {
        host: "test".to_owned(),
        kernel: "6".to_owned(),
        cpus: 2,
        memory_bytes: Bytes::GIB,
        clock: ClockFacts { source: "virtual".to_owned(), resolution_ns: 1.0, cost_ns: 1.0 },
        target: TargetFacts::bare("/data/file", TargetKind::File, Bytes::GIB),
        ..Environment::default()
    }
}

/// A channel with this peak in MB/s, if known.
pub(crate) fn channel(at: &str, through: Option<&str>, megabytes: Option<f64>) -> Channel {
    let (at, through) = (at.to_owned(), through.map(str::to_owned));
    let source = if megabytes.is_some() { "given" } else { "unknown" }.to_owned();
    Channel { at, through, pap_bytes_per_s: megabytes.map(|rate| BytesPerSecond(rate * 1e6)), source }
}

/// Requests of one direction.
pub(crate) fn moved(requests: u64, bytes: u64) -> Option<Direction> {
    Some(Direction { requests, bytes, amplification: None })
}

/// A device that was busy half of the time with these requests, none of a kind.
pub(crate) fn block(requests: u64, bytes: u64) -> Block {
    let none = Some(Direction::default());
    Block { requests, bytes, busy_fraction: 0.5, devices: 1, read: none, write: none, ..Block::default() }
}

/// Intervals of equal length with these MB/s, and as many thousand requests per second.
pub(crate) fn intervals(length_s: f64, megabytes: impl IntoIterator<Item = f64>) -> Vec<Interval> {
    let interval = |(index, level): (u32, f64)| Interval {
        at_s: f64::from(index) * length_s,
        requests: (level * length_s * 1e3) as u64,
        bytes: (level * length_s * 1e6) as u64,
        ..Interval::default()
    };
    (1..).zip(megabytes).map(interval).collect()
}

/// Standard normal draws (Box and Muller, 1958).
#[derive(Debug)]
pub(crate) struct Normal(Random);

impl Normal {
    /// From a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Normal(Random::new(seed))
    }

    /// The next number.
    pub(crate) fn draw(&mut self) -> f64 {
        let mut uniform = || (self.0.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64;
        let (radius, turn) = (uniform(), uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
    }

    /// A series with this autocorrelation between neighbours.
    pub(crate) fn leaning(&mut self, lean: f64, count: usize) -> impl Iterator<Item = f64> {
        let mut value = self.draw();
        (0..count).map(move |_| {
            value = lean * value + (1.0 - lean * lean).sqrt() * self.draw();
            value
        })
    }
}
