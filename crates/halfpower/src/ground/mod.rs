//! The ground a run stands on: what is under each path, what may be written there, how large a test file fits.
//!
//! Looking changes nothing. What looking cannot vouch for (memory instead of storage, a network between, a cache that
//! keeps everything) is said before anything is measured. Nothing that holds data is opened for writing unless the
//! user said so for that very target, and no two targets may be the same storage.

mod leftover;
mod overwrite;
mod place;
mod site;
mod test_file;

pub(crate) use leftover::{Cleaned, offer_removal, remove_leftovers};
pub(crate) use overwrite::Overwrite;
pub(crate) use place::{Making, Place};
pub(crate) use site::{Contents, Opened, Opening, Site};
pub(crate) use test_file::KeptTestFile;

use crate::input::{self, Times};
use crate::store::TestFile;
use crate::text::UsageError;
use anyhow::Context as _;
use halfpower_engine::{Access, NULL_TARGET, Target, refuse_same};
use halfpower_model::reading::inspect::Limit;
use halfpower_model::sample::Warning;
use halfpower_model::{Bytes, GivenPeak, Layout, LevelName, Quantity, Settings, TargetFacts, TargetKind};
use halfpower_sim::{Simulated, shipped};
use std::fmt;
use std::path::{Path, PathBuf};

/// The smallest test file worth reading: below it, caches of drives and controllers answer for the medium.
const LEAST_TEST_FILE: Bytes = Bytes(64 << 20);
/// The size of a test file when nobody says one.
const DEFAULT_TEST_FILE: Bytes = Bytes(1 << 30);
/// Most targets: what a transfer can name, and more than anybody has.
const MOST_TARGETS: usize = 1024;

/// How the name of a simulated volume begins: `sim:MACHINE:VOLUME`.
const SIMULATED: &str = "sim:";

/// Whether a target is a volume of a simulated machine.
pub(crate) fn is_simulated(target: &Path) -> bool {
    target.to_str().is_some_and(|name| name.starts_with(SIMULATED))
}

/// What the user said about the targets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    /// What to measure: files, devices and directories, or `null:`.
    pub(crate) targets: Vec<PathBuf>,
    /// How many test files to make in each directory; none where nobody said.
    pub(crate) files: Option<u32>,
    /// How the targets make one.
    pub(crate) layout: Layout,
    /// How large what they make together is to be; where each is on its own, each.
    pub(crate) size: Option<Bytes>,
    /// Whether the size was asked for by the user, and so must fit, or is a suggestion that may shrink.
    pub(crate) size_is_fixed: bool,
    /// What may be lost.
    pub(crate) overwrite: Overwrite,
    /// What levels below the targets advertise, by the user's word.
    pub(crate) peaks: Vec<GivenPeak>,
    /// Test files there that will be used again.
    pub(crate) held: Vec<TestFile>,
}

/// What the name of a simulated target says: `sim:MACHINE:VOLUME`, and settings behind it, `,KEY=VALUE`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SimulatedName {
    /// One that ships, or the path of a file.
    pub(crate) machine: String,
    /// One of its volumes.
    pub(crate) volume: String,
    /// What is different from its file.
    pub(crate) settings: Settings,
}

impl SimulatedName {
    /// Of a target; none where it is no simulated one.
    pub(crate) fn of(target: &Path) -> Option<Result<SimulatedName, UsageError>> {
        Some(SimulatedName::read(target.to_str()?.strip_prefix(SIMULATED)?))
    }

    fn read(name: &str) -> Result<SimulatedName, UsageError> {
        let (volume, settings) = match name.split_once(',') {
            Some((volume, settings)) => (volume, settings.parse().map_err(|error| UsageError(format!("{error}")))?),
            None => (name, Settings::default()),
        };
        let Some((machine, volume)) = volume.rsplit_once(':') else {
            let known = shipped::machines().collect::<Vec<_>>().join(", ");
            return Err(UsageError(format!(
                "{SIMULATED}{name} names no volume; write {SIMULATED}MACHINE:VOLUME, with a machine of {known}"
            )));
        };
        Ok(SimulatedName { machine: machine.to_owned(), volume: volume.to_owned(), settings })
    }

    /// The target without the settings.
    pub(crate) fn plain(&self) -> PathBuf {
        PathBuf::from(format!("{SIMULATED}{}:{}", self.machine, self.volume))
    }

    /// The machine's file; none of one that ships.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.machine.contains('/').then_some(Path::new(&self.machine))
    }
}

