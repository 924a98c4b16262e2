//! This host as a testbed: prepares the target, runs the workload, makes the sample.

use crate::instrument::accounts::Moment;
use crate::instrument::clock::Clock;
use crate::instrument::phases::Watching;
use crate::network::s3::upload::Uploads;
use crate::personality::{for_personality, null::Null, personalities};
use crate::record::{self, Context};
use crate::run;
use crate::system::machine::{available_memory, cpu_model, governors};
use crate::system::{Root, allowed_cpus, disk};
use crate::target::interference::InterferenceWatch;
use crate::target::{OpenTarget, Target, TargetError, Targets};
use crate::verification;
use crate::worker::ledger::Ledger;
use crate::worker::pace;
use crate::worker::recorder::Snapshot;
use halfpower_model::environment::PersonalityFacts;
use halfpower_model::sample::{Failure, Totals, Verified, Warning};
use halfpower_model::{
    BlockPhases, Bytes, BytesPerSecond, CachePolicy, Cancel, Environment, GivenPeak, Limits, MeasureError, Nanoseconds,
    Observer, Personality as Name, Sample, SubmitBatch, TargetFacts, Testbed, Verify, WorkerKind, Workload,
};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// Requests for the measurement of the loop's own cost; some 0.1 ms.
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
    // Cached: they rarely change while the program runs, and reading them delays a sample.
    static CACHED: OnceLock<(Option<String>, String, Vec<PersonalityFacts>)> = OnceLock::new();
    let read = || (cpu_model(&Root::host()), Vec::from_iter(governors(&Root::host())).join(", "), personalities());
    let (cpu_model, governors, personalities) = CACHED.get_or_init(read).clone();
    let system = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let memory = rustix::system::sysinfo();
    let cpu_numbers = allowed_cpus();
    Environment {
        host: text(system.nodename()),
        kernel: text(system.release()),
        cpus: cpu_numbers.len().max(1) as u32,
        cpu_numbers,
        cpu_model,
        // Several if they differ.
        governor: Some(governors).filter(|governors| !governors.is_empty()),
        machine_file_crc32c: None,
        memory_bytes: Bytes(memory.totalram as u64 * u64::from(memory.mem_unit)),
        clock: Clock::host().facts(),
        personalities,
        target,
        more_targets,
    }
}

impl Host {
    /// This host with an open target.
    pub fn new(target: Target) -> Host {
        Host::of(Targets::one(target))
    }

    /// This host with several open targets.
    ///
    /// # Errors
    /// When two of them share storage, or `null:` is among them.
    pub fn on(targets: Vec<Target>) -> Result<Host, TargetError> {
        Targets::new(targets).map(Host::of)
    }

    fn of(targets: Targets) -> Host {
        let mut facts = targets.facts();
        let first = facts.remove(0);
        Host { environment: environment(first, facts), targets, clock: Clock::host() }
    }

    /// Takes over given peaks, for every target.
    pub fn give_peaks(&mut self, given: &[GivenPeak]) {
        self.environment.all_targets_mut().for_each(|target| target.give_peaks(given));
    }

    /// Reads back from the medium the blocks that a sample has written; returns the totals of these reads.
    fn read_back(
        &mut self,
        sample: &mut Sample,
        targets: &[OpenTarget],
        ledger: &Ledger,
        cancel: &Cancel,
    ) -> Result<Totals, MeasureError> {
        let mut read = Totals::default();
        let from = self.clock.tick();
        let reading = verification::reading(&sample.workload, ledger, 0);
        let chosen = self.targets.of(&reading)?;
        chosen.flush()?;
        chosen.prepare_cache(&Workload { cache: CachePolicy::Cold, ..reading }, cancel)?;
        let copies = verification::copies(&sample.workload);
        for (volume, its) in &copies {
            let reading = verification::reading(&sample.workload, ledger, *volume);
            if reading.span.0 == 0 {
                continue;
            }
            let place = if copies.len() > 1 { format!("{}: ", chosen.path(its.start)) } else { String::new() };
            // Of `null:` there are none.
            let its = if targets.is_empty() { targets } else { &targets[its.clone()] };
            let volumes = Some(ledger.volumes(*volume));
            let raw = for_personality!(reading.personality,
                P => run::run::<P>(&reading, its, self.clock, volumes, &mut (), cancel, None))?;
            verification::conclude_reading(sample, &raw, ledger, &place, cancel.is_cancelled());
            read.requests += raw.counts.iter().map(Snapshot::requests).sum::<u64>();
            read.bytes += raw.counts.iter().map(|counts| counts.bytes).sum::<u64>();
            // A reader that broke down keeps its blocks: the next would wait for them forever.
            if raw.workers.iter().any(|worker| worker.breakdown.is_some()) {
                break;
            }
        }
        let took_s = self.clock.nanoseconds(self.clock.tick() - from) as f64 / 1e9;
        if let Some(verified) = &mut sample.verified {
            verified.read_back_s = Some(took_s);
        }
        read.requests_per_s = read.requests as f64 / took_s;
        read.bytes_per_s = BytesPerSecond(read.bytes as f64 / took_s);
        Ok(read)
    }

