//! A controller between buses, which passes bytes on or stores them.
//!
//! A command costs its CPU a time, and nothing moves through it then. A transfer holds it for as long as the slowest of
//! itself and the buses on its side takes, where all its disks are on one bus: that is the one port that it has. Where each
//! disk has a link of its own, as with SATA, it has a port for each, which move at the same time, and what holds a transfer
//! is the link; the controller itself is held for as long as its own rate says, if it has one. One that stores takes a
//! piece's bytes in wholly before it passes them on, so that its two sides are used one after the other by a piece and at
//! once by several. It may let only so many commands be at a disk, and choose the next read from those that wait, by their
//! addresses: it does not know where they lie. One that has waited for too long goes before all, and 16 in order with it. Writes go as they came, as disks
//! put what is in their write caches in an order of their own: two orders, one after the other, would write faster than was
//! measured. Where both wait they go round-robin. It may make one command of several that wait and go on with one
//! another, as Linux does in front of it; the disk is told of each of them.
//!
//! Whatever the driver of it costs the CPUs is added to the operating system's costs. It refuses nothing and keeps no
//! bytes: what it has been given is the disk's. Sources: controllers as in DiskSim 4.0 (Bucy and others, CMU-PDL-08-101,
//! section 5: "simple" and "smart"); the round of FSCAN is Coffman, Klimko and Ryan, "Analysis of scanning policies for
//! reducing disk seek times" (1972).

use crate::command::Direction;
use crate::cost::Cost;
use crate::named::{Named, named};

/// A controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Controller {
    /// Its name.
    pub name: String,
    /// Controller time per command.
    pub request_ns: u64,
    /// Nanoseconds per byte of reads and of writes; zero: as fast as the buses.
    pub ns_per_byte: [f64; 2],
    /// How the bytes pass.
    pub forwarding: Forwarding,
    /// Its queue; `None`: commands go to the disks at once.
    pub queue: Option<Queue>,
    /// CPU time of its driver for a read.
    pub driver_read: Cost,
    /// The same for a write.
    pub driver_write: Cost,
}

/// How bytes pass a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarding {
    /// Through its single port, occupying both sides at once.
    Through,
    /// The same, with one port per disk.
    Ports,
    /// It stores all bytes before it passes them on.
    Stored,
}

/// How commands for a disk wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Maximum number of commands at a disk.
    pub outstanding: u32,
    /// Which is next.
    pub order: Order,
    /// How many bytes of those that wait and go on with one another become one command at most; zero: each is one.
    pub merge: u64,
}

named! {
/// Which of the waiting reads is next, by address.
pub enum Order {
    /// As they came.
    Fcfs = "fcfs",
    /// Upwards from the one before, then again from the lowest.
    CLook = "c-look",
    /// As C-LOOK, in rounds: who comes during one waits for the next.
    FScan = "fscan",
}
}

impl Named for Forwarding {
    const WORDS: &'static [(&'static str, Self)] = &[("through", Forwarding::Through), ("stored", Forwarding::Stored)];
}

/// One that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    tag: u32,
    direction: Direction,
    address: u64,
    bytes: u64,
    round: u64,
    /// When it came.
    since_ns: u64,
}

/// How long a read may be overtaken. Linux has half a second (mq-deadline, read_expire), Windows' driver nothing known; 32 at random
/// on a slow disk have two sweeps' to wait for at most, which is less.
const PATIENCE_NS: u64 = 1_000_000_000;

/// How many go on in order from one that waited for so long before the next that has, and how many reads or writes before the
/// other kind has its turn (fifo_batch).
const BATCH: u32 = 16;

/// The commands for one disk.
#[derive(Clone, Debug)]
pub struct Gate {
    queue: Queue,
    under_way: u32,
    /// Those that wait, in the order in which they came.
    waiting: Vec<Waiting>,
    /// From which address on the next is looked for.
    after: u64,
    /// The round that is being served.
    round: u64,
    /// How many more go on in order, whoever has waited for how long.
    in_order: u32,
    /// Whether it is the turn of reads, and of how many more.
    turn: (bool, u32),
    /// What left last, and how many bytes its command has with it.
    last: Option<(Waiting, u64)>,
}

impl Gate {
    /// Nothing waits.
    pub fn new(queue: Queue) -> Gate {
        Gate {
            queue,
            under_way: 0,
            waiting: Vec::new(),
            after: 0,
            round: 0,
            in_order: 0,
            turn: (true, BATCH),
            last: None,
        }
    }

