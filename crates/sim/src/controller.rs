//! A controller between buses, which passes bytes on or stores them.
//!
//! A command occupies its CPU. A transfer occupies it for as long as the slowest of itself and the buses on its side takes, if
//! all its disks are on one bus: that is its only port. If each disk has a link of its own, as with SATA, it has a port per
//! disk, and its own rate alone limits it. One that stores takes in all bytes of a piece before it passes them on, so a piece
//! uses its two sides in turn, and several pieces use both at once. It may limit the commands at a disk and order waiting
//! reads by address; writes stay in the order of arrival. It may merge waiting neighbours into one command, as Linux does in
//! front of it. CPU costs of its driver are added to the operating system's. Sources: controllers as in DiskSim 4.0 (Bucy and
//! others, CMU-PDL-08-101, section 5: "simple" and "smart"); FSCAN: Coffman, Klimko and Ryan, "Analysis of scanning policies
//! for reducing disk seek times" (1972).

use crate::bounds::{Blocks, Count, Rate, Short, Word};
use crate::command::Direction;
use crate::cost::Cost;
use crate::table::{Named, named, table};

table! {
/// A controller.
pub Controller {
    /// controller time per command
    request: Short = default,
    /// throughput limit of reads; without it: as the buses
    read_rate: Option<Rate>,
    /// the same for writes
    write_rate: Option<Rate>,
    /// `stored`: it holds all bytes before it passes them on. `through`, above a bus with `each-disk`: one port per disk, in
    /// parallel
    bytes: Word<Forwarding>,
    /// maximum number of commands at a disk; without it: unlimited
    outstanding: Option<Count<1, 65_536>>,
    /// order of waiting reads; needs `outstanding`; default `fcfs`. A write that is the oldest waiting request goes first
    order: Option<Word<Order>>,
    /// maximum size of a command merged from waiting neighbours; needs `outstanding`; without it, or with 512 B: no merging
    merge: Option<Blocks<512, { 64 << 20 }>>,
    /// CPU time that its driver adds to a read
    driver_read: Option<Cost>,
    /// the same for a write
    driver_write: Option<Cost>,
}
}

impl Controller {
    /// Its queue; none: commands go to the disks at once.
    pub fn queue(&self) -> Option<Queue> {
        let (order, merge) = (self.order.unwrap_or(Order::Fcfs), self.merge.map_or(0, |size| size.0));
        self.outstanding.map(|outstanding| Queue { outstanding, order, merge })
    }
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

/// A waiting command.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    tag: u32,
    direction: Direction,
    address: u64,
    bytes: u64,
    /// The round of FSCAN that serves it.
    round: u64,
}

/// The commands for one disk.
#[derive(Clone, Debug)]
pub struct Gate {
    queue: Queue,
    under_way: u32,
    /// In the order of arrival.
    waiting: Vec<Waiting>,
    /// Address of the last read that left: the next is looked for from there on.
    after: u64,
    /// The present round.
    round: u64,
    /// What left last, and how many bytes its command has with it.
    last: Option<(Waiting, u64)>,
}

impl Gate {
    /// Nothing waits.
    pub fn new(queue: Queue) -> Gate {
        Gate { queue, under_way: 0, waiting: Vec::new(), after: 0, round: 0, last: None }
    }

    /// A command arrives; whether it may go on at once.
    pub fn enter(&mut self, tag: u32, direction: Direction, address: u64, bytes: u64) -> bool {
        let command = Waiting { tag, direction, address, bytes, round: self.round + 1 };
        if self.under_way < self.queue.outstanding {
            self.under_way += 1;
            self.leaves(&command);
            return true;
        }
        self.waiting.push(command);
        false
    }

    /// A command completed; gives the one that goes on in its place, followed by what [`merge`](Gate::merge) gives.
    pub fn leave(&mut self) -> Option<u32> {
        let Some(next) = self.next().map(|index| self.waiting.remove(index)) else {
            self.under_way -= 1;
            return None;
        };
        self.leaves(&next);
        self.last = Some((next, next.bytes));
        Some(next.tag)
    }

