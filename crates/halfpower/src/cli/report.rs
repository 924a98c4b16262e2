//! `halfpower report`: the report of stored runs, or the page of a reading.

use super::compare;
use crate::command::context::{Context, Ending};
use crate::command::price::PriceArguments;
use crate::command::session::{self, Place};
use crate::console::Medium;
use crate::instrument::show::{ReadingInput, reading_charts, reading_html, reading_text};
use crate::output::{Force, Output};
use crate::reading::Reading;
use crate::report::html::figure;
use crate::report::{self, Analysed, TwoArms, comparison_text, several_html};
use crate::store::{Run, RunId, Store};
use crate::text::{counted, refuse};
use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use halfpower_model::TargetKind;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const EXAMPLES: &str = "\
Examples:
  halfpower report 7                       the report of run 7 again
  halfpower report 7 8 9                   three runs in one report
  halfpower report 7 --format markdown     for an issue or a pull request
  halfpower report 7 --figures charts      its charts as SVG files; with --png also as PNG";

/// Columns of a reading's text in Markdown.
const TEXT_WIDTH: usize = 100;

/// Write the report of a stored run again, or of several in one
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Numbers of the runs; `halfpower runs` lists them
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<RunId>,
    /// Output file [default: halfpower-HOST-TARGET-TIME.html; Markdown goes to standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Form of the report
    #[arg(long, value_enum, default_value_t = Format::Html)]
    format: Format,
    /// Write the charts as SVG files into this directory, in place of a report
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "format"])]
    figures: Option<PathBuf>,
    /// With --figures: write each chart also as a PNG file, by rsvg-convert (librsvg)
    #[arg(long, requires = "figures")]
    png: bool,
    #[command(flatten)]
    force: Force,
    #[command(flatten)]
    price: PriceArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A page for a browser
    Html,
    /// The answer, with the tables folded, for an issue or a pull request
    Markdown,
}

/// The subject of a report.
enum Reported {
    Reading(Box<Reading>),
    Arms(Box<TwoArms>),
    Runs(Vec<Analysed>),
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let store = session::read_store(context)?;
    let runs = arguments.runs.iter().map(|run| Ok(store.run(*run)?)).collect::<anyhow::Result<Vec<Run>>>()?;
    if arguments.figures.is_none() && arguments.format == Format::Html {
        return page(context, arguments, &store, &runs);
    }
    let [run] = runs.as_slice() else { refuse!("only the page for a browser shows several runs; name one run") };
    let reported = load(&store, run, arguments)?;
    if let Some(directory) = &arguments.figures {
        return figures(context, &reported, directory, arguments.png);
    }
    let text = markdown(&reported, run);
    match &arguments.output {
        Some(path) => {
            Output::new_file(path).write(&text)?;
            context.console.message(&format!("Report: {}", path.display()));
        }
        None => context.console.print_styled(&text)?,
    }
    Ok(Ending::Done)
}

fn load(store: &Store, run: &Run, arguments: &Arguments) -> anyhow::Result<Reported> {
    if let Some(reading) = store.reading(run.id)? {
        return Ok(Reported::Reading(Box::new(reading)));
    }
    if let Some(arms) = TwoArms::load(store, run.id, None)? {
        return Ok(Reported::Arms(Box::new(arms)));
    }
    let known = run.plan.as_ref().and_then(|plan| plan.offer);
    Ok(Reported::Runs(vec![Analysed::load_at(store, run.id, arguments.price.over(known)?)?]))
}

/// The page of a run, or of several.
fn page(context: &Context, arguments: &Arguments, store: &Store, runs: &[Run]) -> anyhow::Result<Ending> {
    let named = || {
        // Several are named by their numbers: the first run has its own page.
        let several = || runs.iter().map(|run| run.id.to_string()).collect::<Vec<_>>().join("-");
        let name = if runs.len() > 1 { format!("runs {}", several()) } else { runs[0].target.clone() };
        session::report_name(&runs[0].environment.host, &name, runs[0].started_at, 1)
    };
    let place = Place { path: arguments.output.clone().unwrap_or_else(named), force: arguments.force };
    let of: Vec<String> = runs.iter().map(Run::identity).collect();
    let (of, path) = (of.join("+"), &place.path);
    let output = Output::report(path, &of, place.force);
    output.check()?;
    match (runs, load(store, &runs[0], arguments)?) {
        ([run], Reported::Reading(of)) => output.write(&reading_page(run, &of)?)?,
        ([_], Reported::Arms(arms)) => output.write(&arms.html()?)?,
        ([_], Reported::Runs(analysed)) => {
            session::write_report(&analysed[0], &place)?;
            // The program ends here, and freeing 100 000 samples would take 5 % of its time.
            std::mem::forget(analysed);
        }
        (runs, Reported::Runs(mut analysed)) => {
            for run in &runs[1..] {
                let Reported::Runs(one) = load(store, run, arguments)? else { return refuse_together(run) };
                analysed.extend(one);
            }
            let compared = runs[1..].iter().map(|run| compare::in_a_sentence(store, runs[0].id, run.id));
            let compared = compared.collect::<anyhow::Result<Vec<_>>>()?;
            output.write(&several_html(&analysed, &compared, &context.command())?)?;
        }
        (runs, _) => return refuse_together(&runs[0]),
    }
    if context.global.json {
        let runs: Vec<i64> = runs.iter().map(|run| run.id.0).collect();
        context.console.print_json(&serde_json::json!({ "run": runs[0], "runs": runs, "report": path }))?;
    } else {
        context.console.message(&format!("Report: {}", path.display()));
    }
    Ok(Ending::Done)
}

