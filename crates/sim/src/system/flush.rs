//! Flushes: after so many writes of a worker, or after all.
//!
//! A worker that flushes waits for its own requests, then until nothing is dirty in the page cache, which is written out at
//! once, nor in any disk's write cache. What others write meanwhile has to be out too, so a flush beside other writers takes
//! the longer. A flush costs no CPU time but that of what it writes out.

use halfpower_model::{Durability, Histogram, Workload};

/// What a worker's flushes wait for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Worker {
    /// Since the last flush.
    pub(super) writes: u32,
    pub(super) open: u32,
    /// Requests that are not made before the flush is over.
    pub(super) held: u32,
    pub(super) since_ns: Option<u64>,
}

/// The flushes of a run.
#[derive(Debug)]
pub(super) struct Flushes {
    pub(super) every: Option<u32>,
    pub(super) at_end: bool,
    pub(super) workers: Vec<Worker>,
    /// How many are under way, each in the place of a worker's requests.
    pub(super) waiting: u32,
    /// Which disks have something to empty for one, which is a command that is outstanding there.
    pub(super) emptying: Vec<bool>,
    /// Since when the one at the end is under way.
    pub(super) ending_ns: Option<u64>,
    /// How long those between writes took.
    pub(super) took: Histogram,
}

impl Flushes {
    pub(super) fn of(workload: &Workload, disks: usize) -> Flushes {
        Flushes {
            every: workload.durability.every(),
            at_end: workload.durability == Durability::FlushAtEnd,
            workers: vec![Worker::default(); workload.workers as usize],
            waiting: 0,
            emptying: vec![false; disks],
            ending_ns: None,
            took: Histogram::default(),
        }
    }

    /// Whether dirty bytes have to go out now.
    pub(super) fn press(&self) -> bool {
        self.waiting > 0 || self.ending_ns.is_some()
    }
}
