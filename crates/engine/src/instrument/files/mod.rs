//! Many small files: how fast a file system creates, examines, lists, reads and deletes them, in a new tree of directories; or an
//! object store as many objects.
//!
//! The phases are those of mdtest (LLNL, part of IOR) and elbencho. Each worker is a thread with directories of its own, and all
//! begin a phase together. Files are created and deleted in the order of their names, examined and read in random order. Names
//! are looked up in open directories, so a latency has no path in it; a directory is opened anew for each phase, by its first
//! file. The program's own part is two readings of the clock per file, and outside the latency the name and the contents of a
//! file. Directories are made before and removed after, outside the time.

mod home;
mod options;
mod room;
mod worker;

use super::clock::Clock;
use super::drop_cache::drop_everything;
use crate::network::s3::objects::ObjectTree;
use crate::target::TargetError;
use crate::target::test_tree::TestTree;
use crate::worker::pace::wait_until;
use halfpower_model::histogram::Histogram;
use halfpower_model::random::derive_seed;
use halfpower_model::{Cancel, Nanoseconds};
pub use options::{FilePhase, FilesOptions};
pub use room::refuse;
use rustix::fs::syncfs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};
use worker::{Job, Turn, Worker};

/// Interval between reports of progress.
const LOOK: Duration = Duration::from_millis(10);

/// Where files are made.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// In directories.
    Tree(&'a TestTree),
    /// In an object store: create is PUT, stat HEAD, list LIST, read GET, delete DELETE.
    Objects(&'a ObjectTree),
}

impl Place<'_> {
    fn empty(self) -> Result<(), TargetError> {
        match self {
            Place::Tree(tree) => tree.empty(),
            Place::Objects(tree) => tree.empty(),
        }
    }

    /// Writes back what is in memory; false for objects, which are stored when the server answers.
    fn flush(self) -> io::Result<bool> {
        match self {
            Place::Tree(tree) => Ok(syncfs(tree.folder()).map(|()| true)?),
            Place::Objects(_) => Ok(false),
        }
    }

    fn path(self) -> PathBuf {
        match self {
            Place::Tree(tree) => tree.path().to_owned(),
            Place::Objects(tree) => tree.target(),
        }
    }
}

/// One phase of one repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseRun {
    /// The phase.
    pub phase: FilePhase,
    /// Files that it worked for.
    pub files: u64,
    /// From the first start of a worker to the last end.
    pub elapsed_s: f64,
    /// How long writing back what it left in memory took; none if it leaves nothing there.
    pub flush_s: Option<f64>,
    /// Files per second of each worker, in its own time.
    pub worker_files_per_s: Vec<f64>,
    /// Latency of each file; of each directory that was listed.
    pub latency_histogram: Histogram,
    /// Files that it did not work for, by the name of the error.
    pub errors: BTreeMap<String, u64>,
    /// Bytes that block devices read for this program meanwhile; none if the kernel does not count them.
    pub storage_read_bytes: Option<u64>,
}

impl PhaseRun {
    /// One phase of several processes that began together; none without any.
    pub fn of_all(parts: Vec<PhaseRun>) -> Option<PhaseRun> {
        parts.into_iter().reduce(|mut all, part| {
            all.files += part.files;
            all.elapsed_s = all.elapsed_s.max(part.elapsed_s);
            all.flush_s = all.flush_s.zip(part.flush_s).map(|(one, other)| one.max(other));
            all.worker_files_per_s.extend(part.worker_files_per_s);
            all.latency_histogram.merge(&part.latency_histogram);
            part.errors.into_iter().for_each(|(name, count)| *all.errors.entry(name).or_default() += count);
            let read = all.storage_read_bytes.zip(part.storage_read_bytes);
            all.storage_read_bytes = read.map(|(one, other)| one + other);
            all
        })
    }
}

/// What to do around the phases.
pub trait Around {
    /// All workers are ready: waits for other processes, and tells when to begin; none for at once.
    ///
    /// # Errors
    /// Ends the run.
    fn ready(&mut self) -> io::Result<Option<Nanoseconds>> {
        Ok(None)
    }

    /// So many files so far, in a repetition from 0.
    fn progress(&mut self, _phase: FilePhase, _repetition: u32, _files: u64) {}

