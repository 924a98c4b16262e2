//! The answer of a survey on a terminal: three sentences, the best of each kind of requests, and advice by use.

use super::analysed::Analysed;
use super::table::{Table, or_dash};
use super::wrap::{Page, Style};
use crate::console::Medium;
use crate::emit::fio::in_short;
use crate::target::notes::on_memory;
use crate::target_name::is_time_virtual;
use crate::text::{counted, percent};
use halfpower_analysis::{Advice, Best};
use halfpower_model::units::significant;
use halfpower_model::{Nanoseconds, Operation};
use std::path::Path;

/// About one screen; `tables` is where the rest is.
pub(crate) fn answer(analysed: &Analysed, tables: &str, medium: Medium) -> String {
    let mut page = Page::new(medium);
    page.paragraph("", &[(Style::Strong, analysed.run.target.as_str()), (Style::Quiet, &about(analysed))]);
    if let Some(sentence) = analysed.unfinished() {
        page.paragraph("", &[(Style::Caution, &sentence)]);
    }
    for sentence in analysed.expected_in_words() {
        page.paragraph("", &[(Style::Strong, &sentence)]);
    }
    for note in on_memory(&analysed.samples) {
        page.paragraph("", &[(Style::Caution, &format!("{}; {}.", note.message, note.remedy))]);
    }
    if let Some(disturbed) = disturbance(analysed) {
        page.paragraph("", &[(Style::Caution, &disturbed)]);
    }
    tell(&mut page, analysed);
    close_in_short(&mut page, analysed, tables);
    page.finish()
}

/// What disturbed the run, if an interval is so wide that it says little.
fn disturbance(analysed: &Analysed) -> Option<String> {
    const WIDE: f64 = 0.25;
    let peaks = &analysed.analysis.verdict.peaks;
    let is_wide = peaks.iter().any(|best| best.rate.relative_half_width().is_some_and(|share| share > WIDE));
    let mut warnings = analysed.analysis.warnings.iter().map(|(warning, _)| warning).filter(|_| is_wide);
    let found = warnings.find(|warning| ["time_stolen", "for_others"].contains(&warning.code.as_str()))?;
    Some(format!("The figures scatter: {}; {}.", found.message, found.remedy))
}

/// `(survey: 240 samples)`.
fn about(analysed: &Analysed) -> String {
    let samples = counted(analysed.samples.len(), "sample");
    let simulated = if is_time_virtual(Path::new(&analysed.run.target)) { "simulated; " } else { "" };
    format!("({simulated}{}: {samples})", analysed.run.name)
}

/// How many workloads were skipped, how many warnings of samples there are, and where they are.
fn close_in_short(page: &mut Page, analysed: &Analysed, tables: &str) {
    let skipped = analysed.skipped().iter().map(|of| of.cells).sum::<usize>();
    let mut more =
        vec![format!("{} on samples", counted(analysed.analysis.warnings.len(), "note")), format!("{skipped} not run")];
    more.retain(|words| !words.starts_with('0'));
    let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) };
    page.plain(format!("Tables and evidence{more}: {}", tables));
}

/// The verdict with its two tables.
pub(super) fn tell(page: &mut Page, analysed: &Analysed) {
    let verdict = &analysed.analysis.verdict;
    for sentence in &verdict.sentences {
        page.paragraph("", &[(Style::Strong, sentence)]);
    }
    // The mix is that of the database below.
    let is_below = verdict.advice.iter().any(|advice| advice.of == "database");
    let shown = verdict.peaks.iter().filter(|best| !(is_below && matches!(best.workload.operation, Operation::Mix(_))));
    page.table_of(&peaks(shown));
    page.table_of(&advice(&verdict.advice));
}

fn peaks<'a>(peaks: impl Iterator<Item = &'a Best> + Clone) -> Table {
    // What all have is in the head.
    let workers = peaks.clone().map(|best| best.workload.workers).max().unwrap_or(1);
    let is_shared = workers > 1 && peaks.clone().all(|best| best.workload.workers == workers);
    let shared = if is_shared { format!(" × {workers} workers") } else { String::new() };
    let row = |best: &Best| {
        let [p50, p99] = [best.p50, best.p99].map(|latency| or_dash(latency.map(Nanoseconds)));
        [best.kind.clone(), best.rate.to_string(), best.at.replace(&shared, ""), p50, p99]
    };
    let at = if is_shared { format!("at,{shared}") } else { "at".to_owned() };
    Table::new(["Best", "rate (95 % CI)", &at, "p50", "p99"], peaks.map(row))
}

fn advice(advice: &[Advice]) -> Table {
    let row = |advice: &Advice| {
        let most = advice.at_most();
        let rate = format!("{most}{}", advice.rate.quantity.format(advice.rate.value).replace(" files", ""));
        let gain = advice.gain.as_ref().map(|(gain, _)| format!("{most}{}", significant(*gain)));
        // As above: requests are direct unless buffered, and buffered writes are flushed.
        let setting = advice.setting().replace("buffered, flushed", "flushed").replace(", direct", "");
        let p99 = advice.p99.map(|p99| format!("{}{}", Nanoseconds(p99), advice.of_which()));
        [advice.of.to_owned(), setting, rate, or_dash(gain), or_dash(p99)]
    };
    // The verdict has the queues for random reads and for low latency.
    let uses = advice.iter().filter(|advice| !["random reads", "low latency"].contains(&advice.of));
    // The setting that is obvious is one small request at a time.
    Table::new(["For", "use", "rate", "× QD1", "p99"], uses.map(row))
}

/// How to do I/O here, in words to type; nothing if nothing is advised.
pub(super) fn recommend(page: &mut Page, analysed: &Analysed) {
    for (index, advice) in analysed.analysis.verdict.advice.iter().enumerate() {
        if index == 0 {
            page.gap();
            page.plain("Recommendation");
        }
        page.paragraph("- ", &[(Style::Plain, &advised(advice))]);
    }
}

/// `For streaming: 256 KiB, QD8, direct: 2.1 GB/s ± 3 %, p99 4 ms (fio: --rw=read …).`
pub(super) fn advised(advice: &Advice) -> String {
    let p99 = advice.p99.map(|p99| format!(", p99 {}", Nanoseconds(p99))).unwrap_or_default();
    let gain = advice.gain.as_ref().map(|(gain, of)| match *gain < 1.0 {
        true => format!(", {} of the rate at {of}", percent(*gain)),
        false => format!(", {} times {of}", significant(*gain)),
    });
    let gain = gain.unwrap_or_default();
    let settings = advice.settings.join(", ");
    let settings = if settings.is_empty() { String::new() } else { format!(" Try {settings}.") };
    let (rate, fio) = (&advice.rate, in_short(&advice.workload));
    format!("For {}: {}: {}{rate}{gain}{p99} (fio: {fio}).{settings}", advice.of, advice.setting(), advice.at_most())
}
