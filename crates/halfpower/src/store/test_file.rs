//! Test files of runs, recorded so that the next start finds those of a killed run.
//!
//! A file is recorded before it has a name, with the identity of the file and of its directory. A file at its path is
//! offered for removal only if it has that identity. The record ends only when the file is missing from that same
//! directory: a renamed file, or one whose file system is not mounted, may come back.

use super::error::{During, StoreError};
use super::handle::Store;
use super::run::json;
use super::run_id::RunId;
use halfpower_engine::TargetError;
use halfpower_engine::test_file::{FileId, Sameness, TestKind, is_at};
use halfpower_model::Bytes;
use jiff::Timestamp;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Prefix and suffixes of the names of test files and of directories of small files, which explain them to people who find one.
const PREFIX: &str = "halfpower-";
const SUFFIXES: [(TestKind, &str); 2] = [(TestKind::File, ".test"), (TestKind::Tree, ".files")];

/// The number of a test file in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TestFileId(i64);

/// A test file, or a directory of small files, that was not removed, whose process has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestFile {
    /// Its number.
    pub id: TestFileId,
    /// Its run, if the store still has it.
    pub run: Option<RunId>,
    /// Its path.
    pub path: PathBuf,
    /// Its final size.
    pub bytes: Bytes,
    /// Its identity; none if its process was killed before it was known.
    pub file: Option<FileId>,
    /// Identity of its directory.
    directory: Option<FileId>,
}

/// State of a test file whose process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It exists.
    Left,
    /// A file exists at its path, but its identity cannot be verified.
    Unproven,
    /// Its directory is missing, or another one is in its place.
    OutOfSight,
}

impl Store {
    /// Records a test file of `bytes` that a run is about to create, with the identity of its directory and, if it is
    /// known by now, of the `file`; claims it for this process.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn note_test_file(
        &mut self,
        run: RunId,
        path: &Path,
        bytes: Bytes,
        file: Option<&FileId>,
        directory: &FileId,
    ) -> Result<TestFileId, StoreError> {
        const ACTION: &str = "note a test file";
        let failed = |source| StoreError::Target(TargetError::from_io("find", path, source));
        let path = std::path::absolute(path).map_err(failed)?;
        let transaction = self.connection.transaction().during(ACTION)?;
        let sql = "INSERT INTO test_files (run_id, path, bytes, noted_at, file, directory) VALUES (?, ?, ?, ?, ?, ?)";
        let (noted_at, file) = (Timestamp::now().to_string(), file.map(json));
        let (path, bytes) = (path.as_os_str().as_bytes(), bytes.0.cast_signed());
        let values = (run.0, path, bytes, noted_at, file, json(directory));
        transaction.execute(sql, values).during(ACTION)?;
        let id = TestFileId(transaction.last_insert_rowid());
        self.claims.take(&id.claim())?;
        transaction.commit().during(ACTION)?;
        Ok(id)
    }

    /// Records the identity of a file that was unknown before its creation.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn test_file_is(&mut self, id: TestFileId, file: &FileId) -> Result<(), StoreError> {
        let sql = "UPDATE test_files SET file = ? WHERE id = ?";
        self.execute("note a test file", sql, (json(file), id.0)).map(drop)
    }

    /// Claims a leftover file for this process; returns false if another process was faster.
    ///
    /// # Errors
    /// If the claim cannot be read.
    pub(crate) fn take_test_file(&mut self, id: TestFileId) -> Result<bool, StoreError> {
        self.claims.take(&id.claim())
    }

    /// Marks a file as removed.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn test_file_removed(&mut self, id: TestFileId) -> Result<(), StoreError> {
        let sql = "UPDATE test_files SET removed_at = ? WHERE id = ?";
        let removed =
            |store: &mut Store| store.execute("strike off a test file", sql, (Timestamp::now().to_string(), id.0));
        self.with_reserve(removed)?;
        self.claims.release(&id.claim());
        Ok(())
    }

    /// The test files that still exist and whose process has ended.
    ///
    /// # Errors
    /// As [`look_for_test_files`](Self::look_for_test_files).
    pub(crate) fn test_files_left(&mut self) -> Result<Vec<TestFile>, StoreError> {
        let found = self.look_for_test_files()?;
        Ok(found.into_iter().filter(|(_, standing)| *standing == Standing::Left).map(|(file, _)| file).collect())
    }

    /// The state of test files that were not removed and whose process has ended. Missing files are marked as removed.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn look_for_test_files(&mut self) -> Result<Vec<(TestFile, Standing)>, StoreError> {
        let mut found = Vec::new();
        for file in self.noted_test_files()? {
            if self.claims.is_taken(&file.id.claim())? {
                continue;
            }
            match file.standing() {
                Some(standing) => found.push((file, standing)),
                None => self.test_file_removed(file.id)?,
            }
        }
        Ok(found)
    }

    /// The leftover test file at a path, if its directory was renamed or is mounted elsewhere; none for any other file.
    ///
    /// # Errors
    /// If they cannot be read, or the new path cannot be written.
    pub(crate) fn moved_test_file(&mut self, path: &Path) -> Result<Option<TestFile>, StoreError> {
        let Ok(path) = std::path::absolute(path) else { return Ok(None) };
        let hidden = self.look_for_test_files()?.into_iter().filter(|(_, standing)| *standing == Standing::OutOfSight);
        let is_it = |(file, _): &(TestFile, Standing)| {
            file.path.file_name() == path.file_name()
                && file.file.is_some()
                && is_at(&path, file.kind(), file.file.as_ref()).is_ok_and(|same| same == Sameness::Same)
        };
        let (Some((file, _)), Ok(directory)) = ({ hidden }.find(is_it), FileId::at(directory_of(&path))) else {
            return Ok(None);
        };
        let sql = "UPDATE test_files SET path = ?, directory = ? WHERE id = ?";
        let values = (path.as_os_str().as_bytes(), json(&directory), file.id.0);
        self.execute("note a test file", sql, values)?;
        Ok(Some(TestFile { path, directory: Some(directory), ..file }))
    }

    /// The paths of all test files that were not removed, including those in use by a running process.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn test_file_paths(&self) -> Result<Vec<PathBuf>, StoreError> {
        Ok(self.noted_test_files()?.into_iter().map(|file| file.path).collect())
    }

    fn noted_test_files(&self) -> Result<Vec<TestFile>, StoreError> {
        const ACTION: &str = "list the test files";
        let sql =
            "SELECT id, run_id, path, bytes, file, directory FROM test_files WHERE removed_at IS NULL ORDER BY id";
        let mut statement = self.connection.prepare(sql).during(ACTION)?;
        let rows = statement.query_map((), |row| {
            // An unreadable identity proves nothing.
            let id = |text: Option<String>| text.and_then(|text| serde_json::from_str::<FileId>(&text).ok());
            Ok(TestFile {
                id: TestFileId(row.get(0)?),
                run: row.get::<_, Option<i64>>(1)?.map(RunId),
                path: PathBuf::from(OsString::from_vec(row.get(2)?)),
                bytes: Bytes(row.get::<_, i64>(3)?.cast_unsigned()),
                file: id(row.get(4)?),
                directory: id(row.get(5)?),
            })
        });
        let damaged =
            |error: &rusqlite::Error| self.damage.note(format!("the list of test files is damaged ({error})"));
        Ok(rows.during(ACTION)?.filter_map(|row| row.inspect_err(damaged).ok()).collect())
    }
}

