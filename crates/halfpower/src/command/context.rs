//! The context of every command, and how a command ends.

use super::interrupts::Interrupts;
use crate::console::{Colour, Console};
use halfpower_engine::mpi::Ranks;
use halfpower_model::sample::Warning;
use std::path::PathBuf;
use std::sync::Arc;

/// Options that mean the same everywhere.
#[derive(Debug, clap::Args)]
pub(crate) struct Global {
    /// Keep results in this file [default: $XDG_DATA_HOME/halfpower/results.db]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Results")]
    pub(crate) store: Option<PathBuf>,
    /// Print only JSON on standard output: one document, or one per line for several files
    #[arg(long, global = true, help_heading = "Results")]
    pub(crate) json: bool,
    /// Print progress as a line per trial
    #[arg(long, global = true, conflicts_with = "quiet", help_heading = "Results")]
    pub(crate) plain: bool,
    /// Show the progress of a run on the whole terminal
    #[arg(long, global = true, conflicts_with_all = ["plain", "quiet"], help_heading = "Results")]
    pub(crate) tui: bool,
    /// Print no progress and no messages but warnings and errors
    #[arg(short, long, global = true, help_heading = "Results")]
    pub(crate) quiet: bool,
    /// Use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Results")]
    pub(crate) color: Colour,
}

/// The context of every command.
pub(crate) struct Context {
    pub(crate) global: Global,
    pub(crate) console: Console,
    /// The handling of signals.
    pub(crate) interrupts: Interrupts,
    /// The arguments as they were typed.
    pub(crate) typed: String,
    /// The processes that measure together; none of one alone.
    pub(crate) ranks: Option<Arc<Ranks>>,
}

impl Context {
    /// Whether another process has the results.
    pub(crate) fn follows(&self) -> bool {
        self.ranks.as_ref().is_some_and(|ranks| ranks.rank() > 0)
    }

    /// The command line, to repeat the command.
    pub(crate) fn command(&self) -> String {
        format!("halfpower {}", self.typed)
    }

    /// How several processes are started, before a command: `mpirun -n 4 `; empty for one alone.
    pub(crate) fn launcher(&self) -> String {
        self.ranks.as_ref().map_or_else(String::new, |ranks| format!("mpirun -n {} ", ranks.count()))
    }

    /// Prints a result: as JSON, or as text.
    ///
    /// # Errors
    /// When standard output is closed or full.
    pub(crate) fn print(&self, document: &impl serde::Serialize, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        if self.global.json { self.console.print_json(document) } else { self.console.print(&text()) }
    }

    /// Prints warnings.
    pub(crate) fn warn(&self, warnings: &[Warning]) {
        warnings.iter().for_each(|of| self.console.warning(&format!("{}; {}", of.message, of.remedy)));
    }
}

/// How a command ended, when it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Done,
    /// The request failed in part, and the messages are printed.
    Failed,
    /// Wrong usage, and the messages are printed.
    WrongUsage,
    Interrupted,
    /// A comparison found a regression.
    Regression,
    /// A comparison is undecided.
    Undecided,
}
