//! The end of a run on a terminal: what the reader came for, in the order it is asked for, on a screen or little more.
//! Findings are there in their brief wording; the report has their sentences, and the speed of memory.

use super::ReportInput;
use super::table::{figure, within_run};
use super::view::{beside, elsewhere, met, unfinished};
use super::wrap::{Page, Style};
use super::{noise, pyramid};
use crate::paper_figures::PaperFigure;
use crate::study::VOLUME;
use halfpower_analysis::{Attribution, CellSummary, busiest_first};
use halfpower_model::{Environment, Estimate, Finding, FindingCode, Quantity, Reach, Sample, TargetKind};

/// What stands where nothing was measured.
const NO_FIGURE: &str = "–";

/// Further findings with their names; first those that make other figures wrong.
const ALSO: [(FindingCode, &str); 10] = [
    (FindingCode::CacheHits, "a cache answered"),
    (FindingCode::Drift, "changed over time"),
    (FindingCode::WriterCollapse, "writers collapse"),
    (FindingCode::Misalignment, "misaligned"),
    (FindingCode::SmallWritePenalty, "read before write"),
    (FindingCode::ExtensionCost, "file extension"),
    (FindingCode::Dip, "dip"),
    (FindingCode::Asymmetry, "reads against writes"),
    (FindingCode::TailLatency, "long tail"),
    (FindingCode::ProcessorSaturation, "CPU use"),
];
/// How many of them.
const ALSO_SHOWN: usize = 6;

/// How many workloads of a simulated machine are a few.
const PACES_SHOWN: usize = 24;

/// A screen of lines. No line is longer than `width` columns (20 at least); without `colour` there are no escape
/// sequences.
pub(crate) fn summary(input: &ReportInput<'_>, colour: bool, width: usize) -> String {
    let mut page = Page::new(width, colour);
    heading(&mut page, input);
    if let Some(noise) = input.noise {
        page.gap();
        page.paragraph("", &[(Style::Strong, &noise.sentence)]);
        if let Some(scatter) = &noise.scatter {
            page.paragraph("", &[(Style::Plain, &scatter.sentence())]);
        }
        page.table(["Same workload twice", "differs by", "margin to call it equivalent"], &noise::rows(noise));
    }
    if let Some(sentence) = beside(input.paper_figures) {
        page.gap();
        page.paragraph("", &[(Style::Strong, &sentence)]);
        if input.paper_figures.len() > 1 {
            // Of each workload only the report has room to tell.
            page.table(["Figure", "met", "question"], &met_of_each(input));
            close(&mut page, input);
            return page.finish();
        }
    }
    page.table(["Peak", "figure (request size, queue depth)"], &briefs(input, FindingCode::Peak));
    let head = ["Sequential requests", "half-power size: half of the peak at", "CPU time per request"];
    page.table(head, &sequential(input));
    page.table(["Queue depth", "IOPS level off at"], &briefs(input, FindingCode::Knee));
    page.table(["Workload", "bottleneck"], &pace(input));
    let of_machine = pace_of_machine(input);
    page.table(["Workload", "throughput", "IOPS", "bottleneck", "busy"], &of_machine);
    page.table(["Buffering", "compared with direct"], &briefs(input, FindingCode::BufferingGain));
    page.table(["Targets", "together compared with alone"], &briefs(input, FindingCode::SharedLimit));
    page.table(["Price", priced(input)], &briefs(input, FindingCode::Price));
    page.table(["Also seen", ""], &also_seen(input));
    pyramids(&mut page, input);
    page.table(["Block layer", "where requests spent their time"], &longest_queued(input));
    let is_also =
        |finding: &Finding| finding.code == FindingCode::Owner || ALSO.iter().any(|(code, _)| *code == finding.code);
    if of_machine.is_empty() && input.analysis.findings.iter().all(is_also) {
        page.table(["Workload", "throughput", "IOPS"], &cells(input));
    }
    recommendation(&mut page, input);
    close(&mut page, input);
    page.finish()
}

fn heading(page: &mut Page, input: &ReportInput<'_>) {
    let place: Vec<String> = std::iter::once(place(input.environment)).chain(way(input)).collect();
    page.paragraph("", &[(Style::Strong, input.target), (Style::Quiet, &format!("({})", place.join("; ")))]);
    let intervals = if input.has_intervals() {
        "95 % confidence intervals"
    } else {
        "no confidence intervals: they need repetitions"
    };
    let counts = format!("{}: {}; {intervals}", input.title, input.counts());
    page.paragraph("", &[(Style::Quiet, &counts)]);
    if let Some(sentence) = unfinished(input.status) {
        page.paragraph("", &[(Style::Caution, &sentence)]);
    }
}

