//! From the volume to its devices and back: portions, pieces, commands, bytes over all parts of a leg at once.
//!
//! The operating system splits a large request above the volume into portions. A piece is one disk's part of a portion, split
//! again where the system splits below the volume. A controller that makes the volume gets whole portions and sends pieces.

use crate::bus::Transfer;
use crate::command::Direction;
use crate::machine::Part;
use crate::volume::{Piece, Portion};

/// A portion under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portioned {
    pub(super) request: u32,
    pub(super) portion: Portion,
    /// The row of a RAID5 whose reads or writes these are; none: a request's.
    pub(super) row: Option<u64>,
    pub(super) pieces_left: u32,
}

/// A piece under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moving {
    pub(super) portion: u32,
    pub(super) piece: Piece,
    /// When its disk received the command.
    pub(super) received_ns: u64,
    /// Whether another piece joined its command and ends it.
    pub(super) is_merged: bool,
}

/// What the system knows of a disk when a mirror chooses its reader.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// End of the last command.
    pub(super) end: u64,
    /// Commands outstanding.
    pub(super) outstanding: u32,
}

/// The last transfer of a part in each direction. Most have the same length, which saves a division.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastTransfer([(u64, Transfer); 4]);

impl LastTransfer {
    pub(super) fn get(&mut self, part: &Part, bytes: u64, direction: Direction) -> Transfer {
        let (of_bytes, transfer) = &mut self.0[direction as usize];
        if *of_bytes != bytes || bytes == 0 {
            (*of_bytes, *transfer) = (bytes, part.transfer(bytes, direction));
        }
        *transfer
    }
}
