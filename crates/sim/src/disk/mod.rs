//! A disk: commands in, and when what they ask for is in its buffer or on its medium.
//!
//! One arm serves the queue in the order of the scheduler, but for what has waited for too long. Reads are looked for in the buffer first, of which the medium
//! gives what is missing at their end, and the medium is read on behind them until the arm is wanted elsewhere. With the write cache on, a write is done when it is in the buffer, and
//! what the buffer holds joins the queue; neighbours become one passage over the medium, which is how sequential writes
//! stream. What moves the bytes between the buffer and the host is not in here: a write comes when the buffer has its
//! bytes, and of a read it is told between which moments its bytes come.
//!
//! Sources: those of its parts; parameters as in DiskSim 4.0 (Bucy, Schindler, Schlosser and Ganger, CMU-PDL-08-101),
//! which has no write cache that streams.

pub mod arm;
mod arm_time;
pub mod cache;
mod dispatch;
mod drive;
pub mod geometry;
pub mod scheduler;
pub mod seek;

use crate::command::{Command, Direction, Served};
use arm::{Access, Mechanics, Position};
use arm_time::{ArmTime, Waits};
use cache::{Arm, Found, ReadCache};
use dispatch::Next;
use geometry::Place;
use scheduler::{CACHED, Waiting};
use std::collections::VecDeque;
use std::sync::Arc;

pub use arm_time::Worked;
pub use drive::{Drive, Overhead, WriteCache};

/// How many turns one may wait for each that waits, before it is served whatever else is nearer. In the order of arrival it would
/// be one or two; C-LOOK has a random request wait for two sweeps' requests at most, so that only streams and the last of SPTF
/// come to it.
const PATIENCE_TURNS: f64 = 4.0;

/// How many blocks of the write cache one passage takes at most, from a place on: those who wait are not to wait for all, and the
/// room of half of it comes back while the arm is at the other.
fn at_once(place: &Place, room: WriteCache) -> u64 {
    (PATIENCE_TURNS as u64 * u64::from(place.sectors)).min(room.blocks / 2)
}

/// What an arm does.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// It serves this one.
    Serve(Waiting),
    /// It reads on, since somebody was promised what comes next.
    ReadOn,
    /// It reads ahead, and what the write cache holds waits: until something else comes.
    Hold,
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
    /// The same as a stream position, after the last access.
    last_turns: f64,
    /// Blocks in the write cache that are not on the medium.
    dirty_blocks: u64,
    /// How many pieces of it are in the queue.
    pieces: usize,
    /// Writes that wait for room in the write cache, or for a flush to be over, as they came.
    parked: Vec<Waiting>,
    /// Flushes that wait until the write cache is empty.
    flushes: Vec<u32>,
    served: VecDeque<Served>,
    /// How long the arm was at work, beside reading ahead.
    time: ArmTime,
    /// Whether it wrote last what the write cache holds.
    wrote_from_cache: bool,
    /// Whether somebody waits until the write cache is empty.
    is_awaited: bool,
    /// Since when it is free, while it is.
    free_ns: u64,
    /// When it left for what it was at last.
    left_ns: u64,
    /// When the medium came to the first of the writes that the arm is at, which were prepared together.
    passage_ns: Option<u64>,
    /// How many commands it is told of at most; what is told may be a part of one.
    most_commands: usize,
}

impl Disk {
    /// At rest over the outermost cylinder, with an empty buffer.
    pub fn new(drive: Arc<Drive>) -> Disk {
        let cache = ReadCache::new(drive.buffer, drive.mechanics.turn_ns);
        Disk {
            drive,
            cache,
            queue: Vec::new(),
            busy: None,
            position: Position::default(),
            last_block: 0,
            last_turns: 0.0,
            dirty_blocks: 0,
            pieces: 0,
            parked: Vec::new(),
            flushes: Vec::new(),
            served: VecDeque::new(),
            time: ArmTime::default(),
            wrote_from_cache: false,
            is_awaited: false,
            free_ns: 0,
            left_ns: 0,
            passage_ns: None,
            most_commands: usize::MAX,
        }
    }

    /// The same behind who lets no more than so many commands be at it.
    pub fn with_queue_depth(mut self, commands: u32) -> Disk {
        self.most_commands = commands as usize;
        self
    }

