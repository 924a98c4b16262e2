//! The targets of a run as they were examined, and opening them.

use super::ensemble::{self, Ensemble, Followed, OpenedTarget};
use super::place::{Creation, Place};
use super::test_file::KeptTestFile;
use crate::plan::TestFileEnd;
use crate::store::{self, RunId, Store};
use crate::study::{Study, VOLUME};
use crate::text::{UsageError, joined, once, refuse, usage};
use halfpower_engine::mpi::Ranks;
use halfpower_engine::test_file::{TestFile, fill};
use halfpower_engine::{Access, Host, Target, TargetError};
use halfpower_model::sample::Warning;
use halfpower_model::{
    Bytes, Cancel, Environment, FileState, GivenPeak, Plugin, Settings, TargetFacts, TargetKind, Testbed, Workload,
    random,
};
use halfpower_sim::Simulated;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Part of a run's seed for the contents of test files.
const FILL_SEED: u64 = 1 << 41;

/// The targets of a run.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// Every target, in order; never empty.
    pub(crate) places: Vec<Place>,
    /// Warnings before the run.
    pub(crate) notes: Vec<Warning>,
    /// Advertised throughput of levels, given by the user.
    pub(crate) peaks: Vec<GivenPeak>,
    /// The simulated machine of the targets; none on this host.
    simulated: Option<Simulated>,
}

/// Open targets.
pub(crate) struct Opened {
    /// The testbed on them.
    pub(crate) testbed: Box<dyn Testbed>,
    /// Test files that are removed after the run.
    pub(crate) test_files: Vec<KeptTestFile>,
    /// Bytes written to fill them; none if none had to be filled.
    pub(crate) filled: Option<Bytes>,
}

/// The contents of a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Data, from its first byte to its last.
    Data,
    /// A length only: the workload sets its own state.
    Length,
}

/// What opening the targets needs besides the site.
pub(crate) struct Opening<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) run: RunId,
    pub(crate) seed: u64,
    pub(crate) contents: Contents,
    /// Test files of an earlier start that was killed: adopted if their contents are right, else removed.
    pub(crate) left: Vec<store::TestFile>,
    pub(crate) cancel: &'a Cancel,
    /// The processes that measure together; none of one alone.
    pub(crate) ranks: Option<&'a Arc<Ranks>>,
    /// Gets the number of bytes written.
    pub(crate) progress: &'a mut dyn FnMut(Bytes),
}

impl Contents {
    /// The contents that a workload needs for this file state.
    pub(crate) fn for_state(state: FileState) -> Contents {
        if state.holds_data() { Contents::Data } else { Contents::Length }
    }
}

impl Site {
    pub(super) fn new(places: Vec<Place>, notes: Vec<Warning>, peaks: Vec<GivenPeak>) -> Self {
        Site { places, notes, peaks, simulated: None }
    }

    /// Volumes of a simulated machine, with the advertised throughput of its levels.
    pub(super) fn simulated(mut machine: Simulated, peaks: Vec<GivenPeak>) -> Self {
        machine.give_peaks(&peaks);
        let targets = machine.describe().all_targets();
        // It holds no data.
        let place = |facts: &TargetFacts| Place::as_it_is(Path::new(&facts.path), facts.clone(), Access::Overwrite);
        let places = targets.map(place).collect();
        Site { places, notes: Vec::new(), peaks, simulated: Some(machine) }
    }

    /// The host and the targets as they will be.
    pub(crate) fn environment(&self) -> Environment {
        if let Some(machine) = &self.simulated {
            return machine.describe().clone();
        }
        let mut facts = self.places.iter().map(|place| match place.creation {
            Creation::Nothing => place.facts.clone(),
            // The allocation now says nothing about that of the new file.
            _ => TargetFacts { allocated_bytes: None, ..place.facts.clone() },
        });
        let first = facts.next().expect("a site has a place");
        halfpower_engine::environment(first, facts.collect())
    }

    /// The environment of workloads on these volumes; none is the named target.
    ///
    /// # Errors
    /// If a volume does not exist.
    pub(crate) fn environment_of(&self, volumes: &[Option<String>]) -> Result<Environment, UsageError> {
        let own = self.environment();
        let of = |volume: &Option<String>| match (&self.simulated, volume) {
            (Some(machine), Some(name)) => Ok(machine.at(name).map_err(usage)?.describe().clone()),
            _ => Ok(own.clone()),
        };
        let each = volumes.iter().map(of).collect::<Result<Vec<_>, UsageError>>()?;
        Ok(Environment::joined(each.iter()).unwrap_or(own))
    }

