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
//! to copy. A read of unwritten blocks ends at the controller, which finds no page in its mapping table; its first block decides.
//! Reads of data in the buffer go to the flash. Not modelled: wear, thermal throttling, and garbage
//! collection while the drive is idle.
//!
//! Service times vary, each by a figure of the drive; without these figures they are constant. Pages of a kind are read and
//! programmed faster than others. Some pages are read again with other thresholds until their errors can be corrected. A read waits
//! for an erasure of its unit. Garbage collection works in rounds, which writes wait for if the buffer is full. Some random writes wait
//! for a program of the mapping table. The controller's own time varies. All draws come from the seed of the workload.
//! Sources: Agrawal and others, "Design tradeoffs for SSD performance" (2008); the parts as in MQSim (Tavakkol and others, FAST 2018).

pub mod array;
pub mod buffer;
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
use halfpower_model::distribution::exponential_gap;
use halfpower_model::random::{Random, derive_seed};
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
    /// Mean of the exponential part of the latency of any command.
    pub jitter_ns: f64,
    /// Share of the writes that continue no other and wait for a program of the mapping table.
    pub checkpoint: f64,
    /// Bytes that are written between two rounds of garbage collection; 0: it keeps up with each write.
    pub collection: Bytes,
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
    /// When to check whether everything is written; none if it is.
    wake_ns: Option<u64>,
    random: Random,
}

impl Flash {
    /// At rest, with an empty buffer.
    pub fn new(drive: Arc<FlashDrive>, seed: u64) -> Flash {
        Flash {
            controller: Resource::new(1),
            units: Units::new(drive.array, derive_seed(seed, 1)),
            buffer: Buffer::new(drive.buffer, drive.fast_area, drive.collection),
            space: Space::new(drive.size, drive.spare, drive.state),
            ahead: drive.read_ahead.map(|habits| Ahead::new(habits, drive.array.page)),
            wake_ns: None,
            random: Random::new(seed),
            drive,
        }
    }

    /// Serves a command that arrives at `now_ns`: a write when its bytes were transferred. Time never goes back.
    pub fn serve(&mut self, now_ns: u64, command: Command) -> Served {
        let Command { direction, block, count, .. } = command;
        let bytes = count * BLOCK_BYTES;
        let [read_ns, write_ns] = self.drive.command_ns;
        let trim_ns = |trim: Trim| trim.command.0 + (bytes as f64 * (1e9 / trim.rate.0) + 0.5) as u64;
        let took_ns = match direction {
            Direction::Read => read_ns,
            Direction::Write | Direction::Flush => write_ns,
            Direction::Trim => self.drive.trim.map_or(0, trim_ns),
        };
        let at_ns = self.controller.serve(now_ns, now_ns, took_ns);
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
    fn answer(&mut self, command: Command, at_ns: u64, delay: Direction) -> Served {
        let ready_ns = at_ns + self.delay_ns(delay);
        Served { tag: command.tag, begins_ns: ready_ns, ready_ns, from_buffer: true }
    }

    /// The latency that a command has in parallel with others.
    fn delay_ns(&mut self, of: Direction) -> u64 {
        let jitter_ns = self.drive.jitter_ns;
        let more_ns = if jitter_ns > 0.0 { exponential_gap(&mut self.random, jitter_ns) } else { 0.0 };
        self.drive.delay_ns[of as usize] + more_ns as u64
    }

    /// A read that the controller has processed.
    fn read(&mut self, now_ns: u64, at_ns: u64, command: Command) -> Served {
        let Command { tag, block, count, .. } = command;
        if !self.space.is_written(block) {
            return self.answer(command, at_ns, Direction::Read);
        }
        let delay_ns = self.delay_ns(Direction::Read);
        let units = &mut self.units;
        let mut read = |block, count| units.read(now_ns, at_ns, block * BLOCK_BYTES, count * BLOCK_BYTES);
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
            if written.continues { (0, 0) } else { (self.drive.mapping.0, self.scattered_write_ns()) };
        let (programmed, amplification, free) = (bytes + mapping, written.amplification, self.space.free());
        let passage = Passage { bytes, programmed, amplification, free };
        let in_ns = self.buffer.write(now_ns, at_ns, passage, &mut self.units);
        if !self.drive.is_protected && self.wake_ns.is_none() {
            self.wake_ns = Some(self.buffer.safe_ns(&self.units));
        }
        let done = self.answer(command, in_ns + scattered_ns, Direction::Write);
        Served { from_buffer: self.drive.buffer.is_some(), ..done }
    }

    /// The further latency of a write that continues no other.
    fn scattered_write_ns(&mut self) -> u64 {
        let FlashDrive { scattered_write_ns, checkpoint, array, .. } = *self.drive;
        let waits = checkpoint > 0.0 && self.random.next_unit() < checkpoint;
        scattered_write_ns + if waits { self.random.below(array.program_ns) } else { 0 }
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

    /// How long the busiest of its parts was at work until now.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        let [units_ns, channels_ns] = self.units.busy_ns(now_ns);
        self.controller.busy_ns(now_ns).max(units_ns).max(channels_ns)
    }
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod noise_tests;
#[cfg(test)]
mod space_tests;
#[cfg(test)]
mod tests;
