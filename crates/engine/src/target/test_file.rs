//! The test file that a run creates in a directory and removes afterwards.
//!
//! It gets a new name, never replaces a file and never follows a link. Incompressible bytes fill it, so that no layer below can
//! compress it away. It is removed only while its name still leads to the created file, and stays open until then, so that its
//! number is not reused. If the file system has files without a name, its identity is known before it has a name, so a killed
//! program leaves no unidentified file.

use super::error::TargetError;
use super::file_id::pin;
use super::open::Target;
use super::own_entries;
use crate::buffers::Buffers;
use halfpower_model::random::Random;
use halfpower_model::{Bytes, Cancel, Data};
use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FileType, Mode, OFlags, fallocate, fstat, linkat, openat, statat, unlinkat,
};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use super::file_id::{FileId, Sameness};

/// Bytes written at a time.
const CHUNK: usize = 4 << 20;

/// A test file.
#[derive(Debug)]
pub struct TestFile {
    path: PathBuf,
    /// Open as long as the file exists.
    pinned: File,
}

/// What a run made in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestKind {
    /// A file.
    File,
    /// A directory of small files.
    Tree,
}

/// A test file that has no name yet; dropped, it is removed.
#[derive(Debug)]
pub struct Nameless {
    folder: OwnedFd,
    file: File,
    directory: PathBuf,
}

/// Paths of the test files that this process has neither removed nor kept.
static THERE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn there() -> MutexGuard<'static, Vec<PathBuf>> {
    THERE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn strike(path: &Path) {
    there().retain(|other| other != path);
}

/// Paths of the test files that this process would leave behind if it ended now.
pub fn still_there() -> Vec<PathBuf> {
    there().clone()
}

