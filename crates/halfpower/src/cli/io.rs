//! `halfpower io`: one workload.

use super::console::printable;
use super::targets::OverwriteArgument;
use super::workload::WorkloadArguments;
use super::{Context, Ending, UsageError, session};
use crate::ground::{self, Contents, KeptTestFile, Opened, Opening, Site, Wish};
use crate::store::{NewRun, RunId, RunKind, RunStatus, Store};
use clap::Args;
use halfpower_model::sample::Totals;
use halfpower_model::units::significant;
use halfpower_model::{Nanoseconds, Observer, Progress, Quantity, Sample, Testbed, Workload, WorkloadSpec};
use std::fmt::Write;
use std::path::PathBuf;

/// Runs one workload on a file, a block device, a directory (with a test file that is removed afterwards), or null:.
///
/// A file that does not exist is made when --size says how large. What exists is written only with --overwrite.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Files, block devices and directories, or null:
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<PathBuf>,
    /// Test files to make in each directory [default: 1]
    #[arg(long, value_name = "N", help_heading = "What is measured")]
    files: Option<u32>,
    #[command(flatten)]
    overwrite: OverwriteArgument,
    #[command(flatten)]
    workload: WorkloadArguments,
    /// Keep nothing in the store
    #[arg(long, conflicts_with = "store", help_heading = "Results")]
    no_store: bool,
    /// Something to remember the sample by
    #[arg(long, value_name = "TEXT", help_heading = "Results")]
    note: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  halfpower io data.bin --size 1GiB --op write --request-size 1MiB --durability flush-at-end
  halfpower io data.bin --pattern random --request-size 4KiB --depth 32 --duration 3s --json
  halfpower io . --op mix=70 --pattern random --depth 8 --workers 2
  halfpower io /dev/sdb --bs 64k --iodepth 4 --rw read --direct 1 --runtime 10
  halfpower io null: --depth 32                         what the program itself costs";

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let spec = arguments.workload.spec()?;
    let wish = Wish {
        targets: arguments.targets.clone(),
        files: arguments.files,
        layout: spec.layout.unwrap_or_default(),
        size: spec.span,
        size_is_fixed: spec.span.is_some(),
        overwrite: arguments.overwrite.of(&arguments.targets)?,
        held: Vec::new(),
    };
    let mut store = session::open_store(context, !arguments.no_store)?;
    // Before the room is looked at: a test file that was left may be what takes it.
    ground::offer_removal(&mut store, &arguments.targets, &context.console, &context.cancel)?;
    let site = ground::look(&wish)?;
    let workload = spec.resolve(&site.environment())?;
    check_may_write(&site, &workload)?;
    if let Some(plugin) = &workload.plugin {
        // Before anything is made for it.
        halfpower_engine::check_plugin(plugin)?;
    }
    site.refuse_holes(std::iter::once(&workload))?;
    for note in &site.notes {
        context.console.warning(&format!("{}; {}", note.message, note.remedy));
    }
    let run = begin(context, &mut store, &site, &workload, arguments)?;
    let mut test_files = Vec::new();
    let measured = measure(context, &mut store, run, &site, &spec, &mut test_files);
    context.console.end_bar();
    let removed = session::remove(test_files, &mut store);
    let kept = measured.and_then(|mut sample| {
        sample.note.clone_from(&arguments.note);
        store.add_sample(run, 0, 0, &sample)?;
        Ok(sample)
    });
    let status = match &kept {
        Ok(sample) => status_of(sample),
        Err(error) if session::is_interruption(error) || context.cancel.is_cancelled() => RunStatus::Interrupted,
        Err(_) => RunStatus::Failed,
    };
    let finished = store.finish_run(run, status);
    if kept.is_err() && status == RunStatus::Interrupted {
        removed?;
        context.console.message("Interrupted before anything was measured.");
        return Ok(Ending::Interrupted);
    }
    // The first thing that went wrong says the most.
    let sample = kept?;
    removed?;
    finished?;
    show(context, &sample)
}

/// Writing to what exists takes the user's word for it.
fn check_may_write(site: &Site, workload: &Workload) -> Result<(), UsageError> {
    match site.only_read().filter(|_| workload.operation.destroys()) {
        None => Ok(()),
        Some(path) => Err(UsageError(format!(
            "{} exists and would be written over; say --overwrite to lose what it holds",
            path.display()
        ))),
    }
}

fn begin(
    context: &Context,
    store: &mut Store,
    site: &Site,
    workload: &Workload,
    arguments: &Arguments,
) -> anyhow::Result<RunId> {
    let target = session::stored_targets(&arguments.targets)?.join(", ");
    Ok(store.begin_run(&NewRun {
        kind: RunKind::Io,
        name: &workload.to_string(),
        question: None,
        study_text: None,
        plan: None,
        command: &format!("halfpower {}", context.typed),
        target: &target,
        seed: workload.seed,
        note: arguments.note.as_deref(),
        environment: &site.environment(),
    })?)
}

