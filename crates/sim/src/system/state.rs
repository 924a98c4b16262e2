//! A machine at work on a workload.

use super::events::Events;
use super::flush::Flushes;
use super::growth::Growth;
use super::outcome::{Marks, Outcome};
use super::outstanding::Outstanding;
use super::pace::{OpenLoop, Pace};
use super::page_cache::Cache;
use super::rows::Rows;
use super::share::Share;
use crate::bus::Tally;
use crate::controller::Gate;
use crate::device::Device;
use crate::machine::{AttachedDisk, Cost, Machine};
use crate::resource::{Line, Resource};
use crate::volume::{Piece, Portion};
use halfpower_model::Request;
use halfpower_model::random::{Random, derive_seed};
use halfpower_model::{Arrivals, Personality, RequestKind, RequestStream, Sharing, Workload};
use std::sync::atomic::AtomicU64;

/// A machine at work on a workload.
pub(super) struct System<'a> {
    pub(super) machine: &'a Machine,
    pub(super) workload: &'a Workload,
    pub(super) now_ns: u64,
    pub(super) events: Events,
    pub(super) cpus: Resource,
    /// Delays of interrupts.
    pub(super) random: Random,
    /// CPU time that drivers add to a request, by its kind.
    pub(super) driver_costs: [Cost; 4],
    /// Buses and controllers, the counts of their transfers, and their last transfers.
    pub(super) resources: Vec<Line>,
    pub(super) tallies: Vec<Tally>,
    pub(super) devices: Vec<Device>,
    /// Limit of the commands at each disk; none: unlimited.
    pub(super) gates: Vec<Option<Gate>>,
    /// Commands that wait for a place at each disk.
    pub(super) at_gates: Vec<Outstanding>,
    pub(super) seen: Vec<Seen>,
    /// Commands outstanding at each device that the system sees.
    pub(super) at_devices: Vec<Outstanding>,
    /// The disk that a round-robin mirror read last.
    pub(super) last_reader: usize,
    /// The rows of a RAID5 with writes under way.
    pub(super) rows: Option<Rows>,
    /// When each disk's arm is expected to be free.
    pub(super) expected_ns: Vec<Option<u64>>,
    pub(super) requests: Slots<Open>,
    pub(super) portions: Slots<Portioned>,
    pub(super) pieces: Slots<Moving>,
    pub(super) streams: Vec<RequestStream<'a>>,
    /// The rate or the arrivals that each worker keeps to, if it does.
    pub(super) paces: Vec<Option<Pace>>,
    /// When the CPU work of each worker ends.
    pub(super) worker_free_ns: Vec<u64>,
    /// CPU time of all workers.
    pub(super) workers_ns: u64,
    /// Whether the program's commands go straight to the disks.
    pub(super) is_raw: bool,
    /// The page cache, if requests go through it.
    pub(super) cache: Option<Cache>,
    /// The share, if the volume is one.
    pub(super) share: Option<Share<'a>>,
    /// The files, if they grow.
    pub(super) growth: Option<Growth>,
    pub(super) flushes: Flushes,
    /// Outstanding requests of the program, and their bytes.
    pub(super) open_requests: u32,
    pub(super) open_bytes: u64,
    /// The sum of their times outstanding, up to a moment.
    pub(super) outstanding_ns: u128,
    pub(super) outstanding_until_ns: u64,
    /// When the last request may be issued.
    pub(super) ends_ns: u64,
    pub(super) issued: u64,
    pub(super) issued_bytes: u64,
    pub(super) outcome: Outcome,
    pub(super) marks: Marks,
}

