//! What a device is asked to do, and its answer.

/// Direction of a transfer; trims and flushes move no bytes.
pub use halfpower_model::RequestKind as Direction;

/// A command to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Repeated in the answer.
    pub tag: u32,
    /// Direction of the transfer.
    pub direction: Direction,
    /// First block.
    pub block: u64,
    /// Number of blocks, at least one; zero for a flush.
    pub count: u64,
    /// Arrival at the device: of a write, before its bytes arrive.
    pub received_ns: u64,
}

/// The completion of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Tag of the command.
    pub tag: u32,
    /// Of a read: when its first bytes are in the buffer. Of a write: as `ready_ns`.
    pub begins_ns: u64,
    /// Of a read: when its last bytes are. Of a write: when it is done.
    pub ready_ns: u64,
}
