//! A simulated machine as a testbed: takes the workloads that a host takes, and gives the same record.
//!
//! What the machine cannot do is refused with the reason. Time is virtual: a record begins at the epoch, so that the same
//! machine, workload and seed give the same bytes.

use crate::file::{MachineError, MachineFile};
use crate::machine::{Device, Machine};
use crate::shipped;
use crate::system::{self, Outcome, run};
use crate::unsimulated::refuse;
use halfpower_model::environment::{ClockFacts, PersonalityFacts};
use halfpower_model::sample::{
    Block, Cpu, CpuTime, DepthMean, Direction, Failure, Histograms, Instrument, Interval, Latency, OpenLoop, Part,
    PartKind, SystemAccount, Totals, Warning, in_write_cache, left_in_buffer, memory_speed, rate_not_reached,
    stalled_at_end,
};
use halfpower_model::{
    Bytes, Cancel, Environment, GivenPeak, Histogram, MeasureError, Nanoseconds, Observer, Personality, Progress,
    RequestKind, Sample, Settings, TargetFacts, TargetKind, Testbed, Workload,
};
use std::sync::Arc;

/// The setting that is another volume.
const VOLUME: &str = "volume";

/// A machine with a volume of it.
#[derive(Clone, Debug)]
pub struct Simulated {
    machine: Machine,
    environment: Environment,
    /// To make it again with other settings.
    file: Arc<Source>,
    /// What its levels advertise, by the user's word.
    peaks: Vec<GivenPeak>,
    /// What it last was for a workload, and with which settings: the next workload often has the same.
    last: Option<(Settings, Box<Simulated>)>,
}

/// What a machine was made of.
#[derive(Debug)]
struct Source {
    machine: String,
    text: String,
    volume: String,
    settings: Settings,
    file: MachineFile,
}

impl Simulated {
    /// A volume of a machine file, with settings laid over it. `volume` among them is another one: of the machine, or of one that
    /// ships (`MACHINE:VOLUME`). Its target is called `sim:MACHINE:VOLUME`, and the other settings behind it with a comma before
    /// each.
    ///
    /// # Errors
    /// When the file is not one, there is no such volume, or a setting cannot be.
    pub fn of_file(machine: &str, text: &str, volume: &str, settings: &Settings) -> Result<Simulated, MachineError> {
        let (other, of_parts) = settings.without(VOLUME);
        if settings.0.len() > of_parts.0.len() + 1 {
            return Err(MachineError(format!(
                "machine {machine} with {settings}: `{VOLUME}` is set twice; set it once"
            )));
        }
        let (machine, text, volume) = match other.map(|other| (other, other.split_once(':'))) {
            Some((_, Some((machine, volume)))) => {
                let known = || shipped::machines().collect::<Vec<_>>().join(", ");
                let unknown = || MachineError(format!("there is no machine {machine}; machines are {}", known()));
                (machine, shipped::machine_text(machine).ok_or_else(unknown)?, volume)
            }
            Some((volume, None)) => (machine, text, volume),
            None => (machine, text, volume),
        };
        let machine_file = MachineFile::with_settings(machine, text, volume, &of_parts)?;
        let made = machine_file.with_volume(volume)?;
        let set = if of_parts.is_empty() { String::new() } else { format!(",{of_parts}") };
        let environment = Environment {
            machine_file_crc32c: Some(format!("{:08x}", machine_file.crc32c())),
            ..environment(&made, &format!("sim:{machine}:{volume}{set}"))
        };
        let [machine, text, volume] = [machine, text, volume].map(str::to_owned);
        let file = Arc::new(Source { machine, text, volume, settings: of_parts, file: machine_file });
        Ok(Simulated { machine: made, environment, file, peaks: Vec::new(), last: None })
    }

    /// What is simulated.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// What its volume is, in a sentence; with what is set besides.
    pub fn description(&self) -> String {
        let Source { volume, settings, file, .. } = &*self.file;
        let (_, description) = file.volumes().find(|(name, _)| name == volume).unwrap_or_default();
        // What the file says of it is of the volume as it comes.
        if settings.is_empty() { description.to_owned() } else { format!("{description}, but with {settings}") }
    }

    /// A machine file of its volume alone; see [`MachineFile::text_of`].
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn text(&self) -> Result<String, MachineError> {
        self.file.file.text_of(&self.file.volume)
    }

