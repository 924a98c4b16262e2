//! From the volume to its devices and back: portions, pieces, commands, bytes over all parts of a leg at once.
//!
//! A portion is what the operating system does not cut above the volume; a piece of it is one disk's, cut once more where the
//! system cuts below. Where a controller makes the volume, the portion goes over the parts between it and memory as a whole,
//! and pieces only below it.

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
    /// When its disk was told of it.
    pub(super) received_ns: u64,
    /// Whether another came to its command, which is done with that.
    pub(super) is_merged: bool,
}

/// What a mirror's reader is chosen by.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Where its disk's last command ended,
    pub(super) end: u64,
    /// and its commands that are not done.
    pub(super) outstanding: u32,
}

/// What a part's last transfer took, of each direction: most are as long as the one before, and a division is saved.
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
