//! Jobs of fio's as workloads: a worker with its own stream for each clone of a job.

use super::job_file::{Job, Place, Setting};
use super::table::{self, How};
use super::units::{bytes, think, time};
use crate::sanitize::sanitize;
use crate::text::once;
use halfpower_engine::{Access, Target, is_remote};
use halfpower_model::{Buffering, Bytes, KEYS, Nanoseconds, Operation, WorkloadSpec};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Maximum number of clones of a job.
const CLONES_MAX: u64 = 1024;
/// Maximum number of files of a job.
const FILES_MAX: u64 = 1024;

/// Maximum number of settings that are named as refused.
const SHOWN_MAX: usize = 30;
/// Maximum length of the message about one, in characters.
const CHARACTERS_MAX: usize = 400;

/// Seeds of the clones of a job.
const SEEDS: u64 = 1 << 20;

/// What ends with a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ends {
    Itself,
    /// The others of its stage.
    Stage,
    /// Those, and no further stage begins.
    Run,
}

/// What one worker does.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    /// The job's name.
    pub(crate) name: String,
    pub(crate) place: Place,
    /// Which stage it belongs to: those of one stage run together, one stage after another.
    pub(crate) stage: usize,
    /// Those of one group are reported together.
    pub(crate) group: usize,
    pub(crate) spec: WorkloadSpec,
    /// Of several files, one request goes to each in turn.
    pub(crate) files: Vec<PathBuf>,
    /// The size of a file that has to be made.
    pub(crate) file_size: Option<Bytes>,
    /// How long it waits before it starts.
    pub(crate) delay: Nanoseconds,
    /// What ends with it.
    pub(crate) ends: Ends,
    /// Names of its logs of bandwidth, IOPS and latency; empty for none.
    pub(crate) logs: [String; 3],
    /// Its settings as they were given.
    pub(crate) given: Vec<(String, String)>,
}

/// Every setting that cannot be carried out, a line for each.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.0.join("\n"))]
pub(crate) struct JobErrors(pub(crate) Vec<String>);

/// The workers of all jobs.
///
/// # Errors
/// With every setting that is refused, and its line.
pub(crate) fn works(jobs: &[Job]) -> Result<Vec<Work>, JobErrors> {
    let (mut works, mut wrong) = (Vec::<Work>::new(), Vec::new());
    let (mut stage, mut group) = (0, 0);
    for job in jobs {
        let settings = Settings::of(job);
        wrong.extend(settings.refused());
        let waits = settings.is_on("stonewall") || settings.get("wait_for").is_some();
        if waits && works.last().is_some_and(|last| last.stage == stage) {
            stage += 1;
        }
        if works.last().is_some_and(|last| last.stage < stage)
            || settings.is_on("new_group")
            || !settings.is_on("group_reporting")
        {
            group += 1;
        }
        let made = settings.number("numjobs", 1, CLONES_MAX).and_then(|clones| {
            let of = |clone| settings.work(clone).map(|work| Work { stage, ..work });
            (0..clones).map(of).collect::<Result<Vec<_>, _>>()
        });
        match made {
            Ok(clones) => {
                for (number, work) in clones.into_iter().enumerate() {
                    group += usize::from(number > 0 && !settings.is_on("group_reporting"));
                    works.push(Work { group, ..work });
                }
            }
            Err(message) => wrong.push(message),
        }
    }
    let mut wrong = once(wrong.iter().map(|line| sanitize(line).chars().take(CHARACTERS_MAX).collect::<String>()));
    if wrong.len() > SHOWN_MAX {
        let more = wrong.split_off(SHOWN_MAX).len();
        wrong.push(format!("and {more} more"));
    }
    if wrong.is_empty() { Ok(works) } else { Err(JobErrors(wrong)) }
}

/// The settings of a job, each by its first name.
pub(super) struct Settings<'a> {
    job: &'a Job,
    by_name: BTreeMap<&'a str, &'a Setting>,
}

