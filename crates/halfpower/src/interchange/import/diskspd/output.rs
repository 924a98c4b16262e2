//! diskspd's text: its input parameters, then tables with a line `total:`, then percentiles. Of several targets the
//! settings are those they all have; the table of processors, whose columns differ from version to version, is left out.

use super::super::error::Fault;
use super::super::record::{Figures, buffering, fill, lasted, size};
use super::super::text::{lines, number, whole};
use super::super::{Collected, Source};
use super::{facts, nanoseconds, of_writes, put};
use halfpower_model::sample::Latency;
use halfpower_model::{Bytes, Environment, Nanoseconds, Pattern, RequestKind, Sample, WorkerKind, WorkloadSpec};

/// Whether it is of diskspd.
pub(super) fn is_one(text: &str) -> bool {
    let mut start = text.lines().take(400);
    start.any(|line| line.starts_with("Results for timespan")) && text.contains("Input parameters:")
}

/// What one target was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
struct Target {
    path: String,
    direct: bool,
    through: bool,
    writes: Option<u8>,
    block: Option<u64>,
    pattern: Option<Pattern>,
    depth: Option<u32>,
}

/// A table of totals, and its latencies.
#[derive(Clone, Debug, Default)]
struct Part {
    requests: u64,
    bytes: u64,
    mean_ms: Option<f64>,
    latency: Latency,
}

/// What has been read of a time span.
#[derive(Debug, Default)]
struct Span {
    line: u64,
    seconds: Option<f64>,
    threads: Option<u32>,
    /// Total, read, write.
    parts: [Option<Part>; 3],
}

/// Every time span.
///
/// # Errors
/// At the first line of totals that cannot be read.
pub(super) fn read(source: Source<'_>) -> Result<Collected, Fault> {
    let mut collected = Collected::default();
    let (mut targets, mut said) = (Vec::<Target>::new(), WorkloadSpec::default());
    let (mut span, mut section, mut spans, mut columns) = (None::<Span>, None, 0, Vec::new());
    for line in lines(source.text) {
        let (line, text) = line?;
        let trimmed = text.trim();
        if trimmed.starts_with("Results for timespan") {
            spans += 1;
            finish(span.take(), spans - 1, &targets, &said, source, &mut collected)?;
            span = Some(Span { line, ..Span::default() });
            section = None;
        } else if let Some(span) = &mut span {
            match trimmed {
                "Total IO" => section = Some(0),
                "Read IO" => section = Some(1),
                "Write IO" => section = Some(2),
                _ if trimmed.starts_with("thread |") => {
                    columns = trimmed.split('|').map(|name| name.trim().to_owned()).collect();
                }
                _ => read_result(span, section, &columns, line, trimmed)?,
            }
        } else {
            read_parameter(&mut targets, &mut said, trimmed);
        }
    }
    finish(span, spans, &targets, &said, source, &mut collected)?;
    Ok(collected)
}

fn read_parameter(targets: &mut Vec<Target>, said: &mut WorkloadSpec, text: &str) {
    let after = |start: &str| text.strip_prefix(start).map(str::trim);
    let seconds = |text: &str| whole(text.trim_end_matches('s')).map(|s| Nanoseconds::from_seconds(s as f64));
    if let Some(path) = after("path:") {
        if targets.len() < 1024 {
            targets.push(Target { path: path.trim_matches('\'').to_owned(), ..Target::default() });
        }
    } else if let Some(time) = after("duration:") {
        said.duration = seconds(time);
    } else if let Some(time) = after("warm up time:") {
        said.warmup = seconds(time);
    }
    let Some(target) = targets.last_mut() else { return };
    if text.starts_with("software cache disabled") {
        target.direct = true;
    } else if text.ends_with("writethrough on") {
        target.through = true;
    } else if text.starts_with("performing read test") {
        target.writes = Some(0);
    } else if text.starts_with("performing write test") {
        target.writes = Some(100);
    } else if let Some((_, ratio)) = text.split_once("read/write ratio:") {
        let writes = ratio.trim_end_matches(')').split_once('/').map(|(_, writes)| writes.trim());
        target.writes = writes.and_then(|writes| writes.parse().ok());
    } else if let Some(size) = after("block size:") {
        target.block = size.parse::<Bytes>().ok().map(|size| size.0);
    } else if text.starts_with("using random I/O (") {
        target.pattern = Some(Pattern::Random);
    } else if text.starts_with("using sequential I/O (") || text.starts_with("using interlocked sequential I/O (") {
        let stride = text.split_once("stride:").map(|(_, stride)| stride.trim_end_matches(')'));
        let stride = stride.and_then(|stride| stride.trim().parse::<Bytes>().ok()).map(|stride| stride.0);
        target.pattern = (stride == target.block).then_some(Pattern::Sequential);
    } else if text.starts_with("number of outstanding I/O operations")
        && let Some((_, depth)) = text.rsplit_once(':')
    {
        target.depth = depth.trim().parse().ok();
    }
}

