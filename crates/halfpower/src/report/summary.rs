//! The summary on a terminal, about one screen: the main results first, in brief wording. The report has the full
//! sentences, and the speed of memory.

use super::analysed::Analysed;
use super::answer::{recommend, tell};
use super::chart::{Chart, Line, Point, XAxis, YAxis, overview};
use super::page::{beside, elsewhere, met, multiples, times};
use super::pyramid;
use super::sections::accounts;
use super::table::{Table, figure, or_dash};
use super::tables::{bottleneck, brief_noise, busy, latency_text, within_run};
use super::wrap::{Page, Style};
use crate::console::Medium;
use crate::sanitize::sanitize;
use crate::simulator::paper_figures::PaperFigure;
use crate::store::RunKind;
use crate::study::VOLUME;
use crate::text::{bar, counted, joined, once};
use halfpower_analysis::CellSummary;
use halfpower_model::sample::Totals;
use halfpower_model::{Environment, Estimate, Finding, FindingCode, Origin, Quantity, Reach, Sample};
use std::collections::HashMap;

/// Further findings with their names. Those that make other figures wrong come first.
const ALSO: [(FindingCode, &str); 10] = [
    (FindingCode::CacheHits, "a cache answered"),
    (FindingCode::Drift, "changed over time"),
    (FindingCode::WriterCollapse, "writers collapse"),
    (FindingCode::Misalignment, "misaligned"),
    (FindingCode::SmallWritePenalty, "read-modify-write"),
    (FindingCode::ExtensionCost, "file extension"),
    (FindingCode::Dip, "dip"),
    (FindingCode::Asymmetry, "reads against writes"),
    (FindingCode::TailLatency, "tail latency"),
    (FindingCode::CpuSaturation, "CPU use"),
];
/// Maximum number of further findings.
const ALSO_SHOWN: usize = 6;

/// Columns of the longest bar.
const BAR: usize = 30;

/// Maximum number of workloads of a simulated machine, or of an import, to list, unless a study varies the machine.
const CELLS_SHOWN: usize = 24;

/// The summary.
pub(crate) fn summary(analysed: &Analysed, medium: Medium) -> String {
    let mut page = Page::new(medium);
    heading(&mut page, analysed);
    if let Some(noise) = &analysed.noise {
        page.gap();
        page.paragraph("", &[(Style::Strong, &noise.sentence)]);
        if let Some(scatter) = &noise.scatter {
            page.plain(scatter.sentence());
        }
        page.table_of(&brief_noise(noise));
    }
    let figures = &analysed.paper_figures;
    let met = beside(figures);
    let head = if met.is_some() { "met" } else { "times the paper's" };
    if let Some(sentence) = met.or_else(|| multiples(figures)) {
        page.gap();
        page.paragraph("", &[(Style::Strong, &sentence)]);
        if figures.len() > 1 {
            // Only the report has room for each workload.
            page.table(["Figure", head, "question"], met_of_each(figures));
            close(&mut page, analysed);
            return page.finish();
        }
    }
    expected_and_limits(&mut page, analysed);
    let is_survey = analysed.is_survey();
    if is_survey {
        tell(&mut page, analysed);
        for (number, account) in accounts(analysed).iter().enumerate() {
            if number == 0 {
                page.gap();
            }
            page.plain(account.as_str());
        }
    }
    for (title, table) in knees(analysed) {
        page.gap();
        page.plain(title);
        page.table_of(&table);
    }
    page.table(["Peak", "figure (request size, queue depth)"], briefs(analysed, FindingCode::Peak));
    let head = ["Sequential requests", "half-power size (interpolated)", "CPU time per request"];
    page.table(head, sequential(analysed));
    page.table(["Queue depth", "lowest depth within 10 % of the best IOPS"], briefs(analysed, FindingCode::Knee));
    page.table(["Workload", "bottleneck"], only_bottleneck(analysed));
    let of_machine =
        Table::new(["Workload", "throughput", "IOPS", "bottleneck", "busy"], bottlenecks_of_machine(analysed));
    page.table_of(&of_machine);
    page.table(["Buffering", "throughput relative to direct"], briefs(analysed, FindingCode::BufferingGain));
    page.table(["Targets", "together compared with alone"], briefs(analysed, FindingCode::SharedLimit));
    page.table(["Price", priced(analysed)], briefs(analysed, FindingCode::Price));
    page.table(["Also seen", ""], also_seen(analysed));
    pyramids(&mut page, analysed);
    page.table(["Block layer", "where requests spent their time"], longest_queued(analysed));
    let is_also =
        |finding: &Finding| finding.code == FindingCode::Owner || ALSO.iter().any(|(code, _)| *code == finding.code);
    let is_short = analysed.run.kind == RunKind::Import && analysed.analysis.cells.len() <= CELLS_SHOWN;
    if of_machine.rows.is_empty() && (is_short || analysed.analysis.findings.iter().all(is_also)) {
        page.table_of(&cells(analysed));
        page.table(["Also in the file", ""], also_in_the_file(analysed));
    }
    recommend(&mut page, analysed);
    close(&mut page, analysed);
    page.finish()
}

