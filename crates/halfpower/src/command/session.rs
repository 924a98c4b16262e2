//! A run from the command line to its report: shared by `run`, `study run` and `study resume`.

use super::context::{Context, Ending};
use crate::command::live::Live;
use crate::output::Output;
use crate::plan::Plan;
use crate::report::{self, Analysed};
use crate::runner::Runner;
use crate::store::{RunId, RunStatus, Store};
use crate::target::{Contents, Opened, Opening, Site};
use crate::target_name::is_path;
use anyhow::Context as _;
use halfpower_engine::TargetError;
use halfpower_model::units::significant;
use halfpower_model::{Bytes, BytesPerSecond, Testbed};
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The default name of a report, in the current directory: `halfpower-HOST-TARGET-20261127-0301.html`, in UTC.
pub(crate) fn report_name(host: &str, target: &str, begun: Timestamp) -> PathBuf {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let plain = |text: &str| {
        let words = text.split(|c| !is_plain(c)).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join("-").chars().take(NAME_PART_MAX).collect::<String>()
    };
    let parts = [plain(host), plain(target), begun.strftime("%Y%m%d-%H%M").to_string()];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    PathBuf::from(format!("halfpower-{}.html", parts.join("-")))
}

/// Characters of host and target in the name of a report.
const NAME_PART_MAX: usize = 40;

/// The store that the user named, the default one, or one in memory.
pub(crate) fn open_store(context: &Context, keep: bool) -> anyhow::Result<Store> {
    let mut store = if keep { Store::open(&store_path(context)?)? } else { Store::in_memory()? };
    let console = context.console.clone();
    store.report_damage(move |damage| console.warning(damage));
    Ok(store)
}

/// Where the store is.
pub(crate) fn store_path(context: &Context) -> anyhow::Result<PathBuf> {
    Ok(context.global.store.clone().map_or_else(Store::default_path, Ok)?)
}

/// A run in the store.
pub(crate) struct Session<'a> {
    pub(crate) context: &'a Context,
    pub(crate) store: Store,
    pub(crate) run: RunId,
}

