//! `iostat -x -t -o JSON`: what the kernel counted at each disk, over time. A sample for each disk that had requests.

use super::error::Fault;
use super::json::{count, documents, figure};
use super::record::{Figures, began, fill, lasted, origin};
use super::{Collected, Format, Source};
use halfpower_model::sample::{Block, DepthMean, Direction, Interval, Latency};
use halfpower_model::{Environment, Operation, RequestKind, Sample, WorkloadSpec};
use serde_json::Value;

/// Seconds of a day: times without a date that is sure are compared within one.
const DAY_S: f64 = 86_400.0;
/// Maximum number of disks of a file.
const DISKS_MAX: usize = 1024;

/// Whether it is sysstat's JSON with disks.
pub(super) fn is_one(source: Source<'_>) -> bool {
    source.text.contains("\"sysstat\"") && source.text.contains("\"disk_device\"")
}

/// What one kind of requests did at a disk.
#[derive(Clone, Copy, Default)]
struct Did {
    requests: f64,
    bytes: f64,
    /// Sum of the times that requests took, in milliseconds.
    waited_ms: f64,
}

impl Did {
    /// In an interval of these seconds; none without the extended figures.
    fn read(disk: &Value, letter: &str, seconds: f64) -> Option<Did> {
        let of = |name: &str| disk.get(name).and_then(figure);
        let requests = of(&format!("{letter}/s"))? * seconds;
        let kib = of(&format!("{letter}kB/s")).or_else(|| Some(of(&format!("{letter}MB/s"))? * 1024.0))?;
        let await_ms = of(&format!("{letter}_await")).unwrap_or_default();
        Some(Did { requests, bytes: kib * 1024.0 * seconds, waited_ms: requests * await_ms })
    }

    fn plus(self, other: Did) -> Did {
        let Did { requests, bytes, waited_ms } = other;
        Did { requests: self.requests + requests, bytes: self.bytes + bytes, waited_ms: self.waited_ms + waited_ms }
    }

    fn figures(self, seconds: f64) -> Figures {
        let mean = (self.requests >= 0.5).then(|| self.waited_ms * 1e6 / self.requests);
        let figures = Figures::over(seconds, Some(self.requests.round() as u64), Some(self.bytes.round() as u64));
        Figures { latency: Latency { mean, ..Latency::default() }, ..figures }
    }
}

/// A disk over all intervals.
#[derive(Default)]
struct Disk {
    name: String,
    read: Did,
    write: Did,
    intervals: Vec<Interval>,
    /// Sums over time.
    depth_s: f64,
    busy_s: f64,
}

/// Each disk with requests. The first report is of the time since the boot and is left out.
///
/// # Errors
/// Without times, of less than two reports, without the extended figures, or if times do not grow.
pub(super) fn read(source: Source<'_>) -> Result<Collected, Fault> {
    let mut collected = Collected::default();
    for document in documents(source.text)? {
        let hosts = document.value.pointer("/sysstat/hosts").and_then(Value::as_array);
        for host in hosts.into_iter().flatten() {
            read_host(host, document.line, source, &mut collected)?;
        }
    }
    Ok(collected)
}

fn read_host(host: &Value, line: u64, source: Source<'_>, collected: &mut Collected) -> Result<(), Fault> {
    let fault = |what: &str| Fault::at(line, what);
    let reports = host.get("statistics").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let [first, rest @ ..] = reports else { return Err(fault("it has no reports")) };
    if rest.is_empty() {
        return Err(fault(
            "its only report is of the time since the boot; let iostat run, like `iostat -x -t -o JSON 1 60`",
        ));
    }
    let at = |report: &Value| report.get("timestamp").and_then(Value::as_str).and_then(second_of_day);
    let (mut disks, mut elapsed_s, mut before) = (Vec::<Disk>::new(), 0.0, at(first));
    for report in rest {
        let now = at(report);
        let (Some(from), Some(to)) = (before, now) else {
            return Err(fault("its reports have no times; add -t, as in `iostat -x -t -o JSON 1 60`"));
        };
        let seconds = (to - from).rem_euclid(DAY_S);
        if seconds <= 0.0 {
            return Err(fault("two of its reports have the same time"));
        }
        (elapsed_s, before) = (elapsed_s + seconds, now);
        for disk in report.get("disk").and_then(Value::as_array).into_iter().flatten() {
            let name = disk.get("disk_device").and_then(Value::as_str).unwrap_or_default();
            let (Some(read), Some(write)) = (Did::read(disk, "r", seconds), Did::read(disk, "w", seconds)) else {
                return Err(fault("it has no extended figures; add -x, as in `iostat -x -t -o JSON 1 60`"));
            };
            let known = disks.iter().position(|known| known.name == name);
            if known.is_none() && disks.len() == DISKS_MAX {
                return Err(fault("it has more than 1024 disks"));
            }
            let at = known.unwrap_or_else(|| {
                disks.push(Disk { name: name.to_owned(), ..Disk::default() });
                disks.len() - 1
            });
            let of = |key: &str| disk.get(key).and_then(figure).unwrap_or_default();
            disks[at].add(read, write, elapsed_s, [of("aqu-sz") * seconds, of("util").min(100.0) / 100.0 * seconds]);
        }
    }
    let message = "the first report is left out: iostat's is of the time since the boot, except with -y";
    collected.note("first_report", message, "run iostat without -y");
    let name = host.get("nodename").and_then(Value::as_str).unwrap_or_default();
    let start = first.get("timestamp").and_then(Value::as_str).and_then(|text| text.parse().ok());
    for disk in disks.into_iter().filter(|disk| disk.read.plus(disk.write).requests >= 0.5) {
        let mut sample = disk.sample(elapsed_s, source, line);
        sample.environment.host = name.to_owned();
        sample.environment.kernel = host.get("release").and_then(Value::as_str).unwrap_or_default().to_owned();
        sample.environment.cpus = host.get("number-of-cpus").and_then(count).unwrap_or_default() as u32;
        if let Some(start) = start {
            began(&mut sample, start);
        }
        collected.take(sample)?;
    }
    Ok(())
}

