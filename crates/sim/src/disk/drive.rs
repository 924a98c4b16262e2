//! What a drive is, apart from what it does.

use super::arm::Mechanics;
use super::cache::ReadBuffer;
use super::scheduler::{Scheduler, Waiting};
use crate::command::Direction;

/// What a drive is.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    /// Arm and platters.
    pub mechanics: Mechanics,
    /// Order of service.
    pub scheduler: Scheduler,
    /// The read buffer.
    pub buffer: ReadBuffer,
    /// Command processing times.
    pub overhead: Overhead,
    /// The write cache; none where it is off.
    pub write_cache: Option<WriteCache>,
    /// How its times vary; none of them where all are zero.
    pub noise: Noise,
}

impl Drive {
    /// Whether a write covers part of a physical sector: that is read first, and written a rotation later.
    pub(super) fn is_partial(&self, waiting: &Waiting) -> bool {
        let sector = self.mechanics.sector_blocks;
        let starts_inside = |block: u64| sector > 1 && !block.is_multiple_of(sector);
        waiting.direction == Direction::Write
            && (starts_inside(waiting.block) || starts_inside(waiting.block + waiting.count))
    }
}

/// Processing times of a drive's electronics in nanoseconds, which serve one command after another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// A read that the buffer holds, before its transfer.
    pub read_hit_ns: u64,
    /// The same of data that was delivered before.
    pub read_again_ns: u64,
    /// A read of the medium.
    pub read_miss_ns: u64,
    /// A write.
    pub write_ns: u64,
    /// Whether it processes a write for the medium while the arm serves another command.
    pub write_overlaps: bool,
}

/// Variation of a drive's times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Largest deviation of the spindle's speed, as a share; each drive has its own speed and phase.
    pub speed: f64,
    /// Share of the accesses that miss their track or need a retry, and take another rotation.
    pub retries: f64,
}

/// Capacity of a write cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteCache {
    /// Blocks.
    pub blocks: u64,
    /// Separate extents.
    pub extents: usize,
}