impl<'a> System<'a> {
    pub(super) fn new(machine: &'a Machine, workload: &'a Workload, cursors: &'a [AtomicU64]) -> System<'a> {
        let stream = |worker| {
            let cursor = (workload.sharing == Sharing::Cursor).then(|| &cursors[workload.volume_of(worker)]);
            RequestStream::new(workload, worker, cursor)
        };
        System {
            machine,
            workload,
            now_ns: 0,
            events: Events::default(),
            cpus: Resource::new(machine.cpu.count),
            random: Random::new(derive_seed(!workload.seed, u64::MAX)),
            driver_costs: RequestKind::ALL.map(|kind| machine.driver_cost(kind)),
            resources: vec![Line::default(); machine.parts.len()],
            tallies: vec![Tally::default(); machine.parts.len()],
            devices: (0..).zip(&machine.disks).map(|(index, disk)| device(disk, workload.seed, index)).collect(),
            gates: machine.disks.iter().map(|disk| disk.queue.map(Gate::new)).collect(),
            at_gates: vec![Outstanding::default(); machine.disks.len()],
            seen: vec![Seen::default(); machine.disks.len()],
            at_devices: vec![Outstanding::default(); machine.devices_seen()],
            last_reader: 0,
            rows: Rows::of(machine),
            expected_ns: vec![None; machine.disks.len()],
            requests: Slots::default(),
            portions: Slots::default(),
            pieces: Slots::default(),
            streams: (0..workload.workers).map(stream).collect(),
            paces: (0..workload.workers).map(|worker| Pace::of(workload, worker)).collect(),
            worker_free_ns: vec![0; workload.workers as usize],
            workers_ns: 0,
            is_raw: workload.personality == Personality::Sg,
            cache: Cache::of(machine, workload),
            share: Share::of(machine),
            growth: Growth::of(machine, workload),
            flushes: Flushes::of(workload, machine.disks.len()),
            open_requests: 0,
            open_bytes: 0,
            outstanding_ns: 0,
            outstanding_until_ns: 0,
            ends_ns: workload.limits.duration.map_or(u64::MAX, |duration| duration.0 + workload.warmup.0),
            issued: 0,
            issued_bytes: 0,
            outcome: Outcome {
                interval_ns: workload.interval.0.max(1),
                open_loop: (workload.arrivals != Arrivals::Closed).then(OpenLoop::default),
                ..Outcome::default()
            },
            marks: Marks::default(),
        }
    }
}

/// A disk at rest. Its random numbers are independent of those of the request streams.
pub(super) fn device(disk: &AttachedDisk, seed: u64, index: u64) -> Device {
    Device::new(&disk.device, derive_seed(!seed, index))
}

/// A portion under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portioned {
    pub(super) request: u32,
    pub(super) portion: Portion,
    /// Whether it is a pass over rows of a RAID5, whose number and count stand as offset and bytes.
    pub(super) is_pass: bool,
    pub(super) pieces_left: u32,
}

/// A piece under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moving {
    pub(super) portion: u32,
    pub(super) piece: Piece,
    /// When its disk received the command.
    pub(super) received_ns: u64,
    /// Whether another piece joined its command and ends it.
    pub(super) is_merged: bool,
}

/// What the system knows of a disk when a mirror chooses its reader.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// End of the last command.
    pub(super) end: u64,
    /// Commands outstanding.
    pub(super) outstanding: u32,
}

/// The origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A worker of the program.
    Program { worker: u32 },
    /// The page cache, for a read or to fill a page.
    PageIn,
    /// The page cache, to write dirty pages.
    PageOut,
    /// The file system, to fill the gap before a write.
    Fill { request: u32 },
}

/// An outstanding request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) origin: Origin,
    /// Index of the target.
    pub(super) volume: u32,
    pub(super) asked: Request,
    pub(super) issued_ns: u64,
    /// Its intended arrival.
    pub(super) arrived_ns: u64,
    pub(super) portions_left: u32,
}

impl Open {
    pub(super) fn made(origin: Origin, volume: u32, asked: Request, now_ns: u64) -> Open {
        Open { origin, volume, asked, issued_ns: now_ns, arrived_ns: now_ns, portions_left: 0 }
    }
}

/// A slab: items with small indices, which are reused.
#[derive(Debug)]
pub(super) struct Slots<T> {
    pub(super) all: Vec<T>,
    pub(super) free: Vec<u32>,
}

impl<T: Copy> Slots<T> {
    pub(super) fn put(&mut self, thing: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.all[slot as usize] = thing;
            return slot;
        }
        self.all.push(thing);
        self.all.len() as u32 - 1
    }

    pub(super) fn take(&mut self, slot: u32) -> T {
        self.free.push(slot);
        self.all[slot as usize]
    }

    /// The items in use.
    pub(super) fn taken(&self) -> impl Iterator<Item = &T> {
        let mut is_free = vec![false; self.all.len()];
        self.free.iter().for_each(|slot| is_free[*slot as usize] = true);
        self.all.iter().zip(is_free).filter(|(_, is_free)| !is_free).map(|(thing, _)| thing)
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots { all: Vec::new(), free: Vec::new() }
    }
}
