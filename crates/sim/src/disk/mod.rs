//! A disk: commands in, and when their data are in its buffer or on its medium.
//!
//! The electronics process one command after another while the arm serves another. The arm serves the queue in the order of the
//! scheduler, but for a command that waited for too long. Reads are looked for in the buffer first, and the medium is read on
//! behind them until the arm is needed elsewhere. With the write cache on, a write completes when the cache holds it; what the
//! cache holds joins the queue, and neighbours become one access, which is how sequential writes stream. The transfer to and
//! from the host is not in here: a write comes when its bytes are in the buffer, and a read says when its bytes are.
//!
//! Sources: those of its parts; parameters as in DiskSim 4.0 (Bucy, Schindler, Schlosser and Ganger, CMU-PDL-08-101).

pub mod arm;
mod arm_time;
pub mod cache;
mod drive;
pub mod geometry;
pub mod scheduler;
pub mod seek;

use crate::command::{Command, Direction, Served};
use crate::resource::Line;
use arm::{Access, Position};
use arm_time::ArmTime;
use cache::{Found, ReadCache};
use halfpower_model::random::Random;
use scheduler::{CACHED, Waiting, choose};
use std::collections::VecDeque;
use std::sync::Arc;

pub use arm_time::Worked;
pub use drive::{Drive, Noise, Overhead, WriteCache};

/// A command is next after this many rotations of waiting per waiting command. In the order of arrival it would wait for one or
/// two; with C-LOOK only streams keep a random request waiting for longer.
const PATIENCE_TURNS: f64 = 4.0;

/// Present work of an arm.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// It serves a command, or destages.
    Serve(Waiting),
    /// It reads ahead what a command was promised.
    ReadOn,
    /// It finishes its read-ahead before it destages, unless a command comes.
    Linger,
}

/// A disk at work.
#[derive(Clone, Debug)]
pub struct Disk {
    drive: Arc<Drive>,
    cache: ReadCache,
    /// In the order of arrival.
    queue: Vec<Waiting>,
    /// What the arm does, and until when.
    busy: Option<(Work, u64)>,
    position: Position,
    /// The block after the last access, and its stream position.
    last_block: u64,
    last_turns: f64,
    /// Since when the arm is free, while it is.
    free_ns: u64,
    /// What processes the commands.
    electronics: Line,
    /// Blocks in the write cache, and how many of its extents are in the queue.
    dirty_blocks: u64,
    extents: usize,
    /// Writes that wait for room in the write cache, or for a flush, in the order of arrival.
    parked: Vec<Waiting>,
    /// Flushes that wait until the write cache is empty; whether the host waits for that without a command.
    flushes: Vec<u32>,
    is_awaited: bool,
    served: VecDeque<Served>,
    time: ArmTime,
    /// Its clock, which the spindle's phase sets ahead.
    phase_ns: u64,
    random: Random,
}

impl Disk {
    /// At rest over the outermost cylinder, with empty buffers. Its speed and phase come from the seed, if they vary.
    pub fn new(drive: &Arc<Drive>, seed: u64) -> Disk {
        let (mut drive, mut random, mut phase_ns) = (Arc::clone(drive), Random::new(seed), 0);
        let speed = drive.noise.speed;
        if speed > 0.0 {
            let mechanics = &mut Arc::make_mut(&mut drive).mechanics;
            mechanics.turn_ns *= 1.0 + speed * (2.0 * random.next_unit() - 1.0);
            phase_ns = (random.next_unit() * mechanics.turn_ns) as u64;
        }
        Disk {
            cache: ReadCache::new(drive.buffer, drive.mechanics.turn_ns),
            drive,
            queue: Vec::new(),
            busy: None,
            position: Position::default(),
            last_block: 0,
            last_turns: 0.0,
            free_ns: 0,
            electronics: Line::default(),
            dirty_blocks: 0,
            extents: 0,
            parked: Vec::new(),
            flushes: Vec::new(),
            is_awaited: false,
            served: VecDeque::new(),
            time: ArmTime::default(),
            phase_ns,
            random,
        }
    }

    /// Takes a command that came at `now_ns`: of a write, when its bytes were in the buffer. Time never goes back.
    pub fn accept(&mut self, now_ns: u64, command: Command) {
        let now_ns = now_ns + self.phase_ns;
        let command = Command { received_ns: command.received_ns + self.phase_ns, ..command };
        self.stop_lingering();
        match command.direction {
            Direction::Read => self.accept_read(now_ns, command),
            Direction::Write => self.accept_write(now_ns, command),
            Direction::Flush => {
                self.flushes.push(command.tag);
                let at_ns = self.process(now_ns, self.drive.overhead.write_ns);
                self.end_flushes(at_ns);
            }
            // A disk has no use for what it need not keep.
            Direction::Trim => self.serve_at(command.tag, now_ns),
        }
        self.start(now_ns);
    }