/// What was expected and is sustained, and the limits of a run that looks for them.
fn expected_and_limits(page: &mut Page, analysed: &Analysed) {
    for (number, sentence) in analysed.expected_in_words().into_iter().chain(analysed.limits_in_words()).enumerate() {
        if number == 0 {
            page.gap();
        }
        page.paragraph("", &[(Style::Strong, &sentence)]);
    }
}

fn heading(page: &mut Page, analysed: &Analysed) {
    let ranks = analysed.samples.first().and_then(|stored| stored.sample.hosts_in_words());
    let place: Vec<String> =
        std::iter::once(place(&analysed.run.environment)).chain(way(analysed)).chain(ranks).collect();
    let target = (Style::Strong, analysed.run.target.as_str());
    page.paragraph("", &[target, (Style::Quiet, &format!("({})", place.join("; ")))]);
    let intervals = if analysed.has_intervals() {
        "95 % confidence intervals"
    } else {
        "no confidence intervals: they need repetitions"
    };
    let counts = format!("{}: {}; {intervals}", analysed.run.name, analysed.counts());
    page.paragraph("", &[(Style::Quiet, &counts)]);
    if let Some(sentence) = analysed.unfinished() {
        page.paragraph("", &[(Style::Caution, &sentence)]);
    }
}

/// The number of a paper's values that are met, or their multiples, for each figure or table.
fn met_of_each(figures: &[PaperFigure]) -> impl Iterator<Item = [String; 3]> {
    let words = |met: Option<(usize, usize)>| or_dash(met.map(|(met, of)| format!("{met} of {of}")));
    let row = move |figure: &PaperFigure| {
        let own = || figure.printed.iter().filter(|printed| printed.is_of(&figure.exhibit));
        let is = times(own()).map_or_else(|| words(met(own())), |(range, _)| range);
        [figure.exhibit.label.clone(), is, figure.exhibit.question.clone().unwrap_or_default()]
    };
    let question = "Which other figures does the paper print for these workloads?".to_owned();
    let text = elsewhere(figures).map(|met| ["Elsewhere".to_owned(), words(Some(met)), question]);
    figures.iter().map(row).chain(text)
}

/// File system, device, kernel and CPUs of the target, as far as known.
fn place(environment: &Environment) -> String {
    let target = &environment.target;
    let device = match &target.device {
        _ if target.kind.is_time_virtual() => Some(environment.devices().join(", ")),
        None => target.server.as_ref().map(|server| format!("{} at {}", server.protocol, server.address)),
        device => Some(joined([device, &target.transport, &target.model].map(Option::as_ref))),
    };
    let storage = [target.filesystem.clone(), device].into_iter().flatten().collect::<Vec<_>>().join(" on ");
    let kernel = (!environment.kernel.is_empty()).then(|| format!("kernel {}", environment.kernel));
    let cpus = (environment.cpus > 0).then(|| counted(environment.cpus as usize, "CPU"));
    let mut known = vec![storage, joined([kernel, cpus])];
    known.retain(|part| !part.is_empty());
    if known.is_empty() { "imported; the machine is unknown".to_owned() } else { known.join("; ") }
}

