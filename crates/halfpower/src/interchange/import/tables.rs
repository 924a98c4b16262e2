//! Rows of tables: vdbench's flat file, bonnie++'s CSV.

use super::error::Fault;
use super::record::{Figures, fill, fill_only, of_reads, origin, size};
use super::text::{lines, number};
use super::{Collected, Format, Source};
use halfpower_model::sample::{Latency, Warning};
use halfpower_model::{
    Arrivals, Bytes, Environment, Operation, Pattern, Rate, RequestKind, Sample, WorkerKind, WorkloadSpec,
};

pub(super) const KIB: f64 = 1024.0;
pub(super) const MIB: f64 = 1048576.0;

/// What vdbench requests without a limit: `iorate=max`, and the first run of `iorate=curve`.
const VDBENCH_UNLIMITED: [f64; 2] = [9_999_988.0, 9_999_977.0];

/// A row with the names of its columns.
pub(super) struct Row<'a> {
    pub(super) line: u64,
    pub(super) names: &'a [&'a str],
    pub(super) fields: Vec<&'a str>,
}

impl<'a> Row<'a> {
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.fields.get(self.names.iter().position(|known| *known == name)?).copied()
    }

    pub(super) fn figure(&self, name: &str) -> Option<f64> {
        self.text(name).and_then(number)
    }

    pub(super) fn needed(&self, name: &str) -> Result<f64, Fault> {
        self.figure(name).ok_or_else(|| Fault::at(self.line, format!("the column `{name}` is not a number")))
    }

    fn count(&self, name: &str) -> Option<u32> {
        self.figure(name).map(|count| count as u32).filter(|count| *count > 0)
    }
}

/// Whether it is vdbench's `flatfile.html`.
pub(super) fn is_vdbench(source: Source<'_>) -> bool {
    let has = |line: &str, names: &[&str]| names.iter().all(|name| line.contains(name));
    let is_heading = |line: &str| {
        has(line, &["Interval", "reqrate"]) && (line.contains("bytes/io") || has(line, &["MB_read", "MB_write"]))
    };
    source.text.lines().any(is_heading)
}

/// The average of each run, on volumes (SD) or file systems (FSD).
///
/// # Errors
/// At an average without a rate.
pub(super) fn read_vdbench(source: Source<'_>) -> Result<Collected, Fault> {
    let mut collected = Collected::default();
    let mut names = Vec::new();
    for line in lines(source.text) {
        let (line, text) = line?;
        let fields: Vec<&str> = text.split_whitespace().collect();
        if fields.contains(&"reqrate") && fields.contains(&"Interval") {
            names = fields;
            continue;
        }
        let row = Row { line, names: &names, fields };
        // What vdbench writes before it measures is no result.
        let is_preparation = |run: &str| run.starts_with("format_for_") || run == "SD_format";
        if row.text("Run").is_some_and(is_preparation) {
            collected.note(
                "preparation",
                format!("{}: the preparation is left out", row.text("Run").unwrap_or_default()),
                "nothing to do",
            );
        } else if row.text("Interval").is_some_and(|interval| interval.starts_with("avg_")) {
            let is_of_files = names.contains(&"MB_read");
            match if is_of_files { of_files(source, &row)? } else { Some(of_volume(source, &row)?) } {
                Some(sample) => collected.take(sample)?,
                None => {
                    let message = format!("line {line}: the run has neither reads nor writes and is left out");
                    collected.note("nothing_moved", message, "nothing to do: no workload here is the same");
                }
            }
        }
    }
    Ok(collected)
}