impl TestFile {
    /// Creates an empty file `name` in `directory`, for this user only. It is removed when the value is dropped.
    ///
    /// # Errors
    /// If the directory cannot be written or the name exists.
    pub fn create(directory: &Path, name: impl AsRef<Path>) -> Result<TestFile, TargetError> {
        let fail = |error: rustix::io::Errno| TargetError::from_io("write", directory, error.into());
        let folder = rustix::fs::open(directory, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(fail)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
        let name = name.as_ref();
        let file = openat(&folder, name, flags, Mode::RUSR | Mode::WUSR).map_err(|error| match error {
            // The name exists: a dangling link, or a new file.
            rustix::io::Errno::EXIST => taken(&directory.join(name), error),
            error => fail(error),
        })?;
        Ok(TestFile::listed(directory.join(name), file.into()))
    }

    pub(super) fn listed(path: PathBuf, pinned: File) -> TestFile {
        there().push(path.clone());
        TestFile { path, pinned }
    }

    /// Creates an empty file at `path`, as [`create`](Self::create) does.
    ///
    /// # Errors
    /// If the directory cannot be written or the name exists.
    pub fn create_at(path: &Path) -> Result<TestFile, TargetError> {
        let (directory, name) = split(path)?;
        Self::create(directory, name)
    }

    /// Takes over the test file at `path` if it has this `id`, or is empty if none was recorded: a program may be killed before it
    /// records one. Links are not followed.
    ///
    /// # Errors
    /// If it does not exist, is another file, or is not identified.
    pub fn adopt(path: &Path, id: Option<&FileId>) -> Result<TestFile, TargetError> {
        let pinned = pin(path).map_err(|error| TargetError::from_io("find", path, error))?;
        TestFile::prove(path, pinned, TestKind::File, id)
    }

    /// Takes over what was opened at `path`, by the rule of [`adopt`](Self::adopt).
    pub(super) fn prove(
        path: &Path,
        pinned: File,
        kind: TestKind,
        id: Option<&FileId>,
    ) -> Result<TestFile, TargetError> {
        let fail = |error: io::Error| TargetError::from_io("find", path, error);
        match sameness(&pinned, kind, id).map_err(fail)? {
            Sameness::Same => Ok(TestFile::listed(path.to_owned(), pinned)),
            Sameness::Other => Err(fail(io::Error::other("another file has taken its name"))),
            Sameness::Unproven => Err(fail(io::Error::other("nothing proves that it is the file that was made"))),
        }
    }

    /// Its identity.
    ///
    /// # Errors
    /// When the file system fails.
    pub fn id(&self) -> Result<FileId, TargetError> {
        FileId::of(&self.pinned).map_err(|error| TargetError::from_io("examine", &self.path, error))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fills it with `size` bytes generated from `seed` and flushes them; `progress` gets the number of bytes written.
    ///
    /// # Errors
    /// If the file system is full or fails, or if cancelled.
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

    /// Sets its length without data, for workloads that write it themselves.
    ///
    /// # Errors
    /// If the file system rejects it, or another file has taken its name.
    pub fn stretch(&self, size: Bytes) -> Result<(), TargetError> {
        let failed = |error: io::Error| TargetError::from_io("write", &self.path, error);
        self.open_for_filling().and_then(|file| file.set_len(size.0)).map_err(failed)
    }

    /// Allocates its blocks without data; where the file system cannot, its length alone is set.
    ///
    /// # Errors
    /// If the file system is full or fails, or another file has taken its name.
    pub fn allocate(&self, size: Bytes) -> Result<(), TargetError> {
        let allocate = |file: File| match fallocate(&file, FallocateFlags::empty(), 0, size.0) {
            Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(size.0),
            done => Ok(done?),
        };
        self.open_for_filling().and_then(allocate).map_err(|error| TargetError::from_io("write", &self.path, error))
    }

    /// Opens it as a target, for reading and writing.
    ///
    /// # Errors
    /// When another file has taken its name; links are not followed.
    pub fn open(&self) -> Result<Target, TargetError> {
        let fail = |error: io::Error| TargetError::from_io("open", &self.path, error);
        Target::of_file(&self.path, self.reopen(OFlags::empty()).map_err(fail)?)
    }

    /// Opens it by its name, if the name still leads to it.
    fn reopen(&self, flags: OFlags) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | flags;
        let file = File::from(rustix::fs::open(&self.path, flags, Mode::empty())?);
        if is_one_inode(&fstat(&file)?, &fstat(&self.pinned)?) {
            return Ok(file);
        }
        Err(io::Error::other("another file has taken its name"))
    }

    /// With direct I/O if possible, so that filling does not fill the page cache; else buffered.
    fn open_for_filling(&self) -> io::Result<File> {
        self.reopen(OFlags::DIRECT).or_else(|_| self.reopen(OFlags::empty()))
    }

    /// Removes it now, also from a directory that was renamed meanwhile.
    ///
    /// # Errors
    /// When it cannot be removed or found, or another file has taken its name.
    pub fn remove(self) -> Result<(), TargetError> {
        let result = remove(&self.path, &self.pinned);
        self.keep();
        result
    }

    /// The open file.
    pub(super) fn pinned(&self) -> &File {
        &self.pinned
    }

    /// The open file, a second descriptor of it.
    pub(super) fn file(&self) -> Result<File, TargetError> {
        self.pinned.try_clone().map_err(|error| TargetError::from_io("open", &self.path, error))
    }

    /// Leaves the file at its path, which it returns.
    pub fn keep(mut self) -> PathBuf {
        strike(&self.path);
        std::mem::take(&mut self.path)
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        if self.path.as_os_str().is_empty() {
            return;
        }
        // A file that cannot be removed stays.
        let _ = remove(&self.path, &self.pinned);
        strike(&self.path);
    }
}

impl Nameless {
    /// Creates an empty file in `directory`, for this user only; none if the file system has no files without a name.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn create(directory: &Path) -> Result<Option<Nameless>, TargetError> {
        let fail = |error: rustix::io::Errno| TargetError::from_io("write", directory, error.into());
        let folder = rustix::fs::open(directory, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(fail)?;
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match openat(&folder, ".", flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => Ok(Some(Nameless { folder, file: file.into(), directory: directory.to_owned() })),
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR | rustix::io::Errno::INVAL) => Ok(None),
            Err(error) => Err(fail(error)),
        }
    }

    pub(super) fn into_file(self) -> File {
        self.file
    }