    /// Takes a command that came at `now_ns`: of a write, when its bytes were in the buffer. Time never goes back.
    pub fn accept(&mut self, now_ns: u64, command: Command) {
        self.busy.take_if(|(work, _)| matches!(work, Work::Hold));
        match command.direction {
            Direction::Read => self.accept_read(now_ns, command),
            Direction::Write => self.accept_write(now_ns + self.drive.overhead.write_ns, command),
            Direction::Flush => {
                self.flushes.push(command.tag);
                self.end_flushes(now_ns + self.drive.overhead.write_ns);
            }
            // It has nothing to do with what it is not to keep.
            Direction::Trim => self.serve_at(command.tag, now_ns),
        }
        self.start(now_ns);
    }

    fn accept_read(&mut self, now_ns: u64, command: Command) {
        let Command { tag, block, count, .. } = command;
        if self.is_dirty(block, count) {
            // The newest bytes are in the write cache.
            return self.serve_from_buffer(tag, now_ns, now_ns, true);
        }
        self.leap(now_ns, block);
        let is_free = self.queue.is_empty() || self.held_until_ns(now_ns).is_some();
        let arm = if is_free { Arm::Free } else { Arm::Wanted };
        let drive = &*self.drive;
        match self.cache.find(&drive.mechanics.geometry, now_ns, block, count, arm) {
            Found::All { ready_ns, again } => self.serve_from_buffer(tag, now_ns, ready_ns, again),
            Found::Front { blocks } => {
                let begins_ns = now_ns + drive.overhead.read_hit_ns;
                self.enqueue(Command { block: block + blocks, count: count - blocks, ..command }, Some(begins_ns));
            }
            Found::Nothing => self.enqueue(command, None),
        }
    }

    /// Ends a read-ahead that nobody waits for where the arm is sooner at what is asked for: it goes over a turn or more of what
    /// nobody wants, as the half of a stream that the other disk of a mirror reads.
    fn leap(&mut self, now_ns: u64, block: u64) {
        let Mechanics { geometry, turn_ns, .. } = &self.drive.mechanics;
        let is_free = self.busy.is_none() && self.queue.is_empty();
        let comes_ns = self.cache.comes_ns(geometry, block).filter(|_| is_free);
        let Some(comes_ns) = comes_ns.filter(|comes_ns| (now_ns as f64) + turn_ns < *comes_ns as f64) else { return };
        let Some(head) = self.come_to_head(now_ns) else { return };
        let leaves_ns = now_ns + self.drive.overhead.read_miss_ns;
        let place = self.drive.mechanics.geometry.place(block);
        let takes_ns = self.drive.mechanics.positioning_ns(self.position, leaves_ns, &place, Direction::Read);
        if leaves_ns + takes_ns < comes_ns {
            self.cache.stop(head);
        }
    }

    /// Where the head that reads ahead comes sooner to a block than the arm would that left for it, it reads on up to there.
    fn read_on_to(&mut self, now_ns: u64, block: u64, place: &Place) {
        let Mechanics { geometry, .. } = &self.drive.mechanics;
        let Some(comes_ns) = self.cache.would_come_ns(geometry, now_ns, block) else { return };
        let leaves_ns = now_ns + self.drive.overhead.read_miss_ns;
        let takes_ns = self.drive.mechanics.positioning_ns(self.position, leaves_ns, place, Direction::Read);
        if comes_ns < leaves_ns + takes_ns {
            self.cache.go_on_to(geometry, now_ns, block);
        }
    }

    /// The arm is where the read-ahead has come to, just after the block that is given; none where there is none.
    fn come_to_head(&mut self, now_ns: u64) -> Option<u64> {
        let geometry = &self.drive.mechanics.geometry;
        let end = self.cache.head(geometry, now_ns)?;
        let place = geometry.place(end.saturating_sub(1));
        self.position = Position { cylinder: place.cylinder, head: place.head };
        self.last_block = end;
        Some(end)
    }

    /// The buffer has it at `at_ns`. Where that is still to come, the arm has to read on until then.
    fn serve_from_buffer(&mut self, tag: u32, now_ns: u64, at_ns: u64, again: bool) {
        let Overhead { read_hit_ns, read_again_ns, read_least_ns, .. } = self.drive.overhead;
        let begins_ns = now_ns + if again { read_again_ns } else { read_hit_ns };
        let ready_ns = at_ns.max(begins_ns).max(now_ns + read_least_ns);
        self.served.push_back(Served { tag, begins_ns, ready_ns, from_buffer: true });
        self.read_on_until(now_ns, at_ns);
    }