    /// A phase that is reported.
    ///
    /// # Errors
    /// Ends the run.
    fn done(&mut self, run: PhaseRun) -> io::Result<()>;
}

/// Carries out every repetition in an empty tree.
///
/// # Errors
/// If a file cannot be created, the file system fails, or it was cancelled; the phase at that time is not reported.
pub fn measure(
    place: Place<'_>,
    options: &FilesOptions,
    cancel: &Cancel,
    around: &mut dyn Around,
) -> Result<(), TargetError> {
    let fail = |error| failed(place, 0, error);
    for repetition in 0..options.repetitions {
        let seed = derive_seed(options.seed, u64::from(repetition));
        let prepare = |number| Worker::prepare(place, number, options, seed, cancel);
        let mut workers: Vec<Worker> = (0..options.workers).map(prepare).collect::<io::Result<_>>().map_err(fail)?;
        for phase in FilePhase::ALL {
            let is_reported = options.phases.contains(&phase);
            if !is_reported && phase != FilePhase::Create {
                continue;
            }
            if options.cold && phase != FilePhase::Create {
                drop_everything().map_err(fail)?;
            }
            let job = Job { phase, options, clock: Clock::host(), cancel, stop: AtomicBool::new(false) };
            let run = carry_out(place, &job, &mut workers, repetition, around)?;
            if is_reported {
                around.done(run).map_err(fail)?;
            }
        }
        drop(workers);
        place.empty()?;
    }
    Ok(())
}

/// Carries out one phase with all workers, and writes back what it left.
fn carry_out(
    place: Place<'_>,
    job: &Job<'_>,
    workers: &mut [Worker],
    repetition: u32,
    around: &mut dyn Around,
) -> Result<PhaseRun, TargetError> {
    let (phase, so_far, read_before) = (job.phase, AtomicU64::new(0), storage_read_bytes());
    let mut turns = together(job, workers, &so_far, repetition, around).map_err(|error| failed(place, 0, error))?;
    let (mut latency, mut errors) = (Histogram::default(), BTreeMap::new());
    for turn in &turns {
        latency.merge(&turn.latency);
        turn.errors.iter().for_each(|(name, count)| *errors.entry(name.clone()).or_default() += count);
    }
    let files = turns.iter().map(|turn| turn.files).sum();
    if let Some(error) = turns.iter_mut().find_map(|turn| turn.failure.take()) {
        return Err(failed(place, files, error));
    }
    if job.cancel.is_cancelled() {
        return Err(TargetError::Interrupted { path: place.path().display().to_string() });
    }
    let read_bytes = storage_read_bytes().zip(read_before).map(|(now, before)| now.saturating_sub(before));
    let flushing = Instant::now();
    let is_flushed = phase.changes() && place.flush().map_err(|error| failed(place, files, error))?;
    let flush_s = is_flushed.then(|| flushing.elapsed().as_secs_f64());
    let seconds = |from: u64, to: u64| job.clock.nanoseconds(to.saturating_sub(from)) as f64 / 1e9;
    let first = turns.iter().map(|turn| turn.started).min().unwrap_or_default();
    let last = turns.iter().map(|turn| turn.ended).max().unwrap_or_default();
    let rate = |turn: &Turn| turn.files as f64 / seconds(turn.started, turn.ended);
    Ok(PhaseRun {
        phase,
        files,
        elapsed_s: seconds(first, last),
        flush_s,
        worker_files_per_s: turns.iter().map(rate).collect(),
        latency_histogram: latency.packed(),
        errors,
        storage_read_bytes: read_bytes,
    })
}

