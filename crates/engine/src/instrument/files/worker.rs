//! One thread with files of its own.

use super::Place;
use super::home::Home;
use super::options::{FilePhase, FilesOptions};
use crate::errno;
use crate::instrument::clock::Clock;
use halfpower_model::histogram::Histogram;
use halfpower_model::permutation::Permutation;
use halfpower_model::random::{Random, derive_seed};
use halfpower_model::{Cancel, Data};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Every unit of this size differs between files, so that no layer below can store one for all.
const UNIT: usize = 4096;
/// Files between two reports of progress, which all workers write to one place.
const REPORTED: u64 = 64;
/// Names of errors that no call returned.
const WRONG_SIZE: &str = "wrong_size";
const WRONG_DATA: &str = "wrong_data";
const WRONG_NUMBER: &str = "wrong_number";

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
    /// Files that it worked for.
    pub(super) files: u64,
    /// Of each, or of each directory that was listed.
    pub(super) latency: Histogram,
    pub(super) errors: BTreeMap<String, u64>,
    /// Why it ended early.
    pub(super) failure: Option<io::Error>,
}

/// The files of a worker.
pub(super) struct Worker {
    home: Home,
    /// Its files; those that exist, after they were created.
    files: u64,
    per_directory: u64,
    seed: u64,
    /// The contents of the file at hand, and what was read.
    wanted: Vec<u8>,
    found: Vec<u8>,
}

impl Worker {
    /// Makes its directories, or connects to its store.
    ///
    /// # Errors
    /// When the file system or the server fails; `EINTR` if it was cancelled.
    pub(super) fn prepare(
        place: Place<'_>,
        number: u32,
        options: &FilesOptions,
        seed: u64,
        cancel: &Cancel,
    ) -> io::Result<Worker> {
        let (files, per_directory) = (options.of_worker(number), options.per_directory);
        let own = format!("w{number}");
        let home = match place {
            Place::Tree(tree) => Home::in_folder(tree.folder(), &own, files.div_ceil(per_directory), cancel)?,
            Place::Objects(tree) => Home::Bucket { objects: Box::new(tree.connect()?), own },
        };
        let seed = derive_seed(seed, u64::from(number));
        let (mut wanted, found) = (vec![0; options.size.0 as usize], vec![0; options.size.0 as usize]);
        Data::Incompressible.fill(&mut wanted, &mut Random::new(seed));
        Ok(Worker { home, files, per_directory, seed, wanted, found })
    }

    /// Does its part of a phase; `so_far` follows.
    pub(super) fn carry_out(&mut self, job: &Job<'_>, so_far: &AtomicU64) -> Turn {
        let (phase, clock) = (job.phase, job.clock);
        // Of the files in a directory, listing takes one step.
        let in_step = if phase == FilePhase::List { self.per_directory } else { 1 };
        let steps = self.files.div_ceil(in_step);
        let order = (!phase.changes()).then(|| Permutation::new(steps, self.seed));
        let started = clock.tick();
        let end = job.options.duration.map_or(u64::MAX, |limit| started.saturating_add(clock.ticks(limit.0)));
        let mut turn = Turn { started, ended: started, ..Turn::default() };
        let (mut done, mut reported) = (0, 0);
        while done < steps && turn.ended < end && !job.cancel.is_cancelled() && !job.stop.load(Relaxed) {
            let file = order.as_ref().map_or(done, |order| order.at(done)) * in_step;
            let files = in_step.min(self.files - file);
            let name = format!("f{}", file % self.per_directory);
            self.mark(file);
            let from = clock.tick();
            let result = self.work_for(file / self.per_directory, &name, files, job);
            turn.ended = clock.tick();
            let wrong = match result {
                Ok(()) if phase != FilePhase::Read || self.found == self.wanted => None,
                Ok(()) => Some(WRONG_DATA.to_owned()),
                Err(Wrong::Known(name)) => Some(name.to_owned()),
                Err(Wrong::Failed(error)) if phase == FilePhase::Create => {
                    job.stop.store(true, Relaxed);
                    turn.failure = Some(error);
                    break;
                }
                Err(Wrong::Failed(error)) => Some(errno::name(error.raw_os_error().unwrap_or(libc::EIO))),
            };
            match wrong {
                Some(name) => *turn.errors.entry(name).or_default() += 1,
                None => {
                    turn.files += files;
                    turn.latency.record(clock.nanoseconds(turn.ended.saturating_sub(from)));
                }
            }
            done += 1;
            reported += files;
            if reported >= REPORTED {
                so_far.fetch_add(reported, Relaxed);
                reported = 0;
            }
        }
        if phase == FilePhase::Create {
            self.files = done;
        }
        self.home.leave();
        turn
    }

    /// Makes the wanted contents those of a file.
    fn mark(&mut self, file: u64) {
        let mark = derive_seed(self.seed, file).to_le_bytes();
        for unit in self.wanted.chunks_mut(UNIT) {
            unit.iter_mut().zip(mark).for_each(|(byte, mark)| *byte = mark);
        }
    }

    /// The operation of a phase on a file, or on the files of a directory.
    fn work_for(&mut self, directory: u64, name: &str, files: u64, job: &Job<'_>) -> Result<(), Wrong> {
        let Worker { home, wanted, found, .. } = self;
        let (is_right, otherwise) = match job.phase {
            FilePhase::Create => {
                home.create(directory, name, wanted, job.options.fsync)?;
                (true, WRONG_SIZE)
            }
            FilePhase::Stat => (home.size(directory, name)? == Some(wanted.len() as u64), WRONG_SIZE),
            FilePhase::List => (home.list(directory)? == files, WRONG_NUMBER),
            FilePhase::Read => (home.read(directory, name, found)?, WRONG_SIZE),
            FilePhase::Delete => {
                home.delete(directory, name)?;
                (true, WRONG_SIZE)
            }
        };
        if is_right { Ok(()) } else { Err(Wrong::Known(otherwise)) }
    }
}

/// Why a file does not count.
enum Wrong {
    /// It is not as it was left.
    Known(&'static str),
    Failed(io::Error),
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Wrong {
        Wrong::Failed(error)
    }
}
