//! fio's logs: `time_ms, value, direction, block size, offset, …` a line for each request or each window of
//! `log_avg_msec`, and histogram logs with `time_ms, direction, block size, bins…`.
//!
//! The lines do not say what their value is: the file's name does, `NAME_bw.1.log` (KiB/s), `_iops`, `_lat`, `_clat` and
//! `_slat` (ns), `_clat_hist`. Averages of latencies cannot be held in a sample and are refused. Each direction is a
//! sample; its rate is over the time to its last line.
//!
//! A line of averages is of `log_avg_msec`, which no line says: it is the distance that most lines have. Where nothing was
//! done fio writes no line, so what lies further back was idle. How long it was idle after the last line the log does not say.

use super::super::error::What;
use super::super::record::{Told, fill_only, lasted, origin};
use super::super::text::{lines, whole};
use super::super::{Format, Harvest, MAX_INTERVALS, Source};
use halfpower_model::histogram::{SUB_BUCKET_BITS, bucket_low, bucket_middle};
use halfpower_model::sample::{Interval, Latency};
use halfpower_model::units::significant;
use halfpower_model::{Bytes, Environment, Histogram, Nanoseconds, RequestKind, Sample, WorkloadSpec};
use std::cmp::Reverse;

/// Buckets of fio's histograms (FIO_IO_U_PLAT_NR); coarser logs have a half, a quarter and so on.
const FIO_BUCKETS: usize = 1856;

/// A week: longer ones do not survive as seconds in a record.
const LONGEST_INTERVAL_MS: u64 = 7 * 24 * 3600 * 1000;

/// What the values of a log are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bandwidth,
    Requests,
    Latency,
    /// Of the submission alone.
    Submission,
    Histogram,
}

/// What is to be said of a direction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doubt {
    Buckets,
    /// Windows without a line.
    Idle {
        idle_s: f64,
        over_s: f64,
    },
}

/// A line of values.
struct Entry {
    line: u64,
    at_ms: u64,
    value: u64,
    request_bytes: u64,
}

/// What the lines of histograms of a direction come to.
#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    /// All of them, by fio's buckets.
    counts: Vec<u64>,
}

/// A line of a histogram.
struct Row {
    at_ms: u64,
    request_bytes: u64,
    requests: u64,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
}

fn kind_of(name: &str) -> Option<Kind> {
    let file = name.rsplit('/').next()?.strip_suffix(".log")?;
    let stem = file.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let word = stem.rsplit('_').next()?;
    match word {
        "bw" => Some(Kind::Bandwidth),
        "iops" => Some(Kind::Requests),
        "lat" | "clat" => Some(Kind::Latency),
        "slat" => Some(Kind::Submission),
        "hist" => Some(Kind::Histogram),
        _ => None,
    }
}

/// Whether it is a log of fio: by its name and its first line.
pub(in super::super) fn is_one(source: Source<'_>) -> bool {
    let first = source.text.lines().next().unwrap_or_default();
    let mut numbers = first.split(',').take(5);
    kind_of(source.name).is_some() && first.contains(',') && numbers.all(|number| whole(number).is_some())
}

/// The directions of a log.
///
/// # Errors
/// At the first line that is none of a log.
pub(in super::super) fn read(source: Source<'_>) -> Result<Harvest, What> {
    let unnamed = "the name does not say what is logged; name it as fio does, like job_bw.1.log or job_clat_hist.1.log";
    let mut harvest = Harvest::default();
    let samples = match kind_of(source.name).ok_or_else(|| What::whole(unnamed))? {
        Kind::Submission => {
            let message = "it has the times of submissions alone, which no sample has; import the lat or clat log";
            return Err(What::whole(message));
        }
        Kind::Histogram => read_histograms(source)?,
        kind => read_values(source, kind)?,
    };
    for (sample, doubt) in samples {
        match doubt {
            Some(Doubt::Buckets) => {
                let message = "smallest, largest and mean latency are those of the histogram's buckets";
                harvest.doubt("latency_from_buckets", message, "import the JSON for the exact ones");
            }
            Some(Doubt::Idle { idle_s, over_s }) => {
                let message = format!(
                    "for {} s of {} s there is no line: nothing was done then, and the rate is over all of it; how long nothing \
                     was done after the last line the log does not say",
                    significant(idle_s),
                    significant(over_s)
                );
                harvest.doubt("idle_windows", message, "import the JSON, which has the whole time");
            }
            None => {}
        }
        harvest.take(sample)?;
    }
    Ok(harvest)
}

