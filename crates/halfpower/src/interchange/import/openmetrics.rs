//! OpenMetrics text as `halfpower export --format openmetrics` writes it, back again: a sample for each value of the label
//! `sample`, with the figures that are gauges and the parts of its workload that are labels.
//!
//! A figure, a label or a type that is not one of ours is refused with its line: of another program's figures nobody knows
//! what they are of, and a collector's labels say that it is no longer one measurement. The histogram is held against
//! itself and left out: its buckets are octaves, and which of ours they would fall into is not told. Source: OpenMetrics
//! 1.0, text format.

use super::error::What;
use super::gauges::{GAUGES, Gauge, LATENCY, PREFIX};
use super::record::{Told, began, fill, lasted, origin, used};
use super::text::{lines, number, whole};
use super::{Format, Harvest, MAX_SAMPLES, Source};
use halfpower_model::sample::{DepthMean, Latency};
use halfpower_model::{Bytes, Environment, RequestKind, Sample, WorkloadSpec};
use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;

/// What may stand in braces, beside what tells the figures of a sample apart.
const LABELS: [&str; 13] = [
    "sample",
    "cell",
    "block",
    "operation",
    "pattern",
    "request_size_bytes",
    "depth",
    "workers",
    "buffering",
    "personality",
    "set",
    "target",
    "host",
];
const END: &str = "# EOF";

/// Whether it is such a text, of whatever program.
pub(super) fn is_one(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    ["# TYPE ", "# HELP ", "# UNIT "].into_iter().any(|head| first.starts_with(head)) || first.trim_end() == END
}

/// Every sample.
///
/// # Errors
/// At the first line that is none of ours, or where the end is missing.
pub(super) fn read(source: Source<'_>) -> Result<Harvest, What> {
    let mut all = Samples::default();
    let mut has_ended = false;
    for line in lines(source.text) {
        let (line, text) = line?;
        let text = text.trim_end_matches('\r');
        if has_ended {
            return Err(What::at(line, format!("something stands behind `{END}`")));
        }
        match text.strip_prefix('#') {
            Some(_) if text == END => has_ended = true,
            Some(head) => known(head).map_err(|wrong| What::at(line, wrong))?,
            None => all.take(line, text).map_err(|wrong| What::at(line, wrong))?,
        }
    }
    if !has_ended {
        return Err(What::whole(format!("it does not end with `{END}`: it is cut short; get the whole file again")));
    }
    let mut harvest = Harvest::default();
    let has_buckets = all.samples.iter().any(|one| one.buckets.line > 0);
    for one in all.samples {
        one.buckets.check().map_err(|wrong| What::at(one.buckets.line, wrong))?;
        harvest.take(one.sample(source)?)?;
    }
    if has_buckets {
        let message = "histograms of whole octaves are left out: which of our buckets they would fall into is not told";
        harvest.note("histogram_left_out", message, "percentiles are there; --format jsonl keeps the histograms too");
    }
    Ok(harvest)
}

