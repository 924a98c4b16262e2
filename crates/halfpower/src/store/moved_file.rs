//! A store that is moved or deleted while it is open. A moved one is written at its new path; a deleted one is written
//! again with its contents.
//!
//! SQLite keeps the file open whatever its name. When it closes a moved file, it leaves the log at the old path, where
//! nobody would find it.

use super::companion_files::beside;
use super::error::{During, StoreError};
use super::handle::Store;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The location of an open store's file.
#[derive(Debug, PartialEq, Eq)]
enum Location {
    /// At its path.
    Here,
    /// At another path.
    Moved(PathBuf),
    /// Deleted.
    Deleted,
}

impl Store {
    /// Ensures that the last write can be found again.
    ///
    /// # Errors
    /// If the store was deleted and cannot be written again.
    pub(super) fn follow_moved_file(&mut self) -> Result<(), StoreError> {
        let (Some(path), Some(file)) = (&self.path, &self.file) else { return Ok(()) };
        let path = path.clone();
        match location(file, &path) {
            Ok(Location::Here) => Ok(()),
            Ok(Location::Moved(now)) => {
                let (path, now) = (path.display(), now.display());
                self.damage
                    .warn(format!("the store {path} was moved while it was in use; new results are kept in {now}"));
                self.empty_log()
            }
            Ok(Location::Deleted) => self.write_again(&path),
            Err(source) => Err(StoreError::File { action: "look at", path, source }),
        }
    }

    fn write_again(&mut self, path: &Path) -> Result<(), StoreError> {
        const ACTION: &str = "be written again after it was deleted";
        let failed = |source| StoreError::File { action: "write again the deleted store", path: path.into(), source };
        if let Some(parent) = path.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(failed)?;
        }
        let temporary = beside(path, format!(".again-{}", std::process::id()));
        // A name may be no UTF-8.
        let name = ToSqlOutput::Borrowed(ValueRef::Text(temporary.as_os_str().as_bytes()));
        self.connection.execute("VACUUM INTO ?", (name,)).during(ACTION)?;
        File::open(&temporary).and_then(|file| file.sync_all()).map_err(failed)?;
        // The log belongs to the deleted file.
        if path.symlink_metadata().is_err() {
            remove_log(path);
        }
        let mut again = path.to_owned();
        let mut number = 0;
        while let Err(error) = renameat_with(CWD, &temporary, CWD, &again, RenameFlags::NOREPLACE) {
            if error != rustix::io::Errno::EXIST {
                return Err(failed(error.into()));
            }
            number += 1;
            again = beside(path, format!(".again-{number}"));
        }
        let mut store = Store::open(&again)?;
        for claim in self.claims.held() {
            store.claims.take(&claim)?;
        }
        std::mem::swap(&mut store.damage, &mut self.damage);
        *self = store;
        let (path, again) = (path.display(), again.display());
        self.damage.warn(format!(
            "the store {path} was deleted while it was in use; everything in it was written again, to {again}"
        ));
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let (Some(path), Some(file)) = (&self.path, &self.file) else { return };
        // It would block the next store with that name.
        let is_moved = matches!(location(file, path), Ok(Location::Moved(_)));
        if is_moved && path.symlink_metadata().is_err() && self.empty_log().is_ok() {
            remove_log(path);
        }
    }
}

fn remove_log(path: &Path) {
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(beside(path, suffix));
    }
}

fn location(file: &File, path: &Path) -> io::Result<Location> {
    let open = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) if (there.dev(), there.ino()) == (open.dev(), open.ino()) => Ok(Location::Here),
        _ if open.nlink() == 0 => Ok(Location::Deleted),
        _ => Ok(Location::Moved(std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?)),
    }
}
