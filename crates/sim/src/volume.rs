//! Layout of a volume: the disk commands of a request.
//!
//! A stripe alternates chunks. A mirror writes to all disks and reads from one. RAID5 has a chunk of parity in each row, on
//! another disk from row to row; `system/rows.rs` writes it. With an offset, aligned requests of a program may cross chunks.
//! Failed disks are not modelled.
//! Sources: Patterson, Gibson and Katz, "A case for redundant arrays of inexpensive disks" (1988); parity placed left-symmetric
//! as in Lee and Katz, "The performance of parity placements in disk arrays" (1993).

use crate::command::Direction;
use crate::table::named;
use halfpower_model::Bytes;

/// Layout of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volume {
    /// One disk, or several with a target of its own each.
    Each,
    /// A stripe.
    Stripe {
        /// Size of a chunk.
        chunk: Bytes,
    },
    /// A mirror.
    Mirror {
        /// Which disk is read.
        reader: Reader,
    },
    /// A stripe with a chunk of parity in each row.
    Raid5 {
        /// Size of a chunk.
        chunk: Bytes,
    },
}

named! {
/// Choice of the disk that a mirror reads.
pub enum Reader {
    /// In turn.
    RoundRobin = "round-robin",
    /// The one with the fewest commands.
    ShorterQueue = "shorter-queue",
    /// The one whose last command was for the nearest address.
    Nearest = "nearest",
    /// The disk whose last command ended here, else the first idle one, else the nearest, as md of Linux chooses among
    /// rotational disks (raid1.c, choose_best_rdev).
    IdleOrNearest = "idle-or-nearest",
}
}

/// A transfer of one disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Index of the disk.
    pub disk: usize,
    /// From its first byte.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
    /// Direction.
    pub direction: Direction,
}

/// A part of a request that the operating system splits no further above the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portion {
    /// From the volume's first byte, with its offset.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
    /// Direction.
    pub direction: Direction,
    /// The target if each disk is one, or the disk that reads of a mirror.
    pub disk: usize,
}

impl Volume {
    /// Bytes of the volume, of each target where there are several; of disks of so many bytes each.
    pub fn size(self, disks: u64, each: u64) -> u64 {
        let whole = |chunk: Bytes| each - each % chunk.0;
        match self {
            Volume::Each | Volume::Mirror { .. } => each,
            Volume::Stripe { chunk } => whole(chunk) * disks,
            Volume::Raid5 { chunk, .. } => whole(chunk) * (disks - 1),
        }
    }

    /// The fewest disks that can make one.
    pub fn fewest_disks(self) -> u32 {
        match self {
            Volume::Each | Volume::Stripe { .. } => 1,
            Volume::Mirror { .. } => 2,
            Volume::Raid5 { .. } => 3,
        }
    }

    /// Gives the pieces of a portion, in the order of their bytes. RAID5 writes have passes instead (`system/rows.rs`).
    pub fn pieces(self, disks: usize, portion: &Portion, give: &mut impl FnMut(Piece)) {
        let Portion { offset, bytes, direction, disk } = *portion;
        match self {
            Volume::Each => give(Piece { disk: disk % disks, offset, bytes, direction }),
            Volume::Mirror { .. } if direction == Direction::Read => give(Piece { disk, offset, bytes, direction }),
            Volume::Mirror { .. } => (0..disks).for_each(|disk| give(Piece { disk, offset, bytes, direction })),
            _ if direction == Direction::Flush => {
                (0..disks).for_each(|disk| give(Piece { disk, offset, bytes, direction }))
            }
            Volume::Stripe { chunk } if direction == Direction::Trim => trim_stripe(chunk.0, disks, portion, give),
            Volume::Stripe { chunk } => chunks(chunk.0, offset, bytes, &mut |number, within, bytes| {
                let (row, disk) = (number / disks as u64, (number % disks as u64) as usize);
                give(Piece { disk, offset: row * chunk.0 + within, bytes, direction });
            }),
            Volume::Raid5 { chunk } => chunks(chunk.0, offset, bytes, &mut |number, within, bytes| {
                let (data_disks, disks) = (disks as u64 - 1, disks as u64);
                let (row, index) = (number / data_disks, number % data_disks);
                let disk = ((disks - row % disks + index) % disks) as usize;
                give(Piece { disk, offset: row * chunk.0 + within, bytes, direction });
            }),
        }
    }
}

