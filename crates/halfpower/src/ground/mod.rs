//! The ground a run stands on: what is under the path, what may be written there, how large a test file fits.
//!
//! Looking changes nothing. What looking cannot vouch for (memory instead of storage, a network between, a cache that
//! keeps everything) is said before anything is measured. Nothing that holds data is opened for writing unless the
//! user said so for that very target.

mod leftover;
mod site;

pub(crate) use leftover::{offer_removal, remove_leftovers};
pub(crate) use site::{KeptTestFile, Opened, Site};

use crate::cli::UsageError;
use halfpower_engine::{Access, Ground, NULL_TARGET, Target, TargetError};
use halfpower_model::sample::Warning;
use halfpower_model::{Bytes, TargetFacts, TargetKind};
use std::path::{Path, PathBuf};

/// The smallest test file worth reading: below it, caches of drives and controllers answer for the medium.
const LEAST_TEST_FILE: Bytes = Bytes(64 << 20);
/// The size of a test file when nobody says one.
const DEFAULT_TEST_FILE: Bytes = Bytes(1 << 30);

/// What the user said about the target.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    /// What to measure.
    pub(crate) path: PathBuf,
    /// Size of the file to make, where one is made.
    pub(crate) size: Option<Bytes>,
    /// Whether the size was asked for by the user, and so must fit, or is a suggestion that may shrink.
    pub(crate) size_is_fixed: bool,
    /// Whether what the target holds may be lost.
    pub(crate) access: Access,
    /// What a test file already takes up there that will be used again.
    pub(crate) held: Bytes,
}

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

