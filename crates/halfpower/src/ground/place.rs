//! One target before it is opened: what lies under its name, and what has to be made there.

use super::{SIMULATED, Wish, no_room};
use crate::text::UsageError;
use halfpower_engine::{Access, Ground, Target, TargetError};
use halfpower_model::{Bytes, TargetFacts, TargetKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What has to be made before the target can be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Making {
    /// Nothing: it is there.
    Nothing,
    /// A test file in this directory, removed in the end.
    TestFile(PathBuf),
    /// The file that was named, which stays.
    NamedFile,
    /// More of the file that was named, which may be lost.
    LargerFile,
}

/// A target, there or to be made.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// What was named.
    pub(crate) path: PathBuf,
    /// What the target is, or will be once it is made.
    pub(crate) facts: TargetFacts,
    /// What has to be made first.
    pub(crate) making: Making,
    /// Whether it may be written.
    pub(crate) access: Access,
    /// Space that may still be used, where something is made.
    pub(crate) free_bytes: Option<Bytes>,
    /// Whether the file cache lets go of a file; none where nobody looked or it cannot be seen.
    pub(crate) cache_can_be_emptied: Option<bool>,
    /// What cannot be told of other users of a target to be overwritten.
    pub(super) unknown_use: Option<String>,
    /// Number of the file system that something is made on.
    pub(super) filesystem: Option<u64>,
}

impl Place {
    /// Looks at what lies under a name. What is made there has no size yet.
    pub(super) fn find(path: &Path, wish: &Wish, size: Option<Bytes>) -> anyhow::Result<Place> {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                Place::new(path, Ground::of(path)?, Making::TestFile(path.to_owned()), path)
            }
            Ok(_) => Place::existing(path, wish, size),
            // Nobody means to make a file of a simulated volume's name.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && looks_simulated(path) => {
                Err(UsageError(format!(
                    "{} is the name of a file that is not there; a simulated volume is sim:MACHINE:VOLUME, with nothing before it, and a file \
                     of such a name is made by other means",
                    path.display()
                ))
                .into())
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && size.is_some() && wish.size_is_fixed => {
                let directory = directory_of(path);
                Place::new(path, Ground::of(directory)?, Making::NamedFile, directory)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(UsageError(format!(
                "{} does not exist; name a file, a device or a directory, or give --size to make the file",
                path.display()
            ))
            .into()),
            Err(error) => Err(TargetError::from_io("examine", path, error).into()),
        }
    }

    fn new(path: &Path, ground: Ground, making: Making, directory: &Path) -> anyhow::Result<Place> {
        Ok(Place {
            path: path.to_owned(),
            facts: TargetFacts { path: path.display().to_string(), ..ground.facts },
            making,
            // What we make ourselves may be written.
            access: Access::Overwrite,
            free_bytes: Some(ground.free_bytes),
            cache_can_be_emptied: ground.cache_can_be_emptied,
            unknown_use: None,
            filesystem: Some(device_of(directory)?),
        })
    }

    fn existing(path: &Path, wish: &Wish, size: Option<Bytes>) -> anyhow::Result<Place> {
        let access = wish.overwrite.access(path);
        let target = Target::open(path, access)?;
        let (facts, unknown_use) = (target.facts().clone(), target.unknown_use().map(str::to_owned));
        drop(target);
        let grows = size.filter(|size| wish.size_is_fixed && *size > facts.size_bytes);
        if grows.is_some() && facts.kind == TargetKind::File && access == Access::Overwrite {
            let directory = directory_of(path);
            let place = Place::new(path, Ground::of(directory)?, Making::LargerFile, directory)?;
            return Ok(Place { facts, cache_can_be_emptied: None, unknown_use, ..place });
        }
        Ok(Place { unknown_use, ..Place::as_it_is(path, facts, access) })
    }

    /// A target that nothing has to be made for.
    pub(super) fn as_it_is(path: &Path, facts: TargetFacts, access: Access) -> Place {
        Place {
            path: path.to_owned(),
            facts,
            making: Making::Nothing,
            access,
            free_bytes: None,
            cache_can_be_emptied: None,
            unknown_use: None,
            filesystem: None,
        }
    }

    /// Space that making it takes, once it has its size.
    fn needs(&self, size: Bytes) -> u64 {
        match self.making {
            Making::Nothing => 0,
            Making::TestFile(_) | Making::NamedFile => size.0,
            Making::LargerFile => size.0 - self.facts.allocated_bytes.unwrap_or_default().0.min(size.0),
        }
    }
}

/// Gives what is made a size that was asked for.
///
/// # Errors
/// When a file system has not the room for all that is made on it.
pub(super) fn give_size(places: &mut [Place], size: Bytes, wish: &Wish) -> Result<(), UsageError> {
    for place in places.iter().filter(|place| place.making != Making::Nothing) {
        let beside = places.iter().filter(|other| other.filesystem == place.filesystem);
        let needed = Bytes(beside.map(|place| place.needs(size)).fold(0, u64::saturating_add));
        let free = room(place, wish);
        if needed > free {
            return Err(no_room(directory_of(&place.path), free, needed));
        }
    }
    places.iter_mut().filter(|place| place.making != Making::Nothing).for_each(|place| place.facts.size_bytes = size);
    Ok(())
}

/// Space that making something may take: what is free, and what files of the same run hold already.
pub(super) fn room(place: &Place, wish: &Wish) -> Bytes {
    let beside = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|facts| Some(facts.dev()) == place.filesystem);
    let held = wish.held.iter().filter(|file| beside(&file.path)).map(|file| file.bytes.0);
    Bytes(place.free_bytes.unwrap_or_default().0.saturating_add(held.sum()))
}

/// Whether a file is called what a simulated volume is.
fn looks_simulated(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(SIMULATED.as_bytes()))
}

/// The directory that a file is in; a directory is its own.
fn directory_of(path: &Path) -> &Path {
    if path.is_dir() {
        return path;
    }
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn device_of(directory: &Path) -> anyhow::Result<u64> {
    let facts = std::fs::metadata(directory).map_err(|error| TargetError::from_io("examine", directory, error))?;
    Ok(facts.dev())
}
