//! `halfpower fio`: runs fio's job files.

use super::sample_text;
use crate::command::note::Keeping;
use crate::command::targets::OverwriteArgument;
use crate::command::{
    context::{Context, Ending},
    session,
};
use crate::fio::job::{self, Ends, Work};
use crate::fio::job_file::{Place, Request, read_command_line};
use crate::fio::run::{Files, Group};
use crate::fio::study::study_of;
use crate::fio::{ran_together, table};
use crate::interchange::export::{FioGroup, FioOutput, fio_jobs};
use crate::output::Output;
use crate::sanitize::sanitize;
use crate::store::{NewRun, RunKind, RunStatus};
use crate::text::{UsageError, once, plural, refuse};
use clap::{Arg, Args, Command, CommandFactory};
use halfpower_model::{Bytes, Limits, Sample};
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  halfpower fio job.fio                          run its jobs, and keep the figures
  halfpower fio job.fio --section=random-read    one of them
  halfpower fio job.fio --parse-only             what its jobs come to, without running them
  halfpower fio --overwrite=/dev/sdb job.fio     a job that writes to an existing device
  halfpower fio --name=a --rw=randread --bs=4k --iodepth=32 --ioengine=io_uring --direct=1 --size=1g
  halfpower fio job.fio --output-format=json --output=result.json

Halfpower's own options come before the job file. docs/FIO.md says of each of fio's options what becomes of it.";

/// Run fio's job files, or a job given with fio's options
///
/// Jobs run as in fio: together, or one after another with `stonewall`. Files that are missing are made, and removed at the end;
/// a file or device that exists is never overwritten without --overwrite. A job with an option that would change its
/// meaning is refused, with the line and what to do.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Job files, or fio's options
    #[arg(required = true, value_name = "JOB", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
    #[command(flatten)]
    overwrite: OverwriteArgument,
    #[command(flatten)]
    keeping: Keeping,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    refuse_own_options(&arguments.words)?;
    let request = read_command_line(&arguments.words)?;
    if request.version {
        context.console.print_line(&format!("halfpower-{}", env!("CARGO_PKG_VERSION")))?;
        return Ok(Ending::Done);
    }
    let form = |format: &String| match format.as_str() {
        "json" => Ok(FioOutput::Json),
        "json+" => Ok(FioOutput::JsonPlus),
        "normal" => Ok(FioOutput::Normal),
        "terse" => Ok(FioOutput::Terse),
        other => refuse!(
            "--output-format={other} is not written; use json, json+, normal or terse, or leave it out for a summary"
        ),
    };
    let forms = request.formats.iter().map(form).collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(path) = &request.output {
        Output::new_file(path).check()?;
    }
    let works = job::works(&request.jobs)?;
    for (path, _) in works.iter().flat_map(Work::logs) {
        Output::new_file(&path).check()?;
    }
    if request.parse_only {
        return show(context, &works);
    }
    let paths = once(works.iter().flat_map(|work| work.files.iter().cloned()));
    if request.jobs.iter().any(|job| job.place != Place::CommandLine) {
        arguments.overwrite.refuse_without_name(&paths, "the job file")?;
    }
    let overwrite = arguments.overwrite.of(&paths)?;
    let heeded = context.interrupts.heeded();
    let size = works.iter().filter_map(|work| work.file_size).max().unwrap_or_default();
    context.console.start_bar(size.0);
    let progress = |path: &Path, bytes: Bytes| {
        context.console.move_bar(bytes.0, size.0, "", &format!("writing {}", path.display()));
    };
    let files = Files::open(&works, (!request.read_only).then_some(&overwrite), &heeded, progress);
    context.console.end_bar();
    let files = match files {
        Err(_) if heeded.is_cancelled() => {
            context.console.message("Interrupted before anything was measured.");
            return Ok(Ending::Interrupted);
        }
        files => files?,
    };
    let measured = measure(context, arguments, &request, &works, &paths, &files);
    let removed = files.remove();
    let (groups, status) = measured?;
    let text = if forms.is_empty() {
        let each = groups.iter().map(|group| format!("{}: {}", group.name, sample_text::summary(&group.sample)));
        in_words_of_fio(&each.collect::<Vec<_>>().join("\n"))
    } else {
        let global = job::given(&request.jobs[0].settings[..request.jobs[0].global]);
        let reported = groups.iter().map(|Group { name, number, given, sample, .. }| FioGroup {
            name,
            group: *number,
            given,
            sample,
        });
        fio_jobs(&reported.collect::<Vec<_>>(), &global, &forms)
            .map_err(|reason| anyhow::anyhow!("fio's output cannot have this run: {reason}"))?
    };
    if !forms.is_empty() {
        // fio's output has no place for them.
        for warning in groups.iter().flat_map(|group| &group.sample.warnings) {
            context.console.warning(&in_words_of_fio(&format!("{}; {}", warning.message, warning.remedy)));
        }
    }
    match &request.output {
        Some(path) => Output::new_file(path).write(&text)?,
        None if context.global.json => {
            context.console.print_json(&groups.iter().map(|group| &group.sample).collect::<Vec<_>>())?
        }
        None => context.console.print(&text)?,
    }
    for failure in groups.iter().filter_map(|group| group.sample.failure.as_ref()) {
        context.console.message(&failure.message);
    }
    removed?;
    for (path, text) in groups.iter().flat_map(|group| &group.logs) {
        Output::new_file(path).write(text)?;
    }
    Ok(match status {
        RunStatus::Complete => Ending::Done,
        RunStatus::Interrupted => Ending::Interrupted,
        _ => Ending::Failed,
    })
}