    /// Its identity, also after it has a name.
    ///
    /// # Errors
    /// When the file system fails.
    pub fn id(&self) -> Result<FileId, TargetError> {
        FileId::of(&self.file).map_err(|error| TargetError::from_io("examine", &self.directory, error))
    }

    /// Gives it a new name.
    ///
    /// # Errors
    /// If the name exists, or the file system rejects it.
    pub fn name(self, name: impl AsRef<Path>) -> Result<TestFile, TargetError> {
        let path = self.directory.join(&name);
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, own, &self.folder, name.as_ref(), AtFlags::SYMLINK_FOLLOW).map_err(|error| taken(&path, error))?;
        Ok(TestFile::listed(path, self.file))
    }
}

/// Whether a file or directory at the path of one that was made is that one: it has this `id`, or is empty if none was
/// recorded.
fn sameness(file: &File, kind: TestKind, id: Option<&FileId>) -> io::Result<Sameness> {
    let status = fstat(file)?;
    let found = FileType::from_raw_mode(status.st_mode);
    match (kind, id) {
        (TestKind::File, _) if found != FileType::RegularFile => Ok(Sameness::Other),
        (TestKind::Tree, _) if found != FileType::Directory => Ok(Sameness::Other),
        (_, Some(id)) => Ok(id.compare(&FileId::of(file)?)),
        (TestKind::File, None) if status.st_size == 0 => Ok(Sameness::Same),
        (TestKind::Tree, None) if own_entries::is_empty(file)? => Ok(Sameness::Same),
        (_, None) => Ok(Sameness::Unproven),
    }
}

/// Whether what is at a path is the test file or tree of this `id`, by the rule of [`TestFile::adopt`].
///
/// # Errors
/// If there is no file, or it cannot be examined.
pub fn is_at(path: &Path, kind: TestKind, id: Option<&FileId>) -> io::Result<Sameness> {
    sameness(&pin(path)?, kind, id)
}

/// Fills an open file from its start, as [`TestFile::fill`]; messages name `path`.
///
/// # Errors
/// If the file system is full or fails, or if cancelled.
pub fn fill(
    path: &Path,
    file: &File,
    size: Bytes,
    seed: u64,
    cancel: &Cancel,
    mut progress: impl FnMut(Bytes),
) -> Result<(), TargetError> {
    let failed = |error: io::Error| TargetError::from_io("write", path, error);
    // Space is reserved first, so that a full file system fails at once. Not every file system can. The length grows with the
    // writes, so an incompletely filled file is recognised.
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

/// The error for an existing name.
pub(super) fn taken(path: &Path, error: rustix::io::Errno) -> TargetError {
    match std::fs::read_link(path) {
        Ok(leads) if !path.exists() => TargetError::Rejected(format!(
            "{} is a symbolic link to {}, which does not exist; name that file itself, or remove the link",
            path.display(),
            leads.display()
        )),
        _ => TargetError::from_io("make", path, error.into()),
    }
}

/// A path's directory and name.
fn split(path: &Path) -> Result<(&Path, &std::ffi::OsStr), TargetError> {
    let directory = path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
    directory
        .zip(path.file_name())
        .ok_or_else(|| TargetError::from_io("find the directory of", path, io::ErrorKind::InvalidInput.into()))
}

/// Removes an open file, or an open directory with what the run made in it, by its name; one without a name is no error.
fn remove(path: &Path, pinned: &File) -> Result<(), TargetError> {
    let fail = |error: io::Error| TargetError::from_io("remove", path, error);
    if is_directory(pinned).map_err(fail)? {
        own_entries::remove_below(pinned).map_err(fail)?;
    }
    let Err(error) = remove_at(path, pinned) else { return Ok(()) };
    let links = fstat(pinned).map_or(1, |status| status.st_nlink);
    if links == 0 {
        return Ok(());
    }
    if error.kind() == io::ErrorKind::DirectoryNotEmpty {
        let path = path.display();
        return Err(TargetError::Rejected(format!(
            "{path} holds something that Halfpower did not make; move that elsewhere, then remove the directory"
        )));
    }
    if error.kind() != io::ErrorKind::NotFound {
        return Err(fail(error));
    }
    // If its directory was renamed, the kernel has its new path.
    let now = std::fs::read_link(format!("/proc/self/fd/{}", pinned.as_raw_fd())).map_err(fail)?;
    if now.file_name() == path.file_name() && remove_at(&now, pinned).is_ok() {
        return Ok(());
    }
    Err(fail(io::Error::other(format!("it was moved and exists as {}", now.display()))))
}

fn remove_at(path: &Path, pinned: &File) -> io::Result<()> {
    let (directory, name) = split(path).map_err(io::Error::other)?;
    let folder = rustix::fs::open(directory, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    if !is_one_inode(&statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?, &fstat(pinned)?) {
        return Err(io::Error::other("another file has taken its name"));
    }
    Ok(unlinkat(&folder, name, if is_directory(pinned)? { AtFlags::REMOVEDIR } else { AtFlags::empty() })?)
}

fn is_directory(file: &File) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode) == FileType::Directory)
}

