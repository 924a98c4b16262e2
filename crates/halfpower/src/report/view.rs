//! What the template is given: every word of the report in its place, nothing left to decide.

use super::chart::swatch::LegendEntry;
use super::chart::{self, Chart, LINES_SHOWN, Value, charts};
use super::pyramid::{self, PyramidView};
use super::table::{self, Table};
use super::{ReportInput, RunStatus, noise};
use crate::paper_figures::{PaperFigure, Printed};
use halfpower_analysis::{Attribution, first_peak};
use halfpower_model::{BytesPerSecond, Estimate, Finding, FindingCode};
use serde::Serialize;

/// The whole report.
#[derive(Debug, Serialize)]
pub(super) struct View<'a> {
    title: &'a str,
    version: &'a str,
    question: Option<&'a str>,
    target: &'a str,
    run: i64,
    date: String,
    counts: String,
    /// Whether any workload has more than one repetition to make an interval of.
    has_intervals: bool,
    /// Whether a claim has an interval, which a fit may have without repetitions.
    findings_have_intervals: bool,
    /// Whether a lone repetition has an interval within its own run.
    within_run: bool,
    unfinished: Option<String>,
    verdict: Vec<String>,
    key_figures: Vec<KeyFigure>,
    noise: Option<Table>,
    scatter: Option<String>,
    recommendations: Vec<&'a str>,
    findings: Vec<FindingGroup<'a>>,
    pyramids: Vec<PyramidView<'a>>,
    charts: Vec<ChartView>,
    absent: Vec<&'static str>,
    figures: Vec<FigureView<'a>>,
    /// Whether something that a paper prints stands beside one of them.
    is_beside: bool,
    cells: Table,
    costs: Option<Table>,
    models: Option<Table>,
    block_layer: Option<Table>,
    parts: Option<Table>,
    samples: Table,
    /// How many samples are not in that table.
    samples_left_out: usize,
    warnings: Vec<WarningView<'a>>,
    skipped: Option<Table>,
    environment: Table,
    plan: &'a str,
    /// Whether another program measured it, so that our method is not its.
    imported: bool,
    command: &'a str,
}

/// A figure in large type.
#[derive(Debug, Serialize)]
struct KeyFigure {
    name: String,
    /// Empty where the claim is in words.
    number: String,
    rest: String,
    about: String,
}

#[derive(Debug, Serialize)]
struct FindingGroup<'a> {
    title: &'static str,
    findings: Vec<FindingView<'a>>,
}

#[derive(Debug, Serialize)]
struct FindingView<'a> {
    sentence: &'a str,
    estimates: Vec<EstimateView>,
    samples: String,
    sample_count: usize,
}

#[derive(Debug, Serialize)]
struct EstimateView {
    value: String,
    interval: String,
    repetitions: u32,
}

/// A figure of a paper.
#[derive(Debug, Serialize)]
struct FigureView<'a> {
    label: &'a str,
    question: Option<&'a str>,
    charts: Vec<ChartView>,
    beside: Option<Table>,
}

/// A chart, drawn, with its words and its table.
#[derive(Debug, Serialize)]
pub(crate) struct ChartView {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) caption: String,
    pub(super) view_box: String,
    /// Trusted: drawn here from enumerations and numbers, and escaped by the drawing library.
    pub(super) svg: String,
    pub(super) legend: Vec<LegendEntry>,
    pub(super) table: Table,
}

#[derive(Debug, Serialize)]
struct WarningView<'a> {
    message: &'a str,
    remedy: &'a str,
    samples: u32,
}

/// Rows of the table of samples: a browser is slow with more, and nobody reads them.
const SAMPLES_SHOWN: usize = 2000;

/// The kinds of findings that have a section, in its order. The recommendation stands above them all.
const GROUPS: [(FindingCode, &str); 19] = [
    (FindingCode::Peak, "Peaks"),
    (FindingCode::HalfPower, "Half-power request sizes"),
    (FindingCode::Knee, "Depth"),
    (FindingCode::Owner, "What sets the pace"),
    (FindingCode::Dip, "Dips"),
    (FindingCode::ProcessorCost, "CPU cost"),
    (FindingCode::ProcessorSaturation, "CPU use"),
    (FindingCode::BufferingGain, "Buffering"),
    (FindingCode::FlushCost, "Flushing"),
    (FindingCode::SmallWritePenalty, "Small writes"),
    (FindingCode::ExtensionCost, "Extending files"),
    (FindingCode::Misalignment, "Alignment"),
    (FindingCode::WriterCollapse, "Parallel writers"),
    (FindingCode::Asymmetry, "Reads against writes"),
    (FindingCode::TailLatency, "Tail latency"),
    (FindingCode::CacheHits, "Caches"),
    (FindingCode::Drift, "Over time"),
    (FindingCode::SharedLimit, "Targets together"),
    (FindingCode::Price, "Price"),
];