    /// Reads and checks the blocks that an earlier sample has written; returns the sample of these reads.
    ///
    /// # Errors
    /// If the target cannot be read, or the earlier sample wrote nothing that can be checked.
    pub fn verify(&mut self, written: &Sample, cancel: &Cancel) -> Result<Sample, MeasureError> {
        let workload = &written.workload;
        let ledger = verification::ledger_of(written).map_err(no_memory)?;
        let reading = verification::reading(workload, &ledger, 0);
        let chosen = self.environment.among(workload.among).filter(|chosen| chosen.targets() == workload.targets);
        let there = chosen.map_or(Bytes(0), |chosen| chosen.volume_size(workload.layout));
        if there < reading.span {
            return Err(MeasureError::Unsupported(format!(
                "{} holds {there}, and {} of {} target(s) were written; name the targets of that run, in the same order",
                self.environment.target.path, reading.span, workload.targets,
            )));
        }
        let chosen = self.targets.of(&reading)?;
        let _locked = chosen.keep_from_writers().map_err(|writer| {
            MeasureError::Unsupported(format!(
                "{writer}, and its data would look like corruption; verify again when that program has ended"
            ))
        })?;
        let targets = chosen.reopen(&reading)?;
        let verified = Some(Verified { block_bytes: workload.verify_block(), ..Verified::default() });
        let started_at = jiff::Timestamp::now();
        let empty = Sample::empty(workload.clone(), self.environment.clone());
        let mut sample = Sample { started_at, verified, ..empty };
        let read = self.read_back(&mut sample, &targets, &ledger, cancel)?;
        if sample.verified.as_ref().is_none_or(|verified| verified.blocks == 0) && sample.failure.is_none() {
            return Err(MeasureError::Unsupported(
                "the run wrote no block that can be verified; write with --verify stamp".to_owned(),
            ));
        }
        sample.elapsed_s = sample.verified.as_ref().and_then(|verified| verified.read_back_s).unwrap_or_default();
        Ok(Sample { workload: reading, total: read.clone(), read: Some(read), ..sample })
    }
}

fn no_memory(source: io::Error) -> MeasureError {
    MeasureError::System { action: "allocate the table of", subject: "blocks to verify".to_owned(), source }
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
        self.measure_through(workload, observer, cancel, None).map(|(sample, _)| sample)
    }
}

impl Host {
    /// Measures from an instant on that others share. `instant` is called once, when the workers are ready, and gives it by
    /// [`Clock::now`], or gives up; the workers are released then. Also returns how long after it the last
    /// worker began.
    ///
    /// # Errors
    /// As [`Testbed::measure`]; [`MeasureError::Cancelled`] if it was given up.
    pub fn measure_from(
        &mut self,
        workload: &Workload,
        observer: &mut dyn Observer,
        cancel: &Cancel,
        instant: &mut dyn FnMut() -> Option<Nanoseconds>,
    ) -> Result<(Sample, Nanoseconds), MeasureError> {
        let clock = self.clock;
        let mut gate = || {
            let from = clock.tick_at(instant()?);
            pace::wait_until(clock, from, &AtomicBool::new(false));
            Some(from)
        };
        self.measure_through(workload, observer, cancel, Some(&mut gate))
    }