/// Looks at what the user named.
///
/// # Errors
/// When it cannot be measured, with the remedy.
pub(crate) fn look(wish: &Wish) -> anyhow::Result<Site> {
    if wish.path.as_os_str() == NULL_TARGET {
        let facts = Target::open(&wish.path, Access::Read)?.facts().clone();
        return Ok(Site::new(wish, facts, Making::Nothing, Vec::new()));
    }
    match std::fs::metadata(&wish.path) {
        Ok(metadata) if metadata.is_dir() => look_at_directory(wish),
        Ok(_) => look_at_existing(wish),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && wish.size.is_some() && wish.size_is_fixed => {
            look_at_missing(wish)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(UsageError(format!(
            "{} does not exist; name a file, a device or a directory, or give --size to make the file",
            wish.path.display()
        ))
        .into()),
        Err(error) => Err(TargetError::from_io("examine", &wish.path, error).into()),
    }
}

fn look_at_directory(wish: &Wish) -> anyhow::Result<Site> {
    let ground = Ground::of(&wish.path)?;
    let size = choose_size(wish, &wish.path, Bytes(ground.free_bytes.0 + wish.held.0))?;
    let facts = TargetFacts { size_bytes: size, path: wish.path.display().to_string(), ..ground.facts.clone() };
    let mut notes = notes(&facts);
    if wish.size.is_some_and(|wanted| size < wanted) {
        notes.push(Warning::new(
            "small_test_file",
            format!("the test file is {size}, because only {} are free", ground.free_bytes),
            "free some space for figures that caches distort less",
        ));
    }
    let site = Site::new(wish, facts, Making::TestFile(wish.path.clone()), notes);
    let cache_can_be_emptied = ground.cache_can_be_emptied;
    Ok(Site { free_bytes: Some(ground.free_bytes), cache_can_be_emptied, ..site })
}

fn look_at_missing(wish: &Wish) -> anyhow::Result<Site> {
    let directory = wish.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let ground = Ground::of(directory)?;
    let size = choose_size(wish, directory, ground.free_bytes)?;
    let facts = TargetFacts { size_bytes: size, path: wish.path.display().to_string(), ..ground.facts };
    let notes = notes(&facts);
    Ok(Site::new(wish, facts, Making::NamedFile, notes))
}

fn look_at_existing(wish: &Wish) -> anyhow::Result<Site> {
    let mut facts = Target::open(&wish.path, wish.access)?.facts().clone();
    let grows = wish.size.filter(|size| wish.size_is_fixed && *size > facts.size_bytes);
    let making = match grows {
        Some(size) if facts.kind == TargetKind::File && wish.access == Access::Overwrite => {
            let ground =
                Ground::of(wish.path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")))?;
            let missing = Bytes(size.0 - facts.allocated_bytes.unwrap_or_default().0.min(size.0));
            if missing > ground.free_bytes {
                return Err(no_room(&wish.path, ground.free_bytes, missing).into());
            }
            facts.size_bytes = size;
            Making::LargerFile
        }
        _ => Making::Nothing,
    };
    let notes = notes(&facts);
    Ok(Site::new(wish, facts, making, notes))
}

/// A size that fits: what was asked for, or halved until at least half of the free space stays free.
fn choose_size(wish: &Wish, place: &Path, free: Bytes) -> Result<Bytes, UsageError> {
    let wanted = wish.size.unwrap_or(DEFAULT_TEST_FILE);
    if wish.size_is_fixed {
        return if wanted <= free { Ok(wanted) } else { Err(no_room(place, free, wanted)) };
    }
    let mut size = wanted;
    while size.0 > free.0 / 2 && size > LEAST_TEST_FILE {
        size = Bytes(size.0 / 2).max(LEAST_TEST_FILE);
    }
    if size.0 > free.0 / 2 { Err(no_room(place, free, Bytes(LEAST_TEST_FILE.0 * 2))) } else { Ok(size) }
}

fn no_room(place: &Path, free: Bytes, needed: Bytes) -> UsageError {
    UsageError(format!(
        "there is too little room under {}: {free} are free and {needed} are needed; free some space, \
         name another directory, or give a smaller --size",
        place.display()
    ))
}

/// What would make the figures something else than those of a storage device.
fn notes(facts: &TargetFacts) -> Vec<Warning> {
    let filesystem = facts.filesystem.as_deref().unwrap_or_default();
    let mut notes = Vec::new();
    if matches!(filesystem, "tmpfs" | "ramfs") || facts.transport.as_deref() == Some("ram") {
        notes.push(Warning::new("memory", format!("{} is memory, not storage", facts.path), "name a path on a disk"));
    }
    if filesystem == "overlay" {
        notes.push(Warning::new(
            "overlay",
            format!("{} is on an overlay: its layers' file system does the work", facts.path),
            "name a volume that is mounted into the container",
        ));
    }
    if facts.transport.as_deref() == Some("network") {
        notes.push(Warning::new(
            "network",
            format!("{} is on a network: the figures include it and the server's caches", facts.path),
            "measure on the server too, to tell them apart",
        ));
    }
    if facts.direct_alignment_bytes.is_none() && facts.kind != TargetKind::Null {
        notes.push(Warning::new(
            "no_direct",
            format!("{} does not take direct I/O: the file cache is part of every figure", facts.path),
            "name a path on ext4, xfs or btrfs",
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(path: &Path) -> Wish {
        Wish { path: path.to_owned(), size: None, size_is_fixed: false, access: Access::Read, held: Bytes(0) }
    }

    #[test]
    fn a_test_file_leaves_half_of_the_space() {
        let place = Path::new("/data");
        let size = |free| choose_size(&wish(place), place, Bytes(free)).map_err(|error| error.to_string());
        assert_eq!(size(100 << 30), Ok(DEFAULT_TEST_FILE));
        assert_eq!(size(1 << 30), Ok(Bytes(512 << 20)));
        assert_eq!(size(128 << 20), Ok(LEAST_TEST_FILE));
        assert!(size(10 << 20).unwrap_err().contains("10 MiB are free and 128 MiB are needed"));
    }

    #[test]
    fn a_size_that_was_asked_for_fits_or_fails() {
        let place = Path::new("/data");
        let wish = Wish { size: Some(Bytes(8 << 20)), size_is_fixed: true, ..wish(place) };
        assert_eq!(choose_size(&wish, place, Bytes(10 << 20)).ok(), Some(Bytes(8 << 20)));
        assert!(choose_size(&wish, place, Bytes(4 << 20)).is_err());
    }

    #[test]
    fn a_missing_file_without_a_size_is_wrong_usage() {
        let error = look(&wish(Path::new("/nowhere/at/all"))).unwrap_err();
        assert!(error.is::<UsageError>() && error.to_string().contains("--size"), "{error}");
    }

    #[test]
    fn memory_is_told_from_storage() {
        let memory = Path::new("/dev/shm");
        if halfpower_engine::filesystem::mount_of(memory).is_none_or(|mount| mount.kind != "tmpfs") {
            eprintln!("skipped: /dev/shm is no tmpfs here");
            return;
        }
        let site = look(&Wish { size: Some(Bytes(1 << 20)), size_is_fixed: true, ..wish(memory) }).unwrap();
        assert!(site.notes.iter().any(|note| note.code == "memory"), "{:?}", site.notes);
        assert!(site.describe(Bytes(1 << 34)).starts_with("tmpfs, "), "{}", site.describe(Bytes(1 << 34)));
        assert!(
            site.describe(Bytes(1 << 34))
                .ends_with("no direct I/O, a file cache that cannot be emptied, 16 GiB of memory.")
        );
        assert!(site.no_cold_cache(Bytes(1 << 34)).is_some_and(|reason| reason.contains("--size")));
        assert_eq!(site.no_cold_cache(Bytes(1 << 10)), None, "a file larger than memory cannot stay in it");
    }

    #[test]
    fn a_directory_gets_a_test_file() {
        let directory = tempfile::tempdir().unwrap();
        let site = look(&Wish { size: Some(Bytes(1 << 20)), size_is_fixed: true, ..wish(directory.path()) }).unwrap();
        assert_eq!(site.making, Making::TestFile(directory.path().to_owned()));
        assert_eq!(site.facts.size_bytes, Bytes(1 << 20));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "looking makes nothing");
    }
}