    fn stop_lingering(&mut self) {
        self.busy.take_if(|(work, _)| matches!(work, Work::Linger));
    }

    /// The electronics process a command; gives when they have.
    fn process(&mut self, from_ns: u64, takes_ns: u64) -> u64 {
        self.electronics.hold(from_ns, takes_ns, takes_ns)
    }

    fn accept_read(&mut self, now_ns: u64, command: Command) {
        let Command { tag, block, count, .. } = command;
        let Overhead { read_hit_ns, read_again_ns, read_miss_ns, .. } = self.drive.overhead;
        if self.is_dirty(block, count) {
            let begins_ns = self.process(now_ns, read_again_ns);
            return self.serve_read(tag, now_ns, begins_ns, now_ns);
        }
        let is_free = !self.has_somebody_waiting() && !matches!(self.busy, Some((Work::Serve(_), _)));
        match self.find(now_ns, now_ns + read_miss_ns, block, count, is_free) {
            Found::All { ready_ns, again } => {
                let begins_ns = self.process(now_ns, if again { read_again_ns } else { read_hit_ns });
                self.serve_read(tag, now_ns, begins_ns, ready_ns);
            }
            Found::Front { blocks } => {
                let begins_ns = self.process(now_ns, read_hit_ns);
                let rest = Command { block: block + blocks, count: count - blocks, ..command };
                self.enqueue(rest, now_ns, Some(begins_ns));
            }
            Found::Nothing => {
                let ready_ns = self.process(now_ns, read_miss_ns);
                self.enqueue(command, ready_ns, None);
            }
        }
    }

    /// What the buffer holds of a read. An arm that may read on for it would leave for it at `leaves_ns` otherwise.
    fn find(&mut self, now_ns: u64, leaves_ns: u64, block: u64, count: u64, is_free: bool) -> Found {
        let mechanics = &self.drive.mechanics;
        let access_ns = |head: u64| {
            let [from, place] = [head.saturating_sub(1), block].map(|block| mechanics.geometry.place(block));
            let from = Position { cylinder: from.cylinder, head: from.head };
            leaves_ns + mechanics.positioning_ns(from, leaves_ns, &place, Direction::Read)
        };
        self.cache.find(&mechanics.geometry, now_ns, block..block + count, is_free.then_some(&access_ns))
    }

    /// The arm is where its read-ahead has come to, after the block that is given; none without a read-ahead.
    fn come_to_head(&mut self, now_ns: u64) -> Option<u64> {
        let geometry = &self.drive.mechanics.geometry;
        let end = self.cache.head(geometry, now_ns)?;
        let place = geometry.place(end.saturating_sub(1));
        self.position = Position { cylinder: place.cylinder, head: place.head };
        self.last_block = end;
        Some(end)
    }

    /// A read is in the buffer from `ready_ns` on; until then the arm reads on.
    fn serve_read(&mut self, tag: u32, now_ns: u64, begins_ns: u64, ready_ns: u64) {
        self.served.push_back(Served { tag, begins_ns, ready_ns: ready_ns.max(begins_ns) });
        let until_ns = self.busy.map_or(now_ns, |(_, until_ns)| until_ns);
        if ready_ns > until_ns {
            self.busy = Some((Work::ReadOn, ready_ns));
        }
    }

    fn accept_write(&mut self, now_ns: u64, command: Command) {
        let write_ns = self.drive.overhead.write_ns;
        let Some(room) = self.drive.write_cache else {
            // It is processed while its bytes come, unless that waits for the arm.
            let overlaps = self.drive.overhead.write_overlaps;
            let ready_ns = if overlaps { self.process(command.received_ns, write_ns) } else { command.received_ns };
            self.cache.forget(command.block, command.count);
            return self.enqueue(command, ready_ns, None);
        };
        let at_ns = self.process(now_ns, write_ns);
        let waiting = self.waiting(Command { received_ns: at_ns, ..command }, at_ns, None);
        if !self.flushes.is_empty() || !self.parked.is_empty() || !self.is_cached(at_ns, &waiting, room) {
            self.parked.push(waiting);
        }
    }

