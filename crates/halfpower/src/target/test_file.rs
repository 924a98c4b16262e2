//! A test file that is recorded in the store, so that it is found again after a crash.

use crate::store::{self, RunId, Store, TestFileId};
use halfpower_engine::TargetError;
use halfpower_engine::test_file::{FileId, Nameless, TestFile};
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
        let mut salt = u64::from(std::process::id()) ^ (jiff::Timestamp::now().as_nanosecond() as u64);
        let name = store::TestFile::name_of(random::split_mix(&mut salt));
        let path = directory.join(&name);
        let home = FileId::at(directory).map_err(|error| TargetError::from_io("examine", directory, error))?;
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
    pub(crate) fn adopt(store: &mut Store, left: &store::TestFile) -> anyhow::Result<Self> {
        anyhow::ensure!(
            store.take_test_file(left.id)?,
            "{} is in use by another process; wait until that ends",
            left.path.display()
        );
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
