//! `halfpower io`: one workload.

use super::sample_text;
use super::workload::{PLACE, WorkloadArguments};
use crate::command::note::Keeping;
use crate::command::number::count;
use crate::command::targets::{OverwriteArgument, PeakArguments};
use crate::command::{
    context::{Context, Ending},
    session::{self, Session},
};
use crate::simulator::name::SetArgument;
use crate::store::{NewRun, RunId, RunKind, RunStatus, Store};
use crate::target::{self, Contents, Opened, TargetOptions};
use crate::text::{UsageError, refuse};
use clap::Args;
use halfpower_engine::{Access, Host, Target};
use halfpower_model::sample::Warning;
use halfpower_model::{Bytes, Environment, Observer, Progress, Sample, Server, Testbed, Workload, WorkloadSpec};
use std::path::PathBuf;

/// The command line of one workload.
#[derive(Debug, Args)]
#[command(after_help = HINT, after_long_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Files, block devices, directories, nbd://HOST/EXPORT, smb://USER@HOST/SHARE/FILE, s3://BUCKET/KEY, null: (no I/O) or sim:MACHINE:VOLUME
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<PathBuf>,
    #[command(flatten)]
    workload: WorkloadArguments,
    /// Test files to make in each directory [default: 1]
    #[arg(long, value_name = "N", help_heading = PLACE, value_parser = count::<u32>)]
    files: Option<u32>,
    #[command(flatten, next_help_heading = PLACE)]
    overwrite: OverwriteArgument,
    #[command(flatten, next_help_heading = PLACE)]
    peaks: PeakArguments,
    #[command(flatten, next_help_heading = PLACE)]
    set: SetArgument,
    #[command(flatten)]
    keeping: Keeping,
    /// Read back and check what a stored run wrote with --verify
    ///
    /// The stored run determines the expected content of every block. Name its targets in the same order, without other workload options.
    #[arg(long, value_name = "RUN", help_heading = "Results")]
    verify_run: Option<RunId>,
}

const HINT: &str = "\
Example: halfpower io . --pattern random --depth 32 --duration 3s
`halfpower io --help` explains every word and has two examples for each common case.";

/// For `--help`: two for each common case.
pub(super) const EXAMPLES: &str = "\
Examples

Random reads at a high queue depth:
  halfpower io . --pattern random --request-size 4KiB --depth 32
  halfpower io /dev/nvme0n1 --pattern random --depth 64 --workers 4 --cpus 0-3

Sequential throughput:
  halfpower io . --request-size 1MiB --depth 8 --duration 10s
  halfpower io new.bin --size 4GiB --op write --request-size 1MiB \\
      --bytes 4GiB --durability flush_at_end

A database: small reads and writes, with flushes:
  halfpower io . --op mix=70 --pattern zipf=0.99 --request-size 8KiB \\
      --depth 16 --durability fdatasync=8
  halfpower io . --op write --request-size 16KiB --buffering buffered \\
      --file-state append --size 256MiB --durability fsync=1

At a rate, whether the storage keeps up or not:
  halfpower io . --pattern random --depth 256 --rate 20000/s --arrivals poisson
  halfpower io . --request-size 64KiB --depth 16 --rate 100MB/s \\
      --arrivals constant

Parallel writers, each with a file of its own, or all in one:
  halfpower io . --files 3 --size 256MiB --op write --file-state append \\
      --buffering buffered --processes --durability flush_at_end --time-close
  halfpower io . --size 768MiB --op write --workers 3 --buffering buffered \\
      --processes --durability flush_at_end

Stripes and mirrors:
  halfpower io /mnt/a /mnt/b /mnt/c --layout stripe=64KiB --depth 8
  halfpower io /dev/sdb /dev/sdc --layout mirror=shortest_queue --op mix=80 \\
      --pattern random --depth 16 --overwrite=/dev/sdb --overwrite=/dev/sdc

Servers. The password of smb:// is asked for, or in HALFPOWER_PASSWORD, or in
the file HALFPOWER_CREDENTIALS. s3:// takes AWS_ENDPOINT_URL,
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY:
  halfpower io smb://me@nas/data/test.bin --pattern random --depth 8
  halfpower io s3://bucket/key --request-size 1MiB --depth 16

Several sizes:
  halfpower io . --pattern random --sizes 4KiB:70/64KiB:30 --depth 16
  halfpower io . --op mix=60 --pattern random \\
      --sizes read=4KiB:9/1MiB:1,write=64KiB

Cost of the load generator, and fio's option names:
  halfpower io null: --depth 32
  halfpower io . --rw randrw --rwmixread 70 --bs 4k --iodepth 16 --direct 1";