/// Refuses options of Halfpower among fio's words.
fn refuse_own_options(words: &[String]) -> Result<(), UsageError> {
    let all = super::Cli::command();
    let own = all.get_arguments().chain(all.find_subcommand("fio").into_iter().flat_map(Command::get_arguments));
    let own: Vec<_> = own.filter_map(Arg::get_long).filter(|name| table::of(name).is_none()).collect();
    if words.iter().any(|word| word == "-q") {
        refuse!("-q is an option of Halfpower; put it before the job file and fio's options: halfpower fio -q …");
    }
    let mut names = words.iter().filter_map(|word| word.strip_prefix("--")?.split('=').next());
    if let Some(name) = names.find(|name| own.contains(name)) {
        refuse!(
            "--{name} is an option of Halfpower; put it before the job file and fio's options: halfpower fio --{name} …"
        );
    }
    Ok(())
}

/// A text whose remedies name fio's options.
fn in_words_of_fio(text: &str) -> String {
    let words = [
        ("--buffering direct", "direct=1"),
        ("--personality io_uring", "ioengine=io_uring"),
        ("--personality sync", "ioengine=psync"),
        ("--pattern sequential or shuffled", "rw=trim, or rw=randtrim without norandommap"),
        ("--bytes", "io_size"),
        ("set durability to flush_at_end, or buffering to direct", "use end_fsync=1 or direct=1"),
        ("set bytes to at least", "use an io_size of at least"),
        (", or durability to flush_at_end", ", or end_fsync=1"),
        ("--op write with --durability fsync=N", "rw=write with fsync=N"),
        ("--warmup ", "ramp_time="),
        (" (`warmup` in a study)", ""),
        ("write the whole file once before the run", "to write blocks that hold data already, use overwrite=1"),
    ];
    words.iter().fold(text.to_owned(), |text, (ours, theirs)| text.replace(ours, theirs))
}

/// The jobs of a file.
fn works_of(path: &str) -> anyhow::Result<Vec<Work>> {
    Ok(job::works(&read_command_line(&[path.to_owned()])?.jobs)?)
}

/// Whether a name is that of a job file.
pub(super) fn is_job_file(name: &str) -> bool {
    name.ends_with(".fio")
}

/// `halfpower plan JOB.fio`.
pub(super) fn plan(context: &Context, path: &str) -> anyhow::Result<Ending> {
    show(context, &works_of(path)?)
}

/// `halfpower study from JOB.fio`.
pub(super) fn study_from(path: &str) -> anyhow::Result<String> {
    let name = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
    Ok(study_of(&sanitize(&name), &works_of(path)?))
}

/// What the jobs come to, a line for each worker.
fn show(context: &Context, works: &[Work]) -> anyhow::Result<Ending> {
    let planned = works.iter().map(|work| {
        let files: Vec<String> = work.files.iter().map(|file| file.display().to_string()).collect();
        let workload = work.spec.imported(None);
        let Limits { duration, requests, bytes } = workload.limits;
        let until = [
            bytes.map(|bytes| bytes.to_string()),
            requests.map(|requests| format!("{requests} requests")),
            duration.map(|duration| format!("{duration} at most")),
        ];
        let until = until.into_iter().flatten().collect::<Vec<_>>().join(", ");
        (work, files, workload, until)
    });
    if context.global.json {
        let planned = planned.map(|(work, files, workload, _)| {
            serde_json::json!({ "stage": work.stage + 1, "job": work.name, "files": files, "workload": workload })
        });
        context.console.print_json(&planned.collect::<Vec<_>>())?;
        return Ok(Ending::Done);
    }
    for (work, files, workload, until) in planned {
        let line = format!("stage {}, {}: {workload}, {until}, on {}", work.stage + 1, work.name, files.join(", "));
        context.console.print_line(&sanitize(&line))?;
    }
    Ok(Ending::Done)
}

