//! A flash drive: parallel units behind one controller, with a buffer for writes, and flash that is erased before it is
//! written again.
//!
//! ```text
//! command → controller → read: units that its pages lie on → channels → link
//!                      ↘ write: buffer → (garbage collection) → all units, as fast as they are free
//! ```
//!
//! Reads are a closed network: each page is read by the unit that it lies on, one after another there, and its bytes go over
//! the unit's channel; throughput rises with depth as those of so many servers do, until the controller, the units or the link
//! is full. Writes are done when the buffer has them, and the buffer empties into all units alike, which is how a log is
//! written: a fluid, whose rate falls with what garbage collection copies ([`space`]). Reads go before it: a unit that is
//! programming is suspended for them, and the fluid loses their time. Everything is known when a command comes, so a request
//! costs arithmetic and no event.
//!
//! It does not keep what lies where, so a read of what the buffer still has goes to the flash, and one of what was never
//! written too. A trim takes its controller's time and leaves less to copy. A flush waits until the buffer
//! is empty, where that does not outlast a loss of power. It knows no reads that fail and are tried again, no wear, and does not
//! collect garbage while it is idle. Sources: Agrawal and others, "Design tradeoffs for SSD performance" (2008); the parts as in MQSim (Tavakkol
//! and others, FAST 2018); those of its own parts are named there.

pub mod fast_area;
pub mod heat;
pub mod read_ahead;
pub mod space;
pub mod units;
mod work;

use crate::bounds::{Rate, Short};
use crate::command::{Command, Direction, Served};
use crate::disk::geometry::BLOCK_BYTES;
use crate::resource::Resource;
use crate::table::table;
use fast_area::{Drain, FastArea};
use halfpower_model::Bytes;
use heat::{Cooling, Heat};
use read_ahead::{Ahead, ReadAhead};
use space::{Space, State, Written};
use std::sync::Arc;
use units::{Array, Units};

/// What a flash drive is.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashDrive {
    /// Bytes that it offers.
    pub size: Bytes,
    /// Bytes of flash beside them.
    pub spare: Bytes,
    /// What reads and programs.
    pub array: Array,
    /// The controller's own time for a read and for a write, one after another.
    pub command_ns: [u64; 2],
    /// What a read and a write take beside that, any number of them at once.
    pub delay_ns: [u64; 2],
    /// The same of a write that continues none.
    pub scattered_write_ns: u64,
    /// What the buffer for writes holds; none where it is off.
    pub buffer: Option<Bytes>,
    /// Whether what the buffer holds outlasts a loss of power, so that a flush has nothing to do.
    pub is_protected: bool,
    /// Flash that is written faster, before the rest; none where there is none.
    pub fast_area: Option<FastArea>,
    /// Bytes that are programmed beside each write that continues none: of the table of what lies where.
    pub mapping: Bytes,
    /// How far it reads ahead of streams; none: it does not.
    pub read_ahead: Option<ReadAhead>,
    /// What giving blocks back costs it; none: it does not take them.
    pub trim: Option<Trim>,
    /// What it does when it is hot; none: it stays cool.
    pub heat: Option<Heat>,
    /// What was written before.
    pub state: State,
}

table! {
    /// What its controller takes to give blocks back, one command after another.
    #[derive(Copy)]
    pub Trim {
        /// controller time of a trim, one after another
        command: Short,
        /// trimmed bytes per second, in addition
        rate: Rate,
    }
}

impl Trim {
    /// Nanoseconds for so many bytes.
    fn ns(self, bytes: u64) -> u64 {
        self.command.0 + (bytes as f64 * (1e9 / self.rate.0) + 0.5) as u64
    }
}

/// What of it tells how long it was at work: controller, units, channels, and what keeps it cool.
const PARTS: usize = 4;

/// It at work.
#[derive(Clone, Debug)]
pub struct Flash {
    drive: Arc<FlashDrive>,
    controller: Resource,
    units: Units,
    drain: Drain,
    space: Space,
    ahead: Option<Ahead>,
    cooling: Option<Cooling>,
    /// How long it was at work until it was last hot, or cool again, and each of its parts then.
    before_ns: (u64, [u64; PARTS]),
    /// When it has to see whether all that came is in flash; none while it is.
    wake_ns: Option<u64>,
}

impl Flash {
    /// At rest and cool, with an empty buffer.
    pub fn new(drive: Arc<FlashDrive>) -> Flash {
        Flash {
            controller: Resource::new(1),
            units: Units::new(drive.array),
            drain: Drain::new(drive.buffer, drive.fast_area),
            space: Space::new(drive.size, drive.spare, drive.state),
            ahead: drive.read_ahead.map(|habits| Ahead::new(habits, drive.array.page)),
            cooling: drive.heat.map(Cooling::new),
            before_ns: (0, [0; PARTS]),
            wake_ns: None,
            drive,
        }
    }

