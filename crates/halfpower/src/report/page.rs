//! The view of a report for its template, which makes no decisions.

use super::analysed::Analysed;
use super::chart::{chart_view, of_figure, overview};
use super::html::render;
use super::sections::sections;
use super::tables;
use crate::simulator::paper_figures::{PaperFigure, Printed};
use crate::study::Shows;
use crate::text::{counted, grouped, joined, once};
use halfpower_analysis::{Attribution, Best, CellSummary, first_peak};
use halfpower_model::units::significant;
use halfpower_model::{Estimate, Finding, FindingCode, Nanoseconds, Quantity};
use minijinja::{Value, context};

/// Maximum number of rows in the table of samples; more make a browser slow.
const SAMPLES_SHOWN: usize = 2000;

/// The report of a run as an HTML file that loads nothing.
///
/// # Errors
/// If the template does not fit the view, which a test would have shown.
pub(crate) fn html(analysed: &Analysed) -> anyhow::Result<String> {
    let Analysed { run, analysis, paper_figures, noise, .. } = analysed;
    let observed = analysed.observed();
    let verdict = match beside(paper_figures) {
        Some(sentence) => vec![sentence],
        None => verdict(analysed).into_iter().chain(multiples(paper_figures)).collect(),
    };
    let samples_shown = observed.len().min(SAMPLES_SHOWN);
    let mut estimates = analysis.findings.iter().flat_map(|finding| &finding.estimates);
    let warnings = analysis.warnings.iter().map(
        |(warning, samples)| context! { message => &warning.message, remedy => &warning.remedy, samples => *samples },
    );
    let is_about_target = analysed.is_survey() || analysed.looks_for_limits();
    let view = context! {
        title => if is_about_target { &run.target } else { &run.name },
        name => &run.name,
        is_about_target,
        version => &run.program.version,
        question => run.question.as_deref(),
        target => &run.target,
        run => run.id.0,
        date => run.started_at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        counts => analysed.counts(),
        has_intervals => analysed.has_intervals(),
        // A fit may have an interval without repetitions.
        findings_have_intervals => estimates.any(|estimate| estimate.low.is_some()),
        // A single repetition may have an interval within its run.
        within_run => analysis.cells.iter().any(|cell| cell.within_run.is_some()),
        unfinished => analysed.unfinished(),
        verdict => verdict.into_iter().collect::<Value>(),
        overview => overview(analysed).iter().filter_map(chart_view).collect::<Value>(),
        key_figures => key_figures(analysed).into_iter().collect::<Value>(),
        about => about(analysed),
        advice => tables::of_advice(&analysis.verdict.advice),
        noise => noise.as_ref().map(tables::of_noise),
        scatter => noise.as_ref().and_then(|noise| Some(noise.scatter?.sentence())),
        sections => sections(analysed).into_iter().collect::<Value>(),
        figures => paper_figures.iter().enumerate().map(|of| figure_view(analysed, of)).collect::<Value>(),
        is_beside => paper_figures.iter().any(|figure| !figure.printed.is_empty()),
        cells => tables::of_cells(analysed.named_cells()),
        costs => tables::of_costs(&analysis.costs),
        models => tables::of_models(&analysis.models),
        block_layer => tables::of_block_layer(analysed.named_cells()),
        parts => tables::of_parts(analysed.named_cells()),
        samples => tables::of_samples(&observed[..samples_shown]),
        samples_left_out => observed.len() - samples_shown,
        warnings => warnings.collect::<Value>(),
        skipped => tables::of_skipped(analysed.skipped()),
        environment => tables::of_environment(&run.environment, &run.program),
        plan => analysed.plan_in_words(),
        // Another program has another method.
        imported => observed.iter().any(|observed| observed.sample.origin.is_some()),
        command => &run.command,
    };
    render("report.html", view)
}