/// A key of the workload, the option it follows from, and its value.
type Given = (&'static str, &'static str, String);

/// How an operation is written by fio.
pub(super) struct Direction<'a> {
    is_random: bool,
    pub(super) kind: &'a str,
    /// Bytes between sequential requests; negative for backwards.
    gap: i64,
}

impl<'a> Settings<'a> {
    fn of(job: &'a Job) -> Self {
        let name = |set: &'a Setting| table::of(&set.name).map_or(set.name.as_str(), |(name, ..)| name);
        Settings { job, by_name: job.settings.iter().map(|set| (name(set), set)).collect() }
    }

    /// Why settings are refused.
    fn refused(&self) -> Vec<String> {
        let reason = |(name, set): (&&str, &&Setting)| {
            let is_off = matches!(set.value.as_str(), "0" | "none" | "false" | "off") || set.value == "inline";
            let message = match table::of(name) {
                None => "fio's manual or Halfpower's list has no such option".to_owned(),
                Some((.., How::Refused, what)) if !is_off => format!("it is refused: {what}"),
                Some(_) => return None,
            };
            Some(format!("{}: {}: {message}", set.place, set.name))
        };
        self.by_name.iter().filter_map(reason).collect()
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.by_name.get(name).map(|set| set.value.as_str()).filter(|value| !value.is_empty())
    }

