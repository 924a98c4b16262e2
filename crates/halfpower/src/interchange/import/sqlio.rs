//! Traces of SQLIO: comma-separated, a row per test, 14 columns (Windows 2000 I/O Performance, table 8).
//!
//! MB are 2^20 bytes and KB 2^10, as its rows show: 66.97 requests of 8 KB per second are printed as 0.52 MB/s. The
//! table defines FileSize in KB, but the study's traces have it in MB, so the unit is derived from the data
//! ([`size_unit`]). Calibration rows (no time, no depth, "Calibration" in the comment) are left out. The time stamp is
//! the end of a test, in an unknown local time.

use super::absurd::is_throughput;
use super::error::Fault;
use super::record::{Figures, fill_only, lasted, origin, used};
use super::text::{c_time, lines, number, whole};
use super::{Collected, Format, Source};
use halfpower_model::{
    Buffering, Bytes, Environment, Nanoseconds, Operation, Pattern, Sample, WorkerKind, WorkloadSpec,
};

/// The names of the columns.
pub(crate) const HEADING: &str = "MB/s,IO/s,Op,BlockSize,OutstandingIOs,Buffering,NumThreads,Time,FileSize,Clock(s),\
                                  User(ms),Kernel(ms),Time Stamp,Comment";
const COLUMNS: usize = 14;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Mean latency of random requests that implies seeks over a large part of a disk.
const LONG_SEEK_S: f64 = 0.010;
/// Seeks within a file of this size are short: it is a few hundredths of the smallest disks with such latencies.
const SMALL_FILE_BYTES: u64 = 1 << 30;

/// A parsed row.
struct Row<'a> {
    line: u64,
    mib_per_s: f64,
    requests_per_s: f64,
    operation: Operation,
    request_kib: u64,
    depth: u32,
    buffering: Buffering,
    threads: u32,
    time_s: u64,
    file_size: u64,
    clock_s: f64,
    user_ms: f64,
    kernel_ms: f64,
    stamp: &'a str,
    comment: &'a str,
}

/// Whether it begins with the heading of a trace.
pub(super) fn is_one(source: Source<'_>) -> bool {
    source.text.lines().find(|line| !line.trim().is_empty()).is_some_and(is_heading)
}

fn is_heading(line: &str) -> bool {
    line.split(',').map(str::trim).take(9).eq(HEADING.split(',').take(9))
}

/// Every test of a trace.
///
/// # Errors
/// At the first invalid row.
pub(super) fn read(source: Source<'_>) -> Result<Collected, Fault> {
    let mut collected = Collected::default();
    let (mut rows, mut calibrations) = (Vec::new(), Vec::new());
    let mut columns = COLUMNS;
    for line in lines(source.text) {
        let (number, line) = line?;
        // A trace that was appended to repeats its heading.
        if line.trim().is_empty() {
            continue;
        }
        if is_heading(line) {
            columns = line.split(',').count().clamp(COLUMNS - 1, COLUMNS);
            continue;
        }
        let row = Row::read(number, line, columns)?;
        if row.calibrates() { calibrations.push(row) } else { rows.push(row) }
    }
    if let (Some(first), Some(last)) = (calibrations.first(), calibrations.last()) {
        let (count, first, last) = (calibrations.len(), first.line, last.line);
        let message = format!("{count} rows that only calibrate (lines {first} to {last}) are left out");
        collected.note("calibration", message, "nothing to do: they measure SQLIO itself");
    }
    let fallback = pattern_of(calibrations.iter().map(|row| row.comment));
    let unit = size_unit(&rows, fallback, &mut collected);
    for row in &rows {
        let sample = row.sample(source, fallback, unit, &mut collected);
        collected.take(sample)?;
    }
    Ok(collected)
}