    fn read_on_until(&mut self, now_ns: u64, at_ns: u64) {
        let until_ns = self.busy.map_or(now_ns, |(_, until_ns)| until_ns);
        if at_ns > until_ns {
            self.busy = Some((Work::ReadOn, at_ns));
        }
    }

    fn accept_write(&mut self, at_ns: u64, command: Command) {
        let Some(room) = self.drive.write_cache else {
            self.cache.forget(command.block, command.count);
            return self.enqueue(command, None);
        };
        let waiting = self.waiting(Command { received_ns: at_ns, ..command }, None);
        // Who comes overtakes nobody that waits for room, but where the arm writes on: a stream would be torn.
        let is_free = self.flushes.is_empty() && (self.parked.is_empty() || self.goes_on(at_ns, &waiting));
        if !is_free || !self.is_cached(at_ns, &waiting, room) {
            self.parked.push(waiting);
        }
    }

    /// Whether the arm is writing just what lies before it, and nobody has waited for room for too long.
    fn goes_on(&self, now_ns: u64, waiting: &Waiting) -> bool {
        let is_due = |parked: &Waiting| self.is_due(now_ns, parked, self.parked.len());
        self.writes_up_to(now_ns, waiting.block) && !self.parked.first().is_some_and(is_due)
    }

    /// Whether the arm is writing what the write cache has just before a block.
    fn writes_up_to(&self, now_ns: u64, block: u64) -> bool {
        let is_before = |work| matches!(work, Work::Serve(writing) if writing.tag == CACHED && writing.end() == block);
        self.busy.is_some_and(|(work, ends_ns)| is_before(work) && ends_ns >= now_ns)
    }

    /// Takes a write into the write cache: whether there is room for it.
    fn is_cached(&mut self, at_ns: u64, waiting: &Waiting, room: WriteCache) -> bool {
        let Waiting { tag, block, count, .. } = *waiting;
        if self.dirty_blocks > 0 && self.dirty_blocks + count > room.blocks {
            return false;
        }
        // What continues a piece that waits, or comes just before it, needs none of its own.
        let joins = |one: &Waiting| one.tag == CACHED && (one.end() == block || block + count == one.block);
        match self.queue.iter().position(joins) {
            Some(index) => self.queue[index].join(waiting),
            None if self.write_on(at_ns, block, count, room) => {}
            None if self.pieces < room.pieces => {
                self.pieces += 1;
                self.queue.push(Waiting { tag: CACHED, received_ns: at_ns, ..*waiting });
            }
            None => return false,
        }
        self.dirty_blocks += count;
        self.serve_at(tag, at_ns);
        true
    }

    /// Where the arm is writing just what lies before these blocks, it writes on over them: whether it does. One passage
    /// takes half of the cache at most, so that its room comes back in time, and ends when somebody has waited for too long.
    fn write_on(&mut self, now_ns: u64, block: u64, count: u64, room: WriteCache) -> bool {
        if self.due(now_ns).is_some() || !self.writes_up_to(now_ns, block) {
            return false;
        }
        let Some((Work::Serve(writing), ends_ns)) = &mut self.busy else { return false };
        let is_long = writing.count + count > at_once(&writing.place, room);
        if is_long && block.is_multiple_of(self.drive.mechanics.sector_blocks) {
            return false;
        }
        let access = self.drive.mechanics.write_on(*ends_ns, block, count);
        let access = Access { ends_ns: access.ends_ns.max(*ends_ns), ..access };
        writing.count += count;
        self.time.go_on(access.ends_ns - *ends_ns);
        (*ends_ns, self.position, self.last_block) = (access.ends_ns, access.position, block + count);
        true
    }

    /// Whether the write cache has all of these blocks in one piece.
    fn is_dirty(&self, block: u64, count: u64) -> bool {
        let busy = self.busy.iter().filter_map(|(work, _)| match work {
            Work::Serve(waiting) => Some(waiting),
            Work::ReadOn | Work::Hold => None,
        });
        let holds = |one: &Waiting| one.tag == CACHED && one.block <= block && block + count <= one.block + one.count;
        self.dirty_blocks > 0 && self.queue.iter().chain(busy).any(holds)
    }

    fn enqueue(&mut self, command: Command, begins_ns: Option<u64>) {
        self.queue.push(self.waiting(command, begins_ns));
    }

    fn waiting(&self, command: Command, begins_ns: Option<u64>) -> Waiting {
        let Command { tag, direction, block, count, received_ns } = command;
        let place = self.drive.mechanics.geometry.place(block);
        Waiting { tag, block, count, direction, place, begins_ns, received_ns }
    }