impl<'a> View<'a> {
    /// Of a run.
    pub(super) fn new(input: &ReportInput<'a>) -> View<'a> {
        let analysis = input.analysis;
        let (drawn, absent) = charts(input);
        let warnings = analysis.warnings.iter();
        let samples_shown = input.samples.len().min(SAMPLES_SHOWN);
        View {
            title: input.title,
            version: &input.program.version,
            question: input.question,
            target: input.target,
            run: input.run,
            date: input.started_at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
            counts: input.counts(),
            has_intervals: input.has_intervals(),
            findings_have_intervals: analysis
                .findings
                .iter()
                .flat_map(|finding| &finding.estimates)
                .any(|estimate| estimate.low.is_some()),
            within_run: analysis.cells.iter().any(|cell| cell.within_run.is_some()),
            unfinished: unfinished(input.status),
            verdict: beside(input.paper_figures).map_or_else(|| verdict(input), |sentence| vec![sentence]),
            key_figures: key_figures(input),
            noise: input.noise.map(noise::table),
            scatter: input.noise.and_then(|noise| Some(noise.scatter?.sentence())),
            recommendations: sentences(input, FindingCode::Recommendation),
            findings: GROUPS.iter().filter_map(|(code, title)| group(input, *code, title)).collect(),
            pyramids: analysis.pyramids.iter().map(pyramid::view).collect(),
            charts: drawn.iter().filter_map(chart_view).collect(),
            absent,
            figures: input.paper_figures.iter().enumerate().map(|of| figure_view(input, of)).collect(),
            is_beside: input.paper_figures.iter().any(|figure| !figure.printed.is_empty()),
            cells: table::of_cells(input.named_cells()),
            costs: (!analysis.costs.is_empty()).then(|| table::of_costs(&analysis.costs)),
            models: table::of_models(&analysis.models),
            block_layer: table::of_block_layer(input.named_cells()),
            parts: table::of_parts(input.named_cells()),
            samples: table::of_samples(&input.samples[..samples_shown]),
            samples_left_out: input.samples.len() - samples_shown,
            warnings: warnings
                .map(|(warning, samples)| WarningView {
                    message: &warning.message,
                    remedy: &warning.remedy,
                    samples: *samples,
                })
                .collect(),
            skipped: (!input.skipped.is_empty()).then(|| table::of_skipped(input.skipped)),
            environment: table::of_environment(input.environment, input.program),
            plan: input.plan,
            imported: input.samples.iter().any(|observed| observed.sample.origin.is_some()),
            command: input.command,
        }
    }
}

fn figure_view<'a>(input: &ReportInput<'a>, (number, figure): (usize, &'a PaperFigure)) -> FigureView<'a> {
    FigureView {
        label: &figure.exhibit.label,
        question: figure.exhibit.question.as_deref(),
        charts: chart::of_figure(input, figure, number).iter().filter_map(chart_view).collect(),
        beside: table::of_paper(figure, &input.analysis.cells),
    }
}

/// `35 of the 36 figures that the paper prints of these workloads are met: …`. Of one figure, those that are printed in it are told
/// from those of the text.
pub(super) fn beside(figures: &[PaperFigure]) -> Option<String> {
    let all = || figures.iter().flat_map(|figure| &figure.printed);
    let said = match figures {
        [figure] => match (met(all().filter(|own| own.is_of(&figure.exhibit))), elsewhere(figures)) {
            (Some((met, of)), elsewhere) => {
                let label = &figure.exhibit.label;
                let more = elsewhere
                    .map(|(met, of)| format!(", and {met} of {of} that it prints elsewhere of these workloads"));
                format!(
                    "{met} of the {of} figures that the paper prints in {label} are met{}",
                    more.unwrap_or_default()
                )
            }
            (None, elsewhere) => of_workloads(elsewhere?),
        },
        _ => of_workloads(met(all())?),
    };
    Some(format!("{said}: within 5 %, within 10 % where it calls them approximate, or within what their kind allows."))
}

fn of_workloads((met, of): (usize, usize)) -> String {
    format!("{met} of the {of} figures that the paper prints of these workloads are met")
}

/// How many of a paper's figures are met, and of how many; none of none.
pub(super) fn met<'a>(printed: impl Iterator<Item = &'a Printed>) -> Option<(usize, usize)> {
    let within = printed.filter_map(Printed::is_within);
    let (met, of) = within.fold((0, 0), |(met, of), is_within| (met + usize::from(is_within), of + 1));
    (of > 0).then_some((met, of))
}

/// The same of those that the paper prints in none of these figures, of workloads that they show.
pub(super) fn elsewhere(figures: &[PaperFigure]) -> Option<(usize, usize)> {
    let all = figures.iter().flat_map(|figure| figure.printed.iter().map(|printed| (&figure.exhibit, printed)));
    met(all.filter(|(exhibit, printed)| !printed.is_of(exhibit)).map(|(_, printed)| printed))
}

/// A sentence for a run that was stopped.
pub(super) fn unfinished(status: RunStatus) -> Option<String> {
    match status {
        RunStatus::Finished => None,
        RunStatus::Unfinished { measured, planned } => Some(format!(
            "The run was stopped after {measured} of {planned} samples; its confidence intervals are wider."
        )),
    }
}

fn sentences<'a>(input: &ReportInput<'a>, code: FindingCode) -> Vec<&'a str> {
    input.findings(code).map(|finding| finding.sentence.as_str()).collect()
}

