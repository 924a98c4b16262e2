//! A workload on a machine: events in the order of time, from the program's request to its completion.
//!
//! ```text
//! program → processor → portions → pieces → queue → command → disk → bytes over all parts at once → processor → program
//!                     ↘ file cache → processor → portions → … → processor → file cache → program
//! ```
//!
//! Reads give their bytes when the disk has them, writes bring theirs before the disk begins. The bytes of a piece are on
//! all buses of their leg (between disk and memory, or a controller that stores them) at the same time, so the slowest sets
//! the pace, while each is busy only for its own part. Time is in whole nanoseconds, and events of the same nanosecond come in the order in which they were made: the
//! same machine, workload and seed give the same course on every host.

#[cfg(test)]
mod cloud_laws;
mod events;
mod file_cache;
#[cfg(test)]
mod file_laws;
mod flush;
mod growth;
mod host;
#[cfg(test)]
mod laws;
mod outcome;
mod outstanding;
mod pace;
mod path;
mod rows;
#[cfg(test)]
mod rows_tests;
#[cfg(test)]
mod safety_tests;
mod share;
#[cfg(test)]
mod shipped_laws;
#[cfg(test)]
pub(crate) mod tests;

use crate::bus::Tally;
use crate::command::Direction;
use crate::controller::Gate;
use crate::device::Device;
use crate::machine::{AttachedDisk, Cost, Machine};
use crate::station::Station;
use events::Events;
use file_cache::Cache;
use flush::Flushes;
use growth::Growth;
use halfpower_model::random::derive_seed;
use halfpower_model::sample::CutOff;
use halfpower_model::{
    Arrivals, Cancel, Histogram, Personality, Request, RequestKind, RequestStream, Sharing, Workload,
};
use outcome::Marks;
pub use outcome::Outcome;
use outstanding::Outstanding;
pub use pace::OpenLoop;
use pace::Pace;
use path::{LastTransfer, Moving, Portioned, Seen, Stream};
use rows::Rows;
use share::Share;
use std::sync::atomic::AtomicU64;

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A worker issues its next request.
    Issue { worker: u32 },
    /// A request's processor time is spent: it goes to the cache, or its portions set out.
    Dispatch { request: u32 },
    /// A request is in the cache, and goes to its disks too.
    Through { request: u32 },
    /// The lazy writer may scan.
    LazyWriter,
    /// A portion is at the controller that makes the volume.
    Launch { portion: u32 },
    /// A piece is at the controller that stores it.
    Queue { piece: u32 },
    /// A piece is at its disk: the command of a read, the bytes of a write.
    Arrive { piece: u32 },
    /// A disk's arm is free.
    Disk { disk: u32 },
    /// The bytes of a read begin to move.
    Transfer { piece: u32 },
    /// A disk has done a piece: its bytes have left it, or are in it.
    Done { piece: u32 },
    /// A piece's bytes are in memory.
    Finish { piece: u32 },
    /// A portion's are.
    Portion { portion: u32 },
    /// A request is at the server of its share.
    AtServer { request: u32 },
    /// The server's processors have seen to it.
    Serve { request: u32 },
    /// It is on its way back.
    Answer { request: u32 },
    /// The program sees its request done.
    Complete { request: u32 },
}

/// Who made a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// A worker of the program.
    Program { worker: u32 },
    /// The file cache, for a read or to fill a page.
    PageIn,
    /// The file cache, to write out what is dirty.
    PageOut,
    /// The file system, to fill the gap before a write.
    Fill { request: u32 },
    /// The server of a share, for a unit of a large write.
    Unit { request: u32 },
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Open {
    origin: Origin,
    /// Which target.
    volume: u32,
    asked: Request,
    issued_ns: u64,
    /// When it was to be.
    arrived_ns: u64,
    portions_left: u32,
}

impl Open {
    /// One that is made at a moment, when it was to be.
    fn made(origin: Origin, volume: u32, asked: Request, now_ns: u64) -> Open {
        Open { origin, volume, asked, issued_ns: now_ns, arrived_ns: now_ns, portions_left: 0 }
    }
}

/// A machine at work on a workload.
struct System<'a> {
    machine: &'a Machine,
    workload: &'a Workload,
    now_ns: u64,
    events: Events,
    processors: Station,
    /// What drivers add to a request, by its kind.
    driver_costs: [Cost; 4],
    /// Buses and controllers, and what they did.
    stations: Vec<Station>,
    tallies: Vec<Tally>,
    transfers: Vec<LastTransfer>,
    devices: Vec<Device>,
    /// What lets commands through to each disk; none: all at once.
    gates: Vec<Option<Gate>>,
    /// What waits there.
    at_gates: Vec<Outstanding>,
    seen: Vec<Seen>,
    /// What is on its way to each device that the system sees, or back, by which a system counts.
    at_devices: Vec<Outstanding>,
    stream: Stream,
    /// The stripe cache of a RAID5, if it has one.
    rows: Option<Rows>,
    /// When each disk's arm is expected to be free.
    expected_ns: Vec<Option<u64>>,
    requests: Slots<Open>,
    portions: Slots<Portioned>,
    pieces: Slots<Moving>,
    streams: Vec<RequestStream<'a>>,
    /// What holds each worker back, where something does.
    paces: Vec<Option<Pace>>,
    /// When each worker has issued what it was at.
    worker_free_ns: Vec<u64>,
    /// Processor time that all of them asked for.
    workers_ns: u64,
    /// Whether the program's commands go straight to the disks.
    is_raw: bool,
    /// The file cache, if requests go through it.
    cache: Option<Cache>,
    /// The share, if the volume is one.
    share: Option<Share<'a>>,
    /// The files, if they grow.
    growth: Option<Growth>,
    flushes: Flushes,
    /// Requests of the program that are not done; their time up to the last change of that.
    open_requests: u32,
    /// Their bytes.
    open_bytes: u64,
    outstanding_ns: u128,
    outstanding_until_ns: u64,
    /// When no more are made.
    ends_ns: u64,
    issued: u64,
    issued_bytes: u64,
    outcome: Outcome,
    marks: Marks,
}