fn read_result(
    span: &mut Span,
    section: Option<usize>,
    columns: &[String],
    line: u64,
    text: &str,
) -> Result<(), Fault> {
    let wrong = |what: &str| Fault::at(line, format!("{what} is not a number"));
    if let Some(time) = text.strip_prefix("actual test time:") {
        span.seconds = Some(number(time.trim().trim_end_matches('s')).ok_or_else(|| wrong("the test time"))?);
    } else if let Some(count) = text.strip_prefix("thread count:") {
        span.threads = count.trim().parse().ok();
    } else if let (Some(section), Some(totals)) = (section, text.strip_prefix("total:")) {
        let fields: Vec<&str> = totals.split('|').map(str::trim).collect();
        let count =
            |index: usize, what: &str| fields.get(index).and_then(|field| whole(field)).ok_or_else(|| wrong(what));
        let mean = columns.iter().position(|name| name == "AvgLat").and_then(|column| column.checked_sub(1));
        span.parts[section] = Some(Part {
            bytes: count(0, "the total of bytes")?,
            requests: count(1, "the total of I/Os")?,
            mean_ms: mean.and_then(|column| number(fields.get(column)?)),
            latency: Latency::default(),
        });
    } else if let Some((name, rest)) = text.split_once('|')
        && let Some(percentile) = percentile(name.trim())
    {
        let fields: Vec<&str> = rest.split('|').map(str::trim).collect();
        // The columns are read, write, total.
        for (field, part) in fields.iter().zip([1, 2, 0]) {
            if let Some(part) = &mut span.parts[part] {
                put(&mut part.latency, percentile, number(field).map(nanoseconds));
            }
        }
    }
    Ok(())
}

fn percentile(name: &str) -> Option<f64> {
    match name {
        "min" => Some(0.0),
        "max" => Some(100.0),
        "3-nines" => Some(99.9),
        "4-nines" => Some(99.99),
        _ => number(name.strip_suffix("th")?),
    }
}

fn finish(
    span: Option<Span>,
    number: usize,
    targets: &[Target],
    said: &WorkloadSpec,
    source: Source<'_>,
    collected: &mut Collected,
) -> Result<(), Fault> {
    let Some(span) = span else { return Ok(()) };
    let seconds = span.seconds.ok_or_else(|| Fault::at(span.line, "the time span has no `actual test time`"))?;
    let mut said = WorkloadSpec { workers: span.threads, processes: Some(WorkerKind::Thread), ..said.clone() };
    let bare = |target: &Target| Target { path: String::new(), ..target.clone() };
    let alike = targets.windows(2).all(|pair| bare(&pair[0]) == bare(&pair[1]));
    let first = targets.first().filter(|_| alike);
    if let Some(target) = first {
        said.operation = target.writes.and_then(of_writes);
        said.pattern = target.pattern;
        said.request_size = target.block.and_then(size);
        said.depth = target.depth;
        said.buffering = Some(buffering(target.direct, target.through));
    }
    let path = first.filter(|_| targets.len() == 1).map_or("", |target| target.path.as_str());
    let mut sample =
        Sample::imported(said.told(None), Environment::unknown(path, None), facts(source, span.line, number, None));
    let kinds = [None, Some(RequestKind::Read), Some(RequestKind::Write)];
    if span.parts[0].is_none() {
        return Err(Fault::at(span.line, "the time span has no totals; is the file cut short?"));
    }
    for (kind, part) in kinds.into_iter().zip(span.parts) {
        if let Some(part) = part.filter(|part| kind.is_none() || part.requests > 0) {
            let latency = Latency { mean: part.mean_ms.map(|ms| ms * 1e6), ..part.latency };
            let amounts = Figures::over(seconds, Some(part.requests), Some(part.bytes));
            fill(&mut sample, kind, Figures { latency, ..amounts });
        }
    }
    lasted(&mut sample, seconds);
    collected.take(sample)
}