/// Half-power findings of direct sequential reads, which everybody asks for, one deep first.
fn half_power_of_reads<'a>(input: &ReportInput<'a>) -> impl Iterator<Item = &'a Finding> + use<'a> {
    let wanted =
        |finding: &&Finding| finding.subject.starts_with("sequential read") && finding.subject.contains("direct");
    input.findings(FindingCode::HalfPower).filter(wanted)
}

/// What the reader came for: the highest figure, and the request sizes that get half of it.
fn verdict(input: &ReportInput<'_>) -> Vec<String> {
    let peak = first_peak(&input.analysis.findings, &input.analysis.cells).into_iter();
    let found = peak.chain(half_power_of_reads(input).take(1)).map(|finding| finding.sentence.as_str());
    let found: Vec<String> =
        input.noise.map(|noise| noise.sentence.as_str()).into_iter().chain(found).map(str::to_owned).collect();
    if found.is_empty() { owners(input).into_iter().collect() } else { found }
}

/// Who sets the pace of how many workloads of a simulated machine; none of a host, where few can be told so surely.
fn owners(input: &ReportInput<'_>) -> Option<String> {
    let paces = input.analysis.cells.iter().filter(|cell| !cell.parts.is_empty()).filter_map(|cell| cell.pace.as_ref());
    let mut owners: Vec<(String, usize)> = Vec::new();
    for name in paces.filter(|pace| pace.owner.is_some()).map(Attribution::named) {
        match owners.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => owners.push((name, 1)),
        }
    }
    let all = input.analysis.cells.len();
    let listed: Vec<String> = owners.iter().map(|(name, count)| format!("{name} in {count} of {all}")).collect();
    (!listed.is_empty()).then(|| format!("Bottlenecks of the workloads: {}.", listed.join(", ")))
}

/// The peaks of the storage, the half-power sizes of reads, the depths that are enough, and what holds requests back.
fn key_figures(input: &ReportInput<'_>) -> Vec<KeyFigure> {
    let peaks = input.findings_of_storage(FindingCode::Peak);
    let peaks = peaks.map(|finding| key_figure(&finding.subject, "", &finding.brief));
    let half_power = half_power_of_reads(input);
    let half_power = half_power.map(|finding| key_figure("half-power request size", &finding.subject, &finding.brief));
    let knees = input.findings_of_storage(FindingCode::Knee).filter(|finding| !finding.estimates.is_empty());
    let knees = knees.map(|finding| key_figure("sufficient queue depth", &finding.subject, &finding.brief));
    let bottlenecks = input.analysis.pyramids.iter();
    let bottlenecks = bottlenecks.map(|of| key_figure(&format!("bottleneck of {}", pyramid::name(of)), "", &of.brief));
    peaks.chain(half_power).chain(knees).chain(bottlenecks).collect()
}

/// A brief claim, its number by itself and what stands in brackets below.
fn key_figure(name: &str, about: &str, brief: &str) -> KeyFigure {
    let (claim, circumstances) = brief.split_once(" (").unwrap_or((brief, ""));
    let is_number = claim.starts_with(|c: char| c.is_ascii_digit());
    let (number, rest) = claim.split_once(' ').filter(|_| is_number).unwrap_or(("", claim));
    let about: Vec<&str> =
        [about, circumstances.trim_end_matches(')')].into_iter().filter(|text| !text.is_empty()).collect();
    KeyFigure { name: name.to_owned(), number: number.to_owned(), rest: rest.to_owned(), about: about.join("; ") }
}

/// An estimate as its figure and its interval.
fn parts(estimate: &Estimate) -> (String, String) {
    let value = estimate.quantity.format(estimate.value);
    let whole = estimate.to_string();
    let interval = whole.strip_prefix(&value).unwrap_or_default().trim().to_owned();
    (value, interval)
}

