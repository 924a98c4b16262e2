//! A run from the command line to its report: shared by `run`, `study run` and `study resume`.

use super::context::{Context, Ending};
use crate::command::live::Live;
use crate::output::{Force, Output};
use crate::plan::Plan;
use crate::report::{self, Analysed};
use crate::runner::Runner;
use crate::store::{RunId, RunStatus, Store};
use crate::target::{Contents, Opened, Opening, Site};
use crate::target_name::is_path;
use anyhow::Context as _;
use clap::Args;
use halfpower_engine::TargetError;
use halfpower_model::units::significant;
use halfpower_model::{Bytes, BytesPerSecond, Testbed};
use jiff::Timestamp;
use std::path::PathBuf;
use std::time::Instant;

/// Where the report of a run is written.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReportArguments {
    /// File of the report [default: halfpower-HOST-TARGET-TIME.html]
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    report: Option<PathBuf>,
    /// Write no report
    #[arg(long, help_heading = "Results")]
    no_report: bool,
    #[command(flatten)]
    force: Force,
}

impl ReportArguments {
    /// The place of the report of a run on `host` and `target` with this identity, which is empty before the run is stored; none
    /// if there is to be no report. A default name that is taken gets a number.
    ///
    /// # Errors
    /// If no report can be written there, with the remedy.
    pub(crate) fn place(
        &self,
        (host, target): (&str, &str),
        begun: Timestamp,
        of: &str,
    ) -> anyhow::Result<Option<Place>> {
        if self.no_report {
            return Ok(None);
        }
        let place = |path| Place { path, force: self.force };
        let is_taken =
            |place: &Place| place.path.exists() && Output::report(&place.path, of, place.force).check().is_err();
        let found = match &self.report {
            Some(path) => place(path.clone()),
            None => {
                let mut named = (1..NAMES_TRIED).map(|number| place(report_name(host, target, begun, number)));
                named
                    .find(|place| !is_taken(place))
                    .context("every default name is taken; name a file with --report")?
            }
        };
        let checked = Output::report(&found.path, of, found.force).check();
        checked.context("no report could be written; name another file with --report, or use --no-report")?;
        Ok(Some(found))
    }
}

/// Where a report is written.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) force: Force,
}

/// The default name of a report, in the current directory: `halfpower-HOST-TARGET-20261127-030142.html`, in UTC; from the second
/// one on with a number.
pub(crate) fn report_name(host: &str, target: &str, begun: Timestamp, number: u32) -> PathBuf {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let plain = |text: &str| {
        let words = text.split(|c| !is_plain(c)).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join("-").chars().take(NAME_PART_MAX).collect::<String>()
    };
    let number = if number > 1 { number.to_string() } else { String::new() };
    let parts = [plain(host), plain(target), begun.strftime("%Y%m%d-%H%M%S").to_string(), number];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    PathBuf::from(format!("halfpower-{}.html", parts.join("-")))
}

/// Characters of host and target in the name of a report.
const NAME_PART_MAX: usize = 40;
/// Default names that are tried.
const NAMES_TRIED: u32 = 100;

/// The store that the user named, the default one, or one in memory.
pub(crate) fn open_store(context: &Context, keep: bool) -> anyhow::Result<Store> {
    // Rank 0 keeps what all have measured.
    let mut store = if keep && !context.follows() { Store::open(&store_path(context)?)? } else { Store::in_memory()? };
    let console = context.console.clone();
    store.report_damage(move |damage| console.warning(damage));
    Ok(store)
}

/// The store to read from; an empty one if there is no default store yet.
///
/// # Errors
/// If the user named a store that does not exist.
pub(crate) fn read_store(context: &Context) -> anyhow::Result<Store> {
    let is_there = path_to_read(context)?.try_exists().unwrap_or(true);
    open_store(context, is_there)
}

