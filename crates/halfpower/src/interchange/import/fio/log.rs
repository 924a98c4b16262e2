//! fio's logs: a line `time_ms, value, direction, block size, offset, …` for each request or each window of
//! `log_avg_msec`; and histogram logs with `time_ms, direction, block size, bins…`.
//!
//! The file's name tells which value the lines have: `NAME_bw.1.log` (KiB/s), `_iops`, `_lat`, `_clat` and `_slat`
//! (ns), `_clat_hist`. A sample cannot hold averages of latencies, so they are rejected. Each direction is a sample;
//! its rate is over the time to its last line.
//!
//! Averages are over `log_avg_msec`, which is not in the log: it is the most common distance between lines. fio writes
//! no line for an idle window, so a longer distance is idle time. Idle time after the last line is unknown.

use super::super::error::Fault;
use super::super::record::{Figures, fill_only, histogram, lasted, origin, size};
use super::super::text::{lines, whole};
use super::super::{Collected, Format, MAX_INTERVALS, Source};
use halfpower_model::histogram::{SUB_BUCKET_BITS, bucket_low, bucket_middle};
use halfpower_model::sample::Interval;
use halfpower_model::units::significant;
use halfpower_model::{Environment, Histogram, Nanoseconds, Operation, Sample, WorkloadSpec};
use std::cmp::Reverse;

/// Buckets of fio's histograms (FIO_IO_U_PLAT_NR); coarser logs have a half, a quarter and so on.
const FIO_BUCKETS: usize = 1856;

/// A week: a longer interval does not survive as seconds in a record.
const LONGEST_INTERVAL_MS: u64 = 7 * 24 * 3600 * 1000;

const OVERFLOW: &str = "it counts more requests or bytes than there can be; is it a log of fio?";

/// Quantities of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bandwidth,
    Requests,
    Latency,
    /// Latency of the submission only.
    Submission,
    Histogram,
}

/// A line.
struct Entry {
    line: u64,
    at_ms: u64,
    request_bytes: u64,
    /// A rate, a latency, or the requests of a histogram.
    value: u64,
    latency_p50_ns: Option<u64>,
    latency_p99_ns: Option<u64>,
}

/// The lines of a direction, and the sum of its histograms by fio's buckets.
#[derive(Default)]
struct Direction {
    entries: Vec<Entry>,
    counts: Vec<u64>,
}

fn kind_of(name: &str) -> Option<Kind> {
    let file = name.rsplit('/').next()?.strip_suffix(".log")?;
    let stem = file.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    match stem.rsplit('_').next()? {
        "bw" => Some(Kind::Bandwidth),
        "iops" => Some(Kind::Requests),
        "lat" | "clat" => Some(Kind::Latency),
        "slat" => Some(Kind::Submission),
        "hist" => Some(Kind::Histogram),
        _ => None,
    }
}

/// Whether it is a log of fio, by its name and first line.
pub(in super::super) fn is_one(source: Source<'_>) -> bool {
    let first = source.text.lines().next().unwrap_or_default();
    let mut numbers = first.split(',').take(5);
    kind_of(source.name).is_some() && first.contains(',') && numbers.all(|number| whole(number).is_some())
}

/// The directions of a log.
///
/// # Errors
/// At the first invalid line.
pub(in super::super) fn read(source: Source<'_>) -> Result<Collected, Fault> {
    let unnamed = "the name does not say what is logged; name it as fio does, like job_bw.1.log or job_clat_hist.1.log";
    let kind = kind_of(source.name).ok_or_else(|| Fault::whole(unnamed))?;
    if kind == Kind::Submission {
        let message = "it has the times of submissions alone, which no sample has; import the lat or clat log";
        return Err(Fault::whole(message));
    }
    // With log_window_value=both the maximum is behind the mean, and the direction one column further.
    let has_maxima = |line: &str| {
        let fields: Vec<Option<u64>> = line.split(',').take(5).map(whole).collect();
        matches!(fields[..], [_, Some(mean), Some(most), Some(..3), Some(0)] if most >= mean.max(3))
    };
    let has_maxima = kind != Kind::Histogram && source.text.lines().any(has_maxima);
    let mut directions: [Direction; 3] = Default::default();
    for line in lines(source.text) {
        let (line, text) = line?;
        if text.trim().is_empty() {
            continue;
        }
        let fields: Vec<&str> = text.split(',').take(FIO_BUCKETS + 4).collect();
        let count = |index: usize, what: &str| {
            let count = fields.get(index).and_then(|field| whole(field));
            count.ok_or_else(|| Fault::at(line, format!("column {}, {what}, is not a number", index + 1)))
        };
        // A histogram log has no column for the value.
        let behind = usize::from(kind != Kind::Histogram) + usize::from(has_maxima);
        let mut entry = Entry {
            line,
            at_ms: count(0, "the time")?,
            value: if kind == Kind::Histogram { 0 } else { count(1, "the value")? },
            request_bytes: count(2 + behind, "the block size")?,
            latency_p50_ns: None,
            latency_p99_ns: None,
        };
        let shown: String = fields[1 + behind].trim().chars().take(20).collect();
        let number = ["0", "1", "2"].iter().position(|number| *number == shown);
        let wrong = || Fault::at(line, format!("the direction is `{shown}` and not 0, 1 or 2"));
        let direction = &mut directions[number.ok_or_else(wrong)?];
        if kind == Kind::Histogram {
            let bins: Result<Vec<u64>, Fault> = (3..fields.len()).map(|bin| count(bin, "a bin")).collect();
            let histogram = direction.add(&bins?).map_err(|message| Fault::at(line, message))?;
            entry.value = histogram.count();
            (entry.latency_p50_ns, entry.latency_p99_ns) = (histogram.quantile(0.5), histogram.quantile(0.99));
        }
        direction.entries.push(entry);
    }
    let mut collected = Collected::default();
    for (number, direction) in directions.iter().enumerate().filter(|(_, direction)| !direction.entries.is_empty()) {
        let sample = direction.sample(kind, number, source, &mut collected)?;
        collected.take(sample)?;
    }
    Ok(collected)
}

