//! diskspd's text: input parameters, tables with a line `total:`, percentiles. Of several targets, the settings are
//! those they share. The table of CPUs, whose columns differ between versions, is left out. diskspd for Linux has jobs in
//! place of time spans, gives whole seconds, and names the flags of the open files.

use super::super::error::Fault;
use super::super::record::{Figures, began, fill, lasted, size};
use super::super::text::{lines, number, whole};
use super::super::{Collected, Source};
use super::{facts, nanoseconds, of_writes, put, rate_of, utc};
use halfpower_model::sample::Latency;
use halfpower_model::{
    Arrivals, Buffering, Bytes, Environment, Nanoseconds, Operation, Pattern, RequestKind, Sample, WorkerKind,
    WorkloadSpec,
};

/// Whether it is a text of diskspd.
pub(super) fn is_one(text: &str) -> bool {
    let mut start = text.lines().take(400);
    start.any(are_results) && text.contains("Input parameters:")
}

fn are_results(line: &str) -> bool {
    ["Results for timespan", "Results for job"].iter().any(|start| line.starts_with(start))
}

/// State after the lines read so far.
#[derive(Default)]
struct Reader {
    /// Path and settings of each target.
    targets: Vec<(String, WorkloadSpec)>,
    duration: Option<Nanoseconds>,
    warmup: Option<Nanoseconds>,
    threads: Option<u32>,
    /// Limit of each thread, and whether it is in IOPS.
    limit: Option<(u64, bool)>,
    start: Option<jiff::Timestamp>,
    spans: usize,
    span: Option<Span>,
    collected: Collected,
}

/// A time span after the lines read so far.
#[derive(Default)]
struct Span {
    line: u64,
    seconds: Option<f64>,
    threads: Option<u32>,
    /// Threads by target, in the first table.
    rows: u32,
    /// Index of the part that the lines belong to.
    section: Option<usize>,
    columns: Vec<String>,
    /// Total, read, write.
    parts: [Option<Figures>; 3],
}

/// Every time span.
///
/// # Errors
/// At the first invalid line of totals.
pub(super) fn read(source: Source<'_>) -> Result<Collected, Fault> {
    let mut reader = Reader::default();
    for line in lines(source.text) {
        let (line, text) = line?;
        let text = text.trim();
        if are_results(text) {
            reader.finish(source)?;
            reader.span = Some(Span { line, threads: reader.threads, ..Span::default() });
        } else if text.starts_with("Input parameters:") {
            // Of a further run in the file.
            reader.finish(source)?;
            reader = Reader { collected: reader.collected, ..Reader::default() };
        } else if let Some(span) = &mut reader.span {
            span.read(line, text)?;
        } else {
            reader.read_parameter(text);
        }
    }
    reader.finish(source)?;
    Ok(reader.collected)
}

impl Reader {
    fn read_parameter(&mut self, text: &str) {
        let after = |start: &str| text.strip_prefix(start).map(str::trim);
        let seconds = |text: &str| whole(text.trim_end_matches('s')).map(|s| Nanoseconds::from_seconds(s as f64));
        if let Some(path) = after("path:").filter(|_| self.targets.len() < 1024) {
            let spec = WorkloadSpec { buffering: Some(Buffering::Buffered), ..WorkloadSpec::default() };
            self.targets.push((path.trim_matches('\'').to_owned(), spec));
        } else if let Some(time) = after("duration:") {
            self.duration = seconds(time);
        } else if let Some(time) = after("warm up time:") {
            self.warmup = seconds(time);
        } else if let Some(time) = after("start time:") {
            self.start = utc(time);
        } else if let Some(threads) = after("total threads:") {
            self.threads = threads.parse().ok();
        } else if let Some((each, unit)) = after("throughput rate-limited to").and_then(|limit| limit.split_once(' ')) {
            self.limit = whole(each).map(|each| (each, unit == "IOPS"));
        }
        let Some((_, target)) = self.targets.last_mut() else { return };
        let is_direct = target.buffering.is_some_and(Buffering::is_direct);
        if text.starts_with("software cache disabled") || text == "using O_DIRECT" {
            target.buffering = Some(Buffering::of(true, target.buffering.is_some_and(Buffering::is_through)));
        } else if text.ends_with("writethrough on") || text == "using O_SYNC" {
            target.buffering = Some(Buffering::of(is_direct, true));
        } else if text.starts_with("performing read test") {
            target.operation = Some(Operation::Read);
        } else if text.starts_with("performing write test") {
            target.operation = Some(Operation::Write);
        } else if let Some((_, ratio)) = text.split_once("read/write ratio:") {
            let writes = ratio.trim_end_matches(')').split_once('/').and_then(|(_, writes)| writes.trim().parse().ok());
            target.operation = writes.and_then(of_writes);
        } else if let Some(span) = after("size:") {
            target.size = span.strip_suffix('B').and_then(whole).and_then(size);
        } else if let Some(block) = after("block size:") {
            target.request_size = block.parse::<Bytes>().ok().and_then(|block| size(block.0));
        } else if text.starts_with("using random I/O (") {
            target.pattern = Some(Pattern::Random);
        } else if text.starts_with("using sequential I/O (") || text.starts_with("using interlocked sequential I/O (") {
            let stride = text.split_once("stride:").map(|(_, stride)| stride.trim_end_matches(')').trim());
            let stride = stride.and_then(|stride| stride.parse::<Bytes>().ok());
            target.pattern = (stride == target.request_size).then_some(Pattern::Sequential);
        } else if text.starts_with("number of outstanding I/O operations") {
            target.depth = text.rsplit_once(':').and_then(|(_, depth)| depth.trim().trim_end_matches(')').parse().ok());
        }
    }

