//! Where the files of a worker are: in its own directories, or among the objects of a store.

use crate::network::s3::objects::Objects;
use crate::target::own_entries::DIRECTORY;
use halfpower_model::Cancel;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fsync, mkdirat, openat, statat, unlinkat};
use std::io;
use std::os::fd::{AsFd, IntoRawFd, OwnedFd};

/// The names of files are looked up in a directory, by its number.
pub(super) enum Home {
    Folder {
        folder: OwnedFd,
        /// Open directories; none until the first file in them.
        directories: Vec<Option<OwnedFd>>,
    },
    Bucket {
        objects: Box<Objects>,
        /// Before the name of a directory.
        own: String,
    },
}

impl Home {
    /// Makes its own directory, and this number of directories in it.
    ///
    /// # Errors
    /// When the file system fails; `EINTR` if it was cancelled.
    pub(super) fn in_folder(tree: impl AsFd, own: &str, directories: u64, cancel: &Cancel) -> io::Result<Home> {
        mkdirat(&tree, own, Mode::RWXU)?;
        let folder = openat(&tree, own, DIRECTORY, Mode::empty())?;
        for directory in 0..directories {
            if cancel.is_cancelled() {
                return Err(io::Error::from_raw_os_error(libc::EINTR));
            }
            mkdirat(&folder, format!("d{directory}"), Mode::RWXU)?;
        }
        Ok(Home::Folder { folder, directories: (0..directories).map(|_| None).collect() })
    }

    /// Creates a file with these contents.
    ///
    /// # Errors
    /// Those of the file system or the store, as for all others.
    pub(super) fn create(&mut self, directory: u64, name: &str, data: &[u8], is_flushed: bool) -> io::Result<()> {
        let directory = match self {
            Home::Bucket { objects, own } => return objects.put(&format!("{own}/d{directory}/{name}"), data),
            Home::Folder { folder, directories } => opened(folder, directories, directory)?,
        };
        let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
        let made = openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?;
        let mut rest = data;
        while !rest.is_empty() {
            match rustix::io::write(&made, rest)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                moved => rest = &rest[moved..],
            }
        }
        if is_flushed {
            fsync(&made)?;
        }
        close(made)
    }

    /// The size of a file; none if it is a directory, a link or the like.
    pub(super) fn size(&mut self, directory: u64, name: &str) -> io::Result<Option<u64>> {
        let directory = match self {
            Home::Bucket { objects, own } => return objects.size(&format!("{own}/d{directory}/{name}")),
            Home::Folder { folder, directories } => opened(folder, directories, directory)?,
        };
        let facts = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_file = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile;
        Ok(is_file.then_some(facts.st_size as u64))
    }

    /// Reads a file; false if it is shorter than `data`, of a store also if it is longer.
    pub(super) fn read(&mut self, directory: u64, name: &str, data: &mut [u8]) -> io::Result<bool> {
        let directory = match self {
            Home::Bucket { objects, own } => return objects.get(&format!("{own}/d{directory}/{name}"), data),
            Home::Folder { folder, directories } => opened(folder, directories, directory)?,
        };
        let opened = openat(directory, name, OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty())?;
        let mut moved = 0;
        while moved < data.len() {
            match rustix::io::read(&opened, &mut data[moved..])? {
                0 => return Ok(false),
                more => moved += more,
            }
        }
        close(opened).map(|()| true)
    }

    /// Reads the names in a directory; their number.
    pub(super) fn list(&mut self, directory: u64) -> io::Result<u64> {
        let directory = match self {
            Home::Bucket { objects, own } => {
                let (below, mut count, mut token) = (format!("{own}/d{directory}/"), 0, String::new());
                loop {
                    count += objects.list(&below, &mut token)?.len() as u64;
                    if token.is_empty() {
                        return Ok(count);
                    }
                }
            }
            Home::Folder { folder, directories } => opened(folder, directories, directory)?,
        };
        let mut count = 0;
        for entry in Dir::read_from(directory)? {
            count += u64::from(!matches!(entry?.file_name().to_bytes(), b"." | b".."));
        }
        Ok(count)
    }

    pub(super) fn delete(&mut self, directory: u64, name: &str) -> io::Result<()> {
        match self {
            Home::Bucket { objects, own } => objects.delete(&format!("{own}/d{directory}/{name}")),
            Home::Folder { folder, directories } => {
                Ok(unlinkat(opened(folder, directories, directory)?, name, AtFlags::empty())?)
            }
        }
    }

    /// Closes its directories: open ones would stay in the caches that are dropped before the next phase.
    pub(super) fn leave(&mut self) {
        if let Home::Folder { directories, .. } = self {
            directories.iter_mut().for_each(|directory| *directory = None);
        }
    }
}

/// A directory, opened if it is not.
fn opened<'a>(folder: &OwnedFd, directories: &'a mut [Option<OwnedFd>], number: u64) -> io::Result<&'a OwnedFd> {
    match &mut directories[number as usize] {
        Some(directory) => Ok(directory),
        none => Ok(none.insert(openat(folder, format!("d{number}"), DIRECTORY, Mode::empty())?)),
    }
}

/// Closes a file. On network file systems this is where a full disk is reported.
fn close(file: OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor was owned and is given up here, so it is closed once.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
