//! elbencho's results as CSV (`--csvfile`) and JSON (`--jsonfile`): a sample for each phase that reads or writes.
//!
//! Figures are those at the end of the last thread. MiB are 2^20 bytes; the CSV has whole ones. Columns are found by
//! name, because their order changed. For a mix, the columns are of the writes, with those of the reads beside them.
//! Phases of directories and of files without data are left out.

use super::error::Fault;
use super::json::{self, documents};
use super::record::{Figures, began, fill, fill_only, histogram, lasted, origin, size};
use super::text::{lines, number, whole};
use super::{Collected, Format, Source};
use halfpower_model::sample::Latency;
use halfpower_model::workload::Mix;
use halfpower_model::{
    Buffering, Environment, Histogram, Operation, Pattern, RequestKind, Sample, WorkerKind, WorkloadSpec,
};
use serde_json::Value;

const MIB: f64 = 1048576.0;

/// A phase: its line and the source of its figures.
struct Phase<'a> {
    line: u64,
    place: Place<'a>,
}

enum Place<'a> {
    /// Names of the columns, and the fields.
    Csv(&'a [&'a str], Vec<&'a str>),
    Json(&'a Value),
}

/// Whether it is a file of elbencho.
pub(super) fn is_one(source: Source<'_>) -> bool {
    let (text, heading) = (source.text, |line: &str| line.contains("operation,time ms [first]"));
    text.lines().take(20).any(heading) || (text.contains("\"phase_type\"") && text.contains("\"last_done\""))
}

/// Every phase.
///
/// # Errors
/// At the first invalid row or document.
pub(super) fn read(source: Source<'_>) -> Result<Collected, Fault> {
    let mut collected = Collected::default();
    if source.text.contains("\"phase_type\"") {
        for document in documents(source.text)? {
            if !["phase_type", "config", "last_done"].iter().all(|key| document.value.get(key).is_some()) {
                return Err(Fault::at(document.line, "the document is not a phase"));
            }
            Phase { line: document.line, place: Place::Json(&document.value) }.keep(source, &mut collected)?;
        }
        return Ok(collected);
    }
    let mut names: Vec<&str> = Vec::new();
    for line in lines(source.text) {
        let (line, text) = line?;
        let row = fields(text);
        if text.contains("operation,time ms [first]") {
            names = row;
        } else if text.trim().is_empty() {
        } else if names.is_empty() {
            let message = "no line of names stands above the row; write it with --csvfile to a new file";
            return Err(Fault::at(line, message));
        } else if row.len() < names.len() {
            return Err(Fault::at(line, format!("the row has {} columns and not {}", row.len(), names.len())));
        } else {
            Phase { line, place: Place::Csv(&names, row) }.keep(source, &mut collected)?;
        }
    }
    Ok(collected)
}

/// The fields of a line without quotes.
fn fields(line: &str) -> Vec<&str> {
    let mut quoted = false;
    let is_end = |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    line.split(is_end).map(|field| field.trim().trim_matches('"')).collect()
}

