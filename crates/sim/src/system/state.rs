//! A machine at work on a workload.

use super::events::Events;
use super::flush::Flushes;
use super::growth::Growth;
use super::outcome::{Marks, Outcome};
use super::outstanding::Outstanding;
use super::pace::{OpenLoop, Pace};
use super::page_cache::Cache;
use super::pieces::{LastTransfer, Moving, Portioned, Seen};
use super::request::{Open, Slots};
use super::rows::Rows;
use super::share::Share;
use crate::bus::Tally;
use crate::controller::Gate;
use crate::device::Device;
use crate::machine::{AttachedDisk, Cost, Machine};
use crate::resource::{Line, Resource};
use halfpower_model::random::derive_seed;
use halfpower_model::{Arrivals, Personality, RequestKind, RequestStream, Sharing, Workload};
use std::sync::atomic::AtomicU64;

/// A machine at work on a workload.
pub(super) struct System<'a> {
    pub(super) machine: &'a Machine,
    pub(super) workload: &'a Workload,
    pub(super) now_ns: u64,
    pub(super) events: Events,
    pub(super) cpus: Resource,
    /// What drivers add to a request, by its kind.
    pub(super) driver_costs: [Cost; 4],
    /// Buses and controllers, and what they did.
    pub(super) resources: Vec<Line>,
    pub(super) tallies: Vec<Tally>,
    pub(super) transfers: Vec<LastTransfer>,
    pub(super) devices: Vec<Device>,
    /// What lets commands through to each disk; none: all at once.
    pub(super) gates: Vec<Option<Gate>>,
    /// What waits there.
    pub(super) at_gates: Vec<Outstanding>,
    pub(super) seen: Vec<Seen>,
    /// What is on its way to each device that the system sees, or back, by which a system counts.
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
    /// What holds each worker back, where something does.
    pub(super) paces: Vec<Option<Pace>>,
    /// When each worker has issued what it was at.
    pub(super) worker_free_ns: Vec<u64>,
    /// CPU time that all of them asked for.
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
    /// Requests of the program that are not done; their time up to the last change of that.
    pub(super) open_requests: u32,
    /// Their bytes.
    pub(super) open_bytes: u64,
    pub(super) outstanding_ns: u128,
    pub(super) outstanding_until_ns: u64,
    /// When no more are made.
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
            cpus: Resource::new(machine.cpus),
            driver_costs: RequestKind::ALL.map(|kind| machine.driver_cost(kind)),
            resources: vec![Line::default(); machine.parts.len()],
            tallies: vec![Tally::default(); machine.parts.len()],
            transfers: vec![LastTransfer::default(); machine.parts.len()],
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

/// A disk at rest. What it draws is its own, whatever the request streams drew from the same seed.
pub(super) fn device(disk: &AttachedDisk, seed: u64, index: u64) -> Device {
    Device::new(&disk.device, derive_seed(!seed, index))
}
