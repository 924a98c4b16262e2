//! `halfpower files`: how many small files per second.

pub(super) mod page;

use super::command;
use crate::command::context::{Context, Ending};
use crate::command::note::Keeping;
use crate::command::number::{any, count};
use crate::command::session::{self, Session};
use crate::reading::files::FileRates;
use crate::reading::{Figures, Reading};
use crate::store::RunStatus;
use crate::target::{self, Company, KeptTestTree, TargetOptions};
use crate::text::{UsageError, causes, refuse};
use clap::Args;
use halfpower_engine::files::{self as engine, Around, FilePhase, FilesOptions, PhaseRun, Place};
use halfpower_engine::{Access, ObjectTree, Target, is_remote};
use halfpower_model::sample::Warning;
use halfpower_model::{Bytes, Cancel, Environment, Nanoseconds, TargetFacts};
use std::io;
use std::path::{Path, PathBuf};

/// Larger files are streams.
const SIZE_MAX: Bytes = Bytes(64 << 20);

const EXAMPLES: &str = "\
Examples:
  halfpower files /mnt/mail            10 000 files of 4 KiB: create, stat, read, delete
  halfpower files /mnt/mail --fsync    each file flushed before the next, as by a mail server
  halfpower files /mnt/images --files 100000 --size 100KB --workers 8 --cold
  halfpower files s3://bench/small/ --workers 32 --phases create,stat,list,read,delete
  mpirun -n 8 halfpower files /lustre/test";

/// Measure how many small files per second a directory takes and gives
///
/// Workers create, stat, read and delete files in a new tree of directories below DIRECTORY, which is removed afterwards; nothing
/// else there is touched. The phases are those of mdtest and elbencho; list reads the names in each directory. Of an object store
/// each file is an object, and create, stat, list, read and delete are PUT, HEAD, LIST, GET and DELETE. All workers begin a phase together, each in directories of
/// its own. Stat and read go in random order, and the bytes that are read are checked. Everything is repeated. What create and
/// delete leave in memory is written back after the phase; the rate is given without and with that. Processes of an MPI launcher
/// begin each phase together, each with --files of its own.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A directory, or objects: s3://BUCKET/PREFIX/
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
    /// Number of files, of all workers together
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = count::<u32>)]
    files: u32,
    /// Size of each file; 0 creates empty files
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    size: Bytes,
    /// Number of files in a directory
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = count::<u32>)]
    per_directory: u32,
    /// Workers: threads with directories of their own
    #[arg(long, value_name = "N", visible_alias = "numjobs", default_value_t = 1, value_parser = count::<u32>)]
    workers: u32,
    /// Phases to measure, of create, stat, list, read and delete; files are created and removed in any case
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "create,stat,read,delete", value_parser = phase)]
    phases: Vec<FilePhase>,
    /// Flush each file (fsync) before it is closed
    #[arg(long)]
    fsync: bool,
    /// Drop the caches of this machine before stat, read and delete (/proc/sys/vm/drop_caches); needs root, slows other programs
    #[arg(long)]
    cold: bool,
    /// Maximum length of a phase; the next phases work on the files that are there [default: none]
    #[arg(long, value_name = "TIME", visible_alias = "runtime")]
    duration: Option<Nanoseconds>,
    /// Repetitions of all phases
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count::<u32>)]
    repetitions: u32,
    /// Seed for the order and the contents of the files
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = any::<u64>)]
    seed: u64,
    #[command(flatten)]
    keeping: Keeping,
}

fn phase(text: &str) -> Result<FilePhase, String> {
    let found = FilePhase::ALL.into_iter().find(|phase| phase.word() == text);
    found.ok_or_else(|| "use create, stat, list, read or delete".to_owned())
}