/// Whether two names lead to one file. One of them is open, so its number has not been reused.
fn is_one_inode(one: &rustix::fs::Stat, other: &rustix::fs::Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
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
            // The last part may be less than a block, which direct I/O rejects: it is written through the cache.
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
    fn another_file_with_its_name_is_not_opened() {
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
    fn it_is_removed_from_a_directory_that_was_renamed() {
        let directory = tempfile::tempdir().unwrap();
        let [before, after] = ["before", "after"].map(|name| directory.path().join(name));
        std::fs::create_dir(&before).unwrap();
        let file = TestFile::create(&before, "t").unwrap();
        std::fs::rename(&before, &after).unwrap();
        file.remove().unwrap();
        assert_eq!(std::fs::read_dir(&after).unwrap().count(), 0);
        // A file that the user moved is kept.
        let file = TestFile::create(&after, "t").unwrap();
        std::fs::rename(file.path(), after.join("mine")).unwrap();
        let message = file.remove().unwrap_err().to_string();
        assert!(after.join("mine").exists() && message.contains("cannot remove"), "{message}");
    }

    #[test]
    fn one_that_was_removed_meanwhile_is_no_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = TestFile::create(directory.path(), "t").unwrap();
        std::fs::remove_file(file.path()).unwrap();
        std::fs::write(file.path(), "somebody's").unwrap();
        let path = file.path().to_owned();
        file.remove().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "somebody's");
    }

    #[test]
    fn one_that_is_allocated_has_its_length_and_no_data() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let file = TestFile::create(directory.path(), "t").unwrap();
        file.allocate(Bytes(1 << 20)).unwrap();
        let target = file.open().unwrap();
        assert_eq!(target.facts().size_bytes, Bytes(1 << 20));
        assert!((target.hole_share(Bytes(1 << 20)) - 1.0).abs() < 1e-9);
        assert!(std::fs::read(file.path()).unwrap().iter().all(|byte| *byte == 0));
    }

    #[test]
    fn its_identity_is_known_before_it_has_a_name() {
        let directory = tempfile::tempdir().unwrap();
        let Some(nameless) = Nameless::create(directory.path()).unwrap() else {
            eprintln!("skipped: this file system has no files without a name");
            return;
        };
        let id = nameless.id().unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        let file = nameless.name("t").unwrap();
        assert_eq!(file.id().unwrap(), id);
        let path = file.keep();
        assert_eq!(is_at(&path, TestKind::File, Some(&id)).unwrap(), Sameness::Same);
        assert!(
            Nameless::create(directory.path()).unwrap().unwrap().name("t").is_err(),
            "an existing file is never taken"
        );
        TestFile::adopt(&path, Some(&id)).unwrap().remove().unwrap();
        std::fs::write(&path, "somebody's").unwrap();
        let message = TestFile::adopt(&path, Some(&id)).unwrap_err().to_string();
        assert!(message.contains("cannot find"), "{message}");
        assert!(TestFile::adopt(&path, None).is_err(), "it holds something");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "somebody's");
    }

    #[test]
    fn a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/nowhere", directory.path().join("t")).unwrap();
        let message = TestFile::create(directory.path(), "t").unwrap_err().to_string();
        assert!(message.contains("t is a symbolic link to /nowhere, which does not exist"), "{message}");
    }
}