#[cfg(test)]
impl Arguments {
    /// Checks whatever needs no target.
    pub(super) fn check(&self) -> Result<(), crate::text::UsageError> {
        self.overwrite.of(&self.targets)?;
        self.workload.spec().map(drop)
    }
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let spec = arguments.workload.spec()?;
    if let Some(written) = arguments.verify_run {
        return verify(context, arguments, &spec, written);
    }
    let options = TargetOptions {
        targets: arguments.set.on(&arguments.targets)?,
        files: arguments.files,
        layout: spec.layout.unwrap_or_default(),
        size: spec.size,
        size_is_fixed: spec.size.is_some(),
        overwrite: arguments.overwrite.of(&arguments.targets)?,
        peaks: arguments.peaks.given()?.to_vec(),
        held: Vec::new(),
    };
    one(context, &spec, &options, &arguments.keeping)
}

/// That a trace reaches further than its target.
fn begins_again(end: Bytes, span: Bytes) -> Warning {
    let message =
        format!("the trace reaches to {end}, the target to {span}: offsets beyond it begin at its start again");
    Warning::new("trace_begins_again", message, "name a larger target, or a directory with --size")
}

/// Runs one workload on targets, and keeps and shows its sample.
pub(super) fn one(
    context: &Context,
    spec: &WorkloadSpec,
    options: &TargetOptions,
    keeping: &Keeping,
) -> anyhow::Result<Ending> {
    let targets = &options.targets;
    let mut store = session::open_store(context, !keeping.no_store)?;
    // Before the free space is checked: a leftover test file may take it.
    target::offer_removal(&mut store, targets, &context.console)?;
    let site = target::examine(options)?;
    let workload = spec.resolve(&site.environment()).map_err(UsageError::from)?;
    if let Some(place) = site.only_read(workload.plugin.iter()).filter(|_| workload.operation.destroys()) {
        let path = place.path.display();
        match &place.facts.server {
            _ if place.path.as_os_str() == halfpower_engine::NULL_TARGET => {
                refuse!("the plug-in's data would be overwritten; add --overwrite if it may be lost")
            }
            Some(Server { read_only: Some(why), .. }) => refuse!("{path} cannot be written: {why}"),
            Some(_) => refuse!("{path} would be written; add --overwrite if its data may be lost"),
            None => refuse!("{path} exists and would be overwritten; add --overwrite if its data may be lost"),
        }
    }
    if let Some(plugin) = &workload.plugin {
        // Before any file is created.
        halfpower_engine::check_plugin(plugin)?;
    }
    site.refuse_unsimulated(&workload)?;
    site.refuse_holes(std::iter::once(&workload))?;
    context.warn(&site.notes);
    if let Some(trace) = &workload.trace
        && trace.contents.end > workload.span
    {
        context.warn(&[begins_again(trace.contents.end, workload.span)]);
    }
    // This may wait for another process that writes the store; a signal ends the wait at once.
    let (name, environment) = (workload.to_string(), site.environment());
    let run = begin(context, &mut store, &name, targets, workload.seed, keeping, &environment)?;
    let heeded = context.interrupts.heeded();
    let contents = Contents::for_state(spec.file_state.unwrap_or_default());
    let work = |_: &mut Session<'_>, opened: Opened| measure(context, spec, opened.testbed);
    let mut session = Session { context, store, run };
    let opening = (spec.seed.unwrap_or(1), contents);
    let (measured, removed) = session.on_targets(&site, opening, work);
    let measured = measured.map(|mut sample| {
        sample.note = keeping.note.text();
        let kept = session.store.add_sample(run, 0, 0, &sample);
        (sample, kept)
    });
    let status = match &measured {
        Ok((sample, _)) => status_of(sample),
        Err(error) if error.is::<target::Followed>() => RunStatus::Complete,
        Err(error) if session::is_interruption(error) || heeded.is_cancelled() => RunStatus::Interrupted,
        Err(_) => RunStatus::Failed,
    };
    let finished = session.store.finish_run(run, status);
    drop(heeded);
    if measured.is_err() && status == RunStatus::Interrupted {
        removed?;
        context.console.message("Interrupted before anything was measured.");
        return Ok(Ending::Interrupted);
    }
    // The first error explains the others. The sample is shown even if it could not be stored.
    let (sample, kept) = measured?;
    let ending = session.or_where(show(context, &sample));
    kept?;
    removed?;
    finished?;
    ending
}

