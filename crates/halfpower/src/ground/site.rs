//! A site: the ground looked at, and what it takes to open the targets on it.

use super::place::{Making, Place};
use super::test_file::KeptTestFile;
use crate::plan::TestFileEnd;
use crate::store::{self, RunId, Store};
use crate::study::{Study, VOLUME};
use crate::text::UsageError;
use halfpower_engine::test_file::{TestFile, fill};
use halfpower_engine::{Access, Host, Target, TargetError};
use halfpower_model::sample::Warning;
use halfpower_model::{
    Bytes, Cancel, Environment, FileState, GivenPeak, Settings, TargetFacts, Testbed, Workload, random,
};
use halfpower_sim::Simulated;
use std::collections::HashMap;
use std::path::Path;

/// Part of a run's seed that draws the test files' bytes.
const FILL_SEED: u64 = 1 << 41;

/// Where a run will take place.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// Every target, in order; never empty.
    pub(super) places: Vec<Place>,
    /// What the user should know beforehand.
    pub(crate) notes: Vec<Warning>,
    /// What levels below the targets advertise, by the user's word.
    peaks: Vec<GivenPeak>,
    /// The machine that the targets are of, where it is no host.
    simulated: Option<Simulated>,
}

/// Open targets.
pub(crate) struct Opened {
    /// The testbed on them.
    pub(crate) testbed: Box<dyn Testbed>,
    /// The files that were made for the run and go with it.
    pub(crate) test_files: Vec<KeptTestFile>,
    /// Bytes that were written before; none when nothing had to be.
    pub(crate) filled: Option<Bytes>,
}

/// What a file that is made has in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Data, from its first byte to its last.
    Data,
    /// A length and no more: the workload brings it into the state it wants.
    Length,
}

/// What opening the targets takes, beside the site.
pub(crate) struct Opening<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) run: RunId,
    pub(crate) seed: u64,
    pub(crate) contents: Contents,
    /// Test files that a killed start of the run left: taken over where they hold what they should, else removed.
    pub(crate) left: Vec<store::TestFile>,
    pub(crate) cancel: &'a Cancel,
    /// Is told how many bytes are written.
    pub(crate) progress: &'a mut dyn FnMut(Bytes),
}

impl Contents {
    /// What a file needs to have for a workload that writes it in this state.
    pub(crate) fn for_state(state: FileState) -> Contents {
        if state.holds_data() { Contents::Data } else { Contents::Length }
    }
}

impl Site {
    pub(super) fn new(places: Vec<Place>, notes: Vec<Warning>, peaks: Vec<GivenPeak>) -> Self {
        Site { places, notes, peaks, simulated: None }
    }

    /// Volumes of a machine that is simulated, with what its levels advertise by the user's word.
    pub(super) fn simulated(mut machine: Simulated, peaks: Vec<GivenPeak>) -> Self {
        machine.give_peaks(&peaks);
        let targets = machine.describe().all_targets();
        // Nothing is there that could be lost.
        let place = |facts: &TargetFacts| Place::as_it_is(Path::new(&facts.path), facts.clone(), Access::Overwrite);
        let places = targets.map(place).collect();
        Site { places, notes: Vec::new(), peaks, simulated: Some(machine) }
    }