impl fmt::Display for SimulatedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let comma = if self.settings.is_empty() { "" } else { "," };
        write!(f, "{}{comma}{}", self.plain().display(), self.settings)
    }
}

/// The file of a machine that ships, or a machine's file at a path.
///
/// # Errors
/// When there is none.
pub(crate) fn machine_text(machine: &str) -> anyhow::Result<String> {
    if let Some(text) = shipped::machine_text(machine) {
        return Ok(text.to_owned());
    }
    if machine.contains('/') {
        return input::read_text(Path::new(machine), Times::Several)
            .with_context(|| format!("cannot read the machine {machine}"));
    }
    if Path::new(machine).is_file() {
        let message = format!("no simulated machine is called {machine}; did you mean the file ./{machine}?");
        return Err(UsageError(message).into());
    }
    let known = shipped::machines().collect::<Vec<_>>().join(", ");
    let message = format!("no simulated machine is called {machine}; there are {known}, or a file: ./own.toml");
    Err(UsageError(message).into())
}

/// A volume of a machine.
fn simulated_site(name: &SimulatedName, peaks: Vec<GivenPeak>) -> anyhow::Result<Site> {
    let SimulatedName { machine, volume, settings } = name;
    let made = Simulated::of_file(machine, &machine_text(machine)?, volume, settings);
    Ok(Site::simulated(made.map_err(|error| UsageError(crate::text::causes(&error)))?, peaks))
}

/// Looks at what the user named.
///
/// # Errors
/// When it cannot be measured, with the remedy.
pub(crate) fn look(wish: &Wish) -> anyhow::Result<Site> {
    let files = wish.files.unwrap_or(1);
    if files == 0 {
        return Err(UsageError("--files is 0; give at least 1".to_owned()).into());
    }
    if let Some((target, name)) = wish.targets.iter().find_map(|target| Some((target, SimulatedName::of(target)?))) {
        if wish.targets.len() > 1 {
            let message = format!(
                "{} takes no other targets beside it; name it alone: a machine's volume of several disks is several targets, \
                 and a study goes to several volumes by its key set",
                target.display()
            );
            return Err(UsageError(message).into());
        }
        if wish.files.is_some() {
            let message = "--files makes test files in a directory, and a simulated volume has none; leave it out: a volume of several \
                           disks is several targets";
            return Err(UsageError(message.to_owned()).into());
        }
        return simulated_site(&name?, wish.peaks.clone());
    }
    refuse_same(&wish.targets).map_err(|error| UsageError(error.to_string()))?;
    refuse_same_names(&wish.targets)?;
    if let Some(null) = wish.targets.iter().find(|target| target.as_os_str() == NULL_TARGET) {
        let mut facts = Target::open(null, Access::Overwrite)?.facts().clone();
        facts.give_peaks(&wish.peaks);
        if wish.targets.len() > 1 {
            return Err(UsageError("null: takes no other targets beside it; name it alone".to_owned()).into());
        }
        // It holds nothing that could be lost.
        return Ok(Site::new(vec![Place::as_it_is(null, facts, Access::Overwrite)], Vec::new(), wish.peaks.clone()));
    }
    let directories = wish.targets.iter().filter(|target| target.is_dir()).count();
    if directories == 0 && wish.files.is_some() {
        let message = "--files makes test files in a directory, and none was named; leave it out, or name one";
        return Err(UsageError(message.to_owned()).into());
    }
    let targets = directories * files as usize + wish.targets.len() - directories;
    if targets > MOST_TARGETS {
        return Err(UsageError(format!("{targets} targets are too many; name at most {MOST_TARGETS}")).into());
    }
    let size = wish.size.map(|size| wish.layout.part(size, targets as u32));
    let mut places = Vec::new();
    for target in &wish.targets {
        let mut place = Place::find(target, wish, size)?;
        place.facts.give_peaks(&wish.peaks);
        let copies = if matches!(place.making, Making::TestFile(_)) { files } else { 1 };
        places.extend(std::iter::repeat_n(place, copies as usize));
    }
    let mut notes = size_them(&mut places, wish, size)?;
    let said = wish.targets.iter().filter_map(|target| places.iter().find(|place| place.path == *target));
    for place in said {
        notes.extend(notes_on(&place.facts));
        let remedy = "make sure that no other program uses it";
        notes.extend(place.unknown_use.as_ref().map(|unknown| Warning::new("unknown_use", unknown.clone(), remedy)));
    }
    Ok(Site::new(places, notes, wish.peaks.clone()))
}