/// Things with small numbers that are used again.
#[derive(Debug)]
struct Slots<T> {
    all: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slots<T> {
    fn put(&mut self, thing: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.all[slot as usize] = thing;
            return slot;
        }
        self.all.push(thing);
        self.all.len() as u32 - 1
    }

    fn take(&mut self, slot: u32) -> T {
        self.free.push(slot);
        self.all[slot as usize]
    }

    /// Those that are in use.
    fn taken(&self) -> impl Iterator<Item = &T> {
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

/// How many events pass between two looks at whether somebody said stop.
const EVENTS_BETWEEN_LOOKS: u32 = 1 << 14;

/// Runs a workload on a machine until its limits, on a virtual clock.
pub fn run(machine: &Machine, workload: &Workload, cancel: &Cancel) -> Outcome {
    let cursors = cursors(workload);
    let mut system = System::new(machine, workload, &cursors);
    let mut until_look = EVENTS_BETWEEN_LOOKS;
    while system.step() {
        until_look -= 1;
        if until_look == 0 {
            until_look = EVENTS_BETWEEN_LOOKS;
            if cancel.is_cancelled() {
                system.outcome.cancelled = true;
                break;
            }
        }
    }
    system.finish()
}

/// Where the workers of each target are that share a stream.
fn cursors(workload: &Workload) -> Vec<AtomicU64> {
    (0..workload.volumes()).map(|_| AtomicU64::new(0)).collect()
}

impl<'a> System<'a> {
    fn new(machine: &'a Machine, workload: &'a Workload, cursors: &'a [AtomicU64]) -> System<'a> {
        let stream = |worker| {
            let cursor = (workload.sharing == Sharing::Cursor).then(|| &cursors[workload.volume_of(worker)]);
            RequestStream::new(workload, worker, cursor)
        };
        let mut system = System {
            machine,
            workload,
            now_ns: 0,
            events: Events::default(),
            processors: Station::new(machine.processors),
            driver_costs: RequestKind::ALL.map(|kind| machine.driver_cost(Direction::of(kind))),
            stations: machine.parts.iter().map(|_| Station::new(1)).collect(),
            tallies: vec![Tally::default(); machine.parts.len()],
            transfers: vec![LastTransfer::default(); machine.parts.len()],
            devices: (0..).zip(&machine.disks).map(|(index, disk)| device(disk, workload.seed, index)).collect(),
            gates: machine.disks.iter().map(|disk| disk.queue.map(Gate::new)).collect(),
            at_gates: vec![Outstanding::default(); machine.disks.len()],
            seen: vec![Seen::default(); machine.disks.len()],
            at_devices: vec![Outstanding::default(); machine.devices_seen()],
            stream: Stream::default(),
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
                elapsed_ns: 0,
                latency: std::array::from_fn(|_| Histogram::default()),
                bytes: [0; 4],
                intervals: Vec::new(),
                interval_ns: workload.interval.0.max(1),
                flush: Histogram::default(),
                flush_ns: None,
                outstanding_ns: 0,
                processor_ns: 0,
                interrupt_ns: 0,
                threads_ns: 0,
                at_work_ns: Vec::new(),
                at_devices_ns: 0,
                parts: Vec::new(),
                device: [(0, 0); 4],
                merges: 0,
                cut_off: CutOff::default(),
                open_loop: (workload.arrivals != Arrivals::Closed).then(OpenLoop::default),
                cancelled: false,
            },
            marks: Marks::default(),
        };
        for worker in 0..workload.workers {
            system.set_to_work(worker);
        }
        system
    }

    /// The next event; whether there is more to come.
    #[inline]
    fn step(&mut self) -> bool {
        let Some((at_ns, event)) = self.events.take() else { return false };
        if at_ns > self.ends_ns && self.ends_with_window() {
            self.now_ns = self.ends_ns;
            return false;
        }
        if !self.marks.begun && at_ns >= self.workload.warmup.0 {
            self.now_ns = self.workload.warmup.0;
            self.begin();
        }
        self.now_ns = at_ns;
        self.happen(event);
        self.see_to_flushes();
        !self.is_done()
    }

    fn at(&mut self, at_ns: u64, event: Event) {
        self.events.put(at_ns, event);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Issue { worker } => self.issue_due(worker),
            Event::Dispatch { request } => self.enter(request),
            Event::Through { request } => self.dispatch(request),
            Event::LazyWriter => self.write_out(),
            Event::Launch { portion } => self.launch(portion),
            Event::Queue { piece } => self.queue(piece),
            Event::Arrive { piece } => self.arrive(piece),
            Event::Disk { disk } => self.turn(disk),
            Event::Transfer { piece } => self.transfer(piece),
            Event::Done { piece } => self.done(piece),
            Event::Finish { piece } => self.finish_piece(piece),
            Event::Portion { portion } => self.finish_portion(portion),
            Event::AtServer { request } => self.at_server(request),
            Event::Serve { request } => self.serve(request),
            Event::Answer { request } => self.answer(request),
            Event::Complete { request } => self.complete(request),
        }
    }
}

/// A disk at rest. What it draws is its own, whatever the request streams drew from the same seed.
fn device(disk: &AttachedDisk, seed: u64, index: u64) -> Device {
    Device::new(&disk.device, disk.queue.map(|queue| queue.outstanding), derive_seed(!seed, index))
}