    /// A waiting command that continues what left last, if both fit into one command: that completes with its last part.
    pub fn merge(&mut self) -> Option<u32> {
        let (last, bytes) = self.last.take()?;
        let continues = |one: &Waiting| {
            let is_behind = one.direction == last.direction && one.address == last.address + last.bytes;
            is_behind && bytes + one.bytes <= self.queue.merge
        };
        let index = self.waiting.iter().position(continues)?;
        let next = self.waiting.remove(index);
        self.leaves(&next);
        self.last = Some((next, bytes + next.bytes));
        Some(next.tag)
    }

    /// Only reads are ordered.
    fn leaves(&mut self, command: &Waiting) {
        if command.direction == Direction::Read {
            self.after = command.address;
        }
    }

    /// The oldest command, if it is no read; else the next read of the order.
    fn next(&mut self) -> Option<usize> {
        let is_read = |one: &Waiting| one.direction == Direction::Read;
        if self.queue.order == Order::Fcfs || !is_read(self.waiting.first()?) {
            return (!self.waiting.is_empty()).then_some(0);
        }
        let scans = self.queue.order == Order::FScan;
        if scans && self.waiting.iter().filter(|one| is_read(one)).all(|one| one.round > self.round) {
            self.round += 1;
        }
        let is_due = |index: &usize| {
            let one = &self.waiting[*index];
            is_read(one) && (!scans || one.round <= self.round)
        };
        // Those below come after all above: the distance upwards wraps around.
        let due = (0..self.waiting.len()).filter(is_due);
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
            if gate.enter(tag, Direction::Read, address, 1) {
                course.push(tag);
            }
        }
        course.extend(gate.leave());
        if gate.enter(4, Direction::Read, 95, 1) {
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
    fn writes_stay_in_the_order_of_arrival() {
        let mut gate = Gate::new(Queue { outstanding: 1, order: Order::CLook, merge: 0 });
        gate.enter(0, Direction::Read, 10, 1);
        for (tag, direction, address) in
            [(1, Direction::Read, 90), (2, Direction::Write, 30), (3, Direction::Write, 20), (4, Direction::Read, 50)]
        {
            gate.enter(tag, direction, address, 1);
        }
        assert_eq!([(); 4].map(|()| gate.leave()), [Some(4), Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn a_gate_lets_so_many_in() {
        let mut gate = Gate::new(Queue { outstanding: 2, order: Order::Fcfs, merge: 0 });
        assert_eq!([0, 1, 2].map(|tag| gate.enter(tag, Direction::Write, 0, 1)), [true, true, false]);
        assert_eq!([(); 3].map(|()| gate.leave()), [Some(2), None, None]);
        assert!(gate.enter(3, Direction::Write, 0, 1), "all are out");
    }

    #[test]
    fn what_waits_and_goes_on_with_what_leaves_is_one_command_with_it() {
        let mut gate = Gate::new(Queue { outstanding: 1, order: Order::CLook, merge: 3072 });
        gate.enter(0, Direction::Read, 0, 1024);
        for (tag, address) in [(1, 9 << 10), (2, 2 << 10), (3, 1 << 10), (4, 3 << 10), (5, 4 << 10)] {
            gate.enter(tag, Direction::Read, address, 1024);
        }
        gate.enter(6, Direction::Write, 10 << 10, 1024);
        assert_eq!(gate.merge(), None, "the one under way is a command by itself");
        let mut course = Vec::new();
        while let Some(tag) = gate.leave() {
            course.push(std::iter::once(tag).chain(std::iter::from_fn(|| gate.merge())).collect::<Vec<_>>());
        }
        assert_eq!(course, [vec![3, 2, 4], vec![5], vec![1], vec![6]], "3 KiB at the most; reads and writes apart");
    }
}
