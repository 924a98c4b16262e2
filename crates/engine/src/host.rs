//! This host as a testbed: prepares the target, runs the workload, makes the sample.

use crate::instrument::clock::Clock;
use crate::instrument::{cpu, disk};
use crate::personality::{for_personality, null::Null, personalities};
use crate::record::{self, Context};
use crate::run::{self, RawRun};
use crate::target::{Target, TargetError, Targets};
use halfpower_model::sample::CpuTime;
use halfpower_model::{
    Bytes, Cancel, Closing, Durability, Environment, FileState, Limits, MeasureError, Nanoseconds, Observer,
    Personality as Name, Sample, TargetFacts, Testbed, Workload,
};

/// Requests that the loop's own cost is measured over; some 0.1 ms.
const CALIBRATION_REQUESTS: u64 = 10_000;

/// This host with its targets.
#[derive(Debug)]
pub struct Host {
    targets: Targets,
    environment: Environment,
    clock: Clock,
}

/// This host with targets that need not exist yet, for planning.
pub fn environment(target: TargetFacts, more_targets: Vec<TargetFacts>) -> Environment {
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
        more_targets,
    }
}

fn describe(targets: &Targets) -> Environment {
    let mut facts = targets.facts();
    let first = facts.remove(0);
    environment(first, facts)
}

fn cpu_model() -> Option<String> {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

impl Host {
    /// This host with an open target.
    pub fn new(target: Target) -> Host {
        let targets = Targets::one(target);
        Host { environment: describe(&targets), targets, clock: Clock::host() }
    }

    /// This host with several open targets.
    ///
    /// # Errors
    /// When two of them share storage, or `null:` is among them.
    pub fn on(targets: Vec<Target>) -> Result<Host, TargetError> {
        let targets = Targets::new(targets)?;
        Ok(Host { environment: describe(&targets), targets, clock: Clock::host() })
    }

    fn sample(
        &mut self,
        workload: &Workload,
        observer: &mut dyn Observer,
        cancel: &Cancel,
    ) -> Result<Sample, MeasureError> {
        let hole_share = self.targets.check(workload)?;
        check_memory(workload)?;
        let clock = self.clock;
        let targets = self.targets.reopen(workload)?;
        self.targets.bring_into_state(workload, cancel)?;
        let cached_share_before = self.targets.prepare_cache(workload, cancel)?;
        let loop_ns_per_request = loop_cost_ns(workload, clock)?;
        let counters = self.targets.counters();
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
            block: before.zip(after).map(|(before, after)| disk::between(&before, &after, wall_s)),
            cancelled: cancel.is_cancelled(),
        };
        Ok(record::sample(workload, &raw, context))
    }

    /// The flush that counts, after the last write.
    fn flush(&self, workload: &Workload, raw: &RawRun) -> Result<Option<Flush>, MeasureError> {
        if workload.durability != Durability::FlushAtEnd {
            return Ok(None);
        }
        let cpu_before = cpu::thread_time();
        let from = self.clock.tick();
        if !self.targets.flush()? {
            return Ok(None);
        }
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
        file_state: FileState::Written,
        closing: Closing::Untimed,
        ..workload.clone()
    };
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let raw = run::run::<Null>(&empty, &[], clock, &mut (), &Cancel::default())?;
        best = best.min(raw.elapsed.0 as f64 / CALIBRATION_REQUESTS as f64);
    }
    Ok(best)
}

/// Refuses buffers that would use up the host's memory.
fn check_memory(workload: &Workload) -> Result<(), MeasureError> {
    if workload.personality == Name::Null {
        return Ok(());
    }
    let stride = workload.request_size.0.next_multiple_of(4096);
    let needed = Bytes(stride.saturating_mul(u64::from(workload.depth)).saturating_mul(u64::from(workload.workers)));
    match available_memory() {
        Some(available) if needed.0 > available.0 / 2 => Err(MeasureError::Unsupported(format!(
            "the buffers would take {needed} of the {available} of memory that are free; \
             use smaller requests, a smaller depth or fewer workers"
        ))),
        _ => Ok(()),
    }
}

fn available_memory() -> Option<Bytes> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Bytes(kib * 1024))
}
