//! Interval logs of HdrHistogram. Our own export has a sample for each of its samples; a log of any other program has a
//! sample per tag, whose lines are its intervals. A log contains latencies with their times, nothing else.
//!
//! Each line is `[Tag=NAME,]start,length,largest,histogram`; `#[StartTime: …]` and `#[BaseTime: …]` give the origin of
//! the starts. A log does not name its unit: values of other programs are taken for nanoseconds, as the library's own
//! writer has them, with a warning. Source: `HistogramLogReader` of HdrHistogram's Java.

mod encoding;

use super::error::Fault;
use super::record::{Figures, began, fill, histogram, lasted, origin};
use super::text::{lines, number};
use super::{Collected, Format, MAX_INTERVALS, MAX_SAMPLES, Source};
use encoding::{Cell, decoded};
use halfpower_model::histogram::{bucket_low, bucket_of};
use halfpower_model::sample::{Interval, Latency};
use halfpower_model::{Environment, Histogram, RequestKind, Sample, WorkloadSpec};
use std::collections::HashMap;

/// The line that identifies our own logs.
pub(crate) const OWN: &str = "#[Service times in nanoseconds by Halfpower; Interval_Max is in milliseconds]";
/// Maximum inflated size of all histograms of a file.
const MAX_INFLATED_BYTES: usize = 32 << 20;
/// A year: starts further before the log's start are no times of day.
const YEAR_S: f64 = 365.0 * 86_400.0;
/// 1990: no log is older.
const OLDEST_S: f64 = 631_152_000.0;

/// Whether it is such a log.
pub(super) fn is_one(source: Source<'_>) -> bool {
    // First letters of every compressed histogram of version 2.
    source.text.starts_with("#[Histogram log format") || source.text.starts_with(OWN) || source.text.contains(",HISTF")
}

/// Every sample.
///
/// # Errors
/// At the first invalid line.
pub(super) fn read(source: Source<'_>) -> Result<Collected, Fault> {
    let mut log = Log::default();
    for line in lines(source.text) {
        let (line, text) = line?;
        log.take(line, text.trim_end()).map_err(|wrong| Fault::at(line, wrong))?;
    }
    let mut collected = Collected::default();
    let what = if log.is_own { "smallest and mean latency" } else { "smallest, largest and mean latency" };
    let message = format!("{what} are those of the histogram's buckets");
    collected.doubt("latency_from_buckets", message, "nothing to do: the log has no others");
    if log.is_own {
        log.own(source, &mut collected)?;
        return Ok(collected);
    }
    let message = "the log does not say what its values are; they were taken for nanoseconds";
    collected.doubt("unit_unknown", message, "if they are not, every latency is wrong by that factor: log nanoseconds");
    if let Some(line) = log.disagrees {
        let message =
            format!("line {line}: Interval_Max is neither its histogram's largest value nor a millionth of it");
        collected.doubt("largest_disagrees", message, "look at the log: its values may not be nanoseconds");
    }
    for course in std::mem::take(&mut log.courses) {
        let mut sample = log.sample(&course, course.tag.as_deref(), source);
        let Course { histogram: all, intervals, .. } = course;
        fill(&mut sample, None, Figures::default().with_histogram(all));
        if intervals.len() > 1 {
            sample.intervals = intervals;
        }
        collected.take(sample)?;
    }
    Ok(collected)
}

/// State after the lines read so far.
#[derive(Default)]
struct Log {
    is_own: bool,
    started_s: Option<f64>,
    base_s: Option<f64>,
    /// One for each tag, in order.
    courses: Vec<Course>,
    places: HashMap<Option<String>, usize>,
    /// Index of the tag of the line before.
    last: Option<usize>,
    intervals: usize,
    inflated_bytes: usize,
    /// The first line whose maximum is not that of its histogram.
    disagrees: Option<u64>,
}

/// The lines of a tag.
struct Course {
    line: u64,
    tag: Option<String>,
    start_s: f64,
    last_start_s: f64,
    end_s: f64,
    histogram: Histogram,
    intervals: Vec<Interval>,
}