fn group<'a>(input: &ReportInput<'a>, code: FindingCode, title: &'static str) -> Option<FindingGroup<'a>> {
    let findings: Vec<_> = input.findings(code).map(finding_view).collect();
    (!findings.is_empty()).then_some(FindingGroup { title, findings })
}

fn finding_view(finding: &Finding) -> FindingView<'_> {
    let estimate = |estimate: &Estimate| {
        let (value, interval) = parts(estimate);
        EstimateView { value, interval, repetitions: estimate.repetitions }
    };
    FindingView {
        sentence: &finding.sentence,
        estimates: finding.estimates.iter().map(estimate).collect(),
        samples: ranges(&finding.samples),
        sample_count: finding.samples.len(),
    }
}

/// Numbers with neighbours drawn together: `1–4, 7, 9–10`.
fn ranges(numbers: &[i64]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}–{last}"),
        [] => String::new(),
    });
    runs.collect::<Vec<_>>().join(", ")
}

/// Draws a chart; `None` when nothing in it can be drawn.
pub(crate) fn chart_view(chart: &Chart) -> Option<ChartView> {
    let svg = chart::svg(chart)?;
    let shown = chart.lines.iter().take(LINES_SHOWN).enumerate();
    let legend = shown.flat_map(|(index, line)| {
        let fitted = line.fitted.as_ref().map(|fitted| LegendEntry {
            swatch: chart::fitted_swatch(index),
            label: format!("{}, fitted: {}", line.label, fitted.law),
        });
        let entry = LegendEntry { swatch: chart::swatch(index, line.stroke), label: line.label.clone() };
        std::iter::once(entry).chain(fitted)
    });
    let half = chart.half_of_peak.map(|half| LegendEntry {
        swatch: chart::reference_swatch(),
        label: format!("half of the peak ({})", BytesPerSecond(half)),
    });
    Some(ChartView {
        id: chart.id.clone(),
        title: chart.title.clone(),
        description: description(chart),
        caption: caption(chart),
        view_box: chart::view_box(),
        svg,
        legend: legend.chain(half).collect(),
        table: table::of_chart(chart, Value::text),
    })
}

/// The chart in words, for who cannot see it: where each line begins and ends.
fn description(chart: &Chart) -> String {
    let ends = chart.lines.iter().take(LINES_SHOWN).filter_map(|line| {
        let (first, last) = (line.points.first()?, line.points.last()?);
        let fitted = line.fitted.as_ref().map(|fitted| format!(", described by {}", fitted.law)).unwrap_or_default();
        Some(format!("{}: from {} to {}{fitted}", line.label, first.y.text(), last.y.text()))
    });
    format!("Lines along {}. {}.", chart.x.along(), ends.collect::<Vec<_>>().join("; "))
}

/// What a point is, how many repetitions are behind it, what the band means.
fn caption(chart: &Chart) -> String {
    let ours = chart.lines.iter().filter(|line| line.label != chart::PAPER);
    let estimates = ours.flat_map(|line| &line.points).filter_map(|point| match point.y {
        Value::Estimate(estimate) => Some(estimate),
        Value::LatencyNs(_) | Value::Once(_) => None,
    });
    let estimates: Vec<Estimate> = estimates.collect();
    let mut caption = format!("A point is {}", chart.point);
    let is_of_paper = chart.lines.iter().any(|line| line.label == chart::PAPER);
    if !is_of_paper && chart.lines.iter().any(|line| line.stroke == chart::Stroke::Points) {
        return caption;
    }
    let repetitions = || estimates.iter().map(|estimate| estimate.repetitions);
    match (repetitions().min(), repetitions().max()) {
        (Some(least), Some(most)) if least == most => caption += &format!(" over {most} repetitions."),
        (Some(least), Some(most)) => caption += &format!(" over {least} to {most} repetitions."),
        _ => caption += "; percentiles with fewer than ten requests beyond them are left out.",
    }
    if estimates.iter().any(|estimate| estimate.low.is_some()) {
        caption += " The band, or the bar of a lone point, is the 95 % confidence interval. An invisible one is narrower than the line.";
    }
    if is_of_paper {
        caption += " Points without a line are printed in the paper.";
    }
    if chart.lines.iter().take(LINES_SHOWN).any(|line| line.fitted.is_some()) {
        caption += " A thin curve is a model fitted to the points of its colour, not a measurement.";
    }
    if let Some(beyond) = chart.lines.len().checked_sub(LINES_SHOWN).filter(|beyond| *beyond > 0) {
        caption += &match beyond {
            1 => " One more line is in the table.".to_owned(),
            beyond => format!(" {beyond} more lines are in the table."),
        };
    }
    caption
}
