//! iozone's text output: `-t`, several processes with a file each, `-R`, tables with a row per file size and a column per
//! record size, and the ordinary table.
//!
//! KB and kB are 2^10 bytes. The throughput of a sample of `-t` is the sum over the children, which is iozone's
//! headline; the parent's is stored beside it. Times and amounts are not printed, so they are unknown. A file may hold
//! the output of several calls.

mod tables;
mod tests_named;
mod throughput;

use super::error::Fault;
use super::record::{environment, origin};
use super::text::{c_time, lines, number, whole};
use super::{Collected, Format, Source};
use halfpower_model::{Buffering, Bytes, Closing, Durability, Sample, WorkloadSpec};

/// The head of a call's output.
#[derive(Clone, Debug, Default)]
struct Head {
    version: Option<String>,
    began: Option<jiff::Timestamp>,
    record_kib: Option<u64>,
    file_kib: Option<u64>,
    direct: bool,
    synchronous: bool,
    times_close: bool,
    times_flush: bool,
    /// Whether requests are asynchronous; then the depth is unknown.
    asynchronous: bool,
    /// Whether figures are IOPS.
    counts_operations: bool,
    /// Whether figures are µs per operation (`-N`).
    in_microseconds: bool,
    files: Vec<String>,
}

/// A line of the output and the head before it.
#[derive(Clone, Copy)]
struct Line<'a> {
    number: u64,
    text: &'a str,
    /// With the blanks before it.
    whole: &'a str,
    head: &'a Head,
    source: Source<'a>,
}

/// Whether it is an output of iozone.
pub(super) fn is_one(source: Source<'_>) -> bool {
    let mut start = source.text.lines().take(200);
    start.any(|line| {
        line.contains("Iozone: Performance Test of File I/O") || line.contains("Children see throughput for")
    }) || source.text.lines().take(2000).any(|line| line.trim() == "Excel output is below:")
}

/// Every test.
///
/// # Errors
/// At the first line with an invalid figure.
pub(super) fn read(source: Source<'_>) -> Result<Collected, Fault> {
    let mut collected = Collected::default();
    let mut head = Head::default();
    let mut throughput = throughput::Reader::default();
    let is_alone = !source.text.contains("Excel output is below:");
    let begun = || tables::Reader::new(is_alone);
    let mut tables = begun();
    // First line of a call that has not reported its completion.
    let mut under_way = None;
    for line in lines(source.text) {
        let (number, line) = line?;
        if line.contains("Performance Test of File I/O") {
            throughput.finish(source, &mut collected)?;
            doubt_end(under_way, &mut collected);
            (head, tables) = (Head::default(), begun());
            under_way = Some(number);
        } else if line.contains("iozone test complete") || line.contains("Excel output is below") {
            under_way = None;
        }
        head.read(line);
        let line = Line { number, text: line.trim(), whole: line, head: &head, source };
        throughput.read(line, &mut collected)?;
        tables.read(line, &mut collected)?;
    }
    throughput.finish(source, &mut collected)?;
    doubt_end(under_way, &mut collected);
    Ok(collected)
}

impl Head {
    fn read(&mut self, line: &str) {
        let line = line.trim();
        let lower = line.to_ascii_lowercase();
        let after = |start: &str| line.get(start.len()..).filter(|_| lower.starts_with(start)).map(str::trim);
        if let Some(version) = after("version $revision:") {
            self.version = Some(version.trim_end_matches('$').trim().to_owned());
        } else if let Some(date) = after("run began:") {
            self.began = c_time(date);
        } else if let Some(size) = after("record size") {
            self.record_kib = kib(size.trim_start_matches(['=', ' ']));
        } else if let Some(size) = after("file size set to") {
            self.file_kib = kib(size);
        } else if let Some(command) = after("command line used:") {
            self.read_command(command);
        }
        for (start, flag) in [
            ("o_direct feature enabled", &mut self.direct),
            ("sync mode", &mut self.synchronous),
            ("include close in write timing", &mut self.times_close),
            ("include fsync in write timing", &mut self.times_flush),
        ] {
            *flag |= lower.starts_with(start);
        }
        self.in_microseconds |= lower.starts_with("microseconds/op mode");
        self.counts_operations |= lower.starts_with("ops mode") || lower.starts_with("output is in ops");
    }

    fn read_command(&mut self, command: &str) {
        let words: Vec<&str> = command.split_whitespace().collect();
        self.asynchronous = words.iter().any(|word| matches!(*word, "-H" | "-k"));
        let named = words.iter().skip_while(|word| !matches!(**word, "-F" | "-f")).skip(1);
        self.files =
            named.take_while(|word| !word.starts_with('-')).take(1024).map(|word| (*word).to_owned()).collect();
    }

    /// The settings in the head.
    fn spec(&self, writes: bool) -> WorkloadSpec {
        WorkloadSpec {
            buffering: Some(Buffering::of(self.direct, self.synchronous)),
            durability: writes.then_some(if self.times_flush { Durability::FlushAtEnd } else { Durability::None }),
            time_close: writes.then_some(if self.times_close { Closing::Timed } else { Closing::Untimed }),
            depth: (!self.asynchronous).then_some(1),
            ..WorkloadSpec::default()
        }
    }

    /// A sample of a test with the facts of the call.
    fn sample(
        &self,
        source: Source<'_>,
        line: u64,
        name: &str,
        spec: &WorkloadSpec,
        targets: Option<u32>,
        collected: &mut Collected,
    ) -> Sample {
        let from = origin(Format::Iozone, source, Some(line), Some(name), self.version.as_deref());
        let shown = if targets.is_some() { self.files.len() } else { 1 };
        let environment = environment(self.files.iter().take(shown).map(String::as_str), spec.size);
        let mut sample = Sample::imported(spec.imported(targets), environment, from);
        if let Some(began) = self.began {
            collected.began_in_utc(&mut sample, began);
        }
        sample
    }
}

/// `1024 KB`, `1024 kB`, `1024`.
fn kib(text: &str) -> Option<u64> {
    let (figure, unit) = text.split_once(' ').unwrap_or((text, ""));
    let known =
        ["", "kb", "kbytes", "kbyte"].contains(&unit.trim().trim_end_matches('.').to_ascii_lowercase().as_str());
    whole(figure).filter(|kib| known && *kib <= 1 << 50)
}

/// Bytes of a count of KB.
fn bytes(kib: Option<u64>) -> Option<Bytes> {
    kib.map(|kib| Bytes(kib << 10)).filter(|bytes| bytes.0 > 0)
}

/// `55847.39 KB/sec` as a rate, without its unit.
fn rate(text: &str) -> Option<f64> {
    number(text.split_whitespace().next()?)
}

/// Warns that the output of a call, which began on a line, is incomplete.
fn doubt_end(under_way: Option<u64>, collected: &mut Collected) {
    if let Some(line) = under_way {
        let message = format!("the output that begins on line {line} does not say that the test is complete");
        collected.doubt("cut_short", message, "look whether iozone was stopped or the file was cut");
    }
}
