//! `halfpower report`: a stored run's report, written again, or the page of a reading.

use crate::command::context::{Context, Ending};
use crate::command::price::PriceArguments;
use crate::command::session::{self, DEFAULT_REPORT};
use crate::instrument::show::{ReadingInput, reading_html};
use crate::output::Output;
use crate::reading::Reading;
use crate::report::Analysed;
use crate::store::{RunId, Store};
use clap::Args;
use halfpower_model::TargetKind;
use std::path::PathBuf;

/// Writes the report of a stored run again, from its samples, or of what an instrument read
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The run's number; `halfpower runs` lists them
    run: RunId,
    /// Where to; an earlier report of that name is replaced
    #[arg(long, value_name = "FILE", default_value = DEFAULT_REPORT)]
    output: PathBuf,
    #[command(flatten)]
    price: PriceArguments,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    Output::report(&arguments.output).check()?;
    let store = session::open_store(context, true)?;
    match store.reading(arguments.run)? {
        Some(reading) => write_page(&store, arguments, &reading)?,
        None => {
            let known = store.run(arguments.run)?.plan.and_then(|plan| plan.offer);
            let analysed = Analysed::load_at(&store, arguments.run, arguments.price.over(known)?)?;
            session::write_report(&analysed, &arguments.output)?;
            // The program ends here; to give a hundred thousand samples back one by one is a twentieth of its time.
            std::mem::forget(analysed);
        }
    }
    if context.global.json {
        context.console.print_json(&serde_json::json!({ "run": arguments.run.0, "report": arguments.output }))?;
    } else {
        context.console.message(&format!("Report: {}", arguments.output.display()));
    }
    Ok(Ending::Done)
}

/// Writes the page of an instrument's reading.
fn write_page(store: &Store, arguments: &Arguments, reading: &Reading) -> anyhow::Result<()> {
    let run = store.run(arguments.run)?;
    let target = if reading.environment.target.kind == TargetKind::Null { "" } else { run.target.as_str() };
    let input = ReadingInput { run: run.id.0, target, command: &run.command, reading };
    Output::report(&arguments.output).write(&reading_html(&input)?)
}
