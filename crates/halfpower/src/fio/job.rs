//! Jobs of fio's as workloads: a worker with its own stream for each clone of a job.

use super::job_file::{Job, Place, Setting};
use super::table::{self, How};
use super::units::{bytes, is_on, time};
use crate::sanitize::sanitize;
use crate::text::once;
use halfpower_engine::{Access, Target, is_remote};
use halfpower_model::{Bytes, Nanoseconds, Operation, WorkloadSpec};
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

/// How a file is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Made {
    /// It has its length, and no blocks.
    Sparse,
    /// Its blocks hold no data.
    Allocated,
    Filled,
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
    /// fio's `groupid`: another one after `stonewall` and `new_group`.
    pub(crate) number: usize,
    pub(crate) spec: WorkloadSpec,
    /// Of several files, one request goes to each in turn.
    pub(crate) files: Vec<PathBuf>,
    /// The size of a file that has to be made.
    pub(crate) file_size: Option<Bytes>,
    /// Its contents before the first request.
    pub(crate) made: Made,
    /// How long it waits before it starts.
    pub(crate) delay: Nanoseconds,
    /// What ends with it.
    pub(crate) ends: Ends,
    /// Its number among all workers, from 1.
    pub(crate) thread: usize,
    /// Beginnings of the names of its logs of bandwidth, IOPS and latency; empty for none.
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
    let (mut stage, mut group, mut number, mut planned) = (0, 0, 0, Planned::new());
    for job in jobs {
        let settings = Settings::of(job);
        wrong.extend(settings.refused());
        if let Some(waited) = settings.get("wait_for")
            && works.iter().all(|work| work.name != waited)
        {
            wrong.push(settings.wrong("wait_for", "there is no such job before it"));
        }
        let waits = settings.is_on("stonewall") || settings.get("wait_for").is_some();
        if waits && works.last().is_some_and(|last| last.stage == stage) {
            stage += 1;
        }
        if works.last().is_some_and(|last| last.stage < stage || settings.is_on("new_group")) {
            number += 1;
        }
        if works.last().is_some_and(|last| last.stage < stage)
            || settings.is_on("new_group")
            || !settings.is_on("group_reporting")
        {
            group += 1;
        }
        let made = settings.number("numjobs", 1, CLONES_MAX).and_then(|clones| {
            let of = |clone| settings.work(clone, &planned).map(|work| Work { stage, ..work });
            (0..clones).map(of).collect::<Result<Vec<_>, _>>()
        });
        match made {
            Ok(clones) => {
                for (clone, work) in clones.into_iter().enumerate() {
                    let sizes = work.files.iter().zip(std::iter::repeat(work.file_size));
                    planned.extend(sizes.filter_map(|(file, size)| Some((file.clone(), size?.0))));
                    group += usize::from(clone > 0 && !settings.is_on("group_reporting"));
                    works.push(Work { group, number, thread: works.len() + 1, ..work });
                }
            }
            Err(message) => wrong.push(message),
        }
    }
    // What ends with one job of a stage that has `exitall` ends with each.
    for stage in works.chunk_by_mut(|one, next| one.stage == next.stage) {
        let ends = stage.iter().map(|work| work.ends).max().unwrap_or(Ends::Itself);
        stage.iter_mut().for_each(|work| work.ends = ends);
    }
    let mut wrong = once(wrong.iter().map(|line| sanitize(line).chars().take(CHARACTERS_MAX).collect::<String>()));
    if wrong.len() > SHOWN_MAX {
        let more = wrong.split_off(SHOWN_MAX).len();
        wrong.push(format!("and {more} more"));
    }
    if wrong.is_empty() { Ok(works) } else { Err(JobErrors(wrong)) }
}

/// The settings of a job, each by its first name.
pub(crate) struct Settings<'a> {
    job: &'a Job,
    by_name: BTreeMap<&'a str, &'a Setting>,
}

/// Sizes of files that jobs make.
type Planned = BTreeMap<PathBuf, u64>;

/// How an operation is written by fio.
pub(super) struct Direction<'a> {
    pub(super) is_random: bool,
    pub(super) kind: &'a str,
    /// Bytes between sequential requests; negative for backwards.
    pub(super) gap: i64,
}

impl<'a> Settings<'a> {
    pub(crate) fn of(job: &'a Job) -> Self {
        let name = |set: &'a Setting| table::of(&set.name).map_or(set.name.as_str(), |(name, ..)| name);
        Settings { job, by_name: job.settings.iter().map(|set| (name(set), set)).collect() }
    }