    /// Takes a write into the write cache; whether there is room for it.
    fn is_cached(&mut self, at_ns: u64, waiting: &Waiting, room: WriteCache) -> bool {
        let Waiting { tag, block, count, .. } = *waiting;
        // It becomes one with the waiting extents that it overlaps or touches, and needs none of its own.
        let joins = |one: &Waiting| one.tag == CACHED && one.block <= block + count && block <= one.end();
        let joined = || self.queue.iter().filter(|one| joins(one));
        let extent = joined().fold(Waiting { tag: CACHED, received_ns: at_ns, ..*waiting }, Waiting::with);
        let (extents, held) = joined().fold((0, 0), |(extents, held), one| (extents + 1, held + one.count));
        let added = extent.count - held;
        if self.dirty_blocks > 0 && self.dirty_blocks + added > room.blocks {
            return false;
        }
        if extents == 0 && !self.extend_access(at_ns, block, count, room) {
            if self.extents == room.extents {
                return false;
            }
            self.extents += 1;
            self.queue.push(extent);
        } else if let Some(first) = self.queue.iter().position(joins) {
            self.queue[first] = extent;
            self.extents -= extents - 1;
            let mut index = 0..;
            self.queue.retain(|one| index.next() == Some(first) || !joins(one));
        }
        self.dirty_blocks += added;
        self.cache.forget(block, count);
        self.serve_at(tag, at_ns);
        true
    }

    /// Extends the present access over blocks behind it: whether it does. One access takes half of the cache at most, so that
    /// room comes back in time.
    fn extend_access(&mut self, now_ns: u64, block: u64, count: u64, room: WriteCache) -> bool {
        let Some((Work::Serve(writing), ends_ns)) = &mut self.busy else { return false };
        let is_long = writing.count + count > room.blocks / 2;
        let ends_there = writing.tag == CACHED && writing.end() == block && *ends_ns >= now_ns;
        if !ends_there || is_long && block.is_multiple_of(self.drive.mechanics.sector_blocks) {
            return false;
        }
        let access = self.drive.mechanics.write_on(*ends_ns, block, count);
        let access = Access { ends_ns: access.ends_ns.max(*ends_ns), ..access };
        writing.count += count;
        self.time.extend(access.ends_ns - *ends_ns);
        (*ends_ns, self.position, self.last_block) = (access.ends_ns, access.position, block + count);
        true
    }

    /// Whether the write cache holds all of these blocks in one extent.
    fn is_dirty(&self, block: u64, count: u64) -> bool {
        let busy = self.busy.iter().filter_map(|(work, _)| if let Work::Serve(one) = work { Some(one) } else { None });
        let holds = |one: &Waiting| one.tag == CACHED && one.block <= block && block + count <= one.end();
        self.dirty_blocks > 0 && self.queue.iter().chain(busy).any(holds)
    }

    fn enqueue(&mut self, command: Command, ready_ns: u64, begins_ns: Option<u64>) {
        self.queue.push(self.waiting(command, ready_ns, begins_ns));
    }

    fn waiting(&self, command: Command, ready_ns: u64, begins_ns: Option<u64>) -> Waiting {
        let Command { tag, direction, block, count, received_ns } = command;
        let place = self.drive.mechanics.geometry.place(block);
        Waiting { tag, block, count, direction, place, begins_ns, received_ns, ready_ns }
    }

    /// Sets the arm to work, if it is free and something waits.
    fn start(&mut self, now_ns: u64) {
        if self.has_somebody_waiting() {
            self.time.is_awaited(now_ns);
        }
        while self.busy.is_none() && !self.queue.is_empty() {
            let head = self.come_to_head(now_ns);
            let overdue = self.overdue(now_ns);
            let Some(index) = overdue.or_else(|| self.choose(now_ns)) else { return };
            let waiting = &self.queue[index];
            let (block, count, leaves_ns) = (waiting.block, waiting.count, waiting.ready_ns.max(now_ns));
            if waiting.direction == Direction::Read {
                // The read-ahead may have come to it, or be there next.
                match self.find(now_ns, leaves_ns, block, count, true) {
                    Found::All { ready_ns, .. } => {
                        let Waiting { tag, begins_ns, .. } = self.queue.remove(index);
                        self.serve_read(tag, now_ns, begins_ns.unwrap_or(now_ns), ready_ns);
                        continue;
                    }
                    Found::Front { blocks } => {
                        self.queue[index].skip(&self.drive.mechanics.geometry, now_ns, blocks);
                    }
                    Found::Nothing => {}
                }
            }
            let least_ns = self.cache.least_until_ns(&self.drive.mechanics.geometry);
            if let Some(least_ns) = least_ns.filter(|least_ns| overdue.is_none() && now_ns < *least_ns) {
                self.busy = Some((Work::ReadOn, least_ns));
                return;
            }
            if let Some(ahead_ns) = self.lingers_until_ns().filter(|ahead_ns| now_ns < *ahead_ns) {
                self.busy = Some((Work::Linger, ahead_ns));
                return;
            }
            head.into_iter().for_each(|head| self.cache.stop(head));
            let waiting = self.take(now_ns, index);
            self.move_arm(now_ns, waiting);
        }
    }