/// A run on file systems: its reads and writes, without its other operations on files.
fn of_files(source: Source<'_>, row: &Row<'_>) -> Result<Option<Sample>, Fault> {
    let part = |kind: &str| {
        let requests_per_s = row.needed(&format!("{kind}_rate"))?;
        let bytes_per_s = row.needed(&format!("MB_{}", kind.to_ascii_lowercase()))? * MIB;
        let latency = Latency { mean: row.figure(&format!("{kind}_resp")).map(|ms| ms * 1e6), ..Latency::default() };
        let figures = Figures {
            requests_per_s: Some(requests_per_s),
            bytes_per_s: Some(bytes_per_s),
            latency,
            ..Figures::default()
        };
        Ok((requests_per_s > 0.0).then_some(figures))
    };
    let (reads, writes) = (part("Read")?, part("Write")?);
    let operation = match (&reads, &writes) {
        (None, None) => return Ok(None),
        (Some(_), None) => Some(Operation::Read),
        (None, Some(_)) => Some(Operation::Write),
        (Some(reads), Some(writes)) => reads
            .requests_per_s
            .zip(writes.requests_per_s)
            .and_then(|(reads, writes)| of_reads((100.0 * reads / (reads + writes)).round() as u8)),
    };
    let mean_size = row.figure("Xfersize").filter(|bytes| bytes % 512.0 == 0.0);
    let rate = requested(row);
    let spec = WorkloadSpec {
        operation,
        arrivals: rate.map(|_| Arrivals::Closed),
        rate,
        request_size: mean_size.and_then(|bytes| size(bytes as u64)),
        ..WorkloadSpec::default()
    };
    let from = origin(Format::Vdbench, source, Some(row.line), row.text("Run"), None);
    let mut sample = Sample::imported(spec.imported(None), Environment::unknown("", None), from);
    let sum = |of: fn(&Figures) -> Option<f64>| Some([&reads, &writes].into_iter().flatten().filter_map(of).sum());
    let total = Figures {
        requests_per_s: sum(|part| part.requests_per_s),
        bytes_per_s: sum(|part| part.bytes_per_s),
        ..Figures::default()
    };
    if let (Some(reads), Some(writes)) = (&reads, &writes) {
        fill(&mut sample, Some(RequestKind::Read), reads.clone());
        fill(&mut sample, Some(RequestKind::Write), writes.clone());
        fill(&mut sample, None, total);
    } else {
        fill_only(&mut sample, reads.or(writes).unwrap_or(total));
    }
    Ok(Some(sample))
}

/// The requested rate. Without a limit it is `max`, or a number that stands for it.
fn requested(row: &Row<'_>) -> Option<Rate> {
    let rate = row.figure("reqrate").filter(|rate| *rate >= 1.0 && !VDBENCH_UNLIMITED.contains(rate));
    rate.map(|rate| Rate::Requests(rate.round() as u64))
}

fn of_volume(source: Source<'_>, row: &Row<'_>) -> Result<Sample, Fault> {
    let reads = row.figure("rdpct").or_else(|| row.figure("read%"));
    let operation = reads.filter(|reads| *reads <= 100.0).and_then(|reads| of_reads(reads.round() as u8));
    let has_its_size = |bytes: &f64| row.figure("bytes/io").is_none_or(|mean| (mean / bytes - 1.0).abs() < 0.01);
    let rate = requested(row);
    let spec = WorkloadSpec {
        operation,
        // The share of requests that go elsewhere than to the place behind the last.
        pattern: row.figure("seekpct").and_then(|percent| match percent {
            0.0 => Some(Pattern::Sequential),
            100.0 => Some(Pattern::Random),
            _ => None,
        }),
        // Of several sizes it is the first one.
        request_size: row.figure("xfersize").filter(has_its_size).and_then(|bytes| size(bytes as u64)),
        depth: Some(1),
        // Those of each volume: with several, more are outstanding.
        workers: row.count("threads").filter(|threads| {
            row.figure("queue_depth").is_none_or(|outstanding| outstanding <= 1.05 * f64::from(*threads))
        }),
        processes: Some(WorkerKind::Thread),
        size: row.figure("lunsize").and_then(|gib| size((gib * KIB * MIB) as u64)),
        arrivals: rate.map(|_| Arrivals::Closed),
        rate,
        ..WorkloadSpec::default()
    };
    let from = origin(Format::Vdbench, source, Some(row.line), row.text("Run"), row.text("version"));
    let mut sample = Sample::imported(spec.imported(None), Environment::unknown("", None), from);
    let ns = |name: &str| row.figure(name).map(|ms| ms * 1e6);
    let latency = |kind: &str| Latency {
        max: ns(&format!("{kind}_max")).map(|ns| ns.round() as u64),
        stddev: ns(&format!("{kind}_std")),
        ..Latency::default()
    };
    let total = Figures {
        requests_per_s: Some(row.needed("rate")?),
        bytes_per_s: Some(row.needed("MB/sec")? * MIB),
        latency: Latency { mean: ns("resp"), ..latency("resp") },
        ..Figures::default()
    };
    if operation.and_then(Operation::only).is_some() {
        fill_only(&mut sample, total);
    } else {
        fill(&mut sample, None, total);
    }
    Ok(sample)
}

/// Names of bonnie++'s columns that are read, by their numbers in format 1.98, which 2.00 writes.
const BONNIE: [(usize, usize, &str); 3] = [(11, 39, "put_block"), (17, 42, "get_block"), (19, 43, "seeks")];

