//! A drive that answers from its buffer, whatever is asked: a region that fits there, read or written again and again.
//!
//! It shows what lies between drives and memory, as the studies' DiskCache and burst programs did. Its times are the drive's
//! own for a buffer hit and a write; it has no medium and never waits.

use crate::command::{Command, Direction, Served};
use crate::disk::Overhead;
use halfpower_model::Bytes;

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferedDrive {
    /// Bytes of the drive.
    pub size: Bytes,
    /// The drive's own times.
    pub overhead: Overhead,
}

/// It at work: one command after another.
#[derive(Clone, Debug)]
pub struct Buffer {
    drive: BufferedDrive,
    free_ns: u64,
    busy_ns: u64,
}

impl Buffer {
    /// At rest.
    pub fn new(drive: BufferedDrive) -> Buffer {
        Buffer { drive, free_ns: 0, busy_ns: 0 }
    }

    /// Serves a command.
    pub fn serve(&mut self, now_ns: u64, command: Command) -> Served {
        let Overhead { read_hit_ns, write_ns, .. } = self.drive.overhead;
        let took_ns = if command.direction == Direction::Read { read_hit_ns } else { write_ns };
        let at = now_ns.max(self.free_ns) + took_ns;
        (self.free_ns, self.busy_ns) = (at, self.busy_ns + took_ns);
        Served { tag: command.tag, begins_ns: at, ready_ns: at }
    }

    /// How long it has been at work until now, in nanoseconds.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        self.busy_ns - self.free_ns.saturating_sub(now_ns).min(self.busy_ns)
    }
}