/// Gives what is made its size; the note says where that is less than was wanted.
fn size_them(places: &mut [Place], wish: &Wish, size: Option<Bytes>) -> anyhow::Result<Vec<Warning>> {
    let mut notes = Vec::new();
    if let Some(size) = size.filter(|_| wish.size_is_fixed) {
        place::give_size(places, size, wish)?;
        return Ok(notes);
    }
    let wanted = size.unwrap_or(DEFAULT_TEST_FILE);
    let mut fits = wanted;
    for place in places.iter().filter(|place| place.making != Making::Nothing) {
        let beside = places.iter().filter(|other| other.filesystem == place.filesystem).count() as u64;
        fits = fits.min(choose_size(wanted, &place.path, place::room(place, wish), beside)?);
    }
    if let Some(place) = places.iter().find(|place| place.making != Making::Nothing && fits < wanted) {
        let free = place.free_bytes.unwrap_or_default();
        notes.extend(wish.size.map(|_| {
            Warning::new(
                "small_test_file",
                format!("the test file is {fits}, because only {free} are free"),
                "free some space for figures that caches distort less",
            )
        }));
    }
    place::give_size(places, fits, wish)?;
    Ok(notes)
}

/// Refuses files to be made that are one and the same.
fn refuse_same_names(targets: &[PathBuf]) -> Result<(), UsageError> {
    let full = |path: &PathBuf| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(parent.canonicalize().ok()?.join(path.file_name()?))
    };
    for (index, target) in targets.iter().enumerate() {
        let same = |other: &&PathBuf| target == *other || full(target).is_some_and(|name| full(other) == Some(name));
        if let Some(other) = targets[..index].iter().find(same) {
            let (target, other) = (target.display(), other.display());
            return Err(UsageError(format!("{target} and {other} are one file; name each target once")));
        }
    }
    Ok(())
}

/// A size for each of `files` test files: what was wanted, or halved until at least half of the free space stays free.
fn choose_size(wanted: Bytes, place: &Path, free: Bytes, files: u64) -> Result<Bytes, UsageError> {
    let is_too_large = |size: Bytes| size.0.saturating_mul(files) > free.0 / 2;
    let mut size = wanted;
    while is_too_large(size) && size > LEAST_TEST_FILE {
        size = Bytes(size.0 / 2).max(LEAST_TEST_FILE);
    }
    if is_too_large(size) { Err(no_room(place, free, Bytes(LEAST_TEST_FILE.0 * 2 * files))) } else { Ok(size) }
}

fn no_room(place: &Path, free: Bytes, needed: Bytes) -> UsageError {
    UsageError(format!(
        "there is too little room under {}: {free} are free and {needed} are needed; free some space, \
         name another directory, or give a smaller --size",
        place.display()
    ))
}

