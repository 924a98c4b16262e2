//! From samples to a figure in the form of a paper.

use crate::simulator::published::Measure;
use halfpower_analysis::{CostBound, Observed, analyse};
use halfpower_model::sample::Part;
use halfpower_model::{Pattern, Sample};
use std::cmp::Reverse;

/// SQLIO's MB.
const MEGABYTE: f64 = 1_048_576.0;

/// The figure computed from samples in the order of its workloads; the reason if it cannot be computed.
pub(super) fn value(measure: &Measure, samples: &[&Sample]) -> Result<f64, String> {
    let [first, ..] = samples else { return Err("it names no workload".to_owned()) };
    let last = samples[samples.len() - 1];
    if let Some(empty) = samples.iter().find(|sample| sample.total.requests == 0) {
        return Err(format!("not one request was done in {} s", empty.elapsed_s));
    }
    Ok(match measure {
        Measure::Megabytes => first.total.bytes_per_s.0 / MEGABYTE,
        Measure::Copied => first.total.bytes_per_s.0 / 2.0 / MEGABYTE,
        Measure::Requests => first.total.requests_per_s,
        Measure::MeanRequests => mean_requests(samples),
        Measure::LossPercent => (1.0 - last.total.bytes_per_s.0 / first.total.bytes_per_s.0) * 100.0,
        Measure::FixedUs => cost_line(samples)?.0,
        Measure::MarginalUs => cost_line(samples)?.1,
        Measure::CpuUs => cpu_s(first) * 1e6 / first.total.requests as f64,
        Measure::CpuMsPerMegabyte => cpu_s(first) * 1e3 / (first.total.bytes as f64 / MEGABYTE),
        Measure::CpuPercent => cpu_s(first) / first.elapsed_s / f64::from(first.environment.cpus.max(1)) * 100.0,
        Measure::ClocksPerByte { mhz } => cpu_s(first) * mhz * 1e6 / first.total.bytes as f64,
        Measure::SaturationMegabytes => first.total.bytes as f64 / MEGABYTE / cpu_s(first),
        Measure::ServiceMs => first.total.latency_ns.mean.ok_or("it has no latencies")? / 1e6,
        Measure::BusyPercent { part } => self::part(first, part)?.busy * 100.0,
        Measure::PhasePercent { part, phase } => {
            let shares = &self::part(first, part)?.phases;
            shares.get(phase).ok_or_else(|| format!("{part} does not report its phase {phase}"))? * 100.0
        }
        Measure::DollarsPerRequest { price } => price / first.total.requests_per_s,
        Measure::RequestsPerDollar { price } => mean_requests(samples) / price,
        Measure::MegabyteAccesses => megabyte_accesses(samples)?,
        Measure::MegabyteAccessesPerDollar { price } => megabyte_accesses(samples)? / price,
        Measure::MegabytesPerDollar { price } => first.environment.target.size_bytes.0 as f64 / 1e6 / price,
    })
}

/// Requests of a MB per second. Each takes the mean time of small random reads and writes over the whole disk, and the
/// time of its bytes in a large sequential read of the outermost tracks.
fn megabyte_accesses(samples: &[&Sample]) -> Result<f64, String> {
    let key = |sample: &&&Sample| (sample.workload.request_size, Reverse(sample.workload.span));
    let (random, sequential): (Vec<&Sample>, Vec<&Sample>) =
        samples.iter().partition(|sample| sample.workload.pattern == Pattern::Random);
    let least = random.iter().map(|sample| key(&sample)).min();
    let small: Vec<&Sample> = random.into_iter().filter(|sample| Some(key(&sample)) == least).collect();
    let reads = sequential.iter().filter(|sample| sample.workload.operation.reads());
    let stream = reads.max_by_key(key).filter(|_| !small.is_empty()).ok_or("it lacks random or sequential requests")?;
    Ok(1.0 / (1.0 / mean_requests(&small) + MEGABYTE / stream.total.bytes_per_s.0))
}

fn mean_requests(samples: &[&Sample]) -> f64 {
    samples.iter().map(|sample| sample.total.requests_per_s).sum::<f64>() / samples.len() as f64
}

/// Total CPU time of a sample, as measured by the papers' soaker; without one, that of the requests.
fn cpu_s(sample: &Sample) -> f64 {
    sample.cpu.upper_s.unwrap_or(sample.cpu.lower.user_s + sample.cpu.lower.system_s)
}

/// Fixed and marginal CPU time, by the analysis.
fn cost_line(samples: &[&Sample]) -> Result<(f64, f64), String> {
    let numbered = samples.iter().enumerate();
    let observed =
        numbered.map(|(number, sample)| Observed { id: number as i64, cell: number as u32, block: 0, sample });
    let analysis = analyse(&observed.collect::<Vec<_>>());
    let line = analysis.costs.iter().find(|cost| cost.bound == CostBound::Lower);
    line.map(|cost| (cost.fixed.value, cost.marginal.value)).ok_or_else(|| "no line goes through its costs".to_owned())
}

fn part<'a>(sample: &'a Sample, name: &str) -> Result<&'a Part, String> {
    let found = sample.parts.iter().find(|part| part.name == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = sample.parts.iter().map(|part| part.name.as_str()).collect();
        format!("no part at work is called {name}; there are {}", known.join(", "))
    })
}
