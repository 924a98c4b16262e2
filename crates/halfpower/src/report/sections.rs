//! The sections of a report after its first screen: each with its charts, then what was found, then the evidence.

use super::analysed::Analysed;
use super::chart::{Chart, Charts, chart_view, charts, of_figure, over_time, overview};
use super::table::Table;
use halfpower_model::{Estimate, Finding, FindingCode, Operation};
use minijinja::{Value, context};

/// At most two sentences are shown; the evidence has all.
const SHOWN: usize = 2;

/// A section before it is drawn.
struct Section {
    id: &'static str,
    title: &'static str,
    charts: Vec<Chart>,
    codes: &'static [FindingCode],
}

/// The sections that have something to show.
pub(super) fn sections(analysed: &Analysed) -> Vec<Value> {
    use FindingCode as Code;
    // The first screen has those of a single workload.
    let is_only = analysed.only().is_some();
    let charts = if is_only { Charts::default() } else { charts(analysed) };
    let limits: &[Code] = &[Code::Owner, Code::SharedLimit];
    let sizes: &[Code] = &[Code::HalfPower, Code::Dip, Code::SmallWritePenalty, Code::Misalignment];
    let section = |id, title, charts, codes| Section { id, title, charts, codes };
    let all = [
        section("limit", "What limits it", Vec::new(), limits),
        section("peaks", "Peaks", Vec::new(), &[Code::Peak, Code::Asymmetry, Code::Price]),
        section("request-size", "Request size", charts.throughput, sizes),
        section("queue-depth", "Queue depth", charts.rate, &[Code::Knee, Code::WriterCollapse]),
        section("latency", "Latency", charts.latency, &[Code::TailLatency]),
        section("cpu", "CPU cost", charts.cpu, &[Code::CpuCost, Code::CpuSaturation]),
        section(
            "cache",
            "Page cache and flushes",
            Vec::new(),
            &[Code::BufferingGain, Code::FlushCost, Code::CacheHits, Code::ExtensionCost],
        ),
        section("time", "Over time", later_over_time(analysed), &[Code::Drift]),
    ];
    all.into_iter().filter_map(|section| view(analysed, &section)).collect()
}

fn view(analysed: &Analysed, section: &Section) -> Option<Value> {
    let findings: Vec<&Finding> = section.codes.iter().flat_map(|code| analysed.findings(*code)).collect();
    let charts: Vec<Value> = section.charts.iter().filter_map(chart_view).collect();
    // What limits it has the verdict's accounts, and what they rest on.
    let accounts = if section.id == "limit" { accounts(analysed) } else { Vec::new() };
    let pyramids = if section.id == "limit" { analysed.analysis.pyramids.as_slice() } else { &[] };
    let pyramids: Vec<Value> = pyramids.iter().map(super::pyramid::view).collect();
    if findings.is_empty() && charts.is_empty() && accounts.is_empty() && pyramids.is_empty() {
        return None;
    }
    let sentences = if accounts.is_empty() {
        findings.iter().take(SHOWN).map(|of| of.sentence.clone()).collect()
    } else {
        accounts
    };
    Some(context! {
        id => section.id,
        title => section.title,
        charts => charts.into_iter().collect::<Value>(),
        pyramids => pyramids.into_iter().collect::<Value>(),
        sentences => sentences.into_iter().collect::<Value>(),
        count => findings.len(),
        evidence => (!findings.is_empty()).then(|| evidence(&findings)),
    })
}

/// The charts over time, unless the first screen has them.
fn later_over_time(analysed: &Analysed) -> Vec<Chart> {
    let is_first = analysed.only().is_some() || analysed.looks_for_limits();
    if is_first { Vec::new() } else { over_time(analysed) }
}

/// Every chart of a report, each once.
pub(crate) fn every_chart(analysed: &Analysed) -> Vec<Chart> {
    let of_paper = analysed.paper_figures.iter().enumerate();
    let mut all: Vec<Chart> = of_paper.flat_map(|(number, figure)| of_figure(analysed, figure, number)).collect();
    all.extend(overview(analysed));
    if analysed.only().is_none() {
        let Charts { throughput, rate, latency, cpu } = charts(analysed);
        all.extend([throughput, rate, latency, cpu, later_over_time(analysed)].into_iter().flatten());
    }
    all
}

/// What limits reads and writes, each with its evidence and what was ruled out; together if both are equal.
pub(super) fn accounts(analysed: &Analysed) -> Vec<String> {
    let bottleneck = &analysed.analysis.verdict.bottleneck;
    let said = |operation| {
        let account = bottleneck.of(operation)?;
        let ruled_out = account.ruled_out.join("; ");
        let ruled_out = if ruled_out.is_empty() { ruled_out } else { format!(" Ruled out: {ruled_out}.") };
        Some((account.words(), format!(". {}{ruled_out}", account.evidence.join(" "))))
    };
    let told = |name: &str, (words, evidence): (String, String)| format!("{name}: {words}{evidence}");
    match (said(Operation::Read), said(Operation::Write)) {
        (Some(reads), Some(writes)) if reads == writes => vec![told("Reads and writes", reads)],
        (reads, writes) => {
            let reads = reads.map(|reads| told("Reads", reads));
            reads.into_iter().chain(writes.map(|writes| told("Writes", writes))).collect()
        }
    }
}

/// Every finding with its estimates and samples.
fn evidence(findings: &[&Finding]) -> Table {
    let estimate = |estimate: &Estimate| match estimate.repetitions {
        0 => estimate.to_string(),
        repetitions => format!("{estimate} (n = {repetitions})"),
    };
    let row = |finding: &&Finding| {
        let estimates: Vec<String> = finding.estimates.iter().map(estimate).collect();
        [finding.sentence.clone(), estimates.join("; "), ranges(&finding.samples)]
    };
    Table::new(["finding", "estimates", "samples"], findings.iter().map(row))
}

/// Numbers with neighbours as ranges: `1–4, 7, 9–10`.
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
