//! Samples that were measured at the same time, as one.

use super::record::{ContextSwitches, CpuTime, DepthMean, Histograms, OpenLoop, Parallel};
use super::{Interval, IntervalPart, Latency, Sample, Totals};
use crate::environment::Environment;
use crate::histogram::Histogram;
use crate::origin::Unknown;
use crate::units::{Bytes, BytesPerSecond};
use serde_json::Value;
use std::collections::BTreeSet;

/// Fields of a workload that are summed, or that only say how each began.
const OF_EACH: [&str; 4] = ["workers", "limits", "seed", "cpus"];

impl Sample {
    /// Several as one sample of as many workers: from the first start to the last end. What differs between their workloads is
    /// unknown; block counters and other figures of the whole machine are those of the longest. None without any.
    pub fn together(mut samples: Vec<Sample>) -> Option<Sample> {
        if samples.len() < 2 {
            return samples.pop();
        }
        let start = samples.iter().map(|one| one.started_at).min()?;
        let from_start_s = |one: &Sample| one.started_at.duration_since(start).as_secs_f64();
        let elapsed_s = samples.iter().map(|one| from_start_s(one) + one.elapsed_s).fold(0.0, f64::max);
        let longest = samples.iter().max_by(|one, other| one.elapsed_s.total_cmp(&other.elapsed_s))?;
        let mut whole = Sample { started_at: start, elapsed_s, heat: None, ..longest.clone() };
        let environments = samples.iter().map(|one| &*one.environment);
        whole.environment = one_environment(environments)?.into();
        whole.latency_histogram = histograms(&samples);
        type Of = fn(&Sample) -> Option<&Totals>;
        // Over the time of those that have such requests.
        let totals = |of: Of, histogram: Option<&Histogram>| {
            let parts: Vec<(&Sample, &Totals)> = samples.iter().filter_map(|one| Some((one, of(one)?))).collect();
            let begun_s = parts.iter().map(|(one, _)| from_start_s(one)).fold(f64::INFINITY, f64::min);
            let ended_s = parts.iter().map(|(one, _)| from_start_s(one) + one.elapsed_s).fold(0.0, f64::max);
            let parts: Vec<&Totals> = parts.into_iter().map(|(_, part)| part).collect();
            (!parts.is_empty()).then(|| sum_of(&parts, histogram, ended_s - begun_s))
        };
        let own = &whole.latency_histogram;
        whole.total = totals(|one| Some(&one.total), Some(&own.total()))?;
        whole.read = totals(|one| one.read.as_ref(), own.read.as_ref());
        whole.write = totals(|one| one.write.as_ref(), own.write.as_ref());
        whole.trim = totals(|one| one.trim.as_deref(), own.trim.as_ref()).map(Box::new);
        whole.flush = totals(|one| one.flush.as_deref(), own.flush.as_ref()).map(Box::new);
        // The kernel counted the requests of all, over those of the longest.
        if samples.iter().any(|one| one.environment.devices() != longest.environment.devices()) {
            whole.block = None;
        }
        if let Some(block) = &mut whole.block {
            let reads = (&mut block.read, longest.read.as_ref(), whole.read.as_ref());
            let writes = (&mut block.write, longest.write.as_ref(), whole.write.as_ref());
            for (direction, own, all) in [reads, writes] {
                let share = own.zip(all).map(|(own, all)| own.bytes as f64 / all.bytes.max(1) as f64);
                if let Some(direction) = direction {
                    direction.amplification = direction.amplification.zip(share).map(|(factor, share)| factor * share);
                }
            }
        }
        whole.open_loop = open_loop(&samples, own.response.as_ref()).map(Box::new);
        whole.workers = samples.iter().flat_map(|one| one.workers.iter().copied()).collect();
        let rates = || samples.iter().map(|one| one.total.bytes_per_s.0);
        let sum: f64 = rates().sum();
        whole.parallel = Some(Parallel {
            sum_bytes_per_s: BytesPerSecond(sum),
            parent_bytes_per_s: whole.total.bytes_per_s,
            min_bytes_per_s: BytesPerSecond(rates().fold(f64::INFINITY, f64::min)),
            max_bytes_per_s: BytesPerSecond(rates().fold(0.0, f64::max)),
            mean_bytes_per_s: BytesPerSecond(sum / samples.len() as f64),
            bytes_at_first_finish: at_first_finish(&samples),
        });
        whole.intervals = intervals(&samples, whole.workload.interval.seconds(), from_start_s);
        let weighted = |of: fn(&Sample) -> f64| samples.iter().map(|one| of(one) * one.elapsed_s / elapsed_s).sum();
        whole.depth_mean = DepthMean {
            little: weighted(|one| one.depth_mean.little),
            counted: weighted(|one| one.depth_mean.counted),
        };
        add_cpu(&mut whole, &samples);
        whole.generator_bound = samples.iter().any(|one| one.generator_bound);
        whole.failure = samples.iter().find_map(|one| one.failure.clone());
        whole.warnings = Vec::new();
        for warning in samples.iter().flat_map(|one| &one.warnings) {
            if !whole.warnings.contains(warning) {
                whole.warnings.push(warning.clone());
            }
        }
        add_workloads(&mut whole, &samples);
        if let Some(origin) = &mut whole.origin {
            let unknown = samples.iter().filter_map(|one| one.origin.as_deref()).flat_map(|one| one.unknown.fields());
            origin.unknown = unknown.collect();
        }
        Some(whole)
    }
}

