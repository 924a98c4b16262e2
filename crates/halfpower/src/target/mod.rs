//! Examines the targets of a run: what each path is on, what may be written, how large a test file fits. Then creates the
//! test files and opens the targets.
//!
//! Examining changes nothing. It warns of what would distort the figures: memory instead of storage, a network, a page cache
//! that cannot be emptied. Existing data is opened for writing only if the user allowed it for that target, and no two targets
//! may be the same storage.

mod alike;
mod ensemble;
mod leftover;
pub(crate) mod notes;
mod options;
mod overwrite;
mod password;
mod place;
mod site;
mod test_file;

use crate::simulator::name::{SimulatedName, machine_text};
pub(crate) use ensemble::{Company, Followed, dismiss, follow_without_target, replay, wait_for_first};
pub(crate) use leftover::{Cleaned, offer_removal, remove_leftovers};
pub(crate) use options::TargetOptions;
pub(crate) use overwrite::{Overwrite, is_same_name};
pub(crate) use place::{Creation, Place};
pub(crate) use site::{Contents, Opened, Opening, Site};
pub(crate) use test_file::{KeptTestTree, new_tree_name};

use crate::text::{UsageError, refuse, usage};
use halfpower_engine::{Access, NULL_TARGET, Target, refuse_same};
use halfpower_model::Bytes;
use halfpower_model::sample::Warning;
use halfpower_sim::Simulated;
use place::no_room;
use std::path::{Path, PathBuf};

/// Smallest test file: a smaller one fits the caches of drives and controllers.
const LEAST_TEST_FILE: Bytes = Bytes(64 << 20);
/// Default size of a test file.
const DEFAULT_TEST_FILE: Bytes = Bytes(1 << 30);
/// Maximum number of targets: a transfer's index has no room for more.
const MOST_TARGETS: usize = 1024;

/// Examines the targets.
///
/// # Errors
/// If one cannot be measured, with the remedy.
pub(crate) fn examine(options: &TargetOptions) -> anyhow::Result<Site> {
    let files = options.files.unwrap_or(1);
    if let Some((target, name)) = options.targets.iter().find_map(|target| Some((target, SimulatedName::of(target)?))) {
        if options.targets.len() > 1 {
            refuse!(
                "{} cannot be combined with other targets; name it alone. A volume of several disks is several targets, and a \
                 study measures several volumes with its key `set`",
                target.display()
            );
        }
        if options.files.is_some() {
            refuse!("--files creates test files in a directory, and a simulated volume has none; remove --files");
        }
        let SimulatedName { machine, volume, settings } = name?;
        let made = Simulated::of_file(&machine, &machine_text(&machine)?, &volume, &settings).map_err(usage)?;
        return Ok(Site::simulated(made, options.peaks.clone()));
    }
    password::ask_for(&options.targets)?;
    refuse_same(&options.targets).map_err(|error| UsageError(error.to_string()))?;
    refuse_same_names(&options.targets)?;
    if let Some(null) = options.targets.iter().find(|target| target.as_os_str() == NULL_TARGET) {
        let mut facts = Target::open(null, Access::Overwrite)?.facts().clone();
        facts.give_peaks(&options.peaks);
        if options.targets.len() > 1 {
            refuse!("null: cannot be combined with other targets; name it alone");
        }
        // It holds no data, but a plug-in may.
        let place = Place::as_it_is(null, facts, options.overwrite.access(null));
        return Ok(Site::new(vec![place], Vec::new(), options.peaks.clone()));
    }
    let directories = options.targets.iter().filter(|target| target.is_dir()).count();
    if directories == 0 && options.files.is_some() {
        refuse!("--files creates test files in a directory, but no target is a directory; name one, or remove --files");
    }
    let targets = directories * files as usize + options.targets.len() - directories;
    if targets > MOST_TARGETS {
        refuse!("{targets} targets are too many; use up to {MOST_TARGETS}");
    }
    let size = options.size.map(|size| options.layout.part(size, targets as u32));
    let mut places = Vec::new();
    for target in &options.targets {
        let mut place = Place::find(target, options, size)?;
        place.facts.give_peaks(&options.peaks);
        let copies = if matches!(place.creation, Creation::TestFile(_)) { files } else { 1 };
        places.extend(std::iter::repeat_n(place, copies as usize));
    }
    let mut notes = set_sizes(&mut places, options, size)?;
    let named = options.targets.iter().filter_map(|target| places.iter().find(|place| place.path == *target));
    for place in named {
        notes.extend(notes::on(&place.facts));
        let remedy = "make sure that no other program uses it";
        notes.extend(place.unknown_use.as_ref().map(|unknown| Warning::new("unknown_use", unknown.clone(), remedy)));
    }
    Ok(Site::new(places, notes, options.peaks.clone()))
}