    /// Until when the read-ahead goes on although the write cache is not empty: while that is less than half full, and nobody
    /// waits.
    fn lingers_until_ns(&self) -> Option<u64> {
        let lingers = self.drive.write_cache.is_some() && self.has_room() && !self.has_somebody_waiting();
        self.cache.until_ns(&self.drive.mechanics.geometry).filter(|_| lingers)
    }

    /// Whether a write cache is less than half full.
    fn has_room(&self) -> bool {
        let is_roomy = |room: WriteCache| self.dirty_blocks < room.blocks / 2 && self.extents < room.extents / 2;
        self.drive.write_cache.is_none_or(is_roomy)
    }

    /// The oldest command, if it waited for too long.
    fn overdue(&self, now_ns: u64) -> Option<usize> {
        let waited_ns = now_ns.saturating_sub(self.queue.first()?.received_ns) as f64;
        (waited_ns > PATIENCE_TURNS * self.queue.len() as f64 * self.drive.mechanics.turn_ns).then_some(0)
    }

    fn choose(&self, now_ns: u64) -> Option<usize> {
        let drive = &*self.drive;
        let arm = (&drive.mechanics, self.position, self.last_block);
        choose(drive.scheduler, &self.queue, arm, drive.buffer.ahead_blocks(), now_ns)
    }

    /// Takes a command from the queue; of an extent, as much as one access destages. The rest has its turn behind the others.
    fn take(&mut self, now_ns: u64, index: usize) -> Waiting {
        let mut waiting = self.queue.remove(index);
        let (CACHED, Some(room)) = (waiting.tag, self.drive.write_cache) else { return waiting };
        self.extents -= 1;
        let mechanics = &self.drive.mechanics;
        let block = (waiting.block + room.blocks / 2) / mechanics.sector_blocks * mechanics.sector_blocks;
        if waiting.block < block && block < waiting.end() {
            let place = mechanics.geometry.place(block);
            self.queue.push(Waiting { block, count: waiting.end() - block, place, received_ns: now_ns, ..waiting });
            self.extents += 1;
            waiting.count = block - waiting.block;
        }
        waiting
    }

    /// The arm serves a command.
    fn move_arm(&mut self, now_ns: u64, waiting: Waiting) {
        let Waiting { tag, block, count, direction, begins_ns, .. } = waiting;
        let access = self.access(now_ns, &waiting);
        self.time.begin(now_ns, &access, tag != CACHED || self.has_somebody_waiting() || !self.has_room());
        (self.position, self.last_block, self.last_turns) = (access.position, block + count, access.after_turns);
        self.busy = Some((Work::Serve(waiting), access.ends_ns));
        if tag != CACHED {
            let from_ns = if direction == Direction::Read { access.begins_ns.max(now_ns) } else { access.ends_ns };
            let begins_ns = begins_ns.unwrap_or(from_ns);
            self.served.push_back(Served { tag, begins_ns, ready_ns: access.ends_ns });
        }
    }

    /// The access of an arm that serves a command now. For a write it may have left while the bytes came.
    fn access(&mut self, now_ns: u64, waiting: &Waiting) -> Access {
        let Waiting { block, count, direction, ref place, ready_ns, .. } = *waiting;
        let (mechanics, from) = (&self.drive.mechanics, self.position);
        let access = match waiting.is_plain_write() {
            true => mechanics.write_early(from, self.leaves_for_write_ns(waiting), now_ns, block, place, count),
            false => mechanics.access(from, ready_ns.max(now_ns), block, place, count, direction),
        };
        let mut turns = u64::from(self.drive.is_partial(waiting));
        let retries = self.drive.noise.retries;
        if retries > 0.0 && self.random.next_unit() < retries {
            turns += 1;
        }
        let access = access.later(turns, mechanics.turn_ns);
        // An access that continues at the same angle may end a rounding early.
        Access { ends_ns: access.ends_ns.max(now_ns), ..access }
    }