/// The way of all requests; none if it is unknown, or differs between them.
fn way(analysed: &Analysed) -> Option<String> {
    let mut ways = analysed.samples.iter().map(|stored| {
        let Sample { workload, environment, .. } = &stored.sample;
        workload.is_known("personality").then(|| environment.way(workload))
    });
    let first = ways.next()??;
    ways.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// Subject and claim of the findings of a kind about the storage.
fn briefs(analysed: &Analysed, code: FindingCode) -> impl Iterator<Item = [String; 2]> {
    analysed.findings_of_storage(code).map(brief)
}

fn brief(finding: &Finding) -> [String; 2] {
    [finding.subject.clone(), finding.brief.clone()]
}

/// The head of the prices, which depends on whether the capacity is known.
fn priced(analysed: &Analysed) -> &'static str {
    let mut estimates = analysed.findings(FindingCode::Price).flat_map(|finding| &finding.estimates);
    let has_capacity = estimates.any(|estimate| estimate.quantity == Quantity::MegabytesPerPrice);
    if has_capacity { "of accesses and capacity" } else { "of accesses" }
}

/// The charts of the first screen as bars: of each depth or size the rate and, where it has one, the p99.
fn knees(analysed: &Analysed) -> Vec<(String, Table)> {
    let charts = overview(analysed);
    let tails = charts.iter().find(|chart| chart.y == YAxis::Latency);
    let is_rate = |chart: &&Chart| [XAxis::Depth, XAxis::RequestSize].contains(&chart.x) && chart.y != YAxis::Latency;
    let table = |chart: &Chart| {
        let points = || chart.lines.iter().flat_map(|line| line.points.iter().map(move |point| (line, point)));
        let most = points().map(|(_, point)| point.y.value).fold(f64::MIN_POSITIVE, f64::max);
        let row = |(line, point): (&Line, &Point)| {
            let tail = tails.and_then(|chart| chart.lines.iter().find(|tail| tail.label == line.label));
            let tail = tail.and_then(|tail| tail.points.iter().find(|tail| tail.x == point.x));
            let depth = if chart.x == XAxis::Depth { "QD" } else { "" };
            let at = format!("{}, {depth}{}", line.label, chart.x.text(point.x));
            let rate = point.y.quantity.format(point.y.value);
            [at, rate, bar(point.y.value / most, BAR), tail.map(|tail| tail.y.to_string()).unwrap_or_default()]
        };
        let tail = if chart.x == XAxis::Depth { "p99" } else { "" };
        let table = Table::new(["at", "rate", "", tail], points().map(row));
        (chart.title.clone(), table)
    };
    charts.iter().filter(is_rate).map(table).collect()
}

/// Figures, bottleneck and busy parts of each workload on a simulated machine, if a study varies the machine or has few
/// workloads.
fn bottlenecks_of_machine(analysed: &Analysed) -> Vec<[String; 5]> {
    let cells = &analysed.analysis.cells;
    let is_swept = cells.iter().any(|cell| !cell.workload.set.without(VOLUME).1.is_empty());
    if !is_swept && cells.len() > CELLS_SHOWN {
        return Vec::new();
    }
    let cells = analysed.named_cells().filter(|(cell, _)| !busy(cell).is_empty());
    let row = |(cell, name): (&CellSummary, &str)| {
        let [throughput, rate] = given(cell);
        [name.to_owned(), throughput, rate, bottleneck(cell), busy(cell).join(", ")]
    };
    cells.map(row).collect()
}

/// The bottleneck of a single workload. The report has those of many.
fn only_bottleneck(analysed: &Analysed) -> impl Iterator<Item = [String; 2]> {
    let cells = &analysed.analysis.cells;
    let is_alone = cells.len() == 1 && cells[0].parts.is_empty();
    analysed.findings(FindingCode::Owner).filter(move |_| is_alone).map(brief)
}