    /// The machine with each of these settings, and with only their volume; empty on this host.
    ///
    /// # Errors
    /// If some settings are invalid, with all of them.
    pub(crate) fn machines(&self, settings: &[Settings]) -> Result<HashMap<Settings, Simulated>, UsageError> {
        let Some(machine) = &self.simulated else { return Ok(HashMap::new()) };
        let (mut made, mut wrong) = (HashMap::new(), Vec::new());
        for set in settings.iter().flat_map(|set| [set.only(VOLUME), set.clone()]) {
            if made.contains_key(&set) {
                continue;
            }
            match machine.with(&set) {
                Ok(machine) => drop(made.insert(set, machine)),
                Err(error) => wrong.push(usage(error).0),
            }
        }
        if wrong.is_empty() { Ok(made) } else { Err(UsageError(once(wrong).join("; and: "))) }
    }

    /// The same for all settings of a study.
    ///
    /// # Errors
    /// Also if a setting does not affect the I/O path of any of its volumes.
    pub(crate) fn machines_of(&self, study: &Study) -> Result<HashMap<Settings, Simulated>, UsageError> {
        let settings = study.settings();
        let made = self.machines(&settings)?;
        let machines = settings.iter().filter_map(|set| made.get(set));
        Simulated::reject_ineffective(machines).map_err(usage)?;
        Ok(made)
    }

    /// The targets in a sentence: file system, device, free space, direct I/O.
    pub(crate) fn describe(&self, environment: &Environment) -> String {
        let targets = match self.simulated {
            Some(_) => vec![environment.devices().join(", ")],
            None => once(self.places.iter().map(describe)),
        };
        // The memory of several machines differs.
        let memory = Some(environment.memory_bytes).filter(|memory| memory.0 > 0);
        let memory = memory.map(|memory| format!(", {memory} of memory")).unwrap_or_default();
        format!("{}{memory}.", targets.join("; "))
    }

    /// Why a cold cache is impossible, if it is: files that cannot be dropped from the page cache must not fit into it.
    pub(crate) fn no_cold_cache(&self, memory: Bytes) -> Option<String> {
        let stays = self.places.iter().filter(|place| place.cache_can_be_emptied == Some(false));
        let bytes: Vec<u64> = stays.map(|place| place.facts.size_bytes.0).collect();
        (!bytes.is_empty() && bytes.iter().sum::<u64>() <= memory.0)
            .then(|| format!("the page cache cannot be emptied here; use a --size above the {memory} of memory"))
    }

