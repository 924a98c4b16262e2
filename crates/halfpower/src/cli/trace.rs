//! `halfpower trace`: records traces of requests, reads those of other programs, and shows what they hold.

use crate::command::context::{Context, Ending};
use crate::output::Output;
use crate::sanitize::sanitize;
use crate::text::{counted, refuse};
use crate::trace::statistics::{Gatherer, Statistics};
use crate::trace::{TraceFile, TraceFormat, Wanted, import, open, record, show, synthetic};
use anyhow::Context as _;
use clap::{Args, Subcommand};
use halfpower_model::Nanoseconds;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  halfpower trace record /dev/sda --duration 60s --output sda.trace
  halfpower trace show sda.trace
  halfpower trace show web_2.csv --device 2
  halfpower trace import sda.blktrace.0 --output sda.trace
  halfpower trace to-study sda.trace --output like-sda.toml
  halfpower replay sda.trace test.bin --overwrite=test.bin

Read are fio's iolog (2 and 3), blkparse's text, blktrace's files, biosnoop's text, and the traces of Microsoft Research
Cambridge, the Storage Performance Council, Alibaba, Tencent, Florida International University and DiskSim.";

/// Record, import and show traces of requests
///
/// A trace says when each request was issued, what it was and where it went. Traces of other programs are read directly,
/// in one pass and constant memory; `trace import` keeps one in Halfpower's own form, which is smaller and faster to read.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Record the requests of a block device (needs root)
    ///
    /// Requests of all programs are recorded as they issue them to the device, before the kernel merges or splits them.
    /// Ctrl-C ends it too. Write the trace to another device: otherwise its own writes are in it.
    Record {
        /// A block device, or a path on it
        device: PathBuf,
        /// How long; without it, until Ctrl-C
        #[arg(long, value_name = "TIME")]
        duration: Option<Nanoseconds>,
        /// The file to write, which must not exist
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
    },
    /// Show mix, sizes, order, arrivals, queue depth, reuse, and where the requests go over time
    Show {
        #[command(flatten)]
        source: Source,
    },
    /// Write a trace of another program in Halfpower's own form
    Import {
        #[command(flatten)]
        source: Source,
        /// The file to write, which must not exist
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
    },
    /// Write a study with the closest synthetic workload, and how far it is off
    ToStudy {
        #[command(flatten)]
        source: Source,
        /// The file to write, which must not exist; standard output without it
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// A trace to read.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// The trace
    trace: PathBuf,
    #[command(flatten)]
    part: Part,
}

/// What of a trace's file is read.
#[derive(Debug, Args)]
pub(super) struct Part {
    /// Its format, if it is not recognised
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<TraceFormat>,
    /// One device, if it has requests of several
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
}

impl Part {
    pub(super) fn wanted(&self) -> Wanted<'_> {
        Wanted { format: self.format, device: self.device.as_deref() }
    }
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    match &arguments.action {
        Action::Record { device, duration, output } => record_device(context, device, *duration, output),
        Action::Show { source } => {
            let statistics = source.statistics(context)?;
            context.print(&statistics, || show::text(&name_of(&source.trace), &statistics))?;
            Ok(Ending::Done)
        }
        Action::Import { source, output } => {
            let file = new_file(output)?;
            let imported = import(&source.trace, source.part.wanted(), file);
            let opened = imported.inspect_err(|_| drop(std::fs::remove_file(output)))?;
            context.warn(&opened.notes);
            say(context, &opened.file, &opened.format.word(), output)
        }
        Action::ToStudy { source, output } => {
            let statistics = source.statistics(context)?;
            let text = synthetic::study(&name_of(&source.trace), &statistics);
            match output {
                Some(path) => Output::new_file(path).write(&text)?,
                None => context.console.print(&text)?,
            }
            Ok(Ending::Done)
        }
    }
}

impl Source {
    /// The figures of the trace.
    fn statistics(&self, context: &Context) -> anyhow::Result<Statistics> {
        let opened = open(&self.trace, self.part.wanted())?;
        context.warn(&opened.notes);
        let cannot = || format!("cannot read {}", self.trace.display());
        let (contents, _) = opened.file.contents().with_context(cannot)?;
        if contents.total() == 0 {
            refuse!("{} holds no request", self.trace.display());
        }
        let mut gatherer = Gatherer::new(contents);
        opened.file.for_each(|entry| gatherer.add(entry))?;
        Ok(gatherer.finish())
    }
}

/// The name of a trace, as text for people.
fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    sanitize(&name).into_owned()
}

fn new_file(path: &Path) -> anyhow::Result<File> {
    let file = File::options().read(true).write(true).create_new(true).open(path);
    file.with_context(|| format!("cannot make {}; name a file that does not exist", path.display()))
}

fn record_device(
    context: &Context,
    device: &Path,
    duration: Option<Nanoseconds>,
    output: &Path,
) -> anyhow::Result<Ending> {
    let heeded = context.interrupts.heeded();
    let file = new_file(output)?;
    let length = duration.map_or(1, |duration| duration.0);
    context.console.start_bar(length);
    let progress = |elapsed: Duration, requests: u64| {
        let position = if duration.is_some() { elapsed.as_nanos() as u64 } else { 0 };
        context.console.move_bar(position, length, "", &counted(requests as usize, "request"));
    };
    let duration = duration.map(|duration| Duration::from_nanos(duration.0));
    let recorded = record::record(device, duration, &heeded, file, progress);
    context.console.end_bar();
    let recorded = recorded.inspect_err(|_| drop(std::fs::remove_file(output)))?;
    if recorded.lost > 0 {
        let message = format!("{} events were lost: the device was faster than the recording", recorded.lost);
        context.console.message(&message);
    }
    if recorded.unfinished > 0 {
        let requests = counted(recorded.unfinished as usize, "request");
        context.console.message(&format!("{requests} without a completion from the kernel: their latency is unknown"));
    }
    say(context, &recorded.file, "the kernel", output)
}

/// Says what was written.
fn say(context: &Context, file: &TraceFile, from: &str, output: &Path) -> anyhow::Result<Ending> {
    let (contents, digest) = file.contents()?;
    let document = serde_json::json!({ "file": output, "from": from, "digest": digest, "contents": contents });
    context.print(&document, || {
        let requests = counted(contents.total() as usize, "request");
        format!("{}: {requests} in {}, from {from}\n", sanitize(&output.to_string_lossy()), contents.duration)
    })?;
    Ok(Ending::Done)
}
