//! One target before it is opened: what its path is on, and what has to be created.

use super::ensemble;
use super::options::TargetOptions;
use crate::simulator::name::SIMULATED;
use crate::text::{UsageError, refuse};
use halfpower_engine::{Access, DirectoryFacts, TargetError, is_remote};
use halfpower_model::{Bytes, TargetFacts, TargetKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What has to be created before the target can be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Creation {
    /// Nothing: it exists.
    Nothing,
    /// A test file in this directory, removed afterwards.
    TestFile(PathBuf),
    /// The named file, which stays.
    NamedFile,
    /// The rest of the named file, which may be overwritten.
    LargerFile,
}

/// A target that exists or will be created.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Its path.
    pub(crate) path: PathBuf,
    /// Its facts, or those it will have.
    pub(crate) facts: TargetFacts,
    /// What has to be created first.
    pub(crate) creation: Creation,
    /// Whether it may be written.
    pub(crate) access: Access,
    /// Free space, if something is created.
    pub(crate) free_bytes: Option<Bytes>,
    /// Whether a file can be dropped from the page cache; none if unknown.
    pub(crate) cache_can_be_emptied: Option<bool>,
    /// Why other users of a target to be overwritten are unknown.
    pub(super) unknown_use: Option<String>,
    /// Device number of the file system that something is created on.
    pub(super) filesystem: Option<u64>,
}

impl Place {
    /// Examines a path. What will be created has no size yet.
    pub(super) fn find(path: &Path, options: &TargetOptions, size: Option<Bytes>) -> anyhow::Result<Place> {
        if is_remote(path) {
            return Place::existing(path, options, size);
        }
        let metadata = match std::fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(TargetError::from_io("examine", path, error).into());
            }
            // A file with the name of a simulated volume is a mistake.
            Err(_) if looks_simulated(path) => refuse!(
                "{} does not exist; name a simulated volume as sim:MACHINE:VOLUME, without a directory, or create the file \
                 first",
                path.display()
            ),
            Err(_) if matches!(path.to_str(), Some("on" | "off")) => refuse!(
                "{0} does not exist; a value of an option follows =, as in --huge-pages={0}; for a file of this name use ./{0}",
                path.display()
            ),
            Err(_) if size.is_some() && options.size_is_fixed => {
                let directory = directory_of(path);
                return Place::new(path, DirectoryFacts::of(directory)?, Creation::NamedFile, directory);
            }
            Err(_) if path.as_os_str().as_encoded_bytes().starts_with(b"nfs://") => refuse!(
                "NFS is measured by a plug-in, examples/plugin-nfs, which takes {} as its url, or as a mounted file",
                path.display()
            ),
            Err(_) => refuse!(
                "{} does not exist; name a file, a device or a directory, or create the file with --size",
                path.display()
            ),
        };
        if metadata.is_dir() {
            return Place::new(path, DirectoryFacts::of(path)?, Creation::TestFile(path.to_owned()), path);
        }
        Place::existing(path, options, size)
    }

    fn new(path: &Path, storage: DirectoryFacts, creation: Creation, directory: &Path) -> anyhow::Result<Place> {
        let facts = TargetFacts { path: path.display().to_string(), ..storage.facts };
        let examined =
            std::fs::metadata(directory).map_err(|error| TargetError::from_io("examine", directory, error))?;
        Ok(Place {
            creation,
            free_bytes: Some(storage.free_bytes),
            cache_can_be_emptied: storage.cache_can_be_emptied,
            filesystem: Some(examined.dev()),
            // Our own files may be written.
            ..Place::as_it_is(path, facts, Access::Overwrite)
        })
    }

    fn existing(path: &Path, options: &TargetOptions, size: Option<Bytes>) -> anyhow::Result<Place> {
        let target = ensemble::open(path, options.overwrite.access(path))?;
        let access = if target.may_be_written() { Access::Overwrite } else { Access::Read };
        let (facts, unknown_use) = (target.facts().clone(), target.unknown_use().map(str::to_owned));
        drop(target);
        let grows = size.filter(|size| options.size_is_fixed && *size > facts.size_bytes);
        if grows.is_some() && facts.kind == TargetKind::File && access == Access::Overwrite {
            let directory = directory_of(path);
            let place = Place::new(path, DirectoryFacts::of(directory)?, Creation::LargerFile, directory)?;
            return Ok(Place { facts, cache_can_be_emptied: None, unknown_use, ..place });
        }
        Ok(Place { unknown_use, ..Place::as_it_is(path, facts, access) })
    }

    /// An existing target.
    pub(super) fn as_it_is(path: &Path, facts: TargetFacts, access: Access) -> Place {
        Place {
            path: path.to_owned(),
            facts,
            creation: Creation::Nothing,
            access,
            free_bytes: None,
            cache_can_be_emptied: None,
            unknown_use: None,
            filesystem: None,
        }
    }

    /// Space that creating it at this size takes.
    fn needs(&self, size: Bytes) -> u64 {
        match self.creation {
            Creation::Nothing => 0,
            Creation::TestFile(_) | Creation::NamedFile => size.0,
            Creation::LargerFile => size.0 - self.facts.allocated_bytes.unwrap_or_default().0.min(size.0),
        }
    }
}

/// Sets the size of everything that will be created.
///
/// # Errors
/// If a file system has too little space for all of it.
pub(super) fn give_size(places: &mut [Place], size: Bytes, options: &TargetOptions) -> Result<(), UsageError> {
    for place in places.iter().filter(|place| place.creation != Creation::Nothing) {
        let beside = places.iter().filter(|other| other.filesystem == place.filesystem);
        let needed = Bytes(beside.map(|place| place.needs(size)).fold(0, u64::saturating_add));
        let free = room(place, options);
        if needed > free {
            return Err(no_room(directory_of(&place.path), free, needed));
        }
    }
    let made = places.iter_mut().filter(|place| place.creation != Creation::Nothing);
    made.for_each(|place| place.facts.size_bytes = size);
    Ok(())
}

/// Space that may be used: free space, and that of existing files of the same run.
pub(super) fn room(place: &Place, options: &TargetOptions) -> Bytes {
    let beside = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|facts| Some(facts.dev()) == place.filesystem);
    let held = options.held.iter().filter(|file| beside(&file.path)).map(|file| file.bytes.0);
    Bytes(place.free_bytes.unwrap_or_default().0.saturating_add(held.sum()))
}

pub(super) fn no_room(place: &Path, free: Bytes, needed: Bytes) -> UsageError {
    UsageError(format!(
        "too little space in {}: {free} are free, {needed} are needed; free some space, name another directory, or use a \
         smaller --size",
        place.display()
    ))
}

/// Whether a file has the name of a simulated volume.
fn looks_simulated(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(SIMULATED.as_bytes()))
}

/// The directory of a file, or the directory itself.
fn directory_of(path: &Path) -> &Path {
    if path.is_dir() {
        return path;
    }
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