    /// An option that is on or off; without a value it is on.
    fn is_on(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|set| !matches!(set.value.as_str(), "0" | "false"))
    }

    /// Words with the place of a setting before them.
    pub(super) fn wrong(&self, name: &str, message: &str) -> String {
        match self.by_name.get(name) {
            Some(set) => format!("{}: {}={}: {message}", set.place, set.name, set.value),
            None => format!("{}: job {}: {message}", self.job.place, self.job.name),
        }
    }

    fn number(&self, name: &str, default: u64, most: u64) -> Result<u64, String> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        number.ok_or_else(|| self.wrong(name, &format!("use 1 to {most}")))
    }

    pub(super) fn size(&self, text: &str, name: &str) -> Result<u64, String> {
        let base = if self.get("kb_base") == Some("1000") { 1000 } else { 1024 };
        bytes(text, base).ok_or_else(|| self.wrong(name, "it is no size, like 4k, 1g or 4096"))
    }

    fn sized(&self, name: &str) -> Result<Option<u64>, String> {
        self.get(name).map(|text| self.size(text, name)).transpose()
    }

    fn time(&self, name: &str) -> Result<Option<Nanoseconds>, String> {
        let time = |text| time(text).ok_or_else(|| self.wrong(name, "it is no time, like 30s or 2m"));
        self.get(name).map(time).transpose()
    }

    fn direction(&self) -> Result<Direction<'a>, String> {
        let text = self.get("rw").unwrap_or("read");
        let (text, number) = text.split_once(':').unwrap_or((text, ""));
        let (is_random, kind) = text.strip_prefix("rand").map_or((false, text), |kind| (true, kind));
        let kind = match kind {
            "read" | "write" | "trim" => kind,
            "trimwrite" => "trim_write",
            "rw" | "readwrite" => "mix",
            _ => return Err(self.wrong("rw", "use read, write, trim, rw, trimwrite, or these with rand before")),
        };
        let backwards = number.strip_prefix('-');
        let gap = match number {
            "" => 0,
            _ if is_random => return Err(self.wrong("rw", "runs of random requests are refused; leave the number out")),
            _ => self.size(backwards.unwrap_or(number), "rw")? as i64,
        };
        Ok(Direction { is_random, kind, gap: if backwards.is_some() { -gap } else { gap } })
    }

    /// The worker of a clone.
    fn work(&self, clone: u64) -> Result<Work, String> {
        let job = self.job;
        let direction = self.direction()?;
        let files = self.files(clone)?;
        let mut keys = self.requests(&direction, files.len())?;
        keys.extend(self.method()?);
        keys.extend(self.writes(&direction)?);
        if let Some((arrivals, from, rate)) = self.rate(&direction)? {
            keys.extend([("rate", from, rate), ("arrivals", "rate_process", arrivals.to_owned())]);
        }
        keys.extend(self.think()?);
        if let Some(average_ms) =
            self.get("log_avg_msec").and_then(|text| text.parse::<u64>().ok()).filter(|ms| *ms > 0)
        {
            keys.push(("interval", "log_avg_msec", format!("{}ms", average_ms.max(10))));
        }
        if let Some(cpus) = self.get("cpus_allowed") {
            keys.push(("cpus", "cpus_allowed", self.cpu(cpus, clone)?));
        }
        let mut spec = WorkloadSpec { workers: Some(1), ..WorkloadSpec::default() };
        for (key, from, value) in keys {
            let key = KEYS.iter().find(|one| one.name == key).expect("a key of the table");
            let read = key.read(&value).map_err(|error| self.wrong(from, &error))?;
            spec = spec.or(&read);
        }
        spec.duration = self.time("runtime")?;
        spec.warmup = self.time("ramp_time")?;
        let file_size = self.place(&mut spec, &files, clone)?;
        let number = |text: &str| text.parse().map_err(|_| self.wrong("number_ios", "it is no number"));
        spec.requests = self.get("number_ios").map(number).transpose()?;
        let seed = self.get("randseed").and_then(|seed| seed.parse().ok()).unwrap_or(1_u64);
        spec.seed = Some(seed.wrapping_mul(SEEDS).wrapping_add(clone));
        let delay = self.time("startdelay")?.unwrap_or_default();
        let log = |name: &str| match self.get(name) {
            Some("1") => job.name.clone(),
            Some(prefix) => prefix.to_owned(),
            None if self.is_on(name) => job.name.clone(),
            None => String::new(),
        };
        Ok(Work {
            name: job.name.clone(),
            place: job.place.clone(),
            stage: 0,
            group: 0,
            spec,
            files,
            file_size,
            delay,
            ends: match self.get("exit_what") {
                _ if !self.is_on("exitall") => Ends::Itself,
                Some("all") => Ends::Run,
                _ => Ends::Stage,
            },
            logs: ["write_bw_log", "write_iops_log", "write_lat_log"].map(log),
            given: self.by_name.iter().map(|(name, set)| ((*name).to_owned(), set.value.clone())).collect(),
        })
    }

    /// Kinds, places and sizes of the requests.
    fn requests(&self, direction: &Direction<'_>, files: usize) -> Result<Vec<Given>, String> {
        let sizes = self.sizes(direction)?;
        let smallest = sizes.iter().flatten().map(|(size, _)| *size).min().unwrap_or(4096);
        let size = match &sizes[..] {
            [one] if one.len() == 1 => ("request_size", "bs", format!("{smallest}B")),
            [read, write] => ("sizes", "bs", format!("read={},write={}", shares(read), shares(write))),
            several => ("sizes", "bs", shares(&several.concat())),
        };
        let align = self.sized("blockalign")?.filter(|_| direction.is_random);
        let mut keys = vec![
            ("operation", "rw", self.operation(direction)?),
            (
                "pattern",
                if direction.is_random { "random_distribution" } else { "rw" },
                self.pattern(direction, smallest)?,
            ),
            size,
        ];
        keys.extend(align.map(|align| ("align", "blockalign", format!("{align}B"))));
        if files > 1 {
            keys.push(("layout", "nrfiles", format!("stripe={smallest}B")));
        }
        Ok(keys)
    }

    /// Engine, depth, and use of the page cache.
    fn method(&self) -> Result<Vec<Given>, String> {
        let engine = self.engine()?;
        let is_queued = matches!(engine, "libaio" | "io_uring" | "nvme" | "sg" | "null" | "nbd");
        let depth = self.get("iodepth").filter(|_| is_queued).unwrap_or("1");
        let mut keys = vec![("personality", "ioengine", engine.to_owned()), ("depth", "iodepth", depth.to_owned())];
        for (key, from) in [("submit_batch", "iodepth_batch"), ("wait_batch", "iodepth_batch_complete_min")] {
            let value = self.get(from).filter(|value| is_queued && *value != "0");
            keys.extend(value.map(|value| (key, from, value.to_owned())));
        }
        let ring = [("hipri", "iopoll"), ("sqthread_poll", "sqpoll")].into_iter().filter(|(name, _)| self.is_on(name));
        let ring: Vec<&str> = ring.map(|(_, word)| word).collect();
        if engine == "io_uring" && !ring.is_empty() {
            keys.push(("ring", "ioengine", ring.join(",")));
        }
        let flags = [("hipri", "hipri"), ("nowait", "nowait"), ("uncached", "dontcache")];
        let mut flags: Vec<(&str, &str)> = flags.into_iter().filter(|(name, _)| self.is_on(name)).collect();
        if engine == "vectored" && !flags.is_empty() {
            let words: Vec<&str> = flags.iter().map(|(_, word)| *word).collect();
            keys.push(("rw_flags", flags[0].0, words.join(",")));
        } else if let Some((name, _)) = flags.pop().filter(|(name, _)| *name != "hipri") {
            return Err(self.wrong(name, "only pvsync2 has such requests; use ioengine=pvsync2"));
        }
        if engine == "nbd" {
            // This host has no page cache of a server's volume.
            return Ok(keys);
        }
        let is_direct = self.is_on("direct") || self.get("buffered") == Some("0");
        let is_through = self.get("sync").is_some_and(|sync| !matches!(sync, "0" | "none"));
        let buffering = Buffering::of(is_direct, is_through).word();
        let cache = match self.is_on("pre_read") {
            true => "warm",
            false if !is_direct && self.get("invalidate") != Some("0") => "cold",
            false => "keep",
        };
        keys.extend([("buffering", "direct", buffering.to_owned()), ("cache", "invalidate", cache.to_owned())]);
        Ok(keys)
    }

    /// Flushes, contents and verification of writes.
    fn writes(&self, direction: &Direction<'_>) -> Result<Vec<Given>, String> {
        let mut keys = Vec::new();
        let every = |name: &'static str| self.get(name).filter(|every| *every != "0").map(|every| (name, every));
        if direction.kind != "read" {
            if let Some((name, every)) = every("fsync").or_else(|| every("fdatasync")) {
                keys.push(("durability", name, format!("{name}={every}")));
            } else if self.is_on("end_fsync") || self.is_on("fsync_on_close") {
                keys.push(("durability", "end_fsync", "flush_at_end".to_owned()));
            }
            keys.extend(self.data().map(|(from, data)| ("data", from, data)));
        }
        if self.get("verify").is_some_and(|verify| !matches!(verify, "0" | "none" | "null")) {
            let verify = match direction.kind {
                "write" if self.get("do_verify") != Some("0") => "read_back",
                "write" | "mix" => "stamp",
                _ => {
                    let message = "what fio wrote is not checked; write and check in one job, or use io with --verify";
                    return Err(self.wrong("verify", message));
                }
            };
            keys.push(("verify", "verify", verify.to_owned()));
        }
        Ok(keys)
    }

    /// Span, offset and bytes of the workload; the size of a file that has to be made.
    fn place(&self, spec: &mut WorkloadSpec, files: &[PathBuf], clone: u64) -> Result<Option<Bytes>, String> {
        let count = files.len() as u64;
        // No server is asked before anything runs.
        let size_of = |file: &PathBuf| {
            let file = Some(file).filter(|file| !is_remote(file))?;
            Some(Target::open(file, Access::Read).ok()?.facts().size_bytes.0)
        };
        let there: Option<u64> = files.iter().map(size_of).sum();
        let of_file = |name: &str| match self.get(name) {
            Some(text) if text.ends_with('%') => {
                let percent: u64 =
                    text.trim_end_matches('%').parse().map_err(|_| self.wrong(name, "it is no percentage"))?;
                let Some(there) = there else {
                    return match files.iter().all(|file| is_device(file)) {
                        true => Ok(None),
                        false => Err(self.wrong(name, "a percentage needs a file that exists; give a size")),
                    };
                };
                Ok(Some((u128::from(there) * u128::from(percent) / 100) as u64))
            }
            _ => self.sized(name),
        };
        let (given, each) = (of_file("size")?, self.sized("filesize")?.map(|size| size.saturating_mul(count)));
        let step = of_file("offset_increment")?.unwrap_or_default().saturating_mul(clone);
        let offset = of_file("offset")?.unwrap_or_default().saturating_add(step);
        if offset > 0 && count > 1 {
            return Err(self.wrong("offset", "several files form one volume, which begins at 0"));
        }
        let all = match (given.or(each), there) {
            (Some(size), _) => size,
            (None, Some(there)) => there.saturating_sub(offset),
            // It may be there later, and is not made.
            (None, None) if files.iter().all(|file| is_device(file)) => return Ok(None),
            (None, None) => return Err(self.wrong("size", "a file that has to be made needs size or filesize")),
        };
        let span = match there.filter(|_| given.is_none()) {
            Some(there) => there,
            None => each.unwrap_or(0).max(offset.saturating_add(all)),
        };
        spec.size = Some(Bytes(span));
        spec.offset = (offset > 0).then_some(Bytes(offset));
        if !(self.is_on("time_based") && spec.duration.is_some()) {
            let loops = self.number("loops", 1, 1 << 20)?;
            let once = self.sized("io_size")?.unwrap_or(span.saturating_sub(offset));
            // Each byte is trimmed and written.
            let times = if spec.operation == Some(Operation::TrimWrite) { 2 } else { 1 };
            spec.bytes = Some(Bytes(once.saturating_mul(loops).saturating_mul(times)));
        }
        Ok(Some(Bytes(span.div_ceil(count))).filter(|_| !files.iter().any(|file| is_device(file))))
    }

    /// The files of a clone.
    fn files(&self, clone: u64) -> Result<Vec<PathBuf>, String> {
        let list = |text: &str| -> Vec<String> {
            text.replace("\\:", "\0").split(':').map(|name| name.replace('\0', ":")).collect()
        };
        if self.get("ioengine") == Some("nbd") {
            let uri = self.get("uri").map(PathBuf::from).filter(|uri| is_remote(uri));
            let missing = "nbd needs uri, like uri=nbd://HOST/EXPORT";
            return uri.map(|uri| vec![uri]).ok_or_else(|| self.wrong("uri", missing));
        }
        let folders = self.get("directory").map_or_else(|| vec![String::new()], list);
        let folder = PathBuf::from(&folders[(clone % folders.len() as u64) as usize]);
        if let Some(names) = self.get("filename") {
            // Our commands go to the disk of such a character device.
            let own =
                |name: &String| name.strip_prefix("/dev/ng").map_or(name.clone(), |disk| format!("/dev/nvme{disk}"));
            let names = list(names);
            if names.len() as u64 > FILES_MAX {
                return Err(self.wrong("filename", &format!("use up to {FILES_MAX} files")));
            }
            return Ok(names.iter().map(|name| folder.join(own(name))).collect());
        }
        let format = self.get("filename_format").unwrap_or("$jobname.$jobnum.$filenum");
        let name = |number: u64| {
            let name = format.replace("$jobname", &self.job.name).replace("$jobnum", &clone.to_string());
            folder.join(name.replace("$filenum", &number.to_string()).replace('/', "_"))
        };
        Ok((0..self.number("nrfiles", 1, FILES_MAX)?).map(name).collect())
    }

    fn operation(&self, direction: &Direction<'_>) -> Result<String, String> {
        if direction.kind != "mix" {
            return Ok(direction.kind.to_owned());
        }
        let reads = match (self.get("rwmixread"), self.get("rwmixwrite")) {
            (Some(reads), _) => reads.parse().ok(),
            (None, Some(writes)) => writes.parse().ok().and_then(|writes| 100_u8.checked_sub(writes)),
            (None, None) => Some(50),
        };
        Ok(match reads {
            Some(100) => "read".to_owned(),
            Some(0) => "write".to_owned(),
            Some(reads) if reads < 100 => format!("mix={reads}"),
            _ => return Err(self.wrong("rwmixread", "use 0 to 100")),
        })
    }

    fn pattern(&self, direction: &Direction<'_>, request_size: u64) -> Result<String, String> {
        if let Some(zones) = self.zones(direction)? {
            return Ok(zones);
        }
        if !direction.is_random {
            return match direction.gap {
                0 => Ok("sequential".to_owned()),
                gap if gap > 0 => Ok(format!("strided={}B", request_size.saturating_add_signed(gap))),
                // fio counts the gap from the request's end.
                gap if gap.unsigned_abs() == request_size || gap.unsigned_abs() == 2 * request_size => {
                    Ok("reverse".to_owned())
                }
                _ => Err(self.wrong("rw", "backwards goes by one request; use its size")),
            };
        }
        let (law, number) =
            self.get("random_distribution").and_then(|text| text.split_once(':')).unwrap_or(("random", ""));
        match law {
            // Every place once, unless sizes differ.
            "random" if self.is_on("norandommap") || self.has_several_sizes() => Ok("random".to_owned()),
            "random" => Ok("shuffled".to_owned()),
            "zipf" | "pareto" | "zoned" => Ok(format!("{law}={number}")),
            "normal" => {
                let percent: Option<f64> = number.parse().ok();
                percent
                    .map(|percent| format!("normal={}", percent / 100.0))
                    .ok_or_else(|| self.wrong("random_distribution", "use normal:PERCENT"))
            }
            _ => Err(self.wrong("random_distribution", "use random, zipf, pareto, normal or zoned")),
        }
    }

    /// The pattern of `zonemode=strided`, which zonesize alone means too; none without zones.
    fn zones(&self, direction: &Direction<'_>) -> Result<Option<String>, String> {
        match self.get("zonemode").or(self.get("zonesize").map(|_| "strided")) {
            None | Some("none") => return Ok(None),
            Some("strided") if direction.is_random || direction.gap != 0 => {
                return Err(self.wrong("zonemode", "zones are for rw=read, write, trim and rw without a number"));
            }
            Some("strided") => {}
            Some(_) => return Err(self.wrong("zonemode", "zones of the device itself are not used; use strided")),
        }
        let length = self.sized("zonesize")?.ok_or_else(|| self.wrong("zonemode", "it needs zonesize"))?;
        if self.sized("zonerange")?.is_some_and(|range| range != length) {
            return Err(self.wrong("zonerange", "a zone is read once and whole; leave it out"));
        }
        let gap = self.sized("zoneskip")?.filter(|gap| *gap > 0);
        Ok(gap.map(|gap| format!("runs={length}B/{gap}B")))
    }

    fn engine(&self) -> Result<&'static str, String> {
        Ok(match self.get("ioengine").unwrap_or("psync") {
            "psync" | "sync" | "pvsync" | "vsync" => "sync",
            "pvsync2" => "vectored",
            "mmap" => "mmap",
            "libaio" | "posixaio" => "libaio",
            "io_uring" => "io_uring",
            "io_uring_cmd" if self.get("cmd_type").is_none_or(|kind| kind == "nvme") => "nvme",
            "sg" => "sg",
            "null" => "null",
            "nbd" => "nbd",
            _ => {
                return Err(self.wrong(
                    "ioengine",
                    "use psync, sync, vsync, pvsync, pvsync2, libaio, posixaio, io_uring, io_uring_cmd, mmap, sg, nbd or null",
                ));
            }
        })
    }

    fn data(&self) -> Option<(&'static str, String)> {
        if self.is_on("zero_buffers") {
            return Some(("zero_buffers", "zeros".to_owned()));
        }
        let of = |name: &'static str, text: fn(&str) -> String| self.get(name).map(|value| (name, text(value)));
        of("buffer_pattern", |value| format!("pattern={}", value.trim_start_matches("0x").trim_matches('"')))
            .or_else(|| of("buffer_compress_percentage", |value| format!("compressible={value}")))
            .or_else(|| of("dedupe_percentage", |value| format!("duplicate={value}")))
    }

    /// How requests arrive, the option that says so, and the rate.
    fn rate(&self, direction: &Direction<'_>) -> Result<Option<(&'static str, &'static str, String)>, String> {
        let Some(name) = ["rate", "rate_iops"].into_iter().find(|name| self.get(name).is_some()) else {
            return Ok(None);
        };
        let parts: Vec<&str> = self.get(name).unwrap_or_default().split(',').collect();
        let of = |kind: usize| match parts.get(kind).or(parts.first()) {
            Some(text) if !text.is_empty() => self.size(text, name),
            _ => Ok(0),
        };
        let rate = match direction.kind {
            "read" => of(0)?,
            "write" => of(1)?,
            "trim" => of(2)?,
            _ if of(0)? == of(1)? && self.get("rwmixread").is_none_or(|reads| reads == "50") => of(0)? * 2,
            _ => return Err(self.wrong(name, "reads and writes have one rate together; use one rate and rwmixread=50")),
        };
        let arrivals = match (self.get("rate_process"), self.get("io_submit_mode")) {
            (Some("poisson"), _) => "poisson",
            (_, Some("offload")) => "constant",
            _ => "closed",
        };
        let unit = if name == "rate" { "B/s" } else { "/s" };
        Ok((rate > 0).then(|| (arrivals, name, format!("{rate}{unit}"))))
    }

    /// Pauses; a number alone is microseconds.
    fn think(&self) -> Result<Option<Given>, String> {
        let Some(text) = self.get("thinktime").filter(|text| *text != "0") else { return Ok(None) };
        if let Some(rate) = ["rate", "rate_iops"].into_iter().find(|name| self.get(name).is_some()) {
            return Err(self.wrong("thinktime", &format!("it does not go with {rate}; leave one out")));
        }
        self.number("thinktime_blocks", 1, u64::from(u32::MAX))?;
        let think = think(text, self.get("thinktime_blocks"));
        let think = think.ok_or_else(|| self.wrong("thinktime", "it is no time, like 500 or 2ms"))?;
        Ok(Some(("think", "thinktime", think.to_string())))
    }

    /// The CPU of a clone.
    fn cpu(&self, cpus: &str, clone: u64) -> Result<String, String> {
        let list: halfpower_model::workload::CpuList =
            cpus.parse().map_err(|error: String| self.wrong("cpus_allowed", &error))?;
        let cpu = list.0.get(clone as usize % list.0.len().max(1));
        cpu.map(u32::to_string).ok_or_else(|| self.wrong("cpus_allowed", "it names no CPU"))
    }
}

/// Whether a path is that of a device or a server's volume, which is never made.
fn is_device(path: &Path) -> bool {
    path.starts_with("/dev") && !path.starts_with("/dev/shm") || is_remote(path)
}

/// `4096B:70/65536B:30`.
fn shares(sizes: &[(u64, u64)]) -> String {
    sizes.iter().map(|(size, share)| format!("{size}B:{share}")).collect::<Vec<_>>().join("/")
}