    /// Every target, in order.
    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }

    /// What levels below the targets advertise, by the user's word.
    pub(crate) fn peaks(&self) -> &[GivenPeak] {
        &self.peaks
    }

    /// The host and the targets as they will be.
    pub(crate) fn environment(&self) -> Environment {
        if let Some(machine) = &self.simulated {
            return machine.describe().clone();
        }
        let mut facts = self.places.iter().map(|place| match place.making {
            Making::Nothing => place.facts.clone(),
            // What lies there now says nothing of what will.
            _ => TargetFacts { allocated_bytes: None, ..place.facts.clone() },
        });
        let first = facts.next().expect("a site has a place");
        halfpower_engine::environment(first, facts.collect())
    }

    /// What workloads go to that name these volumes, for who reads of it; none among them is what was named.
    ///
    /// # Errors
    /// When there is none of a name.
    pub(crate) fn environment_of(&self, volumes: &[Option<String>]) -> Result<Environment, UsageError> {
        let own = self.environment();
        let named: Vec<String> = volumes.iter().flatten().cloned().collect();
        let known = self.volumes(&named)?;
        let of = |name: &Option<String>| name.as_ref().and_then(|name| known.get(name)).unwrap_or(&own);
        Ok(Environment::joined(volumes.iter().map(of)).unwrap_or(own))
    }

    /// Volumes of the machine, or of another one that ships, each as it is; empty on a host.
    ///
    /// # Errors
    /// When there is none of a name.
    pub(crate) fn volumes(&self, names: &[String]) -> Result<HashMap<String, Environment>, UsageError> {
        let Some(machine) = &self.simulated else { return Ok(HashMap::new()) };
        let of = |name: &String| match machine.at(name) {
            Ok(volume) => Ok((name.clone(), volume.describe().clone())),
            Err(error) => Err(UsageError(crate::text::causes(&error))),
        };
        names.iter().map(of).collect()
    }

    /// The machine as each of these settings makes it, and as the volume alone that they name; empty on a host.
    ///
    /// # Errors
    /// When some cannot be, with each of them.
    pub(crate) fn machines(&self, settings: &[Settings]) -> Result<HashMap<Settings, Simulated>, UsageError> {
        let Some(machine) = &self.simulated else { return Ok(HashMap::new()) };
        let (mut made, mut wrong) = (HashMap::new(), Vec::new());
        for set in settings.iter().flat_map(|set| [set.only(VOLUME), set.clone()]) {
            if made.contains_key(&set) {
                continue;
            }
            match machine.with(&set).map_err(|error| crate::text::causes(&error)) {
                Ok(machine) => drop(made.insert(set, machine)),
                Err(error) if wrong.contains(&error) => {}
                Err(error) => wrong.push(error),
            }
        }
        if wrong.is_empty() { Ok(made) } else { Err(UsageError(wrong.join("; and: "))) }
    }

    /// The same for all that a study sets.
    ///
    /// # Errors
    /// Also when a setting is of nothing on the way of any of the volumes that it goes to.
    pub(crate) fn machines_of(&self, study: &Study) -> Result<HashMap<Settings, Simulated>, UsageError> {
        let settings = study.settings();
        let made = self.machines(&settings)?;
        let machines = settings.iter().filter_map(|set| made.get(set));
        Simulated::refuse_beside(machines).map_err(|error| UsageError(crate::text::causes(&error)))?;
        Ok(made)
    }

    /// The ground in a sentence: what lies there, how much room, how it may be read.
    pub(crate) fn describe(&self, environment: &Environment) -> String {
        let mut grounds: Vec<String> = Vec::new();
        for place in self.places.iter().filter(|_| self.simulated.is_none()) {
            let ground = describe(place);
            if !grounds.contains(&ground) {
                grounds.push(ground);
            }
        }
        if self.simulated.is_some() {
            grounds.push(environment.devices().join(", "));
        }
        // Several machines have no one memory.
        let memory = Some(environment.memory_bytes).filter(|memory| memory.0 > 0);
        let memory = memory.map(|memory| format!(", {memory} of memory")).unwrap_or_default();
        format!("{}{memory}.", grounds.join("; "))
    }

    /// The note that this is no storage, if it is none.
    pub(crate) fn memory_note(&self) -> Option<&Warning> {
        self.notes.iter().find(|note| note.code == "memory")
    }

    /// Why a cache that is to be cold cannot be made so, if it cannot: what does not leave the cache must at least not
    /// fit into it.
    pub(crate) fn no_cold_cache(&self, memory: Bytes) -> Option<String> {
        let stays = self.places.iter().filter(|place| place.cache_can_be_emptied == Some(false));
        let bytes: Vec<u64> = stays.map(|place| place.facts.size_bytes.0).collect();
        (!bytes.is_empty() && bytes.iter().sum::<u64>() <= memory.0)
            .then(|| format!("the file cache cannot be emptied here; it needs a --size above the {memory} of memory"))
    }

    /// The first target that is there and must not be written.
    pub(crate) fn only_read(&self) -> Option<&Path> {
        self.places.iter().find(|place| place.access == Access::Read).map(|place| place.path.as_path())
    }

    /// Bytes that are written before the first trial.
    pub(crate) fn fill_bytes(&self, contents: Contents) -> Option<Bytes> {
        let made = self.places.iter().filter(|place| place.making != Making::Nothing);
        let bytes: u64 = made.map(|place| place.facts.size_bytes.0).sum();
        (contents == Contents::Data && bytes > 0).then_some(Bytes(bytes))
    }

    /// Size of each file that is made, where there are several targets.
    pub(crate) fn each_file(&self) -> Option<Bytes> {
        let made = self.places.iter().find(|place| place.making != Making::Nothing);
        made.filter(|_| self.places.len() > 1).map(|place| place.facts.size_bytes)
    }

    /// Refuses what a simulated machine does not do, and settings that are of nothing on its volume's way.
    ///
    /// # Errors
    /// With what it is, and what to say instead.
    pub(crate) fn refuse_unsimulated(&self, workload: &Workload) -> Result<(), UsageError> {
        let Some(machine) = &self.simulated else { return Ok(()) };
        let beside = Simulated::refuse_beside([machine]).map_err(|error| UsageError(crate::text::causes(&error)));
        beside.and(machine.refuse(workload).map_err(|error| UsageError(crate::text::causes(&error))))
    }

    /// Refuses targets that are there but would be read where nothing is stored.
    ///
    /// # Errors
    /// When a part of what one of the workloads reads was never written, with the remedy.
    pub(crate) fn refuse_holes<'w>(&self, workloads: impl Iterator<Item = &'w Workload>) -> anyhow::Result<()> {
        let reads = workloads.filter(|workload| workload.operation.reads());
        let part = |workload: &Workload| workload.layout.part(workload.span, self.places.len() as u32);
        let Some(most) = reads.map(part).max() else { return Ok(()) };
        let host = self.places.iter().filter(|_| self.simulated.is_none());
        for place in host.filter(|place| place.making == Making::Nothing) {
            Target::open(&place.path, Access::Read)?.refuse_holes(most)?;
        }
        Ok(())
    }

    /// What becomes of the files that are made.
    pub(crate) fn test_file_end(&self) -> TestFileEnd {
        let stays = |place: &Place| matches!(place.making, Making::NamedFile | Making::LargerFile);
        if self.places.iter().any(stays) { TestFileEnd::Kept } else { TestFileEnd::Removed }
    }

    /// Makes what has to be made and opens the targets.
    ///
    /// # Errors
    /// When there is no room, no permission, or it was interrupted; then nothing stays that was not there before.
    pub(crate) fn open(&self, mut opening: Opening<'_>) -> anyhow::Result<Opened> {
        if let Some(machine) = &self.simulated {
            return Ok(Opened { testbed: Box::new(machine.clone()), test_files: Vec::new(), filled: None });
        }
        let mut made = Made::default();
        let opened = self.make_and_open(&mut opening, &mut made);
        // What was left and did not suit has gone to nobody.
        for left in &opening.left {
            KeptTestFile::adopt(opening.store, left)?.remove(opening.store)?;
        }
        match opened.and_then(|targets| Ok(Host::on(targets)?)) {
            Ok(mut host) => {
                host.give_peaks(&self.peaks);
                made.named.into_iter().for_each(|file| drop(file.keep()));
                Ok(Opened { testbed: Box::new(host), test_files: made.test_files, filled: made.filled })
            }
            Err(error) => {
                // The first thing that went wrong says the most; a file that stays is in the store's list.
                for file in made.test_files {
                    let _ = file.remove(opening.store);
                }
                Err(error)
            }
        }
    }

    fn make_and_open(&self, opening: &mut Opening<'_>, made: &mut Made) -> anyhow::Result<Vec<Target>> {
        let mut targets = Vec::new();
        for (number, place) in self.places.iter().enumerate() {
            let seed = random::derive_seed(opening.seed, FILL_SEED + number as u64);
            let before = made.filled.unwrap_or_default();
            let size = place.facts.size_bytes;
            let target = match &place.making {
                Making::Nothing => Target::open(&place.path, place.access)?,
                Making::LargerFile => {
                    let target = Target::open(&place.path, Access::Overwrite)?;
                    enlarge(&place.path, &target, size, seed, opening, before)?;
                    target.examined_again()?
                }
                Making::NamedFile => {
                    let file = TestFile::create_at(&place.path)?;
                    write(&file, size, seed, opening, before)?;
                    let target = file.open()?;
                    made.named.push(file);
                    target
                }
                Making::TestFile(directory) => match take_over(directory, size, opening, made)? {
                    Some(target) => {
                        targets.push(target);
                        continue;
                    }
                    None => {
                        let file = KeptTestFile::make(directory, size, opening.store, opening.run)?;
                        made.test_files.push(file);
                        let file = &made.test_files[made.test_files.len() - 1].file;
                        write(file, size, seed, opening, before)?;
                        file.open()?
                    }
                },
            };
            if place.making != Making::Nothing && opening.contents == Contents::Data {
                made.filled = Some(Bytes(before.0 + size.0));
            }
            targets.push(target);
        }
        Ok(targets)
    }
}