impl<'a> Row<'a> {
    /// Parses a row with as many `columns` as its heading: all, or all but the comment.
    fn read(line: u64, text: &'a str, columns: usize) -> Result<Self, Fault> {
        // A comment has no comma by definition; the rest of the line belongs to it.
        let fields: Vec<&str> = text.splitn(COLUMNS, ',').map(str::trim).collect();
        if fields.len() < columns {
            let have = fields.len();
            return Err(Fault::at(
                line,
                format!("the row has {have} columns and not {columns}; is the file cut short?"),
            ));
        }
        let wrong = |column: usize| {
            let name = HEADING.split(',').nth(column).unwrap_or_default();
            let value = fields[column].chars().take(40).collect::<String>();
            Fault::at(line, format!("column {}, {name}, is `{value}`, which is not a valid value", column + 1))
        };
        let figure = |column: usize| number(fields[column]).ok_or_else(|| wrong(column));
        let count = |column: usize| whole(fields[column]).ok_or_else(|| wrong(column));
        let small = |column: usize| count(column)?.try_into().map_err(|_| wrong(column));
        Ok(Row {
            line,
            mib_per_s: number(fields[0]).filter(|mib| is_throughput(mib * MIB as f64)).ok_or_else(|| wrong(0))?,
            requests_per_s: figure(1)?,
            operation: match fields[2].to_ascii_lowercase().as_str() {
                "read" => Operation::Read,
                "write" => Operation::Write,
                _ => return Err(wrong(2)),
            },
            request_kib: whole(fields[3]).filter(|kib| *kib < MIB).ok_or_else(|| wrong(3))?,
            depth: small(4)?,
            buffering: match fields[5] {
                "0" | "Y" => Buffering::Buffered,
                "S" => Buffering::Through,
                "H" => Buffering::Direct,
                "N" => Buffering::None,
                _ => return Err(wrong(5)),
            },
            threads: small(6)?,
            time_s: count(7)?,
            file_size: count(8)?,
            clock_s: figure(9)?,
            user_ms: figure(10)?,
            kernel_ms: figure(11)?,
            stamp: fields[12],
            comment: fields.get(13).copied().unwrap_or_default(),
        })
    }

    fn calibrates(&self) -> bool {
        (self.time_s == 0 && self.depth == 0) || self.comment.to_ascii_lowercase().ends_with("calibration")
    }

    /// Latency of a random read with one request outstanding, in seconds; none for other rows.
    fn random_request_s(&self, fallback: Option<Pattern>) -> Option<f64> {
        let alone = self.depth == 1 && self.threads == 1 && self.requests_per_s > 0.0;
        let random = pattern_of([self.comment]).or(fallback) == Some(Pattern::Random);
        (alone && random && self.operation == Operation::Read).then(|| 1.0 / self.requests_per_s)
    }

    fn sample(&self, source: Source<'_>, fallback: Option<Pattern>, unit: u64, collected: &mut Collected) -> Sample {
        let size = Some(Bytes(self.file_size.saturating_mul(unit))).filter(|size| size.0 > 0);
        let own = pattern_of([self.comment]);
        let spec = WorkloadSpec {
            operation: Some(self.operation),
            pattern: own.or(fallback),
            request_size: Some(Bytes(self.request_kib * KIB)),
            depth: Some(self.depth),
            workers: Some(self.threads),
            processes: Some(WorkerKind::Thread),
            buffering: Some(self.buffering),
            size,
            duration: Some(Nanoseconds::from_seconds(self.time_s as f64)),
            ..WorkloadSpec::default()
        };
        if spec.pattern.is_some() {
            let whose = if own.is_some() { "the comments" } else { "the comments of the rows that calibrate" };
            let message = format!("the trace has no column for the pattern; it is taken from {whose}");
            collected.doubt("pattern_from_comment", message, "check that the comments say what was run");
        }
        let mut sample = Sample::imported(
            spec.imported(None),
            Environment::unknown("", size),
            origin(Format::Sqlio, source, Some(self.line), None, None),
        );
        let bytes_per_s = self.requests_per_s * (self.request_kib * KIB) as f64;
        let requests = (self.requests_per_s * self.clock_s).round() as u64;
        let figures = Figures {
            requests: Some(requests),
            bytes: Some(requests.saturating_mul(self.request_kib * KIB)),
            requests_per_s: Some(self.requests_per_s),
            bytes_per_s: Some(bytes_per_s),
            ..Figures::default()
        };
        fill_only(&mut sample, figures);
        collected.doubt(
            "requests_worked_out",
            "the trace counts no requests: their number is its rate times its clock, and both are rounded",
            "nothing to do",
        );
        lasted(&mut sample, self.clock_s);
        used(&mut sample, self.user_ms / 1e3, self.kernel_ms / 1e3);
        if let Some(end) = c_time(self.stamp) {
            let began = end.checked_sub(jiff::SignedDuration::from_millis((self.clock_s * 1e3) as i64));
            collected.began_in_utc(&mut sample, began.unwrap_or(end));
        }
        self.compare_rates(&mut sample);
        sample.note = Some(self.comment.to_owned()).filter(|comment| !comment.is_empty());
        sample
    }

