//! Flushes: after so many writes of a worker, or after all.
//!
//! A worker that flushes waits for its own requests, then until nothing is dirty in the file cache, which is written out at
//! once, nor in any disk's write cache. What others write meanwhile has to be out too, so a flush beside other writers takes
//! the longer. A flush costs no processor time but that of what it writes out.

use super::System;
use halfpower_model::{Durability, Histogram, Workload};

/// What a worker's flushes wait for.
#[derive(Clone, Copy, Debug, Default)]
struct Worker {
    /// Since the last flush.
    writes: u32,
    open: u32,
    /// Requests that are not made before the flush is over.
    held: u32,
    since_ns: Option<u64>,
}

/// The flushes of a run.
#[derive(Debug)]
pub(super) struct Flushes {
    every: Option<u32>,
    at_end: bool,
    workers: Vec<Worker>,
    waiting: u32,
    /// Which disks have something to empty for one, which is a command that is outstanding there.
    emptying: Vec<bool>,
    /// Since when the one at the end is under way.
    ending_ns: Option<u64>,
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

    /// Whether what was asked for is done before the end, and counts.
    pub(super) fn at_end(&self) -> bool {
        self.at_end
    }

    /// Whether dirty bytes have to go out now.
    pub(super) fn press(&self) -> bool {
        self.waiting > 0 || self.ending_ns.is_some()
    }

    /// How many are under way, each in the place of a worker's requests.
    pub(super) fn under_way(&self) -> u32 {
        self.waiting
    }

    /// A worker writes.
    pub(super) fn write(&mut self, worker: u32) {
        let worker = &mut self.workers[worker as usize];
        (worker.writes, worker.open) = (worker.writes + 1, worker.open + 1);
    }

    /// Its write is done.
    pub(super) fn written(&mut self, worker: u32) {
        self.workers[worker as usize].open -= 1;
    }

    /// How long the one at the end took.
    pub(super) fn ended_ns(&self, now_ns: u64) -> Option<u64> {
        self.ending_ns.map(|ending_ns| now_ns - ending_ns)
    }
}

impl System<'_> {
    /// Whether a worker has to flush before its next request, which then waits.
    pub(super) fn holds(&mut self, worker: u32) -> bool {
        let now_ns = self.now_ns;
        let Flushes { every: Some(every), workers, .. } = &mut self.flushes else { return false };
        let worker = &mut workers[worker as usize];
        if worker.writes < *every {
            return false;
        }
        worker.held += 1;
        if worker.open == 0 && worker.since_ns.is_none() {
            worker.since_ns = Some(now_ns);
            self.count_outstanding();
            self.flushes.waiting += 1;
            self.write_out();
        }
        true
    }

    /// Whether every byte that was written is on its medium.
    fn is_safe(&self) -> bool {
        self.cache.as_ref().is_none_or(|cache| cache.is_clean())
            && self.devices.iter().all(|device| device.is_flushed())
    }

    /// Counts a flush at each disk that has something to empty.
    fn count_emptying(&mut self) {
        for (disk, device) in self.devices.iter_mut().enumerate() {
            let (is, was) = (!device.is_flushed(), &mut self.flushes.emptying[disk]);
            // A controller's volume is one device to the system.
            let place = &mut self.at_devices[disk.min(self.machine.devices_seen() - 1)];
            match (std::mem::replace(was, is), is) {
                (false, true) => {
                    device.await_flush(self.now_ns);
                    place.add(self.now_ns);
                }
                (true, false) => place.take(self.now_ns),
                _ => {}
            }
        }
    }

    /// Lets workers go on whose flush is over.
    pub(super) fn see_to_flushes(&mut self) {
        if !self.flushes.press() {
            return;
        }
        self.count_emptying();
        if self.flushes.waiting == 0 || !self.is_safe() {
            return;
        }
        self.count_outstanding();
        self.flushes.waiting = 0;
        for number in 0..self.flushes.workers.len() {
            let worker = &mut self.flushes.workers[number];
            let Some(since_ns) = worker.since_ns else { continue };
            let held = worker.held;
            *worker = Worker::default();
            if self.marks.begun {
                self.flushes.took.record(self.now_ns - since_ns);
            }
            (0..held).for_each(|_| self.go_on(number as u32));
        }
    }

    /// Whether the run is over: all was asked for and is done, and on its medium where that counts.
    pub(super) fn is_done(&mut self) -> bool {
        let is_over = self.is_over();
        if !is_over || self.open_requests > 0 && (self.flushes.at_end || !self.is_used_up()) {
            return false;
        }
        if !self.flushes.at_end {
            return true;
        }
        if self.flushes.ending_ns.is_none() {
            self.flushes.ending_ns = Some(self.now_ns);
            self.count_emptying();
            self.write_out();
        }
        self.is_safe()
    }
}