    /// Sets the arm to work, if it is free and something waits.
    fn start(&mut self, now_ns: u64) {
        self.see_who_waits(now_ns);
        while self.busy.is_none() && !self.queue.is_empty() {
            if let Some(until_ns) = self.held_until_ns(now_ns) {
                self.busy = Some((Work::Hold, until_ns));
                return;
            }
            let head = self.come_to_head(now_ns);
            let due = self.due(now_ns);
            if head.is_some() && due.is_none() {
                self.serve_ahead(now_ns);
                let least_ns = self.cache.least_until_ns(&self.drive.mechanics.geometry);
                self.read_on_until(now_ns, least_ns.unwrap_or(now_ns));
                if self.busy.is_some() || self.queue.is_empty() {
                    return;
                }
            }
            let Some(next) = due.or_else(|| self.choose(now_ns)) else { return };
            let mut waiting = self.take(next);
            let drive = Arc::clone(&self.drive);
            let geometry = &drive.mechanics.geometry;
            if let (Next::Queued(index), CACHED, Some(room)) = (next, waiting.tag, drive.write_cache) {
                self.pieces -= 1;
                let (sector, end) = (drive.mechanics.sector_blocks, waiting.block + waiting.count);
                let block = (waiting.block + at_once(&waiting.place, room)) / sector * sector;
                if waiting.block < block && block < end {
                    let rest = Waiting { block, count: end - block, place: geometry.place(block), ..waiting };
                    self.queue.insert(index, rest);
                    self.pieces += 1;
                    waiting.count = block - waiting.block;
                }
            }
            if waiting.direction == Direction::Read {
                self.read_on_to(now_ns, waiting.block, &waiting.place);
                // More of it may be there than when it came, or be the next that the read-ahead comes to.
                match self.cache.find(geometry, now_ns, waiting.block, waiting.count, Arm::Free) {
                    Found::All { ready_ns, .. } => {
                        self.serve_waiting(&waiting, now_ns, ready_ns);
                        self.serve_ahead(now_ns);
                        continue;
                    }
                    Found::Front { blocks } => waiting.skip(geometry, now_ns, blocks),
                    Found::Nothing => {}
                }
            }
            head.into_iter().for_each(|head| self.cache.stop(head));
            self.move_arm(now_ns, waiting);
        }
    }

    /// Until when the arm reads ahead of a stream, where only the write cache wants it and has room for more.
    fn held_until_ns(&self, now_ns: u64) -> Option<u64> {
        let room = self.drive.write_cache.filter(|room| room.wait_ns > 0)?;
        let is_full = self.dirty_blocks > room.blocks / 2 || self.pieces > room.pieces / 2;
        let until_ns = self.queue.first()?.received_ns + room.wait_ns;
        let is_held = !is_full && !self.has_somebody_waiting() && until_ns > now_ns;
        (is_held && self.cache.is_of_use(&self.drive.mechanics.geometry, now_ns)).then_some(until_ns)
    }

    /// When the arm leaves for one, after what the drive needs for its command; of a write, that may be past.
    fn leaves_ns(&self, waiting: &Waiting, now_ns: u64) -> u64 {
        let Overhead { read_miss_ns, write_ns, write_next_ns, write_overlaps, .. } = self.drive.overhead;
        match waiting.direction {
            Direction::Read => now_ns + read_miss_ns,
            // It is past, but for the last of the command.
            _ if waiting.tag == CACHED => waiting.received_ns.max(now_ns),
            // One that waits for room is prepared while the arm is at the one before.
            _ if write_overlaps || self.drive.write_cache.is_some() => {
                (waiting.received_ns + write_ns).max(self.free_ns)
            }
            _ => {
                let from_ns = waiting.received_ns.max(self.free_ns).min(now_ns);
                from_ns + if self.is_next(waiting) { write_next_ns } else { write_ns }
            }
        }
    }

    /// Whether it is prepared together with the writes that the arm was at.
    fn is_next(&self, waiting: &Waiting) -> bool {
        waiting.is_plain_write() && self.passage_ns.is_some_and(|from_ns| waiting.received_ns < from_ns)
    }