/// The sum of totals over a time. Latencies are those of the histogram if it has all requests.
fn sum_of(parts: &[&Totals], histogram: Option<&Histogram>, elapsed_s: f64) -> Totals {
    let (requests, bytes) = parts.iter().fold((0, 0), |sum, part| (sum.0 + part.requests, sum.1 + part.bytes));
    let mut whole = Totals::of(&Histogram::default(), bytes, elapsed_s);
    whole.requests = requests;
    whole.requests_per_s = if elapsed_s > 0.0 { requests as f64 / elapsed_s } else { 0.0 };
    let weighted = |part: &&Totals| Some(part.latency_ns.mean? * part.requests as f64);
    whole.latency_ns = match histogram.filter(|histogram| histogram.count() >= requests) {
        Some(histogram) => Latency::of(histogram),
        None => Latency {
            min: parts.iter().filter_map(|part| part.latency_ns.min).min(),
            max: parts.iter().filter_map(|part| part.latency_ns.max).max(),
            mean: parts.iter().map(weighted).sum::<Option<f64>>().map(|sum| sum / requests.max(1) as f64),
            ..Latency::default()
        },
    };
    for part in parts {
        whole.short_transfers += part.short_transfers;
        part.errors.iter().for_each(|(name, count)| *whole.errors.entry(name.clone()).or_default() += count);
    }
    whole
}

/// One environment with every target once.
fn one_environment<'a>(environments: impl Iterator<Item = &'a Environment>) -> Option<Environment> {
    let mut whole = Environment::joined(environments)?;
    let mut paths = BTreeSet::from([whole.target.path.clone()]);
    whole.more_targets.retain(|target| paths.insert(target.path.clone()));
    Some(whole)
}

fn histograms(samples: &[Sample]) -> Histograms {
    let merged = |of: fn(&Histograms) -> Option<&Histogram>| {
        samples.iter().filter_map(|one| of(&one.latency_histogram)).fold(None, |all: Option<Histogram>, one| {
            let mut all = all.unwrap_or_default();
            all.merge(one);
            Some(all)
        })
    };
    Histograms {
        read: merged(|all| all.read.as_ref()),
        write: merged(|all| all.write.as_ref()),
        trim: merged(|all| all.trim.as_ref()),
        flush: merged(|all| all.flush.as_ref()),
        response: merged(|all| all.response.as_ref()),
        any: merged(|all| all.any.as_ref()),
    }
}

/// The latenesses have no histogram that could be merged.
fn open_loop(samples: &[Sample], response: Option<&Histogram>) -> Option<OpenLoop> {
    let sum = |of: fn(&OpenLoop) -> u64| samples.iter().filter_map(|one| one.open_loop.as_deref()).map(of).sum();
    Some(OpenLoop {
        response_ns: Latency::of(response?),
        lateness_ns: Latency::default(),
        backlog_max: sum(|one| one.backlog_max),
        backlog_at_end: sum(|one| one.backlog_at_end),
    })
}

/// Bytes of all when the first had ended, in proportion.
fn at_first_finish(samples: &[Sample]) -> u64 {
    let first_s = samples.iter().map(|one| one.elapsed_s).fold(f64::INFINITY, f64::min);
    samples.iter().map(|one| (one.total.bytes as f64 * first_s / one.elapsed_s.max(first_s)) as u64).sum()
}

/// By the number of the interval since the first start; percentiles of several are unknown.
fn intervals(samples: &[Sample], length_s: f64, from_start_s: impl Fn(&Sample) -> f64) -> Vec<Interval> {
    let mut whole: Vec<Interval> = Vec::new();
    for sample in samples {
        let skipped = (from_start_s(sample) / length_s.max(1e-3)).round() as usize;
        for (number, interval) in sample.intervals.iter().enumerate() {
            match whole.get_mut(skipped + number) {
                Some(there) => {
                    there.at_s = there.at_s.max(interval.at_s + skipped as f64 * length_s);
                    there.requests += interval.requests;
                    there.bytes += interval.bytes;
                    for (there, part) in [(&mut there.read, interval.read), (&mut there.write, interval.write)] {
                        *there = there.zip(part).map(|(one, other)| IntervalPart {
                            requests: one.requests + other.requests,
                            bytes: one.bytes + other.bytes,
                            latency_p50_ns: None,
                        });
                    }
                }
                None => {
                    let empty = |number: usize| Interval {
                        at_s: (number + 1) as f64 * length_s,
                        requests: 0,
                        bytes: 0,
                        ..Interval::default()
                    };
                    whole.extend((whole.len()..skipped + number).map(empty));
                    let at_s = interval.at_s + skipped as f64 * length_s;
                    whole.push(Interval { at_s, latency_p50_ns: None, latency_p99_ns: None, ..*interval });
                }
            }
        }
    }
    whole
}

