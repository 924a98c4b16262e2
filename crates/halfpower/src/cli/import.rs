//! `halfpower import`: results of other programs into the store, one run per file or folder.

use crate::command::note::NoteArgument;
use crate::command::{
    context::{Context, Ending},
    session,
};
use crate::interchange::import::{Format, ImportError, import, logs};
use crate::store::{NewRun, RunId, RunKind, Staged};
use crate::text::{counted, refuse};
use anyhow::Context as _;
use clap::Args;
use halfpower_model::sample::Warning;
use halfpower_model::{Environment, Sample, Workload};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  halfpower import trace.csv                 recognise the format, store it as a run
  halfpower import --json rc8.txt good.txt   two runs, a line of JSON for each
  halfpower import results                   all files of a folder as one run, such as the logs of fio

What the files do not contain stays unknown. `halfpower runs show RUN` shows an imported run.";

/// Import results of other programs into the store, one run per file or folder
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Files of results, or folders with files of one run
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Format of the files, if it is not recognised
    #[arg(long, value_name = "NAME")]
    format: Option<Format>,
    #[command(flatten)]
    note: NoteArgument,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let mut store = session::open_store(context, true)?;
    let staged = store.stage()?;
    // Every file is read before any is stored, so that a mistake in one file leaves nothing of the others.
    let read = (0..).zip(&arguments.files).map(|(number, file)| stage(&staged, number, file, arguments.format));
    let read = read.collect::<anyhow::Result<Vec<_>>>()?;
    let command = context.command();
    let note = arguments.note.text();
    let new: Vec<NewRun<'_>> = read.iter().map(|file| file.run(&command, note.as_deref())).collect();
    let runs = staged.keep(&new)?;
    for (run, file) in runs.into_iter().zip(&read) {
        show(context, run, file, read.len() > 1)?;
    }
    Ok(Ending::Done)
}

/// A file that was read.
struct File<'a> {
    path: &'a Path,
    format: &'static str,
    samples: usize,
    warnings: Vec<Warning>,
    /// The name of its run.
    name: String,
    /// The targets of its samples, if known.
    target: String,
    /// The environment of all samples; unknown if they differ.
    environment: Environment,
}

impl File<'_> {
    fn run<'a>(&'a self, command: &'a str, note: Option<&'a str>) -> NewRun<'a> {
        NewRun {
            kind: RunKind::Import,
            name: &self.name,
            question: None,
            study_text: None,
            plan: None,
            command,
            target: &self.target,
            seed: 0,
            note,
            environment: &self.environment,
        }
    }
}

/// Most files of a folder.
const FILES_MAX: usize = 1000;

/// The file, or those of the folder by name, fio's logs by job; hidden ones, empty ones and folders in it are left out.
fn files_of(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let cannot = || format!("cannot read {}", path.display());
    let entries = std::fs::read_dir(path).with_context(cannot)?.take(FILES_MAX + 1).collect::<Result<Vec<_>, _>>();
    let mut files: Vec<PathBuf> = entries.with_context(cannot)?.iter().map(std::fs::DirEntry::path).collect();
    if files.len() > FILES_MAX {
        refuse!("{} has more than {FILES_MAX} files; name a folder with those of one run", path.display());
    }
    let is_hidden = |file: &Path| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    files.retain(|file| file.metadata().is_ok_and(|of| of.is_file() && of.len() > 0) && !is_hidden(file));
    files.sort_by_cached_key(|file| (logs::job_of(file), file.clone()));
    Ok(files)
}

