//! What small programs print: dd, ioping, `sysbench fileio`. Each of their reports is a sample.

use super::error::Fault;
use super::json::{Document, count, documents, figure};
use super::record::{Figures, fill, fill_only, histogram, lasted, of_reads, origin};
use super::text::number;
use super::{Collected, Format, Source};
use halfpower_model::sample::{Latency, Warning};
use halfpower_model::workload::Mix;
use halfpower_model::{
    Arrivals, Buffering, Bytes, Durability, Environment, Operation, Pattern, Personality, Rate, RequestKind, Sample,
    WorkerKind, WorkloadSpec,
};
use serde_json::Value;

/// Factors of the units of sizes, to bytes.
const SIZES: [(&str, f64); 5] =
    [("B", 1.0), ("KiB", 1024.0), ("MiB", 1048576.0), ("GiB", 1073741824.0), ("TiB", 1099511627776.0)];
/// Factors of the units of times, to nanoseconds.
const TIMES: [(&str, f64); 7] =
    [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10), ("hour", 3.6e12), ("hours", 3.6e12)];
/// Factors of the units of counts per second.
const COUNTS: [(&str, f64); 3] = [("iops", 1.0), ("k", 1e3), ("M", 1e6)];

/// A number with a unit: `17.6 k iops`, `68.9 MiB/s`, `1.5 ms`.
fn amount(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let mut words = text.split_whitespace();
    let value = number(words.next()?)?;
    let unit = words.next()?.trim_end_matches("/s").trim_end_matches(',');
    let factor = units.iter().find(|(known, _)| *known == unit)?.1;
    Some(value * factor)
}

/// Lines with their numbers, from 1.
fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> + Clone {
    text.lines().enumerate().map(|(number, line)| (number as u64 + 1, line.trim()))
}

/// Whether it is dd's report, in English.
pub(super) fn is_dd(source: Source<'_>) -> bool {
    source.text.contains(" records in") && source.text.contains(" copied, ")
}

/// Each copy, by the line behind its records: those of `status=progress` have none. Whether it read or wrote the storage is not in
/// the report.
pub(super) fn read_dd(source: Source<'_>) -> Result<Collected, Fault> {
    let mut collected = Collected::default();
    let mut records: Option<Option<u64>> = None;
    // Whole and partial ones.
    let whole = |(whole, part): (&str, &str)| whole.parse().ok().filter(|_| part == "0");
    for (line, text) in lines(source.text) {
        if let Some(count) = text.strip_suffix(" records in") {
            records = Some(count.split_once('+').and_then(whole));
        }
        if let Some(count) = text.strip_suffix(" records out") {
            // With ibs and obs, either may be the size of the storage's requests.
            let out = count.split_once('+').and_then(whole);
            records = records.map(|records| records.filter(|records| Some(*records) == out));
        }
        let Some((moved, rest)) = text.split_once(" bytes").filter(|(_, rest)| rest.contains(" copied, ")) else {
            continue;
        };
        let Some(records) = records.take() else { continue };
        let wrong = || Fault::at(line, "it has no bytes and seconds, like `4096 bytes copied, 0.5 s, 8.2 kB/s`");
        let bytes: u64 = moved.trim().parse().map_err(|_| wrong())?;
        let seconds = rest.split_once(" copied, ").and_then(|(_, rest)| number(rest.split_once(' ')?.0));
        let seconds = seconds.filter(|seconds| *seconds > 0.0).ok_or_else(wrong)?;
        let size = records.filter(|count| *count > 0 && bytes.is_multiple_of(*count)).map(|count| bytes / count);
        let size = size.filter(|size| *size > 0);
        let spec = WorkloadSpec {
            pattern: Some(Pattern::Sequential),
            request_size: size.map(Bytes),
            depth: Some(1),
            workers: Some(1),
            personality: Some(Personality::Sync),
            bytes: Some(Bytes(bytes)),
            ..WorkloadSpec::default()
        };
        let from = origin(Format::Dd, source, Some(line), None, None);
        let mut sample = Sample::imported(spec.imported(None), Environment::unknown("", None), from);
        fill(&mut sample, None, Figures::over(seconds, size.map(|size| bytes / size), Some(bytes)));
        lasted(&mut sample, seconds);
        collected.take(sample)?;
    }
    Ok(collected)
}

