//! `halfpower export`: a stored run's samples in other formats.

use crate::command::{
    context::{Context, Ending},
    session,
};
use crate::interchange::export::{Format, export, fio_files};
use crate::output::Output;
use crate::store::{RunId, StoredSample};
use crate::text::refuse;
use anyhow::Context as _;
use clap::Args;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  halfpower export 7 --format csv > run7.csv          a table for a spreadsheet
  halfpower export 7 --format jsonl --output run7.jsonl
                                                      all there is; `import` takes it back
  mkdir run7; halfpower export 7 --format fio --output run7
  fio-plot -i run7/4KiB-direct/repetition-1 -T run7 -r randread -l -d 1 8 32 -n 1";

/// Write a stored run's samples in another format
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The run's number; `halfpower runs` lists them
    run: RunId,
    /// The format
    #[arg(long, value_name = "NAME", default_value = "jsonl")]
    format: Format,
    /// Output file instead of standard output; an existing file is not replaced. For fio's format it may be a folder
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    if let Some(path) = arguments.output.as_deref().filter(|path| !path.is_dir()) {
        Output::new_file(path).check()?;
    }
    let store = session::read_store(context)?;
    store.run(arguments.run)?;
    let samples = store.samples(arguments.run)?;
    if samples.is_empty() {
        refuse!("run {} has no samples to export", arguments.run);
    }
    let left_out = match &arguments.output {
        Some(folder) if folder.is_dir() => to_folder(folder, &samples, arguments.format)?,
        output => to_one_place(context, output.as_deref(), &samples, arguments.format)?,
    };
    for reason in &left_out {
        context.console.warning(&format!("left out: {reason}"));
    }
    if left_out.len() == samples.len() {
        let more = if left_out.len() > 1 { format!(", and {} more", left_out.len() - 1) } else { String::new() };
        anyhow::bail!("no sample is left, so nothing was written: {}{more}", left_out[0]);
    }
    let written = samples.len() - left_out.len();
    if let Some(path) = &arguments.output {
        if context.global.json {
            let document = serde_json::json!({ "run": arguments.run.0, "samples": written, "output": path });
            context.console.print_json(&document)?;
        } else {
            context.console.message(&format!("{written} samples: {}", path.display()));
        }
    }
    Ok(Ending::Done)
}

/// Writes all samples to a file or to standard output, unless all are left out; returns the reason for each left out.
fn to_one_place(
    context: &Context,
    output: Option<&Path>,
    samples: &[StoredSample],
    format: Format,
) -> anyhow::Result<Vec<String>> {
    if output.is_none() && context.global.json {
        refuse!("--json needs --output, because the export itself is printed");
    }
    let exported = export(samples, format)?;
    if exported.left_out.len() == samples.len() {
        return Ok(exported.left_out);
    }
    match (output, std::str::from_utf8(&exported.content)) {
        (Some(path), _) => Output::new_file(path).write(&exported.content)?,
        (None, Ok(text)) => context.console.print(text)?,
        (None, Err(_)) => {
            refuse!("this format is binary; name a file with --output");
        }
    }
    Ok(exported.left_out)
}

/// Writes one file per sample into a folder; returns the reason for each left out.
fn to_folder(folder: &Path, samples: &[StoredSample], format: Format) -> anyhow::Result<Vec<String>> {
    if format != Format::Fio {
        refuse!("{} is a folder, and only fio's format has one file per sample; name a file", folder.display());
    }
    let (files, left_out) = fio_files(samples);
    let files: Vec<(PathBuf, String)> = files.into_iter().map(|(name, text)| (folder.join(name), text)).collect();
    for (path, _) in &files {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        }
        Output::new_file(path).check()?;
    }
    for (path, text) in &files {
        Output::new_file(path).write(text)?;
    }
    Ok(left_out)
}