    /// Serves a command that came at `now_ns`: of a write, when its bytes were in the buffer. Time never goes back.
    pub fn serve(&mut self, now_ns: u64, command: Command) -> Served {
        let from_ns = match &mut self.cooling {
            Some(cooling) => {
                let was_hot = cooling.is_hot();
                let from_ns = cooling.pass(now_ns, command.direction, command.count * BLOCK_BYTES);
                if cooling.is_hot() != was_hot {
                    self.before_ns = (self.busy_ns(now_ns), self.at_work_ns(now_ns));
                }
                from_ns
            }
            None => now_ns,
        };
        let [read_ns, write_ns] = self.drive.command_ns;
        let took_ns = match command.direction {
            Direction::Read => read_ns,
            Direction::Write | Direction::Flush => write_ns,
            Direction::Trim => self.drive.trim.map_or(0, |trim| trim.ns(command.count * BLOCK_BYTES)),
        };
        let at_ns = self.controller.serve(now_ns, from_ns, took_ns);
        match command.direction {
            Direction::Read => self.read(now_ns, at_ns, command),
            Direction::Write => self.write(now_ns, at_ns, command),
            Direction::Trim => {
                self.ahead.iter_mut().for_each(|ahead| ahead.forget(command.block, command.count));
                self.space.trim(command.block, command.count);
                self.answered(command.tag, at_ns)
            }
            // All that came before is out by then, unless reads hold it up.
            Direction::Flush if self.is_flushed() => self.answered(command.tag, at_ns),
            Direction::Flush => self.answered(command.tag, at_ns.max(self.drain.safe_ns())),
        }
    }

    /// What moves no bytes, and is done then but for the delay of a write.
    fn answered(&self, tag: u32, at_ns: u64) -> Served {
        let ready_ns = at_ns + self.drive.delay_ns[Direction::Write as usize];
        Served { tag, begins_ns: ready_ns, ready_ns, from_buffer: true }
    }

    /// A read that the controller has seen to.
    fn read(&mut self, now_ns: u64, at_ns: u64, command: Command) -> Served {
        let Command { tag, block, count, .. } = command;
        let (units, drain) = (&mut self.units, &mut self.drain);
        let mut read = |block, count| units.read(now_ns, at_ns, block * BLOCK_BYTES, count * BLOCK_BYTES, drain);
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

    /// A write that the controller has seen to at `at_ns`.
    fn write(&mut self, now_ns: u64, at_ns: u64, command: Command) -> Served {
        let Command { tag, block, count, .. } = command;
        self.ahead.iter_mut().for_each(|ahead| ahead.forget(block, count));
        let (drive, bytes) = (&*self.drive, count * BLOCK_BYTES);
        let Written { continues, amplification } = self.space.write(block, count);
        let mapping = if continues { 0 } else { drive.mapping.0 };
        let free = self.space.free();
        let passage = fast_area::Passage { bytes, programmed: bytes + mapping, amplification, free };
        let in_ns = self.drain.write(now_ns, at_ns, passage, &mut self.units);
        let scattered_ns = if continues { 0 } else { drive.scattered_write_ns };
        let done_ns = in_ns + drive.delay_ns[Direction::Write as usize] + scattered_ns;
        if !drive.is_protected && self.wake_ns.is_none() {
            self.wake_ns = Some(self.drain.safe_ns());
        }
        Served { tag, begins_ns: done_ns, ready_ns: done_ns, from_buffer: drive.buffer.is_some() }
    }

    /// When the buffer may be empty; none while it is, or nobody needs to know.
    pub fn next_ns(&self) -> Option<u64> {
        self.wake_ns
    }

    /// The time is now [`next_ns`](Flash::next_ns).
    pub fn advance(&mut self, now_ns: u64) {
        let safe_ns = self.drain.safe_ns();
        self.wake_ns = (safe_ns > now_ns).then_some(safe_ns);
    }

    /// Whether all that was written would outlast a loss of power.
    pub fn is_flushed(&self) -> bool {
        self.wake_ns.is_none()
    }

    /// How long the busiest of its parts has been at work until now: that of the time while it was hot, and of the time while it
    /// was not, as another one sets the pace then.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        let (busy_ns, before_ns) = self.before_ns;
        let since_ns =
            self.at_work_ns(now_ns).into_iter().zip(before_ns).map(|(now, before)| now.saturating_sub(before));
        busy_ns + since_ns.max().unwrap_or(0)
    }

    /// How long each of its parts was at work.
    fn at_work_ns(&self, now_ns: u64) -> [u64; PARTS] {
        let cooling_ns = self.cooling.as_ref().map_or(0, |cooling| cooling.busy_ns(now_ns));
        let [units_ns, channels_ns] = self.units.busy_ns(now_ns);
        [self.controller.busy_ns(now_ns), units_ns, channels_ns, cooling_ns]
    }
}

#[cfg(test)]
mod collection_tests;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