/// Whether it is ioping's report, in words or in JSON.
pub(super) fn is_ioping(source: Source<'_>) -> bool {
    let is_json = source.text.trim_start().starts_with('[') && source.text.contains("\"fstype\"");
    source.text.contains(" ioping statistics ---") || is_json && source.text.contains("\"mdev\"")
}

/// What ioping says of its requests.
struct Ping<'a> {
    target: &'a str,
    operation: Option<Operation>,
    size: Option<u64>,
    seconds: f64,
    figures: Figures,
    /// Of each request, if they are listed.
    latencies: Vec<u64>,
    /// Smallest, mean, largest, deviation in nanoseconds.
    summary: Vec<f64>,
}

impl Ping<'_> {
    fn keep(self, source: Source<'_>, line: u64, collected: &mut Collected) -> Result<(), Fault> {
        let Ping { figures, latencies: each, .. } = self;
        let spec = WorkloadSpec {
            operation: self.operation,
            request_size: self.size.map(Bytes),
            depth: Some(1),
            workers: Some(1),
            ..WorkloadSpec::default()
        };
        let ends = each.iter().min().copied().zip(each.iter().max().copied());
        let sum = each.iter().map(|taken| *taken as f64).sum();
        let counted = ends.and_then(|(min, max)| histogram(each.iter().map(|taken| (*taken, 1)), sum, min, max));
        let figures = match (counted, &self.summary[..]) {
            (Some(counted), _) if Some(counted.count()) == figures.requests => figures.with_histogram(counted),
            (_, [min, mean, max, stddev]) => Figures {
                latency: Latency {
                    min: Some(*min as u64),
                    mean: Some(*mean),
                    max: Some(*max as u64),
                    stddev: Some(*stddev),
                    ..Latency::default()
                },
                ..figures
            },
            _ => figures,
        };
        let from = origin(Format::Ioping, source, Some(line), None, None);
        let mut sample = Sample::imported(spec.imported(None), Environment::unknown(self.target, None), from);
        fill_only(&mut sample, figures);
        lasted(&mut sample, self.seconds);
        collected.take(sample)
    }
}

/// The operation of the requests that are listed; with `-G` reads and writes alternate.
fn pinged(reads: bool, writes: bool) -> Option<Operation> {
    match (reads, writes) {
        (true, true) => of_reads(50),
        (false, true) => Some(Operation::Write),
        _ => Some(Operation::Read),
    }
}

/// Each report, with the latency of each request where they are listed. Rates are over the time of the requests: ioping pauses
/// between them.
pub(super) fn read_ioping(source: Source<'_>) -> Result<Collected, Fault> {
    let mut collected = Collected::default();
    if source.text.trim_start().starts_with('[') {
        for document in documents(source.text)? {
            read_ioping_json(source, &document, &mut collected)?;
        }
        return Ok(collected);
    }
    let (mut latencies, mut size, mut reads, mut writes) = (Vec::new(), None, false, false);
    let mut lines = lines(source.text);
    while let Some((line, text)) = lines.next() {
        if let Some((request, rest)) = text.split_once("<<<").or_else(|| text.split_once(">>>")) {
            size = amount(request, &SIZES).map(|size| size as u64);
            (reads, writes) = (reads || text.contains("<<<"), writes || text.contains(">>>"));
            let taken = rest.split_once("time=").and_then(|(_, time)| amount(time, &TIMES));
            latencies.extend(taken.filter(|_| !rest.contains("(warmup)")).map(|taken| taken as u64));
        }
        let Some(head) = text.strip_prefix("--- ").and_then(|text| text.strip_suffix(" ioping statistics ---")) else {
            continue;
        };
        let target = head.split_once(" (").map_or(head, |(target, _)| target);
        let wrong = || Fault::at(line + 1, "it has no requests, time and rates of ioping");
        let (_, done) = lines.next().ok_or_else(wrong)?;
        let parts: Vec<&str> = done.split(", ").collect();
        let [completed, moved, iops, rate] = parts[..] else { return Err(wrong()) };
        let (count, taken) = completed.split_once(" requests completed in ").ok_or_else(wrong)?;
        let seconds = amount(taken, &TIMES).ok_or_else(wrong)? / 1e9;
        let operation = pinged(reads, writes || moved.ends_with("written"));
        (reads, writes) = (false, false);
        let figures = Figures {
            requests: count.trim().parse().ok(),
            bytes: amount(moved, &SIZES).map(|bytes| bytes as u64),
            requests_per_s: amount(iops, &COUNTS),
            bytes_per_s: amount(rate, &SIZES),
            ..Figures::default()
        };
        let last = lines.clone().take(2).find_map(|(_, text)| text.strip_prefix("min/avg/max/mdev = "));
        let summary: Vec<f64> =
            last.map(|text| text.split(" / ").filter_map(|one| amount(one, &TIMES)).collect()).unwrap_or_default();
        let latencies = std::mem::take(&mut latencies);
        let ping = Ping { target, operation, size, seconds, figures, latencies, summary };
        ping.keep(source, line, &mut collected)?;
    }
    Ok(collected)
}

