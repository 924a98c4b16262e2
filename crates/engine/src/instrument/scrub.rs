//! Scrubs targets out of the file cache, so that the next buffered read is cold, and looks whether that worked.
//!
//! The studies read a large file between two tests for that. The kernel can be told instead (posix_fadvise, after a flush,
//! since it keeps what is dirty), for a target or for all of the machine; a scratch file that pushes the target out is
//! what is left where neither helps: pages that somebody has mapped, or a kernel that does not listen. What counts in the
//! end is mincore(2)'s word.

use super::cache;
use crate::target::{Access, Target, TargetError, filesystem};
use halfpower_model::Cancel;
use halfpower_model::reading::{COLD, Scrubbed, ScrubbedTarget, Step, Way};
use rustix::fs::{CWD, Mode, OFlags};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
/// The page cache alone: names and inodes slow nothing down that is measured here.
const PAGES: &str = "1\n";
/// How often the targets are looked at while a scratch file is read, and how often it is read at most: pages that were
/// used twice give way to others that were.
const LOOKS: u64 = 16;
const PASSES: u32 = 2;

/// What may be done beside telling the kernel that the targets will not be needed.
#[derive(Clone, Debug, Default)]
pub struct ScrubOptions {
    /// Drop the whole cache of the machine.
    pub drop_caches: bool,
    /// Read a scratch file, made here, as large as the memory, where some target is still warm.
    pub scratch: Option<PathBuf>,
}

/// Why scrubbing failed.
#[derive(Debug, thiserror::Error)]
pub enum ScrubError {
    /// A target cannot be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// There is nothing to scrub.
    #[error("null: holds nothing that could be cached; name files or block devices")]
    Null,
    /// Not for this user.
    #[error("dropping the cache of the whole machine needs root; leave --drop-caches out, or run as root")]
    NotRoot,
    /// A scratch file there takes no memory.
    #[error("{path} is in memory itself, and reading a file there pushes nothing out; name a directory on a disk")]
    ScratchInMemory {
        /// The directory.
        path: String,
    },
    /// Anything else the system said.
    #[error("cannot {action} {subject}")]
    System {
        /// What was tried.
        action: &'static str,
        /// On what.
        subject: String,
        /// What it said.
        #[source]
        source: io::Error,
    },
}

fn failed(action: &'static str, subject: impl std::fmt::Display) -> impl FnOnce(io::Error) -> ScrubError {
    let subject = subject.to_string();
    move |source| ScrubError::System { action, subject, source }
}

/// Scrubs the targets. What was done to all of them is a step of each.
///
/// # Errors
/// When a target cannot be read, what is dirty cannot be written out, or something that was asked for is not to be had.
pub fn scrub(paths: &[PathBuf], options: &ScrubOptions, cancel: &Cancel) -> Result<Scrubbed, ScrubError> {
    let targets = paths.iter().map(|path| Target::open(path, Access::Read)).collect::<Result<Vec<_>, _>>()?;
    let files = targets.iter().map(|target| target.file().ok_or(ScrubError::Null)).collect::<Result<Vec<_>, _>>()?;
    let mut scrubbing = Scrubbing { scrubbed: Vec::new(), files };
    for (target, file) in targets.iter().zip(&scrubbing.files) {
        let facts = target.facts();
        scrubbing.scrubbed.push(ScrubbedTarget {
            path: facts.path.clone(),
            size_bytes: facts.size_bytes,
            cached_before: cache::cached_share(file, facts.size_bytes),
            steps: Vec::new(),
        });
        cache::make_cold(file, facts.size_bytes).map_err(failed("flush and let go of", &facts.path))?;
    }
    scrubbing.note(Way::Advice);
    if options.drop_caches {
        match std::fs::write(DROP_CACHES, PAGES) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(ScrubError::NotRoot),
            written => written.map_err(failed("write", DROP_CACHES))?,
        }
        scrubbing.note(Way::DropCaches);
    }
    if let Some(directory) = options.scratch.as_ref().filter(|_| !scrubbing.is_cold()) {
        let scratch = scratch_file(directory)?;
        read_until(&scratch, || cancel.is_cancelled() || scrubbing.is_cold())
            .map_err(failed("read", directory.display()))?;
        scrubbing.note(Way::ScratchFile);
    }
    Ok(Scrubbed { targets: scrubbing.scrubbed })
}

/// The targets while they are being scrubbed.
struct Scrubbing<'a> {
    files: Vec<&'a File>,
    scrubbed: Vec<ScrubbedTarget>,
}

impl Scrubbing<'_> {
    fn shares(&self) -> impl Iterator<Item = Option<f64>> {
        self.files.iter().zip(&self.scrubbed).map(|(file, target)| cache::cached_share(file, target.size_bytes))
    }

    fn note(&mut self, way: Way) {
        let shares: Vec<_> = self.shares().collect();
        for (target, cached_after) in self.scrubbed.iter_mut().zip(shares) {
            target.steps.push(Step { way, cached_after });
        }
    }

    /// Whether all are, as far as the kernel tells.
    fn is_cold(&self) -> bool {
        self.shares().all(|share| share.is_some_and(|share| share < COLD))
    }
}

/// A file without a name that holds nothing: its holes take pages of the cache when they are read, and no room on the
/// medium.
fn scratch_file(directory: &Path) -> Result<File, ScrubError> {
    let failed = |source| failed("make a scratch file in", directory.display())(source);
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(
        rustix::fs::openat(CWD, directory, flags, Mode::RUSR | Mode::WUSR).map_err(|error| failed(error.into()))?,
    );
    if filesystem::mount_of(directory).is_some_and(|mount| filesystem::is_memory(&mount.kind)) {
        return Err(ScrubError::ScratchInMemory { path: directory.display().to_string() });
    }
    let memory = rustix::system::sysinfo();
    file.set_len(memory.totalram as u64 * u64::from(memory.mem_unit)).map_err(failed)?;
    Ok(file)
}

/// Reads a file from its start to its end, until somebody says that it is enough.
fn read_until(file: &File, is_enough: impl Fn() -> bool) -> io::Result<()> {
    let size = file.metadata()?.len();
    let mut buffer = vec![0; 1 << 20];
    for _ in 0..PASSES {
        let mut at = 0;
        for look in 1..=LOOKS {
            while at < size * look / LOOKS {
                at += rustix::io::pread(file, &mut buffer, at)? as u64;
            }
            if is_enough() {
                return Ok(());
            }
        }
    }
    Ok(())
}