impl Direction {
    /// Adds a line's bins; returns its histogram.
    fn add(&mut self, bins: &[u64]) -> Result<Histogram, String> {
        let coarse = FIO_BUCKETS / bins.len().max(1);
        if bins.is_empty() || bins.len() * coarse != FIO_BUCKETS || !coarse.is_power_of_two() {
            let bins = bins.len();
            return Err(format!("a row has {bins} bins and not {FIO_BUCKETS}, a half of it, a quarter and so on"));
        }
        self.counts.resize(FIO_BUCKETS, 0);
        let mut counts = vec![0; FIO_BUCKETS];
        for (bin, count) in bins.iter().enumerate() {
            // The middle of the buckets that a coarser bin covers.
            let bucket = bin * coarse + coarse / 2;
            counts[bucket] = *count;
            self.counts[bucket] = self.counts[bucket].checked_add(*count).ok_or(OVERFLOW)?;
        }
        histogram_of(&counts).ok_or_else(|| OVERFLOW.to_owned())
    }

    /// A sample; of its workload only the operation is known, and the request size if all lines have the same.
    fn sample(
        &self,
        kind: Kind,
        number: usize,
        source: Source<'_>,
        collected: &mut Collected,
    ) -> Result<Sample, Fault> {
        let entries = &self.entries;
        let back = entries.windows(2).find(|pair| pair[1].at_ms < pair[0].at_ms);
        // Histograms of several jobs can be added, their windows cannot.
        if let Some(pair) = back.filter(|_| kind != Kind::Histogram) {
            return Err(Fault::at(pair[1].line, "the time goes back; has the log several jobs? log them apart"));
        }
        let first = entries[0].request_bytes;
        let spec = WorkloadSpec {
            operation: Some([Operation::Read, Operation::Write, Operation::Trim][number]),
            request_size: size(first).filter(|_| entries.iter().all(|entry| entry.request_bytes == first)),
            ..WorkloadSpec::default()
        };
        let from = origin(Format::FioLog, source, Some(1), None, None);
        let mut sample = Sample::imported(spec.imported(None), Environment::unknown("", None), from);
        let over_s = entries.iter().map(|entry| entry.at_ms).max().unwrap_or(0) as f64 / 1e3;
        lasted(&mut sample, over_s);
        // Lines of requests have a block size, those of windows have 0. A request counts as one.
        let is_one = |entry: &Entry| kind != Kind::Requests || entry.value == 1;
        let is_of_requests = entries.iter().all(|entry| entry.request_bytes > 0 && is_one(entry));
        let figures = match kind {
            Kind::Histogram => {
                let message = "smallest, largest and mean latency are those of the histogram's buckets";
                collected.doubt("latency_from_buckets", message, "import the JSON for the exact ones");
                if back.is_none() {
                    let mut windows = Windows::of(&mut sample, entries);
                    for entry in entries {
                        windows.next(&mut sample, entry.at_ms);
                        sample.intervals.push(Interval {
                            requests: entry.value,
                            latency_p50_ns: entry.latency_p50_ns,
                            latency_p99_ns: entry.latency_p99_ns,
                            ..interval(entry.at_ms)
                        });
                    }
                    sample.mark_known("intervals.requests");
                }
                let all = histogram_of(&self.counts).ok_or_else(|| Fault::whole(OVERFLOW))?;
                Figures::over(over_s, Some(all.count()), None).with_histogram(all)
            }
            _ if is_of_requests => {
                let bytes = entries.iter().try_fold(0_u64, |sum, entry| sum.checked_add(entry.request_bytes));
                let bytes = bytes.ok_or_else(|| Fault::whole(OVERFLOW))?;
                let figures = Figures::over(over_s, Some(entries.len() as u64), Some(bytes));
                if kind == Kind::Latency {
                    let mut latencies = Histogram::default();
                    entries.iter().for_each(|entry| latencies.record(entry.value));
                    figures.with_histogram(latencies)
                } else {
                    figures
                }
            }
            Kind::Latency => {
                return Err(Fault::whole(
                    "it has averages of latencies (log_avg_msec), which make no sample; import the JSON or the \
                     histogram log",
                ));
            }
            _ => {
                let is_bandwidth = kind == Kind::Bandwidth;
                let per_s = windows_of_rates(&mut sample, entries, is_bandwidth, over_s, collected)?;
                sample.mark_known(if is_bandwidth { "intervals.bytes" } else { "intervals.requests" });
                Figures {
                    bytes_per_s: per_s.filter(|_| is_bandwidth),
                    requests_per_s: per_s.filter(|_| !is_bandwidth),
                    ..Figures::default()
                }
            }
        };
        fill_only(&mut sample, figures);
        Ok(sample)
    }
}

