//! A controller between buses: it takes a request's command, and the bytes go through it or rest in it.
//!
//! A command costs its processor a time, and nothing moves through it then. A transfer holds it for as long as the slowest of
//! itself and the buses on its side takes, where all its disks are on one bus: that is the one port that it has. Where each
//! disk has a link of its own, as with SATA, it has a port for each, which move at the same time, and what holds a transfer
//! is the link; the controller itself is held for as long as its own rate says, if it has one. One that stores takes a
//! piece's bytes in wholly before it passes them on, so that its two sides are used one after the other by a piece and at
//! once by several. It may let only so many commands be at a disk, and choose the next read from those that wait, by their
//! addresses: it does not know where they lie. One that has waited for too long goes before all. Writes go as they came, as disks
//! put what is in their write caches in an order of their own: two orders, one after the other, would write faster than was
//! measured (docs/journal). It may make one command of several that wait and go on with one another, as Linux does in front of it;
//! the disk is told of each of them.
//!
//! Whatever the driver of it costs the processors is added to the operating system's costs. It refuses nothing and keeps no
//! bytes: what it has been given is the disk's. Sources: controllers as in DiskSim 4.0 (Bucy and others, CMU-PDL-08-101,
//! section 5: "simple" and "smart"); the round of FSCAN is Coffman, Klimko and Ryan, "Analysis of scanning policies for
//! reducing disk seek times" (1972).

use crate::device::Direction;
use crate::machine::Cost;

/// A controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Controller {
    /// Its name.
    pub name: String,
    /// Nanoseconds of its processor for a command.
    pub request_ns: u64,
    /// Nanoseconds a byte of reads through it; nought: as fast as the buses.
    pub read_ns_per_byte: f64,
    /// The same of writes.
    pub write_ns_per_byte: f64,
    /// How the bytes pass.
    pub forwarding: Forwarding,
    /// How it queues commands; none: all go to the disks at once.
    pub queue: Option<Queue>,
    /// What its driver costs the processors for a read.
    pub driver_read: Cost,
    /// The same of a write.
    pub driver_write: Cost,
}

/// How bytes pass a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarding {
    /// They are on both sides at once, by the one port that there is.
    Through,
    /// The same, by a port for each disk.
    Ports,
    /// It has them all before they go on.
    Stored,
}

/// How commands for a disk wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// How many are at a disk at the most.
    pub outstanding: u32,
    /// Which is next.
    pub order: Order,
    /// How many bytes of those that wait and go on with one another become one command at the most; nought: each is one.
    pub merge: u64,
}

/// Which of the waiting reads is next, by address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As they came.
    #[default]
    Fcfs,
    /// Upwards from the one before, then again from the lowest.
    CLook,
    /// As C-LOOK, in rounds: who comes during one waits for the next.
    FScan,
}

impl Order {
    /// The word in a machine file.
    pub const WORDS: [(&'static str, Order); 3] =
        [("fcfs", Order::Fcfs), ("c-look", Order::CLook), ("fscan", Order::FScan)];
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

/// How long one may wait for each that waits, as at a drive (four turns of 10 ms): at random C-LOOK has it wait for two sweeps at
/// the most, so that only streams come to it.
const PATIENCE_NS: u64 = 40_000_000;

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
    /// What left last, and how many bytes its command has with it.
    last: Option<(Waiting, u64)>,
}

impl Gate {
    /// Nothing waits.
    pub fn new(queue: Queue) -> Gate {
        Gate { queue, under_way: 0, waiting: Vec::new(), after: 0, round: 0, last: None }
    }

    /// Bytes from an address on are asked for; whether that may go on at once.
    pub fn enter(&mut self, now_ns: u64, tag: u32, direction: Direction, address: u64, bytes: u64) -> bool {
        if self.under_way < self.queue.outstanding {
            self.under_way += 1;
            self.after = address;
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
        self.after = next.address;
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
        self.after = next.address;
        self.last = Some((next, bytes + next.bytes));
        Some(next.tag)
    }

    fn next(&mut self, now_ns: u64) -> Option<usize> {
        let first = self.waiting.first()?;
        let is_late = now_ns - first.since_ns > PATIENCE_NS * self.waiting.len() as u64;
        if first.direction != Direction::Read || self.queue.order == Order::Fcfs || is_late {
            return Some(0);
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
        // Three wait, for 40 ms each.
        assert_eq!(stream.position(|tag| tag == u32::MAX), Some(12));
        assert!(stream.next().is_some_and(|tag| tag < u32::MAX));
    }

    #[test]
    fn a_gate_lets_so_many_in() {
        let mut gate = Gate::new(Queue { outstanding: 2, order: Order::Fcfs, merge: 0 });
        assert_eq!([0, 1, 2].map(|tag| gate.enter(0, tag, Direction::Write, 0, 1)), [true, true, false]);
        assert_eq!([(); 3].map(|()| gate.leave(0)), [Some(2), None, None]);
        assert!(gate.enter(0, 3, Direction::Write, 0, 1), "all are out");
    }

    #[test]
    fn writes_go_as_they_came() {
        let mut gate = Gate::new(Queue { outstanding: 1, order: Order::CLook, merge: 0 });
        gate.enter(0, 0, Direction::Read, 10, 1);
        for (tag, direction, address) in
            [(1, Direction::Read, 90), (2, Direction::Write, 30), (3, Direction::Write, 20), (4, Direction::Read, 5)]
        {
            gate.enter(0, tag, direction, address, 1);
        }
        assert_eq!([(); 4].map(|()| gate.leave(0)), [Some(1), Some(2), Some(3), Some(4)]);
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
