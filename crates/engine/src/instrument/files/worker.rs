//! One thread with directories and files of its own.

use super::options::{FilePhase, FilesOptions};
use crate::errno;
use crate::instrument::clock::Clock;
use crate::target::own_entries::DIRECTORY;
use halfpower_model::histogram::Histogram;
use halfpower_model::permutation::Permutation;
use halfpower_model::random::{Random, derive_seed};
use halfpower_model::{Cancel, Data};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fsync, mkdirat, openat, statat, unlinkat};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Every unit of this size differs between files, so that no layer below can store one for all.
const UNIT: usize = 4096;
/// Files between two reports of progress, which all workers write to one place.
const REPORTED: u64 = 64;
/// Names of errors that no call returned.
const WRONG_SIZE: &str = "wrong_size";
const WRONG_DATA: &str = "wrong_data";

/// What all workers do.
pub(super) struct Job<'a> {
    pub(super) phase: FilePhase,
    pub(super) options: &'a FilesOptions,
    pub(super) clock: Clock,
    pub(super) cancel: &'a Cancel,
    /// A worker failed.
    pub(super) stop: AtomicBool,
}

/// What a worker did in a phase.
#[derive(Default)]
pub(super) struct Turn {
    /// Ticks of the clock.
    pub(super) started: u64,
    pub(super) ended: u64,
    /// Of each file that it worked for.
    pub(super) latency: Histogram,
    pub(super) errors: BTreeMap<String, u64>,
    /// Why it ended early.
    pub(super) failure: Option<io::Error>,
}

/// The files of a worker.
pub(super) struct Worker {
    folder: OwnedFd,
    /// Its files; those that exist, after they were created.
    files: u64,
    per_directory: u64,
    /// Open directories; none until the first file in them.
    directories: Vec<Option<OwnedFd>>,
    seed: u64,
    /// The contents of the file at hand, and what was read.
    wanted: Vec<u8>,
    found: Vec<u8>,
}

impl Worker {
    /// Makes its directories.
    ///
    /// # Errors
    /// When the file system fails; `EINTR` if it was cancelled.
    pub(super) fn prepare(
        tree: impl AsFd,
        number: u32,
        options: &FilesOptions,
        seed: u64,
        cancel: &Cancel,
    ) -> io::Result<Worker> {
        let own = format!("w{number}");
        mkdirat(&tree, &own, Mode::RWXU)?;
        let folder = openat(&tree, &own, DIRECTORY, Mode::empty())?;
        let (files, per_directory) = (options.of_worker(number), options.per_directory);
        let directories = files.div_ceil(per_directory);
        for directory in 0..directories {
            if cancel.is_cancelled() {
                return Err(io::Error::from_raw_os_error(libc::EINTR));
            }
            mkdirat(&folder, format!("d{directory}"), Mode::RWXU)?;
        }
        let seed = derive_seed(seed, u64::from(number));
        let (mut wanted, found) = (vec![0; options.size.0 as usize], vec![0; options.size.0 as usize]);
        Data::Incompressible.fill(&mut wanted, &mut Random::new(seed));
        let directories = (0..directories).map(|_| None).collect();
        Ok(Worker { folder, files, per_directory, directories, seed, wanted, found })
    }

    /// Does its part of a phase; `so_far` follows.
    pub(super) fn carry_out(&mut self, job: &Job<'_>, so_far: &AtomicU64) -> Turn {
        let (phase, clock) = (job.phase, job.clock);
        let order = (!phase.changes()).then(|| Permutation::new(self.files, self.seed));
        let started = clock.tick();
        let end = job.options.duration.map_or(u64::MAX, |limit| started.saturating_add(clock.ticks(limit.0)));
        let mut turn = Turn { started, ended: started, ..Turn::default() };
        let mut done = 0;
        while done < self.files && turn.ended < end && !job.cancel.is_cancelled() && !job.stop.load(Relaxed) {
            let file = order.as_ref().map_or(done, |order| order.at(done));
            let name = format!("f{}", file % self.per_directory);
            self.mark(file);
            let from = clock.tick();
            let result = self.work_for(file, &name, job);
            turn.ended = clock.tick();
            let wrong = match result {
                Ok(true) if phase != FilePhase::Read || self.found == self.wanted => None,
                Ok(true) => Some(WRONG_DATA.to_owned()),
                Ok(false) => Some(WRONG_SIZE.to_owned()),
                Err(error) if phase == FilePhase::Create => {
                    job.stop.store(true, Relaxed);
                    turn.failure = Some(error);
                    break;
                }
                Err(error) => Some(errno::name(error.raw_os_error().unwrap_or_default())),
            };
            match wrong {
                Some(name) => *turn.errors.entry(name).or_default() += 1,
                None => turn.latency.record(clock.nanoseconds(turn.ended.saturating_sub(from))),
            }
            done += 1;
            if done.is_multiple_of(REPORTED) {
                so_far.fetch_add(REPORTED, Relaxed);
            }
        }
        if phase == FilePhase::Create {
            self.files = done;
        }
        // An open directory would stay in the caches that are dropped before the next phase.
        self.directories.iter_mut().for_each(|directory| *directory = None);
        turn
    }

    /// Makes the wanted contents those of a file.
    fn mark(&mut self, file: u64) {
        let mark = derive_seed(self.seed, file).to_le_bytes();
        for unit in self.wanted.chunks_mut(UNIT) {
            unit.iter_mut().zip(mark).for_each(|(byte, mark)| *byte = mark);
        }
    }

    /// The operation of a phase on a file; false if the file has another size.
    fn work_for(&mut self, file: u64, name: &str, job: &Job<'_>) -> io::Result<bool> {
        let place = (file / self.per_directory) as usize;
        let directory = match &mut self.directories[place] {
            Some(directory) => directory,
            none => none.insert(openat(&self.folder, format!("d{place}"), DIRECTORY, Mode::empty())?),
        };
        let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match job.phase {
            FilePhase::Create => {
                let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
                let made = openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?;
                let mut rest = self.wanted.as_slice();
                while !rest.is_empty() {
                    match rustix::io::write(&made, rest)? {
                        0 => return Err(io::ErrorKind::WriteZero.into()),
                        moved => rest = &rest[moved..],
                    }
                }
                if job.options.fsync {
                    fsync(&made)?;
                }
                close(made)?;
            }
            FilePhase::Stat => {
                let facts = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
                let is_file = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile;
                return Ok(is_file && facts.st_size as usize == self.wanted.len());
            }
            FilePhase::Read => {
                let opened = openat(directory, name, flags | OFlags::RDONLY, Mode::empty())?;
                let mut moved = 0;
                while moved < self.found.len() {
                    match rustix::io::read(&opened, &mut self.found[moved..])? {
                        0 => return Ok(false),
                        more => moved += more,
                    }
                }
                close(opened)?;
            }
            FilePhase::Delete => unlinkat(directory, name, AtFlags::empty())?,
        }
        Ok(true)
    }
}

/// Closes a file. On network file systems this is where a full disk is reported.
fn close(file: OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor was owned and is given up here, so it is closed once.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
