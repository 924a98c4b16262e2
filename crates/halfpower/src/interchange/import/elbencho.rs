//! elbencho's results as CSV (`--csvfile`) and JSON (`--jsonfile`): a sample for each phase that reads or writes.
//!
//! Figures are those of the last thread's end. MiB are 2^20 bytes; of the CSV they are cut to whole ones. Columns are
//! found by their names, since their order changed. Of a mix the columns are of the writes, and those of the reads stand
//! beside them. Phases of directories and of files without data are left out.

use super::error::What;
use super::json::{count, documents, figure};
use super::record::{Told, fill, lasted, origin};
use super::text::{lines, number, whole};
use super::{Format, Harvest, Source};
use halfpower_model::sample::Latency;
use halfpower_model::{
    Buffering, Bytes, Environment, Operation, Pattern, RequestKind, Sample, WorkerKind, WorkloadSpec,
};
use serde_json::Value;

const MIB: f64 = 1048576.0;

/// A phase, whatever it was written as.
#[derive(Debug, Default)]
struct Phase {
    operation: String,
    command: String,
    version: Option<String>,
    label: Option<String>,
    hosts: Option<u64>,
    threads: Option<u64>,
    block_size: Option<u64>,
    file_size: Option<u64>,
    depth: Option<u64>,
    direct: Option<bool>,
    random: Option<bool>,
    elapsed_ms: Option<f64>,
    own: Part,
    /// The reads beside the writes of a mix.
    reads: Option<Part>,
}

/// What was done of one kind.
#[derive(Clone, Debug, Default)]
struct Part {
    requests_per_s: Option<f64>,
    bytes_per_s: Option<f64>,
    bytes: Option<u64>,
    min_us: Option<f64>,
    mean_us: Option<f64>,
    max_us: Option<f64>,
}

/// Whether it is of elbencho.
pub(super) fn is_one(text: &str) -> bool {
    let heading = |line: &str| line.contains("operation,time ms [first]");
    text.lines().take(20).any(heading) || (text.contains("\"phase_type\"") && text.contains("\"last_done\""))
}

/// Every phase.
///
/// # Errors
/// At the first row or document that is none.
pub(super) fn read(source: Source<'_>) -> Result<Harvest, What> {
    let mut harvest = Harvest::default();
    if source.text.contains("\"phase_type\"") {
        for document in documents(source.text)? {
            let phase =
                of_json(&document.value).ok_or_else(|| What::at(document.line, "the document is not a phase"))?;
            phase.keep(source, document.line, &mut harvest)?;
        }
        return Ok(harvest);
    }
    let mut names: Vec<&str> = Vec::new();
    for line in lines(source.text) {
        let (line, text) = line?;
        if text.contains("operation,time ms [first]") {
            names = fields(text);
            continue;
        }
        if text.trim().is_empty() {
            continue;
        }
        if names.is_empty() {
            return Err(What::at(line, "no line of names stands above the row; write it with --csvfile to a new file"));
        }
        let row = fields(text);
        if row.len() < names.len() {
            return Err(What::at(line, format!("the row has {} columns and not {}", row.len(), names.len())));
        }
        of_row(&names, &row, line)?.keep(source, line, &mut harvest)?;
    }
    Ok(harvest)
}

/// The fields of a line; quotes around one are taken off.
fn fields(line: &str) -> Vec<&str> {
    let (mut fields, mut start, mut quoted) = (Vec::new(), 0, false);
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted => {
                fields.push(line[start..at].trim().trim_matches('"'));
                start = at + 1;
            }
            _ => {}
        }
    }
    fields.push(line[start..].trim().trim_matches('"'));
    fields
}

fn of_row(names: &[&str], row: &[&str], line: u64) -> Result<Phase, What> {
    let text = |name: &str| {
        let index = names.iter().position(|known| *known == name)?;
        Some(row[index]).filter(|field| !field.is_empty())
    };
    let wrong = |name: &str| What::at(line, format!("the column `{name}` is not a number"));
    let figure = |name: &str| text(name).map(|field| number(field).ok_or_else(|| wrong(name))).transpose();
    let count = |name: &str| text(name).map(|field| whole(field).ok_or_else(|| wrong(name))).transpose();
    let part = |prefix: &str| {
        let of = |name: &str| figure(&format!("{prefix}{name}"));
        Ok::<Part, What>(Part {
            requests_per_s: of("IOPS [last]")?,
            bytes_per_s: of("MiB/s [last]")?.map(|rate| rate * MIB),
            bytes: of("MiB [last]")?.map(|mib| (mib * MIB) as u64),
            min_us: of("IO lat us [min]")?,
            mean_us: of("IO lat us [avg]")?,
            max_us: of("IO lat us [max]")?,
        })
    };
    let reads = part("rwmix read ")?;
    Ok(Phase {
        operation: text("operation").unwrap_or_default().to_owned(),
        command: text("command").unwrap_or_default().to_owned(),
        version: text("version").map(str::to_owned),
        label: text("label").map(str::to_owned),
        hosts: count("hosts")?,
        threads: count("threads")?,
        block_size: count("block size")?,
        file_size: count("file size")?,
        depth: count("IO depth")?,
        direct: count("direct IO")?.map(|direct| direct > 0),
        random: count("random")?.map(|random| random > 0),
        elapsed_ms: figure("time ms [last]")?,
        own: part("")?,
        reads: reads.requests_per_s.is_some().then_some(reads),
    })
}