/// What was made so far.
#[derive(Default)]
struct Made {
    test_files: Vec<KeptTestFile>,
    /// Files that the user named; removed when dropped.
    named: Vec<TestFile>,
    filled: Option<Bytes>,
}

/// Takes over a file in the directory that a killed start of the run left, if one holds what it should.
fn take_over(
    directory: &Path,
    size: Bytes,
    opening: &mut Opening<'_>,
    made: &mut Made,
) -> anyhow::Result<Option<Target>> {
    let home = directory.canonicalize()?;
    let is_here = |left: &store::TestFile| {
        left.path.parent().and_then(|parent| parent.canonicalize().ok()).is_some_and(|parent| parent == home)
    };
    while let Some(index) = opening.left.iter().position(is_here) {
        let left = opening.left.remove(index);
        let file = KeptTestFile::adopt(opening.store, &left)?;
        let target = file.file.open()?;
        if target.facts().size_bytes == size && target.is_filled() {
            made.test_files.push(file);
            return Ok(Some(target));
        }
        // It was killed while the file was being filled, or while it was in some other state.
        drop(target);
        file.remove(opening.store)?;
    }
    Ok(None)
}

fn write(file: &TestFile, size: Bytes, seed: u64, opening: &mut Opening<'_>, before: Bytes) -> anyhow::Result<()> {
    match opening.contents {
        Contents::Length => file.stretch(size)?,
        Contents::Data => {
            file.fill(size, seed, opening.cancel, |written| (opening.progress)(Bytes(before.0 + written.0)))?;
        }
    }
    Ok(())
}