impl Arguments {
    fn options(&self) -> Result<FilesOptions, UsageError> {
        if self.size > SIZE_MAX {
            refuse!("--size is {}; use up to {SIZE_MAX}, or measure large files with `halfpower io`", self.size);
        }
        if self.files < self.workers {
            refuse!("{} workers have no file each; use fewer --workers, or more --files", self.workers);
        }
        if self.duration == Some(Nanoseconds(0)) {
            refuse!("--duration is 0; use a time such as 10s");
        }
        Ok(FilesOptions {
            files: self.files.into(),
            size: self.size,
            per_directory: self.per_directory.into(),
            workers: self.workers,
            phases: self.phases.clone(),
            fsync: self.fsync,
            cold: self.cold,
            duration: self.duration,
            repetitions: self.repetitions,
            seed: self.seed,
        })
    }
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let started_at = jiff::Timestamp::now();
    let options = arguments.options()?;
    let directory = arguments.directory.as_path();
    refuse_other_than_directory(directory)?;
    let mut store = session::open_store(context, !arguments.keeping.no_store)?;
    // Before the free space is checked: what a killed run left may take it.
    target::offer_removal(&mut store, &[directory.to_owned()], &context.console)?;
    let (environment, warnings) =
        if is_remote(directory) { examine_store(directory, &options)? } else { examine(directory, &options)? };
    refuse_buffers(&options, &environment)?;
    let company = context.ranks.as_ref().map(Company::of).transpose()?;
    let hosts = company.as_ref().map(|company| company.gather(environment.host.clone())).transpose()?.flatten();
    let hosts = hosts.unwrap_or_default();
    let is_counted = environment.target.device.is_some();
    let rates =
        |runs| FileRates::new(directory.display().to_string(), options.clone(), hosts.clone(), runs, is_counted);
    let mut reading = Reading::new(Figures::Files(rates(Vec::new())), environment, started_at);
    (reading.note, reading.warnings) = (arguments.keeping.note.text(), warnings);
    let target = session::stored_targets(&[directory.to_owned()])?.join(", ");
    // This may wait for another process that writes the store; a signal ends the wait at once.
    let run = store.begin_reading(&context.command(), &target, options.seed, &reading)?;
    let mut session = Session { context, store, run };
    let heeded = context.interrupts.heeded();
    let (measured, runs) = measure(&mut session, directory, &options, company.as_ref(), &heeded);
    context.console.end_bar();
    if let Some(company) = company.filter(|_| context.follows()) {
        return company.end(measured).map(|()| Ending::Done);
    }
    let status = match &measured {
        Ok(()) => RunStatus::Complete,
        Err(error) if session::is_interruption(error) => RunStatus::Interrupted,
        Err(_) => RunStatus::Failed,
    };
    let rates = FileRates { is_complete: measured.is_ok(), ..rates(runs) };
    let (has_errors, has_rates) = (rates.has_errors(), !rates.rates.is_empty());
    reading.warnings.extend(rates.warnings());
    reading.figures = Figures::Files(rates);
    reading.elapsed_s = jiff::Timestamp::now().duration_since(started_at).as_secs_f64();
    let kept = session.store.keep_reading(run, &reading).and_then(|()| session.store.finish_run(run, status));
    drop(heeded);
    let ending = match status {
        RunStatus::Interrupted => Ending::Interrupted,
        _ if has_errors => Ending::Failed,
        _ => Ending::Done,
    };
    if ending == Ending::Interrupted {
        let nothing = if has_rates { "" } else { " before anything was measured" };
        context.console.message(&format!("Interrupted{nothing}."));
    } else {
        measured?;
    }
    if has_rates {
        session.or_where(command::show(context, &reading))?;
    }
    kept?;
    Ok(ending)
}

fn refuse_other_than_directory(path: &Path) -> Result<(), UsageError> {
    command::refuse_simulated(&[path.to_owned()], "files", "it has no file system, only a volume")?;
    if !path.is_dir() && !is_remote(path) {
        let what = if path.exists() { "is no directory" } else { "does not exist" };
        refuse!("{} {what}; name a directory, in which the files are made", path.display());
    }
    Ok(())
}