/// Further findings about the storage and its caches, one line each, and the number of those left out.
fn also_seen(analysed: &Analysed) -> Vec<[String; 2]> {
    let matters = |finding: &&Finding| {
        let is_of_memory = finding.reach == Reach::Memory && finding.code == FindingCode::Dip;
        let is_news = !["undecided", "no difference"].iter().any(|word| finding.brief.starts_with(word));
        is_news && !is_of_memory
    };
    let all = ALSO.iter().flat_map(|(code, name)| analysed.findings(*code).filter(matters).map(move |of| (name, of)));
    let row = |(name, finding): (&&str, &Finding)| [(*name).to_owned(), brief(finding).join(": ")];
    let mut rows: Vec<[String; 2]> = all.map(row).collect();
    let more = rows.len().saturating_sub(ALSO_SHOWN);
    rows.truncate(ALSO_SHOWN);
    if more > 0 {
        rows.push([format!("and {more} more"), "in the report".to_owned()]);
    }
    rows
}

/// Half-power size and CPU cost of every sequential series.
fn sequential(analysed: &Analysed) -> Vec<[String; 3]> {
    let of = |code: FindingCode| analysed.findings(code).collect::<Vec<_>>();
    let (half_power, costs) = (of(FindingCode::HalfPower), of(FindingCode::CpuCost));
    let subjects = once(half_power.iter().chain(&costs).map(|finding| finding.subject.as_str()));
    let brief = |findings: &[&Finding], subject: &str| {
        or_dash(findings.iter().find(|finding| finding.subject == subject).map(|finding| &finding.brief))
    };
    let short = |subject: &str| subject.trim_start_matches("sequential ").to_owned();
    let row = |subject: &&str| [short(subject), brief(&half_power, subject), brief(&costs, subject)];
    subjects.iter().map(row).collect()
}

/// Peak against real performance from memory to device, and the bottleneck of each kind of request.
fn pyramids(page: &mut Page, analysed: &Analysed) {
    let pyramids = &analysed.analysis.pyramids;
    if let Some(table) = pyramid::brief_table(pyramids) {
        page.table_of(&table);
        page.table(["Bottleneck", "level"], pyramid::bottlenecks(pyramids));
    }
}

/// The workload whose requests spent the largest share of their time queued, among those that were traced.
fn longest_queued(analysed: &Analysed) -> Option<[String; 2]> {
    let followed = analysed.named_cells().filter_map(|(cell, name)| {
        let block = cell.block.as_ref()?;
        Some((name, block.queued?, block.at_device?, block.busy?))
    });
    let (name, queued, at_device, busy) =
        followed.max_by(|(_, one, ..), (_, other, ..)| one.value.total_cmp(&other.value))?;
    let queued = format!("{queued} queued, {at_device} at the device");
    Some([name.to_owned(), format!("{queued}; the device had requests outstanding {busy} of the time")])
}