/// Where that store is.
///
/// # Errors
/// As [`read_store`].
pub(crate) fn path_to_read(context: &Context) -> anyhow::Result<PathBuf> {
    let path = store_path(context)?;
    let may_be_read = context.global.store.is_none() || path.try_exists().unwrap_or(true);
    anyhow::ensure!(may_be_read, "there is no store {}; check --store", path.display());
    Ok(path)
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
    pub(crate) fn carry_out(mut self, plan: &Plan, site: &Site, report: Option<Place>) -> anyhow::Result<Ending> {
        let end = self.measure_on(plan, site, None)?;
        self.show_end(end, report.as_ref())
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
        let (cancel, ranks) = (&context.interrupts.heeded(), context.ranks.as_ref());
        site.open(Opening { store, run: *run, seed, contents, left, cancel, ranks, progress })
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

    fn show_end(&self, end: RunStatus, report: Option<&Place>) -> anyhow::Result<Ending> {
        let console = &self.context.console;
        let analysed = Analysed::load(&self.store, self.run)?;
        let shown = match (self.context.global.json, analysed.has_samples()) {
            (true, _) => console.print_json(&analysed.json()),
            (_, true) => {
                let text = match analysed.is_survey() {
                    true => {
                        let tables = self.store.command(&format!("runs show {}", self.run));
                        let report = report.map(|place| place.path.display().to_string());
                        let tables = tables.or(report).unwrap_or_else(|| "not kept".to_owned());
                        report::answer(&analysed, &tables, console.medium())
                    }
                    false => report::summary(&analysed, console.medium()),
                };
                console.print_styled(&text)
            }
            _ => Ok(()),
        };
        let mut written = Ok(0);
        if let Some(place) = report.filter(|_| analysed.has_samples()) {
            written = write_report(&analysed, place);
            if let Ok(bytes) = written {
                console.message(&format!("Report: {} ({} kB)", place.path.display(), significant(bytes as f64 / 1e3)));
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
                    Some(resume) => format!("Interrupted. `{}{resume}` continues it.", self.context.launcher()),
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
pub(crate) fn write_report(analysed: &Analysed, Place { path, force }: &Place) -> anyhow::Result<usize> {
    let html = report::html(analysed)?;
    Output::report(path, &analysed.run().identity(), *force).write(&html)?;
    Ok(html.len())
}

/// Targets as the store keeps them: with absolute names, so that they are found from any directory.
///
/// # Errors
/// If the current directory no longer exists.
pub(crate) fn stored_targets(targets: &[PathBuf]) -> std::io::Result<Vec<String>> {
    // One directory has one name in the store. The link in the name of a device, as in by-id, stays.
    let absolute = |path: &PathBuf| -> std::io::Result<PathBuf> {
        if !is_path(path) {
            return Ok(path.clone());
        }
        let absolute = std::path::absolute(path)?;
        let whole = match path.canonicalize() {
            Ok(whole) if whole.is_dir() => Some(whole),
            _ => {
                let parent = absolute.parent().and_then(|parent| parent.canonicalize().ok());
                parent.zip(absolute.file_name()).map(|(parent, name)| parent.join(name))
            }
        };
        Ok(whole.unwrap_or(absolute))
    };
    targets.iter().map(|path| Ok(absolute(path)?.to_string_lossy().into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_one_name_in_the_store_and_a_link_keeps_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["a", "b"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        std::fs::write(root.join("b/file"), "x").unwrap();
        std::os::unix::fs::symlink("b/file", root.join("by-id")).unwrap();
        let name = |path: &str| stored_targets(&[root.join("a").join(path)]).unwrap().remove(0);
        let is = |path: &str| root.join(path).display().to_string();
        for (typed, stored) in [
            ("../b", "b"),
            ("../b/../b/file", "b/file"),
            ("../by-id", "by-id"),
            ("new", "a/new"),
            ("../b/none", "b/none"),
        ] {
            assert_eq!(name(typed), is(stored), "{typed}");
        }
        assert_eq!(stored_targets(&[PathBuf::from("sim:hdd-18tb:disk")]).unwrap(), ["sim:hdd-18tb:disk"]);
    }

    #[test]
    fn a_report_is_named_by_host_target_and_time_whatever_they_are() {
        let begun = "2026-11-27T03:01:59Z".parse().unwrap();
        let named = |host, target| report_name(host, target, begun, 1).display().to_string();
        assert_eq!(named("db1", "/srv/data"), "halfpower-db1-srv-data-20261127-030159.html");
        assert_eq!(named("", "sim:nvme-gen4:filled, a b"), "halfpower-sim-nvme-gen4-filled-a-b-20261127-030159.html");
        assert_eq!(named("../\n", "\u{1b}日本"), "halfpower-..-20261127-030159.html");
        assert!(named(&"x".repeat(300), &"y".repeat(300)).len() < 120);
    }
}
