//! `halfpower report`: a stored run's report, written again.

use super::session::{self, DEFAULT_REPORT};
use super::{Context, Ending, UsageError};
use crate::report::Analysed;
use crate::store::RunId;
use clap::Args;
use std::path::PathBuf;

/// Writes the report of a stored run again, from its samples.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The run's number; `halfpower runs` lists them
    run: RunId,
    /// Where to; an earlier report of that name is replaced
    #[arg(long, value_name = "FILE", default_value = DEFAULT_REPORT)]
    output: PathBuf,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let store = session::open_store(context, true)?;
    if let Some(reading) = store.reading(arguments.run)? {
        anyhow::bail!(UsageError(format!(
            "run {run} is a reading of `{}` and has no report; `halfpower runs show {run}` shows it",
            reading.instrument(),
            run = arguments.run
        )));
    }
    let analysed = Analysed::load(&store, arguments.run)?;
    session::write_report(&analysed, &arguments.output)?;
    if context.global.json {
        context.console.print_json(&serde_json::json!({ "run": arguments.run.0, "report": arguments.output }))?;
    } else {
        context.console.message(&format!("Report: {}", arguments.output.display()));
    }
    Ok(Ending::Done)
}
