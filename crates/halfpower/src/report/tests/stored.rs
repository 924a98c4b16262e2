//! A run with fixed figures, stored and loaded: a fictitious device with a fixed time per request and a final throughput,
//! noise of 1 % from a seed, and a target with hostile names.

use crate::fixtures;
use crate::plan::{Overrides, Plan, Skipped};
use crate::report::Analysed;
use crate::store::{NewRun, RunStatus, Store};
use crate::study::Study;
use halfpower_model::random::Random;
use halfpower_model::sample::{Cpu, CpuTime, DepthMean, Failure, Histograms, Latency, Program, Totals};
use halfpower_model::{Buffering, BytesPerSecond, Durability, Environment, Histogram, Operation, Sample, Workload};

pub(super) const PATH: &str = "/srv/data/<script>alert(1)</script>/\"quoted\" & 'single'/a-directory-with-a-name-that-is-\
    much-longer-than-any-line-of-a-terminal-or-a-telephone-would-like-it-to-be";

const ELAPSED_S: f64 = 0.4;
/// Number of latencies in a sample: enough for percentiles.
const LATENCIES: u32 = 2000;

/// The study of the golden files.
pub(super) fn fixed() -> Study {
    Study::parse("fixed.toml", include_str!("fixed.toml")).unwrap()
}

/// A study on the fictitious device, planned, stored and loaded.
pub(super) fn run(study: &Study) -> Analysed {
    let environment: Environment = fixed_part("environment");
    let overrides = Overrides { test_file: study.test_file, ..Overrides::default() };
    let mut plan = Plan::make(study, &overrides, &environment).unwrap();
    plan.skipped.push(Skipped {
        label: "random QD64".to_owned(),
        reason: "it is <disabled> here".to_owned(),
        cells: 1,
    });
    let mut store = Store::in_memory().unwrap();
    let command = "halfpower run '/srv/data/<script>alert(1)</script>' --seed 42";
    let new = NewRun { command, target: PATH, ..fixtures::study_run(&plan, &environment) };
    let id = store.begin_run(&new).unwrap();
    let mut noise = Random::new(plan.seed);
    for block in 0..plan.repetitions.min {
        for cell in plan.order_of_block(block) {
            let mut sample = sample(plan.workload(cell, block), &environment, &mut noise);
            if (cell, block) == (3, 0) {
                sample.failure = Some(Failure { code: "EIO".to_owned(), message: "a read failed".to_owned() });
            }
            if cell == 5 && block < 2 {
                sample.warnings = fixed_part("warnings");
            }
            store.add_sample(id, cell, block, &sample).unwrap();
        }
    }
    store.finish_run(id, RunStatus::Complete).unwrap();
    let mut analysed = Analysed::load(&store, id).unwrap();
    // These depend on the day and the build.
    analysed.run.started_at = "2026-03-01T12:34:56Z".parse().unwrap();
    analysed.run.program = fixed_part("program");
    analysed
}

/// A part of the records, by its name.
fn fixed_part<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let mut records = fixtures::records(include_str!("fixed.json"), PATH);
    serde_json::from_value(records[name].take()).unwrap()
}

/// Requests per second: a fixed time each, and a limit of the channel.
fn rate(workload: &Workload) -> f64 {
    let reads = workload.operation == Operation::Read;
    let (fixed_s, ceiling) = match (workload.buffering, workload.durability, reads) {
        (Buffering::Buffered, Durability::None, true) => (4e-6, 2.1e9),
        (Buffering::Buffered, Durability::None, false) => (3e-6, 2.6e9),
        (Buffering::Buffered, Durability::FlushAtEnd, _) => (6e-6, 0.9e9),
        (_, _, true) => (80e-6, 3.3e9),
        _ => (25e-6, 1.2e9),
    };
    let alone = f64::from(workload.depth) / (fixed_s + workload.request_size.0 as f64 / 3.6e9);
    let channel = (ceiling / workload.request_size.0 as f64).min(240_000.0);
    // A soft corner, as queues have it: the fourth power.
    (alone.powi(-4) + channel.powi(-4)).powf(-0.25)
}

fn sample(workload: Workload, environment: &Environment, noise: &mut Random) -> Sample {
    let mut within_a_hundredth = || 1.0 + (noise.below(2001) as f64 - 1000.0) * 1e-5;
    let requests_per_s = rate(&workload) * within_a_hundredth();
    let requests = (requests_per_s * ELAPSED_S) as u64;
    let (fixed_us, marginal_us) = if workload.buffering == Buffering::Buffered { (1.8, 0.16) } else { (5.4, 0.02) };
    let cpu_us = (fixed_us + workload.request_size.kib() * marginal_us) * within_a_hundredth();
    let cpu_s = requests as f64 * cpu_us / 1e6;
    let histogram = latencies(f64::from(workload.depth) / requests_per_s * 1e9);
    let total = Totals {
        requests,
        bytes: requests * workload.request_size.0,
        requests_per_s,
        bytes_per_s: BytesPerSecond(requests_per_s * workload.request_size.0 as f64),
        latency_ns: Latency::of(&histogram),
        ..Totals::default()
    };
    let reads = workload.operation.reads();
    let of = |wanted: bool| wanted.then(|| histogram.clone());
    Sample {
        program: fixed_part::<Program>("program").into(),
        started_at: "2026-03-01T12:34:56Z".parse().unwrap(),
        elapsed_s: ELAPSED_S,
        read: reads.then(|| total.clone()),
        write: (!reads).then(|| total.clone()),
        total,
        latency_histogram: Histograms { read: of(reads), write: of(!reads), ..Histograms::default() },
        depth_mean: DepthMean { little: f64::from(workload.depth), counted: f64::from(workload.depth) },
        cpu: Cpu { lower: CpuTime { user_s: cpu_s / 4.0, system_s: cpu_s * 0.75 }, ..Cpu::default() },
        ..Sample::empty(workload, environment.clone())
    }
}

/// Latencies of this mean: half of it for every request, the rest exponentially distributed.
fn latencies(mean_ns: f64) -> Histogram {
    let mut histogram = Histogram::default();
    for number in 0..LATENCIES {
        let share = (f64::from(number) + 0.5) / f64::from(LATENCIES);
        histogram.record((mean_ns * (0.5 - 0.5 * (1.0 - share).ln())) as u64);
    }
    histogram
}