impl TestFile {
    /// The name of one of this kind with this number.
    pub(crate) fn name_of(kind: TestKind, number: u64) -> String {
        let [(_, file), (_, tree)] = SUFFIXES;
        format!("{PREFIX}{number:016x}{}", if kind == TestKind::File { file } else { tree })
    }

    /// The kind that a name belongs to; none if it is not of these.
    pub(crate) fn kind_of(path: &Path) -> Option<TestKind> {
        let rest = path.file_name().and_then(|name| name.to_str())?.strip_prefix(PREFIX)?;
        let found = SUFFIXES.iter().find_map(|(kind, suffix)| Some((*kind, rest.strip_suffix(suffix)?)));
        let is_number = |number: &str| number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_hexdigit());
        found.filter(|(_, number)| is_number(number)).map(|(kind, _)| kind)
    }

    /// Its kind. What has no such name is never removed.
    pub(crate) fn kind(&self) -> TestKind {
        TestFile::kind_of(&self.path).unwrap_or(TestKind::File)
    }

    /// Its state; none if it no longer exists.
    fn standing(&self) -> Option<Standing> {
        match is_at(&self.path, self.kind(), self.file.as_ref()) {
            Ok(Sameness::Same) if TestFile::kind_of(&self.path).is_some() => Some(Standing::Left),
            // A store from someone else may list any file.
            Ok(Sameness::Same | Sameness::Unproven) => Some(Standing::Unproven),
            Ok(Sameness::Other) if self.is_directory_there() => None,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && self.is_directory_there() => None,
            _ => Some(Standing::OutOfSight),
        }
    }

    /// Whether the directory at its path is the recorded one.
    fn is_directory_there(&self) -> bool {
        let now = FileId::at(directory_of(&self.path));
        let same = self.directory.as_ref().zip(now.ok()).map(|(noted, now)| noted.compare(&now));
        same == Some(Sameness::Same)
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

impl TestFileId {
    /// The name of its claim.
    fn claim(self) -> String {
        format!("file-{}", self.0)
    }
}
