//! The test file a run makes in a directory, and takes away again.
//!
//! It is made under a new name (never over an existing file, never through a link), filled with incompressible bytes
//! so that no layer below can store it as nothing, and removed only while its name still leads to the very file made.

use super::{Target, TargetError};
use crate::worker::buffers::Buffers;
use halfpower_model::random::Random;
use halfpower_model::{Bytes, Cancel, Data};
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, fallocate, fstat, openat, statat, unlinkat};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes written at a time.
const CHUNK: usize = 4 << 20;

/// A file of our own.
#[derive(Debug)]
pub struct TestFile {
    path: PathBuf,
    identity: Identity,
}

/// What tells a file from any other that comes to bear its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    /// Number of the file system.
    device: u64,
    /// Number of the file on it.
    inode: u64,
}

/// Where test files lie that this process has yet to remove or to leave to the user.
static THERE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn there() -> MutexGuard<'static, Vec<PathBuf>> {
    THERE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn strike(path: &Path) {
    there().retain(|other| other != path);
}

/// Where test files lie that this process would leave behind if it ended now.
pub fn still_there() -> Vec<PathBuf> {
    there().clone()
}

impl TestFile {
    /// Makes an empty file `name` in `directory`, for this user only. It is removed when the value is dropped.
    ///
    /// # Errors
    /// When the directory cannot be written or the name is taken.
    pub fn create(directory: &Path, name: impl AsRef<Path>) -> Result<TestFile, TargetError> {
        let fail = |error: rustix::io::Errno| TargetError::from_io("write", directory, error.into());
        let folder = rustix::fs::open(directory, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(fail)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
        let name = name.as_ref();
        let file = openat(&folder, name, flags, Mode::RUSR | Mode::WUSR).map_err(|error| match error {
            // Something bears the name after all: a link that leads nowhere, or what was made a moment ago.
            rustix::io::Errno::EXIST => TargetError::from_io("make", &directory.join(name), error.into()),
            error => fail(error),
        })?;
        let status = fstat(&file).map_err(fail)?;
        let identity = Identity { device: status.st_dev, inode: status.st_ino };
        Ok(TestFile::listed(directory.join(name), identity))
    }

    fn listed(path: PathBuf, identity: Identity) -> TestFile {
        there().push(path.clone());
        TestFile { path, identity }
    }

    /// Makes an empty file at `path`, as [`create`](Self::create) does.
    ///
    /// # Errors
    /// When the directory cannot be written or the name is taken.
    pub fn create_at(path: &Path) -> Result<TestFile, TargetError> {
        let (directory, name) = split(path)?;
        Self::create(directory, name)
    }

    /// Takes over the file that lies at `path`, which the caller knows to be ours. Links are not followed.
    ///
    /// # Errors
    /// When there is no regular file.
    pub fn adopt(path: &Path) -> Result<TestFile, TargetError> {
        let fail = |error: io::Error| TargetError::from_io("find", path, error);
        let status = rustix::fs::lstat(path).map_err(|error| fail(error.into()))?;
        if rustix::fs::FileType::from_raw_mode(status.st_mode) != rustix::fs::FileType::RegularFile {
            return Err(fail(io::Error::other("it is no regular file")));
        }
        let identity = Identity { device: status.st_dev, inode: status.st_ino };
        Ok(TestFile::listed(path.to_owned(), identity))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fills it with `size` bytes drawn from `seed` and puts them on the medium; tells `progress` how many are written.
    ///
    /// # Errors
    /// When the file system is full or fails, or `cancel` says so.
    pub fn fill(
        &self,
        size: Bytes,
        seed: u64,
        cancel: &Cancel,
        progress: impl FnMut(Bytes),
    ) -> Result<(), TargetError> {
        let failed = |error: io::Error| TargetError::from_io("write", &self.path, error);
        let file = self.open_for_filling().map_err(failed)?;
        fill(&self.path, &file, size, seed, cancel, progress)
    }

    /// Gives it a length, with nothing stored: for workloads that write it themselves.
    ///
    /// # Errors
    /// When the file system refuses, or another file has taken its name.
    pub fn stretch(&self, size: Bytes) -> Result<(), TargetError> {
        let failed = |error: io::Error| TargetError::from_io("write", &self.path, error);
        self.open_for_filling().and_then(|file| file.set_len(size.0)).map_err(failed)
    }

    /// Opens it as a target, for reading and writing.
    ///
    /// # Errors
    /// When another file has taken its name; links are not followed.
    pub fn open(&self) -> Result<Target, TargetError> {
        let fail = |error: io::Error| TargetError::from_io("open", &self.path, error);
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(&self.path, flags, Mode::empty()).map_err(|error| fail(error.into()))?);
        self.check(&file).map_err(fail)?;
        Target::of_file(&self.path, file)
    }

    /// Whether an open file is this one.
    fn check(&self, file: &File) -> io::Result<()> {
        let status = fstat(file)?;
        if (Identity { device: status.st_dev, inode: status.st_ino }) == self.identity {
            return Ok(());
        }
        Err(io::Error::other("another file has taken its name"))
    }

    /// Direct where it can be, so that filling does not leave the cache full; buffered otherwise.
    fn open_for_filling(&self) -> io::Result<File> {
        let open = |flags: OFlags| {
            rustix::fs::open(&self.path, OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | flags, Mode::empty())
        };
        let file = File::from(open(OFlags::DIRECT).or_else(|_| open(OFlags::empty()))?);
        self.check(&file)?;
        Ok(file)
    }

    /// Removes it now.
    ///
    /// # Errors
    /// When it cannot be removed, or another file has taken its name.
    pub fn remove(self) -> Result<(), TargetError> {
        let result = remove_if_same(&self.path, self.identity);
        strike(&self.path);
        std::mem::forget(self);
        result
    }

    /// Leaves it where it is.
    pub fn keep(self) -> PathBuf {
        let path = self.path.clone();
        strike(&path);
        std::mem::forget(self);
        path
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        // A failure leaves the file for its maker to find.
        let _ = remove_if_same(&self.path, self.identity);
        strike(&self.path);
    }
}

/// Fills an open file from its start; `path` is what messages call it. As [`TestFile::fill`].
///
/// # Errors
/// When the file system is full or fails, or `cancel` says so.
pub fn fill(
    path: &Path,
    file: &File,
    size: Bytes,
    seed: u64,
    cancel: &Cancel,
    mut progress: impl FnMut(Bytes),
) -> Result<(), TargetError> {
    let failed = |error: io::Error| TargetError::from_io("write", path, error);
    // Space is set aside first, so that a full file system says so at once. Not every file system can. The size grows
    // with what is written: a file whose filling was cut off is known by it.
    if let Err(full @ rustix::io::Errno::NOSPC) = fallocate(file, FallocateFlags::KEEP_SIZE, 0, size.0) {
        return Err(failed(full.into()));
    }
    let mut chunk = Buffers::new(1, CHUNK).map_err(failed)?;
    let mut random = Random::new(seed);
    let mut written = 0;
    while written < size.0 {
        if cancel.is_cancelled() {
            return Err(TargetError::Interrupted { path: path.display().to_string() });
        }
        let length = (size.0 - written).min(CHUNK as u64) as usize;
        let bytes = &mut chunk.slot_mut(0, 0)[..length];
        Data::Incompressible.fill(bytes, &mut random);
        write_all(file, bytes, written).map_err(failed)?;
        written += length as u64;
        progress(Bytes(written));
    }
    file.sync_all().map_err(failed)
}

/// A path's directory and name.
fn split(path: &Path) -> Result<(&Path, &std::ffi::OsStr), TargetError> {
    let directory = path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
    directory
        .zip(path.file_name())
        .ok_or_else(|| TargetError::from_io("find the directory of", path, io::ErrorKind::InvalidInput.into()))
}

/// Removes a file if it is the one meant; one that is gone already is no error.
fn remove_if_same(path: &Path, identity: Identity) -> Result<(), TargetError> {
    let fail = |error: io::Error| TargetError::from_io("remove", path, error);
    let (directory, name) = split(path)?;
    let gone =
        |error: rustix::io::Errno| if error == rustix::io::Errno::NOENT { Ok(()) } else { Err(fail(error.into())) };
    let folder = match rustix::fs::open(directory, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
        Ok(folder) => folder,
        Err(error) => return gone(error),
    };
    match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(error) => gone(error),
        Ok(status) if (Identity { device: status.st_dev, inode: status.st_ino }) == identity => {
            unlinkat(&folder, name, AtFlags::empty()).or_else(gone)
        }
        Ok(_) => Err(fail(io::Error::other("another file has taken its name"))),
    }
}

