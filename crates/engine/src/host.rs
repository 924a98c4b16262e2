//! This host as a testbed: prepares the target, runs the workload, makes the sample.

use crate::instrument::clock::Clock;
use crate::instrument::{cache, cpu, disk};
use crate::personality::{for_personality, null::Null, personalities};
use crate::record::{self, Context};
use crate::run::{self, RawRun};
use crate::target::{Access, Opened, Target};
use halfpower_model::sample::CpuTime;
use halfpower_model::{
    Bytes, CachePolicy, Cancel, Durability, Environment, Limits, MeasureError, Nanoseconds, Observer,
    Personality as Name, Sample, TargetFacts, Testbed, Workload,
};
use std::io;

/// Requests that the loop's own cost is measured over; some 0.1 ms.
const CALIBRATION_REQUESTS: u64 = 10_000;

/// This host with a target.
#[derive(Debug)]
pub struct Host {
    target: Target,
    environment: Environment,
    clock: Clock,
}

/// This host with a target that need not exist yet, for planning.
pub fn environment(target: TargetFacts) -> Environment {
    let system = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let memory = rustix::system::sysinfo();
    let allowed = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
    Environment {
        host: text(system.nodename()),
        kernel: text(system.release()),
        cpus: allowed,
        cpu_model: cpu_model(),
        memory_bytes: Bytes(memory.totalram as u64 * u64::from(memory.mem_unit)),
        clock: Clock::host().facts(),
        personalities: personalities(),
        target,
        more_targets: Vec::new(),
    }
}