    /// Bytes from an address on are asked for; whether that may go on at once.
    pub fn enter(&mut self, now_ns: u64, tag: u32, direction: Direction, address: u64, bytes: u64) -> bool {
        if self.under_way < self.queue.outstanding {
            self.under_way += 1;
            self.goes(direction, address);
            return true;
        }
        self.waiting.push(Waiting { tag, direction, address, bytes, round: self.round + 1, since_ns: now_ns });
        false
    }

    /// A command is done; gives the one that goes on in its place, with which goes what [`merge`](Gate::merge) gives.
    pub fn leave(&mut self, now_ns: u64) -> Option<u32> {
        let index = self.next(now_ns);
        let Some(next) = index.map(|index| self.waiting.remove(index)) else {
            self.under_way -= 1;
            return None;
        };
        self.goes(next.direction, next.address);
        self.last = Some((next, next.bytes));
        Some(next.tag)
    }

    /// One that waits and goes on with what went on last, as far as they may be one command: that is done when its last part is.
    pub fn merge(&mut self) -> Option<u32> {
        let (last, bytes) = self.last.take()?;
        let goes_on = |one: &Waiting| {
            let is_behind = one.direction == last.direction && one.address == last.address + last.bytes;
            is_behind && bytes + one.bytes <= self.queue.merge
        };
        let index = self.waiting.iter().position(goes_on)?;
        let next = self.waiting.remove(index);
        self.goes(next.direction, next.address);
        self.last = Some((next, bytes + next.bytes));
        Some(next.tag)
    }

    /// The order is of reads alone.
    fn goes(&mut self, direction: Direction, address: u64) {
        if direction == Direction::Read {
            self.after = address;
        }
    }

