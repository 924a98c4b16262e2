//! A workload on a machine: events in the order of time, from the program's request to its completion.
//!
//! ```text
//! program → processor → pieces → command on the bus → disk → bytes over all buses at once → processor → program
//! ```
//!
//! Reads give their bytes when the disk has them, writes bring theirs before the disk begins. The bytes of a piece are on
//! all buses between disk and memory at the same time, so the slowest sets the pace, while each is busy only for its own
//! part. Time is in whole nanoseconds, and events of the same nanosecond come in the order in which they were made: the
//! same machine, workload and seed give the same course on every host.

mod split;
#[cfg(test)]
mod tests;

use crate::disk::arm::Direction;
use crate::disk::geometry::BLOCK_BYTES;
use crate::disk::{Command, Disk, Served};
use crate::machine::Machine;
use crate::station::Station;
use halfpower_model::{Cancel, Histogram, Request, RequestKind, RequestStream, Workload};
use split::Piece;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Measured time.
    pub elapsed_ns: u64,
    /// Service times of reads and of writes.
    pub latency: [Histogram; 2],
    /// Bytes read and written.
    pub bytes: [u64; 2],
    /// The course: requests and bytes done in each interval.
    pub intervals: Vec<(u64, u64)>,
    /// Time that requests were outstanding, all together.
    pub outstanding_ns: u128,
    /// Processor time.
    pub processor_ns: u64,
    /// What each part was busy, over what it could be: name and share.
    pub utilisation: Vec<(String, f64)>,
    /// Commands that the disks were given, and their bytes: of reads and of writes.
    pub device: [(u64, u64); 2],
    /// Whether it was cancelled.
    pub cancelled: bool,
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A worker issues its next request.
    Issue { worker: u32 },
    /// A request's processor time is spent: its pieces go to their disks.
    Dispatch { request: u32 },
    /// A piece is at its disk: the command of a read, the bytes of a write.
    Arrive { piece: u32 },
    /// A disk's arm is free.
    Disk { disk: u32 },
    /// The bytes of a read begin to move.
    Transfer { piece: u32 },
    /// A piece is done.
    Finish { piece: u32 },
    /// The program sees its request done.
    Complete { request: u32 },
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Open {
    worker: u32,
    asked: Request,
    issued_ns: u64,
    pieces_left: u32,
}

/// A piece under way.
#[derive(Clone, Copy, Debug)]
struct Moving {
    request: u32,
    piece: Piece,
}

/// A machine at work on a workload.
struct System<'a> {
    machine: &'a Machine,
    workload: &'a Workload,
    now_ns: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    made: u64,
    processors: Station,
    buses: Vec<Station>,
    disks: Vec<Disk>,
    /// When each disk's arm is expected to be free.
    expected_ns: Vec<Option<u64>>,
    requests: Slots<Open>,
    pieces: Slots<Moving>,
    streams: Vec<RequestStream<'a>>,
    /// When each worker has issued what it was at.
    worker_free_ns: Vec<u64>,
    issued: u64,
    issued_bytes: u64,
    outcome: Outcome,
    marks: Marks,
}

/// Where the parts were when the measured part began.
#[derive(Clone, Debug, Default)]
struct Marks {
    begun: bool,
    busy_ns: Vec<u64>,
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
    let mut system = System::new(machine, workload);
    for worker in 0..workload.workers {
        for _ in 0..workload.depth {
            system.at(0, Event::Issue { worker });
        }
    }
    let ends_ns = workload.limits.duration.map_or(u64::MAX, |duration| duration.0 + workload.warmup.0);
    let mut until_look = EVENTS_BETWEEN_LOOKS;
    while let Some(Reverse((at_ns, _, event))) = system.events.pop() {
        if at_ns > ends_ns {
            system.now_ns = ends_ns;
            break;
        }
        system.now_ns = at_ns;
        if !system.marks.begun && at_ns >= workload.warmup.0 {
            system.begin();
        }
        until_look -= 1;
        if until_look == 0 {
            until_look = EVENTS_BETWEEN_LOOKS;
            if cancel.is_cancelled() {
                system.outcome.cancelled = true;
                break;
            }
        }
        system.happen(event);
    }
    system.finish()
}

