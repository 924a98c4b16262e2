//! `halfpower report`: the report of a stored run, or the page of a reading.

use crate::command::context::{Context, Ending};
use crate::command::price::PriceArguments;
use crate::command::session::{self, DEFAULT_REPORT};
use crate::instrument::show::{ReadingInput, reading_html};
use crate::output::Output;
use crate::reading::Reading;
use crate::report::{Analysed, TwoArms};
use crate::store::{RunId, Store};
use clap::Args;
use halfpower_model::TargetKind;
use std::path::PathBuf;

/// Writes the report of a stored run or of a reading again
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The run's number; `halfpower runs` lists them
    run: RunId,
    /// Output file; replaces an earlier report of that name
    #[arg(long, value_name = "FILE", default_value = DEFAULT_REPORT)]
    output: PathBuf,
    #[command(flatten)]
    price: PriceArguments,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    Output::report(&arguments.output).check()?;
    let store = session::open_store(context, true)?;
    match (store.reading(arguments.run)?, TwoArms::load(&store, arguments.run, None)?) {
        (Some(reading), _) => write_page(&store, arguments, &reading)?,
        (_, Some(arms)) => Output::report(&arguments.output).write(&arms.html()?)?,
        _ => {
            let known = store.run(arguments.run)?.plan.and_then(|plan| plan.offer);
            let analysed = Analysed::load_at(&store, arguments.run, arguments.price.over(known)?)?;
            session::write_report(&analysed, &arguments.output)?;
            // The program ends here, and freeing 100 000 samples would take 5 % of its time.
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
