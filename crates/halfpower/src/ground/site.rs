//! A site: the ground looked at, and what it takes to open the target on it.

use super::{Making, Wish};
use crate::plan::TestFileEnd;
use crate::store::{self, RunId, Store, TestFileId};
use halfpower_engine::test_file::{TestFile, fill};
use halfpower_engine::{Access, Host, Target};
use halfpower_model::sample::Warning;
use halfpower_model::{Bytes, Cancel, TargetFacts, random};
use std::path::{Path, PathBuf};

/// Part of a run's seed that draws the test file's bytes.
const FILL_SEED: u64 = 1 << 41;
/// How a test file's name begins and ends, for people who find one.
pub(super) const TEST_FILE_PREFIX: &str = "halfpower-";
pub(super) const TEST_FILE_SUFFIX: &str = ".test";

/// Where a run will take place.
#[derive(Clone, Debug)]
pub(crate) struct Site {
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
    /// What the user should know beforehand.
    pub(crate) notes: Vec<Warning>,
}

/// An open target.
pub(crate) struct Opened {
    /// The testbed on it.
    pub(crate) host: Host,
    /// The file that was made for the run and goes with it.
    pub(crate) test_file: Option<KeptTestFile>,
    /// Bytes that were written before; none when nothing had to be.
    pub(crate) filled: Option<Bytes>,
}

/// A test file that the store knows of, so that it is found again whatever happens.
pub(crate) struct KeptTestFile {
    file: TestFile,
    id: TestFileId,
}

impl Site {
    pub(super) fn new(wish: &Wish, facts: TargetFacts, making: Making, notes: Vec<Warning>) -> Self {
        // What we make ourselves may be written.
        let access =
            if matches!(making, Making::TestFile(_) | Making::NamedFile) { Access::Overwrite } else { wish.access };
        let path = wish.path.clone();
        Site { path, facts, making, access, free_bytes: None, cache_can_be_emptied: None, notes }
    }

    /// The ground in a sentence: what lies there, how much room, how it may be read.
    pub(crate) fn describe(&self, memory: Bytes) -> String {
        let facts = &self.facts;
        let device = facts.device.as_ref().map(|device| match &facts.transport {
            Some(transport) => format!("{device} ({transport})"),
            None => device.clone(),
        });
        let place = [facts.filesystem.clone(), device].into_iter().flatten().collect::<Vec<_>>().join(" on ");
        let mut parts = vec![if place.is_empty() { facts.path.clone() } else { place }];
        parts.extend(self.free_bytes.map(|free| format!("{free} free")));
        parts.push(match facts.direct_alignment_bytes {
            Some(alignment) => format!("direct I/O in multiples of {alignment}"),
            None => "no direct I/O".to_owned(),
        });
        parts.extend(
            self.cache_can_be_emptied
                .map(|can| format!("a file cache that {} be emptied", if can { "can" } else { "cannot" })),
        );
        parts.push(format!("{memory} of memory"));
        format!("{}.", parts.join(", "))
    }

    /// The note that this is no storage, if it is none.
    pub(crate) fn memory_note(&self) -> Option<&Warning> {
        self.notes.iter().find(|note| note.code == "memory")
    }

    /// Why a cache that is to be cold cannot be made so, if it cannot: what does not leave the cache must at least not
    /// fit into it.
    pub(crate) fn no_cold_cache(&self, memory: Bytes) -> Option<String> {
        let stays = self.cache_can_be_emptied == Some(false) && self.facts.size_bytes <= memory;
        stays.then(|| format!("the file cache cannot be emptied here; it needs a --size above the {memory} of memory"))
    }

    /// Bytes that are written before the first trial.
    pub(crate) fn fill_bytes(&self) -> Option<Bytes> {
        (self.making != Making::Nothing).then_some(self.facts.size_bytes)
    }

    /// Refuses a target that is there but would be read where nothing is stored.
    ///
    /// # Errors
    /// When a part of the first `span` bytes was never written, with the remedy.
    pub(crate) fn refuse_holes(&self, span: Bytes) -> anyhow::Result<()> {
        if self.making == Making::Nothing {
            Target::open(&self.path, Access::Read)?.refuse_holes(span)?;
        }
        Ok(())
    }