    fn measure_through(
        &mut self,
        workload: &Workload,
        observer: &mut dyn Observer,
        cancel: &Cancel,
        gate: Option<run::Gate<'_>>,
    ) -> Result<(Sample, Nanoseconds), MeasureError> {
        let mut chosen = self.targets.of(workload)?;
        let hole_share = chosen.check(workload)?;
        check_memory(workload)?;
        let clock = self.clock;
        let mut targets = chosen.reopen(workload)?;
        chosen.bring_into_state(workload, cancel)?;
        let cached_share_before = chosen.prepare_cache(workload, cancel)?;
        let loop_ns_per_request = loop_cost_ns(workload, clock)?;
        // Before anything is counted.
        let parts = workload.span.0.div_ceil(workload.request_size.0.max(1));
        let uploads = Uploads::begin(targets.iter_mut().filter_map(OpenTarget::name_mut), parts);
        let failed = |source| MeasureError::System { action: "upload", subject: chosen.path(0).to_owned(), source };
        let uploads = uploads.map_err(failed)?;
        let counters = chosen.counters();
        let phases = (workload.block_phases == BlockPhases::On).then(|| Watching::start(&chosen.disks()));
        let before = counters.as_ref().and_then(|counters| counters.read());
        let cpu_before = Moment::now();
        let ledger = (workload.verify != Verify::Off).then(|| Ledger::new(workload)).transpose().map_err(no_memory)?;
        let volumes = ledger.as_ref().map(|ledger| ledger.volumes(0));
        let mut watched = InterferenceWatch::new(&chosen, workload, observer);
        let mut raw = for_personality!(workload.personality,
            P => run::run::<P>(workload, &targets, clock, volumes, &mut watched, cancel, gate))?;
        let phases = phases.map(|phases| phases.map(Watching::finish));
        let account = Moment::now().zip(cpu_before).map(|(after, before)| after.since(&before, 0.0));
        let after = counters.as_ref().and_then(|counters| counters.read());
        let elapsed_s = raw.elapsed.seconds();
        if cancel.is_cancelled() && raw.counts.iter().all(|counts| counts.requests() == 0) {
            return Err(MeasureError::Cancelled);
        }
        let wall_s = elapsed_s + workload.warmup.seconds();
        let context = Context {
            environment: self.environment.among(workload.among).unwrap_or_else(|| self.environment.clone()),
            clock,
            loop_ns_per_request,
            cached_share_before,
            hole_share,
            elapsed_s,
            account,
            block: before.zip(after).map(|(before, after)| disk::between(&before, &after, wall_s)),
            cancelled: cancel.is_cancelled(),
        };
        let ended = uploads.end().map(|(done, given_up)| {
            raw.granted.obtained.extend(done);
            given_up
        });
        let mut sample = record::sample(workload, &raw, context);
        match ended {
            Ok(given_up) => sample.warnings.extend(given_up.into_iter().map(|what| {
                Warning::new(
                    "upload_given_up",
                    what,
                    "set --bytes to the size of the object, without a duration, and let it end",
                )
            })),
            Err(error) => {
                let message = format!("the upload of {} did not end: {error}", chosen.path(0));
                sample.failure.get_or_insert(Failure { code: "EIO".to_owned(), message });
            }
        }
        match phases {
            Some(Ok(phases)) => sample.block.iter_mut().for_each(|block| block.phases = phases.clone().map(Box::new)),
            Some(Err(why)) => sample.instrument.refused.push(format!("block_phases: {why}")),
            None => {}
        }
        sample.warnings.extend(watched.warning());
        if let Some(ledger) = &ledger {
            verification::conclude(&mut sample, &raw, ledger);
            if workload.verify == Verify::ReadBack && !cancel.is_cancelled() {
                self.read_back(&mut sample, &targets, ledger, cancel)?;
            }
        }
        Ok((sample, raw.late))
    }
}

/// The cost of the loop itself per request: the same stream, depth and counters with requests that do nothing.
fn loop_cost_ns(workload: &Workload, clock: Clock) -> Result<f64, MeasureError> {
    let submit_batch = match workload.submit_batch {
        // Its most expensive case.
        SubmitBatch::Auto => SubmitBatch::Requests(1),
        number => number,
    };
    let empty = Workload {
        personality: Name::Null,
        submit_batch,
        limits: Limits { duration: None, requests: Some(CALIBRATION_REQUESTS), bytes: None },
        worker_kind: WorkerKind::Thread,
        cpu_count: None,
        verify: Verify::Off,
        ..verification::plain(workload)
    };
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let raw = run::run::<Null>(&empty, &[], clock, None, &mut (), &Cancel::default(), None)?;
        best = best.min(raw.elapsed.0 as f64 / CALIBRATION_REQUESTS as f64);
    }
    Ok(best)
}

/// Rejects buffers of more than half of the free memory.
fn check_memory(workload: &Workload) -> Result<(), MeasureError> {
    if workload.personality == Name::Null {
        return Ok(());
    }
    let stride = workload.request_size.0.next_multiple_of(4096);
    let needed = Bytes(stride.saturating_mul(u64::from(workload.depth)).saturating_mul(u64::from(workload.workers)));
    match available_memory() {
        Some(available) if needed.0 > available.0 / 2 => Err(MeasureError::Unsupported(format!(
            "the buffers need {needed}, more than half of the {available} of free memory; \
             use a smaller --request-size, a smaller --depth or fewer --workers"
        ))),
        _ => Ok(()),
    }
}