/// How many of a paper's figures are met, exhibit by exhibit.
fn met_of_each(input: &ReportInput<'_>) -> Vec<[String; 3]> {
    let words =
        |met: Option<(usize, usize)>| met.map_or_else(|| NO_FIGURE.to_owned(), |(met, of)| format!("{met} of {of}"));
    let row = |figure: &PaperFigure| {
        let own = met(figure.printed.iter().filter(|printed| printed.is_of(&figure.exhibit)));
        [figure.exhibit.label.clone(), words(own), figure.exhibit.question.clone().unwrap_or_default()]
    };
    let text = elsewhere(input.paper_figures);
    let text = text.map(|met| {
        [
            "Elsewhere".to_owned(),
            words(Some(met)),
            "Which other figures does the paper print for these workloads?".to_owned(),
        ]
    });
    input.paper_figures.iter().map(row).chain(text).collect()
}

/// What lies under the target, as far as the system tells.
fn place(environment: &Environment) -> String {
    let target = &environment.target;
    let device = match (&target.device, target.kind) {
        (_, TargetKind::Simulated) => Some(environment.devices().join(", ")),
        (Some(device), _) => {
            let described = [&target.transport, &target.model].into_iter().flatten().map(String::as_str);
            Some(std::iter::once(device.as_str()).chain(described).collect::<Vec<_>>().join(", "))
        }
        (None, _) => None,
    };
    let storage = [target.filesystem.clone(), device].into_iter().flatten().collect::<Vec<_>>().join(" on ");
    let kernel = (!environment.kernel.is_empty()).then(|| format!("kernel {}", environment.kernel));
    let plural = if environment.cpus == 1 { "" } else { "s" };
    let cpus = (environment.cpus > 0).then(|| format!("{} CPU{plural}", environment.cpus));
    let rest = kernel.into_iter().chain(cpus).collect::<Vec<_>>().join(", ");
    let known: Vec<String> = [storage, rest].into_iter().filter(|part| !part.is_empty()).collect();
    if known.is_empty() { "imported; the machine is unknown".to_owned() } else { known.join("; ") }
}