    /// Warns if the two columns of rates differ, in MB of 2^20 bytes, cut or rounded to two decimals.
    fn compare_rates(&self, sample: &mut Sample) {
        let mib_per_s = self.requests_per_s * self.request_kib as f64 / 1024.0;
        let rounding = 0.0101 + 0.0051 * self.request_kib as f64 / 1024.0;
        if (mib_per_s - self.mib_per_s).abs() > rounding {
            let message = format!(
                "line {}: {} MB/s is not {} IOPS of {} KB; the latter was taken",
                self.line, self.mib_per_s, self.requests_per_s, self.request_kib
            );
            let warning = halfpower_model::sample::Warning::new("rates_disagree", message, "look at the trace");
            sample.warnings.push(warning);
        }
    }
}

/// The pattern on which all comments agree; none if they name none.
fn pattern_of<'a>(comments: impl IntoIterator<Item = &'a str>) -> Option<Pattern> {
    let mut found = None;
    for comment in comments {
        for word in comment.split_whitespace().map(str::to_ascii_lowercase) {
            let pattern = match word.as_str() {
                "random" | "rand" => Pattern::Random,
                "sequential" | "seq" => Pattern::Sequential,
                _ => continue,
            };
            if *found.get_or_insert(pattern) != pattern {
                return None;
            }
        }
    }
    found
}

/// Bytes of FileSize's unit: KB by definition, unless the rows exclude it.
///
/// Random reads with one outstanding that take over 10 ms each include long seeks. A file below 1 GiB has none, so the
/// unit is MB if the file would be below 1 GiB in KB.
fn size_unit(rows: &[Row<'_>], fallback: Option<Pattern>, collected: &mut Collected) -> u64 {
    let shows_mb = |row: &&Row<'_>| {
        let size = row.file_size.saturating_mul(KIB);
        let slow = row.random_request_s(fallback).is_some_and(|request_s| request_s > LONG_SEEK_S);
        (1..SMALL_FILE_BYTES).contains(&size) && slow
    };
    if let Some(row) = rows.iter().find(shows_mb) {
        let message = format!(
            "FileSize is taken as MB, not as KB by its definition: random reads that take {:.0} ms each (line {}) seek \
             over more than a file of {}",
            1e3 / row.requests_per_s,
            row.line,
            Bytes(row.file_size.saturating_mul(KIB))
        );
        collected.doubt("file_size_in_mb", message, "check the size of the test file");
        return MIB;
    }
    if rows.iter().any(|row| row.file_size > 0) {
        let message = "FileSize is taken as KB, by its definition: no row shows that it could not be";
        collected.note("file_size_in_kb", message, "check the size of the test file: some traces have it in MB");
    }
    KIB
}