/// The workers' CPU time is summed; that of the machine is the longest sample's.
fn add_cpu(whole: &mut Sample, samples: &[Sample]) {
    let sum = |of: fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>();
    let requests = whole.total.requests as f64;
    let each_us = |seconds: f64| (requests > 0.0).then(|| seconds * 1e6 / requests);
    let cpu = &mut whole.cpu;
    cpu.lower = CpuTime { user_s: sum(|one| one.cpu.lower.user_s), system_s: sum(|one| one.cpu.lower.system_s) };
    cpu.lower_us_per_request = each_us(cpu.lower.user_s + cpu.lower.system_s);
    cpu.upper_us_per_request = cpu.upper_s.and_then(each_us);
    cpu.waited_s = samples.iter().map(|one| one.cpu.waited_s).sum();
    (cpu.clocks_per_byte, cpu.instructions_per_byte, cpu.counters) = (None, None, None);
    let switches = |of: fn(&ContextSwitches) -> u64| {
        samples.iter().map(|one| one.cpu.context_switches.as_ref().map(of)).sum::<Option<u64>>()
    };
    let both = switches(|all| all.voluntary).zip(switches(|all| all.involuntary));
    cpu.context_switches = both.map(|(voluntary, involuntary)| ContextSwitches { voluntary, involuntary });
}

/// One workload with all workers; what differs is unknown.
fn add_workloads(whole: &mut Sample, samples: &[Sample]) {
    let fields = |one: &Sample| match serde_json::to_value(&one.workload) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let own = fields(whole);
    let others: Vec<_> = samples.iter().map(fields).collect();
    let names: BTreeSet<&String> = others.iter().flat_map(|other| other.keys()).collect();
    let differs = |name: &&&String| {
        !OF_EACH.contains(&name.as_str()) && others.iter().any(|other| other.get(**name) != own.get(**name))
    };
    let unknown: Vec<&str> = names.iter().filter(differs).map(|name| name.as_str()).collect();
    let known_too = whole.workload.unknown.fields();
    whole.workload.unknown = known_too.chain(unknown).collect::<Unknown>();
    let limits = samples.iter().map(|one| one.workload.limits);
    let sum = |of: Vec<Option<u64>>| of.into_iter().sum::<Option<u64>>();
    whole.workload.limits.bytes =
        sum(limits.clone().map(|limits| limits.bytes.map(|bytes| bytes.0)).collect()).map(Bytes);
    whole.workload.limits.requests = sum(limits.map(|limits| limits.requests).collect());
    whole.workload.workers = samples.iter().map(|one| one.workload.workers).sum();
    whole.workload.targets = whole.environment.targets();
    whole.workload.cpus = samples.iter().flat_map(|one| one.workload.cpus.iter().copied()).collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Operation, Workload};

    fn sample(operation: Operation, latency_ns: u64, requests: u64, elapsed_s: f64) -> Sample {
        let mut histogram = Histogram::default();
        (0..requests).for_each(|_| histogram.record(latency_ns));
        let totals = Totals::of(&histogram, requests * 4096, elapsed_s);
        let workload = Workload { operation, request_size: Bytes(4096), ..Workload::default() };
        let mut sample = Sample { elapsed_s, total: totals.clone(), ..Sample::empty(workload, Environment::default()) };
        match operation {
            Operation::Read => (sample.read, sample.latency_histogram.read) = (Some(totals), Some(histogram)),
            _ => (sample.write, sample.latency_histogram.write) = (Some(totals), Some(histogram)),
        }
        sample
    }

    #[test]
    fn those_of_one_time_are_summed_and_not_repeated() {
        let four = vec![sample(Operation::Read, 1000, 500, 2.0); 4];
        let whole = Sample::together(four).unwrap();
        assert_eq!((whole.total.requests, whole.total.requests_per_s), (2000, 1000.0));
        assert_eq!((whole.workload.workers, whole.read.as_ref().map(|read| read.bytes)), (4, Some(2000 * 4096)));
        assert!(whole.workload.unknown.is_empty() && whole.write.is_none());
    }

    #[test]
    fn what_differs_is_unknown_and_the_rate_is_over_the_whole_time() {
        let mut writes = sample(Operation::Write, 3000, 100, 1.0);
        writes.started_at += jiff::SignedDuration::from_secs(1);
        let whole = Sample::together(vec![sample(Operation::Read, 1000, 300, 4.0), writes]).unwrap();
        assert_eq!((whole.total.requests_per_s, whole.elapsed_s), (100.0, 4.0));
        assert!(!whole.workload.is_known("operation") && whole.workload.is_known("request_size"));
        let write = whole.write.unwrap();
        assert_eq!((write.latency_ns.max, write.requests_per_s), (Some(3000), 100.0), "over its own second");
        assert_eq!(Sample::together(Vec::new()), None);
    }
}