    fn next(&mut self, now_ns: u64) -> Option<usize> {
        if self.queue.order == Order::Fcfs {
            return (!self.waiting.is_empty()).then_some(0);
        }
        let [read, other] =
            [true, false].map(|reads| self.waiting.iter().position(|one| (one.direction == Direction::Read) == reads));
        if read.is_some() && other.is_some() {
            self.turn = if self.turn.1 > 0 { (self.turn.0, self.turn.1 - 1) } else { (!self.turn.0, BATCH - 1) };
        }
        let Some(first) = read.filter(|_| self.turn.0 || other.is_none()) else { return other };
        self.in_order = self.in_order.saturating_sub(1);
        if self.in_order == 0 && now_ns - self.waiting[first].since_ns > PATIENCE_NS {
            self.in_order = BATCH;
            return Some(first);
        }
        let is_read = |index: &usize| self.waiting[*index].direction == Direction::Read;
        if self.queue.order == Order::FScan {
            let mut reads = (0..self.waiting.len()).filter(is_read);
            if reads.all(|index| self.waiting[index].round > self.round) {
                self.round += 1;
            }
        }
        let is_due = |index: &usize| self.queue.order == Order::CLook || self.waiting[*index].round <= self.round;
        // Those below come after all above: the distance upwards wraps around.
        let due = (0..self.waiting.len()).filter(is_read).filter(is_due);
        due.min_by_key(|index| self.waiting[*index].address.wrapping_sub(self.after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(order: Order, outstanding: u32) -> Vec<u32> {
        let mut gate = Gate::new(Queue { outstanding, order, merge: 0 });
        let mut course = Vec::new();
        for (tag, address) in [(0, 50), (1, 90), (2, 10), (3, 70)] {
            if gate.enter(0, tag, Direction::Read, address, 1) {
                course.push(tag);
            }
        }
        course.extend(gate.leave(0));
        if gate.enter(0, 4, Direction::Read, 95, 1) {
            course.push(4);
        }
        while let Some(tag) = gate.leave(0) {
            course.push(tag);
        }
        course
    }

    #[test]
    fn each_order_has_its_course() {
        assert_eq!(course(Order::Fcfs, 1), [0, 1, 2, 3, 4]);
        assert_eq!(course(Order::CLook, 1), [0, 3, 1, 4, 2], "70, 90, 95, then again from 10");
        assert_eq!(course(Order::FScan, 1), [0, 3, 1, 2, 4], "95 came during the round");
        assert_eq!(course(Order::CLook, 9), [0, 1, 2, 3, 4], "there is room for all");
    }

    #[test]
    fn a_stream_leaves_nobody_waiting_for_ever() {
        let mut gate = Gate::new(Queue { outstanding: 1, order: Order::CLook, merge: 0 });
        let mut came = 0..;
        for _ in 0..2 {
            gate.enter(0, came.next().unwrap(), Direction::Read, 1000, 1);
        }
        gate.enter(0, u32::MAX, Direction::Read, 10, 1);
        // Each of the stream's takes 10 ms.
        let mut stream = (1001..).map(|address| {
            let now_ns = (address - 1000) * 10_000_000;
            gate.enter(now_ns, came.next().unwrap(), Direction::Read, address, 1);
            gate.leave(now_ns).unwrap()
        });
        // It waits for more than a second.
        assert_eq!(stream.position(|tag| tag == u32::MAX), Some(100));
        assert!(stream.next().is_some_and(|tag| tag < u32::MAX));
    }

    #[test]
    fn who_is_late_takes_with_it_what_is_next_in_order() {
        let mut gate = Gate::new(Queue { outstanding: 1, order: Order::CLook, merge: 0 });
        gate.enter(0, 1000, Direction::Read, 0, 1);
        let place = |tag: u32| u64::from(tag.wrapping_mul(37) % 100);
        for tag in 0..100 {
            gate.enter(0, tag, Direction::Read, place(tag), 1);
        }
        let late_ns = PATIENCE_NS + 1;
        let course: Vec<u64> = (0..100).map(|_| place(gate.leave(late_ns).unwrap())).collect();
        let jumps = course.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert!(course[..16] == (0..16).collect::<Vec<u64>>() && jumps < 20, "{course:?}");
    }

    #[test]
    fn a_gate_lets_so_many_in() {
        let mut gate = Gate::new(Queue { outstanding: 2, order: Order::Fcfs, merge: 0 });
        assert_eq!([0, 1, 2].map(|tag| gate.enter(0, tag, Direction::Write, 0, 1)), [true, true, false]);
        assert_eq!([(); 3].map(|()| gate.leave(0)), [Some(2), None, None]);
        assert!(gate.enter(0, 3, Direction::Write, 0, 1), "all are out");
    }

    #[test]
    fn writes_go_as_they_came_and_take_turns_with_reads() {
        let mut gate = Gate::new(Queue { outstanding: 1, order: Order::CLook, merge: 0 });
        gate.enter(0, 0, Direction::Read, 10, 1);
        for (tag, direction, address) in
            [(1, Direction::Read, 90), (2, Direction::Write, 30), (3, Direction::Write, 20), (4, Direction::Read, 5)]
        {
            gate.enter(0, tag, direction, address, 1);
        }
        assert_eq!([(); 4].map(|()| gate.leave(0)), [Some(1), Some(4), Some(2), Some(3)]);
        for tag in 0..80 {
            let direction = if tag < 40 { Direction::Read } else { Direction::Write };
            gate.enter(0, tag, direction, u64::from(tag), 1);
        }
        let course: Vec<u32> = (0..80).map(|_| gate.leave(0).unwrap()).collect();
        let turns: Vec<usize> = course.chunk_by(|one, next| (*one < 40) == (*next < 40)).map(<[u32]>::len).collect();
        assert_eq!(turns, [14, 16, 16, 16, 10, 8]);
    }

    #[test]
    fn what_waits_and_goes_on_with_what_leaves_is_one_command_with_it() {
        let mut gate = Gate::new(Queue { outstanding: 1, order: Order::CLook, merge: 3072 });
        gate.enter(0, 0, Direction::Read, 0, 1024);
        for (tag, address) in [(1, 9 << 10), (2, 2 << 10), (3, 1 << 10), (4, 3 << 10), (5, 4 << 10)] {
            gate.enter(0, tag, Direction::Read, address, 1024);
        }
        gate.enter(0, 6, Direction::Write, 10 << 10, 1024);
        assert_eq!(gate.merge(), None, "the one under way is a command by itself");
        let mut course = Vec::new();
        while let Some(tag) = gate.leave(0) {
            course.push(std::iter::once(tag).chain(std::iter::from_fn(|| gate.merge())).collect::<Vec<_>>());
        }
        assert_eq!(course, [vec![3, 2, 4], vec![5], vec![1], vec![6]], "3 KiB at the most; reads and writes apart");
    }
}
