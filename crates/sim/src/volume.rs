//! Layout of a volume: the disk commands of a request.
//!
//! A stripe alternates chunks. A mirror writes to all disks and reads from one. RAID5 has a chunk of parity in each row, on
//! another disk from row to row. A write of a whole row writes data and parity; any other reads the old data and parity
//! first. With an offset, aligned requests of a program may cross chunks. `system/rows.rs` joins requests for a stripe cache.
//! Failed disks are not modelled.
//! Sources: Patterson, Gibson and Katz, "A case for redundant arrays of inexpensive disks" (1988); parity placed left-symmetric
//! as in Lee and Katz, "The performance of parity placements in disk arrays" (1993).

use crate::command::Direction;
use crate::named::named;
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
        /// Size of its stripe cache per disk.
        cache: Option<Bytes>,
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

/// Bytes of one disk, and which way they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Which disk of the machine's.
    pub disk: usize,
    /// From its first byte.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
    /// Which way.
    pub direction: Direction,
}

/// What is asked of a volume at once: what the operating system did not cut further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portion {
    /// From the volume's first byte, with its offset.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
    /// Which way.
    pub direction: Direction,
    /// The target, where each disk is one; the disk that reads, where they are mirrors.
    pub disk: usize,
}

/// How far a portion has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// What is replaced is read.
    Before,
    /// What was asked for is done.
    Itself,
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

    /// With what a portion begins.
    pub fn first_stage(self, disks: usize, portion: &Portion) -> Stage {
        match self {
            Volume::Raid5 { chunk, .. } if portion.direction == Direction::Write => {
                let row = chunk.0 * (disks as u64 - 1);
                let is_whole = portion.offset.is_multiple_of(row) && portion.bytes.is_multiple_of(row);
                if is_whole { Stage::Itself } else { Stage::Before }
            }
            _ => Stage::Itself,
        }
    }

    /// Gives the pieces of a stage, in the order of their bytes.
    pub fn pieces(self, disks: usize, portion: &Portion, stage: Stage, give: &mut impl FnMut(Piece)) {
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
            Volume::Raid5 { chunk, .. } => raid5(chunk.0, disks, portion, stage, give),
        }
    }
}

/// The parts of a range in each chunk: its number, from where within it, and how many bytes.
fn chunks(chunk: u64, offset: u64, bytes: u64, give: &mut impl FnMut(u64, u64, u64)) {
    let (end, mut at) = (offset + bytes, offset);
    while at < end {
        let within = at % chunk;
        let count = (end - at).min(chunk - within);
        give(at / chunk, within, count);
        at += count;
    }
}

/// The chunks of a disk lie one behind the other, and nothing has to be put together for a trim: one each, as Linux has it.
fn trim_stripe(chunk: u64, disks: usize, portion: &Portion, give: &mut impl FnMut(Piece)) {
    let Portion { offset, bytes, direction, .. } = *portion;
    let row = chunk * disks as u64;
    // How far a disk's share goes of what lies before an address.
    let before = |at: u64, disk: u64| at / row * chunk + (at % row).saturating_sub(disk * chunk).min(chunk);
    for disk in 0..disks {
        let [from, to] = [offset, offset + bytes].map(|at| before(at, disk as u64));
        if to > from {
            give(Piece { disk, offset: from, bytes: to - from, direction });
        }
    }
}