/// `ext4 on vda (QEMU HARDDISK) · host db1 · Linux 6.1`.
pub(super) fn about(analysed: &Analysed) -> String {
    let environment = &analysed.run.environment;
    let target = &environment.target;
    let model = target.model.as_ref().map(|model| format!(" ({model})")).unwrap_or_default();
    let on = target.device.as_ref().map(|device| format!("{device}{model}"));
    let storage = match (&target.filesystem, on) {
        (Some(filesystem), Some(on)) => Some(format!("{filesystem} on {on}")),
        (filesystem, on) => on.or(filesystem.clone()),
    };
    let named = |name: &str, value: &str| (!value.is_empty()).then(|| format!("{name} {value}"));
    let parts = [storage, named("host", &environment.host), named("kernel", &environment.kernel)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn figure_view(analysed: &Analysed, (number, figure): (usize, &PaperFigure)) -> Value {
    context! {
        label => &figure.exhibit.label,
        question => figure.exhibit.question.as_deref(),
        charts => of_figure(analysed, figure, number).iter().filter_map(chart_view).collect::<Value>(),
        beside => tables::of_paper(figure, &analysed.analysis.cells),
    }
}

/// `35 of the 36 figures that the paper prints of these workloads are met: …`. For a single figure of the paper, values
/// printed in it and values printed elsewhere are counted apart.
pub(super) fn beside(figures: &[PaperFigure]) -> Option<String> {
    let all = || figures.iter().flat_map(|figure| &figure.printed);
    let counts = match figures {
        [figure] => match (met(all().filter(|own| own.is_of(&figure.exhibit))), elsewhere(figures)) {
            (Some((met, of)), elsewhere) => {
                let more = elsewhere
                    .map(|(met, of)| format!(", and {met} of {of} that it prints elsewhere of these workloads"));
                let (label, more) = (&figure.exhibit.label, more.unwrap_or_default());
                format!("{met} of the {of} figures that the paper prints in {label} are met{more}")
            }
            (None, elsewhere) => of_workloads(elsewhere?),
        },
        _ => of_workloads(met(all())?),
    };
    Some(format!("{counts}: within 5 %, within the range that the paper prints, or within what their kind allows."))
}

fn of_workloads((met, of): (usize, usize)) -> String {
    format!("{met} of the {of} figures that the paper prints of these workloads are met")
}

/// What another machine than the paper's gave: `Here throughput is 3 to 40 times the paper's (9 figures); …`; none
/// if no figure is compared.
pub(super) fn multiples(figures: &[PaperFigure]) -> Option<String> {
    let kinds = [(Shows::Throughput, "throughput"), (Shows::Cpu, "CPU time"), (Shows::Latency, "latency")];
    let of_kind = |(shows, name): (Shows, &str)| {
        let own = figures.iter().flat_map(|figure| &figure.printed).filter(|own| own.figure.measure.shows() == shows);
        let (range, count) = times(own)?;
        Some(format!("{name} is {range} times the paper's ({})", counted(count, "figure")))
    };
    let said: Vec<String> = kinds.into_iter().filter_map(of_kind).collect();
    (!said.is_empty()).then(|| format!("Here {}. The paper measured another machine.", said.join("; ")))
}

/// The least and the greatest [multiple](Printed::times) of the paper's values, and their number; none for the paper's own
/// machine.
pub(super) fn times<'a>(printed: impl Iterator<Item = &'a Printed>) -> Option<(String, usize)> {
    let mut all: Vec<f64> = printed.filter(|own| !own.is_its_machine).filter_map(Printed::times).collect();
    all.sort_by(f64::total_cmp);
    let ends = [*all.first()?, *all.last()?].map(significant);
    Some((once(ends.iter().map(String::as_str)).join(" to "), all.len()))
}

/// The number of a paper's values that are met, and their total; none if the total is zero.
pub(super) fn met<'a>(printed: impl Iterator<Item = &'a Printed>) -> Option<(usize, usize)> {
    let within = printed.filter_map(Printed::is_within);
    let (met, of) = within.fold((0, 0), |(met, of), is_within| (met + usize::from(is_within), of + 1));
    (of > 0).then_some((met, of))
}

/// [`met`] for values of the figures' workloads that the paper prints outside of these figures.
pub(super) fn elsewhere(figures: &[PaperFigure]) -> Option<(usize, usize)> {
    let all = figures.iter().flat_map(|figure| figure.printed.iter().map(|printed| (&figure.exhibit, printed)));
    met(all.filter(|(exhibit, printed)| !printed.is_of(exhibit)).map(|(_, printed)| printed))
}

/// Half-power findings of direct sequential reads, QD1 first.
fn half_power_of_reads(analysed: &Analysed) -> impl Iterator<Item = &Finding> {
    let wanted =
        |finding: &&Finding| finding.subject.starts_with("sequential read") && finding.subject.contains("direct");
    analysed.findings(FindingCode::HalfPower).filter(wanted)
}

/// The main result: what was expected, the limits, the peak, and the request size that reaches half of it.
fn verdict(analysed: &Analysed) -> Vec<String> {
    if analysed.is_survey() {
        let verdict = analysed.analysis.verdict.sentences.clone();
        return analysed.expected_in_words().into_iter().chain(verdict).collect();
    }
    let peak = first_peak(&analysed.analysis.findings, &analysed.analysis.cells).into_iter();
    let found = match analysed.only() {
        Some(cell) => of_one(analysed, cell),
        None => peak.chain(half_power_of_reads(analysed).take(1)).map(|finding| finding.sentence.clone()).collect(),
    };
    let noise = analysed.noise.iter().map(|noise| noise.sentence.clone());
    let found = noise.chain(analysed.limits_in_words()).chain(found);
    let found: Vec<String> = analysed.expected_in_words().into_iter().chain(found).collect();
    if found.is_empty() { bottlenecks(analysed).into_iter().collect() } else { found }
}

