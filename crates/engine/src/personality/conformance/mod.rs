//! Tests of every personality that moves bytes on this host, the example plug-ins among them.
//!
//! They call the trait directly with their own buffers, so that they see the data. A personality that cannot be tested here is
//! named as skipped. Tests of whole runs (limits, cancellation, samples) are in `tests/`.

mod answers;
mod bytes;
mod ends;
#[path = "../../../../../examples/built.rs"]
mod examples;
mod faults;
mod fuse;
mod panics;
mod rings;

use super::interface::{Completion, Granted, Personality, Setup, Transfer};
use super::{Name, for_personality};
use crate::buffers::Buffers;
use crate::network::nbd::server::{Server, Serving};
use crate::target::{Access, OpenTarget};
use halfpower_model::random::Random;
use halfpower_model::stream::RequestKind;
use halfpower_model::{Buffering, Bytes, Operation, Plugin, RingOptions, Workload};
use std::cell::OnceCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a target.
const SPAN: usize = 1 << 20;
/// The largest transfer.
const SLOT: usize = 64 << 10;
/// Outstanding transfers of the personalities that take several.
const DEPTH: u32 = 8;
/// The byte of buffers without read data.
const UNTOUCHED: u8 = 0xEE;

/// A personality to test.
#[derive(Clone, Debug)]
struct Subject {
    personality: Name,
    plugin: Option<Plugin>,
    /// Where it stores bytes.
    storage: Storage,
    /// How its transfers are carried out.
    asking: Asking,
    ring: RingOptions,
}

/// How transfers are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asking {
    /// By submitting and reaping them.
    InTurn,
    /// By one call each, for synchronous personalities.
    Synchronous,
}

/// Where a personality stores bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Storage {
    /// In the target.
    Target,
    /// In the target, behind a server.
    Server,
    /// In itself.
    Own,
}

/// Every personality that moves bytes of files here.
fn subjects() -> Vec<Subject> {
    let mut subjects = Vec::new();
    for personality in Name::ALL.iter().copied() {
        let subject = Subject::new(personality);
        if let Some(reason) = for_personality!(personality, P => <P as Personality>::unavailable()) {
            eprintln!("skipped: {personality}, {reason}");
        } else if !for_personality!(personality, P => <P as Personality>::MOVES_DATA) {
            eprintln!("skipped: {personality}, it moves no bytes");
        } else if ["sg", "nvme"].contains(&personality.word()) {
            eprintln!("skipped: {personality}, it speaks to disks, not to files");
        } else if personality == Name::Nbd {
            subjects.push(Subject { storage: Storage::Server, ..subject });
        } else if personality.is_remote() {
            eprintln!(
                "skipped: {personality}, its server is no part of this program; whole runs are tested against real ones"
            );
        } else if personality == Name::Plugin {
            subjects.extend(ram(""));
            let plugin =
                examples::positioned().map(|file| Plugin { file: file.display().to_string(), options: String::new() });
            subjects.extend(plugin.map(|plugin| Subject { plugin: Some(plugin), ..subject }));
        } else {
            let at_once = for_personality!(personality, P => <P as Personality>::SYNCHRONOUS);
            subjects.extend(at_once.then(|| Subject { asking: Asking::Synchronous, ..subject.clone() }));
            subjects.push(subject);
        }
    }
    subjects
}

/// The plug-in that fails on demand, with options; none where it cannot be built.
fn ram(options: &str) -> Option<Subject> {
    let plugin = Plugin { file: examples::ram()?.display().to_string(), options: options.to_owned() };
    Some(Subject { plugin: Some(plugin), storage: Storage::Own, ..Subject::new(Name::Plugin) })
}

/// Defines a test of each check, which runs for every subject.
macro_rules! every_personality {
    ($($test:ident => $check:ident;)+) => {$(
        #[test]
        fn $test() {
            for subject in subjects() {
                eprintln!("{}", subject.label());
                let _alone = subject.alone();
                for_personality!(subject.personality, P => $check::<P>(&subject));
            }
        }
    )+};
}
use every_personality;

impl Subject {
    fn new(personality: Name) -> Subject {
        let (storage, asking, ring) = (Storage::Target, Asking::InTurn, RingOptions::default());
        Subject { personality, plugin: None, storage, asking, ring }
    }

    fn label(&self) -> String {
        match (&self.plugin, self.asking) {
            (Some(plugin), _) => format!("plugin:{plugin}"),
            (None, Asking::InTurn) => self.personality.to_string(),
            (None, Asking::Synchronous) => format!("{}, at once", self.personality),
        }
    }

    /// A lock while the bytes matter: tests run in parallel, and a plug-in has one memory for all of them.
    fn alone(&self) -> Option<MutexGuard<'static, ()>> {
        static OWN: Mutex<()> = Mutex::new(());
        (self.storage == Storage::Own).then(|| OWN.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn outstanding(&self) -> u32 {
        if self.personality.is_deep() { DEPTH } else { 1 }
    }
}

/// A file of [`SPAN`] bytes drawn from a seed, removed when dropped.
struct Target {
    _directory: tempfile::TempDir,
    /// Started when it is needed.
    server: OnceCell<Server>,
    path: PathBuf,
    content: Vec<u8>,
}

impl Target {
    /// On the disk of the build, because not every file system of /tmp has direct I/O.
    fn new() -> Target {
        let beside = std::env::current_exe().unwrap();
        let directory = tempfile::tempdir_in(beside.parent().unwrap()).unwrap();
        let path = directory.path().join("target");
        let mut content = vec![0; SPAN];
        draw(&mut content, &mut Random::new(7));
        std::fs::write(&path, &content).unwrap();
        Target { _directory: directory, server: OnceCell::new(), path, content }
    }