fn write_all(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::pwrite(file, bytes, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(moved) => {
                bytes = &bytes[moved..];
                at += moved as u64;
            }
            Err(rustix::io::Errno::INTR) => {}
            // The last piece of a direct file may not be a whole block: it goes through the cache.
            Err(rustix::io::Errno::INVAL) if rustix::fs::fcntl_getfl(file)?.contains(OFlags::DIRECT) => {
                let flags = rustix::fs::fcntl_getfl(file)?;
                rustix::fs::fcntl_setfl(file, flags - OFlags::DIRECT)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_filled_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let file = TestFile::create(directory.path(), "t").unwrap();
        let size = Bytes(CHUNK as u64 + 1000);
        let mut seen = Vec::new();
        file.fill(size, 1, &Cancel::default(), |written| seen.push(written)).unwrap();
        assert_eq!(seen.last(), Some(&size));
        let bytes = std::fs::read(file.path()).unwrap();
        assert_eq!(bytes.len() as u64, size.0);
        let zeros = bytes.iter().filter(|byte| **byte == 0).count();
        assert!(zeros < bytes.len() / 200, "random bytes are seldom zero: {zeros}");
        assert!(TestFile::create(directory.path(), "t").is_err(), "an existing file is never taken");
        drop(file);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_took_its_name_stays() {
        let directory = tempfile::tempdir().unwrap();
        let file = TestFile::create(directory.path(), "t").unwrap();
        let path = file.path().to_owned();
        std::fs::rename(&path, directory.path().join("moved")).unwrap();
        std::fs::write(&path, "somebody's").unwrap();
        assert!(file.remove().unwrap_err().to_string().contains("cannot remove"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "somebody's");
    }

    #[test]
    fn what_took_its_name_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let file = TestFile::create(directory.path(), "t").unwrap();
        file.fill(Bytes(4096), 1, &Cancel::default(), |_| {}).unwrap();
        assert_eq!(file.open().unwrap().facts().size_bytes, Bytes(4096));
        let victim = directory.path().join("victim");
        std::fs::write(&victim, "somebody's").unwrap();
        std::fs::rename(file.path(), directory.path().join("moved")).unwrap();
        std::fs::copy(&victim, file.path()).unwrap();
        assert!(file.open().is_err(), "another file");
        std::fs::remove_file(file.path()).unwrap();
        std::os::unix::fs::symlink(&victim, file.path()).unwrap();
        assert!(file.open().is_err(), "a link");
    }

    #[test]
    fn a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/nowhere", directory.path().join("t")).unwrap();
        assert!(TestFile::create(directory.path(), "t").is_err());
    }

    #[test]
    fn cancelling_ends_the_filling() {
        let directory = tempfile::tempdir().unwrap();
        let file = TestFile::create(directory.path(), "t").unwrap();
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(file.fill(Bytes(CHUNK as u64), 1, &cancel, |_| {}).is_err());
    }
}
