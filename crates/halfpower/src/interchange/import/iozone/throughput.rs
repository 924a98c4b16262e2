//! `iozone -t`: for each test the throughput seen by children and parent, and of the slowest, fastest and mean child.

use super::super::error::Fault;
use super::super::record::{Figures, fill_only};
use super::super::{Collected, Source};
use super::{Head, Line, bytes, kib, rate, tests_named};
use halfpower_model::sample::Parallel;
use halfpower_model::{BytesPerSecond, WorkerKind};

/// The current test.
#[derive(Debug, Default)]
pub(super) struct Reader {
    worker_kind: Option<WorkerKind>,
    /// Of each process, if the line of the test has them.
    file_kib: Option<u64>,
    record_kib: Option<u64>,
    test: Option<Test>,
}

#[derive(Debug)]
struct Test {
    line: u64,
    name: String,
    workers: u32,
    /// Whether figures are IOPS.
    operations: bool,
    head: Head,
    children: f64,
    /// Figures of the other lines, by their names in the record.
    others: Vec<(&'static str, f64)>,
}

impl Reader {
    /// Reads a line.
    pub(super) fn read(&mut self, line: Line<'_>, collected: &mut Collected) -> Result<(), Fault> {
        let Line { number: line, text: trimmed, head, source, .. } = line;
        let wrong = || Fault::at(line, format!("`{}` has no figure", trimmed.chars().take(80).collect::<String>()));
        if let Some(rest) = trimmed.strip_prefix("Children see throughput for") {
            self.finish(source, collected)?;
            let (what, figure) = rest.split_once('=').ok_or_else(wrong)?;
            let (workers, name) = what.trim().split_once(char::is_whitespace).ok_or_else(wrong)?;
            self.test = Some(Test {
                line,
                name: name.split_whitespace().collect::<Vec<_>>().join(" "),
                workers: workers.parse().map_err(|_| wrong())?,
                operations: figure.to_ascii_lowercase().contains("ops") || head.counts_operations,
                head: Head {
                    record_kib: self.record_kib.or(head.record_kib),
                    file_kib: self.file_kib.or(head.file_kib),
                    ..head.clone()
                },
                children: rate(figure).ok_or_else(wrong)?,
                others: Vec::new(),
            });
            return Ok(());
        }
        let figure = || trimmed.split_once('=').and_then(|(_, figure)| rate(figure)).ok_or_else(wrong);
        let others = [("Parent sees", "parent"), ("Min", "min"), ("Max", "max"), ("Avg", "mean")];
        let other = others.into_iter().find(|(start, _)| {
            let rest = trimmed.strip_prefix(start).unwrap_or_default();
            rest.starts_with(" throughput per ") || (*start == "Parent sees" && rest.starts_with(" throughput"))
        });
        if let (Some(test), Some((_, word))) = (&mut self.test, other) {
            test.others.push((word, figure()?));
        }
        self.read_setting(trimmed);
        Ok(())
    }

    fn read_setting(&mut self, text: &str) {
        if let Some(rest) = text.strip_prefix("Throughput test with") {
            let threads = rest.contains("thread");
            self.worker_kind = Some(if threads { WorkerKind::Thread } else { WorkerKind::Process });
            (self.file_kib, self.record_kib) = (None, None);
        } else if text.starts_with("Each ")
            && let Some((_, rest)) = text.split_once("writes a ")
            && let Some((file, record)) = rest.split_once(" file in ")
        {
            self.file_kib = kib(file);
            self.record_kib = kib(record.trim_end_matches('.').trim_end_matches(" records"));
        }
    }

    /// Creates the sample of the last test.
    pub(super) fn finish(&mut self, source: Source<'_>, collected: &mut Collected) -> Result<(), Fault> {
        let Some(test) = self.test.take() else { return Ok(()) };
        if test.head.in_microseconds {
            let message = format!("line {}: a sum over processes in µs per operation is left out", test.line);
            collected.note("test_left_out", message, "run iozone -t without -N");
            return Ok(());
        }
        let record = bytes(test.head.record_kib);
        let Some(mut spec) = tests_named::workload_of(&test.name, &test.head, record) else {
            let message = format!("line {}: the test `{}` is left out", test.line, test.name);
            collected.note("test_left_out", message, "nothing to do: no workload here is the same");
            return Ok(());
        };
        spec.workers = Some(test.workers);
        spec.processes = self.worker_kind;
        spec.size = bytes(test.head.file_kib);
        spec.bytes = spec.size.and_then(|span| span.0.checked_mul(u64::from(test.workers))).map(halfpower_model::Bytes);
        // A file for each process: only then are there as many names.
        let targets = (test.head.files.len() == test.workers as usize).then_some(test.workers);
        spec.layout = targets.map(|_| halfpower_model::Layout::Each);
        let mut sample = test.head.sample(source, test.line, &test.name, &spec, targets, collected);
        let scale = if test.operations { record.map(|record| record.0 as f64) } else { Some(1024.0) };
        let per_s = |figure: f64| Some(figure * scale?);
        let bytes_per_s = per_s(test.children);
        let by_record = bytes_per_s.zip(record).map(|(rate, record)| rate / record.0 as f64);
        let requests_per_s = if test.operations { Some(test.children) } else { by_record };
        fill_only(&mut sample, Figures { requests_per_s, bytes_per_s, ..Figures::default() });
        let mut parallel = Parallel::default();
        for (word, figure) in test.others.into_iter().chain([("sum", test.children)]) {
            let place = match word {
                "sum" => &mut parallel.sum_bytes_per_s,
                "parent" => &mut parallel.parent_bytes_per_s,
                "min" => &mut parallel.min_bytes_per_s,
                "max" => &mut parallel.max_bytes_per_s,
                _ => &mut parallel.mean_bytes_per_s,
            };
            if let Some(rate) = per_s(figure) {
                *place = BytesPerSecond(rate);
                sample.mark_known(&format!("parallel.{word}_bytes_per_s"));
            }
        }
        sample.parallel = Some(parallel);
        collected.take(sample)
    }
}
