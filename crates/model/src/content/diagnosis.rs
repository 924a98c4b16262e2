//! Diagnosis of a block that failed its check: bit rot, a lost, torn or misdirected write.
//!
//! The block is generated again for every generation that its header or its words name, and compared with the data found. The
//! closest generation shows the kind of damage. This is slow and runs once, after a mismatch.

use super::mismatch::{Kind, Mismatch};
use super::stamp::{CRC, Header, MIN_BLOCK_BYTES, Stamper, UNWRITTEN};
use std::cmp::Reverse;
use std::ops::{Range, RangeInclusive};

/// The unit a drive writes whole or not at all.
const SECTOR_BYTES: u64 = 512;

/// A possible content of a block: that of a generation, or zeros (none).
struct Candidate {
    generation: Option<u32>,
    bytes: Vec<u8>,
    differing_bytes: usize,
}

/// Diagnoses the first block of `rest`, the data read from `offset` on.
#[cold]
#[inline(never)]
pub(super) fn diagnose(stamper: &Stamper, rest: &[u8], offset: u64, generations: RangeInclusive<u32>) -> Mismatch {
    let block = &rest[..stamper.block_bytes()];
    let candidates = candidates(stamper, block, offset, &generations);
    let newest = &candidates[0];
    let (what, reference) = foreign_stamp(stamper, rest, offset, &generations)
        .or_else(|| torn(&candidates, block, offset))
        .map_or_else(|| closest(stamper, &candidates, block, offset, &generations), |kind| (kind, newest));
    let first = first_difference(&reference.bytes, block).expect("a failed check means that some byte differs");
    Mismatch {
        at: offset + first as u64,
        expected: reference.bytes[first],
        found: block[first],
        block: offset,
        block_bytes: block.len(),
        generations,
        what,
    }
}

/// Every generation that the caller, the header or a word of the data names, the caller's newest first; and zeros.
fn candidates(stamper: &Stamper, block: &[u8], offset: u64, generations: &RangeInclusive<u32>) -> Vec<Candidate> {
    let said = Header::read(block).map(|header| header.generation);
    let mut known = vec![*generations.end(), *generations.start()];
    for generation in said.into_iter().chain(stamper.generations(block, offset)) {
        if !known.contains(&generation) && generation != UNWRITTEN {
            known.push(generation);
        }
    }
    let written = known.into_iter().map(|generation| {
        let mut bytes = vec![0; block.len()];
        stamper.write_block(&mut bytes, offset, generation);
        (Some(generation), bytes)
    });
    written
        .chain([(None, vec![0; block.len()])])
        .map(|(generation, bytes)| {
            let differing_bytes = bytes.iter().zip(block).filter(|(expected, found)| expected != found).count();
            Candidate { generation, bytes, differing_bytes }
        })
        .collect()
}

/// The difference between an intact stamp and the expected one.
fn foreign_stamp(stamper: &Stamper, rest: &[u8], offset: u64, generations: &RangeInclusive<u32>) -> Option<Kind> {
    let header = Header::read(rest)?;
    let stamped_bytes = usize::try_from(header.block_bytes).ok().filter(|bytes| *bytes >= MIN_BLOCK_BYTES)?;
    if !stamper.has_right_crc(rest.get(..stamped_bytes)?) {
        return None;
    }
    let expected = stamper.header(offset, header.generation);
    let generation = header.generation;
    if header.key != expected.key {
        Some(Kind::OtherTarget(header.key))
    } else if header.block_bytes != expected.block_bytes {
        Some(Kind::OtherBlockSize(header.block_bytes))
    } else if header.offset != offset {
        Some(Kind::WrongPlace(header.offset))
    } else {
        other_generation(generation, generations)
    }
}

fn other_generation(generation: u32, generations: &RangeInclusive<u32>) -> Option<Kind> {
    let older = (generation < *generations.start()).then_some(Kind::Older(generation));
    older.or((generation > *generations.end()).then_some(Kind::Newer(generation)))
}

/// A torn write: every sector is whole, but not all are of one write.
fn torn(candidates: &[Candidate], block: &[u8], offset: u64) -> Option<Kind> {
    let sectors = sectors(block.len(), offset);
    let whole = |candidate: &Candidate, sector: &Range<usize>| {
        sector.clone().all(|index| CRC.contains(&index) || candidate.bytes[index] == block[index])
    };
    let whole_from = |from: usize| {
        let run = |candidate: &Candidate| sectors[from..].iter().take_while(|sector| whole(candidate, sector)).count();
        candidates.iter().map(|candidate| (candidate.generation, run(candidate))).min_by_key(|(_, run)| Reverse(*run))
    };
    let all_whole = sectors.iter().all(|sector| candidates.iter().any(|candidate| whole(candidate, sector)));
    let (first, run) = whole_from(0)?;
    if !all_whole || run == sectors.len() {
        return None;
    }
    let (then, _) = whole_from(run)?;
    Some(Kind::Torn(first, offset + sectors[run].start as u64, then))
}