fn raid5(chunk: u64, disks: usize, portion: &Portion, stage: Stage, give: &mut impl FnMut(Piece)) {
    let data_disks = disks as u64 - 1;
    let Portion { offset, bytes, direction, .. } = *portion;
    let place = |row: u64, within: u64, bytes: u64, disk: usize, direction| Piece {
        disk,
        offset: row * chunk + within,
        bytes,
        direction,
    };
    let parity_disk = |row: u64| (data_disks - row % disks as u64) as usize;
    // Row by row: a row is a chunk of a volume whose chunks are rows.
    chunks(chunk * data_disks, offset, bytes, &mut |row, from, bytes| {
        let is_whole = bytes == chunk * data_disks;
        let way = if stage == Stage::Before { Direction::Read } else { direction };
        if stage == Stage::Before && is_whole {
            return;
        }
        let (mut low, mut high) = (chunk, 0);
        chunks(chunk, from, bytes, &mut |number, within, bytes| {
            let disk = (parity_disk(row) + 1 + number as usize) % disks;
            (low, high) = (low.min(within), high.max(within + bytes));
            give(place(row, within, bytes, disk, way));
        });
        if direction == Direction::Write {
            give(place(row, low, high - low, parity_disk(row), way));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces(volume: Volume, disks: usize, offset: u64, bytes: u64, direction: Direction) -> Vec<Vec<Piece>> {
        let portion = Portion { offset, bytes, direction, disk: 0 };
        let mut stages = vec![volume.first_stage(disks, &portion)];
        if stages[0] == Stage::Before {
            stages.push(Stage::Itself);
        }
        let of = |stage: &Stage| {
            let mut all = Vec::new();
            volume.pieces(disks, &portion, *stage, &mut |piece| all.push(piece));
            all
        };
        stages.iter().map(of).collect()
    }

    fn short(pieces: &[Piece]) -> Vec<(usize, u64, u64)> {
        pieces.iter().map(|piece| (piece.disk, piece.offset, piece.bytes)).collect()
    }

    const STRIPE: Volume = Volume::Stripe { chunk: Bytes(100) };
    const RAID5: Volume = Volume::Raid5 { chunk: Bytes(100), cache: None };

    #[test]
    fn a_stripe_has_chunks_in_turn() {
        let all = pieces(STRIPE, 3, 250, 260, Direction::Read);
        assert_eq!(short(&all[0]), [(2, 50, 50), (0, 100, 100), (1, 100, 100), (2, 100, 10)]);
    }

    #[test]
    fn a_stripe_is_trimmed_disk_by_disk_and_flushed_on_all() {
        let trim = pieces(STRIPE, 3, 250, 460, Direction::Trim).remove(0);
        // Chunks 2 in part, 3 to 6, and 10 bytes of 7.
        assert_eq!(short(&trim), [(0, 100, 200), (1, 100, 110), (2, 50, 150)]);
        assert_eq!(short(&pieces(STRIPE, 3, 310, 10, Direction::Trim)[0]), [(0, 110, 10)]);
        assert_eq!(short(&pieces(STRIPE, 3, 0, 0, Direction::Flush)[0]), [(0, 0, 0), (1, 0, 0), (2, 0, 0)]);
    }

    #[test]
    fn raid5_reads_before_it_writes_part_of_a_row() {
        // Rows of 200: parity of row 0 on disk 2, of row 1 on disk 1.
        let all = pieces(RAID5, 3, 230, 40, Direction::Write);
        assert_eq!(short(&all[0]), [(2, 130, 40), (1, 130, 40)]);
        assert_eq!(short(&all[0]), short(&all[1]));
        let ways = |pieces: &[Piece]| pieces.iter().map(|piece| piece.direction).collect::<Vec<_>>();
        assert_eq!(ways(&all[0]), [Direction::Read; 2]);
        assert_eq!(ways(&all[1]), [Direction::Write; 2]);
        let read = pieces(RAID5, 3, 230, 40, Direction::Read);
        assert_eq!((read.len(), short(&read[0])), (1, vec![(2, 130, 40)]), "a read needs no parity");
    }

    #[test]
    fn raid5_writes_whole_rows_with_their_parity_and_reads_nothing() {
        let all = pieces(RAID5, 3, 200, 200, Direction::Write);
        assert_eq!(all.len(), 1);
        assert_eq!(short(&all[0]), [(2, 100, 100), (0, 100, 100), (1, 100, 100)]);
        // A row and a bit: only the bit is read.
        let more = pieces(RAID5, 3, 200, 210, Direction::Write);
        assert_eq!(short(&more[0]), [(1, 200, 10), (0, 200, 10)]);
    }

    #[test]
    fn a_mirror_writes_all_and_reads_one() {
        let mirror = Volume::Mirror { reader: Reader::Nearest };
        assert_eq!(short(&pieces(mirror, 2, 7, 5, Direction::Write)[0]), [(0, 7, 5), (1, 7, 5)]);
        assert_eq!(short(&pieces(mirror, 2, 7, 5, Direction::Read)[0]), [(0, 7, 5)]);
        assert_eq!((mirror.size(2, 1000), STRIPE.size(3, 1050), RAID5.size(3, 1050)), (1000, 3000, 2000));
    }

    proptest! {
        /// Every byte is read once and from its own place: no two addresses of a volume share one of a disk.
        #[test]
        fn nothing_is_read_twice(disks in 3_usize..6, raid5: bool, offset in 0_u64..5000, bytes in 1_u64..5000) {
            let volume = if raid5 { RAID5 } else { STRIPE };
            let mut read = pieces(volume, disks, offset, bytes, Direction::Read).remove(0);
            prop_assert_eq!(read.iter().map(|piece| piece.bytes).sum::<u64>(), bytes);
            read.sort_by_key(|piece| (piece.disk, piece.offset));
            for pair in read.windows(2) {
                prop_assert!(pair[0].disk != pair[1].disk || pair[0].offset + pair[0].bytes <= pair[1].offset);
            }
        }

        /// A write touches what a read of the same bytes would, and parity on a disk that has none of the row's bytes.
        #[test]
        fn parity_lies_elsewhere(disks in 3_usize..6, offset in 0_u64..5000, bytes in 1_u64..5000) {
            let read = short(&pieces(RAID5, disks, offset, bytes, Direction::Read).remove(0));
            let write = short(&pieces(RAID5, disks, offset, bytes, Direction::Write).pop().unwrap());
            for piece in &read {
                prop_assert!(write.contains(piece));
            }
            for row in 0..100 {
                let of_row = |pieces: &[(usize, u64, u64)]| {
                    pieces.iter().filter(|piece| piece.1 / 100 == row).map(|piece| piece.0).collect::<Vec<_>>()
                };
                let (data, all) = (of_row(&read), of_row(&write));
                prop_assert_eq!(all.len(), data.len() + usize::from(!data.is_empty()));
                let parity = all.iter().filter(|disk| !data.contains(disk)).count();
                prop_assert_eq!(parity, usize::from(!data.is_empty()));
            }
        }
    }
}