    /// Refuses settings that none of these machines has anything of on its volume's way: they would be compared with themselves. One
    /// that is of one of several volumes is of use there.
    ///
    /// # Errors
    /// With the setting, and what can be set instead.
    pub fn reject_ineffective<'m>(
        machines: impl IntoIterator<Item = &'m Simulated> + Clone,
    ) -> Result<(), MachineError> {
        let ineffective = |machine: &Simulated| machine.file.file.ineffective(&machine.file.volume);
        let is_of_use = |key: &str| {
            machines.clone().into_iter().any(|machine| {
                let mut set = machine.file.settings.0.iter();
                set.any(|(said, _)| said == key) && ineffective(machine).iter().all(|(other, _)| other != key)
            })
        };
        match machines.clone().into_iter().flat_map(ineffective).find(|(key, _)| !is_of_use(key)) {
            Some((_, why)) => Err(why),
            None => Ok(()),
        }
    }

    /// Another volume, with the same settings.
    ///
    /// # Errors
    /// When there is none of that name, or a setting cannot be.
    pub fn at(&self, volume: &str) -> Result<Simulated, MachineError> {
        self.with(&Settings(vec![(VOLUME.to_owned(), volume.to_owned())]))
    }

    /// The same with other settings besides.
    ///
    /// # Errors
    /// When one cannot be, or is of what is set already: neither could be told to count.
    pub fn with(&self, settings: &Settings) -> Result<Simulated, MachineError> {
        let Source { machine, text, volume, settings: own, .. } = &*self.file;
        let mut made = Simulated::of_file(machine, text, volume, &Settings([own.0.as_slice(), &settings.0].concat()))?;
        made.give_peaks(&self.peaks);
        Ok(made)
    }

    /// Takes the user's word for what its levels advertise.
    pub fn give_peaks(&mut self, given: &[GivenPeak]) {
        self.environment.all_targets_mut().for_each(|target| target.give_peaks(given));
        self.peaks = given.to_vec();
    }

    /// The same with the settings of a workload besides; under the same name where it is the same volume.
    fn set(&mut self, workload: &Workload) -> Result<&mut Simulated, MeasureError> {
        let made = match self.last.take().filter(|(set, _)| *set == workload.set) {
            Some((_, made)) => made,
            None => {
                let made = self.with(&workload.set).map_err(|error| MeasureError::Unsupported(error.to_string()))?;
                Box::new(made)
            }
        };
        let (_, made) = self.last.insert((workload.set.clone(), made));
        let (now, before) = (&mut made.environment, &self.environment);
        let (all, size) = (now.targets(), now.target.size_bytes);
        let reached = workload.among.range(all).map(|range| range.len() as u32);
        if reached != Some(workload.targets) || size < workload.span {
            let are = if all == 1 { "is 1 target".to_owned() } else { format!("are {all} targets") };
            return Err(MeasureError::Unsupported(format!(
                "with {} there {are} of {size}, but the workload uses {} of {}; use a smaller --size, or write the setting on the target",
                workload.set, workload.targets, workload.span
            )));
        }
        if workload.set.without(VOLUME).0.is_none() && all == before.targets() {
            for (now, before) in now.all_targets_mut().zip(before.all_targets()) {
                now.path.clone_from(&before.path);
            }
        }
        Ok(made)
    }
}

fn environment(machine: &Machine, path: &str) -> Environment {
    let size = machine.size();
    let rotational = machine.disks.first().is_some_and(|disk| disk.device.is_rotational());
    let is_cloud = machine.disks.iter().any(|disk| matches!(disk.device, Device::Cloud(..)));
    let facts = |path: String, disk: &str| TargetFacts {
        allocated_bytes: Some(size),
        direct_alignment_bytes: Some(Bytes(512)),
        device: Some(disk.to_owned()),
        transport: is_cloud.then(|| "network".to_owned()),
        whole_request_bytes: Some(machine.system.split.unwrap_or(size)),
        logical_block_bytes: Some(Bytes(512)),
        rotational: Some(rotational),
        ..TargetFacts::bare(path, TargetKind::Simulated, size)
    };
    let targets = machine.targets();
    let name = |number: usize| if targets == 1 { path.to_owned() } else { format!("{path}#{}", number + 1) };
    let mut all = machine.disks[..targets].iter().enumerate().map(|(number, disk)| facts(name(number), &disk.name));
    let target = all.next().unwrap_or_else(|| facts(path.to_owned(), ""));
    let system = &machine.system.name;
    let stands_for = |personality| match personality {
        Personality::Sync => Some(format!("synchronous requests of {system}")),
        Personality::IoUring => Some(format!("asynchronous requests of {system}")),
        Personality::Sg => Some(format!("commands straight to the disks, past {system}")),
        _ => None,
    };
    let facts_of = |personality: &Personality| {
        let stands_for = stands_for(*personality);
        let unavailable = stands_for.is_none().then(|| {
            "simulated machines have sync, io_uring (asynchronous requests of their system) and sg (commands to the disks)"
                .to_owned()
        });
        PersonalityFacts { personality: *personality, unavailable, stands_for }
    };
    Environment {
        host: machine.name.clone(),
        kernel: machine.system.name.clone(),
        cpus: machine.cpu.count,
        cpu_numbers: (0..machine.cpu.count).collect(),
        cpu_model: Some(machine.cpu()),
        governor: None,
        machine_file_crc32c: None,
        memory_bytes: machine.cpu.memory,
        clock: ClockFacts { source: "virtual".to_owned(), resolution_ns: 1.0, cost_ns: 0.0 },
        personalities: Personality::ALL.iter().map(facts_of).collect(),
        target,
        more_targets: all.collect(),
    }
}