/// The parts of a block between the sector boundaries of its target.
fn sectors(length: usize, offset: u64) -> Vec<Range<usize>> {
    let to_boundary = (SECTOR_BYTES - offset % SECTOR_BYTES) as usize;
    let starts = std::iter::once(0).chain((to_boundary..length).step_by(SECTOR_BYTES as usize));
    let ends = (to_boundary..length).step_by(SECTOR_BYTES as usize).chain([length]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

/// The damage of a block without an intact stamp, and the candidate that shows it.
fn closest<'a>(
    stamper: &Stamper,
    candidates: &'a [Candidate],
    block: &[u8],
    offset: u64,
    generations: &RangeInclusive<u32>,
) -> (Kind, &'a Candidate) {
    let of = |generation| candidates.iter().find(|candidate| candidate.generation == Some(generation));
    let named = Header::read(block)
        .filter(|header| *header == stamper.header(offset, header.generation))
        .filter(|header| generations.contains(&header.generation))
        .and_then(|header| of(header.generation));
    let near = candidates
        .iter()
        .filter(|candidate| candidate.differing_bytes * 2 < block.len())
        .min_by_key(|candidate| candidate.differing_bytes);
    let newest = &candidates[0];
    match (near.and_then(|near| Some((near, near.generation?))), named) {
        (Some((near, generation)), _) => match other_generation(generation, generations) {
            Some(kind) => (kind, newest),
            None => (damage(&near.bytes, block), near),
        },
        (None, Some(named)) => (damage(&named.bytes, block), named),
        (None, None) if block.iter().all(|byte| *byte == 0) => (Kind::Zeros, newest),
        (None, None) => (Kind::Foreign, newest),
    }
}

fn damage(expected: &[u8], found: &[u8]) -> Kind {
    let differences = || expected.iter().zip(found).map(|(expected, found)| expected ^ found);
    let bits = differences().map(|difference| u64::from(difference.count_ones())).sum();
    Kind::Damaged(bits, differences().filter(|difference| *difference != 0).count() as u64)
}

fn first_difference(expected: &[u8], found: &[u8]) -> Option<usize> {
    expected.iter().zip(found).position(|(expected, found)| expected != found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    const BLOCK_SIZES: [usize; 4] = [64, 512, 520, 4096];

    /// A block of generation 5 at number 3, and what checks it.
    fn stamped(block_bytes: usize, generation: u32) -> (Stamper, Vec<u8>, u64) {
        let stamper = Stamper::new(11, 0, block_bytes);
        let offset = 3 * block_bytes as u64;
        let mut block = vec![0; block_bytes];
        stamper.stamp(&mut block, offset, |_| generation);
        (stamper, block, offset)
    }

    fn found(stamper: Stamper, block: &[u8], offset: u64) -> Mismatch {
        stamper.check(block, offset, |_| 5..=5).unwrap_err()
    }

    #[test]
    fn each_of_a_thousand_flipped_bits_is_found_where_it_is() {
        let mut random = Random::new(6);
        for round in 0..1000 {
            let block_bytes = BLOCK_SIZES[round % 4];
            let stamper = Stamper::new(7, 1, block_bytes);
            let mut request = vec![0; block_bytes * 4];
            let start = block_bytes as u64 * random.below(1 << 30);
            stamper.stamp(&mut request, start, |index| index as u32 % 9 + 2);
            let (byte, bit) = (random.below(request.len() as u64) as usize, random.below(8));
            let written = request[byte];
            request[byte] ^= 1 << bit;
            let newest = |index| index as u32 % 9 + 2;
            for older_too in [0, 1] {
                let mismatch =
                    stamper.check(&request, start, |index| newest(index) - older_too..=newest(index)).unwrap_err();
                assert_eq!(mismatch.at, start + byte as u64);
                assert_eq!((mismatch.expected, mismatch.found), (written, request[byte]));
                assert_eq!(mismatch.what, Kind::Damaged(1, 1));
                assert_eq!(mismatch.block, start + (byte / block_bytes * block_bytes) as u64);
            }
        }
    }

    #[test]
    fn damage_is_counted_whatever_it_is() {
        let (stamper, block, offset) = stamped(4096, 5);
        let damaged = |damage: &dyn Fn(&mut [u8])| {
            let mut block = block.clone();
            damage(&mut block);
            found(stamper, &block, offset).what
        };
        assert_eq!(damaged(&|block| block[1000..1003].iter_mut().for_each(|byte| *byte ^= 0x11)), Kind::Damaged(6, 3));
        // A right header over foreign data, and a cut inside a sector.
        assert!(matches!(damaged(&|block| Random::new(1).shuffle(&mut block[40..])), Kind::Damaged(_, 4000..)));
        assert!(matches!(damaged(&|block| block[40..].fill(0)), Kind::Damaged(_, 4000..)));
        let (_, old, _) = stamped(4096, 4);
        assert!(matches!(damaged(&|block| block[3000..].copy_from_slice(&old[3000..])), Kind::Damaged(..)));
    }

    #[test]
    fn what_is_not_of_this_write_is_distinguished() {
        for block_bytes in BLOCK_SIZES {
            let (stamper, old, offset) = stamped(block_bytes, 3);
            assert_eq!(found(stamper, &old, offset).what, Kind::Older(3));
            assert_eq!(stamper.check(&old, offset, |_| 4..=5).unwrap_err().what, Kind::Older(3));
            assert_eq!(stamper.check(&old, offset, |_| 3..=4), Ok(()));
            let (_, mut block, _) = stamped(block_bytes, 9);
            assert_eq!(found(stamper, &block, offset).what, Kind::Newer(9));
            // A flipped bit on top does not hide it.
            block[block_bytes / 2] ^= 4;
            assert_eq!(found(stamper, &block, offset).what, Kind::Newer(9));
            let elsewhere = 9 * block_bytes as u64;
            stamper.stamp(&mut block, elsewhere, |_| 5);
            assert_eq!(found(stamper, &block, offset).what, Kind::WrongPlace(elsewhere));
            for other in [Stamper::new(11, 1, block_bytes), Stamper::new(12, 0, block_bytes)] {
                other.stamp(&mut block, offset, |_| 5);
                assert!(matches!(found(stamper, &block, offset).what, Kind::OtherTarget(_)));
            }
            block.fill(0);
            let zeros = found(stamper, &block, offset);
            assert_eq!((zeros.what, zeros.at, zeros.expected), (Kind::Zeros, offset, b'H'));
            let mut random = Random::new(2);
            block.fill_with(|| random.next_bits() as u8);
            assert_eq!(found(stamper, &block, offset).what, Kind::Foreign);
        }
    }

    #[test]
    fn another_block_size_is_named() {
        let (small, large) = (Stamper::new(11, 0, 512), Stamper::new(11, 0, 4096));
        let mut request = [0; 8192];
        small.stamp(&mut request, 8192, |_| 5);
        assert_eq!(found(large, &request, 8192).what, Kind::OtherBlockSize(512));
        large.stamp(&mut request, 8192, |_| 5);
        assert_eq!(found(small, &request, 8192).what, Kind::OtherBlockSize(4096));
    }

    #[test]
    fn a_torn_write_is_reported_with_its_cut() {
        // Sectors are the target's, not the block's: 520-byte block 3 starts at 1560 and is cut at 2048.
        for (block_bytes, cut, boundary) in [(4096, 512, 12_800), (4096, 3584, 15_872), (520, 488, 2048)] {
            let (stamper, new, offset) = stamped(block_bytes, 5);
            let (_, old, _) = stamped(block_bytes, 4);
            let new_then_old = [&new[..cut], &old[cut..]].concat();
            let mismatch = found(stamper, &new_then_old, offset);
            assert_eq!(mismatch.what, Kind::Torn(Some(5), boundary, Some(4)));
            assert!((boundary..boundary + 4).contains(&mismatch.at), "{mismatch}");
            let old_then_new = [&old[..cut], &new[cut..]].concat();
            let mismatch = stamper.check(&old_then_new, offset, |_| 4..=5).unwrap_err();
            assert_eq!(mismatch.what, Kind::Torn(Some(4), boundary, Some(5)));
            let new_then_zeros = [&new[..cut], &vec![0; block_bytes - cut]].concat();
            let mismatch = found(stamper, &new_then_zeros, offset);
            assert_eq!(mismatch.what, Kind::Torn(Some(5), boundary, None));
            assert!(mismatch.to_string().contains("of generation 5 up to"), "{mismatch}");
        }
    }

    proptest! {
        /// Whatever is in the block, and whatever its size: what is reported is a byte that is there, and differs.
        #[test]
        fn whatever_happened_a_bad_byte_is_shown(block_bytes in 64_usize..1500, index in any::<u32>(), cut in 0_usize..1500,
                                                 other in 1_u32..9, oldest in 4_u32..=5, garbage in any::<[u8; 3]>()) {
            let stamper = Stamper::new(1, 0, block_bytes);
            let offset = u64::from(index) * block_bytes as u64;
            let block = |generation| {
                let mut block = vec![0; block_bytes];
                stamper.stamp(&mut block, offset, |_| generation);
                block
            };
            let mut found = block(5);
            let cut = cut.min(block_bytes - 3);
            found[cut..].copy_from_slice(&block(other)[cut..]);
            found[cut..cut + 3].copy_from_slice(&garbage);
            let as_written = (oldest..=5).any(|generation| found == block(generation));
            match stamper.check(&found, offset, |_| oldest..=5) {
                Ok(()) => prop_assert!(as_written),
                Err(mismatch) => {
                    prop_assert!(!as_written);
                    prop_assert_eq!(mismatch.found, found[(mismatch.at - offset) as usize]);
                    prop_assert_ne!(mismatch.found, mismatch.expected);
                }
            }
        }
    }
}