/// What is quoted of a file.
fn quoted(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Holds what a comment says of a family against what we say of it.
fn known(head: &str) -> Result<(), String> {
    let mut words = head.splitn(4, ' ').skip(1);
    let (what, name, rest) = (words.next(), words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let family = name.strip_prefix(PREFIX);
    let gauge = family.and_then(|family| GAUGES.iter().find(|gauge| gauge.name == family));
    if gauge.is_none() && family != Some(LATENCY) {
        return Err(format!("`{}` is no figure of Halfpower's", quoted(name)));
    }
    let expected = match what {
        Some("HELP") => return Ok(()),
        Some("TYPE") => gauge.map_or("histogram", |_| "gauge"),
        Some("UNIT") => gauge.map_or("seconds", |gauge| gauge.unit),
        _ => return Err("a comment begins with none of TYPE, UNIT and HELP".to_owned()),
    };
    if rest == expected { Ok(()) } else { Err(format!("`{name}` is `{}` and not `{expected}`", quoted(rest))) }
}

/// A line of a figure.
struct Line<'a> {
    name: &'a str,
    labels: BTreeMap<&'a str, String>,
    value: &'a str,
    stamp: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn of(text: &'a str) -> Result<Line<'a>, String> {
        let (name, rest) = text.split_once('{').ok_or("no labels in braces stand behind the name")?;
        let (labels, rest) = labels(rest)?;
        let mut words = rest.split(' ').skip(1);
        let (value, stamp, more) = (words.next().unwrap_or_default(), words.next(), words.next());
        if more.is_some() || !rest.starts_with(' ') {
            return Err("behind the braces stands something other than a value and a time".to_owned());
        }
        Ok(Line { name, labels, value, stamp })
    }

    /// A label that is there once and is no part of what all lines of a sample have.
    fn own(&mut self, label: &str) -> Result<String, String> {
        self.labels.remove(label).ok_or_else(|| format!("the label `{label}` is missing"))
    }
}

/// Labels and their values up to the closing brace, and what stands behind it.
fn labels(text: &str) -> Result<(BTreeMap<&str, String>, &str), String> {
    let mut labels = BTreeMap::new();
    let mut rest = text;
    loop {
        if let Some(behind) = rest.strip_prefix('}') {
            return Ok((labels, behind));
        }
        let (name, behind) = rest.split_once("=\"").ok_or("the braces are not closed")?;
        let mut value = String::new();
        let mut letters = behind.char_indices();
        let end = loop {
            match letters.next() {
                None => return Err("a quote is not closed".to_owned()),
                Some((at, '"')) => break at,
                Some((_, '\\')) => match letters.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, escaped @ ('"' | '\\'))) => value.push(escaped),
                    _ => return Err("a backslash stands before none of \", \\ and n".to_owned()),
                },
                Some((_, letter)) => value.push(letter),
            }
        };
        if labels.insert(name, value).is_some() {
            return Err(format!("the label `{}` is there twice", quoted(name)));
        }
        rest = &behind[end + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
}

#[derive(Default)]
struct Samples {
    samples: Vec<One>,
    /// Their places, by the label `sample`.
    places: HashMap<String, usize>,
}

/// What the lines of a sample say.
#[derive(Default)]
struct One {
    line: u64,
    labels: BTreeMap<String, String>,
    stamp: Option<String>,
    /// By their places in the record.
    figures: HashMap<&'static str, f64>,
    buckets: Buckets,
}

impl Samples {
    fn take(&mut self, number_of_line: u64, text: &str) -> Result<(), String> {
        let mut line = Line::of(text)?;
        let unknown =
            || format!("`{}` is no figure of Halfpower's", quoted(text.split('{').next().unwrap_or_default()));
        let family = line.name.strip_prefix(PREFIX).ok_or_else(unknown)?;
        if let Some(gauge) = GAUGES.iter().find(|gauge| gauge.name == family) {
            let path = path(gauge, &mut line)?;
            let value = number(line.value).ok_or_else(|| format!("`{}` is no figure", quoted(line.value)))?;
            let one = self.one(number_of_line, line)?;
            return match one.figures.insert(path, value / gauge.scale) {
                Some(_) => Err("the figure is there twice".to_owned()),
                None => Ok(()),
            };
        }
        let part = family.strip_prefix(LATENCY).ok_or_else(unknown)?;
        let bound = if part == "_bucket" { Some(line.own("le")?) } else { None };
        let value = line.value.to_owned();
        self.one(number_of_line, line)?.buckets.take(number_of_line, part, bound.as_deref(), &value)
    }

    /// The sample of a line, which has to say the same of it as those before.
    fn one(&mut self, number_of_line: u64, line: Line<'_>) -> Result<&mut One, String> {
        if let Some(label) = line.labels.keys().find(|label| !LABELS.contains(label)) {
            return Err(format!("the label `{}` is none of Halfpower's", quoted(label)));
        }
        let name = line.labels.get("sample").ok_or("the label `sample` is missing")?.clone();
        let count = self.samples.len();
        let place = *self.places.entry(name).or_insert(count);
        let labels = line.labels.into_iter().map(|(label, value)| (label.to_owned(), value)).collect();
        if place == count {
            if count == MAX_SAMPLES {
                return Err(format!("it has more than {MAX_SAMPLES} samples"));
            }
            let stamp = line.stamp.map(str::to_owned);
            self.samples.push(One { line: number_of_line, labels, stamp, ..One::default() });
        } else if self.samples[place].labels != labels || self.samples[place].stamp.as_deref() != line.stamp {
            return Err(format!(
                "its labels or its time are not those of its sample on line {}",
                self.samples[place].line
            ));
        }
        Ok(&mut self.samples[place])
    }
}

/// Where the figure of a line is in the record.
fn path(gauge: &Gauge, line: &mut Line<'_>) -> Result<&'static str, String> {
    let word = gauge.label.map(|label| line.own(label)).transpose()?.unwrap_or_default();
    let found = gauge.figures.iter().find(|(known, _)| *known == word);
    found.map(|(_, path)| *path).ok_or_else(|| format!("`{}` is none of those we have of it", quoted(&word)))
}

/// A histogram as it is counted up; nothing of it is kept.
#[derive(Default)]
struct Buckets {
    line: u64,
    last_bound: Option<f64>,
    below: u64,
    count: Option<u64>,
}

impl Buckets {
    fn take(&mut self, line: u64, part: &str, bound: Option<&str>, value: &str) -> Result<(), String> {
        self.line = line;
        let counted = || whole(value).ok_or_else(|| format!("`{}` is no count", quoted(value)));
        match (part, bound) {
            ("_bucket", Some(bound)) => {
                let end = if bound == "+Inf" { Some(f64::INFINITY) } else { number(bound) };
                let end = end.ok_or_else(|| format!("a bucket ends at `{}`", quoted(bound)))?;
                let below = counted()?;
                if self.last_bound.is_some_and(|last| last >= end) || below < self.below {
                    return Err("a bucket is not above the one before it".to_owned());
                }
                (self.last_bound, self.below) = (Some(end), below);
            }
            ("_count", _) => self.count = Some(counted()?),
            ("_sum", _) => drop(number(value).ok_or_else(|| format!("`{}` is no sum", quoted(value)))?),
            _ => return Err("a histogram has buckets, a count and a sum, and nothing else".to_owned()),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), &'static str> {
        let is_whole = self.last_bound == Some(f64::INFINITY) && self.count == Some(self.below);
        if self.line == 0 || is_whole { Ok(()) } else { Err("the histogram's buckets are not as many as its count") }
    }
}

impl One {
    fn said<T: FromStr>(&self, label: &str) -> Result<Option<T>, What> {
        let Some(text) = self.labels.get(label) else { return Ok(None) };
        let wrong = |_| What::at(self.line, format!("the label `{label}` is `{}`, which it cannot be", quoted(text)));
        text.parse().map(Some).map_err(wrong)
    }

    fn figure(&self, path: &str) -> Option<f64> {
        self.figures.get(path).copied()
    }

    fn workload(&self) -> Result<WorkloadSpec, What> {
        Ok(WorkloadSpec {
            operation: self.said("operation")?,
            pattern: self.said("pattern")?,
            request_size: self.said::<u64>("request_size_bytes")?.map(Bytes),
            depth: self.said("depth")?,
            workers: self.said("workers")?,
            buffering: self.said("buffering")?,
            personality: self.said("personality")?,
            set: self.said("set")?,
            ..WorkloadSpec::default()
        })
    }

    fn sample(&self, source: Source<'_>) -> Result<Sample, What> {
        let text = |label| self.labels.get(label).cloned().unwrap_or_default();
        let mut environment = Environment::unknown(text("target"), None);
        environment.host = text("host");
        let from = origin(Format::Openmetrics, source, Some(self.line), Some(&text("sample")));
        let mut sample = Sample::imported(self.workload()?.told(None), environment, from);
        let kinds = [
            ("total", None),
            ("read", Some(RequestKind::Read)),
            ("write", Some(RequestKind::Write)),
            ("trim", Some(RequestKind::Trim)),
        ];
        for (part, kind) in kinds {
            let rate = |field: &str| self.figure(&format!("/{part}/{field}"));
            let latency = if kind.is_none() { self.latency() } else { Latency::default() };
            let (requests_per_s, bytes_per_s) = (rate("requests_per_s"), rate("bytes_per_s"));
            if kind.is_none() || requests_per_s.is_some() || bytes_per_s.is_some() {
                fill(&mut sample, kind, Told { requests_per_s, bytes_per_s, latency, ..Told::default() });
            }
        }
        if let (Some(counted), Some(little)) = (self.figure("/depth_mean/counted"), self.figure("/depth_mean/little")) {
            sample.depth_mean = DepthMean { little, counted };
            sample.tell("depth_mean");
        }
        if let (Some(user_s), Some(system_s)) = (self.figure("/cpu/lower/user_s"), self.figure("/cpu/lower/system_s")) {
            used(&mut sample, user_s, system_s);
        }
        if let Some(elapsed_s) = self.figure("/elapsed_s") {
            lasted(&mut sample, elapsed_s);
            if let Some(stamp) = &self.stamp {
                let wrong = || What::at(self.line, format!("`{}` is no time that a sample ended at", quoted(stamp)));
                began(&mut sample, started_at(stamp, elapsed_s).ok_or_else(wrong)?);
            }
        }
        Ok(sample)
    }

    fn latency(&self) -> Latency {
        let figure = |name: &str| self.figure(&format!("/total/latency_ns/{name}"));
        let count = |name: &str| figure(name).map(|value| value.round() as u64);
        Latency {
            mean: figure("mean"),
            p50: count("p50"),
            p90: count("p90"),
            p95: count("p95"),
            p99: count("p99"),
            p99_9: count("p99_9"),
            p99_99: count("p99_99"),
            ..Latency::default()
        }
    }
}

/// A sample's beginning from the time of its end, which has milliseconds.
fn started_at(stamp: &str, elapsed_s: f64) -> Option<jiff::Timestamp> {
    let end = jiff::Timestamp::from_millisecond((number(stamp)? * 1e3).round() as i64).ok()?;
    end.checked_sub(jiff::SignedDuration::try_from_secs_f64(elapsed_s).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use crate::interchange::import::import_bytes;

    const RATE: &str = "halfpower_requests_per_second{sample=\"7\",depth=\"4\",kind=\"all\"} 66.97 952730828.000";

    fn refused(text: &str) -> String {
        import_bytes("a.txt", text.as_bytes(), None).unwrap_err().to_string()
    }

    #[test]
    fn figures_of_a_sample_come_together() {
        let text = format!(
            "# TYPE halfpower_requests_per_second gauge\n{RATE}\nhalfpower_elapsed_seconds{{sample=\"7\",depth=\"4\"}} 10 \
             952730828.000\nhalfpower_elapsed_seconds{{sample=\"8\",target=\"a\\\"\\\\b\\n\"}} 1\n# EOF\n"
        );
        let imported = import_bytes("a.txt", text.as_bytes(), None).unwrap();
        let [first, second] = &imported.samples[..] else { panic!("{imported:?}") };
        assert_eq!((first.total.requests_per_s, first.elapsed_s, first.workload.depth), (66.97, 10.0, 4));
        assert_eq!(first.started_at.to_string(), "2000-03-10T23:26:58Z");
        assert!(!first.tells("total.bytes_per_s") && !first.workload.tells("operation"));
        assert_eq!((&*second.environment.target.path, second.tells("started_at")), ("a\"\\b\n", false));
        assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
    }

    #[test]
    fn what_is_not_known_is_refused_with_its_line() {
        let bucket = |bound: &str, count: &str| {
            format!("halfpower_latency_seconds_bucket{{sample=\"7\",depth=\"4\",le=\"{bound}\"}} {count} 952730828.000")
        };
        let cases = [
            ("# TYPE node_load1 gauge".to_owned(), "`node_load1` is no figure of Halfpower's"),
            ("node_load1{cpu=\"0\"} 0.5".to_owned(), "`node_load1` is no figure of Halfpower's"),
            ("up 1".to_owned(), "no labels in braces"),
            ("# TYPE halfpower_elapsed_seconds counter".to_owned(), "is `counter` and not `gauge`"),
            ("# TYPE halfpower_of_later gauge".to_owned(), "`halfpower_of_later` is no figure"),
            ("# a word".to_owned(), "is no figure of Halfpower's"),
            (RATE.to_owned(), "the figure is there twice"),
            (RATE.replace("all", "of_later"), "`of_later` is none of those we have of it"),
            (RATE.replace("all", "read").replace("depth", "job"), "the label `job` is none of Halfpower's"),
            (RATE.replace("all", "read").replace("=\"4", "=\"5"), "are not those of its sample on line 2"),
            (RATE.replace("all", "read").replace("828.000", "829.000"), "are not those of its sample on line 2"),
            (RATE.replace("all", "read").replace("66.97", "-1"), "`-1` is no figure"),
            (RATE.replace("all", "read") + " # {} 1", "something other than a value and a time"),
            (RATE.replace("kind", "sample"), "the label `sample` is there twice"),
            (RATE.replace("\"}", ""), "a quote is not closed"),
            ("halfpower_elapsed_seconds{depth=\"4\"} 1".to_owned(), "the label `sample` is missing"),
            (bucket("+Inf", "x"), "`x` is no count"),
            (format!("{}\n{}", bucket("1", "5"), bucket("0.5", "6")), "a bucket is not above the one before it"),
            (bucket("+Inf", "5"), "the histogram's buckets are not as many as its count"),
        ];
        for (line, message) in cases {
            let error = refused(&format!("# TYPE halfpower_requests_per_second gauge\n{RATE}\n{line}\n# EOF\n"));
            let place = if line.contains('\n') { "a.txt:4: " } else { "a.txt:3: " };
            assert!(error.starts_with(place) && error.contains(message), "{line}: {error}");
        }
        let wrong = refused(&format!("# EOF\n{RATE}\n"));
        assert!(wrong.starts_with("a.txt:2: something stands behind `# EOF`"), "{wrong}");
        let wrong = refused("# TYPE halfpower_elapsed_seconds gauge\n");
        assert!(wrong.contains("it is cut short; get the whole file again"), "{wrong}");
        let wrong =
            refused(&format!("# HELP halfpower_elapsed_seconds x\n{}\n# EOF\n", RATE.replace("=\"4", "=\"four")));
        assert!(wrong.starts_with("a.txt:2: the label `depth` is `four`"), "{wrong}");
    }
}
