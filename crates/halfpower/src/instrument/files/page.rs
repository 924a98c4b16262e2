//! What `halfpower files` shows: files per second in each phase, without and with a flush, and the latency of one file.

use crate::instrument::page::{Bar, Body, Page, Section};
use crate::reading::files::{Answerer, FileRates, PhaseRates};
use crate::report::table::{Table, or_dash};
use crate::text::counted;
use halfpower_engine::files::{FilePhase, FilesOptions};
use halfpower_engine::is_remote;
use halfpower_model::sample::Latency;
use halfpower_model::{Estimate, Nanoseconds, Quantity};
use std::path::Path;

const UNIT: &str = " files/s";

pub(crate) fn page(of: &FileRates) -> Page {
    let rate = |rates: &PhaseRates| rates.files_per_s.high.unwrap_or(rates.files_per_s.value);
    let most = of.rates.iter().map(rate).fold(0.0, f64::max);
    let bar =
        |rates: &PhaseRates| Bar::of_estimate(rates.phase.word().to_owned(), rates.files_per_s, most, String::new());
    let done = of.rates.iter().map(|rates| rates.files_per_s.repetitions).min().unwrap_or(0);
    let asked = counted(of.options.repetitions as usize, "repetition");
    Page {
        title: "Files",
        verdict: [speed(of)].into_iter().chain(answered(of)).collect(),
        unfinished: (!of.is_complete).then(|| format!("Not finished: {done} of {asked} were completed.")),
        bars: (most > 0.0).then(|| ("Files per second", of.rates.iter().map(bar).collect())),
        sections: [phases(of)].into_iter().chain(workers(of)).collect(),
        method: method(of),
        ..Page::default()
    }
}

fn method(of: &FileRates) -> Vec<&'static str> {
    let (own, one) = if is_remote(Path::new(&of.path)) {
        (
            "Each worker is a thread with a connection and objects of its own; all begin a phase together. Create is PUT, stat HEAD, \
             list LIST of the objects below one name, read GET, delete DELETE.",
            "A latency is that of one request, and of a list of up to 1 000 objects.",
        )
    } else {
        (
            "Each worker is a thread with directories of its own; all begin a phase together. Directories are made before and \
             removed after, outside the time.",
            "A latency is that of one file: create is open, write, fsync if asked for, and close; read is open, read and close; \
             that of list is of one directory. Names are looked up in open directories. “With flush” adds the time in which the \
             file system then writes back what is still in memory (syncfs), with what other programs left there.",
        )
    };
    let order = "A rate is the files of all workers over the time from the first start to the last end. Files are created and \
                 deleted in the order of their names, examined, listed and read in random order.";
    vec![own, order, one]
}

/// `Creates 45 200 files of 4 KiB per second (12 000 with a flush at the end), stats 310 000, …`.
fn speed(of: &FileRates) -> String {
    let size = of.options.size;
    let what = if size.0 == 0 { "empty files".to_owned() } else { format!("files of {size}") };
    let mut told = Vec::new();
    for rates in &of.rates {
        let subject = if told.is_empty() { format!(" {what} per second") } else { String::new() };
        let after = match (rates.phase, rates.flushed_files_per_s) {
            (FilePhase::Create, _) if of.options.fsync => ", with an fsync each".to_owned(),
            (FilePhase::Create, Some(flushed)) => format!(" ({} with a flush at the end)", plain(flushed.value)),
            _ => String::new(),
        };
        told.push(format!("{}s {}{subject}{after}", rates.phase.word(), plain(rates.files_per_s.value)));
    }
    let all = match told.split_last() {
        None => return "No phase was completed.".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    };
    format!("{}{}, with {}.", all[..1].to_uppercase(), &all[1..], of.workers_in_words())
}

