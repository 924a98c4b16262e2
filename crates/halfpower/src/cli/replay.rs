//! `halfpower replay`: issues the requests of a trace again.

use super::io;
use super::trace::Part;
use super::workload::{PLACE, ReplayArguments};
use crate::command::context::{Context, Ending};
use crate::command::note::Keeping;
use crate::command::targets::{OverwriteArgument, PeakArguments};
use crate::simulator::name::SetArgument;
use crate::target::{self, TargetOptions};
use crate::trace::open;
use anyhow::Context as _;
use clap::Args;
use halfpower_model::trace::{Entries, Speed, Trace};
use halfpower_model::{Bytes, WorkloadSpec};
use std::path::PathBuf;
use std::slice;
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  halfpower replay sda.trace /mnt/data                  on time, in a test file, removed afterwards
  halfpower replay web_2.csv sim:nvme-gen4:steady       a trace of another program, on a simulated machine
  halfpower replay sda.trace /dev/sdb --speed 2 --overwrite=/dev/sdb
  halfpower replay sda.trace . --speed max --size 4GiB";

/// Largest test file that is not asked for with --size.
const TEST_FILE_MAX: Bytes = Bytes(8 << 30);

/// Issue the requests of a trace again, on another target or a simulated machine
///
/// Requests are issued at their times in the trace, or faster. One that is late is issued as soon as possible, and its response
/// time counts from its intended arrival; lateness is reported. Offsets beyond the target begin at its start again. In a
/// directory, the test file is as large as the trace needs, up to 8 GiB; --size sets another size. Offsets and sizes are rounded to
/// what direct I/O needs. A target that exists is written only with --overwrite.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The trace, in any form that `halfpower trace` reads
    trace: PathBuf,
    /// A file, a block device, a directory, nbd://, smb:// or sim:MACHINE:VOLUME
    target: PathBuf,
    /// How many times as fast; max: no more outstanding than in the trace, without its times
    #[arg(long, value_name = "TIMES", default_value = "1")]
    speed: Speed,
    #[command(flatten)]
    part: Part,
    #[command(flatten)]
    workload: ReplayArguments,
    #[command(flatten, next_help_heading = PLACE)]
    overwrite: OverwriteArgument,
    #[command(flatten, next_help_heading = PLACE)]
    peaks: PeakArguments,
    #[command(flatten, next_help_heading = PLACE)]
    set: SetArgument,
    #[command(flatten)]
    keeping: Keeping,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let named = slice::from_ref(&arguments.target);
    let overwrite = arguments.overwrite.of(named)?;
    let opened = open(&arguments.trace, arguments.part.wanted())?;
    context.warn(&opened.notes);
    let cannot = || format!("cannot read {}", arguments.trace.display());
    let (contents, digest) = opened.file.contents().with_context(cannot)?;
    let name = arguments.trace.file_name().unwrap_or(arguments.trace.as_os_str()).to_string_lossy().into_owned();
    let entries: Arc<dyn Entries> = Arc::new(opened.file);
    target::replay(&entries);
    let trace = Trace { name, digest, contents, speed: arguments.speed, entries: Some(entries) };
    let spec = WorkloadSpec { trace: Some(trace), ..arguments.workload.spec.clone() };
    let options = TargetOptions {
        targets: arguments.set.on(named)?,
        // A test file is as large as the trace needs, where there is room.
        size: spec.size.or(Some(contents.end.min(TEST_FILE_MAX)).filter(|end| *end > Bytes(0))),
        size_is_fixed: spec.size.is_some(),
        overwrite,
        peaks: arguments.peaks.given()?.to_vec(),
        ..TargetOptions::default()
    };
    io::one(context, &spec, &options, &arguments.keeping)
}