/// The host and the object store.
fn examine_store(name: &Path, options: &FilesOptions) -> anyhow::Result<(Environment, Vec<Warning>)> {
    if let Some(option) =
        [(options.fsync, "--fsync"), (options.cold, "--cold")].iter().find_map(|(is, of)| is.then_some(of))
    {
        refuse!(
            "{option} is for file systems: an object is stored when the server answers, and no cache of this host has it"
        );
    }
    let tree = ObjectTree::below(name, &target::new_tree_name())?;
    let opened = Target::open(&tree.target(), Access::Overwrite)?;
    let facts = TargetFacts { path: name.display().to_string(), ..opened.facts().clone() };
    Ok((halfpower_engine::environment(facts, Vec::new()), Vec::new()))
}

/// Rejects workers whose buffers take more than half of the memory.
fn refuse_buffers(options: &FilesOptions, environment: &Environment) -> Result<(), UsageError> {
    let buffers = Bytes(2 * options.size.0 * u64::from(options.workers));
    if buffers.0 > environment.memory_bytes.0 / 2 {
        refuse!("the workers need {buffers} of memory; use fewer --workers, or a smaller --size");
    }
    Ok(())
}

/// The host and the directory, and what would make the figures something else than those of a file system on a disk.
fn examine(directory: &Path, options: &FilesOptions) -> anyhow::Result<(Environment, Vec<Warning>)> {
    engine::refuse(directory, options).map_err(UsageError)?;
    let (targets, size) = (vec![directory.to_owned()], Some(options.bytes()));
    let site = target::examine(&TargetOptions { targets, size, size_is_fixed: true, ..TargetOptions::default() })?;
    let environment = site.environment();
    // Direct I/O plays no part here.
    let notes = site.notes.into_iter().filter(|note| note.code != "no_direct").collect();
    Ok((environment, notes))
}

/// Makes the tree, measures in it and removes it in every case; the phases that were completed.
fn measure(
    session: &mut Session<'_>,
    directory: &Path,
    options: &FilesOptions,
    company: Option<&Company>,
    cancel: &Cancel,
) -> (anyhow::Result<()>, Vec<PhaseRun>) {
    let mut work = Work { context: session.context, options, company, runs: Vec::new() };
    let mut measure_in = |place: Place<'_>| {
        session.context.console.start_bar(options.files);
        engine::measure(place, options, cancel, &mut work).map_err(anyhow::Error::from)
    };
    // The first error explains that of the removal.
    let measured = if is_remote(directory) {
        let tree = ObjectTree::below(directory, &target::new_tree_name()).map_err(Into::into);
        tree.and_then(|tree| measure_in(Place::Objects(&tree)).and(tree.empty().map_err(Into::into)))
    } else {
        let kept = KeptTestTree::make(directory, options.bytes(), &mut session.store, session.run);
        kept.and_then(|kept| measure_in(Place::Tree(&kept.tree)).and(kept.remove(&mut session.store)))
    };
    if let (Err(error), Some(company)) = (&measured, company) {
        company.give_up(&causes(error.as_ref()));
    }
    (measured, work.runs)
}

/// What a process does around the phases: alone, or with others.
struct Work<'a> {
    context: &'a Context,
    options: &'a FilesOptions,
    company: Option<&'a Company>,
    runs: Vec<PhaseRun>,
}

impl Around for Work<'_> {
    fn ready(&mut self) -> io::Result<Option<Nanoseconds>> {
        self.company.map(Company::ready).transpose()
    }

    fn progress(&mut self, phase: FilePhase, repetition: u32, files: u64) {
        let what = format!("{}, repetition {} of {}", phase.word(), repetition + 1, self.options.repetitions);
        self.context.console.move_bar(files, self.options.files, "", &what);
    }

    fn done(&mut self, run: PhaseRun) -> io::Result<()> {
        let run = match self.company {
            None => Some(run),
            Some(company) => company.gather(run)?.and_then(PhaseRun::of_all),
        };
        self.runs.extend(run);
        Ok(())
    }
}