impl Testbed for Simulated {
    fn describe(&self) -> &Environment {
        &self.environment
    }

    fn measure(
        &mut self,
        workload: &Workload,
        observer: &mut dyn Observer,
        cancel: &Cancel,
    ) -> Result<Sample, MeasureError> {
        if !workload.set.is_empty() {
            let plain = Workload { set: Settings::default(), ..workload.clone() };
            let mut sample = self.set(workload)?.measure(&plain, observer, cancel)?;
            sample.workload = Workload { interval: sample.workload.interval, ..workload.clone() };
            return Ok(sample);
        }
        refuse(&self.machine, workload)?;
        // A write that has to be on the medium is not left in a drive's cache.
        let through = workload.buffering.is_through().then(|| self.machine.without_write_caches());
        let outcome = run(through.as_ref().unwrap_or(&self.machine), workload, cancel);
        let mut sample = record(workload, &self.machine, self.environment.clone(), &outcome);
        let [protected, all] = self.machine.buffers();
        sample.warnings.extend(memory_speed(&sample));
        sample.warnings.extend(left_in_buffer(&sample, Some(protected)).or_else(|| in_write_cache(&sample, Some(all))));
        if sample.total.requests == 0 && outcome.cancelled {
            return Err(MeasureError::Cancelled);
        }
        observer.progress(&Progress {
            elapsed: sample.elapsed(),
            requests: sample.total.requests,
            bytes: Bytes(sample.total.bytes),
            rate: sample.total.bytes_per_s,
        });
        Ok(sample)
    }

    fn another(&self) -> Option<Box<dyn Testbed + Send>> {
        Some(Box::new(self.clone()))
    }
}

impl Simulated {
    /// Whether the other is the same machine with the same volume, however each was set to it.
    pub fn is_same(&self, other: &Simulated) -> bool {
        self.machine == other.machine
    }

    /// Refuses what is not simulated of its volume.
    ///
    /// # Errors
    /// With what is not, and what to say instead.
    pub fn refuse(&self, workload: &Workload) -> Result<(), MeasureError> {
        refuse(&self.machine, workload)
    }
}

fn record(workload: &Workload, machine: &Machine, environment: Environment, outcome: &Outcome) -> Sample {
    let elapsed_s = outcome.elapsed_ns as f64 / 1e9;
    let mut all = Histogram::default();
    outcome.latency.iter().for_each(|latency| all.merge(latency));
    let total = Totals::of(&all, outcome.bytes.iter().sum(), elapsed_s);
    // Flushes that come between writes are told with those that were asked for, and are no part of the total.
    let mut flushes = outcome.flush.clone();
    flushes.merge(&outcome.latency[RequestKind::Flush as usize]);
    let [read, write, trim, flush] = RequestKind::ALL.map(|kind| {
        let latency = if kind == RequestKind::Flush { &flushes } else { &outcome.latency[kind as usize] };
        let is_there = workload.operation.has(kind) || latency.count() > 0;
        is_there.then(|| (Totals::of(latency, outcome.bytes[kind as usize], elapsed_s), latency.clone()))
    });
    let latency = |of: &Option<(Totals, Histogram)>| of.as_ref().map(|(_, latency)| latency.clone());
    let outstanding = outcome.outstanding_ns as f64 / outcome.elapsed_ns.max(1) as f64;
    let mean_s = all.mean().unwrap_or(0.0) / 1e9;
    let spacing = Nanoseconds(outcome.interval_ns);
    let interval = |(index, (requests, bytes)): (usize, &(u64, u64))| Interval {
        at_s: ((index + 1) as f64 * spacing.seconds()).min(elapsed_s),
        requests: *requests,
        bytes: *bytes,
        ..Interval::default()
    };
    let mut sample = Sample {
        elapsed_s,
        latency_histogram: Histograms {
            read: latency(&read),
            write: latency(&write),
            trim: latency(&trim),
            flush: latency(&flush),
            response: outcome.open_loop.as_ref().map(|open| open.response.clone()),
            ..Histograms::default()
        },
        read: read.map(|(totals, _)| totals),
        write: write.map(|(totals, _)| totals),
        trim: trim.map(|(totals, _)| Box::new(totals)),
        flush: flush.map(|(totals, _)| Box::new(totals)),
        intervals: outcome.intervals.iter().enumerate().map(interval).collect(),
        flush_s: outcome.flush_ns.map(|ns| ns as f64 / 1e9),
        open_loop: outcome.open_loop.as_ref().map(|open| open_loop(open).into()),
        depth_mean: DepthMean { little: total.requests_per_s * mean_s, counted: outstanding },
        cpu: cpu(outcome, &total, machine),
        block: Some(block(workload, outcome)),
        // What the volume has nothing to do with stood still.
        parts: told(&outcome.parts),
        instrument: Instrument { loop_ns_per_request: Some(0.0), ..Instrument::default() },
        failure: outcome.cancelled.then(|| Failure {
            code: "interrupted".to_owned(),
            message: "interrupted; the figures are of what was simulated until then".to_owned(),
        }),
        total,
        ..Sample::empty(Workload { interval: spacing, ..workload.clone() }, environment)
    };
    if spacing > workload.interval {
        let message = format!("the run was long: its intervals are {spacing} instead of {}", workload.interval);
        sample.warnings.push(Warning::new("intervals_widened", message, "give a longer interval"));
    }
    sample.warnings.extend(stalled_at_end(&sample, &outcome.cut_off));
    sample.warnings.extend(rate_not_reached(&sample));
    sample
}

