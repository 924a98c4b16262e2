//! A flash drive: parallel units behind one controller, with a write buffer, and flash that is erased before it is written again.
//!
//! ```text
//! command → controller → read: units of its pages → channels → link
//!                      ↘ write: buffer → (garbage collection) → all units
//! ```
//!
//! Reads are a closed network: throughput rises with queue depth until controller, units, channels or link are full. Writes complete
//! in the buffer, which drains into all units as a fluid; garbage collection slows the drain ([`space`]). Everything is known when a
//! command arrives, so a request costs arithmetic and no event.
//!
//! A flush waits until the buffer is empty, unless the buffer survives a power loss. A trim occupies the controller and leaves less
//! to copy. Reads of data in the buffer go to the flash. Not modelled: wear, and garbage collection while the drive is idle.
//! Sources: Agrawal and others, "Design tradeoffs for SSD performance" (2008); the parts as in MQSim (Tavakkol and others, FAST 2018).

pub mod array;
pub mod buffer;
pub mod heat;
pub mod read_ahead;
pub mod space;

use crate::bounds::{Rate, Short};
use crate::command::{Command, Direction, Served};
use crate::disk::geometry::BLOCK_BYTES;
use crate::resource::Resource;
use crate::table::table;
use array::{Array, Units};
use buffer::{Buffer, FastArea, Passage};
use halfpower_model::Bytes;
use heat::{Cooling, Heat};
use read_ahead::{Ahead, ReadAhead};
use space::{Space, State};
use std::sync::Arc;

/// The figures of a flash drive.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashDrive {
    /// Capacity.
    pub size: Bytes,
    /// Additional flash.
    pub spare: Bytes,
    /// The units that read and program.
    pub array: Array,
    /// Controller time of a read and of a write, one after another.
    pub command_ns: [u64; 2],
    /// Further latency of a read and of a write, in parallel.
    pub delay_ns: [u64; 2],
    /// Further latency of a write that continues no other.
    pub scattered_write_ns: u64,
    /// Capacity of the write buffer; without it a write ends in flash.
    pub buffer: Option<Bytes>,
    /// Whether the buffer survives a power loss, so that a flush has nothing to do.
    pub is_protected: bool,
    /// Flash that is written faster, before the rest.
    pub fast_area: Option<FastArea>,
    /// Bytes of the mapping table that are programmed with each write that continues no other.
    pub mapping: Bytes,
    /// Read-ahead of streams.
    pub read_ahead: Option<ReadAhead>,
    /// The cost of trims; without it they are rejected.
    pub trim: Option<Trim>,
    /// Thermal throttling; without it the drive stays cool.
    pub heat: Option<Heat>,
    /// What was written before.
    pub state: State,
}

table! {
    /// The cost of a trim.
    #[derive(Copy)]
    pub Trim {
        /// controller time of a trim, one after another
        command: Short,
        /// trimmed bytes per second, in addition
        rate: Rate,
    }
}

/// A flash drive at work.
#[derive(Clone, Debug)]
pub struct Flash {
    drive: Arc<FlashDrive>,
    controller: Resource,
    units: Units,
    buffer: Buffer,
    space: Space,
    ahead: Option<Ahead>,
    cooling: Option<Cooling>,
    /// When to check whether everything is written; none if it is.
    wake_ns: Option<u64>,
}

impl Flash {
    /// At rest and cool, with an empty buffer.
    pub fn new(drive: Arc<FlashDrive>) -> Flash {
        Flash {
            controller: Resource::new(1),
            units: Units::new(drive.array),
            buffer: Buffer::new(drive.buffer, drive.fast_area),
            space: Space::new(drive.size, drive.spare, drive.state),
            ahead: drive.read_ahead.map(|habits| Ahead::new(habits, drive.array.page)),
            cooling: drive.heat.map(Cooling::new),
            wake_ns: None,
            drive,
        }
    }