fn direction(field: &str, line: u64) -> Result<usize, What> {
    match field.trim() {
        "0" => Ok(0),
        "1" => Ok(1),
        "2" => Ok(2),
        other => {
            let shown: String = other.chars().take(20).collect();
            Err(What::at(line, format!("the direction is `{shown}` and not 0, 1 or 2")))
        }
    }
}

fn count(fields: &[&str], index: usize, line: u64, what: &str) -> Result<u64, What> {
    fields
        .get(index)
        .and_then(|field| whole(field))
        .ok_or_else(|| What::at(line, format!("column {}, {what}, is not a number", index + 1)))
}

/// A sample of a direction about which no more is known than the size of its requests, where they all had one.
fn sample(source: Source<'_>, direction: usize, sizes: impl Iterator<Item = u64>) -> Sample {
    let kinds = [RequestKind::Read, RequestKind::Write, RequestKind::Trim];
    let mut sizes: Vec<u64> = sizes.collect();
    sizes.sort_unstable();
    sizes.dedup();
    let size = if let [only] = sizes[..] { Some(Bytes(only)).filter(|size| size.0 > 0) } else { None };
    let said = WorkloadSpec {
        operation: super::direction::only(kinds[direction]),
        request_size: size,
        ..WorkloadSpec::default()
    };
    let mut from = origin(Format::FioLog, source, Some(1), None);
    from.tool = Some("fio".to_owned());
    Sample::imported(said.told(None), Environment::unknown("", None), from)
}

fn read_values(source: Source<'_>, kind: Kind) -> Result<Vec<(Sample, Option<Doubt>)>, What> {
    let mut directions: [Vec<Entry>; 3] = Default::default();
    for line in lines(source.text) {
        let (line, text) = line?;
        if text.trim().is_empty() {
            continue;
        }
        let fields: Vec<&str> = text.split(',').take(8).collect();
        let entry = Entry {
            line,
            at_ms: count(&fields, 0, line, "the time")?,
            value: count(&fields, 1, line, "the value")?,
            request_bytes: count(&fields, 3, line, "the block size")?,
        };
        directions[direction(fields[2], line)?].push(entry);
    }
    let of = |(number, entries): (usize, &Vec<Entry>)| of_values(source, number, entries, kind);
    directions.iter().enumerate().filter(|(_, entries)| !entries.is_empty()).map(of).collect()
}

fn of_values(
    source: Source<'_>,
    number: usize,
    entries: &[Entry],
    kind: Kind,
) -> Result<(Sample, Option<Doubt>), What> {
    let mut sample = sample(source, number, entries.iter().map(|entry| entry.request_bytes));
    if let Some(pair) = entries.windows(2).find(|pair| pair[1].at_ms < pair[0].at_ms) {
        return Err(What::at(pair[1].line, "the time goes back; has the log several jobs? log them apart"));
    }
    let last_ms = entries.last().map_or(0, |entry| entry.at_ms);
    let over_s = last_ms as f64 / 1e3;
    lasted(&mut sample, over_s);
    // Requests have a size; windows have none.
    if entries.iter().all(|entry| entry.request_bytes > 0) {
        let requests = entries.len() as u64;
        let bytes = entries.iter().try_fold(0_u64, |sum, entry| sum.checked_add(entry.request_bytes));
        let bytes = bytes
            .ok_or_else(|| What::whole("the block sizes add up to more than there can be; is it a log of fio?"))?;
        let mut told = Told {
            requests: Some(requests),
            bytes: Some(bytes),
            requests_per_s: (last_ms > 0).then(|| requests as f64 / over_s),
            bytes_per_s: (last_ms > 0).then(|| bytes as f64 / over_s),
            ..Told::default()
        };
        if kind == Kind::Latency {
            let mut histogram = Histogram::default();
            entries.iter().for_each(|entry| histogram.record(entry.value));
            told.latency = Latency::of(&histogram);
            keep_histogram(&mut sample, number, histogram);
        }
        fill_only(&mut sample, told);
        return Ok((sample, None));
    }
    if kind == Kind::Latency {
        let message =
            "it has averages of latencies (log_avg_msec), which make no sample; import the JSON or the histogram log";
        return Err(What::whole(message));
    }
    if entries.len() > MAX_INTERVALS {
        return Err(What::whole(format!("it has more than {MAX_INTERVALS} intervals; split it")));
    }
    let ends_ms: Vec<u64> = entries.iter().map(|entry| entry.at_ms).collect();
    let mut windows = Windows::of(&mut sample, &ends_ms);
    let mut sum = 0.0;
    for entry in entries {
        let window_s = windows.next(&mut sample, entry.at_ms) as f64 / 1e3;
        let rate = entry.value as f64 * if kind == Kind::Bandwidth { 1024.0 } else { 1.0 };
        let moved = (rate * window_s).round() as u64;
        sum += rate * window_s;
        let (requests, bytes) = if kind == Kind::Bandwidth { (0, moved) } else { (moved, 0) };
        let at_s = entry.at_ms as f64 / 1e3;
        sample.intervals.push(Interval { at_s, requests, bytes, latency_p50_ns: None, latency_p99_ns: None });
    }
    let doubt = (windows.idle_ms > 0).then(|| Doubt::Idle { idle_s: windows.idle_ms as f64 / 1e3, over_s });
    let mean = (last_ms > 0).then(|| sum / over_s);
    let told = if kind == Kind::Bandwidth {
        sample.tell("intervals.bytes");
        Told { bytes_per_s: mean, ..Told::default() }
    } else {
        sample.tell("intervals.requests");
        Told { requests_per_s: mean, ..Told::default() }
    };
    fill_only(&mut sample, told);
    Ok((sample, doubt))
}

