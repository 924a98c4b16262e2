//! Personalities: ways to do I/O, behind one small trait. The worker's loop is compiled for each, so that nothing in it
//! asks which one it is.

mod device;
pub(crate) mod null;
pub(crate) mod nvme;
pub(crate) mod sg;
pub(crate) mod sync;
pub(crate) mod uring;

use crate::worker::buffers::Buffers;
use halfpower_model::environment::PersonalityFacts;
use halfpower_model::stream::Direction;
use halfpower_model::{Personality as Name, Workload};
use std::fs::File;
use std::io;

/// Part of a request that is to be transferred now; all of it, unless an earlier transfer was short.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// Which slot, and so which buffer, it uses.
    pub(crate) slot: u32,
    /// First byte in the target.
    pub(crate) offset: u64,
    /// First byte in the slot's buffer.
    pub(crate) from: u32,
    /// Number of bytes.
    pub(crate) length: u32,
    /// Read or write.
    pub(crate) direction: Direction,
}

/// A transfer that came back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    /// Its slot.
    pub(crate) slot: u32,
    /// Bytes moved, or a negative error number, as the kernel gives it.
    pub(crate) result: i32,
}

/// What a personality is opened with.
pub(crate) struct Setup<'a> {
    /// The target, opened as the buffering asks; none for `null:`.
    pub(crate) file: Option<&'a File>,
    /// The worker's buffers, a slot for each request outstanding.
    pub(crate) buffers: Buffers,
    /// Everything else.
    pub(crate) workload: &'a Workload,
}

impl Setup<'_> {
    /// A descriptor of the personality's own for the target.
    fn file(&self) -> io::Result<File> {
        self.file.ok_or_else(|| io::Error::other("null: takes the null personality only"))?.try_clone()
    }
}

/// A way to do I/O, of one worker. Dropping it closes it; nothing is outstanding then.
pub(crate) trait Personality: Sized {
    /// Whether bytes go into the buffers; where they do not, none are made.
    const MOVES_DATA: bool = true;

    /// Makes it ready. Called on the worker's own thread.
    ///
    /// # Errors
    /// The kernel's.
    fn open(setup: Setup<'_>) -> io::Result<Self>;

    /// Takes a transfer in; it may start now or when the next completions are awaited.
    fn submit(&mut self, transfer: Transfer);

    /// Starts what was taken in, where that is worth a call of its own. What cannot start now starts with [`reap`].
    ///
    /// [`reap`]: Personality::reap
    fn start(&mut self) {}

    /// Starts what was taken in, waits until something completes and adds it to `done`, which has room for every slot.
    ///
    /// # Errors
    /// When the waiting itself fails; a failed transfer is a completion.
    fn reap(&mut self, done: &mut Vec<Completion>) -> io::Result<()>;

    /// Why the transfer that failed last did, in words; none where its error number says it all.
    fn cause(&mut self) -> Option<String> {
        None
    }

    /// Options that the kernel granted.
    fn obtained(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Every personality of the engine, each with whether it works here.
pub fn personalities() -> Vec<PersonalityFacts> {
    Name::ALL
        .iter()
        .map(|personality| PersonalityFacts {
            personality: *personality,
            unavailable: match personality {
                Name::IoUring => uring::unavailable(),
                Name::Sg => sg::unavailable(),
                Name::Nvme => nvme::unavailable(),
                Name::Sync | Name::Null => None,
            },
        })
        .collect()
}