    /// What becomes of the file that is made.
    pub(crate) fn test_file_end(&self) -> TestFileEnd {
        match self.making {
            Making::TestFile(_) | Making::Nothing => TestFileEnd::Removed,
            Making::NamedFile | Making::LargerFile => TestFileEnd::Kept,
        }
    }

    /// Makes what has to be made, tells `progress` how many bytes are written, and opens the target.
    ///
    /// # Errors
    /// When there is no room, no permission, or it was interrupted; then nothing stays that was not there before.
    pub(crate) fn open(
        &self,
        store: &mut Store,
        run: RunId,
        seed: u64,
        cancel: &Cancel,
        progress: &mut dyn FnMut(Bytes),
    ) -> anyhow::Result<Opened> {
        let seed = random::derive_seed(seed, FILL_SEED);
        let size = self.facts.size_bytes;
        match &self.making {
            Making::Nothing => {
                let host = Host::new(Target::open(&self.path, self.access)?);
                Ok(Opened { host, test_file: None, filled: None })
            }
            Making::LargerFile => {
                let target = Target::open(&self.path, Access::Overwrite)?;
                if let Some(file) = target.file() {
                    fill(&self.path, file, size, seed, cancel, progress)?;
                }
                Ok(Opened { host: Host::new(target.examined_again()?), test_file: None, filled: Some(size) })
            }
            Making::NamedFile => {
                let file = TestFile::create_at(&self.path)?;
                file.fill(size, seed, cancel, progress)?;
                let host = Host::new(file.open()?);
                file.keep();
                Ok(Opened { host, test_file: None, filled: Some(size) })
            }
            Making::TestFile(directory) => {
                let test_file = KeptTestFile::make(directory, size, store, run)?;
                match test_file.file.fill(size, seed, cancel, progress) {
                    Ok(()) => Ok(Opened { filled: Some(size), ..Opened::on_test_file(test_file)? }),
                    Err(error) => {
                        test_file.remove(store)?;
                        Err(error.into())
                    }
                }
            }
        }
    }
}

impl Opened {
    /// The testbed on a test file that is filled.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn on_test_file(test_file: KeptTestFile) -> anyhow::Result<Opened> {
        let host = Host::new(test_file.file.open()?);
        Ok(Opened { host, test_file: Some(test_file), filled: None })
    }
}

impl KeptTestFile {
    /// Makes an empty one under a new name. The store knows of it before it is there.
    fn make(directory: &Path, size: Bytes, store: &mut Store, run: RunId) -> anyhow::Result<Self> {
        let mut salt = u64::from(std::process::id()) ^ (jiff::Timestamp::now().as_nanosecond() as u64);
        let path = directory.join(format!("{TEST_FILE_PREFIX}{:016x}{TEST_FILE_SUFFIX}", random::split_mix(&mut salt)));
        let id = store.note_test_file(&path, size)?;
        store.test_file_is_for(id, run)?;
        let file = match TestFile::create_at(&path) {
            Ok(file) => file,
            Err(error) => {
                store.test_file_removed(id)?;
                return Err(error.into());
            }
        };
        store.test_file_made(id)?;
        Ok(KeptTestFile { file, id })
    }

    /// Takes over one that a killed run left, which the store vouches for.
    ///
    /// # Errors
    /// When it is gone, or another process has taken it over.
    pub(crate) fn adopt(store: &mut Store, left: &store::TestFile) -> anyhow::Result<Self> {
        anyhow::ensure!(
            store.take_test_file(left.id)?,
            "{} has been taken over by another process; wait until it is done",
            left.path.display()
        );
        Ok(KeptTestFile { file: TestFile::adopt(&left.path)?, id: left.id })
    }

    /// Removes it and strikes it off the store's list.
    ///
    /// # Errors
    /// When it cannot be removed; the store then still knows of it.
    pub(crate) fn remove(self, store: &mut Store) -> anyhow::Result<()> {
        self.file.remove()?;
        Ok(store.test_file_removed(self.id)?)
    }
}