fn open_loop(open: &system::OpenLoop) -> OpenLoop {
    OpenLoop {
        response_ns: Latency::of(&open.response),
        lateness_ns: Latency::of(&open.late),
        backlog_max: open.backlog_max,
        backlog_at_end: open.backlog_at_end,
    }
}

/// The simulator knows all CPU time there is, so both bounds are one; the machine's account tells interrupts apart.
fn cpu(outcome: &Outcome, total: &Totals, machine: &Machine) -> Cpu {
    let used_s = outcome.cpu_ns as f64 / 1e9;
    let wall_s = outcome.elapsed_ns as f64 / 1e9;
    let irq_s = (outcome.interrupt_ns as f64 / 1e9).min(used_s);
    let account = SystemAccount {
        wall_s,
        system_s: used_s - irq_s,
        irq_s,
        idle_s: (wall_s * f64::from(machine.cpu.count) - used_s).max(0.0),
        busy_s: used_s,
        ..SystemAccount::default()
    };
    let per_request = (total.requests > 0).then(|| used_s * 1e6 / total.requests as f64);
    Cpu {
        lower: CpuTime { user_s: 0.0, system_s: used_s },
        upper_s: Some(used_s),
        upper_method: Some("simulated".to_owned()),
        threads_s: Some(outcome.threads_ns as f64 / 1e9),
        lower_us_per_request: per_request,
        upper_us_per_request: per_request,
        clocks_per_byte: machine
            .cpu
            .clock
            .filter(|_| total.bytes > 0)
            .map(|clock| used_s * clock.0 / total.bytes as f64),
        system: Some(account),
        ..Cpu::default()
    }
}

/// The parts that did something; where a device did, with those that had nothing to do.
fn told(parts: &[Part]) -> Vec<Part> {
    let is_device = |part: &&Part| part.kind == PartKind::Device;
    let any_device = parts.iter().filter(is_device).any(|part| part.busy > 0.0);
    parts.iter().filter(|part| part.busy > 0.0 || any_device && is_device(part)).cloned().collect()
}

/// As a system counts it: a command is outstanding at a device from when it sets out, whatever it waits for; and a volume that a
/// controller makes is one device.
fn block(workload: &Workload, outcome: &Outcome) -> Block {
    let direction = |kind: RequestKind| {
        let (requests, bytes) = outcome.device[kind as usize];
        let asked = outcome.bytes[kind as usize];
        // What a warm-up left for later is in the device's count.
        let amplification = (asked > 0 && workload.warmup.0 == 0).then(|| bytes as f64 / asked as f64);
        Direction { requests, bytes, amplification }
    };
    let [read, write, trim] = [RequestKind::Read, RequestKind::Write, RequestKind::Trim].map(direction);
    let (at_work_ns, devices) = (outcome.at_work_ns.iter().sum::<u64>(), outcome.at_work_ns.len());
    let elapsed_ns = outcome.elapsed_ns.max(1) as f64;
    Block {
        requests: read.requests + write.requests + trim.requests,
        bytes: read.bytes + write.bytes,
        merges: outcome.merges,
        busy_fraction: at_work_ns as f64 / elapsed_ns / devices.max(1) as f64,
        devices: devices as u32,
        outstanding_mean: Some(outcome.at_devices_ns as f64 / elapsed_ns),
        read: Some(read),
        write: Some(write),
        trim: (trim.requests > 0).then_some(trim),
        phases: None,
    }
}