/// A list of requests (`io`), and of their sums (`stat`).
fn read_ioping_json(source: Source<'_>, document: &Document, collected: &mut Collected) -> Result<(), Fault> {
    let entries = document.value.as_array().map(Vec::as_slice).unwrap_or_default();
    // With -p, a total of all periods closes the list.
    let counts: Vec<u64> = entries.iter().filter_map(|entry| count(entry.pointer("/stat/count")?)).collect();
    let all = |periods: &[u64]| periods.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
    let has_total = counts.split_last().is_some_and(|(last, rest)| !rest.is_empty() && *last >= all(rest));
    let (mut latencies, mut last, mut reads, mut writes, mut periods) = (Vec::new(), None, false, false, 0);
    for entry in entries {
        if let Some(request) = entry.get("io") {
            last = Some(request);
            let is_write = request.get("operation").and_then(Value::as_str) == Some("write");
            (reads, writes) = (reads || !is_write, writes || is_write);
            let counts = request.get("ignored").and_then(Value::as_bool) != Some(true);
            latencies.extend(request.get("time").and_then(count).filter(|_| counts));
        }
        let Some(sums) = entry.get("stat") else { continue };
        periods += 1;
        if has_total && periods == counts.len() {
            let message = "the total of all periods is left out";
            collected.note("total_left_out", message, "nothing to do: each period is a sample");
            break;
        }
        let of = |key: &str| sums.get(key).and_then(figure);
        let wrong = || Fault::at(document.line, "`stat` has no time of the requests");
        let ping = Ping {
            target: entry.pointer("/target/path").and_then(Value::as_str).unwrap_or_default(),
            operation: pinged(reads, writes),
            size: last.and_then(|one| one.get("size").and_then(count)),
            seconds: of("time").filter(|ns| *ns > 0.0).ok_or_else(wrong)? / 1e9,
            figures: Figures {
                requests: sums.get("count").and_then(count),
                bytes: sums.get("size").and_then(count),
                requests_per_s: of("iops"),
                bytes_per_s: of("bps"),
                ..Figures::default()
            },
            latencies: std::mem::take(&mut latencies),
            summary: ["min", "avg", "max", "mdev"].into_iter().filter_map(of).collect(),
        };
        ping.keep(source, document.line, collected)?;
    }
    Ok(())
}

/// Whether it is what `sysbench fileio run` prints.
pub(super) fn is_sysbench(source: Source<'_>) -> bool {
    source.text.contains("File operations:") && source.text.contains("reads/s:")
}

/// Each run. Latencies are in hundredths of a millisecond, and those of flushes are among them: mean and maximum are
/// taken. The mean is the sum over the number of events, because a rounded one contradicts the rate.
pub(super) fn read_sysbench(source: Source<'_>) -> Result<Collected, Fault> {
    let mut collected = Collected::default();
    let all = super::text::lines(source.text).map(|line| line.map(|(number, text)| (number, text.trim())));
    let all = all.collect::<Result<Vec<(u64, &str)>, Fault>>()?;
    for run in all.chunk_by(|_, (_, next)| !next.starts_with("sysbench ")) {
        let text = run.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n");
        if is_sysbench(Source { text: &text, ..source }) {
            collected.take(sysbench_run(source, &text, run[0].0)?)?;
        }
    }
    Ok(collected)
}

