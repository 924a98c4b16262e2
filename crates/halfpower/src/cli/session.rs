//! A run from the command line to its report: shared by `run`, `study run` and `study resume`.

use super::{Context, Ending};
use crate::ground::{self, KeptTestFile, Opened, Site};
use crate::plan::Plan;
use crate::report::{self, Analysed};
use crate::runner::{Audience, Course, RunEnd, Runner};
use crate::store::{RunId, RunStatus, Store};
use halfpower_engine::{NULL_TARGET, TargetError};
use halfpower_model::units::significant;
use halfpower_model::{Bytes, BytesPerSecond, Nanoseconds, Testbed, Workload};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What a report is called when nobody names it.
pub(super) const DEFAULT_REPORT: &str = "halfpower-report.html";

/// The store the user named, the usual one, or one in memory.
pub(super) fn open_store(context: &Context, keep: bool) -> anyhow::Result<Store> {
    Ok(match (&context.global.store, keep) {
        (_, false) => Store::in_memory()?,
        (Some(path), true) => Store::open(path)?,
        (None, true) => Store::open(&Store::default_path()?)?,
    })
}

/// Carries a run out that the store knows of, on ground that was looked at.
///
/// Whatever happens, the test file is removed and the store knows how the run ended.
pub(super) fn carry_out(
    context: &Context,
    store: &mut Store,
    run: RunId,
    plan: &Plan,
    site: &Site,
) -> anyhow::Result<RunEnd> {
    let mut test_file = None;
    let result = measure(context, store, run, plan, site, &mut test_file);
    context.console.end_bar();
    let removed = test_file.map_or(Ok(()), |file: KeptTestFile| file.remove(store));
    let status = match &result {
        Ok(RunEnd::Complete) => RunStatus::Complete,
        Ok(RunEnd::Interrupted) => RunStatus::Interrupted,
        Ok(RunEnd::Failed) | Err(_) => RunStatus::Failed,
    };
    let finished = store.finish_run(run, status);
    // The first thing that went wrong says the most.
    let end = result?;
    removed?;
    finished?;
    Ok(end)
}

fn measure(
    context: &Context,
    store: &mut Store,
    run: RunId,
    plan: &Plan,
    site: &Site,
    test_file: &mut Option<KeptTestFile>,
) -> anyhow::Result<RunEnd> {
    let started = Instant::now();
    let opened = match open_target(context, store, run, plan, site) {
        Ok(opened) => opened,
        Err(error) if is_interruption(&error) => return Ok(RunEnd::Interrupted),
        Err(error) => return Err(error),
    };
    let mut host = opened.host;
    *test_file = opened.test_file;
    let mut plan = plan.clone();
    if let Some(written) = opened.filled
        && store.samples(run)?.is_empty()
    {
        let rate = BytesPerSecond(written.0 as f64 / started.elapsed().as_secs_f64());
        if let Some(limit) = plan.fit_to(rate.0) {
            store.change_plan(run, &plan)?;
            context.console.message(&format!(
                "The test file was written at {rate}: a trial of buffered writes is limited to {limit}, \
                 so that flushing it does not take long."
            ));
        }
    }
    context.console.start_bar(1);
    let runner = Runner::new(&plan, run, store, &mut host, &context.cancel)?;
    runner.carry_out(&mut Bar { context })
}

/// Opens the target; where a test file is wanted and a killed start of the run left it, that one.
fn open_target(context: &Context, store: &mut Store, run: RunId, plan: &Plan, site: &Site) -> anyhow::Result<Opened> {
    if matches!(site.making, ground::Making::TestFile(_))
        && let Some(left) = store.test_files_left()?.into_iter().find(|left| left.run == Some(run))
    {
        let file = KeptTestFile::adopt(store, &left)?;
        let opened = Opened::on_test_file(file)?;
        if opened.host.describe().target.size_bytes == site.facts.size_bytes && opened.host.is_filled() {
            return Ok(opened);
        }
        // It was killed while the file was being filled.
        if let Some(file) = opened.test_file {
            file.remove(store)?;
        }
    }
    let total = site.fill_bytes().unwrap_or_default();
    context.console.start_bar(total.0);
    let message = format!("writing the test file, {total}");
    let mut progress = |written: Bytes| context.console.move_bar(written.0, total.0, "", &message);
    site.open(store, run, plan.seed, &context.cancel, &mut progress)
}

pub(super) fn is_interruption(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(TargetError::Interrupted { .. })))
}

/// Shows the course of a run as a bar.
struct Bar<'a> {
    context: &'a Context,
}

impl Audience for Bar<'_> {
    fn moved(&mut self, course: &Course<'_>) {
        let left = Nanoseconds(course.left.0.next_multiple_of(1_000_000_000));
        let figure = match &course.progress {
            Some(progress) => format!("{}: {}", course.workload, progress.rate),
            None => course.workload.to_string(),
        };
        let whole = course.elapsed.0 + course.left.0;
        self.context.console.move_bar(course.elapsed.0, whole, &format!("{} left", clock(left)), &figure);
    }

    fn gave_up(&mut self, workload: &Workload, reason: &str) {
        self.context.console.warning(&format!("{workload} was given up: {reason}"));
    }
}

/// `2:05` for two minutes and five seconds.
fn clock(time: Nanoseconds) -> String {
    let seconds = time.0 / 1_000_000_000;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// Shows a run that ended: the summary or the JSON document, the report, and how it ended.
pub(super) fn show_end(
    context: &Context,
    store: &Store,
    run: RunId,
    end: RunEnd,
    report_path: Option<&Path>,
) -> anyhow::Result<Ending> {
    let console = &context.console;
    let analysed = Analysed::load(store, run)?;
    if context.global.json {
        console.print_json(&analysed.json())?;
    } else if analysed.has_samples() {
        let (colour, width) = (console.output_colour(), console.output_width());
        console.print(&analysed.with_input(|input| report::summary(input, colour, width)))?;
    }
    if let Some(path) = report_path.filter(|_| analysed.has_samples()) {
        match write_report(&analysed, path) {
            Ok(bytes) => console.message(&format!("Report: {} ({})", path.display(), kilobytes(bytes))),
            // The figures are in the store: not being able to write here loses nothing.
            Err(error) => console.warning(&format!(
                "no report was written ({error:#}); `halfpower report {run} --output FILE` writes it elsewhere"
            )),
        }
    }
    Ok(match end {
        RunEnd::Complete => Ending::Done,
        RunEnd::Failed => {
            console.message("Nothing could be measured.");
            Ending::Failed
        }
        RunEnd::Interrupted => {
            console.message(&format!("Interrupted. `halfpower study resume {run}` goes on where it stopped."));
            Ending::Interrupted
        }
    })
}

/// Writes the report of a run; gives its bytes.
pub(super) fn write_report(analysed: &Analysed, path: &Path) -> anyhow::Result<usize> {
    let html = analysed.with_input(report::html)?;
    report::write_atomically(path, &html)?;
    Ok(html.len())
}

fn kilobytes(bytes: usize) -> String {
    format!("{} kB", significant(bytes as f64 / 1e3))
}

/// A target as the store keeps it: by its absolute name, so that it is found again from anywhere.
///
/// # Errors
/// When the current directory is gone.
pub(super) fn stored_target(path: &Path) -> std::io::Result<PathBuf> {
    if path.as_os_str() == NULL_TARGET { Ok(path.to_owned()) } else { std::path::absolute(path) }
}

/// Where a directory's leftovers are looked for.
pub(super) fn directory_of(path: &Path) -> Option<PathBuf> {
    path.is_dir().then(|| path.to_owned())
}