    fn finish(&mut self, source: Source<'_>) -> Result<(), Fault> {
        let Some(span) = self.span.take() else { return Ok(()) };
        self.spans += 1;
        let seconds = span.seconds.ok_or_else(|| Fault::at(span.line, "the time span has no test time"))?;
        if span.parts[0].is_none() {
            return Err(Fault::at(span.line, "the time span has no totals; is the file cut short?"));
        }
        if span.parts.iter().any(Option::is_none) {
            let message = format!("the time span on line {} has no totals of reads and of writes", span.line);
            self.collected.doubt("cut_short", message, "check that diskspd ended and the file is complete");
        }
        let limit = self.limit.filter(|_| self.targets.len() == 1);
        let rate = limit.and_then(|(each, is_iops)| rate_of(each, is_iops, span.threads));
        let alike = self.targets.windows(2).all(|pair| pair[0].1 == pair[1].1);
        let (path, mut spec) = self.targets.first().filter(|_| alike).cloned().unwrap_or_default();
        if span.threads.is_some_and(|threads| span.rows > threads) {
            // Each thread has this depth on every target.
            spec.depth = None;
        }
        let spec = WorkloadSpec {
            workers: span.threads,
            processes: Some(WorkerKind::Thread),
            duration: self.duration,
            warmup: self.warmup,
            arrivals: rate.map(|_| Arrivals::Closed),
            rate,
            ..spec
        };
        let environment = Environment::unknown(if self.targets.len() == 1 { &path } else { "" }, None);
        let mut sample = Sample::imported(spec.imported(None), environment, facts(source, span.line, self.spans, None));
        let kinds = [None, Some(RequestKind::Read), Some(RequestKind::Write)];
        for (kind, part) in kinds.into_iter().zip(span.parts) {
            if let Some(part) = part.filter(|part| kind.is_none() || part.requests > Some(0)) {
                let amounts = Figures::over(seconds, part.requests, part.bytes);
                fill(&mut sample, kind, Figures { latency: part.latency, ..amounts });
            }
        }
        lasted(&mut sample, seconds);
        self.start.into_iter().filter(|_| self.spans == 1).for_each(|start| began(&mut sample, start));
        self.collected.take(sample)
    }
}