/// What would make the figures something else than those of a storage device.
fn notes_on(facts: &TargetFacts) -> Vec<Warning> {
    let filesystem = facts.filesystem.as_deref().unwrap_or_default();
    let mut notes = Vec::new();
    if halfpower_engine::filesystem::is_memory(filesystem) || facts.transport.as_deref() == Some("ram") {
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
    let mut held_to = |what: &str, most: String, by: &str| {
        notes.push(Warning::new(
            "limited",
            format!("{what} of {} are held to {most}: {by}", facts.path),
            "run it in another control group to measure the device",
        ));
    };
    for level in &facts.levels {
        if let (LevelName::ReadLimit | LevelName::WriteLimit, Some(peak)) = (level.name, level.pap_bytes_per_s) {
            let what = if level.name == LevelName::ReadLimit { "reads" } else { "writes" };
            held_to(what, peak.to_string(), &level.source);
        }
    }
    let of_reads: fn(&Limit) -> Option<u64> = |limit| limit.read_requests_per_s;
    for (what, of) in [("reads", of_reads), ("writes", |limit| limit.write_requests_per_s)] {
        let limits = facts.limits.iter().filter_map(|held| Some((of(&held.limit)?, held)));
        if let Some((most, held)) = limits.min_by_key(|(most, _)| *most) {
            let most = Quantity::RequestsPerSecond.format(most as f64);
            held_to(what, most, &format!("control group {}", held.limit.group));
        }
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
    use halfpower_model::Environment;
    use halfpower_model::environment::DeviceLimit;

    fn wish(path: &Path) -> Wish {
        Wish { targets: vec![path.to_owned()], ..Wish::default() }
    }

    fn of_size(path: &Path, size: u64) -> Wish {
        Wish { size: Some(Bytes(size)), size_is_fixed: true, ..wish(path) }
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
        assert!(size(10 << 20, 1).unwrap_err().contains("10 MiB are free and 128 MiB are needed"));
        assert!(size(10 << 20, 2).unwrap_err().contains("10 MiB are free and 256 MiB are needed"));
    }

    #[test]
    fn a_size_that_was_asked_for_fits_or_fails() {
        let directory = tempfile::tempdir().unwrap();
        let free = look(&of_size(directory.path(), 1 << 20)).unwrap().places[0].free_bytes.unwrap();
        let error = look(&of_size(directory.path(), free.0 * 2)).unwrap_err().to_string();
        assert!(error.contains("too little room"), "{error}");
        // Each would fit, but not all of them.
        let several = Wish { files: Some(4), ..of_size(directory.path(), free.0 / 3) };
        let error = look(&several).unwrap_err().to_string();
        assert!(error.contains("too little room"), "{error}");
        let striped = Wish { layout: "stripe=64KiB".parse().unwrap(), ..several };
        assert_eq!(look(&striped).unwrap().places.len(), 4);
    }

    #[test]
    fn a_missing_file_without_a_size_is_wrong_usage() {
        let error = look(&wish(Path::new("/nowhere/at/all"))).unwrap_err();
        assert!(error.is::<UsageError>() && error.to_string().contains("--size"), "{error}");
    }

    #[test]
    fn nothing_is_named_twice() {
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
            let wish = Wish { targets, ..of_size(directory.path(), 1 << 20) };
            assert!(look(&wish).unwrap_err().is::<UsageError>(), "{wish:?}");
        }
    }

    #[test]
    fn a_control_group_s_limit_of_requests_is_told_before() {
        let told = |limits: &[Limit]| -> Vec<String> {
            let mut facts = TargetFacts::bare("big", TargetKind::File, Bytes(1 << 30));
            facts.direct_alignment_bytes = Some(Bytes(512));
            let held = |limit: &Limit| DeviceLimit { device: "vda".to_owned(), limit: limit.clone() };
            facts.limits = limits.iter().map(held).collect();
            notes_on(&facts).into_iter().map(|note| note.message).collect()
        };
        let limit = |group: &str, reads, writes| Limit {
            group: group.to_owned(),
            read_requests_per_s: reads,
            write_requests_per_s: writes,
            ..Limit::default()
        };
        let (one, other) = (limit("blkio:/a", Some(500), None), limit("v2:/", Some(900), Some(70)));
        assert_eq!(
            told(&[one, other]),
            [
                "reads of big are held to 500 requests/s: control group blkio:/a",
                "writes of big are held to 70 requests/s: control group v2:/"
            ]
        );
        assert_eq!(told(&[limit("blkio:/a", None, None)]), [""; 0]);
    }

    #[test]
    fn memory_is_told_from_storage() {
        let memory = Path::new("/dev/shm");
        if halfpower_engine::filesystem::mount_of(memory).is_none_or(|mount| mount.kind != "tmpfs") {
            eprintln!("skipped: /dev/shm is no tmpfs here");
            return;
        }
        let site = look(&of_size(memory, 1 << 20)).unwrap();
        assert!(site.notes.iter().any(|note| note.code == "memory"), "{:?}", site.notes);
        let told = site.describe(&Environment { memory_bytes: Bytes(1 << 34), ..site.environment() });
        assert!(told.starts_with("tmpfs, "), "{told}");
        assert!(told.ends_with("no direct I/O, a file cache that cannot be emptied, 16 GiB of memory."), "{told}");
        assert!(site.no_cold_cache(Bytes(1 << 34)).is_some_and(|reason| reason.contains("--size")));
        assert_eq!(site.no_cold_cache(Bytes(1 << 10)), None, "a file larger than memory cannot stay in it");
    }

    #[test]
    fn a_directory_gets_test_files() {
        let directory = tempfile::tempdir().unwrap();
        let site = look(&Wish { files: Some(3), ..of_size(directory.path(), 1 << 20) }).unwrap();
        assert_eq!(site.places.len(), 3);
        for place in &site.places {
            assert_eq!(place.making, Making::TestFile(directory.path().to_owned()));
            assert_eq!(place.facts.size_bytes, Bytes(1 << 20));
        }
        assert_eq!(site.fill_bytes(Contents::Data), Some(Bytes(3 << 20)));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "looking makes nothing");
    }
}
