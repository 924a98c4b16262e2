//! The directory of many small files that a run creates and removes afterwards.
//!
//! As a [test file](super::test_file) it has a new name, never replaces anything, and is removed only while its name leads to
//! it, with what the run made in it and nothing else.

use super::error::TargetError;
use super::own_entries::{DIRECTORY, remove_below};
use super::test_file::{FileId, TestFile, TestKind, taken};
use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// A directory of test files; dropped, it is removed with them.
#[derive(Debug)]
pub struct TestTree(TestFile);

impl TestTree {
    /// Creates an empty directory `name` in `directory`, for this user only.
    ///
    /// # Errors
    /// If the directory cannot be written or the name exists.
    pub fn create(directory: &Path, name: &str) -> Result<TestTree, TargetError> {
        let fail = |error: Errno| TargetError::from_io("write", directory, error.into());
        let folder = rustix::fs::open(directory, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(fail)?;
        let path = directory.join(name);
        mkdirat(&folder, name, Mode::RWXU).map_err(|error| match error {
            Errno::EXIST => taken(&path, error),
            error => fail(error),
        })?;
        let made = openat(&folder, name, DIRECTORY, Mode::empty()).map_err(fail)?;
        Ok(TestTree(TestFile::listed(path, File::from(made))))
    }

    /// Takes over the directory at `path` if it has this `id`, or is empty if none was recorded.
    ///
    /// # Errors
    /// If it does not exist, is another one, or is not identified.
    pub fn adopt(path: &Path, id: Option<&FileId>) -> Result<TestTree, TargetError> {
        let opened = rustix::fs::open(path, DIRECTORY, Mode::empty());
        let opened = opened.map_err(|error| TargetError::from_io("find", path, error.into()))?;
        TestFile::prove(path, File::from(opened), TestKind::Tree, id).map(TestTree)
    }

    /// Its identity.
    ///
    /// # Errors
    /// When the file system fails.
    pub fn id(&self) -> Result<FileId, TargetError> {
        self.0.id()
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The open directory.
    pub(crate) fn folder(&self) -> BorrowedFd<'_> {
        self.0.pinned().as_fd()
    }

    /// Removes everything in it that the run made.
    ///
    /// # Errors
    /// When the file system fails.
    pub fn empty(&self) -> Result<(), TargetError> {
        remove_below(self.folder()).map_err(|error| TargetError::from_io("remove the files of", self.path(), error))
    }

    /// Removes it now.
    ///
    /// # Errors
    /// When it cannot be removed or found, holds what the run did not make, or another one has taken its name.
    pub fn remove(self) -> Result<(), TargetError> {
        self.0.remove()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::test_file::{Sameness, is_at, still_there};
    use std::fs;
    use std::os::unix::fs::symlink;

    const NAME: &str = "halfpower-0123456789abcdef.files";

    #[test]
    fn it_is_removed_with_what_the_run_made_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let tree = TestTree::create(directory.path(), NAME).unwrap();
        let path = tree.path().to_owned();
        assert!(TestTree::create(directory.path(), NAME).is_err(), "an existing name is never taken");
        fs::create_dir_all(path.join("w0/d1")).unwrap();
        fs::write(path.join("w0/d1/f2"), "ours").unwrap();
        let outside = directory.path().join("outside");
        fs::create_dir_all(outside.join("d0")).unwrap();
        fs::write(outside.join("d0/f0"), "somebody's").unwrap();
        symlink(&outside, path.join("w1")).unwrap();
        symlink(outside.join("d0"), path.join("w0/d2")).unwrap();
        symlink(outside.join("d0/f0"), path.join("w0/d1/f3")).unwrap();
        fs::write(path.join("w0/notes"), "somebody's").unwrap();
        let message = tree.remove().unwrap_err().to_string();
        assert!(message.contains("did not make"), "{message}");
        assert_eq!(fs::read_to_string(outside.join("d0/f0")).unwrap(), "somebody's");
        assert!(!path.join("w0/d1/f2").exists() && path.join("w0/notes").exists() && path.join("w1").is_symlink());
        for theirs in ["w0/notes", "w1", "w0/d2", "w0/d1/f3"] {
            fs::remove_file(path.join(theirs)).unwrap();
        }
        TestTree::adopt(&path, Some(&FileId::at(&path).unwrap())).unwrap().remove().unwrap();
        assert!(!path.exists() && outside.join("d0/f0").exists());
    }

    #[test]
    fn it_is_removed_when_it_is_dropped_and_listed_until_then() {
        let directory = tempfile::tempdir().unwrap();
        let tree = TestTree::create(directory.path(), NAME).unwrap();
        let path = tree.path().to_owned();
        fs::create_dir(path.join("w0")).unwrap();
        assert!(still_there().contains(&path));
        drop(tree);
        assert!(!path.exists() && !still_there().contains(&path));
    }

    #[test]
    fn only_the_one_that_was_made_is_taken_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        fs::create_dir(&path).unwrap();
        let id = FileId::at(&path).unwrap();
        assert_eq!(is_at(&path, TestKind::Tree, Some(&id)).unwrap(), Sameness::Same);
        assert_eq!(
            is_at(&path, TestKind::Tree, None).unwrap(),
            Sameness::Same,
            "killed before it was known which it is"
        );
        fs::create_dir(path.join("w0")).unwrap();
        assert_eq!(is_at(&path, TestKind::Tree, None).unwrap(), Sameness::Unproven);
        fs::rename(&path, directory.path().join("elsewhere")).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(TestTree::adopt(&path, Some(&id)).is_err(), "another one has its name");
        fs::remove_dir(&path).unwrap();
        symlink(directory.path().join("elsewhere"), &path).unwrap();
        assert!(TestTree::adopt(&path, Some(&id)).is_err(), "a link");
        assert!(directory.path().join("elsewhere/w0").exists());
    }
}
