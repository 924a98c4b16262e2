//! `halfpower import`: results of other programs into the store, a run for each file.

use super::note::NoteArgument;
use super::{Context, Ending, UsageError, session};
use crate::harmless::harmless;
use crate::interchange::import::{Format, Imported, MAX_MEMORY, import};
use crate::store::{NewRun, RunId, RunKind, Store};
use clap::Args;
use halfpower_model::sample::Warning;
use halfpower_model::{Environment, Sample, Workload};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  halfpower import trace.csv                 recognise what it is, keep it as a run
  halfpower import --json rc8.txt good.txt   two runs, a line of JSON for each

What the files do not tell stays unknown. `halfpower runs show RUN` shows what came of one.";

/// Take results of other programs into the store, a run for each file
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Files of results
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What they are, where that is not recognised
    #[arg(long, value_name = "NAME")]
    format: Option<Format>,
    #[command(flatten)]
    note: NoteArgument,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let read = read_all(&arguments.files, arguments.format)?;
    let mut store = session::open_store(context, true)?;
    let several = read.len() > 1;
    for (file, imported) in read {
        let (format, mut warnings) = (imported.format.word(), imported.warnings);
        let count = imported.samples.len();
        warnings.extend(store.copy_of(&imported.samples)?.map(|run| {
            let message = format!("run {run} holds the same samples already, so that this is one measurement twice");
            Warning::new("imported_before", message, "count one of the two only; `halfpower runs rm` takes one away")
        }));
        let run = keep(context, &mut store, arguments, file, format, imported.samples)?;
        if !context.global.json {
            for warning in &warnings {
                context.console.warning(&format!("{}: {}; {}", file.display(), warning.message, warning.remedy));
            }
            let plural = if count == 1 { "" } else { "s" };
            let from = file.to_string_lossy();
            context.console.print(&format!("Run {run}: {count} sample{plural} from {} ({format})", harmless(&from)))?;
            continue;
        }
        let document = serde_json::json!({ "run": run.0, "samples": count, "format": format, "warnings": warnings });
        if several {
            context.console.print(&document.to_string())?;
        } else {
            context.console.print_json(&document)?;
        }
    }
    Ok(Ending::Done)
}

/// Reads every file before the first is kept: a mistake in one leaves nothing behind of the others.
fn read_all(files: &[PathBuf], format: Option<Format>) -> anyhow::Result<Vec<(&PathBuf, Imported)>> {
    let mut read = Vec::new();
    let mut memory = 0;
    for file in files {
        let imported = import(file, format)?;
        memory += imported.memory;
        if memory > MAX_MEMORY {
            let message =
                format!("the files up to {} are too much for one import; name fewer at a time", file.display());
            return Err(UsageError(message).into());
        }
        read.push((file, imported));
    }
    Ok(read)
}

fn keep(
    context: &Context,
    store: &mut Store,
    arguments: &Arguments,
    file: &Path,
    format: &str,
    samples: Vec<Sample>,
) -> anyhow::Result<RunId> {
    let file_name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let targets = target_names(&samples);
    let nothing_known = Environment::unknown(targets.clone(), None);
    let first = &samples[0].environment;
    let environment = if samples.iter().all(|sample| sample.environment == *first) { first } else { &nothing_known };
    let note = arguments.note.text();
    let run = NewRun {
        kind: RunKind::Import,
        name: &format!("{format}: {file_name}"),
        question: None,
        study_text: None,
        plan: None,
        command: &format!("halfpower {}", context.typed),
        target: if targets.is_empty() { "a target that is not told" } else { &targets },
        seed: 0,
        note: note.as_deref(),
        environment: &environment.clone(),
    };
    Ok(store.add_import(&run, &placed(samples))?)
}

/// The targets that are named, each once.
fn target_names(samples: &[Sample]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for facts in samples.iter().flat_map(|sample| sample.environment.all_targets()) {
        if !facts.path.is_empty() && !names.contains(&facts.path.as_str()) && names.len() < 16 {
            names.push(&facts.path);
        }
    }
    names.join(", ")
}

/// Each sample with its cell, the same for the same workload on the same target, and which repetition of it it is. One
/// whose workload is not told well enough is nothing's repetition: two may differ in what is not told.
fn placed(samples: Vec<Sample>) -> Vec<(usize, u32, Sample)> {
    let mut cells: Vec<u32> = Vec::new();
    let mut numbers: std::collections::HashMap<(Workload, String), usize> = std::collections::HashMap::new();
    let place = |sample: Sample| {
        let workload = Workload { seed: 0, ..sample.workload.clone() };
        let is_described = workload.is_described();
        let of_these = numbers.entry((workload, sample.environment.target.path.clone()));
        let cell = if is_described { *of_these.or_insert(cells.len()) } else { cells.len() };
        if cell == cells.len() {
            cells.push(0);
        }
        let block = cells[cell];
        cells[cell] += 1;
        (cell, block, sample)
    };
    samples.into_iter().map(place).collect()
}