impl Session<'_> {
    /// Carries the run out on examined targets, prints the summary or JSON document, and writes the report.
    pub(crate) fn carry_out(mut self, plan: &Plan, site: &Site, report: Option<&Path>) -> anyhow::Result<Ending> {
        let end = self.measure_on(plan, site, None)?;
        self.show_end(end, report)
    }

    /// Carries the run out on examined targets; `second` is that of the plan's second arm, if it is another one.
    ///
    /// In every case the test files are removed and the store records how the run ended.
    pub(crate) fn measure_on(&mut self, plan: &Plan, site: &Site, second: Option<&Site>) -> anyhow::Result<RunStatus> {
        let (context, started) = (self.context, Instant::now());
        let opening = (plan.seed, Contents::Data);
        let heeded = context.interrupts.heeded();
        let work = |session: &mut Self, opened: Opened| {
            let Some(second) = second else { return session.measure(plan, opened, None, started) };
            let both = |session: &mut Self, second: Opened| session.measure(plan, opened, Some(second), started);
            let (result, removed) = session.on_targets(second, opening, both);
            result.and_then(|status| removed.map(|()| status))
        };
        let (result, removed) = self.on_targets(site, opening, work);
        let result = match result {
            Err(error) if is_interruption(&error) => Ok(RunStatus::Interrupted),
            result => result,
        };
        let finished = self.store.finish_run(self.run, *result.as_ref().unwrap_or(&RunStatus::Failed));
        drop(heeded);
        // The first error explains the others.
        let end = result?;
        removed?;
        finished?;
        Ok(end)
    }

    /// Opens the targets, calls `work`, and removes the test files in every case. `opening` has the seed and contents of the
    /// test files; files that a killed run left are used again. Returns the result of the work and that of the removal.
    pub(crate) fn on_targets<T>(
        &mut self,
        site: &Site,
        opening: (u64, Contents),
        work: impl FnOnce(&mut Self, Opened) -> anyhow::Result<T>,
    ) -> (anyhow::Result<T>, anyhow::Result<()>) {
        let mut test_files = Vec::new();
        let result = self.open(site, opening).and_then(|mut opened| {
            test_files.append(&mut opened.test_files);
            work(self, opened)
        });
        self.context.console.end_bar();
        // The error names the first file that stays.
        let removed: Vec<_> = test_files.into_iter().map(|file| file.remove(&mut self.store)).collect();
        (result, removed.into_iter().collect())
    }

    /// Opens the targets and shows the progress of their test files.
    fn open(&mut self, site: &Site, (seed, contents): (u64, Contents)) -> anyhow::Result<Opened> {
        let Session { context, store, run } = self;
        let left = store.test_files_left()?.into_iter().filter(|left| left.run == Some(*run)).collect();
        let total = site.fill_bytes(contents).unwrap_or_default();
        if total.0 > 0 {
            context.console.start_bar(total.0);
        }
        let message = format!("writing the test file, {total}");
        let progress = &mut |written: Bytes| context.console.move_bar(written.0, total.0, "", &message);
        let cancel = &context.interrupts.heeded();
        site.open(Opening { store, run: *run, seed, contents, left, cancel, progress })
    }

    fn measure(
        &mut self,
        plan: &Plan,
        mut opened: Opened,
        mut second: Option<Opened>,
        started: Instant,
    ) -> anyhow::Result<RunStatus> {
        let Session { context, store, run } = self;
        let mut plan = plan.clone();
        if let Some(written) = opened.filled
            && store.count_samples(*run)? == 0
        {
            let rate = BytesPerSecond(written.0 as f64 / started.elapsed().as_secs_f64());
            if let Some(limit) = plan.fit_to(rate.0) {
                store.change_plan(*run, &plan)?;
                context.console.message(&format!(
                    "The test file was written at {rate}: a trial of buffered writes is limited to {limit}, \
                     so that flushing it does not take long."
                ));
            }
        }
        let heeded = context.interrupts.heeded();
        let runner = Runner::new(&plan, *run, store, &mut *opened.testbed, &heeded)?;
        let second = second.as_mut().map(|second| &mut *second.testbed as &mut dyn Testbed);
        runner.with_second(second).carry_out(&mut Live::on(context.console.clone()))
    }

    fn show_end(&self, end: RunStatus, report_path: Option<&Path>) -> anyhow::Result<Ending> {
        let console = &self.context.console;
        let analysed = Analysed::load(&self.store, self.run)?;
        let shown = match (self.context.global.json, analysed.has_samples()) {
            (true, _) => console.print_json(&analysed.json()),
            (_, true) => {
                let (colour, width) = (console.output_colour(), console.output_width());
                let text = match analysed.is_survey() {
                    true => {
                        let tables = self.store.command(&format!("runs show {}", self.run));
                        let report = report_path.map(|path| path.display().to_string());
                        let tables = tables.or(report).unwrap_or_else(|| "not kept".to_owned());
                        report::answer(&analysed, &tables, colour, width)
                    }
                    false => report::summary(&analysed, colour, width),
                };
                console.print_styled(&text)
            }
            _ => Ok(()),
        };
        let mut written = Ok(0);
        if let Some(path) = report_path.filter(|_| analysed.has_samples()) {
            written = write_report(&analysed, path);
            if let Ok(bytes) = written {
                console.message(&format!("Report: {} ({} kB)", path.display(), significant(bytes as f64 / 1e3)));
            }
        }
        if let Err(error) = &written {
            let remedy = self.find_again(|run| format!("report {run} --output FILE"));
            console.warning(&format!("no report was written ({error:#}); {remedy}"));
            shown?;
        } else {
            self.or_where(shown)?;
        }
        Ok(match end {
            RunStatus::Complete if analysed.expected().iter().any(|one| one.is_short) => Ending::Regression,
            RunStatus::Complete => Ending::Done,
            RunStatus::Failed => {
                console.message("Nothing could be measured.");
                Ending::Failed
            }
            RunStatus::Interrupted | RunStatus::Running => {
                console.message(&match self.store.command(&format!("study resume {}", self.run)) {
                    Some(resume) => format!("Interrupted. `{resume}` continues it."),
                    None => "Interrupted. Nothing was kept to continue from.".to_owned(),
                });
                Ending::Interrupted
            }
        })
    }

    /// The command that shows a result which could not be written or printed. A run with `--no-store` is then copied into
    /// the default store, so that no sample is lost.
    fn find_again(&self, arguments: impl Fn(RunId) -> String) -> String {
        if let Some(command) = self.store.command(&arguments(self.run)) {
            return format!("use `{command}`");
        }
        let kept = open_store(self.context, true).and_then(|mut usual| {
            let run = usual.copy_run_from(&self.store, self.run)?;
            usual.command(&arguments(run)).context("the store has no name")
        });
        match kept {
            Ok(command) => format!("so that nothing is lost the run is in the store after all: use `{command}`"),
            Err(error) => format!("and it could not be kept in the store either ({error:#})"),
        }
    }

    /// Passes on the outcome of printing a result; warns with the command that prints it again if it failed.
    pub(crate) fn or_where<T>(&self, printed: anyhow::Result<T>) -> anyhow::Result<T> {
        let Err(error) = &printed else { return printed };
        // A closed pipe is no fault if the run is in the store.
        if !is_closed_pipe(error) || self.store.command("").is_none() {
            let remedy = self.find_again(|run| format!("runs show {run}"));
            self.context.console.warning(&format!("the result could not be printed; {remedy}"));
        }
        printed
    }
}

pub(crate) fn is_interruption(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(TargetError::Interrupted { .. })))
}

/// Whether the reader of standard output has gone (`halfpower runs | head`), which is no failure.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(broken))
}

/// Writes the report of a run; returns its size in bytes.
pub(crate) fn write_report(analysed: &Analysed, path: &Path) -> anyhow::Result<usize> {
    let html = report::html(analysed)?;
    Output::report(path).write(&html)?;
    Ok(html.len())
}

/// Checks before the measurement that a report can be written.
///
/// # Errors
/// If it cannot, with the remedy.
pub(crate) fn check_report(path: &Path) -> anyhow::Result<()> {
    Output::report(path)
        .check()
        .context("no report could be written; name another file with --report, or use --no-report")
}

/// Targets as the store keeps them: with absolute names, so that they are found from any directory.
///
/// # Errors
/// If the current directory no longer exists.
pub(crate) fn stored_targets(targets: &[PathBuf]) -> std::io::Result<Vec<String>> {
    let absolute = |path: &PathBuf| {
        if is_path(path) { std::path::absolute(path) } else { Ok(path.clone()) }
    };
    targets.iter().map(|path| Ok(absolute(path)?.to_string_lossy().into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_named_by_host_target_and_time_whatever_they_are() {
        let begun = "2026-11-27T03:01:59Z".parse().unwrap();
        let named = |host, target| report_name(host, target, begun).display().to_string();
        assert_eq!(named("db1", "/srv/data"), "halfpower-db1-srv-data-20261127-0301.html");
        assert_eq!(named("", "sim:nvme-gen4:filled, a b"), "halfpower-sim-nvme-gen4-filled-a-b-20261127-0301.html");
        assert_eq!(named("../\n", "\u{1b}日本"), "halfpower-..-20261127-0301.html");
        assert!(named(&"x".repeat(300), &"y".repeat(300)).len() < 120);
    }
}
