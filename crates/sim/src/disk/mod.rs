//! A disk: commands in, and when what they ask for is in its buffer or on its medium.
//!
//! One arm serves the queue in the order of the scheduler. Reads are looked for in the buffer first, and the medium is read
//! on behind them until the arm is wanted elsewhere. With the write cache on, a write is done when it is in the buffer, and
//! what the buffer holds joins the queue; neighbours become one passage over the medium, which is how sequential writes
//! stream. What moves the bytes between the buffer and the host is not in here: a write comes when the buffer has its
//! bytes, and of a read it is told between which moments its bytes come.
//!
//! Sources: those of its parts; parameters as in DiskSim 4.0 (Bucy, Schindler, Schlosser and Ganger, CMU-PDL-08-101),
//! which has no write cache that streams.

pub mod arm;
pub mod cache;
pub mod geometry;
pub mod scheduler;
pub mod seek;

use crate::device::{Command, Direction, Served};
use arm::{Mechanics, Position};
use cache::ReadCache;
use scheduler::{Scheduler, Waiting, choose};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a drive is.
#[derive(Clone, Debug)]
pub struct Drive {
    /// What moves and turns.
    pub mechanics: Mechanics,
    /// Order of service.
    pub scheduler: Scheduler,
    /// Segments of the read buffer; 0 for none.
    pub segments: usize,
    /// Blocks of each.
    pub segment_blocks: u64,
    /// How far it reads ahead, in blocks.
    pub read_ahead_blocks: u64,
    /// The drive's own time for a command.
    pub overhead: Overhead,
    /// What the write cache holds at the most; none where it is off.
    pub write_cache: Option<WriteCache>,
}

/// The drive's own time for a command, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// A read that the buffer has.
    pub read_hit_ns: u64,
    /// A read of the medium.
    pub read_miss_ns: u64,
    /// A write, whatever becomes of it.
    pub write_ns: u64,
}

/// The room of a write cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteCache {
    /// Blocks.
    pub blocks: u64,
    /// Separate pieces of the medium.
    pub pieces: usize,
}

/// The tag of what the write cache puts on the medium: nobody waits for it.
const CACHED: u32 = u32::MAX;

/// What an arm does.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// It serves this one.
    Serve(Waiting),
    /// It reads on, since somebody was promised what comes next.
    ReadOn,
}

/// A disk at work.
#[derive(Clone, Debug)]
pub struct Disk {
    drive: Arc<Drive>,
    cache: ReadCache,
    queue: Vec<Waiting>,
    /// What the arm does, and until when.
    busy: Option<(Work, u64)>,
    position: Position,
    /// Just after which block the arm is.
    last_block: u64,
    /// Blocks in the write cache that are not on the medium.
    dirty_blocks: u64,
    /// Writes that wait for room in the write cache.
    parked: VecDeque<Command>,
    served: VecDeque<Served>,
    /// How long the arm was at work.
    busy_ns: u64,
}

impl Disk {
    /// At rest over the outermost cylinder, with an empty buffer.
    pub fn new(drive: Arc<Drive>) -> Disk {
        let cache =
            ReadCache::new(drive.segments, drive.segment_blocks, drive.read_ahead_blocks, drive.mechanics.turn_ns);
        Disk {
            drive,
            cache,
            queue: Vec::new(),
            busy: None,
            position: Position::default(),
            last_block: 0,
            dirty_blocks: 0,
            parked: VecDeque::new(),
            served: VecDeque::new(),
            busy_ns: 0,
        }
    }

    /// Takes a command that came at `now_ns`: of a write, when its bytes were in the buffer. Time never goes back.
    pub fn accept(&mut self, now_ns: u64, command: Command) {
        match command.direction {
            Direction::Read => self.accept_read(now_ns, command),
            Direction::Write => self.accept_write(now_ns + self.drive.overhead.write_ns, command),
        }
        self.start(now_ns);
    }

    fn accept_read(&mut self, now_ns: u64, command: Command) {
        let Drive { mechanics, overhead, .. } = &*self.drive;
        let Command { tag, block, count, .. } = command;
        if self.is_dirty(block, count) {
            // The newest bytes are in the write cache.
            let at = now_ns + overhead.read_hit_ns;
            self.served.push_back(Served { tag, begins_ns: at, ready_ns: at, from_buffer: true });
        } else if let Some(at) = self.cache.find(&mechanics.geometry, now_ns, block, count) {
            let begins_ns = now_ns + overhead.read_hit_ns;
            self.serve_from_buffer(tag, begins_ns, at, now_ns);
        } else {
            self.enqueue(command);
        }
    }

    /// The buffer has it at `at_ns`. Where that is still to come, the arm has to read on until then.
    fn serve_from_buffer(&mut self, tag: u32, begins_ns: u64, at_ns: u64, now_ns: u64) {
        self.served.push_back(Served { tag, begins_ns, ready_ns: at_ns.max(begins_ns), from_buffer: true });
        let until_ns = self.busy.map_or(now_ns, |(_, until_ns)| until_ns);
        if at_ns > until_ns {
            self.busy_ns += at_ns - until_ns;
            self.busy = Some((Work::ReadOn, at_ns));
        }
    }

