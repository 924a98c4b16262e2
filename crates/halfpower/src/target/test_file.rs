//! Test files and directories of small files that are recorded in the store, so that they are found again after a crash.

use crate::store::{self, RunId, Store, TestFileId};
use halfpower_engine::test_file::{FileId, Nameless, TestFile, TestKind};
use halfpower_engine::{TargetError, TestTree};
use halfpower_model::{Bytes, random};
use std::path::Path;

/// A test file in the store's list.
pub(crate) struct KeptTestFile {
    pub(super) file: TestFile,
    id: TestFileId,
}

impl KeptTestFile {
    /// Creates an empty one under a new name, recorded in the store before it exists.
    pub(super) fn make(directory: &Path, size: Bytes, store: &mut Store, run: RunId) -> anyhow::Result<Self> {
        let (name, home) = (new_name(TestKind::File), home_of(directory)?);
        let path = directory.join(&name);
        let nameless = Nameless::create(directory)?;
        let known = nameless.as_ref().map(Nameless::id).transpose()?;
        let id = store.note_test_file(run, &path, size, known.as_ref(), &home)?;
        let made = match nameless {
            Some(file) => file.name(&name),
            None => TestFile::create_at(&path),
        };
        let file = match made {
            Ok(file) => file,
            Err(error) => {
                store.test_file_removed(id)?;
                return Err(error.into());
            }
        };
        if known.is_none() {
            store.test_file_is(id, &file.id()?)?;
        }
        Ok(KeptTestFile { file, id })
    }

    /// Adopts the test file of a killed run, which the store has identified.
    ///
    /// # Errors
    /// If it is gone, or another process has adopted it.
    pub(super) fn adopt(store: &mut Store, left: &store::TestFile) -> anyhow::Result<Self> {
        take(store, left)?;
        Ok(KeptTestFile { file: TestFile::adopt(&left.path, left.file.as_ref())?, id: left.id })
    }

    /// Removes it, and its record in the store.
    ///
    /// # Errors
    /// If it cannot be removed; its record then stays.
    pub(crate) fn remove(self, store: &mut Store) -> anyhow::Result<()> {
        self.file.remove()?;
        Ok(store.test_file_removed(self.id)?)
    }
}

/// A directory of small files in the store's list.
pub(crate) struct KeptTestTree {
    pub(crate) tree: TestTree,
    id: TestFileId,
}

impl KeptTestTree {
    /// Creates an empty one under a new name, recorded in the store before it exists; `size` is that of the files to come.
    ///
    /// # Errors
    /// If it cannot be created or recorded; then none stays.
    pub(crate) fn make(directory: &Path, size: Bytes, store: &mut Store, run: RunId) -> anyhow::Result<Self> {
        let (name, home) = (new_name(TestKind::Tree), home_of(directory)?);
        let id = store.note_test_file(run, &directory.join(&name), size, None, &home)?;
        let tree = match TestTree::create(directory, &name) {
            Ok(tree) => tree,
            Err(error) => {
                store.test_file_removed(id)?;
                return Err(error.into());
            }
        };
        store.test_file_is(id, &tree.id()?)?;
        Ok(KeptTestTree { tree, id })
    }

    /// Removes it with its files, and its record in the store.
    ///
    /// # Errors
    /// If it cannot be removed; its record then stays.
    pub(crate) fn remove(self, store: &mut Store) -> anyhow::Result<()> {
        self.tree.remove()?;
        Ok(store.test_file_removed(self.id)?)
    }
}

/// Removes what a killed run left, and its record in the store.
///
/// # Errors
/// If it is gone, another process has adopted it, or it cannot be removed; its record then stays.
pub(super) fn remove_left(store: &mut Store, left: &store::TestFile) -> anyhow::Result<()> {
    if left.kind() == TestKind::File {
        return KeptTestFile::adopt(store, left)?.remove(store);
    }
    take(store, left)?;
    KeptTestTree { tree: TestTree::adopt(&left.path, left.file.as_ref())?, id: left.id }.remove(store)
}

/// Claims what a killed run left for this process.
fn take(store: &mut Store, left: &store::TestFile) -> anyhow::Result<()> {
    let is_ours = store.take_test_file(left.id)?;
    anyhow::ensure!(is_ours, "{} is in use by another process; wait until that ends", left.path.display());
    Ok(())
}

/// A name for many small files that no run has given before.
pub(crate) fn new_tree_name() -> String {
    new_name(TestKind::Tree)
}

fn new_name(kind: TestKind) -> String {
    let mut salt = u64::from(std::process::id()) ^ (jiff::Timestamp::now().as_nanosecond() as u64);
    store::TestFile::name_of(kind, random::split_mix(&mut salt))
}

/// The identity of the directory of a test file.
fn home_of(directory: &Path) -> Result<FileId, TargetError> {
    FileId::at(directory).map_err(|error| TargetError::from_io("examine", directory, error))
}