fn sysbench_run(source: Source<'_>, text: &str, line: u64) -> Result<Sample, Fault> {
    let of = |label: &str| lines(text).find_map(|(_, line)| line.strip_prefix(label)).map(str::trim);
    let figure = |label: &str| of(label).and_then(|text| number(text.trim_end_matches('s')));
    let wrong = |what: &str| Fault::at(line, format!("a run of sysbench without {what}"));
    let mode = of("Doing ").and_then(|text| text.strip_suffix(" test")).unwrap_or_default();
    let (reads, writes) = (figure("reads/s:"), figure("writes/s:"));
    let (reads, writes) = reads.zip(writes).ok_or_else(|| wrong("`reads/s` and `writes/s`"))?;
    let seconds = figure("total time:").filter(|seconds| *seconds > 0.0).ok_or_else(|| wrong("`total time`"))?;
    let size = of("Block size ").and_then(sysbench_size);
    let operation = match (reads > 0.0, writes > 0.0) {
        (true, true) => Mix::of_reads((100.0 * reads / (reads + writes)).round() as u8).map(Operation::Mix),
        (false, true) => Some(Operation::Write),
        _ => Some(Operation::Read),
    };
    let every =
        of("Periodic FSYNC enabled, calling fsync() each ").and_then(|text| text.split(' ').next()?.parse().ok());
    let every = every.or_else(|| of("Calling fsync() after each write operation").map(|_| 1));
    let durability = match every {
        // It counts requests, whatever they are.
        Some(every) => (operation == Some(Operation::Write)).then_some(Durability::Fsync { every }),
        None if of("Calling fsync() at the end of test, Enabled").is_some() => Some(Durability::FlushAtEnd),
        None => Some(Durability::None),
    };
    let buffering = of("Extra file open flags:").and_then(|flags| {
        let has = |names: [&str; 2]| flags.split([' ', ',']).any(|flag| names.contains(&flag));
        let (direct, through) = (has(["direct", "directio"]), has(["sync", "dsync"]));
        (direct || through || flags == "(none)").then(|| Buffering::of(direct, through))
    });
    let is_sync = text.contains("Using synchronous I/O mode");
    let rate = of("Target transaction rate: ")
        .and_then(|text| number(text.strip_suffix("/sec")?))
        .map(|per_s| per_s.round() as u64);
    let spec = WorkloadSpec {
        operation,
        pattern: Some(if mode.starts_with("random") { Pattern::Random } else { Pattern::Sequential })
            .filter(|_| !mode.is_empty()),
        request_size: size.map(Bytes),
        depth: is_sync.then_some(1),
        workers: of("Number of threads: ").and_then(|text| text.parse().ok()),
        processes: Some(WorkerKind::Thread),
        buffering,
        personality: is_sync.then_some(Personality::Sync),
        size: lines(text).find_map(|(_, line)| sysbench_size(line.strip_suffix(" total file size")?)).map(Bytes),
        durability: durability.filter(|_| writes > 0.0),
        arrivals: rate.map(|_| Arrivals::Poisson),
        rate: rate.filter(|rate| *rate > 0).map(Rate::Requests),
        ..WorkloadSpec::default()
    };
    let version = text
        .lines()
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let from = origin(Format::Sysbench, source, Some(line), None, version);
    let mut sample = Sample::imported(spec.imported(None), Environment::unknown("", None), from);
    let of_rate = |per_s: f64| {
        let requests = (per_s * seconds).round() as u64;
        let bytes = size.and_then(|size| requests.checked_mul(size));
        Figures {
            requests: Some(requests),
            bytes,
            requests_per_s: Some(per_s),
            bytes_per_s: size.map(|size| per_s * size as f64),
            ..Figures::default()
        }
    };
    let ms = |label: &str| figure(label).filter(|ms| *ms > 0.0).map(|ms| ms * 1e6);
    let events = figure("total number of events:").filter(|events| *events > 0.0);
    let exact = ms("sum:").zip(events).map(|(sum, events)| sum / events);
    // From 0.1 ms on, rounding changes it by less than 5 %.
    let mean = exact.or_else(|| ms("avg:").filter(|ns| *ns >= 1e5));
    let ns = |label: &str| ms(label).map(|ns| ns.round() as u64);
    let latency = Latency { mean, min: ns("min:"), max: ns("max:"), p95: ns("95th percentile:"), ..Latency::default() };
    if figure("fsyncs/s:").is_some_and(|per_s| per_s > 0.0) {
        let message = "latencies include fsyncs: those of requests alone are not reported";
        let remedy = "for these, run sysbench with --file-fsync-freq=0 --file-fsync-end=off";
        sample.warnings.push(Warning::new("latency_with_flushes", message, remedy));
    }
    fill(&mut sample, None, Figures { latency, ..of_rate(reads + writes) });
    for (kind, per_s) in [(RequestKind::Read, reads), (RequestKind::Write, writes)] {
        if per_s > 0.0 {
            fill(&mut sample, Some(kind), of_rate(per_s));
        }
    }
    lasted(&mut sample, seconds);
    Ok(sample)
}