impl Span {
    fn read(&mut self, line: u64, text: &str) -> Result<(), Fault> {
        let wrong = |what: &str| Fault::at(line, format!("{what} is not a number"));
        let (name, rest) = text.split_once(['|', ':']).unwrap_or((text, ""));
        let fields: Vec<&str> = rest.split('|').map(str::trim).collect();
        match (name.trim(), self.section) {
            ("Total IO", _) => self.section = Some(0),
            ("Read IO", _) => self.section = Some(1),
            ("Write IO", _) => self.section = Some(2),
            ("thread", _) => self.columns = fields.iter().map(|name| (*name).to_owned()).collect(),
            ("actual test time" | "test time", _) => {
                self.seconds = Some(number(rest.trim().trim_end_matches('s')).ok_or_else(|| wrong("the test time"))?);
            }
            (thread, Some(0)) if whole(thread).is_some() => self.rows += 1,
            ("thread count", _) => self.threads = rest.trim().parse().ok(),
            // Above the percentiles it stands alone.
            ("total", Some(section)) if !rest.trim().is_empty() => {
                let count = |index: usize| fields.get(index).and_then(|field| whole(field));
                let mean = self.columns.iter().position(|name| name.starts_with("AvgLat"));
                let mean_ms = mean.and_then(|column| number(fields.get(column)?));
                self.parts[section] = Some(Figures {
                    bytes: Some(count(0).ok_or_else(|| wrong("the total of bytes"))?),
                    requests: Some(count(1).ok_or_else(|| wrong("the total of I/Os"))?),
                    latency: Latency { mean: mean_ms.map(|ms| ms * 1e6), ..Latency::default() },
                    ..Figures::default()
                });
            }
            (name, _) => {
                let Some(percentile) = percentile(name) else { return Ok(()) };
                // The columns are read, write, total.
                for (field, part) in fields.iter().zip([1, 2, 0]) {
                    if let Some(part) = &mut self.parts[part] {
                        put(&mut part.latency, percentile, number(field).map(nanoseconds));
                    }
                }
            }
        }
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use super::super::super::import_bytes;
    use halfpower_model::{Arrivals, Rate};

    const RUN: &str = include_str!("../seeds/diskspd/results.txt");

    #[test]
    fn a_second_run_in_a_file_has_its_own_settings() {
        let second = RUN.replace("block size: 64KiB", "block size: 4KiB").replace("duration: 10s", "duration: 20s");
        let samples = import_bytes("a", format!("{RUN}\n{second}").as_bytes(), None).unwrap().samples;
        let settings = samples.iter().map(|one| (one.workload.request_size.0, one.workload.limits.duration));
        let seconds = |seconds| Some(halfpower_model::Nanoseconds::from_seconds(seconds));
        assert_eq!(settings.collect::<Vec<_>>(), [(65536, seconds(10.0)), (4096, seconds(20.0))]);
    }

    #[test]
    fn the_limit_is_that_of_all_threads_and_the_start_is_in_utc() {
        let start = "System information:\n\n\tstart time: 2026/01/09 10:00:00 UTC\n\nResults for timespan 1";
        for (limit, rate) in [("500 IOPS", Rate::Requests(1000)), ("1000 B/ms", Rate::Bytes(2_000_000))] {
            let limited = format!("per thread: 2\n\t\tthroughput rate-limited to {limit}\n");
            let text = RUN.replace("per thread: 2\n", &limited).replace("thread count:\t\t1", "thread count:\t\t2");
            let text = text.replace("Results for timespan 1", start);
            let samples = import_bytes("a", text.as_bytes(), None).unwrap().samples;
            let workload = &samples[0].workload;
            assert_eq!((workload.arrivals, workload.rate), (Arrivals::Closed, Some(rate)));
            assert_eq!(samples[0].started_at.to_string(), "2026-01-09T10:00:00Z");
        }
        let xml = include_str!("../seeds/diskspd/results.xml");
        let limited = xml.replace("<WriteRatio>", "<Throughput unit=\"IOPS\">500</Throughput><WriteRatio>");
        let limited = limited.replace("<Tool>", "<RunTime>2026/01/09 10:00:00 UTC</RunTime><Tool>");
        let samples = import_bytes("a", limited.as_bytes(), None).unwrap().samples;
        assert_eq!(samples[0].workload.rate, Some(Rate::Requests(1000)));
        assert_eq!(samples[0].started_at.to_string(), "2026-01-09T10:00:00Z");
    }

    #[test]
    fn a_file_without_totals_of_reads_is_cut_short() {
        let cut = &RUN[..RUN.find("Read IO").unwrap()];
        let codes = |text: &str| {
            let warnings = import_bytes("a", text.as_bytes(), None).unwrap().warnings;
            warnings.into_iter().map(|warning| warning.code).collect::<Vec<_>>()
        };
        assert_eq!((codes(cut).len(), codes(RUN).len()), (1, 0));
        assert_eq!(codes(cut)[0], "cut_short");
    }
}
