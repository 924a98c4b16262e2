//! `halfpower export`: a stored run's samples in other forms.

use super::{Context, Ending, UsageError, session};
use crate::interchange::export::{Format, export};
use crate::report::write_atomically;
use crate::store::RunId;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  halfpower export 7 --format csv > run7.csv          a table for a spreadsheet
  halfpower export 7 --format jsonl --output run7.jsonl
                                                      all there is; `import` takes it back";

/// Write a stored run's samples in another form
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The run's number; `halfpower runs` lists them
    run: RunId,
    /// The form
    #[arg(long, value_name = "NAME", default_value = "jsonl")]
    format: Format,
    /// Where to, instead of standard output; an earlier file of that name is replaced
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let store = session::open_store(context, true)?;
    store.run(arguments.run)?;
    let samples = store.samples(arguments.run)?;
    if samples.is_empty() {
        return Err(UsageError(format!("run {} has no samples to export", arguments.run)).into());
    }
    let exported = export(&samples, arguments.format)?;
    for reason in &exported.left_out {
        context.console.warning(&format!("left out: {reason}"));
    }
    let left_out = exported.left_out.len();
    match &arguments.output {
        None if context.global.json => {
            return Err(UsageError("--json goes with --output: the export itself is what is printed".to_owned()).into());
        }
        None => context.console.print(&exported.text)?,
        Some(path) => {
            write_atomically(path, &exported.text)?;
            let written = samples.len() - left_out;
            if context.global.json {
                let document = serde_json::json!({ "run": arguments.run.0, "samples": written, "output": path });
                context.console.print_json(&document)?;
            } else {
                context.console.message(&format!("{written} samples: {}", path.display()));
            }
        }
    }
    Ok(if left_out == samples.len() { Ending::Failed } else { Ending::Done })
}
