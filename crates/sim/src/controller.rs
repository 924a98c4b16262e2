//! A controller between buses: it takes a request's command, and the bytes go through it or rest in it.
//!
//! A command costs its processor a time, and nothing moves through it then. A transfer holds it for as long as the slowest of
//! itself and the buses on its side takes, where all its disks are on one bus: that is the one port that it has. Where each
//! disk has a link of its own, as with SATA, it has a port for each, which move at the same time, and what holds a transfer
//! is the link; the controller itself is held for as long as its own rate says, if it has one. One that stores takes a
//! piece's bytes in wholly before it passes them on, so that its two sides are used one after the other by a piece and at
//! once by several. It may let only so many commands be at a
//! disk, and choose the next read from those that wait, by their addresses: it does not know where they lie. One that many have
//! overtaken goes before all. Writes go as they came, as disks put what is in their write caches in an order of their own: two orders, one after the other, would write
//! faster than was measured (docs/journal).
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
    round: u64,
    /// How many will have left when those that came before have, if nobody overtakes.
    turn: u64,
}

/// How many may overtake one for each that waits. At random C-LOOK has two sweeps' do so at the most: only streams come to it.
const PATIENCE: u64 = 4;

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
    /// How many went on that had waited.
    left: u64,
}

impl Gate {
    /// Nothing waits.
    pub fn new(queue: Queue) -> Gate {
        Gate { queue, under_way: 0, waiting: Vec::new(), after: 0, round: 0, left: 0 }
    }

    /// A command comes; whether it may go on at once.
    pub fn enter(&mut self, tag: u32, direction: Direction, address: u64) -> bool {
        if self.under_way < self.queue.outstanding {
            self.under_way += 1;
            self.after = address;
            return true;
        }
        let turn = self.left + self.waiting.len() as u64;
        self.waiting.push(Waiting { tag, direction, address, round: self.round + 1, turn });
        false
    }

    /// A command is done; gives the one that goes on in its place.
    pub fn leave(&mut self) -> Option<u32> {
        let index = self.next();
        let Some(next) = index.map(|index| self.waiting.remove(index)) else {
            self.under_way -= 1;
            return None;
        };
        self.after = next.address;
        self.left += 1;
        Some(next.tag)
    }

    fn next(&mut self) -> Option<usize> {
        let first = self.waiting.first()?;
        let is_late = self.left.saturating_sub(first.turn) > PATIENCE * self.waiting.len() as u64;
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
        let mut gate = Gate::new(Queue { outstanding, order });
        let mut course = Vec::new();
        for (tag, address) in [(0, 50), (1, 90), (2, 10), (3, 70)] {
            if gate.enter(tag, Direction::Read, address) {
                course.push(tag);
            }
        }
        course.extend(gate.leave());
        if gate.enter(4, Direction::Read, 95) {
            course.push(4);
        }
        while let Some(tag) = gate.leave() {
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
        let mut gate = Gate::new(Queue { outstanding: 1, order: Order::CLook });
        let mut came = 0..;
        for _ in 0..2 {
            gate.enter(came.next().unwrap(), Direction::Read, 1000);
        }
        gate.enter(u32::MAX, Direction::Read, 10);
        let mut stream = (1001..).map(|address| {
            gate.enter(came.next().unwrap(), Direction::Read, address);
            gate.leave().unwrap()
        });
        // Two of three that wait are the stream's.
        assert_eq!(stream.position(|tag| tag == u32::MAX), Some(14));
        assert!(stream.next().is_some_and(|tag| tag < u32::MAX));
    }

    #[test]
    fn a_gate_lets_so_many_in() {
        let mut gate = Gate::new(Queue { outstanding: 2, order: Order::Fcfs });
        assert_eq!([0, 1, 2].map(|tag| gate.enter(tag, Direction::Write, 0)), [true, true, false]);
        assert_eq!([gate.leave(), gate.leave(), gate.leave()], [Some(2), None, None]);
        assert!(gate.enter(3, Direction::Write, 0), "all are out");
    }

    #[test]
    fn writes_go_as_they_came() {
        let mut gate = Gate::new(Queue { outstanding: 1, order: Order::CLook });
        gate.enter(0, Direction::Read, 10);
        for (tag, direction, address) in
            [(1, Direction::Read, 90), (2, Direction::Write, 30), (3, Direction::Write, 20), (4, Direction::Read, 5)]
        {
            gate.enter(tag, direction, address);
        }
        assert_eq!([(); 4].map(|()| gate.leave()), [Some(1), Some(2), Some(3), Some(4)]);
    }
}
