//! Runs fio's jobs: makes their files, then runs one stage of workers after another, each worker on a thread.

use super::job::{Ends, Made, Work};
use crate::target::Overwrite;
use crate::text::{UsageError, refuse};
use halfpower_engine::test_file::TestFile;
use halfpower_engine::{Access, Host, Target, is_remote};
use halfpower_model::{
    Bytes, Cancel, Environment, MeasureError, RequestKind, Sample, Sharing, Testbed, Workload, random,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

/// How often a worker that waits looks for an interruption.
const LOOK: Duration = Duration::from_millis(10);

/// The files of all jobs, open as long as it lives; those that were made are removed afterwards.
pub(crate) struct Files(BTreeMap<PathBuf, (Target, Option<TestFile>)>);

/// What a group of workers gave together.
pub(crate) struct Group {
    /// The first job's name.
    pub(crate) name: String,
    pub(crate) sample: Sample,
    /// Logs of all jobs.
    pub(crate) logs: Logs,
    /// Own settings of the first job as they were given.
    pub(crate) given: Vec<(String, String)>,
    /// Those that run at the same time have one number.
    pub(crate) number: usize,
}

/// Logs of a job with their names: an average of each interval.
type Logs = Vec<(PathBuf, String)>;

impl Work {
    /// Its logs by their names, without figures.
    pub(crate) fn logs(&self) -> Vec<(PathBuf, &'static str)> {
        let names = ["bw", "iops", "lat"].into_iter().zip(&self.logs).filter(|(_, name)| !name.is_empty());
        // Of latencies there are three; that of the submission is counted with the whole.
        let all = names.flat_map(|(what, name)| {
            let also = [Some(what), (what == "lat").then_some("clat")];
            also.into_iter()
                .flatten()
                .map(move |what| (PathBuf::from(format!("{name}_{what}.{}.log", self.thread)), what))
        });
        all.collect()
    }

    /// The same as fio writes them: milliseconds, value, direction, and two figures that averages do not have.
    fn logs_of(&self, sample: &Sample) -> Logs {
        let written = |(path, what): (PathBuf, &str)| {
            let (mut text, mut before_s) = (String::new(), 0.0);
            for interval in &sample.intervals {
                let length_s = (interval.at_s - before_s).max(1e-9);
                before_s = interval.at_s;
                for (direction, kind) in
                    [RequestKind::Read, RequestKind::Write, RequestKind::Trim].into_iter().enumerate()
                {
                    let Some(part) = sample.of_kind(interval, kind).filter(|part| part.requests > 0) else { continue };
                    let value = match what {
                        "bw" => part.bytes as f64 / 1024.0 / length_s,
                        "iops" => part.requests as f64 / length_s,
                        _ => part.latency_p50_ns.unwrap_or_default() as f64,
                    };
                    text += &format!("{:.0}, {value:.0}, {direction}, 0, 0\n", interval.at_s * 1e3);
                }
            }
            (path, text)
        };
        self.logs().into_iter().map(written).collect()
    }
}

impl Files {
    /// Opens the files of the jobs, and makes those that are missing. `progress` gets the path and the bytes written. Nothing is
    /// made or written without `overwrite`.
    ///
    /// # Errors
    /// If data would be lost, a file has holes or is too small, or it was interrupted; then no new file stays.
    pub(crate) fn open(
        works: &[Work],
        overwrite: Option<&Overwrite>,
        cancel: &Cancel,
        mut progress: impl FnMut(&Path, Bytes),
    ) -> anyhow::Result<Files> {
        let mut files = Files(BTreeMap::new());
        for path in works.iter().flat_map(|work| &work.files) {
            if files.0.contains_key(path) {
                continue;
            }
            let uses = || works.iter().filter(|work| work.files.contains(path));
            let destroys = uses().any(|work| work.spec.operation.is_some_and(|operation| operation.destroys()));
            let size = uses().filter_map(|work| work.file_size).max();
            let opened = match std::fs::symlink_metadata(path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_remote(path) => {
                    let Some(size) = size else { refuse!("{} does not exist; name another device", path.display()) };
                    if overwrite.is_none() {
                        refuse!(
                            "{} does not exist, and --readonly forbids making it; name a file that exists",
                            path.display()
                        );
                    }
                    let file = TestFile::create_at(path)?;
                    let seed = random::derive_seed(1, files.0.len() as u64);
                    match uses().map(|work| work.made).max() {
                        Some(Made::Sparse) => file.stretch(size)?,
                        Some(Made::Allocated) => file.allocate(size)?,
                        _ => file.fill(size, seed, cancel, |bytes| progress(path, bytes))?,
                    }
                    (file.open()?, Some(file))
                }
                _ => {
                    let access = overwrite.filter(|_| destroys).map_or(Access::Read, |of| of.access(path));
                    if destroys && access == Access::Read {
                        refuse!(
                            "{} exists and would be overwritten; add --overwrite={} before the job file if its data may be lost",
                            path.display(),
                            path.display()
                        );
                    }
                    let target = Target::open(path, access)?;
                    if uses().any(|work| work.spec.operation.is_some_and(|operation| operation.reads())) {
                        target.refuse_holes(size.unwrap_or(Bytes(u64::MAX)).min(target.facts().size_bytes))?;
                    }
                    (target, None)
                }
            };
            files.0.insert(path.clone(), opened);
        }
        Ok(files)
    }

    /// Removes the files that were made.
    ///
    /// # Errors
    /// If one cannot be removed.
    pub(crate) fn remove(self) -> anyhow::Result<()> {
        for (target, made) in self.0.into_values() {
            drop(target);
            made.map(TestFile::remove).transpose()?;
        }
        Ok(())
    }

    /// A host and the workload of a worker on it.
    fn ready(&self, work: &Work) -> anyhow::Result<(Host, Workload)> {
        let targets = work.files.iter().map(|path| self.0[path].0.again()).collect::<Result<Vec<_>, _>>()?;
        let host = Host::on(targets)?;
        let workload = work.spec.resolve(host.describe());
        let workload = workload
            .map_err(|error| UsageError(format!("{}: job {}: {}", work.place, work.name, UsageError::from(error).0)))?;
        Ok((host, workload))
    }

    /// Whether all workloads can run, before anything is measured; the environment of the first.
    ///
    /// # Errors
    /// With the job that cannot.
    pub(crate) fn check(&self, works: &[Work]) -> anyhow::Result<(Environment, u64)> {
        let mut first = None;
        for work in works {
            let (host, workload) = self.ready(work)?;
            first.get_or_insert((host.describe().clone(), workload.seed));
        }
        Ok(first.expect("there is a job"))
    }

    /// Runs the workers of a stage at the same time. Groups in the order of their jobs, and what a job ended that was to end others;
    /// `progress` gets the time since the start.
    ///
    /// # Errors
    /// If one could not be measured.
    pub(crate) fn run(
        &self,
        works: &[Work],
        cancel: &Cancel,
        mut progress: impl FnMut(Duration),
    ) -> anyhow::Result<(Vec<Group>, Ends)> {
        let ready = works.iter().map(|work| self.ready(work)).collect::<anyhow::Result<Vec<_>>>()?;
        let together = Barrier::new(works.len());
        let (ended, over) = (Mutex::new(Ends::Itself), Cancel::default());
        let ended = || ended.lock().expect("no thread panics with it");
        let measure = &|(mut host, workload): (Host, Workload), work: &Work| {
            together.wait();
            let (begun, delay) = (Instant::now(), Duration::from_nanos(work.delay.0));
            while begun.elapsed() < delay && !over.is_cancelled() {
                std::thread::sleep(LOOK.min(delay.saturating_sub(begun.elapsed())));
            }
            let mut sample = host.measure(&workload, &mut (), &over);
            if work.ends > Ends::Itself && !over.is_cancelled() {
                *ended() = work.ends;
                over.cancel();
            } else if let Ok(sample) = &mut sample {
                // It ended as it should.
                sample.failure.take_if(|failure| failure.code == "interrupted" && *ended() > Ends::Itself);
            }
            sample
        };
        let measured: Vec<Result<Sample, MeasureError>> = std::thread::scope(|scope| {
            let start = |(ready, work)| scope.spawn(move || measure(ready, work));
            let threads: Vec<_> = ready.into_iter().zip(works).map(start).collect();
            let begun = Instant::now();
            while threads.iter().any(|thread| !thread.is_finished()) {
                std::thread::sleep(LOOK);
                progress(begun.elapsed());
                if cancel.is_cancelled() {
                    over.cancel();
                }
            }
            let panicked = || MeasureError::Unsupported("a worker broke down".to_owned());
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(panicked()))).collect()
        });
        let mut groups: BTreeMap<usize, (&Work, Vec<Sample>, Logs)> = BTreeMap::new();
        for (work, sample) in works.iter().zip(measured) {
            let (_, samples, logs) = groups.entry(work.group).or_insert((work, Vec::new(), Vec::new()));
            samples.push(sample?);
            logs.extend(samples.last().into_iter().flat_map(|sample| work.logs_of(sample)));
        }
        let group = |(work, samples, logs): (&Work, Vec<Sample>, Logs)| {
            let (name, given, several) = (work.name.clone(), work.given.clone(), samples.len() > 1);
            let mut sample = Sample::together(samples)?;
            if several && sample.workload.sharing == Sharing::Cursor {
                sample.workload.sharing = Sharing::Whole;
            }
            Some(Group { name, sample, logs, given, number: work.number })
        };
        let mut groups: Vec<Group> = groups.into_values().filter_map(group).collect();
        if groups.len() > 1 {
            // The kernel counted the requests of all groups at a device.
            let devices: Vec<Vec<String>> = groups
                .iter()
                .map(|group| group.sample.environment.devices().into_iter().map(str::to_owned).collect())
                .collect();
            for (group, own) in groups.iter_mut().zip(&devices) {
                let is_shared =
                    devices.iter().filter(|other| other.iter().any(|device| own.contains(device))).count() > 1;
                group.sample.block.take_if(|_| is_shared);
            }
        }
        let ended = *ended();
        Ok((groups, ended))
    }
}
