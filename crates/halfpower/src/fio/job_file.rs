//! fio's job files and command lines: jobs with their settings, each with the place it was read from.
//!
//! Sections begin with `[name]`; those called `global` set defaults for the jobs after them. Comments begin with `#` or `;`.
//! `include FILE` reads another file in its place. `${NAME}` is a variable of the environment.

use super::table;
use crate::input::{Times, read_text};
use crate::text::{UsageError, refuse};
use anyhow::Context as _;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files that include one another.
const DEPTH_MAX: usize = 16;
/// Maximum number of jobs.
const JOBS_MAX: usize = 1024;

/// Where a setting stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a line of a file.
    Line(Arc<Path>, usize),
    /// On the command line.
    CommandLine,
}

/// What `-` means.
const STANDARD_INPUT: &str = "/dev/stdin";

/// Longest line of a job file, in bytes.
const LINE_MAX: usize = 8192;

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(file, line) => write!(f, "{}:{line}", file.display()),
            Place::CommandLine => f.write_str("command line"),
        }
    }
}

/// An option with its value, which is empty if none was given.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) place: Place,
}

/// A job: the global settings before it and its own; of two with one name the later one counts.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) settings: Vec<Setting>,
    /// How many of them are global ones.
    pub(crate) global: usize,
}

/// What fio's command line asks for besides jobs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) jobs: Vec<Job>,
    /// `--output-format` and its short forms; empty for ours.
    pub(crate) formats: Vec<String>,
    pub(crate) output: Option<PathBuf>,
    /// Whether nothing is to be run.
    pub(crate) parse_only: bool,
    /// Whether nothing is to be written, files that are made included.
    pub(crate) read_only: bool,
    /// Whether the version is all that is asked for.
    pub(crate) version: bool,
}

/// Options of fio's command line that change nothing here: those with a value, and those without.
const WITHOUT_EFFECT: ([&str; 8], [&str; 2]) = (
    ["eta", "eta-newline", "eta-interval", "max-jobs", "alloc-size", "status-interval", "trigger-timeout", "debug"],
    ["bandwidth-log", "warnings-fatal"],
);

/// Reads fio's command line: job files, or jobs that begin with `--name`.
///
/// # Errors
/// If a file cannot be read or is no job file, with the line.
pub(crate) fn read_command_line(words: &[String]) -> anyhow::Result<Request> {
    let (mut request, mut files, mut sections) = (Request::default(), Vec::new(), Vec::new());
    let mut reader = Reader::default();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        // fio takes one dash as well.
        let Some(option) = word.strip_prefix("--").or_else(|| word.strip_prefix('-').filter(|rest| rest.len() > 1))
        else {
            files.push(PathBuf::from(if word == "-" { STANDARD_INPUT } else { word }));
            continue;
        };
        let (name, given) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        let mut value = || {
            let next = given.map(str::to_owned).or_else(|| words.next_if(|word| !word.starts_with('-')).cloned());
            next.ok_or_else(|| UsageError(format!("--{name} needs a value, like --{name}=VALUE")))
        };
        match name {
            "section" => sections.push(value()?),
            "output" => request.output = Some(value()?.into()),
            "output-format" => request.formats = value()?.split(',').map(str::to_owned).collect(),
            "minimal" => request.formats = vec!["terse".to_owned()],
            "append-terse" => request.formats.push("terse".to_owned()),
            "terse-version" => match value()?.as_str() {
                "3" => {}
                other => refuse!("--terse-version={other} is not written; use 3"),
            },
            "parse-only" => request.parse_only = true,
            "version" | "v" => request.version = true,
            "readonly" => request.read_only = true,
            "showcmd" => refuse!("--showcmd does not exist; --parse-only shows what the jobs come to"),
            "help" | "cmdhelp" | "enghelp" | "crctest" => {
                refuse!("--{name} does not exist; docs/FIO.md has fio's options")
            }
            "client" | "server" | "remote-config" => {
                refuse!("--{name} does not exist; for several hosts use mpirun, see halfpower mpi --help")
            }
            "name" => reader.begin(&value()?, Place::CommandLine)?,
            _ if WITHOUT_EFFECT.1.contains(&name) => {}
            _ if WITHOUT_EFFECT.0.contains(&name) => drop(value()?),
            _ if given.is_none() && table::is_flag(name) => reader.set(name, "", Place::CommandLine),
            // Named with the others that are refused, where there is a job.
            _ if table::of(name).is_none() && !reader.jobs.is_empty() => {
                reader.set(name, &value().unwrap_or_default(), Place::CommandLine);
            }
            _ if table::of(name).is_none() => {
                refuse!(
                    "--{name} is no option of fio's that Halfpower knows; leave it out if the jobs mean the same without it"
                )
            }
            _ => reader.set(name, &value()?, Place::CommandLine),
        }
    }
    if !files.is_empty() && reader.jobs.iter().any(|job| job.place == Place::CommandLine) {
        refuse!("name job files, or give jobs with --name, not both");
    }
    let given = reader.global.clone();
    for file in files {
        // The global settings of a file are its own.
        (reader.own, reader.global) = (None, given.clone());
        let before = reader.jobs.len();
        reader.read_file(&file, 0)?;
        if reader.jobs.len() == before {
            refuse!("{}: it has no job; a job begins with a section, like [name]", file.display());
        }
        // A file waits for the one before it.
        if let Some(first) = reader.jobs.get_mut(before).filter(|_| before > 0) {
            let (name, place) = ("stonewall".to_owned(), first.place.clone());
            first.settings.push(Setting { name, value: String::new(), place });
        }
    }
    request.jobs = reader.jobs;
    if !sections.is_empty() {
        if let Some(missing) = sections.iter().find(|name| request.jobs.iter().all(|job| job.name != **name)) {
            refuse!("there is no job `{missing}`");
        }
        request.jobs.retain(|job| sections.contains(&job.name));
    }
    let is_write = |set: &Setting| {
        table::of(&set.name).is_some_and(|(name, ..)| *name == "rw")
            && !matches!(set.value.as_str(), "read" | "randread")
    };
    if let Some(set) = request.jobs.iter().flat_map(|job| &job.settings).find(|set| request.read_only && is_write(set))
    {
        refuse!("{}: {}={} writes, and --readonly forbids it", set.place, set.name, set.value);
    }
    if request.jobs.is_empty() && !request.version {
        refuse!("there is no job; name a job file, or give a job, like --name=job --rw=randread --size=1g");
    }
    Ok(request)
}