fn of_json(document: &Value) -> Option<Phase> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (config, done) = (document.get("config")?, document.get("last_done")?);
    let config_count = |key: &str| config.get(key).and_then(count);
    let is_on = |key: &str| match config.get(key)? {
        Value::Bool(on) => Some(*on),
        Value::String(word) => Some(matches!(word.as_str(), "1" | "true")),
        other => count(other).map(|number| number > 0),
    };
    let part = |done: &Value, latency: Option<&Value>| {
        let us = |key: &str| latency?.get(key).and_then(figure);
        Part {
            requests_per_s: done.get("iops").and_then(figure),
            bytes_per_s: done.get("bytes/s").and_then(figure),
            bytes: done.get("bytes").and_then(count),
            min_us: us("min_us"),
            mean_us: us("avg_us"),
            max_us: us("max_us"),
        }
    };
    let latency = |name: &str| done.get("latency").and_then(|latencies| latencies.get(name));
    Some(Phase {
        operation: text(document.get("phase_type")?)?,
        command: config.get("command").and_then(text).unwrap_or_default(),
        version: config.get("version").and_then(text),
        label: document.get("label").and_then(text),
        hosts: config_count("hosts"),
        threads: config_count("threads"),
        block_size: config_count("block_size"),
        file_size: config_count("file_size"),
        depth: config_count("io_depth"),
        direct: is_on("direct_io"),
        random: is_on("random_offsets"),
        elapsed_ms: done.get("elapsed_time_ms").and_then(figure),
        own: part(done, latency("IO")),
        reads: done.get("rwmix_read").map(|reads| part(reads, latency("IO").and_then(|own| own.get("rwmix_read")))),
    })
}

impl Phase {
    fn keep(&self, source: Source<'_>, line: u64, harvest: &mut Harvest) -> Result<(), What> {
        let operation = match (self.operation.to_ascii_uppercase().as_str(), &self.reads) {
            ("READ", None) => Some(Operation::Read),
            ("WRITE", None) => Some(Operation::Write),
            (name, Some(_)) if name.starts_with("RWMIX") || name == "WRITE" => self.mix(),
            _ => {
                let shown: String = self.operation.chars().take(40).collect();
                let message = format!("line {line}: the phase `{shown}` is left out");
                harvest.note("phase_left_out", message, "nothing to do: it moves no data");
                return Ok(());
            }
        };
        let mut from = origin(Format::Elbencho, source, Some(line), self.label.as_deref());
        from.tool = Some("elbencho".to_owned());
        from.version.clone_from(&self.version);
        let mut sample = Sample::imported(self.said(operation).told(None), Environment::unknown("", None), from);
        let own = if self.reads.is_some() { Some(RequestKind::Write) } else { sample.workload.operation.only() };
        let parts: Vec<Told> = self.reads.iter().chain([&self.own]).map(|part| part.told(self.elapsed_ms)).collect();
        if let (Some(_), Some(told)) = (&self.reads, parts.first()) {
            fill(&mut sample, Some(RequestKind::Read), told.clone());
        }
        if let Some(told) = parts.last() {
            fill(&mut sample, own, told.clone());
        }
        fill(&mut sample, None, sum(&parts));
        if let Some(elapsed_ms) = self.elapsed_ms {
            lasted(&mut sample, elapsed_ms / 1e3);
        }
        harvest.take(sample)
    }

    /// The share of reads that the command line asks for.
    fn mix(&self) -> Option<Operation> {
        let words: Vec<&str> = self.command.split([' ', '=', '"', '\'']).filter(|word| !word.is_empty()).collect();
        let at = words.iter().position(|word| *word == "--rwmixpct")?;
        halfpower_model::workload::Mix::of_reads(words.get(at + 1)?.parse().ok()?).map(Operation::Mix)
    }

    fn said(&self, operation: Option<Operation>) -> WorkloadSpec {
        let threads = self.threads.zip(self.hosts).and_then(|(threads, hosts)| threads.checked_mul(hosts.max(1)));
        let pattern = self.random.map(|random| if random { Pattern::Random } else { Pattern::Sequential });
        WorkloadSpec {
            operation,
            pattern,
            request_size: self.block_size.filter(|size| *size > 0).map(Bytes),
            depth: self.depth.and_then(|depth| u32::try_from(depth.max(1)).ok()),
            workers: threads.and_then(|threads| u32::try_from(threads).ok()),
            processes: Some(WorkerKind::Thread),
            buffering: self.direct.map(|direct| if direct { Buffering::Direct } else { Buffering::Buffered }),
            size: self.file_size.filter(|size| *size > 0).map(Bytes),
            ..WorkloadSpec::default()
        }
    }
}

impl Part {
    fn told(&self, elapsed_ms: Option<f64>) -> Told {
        let nanoseconds = |us: Option<f64>| us.map(|us| (us * 1e3) as u64);
        // Over no time there is no rate.
        let some_time = elapsed_ms.is_none_or(|elapsed_ms| elapsed_ms > 0.0);
        Told {
            requests: None,
            bytes: self.bytes,
            requests_per_s: self.requests_per_s.filter(|_| some_time),
            bytes_per_s: self.bytes_per_s.filter(|_| some_time),
            latency: Latency {
                min: nanoseconds(self.min_us),
                mean: self.mean_us.map(|us| us * 1e3),
                max: nanoseconds(self.max_us),
                ..Latency::default()
            },
            ..Told::default()
        }
    }
}

/// Of several kinds together; a latency only of one.
fn sum(parts: &[Told]) -> Told {
    if let [alone] = parts {
        return alone.clone();
    }
    let add = |of: fn(&Told) -> Option<f64>| parts.iter().map(of).sum::<Option<f64>>();
    Told {
        bytes: parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(part.bytes?)),
        requests_per_s: add(|part| part.requests_per_s),
        bytes_per_s: add(|part| part.bytes_per_s),
        ..Told::default()
    }
}
