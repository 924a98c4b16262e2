//! Makes samples for the tests of this crate: figures are given, nothing is measured.

use crate::cells::Observed;
use halfpower_model::environment::ClockFacts;
use halfpower_model::random::Random;
use halfpower_model::sample::{Block, CpuTime, DepthMean, Direction, Latency, Totals};
use halfpower_model::{
    Buffering, Bytes, BytesPerSecond, CachePolicy, Durability, Environment, Finding, FindingCode, Limits, Nanoseconds,
    Operation, Pattern, Personality, Sample, TargetFacts, TargetKind, Workload,
};
use std::collections::BTreeMap;

const ELAPSED_S: f64 = 1.0;

/// A sequential direct read, one deep.
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

/// A sequential direct write, one deep.
pub(crate) fn write(kib: u64) -> Workload {
    Workload { operation: Operation::Write, ..read(kib) }
}

/// The same at random places.
pub(crate) fn random(workload: Workload) -> Workload {
    Workload { pattern: Pattern::Random, ..workload }
}

/// The same with more requests outstanding.
pub(crate) fn deep(depth: u32, workload: Workload) -> Workload {
    Workload { depth, ..workload }
}

/// The same through the file cache, cold for reads, and as the survey does it, with the sync personality.
pub(crate) fn buffered(workload: Workload) -> Workload {
    let cache = if workload.operation.reads() { CachePolicy::Cold } else { CachePolicy::Keep };
    Workload { buffering: Buffering::Buffered, personality: Personality::Sync, cache, ..workload }
}

/// The same with a flush in the timing.
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
    /// Adds the next cell with these bytes per second, a repetition each; gives its number.
    pub(crate) fn add(&mut self, workload: Workload, bytes_per_s: &[f64]) -> u32 {
        let cell = self.samples.iter().map(|placed| placed.cell + 1).max().unwrap_or(0);
        for (block, rate) in (0..).zip(bytes_per_s) {
            self.samples.push(Placed { cell, block, sample: sample(workload.clone(), *rate) });
        }
        cell
    }

    /// Gives a cell's samples a processor cost in µs a request, by block.
    pub(crate) fn cost(&mut self, cell: u32, us_per_request: impl Fn(u32) -> f64) {
        for placed in self.samples.iter_mut().filter(|placed| placed.cell == cell) {
            let cost_s = us_per_request(placed.block) * 1e-6 * placed.sample.total.requests as f64;
            placed.sample.cpu.lower = CpuTime { user_s: cost_s / 4.0, system_s: cost_s * 0.75 };
        }
    }

    /// Says how many requests and bytes the device read for a cell, by block.
    pub(crate) fn device_reads(&mut self, cell: u32, counts: impl Fn(u32) -> (u64, u64)) {
        for placed in self.samples.iter_mut().filter(|placed| placed.cell == cell) {
            let (requests, bytes) = counts(placed.block);
            let read = Direction { requests, bytes, amplification: None };
            let (merges, busy_fraction) = (0, 0.5);
            placed.sample.block = Some(Block {
                requests,
                bytes,
                merges,
                busy_fraction,
                devices: 1,
                outstanding_mean: None,
                read: Some(read),
                write: Some(Direction::default()),
                trim: None,
                phases: None,
            });
        }
    }

    /// Says what the target was advertised with.
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

    /// As the analysis takes them, numbered from 100.
    pub(crate) fn observed(&self) -> Vec<Observed<'_>> {
        (100..)
            .zip(&self.samples)
            .map(|(id, placed)| Observed { id, cell: placed.cell, block: placed.block, sample: &placed.sample })
            .collect()
    }
}

/// Five repetitions around a rate whose mean it is, 1 % apart.
pub(crate) fn around(rate: f64) -> [f64; 5] {
    [0.98, 0.99, 1.0, 1.01, 1.02].map(|factor| factor * rate)
}

/// The rate of requests that each take a fixed time and then their bytes at a final rate (Hockney's two numbers).
pub(crate) fn hockney(request: Bytes, fixed_s: f64, final_bytes_per_s: f64) -> f64 {
    let bytes = request.0 as f64;
    bytes / (fixed_s + bytes / final_bytes_per_s)
}

/// A sample of a second at this rate; all else is left as nobody measured it.
pub(crate) fn sample(workload: Workload, bytes_per_s: f64) -> Sample {
    let requests_per_s = bytes_per_s / workload.request_size.0 as f64;
    let total = Totals {
        requests: (requests_per_s * ELAPSED_S) as u64,
        bytes: (requests_per_s * ELAPSED_S) as u64 * workload.request_size.0,
        requests_per_s,
        bytes_per_s: BytesPerSecond(bytes_per_s),
        latency_ns: Latency::default(),
        short_transfers: 0,
        errors: BTreeMap::new(),
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
        cpu_numbers: Vec::new(),
        cpu_model: None,
        governor: None,
        machine_file_crc32c: None,
        memory_bytes: Bytes::GIB,
        clock: ClockFacts { source: "virtual".to_owned(), resolution_ns: 1.0, cost_ns: 1.0 },
        personalities: Vec::new(),
        target: TargetFacts::bare("/data/file", TargetKind::File, Bytes::GIB),
        more_targets: Vec::new(),
    }
}

/// Draws from the standard normal distribution (Box and Muller, 1958).
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
}