impl Disk {
    fn add(&mut self, read: Did, write: Did, at_s: f64, [depth_s, busy_s]: [f64; 2]) {
        let both = read.plus(write);
        let (requests, bytes) = (both.requests.round() as u64, both.bytes.round() as u64);
        self.intervals.push(Interval { at_s, requests, bytes, ..Interval::default() });
        (self.read, self.write) = (self.read.plus(read), self.write.plus(write));
        self.depth_s += depth_s;
        self.busy_s += busy_s;
    }

    fn sample(self, elapsed_s: f64, source: Source<'_>, line: u64) -> Sample {
        let (read, write) = (self.read.figures(elapsed_s), self.write.figures(elapsed_s));
        let kinds = [(RequestKind::Read, Operation::Read, &read), (RequestKind::Write, Operation::Write, &write)];
        let had: Vec<_> = kinds.into_iter().filter(|(.., figures)| figures.requests > Some(0)).collect();
        let operation = if let [(_, only, _)] = had[..] { Some(only) } else { None };
        let spec = WorkloadSpec { operation, ..WorkloadSpec::default() };
        let from = origin(Format::Iostat, source, Some(line), Some(&self.name), None);
        let environment = Environment::unknown(format!("/dev/{}", self.name), None);
        let mut sample = Sample::imported(spec.imported(None), environment, from);
        had.iter().for_each(|(kind, _, figures)| fill(&mut sample, Some(*kind), (*figures).clone()));
        fill(&mut sample, None, self.read.plus(self.write).figures(elapsed_s));
        lasted(&mut sample, elapsed_s);
        sample.intervals = self.intervals;
        let waited_s = (self.read.waited_ms + self.write.waited_ms) / 1e3;
        sample.depth_mean = DepthMean { little: waited_s / elapsed_s, counted: self.depth_s / elapsed_s };
        let direction = |figures: &Figures| Direction {
            requests: figures.requests.unwrap_or_default(),
            bytes: figures.bytes.unwrap_or_default(),
            amplification: None,
        };
        sample.block = Some(Block {
            requests: sample.total.requests,
            bytes: sample.total.bytes,
            busy_fraction: (self.busy_s / elapsed_s).min(1.0),
            devices: 1,
            read: Some(direction(&read)),
            write: Some(direction(&write)),
            ..Block::default()
        });
        ["intervals.requests", "intervals.bytes", "depth_mean", "block"]
            .iter()
            .for_each(|field| sample.mark_known(field));
        sample
    }
}

/// Seconds since midnight of a time like `11/28/26 13:12:03`, `11/28/2026 01:12:03 PM` or `2026-11-28T13:12:03+0000`. The order of
/// day and month depends on the locale, so that the date says nothing.
fn second_of_day(text: &str) -> Option<f64> {
    let clock = text.split(['T', ' ']).find(|word| word.contains(':'))?;
    let mut parts = clock.get(..8)?.split(':').map(|part| part.parse::<u32>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let hours = match text.rsplit(' ').next() {
        Some("PM") => hours % 12 + 12,
        Some("AM") => hours % 12,
        _ => hours,
    };
    Some(f64::from(hours) * 3600.0 + f64::from(minutes) * 60.0 + f64::from(seconds))
}
