//! What every command is given, and how a command ends.

use super::interrupts::Interrupts;
use crate::console::Console;
use halfpower_model::sample::Warning;
use std::path::PathBuf;

/// Options that mean the same everywhere.
#[derive(Debug, clap::Args)]
pub(crate) struct Global {
    /// Keep results in this file [default: $XDG_DATA_HOME/halfpower/results.db]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Results")]
    pub(crate) store: Option<PathBuf>,
    /// Print only JSON on standard output: one document, or one per line for several files
    #[arg(long, global = true, help_heading = "Results")]
    pub(crate) json: bool,
}

/// What every command is given.
pub(crate) struct Context {
    pub(crate) global: Global,
    pub(crate) console: Console,
    /// What Ctrl-C does.
    pub(crate) interrupts: Interrupts,
    /// The command as it was typed, to reproduce it.
    pub(crate) typed: String,
}

impl Context {
    /// The command line, to do the same again.
    pub(crate) fn command(&self) -> String {
        format!("halfpower {}", self.typed)
    }

    /// Prints a result: as JSON, or as text.
    ///
    /// # Errors
    /// When standard output is closed or full.
    pub(crate) fn print(&self, document: &impl serde::Serialize, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        if self.global.json { self.console.print_json(document) } else { self.console.print(&text()) }
    }

    /// Warns of what would make figures wrong.
    pub(crate) fn warn(&self, warnings: &[Warning]) {
        warnings.iter().for_each(|of| self.console.warning(&format!("{}; {}", of.message, of.remedy)));
    }
}

/// How a command ended, when it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Done,
    /// It did what it could; what was asked for failed, and the user was told.
    Failed,
    Interrupted,
    /// A comparison found something worse.
    Regression,
    /// A comparison cannot tell.
    Undecided,
}