/// What answered stat and read.
fn answered(of: &FileRates) -> Option<String> {
    let words = of.lookups().map(|rates| rates.phase.word()).collect::<Vec<_>>().join(" and ");
    let all = |by: Option<Answerer>| of.lookups().all(|rates| rates.answered_by == by);
    let (memory, storage) = (all(Some(Answerer::Memory)), all(Some(Answerer::Storage)));
    let dropped = "The caches of this machine were dropped before";
    let text = match (of.options.cold, all(None)) {
        (true, false) if storage => format!("{dropped}, so the storage answered {words}."),
        (true, false) => format!("{dropped}, yet memory answered {words}, or a part of them."),
        (true, true) => format!("{dropped}, but those of a server or hypervisor may have answered {words}."),
        (false, true) => format!("Memory of this host may have answered {words}; --cold drops its caches before."),
        (false, false) if memory => {
            format!(
                "Memory answered {words}, not the storage: the files had just been written. --cold measures the storage."
            )
        }
        (false, false) => format!("The storage answered {words}, at least in part; --cold drops the caches before."),
    };
    (!words.is_empty() && !is_remote(Path::new(&of.path))).then_some(text)
}

/// Every phase in a row.
fn phases(of: &FileRates) -> Section {
    let latency = |ns: Option<u64>| or_dash(ns.map(Nanoseconds));
    let row = |rates: &PhaseRates| {
        let Latency { p50, p99, p99_9, max, .. } = rates.latency_ns;
        let [p50, p99, p99_9, max] = [p50, p99, p99_9, max].map(latency);
        let flushed = or_dash(rates.flushed_files_per_s.map(|rate| plain(rate.value)));
        [rates.phase.word().to_owned(), with_interval(rates.files_per_s), flushed, p50, p99, p99_9, max]
    };
    let head = ["phase", "files/s (95 % CI)", "with flush", "p50", "p99", "p99.9", "maximum"];
    let FilesOptions { files, size, per_directory, .. } = &of.options;
    let limit = of.options.duration.map(|limit| format!(", or as many as {limit} allow")).unwrap_or_default();
    let workers = of.workers_in_words();
    let repetitions = of.rates.iter().map(|rates| rates.files_per_s.repetitions).max().unwrap_or(0);
    let repetitions = counted(repetitions as usize, "repetition");
    let about = format!("{files} files of {size}{limit}, {per_directory} in a directory, {workers}, {repetitions}.");
    Section::new("Phases", about, Body::Table(Table::new(head, of.rates.iter().map(row))))
}

/// The workers beside each other; none if there is one.
fn workers(of: &FileRates) -> Option<Section> {
    let row = |rates: &PhaseRates| {
        let [least, mean, most] = rates.worker_files_per_s?.map(plain);
        Some([rates.phase.word().to_owned(), least, mean, most])
    };
    let table = Table::new(["phase", "slowest", "mean", "fastest"], of.rates.iter().filter_map(row));
    let about = "Files per second of a worker, until its own end.";
    (!table.rows.is_empty()).then(|| Section::new("Workers", about, Body::Table(table)))
}

/// Files per second, without the unit.
fn plain(rate: f64) -> String {
    Quantity::FilesPerSecond.format(rate).replacen(UNIT, "", 1)
}

/// The same with its interval as a share, so that a row fits a terminal; above ± 100 % the interval alone.
fn with_interval(rate: Estimate) -> String {
    let text = rate.to_string();
    match rate.low.zip(rate.high).filter(|_| text.contains('[')) {
        Some((low, high)) if high > 2.0 * rate.value => format!("{} to {}", plain(low), plain(high)),
        Some((_, high)) => format!("{} ± {:.0} %", plain(rate.value), ((high / rate.value - 1.0) * 100.0).ceil()),
        None => text.replacen(UNIT, "", 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_its_interval_as_a_share_up_to_100_percent_and_then_alone() {
        let rate = Quantity::FilesPerSecond;
        let shown = |low, high| {
            with_interval(Estimate { quantity: rate, value: 120.0, low: Some(low), high: Some(high), repetitions: 3 })
        };
        assert_eq!([shown(117.6, 122.4), shown(65.0, 220.0)], ["120 ± 2 %", "120 ± 84 %"]);
        assert_eq!(shown(51.0, 281.0), "51 to 281");
    }
}
