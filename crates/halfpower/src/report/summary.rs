//! The end of a run on a terminal: what the reader came for, in the order it is asked for.

use super::ReportInput;
use super::view::{counts, parts, unfinished};
use super::wrap::{Page, Style, UNBROKEN};
use halfpower_model::{Environment, Finding, FindingCode};

/// The narrowest column that a value is put into; with less, it goes below its label.
const VALUE_COLUMNS: usize = 24;

/// A few lines that answer at once. No line is longer than `width` columns (20 at least); without `colour` there are no
/// escape sequences.
pub(crate) fn summary(input: &ReportInput<'_>, colour: bool, width: usize) -> String {
    let mut page = Page::new(width, colour);
    heading(&mut page, input);
    let peaks: Vec<_> = input.findings(FindingCode::Peak).map(|finding| peak(input, finding)).collect();
    rows(&mut page, "Peak", &peaks);
    let half_power: Vec<_> = input.half_power().into_iter().map(row).collect();
    rows(&mut page, "Half-power request size (the smallest that reaches half of the peak)", &half_power);
    let knees: Vec<_> = input.findings(FindingCode::Knee).map(row).collect();
    rows(&mut page, "Depth where throughput stops growing", &knees);
    let costs: Vec<_> = input.findings(FindingCode::ProcessorCost).map(row).collect();
    rows(&mut page, "Processor time, fixed and for each KiB", &costs);
    let buffering = input.findings(FindingCode::BufferingGain).chain(input.findings(FindingCode::FlushCost));
    sentences(&mut page, "Buffering", Style::Plain, buffering);
    sentences(&mut page, "Recommendation", Style::Strong, input.findings(FindingCode::Recommendation));
    close(&mut page, input);
    page.finish()
}

fn heading(page: &mut Page, input: &ReportInput<'_>) {
    page.paragraph("", &[(Style::Strong, &input.environment.target.path)]);
    page.paragraph("", &[(Style::Quiet, &place(input.environment))]);
    if let Some(sentence) = unfinished(input.status) {
        page.paragraph("", &[(Style::Caution, &sentence)]);
    }
}

/// What lies under the target, as far as the system tells.
fn place(environment: &Environment) -> String {
    let target = &environment.target;
    let device = target.device.as_ref().map(|device| {
        let described = [&target.transport, &target.model].into_iter().flatten().map(String::as_str);
        let described = described.collect::<Vec<_>>().join(", ");
        if described.is_empty() { device.clone() } else { format!("{device} ({described})") }
    });
    let storage = [target.filesystem.clone(), device].into_iter().flatten().collect::<Vec<_>>().join(" on ");
    let kernel = format!("kernel {}", environment.kernel);
    let plural = if environment.cpus == 1 { "" } else { "s" };
    let rest = format!("{kernel}, {} processor{plural}", environment.cpus);
    if storage.is_empty() { rest } else { format!("{storage}, {rest}") }
}

/// What a finding is about, and its figures in the style of each.
type Row = (String, Vec<(Style, String)>);

/// A line for each row, the figures in a column of their own where there is room.
fn rows(page: &mut Page, title: &str, rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    page.gap();
    page.paragraph("", &[(Style::Plain, title)]);
    let widest = rows.iter().map(|(about, _)| about.chars().count()).max().unwrap_or_default();
    let beside = widest + 4 + VALUE_COLUMNS <= page.width();
    for (about, figures) in rows {
        let spans: Vec<(Style, &str)> = figures.iter().map(|(style, text)| (*style, text.as_str())).collect();
        if beside {
            page.paragraph(&format!("  {about:<widest$}  "), &spans);
        } else {
            page.paragraph("  ", &[(Style::Plain, about)]);
            page.paragraph("    ", &spans);
        }
    }
}

/// The main figure, its interval, and the other figures; the sentence where there is no figure.
fn row(finding: &Finding) -> Row {
    let mut figures = Vec::new();
    for (index, estimate) in finding.estimates.iter().enumerate() {
        let (value, interval) = parts(estimate);
        if index > 0 {
            figures.push((Style::Plain, "and".to_owned()));
        }
        let (value, interval) = (value.replace(' ', UNBROKEN), interval.replace(' ', UNBROKEN));
        figures.push((if index == 0 { Style::Strong } else { Style::Plain }, value));
        figures.push((Style::Quiet, interval));
    }
    if figures.is_empty() {
        figures.push((Style::Plain, finding.sentence.clone()));
    }
    (finding.subject.clone(), figures)
}

/// A peak comes with the workload that reached it.
fn peak(input: &ReportInput<'_>, finding: &Finding) -> Row {
    let (about, how) = input.peak_words(finding);
    let (_, mut figures) = row(finding);
    if !how.is_empty() {
        figures.push((Style::Plain, format!("({how})")));
    }
    (about, figures)
}

fn sentences<'a>(page: &mut Page, title: &str, style: Style, findings: impl Iterator<Item = &'a Finding>) {
    for (index, finding) in findings.enumerate() {
        if index == 0 {
            page.gap();
            page.paragraph("", &[(Style::Plain, title)]);
        }
        page.paragraph("  ", &[(style, &finding.sentence)]);
    }
}

/// How much stands behind all that, and what could make it wrong.
fn close(page: &mut Page, input: &ReportInput<'_>) {
    page.gap();
    page.paragraph("", &[(Style::Quiet, &format!("{}.", counts(input)))]);
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
