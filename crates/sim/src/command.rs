//! What a device is asked to do, and its answer.

use halfpower_model::RequestKind;

/// Which way the bytes go, if any do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the device.
    Read,
    /// To it.
    Write,
    /// Neither: blocks are given back.
    Trim,
    /// Neither: what was written is made safe.
    Flush,
}

impl Direction {
    /// Which way a request's go.
    pub fn of(kind: RequestKind) -> Direction {
        match kind {
            RequestKind::Read => Direction::Read,
            RequestKind::Write => Direction::Write,
            RequestKind::Trim => Direction::Trim,
            RequestKind::Flush => Direction::Flush,
        }
    }
}

/// What is asked of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Whoever asks knows it by this; the answer carries it.
    pub tag: u32,
    /// Which way.
    pub direction: Direction,
    /// First block.
    pub block: u64,
    /// How many, at least one; of a flush none.
    pub count: u64,
    /// When the device was told of it: of a write, before its bytes came.
    pub received_ns: u64,
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Of the command.
    pub tag: u32,
    /// Of a read: when its first bytes are in the buffer. Of a write: as `ready_ns`.
    pub begins_ns: u64,
    /// Of a read: when its last bytes are. Of a write: when it is done.
    pub ready_ns: u64,
    /// Whether the medium was not asked.
    pub from_buffer: bool,
}