fn refuse_together(run: &Run) -> anyhow::Result<Ending> {
    refuse!("run {} is a reading or a comparison, which has a page for itself; name it alone", run.id)
}

/// The answer, then the tables folded.
fn markdown(reported: &Reported, run: &Run) -> String {
    match reported {
        Reported::Reading(of) => {
            let text = reading_text(of, TEXT_WIDTH);
            // An indented block is text, whatever is in it.
            text.lines().map(|line| format!("    {line}\n")).collect()
        }
        Reported::Arms(arms) => comparison_text(&arms.comparison, true, Medium::Markdown),
        Reported::Runs(analysed) => {
            let summary = report::summary(&analysed[0], Medium::Markdown);
            if !analysed[0].is_survey() {
                return summary;
            }
            let answer = report::answer(&analysed[0], &format!("halfpower runs show {}", run.id), Medium::Markdown);
            format!("{answer}<details><summary>Tables and evidence</summary>\n\n{summary}\n</details>\n")
        }
    }
}

/// Writes each chart as an SVG file, and as a PNG file.
fn figures(context: &Context, reported: &Reported, directory: &Path, with_png: bool) -> anyhow::Result<Ending> {
    let charts = match reported {
        Reported::Runs(analysed) => report::every_chart(&analysed[0]),
        Reported::Reading(of) => reading_charts(of),
        Reported::Arms(_) => Vec::new(),
    };
    let mut files = Vec::new();
    let mut drawn = 0;
    for chart in &charts {
        let Some(svg) = figure(chart)? else { continue };
        drawn += 1;
        let path = |ending: &str| directory.join(format!("{}.{ending}", chart.id));
        if with_png {
            files.push((path("png"), png(&svg)?));
        }
        files.push((path("svg"), svg.into_bytes()));
    }
    if files.is_empty() {
        refuse!("the run has no chart; `halfpower runs show` has its figures");
    }
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    // All or none.
    files.iter().try_for_each(|(path, _)| Output::new_file(path).check())?;
    files.iter().try_for_each(|(path, picture)| Output::new_file(path).write(picture))?;
    if context.global.json {
        let paths: Vec<&PathBuf> = files.iter().map(|(path, _)| path).collect();
        context.console.print_json(&serde_json::json!({ "figures": paths }))?;
    } else {
        context.console.message(&format!("{} in {}", counted(drawn, "chart"), directory.display()));
    }
    Ok(Ending::Done)
}

/// A picture as PNG, two pixels for each of the page.
fn png(svg: &str) -> anyhow::Result<Vec<u8>> {
    let mut command = Command::new("rsvg-convert");
    let converter = command.arg("--zoom=2").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    if converter.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        refuse!("--png needs rsvg-convert, of the package librsvg2-bin (Debian, Ubuntu) or librsvg2-tools (Fedora)");
    }
    let mut converter = converter.context("cannot start rsvg-convert")?;
    // It reads everything before it writes.
    let written = converter.stdin.take().map_or(Ok(()), |mut input| input.write_all(svg.as_bytes()));
    let output = converter.wait_with_output().context("cannot read from rsvg-convert")?;
    if !output.status.success() {
        bail!("rsvg-convert failed with {}", output.status);
    }
    written.context("cannot write to rsvg-convert")?;
    Ok(output.stdout)
}

/// The page of an instrument's reading.
pub(super) fn reading_page(run: &Run, reading: &Reading) -> anyhow::Result<String> {
    let target = if reading.environment.target.kind == TargetKind::Null { "" } else { run.target.as_str() };
    reading_html(&ReadingInput { run: run.id.0, target, command: &run.command, reading })
}