/// The windows of a log's lines, one after another.
struct Windows {
    /// The distance that most lines have.
    usual_ms: u64,
    before_ms: u64,
    idle_ms: u64,
}

impl Windows {
    /// Of lines at these times; the sample gets the distance as that of its intervals.
    fn of(sample: &mut Sample, ends_ms: &[u64]) -> Windows {
        let starts = std::iter::once(0).chain(ends_ms.iter().copied());
        let mut distances: Vec<u64> =
            starts.zip(ends_ms).map(|(start, end)| end.saturating_sub(start)).filter(|ms| *ms > 0).collect();
        distances.sort_unstable();
        // Lines come late by some milliseconds: the least of those that have most within a tenth above them.
        let alike = |from: usize| distances.partition_point(|ms| *ms <= distances[from] + distances[from] / 10) - from;
        let usual = (0..distances.len()).max_by_key(|from| (alike(*from), Reverse(*from)));
        let usual_ms = usual.map_or(0, |from| distances[from + alike(from) / 2]);
        if (1..=LONGEST_INTERVAL_MS).contains(&usual_ms) {
            sample.workload.interval = Nanoseconds(usual_ms * 1_000_000);
            sample.workload.unknown.tell("interval_s");
        }
        Windows { usual_ms, before_ms: 0, idle_ms: 0 }
    }

    /// How long the window is that ends then. Where the line before lies further back than half a window more, nothing was
    /// done between, which the sample gets as an interval.
    fn next(&mut self, sample: &mut Sample, end_ms: u64) -> u64 {
        let distance_ms = end_ms.saturating_sub(self.before_ms);
        let from_ms = if distance_ms > self.usual_ms.saturating_add(self.usual_ms / 2) {
            end_ms - self.usual_ms
        } else {
            self.before_ms
        };
        if from_ms > self.before_ms {
            self.idle_ms += from_ms - self.before_ms;
            let (requests, bytes, at_s) = (0, 0, from_ms as f64 / 1e3);
            sample.intervals.push(Interval { at_s, requests, bytes, latency_p50_ns: None, latency_p99_ns: None });
        }
        self.before_ms = end_ms;
        end_ms.saturating_sub(from_ms)
    }
}

fn keep_histogram(sample: &mut Sample, number: usize, histogram: Histogram) {
    let histograms = &mut sample.latency_histogram;
    *[&mut histograms.read, &mut histograms.write, &mut histograms.trim][number] = Some(histogram);
}