/// `16KiB`, without a space.
fn sysbench_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    amount(&format!("{digits} {}", &text[digits.len()..]), &SIZES).map(|size| size as u64)
}

#[cfg(test)]
mod tests {
    use super::super::{Imported, import_bytes};
    use halfpower_model::{Buffering, Operation};

    const SYSBENCH: &str = include_str!("seeds/sysbench/sysbench.txt");

    fn imported(text: &str) -> Imported {
        import_bytes("a", text.as_bytes(), None).unwrap()
    }

    #[test]
    fn sysbench_names_its_flags() {
        for (flags, buffering) in [
            ("directio", Buffering::Direct),
            ("direct", Buffering::Direct),
            ("dsync", Buffering::Through),
            ("sync", Buffering::Through),
        ] {
            let text = SYSBENCH.replace("(none)", flags);
            assert_eq!(imported(&text).samples[0].workload.buffering, buffering, "{flags}");
        }
    }

    #[test]
    fn the_mean_of_sysbench_agrees_with_its_rate() {
        let Imported { samples, warnings, .. } = imported(&SYSBENCH.replace("48970.46", "98970.46"));
        assert_eq!(samples[0].total.latency_ns.mean, Some(976.1e6 / 83359.0));
        assert_eq!(warnings[0].code, "latency_with_flushes");
        let rounded = imported(&SYSBENCH.replace("sum:", "total:").replace("1633.85", "0.00"));
        assert_eq!((rounded.samples[0].total.latency_ns.mean, rounded.warnings.len()), (None, 0));
    }

    #[test]
    fn dd_with_two_sizes_has_an_unknown_request_size() {
        let text = "2048+0 records in\n16+0 records out\n1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n";
        for (text, is_known) in [(text.to_owned(), false), (text.replace("16+0", "2048+0"), true)] {
            assert_eq!(imported(&text).samples[0].workload.is_known("request_size"), is_known);
        }
    }

    #[test]
    fn ioping_alternates_reads_and_writes() {
        let text = include_str!("seeds/ioping/ioping.txt")
            .replace("<<< /data (ext4 /dev/vda 252.0 GiB): request=3", ">>> /d: request=3");
        let json = include_str!("seeds/ioping/ping.json").replacen("\"write\"", "\"read\"", 2);
        for text in [text, json] {
            assert!(matches!(imported(&text).samples[0].workload.operation, Operation::Mix(_)));
        }
    }

    #[test]
    fn the_total_of_ioping_is_no_period() {
        let stat = |count: u64| {
            format!("{{\"stat\": {{\"count\": {count}, \"time\": 500000, \"mdev\": 1}}, \"fstype\": \"\"}}")
        };
        let text = format!("[{}]", [5, 5, 5, 19].map(stat).join(","));
        let Imported { samples, warnings, .. } = imported(&text);
        assert_eq!(samples.iter().map(|sample| sample.total.requests).collect::<Vec<_>>(), [5, 5, 5]);
        assert_eq!(warnings[0].code, "total_left_out");
        assert_eq!(imported(&format!("[{}]", stat(19))).samples.len(), 1);
    }
}