    /// The first target that must not be written. `null:` is one for plug-ins, whose data nobody else knows.
    pub(crate) fn only_read<'p>(&self, mut plugins: impl Iterator<Item = &'p Plugin>) -> Option<&Place> {
        let has_plugin = plugins.next().is_some();
        let holds_data = |place: &&Place| has_plugin || place.facts.kind != TargetKind::Null;
        let mut only_read = self.places.iter().filter(|place| place.access == Access::Read);
        only_read.find(holds_data)
    }

    /// Bytes that are written before the first trial.
    pub(crate) fn fill_bytes(&self, contents: Contents) -> Option<Bytes> {
        let bytes: u64 = self.made().map(|place| place.facts.size_bytes.0).sum();
        (contents == Contents::Data && bytes > 0).then_some(Bytes(bytes))
    }

    /// Size of each new file, if there are several targets.
    pub(crate) fn each_file(&self) -> Option<Bytes> {
        self.made().next().filter(|_| self.places.len() > 1).map(|place| place.facts.size_bytes)
    }

    /// Targets of which something has to be created.
    fn made(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.creation != Creation::Nothing)
    }

    /// Rejects what a simulated machine cannot do, and settings that do not affect the volume's I/O path.
    ///
    /// # Errors
    /// With the remedy.
    pub(crate) fn refuse_unsimulated(&self, workload: &Workload) -> Result<(), UsageError> {
        let Some(machine) = &self.simulated else { return Ok(()) };
        Simulated::reject_ineffective([machine]).map_err(usage)?;
        machine.refuse(workload).map_err(usage)
    }

    /// Rejects existing targets with holes where a workload reads.
    ///
    /// # Errors
    /// If a part that a workload reads was never written, with the remedy.
    pub(crate) fn refuse_holes<'w>(&self, workloads: impl Iterator<Item = &'w Workload>) -> anyhow::Result<()> {
        let reads = workloads.filter(|workload| workload.operation.reads());
        let part = |workload: &Workload| workload.layout.part(workload.span, self.places.len() as u32);
        let Some(most) = reads.map(part).max() else { return Ok(()) };
        let host = self.places.iter().filter(|_| self.simulated.is_none());
        for place in host.filter(|place| place.creation == Creation::Nothing) {
            Target::open(&place.path, Access::Read)?.refuse_holes(most)?;
        }
        Ok(())
    }

    /// What happens to new files after the run.
    pub(crate) fn test_file_end(&self) -> TestFileEnd {
        let stays = |place: &Place| matches!(place.creation, Creation::NamedFile | Creation::LargerFile);
        if self.places.iter().any(stays) { TestFileEnd::Kept } else { TestFileEnd::Removed }
    }

    /// Creates what has to be created and opens the targets.
    ///
    /// # Errors
    /// If there is no space or no permission, or it was interrupted; then no new file stays.
    pub(crate) fn open(&self, mut opening: Opening<'_>) -> anyhow::Result<Opened> {
        if let Some(machine) = &self.simulated {
            if opening.ranks.is_some() {
                refuse!("a simulated machine is on no host; run it without the MPI launcher");
            }
            return Ok(Opened { testbed: Box::new(machine.clone()), test_files: Vec::new(), filled: None });
        }
        let are_own = self.places.iter().all(|place| matches!(place.creation, Creation::TestFile(_)));
        if let Some(ranks) = opening.ranks.filter(|_| are_own) {
            ensemble::let_others_open(ranks)?;
        }
        let mut made = Made::default();
        let opened = self.make_and_open(&mut opening, &mut made);
        // Leftovers that were not adopted.
        for left in &opening.left {
            KeptTestFile::adopt(opening.store, left)?.remove(opening.store)?;
        }
        let joined = opened.and_then(|targets| {
            let opened = opening.ranks.map(|ranks| OpenedTarget::of_all(&targets, ranks)).transpose()?;
            let mut host = Host::on(targets)?;
            host.give_peaks(&self.peaks);
            Ok(match opening.ranks.zip(opened) {
                Some((ranks, opened)) => {
                    Box::new(Ensemble::join(host, &opened, Arc::clone(ranks), opening.cancel)?) as Box<dyn Testbed>
                }
                None => Box::new(host),
            })
        });
        match joined {
            Ok(testbed) => {
                made.named.into_iter().for_each(|file| drop(file.keep()));
                Ok(Opened { testbed, test_files: made.test_files, filled: made.filled })
            }
            Err(error) => {
                if error.is::<Followed>() {
                    made.named.into_iter().for_each(|file| drop(file.keep()));
                }
                // The first error is the most useful; a file that stays has its record in the store.
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
            let target = match &place.creation {
                Creation::Nothing => ensemble::open(&place.path, place.access)?,
                Creation::LargerFile => {
                    let target = Target::open(&place.path, Access::Overwrite)?;
                    enlarge(place, &target, seed, opening, before)?;
                    target.examined_again()?
                }
                Creation::NamedFile => {
                    let file = TestFile::create_at(&place.path)?;
                    write(&file, size, seed, opening, before)?;
                    let target = file.open()?;
                    made.named.push(file);
                    target
                }
                Creation::TestFile(directory) => match take_over(directory, size, opening, made)? {
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
            if place.creation != Creation::Nothing && opening.contents == Contents::Data {
                made.filled = Some(Bytes(before.0 + size.0));
            }
            targets.push(target);
        }
        Ok(targets)
    }
}

/// What has been created.
#[derive(Default)]
struct Made {
    test_files: Vec<KeptTestFile>,
    /// Named files; removed on drop.
    named: Vec<TestFile>,
    filled: Option<Bytes>,
}

/// Adopts a test file in the directory that a killed start of the run left, if its contents are right.
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
        // The run was killed while the file was being filled, or was in another state.
        drop(target);
        file.remove(opening.store)?;
    }
    Ok(None)
}

fn write(file: &TestFile, size: Bytes, seed: u64, opening: &mut Opening<'_>, before: Bytes) -> anyhow::Result<()> {
    let progress = &mut opening.progress;
    match opening.contents {
        Contents::Length => file.stretch(size)?,
        Contents::Data => file.fill(size, seed, opening.cancel, |written| progress(Bytes(before.0 + written.0)))?,
    }
    Ok(())
}

fn enlarge(place: &Place, target: &Target, seed: u64, opening: &mut Opening<'_>, before: Bytes) -> anyhow::Result<()> {
    let Some(file) = target.file() else { return Ok(()) };
    let (path, size, progress) = (&place.path, place.facts.size_bytes, &mut opening.progress);
    match opening.contents {
        Contents::Length => file.set_len(size.0).map_err(|error| TargetError::from_io("write", path, error))?,
        Contents::Data => {
            fill(path, file, size, seed, opening.cancel, |written| progress(Bytes(before.0 + written.0)))?
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
    let server = facts.server.as_ref().map(|server| format!("{} at {}", server.protocol, server.address));
    let on = [facts.filesystem.clone(), device, server].into_iter().flatten().collect::<Vec<_>>().join(" on ");
    let direct = facts.direct_alignment_bytes.map(|alignment| format!("direct I/O in multiples of {alignment}"));
    let can = |can| format!("the page cache {} be emptied", if can { "can" } else { "cannot" });
    joined([
        Some(if on.is_empty() { facts.path.clone() } else { on }),
        place.free_bytes.map(|free| format!("{free} free")),
        direct.or(Some("no direct I/O".to_owned())),
        place.cache_can_be_emptied.map(can),
    ])
}