/// Sets the size of the files to create; a note warns if it is smaller than requested.
fn set_sizes(places: &mut [Place], options: &TargetOptions, size: Option<Bytes>) -> anyhow::Result<Vec<Warning>> {
    let mut notes = Vec::new();
    if let Some(size) = size.filter(|_| options.size_is_fixed) {
        place::give_size(places, size, options)?;
        return Ok(notes);
    }
    let wanted = size.unwrap_or(DEFAULT_TEST_FILE);
    let mut fits = wanted;
    for place in places.iter().filter(|place| place.creation != Creation::Nothing) {
        let beside = places.iter().filter(|other| other.filesystem == place.filesystem).count() as u64;
        fits = fits.min(choose_size(wanted, &place.path, place::room(place, options), beside)?);
    }
    if let Some(place) = places.iter().find(|place| place.creation != Creation::Nothing && fits < wanted) {
        let free = place.free_bytes.unwrap_or_default();
        notes.extend(options.size.map(|_| {
            Warning::new(
                "small_test_file",
                format!("the test file is {fits}, because only {free} are free; caches may raise the figures"),
                "free some space",
            )
        }));
    }
    place::give_size(places, fits, options)?;
    Ok(notes)
}

/// Rejects two names of one file that does not exist yet.
fn refuse_same_names(targets: &[PathBuf]) -> Result<(), UsageError> {
    let full = |path: &PathBuf| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(parent.canonicalize().ok()?.join(path.file_name()?))
    };
    for (index, target) in targets.iter().enumerate() {
        let same = |other: &&PathBuf| target == *other || full(target).is_some_and(|name| full(other) == Some(name));
        if let Some(other) = targets[..index].iter().find(same) {
            let (target, other) = (target.display(), other.display());
            refuse!("{target} and {other} are one file; name each target once");
        }
    }
    Ok(())
}