/// Adds the intervals of averaged rates; returns the mean rate.
fn windows_of_rates(
    sample: &mut Sample,
    entries: &[Entry],
    is_bandwidth: bool,
    over_s: f64,
    collected: &mut Collected,
) -> Result<Option<f64>, Fault> {
    if entries.len() > MAX_INTERVALS {
        return Err(Fault::whole(format!("it has more than {MAX_INTERVALS} intervals; split it")));
    }
    let mut windows = Windows::of(sample, entries);
    let mut sum = 0.0;
    for entry in entries {
        let window_s = windows.next(sample, entry.at_ms) as f64 / 1e3;
        let moved = entry.value as f64 * if is_bandwidth { 1024.0 } else { 1.0 } * window_s;
        sum += moved;
        let (requests, bytes) = if is_bandwidth { (0, moved.round() as u64) } else { (moved.round() as u64, 0) };
        sample.intervals.push(Interval { requests, bytes, ..interval(entry.at_ms) });
    }
    if windows.idle_ms > 0 {
        let message = format!(
            "for {} s of {} s there is no line: nothing was done then, or fio wrote a line late, and the rate is over all of it; how long nothing \
             was done after the last line the log does not say",
            significant(windows.idle_ms as f64 / 1e3),
            significant(over_s)
        );
        collected.doubt("idle_windows", message, "import the JSON, which has the whole time");
    }
    Ok((over_s > 0.0).then(|| sum / over_s))
}

/// An interval without requests.
fn interval(end_ms: u64) -> Interval {
    Interval { at_s: end_ms as f64 / 1e3, requests: 0, bytes: 0, ..Interval::default() }
}

/// The windows of a log's lines in sequence.
struct Windows {
    /// The most common distance between lines.
    usual_ms: u64,
    before_ms: u64,
    idle_ms: u64,
}

impl Windows {
    /// The windows of these lines; sets the sample's interval to their distance.
    fn of(sample: &mut Sample, entries: &[Entry]) -> Windows {
        let mut before_ms = 0;
        let distance = |entry: &Entry| entry.at_ms.saturating_sub(std::mem::replace(&mut before_ms, entry.at_ms));
        let mut distances: Vec<u64> = entries.iter().map(distance).filter(|ms| *ms > 0).collect();
        distances.sort_unstable();
        // Lines are late by some milliseconds: the smallest distance with the most others up to a tenth above it.
        let alike = |from: usize| distances.partition_point(|ms| *ms <= distances[from] + distances[from] / 10) - from;
        let usual = (0..distances.len()).max_by_key(|from| (alike(*from), Reverse(*from)));
        let usual_ms = usual.map_or(0, |from| distances[from + alike(from) / 2]);
        if (1..=LONGEST_INTERVAL_MS).contains(&usual_ms) {
            sample.workload.interval = Nanoseconds(usual_ms * 1_000_000);
            sample.workload.unknown.remove("interval_s");
        }
        Windows { usual_ms, before_ms: 0, idle_ms: 0 }
    }

    /// The length of the window that ends at `end_ms`. If the line before is more than one and a half windows earlier,
    /// adds an idle interval between them.
    fn next(&mut self, sample: &mut Sample, end_ms: u64) -> u64 {
        let distance_ms = end_ms.saturating_sub(self.before_ms);
        let is_idle = distance_ms > self.usual_ms.saturating_add(self.usual_ms / 2);
        let from_ms = if is_idle { end_ms - self.usual_ms } else { self.before_ms };
        if from_ms > self.before_ms {
            self.idle_ms += from_ms - self.before_ms;
            sample.intervals.push(interval(from_ms));
        }
        self.before_ms = end_ms;
        end_ms.saturating_sub(from_ms)
    }
}

/// A histogram of counts by fio's buckets; none on overflow.
fn histogram_of(counts: &[u64]) -> Option<Histogram> {
    let full = || counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let (Some((first, _)), Some((last, _))) = (full().next(), full().next_back()) else {
        return Some(Histogram::default());
    };
    let sum = full().map(|(bucket, count)| bucket_middle(bucket) as f64 * *count as f64).sum();
    let width = 1_u64 << (last >> SUB_BUCKET_BITS).saturating_sub(1);
    let bins = full().map(|(bucket, count)| (bucket_middle(bucket), *count));
    histogram(bins, sum, bucket_low(first), bucket_low(last) + width - 1)
}
