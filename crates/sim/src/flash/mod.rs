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
//! Reads of data in the buffer go to the flash. Not modelled: wear, and garbage collection while the drive is idle.
//!
//! Service times vary, each by a figure of the drive; without these figures they are constant. Pages of a kind are read
//! faster than others. Some pages are read again with other thresholds until their errors can be corrected. A read waits
//! for an erasure of its unit. Garbage collection works in rounds, which writes wait for if the buffer is full. Some random writes wait
//! for a program of the mapping table. The controller's own time varies. All draws come from the seed of the workload.
//! Sources: Agrawal and others, "Design tradeoffs for SSD performance" (2008); the parts as in MQSim (Tavakkol and others, FAST 2018).

pub mod array;
pub mod buffer;
pub mod drive;
pub mod heat;
pub mod read_ahead;
pub mod space;

use crate::command::{Command, Direction, Served};
use crate::disk::geometry::BLOCK_BYTES;
use crate::resource::Resource;
use array::Units;
use buffer::{Buffer, Passage};
pub use drive::{Erase, FastArea, FlashDrive, Heat, ReadAhead, State, Trim};
use halfpower_model::distribution::exponential_gap;
use halfpower_model::random::{Random, derive_seed};
use heat::Cooling;
use read_ahead::Ahead;
use space::Space;
use std::sync::Arc;

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
    random: Random,
}

impl Flash {
    /// At rest and cool, with an empty buffer.
    pub fn new(drive: Arc<FlashDrive>, seed: u64) -> Flash {
        Flash {
            controller: Resource::new(1),
            units: Units::new(Arc::clone(&drive), derive_seed(seed, 1)),
            buffer: Buffer::new(Arc::clone(&drive)),
            space: Space::new(drive.size, drive.spare, drive.state),
            ahead: drive.read_ahead.map(|habits| Ahead::new(habits, drive.page)),
            cooling: drive.heat.map(Cooling::new),
            wake_ns: None,
            random: Random::new(seed),
            drive,
        }
    }

    /// Serves a command that arrives at `now_ns`: a write when its bytes were transferred. Time never goes back.
    pub fn serve(&mut self, now_ns: u64, command: Command) -> Served {
        let Command { direction, block, count, .. } = command;
        let bytes = count * BLOCK_BYTES;
        let from_ns = self.cooling.as_mut().map_or(now_ns, |cooling| cooling.pass(now_ns, direction, bytes));
        let trim_ns = |trim: Trim| trim.command.0 + (bytes as f64 * (1e9 / trim.rate.0) + 0.5) as u64;
        let took_ns = match direction {
            Direction::Read => self.drive.read_command.0,
            Direction::Write | Direction::Flush => self.drive.write_command.0,
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
    fn answer(&mut self, command: Command, at_ns: u64, delay: Direction) -> Served {
        let ready_ns = at_ns + self.delay_ns(delay);
        Served { tag: command.tag, begins_ns: ready_ns, ready_ns }
    }

    /// The latency that a command has in parallel with others.
    fn delay_ns(&mut self, of: Direction) -> u64 {
        let FlashDrive { read_delay, write_delay, jitter, .. } = *self.drive;
        let more_ns = if jitter.0 > 0 { exponential_gap(&mut self.random, jitter.0 as f64) } else { 0.0 };
        (if of == Direction::Read { read_delay } else { write_delay }).0 + more_ns as u64
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
        Served { tag, begins_ns: came.begins_ns.max(at_ns) + delay_ns, ready_ns: came.ends_ns.max(at_ns) + delay_ns }
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
        if !self.drive.protected && self.wake_ns.is_none() {
            self.wake_ns = Some(self.buffer.safe_ns(&self.units));
        }
        self.answer(command, in_ns + scattered_ns, Direction::Write)
    }

    /// The further latency of a write that continues no other.
    fn scattered_write_ns(&mut self) -> u64 {
        let FlashDrive { scattered_write, checkpoint, program, .. } = *self.drive;
        let waits = checkpoint > 0.0 && self.random.next_unit() < checkpoint;
        scattered_write.0 + if waits { self.random.below(program.0) } else { 0 }
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
mod noise_tests;
#[cfg(test)]
mod space_tests;
#[cfg(test)]
mod tests;