    /// Why settings are refused.
    fn refused(&self) -> Vec<String> {
        let reason = |(name, set): (&&str, &&Setting)| {
            let is_off = matches!(set.value.as_str(), "0" | "none" | "false" | "off") || set.value == "inline";
            let message = match table::of(name) {
                None => {
                    "it is no option of fio's that Halfpower knows; leave it out if the job means the same without it"
                        .to_owned()
                }
                Some((.., How::Refused, what)) if !is_off => format!("it is refused: {what}"),
                Some(_) => match table::values(name).filter(|known| !known.contains(&set.value.as_str())) {
                    Some(known) => format!("`{}` is not one of its values: {}", set.value, known[1..].join(", ")),
                    None => return None,
                },
            };
            Some(format!("{}: {}: {message}", set.place, set.name))
        };
        self.by_name.iter().filter_map(reason).collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.by_name.get(name).map(|set| set.value.as_str()).filter(|value| !value.is_empty())
    }

    /// An option that is on or off; without a value it is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|set| is_on(&set.value))
    }

    /// The last of options that set the same, and its value.
    pub(crate) fn last(&self, names: &[&'static str]) -> Option<(&'static str, &'a str)> {
        let of = |set: &'a Setting| Some((*names.iter().find(|name| **name == set.name)?, set.value.as_str()));
        self.job.settings.iter().rev().find_map(of)
    }

    /// Words with the place of a setting before them.
    pub(super) fn wrong(&self, name: &str, message: &str) -> String {
        match self.by_name.get(name) {
            Some(set) => format!("{}: {}={}: {message}", set.place, set.name, set.value),
            None => format!("{}: job {}: {message}", self.job.place, self.job.name),
        }
    }

    pub(super) fn number(&self, name: &str, default: u64, most: u64) -> Result<u64, String> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        number.ok_or_else(|| self.wrong(name, &format!("use 1 to {most}")))
    }

    pub(super) fn size(&self, text: &str, name: &str) -> Result<u64, String> {
        let base = if self.get("kb_base") == Some("1000") { 1000 } else { 1024 };
        let wrong =
            if text.contains('-') { "a range is refused; give one size" } else { "it is no size, like 4k, 1g or 4096" };
        bytes(text, base).ok_or_else(|| self.wrong(name, wrong))
    }

    pub(super) fn sized(&self, name: &str) -> Result<Option<u64>, String> {
        self.get(name).map(|text| self.size(text, name)).transpose()
    }

    pub(super) fn time(&self, name: &str) -> Result<Option<Nanoseconds>, String> {
        let time = |text: &str| {
            let wrong =
                if text.contains('-') { "a range is refused; give one time" } else { "it is no time, like 30s or 2m" };
            time(text).ok_or_else(|| self.wrong(name, wrong))
        };
        self.get(name).map(time).transpose()
    }

    pub(super) fn direction(&self) -> Result<Direction<'a>, String> {
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
    fn work(&self, clone: u64, planned: &Planned) -> Result<Work, String> {
        let job = self.job;
        let files = self.files(clone)?;
        let mut spec = self.spec(files.len(), clone)?;
        let file_size = self.place(&mut spec, &files, clone, planned)?;
        let seed = |text: &str| text.parse().map_err(|_| self.wrong("randseed", "it is no whole number"));
        let seed: u64 = self.get("randseed").map_or(Ok(1), seed)?;
        spec.seed = Some(seed.wrapping_mul(SEEDS).wrapping_add(clone));
        let delay = self.time("startdelay")?.unwrap_or_default();
        let writes_only = spec.operation.is_some_and(|operation| operation.writes() && !operation.reads());
        let made = match self.get("fallocate") {
            None | Some("1" | "native" | "posix") => Made::Allocated,
            Some("0" | "none" | "keep" | "truncate") => Made::Sparse,
            Some(_) => return Err(self.wrong("fallocate", "use native, posix, keep, truncate or none")),
        };
        let made = if !writes_only || self.is_on("overwrite") { Made::Filled } else { made };
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
            number: 0,
            thread: 0,
            spec,
            files,
            file_size,
            made,
            delay,
            ends: match self.get("exit_what") {
                _ if !self.is_on("exitall") => Ends::Itself,
                Some("all") => Ends::Run,
                _ => Ends::Stage,
            },
            logs: ["write_bw_log", "write_iops_log", "write_lat_log"].map(log),
            given: given(&job.settings[job.global..]),
        })
    }

    fn is_percent(&self, name: &str) -> bool {
        self.get(name).is_some_and(|text| text.ends_with('%'))
    }

    /// An amount, or a percentage of another; none if that is not known.
    fn amount(&self, name: &str, of: Option<u64>) -> Result<Option<u64>, String> {
        let Some(percent) = self.get(name).and_then(|text| text.strip_suffix('%')) else { return self.sized(name) };
        let percent: u64 = percent.trim().parse().map_err(|_| self.wrong(name, "it is no percentage"))?;
        Ok(of.map(|of| (u128::from(of) * u128::from(percent) / 100) as u64))
    }

    /// Span, offset and bytes of the workload; the size of each file that has to be made. `planned` has the sizes of files that
    /// jobs before it make.
    fn place(
        &self,
        spec: &mut WorkloadSpec,
        files: &[PathBuf],
        clone: u64,
        planned: &Planned,
    ) -> Result<Option<Bytes>, String> {
        let count = files.len() as u64;
        // No server is asked before anything runs.
        let size_of = |file: &PathBuf| match planned.get(file) {
            Some(size) => Some(*size),
            None if is_remote(file) => None,
            None => Some(Target::open(file, Access::Read).ok()?.facts().size_bytes.0),
        };
        let there: Option<u64> = files.iter().map(size_of).sum();
        let are_devices = files.iter().all(|file| is_device(file));
        let each = self.sized("filesize")?.map(|size| size.saturating_mul(count));
        let size = self.amount("size", each.or(there))?;
        let Some(whole) = each.or(size).or(there) else {
            return match self.get("size") {
                // It may be there later, and is not made.
                _ if are_devices => Ok(None),
                Some(_) => Err(self.wrong("size", "a percentage needs a file that exists; give a size")),
                None => Err(self.wrong("size", "a file that has to be made needs size or filesize")),
            };
        };
        let direction = self.direction()?;
        let block = self.smallest(&direction)?;
        let offset = self.amount("offset", there.or(Some(whole)))?.unwrap_or_default();
        let unit = if self.is_percent("offset") { block } else { 1 };
        let offset = offset.checked_next_multiple_of(unit).unwrap_or(u64::MAX);
        let step = self.amount("offset_increment", there.or(Some(whole)))?.unwrap_or_default().saturating_mul(clone);
        let offset = offset.saturating_add(step);
        if offset > 0 && count > 1 {
            return Err(self.wrong("offset", "several files form one volume, which begins at 0"));
        }
        let span = match (each, size, there) {
            (Some(each), ..) => each,
            // A percentage is of the file.
            (None, Some(size), Some(there)) if self.is_percent("size") => there.min(offset.saturating_add(size)),
            // Each file has as much, in whole requests.
            (None, Some(size), _) if count > 1 => size / count / block * block * count,
            (None, Some(size), _) => offset.saturating_add(size),
            (None, None, _) => whole,
        };
        if span < block {
            return Err(self.wrong("size", "it is smaller than one block (bs)"));
        }
        if offset >= span {
            return Err(self.wrong(
                if self.get("offset").is_some() { "offset" } else { "offset_increment" },
                "it is beyond the end",
            ));
        }
        spec.size = Some(Bytes(span));
        spec.offset = (offset > 0).then_some(Bytes(offset));
        if !(self.is_on("time_based") && spec.duration.is_some()) {
            let region = span.saturating_sub(offset);
            let pass = size.unwrap_or(region).min(region);
            // A rest that is shorter than a block is not moved.
            let whole = |bytes: u64| if spec.request_size.is_some() { bytes / block * block } else { bytes };
            let bytes = self.amount("io_size", Some(region))?.map(|bytes| bytes.saturating_add(block - 1));
            // With gaps it ends with a request that ends where the file does, and otherwise begins again.
            let step = u64::try_from(direction.gap).unwrap_or(0).saturating_add(block);
            let steps = pass.saturating_sub(block) / step;
            let is_over = pass == region && steps * step + block == pass;
            let visited = if is_over { (steps + 1) * block } else { pass };
            let once = whole(bytes.unwrap_or(visited));
            // Each byte is trimmed and written.
            let times = if spec.operation == Some(Operation::TrimWrite) { 2 } else { 1 };
            spec.bytes = Some(Bytes(once.saturating_mul(self.loops()? * times)));
        }
        Ok(Some(Bytes(span.div_ceil(count).checked_next_multiple_of(block).unwrap_or(u64::MAX)))
            .filter(|_| !are_devices))
    }

    /// How many times it runs.
    pub(super) fn loops(&self) -> Result<u64, String> {
        if self.get("loops") == Some("0") { Ok(1) } else { self.number("loops", 1, 1 << 20) }
    }

    /// The files of a clone.
    fn files(&self, clone: u64) -> Result<Vec<PathBuf>, String> {
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
}

/// Settings by their names.
pub(crate) fn given(settings: &[Setting]) -> Vec<(String, String)> {
    settings.iter().map(|set| (set.name.clone(), set.value.clone())).collect()
}

/// Names joined by colons; a colon in a name is escaped.
pub(crate) fn list(text: &str) -> Vec<String> {
    text.replace("\\:", "\0").split(':').map(|name| name.replace('\0', ":")).collect()
}

/// Whether a path is that of a device or a server's volume, which is never made.
fn is_device(path: &Path) -> bool {
    path.starts_with("/dev") && !path.starts_with("/dev/shm") || is_remote(path)
}