/// By which way all requests went; none where they had several, which the workloads' or the machines' names tell apart, or nobody knows.
fn way(input: &ReportInput<'_>) -> Option<String> {
    let mut ways = input.samples.iter().map(|observed| {
        let Sample { workload, environment, .. } = observed.sample;
        workload.tells("personality").then(|| environment.way(workload))
    });
    let first = ways.next()??;
    ways.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// The findings of a kind whose figures are of the storage: subject and claim.
fn briefs(input: &ReportInput<'_>, code: FindingCode) -> Vec<[String; 2]> {
    input.findings_of_storage(code).map(|finding| [finding.subject.clone(), finding.brief.clone()]).collect()
}

/// What the prices are of: nothing is said of a capacity that nobody knows.
fn priced(input: &ReportInput<'_>) -> &'static str {
    let mut estimates = input.findings(FindingCode::Price).flat_map(|finding| &finding.estimates);
    let has_capacity = estimates.any(|estimate| estimate.quantity == Quantity::MegabytesPerPrice);
    if has_capacity { "of accesses and capacity" } else { "of accesses" }
}

/// Of a simulated machine, what each workload gave, who sets its pace, and how busy all its parts were: of every one where the machine is set
/// to be another for some, which is what the question was, or where they are few.
fn pace_of_machine(input: &ReportInput<'_>) -> Vec<[String; 5]> {
    let cells = &input.analysis.cells;
    let is_swept = cells.iter().any(|cell| !cell.workload.set.without(VOLUME).1.is_empty());
    if !is_swept && cells.len() > PACES_SHOWN {
        return Vec::new();
    }
    let row = |(cell, name): (&CellSummary, &str)| {
        let busy = busiest_first(cell.parts.iter().map(|part| (part.name.as_str(), part.kind, part.busy.value)));
        let pace = cell.pace.as_ref().map_or_else(|| NO_FIGURE.to_owned(), Attribution::brief);
        let [throughput, rate] = given(cell);
        (!busy.is_empty()).then(|| [name.to_owned(), throughput, rate, pace, busy.join(", ")])
    };
    input.named_cells().filter_map(row).collect()
}

/// Who sets the pace of a single workload. Of many, the report tells it: there is no room for it on a screen.
fn pace(input: &ReportInput<'_>) -> Vec<[String; 2]> {
    let cells = &input.analysis.cells;
    let is_alone = cells.len() == 1 && cells[0].parts.is_empty();
    let row = |finding: &Finding| [finding.subject.clone(), finding.brief.clone()];
    input.findings(FindingCode::Owner).filter(|_| is_alone).map(row).collect()
}

/// What else is told of the storage, and where a cache stood in for it: a line each, and how many more there are.
fn also_seen(input: &ReportInput<'_>) -> Vec<[String; 2]> {
    let matters = |finding: &&Finding| {
        let is_of_memory = finding.reach == Reach::Memory && finding.code == FindingCode::Dip;
        let is_news = !["undecided", "no difference"].iter().any(|word| finding.brief.starts_with(word));
        is_news && !is_of_memory
    };
    let all = ALSO.iter().flat_map(|(code, name)| {
        input
            .findings(*code)
            .filter(matters)
            .map(move |finding| (*name, format!("{}: {}", finding.subject, finding.brief)))
    });
    let mut rows: Vec<[String; 2]> = all.map(|(name, words)| [name.to_owned(), words]).collect();
    let more = rows.len().saturating_sub(ALSO_SHOWN);
    rows.truncate(ALSO_SHOWN);
    if more > 0 {
        rows.push([format!("and {more} more"), "in the report".to_owned()]);
    }
    rows
}

/// Half-power size and processor cost of every sequential series.
fn sequential(input: &ReportInput<'_>) -> Vec<[String; 3]> {
    let of = |code: FindingCode| input.findings(code).collect::<Vec<_>>();
    let (half_power, costs) = (of(FindingCode::HalfPower), of(FindingCode::ProcessorCost));
    let mut subjects: Vec<&str> = Vec::new();
    for finding in half_power.iter().chain(&costs) {
        if !subjects.contains(&finding.subject.as_str()) {
            subjects.push(&finding.subject);
        }
    }
    let brief = |findings: &[&Finding], subject: &str| {
        let finding = findings.iter().find(|finding| finding.subject == subject);
        finding.map_or_else(|| NO_FIGURE.to_owned(), |finding| finding.brief.clone())
    };
    let short = |subject: &str| subject.trim_start_matches("sequential ").to_owned();
    let row = |subject: &&str| [short(subject), brief(&half_power, subject), brief(&costs, subject)];
    subjects.iter().map(row).collect()
}

/// Peak against real performance from memory to device, and the bottleneck of each kind of request.
fn pyramids(page: &mut Page, input: &ReportInput<'_>) {
    let pyramids = &input.analysis.pyramids;
    if let Some(table) = pyramid::brief_table(pyramids) {
        page.table_of(&table);
        page.table(["Bottleneck", "level"], &pyramid::bottlenecks(pyramids));
    }
}

/// Of the workloads whose requests were followed, the one whose spent the largest share of their lives queued.
fn longest_queued(input: &ReportInput<'_>) -> Vec<[String; 2]> {
    let followed = input.named_cells().filter_map(|(cell, name)| {
        let block = cell.block.as_ref()?;
        Some((name, block.queued?, block.at_device?, block.busy?))
    });
    let most = followed.max_by(|(_, one, ..), (_, other, ..)| one.value.total_cmp(&other.value));
    let words = |(name, queued, at_device, share): (&str, Estimate, Estimate, Estimate)| {
        [
            name.to_owned(),
            format!(
                "{queued} queued, {at_device} at the device; the device had requests outstanding {share} of the time"
            ),
        ]
    };
    most.map(words).into_iter().collect()
}

/// What each workload gave: all there is where no claim can be made.
fn cells(input: &ReportInput<'_>) -> Vec<[String; 3]> {
    let figures = |cell: &CellSummary| [cell.bytes_per_s, cell.requests_per_s];
    let is_told = |estimate: &Estimate| estimate.repetitions > 0;
    let measured = input.named_cells().filter(|(cell, _)| figures(cell).iter().any(is_told));
    let row = |(cell, name): (&CellSummary, &str)| {
        let [throughput, rate] = given(cell);
        [name.to_owned(), throughput, rate]
    };
    measured.map(row).collect()
}

/// Bytes and requests a second.
fn given(cell: &CellSummary) -> [String; 2] {
    [cell.bytes_per_s, cell.requests_per_s].map(|one| figure(Some(one)) + &within_run(cell, one.quantity))
}

fn recommendation(page: &mut Page, input: &ReportInput<'_>) {
    for (index, finding) in input.findings(FindingCode::Recommendation).enumerate() {
        if index == 0 {
            page.gap();
            page.paragraph("", &[(Style::Plain, "Recommendation")]);
        }
        page.paragraph("  ", &[(Style::Strong, &finding.sentence)]);
    }
}

/// What was left out, and what could make the figures wrong.
fn close(page: &mut Page, input: &ReportInput<'_>) {
    let pyramids = &input.analysis.pyramids;
    // One that could not be told, and has no pyramid above it.
    let unknown = if pyramid::brief_table(pyramids).is_none() { pyramid::bottlenecks(pyramids) } else { Vec::new() };
    if !(unknown.is_empty() && input.skipped.is_empty() && input.analysis.warnings.is_empty()) {
        page.gap();
    }
    for of in unknown {
        page.paragraph("- ", &[(Style::Plain, &format!("Bottleneck of {}: {}", of[0], of[1]))]);
    }
    for (workload, reason) in input.skipped {
        page.paragraph("- ", &[(Style::Plain, &format!("Not run: {workload}: {reason}"))]);
    }
    for (warning, samples) in &input.analysis.warnings {
        let plural = if *samples == 1 { "" } else { "s" };
        let behind = format!("({samples} sample{plural}):");
        let message =
            [(Style::Caution, warning.message.as_str()), (Style::Quiet, &behind), (Style::Plain, &warning.remedy)];
        page.paragraph("! ", &message);
    }
}