impl Course {
    /// The sample's number and the kind of its requests, in our own log.
    fn own_parts(&self) -> Result<(&str, &str, &Course), Fault> {
        let parts = self.tag.as_deref().and_then(|tag| tag.strip_prefix("sample-")?.split_once('-'));
        let (id, kind) = parts.ok_or_else(|| Fault::at(self.line, "its tag is not like `sample-17-read`"))?;
        Ok((id, kind, self))
    }
}

impl Log {
    fn take(&mut self, line: u64, text: &str) -> Result<(), String> {
        if let Some(head) = text.strip_prefix("#[") {
            self.is_own |= text == OWN;
            let seconds = |name: &str| {
                let Some(rest) = head.strip_prefix(name) else { return Ok(None) };
                let figure = rest.trim_start().split([' ', ']']).next().and_then(number);
                figure.map(Some).ok_or_else(|| format!("{name} has no number of seconds"))
            };
            self.started_s = seconds("StartTime:")?.or(self.started_s);
            self.base_s = seconds("BaseTime:")?.or(self.base_s);
            return Ok(());
        }
        if text.is_empty() || text.starts_with('#') || text.starts_with("\"StartTimestamp\"") {
            return Ok(());
        }
        let (tag, rest) = match text.strip_prefix("Tag=") {
            Some(rest) => rest.split_once(',').map(|(tag, rest)| (Some(tag.to_owned()), rest)),
            None => Some((None, text)),
        }
        .ok_or("nothing stands behind the tag")?;
        let fields: Vec<&str> = rest.splitn(4, ',').collect();
        let [start, length, largest, payload] = fields[..] else {
            return Err("a line has a start, a length, a largest value and a histogram".to_owned());
        };
        let figure = |field: &str, what: &str| number(field).ok_or_else(|| format!("the {what} is not a number"));
        let (start_s, length_s) = (figure(start, "start")?, figure(length, "length")?);
        let largest = figure(largest, "largest value")?;
        self.intervals += 1;
        if self.intervals > MAX_INTERVALS {
            return Err(format!("it has more than {MAX_INTERVALS} lines of histograms"));
        }
        let (cells, bytes) = decoded(payload)?;
        self.inflated_bytes += bytes;
        if self.inflated_bytes > MAX_INFLATED_BYTES {
            return Err(format!("the histograms inflate to more than {} MiB up to here", MAX_INFLATED_BYTES >> 20));
        }
        let part = self.histogram(line, &cells, largest)?;
        self.add(line, tag, (start_s, length_s), part)
    }

    /// A line's histogram. In our own log the minimum is that of our bucket, not of the narrower cell at its middle.
    fn histogram(&mut self, line: u64, cells: &[Cell], largest: f64) -> Result<Histogram, String> {
        let (Some(first), Some(last)) = (cells.first(), cells.last()) else { return Ok(Histogram::default()) };
        let bucket = bucket_of(last.middle());
        let own_high = bucket_low(bucket + 1).saturating_sub(1);
        let (min, low, high) = if self.is_own {
            (bucket_low(bucket_of(first.middle())), bucket_low(bucket), own_high)
        } else {
            (first.low, last.low, last.high())
        };
        // In milliseconds, as the library's own writer has it (whole ones in some languages), or in the unit of the
        // values.
        let maxima = [largest * 1e6, largest].map(|value| value.round() as u64);
        let within = maxima.into_iter().find(|value| (low..=high).contains(value));
        let near = |value: u64, by: u64| value.saturating_add(by) >= low && value <= high.saturating_add(by);
        if within.is_none() && !near(maxima[0], 1_000_000) && !near(maxima[1], 1) {
            self.disagrees = self.disagrees.or(Some(line));
        }
        let of = |cell: &Cell| (cell.middle(), cell.count);
        let sum = cells.iter().map(|cell| cell.middle() as f64 * cell.count as f64).sum();
        let max = within.unwrap_or(high);
        histogram(cells.iter().map(of), sum, min.min(max), max).ok_or_else(|| "its counts are too many".to_owned())
    }