fn measure(
    context: &Context,
    store: &mut Store,
    run: RunId,
    site: &Site,
    spec: &WorkloadSpec,
    test_files: &mut Vec<KeptTestFile>,
) -> anyhow::Result<Sample> {
    let console = &context.console;
    let opening = Opening {
        store,
        run,
        seed: spec.seed.unwrap_or(1),
        contents: Contents::for_state(spec.file_state.unwrap_or_default()),
        left: Vec::new(),
        cancel: &context.cancel,
        progress: &mut |_| {},
    };
    let Opened { mut host, test_files: made, .. } = session::open(context, site, opening)?;
    *test_files = made;
    // What was made may be larger than what was asked for where the target grew; resolve on what is there.
    let workload = spec.resolve(host.describe())?;
    let length = workload.limits.duration.map_or(1, |duration| duration.0 + workload.warmup.0);
    console.start_bar(length);
    let mut bar = Bar { context, workload: &workload, length };
    Ok(host.measure(&workload, &mut bar, &context.cancel)?)
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
    if context.global.json {
        context.console.print_json(sample)?;
    } else {
        context.console.print(&summary(sample))?;
    }
    if let Some(failure) = &sample.failure {
        context.console.message(&failure.message);
    }
    Ok(match status_of(sample) {
        RunStatus::Complete => Ending::Done,
        RunStatus::Interrupted => Ending::Interrupted,
        _ => Ending::Failed,
    })
}

/// A sample for people.
fn summary(sample: &Sample) -> String {
    let target = &sample.environment.target;
    let below = [&target.filesystem, &target.device, &target.transport];
    let below: Vec<&str> = below.into_iter().flatten().map(String::as_str).collect();
    let path = printable(&target.path);
    let mut text = format!("{}, {}, on {path}", sample.workload, sample.workload.named_personality());
    if !below.is_empty() {
        let _ = write!(text, " ({})", below.join(", "));
    }
    text.push('\n');
    let parts = [("read", &sample.read), ("write", &sample.write)];
    let mixed = parts.iter().all(|(_, totals)| totals.is_some());
    throughput(&mut text, "throughput", &sample.total);
    for (name, totals) in parts.into_iter().filter(|_| mixed) {
        totals.iter().for_each(|totals| throughput(&mut text, name, totals));
    }
    latency(&mut text, "latency", &sample.total);
    let cpu = &sample.cpu;
    // The kernel's count moves with its ticks: nothing counted in so short a sample is nothing known.
    if let Some(cost) = cpu.lower_us_per_request.filter(|cost| *cost > 0.0) {
        let share = |part_s: f64| significant(part_s * 1e6 / sample.total.requests.max(1) as f64);
        let (user, system) = (share(cpu.lower.user_s), share(cpu.lower.system_s));
        let _ =
            writeln!(text, "  {:<11} {} µs a request (user {user}, system {system})", "processor", significant(cost));
    }
    let asked = u64::from(sample.workload.depth) * u64::from(sample.workload.workers);
    let _ = writeln!(
        text,
        "  {:<11} {} of {asked} outstanding on average",
        "depth",
        significant(sample.depth_mean.counted)
    );
    let flush = sample.flush_s.map(|flush_s| format!(", {} of it the flush", Nanoseconds::from_seconds(flush_s)));
    let elapsed = Nanoseconds::from_seconds(sample.elapsed_s);
    let _ = writeln!(text, "  {:<11} {elapsed}{}", "measured", flush.unwrap_or_default());
    for warning in &sample.warnings {
        let _ = writeln!(text, "  {:<11} {}; {}", "warning", warning.message, warning.remedy);
    }
    text
}

fn throughput(text: &mut String, name: &str, totals: &Totals) {
    let rate = Quantity::RequestsPerSecond.format(totals.requests_per_s);
    let _ = writeln!(text, "  {name:<11} {}, {rate}", totals.bytes_per_s);
}

fn latency(text: &mut String, name: &str, totals: &Totals) {
    let latency = &totals.latency_ns;
    let whole = |value: Option<f64>| value.map(|value| value.round() as u64);
    let figures = [
        ("mean", whole(latency.mean)),
        ("p50", latency.p50),
        ("p90", latency.p90),
        ("p99", latency.p99),
        ("p99.9", latency.p99_9),
        ("max", latency.max),
    ];
    let shown = figures.iter().filter_map(|(name, value)| Some(format!("{name} {}", Nanoseconds((*value)?))));
    let _ = writeln!(text, "  {name:<11} {}", shown.collect::<Vec<_>>().join(", "));
}
