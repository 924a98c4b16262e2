//! What the commands of all instruments have in common: keeping a reading, and showing it.

use super::note::NoteArgument;
use super::{Context, reading_text, session};
use crate::ground::SimulatedName;
use crate::store::Store;
use crate::text::UsageError;
use clap::Args;
use halfpower_engine::inspect::inspect;
use halfpower_model::reading::inspect::Device;
use halfpower_model::{Reading, ResolveError};
use std::path::{Path, PathBuf};

/// Where a reading goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Results")]
pub(super) struct Keeping {
    /// Do not keep the result in the store
    #[arg(long, conflicts_with = "store")]
    no_store: bool,
    #[command(flatten)]
    note: NoteArgument,
}

impl Keeping {
    /// Where a reading is kept that grows: the store, or one in memory.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(super) fn open_store(&self, context: &Context) -> anyhow::Result<Store> {
        session::open_store(context, !self.no_store)
    }

    /// Whether it outlives the program.
    pub(super) fn lasts(&self) -> bool {
        !self.no_store
    }

    /// What the user wants it remembered by.
    pub(super) fn note(&self) -> Option<String> {
        self.note.text()
    }
}

/// What stands in the way of the requests of an instrument, in the words of its own options: `size` names the one for the
/// size of requests, `span` the one for how much they go to.
pub(super) fn in_own_words(error: ResolveError, size: &str, span: &str) -> UsageError {
    UsageError(match error {
        ResolveError::TooSmall { path, size, asked } => {
            format!("{path} has {size}, which does not hold {asked}; use a smaller {span}, or name a larger target")
        }
        ResolveError::Alignment { path, alignment, size: asked } => {
            format!("direct I/O on {path} needs multiples of {alignment}, and {size} is {asked}; use one of those")
        }
        ResolveError::NoDirect { path, filesystem } => format!(
            "{path} takes no direct I/O ({filesystem}), so that the file cache would be measured; name something on a disk"
        ),
        other => other.to_string(),
    })
}

/// Refuses volumes of simulated machines, which an instrument of this host cannot look at.
///
/// # Errors
/// When one of the targets is one, with `instead`, what tells the same of it: a command, in which MACHINE and VOLUME stand.
pub(super) fn refuse_simulated(targets: &[PathBuf], instrument: &str, instead: &str) -> Result<(), UsageError> {
    let Some((target, name)) = targets.iter().find_map(|target| Some((target, SimulatedName::of(target)?))) else {
        return Ok(());
    };
    let SimulatedName { machine, volume, .. } = name?;
    let instead = instead.replace("MACHINE", &machine).replace("VOLUME", &volume);
    let target = target.display();
    Err(UsageError(format!("{target} is simulated, and {instrument} needs files or devices of this host; {instead}")))
}

/// How a control group holds reads of a target back, on the device or on one below it; none where it does not.
///
/// # Errors
/// When the target is not there.
pub(super) fn read_limit(target: &Path) -> anyhow::Result<Option<String>> {
    let (inspected, _) = inspect(&[target.to_owned()])?;
    let device = inspected.targets.first().and_then(|target| target.ground.device.as_ref());
    let mut limits = device.into_iter().flat_map(Device::stack).flat_map(|device| &device.limits);
    let limit = limits.find(|limit| limit.read_bytes_per_s.is_some() || limit.read_requests_per_s.is_some());
    Ok(limit.map(ToString::to_string))
}

/// Keeps a reading of some targets, or of none, and shows it.
///
/// # Errors
/// When it cannot be kept or printed.
pub(super) fn conclude(
    context: &Context,
    keeping: &Keeping,
    targets: &[PathBuf],
    mut reading: Reading,
) -> anyhow::Result<()> {
    reading.note = keeping.note();
    context.console.end_bar();
    // Shown even where it cannot be kept, and kept where it cannot be shown.
    let shown = show(context, &reading);
    if !keeping.no_store || shown.is_err() {
        let mut store = session::open_store(context, true)?;
        let targets = session::stored_targets(targets)?.join(", ");
        let run = store.add_reading(&format!("halfpower {}", context.typed), &targets, &reading)?;
        if let Err(error) = &shown {
            session::not_printed(context, &store, run, error);
        }
    }
    shown
}

/// Shows a reading, for people or as JSON.
///
/// # Errors
/// When it cannot be printed.
pub(super) fn show(context: &Context, reading: &Reading) -> anyhow::Result<()> {
    if context.global.json {
        context.console.print_json(reading)
    } else {
        context.console.print(&reading_text::summary(reading))
    }
}