fn enlarge(
    path: &Path,
    target: &Target,
    size: Bytes,
    seed: u64,
    opening: &mut Opening<'_>,
    before: Bytes,
) -> anyhow::Result<()> {
    let Some(file) = target.file() else { return Ok(()) };
    match opening.contents {
        Contents::Length => file.set_len(size.0).map_err(|error| TargetError::from_io("write", path, error))?,
        Contents::Data => {
            fill(path, file, size, seed, opening.cancel, |written| (opening.progress)(Bytes(before.0 + written.0)))?;
        }
    }
    Ok(())
}

fn describe(place: &Place) -> String {
    let facts = &place.facts;
    let device = facts.device.as_ref().map(|device| match &facts.transport {
        Some(transport) => format!("{device} ({transport})"),
        None => device.clone(),
    });
    let ground = [facts.filesystem.clone(), device].into_iter().flatten().collect::<Vec<_>>().join(" on ");
    let mut parts = vec![if ground.is_empty() { facts.path.clone() } else { ground }];
    parts.extend(place.free_bytes.map(|free| format!("{free} free")));
    parts.push(match facts.direct_alignment_bytes {
        Some(alignment) => format!("direct I/O in multiples of {alignment}"),
        None => "no direct I/O".to_owned(),
    });
    parts.extend(
        place
            .cache_can_be_emptied
            .map(|can| format!("a file cache that {} be emptied", if can { "can" } else { "cannot" })),
    );
    parts.join(", ")
}