    fn add(&mut self, line: u64, tag: Option<String>, when: (f64, f64), part: Histogram) -> Result<(), String> {
        let (start_s, end_s) = (when.0, when.0 + when.1);
        let count = self.courses.len();
        let place = *self.places.entry(tag.clone()).or_insert(count);
        // Only one histogram is unpacked at a time.
        if let Some(before) = self.last.replace(place).filter(|before| *before != place) {
            let histogram = &mut self.courses[before].histogram;
            *histogram = std::mem::take(histogram).packed();
        }
        if place == count {
            if count == MAX_SAMPLES {
                return Err(format!("it has more than {MAX_SAMPLES} tags"));
            }
            let (histogram, intervals) = (Histogram::default(), Vec::new());
            self.courses.push(Course { line, tag, start_s, last_start_s: start_s, end_s, histogram, intervals });
        }
        let course = &mut self.courses[place];
        if start_s < course.last_start_s {
            return Err("it begins before the line before it: keep runs in separate files, or tag them".to_owned());
        }
        course.last_start_s = start_s;
        course.end_s = course.end_s.max(end_s);
        course.histogram.count().checked_add(part.count()).ok_or("the histograms count more than there can be")?;
        course.intervals.push(Interval {
            at_s: end_s - course.start_s,
            requests: 0,
            bytes: 0,
            latency_p50_ns: part.quantile(0.5),
            latency_p99_ns: part.quantile(0.99),
            ..Interval::default()
        });
        if course.intervals.len() == 1 {
            course.histogram = part.packed();
        } else {
            course.histogram.merge(&part);
        }
        Ok(())
    }

    /// A sample with nothing but its times.
    fn sample(&self, course: &Course, record: Option<&str>, source: Source<'_>) -> Sample {
        let from = origin(Format::Hdr, source, Some(course.line), record, None);
        let mut sample = Sample::imported(WorkloadSpec::default().imported(None), Environment::unknown("", None), from);
        let elapsed_s = course.end_s - course.start_s;
        if elapsed_s > 0.0 {
            lasted(&mut sample, elapsed_s);
        }
        if let Some(at) = self.at(course.start_s) {
            began(&mut sample, at);
        }
        sample
    }

    /// The time of day of a start; none if the log does not give it.
    fn at(&self, start_s: f64) -> Option<jiff::Timestamp> {
        let base_s = match (self.base_s, self.started_s) {
            (Some(base_s), _) => base_s,
            (None, Some(started_s)) if start_s < started_s - YEAR_S => started_s,
            (None, _) => 0.0,
        };
        // Together they have more digits than a float.
        let microseconds = (base_s * 1e6).round() + (start_s * 1e6).round();
        (microseconds >= OLDEST_S * 1e6).then(|| jiff::Timestamp::from_microsecond(microseconds as i64).ok())?
    }

    /// The samples of our own log: lines of a sample are consecutive, with tags like `sample-17-read`.
    fn own(&self, source: Source<'_>, collected: &mut Collected) -> Result<(), Fault> {
        let courses = self.courses.iter().map(Course::own_parts).collect::<Result<Vec<_>, Fault>>()?;
        for courses in courses.chunk_by(|one, next| one.0 == next.0) {
            collected.take(self.own_sample(courses, source)?)?;
        }
        Ok(())
    }

    fn own_sample(&self, courses: &[(&str, &str, &Course)], source: Source<'_>) -> Result<Sample, Fault> {
        let (id, _, first) = courses[0];
        let mut sample = self.sample(first, Some(id), source);
        for (_, kind, course) in courses {
            let kind = match *kind {
                "read" => RequestKind::Read,
                "write" => RequestKind::Write,
                "trim" => RequestKind::Trim,
                "flush" => RequestKind::Flush,
                "response" => {
                    sample.latency_histogram.response = Some(course.histogram.clone());
                    continue;
                }
                _ => {
                    return Err(Fault::at(course.line, "its tag ends with none of read, write, trim, flush, response"));
                }
            };
            fill(&mut sample, Some(kind), Figures::default().with_histogram(course.histogram.clone()));
        }
        // Whether flushes are part of the total is unknown.
        if sample.flush.is_none() {
            let latency = Latency::of(&sample.latency_histogram.total());
            fill(&mut sample, None, Figures { latency, ..Figures::default() });
        }
        Ok(sample)
    }
}
