//! A request of a volume in pieces of its disks: cut where the operating system cuts, and where a chunk ends.

use crate::machine::{Machine, Volume};

/// Bytes of one disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Which disk of the machine's.
    pub(super) disk: usize,
    /// From its first byte.
    pub(super) offset: u64,
    /// How many.
    pub(super) bytes: u64,
}

/// The pieces of a request, in the order of its bytes. `volume` is which target, where each disk is one.
pub(super) fn pieces(machine: &Machine, volume: usize, offset: u64, bytes: u64) -> impl Iterator<Item = Piece> {
    let split = machine.system.split.map_or(u64::MAX, |split| split.0);
    let (layout, disks) = (machine.volume, machine.disks.len());
    let (end, mut at, mut until_split) = (offset + bytes, offset, split);
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let mut piece = match layout {
            Volume::Each => Piece { disk: volume % disks, offset: at, bytes: end - at },
            Volume::Stripe { chunk } => {
                let (number, within) = (at / chunk.0, at % chunk.0);
                let (row, disk) = (number / disks as u64, (number % disks as u64) as usize);
                Piece { disk, offset: row * chunk.0 + within, bytes: (end - at).min(chunk.0 - within) }
            }
        };
        piece.bytes = piece.bytes.min(until_split);
        at += piece.bytes;
        until_split -= piece.bytes;
        if until_split == 0 {
            until_split = split;
        }
        Some(piece)
    })
}