/// Reads back and checks the data that a stored run wrote.
fn verify(context: &Context, arguments: &Arguments, spec: &WorkloadSpec, written: RunId) -> anyhow::Result<Ending> {
    if *spec != WorkloadSpec::default() || arguments.files.is_some() {
        refuse!("--verify-run reads what that run wrote, its way; leave the other options out");
    }
    let stored = session::open_store(context, true)?;
    // The error of `run` names a missing run.
    let samples = stored.run(written).and_then(|run| stored.samples(run.id))?;
    let stamped = |sample: &Sample| sample.verified.is_some() && sample.workload.operation.writes();
    let mut store = if arguments.keeping.no_store { Store::in_memory()? } else { stored };
    let Some(stored) = samples.into_iter().rev().find(|stored| stamped(&stored.sample)) else {
        refuse!("run {written} wrote nothing that was stamped; write with --verify stamp, and verify that run");
    };
    if let Some(trace) = &stored.sample.workload.trace {
        refuse!("run {written} replayed {}, which a run does not keep; replay it with --verify read-back", trace.name);
    }
    let targets = arguments.targets.iter().map(|path| Target::open(path, Access::Read)).collect::<Result<_, _>>()?;
    let mut host = Host::on(targets)?;
    let heeded = context.interrupts.heeded();
    let mut sample = host.verify(&stored.sample, &heeded)?;
    sample.note = arguments.keeping.note.text();
    let (name, seed) = (format!("verification of run {written}"), stored.sample.workload.seed);
    let run = begin(context, &mut store, &name, &arguments.targets, seed, &arguments.keeping, host.describe());
    let kept = run.and_then(|run| {
        store.add_sample(run, 0, 0, &sample)?;
        store.finish_run(run, status_of(&sample))?;
        Ok(run)
    });
    drop(heeded);
    let ending = match &kept {
        Ok(run) => Session { context, store, run: *run }.or_where(show(context, &sample)),
        Err(_) => show(context, &sample),
    };
    kept?;
    ending
}

fn begin(
    context: &Context,
    store: &mut Store,
    name: &str,
    targets: &[PathBuf],
    seed: u64,
    keeping: &Keeping,
    environment: &Environment,
) -> anyhow::Result<RunId> {
    Ok(store.begin_run(&NewRun {
        kind: RunKind::Io,
        name,
        question: None,
        study_text: None,
        plan: None,
        command: &context.command(),
        target: &session::stored_targets(targets)?.join(", "),
        seed,
        note: keeping.note.text().as_deref(),
        environment,
    })?)
}

fn measure(context: &Context, spec: &WorkloadSpec, mut testbed: Box<dyn Testbed>) -> anyhow::Result<Sample> {
    let (console, heeded) = (&context.console, context.interrupts.heeded());
    // A target that grew may be larger than requested, so the workload is resolved again.
    let workload = spec.resolve(testbed.describe()).map_err(UsageError::from)?;
    let length = workload.limits.duration.map_or(1, |duration| duration.0 + workload.warmup.0);
    console.start_bar(length);
    let mut bar = Bar { context, workload: &workload, length };
    let mut sample = testbed.measure(&workload, &mut bar, &heeded)?;
    sample.warnings.extend(spec.missed_direct(testbed.describe(), &workload).map(|alignment| {
        let size = workload.request_size;
        let message = format!("requests of {size} are no multiple of {alignment}, which direct I/O requires here, so they went through the page cache");
        Warning::new("not_direct", message, "use a multiple, or --buffering buffered")
    }));
    Ok(sample)
}

struct Bar<'a> {
    context: &'a Context,
    workload: &'a Workload,
    length: u64,
}

impl Observer for Bar<'_> {
    fn progress(&mut self, progress: &Progress) {
        let limits = &self.workload.limits;
        let (position, length) = match (limits.duration, limits.bytes, limits.requests) {
            (Some(_), ..) => (progress.elapsed.0, self.length),
            (None, Some(bytes), _) => (progress.bytes.0, bytes.0),
            (None, None, requests) => (progress.requests, requests.unwrap_or(1)),
        };
        self.context.console.move_bar(position, length, "", &progress.rate.to_string());
    }
}

fn status_of(sample: &Sample) -> RunStatus {
    match sample.failure.as_ref().map(|failure| failure.code.as_str()) {
        None => RunStatus::Complete,
        Some("interrupted") => RunStatus::Interrupted,
        Some(_) => RunStatus::Failed,
    }
}

fn show(context: &Context, sample: &Sample) -> anyhow::Result<Ending> {
    context.print(sample, || sample_text::summary(sample))?;
    if let Some(failure) = &sample.failure {
        context.console.message(&failure.message);
    }
    Ok(match status_of(sample) {
        RunStatus::Complete => Ending::Done,
        RunStatus::Interrupted => Ending::Interrupted,
        _ => Ending::Failed,
    })
}
