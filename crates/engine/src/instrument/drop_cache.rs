//! Drops targets from the page cache, so that the next buffered read is cold, and verifies it.
//!
//! The studies read a large file between two tests. Linux has posix_fadvise for one target, after a flush, since it keeps
//! dirty pages; and drop_caches for the whole machine. If neither helps, for example with mapped pages, reading a scratch file
//! evicts the target. mincore(2) shows the share still cached.

use crate::system::{cache, filesystem};
use crate::target::{Access, Target, TargetError};
use halfpower_model::{Bytes, Cancel};
use rustix::fs::{CWD, Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
/// The page cache only: dentries and inodes do not affect the figures here.
const PAGES: &str = "1\n";
/// The page cache, and names and facts of files.
const EVERYTHING: &str = "3\n";
/// Checks of the targets per pass over the scratch file, and maximum passes: pages used twice are evicted by others used
/// twice.
const LOOKS: u64 = 16;
const PASSES: u32 = 2;

/// A target is cold with less than this share of it in the page cache.
const COLD: f64 = 0.01;

/// Targets that were dropped from the page cache, in the order they were named.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DroppedCache {
    /// Each target.
    pub targets: Vec<DroppedTarget>,
}

/// One target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DroppedTarget {
    /// As it was named.
    pub path: String,
    /// Its size.
    pub size_bytes: Bytes,
    /// Share of it that was in the page cache before; none if unknown.
    pub cached_before: Option<f64>,
    /// The steps taken, in order.
    pub steps: Vec<Step>,
}

/// A step, and its result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// How.
    pub method: Method,
    /// Share of the target in the page cache after it; none if unknown.
    pub cached_after: Option<f64>,
}

/// Ways to empty the page cache, the least invasive first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Write back the target, then posix_fadvise(POSIX_FADV_DONTNEED).
    Advice,
    /// Drop the whole page cache (/proc/sys/vm/drop_caches).
    DropCaches,
    /// Read a scratch file until it has evicted the target, as the studies did.
    ScratchFile,
}

impl DroppedTarget {
    /// Share of it in the page cache now; none if unknown.
    pub fn cached_now(&self) -> Option<f64> {
        self.steps.last().map_or(self.cached_before, |step| step.cached_after)
    }

    /// Whether the next buffered read is cold; false if unknown.
    pub fn is_cold(&self) -> bool {
        self.cached_now().is_some_and(|share| share < COLD)
    }
}

/// What may be done besides posix_fadvise.
#[derive(Clone, Debug, Default)]
pub struct DropOptions {
    /// Drop the whole page cache.
    pub drop_caches: bool,
    /// If a target is not cold, read a scratch file in this directory, as large as the memory.
    pub scratch: Option<PathBuf>,
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TargetError {
    move |source| TargetError::System { action, path: path.display().to_string(), source }
}

fn rejected<T>(text: impl Into<String>) -> Result<T, TargetError> {
    Err(TargetError::Rejected(text.into()))
}

/// Drops the targets from the page cache. A step on the whole machine is recorded for each of them.
///
/// # Errors
/// If a target cannot be read or written back, or an option is not available.
pub fn drop_cache(paths: &[PathBuf], options: &DropOptions, cancel: &Cancel) -> Result<DroppedCache, TargetError> {
    let targets = paths.iter().map(|path| Target::open(path, Access::Read)).collect::<Result<Vec<_>, _>>()?;
    let Some(files) = targets.iter().map(Target::file).collect::<Option<Vec<_>>>() else {
        return rejected("null: holds no data; name files or block devices");
    };
    let size = |target: &Target| target.facts().size_bytes;
    let shares = || files.iter().zip(&targets).map(|(file, target)| cache::cached_share(file, size(target)));
    let is_cold = || shares().all(|share| share.is_some_and(|share| share < COLD));
    let dropped = |(target, cached_before): (&Target, Option<f64>)| DroppedTarget {
        path: target.facts().path.clone(),
        size_bytes: size(target),
        cached_before,
        steps: Vec::new(),
    };
    let mut dropped: Vec<_> = targets.iter().zip(shares()).map(dropped).collect();
    let mut note = |method| {
        let steps = dropped.iter_mut().zip(shares());
        steps.for_each(|(target, cached_after)| target.steps.push(Step { method, cached_after }));
    };
    for (target, file) in targets.iter().zip(&files) {
        cache::make_cold(file, size(target)).map_err(failed("write back", Path::new(&target.facts().path)))?;
    }
    note(Method::Advice);
    if options.drop_caches {
        match std::fs::write(DROP_CACHES, PAGES) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return rejected("--drop-caches needs root; run as root, or remove it");
            }
            written => written.map_err(failed("write", Path::new(DROP_CACHES)))?,
        }
        note(Method::DropCaches);
    }
    if let Some(directory) = options.scratch.as_ref().filter(|_| !is_cold()) {
        let scratch = scratch_file(directory)?;
        read_until(&scratch, || cancel.is_cancelled() || is_cold()).map_err(failed("read", directory))?;
        note(Method::ScratchFile);
    }
    Ok(DroppedCache { targets: dropped })
}

/// Drops the page cache of this machine, and its names and facts of files; dirty ones stay. Pages go first, and a journal holds
/// those of inode tables until it is asked after them. So both go twice.
pub(super) fn drop_everything() -> io::Result<()> {
    (0..2).try_for_each(|_| std::fs::write(DROP_CACHES, EVERYTHING))
}

/// Whether this process may do so.
pub(super) fn may_drop_everything() -> bool {
    File::options().write(true).open(DROP_CACHES).is_ok()
}

/// A sparse file without a name: reading its holes fills the page cache, but takes no space on the medium.
fn scratch_file(directory: &Path) -> Result<File, TargetError> {
    let failed = |source| failed("create a scratch file in", directory)(source);
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(
        rustix::fs::openat(CWD, directory, flags, Mode::RUSR | Mode::WUSR).map_err(|error| failed(error.into()))?,
    );
    if filesystem::mount_of(directory).is_some_and(|mount| filesystem::is_memory(&mount.kind)) {
        let directory = directory.display();
        return rejected(format!(
            "{directory} is in memory, so a scratch file there evicts nothing; name a directory on a disk"
        ));
    }
    let memory = rustix::system::sysinfo();
    file.set_len(memory.totalram as u64 * u64::from(memory.mem_unit)).map_err(failed)?;
    Ok(file)
}

/// Reads a file from start to end, until `is_enough`.
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