    fn open(&self, buffering: Buffering) -> Vec<OpenTarget> {
        open(&self.path, "mix=50", buffering)
    }

    /// As a volume of a server.
    fn served(&self) -> Vec<OpenTarget> {
        let server = self.server.get_or_init(|| Server::start(Serving::of(&self.path)));
        open(&server.name(""), "mix=50", Buffering::Direct)
    }
}

/// Opens a file as it is for a workload.
fn open(path: &Path, operation: &str, buffering: Buffering) -> Vec<OpenTarget> {
    let operation: Operation = operation.parse().unwrap();
    let access = if operation.destroys() { Access::Overwrite } else { Access::Read };
    let workload = Workload { operation, buffering, ..Workload::default() };
    let opened = crate::target::Target::open(path, access).unwrap().reopen(&workload).unwrap();
    opened.into_iter().collect()
}

/// Fills a buffer with random bytes.
fn draw(buffer: &mut [u8], random: &mut Random) {
    buffer.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&random.next_bits().to_le_bytes()[..chunk.len()]));
}

/// Whether an error is one of the kernel's, or names it.
fn is_because_of(error: &io::Error, number: i32) -> bool {
    error.raw_os_error() == Some(number) || error.to_string().contains(&format!("(os error {number})"))
}

/// An open personality with buffers.
struct Rig<P> {
    /// Closed before the buffers go.
    personality: P,
    granted: Granted,
    buffers: Buffers,
    outstanding: u32,
    asking: Asking,
}

/// Kind, offset and length of a transfer; its tag is its index in a list.
type Wish = (RequestKind, usize, usize);

impl<P: Personality> Rig<P> {
    fn open(subject: &Subject, targets: &[OpenTarget]) -> io::Result<Rig<P>> {
        let outstanding = subject.outstanding();
        let buffers = Buffers::new(outstanding as usize, SLOT)?;
        let workload = Workload {
            personality: subject.personality,
            plugin: subject.plugin.clone(),
            operation: "mix=read:40,write:40,trim:10,flush:10".parse().unwrap(),
            request_size: Bytes(SLOT as u64),
            depth: outstanding,
            span: Bytes(SPAN as u64),
            ring: subject.ring,
            ..Workload::default()
        };
        let (personality, granted) = P::open(Setup { targets, buffers: &buffers, outstanding, workload: &workload })?;
        Ok(Rig { personality, granted, buffers, outstanding, asking: subject.asking })
    }

    /// On a target; a personality with its own storage first gets the target's content.
    fn on(subject: &Subject, target: &Target, buffering: Buffering) -> Rig<P> {
        let targets = if subject.storage == Storage::Server { target.served() } else { target.open(buffering) };
        let mut rig = Rig::open(subject, &targets).unwrap();
        if subject.storage == Storage::Own {
            for offset in (0..SPAN).step_by(SLOT) {
                rig.buffers.slot_mut(0, 0).copy_from_slice(&target.content[offset..offset + SLOT]);
                assert_eq!(rig.run(&[(RequestKind::Write, offset, SLOT)]), [SLOT as i32]);
            }
        }
        rig
    }

    fn transfer(&self, tag: u32, (kind, offset, length): Wish) -> Transfer {
        assert!(length <= SLOT);
        let address = self.buffers.address(tag as usize, 0);
        Transfer { tag, length: length as u32, offset: offset as u64, address, target: 0, kind }
    }

    fn submit(&mut self, tag: u32, wish: Wish) {
        let transfer = self.transfer(tag, wish);
        // SAFETY: the buffers outlive the personality, and a tag's slot has no other use until its completion: the caller waits
        // for all transfers before it touches a slot.
        unsafe { self.personality.submit(transfer) };
    }

    /// Runs all of them together; returns their results in order.
    fn run(&mut self, wishes: &[Wish]) -> Vec<i32> {
        if self.asking == Asking::Synchronous {
            let [wish] = wishes else { panic!("one at a time") };
            let transfer = self.transfer(0, *wish);
            // SAFETY: as in `submit`.
            return vec![unsafe { self.personality.transfer(&transfer) }];
        }
        for (tag, wish) in wishes.iter().enumerate() {
            self.submit(tag as u32, *wish);
        }
        self.personality.start();
        self.wait_for(wishes.len())
    }

    /// Waits for `count` transfers, tagged from 0; returns their results in order.
    fn wait_for(&mut self, count: usize) -> Vec<i32> {
        let mut results: Vec<Option<i32>> = vec![None; count];
        let mut done = Vec::with_capacity(count);
        self.personality.reap(&mut done, count as u32).unwrap();
        for Completion { tag, result } in done {
            let before = results[tag as usize].replace(result);
            assert_eq!(before, None, "tag {tag} came back twice");
        }
        results.into_iter().map(|result| result.expect("each tag comes back")).collect()
    }

    /// The content of the storage.
    fn content(&mut self, subject: &Subject, target: &Target) -> Vec<u8> {
        match subject.storage {
            Storage::Target | Storage::Server => std::fs::read(&target.path).unwrap(),
            Storage::Own => {
                let mut content = Vec::with_capacity(SPAN);
                for offset in (0..SPAN).step_by(SLOT) {
                    assert_eq!(self.run(&[(RequestKind::Read, offset, SLOT)]), [SLOT as i32]);
                    content.extend_from_slice(self.buffers.slot_mut(0, 0));
                }
                content
            }
        }
    }
}