impl<'a> System<'a> {
    fn new(machine: &'a Machine, workload: &'a Workload) -> System<'a> {
        System {
            machine,
            workload,
            now_ns: 0,
            events: BinaryHeap::new(),
            made: 0,
            processors: Station::new(machine.processors),
            buses: machine.buses.iter().map(|_| Station::new(1)).collect(),
            disks: machine.disks.iter().map(|disk| Disk::new(disk.drive.clone())).collect(),
            expected_ns: vec![None; machine.disks.len()],
            requests: Slots::default(),
            pieces: Slots::default(),
            streams: (0..workload.workers).map(|worker| RequestStream::new(workload, worker, None)).collect(),
            worker_free_ns: vec![0; workload.workers as usize],
            issued: 0,
            issued_bytes: 0,
            outcome: Outcome {
                elapsed_ns: 0,
                latency: [Histogram::default(), Histogram::default()],
                bytes: [0, 0],
                intervals: Vec::new(),
                outstanding_ns: 0,
                processor_ns: 0,
                utilisation: Vec::new(),
                device: [(0, 0); 2],
                cancelled: false,
            },
            marks: Marks::default(),
        }
    }

    fn at(&mut self, at_ns: u64, event: Event) {
        self.made += 1;
        self.events.push(Reverse((at_ns, self.made, event)));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Issue { worker } => self.issue(worker),
            Event::Dispatch { request } => self.dispatch(request),
            Event::Arrive { piece } => self.arrive(piece),
            Event::Disk { disk } => self.turn(disk),
            Event::Transfer { piece } => self.transfer(piece),
            Event::Finish { piece } => self.finish_piece(piece),
            Event::Complete { request } => self.complete(request),
        }
    }

    fn is_over(&self) -> bool {
        let limits = &self.workload.limits;
        limits.requests.is_some_and(|most| self.issued >= most)
            || limits.bytes.is_some_and(|most| self.issued_bytes >= most.0)
    }

    fn issue(&mut self, worker: u32) {
        if self.is_over() {
            return;
        }
        let mut asked = [Request { offset: 0, length: 0, kind: RequestKind::Read }];
        self.streams[worker as usize].fill(&mut asked);
        let asked = asked[0];
        if self.marks.begun {
            self.issued += 1;
            self.issued_bytes += u64::from(asked.length);
        }
        let spent_ns = self.cost_ns(&asked, 1.0 - self.machine.system.completion_share);
        // A worker is one thread: it makes its requests one after another.
        let from_ns = self.now_ns.max(self.worker_free_ns[worker as usize]);
        let done_ns = self.processors.serve(from_ns, spent_ns);
        self.worker_free_ns[worker as usize] = done_ns;
        let request = self.requests.put(Open { worker, asked, issued_ns: self.now_ns, pieces_left: 0 });
        self.at(done_ns, Event::Dispatch { request });
    }

    fn cost_ns(&self, asked: &Request, share: f64) -> u64 {
        let system = &self.machine.system;
        let cost = if asked.kind == RequestKind::Write { system.direct_write } else { system.direct_read };
        (cost.ns(u64::from(asked.length)) as f64 * share).round() as u64
    }

    fn dispatch(&mut self, request: u32) {
        let open = self.requests.all[request as usize];
        let machine = self.machine;
        let volume = self.workload.volume_of(open.worker);
        let mut pieces = 0;
        for piece in split::pieces(machine, volume, open.asked.offset, u64::from(open.asked.length)) {
            pieces += 1;
            let number = self.pieces.put(Moving { request, piece });
            let [nearest, ..] = machine.disks[piece.disk].buses[..] else {
                self.at(self.now_ns, Event::Arrive { piece: number });
                continue;
            };
            let command_ns = machine.buses[nearest].command_ns;
            let mut ready_ns = self.buses[nearest].serve(self.now_ns, command_ns);
            if open.asked.kind == RequestKind::Write {
                ready_ns = self.move_bytes(ready_ns, &piece, Direction::Write);
            }
            self.at(ready_ns, Event::Arrive { piece: number });
        }
        self.requests.all[request as usize].pieces_left = pieces;
    }

    /// Books all buses of a piece's disk for its bytes; gives when the last of them is through.
    fn move_bytes(&mut self, now_ns: u64, piece: &Piece, direction: Direction) -> u64 {
        let mut done_ns = now_ns;
        let machine = self.machine;
        for number in &machine.disks[piece.disk].buses {
            let bus = &machine.buses[*number];
            let took_ns = bus.transfer_ns + bus.bytes_ns(piece.bytes, direction);
            let through_ns = self.buses[*number].serve(now_ns, took_ns);
            if bus.programmed {
                self.processors.serve(through_ns - took_ns, took_ns);
            }
            done_ns = done_ns.max(through_ns);
        }
        done_ns
    }

    fn arrive(&mut self, number: u32) {
        let Moving { request, piece } = self.pieces.all[number as usize];
        let direction = direction(self.requests.all[request as usize].asked.kind);
        let block = piece.offset / BLOCK_BYTES;
        let count = (piece.offset + piece.bytes).div_ceil(BLOCK_BYTES) - block;
        let device = &mut self.outcome.device[direction as usize];
        if self.marks.begun {
            *device = (device.0 + 1, device.1 + count * BLOCK_BYTES);
        }
        self.disks[piece.disk].accept(self.now_ns, Command { tag: number, direction, block, count });
        self.hear(piece.disk);
    }

    fn turn(&mut self, disk: u32) {
        let disk = disk as usize;
        // Expected again for later since: that event is on its way.
        if self.expected_ns[disk] != Some(self.now_ns) {
            return;
        }
        self.expected_ns[disk] = None;
        self.disks[disk].advance(self.now_ns);
        self.hear(disk);
    }

    /// Takes what a disk has to say, and when it will have more.
    fn hear(&mut self, disk: usize) {
        while let Some(Served { tag, begins_ns, ready_ns, .. }) = self.disks[disk].answer() {
            let Moving { request, piece } = self.pieces.all[tag as usize];
            if self.requests.all[request as usize].asked.kind == RequestKind::Write {
                self.at(ready_ns.max(self.now_ns), Event::Finish { piece: tag });
                continue;
            }
            // Begins so that the last bytes do not wait for the slowest bus, and none moves before it is there.
            let machine = self.machine;
            let buses = machine.disks[disk].buses.iter().map(|number| &machine.buses[*number]);
            let moving_ns =
                buses.map(|bus| bus.transfer_ns + bus.bytes_ns(piece.bytes, Direction::Read)).max().unwrap_or(0);
            let from_ns = ready_ns.saturating_sub(moving_ns).max(begins_ns).max(self.now_ns);
            self.at(from_ns, Event::Transfer { piece: tag });
        }
        let next_ns = self.disks[disk].next_ns();
        if next_ns != self.expected_ns[disk] {
            self.expected_ns[disk] = next_ns;
            next_ns.into_iter().for_each(|at_ns| self.at(at_ns, Event::Disk { disk: disk as u32 }));
        }
    }

    fn transfer(&mut self, number: u32) {
        let piece = self.pieces.all[number as usize].piece;
        let done_ns = self.move_bytes(self.now_ns, &piece, Direction::Read);
        self.at(done_ns, Event::Finish { piece: number });
    }

    fn finish_piece(&mut self, number: u32) {
        let Moving { request, .. } = self.pieces.take(number);
        let open = &mut self.requests.all[request as usize];
        open.pieces_left -= 1;
        if open.pieces_left == 0 {
            let spent_ns =
                self.cost_ns(&self.requests.all[request as usize].asked, self.machine.system.completion_share);
            let done_ns = self.processors.serve(self.now_ns, spent_ns);
            self.at(done_ns, Event::Complete { request });
        }
    }

    fn complete(&mut self, request: u32) {
        let Open { worker, asked, issued_ns, .. } = self.requests.take(request);
        if self.marks.begun {
            let took_ns = self.now_ns - issued_ns;
            let kind = direction(asked.kind) as usize;
            self.outcome.latency[kind].record(took_ns);
            self.outcome.bytes[kind] += u64::from(asked.length);
            self.outcome.outstanding_ns += u128::from(took_ns);
            let interval = ((self.now_ns - self.workload.warmup.0) / self.workload.interval.0.max(1)) as usize;
            if self.outcome.intervals.len() <= interval {
                self.outcome.intervals.resize(interval + 1, (0, 0));
            }
            let (requests, bytes) = &mut self.outcome.intervals[interval];
            (*requests, *bytes) = (*requests + 1, *bytes + u64::from(asked.length));
        }
        self.issue(worker);
    }

    /// What each part has been busy up to now.
    fn busy_ns(&self) -> Vec<u64> {
        let stations = std::iter::once(&self.processors).chain(&self.buses);
        let stations = stations.map(|station| station.busy_ns(self.now_ns));
        let arms = self.disks.iter().map(|disk| disk.busy_ns(self.now_ns));
        stations.chain(arms).collect()
    }

    /// The measured part begins.
    fn begin(&mut self) {
        self.marks = Marks { begun: true, busy_ns: self.busy_ns() };
    }

    fn finish(mut self) -> Outcome {
        let elapsed_ns = self.now_ns.saturating_sub(self.workload.warmup.0);
        let used = self.busy_ns();
        let used: Vec<u64> = used.iter().zip(&self.marks.busy_ns).map(|(after, before)| after - before).collect();
        let processors = (String::from("processors"), f64::from(self.machine.processors));
        let buses = self.machine.buses.iter().map(|bus| (bus.name.clone(), 1.0));
        let disks = self.machine.disks.iter().enumerate();
        let disks = disks.map(|(index, disk)| (format!("{} {}", disk.drive_name, index + 1), 1.0));
        let parts = std::iter::once(processors).chain(buses).chain(disks);
        let whole_ns = elapsed_ns.max(1) as f64;
        self.outcome.utilisation =
            parts.zip(&used).map(|((name, servers), busy)| (name, *busy as f64 / whole_ns / servers)).collect();
        self.outcome.processor_ns = used.first().copied().unwrap_or(0);
        self.outcome.elapsed_ns = elapsed_ns;
        self.outcome
    }
}

/// Which way the bytes go; whatever moves none is taken for a read of none.
fn direction(kind: RequestKind) -> Direction {
    if kind == RequestKind::Write { Direction::Write } else { Direction::Read }
}

impl crate::machine::Bus {
    fn bytes_ns(&self, bytes: u64, direction: Direction) -> u64 {
        let per_byte = match direction {
            Direction::Read => self.read_ns_per_byte,
            Direction::Write => self.write_ns_per_byte,
        };
        (bytes as f64 * per_byte).round() as u64
    }
}