    /// When the arm leaves for a write past the cache, which may have been while its bytes came.
    fn leaves_for_write_ns(&self, waiting: &Waiting) -> u64 {
        let Overhead { write_ns, write_overlaps, .. } = self.drive.overhead;
        waiting.ready_ns.max(self.free_ns) + if write_overlaps { 0 } else { write_ns }
    }

    /// Whether a command waits for the arm, for room in the write cache or for its end.
    fn has_somebody_waiting(&self) -> bool {
        let is_asked = self.queue.len() > self.extents;
        is_asked || self.is_awaited || !self.parked.is_empty() || !self.flushes.is_empty()
    }

    /// The host waits until the write cache is empty, without a command.
    pub fn await_flush(&mut self, now_ns: u64) {
        self.is_awaited = true;
        self.stop_lingering();
        self.start(now_ns + self.phase_ns);
    }

    /// When the arm is free again; none while it is.
    pub fn next_ns(&self) -> Option<u64> {
        self.busy.map(|(_, ends_ns)| ends_ns - self.phase_ns)
    }

    /// The time is now [`next_ns`](Disk::next_ns).
    pub fn advance(&mut self, now_ns: u64) {
        let now_ns = now_ns + self.phase_ns;
        let Some((work, _)) = self.busy.take_if(|(_, ends_ns)| *ends_ns <= now_ns) else { return };
        self.free_ns = now_ns;
        match work {
            Work::Serve(done) if done.direction == Direction::Read => {
                let geometry = &self.drive.mechanics.geometry;
                self.cache.keep(geometry, now_ns, done.block, done.count, self.last_turns);
            }
            Work::Serve(done) if done.tag == CACHED => {
                self.dirty_blocks -= done.count;
                self.end_flushes(now_ns);
                self.unpark(now_ns);
                self.is_awaited &= !self.is_flushed();
            }
            Work::Serve(_) | Work::ReadOn | Work::Linger => {}
        }
        self.start(now_ns);
    }

    /// Writes that waited for room get it in the order of arrival, unless a flush waits.
    fn unpark(&mut self, now_ns: u64) {
        let Some(room) = self.drive.write_cache.filter(|_| self.flushes.is_empty()) else { return };
        while let Some(waiting) = self.parked.first().copied() {
            if !self.is_cached(now_ns.max(waiting.received_ns), &waiting, room) {
                return;
            }
            self.parked.remove(0);
        }
    }

    /// Flushes are over when the write cache is empty.
    fn end_flushes(&mut self, at_ns: u64) {
        while let Some(tag) = self.flushes.pop_if(|_| self.dirty_blocks == 0) {
            self.serve_at(tag, at_ns);
        }
    }

    fn serve_at(&mut self, tag: u32, at_ns: u64) {
        self.served.push_back(Served { tag, begins_ns: at_ns, ready_ns: at_ns });
    }

    /// The next completion, in the order in which they were known; none if there is no new one.
    pub fn answer(&mut self) -> Option<Served> {
        let served = self.served.pop_front()?;
        let [begins_ns, ready_ns] = [served.begins_ns, served.ready_ns].map(|at_ns| at_ns - self.phase_ns);
        Some(Served { begins_ns, ready_ns, ..served })
    }

    /// Whether nothing waits and the arm is at rest; the write cache included.
    #[cfg(test)]
    fn is_idle(&self) -> bool {
        self.busy.is_none() && self.queue.is_empty() && self.parked.is_empty()
    }

    /// Whether all that was written is on the medium.
    pub fn is_flushed(&self) -> bool {
        self.dirty_blocks == 0 && self.parked.is_empty()
    }

    /// How long the busier of arm and electronics was at work until now.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        self.worked(now_ns).busy_ns.max(self.electronics.busy_ns(now_ns + self.phase_ns))
    }

    /// How long the arm was busy until now; read-ahead counts as far as it was delivered.
    pub fn worked(&self, now_ns: u64) -> Worked {
        let worked = self.time.until(now_ns + self.phase_ns, self.busy.map(|(_, ends_ns)| ends_ns));
        let ahead_ns = self.cache.useful_ns();
        Worked { busy_ns: worked.busy_ns + ahead_ns, passing_ns: worked.passing_ns + ahead_ns }
    }
}

#[cfg(test)]
pub(crate) mod tests;