    fn accept_write(&mut self, at_ns: u64, command: Command) {
        let Command { tag, block, count, .. } = command;
        self.cache.forget(block, count);
        let Some(room) = self.drive.write_cache else { return self.enqueue(command) };
        let fits = self.dirty_blocks == 0 || self.dirty_blocks + count <= room.blocks;
        let pieces = self.queue.iter().filter(|one| one.tag == CACHED).count();
        // What continues a piece that waits needs none of its own.
        let continued = |one: &&mut Waiting| one.tag == CACHED && one.block + one.count == block;
        let grown = self.queue.iter_mut().find(continued);
        match grown {
            Some(waiting) if fits => waiting.count += count,
            None if fits && pieces < room.pieces => self.enqueue(Command { tag: CACHED, ..command }),
            _ => return self.parked.push_back(command),
        }
        self.dirty_blocks += count;
        self.served.push_back(Served { tag, begins_ns: at_ns, ready_ns: at_ns, from_buffer: true });
    }

    /// Whether the write cache has all of these blocks in one piece.
    fn is_dirty(&self, block: u64, count: u64) -> bool {
        let busy = self.busy.iter().filter_map(|(work, _)| match work {
            Work::Serve(waiting) => Some(waiting),
            Work::ReadOn => None,
        });
        let holds = |one: &Waiting| one.tag == CACHED && one.block <= block && block + count <= one.block + one.count;
        self.dirty_blocks > 0 && self.queue.iter().chain(busy).any(holds)
    }

    fn enqueue(&mut self, command: Command) {
        let Command { tag, direction, block, count } = command;
        let place = self.drive.mechanics.geometry.place(block);
        self.queue.push(Waiting { tag, block, count, direction, place });
    }

    /// Sets the arm to work, if it is free and something waits.
    fn start(&mut self, now_ns: u64) {
        if self.busy.is_some() || self.queue.is_empty() {
            return;
        }
        let drive = Arc::clone(&self.drive);
        let mechanics = &drive.mechanics;
        if let Some(end) = self.cache.stop(&mechanics.geometry, now_ns) {
            let place = mechanics.geometry.place(end.saturating_sub(1));
            self.position = Position { cylinder: place.cylinder, head: place.head };
            self.last_block = end;
        }
        let chosen = choose(drive.scheduler, &self.queue, mechanics, self.position, self.last_block, now_ns);
        let Some(waiting) = chosen.map(|index| self.queue.remove(index)) else { return };
        let overhead_ns = match waiting.direction {
            Direction::Read => drive.overhead.read_miss_ns,
            // What continues the medium's passage is at hand.
            Direction::Write if waiting.tag == CACHED => 0,
            Direction::Write => drive.overhead.write_ns,
        };
        let Waiting { tag, block, count, direction, place } = waiting;
        let access = mechanics.access(self.position, now_ns + overhead_ns, block, &place, count, direction);
        // From now on, whatever part of it is the drive's own time.
        self.busy_ns += access.ends_ns - now_ns;
        (self.position, self.last_block) = (access.position, block + count);
        self.busy = Some((Work::Serve(waiting), access.ends_ns));
        if tag != CACHED {
            let begins_ns = if direction == Direction::Read { access.begins_ns } else { access.ends_ns };
            self.served.push_back(Served { tag, begins_ns, ready_ns: access.ends_ns, from_buffer: false });
        }
    }

    /// When the arm is free again; none while it is.
    pub fn next_ns(&self) -> Option<u64> {
        self.busy.map(|(_, ends_ns)| ends_ns)
    }

    /// The arm has done what it was at until now: [`next_ns`](Disk::next_ns).
    pub fn advance(&mut self, now_ns: u64) {
        let Some((work, _)) = self.busy.take_if(|(_, ends_ns)| *ends_ns <= now_ns) else { return };
        match work {
            Work::ReadOn => {}
            Work::Serve(done) if done.direction == Direction::Read => self.have_read(now_ns, &done),
            Work::Serve(done) if done.tag == CACHED => {
                self.dirty_blocks -= done.count;
                // Those that waited for room: as many as there is now, in their order.
                for _ in 0..self.parked.len() {
                    let Some(command) = self.parked.pop_front() else { break };
                    self.accept_write(now_ns, command);
                }
            }
            Work::Serve(_) => {}
        }
        self.start(now_ns);
    }

    /// The medium gave what was asked for: reads on, and whoever waits for what comes next waits for that alone.
    fn have_read(&mut self, now_ns: u64, done: &Waiting) {
        let drive = Arc::clone(&self.drive);
        let geometry = &drive.mechanics.geometry;
        self.cache.keep(geometry, now_ns, done.block, done.count);
        let mut index = 0;
        while let Some(waiting) = self.queue.get(index).copied() {
            let is_read = waiting.direction == Direction::Read;
            match is_read.then(|| self.cache.find(geometry, now_ns, waiting.block, waiting.count)).flatten() {
                Some(at_ns) => {
                    self.queue.remove(index);
                    self.serve_from_buffer(waiting.tag, now_ns, at_ns, now_ns);
                }
                None => index += 1,
            }
        }
    }

    /// What became of a command, in the order in which that was known; none when nothing is new.
    pub fn answer(&mut self) -> Option<Served> {
        self.served.pop_front()
    }

    /// Whether nothing waits and nothing is under way; the write cache included.
    pub fn is_idle(&self) -> bool {
        self.busy.is_none() && self.queue.is_empty() && self.parked.is_empty()
    }

    /// How long the arm has been at work until now, in nanoseconds; reading ahead counts as far as somebody waited for it.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        self.busy_ns - self.next_ns().map_or(0, |ends_ns| ends_ns.saturating_sub(now_ns))
    }
}

#[cfg(test)]
pub(crate) mod tests;