    /// The arm serves one.
    fn move_arm(&mut self, now_ns: u64, waiting: Waiting) {
        let Waiting { tag, block, count, direction, begins_ns, .. } = waiting;
        let access = self.access(now_ns, &waiting);
        let waits = match tag {
            CACHED => self.waits_for_cached(block, count),
            _ => Waits::Somebody { late_ns: self.late_ns(&waiting, &access) },
        };
        if !self.is_next(&waiting) {
            self.passage_ns = waiting.is_plain_write().then_some(access.begins_ns);
        }
        // From now on, whatever part of it is the drive's own time.
        self.time.begin(now_ns, &access, waits);
        (self.left_ns, self.wrote_from_cache) = (now_ns, tag == CACHED);
        (self.position, self.last_block, self.last_turns) = (access.position, block + count, access.after_turns);
        self.busy = Some((Work::Serve(waiting), access.ends_ns));
        if tag != CACHED {
            let from_ns = if direction == Direction::Read { access.begins_ns.max(now_ns) } else { access.ends_ns };
            let begins_ns = begins_ns.unwrap_or(from_ns);
            self.served.push_back(Served { tag, begins_ns, ready_ns: access.ends_ns, from_buffer: false });
        }
    }

    /// The passage of an arm that is set to one now.
    fn access(&self, now_ns: u64, waiting: &Waiting) -> Access {
        let leaves_ns = self.leaves_ns(waiting, now_ns);
        let Waiting { block, count, direction, ref place, .. } = *waiting;
        let (mechanics, from) = (&self.drive.mechanics, self.position);
        let access = match waiting.is_plain_write() {
            true => mechanics.write_early(from, leaves_ns, now_ns, block, place, count),
            false => mechanics.access(from, leaves_ns, block, place, count, direction),
        };
        let access = access.later(if self.drive.is_torn(waiting) { 1 } else { 0 }, mechanics.turn_ns);
        // What goes on at the same angle may be a rounding too early.
        Access { ends_ns: access.ends_ns.max(now_ns), ..access }
    }

    /// How much sooner a write would be on the medium that the drive had been told of long enough before the arm was free.
    fn late_ns(&self, waiting: &Waiting, access: &Access) -> u64 {
        if !waiting.is_plain_write() || waiting.received_ns + self.drive.overhead.write_ns <= self.free_ns {
            return 0;
        }
        let told_before = Waiting { received_ns: 0, ..*waiting };
        access.ends_ns.saturating_sub(self.access(self.free_ns, &told_before).ends_ns)
    }

    /// Who waits for the arm, that leaves for these blocks of the write cache.
    fn waits_for_cached(&self, block: u64, count: u64) -> Waits {
        let goes_on = self.wrote_from_cache && block == self.last_block;
        match goes_on && !self.has_others(block + count) {
            _ if self.has_somebody_waiting() => Waits::Somebody { late_ns: 0 },
            true => Waits::Late { stream_ns: self.drive.mechanics.stream_of_writes_ns(block, count) },
            false => Waits::Nobody,
        }
    }

    /// Whether something waits for the arm but what goes on with a block.
    fn has_others(&self, block: u64) -> bool {
        self.queue.iter().any(|waiting| waiting.tag != CACHED || waiting.block != block)
    }

    /// Whether somebody waits for the arm, or for room in the write cache, or for its end.
    fn has_somebody_waiting(&self) -> bool {
        let is_asked = self.queue.len() > self.pieces;
        is_asked || self.is_awaited || !self.parked.is_empty() || !self.flushes.is_empty()
    }

    /// Counts from now on who waits for the arm.
    fn see_who_waits(&mut self, now_ns: u64) {
        if self.has_somebody_waiting() {
            self.time.wait_for(now_ns);
        } else if self.has_others(self.last_block) {
            self.time.want(now_ns);
        }
    }

    /// Somebody waits until the write cache is empty, of which no command tells.
    pub fn await_flush(&mut self, now_ns: u64) {
        self.is_awaited = true;
        self.see_who_waits(now_ns);
    }

    /// When the arm is free again; none while it is.
    pub fn next_ns(&self) -> Option<u64> {
        self.busy.map(|(_, ends_ns)| ends_ns)
    }

    /// The arm has done what it was at until now: [`next_ns`](Disk::next_ns).
    pub fn advance(&mut self, now_ns: u64) {
        let Some((work, _)) = self.busy.take_if(|(_, ends_ns)| *ends_ns <= now_ns) else { return };
        self.free_ns = now_ns;
        match work {
            Work::ReadOn | Work::Hold => {}
            Work::Serve(done) if done.direction == Direction::Read => self.have_read(now_ns, &done),
            Work::Serve(done) if done.tag == CACHED => {
                self.dirty_blocks -= done.count;
                self.end_flushes(now_ns);
                self.unpark(now_ns);
                self.is_awaited &= !self.is_flushed();
            }
            Work::Serve(_) => {}
        }
        self.start(now_ns);
    }