/// The size of each of `files` test files: `wanted`, or halved until half of the free space stays free.
fn choose_size(wanted: Bytes, place: &Path, free: Bytes, files: u64) -> Result<Bytes, UsageError> {
    let is_too_large = |size: Bytes| size.0.saturating_mul(files) > free.0 / 2;
    let mut size = wanted;
    while is_too_large(size) && size > LEAST_TEST_FILE {
        size = Bytes(size.0 / 2).max(LEAST_TEST_FILE);
    }
    if is_too_large(size) { Err(no_room(place, free, Bytes(LEAST_TEST_FILE.0 * 2 * files))) } else { Ok(size) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_model::Environment;

    fn options(path: &Path) -> TargetOptions {
        TargetOptions { targets: vec![path.to_owned()], ..TargetOptions::default() }
    }

    fn of_size(path: &Path, size: u64) -> TargetOptions {
        TargetOptions { size: Some(Bytes(size)), size_is_fixed: true, ..options(path) }
    }

    #[test]
    fn a_test_file_leaves_half_of_the_space() {
        let place = Path::new("/data");
        let size =
            |free, files| choose_size(DEFAULT_TEST_FILE, place, Bytes(free), files).map_err(|error| error.to_string());
        assert_eq!(size(100 << 30, 1), Ok(DEFAULT_TEST_FILE));
        assert_eq!(size(1 << 30, 1), Ok(Bytes(512 << 20)));
        assert_eq!(size(128 << 20, 1), Ok(LEAST_TEST_FILE));
        assert_eq!(size(4 << 30, 4), Ok(Bytes(512 << 20)));
        assert!(size(10 << 20, 1).unwrap_err().contains("10 MiB are free, 128 MiB are needed"));
        assert!(size(10 << 20, 2).unwrap_err().contains("10 MiB are free, 256 MiB are needed"));
    }

    #[test]
    fn a_requested_size_fits_or_fails() {
        let directory = tempfile::tempdir().unwrap();
        let free = examine(&of_size(directory.path(), 1 << 20)).unwrap().places[0].free_bytes.unwrap();
        let too_large = of_size(directory.path(), free.0 * 2);
        // Each would fit, but not all of them.
        let several = TargetOptions { files: Some(4), ..of_size(directory.path(), free.0 / 3) };
        for options in [&too_large, &several] {
            let error = examine(options).unwrap_err().to_string();
            assert!(error.contains("too little space"), "{error}");
        }
        let striped = TargetOptions { layout: "stripe=64KiB".parse().unwrap(), ..several };
        assert_eq!(examine(&striped).unwrap().places.len(), 4);
        let site = examine(&TargetOptions { files: Some(3), ..of_size(directory.path(), 1 << 20) }).unwrap();
        let test_file = |place: &Place| (place.creation.clone(), place.facts.size_bytes);
        let expected = (Creation::TestFile(directory.path().to_owned()), Bytes(1 << 20));
        assert_eq!(site.places.iter().map(test_file).collect::<Vec<_>>(), vec![expected; 3]);
        assert_eq!(site.fill_bytes(Contents::Data), Some(Bytes(3 << 20)));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "examining creates nothing");
        let error = examine(&options(Path::new("/nowhere/at/all"))).unwrap_err();
        assert!(error.is::<UsageError>() && error.to_string().contains("--size"), "{error}");
    }

    #[test]
    fn no_target_is_named_twice() {
        let directory = tempfile::tempdir().unwrap();
        let [file, new] = ["file", "new"].map(|name| directory.path().join(name));
        std::fs::write(&file, "a").unwrap();
        let again = |path: &Path| path.parent().unwrap().join(".").join(path.file_name().unwrap());
        for targets in [
            vec![file.clone(), again(&file)],
            vec![new.clone(), again(&new)],
            vec![directory.path().to_owned(), again(directory.path())],
            vec![PathBuf::from(NULL_TARGET), PathBuf::from(NULL_TARGET)],
            vec![file, PathBuf::from(NULL_TARGET)],
        ] {
            let options = TargetOptions { targets, ..of_size(directory.path(), 1 << 20) };
            assert!(examine(&options).unwrap_err().is::<UsageError>(), "{options:?}");
        }
    }

    #[test]
    fn memory_is_no_storage() {
        let memory = Path::new("/dev/shm");
        if halfpower_engine::filesystem::mount_of(memory).is_none_or(|mount| mount.kind != "tmpfs") {
            eprintln!("skipped: /dev/shm is not a tmpfs here");
            return;
        }
        let site = examine(&of_size(memory, 1 << 20)).unwrap();
        assert!(site.notes.iter().any(|note| note.code == "memory"), "{:?}", site.notes);
        let text = site.describe(&Environment { memory_bytes: Bytes(1 << 34), ..site.environment() });
        assert!(text.starts_with("tmpfs, "), "{text}");
        assert!(text.ends_with("no direct I/O, the page cache cannot be emptied, 16 GiB of memory."), "{text}");
        assert!(site.no_cold_cache(Bytes(1 << 34)).is_some_and(|reason| reason.contains("--size")));
        assert_eq!(site.no_cold_cache(Bytes(1 << 10)), None, "a file larger than memory cannot stay in it");
    }
}
