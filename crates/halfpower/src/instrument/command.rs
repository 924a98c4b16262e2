//! Shared by the commands of instruments: rejected targets, storing and showing a reading.

use super::show::reading_text;
use crate::command::context::Context;
use crate::command::note::Keeping;
use crate::command::session::{self, Session};
use crate::reading::Reading;
use crate::simulator::name::SimulatedName;
use crate::text::{UsageError, refuse};
use halfpower_engine::inspect::inspect;
use halfpower_engine::{Access, Target, is_remote};
use halfpower_model::ResolveError;
use halfpower_model::TargetKind;
use halfpower_model::reading::inspect::Device;
use std::path::{Path, PathBuf};

/// A workload's error, naming the options of the instrument: `size` for the request size, `span` for the region.
pub(crate) fn in_own_words(error: ResolveError, size: &str, span: &str) -> UsageError {
    UsageError(match error {
        ResolveError::TooSmall { path, size, asked } => {
            format!("{path} has {size}, less than {asked}; use a smaller {span}, or name a larger target")
        }
        ResolveError::Alignment { path, alignment, size: asked } => {
            format!("direct I/O on {path} needs multiples of {alignment}, and {size} is {asked}; use a multiple")
        }
        ResolveError::NoDirect { path, .. } => no_direct(&path),
        other => return other.into(),
    })
}

fn no_direct(path: &str) -> String {
    format!("{path} does not support direct I/O, so the page cache would be measured; name a file or device on a disk")
}

/// Opens a target that can be read past the page cache.
///
/// # Errors
/// If it cannot.
pub(crate) fn open_direct(path: &Path) -> anyhow::Result<Target> {
    let target = Target::open(path, Access::Read)?;
    let facts = target.facts();
    if facts.kind == TargetKind::Null {
        refuse!("null: has no storage behind it; name files or block devices");
    }
    if facts.direct_alignment_bytes.is_none() {
        anyhow::bail!(UsageError(no_direct(&facts.path)));
    }
    Ok(target)
}

/// Rejects volumes of simulated machines.
///
/// # Errors
/// If a target is one, with `instead`: the command to use, with MACHINE and VOLUME as placeholders.
pub(crate) fn refuse_simulated(targets: &[PathBuf], instrument: &str, instead: &str) -> Result<(), UsageError> {
    let Some((target, name)) = targets.iter().find_map(|target| Some((target, SimulatedName::of(target)?))) else {
        return Ok(());
    };
    let SimulatedName { machine, volume, .. } = name?;
    let instead = instead.replace("MACHINE", &machine).replace("VOLUME", &volume);
    let target = target.display();
    Err(UsageError(format!("{target} is simulated; {instrument} needs files or devices of this host; {instead}")))
}

/// Rejects volumes of simulated machines and of servers.
///
/// # Errors
/// As [`refuse_simulated`], or if a target is a server's.
pub(crate) fn refuse_elsewhere(targets: &[PathBuf], instrument: &str, instead: &str) -> Result<(), UsageError> {
    refuse_simulated(targets, instrument, instead)?;
    let Some(target) = targets.iter().find(|target| is_remote(target)) else { return Ok(()) };
    let target = target.display();
    Err(UsageError(format!("{target} is on a server; {instrument} needs files or devices of this host")))
}

/// How a control group throttles reads of a target, on its device or on one below it; none if it does not.
///
/// # Errors
/// If the target does not exist.
pub(crate) fn read_limit(target: &Path) -> anyhow::Result<Option<String>> {
    let (inspected, _) = inspect(&[target.to_owned()])?;
    let device = inspected.targets.first().and_then(|target| target.storage.device.as_ref());
    let mut limits = device.into_iter().flat_map(Device::stack).flat_map(|device| &device.limits);
    let limit = limits.find(|limit| limit.read_bytes_per_s.is_some() || limit.read_requests_per_s.is_some());
    Ok(limit.map(ToString::to_string))
}

/// Stores a reading, which may have no targets, and shows it.
///
/// # Errors
/// If it cannot be stored or printed.
pub(crate) fn conclude(
    context: &Context,
    keeping: &Keeping,
    targets: &[PathBuf],
    mut reading: Reading,
) -> anyhow::Result<()> {
    reading.note = keeping.note.text();
    context.console.end_bar();
    // It is stored even if printing fails, so that the result is not lost.
    let shown = show(context, &reading);
    if !keeping.no_store || shown.is_err() {
        let mut store = session::open_store(context, true)?;
        let targets = session::stored_targets(targets)?.join(", ");
        let run = store.add_reading(&context.command(), &targets, &reading)?;
        return Session { context, store, run }.or_where(shown);
    }
    Ok(())
}

/// Shows a reading, as text or JSON.
///
/// # Errors
/// If it cannot be printed.
pub(crate) fn show(context: &Context, reading: &Reading) -> anyhow::Result<()> {
    context.print(reading, || reading_text(reading, context.console.output_width()))
}