/// The parts of a range in each chunk: its number, from where within it, and how many bytes.
pub(crate) fn chunks(chunk: u64, offset: u64, bytes: u64, give: &mut impl FnMut(u64, u64, u64)) {
    let (end, mut at) = (offset + bytes, offset);
    while at < end {
        let within = at % chunk;
        let count = (end - at).min(chunk - within);
        give(at / chunk, within, count);
        at += count;
    }
}

/// One trim per disk: its chunks of a range are contiguous (Linux, drivers/md/raid0.c).
fn trim_stripe(chunk: u64, disks: usize, portion: &Portion, give: &mut impl FnMut(Piece)) {
    let Portion { offset, bytes, direction, .. } = *portion;
    let row = chunk * disks as u64;
    // Bytes of a disk before an address of the volume.
    let before = |at: u64, disk: u64| at / row * chunk + (at % row).saturating_sub(disk * chunk).min(chunk);
    for disk in 0..disks {
        let [from, to] = [offset, offset + bytes].map(|at| before(at, disk as u64));
        if to > from {
            give(Piece { disk, offset: from, bytes: to - from, direction });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces(volume: Volume, disks: usize, offset: u64, bytes: u64, direction: Direction) -> Vec<Piece> {
        let mut all = Vec::new();
        volume.pieces(disks, &Portion { offset, bytes, direction, disk: 0 }, &mut |piece| all.push(piece));
        all
    }

    fn short(pieces: &[Piece]) -> Vec<(usize, u64, u64)> {
        pieces.iter().map(|piece| (piece.disk, piece.offset, piece.bytes)).collect()
    }

    const STRIPE: Volume = Volume::Stripe { chunk: Bytes(100) };
    const RAID5: Volume = Volume::Raid5 { chunk: Bytes(100) };

    #[test]
    fn each_layout_has_its_pieces() {
        use Direction::{Flush, Read, Trim, Write};
        let mirror = Volume::Mirror { reader: Reader::Nearest };
        for (volume, disks, direction, offset, bytes, wanted) in [
            (STRIPE, 3, Read, 250, 260, vec![(2, 50, 50), (0, 100, 100), (1, 100, 100), (2, 100, 10)]),
            // Chunks 2 in part, 3 to 6, and 10 bytes of 7.
            (STRIPE, 3, Trim, 250, 460, vec![(0, 100, 200), (1, 100, 110), (2, 50, 150)]),
            (STRIPE, 3, Trim, 310, 10, vec![(0, 110, 10)]),
            (STRIPE, 3, Flush, 0, 0, vec![(0, 0, 0), (1, 0, 0), (2, 0, 0)]),
            // Rows of 200: parity of row 0 on disk 2, of row 1 on disk 1.
            (RAID5, 3, Read, 130, 240, vec![(1, 30, 70), (2, 100, 100), (0, 100, 70)]),
            (mirror, 2, Write, 7, 5, vec![(0, 7, 5), (1, 7, 5)]),
            (mirror, 2, Read, 7, 5, vec![(0, 7, 5)]),
        ] {
            assert_eq!(short(&pieces(volume, disks, offset, bytes, direction)), wanted, "{volume:?} {direction:?}");
        }
        assert_eq!((mirror.size(2, 1000), STRIPE.size(3, 1050), RAID5.size(3, 1050)), (1000, 3000, 2000));
    }

    proptest! {
        /// Every byte is read once and from its own place: no two addresses of a volume share one of a disk.
        #[test]
        fn nothing_is_read_twice(disks in 3_usize..6, raid5: bool, offset in 0_u64..5000, bytes in 1_u64..5000) {
            let volume = if raid5 { RAID5 } else { STRIPE };
            let mut read = pieces(volume, disks, offset, bytes, Direction::Read);
            prop_assert_eq!(read.iter().map(|piece| piece.bytes).sum::<u64>(), bytes);
            read.sort_by_key(|piece| (piece.disk, piece.offset));
            for pair in read.windows(2) {
                prop_assert!(pair[0].disk != pair[1].disk || pair[0].offset + pair[0].bytes <= pair[1].offset);
            }
        }
    }
}