fn cpu_model() -> Option<String> {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

impl Host {
    /// This host with an open target.
    pub fn new(target: Target) -> Host {
        let environment = environment(target.facts().clone());
        Host { target, environment, clock: Clock::host() }
    }

    /// Whether the target is stored from its first byte to its last, without holes.
    pub fn is_filled(&self) -> bool {
        self.target.hole_share(self.target.facts().size_bytes) == 0.0
    }

    /// Refuses what would destroy data, measure memory for storage, or use up the host's memory.
    fn check(&self, workload: &Workload) -> Result<f64, MeasureError> {
        let path = &self.target.facts().path;
        if workload.operation.destroys() && self.target.access() == Access::Read {
            return Err(MeasureError::Unsupported(format!(
                "{path} was opened for reading only; say --overwrite to lose what it holds"
            )));
        }
        let hole_share = if workload.operation.reads() {
            self.target.refuse_holes(workload.span)?
        } else {
            self.target.hole_share(workload.span)
        };
        if workload.personality != Name::Null {
            let stride = workload.request_size.0.next_multiple_of(4096);
            let needed = Bytes(stride * u64::from(workload.depth) * u64::from(workload.workers));
            if let Some(available) = available_memory()
                && needed.0 > available.0 / 2
            {
                return Err(MeasureError::Unsupported(format!(
                    "the buffers would take {needed} of the {available} of memory that are free; \
                     use smaller requests, a smaller depth or fewer workers"
                )));
            }
        }
        Ok(hole_share)
    }

    /// Brings the file cache into the state the workload asks for; gives the share it then holds.
    fn prepare_cache(&self, workload: &Workload, cancel: &Cancel) -> Result<Option<f64>, MeasureError> {
        let Some(file) = self.target.file() else { return Ok(None) };
        let failed = |source: io::Error| MeasureError::System {
            action: "prepare the cache for",
            subject: self.target.facts().path.clone(),
            source,
        };
        match workload.cache {
            CachePolicy::Keep => cache::settle(file).map_err(failed)?,
            CachePolicy::Cold => cache::make_cold(file, workload.span).map_err(failed)?,
            CachePolicy::Warm => cache::make_warm(file, workload.span, cancel).map_err(failed)?,
        }
        let looks = workload.cache != CachePolicy::Keep && !workload.buffering.is_direct();
        Ok(if looks { cache::cached_share(file, workload.span) } else { None })
    }

    fn sample(
        &self,
        workload: &Workload,
        observer: &mut dyn Observer,
        cancel: &Cancel,
    ) -> Result<Sample, MeasureError> {
        let hole_share = self.check(workload)?;
        let clock = self.clock;
        let targets: Vec<Opened> = self.target.reopen(workload)?.into_iter().collect();
        let cached_share_before = self.prepare_cache(workload, cancel)?;
        let loop_ns_per_request = loop_cost_ns(workload, clock)?;
        let counters = self.target.counters();
        let before = counters.as_ref().and_then(|counters| counters.read());
        let stolen_before = cpu::stolen_s();
        let raw =
            for_personality!(workload.personality, P => run::run::<P>(workload, &targets, clock, observer, cancel))?;
        let flush = self.flush(workload, &raw)?;
        let stolen_s = cpu::stolen_s().zip(stolen_before).map(|(after, before)| after - before);
        let after = counters.as_ref().and_then(|counters| counters.read());
        let elapsed_s = flush.as_ref().map_or(raw.elapsed.seconds(), |flush| flush.elapsed.seconds());
        if cancel.is_cancelled() && raw.counts.iter().all(|counts| counts.requests() == 0) {
            return Err(MeasureError::Cancelled);
        }
        let wall_s = elapsed_s + workload.warmup.seconds();
        let context = Context {
            environment: self.environment.clone(),
            loop_ns_per_request,
            cached_share_before,
            hole_share,
            flush_s: flush.as_ref().map(|flush| flush.took.seconds()),
            elapsed_s,
            flush_cpu: flush.map_or_else(CpuTime::default, |flush| flush.cpu),
            wall_s,
            stolen_s,
            block: before.zip(after).map(|(before, after)| disk::between(before, after, wall_s)),
            cancelled: cancel.is_cancelled(),
        };
        Ok(record::sample(workload, &raw, context))
    }

    /// The flush that counts, after the last write.
    fn flush(&self, workload: &Workload, raw: &RawRun) -> Result<Option<Flush>, MeasureError> {
        let Some(file) = self.target.file().filter(|_| workload.durability == Durability::FlushAtEnd) else {
            return Ok(None);
        };
        let cpu_before = cpu::thread_time();
        let from = self.clock.tick();
        file.sync_all().map_err(|source| MeasureError::System {
            action: "flush",
            subject: self.target.facts().path.clone(),
            source,
        })?;
        let now = self.clock.tick();
        Ok(Some(Flush {
            took: Nanoseconds(self.clock.nanoseconds(now - from)),
            elapsed: Nanoseconds(self.clock.nanoseconds(now.saturating_sub(raw.measure_from))),
            cpu: cpu::since(cpu::thread_time(), cpu_before),
        }))
    }
}

/// A flush inside the timing.
struct Flush {
    took: Nanoseconds,
    /// From the start of the measured part to its end.
    elapsed: Nanoseconds,
    cpu: CpuTime,
}

impl Testbed for Host {
    fn describe(&self) -> &Environment {
        &self.environment
    }

    fn measure(
        &mut self,
        workload: &Workload,
        observer: &mut dyn Observer,
        cancel: &Cancel,
    ) -> Result<Sample, MeasureError> {
        self.sample(workload, observer, cancel)
    }
}

/// What the loop itself costs a request: the same stream, depth and record keeping, with requests that do nothing.
fn loop_cost_ns(workload: &Workload, clock: Clock) -> Result<f64, MeasureError> {
    let empty = Workload {
        personality: Name::Null,
        workers: 1,
        warmup: Nanoseconds(0),
        limits: Limits { duration: None, requests: Some(CALIBRATION_REQUESTS), bytes: None },
        durability: Durability::None,
        ..workload.clone()
    };
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let raw = run::run::<Null>(&empty, &[], clock, &mut (), &Cancel::default())?;
        best = best.min(raw.elapsed.0 as f64 / CALIBRATION_REQUESTS as f64);
    }
    Ok(best)
}

fn available_memory() -> Option<Bytes> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Bytes(kib * 1024))
}