/// What a single workload got, and what limited it.
fn of_one(analysed: &Analysed, cell: &CellSummary) -> Vec<String> {
    let rate = if cell.workload.pattern.is_ordered() {
        format!("{} ({})", cell.bytes_per_s, Quantity::RequestsPerSecond.format(cell.requests_per_s.value))
    } else {
        format!("{} ({})", cell.requests_per_s, Quantity::BytesPerSecond.format(cell.bytes_per_s.value))
    };
    let got = with_latency(rate, [cell.latency.p50, cell.latency.p99]);
    let bottleneck = analysed.analysis.verdict.bottleneck.of(cell.workload.operation);
    let bottleneck = bottleneck.map(|account| format!("The bottleneck is {}.", account.words()));
    std::iter::once(format!("{got}.")).chain(bottleneck).collect()
}

/// The bottlenecks of the workloads on a simulated machine; none on a host, where few are certain.
fn bottlenecks(analysed: &Analysed) -> Option<String> {
    let cells = &analysed.analysis.cells;
    let paces = cells.iter().filter(|cell| !cell.parts.is_empty()).filter_map(|cell| cell.pace.as_ref());
    let named = grouped(paces.filter(|pace| pace.owner.is_some()).map(Attribution::named), String::clone);
    let words = |(name, own): &(String, Vec<String>)| format!("{name} in {} of {}", own.len(), cells.len());
    let listed: Vec<String> = named.iter().map(words).collect();
    (!listed.is_empty()).then(|| format!("Bottlenecks of the workloads: {}.", listed.join(", ")))
}

/// The best of each kind with its latencies; of a single workload its figures; of other runs the peaks and the half-power sizes of
/// reads.
fn key_figures(analysed: &Analysed) -> Vec<Value> {
    if let Some(cell) = analysed.only() {
        let rates = [("IOPS", Some(cell.requests_per_s)), ("throughput", Some(cell.bytes_per_s))];
        let cost = [("CPU time", cell.cpu_us_per_request)];
        let rate = |(name, rate): (&str, Option<Estimate>)| Some(of_rate(name, &rate?, String::new()));
        let latency = |(share, ns): &(f64, u64)| {
            [0.5, 0.99, 0.999].contains(share).then(|| {
                let name = format!("latency p{}", significant(share * 100.0));
                context! { name, number => Nanoseconds(*ns).to_string(), rest => "", about => "" }
            })
        };
        let latencies = cell.percentiles.iter().filter_map(latency);
        return rates.into_iter().filter_map(rate).chain(latencies).chain(cost.into_iter().filter_map(rate)).collect();
    }
    let peaks = &analysed.analysis.verdict.peaks;
    if analysed.is_survey() && !peaks.is_empty() {
        return peaks.iter().map(best).collect();
    }
    let peaks = analysed.findings_of_storage(FindingCode::Peak);
    let peaks = peaks.map(|finding| key_figure(&finding.subject, "", &finding.brief));
    let half_power = half_power_of_reads(analysed);
    let half_power = half_power.map(|finding| key_figure("half-power request size", &finding.subject, &finding.brief));
    peaks.chain(half_power).collect()
}

fn best(best: &Best) -> Value {
    of_rate(&best.kind, &best.rate, with_latency(best.at.clone(), [best.p50, best.p99]))
}

/// `…, p50 84.5 µs, p99 138 µs`.
fn with_latency(text: String, percentiles: [Option<u64>; 2]) -> String {
    let latency = |(name, ns): (&str, Option<u64>)| ns.map(|ns| format!("{name} {}", Nanoseconds(ns)));
    let latencies = ["p50", "p99"].into_iter().zip(percentiles).map(latency);
    joined(std::iter::once(Some(text)).chain(latencies))
}

fn of_rate(name: &str, rate: &Estimate, about: String) -> Value {
    let number = rate.quantity.format(rate.value);
    let interval = rate.to_string();
    let rest = interval.strip_prefix(&number).unwrap_or_default().trim().to_owned();
    context! { name, number, rest, about }
}

/// A brief claim: its number apart, and the text in brackets below it.
fn key_figure(name: &str, about: &str, brief: &str) -> Value {
    let (claim, circumstances) = brief.split_once(" (").unwrap_or((brief, ""));
    let is_number = claim.starts_with(|c: char| c.is_ascii_digit());
    // A claim in words has no number.
    let (number, rest) = claim.split_once(' ').filter(|_| is_number).unwrap_or(("", claim));
    let mut about = vec![about, circumstances.trim_end_matches(')')];
    about.retain(|text| !text.is_empty());
    context! { name, number, rest, about => about.join("; ") }
}