impl Phase<'_> {
    /// The text of a CSV column, or at a place of the JSON.
    fn text(&self, column: &str, pointer: &str) -> Option<String> {
        let text = match &self.place {
            Place::Csv(names, row) => row[names.iter().position(|name| *name == column)?].to_owned(),
            Place::Json(document) => match document.pointer(pointer)? {
                Value::String(text) => text.clone(),
                Value::Null => return None,
                other => other.to_string(),
            },
        };
        Some(text).filter(|text| !text.is_empty())
    }

    /// A parsed column or place; an invalid one is an error in the CSV, and unknown in the JSON.
    fn parsed<T>(&self, column: &str, pointer: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Fault> {
        let Some(text) = self.text(column, pointer) else { return Ok(None) };
        match (parse(&text), &self.place) {
            (None, Place::Csv(..)) => Err(Fault::at(self.line, format!("the column `{column}` is not a number"))),
            (number, _) => Ok(number),
        }
    }

    fn figure(&self, column: &str, pointer: &str) -> Result<Option<f64>, Fault> {
        self.parsed(column, pointer, number)
    }

    fn count(&self, column: &str, pointer: &str) -> Result<Option<u64>, Fault> {
        self.parsed(column, pointer, whole)
    }

    fn is_on(&self, column: &str, pointer: &str) -> Result<Option<bool>, Fault> {
        self.parsed(column, pointer, |text| text.parse().ok().or_else(|| whole(text).map(|number| number > 0)))
    }

    /// The figures of one kind: prefix of its columns, places of its objects and of its histogram.
    fn part(&self, prefix: &str, done: &str, latencies: &str, buckets: &str) -> Result<Figures, Fault> {
        let of = |column: &str, key: &str| self.figure(&format!("{prefix}{column}"), &format!("{done}/{key}"));
        let us = |column: &str, key: &str| {
            let us = self.figure(&format!("{prefix}IO lat us [{column}]"), &format!("{latencies}/{key}"));
            us.map(|us| us.map(|us| us * 1e3))
        };
        let requests_per_s = of("IOPS [last]", "iops")?;
        let (bytes, bytes_per_s) = (of("MiB [last]", "bytes")?, of("MiB/s [last]", "bytes~1s")?);
        // The CSV has whole MiB, cut off.
        let is_csv = matches!(self.place, Place::Csv(..));
        let block = self.figure("block size", "/config/block_size")?;
        let exact = requests_per_s.zip(block).map(|(requests, block)| requests * block);
        let is_near = |exact: &f64| bytes_per_s.is_some_and(|mib| (exact / MIB - mib - 0.5).abs() <= 1.0);
        let figures = Figures {
            bytes: bytes.filter(|_| !is_csv).map(|bytes| bytes as u64),
            requests_per_s,
            bytes_per_s: if is_csv { exact.filter(is_near).or(bytes_per_s.map(|mib| mib * MIB)) } else { bytes_per_s },
            latency: Latency {
                min: us("min", "min_us")?.map(|ns| ns.round() as u64),
                mean: us("avg", "avg_us")?,
                max: us("max", "max_us")?.map(|ns| ns.round() as u64),
                ..Latency::default()
            },
            ..Figures::default()
        };
        Ok(match self.histogram(buckets, &figures.latency) {
            Some(histogram) => figures.with_histogram(histogram),
            None => figures,
        })
    }

    /// The histogram (`--lathisto`) with its smallest, mean and largest latency. Requests are taken to lie in the middle of their
    /// bucket, which is a quarter of an octave.
    fn histogram(&self, pointer: &str, latency: &Latency) -> Option<Histogram> {
        let Place::Json(document) = &self.place else { return None };
        let bin = |bin: &Value| {
            let (from, to) = bin.get("range")?.as_str()?.strip_suffix("us")?.split_once('-')?;
            let (from, to) = (number(from)?, number(to)?);
            let middle_us = if from > 0.0 { (from * to).sqrt() } else { to / 2.0 };
            Some(((middle_us * 1e3) as u64, json::count(bin.get("count")?)?))
        };
        let bins: Vec<(u64, u64)> = document.pointer(pointer)?.as_array()?.iter().map(bin).collect::<Option<_>>()?;
        let count: u64 = bins.iter().try_fold(0, |sum: u64, (_, count)| sum.checked_add(*count))?;
        histogram(bins.into_iter(), latency.mean? * count as f64, latency.min?, latency.max?)
    }

    fn keep(&self, source: Source<'_>, collected: &mut Collected) -> Result<(), Fault> {
        let mut own =
            self.part("", "/last_done", "/last_done/latency/IO", "/last_done/latency/IO/histogram/buckets")?;
        let mut reads = self.part(
            "rwmix read ",
            "/last_done/rwmix_read",
            "/last_done/latency/IO/rwmix_read",
            "/last_done/latency/IO/histogram/rwmix_read/buckets",
        )?;
        let is_mix = reads.requests_per_s.is_some();
        if own.histogram.is_some() {
            let message = "percentiles are those of elbencho's buckets, which are 19 % wide";
            collected.doubt("latency_from_buckets", message, "nothing to do: elbencho keeps no finer ones");
        }
        let name = self.text("operation", "/phase_type").unwrap_or_default();
        let operation = match (name.to_ascii_uppercase().as_str(), is_mix) {
            ("READ", false) => Some(Operation::Read),
            ("WRITE", false) => Some(Operation::Write),
            (name, true) if name.starts_with("RWMIX") || name == "WRITE" => self.mix(),
            // Readers and writers apart.
            (name, true) if name.starts_with("MIX-T") => None,
            _ => {
                let shown: String = name.chars().take(40).collect();
                let message = format!("line {}: the phase `{shown}` is left out", self.line);
                collected.note("phase_left_out", message, "nothing to do: it moves no data");
                return Ok(());
            }
        };
        let (label, version) = (self.text("label", "/label"), self.text("version", "/config/version"));
        let from = origin(Format::Elbencho, source, Some(self.line), label.as_deref(), version.as_deref());
        let spec = self.spec(operation)?;
        let mut sample = Sample::imported(spec.imported(None), Environment::unknown("", None), from);
        let elapsed_ms = self.figure("time ms [last]", "/last_done/elapsed_time_ms")?;
        let elapsed_ms = elapsed_ms.filter(|elapsed_ms| *elapsed_ms > 0.0);
        if elapsed_ms.is_none() {
            // A phase of less than a millisecond has rates, one without time has zeros.
            for part in [&mut own, &mut reads] {
                part.requests_per_s = part.requests_per_s.filter(|rate| *rate > 0.0);
                part.bytes_per_s = part.bytes_per_s.filter(|rate| *rate > 0.0);
            }
        }
        if is_mix {
            let sum = |of: fn(&Figures) -> Option<f64>| of(&own).zip(of(&reads)).map(|(own, reads)| own + reads);
            let total = Figures {
                bytes: own.bytes.zip(reads.bytes).and_then(|(own, reads)| own.checked_add(reads)),
                requests_per_s: sum(|part| part.requests_per_s),
                bytes_per_s: sum(|part| part.bytes_per_s),
                ..Figures::default()
            };
            fill(&mut sample, None, total);
            fill(&mut sample, Some(RequestKind::Read), reads);
            fill(&mut sample, Some(RequestKind::Write), own);
        } else {
            fill_only(&mut sample, own);
        }
        if let Some(elapsed_ms) = elapsed_ms {
            lasted(&mut sample, elapsed_ms / 1e3);
        }
        // Only a time with a zone is one.
        if let Some(start) = self.text("ISO date", "/iso_start_date").and_then(|text| text.parse().ok()) {
            began(&mut sample, start);
        }
        collected.take(sample)
    }

    /// The share of reads in the command line.
    fn mix(&self) -> Option<Operation> {
        let command = self.text("command", "/config/command")?;
        let words: Vec<&str> = command.split([' ', '=', '"', '\'']).filter(|word| !word.is_empty()).collect();
        let at = words.iter().position(|word| *word == "--rwmixpct")?;
        Mix::of_reads(words.get(at + 1)?.parse().ok()?).map(Operation::Mix)
    }

    fn spec(&self, operation: Option<Operation>) -> Result<WorkloadSpec, Fault> {
        let threads = self.count("threads", "/config/threads")?.zip(self.count("hosts", "/config/hosts")?);
        let workers = threads.and_then(|(threads, hosts)| threads.checked_mul(hosts.max(1)));
        let random = self.is_on("random", "/config/random_offsets")?;
        let direct = self.is_on("direct IO", "/config/direct_io")?;
        let depth = self.count("IO depth", "/config/io_depth")?;
        Ok(WorkloadSpec {
            operation,
            pattern: random.map(|random| if random { Pattern::Random } else { Pattern::Sequential }),
            request_size: self.count("block size", "/config/block_size")?.and_then(size),
            depth: depth.and_then(|depth| u32::try_from(depth.max(1)).ok()),
            workers: workers.and_then(|workers| u32::try_from(workers).ok()),
            processes: Some(WorkerKind::Thread),
            buffering: direct.map(|direct| if direct { Buffering::Direct } else { Buffering::Buffered }),
            size: self.count("file size", "/config/file_size")?.and_then(size),
            ..WorkloadSpec::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::import_bytes;

    #[test]
    fn a_phase_starts_when_its_date_with_a_zone_is() {
        let text = include_str!("seeds/elbencho/results.csv");
        let zoned = text.replace("T10:00:00,", "T10:00:00.250+0200,");
        let start = |text: &str| import_bytes("a", text.as_bytes(), None).unwrap().samples[0].clone();
        assert!(!start(text).is_known("started_at"));
        assert_eq!(start(&zoned).started_at.to_string(), "2026-11-10T08:00:00.25Z");
        let date = "{\"iso_start_date\": \"2026-11-10T10:00:00.250+0200\", \"phase_type\": \"READ\"";
        let json = include_str!("seeds/elbencho/results.json").replace("{\"phase_type\": \"READ\"", date);
        assert_eq!(start(&json).started_at.to_string(), "2026-11-10T08:00:00.25Z");
    }
}