/// The samples of groups that ran at the same time: one of those that did the same.
fn stored(groups: &[Group]) -> Vec<Sample> {
    let mut alike: Vec<Vec<&Group>> = Vec::new();
    for group in groups {
        let is_like = |other: &Group| {
            group.name == other.name || group.sample.workload.clone_of_job() == other.sample.workload.clone_of_job()
        };
        match alike.iter_mut().find(|of| is_like(of[0])) {
            Some(of) => of.push(group),
            None => alike.push(vec![group]),
        }
    }
    let count = alike.len();
    let whole = |of: Vec<&Group>| Sample::together(of.into_iter().map(|group| group.sample.clone()).collect());
    let mut samples: Vec<Sample> = alike.into_iter().filter_map(whole).collect();
    if count > 1 {
        samples.iter_mut().for_each(|sample| sample.warnings.push(ran_together(count)));
    }
    samples
}

/// Runs all stages and stores a sample for each group; also returns how it ended.
fn measure(
    context: &Context,
    arguments: &Arguments,
    request: &Request,
    works: &[Work],
    paths: &[PathBuf],
    files: &Files,
) -> anyhow::Result<(Vec<Group>, RunStatus)> {
    let (environment, seed) = files.check(works)?;
    let mut store = session::open_store(context, !arguments.keeping.no_store)?;
    let names = once(request.jobs.iter().map(|job| job.name.clone()));
    let run = store.begin_run(&NewRun {
        kind: RunKind::Io,
        name: &names.join(", "),
        question: None,
        study_text: None,
        plan: None,
        command: &context.command(),
        target: &session::stored_targets(paths)?.join(", "),
        seed,
        note: arguments.keeping.note.text().as_deref(),
        environment: &environment,
    })?;
    let heeded = context.interrupts.heeded();
    let (mut measured, mut samples, mut status) = (Vec::<Group>::new(), 0, RunStatus::Complete);
    let stages: Vec<&[Work]> = works.chunk_by(|one, next| one.stage == next.stage).collect();
    for (number, stage) in stages.iter().enumerate() {
        let what = once(stage.iter().map(|work| work.name.clone())).join(", ");
        let of = if stages.len() > 1 { format!("{} of {}: ", number + 1, stages.len()) } else { String::new() };
        context.console.message(&format!("{of}{what}, {} worker{}", stage.len(), plural(stage.len())));
        let longest = stage
            .iter()
            .filter_map(|work| Some(work.spec.duration?.0 + work.spec.warmup.unwrap_or_default().0 + work.delay.0));
        let length = longest.max().unwrap_or_default();
        context.console.start_bar(length);
        let progress = |elapsed: Duration| context.console.move_bar(elapsed.as_nanos() as u64, length, "", &what);
        let groups = files.run(stage, &heeded, progress);
        context.console.end_bar();
        let (groups, ended) = match groups {
            Ok(groups) => groups,
            Err(error) => {
                let is_interrupted = session::is_interruption(&error) || heeded.is_cancelled();
                if !is_interrupted && !measured.is_empty() {
                    // The results of earlier stages are printed.
                    context.console.warning(&format!("{what} failed, and no later stage ran: {error:#}"));
                    status = RunStatus::Failed;
                    break;
                }
                store.finish_run(run, if is_interrupted { RunStatus::Interrupted } else { RunStatus::Failed })?;
                return Err(error);
            }
        };
        let mut of_stage = Vec::new();
        for mut group in groups {
            group.sample.note = arguments.keeping.note.text();
            match group.sample.failure.as_ref().map(|failure| failure.code.as_str()) {
                None => {}
                Some("interrupted") => status = RunStatus::Interrupted,
                Some(_) => status = RunStatus::Failed,
            }
            of_stage.push(group);
        }
        for sample in stored(&of_stage) {
            store.add_sample(run, samples, 0, &sample)?;
            samples += 1;
        }
        measured.extend(of_stage);
        if status != RunStatus::Complete || ended == Ends::Run {
            break;
        }
    }
    store.finish_run(run, status)?;
    Ok((measured, status))
}