/// Reads sections and settings.
#[derive(Default)]
struct Reader {
    global: Vec<Setting>,
    jobs: Vec<Job>,
    /// The job that settings belong to; none for the global ones.
    own: Option<usize>,
}

impl Reader {
    /// Begins a section.
    fn begin(&mut self, name: &str, place: Place) -> Result<(), UsageError> {
        if name == "global" {
            self.own = None;
            return Ok(());
        }
        if self.jobs.len() == JOBS_MAX {
            refuse!("{place}: more than {JOBS_MAX} jobs are too many; leave some out with --section");
        }
        self.own = Some(self.jobs.len());
        let (settings, global) = (self.global.clone(), self.global.len());
        self.jobs.push(Job { name: name.to_owned(), place, settings, global });
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str, place: Place) {
        let setting = Setting { name: name.to_owned(), value: value.to_owned(), place };
        match self.own {
            Some(job) => self.jobs[job].settings.push(setting),
            None => self.global.push(setting),
        }
    }

    fn read_file(&mut self, path: &Path, depth: usize) -> anyhow::Result<()> {
        let times = if path == Path::new(STANDARD_INPUT) { Times::Once } else { Times::Several };
        let text = read_text(path, times).with_context(|| format!("cannot read {}", path.display()))?;
        self.read(&text, &Arc::from(path), depth)
    }

    fn read(&mut self, text: &str, file: &Arc<Path>, depth: usize) -> anyhow::Result<()> {
        for (number, line) in text.lines().enumerate() {
            let place = Place::Line(Arc::clone(file), number + 1);
            if line.len() > LINE_MAX {
                refuse!("{place}: the line has {} bytes; it may have {LINE_MAX}", line.len());
            }
            let line = line.split(['#', ';']).next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            if let Some(name) = line.strip_prefix('[') {
                let Some(name) = name.strip_suffix(']') else { refuse!("{place}: `{line}` has no `]`") };
                self.begin(name.trim(), place)?;
                continue;
            }
            if let Some(name) = line.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t'])) {
                if depth == DEPTH_MAX {
                    refuse!("{place}: more than {DEPTH_MAX} files include one another");
                }
                let folder = file.parent().unwrap_or(Path::new(""));
                self.read_file(&folder.join(name.trim()), depth + 1)?;
                continue;
            }
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            let value = expand(value.trim(), &place)?;
            self.set(name.trim(), &value, place);
        }
        Ok(())
    }
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The value with the variables of the environment in it.
fn expand(value: &str, place: &Place) -> Result<String, UsageError> {
    let mut expanded = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else { refuse!("{place}: `{value}` has no `}}`") };
        let Ok(known) = std::env::var(name) else {
            refuse!("{place}: {name} is not set in the environment; set it, like {name}=VALUE halfpower fio …")
        };
        expanded += before;
        expanded += &known;
        rest = after;
    }
    expanded += rest;
    // Words of fio for facts of the host.
    for (word, fact) in [("$pagesize", rustix::param::page_size()), ("$ncpus", cpus())] {
        expanded = expanded.replace(word, &fact.to_string());
    }
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> anyhow::Result<Vec<Job>> {
        let mut reader = Reader::default();
        reader.read(text, &Arc::from(Path::new("a.fio")), 0)?;
        Ok(reader.jobs)
    }

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_file_has_jobs_with_the_global_settings_before_them() {
        let jobs =
            read("; a comment\n[global]\nbs=4k # small\n\n[one]\nrw = randread\ndirect\n[global]\nbs=8k\n[two]\n")
                .unwrap();
        let names: Vec<_> = jobs.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(names, ["one", "two"]);
        let told = |job: &Job| {
            job.settings.iter().map(|set| format!("{}={} {}", set.name, set.value, set.place)).collect::<Vec<_>>()
        };
        assert_eq!(told(&jobs[0]), ["bs=4k a.fio:3", "rw=randread a.fio:6", "direct= a.fio:7"]);
        assert_eq!(told(&jobs[1]), ["bs=4k a.fio:3", "bs=8k a.fio:9"]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, message) in [
            ("[a\n", "a.fio:1: `[a` has no `]`"),
            ("[a]\nbs=${NO_SUCH}\n", "a.fio:2: NO_SUCH is not set"),
            ("[a]\nbs=${X\n", "a.fio:2: `${X` has no `}`"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn a_command_line_has_jobs_too() {
        let request =
            read_command_line(&words("--bs=8k --name=a --rw randread --direct=1 --output-format=json --name b"))
                .unwrap();
        assert_eq!((request.jobs.len(), &request.formats[..]), (2, &["json".to_owned()][..]));
        assert_eq!(request.jobs[1].settings.len(), 1);
        assert!(read_command_line(&words("--bs=8k")).is_err(), "no job");
        let unknown = read_command_line(&words("--no-such a.fio")).unwrap_err().to_string();
        assert!(unknown.starts_with("--no-such is no option of fio's that Halfpower knows"), "{unknown}");
    }
}
