//! What a drive is, apart from what it does.

use super::arm::Mechanics;
use super::cache::ReadBuffer;
use super::scheduler::{Scheduler, Waiting};
use crate::command::Direction;

/// What a drive is.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    /// What moves and turns.
    pub mechanics: Mechanics,
    /// Order of service.
    pub scheduler: Scheduler,
    /// The buffer for reads.
    pub buffer: ReadBuffer,
    /// The drive's own time for a command.
    pub overhead: Overhead,
    /// What the write cache holds at most; none where it is off.
    pub write_cache: Option<WriteCache>,
}

impl Drive {
    /// Whether a write covers a sector of the medium in part: that has to be read first, and comes by again a turn later.
    pub(super) fn is_torn(&self, waiting: &Waiting) -> bool {
        let sector = self.mechanics.sector_blocks;
        let starts_inside = |block: u64| sector > 1 && !block.is_multiple_of(sector);
        waiting.direction == Direction::Write
            && (starts_inside(waiting.block) || starts_inside(waiting.block + waiting.count))
    }
}

/// The drive's own time for a command, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// A read that the buffer has, before its bytes come.
    pub read_hit_ns: u64,
    /// The same of what was given before.
    pub read_again_ns: u64,
    /// What a read that the buffer has takes at least, bytes and all.
    pub read_least_ns: u64,
    /// A read of the medium.
    pub read_miss_ns: u64,
    /// A write, whatever becomes of it.
    pub write_ns: u64,
    /// The same of one for the medium that the drive was told of before the medium came to those that it is at.
    pub write_next_ns: u64,
    /// Whether its own time for a write passes while the arm is at another.
    pub write_overlaps: bool,
}

/// The room of a write cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteCache {
    /// Blocks.
    pub blocks: u64,
    /// Separate pieces of the medium.
    pub pieces: usize,
    /// How long what it holds waits at most while the arm reads ahead of a stream.
    pub wait_ns: u64,
}