fn stage<'a>(staged: &Staged<'_>, number: usize, path: &'a Path, format: Option<Format>) -> anyhow::Result<File<'a>> {
    let (mut places, mut targets, mut common, mut samples) = (Places::default(), Vec::new(), None, 0);
    let (mut formats, mut warnings, mut left_out) = (Vec::new(), Vec::<Warning>::new(), Vec::new());
    // The inner option of `common` is none if samples have different environments.
    let mut keep = |sample: Sample| {
        samples += 1;
        let (cell, block) = places.next(&sample);
        for facts in sample.environment.all_targets() {
            // Each once, and at most 16.
            if !facts.path.is_empty() && targets.len() < 16 && !targets.contains(&facts.path) {
                targets.push(facts.path.clone());
            }
        }
        match &common {
            None => common = Some(Some((*sample.environment).clone())),
            Some(Some(known)) if *known != *sample.environment => common = Some(None),
            _ => {}
        }
        Ok(staged.add(number, cell, block, &sample)?)
    };
    // Of the logs of one job in a folder.
    let (mut held, mut job) = (Vec::new(), None);
    for file in files_of(path)? {
        let its = logs::job_of(&file).map(|(job, _)| job).filter(|_| path.is_dir());
        if its != job {
            held.drain(..).try_for_each(&mut keep)?;
            job = its;
        }
        let mut take = |sample: Sample| match &job {
            Some(job) => logs::gather(&mut held, job, sample).map_or(Ok(()), &mut keep),
            None => keep(sample),
        };
        match import(&file, format, &mut take) {
            Ok((format, more)) => {
                formats.push(format);
                warnings.extend(more);
            }
            // A folder may have other files.
            Err(error) if path.is_dir() && error.is::<ImportError>() => {
                left_out.push(error.to_string());
            }
            Err(error) => return Err(error),
        }
    }
    held.into_iter().try_for_each(&mut keep)?;
    let Some(format) = formats.first().copied() else {
        refuse!("{} has no file of a known form", path.display());
    };
    if let [first, .., _] = &left_out[..] {
        let message = format!("{} files are left out, such as {first}", left_out.len());
        warnings.push(Warning::new("file_left_out", message, "nothing to do, if they have no results"));
    } else {
        let warning = |error: String| Warning::new("file_left_out", error, "it is left out");
        warnings.extend(left_out.into_iter().map(warning));
    }
    if formats.contains(&Format::Fio) && formats.contains(&Format::FioLog) {
        let message = "it has both fio's output and its logs, so that each measurement is there twice";
        warnings.push(Warning::new("output_and_logs", message, "import the output, or a folder with the logs alone"));
    }
    if let Some(other) = formats.iter().find(|other| other.program() != format.program()) {
        let message = format!("it has results of several programs, such as {} and {}", format.word(), other.word());
        warnings.push(Warning::new("several_programs", message, "import a folder for each run of a program"));
    }
    warnings.extend(staged.copy_of(number)?.map(|run| {
        let message = format!("run {run} holds the same samples already, so that this is one measurement twice");
        Warning::new("imported_before", message, "count one of the two only; `halfpower runs rm` takes one away")
    }));
    let targets = targets.join(", ");
    let file_name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    Ok(File {
        path,
        format: format.word(),
        samples,
        warnings,
        name: format!("{}: {file_name}", format.word()),
        environment: common.flatten().unwrap_or_else(|| Environment::unknown(targets.clone(), None)),
        target: if targets.is_empty() { "an unknown target".to_owned() } else { targets },
    })
}

fn show(context: &Context, run: RunId, file: &File<'_>, several: bool) -> anyhow::Result<()> {
    let File { path, format, samples, warnings, .. } = file;
    if !context.global.json {
        for warning in warnings {
            context.console.warning(&format!("{}: {}; {}", path.display(), warning.message, warning.remedy));
        }
        let from = path.to_string_lossy();
        context.console.print_line(&format!("Run {run}: {} from {from} ({format})", counted(*samples, "sample")))?;
        return Ok(());
    }
    let document = serde_json::json!({ "run": run.0, "samples": samples, "format": format, "warnings": warnings });
    if several { Ok(context.console.print_json_line(&document)?) } else { Ok(context.console.print_json(&document)?) }
}

/// Assigns cells and repetitions to samples. Samples of one workload on one target share a cell. A sample with an
/// incomplete workload gets a new cell, because two of them may differ in facts that the file leaves out.
#[derive(Default)]
struct Places {
    /// Number of samples of each cell.
    cells: Vec<u32>,
    /// The cell of each workload and target, by two hashes of 64 bits, because a file may have very many.
    numbers: HashMap<[u64; 2], usize>,
}

impl Places {
    fn next(&mut self, sample: &Sample) -> (usize, u32) {
        let workload = Workload { seed: 0, ..sample.workload.clone() };
        let cell = match workload.is_described() {
            true => {
                let key = [0_u8, 1].map(|salt| {
                    let mut hasher = DefaultHasher::new();
                    (salt, &workload, &sample.environment.target.path).hash(&mut hasher);
                    hasher.finish()
                });
                *self.numbers.entry(key).or_insert(self.cells.len())
            }
            false => self.cells.len(),
        };
        if cell == self.cells.len() {
            self.cells.push(0);
        }
        let block = self.cells[cell];
        self.cells[cell] += 1;
        (cell, block)
    }
}