/// A thread for each worker. They begin when the last one is there.
fn together(
    job: &Job<'_>,
    workers: &mut [Worker],
    so_far: &AtomicU64,
    repetition: u32,
    around: &mut dyn Around,
) -> io::Result<Vec<Turn>> {
    let gate = &RwLock::new(());
    std::thread::scope(|scope| {
        let closed = gate.write().unwrap_or_else(PoisonError::into_inner);
        let start = |worker| {
            let worker: &mut Worker = worker;
            std::thread::Builder::new().spawn_scoped(scope, move || {
                drop(gate.read());
                worker.carry_out(job, so_far)
            })
        };
        let started: io::Result<Vec<_>> = workers.iter_mut().map(start).collect();
        let begun = started.and_then(|threads| Ok((threads, around.ready()?)));
        job.stop.store(begun.is_err(), Relaxed);
        if let Ok((_, Some(at))) = &begun {
            wait_until(job.clock, job.clock.tick_at(*at), &job.stop);
        }
        drop(closed);
        let (threads, _) = begun?;
        while threads.iter().any(|thread| !thread.is_finished()) {
            std::thread::sleep(LOOK);
            around.progress(job.phase, repetition, so_far.load(Relaxed));
        }
        let turns = threads.into_iter().map(|thread| thread.join());
        Ok(turns.map(|turn| turn.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect())
    })
}

/// Why the files cannot be created, with the remedy.
fn failed(place: Place<'_>, files: u64, error: io::Error) -> TargetError {
    let path = place.path();
    let directory = path.parent().unwrap_or(&path).display();
    TargetError::Rejected(match error.raw_os_error() {
        Some(libc::EINTR) => return TargetError::Interrupted { path: directory.to_string() },
        Some(libc::EAGAIN) => "too many threads; use fewer --workers, or raise ulimit -u".to_owned(),
        Some(code @ (libc::ENOSPC | libc::EDQUOT)) => {
            let what =
                if code == libc::ENOSPC { "no space or no inodes" } else { "no room for this user (disk quota)" };
            format!(
                "the file system of {directory} has {what} left after {files} files; free some, use fewer --files or a smaller \
                 --size, or name another directory"
            )
        }
        _ => return TargetError::from_io("create files in", &path, error),
    })
}

/// Bytes that block devices have read for this program; none if the kernel does not count them.
fn storage_read_bytes() -> Option<u64> {
    let account = std::fs::read_to_string("/proc/self/io").ok()?;
    account.lines().find_map(|line| line.strip_prefix("read_bytes:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::Bytes;
    use std::fs;
    use std::path::Path;

    struct Then<'a>(&'a mut dyn FnMut(PhaseRun));

    impl Around for Then<'_> {
        fn done(&mut self, run: PhaseRun) -> io::Result<()> {
            (self.0)(run);
            Ok(())
        }
    }

    fn options(files: u64, workers: u32) -> FilesOptions {
        FilesOptions {
            files,
            size: Bytes(5000),
            per_directory: 4,
            workers,
            phases: FilePhase::ALL.to_vec(),
            fsync: false,
            cold: false,
            duration: None,
            repetitions: 2,
            seed: 1,
        }
    }

    /// The phases of a run, with `between` called after each.
    fn runs(options: &FilesOptions, between: impl Fn(&Path, FilePhase)) -> Result<Vec<PhaseRun>, TargetError> {
        let directory = tempfile::tempdir().unwrap();
        let tree = TestTree::create(directory.path(), "tree").unwrap();
        let mut runs = Vec::new();
        let mut after = |run: PhaseRun| {
            between(tree.path(), run.phase);
            runs.push(run);
        };
        let measured = measure(Place::Tree(&tree), options, &Cancel::default(), &mut Then(&mut after));
        tree.remove().unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        measured.map(|()| runs)
    }

    fn files_in(tree: &Path) -> Vec<std::path::PathBuf> {
        let below = |path: std::path::PathBuf| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        below(tree.to_owned()).flat_map(below).flat_map(below).collect()
    }

    #[test]
    fn every_phase_works_for_every_file_once() {
        let runs = runs(&options(11, 3), |tree, phase| {
            let files = files_in(tree);
            assert_eq!(files.len(), if phase == FilePhase::Delete { 0 } else { 11 });
            let contents: std::collections::BTreeSet<Vec<u8>> = files
                .iter()
                .flat_map(|file| fs::read(file).unwrap().chunks(4096).map(<[u8]>::to_vec).collect::<Vec<_>>())
                .collect();
            assert_eq!(contents.len(), 2 * files.len(), "no unit is that of another file");
        })
        .unwrap();
        let phases: Vec<FilePhase> = runs.iter().map(|run| run.phase).collect();
        assert_eq!(phases, [FilePhase::ALL, FilePhase::ALL].concat());
        for run in &runs {
            // Four files and four of three workers, in directories of four.
            let steps = if run.phase == FilePhase::List { 3 } else { 11 };
            assert_eq!((run.files, run.latency_histogram.count(), run.worker_files_per_s.len()), (11, steps, 3));
            assert!(run.errors.is_empty() && run.elapsed_s > 0.0 && run.flush_s.is_some() == run.phase.changes());
        }
    }

    #[test]
    fn files_that_others_touch_are_errors_and_not_counted() {
        let runs = runs(&FilesOptions { repetitions: 1, ..options(12, 1) }, |tree, phase| {
            if phase == FilePhase::Create {
                fs::remove_file(tree.join("w0/d0/f1")).unwrap();
                fs::write(tree.join("w0/d1/f0"), [7; 5000]).unwrap();
                fs::write(tree.join("w0/d2/f3"), "short").unwrap();
            }
        })
        .unwrap();
        let errors =
            |run: &PhaseRun| run.errors.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>();
        assert_eq!(errors(&runs[0]), [""; 0]);
        assert_eq!(errors(&runs[1]), ["ENOENT 1", "wrong_size 1"]);
        assert_eq!(errors(&runs[2]), ["wrong_number 1"]);
        assert_eq!(errors(&runs[3]), ["ENOENT 1", "wrong_data 1", "wrong_size 1"]);
        assert_eq!(errors(&runs[4]), ["ENOENT 1"]);
        assert_eq!(runs.iter().map(|run| run.files).collect::<Vec<_>>(), [12, 10, 8, 9, 11]);
    }

    #[test]
    fn phases_that_are_not_asked_for_are_not_reported_and_empty_files_are_files() {
        let only = FilesOptions { phases: vec![FilePhase::Read], size: Bytes(0), fsync: true, ..options(5, 2) };
        let runs = runs(&only, |tree, _| assert_eq!(files_in(tree).len(), 5)).unwrap();
        assert!(runs.len() == 2 && runs.iter().all(|run| run.phase == FilePhase::Read && run.files == 5));
    }

    #[test]
    fn a_limit_of_time_ends_a_phase_and_the_next_ones_have_what_is_there() {
        let short = FilesOptions { duration: Some(Nanoseconds(1)), ..options(50, 1) };
        let files: Vec<u64> = runs(&short, |_, _| {}).unwrap().iter().map(|run| run.files).collect();
        assert_eq!(files, [1; 10]);
    }

    #[test]
    fn one_that_is_cancelled_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let tree = TestTree::create(directory.path(), "tree").unwrap();
        let (cancel, mut phases) = (Cancel::default(), 0);
        let mut after = |_| {
            phases += 1;
            cancel.cancel();
        };
        let cancelled = measure(Place::Tree(&tree), &options(20, 2), &cancel, &mut Then(&mut after));
        assert!(matches!(cancelled, Err(TargetError::Interrupted { .. })) && phases == 1);
        drop(tree);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_is_there_already_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let tree = TestTree::create(directory.path(), "tree").unwrap();
        fs::create_dir(tree.path().join("w0")).unwrap();
        let error =
            measure(Place::Tree(&tree), &options(4, 1), &Cancel::default(), &mut Then(&mut |_| {})).unwrap_err();
        assert!(error.to_string().contains("cannot create files in"), "{error}");
    }

    #[test]
    fn a_full_file_system_and_a_quota_have_their_remedies() {
        let directory = tempfile::tempdir().unwrap();
        let tree = TestTree::create(directory.path(), "tree").unwrap();
        for (error, reason) in [(libc::ENOSPC, "no space or no inodes left"), (libc::EDQUOT, "(disk quota)")] {
            let message = failed(Place::Tree(&tree), 7, io::Error::from_raw_os_error(error)).to_string();
            let place = directory.path().display().to_string();
            assert!(message.contains(&place) && message.contains(reason), "{message}");
            assert!(message.contains("after 7 files") && message.contains("fewer --files"), "{message}");
        }
        let message = failed(Place::Tree(&tree), 0, io::Error::from_raw_os_error(libc::EAGAIN)).to_string();
        assert!(message.contains("fewer --workers"), "{message}");
    }
}
