//! `halfpower report`: the report of a stored run, or the page of a reading.

use crate::command::context::{Context, Ending};
use crate::command::price::PriceArguments;
use crate::command::session;
use crate::instrument::show::{ReadingInput, reading_html};
use crate::output::Output;
use crate::reading::Reading;
use crate::report::{Analysed, TwoArms};
use crate::store::{Run, RunId};
use clap::Args;
use halfpower_model::TargetKind;
use std::path::PathBuf;

/// Writes the report of a stored run or of a reading again
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The run's number; `halfpower runs` lists them
    run: RunId,
    /// Output file; replaces an earlier report of that name [default: halfpower-HOST-TARGET-TIME.html]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    price: PriceArguments,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let store = session::open_store(context, true)?;
    let run = store.run(arguments.run)?;
    let named = || session::report_name(&run.environment.host, &run.target, run.started_at);
    let path = &arguments.output.clone().unwrap_or_else(named);
    Output::report(path).check()?;
    match (store.reading(run.id)?, TwoArms::load(&store, run.id, None)?) {
        (Some(reading), _) => Output::report(path).write(&reading_page(&run, &reading)?)?,
        (_, Some(arms)) => Output::report(path).write(&arms.html()?)?,
        _ => {
            let known = run.plan.and_then(|plan| plan.offer);
            let analysed = Analysed::load_at(&store, run.id, arguments.price.over(known)?)?;
            session::write_report(&analysed, path)?;
            // The program ends here, and freeing 100 000 samples would take 5 % of its time.
            std::mem::forget(analysed);
        }
    }
    if context.global.json {
        context.console.print_json(&serde_json::json!({ "run": run.id.0, "report": path }))?;
    } else {
        context.console.message(&format!("Report: {}", path.display()));
    }
    Ok(Ending::Done)
}

/// The page of an instrument's reading.
pub(super) fn reading_page(run: &Run, reading: &Reading) -> anyhow::Result<String> {
    let target = if reading.environment.target.kind == TargetKind::Null { "" } else { run.target.as_str() };
    reading_html(&ReadingInput { run: run.id.0, target, command: &run.command, reading })
}