fn read_histograms(source: Source<'_>) -> Result<Vec<(Sample, Option<Doubt>)>, What> {
    let mut directions: [Rows; 3] = Default::default();
    let overflow = || What::whole("the bins count more requests than there can be; is it a log of fio?");
    for line in lines(source.text) {
        let (line, text) = line?;
        if text.trim().is_empty() {
            continue;
        }
        let fields: Vec<&str> = text.split(',').take(FIO_BUCKETS + 4).collect();
        let bins = fields.len().saturating_sub(3);
        let coarse = FIO_BUCKETS / bins.max(1);
        if bins == 0 || bins * coarse != FIO_BUCKETS || !coarse.is_power_of_two() {
            let message = format!("a row has {bins} bins and not {FIO_BUCKETS}, a half of it, a quarter and so on");
            return Err(What::at(line, message));
        }
        let mut counts = Vec::new();
        for (bin, _) in fields[3..].iter().enumerate() {
            let counted = count(&fields, bin + 3, line, "a bin")?;
            if counted > 0 {
                // The bucket in the middle of those that a coarser bin is of.
                counts.push((bin * coarse + coarse / 2, counted));
            }
        }
        let (at_ms, request_bytes) = (count(&fields, 0, line, "the time")?, count(&fields, 2, line, "the block size")?);
        let direction = &mut directions[direction(fields[1], line)?];
        direction.add(at_ms, request_bytes, &counts).ok_or_else(overflow)?;
    }
    let of = |(number, rows): (usize, &Rows)| of_rows(source, number, rows).ok_or_else(overflow);
    directions.iter().enumerate().filter(|(_, rows)| !rows.rows.is_empty()).map(of).collect()
}

fn histogram_of(counts: &[(usize, u64)]) -> Option<Histogram> {
    let sum = counts.iter().map(|(bucket, count)| bucket_middle(*bucket) as f64 * *count as f64).sum();
    let (first, last) =
        (counts.iter().map(|(bucket, _)| *bucket).min()?, counts.iter().map(|(bucket, _)| *bucket).max()?);
    let width = 1_u64 << (last >> SUB_BUCKET_BITS).saturating_sub(1);
    let bins = counts.iter().map(|(bucket, count)| (bucket_middle(*bucket), *count));
    super::histogram(bins, sum, bucket_low(first), bucket_low(last) + width - 1)
}

impl Rows {
    /// Adds a line; none where there are more requests than can be counted.
    fn add(&mut self, at_ms: u64, request_bytes: u64, counts: &[(usize, u64)]) -> Option<()> {
        self.counts.resize(FIO_BUCKETS, 0);
        for (bucket, count) in counts {
            self.counts[*bucket] = self.counts[*bucket].checked_add(*count)?;
        }
        let histogram = if counts.is_empty() { Histogram::default() } else { histogram_of(counts)? };
        let (p50_ns, p99_ns) = (histogram.quantile(0.5), histogram.quantile(0.99));
        self.rows.push(Row { at_ms, request_bytes, requests: histogram.count(), p50_ns, p99_ns });
        Some(())
    }
}

/// None where there are more requests than can be counted.
fn of_rows(source: Source<'_>, number: usize, Rows { rows, counts }: &Rows) -> Option<(Sample, Option<Doubt>)> {
    let mut sample = sample(source, number, rows.iter().map(|row| row.request_bytes));
    let ends_ms: Vec<u64> = rows.iter().map(|row| row.at_ms).collect();
    let mut windows = Windows::of(&mut sample, &ends_ms);
    for row in rows {
        windows.next(&mut sample, row.at_ms);
        sample.intervals.push(Interval {
            at_s: row.at_ms as f64 / 1e3,
            requests: row.requests,
            bytes: 0,
            latency_p50_ns: row.p50_ns,
            latency_p99_ns: row.p99_ns,
        });
    }
    sample.tell("intervals.requests");
    let all: Vec<(usize, u64)> = counts.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect();
    let histogram = if all.is_empty() { Histogram::default() } else { histogram_of(&all)? };
    let last_ms = rows.iter().map(|row| row.at_ms).max().unwrap_or_default();
    lasted(&mut sample, last_ms as f64 / 1e3);
    let told = Told {
        requests: Some(histogram.count()),
        requests_per_s: (last_ms > 0).then(|| histogram.count() as f64 * 1e3 / last_ms as f64),
        latency: Latency::of(&histogram),
        ..Told::default()
    };
    fill_only(&mut sample, told);
    keep_histogram(&mut sample, number, histogram);
    Some((sample, Some(Doubt::Buckets)))
}
