//! Facts of a directory before a test file is created in it: space, file system, direct I/O, whether its cache can be dropped.
//! Examined with a file without a name, which ends when it is closed.

use super::error::TargetError;
use super::facts::{Access, describe_open};
use super::open::{needs_proc, refuse_made_up};
use super::test_file::{Nameless, TestFile};
use crate::system::cache;
use crate::system::filesystem;
use halfpower_model::{Bytes, TargetFacts};
use rustix::fs::{Mode, OFlags, fstatvfs};
use std::fs::File;
use std::io;
use std::path::Path;

/// Bytes written, to test whether they can be dropped from the page cache.
const PROBE: usize = 1 << 20;

/// Facts of a directory.
#[derive(Clone, Debug)]
pub struct DirectoryFacts {
    /// Facts of a file in it; its size is that of the probe.
    pub facts: TargetFacts,
    /// Free space for this user.
    pub free_bytes: Bytes,
    /// Whether a file can be dropped from the page cache; none if unknown.
    pub cache_can_be_emptied: Option<bool>,
}

impl DirectoryFacts {
    /// Examines a directory.
    ///
    /// # Errors
    /// If it does not exist, is no directory, or cannot be written.
    pub fn of(directory: &Path) -> Result<DirectoryFacts, TargetError> {
        needs_proc()?;
        let fail = |error: io::Error| TargetError::from_io("write", directory, error);
        let folder = rustix::fs::open(directory, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| fail(error.into()))?;
        refuse_made_up(directory)?;
        // A file there comes from a wrong device name.
        if filesystem::mount_of(directory).is_some_and(|mount| filesystem::is_among_devices(&mount.kind)) {
            return Err(TargetError::Rejected(format!(
                "{} is where devices have their names (devtmpfs), and a file made there would be in memory; check the \
                 device's name, or name a directory on a disk",
                directory.display()
            )));
        }
        let space = fstatvfs(&folder).map_err(|error| fail(error.into()))?;
        let free_bytes = Bytes(space.f_bavail.saturating_mul(space.f_frsize));
        let (file, probe) = match Nameless::create(directory)? {
            Some(nameless) => (nameless.into_file(), None),
            // It keeps its name for now: 9p cannot open a file again that has none.
            None => {
                let probe = TestFile::create(directory, format!("halfpower-probe-{}", std::process::id()))?;
                (probe.file()?, Some(probe))
            }
        };
        // A file system with less room than the probe still has facts.
        let written = rustix::io::pwrite(&file, &vec![1; PROBE], 0);
        let (facts, _) = describe_open(directory, &file, Access::Overwrite)?;
        let cache_can_be_emptied = written.is_ok().then(|| empties(&file)).flatten();
        probe.map_or(Ok(()), TestFile::remove)?;
        Ok(DirectoryFacts { facts, free_bytes, cache_can_be_emptied })
    }
}

fn empties(file: &File) -> Option<bool> {
    let span = Bytes(PROBE as u64);
    cache::make_cold(file, span).ok()?;
    cache::cached_share(file, span).map(|share| share < 0.01)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_examined_and_left_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let found = DirectoryFacts::of(directory.path()).unwrap();
        assert!(found.free_bytes.0 > 0 && found.facts.filesystem.is_some());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