/// The figures of each workload, for a run without findings.
fn cells(analysed: &Analysed) -> Table {
    let figures = |cell: &CellSummary| [cell.bytes_per_s, cell.requests_per_s];
    let is_known = |estimate: &Estimate| estimate.repetitions > 0;
    let by_id: HashMap<i64, &Sample> = analysed.samples.iter().map(|stored| (stored.id, &stored.sample)).collect();
    let latencies = |cell: &CellSummary| [cell.latency.p50, cell.latency.p99];
    // Of a cell's only sample: its flushes, and reads and writes where their latencies are not known together.
    let parts = |cell: &CellSummary| {
        let [alone] = cell.samples[..] else { return Vec::new() };
        let Some(Sample { read, write, flush, .. }) = by_id.get(&alone) else { return Vec::new() };
        let apart = [("reads", read.as_ref()), ("writes", write.as_ref())];
        let apart = apart.into_iter().filter(|_| cell.latency.p50.is_none());
        let parts = apart.chain([("fsync", flush.as_deref())]);
        let parts = parts.filter_map(|(name, totals)| Some((name, totals?)));
        parts.filter(|(_, totals)| totals.latency_ns.p50.is_some()).collect::<Vec<(&str, &Totals)>>()
    };
    let measured = analysed.named_cells().filter(|(cell, _)| figures(cell).iter().any(is_known));
    let measured: Vec<_> = measured.map(|(cell, name)| (cell, name, parts(cell))).collect();
    let has_latencies =
        measured.iter().any(|(cell, _, parts)| latencies(cell).iter().any(Option::is_some) || !parts.is_empty());
    let columns = if has_latencies { 5 } else { 3 };
    let rows = |(cell, name, parts): (&CellSummary, &str, Vec<(&str, &Totals)>)| {
        let row = |name: String, [throughput, rate]: [String; 2], latencies: [Option<u64>; 2]| {
            let [p50, p99] = latencies.map(latency_text);
            [name, throughput, rate, p50, p99].into_iter().take(columns).collect::<Vec<_>>()
        };
        let mut rows = vec![row(name.to_owned(), given(cell), latencies(cell))];
        rows.extend(parts.into_iter().map(|(part, totals)| {
            let throughput = if part == "fsync" { "–".to_owned() } else { totals.bytes_per_s.to_string() };
            row(
                format!("{name}: {part}"),
                [throughput, Quantity::RequestsPerSecond.format(totals.requests_per_s)],
                [totals.latency_ns.p50, totals.latency_ns.p99],
            )
        }));
        rows
    };
    let head = ["Workload", "throughput", "IOPS", "p50", "p99"].into_iter().take(columns);
    Table { head: head.map(str::to_owned).collect(), rows: measured.into_iter().flat_map(rows).collect() }
}

/// What an imported file says and the record has no field for, each once.
fn also_in_the_file(analysed: &Analysed) -> Vec<[String; 2]> {
    let origins = analysed.samples.iter().filter_map(|stored| stored.sample.origin.as_ref());
    let of = |origin: &Origin| {
        let record = origin.record.as_deref().filter(|_| analysed.samples.len() > 1);
        let record = record.map(|record| format!("{}: ", sanitize(record))).unwrap_or_default();
        let row =
            |(name, value): (&String, &String)| [format!("{record}{}", sanitize(name)), sanitize(value).into_owned()];
        origin.also.iter().map(row).collect::<Vec<_>>()
    };
    let mut rows: Vec<[String; 2]> = origins.flat_map(|origin| of(origin)).collect();
    rows.truncate(CELLS_SHOWN);
    rows
}

/// Throughput and IOPS.
fn given(cell: &CellSummary) -> [String; 2] {
    [cell.bytes_per_s, cell.requests_per_s].map(|one| figure(Some(one)) + &within_run(cell, one.quantity))
}

/// Skipped workloads and warnings.
fn close(page: &mut Page, analysed: &Analysed) {
    let (pyramids, warnings) = (&analysed.analysis.pyramids, &analysed.analysis.warnings);
    // A bottleneck without a table of the pyramid above.
    let unknown = if pyramid::brief_table(pyramids).is_none() { pyramid::bottlenecks(pyramids) } else { Vec::new() };
    if !(unknown.is_empty() && analysed.skipped().is_empty() && warnings.is_empty()) {
        page.gap();
    }
    for of in unknown {
        page.paragraph("- ", &[(Style::Plain, &format!("Bottleneck of {}: {}", of[0], of[1]))]);
    }
    for of in analysed.skipped() {
        page.paragraph("- ", &[(Style::Plain, &format!("Not run: {}: {}", of.label, of.reason))]);
    }
    for (warning, samples) in warnings {
        // The figures in the message are those of the first.
        let first = if *samples > 1 { "the first of " } else { "" };
        let behind = format!("({first}{}):", counted(*samples as usize, "sample"));
        let message = (Style::Caution, warning.message.as_str());
        page.paragraph("! ", &[message, (Style::Quiet, &behind), (Style::Plain, &warning.remedy)]);
    }
}