    /// Serves a command that arrives at `now_ns`: a write when its bytes were transferred. Time never goes back.
    pub fn serve(&mut self, now_ns: u64, command: Command) -> Served {
        let Command { direction, block, count, .. } = command;
        let bytes = count * BLOCK_BYTES;
        let from_ns = self.cooling.as_mut().map_or(now_ns, |cooling| cooling.pass(now_ns, direction, bytes));
        let [read_ns, write_ns] = self.drive.command_ns;
        let trim_ns = |trim: Trim| trim.command.0 + (bytes as f64 * (1e9 / trim.rate.0) + 0.5) as u64;
        let took_ns = match direction {
            Direction::Read => read_ns,
            Direction::Write | Direction::Flush => write_ns,
            Direction::Trim => self.drive.trim.map_or(0, trim_ns),
        };
        let at_ns = self.controller.serve(now_ns, from_ns, took_ns);
        match direction {
            Direction::Read => self.read(now_ns, at_ns, command),
            Direction::Write => self.write(now_ns, at_ns, command),
            Direction::Trim => {
                self.ahead.iter_mut().for_each(|ahead| ahead.forget(block, count));
                self.space.trim(block, count);
                self.answer(command, at_ns, Direction::Write)
            }
            // Earlier writes are out by then, unless later reads delay them.
            Direction::Flush if self.is_flushed() => self.answer(command, at_ns, Direction::Write),
            Direction::Flush => self.answer(command, at_ns.max(self.buffer.safe_ns(&self.units)), Direction::Write),
        }
    }

    /// The answer to a command that needs no flash after `at_ns`.
    fn answer(&self, command: Command, at_ns: u64, delay: Direction) -> Served {
        let ready_ns = at_ns + self.drive.delay_ns[delay as usize];
        Served { tag: command.tag, begins_ns: ready_ns, ready_ns, from_buffer: true }
    }

    /// A read that the controller has processed.
    fn read(&mut self, now_ns: u64, at_ns: u64, command: Command) -> Served {
        let Command { tag, block, count, .. } = command;
        let units = &mut self.units;
        let mut read = |block, count| units.read(now_ns, at_ns, block * BLOCK_BYTES, count * BLOCK_BYTES);
        let delay_ns = self.drive.delay_ns[Direction::Read as usize];
        let came = match &mut self.ahead {
            Some(ahead) => ahead.read(block, count, &mut read),
            None => read(block, count),
        };
        Served {
            tag,
            begins_ns: came.begins_ns.max(at_ns) + delay_ns,
            ready_ns: came.ends_ns.max(at_ns) + delay_ns,
            from_buffer: came.ends_ns <= at_ns,
        }
    }

    /// A write that the controller has processed.
    fn write(&mut self, now_ns: u64, at_ns: u64, command: Command) -> Served {
        let Command { block, count, .. } = command;
        self.ahead.iter_mut().for_each(|ahead| ahead.forget(block, count));
        let bytes = count * BLOCK_BYTES;
        let written = self.space.write(block, count);
        let (mapping, scattered_ns) =
            if written.continues { (0, 0) } else { (self.drive.mapping.0, self.drive.scattered_write_ns) };
        let (programmed, amplification, free) = (bytes + mapping, written.amplification, self.space.free());
        let passage = Passage { bytes, programmed, amplification, free };
        let in_ns = self.buffer.write(now_ns, at_ns, passage, &mut self.units);
        if !self.drive.is_protected && self.wake_ns.is_none() {
            self.wake_ns = Some(self.buffer.safe_ns(&self.units));
        }
        let done = self.answer(command, in_ns + scattered_ns, Direction::Write);
        Served { from_buffer: self.drive.buffer.is_some(), ..done }
    }

    /// When the buffer may be empty; none if it is, or if nobody needs to know.
    pub fn next_ns(&self) -> Option<u64> {
        self.wake_ns
    }

    /// The time is now [`next_ns`](Flash::next_ns).
    pub fn advance(&mut self, now_ns: u64) {
        let safe_ns = self.buffer.safe_ns(&self.units);
        self.wake_ns = (safe_ns > now_ns).then_some(safe_ns);
    }

    /// Whether all that was written would survive a power loss.
    pub fn is_flushed(&self) -> bool {
        self.wake_ns.is_none()
    }

    /// How long the busiest of its parts was at work until now. Throttled time counts for the units, which are the limit before.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        let hot_ns = self.cooling.as_ref().map_or(0, |cooling| cooling.busy_ns(now_ns));
        let [units_ns, channels_ns] = self.units.busy_ns(now_ns);
        let busy_ns = self.controller.busy_ns(now_ns).max(units_ns.max(channels_ns) + hot_ns);
        if hot_ns > 0 { busy_ns.min(now_ns) } else { busy_ns }
    }
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod space_tests;
#[cfg(test)]
mod tests;