    /// Flushes are over when nothing is left in the write cache.
    fn end_flushes(&mut self, at_ns: u64) {
        while let Some(tag) = self.flushes.pop_if(|_| self.dirty_blocks == 0) {
            self.serve_at(tag, at_ns);
        }
    }

    fn serve_at(&mut self, tag: u32, at_ns: u64) {
        self.served.push_back(Served { tag, begins_ns: at_ns, ready_ns: at_ns, from_buffer: true });
    }

    /// The medium gave what was asked for: reads on, and whoever waits for what comes next waits for that alone.
    fn have_read(&mut self, now_ns: u64, done: &Waiting) {
        let geometry = &self.drive.mechanics.geometry;
        self.cache.keep(geometry, now_ns, done.block, done.count, self.last_turns);
        self.serve_ahead(now_ns);
    }

    /// The arm reads on: what waits and lies before it comes with that, and of what it is in the middle of there is the front. It comes
    /// to them upwards, however they came.
    fn serve_ahead(&mut self, now_ns: u64) {
        let Some((first, _)) = self.cache.ahead() else { return };
        let mut from = (first, 0);
        while let Some((block, index)) = self.next_ahead(from) {
            let waiting = self.queue[index];
            let arm = if self.queue.len() == 1 { Arm::Free } else { Arm::Passing };
            let geometry = &self.drive.mechanics.geometry;
            from = (block, index + 1);
            match self.cache.find_ahead(geometry, now_ns, block, waiting.count, arm) {
                Found::All { ready_ns, .. } => {
                    self.queue.remove(index);
                    self.serve_waiting(&waiting, now_ns, ready_ns);
                    from = (block, index);
                }
                Found::Front { blocks } => self.queue[index].skip(geometry, now_ns, blocks),
                Found::Nothing => {}
            }
        }
    }

    /// The lowest read in the queue that the read-ahead comes to, from a block and a place on.
    fn next_ahead(&self, from: (u64, usize)) -> Option<(u64, usize)> {
        let (_, limit) = self.cache.ahead()?;
        let reads = self.queue.iter().enumerate().filter(|(_, waiting)| waiting.direction == Direction::Read);
        let places = reads.map(|(index, waiting)| (waiting.block, index));
        places.filter(|place| from <= *place && place.0 <= limit).min()
    }

    /// The buffer came to have what waited for the arm: the drive's own time for it is past.
    fn serve_waiting(&mut self, waiting: &Waiting, now_ns: u64, ready_ns: u64) {
        let begins_ns = waiting.begins_ns.unwrap_or(now_ns);
        self.served.push_back(Served { tag: waiting.tag, begins_ns, ready_ns, from_buffer: true });
        self.read_on_until(now_ns, ready_ns);
    }

    /// What became of a command, in the order in which that was known; none when nothing is new.
    pub fn answer(&mut self) -> Option<Served> {
        self.served.pop_front()
    }

    /// Whether nothing waits and nothing is under way; the write cache included.
    #[cfg(test)]
    fn is_idle(&self) -> bool {
        self.busy.is_none() && self.queue.is_empty() && self.parked.is_empty()
    }

    /// Whether all that was written is on the medium.
    pub fn is_flushed(&self) -> bool {
        self.dirty_blocks == 0 && self.parked.is_empty()
    }

    /// The measured part begins: what was read ahead until now counts no more.
    pub fn begin(&mut self, now_ns: u64) {
        self.cache.begin(&self.drive.mechanics.geometry, now_ns);
    }

    /// How long the arm has been at work until now, in nanoseconds; reading ahead counts as far as it was for what was given.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        self.worked(now_ns).all_ns
    }

    /// The same with what it did.
    pub fn worked(&self, now_ns: u64) -> Worked {
        let at_work = self.busy.filter(|(work, _)| !matches!(work, Work::Hold));
        let ends_ns = at_work.map(|(_, ends_ns)| ends_ns);
        let worked = self.time.until(now_ns, ends_ns);
        let ahead_ns = self.cache.useful_ns();
        Worked { all_ns: worked.all_ns + ahead_ns, passing_ns: worked.passing_ns + ahead_ns, ..worked }
    }
}

#[cfg(test)]
mod fairness_tests;
#[cfg(test)]
pub(crate) mod tests;