/// The number of columns that a line of bonnie++'s CSV lacks: those of seeks and their processes, before `putc`, are new
/// in format 1.98. None of other lines.
fn bonnie_lacks(line: &str) -> Option<usize> {
    let lacks = match line.split(',').next()? {
        "1.96" | "1.97" => 2,
        "1.98" | "1.99" => 0,
        _ => return None,
    };
    (line.split(',').count() > 43 - lacks).then_some(lacks)
}

/// Whether bonnie++ printed it; its CSV comes last, if it is not alone.
pub(super) fn is_bonnie(source: Source<'_>) -> bool {
    source.text.lines().any(|line| bonnie_lacks(line).is_some())
}

/// Block writes, block reads and seeks of each run. A tenth of the blocks that are sought is written, too.
///
/// # Errors
/// At a row without a size.
pub(super) fn read_bonnie(source: Source<'_>) -> Result<Collected, Fault> {
    let mut collected = Collected::default();
    for line in lines(source.text) {
        let (line, text) = line?;
        let Some(lacks) = bonnie_lacks(text) else { continue };
        let fields: Vec<&str> = text.split(',').collect();
        let [span, chunk] = [fields[5], fields[6]].map(|text| crate::fio::units::bytes(text, 1024));
        let span = span.ok_or_else(|| Fault::at(line, format!("the size `{}` is none", fields[5])))?;
        let chunk = chunk.filter(|size| *size > 0);
        for (at, latency, name) in BONNIE {
            let Some(rate) = number(fields[at - lacks]).filter(|rate| *rate > 0.0) else {
                let message = format!("line {line}: {name} has no figure: it was left out or took too short a time");
                collected.note("figure_missing", message, "measure with a larger size (-s)");
                continue;
            };
            let (operation, pattern) = match name {
                "put_block" => (Some(Operation::Write), Pattern::Sequential),
                "get_block" => (Some(Operation::Read), Pattern::Sequential),
                _ => (None, Pattern::Random),
            };
            let is_seek = operation.is_none();
            let request = chunk.unwrap_or(8192);
            let workers = if is_seek { (lacks == 0).then_some(8) } else { Some(3) };
            let spec = WorkloadSpec {
                operation,
                pattern: Some(pattern),
                request_size: Some(Bytes(request)),
                depth: Some(1),
                workers: workers.and_then(|at| fields[at].parse().ok()),
                processes: Some(WorkerKind::Process),
                size: Some(Bytes(span)),
                ..WorkloadSpec::default()
            };
            let from = origin(Format::Bonnie, source, Some(line), Some(name), Some(fields[1]));
            let mut sample = Sample::imported(spec.imported(None), Environment::unknown("", None), from);
            if chunk.is_none() {
                let message = "the CSV names no chunk size: bonnie++'s default of 8 KiB is assumed as request size";
                let remedy = "check that -s had no chunk size, as in -s 64G:4k";
                sample.warnings.push(Warning::new("request_size_assumed", message, remedy));
            }
            let figures = Figures {
                requests_per_s: Some(if is_seek { rate } else { rate * KIB / request as f64 }),
                bytes_per_s: (!is_seek).then_some(rate * KIB),
                latency: Latency { max: bonnie_time(fields[latency - lacks]), ..Latency::default() },
                ..Figures::default()
            };
            if is_seek {
                fill(&mut sample, None, figures)
            } else {
                fill_only(&mut sample, figures)
            }
            collected.take(sample)?;
        }
    }
    Ok(collected)
}

/// `451us`, `12ms`, `3s`, in nanoseconds.
fn bonnie_time(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::super::import_bytes;

    #[test]
    fn bonnie_of_format_1_97_has_two_columns_fewer() {
        let (files, latencies) = (",".repeat(16), "15000us,8000us,9000us,7000us,3000us,2000us");
        let rates = "723,99,142439,13,98394,9,2500,99,244588,12,410.2,15";
        let row = format!("1.97,1.97,host,1,1410000000,16G,,{rates},16{files},{latencies},,,,,,\n");
        let imported = import_bytes("a", row.as_bytes(), None).unwrap();
        let figures = imported.samples.iter().map(|sample| {
            let of = &sample.total;
            (of.requests_per_s, of.latency_ns.max.unwrap_or_default(), sample.workload.is_known("workers"))
        });
        let expected =
            [(142_439.0 / 8.0, 8_000_000, true), (244_588.0 / 8.0, 3_000_000, true), (410.2, 2_000_000, false)];
        assert_eq!(figures.collect::<Vec<_>>(), expected);
        assert_eq!(imported.warnings[0].code, "request_size_assumed");
    }
}
