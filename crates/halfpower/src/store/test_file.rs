//! Test files: what a run made and has to remove, so that the next start finds what a killed one left behind.
//!
//! A file is noted before it is made and known by device and inode once it is: what lies at its path is offered for
//! removal only if it is that very file. A path that somebody else has used since is struck off and left alone.

use super::Store;
use super::error::{During, StoreError};
use super::run::RunId;
use halfpower_model::Bytes;
use jiff::{SignedDuration, Timestamp};
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The number of a test file in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TestFileId(i64);

/// A test file that is still there, whose process is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestFile {
    /// Its number.
    pub id: TestFileId,
    /// The run it was made for, while the store has it.
    pub run: Option<RunId>,
    /// Where it is.
    pub path: PathBuf,
    /// The size it was to have.
    pub bytes: Bytes,
    /// When it was noted.
    pub noted_at: Timestamp,
}

/// Which file it is.
#[derive(Clone, Copy, Debug)]
struct Made {
    device: u64,
    inode: u64,
    at: Timestamp,
}

/// The file system's clock may be this far off ours.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_secs(2);

impl Store {
    /// Notes a test file that is about to be made, and claims it for this process.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn note_test_file(&mut self, path: &Path, bytes: Bytes) -> Result<TestFileId, StoreError> {
        let path = std::path::absolute(path).map_err(|source| StoreError::File {
            action: "find",
            path: path.into(),
            source,
        })?;
        let transaction = self.connection.transaction().during("note a test file")?;
        transaction
            .execute(
                "INSERT INTO test_files (path, bytes, noted_at) VALUES (?, ?, ?)",
                (path.as_os_str().as_bytes(), bytes.0.cast_signed(), Timestamp::now().to_string()),
            )
            .during("note a test file")?;
        let id = TestFileId(transaction.last_insert_rowid());
        let claimed = self.claims.take(&id.claim());
        claimed.map_err(|source| self.claims.error("claim", &id.claim(), source))?;
        transaction.commit().during("note a test file")?;
        Ok(id)
    }

    /// Writes down which file it is, right after it was made.
    ///
    /// # Errors
    /// When the file is not there, or it cannot be written.
    pub(crate) fn test_file_made(&mut self, id: TestFileId) -> Result<(), StoreError> {
        let path: Vec<u8> = self
            .connection
            .query_row("SELECT path FROM test_files WHERE id = ?", (id.0,), |row| row.get(0))
            .during("find a test file")?;
        let path = PathBuf::from(OsString::from_vec(path));
        let facts = std::fs::symlink_metadata(&path).map_err(|source| StoreError::File {
            action: "look at the test file",
            path,
            source,
        })?;
        self.connection
            .execute(
                "UPDATE test_files SET device = ?, inode = ?, made_at = ? WHERE id = ?",
                (facts.dev().cast_signed(), facts.ino().cast_signed(), Timestamp::now().to_string(), id.0),
            )
            .during("note a test file")?;
        Ok(())
    }

    /// Says which run the file was made for.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn test_file_is_for(&mut self, id: TestFileId, run: RunId) -> Result<(), StoreError> {
        let sql = "UPDATE test_files SET run_id = ? WHERE id = ?";
        self.connection.execute(sql, (run.0, id.0)).during("note a test file").map(|_| ())
    }

    /// Claims a file that was left for this process; false when another was quicker.
    ///
    /// # Errors
    /// When the claim cannot be looked at.
    pub(crate) fn take_test_file(&mut self, id: TestFileId) -> Result<bool, StoreError> {
        let taken = self.claims.take(&id.claim());
        taken.map_err(|source| self.claims.error("claim", &id.claim(), source))
    }

    /// Strikes a file off, once it was removed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn test_file_removed(&mut self, id: TestFileId) -> Result<(), StoreError> {
        self.connection
            .execute("UPDATE test_files SET removed_at = ? WHERE id = ?", (Timestamp::now().to_string(), id.0))
            .during("strike off a test file")?;
        self.claims.release(&id.claim());
        Ok(())
    }

    /// The test files that are still there and whose process is not. Those that are gone are struck off.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn test_files_left(&mut self) -> Result<Vec<TestFile>, StoreError> {
        let mut left = Vec::new();
        for (file, made) in self.noted_test_files()? {
            let claim = file.id.claim();
            let taken = self.claims.is_taken(&claim);
            if taken.map_err(|source| self.claims.error("look at", &claim, source))? {
                continue;
            }
            match std::fs::symlink_metadata(&file.path) {
                Ok(facts) if file.is_described_by(&facts, made) => left.push(file),
                Ok(_) => self.test_file_removed(file.id)?,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => self.test_file_removed(file.id)?,
                // Not to be seen now, an unmounted disk say: perhaps at another start.
                Err(_) => {}
            }
        }
        Ok(left)
    }

    /// Where every test file is that was not removed, those in use by a running process among them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn test_file_paths(&self) -> Result<Vec<PathBuf>, StoreError> {
        Ok(self.noted_test_files()?.into_iter().map(|(file, _)| file.path).collect())
    }

    fn noted_test_files(&self) -> Result<Vec<(TestFile, Option<Made>)>, StoreError> {
        const ACTION: &str = "list the test files";
        let sql = "SELECT id, run_id, path, bytes, noted_at, device, inode, made_at FROM test_files
            WHERE removed_at IS NULL ORDER BY id";
        let mut statement = self.connection.prepare(sql).during(ACTION)?;
        let rows = statement.query_map((), |row| {
            let time = |text: Option<String>| text.and_then(|text| text.parse::<Timestamp>().ok());
            let file = TestFile {
                id: TestFileId(row.get(0)?),
                run: row.get::<_, Option<i64>>(1)?.map(RunId),
                path: PathBuf::from(OsString::from_vec(row.get(2)?)),
                bytes: Bytes(row.get::<_, i64>(3)?.cast_unsigned()),
                noted_at: time(row.get(4)?).unwrap_or_default(),
            };
            let numbers = row.get::<_, Option<i64>>(5)?.zip(row.get::<_, Option<i64>>(6)?);
            let made = numbers.zip(time(row.get(7)?)).map(|((device, inode), at)| Made {
                device: device.cast_unsigned(),
                inode: inode.cast_unsigned(),
                at,
            });
            Ok((file, made))
        });
        rows.during(ACTION)?.collect::<rusqlite::Result<_>>().during(ACTION)
    }
}

impl TestFile {
    /// Whether what lies at the path is this file. Numbers of removed files are given out again, so its birth counts
    /// as well; a file that was noted and not made is an empty one born at that moment.
    fn is_described_by(&self, facts: &Metadata, made: Option<Made>) -> bool {
        let born = facts.created().ok().and_then(|time| Timestamp::try_from(time).ok());
        let same = match made {
            Some(made) => {
                (facts.dev(), facts.ino()) == (made.device, made.inode)
                    && born.is_none_or(|born| born.duration_since(made.at) <= CLOCKS_DIFFER)
            }
            None => {
                facts.len() == 0 && born.is_some_and(|born| born.duration_since(self.noted_at).abs() <= CLOCKS_DIFFER)
            }
        };
        facts.is_file() && same
    }
}

impl TestFileId {
    /// The name of the claim on it.
    fn claim(self) -> String {
        format!("file-{}", self.0)
    }
}
