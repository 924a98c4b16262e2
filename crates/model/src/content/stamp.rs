//! Stamps that allow to check a block after it was written, in the same run or years later.
//!
//! A block is a 32-byte header and data. All numbers are little-endian:
//!
//! | bytes | |
//! |---|---|
//! | 0–3 | magic `HpwV` |
//! | 4–7 | CRC-32C of the whole block less these four bytes |
//! | 8–15 | target key, derived from the seed and the target's index |
//! | 16–23 | offset of the block in the target |
//! | 24–27 | generation: how many times it was written |
//! | 28–31 | bytes of a block |
//! | 32– | data that follows from key, offset and generation |
//!
//! A check compares header and CRC only; the data is generated again only for a diagnosis. CRC-32C
//! finds every error of one, two or three bits, every odd number of bits and every burst of up to 32 bits in blocks
//! below 256 MiB, and any five bits in blocks of up to 655 bytes (Castagnoli, Bräuer and Herrmann, 1993; RFC 3385). Of
//! other damage it misses one case in 2^32; a lost or misdirected write is never missed, because the header shows it.

use super::diagnosis;
use super::mismatch::Mismatch;
use super::sequence;
use crate::random::derive_seed;
use std::ops::RangeInclusive;

/// Bytes of a block before its data.
pub const HEADER_BYTES: usize = 32;
/// The smallest block that can be stamped.
pub const MIN_BLOCK_BYTES: usize = 64;
/// The generation of an unwritten block; no stamp has it.
pub const UNWRITTEN: u32 = 0;

const MAGIC: [u8; 4] = *b"HpwV";
/// Place of the CRC.
pub(super) const CRC: std::ops::Range<usize> = 4..8;
/// Distinguishes seeds of targets from others of the same recorded seed.
const TARGET_SEED: u64 = 0x7461_7267_6574_0001;
/// From the data of one generation to that of the next.
const GENERATION_STEP: u64 = 0xbf58_476d_1ce4_e5b9;

/// Stamps the blocks of one target and checks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamper {
    key: u64,
    block_bytes: usize,
    /// CRC of the magic, with which the CRC of a block begins.
    crc_of_magic: u32,
}

/// The content of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) key: u64,
    pub(super) offset: u64,
    pub(super) generation: u32,
    pub(super) block_bytes: u32,
}

impl Header {
    /// Reads a header; none without the magic.
    #[inline]
    pub(super) fn read(block: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER_BYTES] = block.first_chunk()?;
        let (words, _) = header.as_chunks::<4>();
        let half = |index: usize| u32::from_le_bytes(words[index]);
        let whole = |index: usize| u64::from(half(index)) | u64::from(half(index + 1)) << 32;
        (words[0] == MAGIC).then(|| Header {
            key: whole(2),
            offset: whole(4),
            generation: half(6),
            block_bytes: half(7),
        })
    }

    #[inline]
    fn write(&self, header: &mut [u8]) {
        header[0..4].copy_from_slice(&MAGIC);
        header[8..16].copy_from_slice(&self.key.to_le_bytes());
        header[16..24].copy_from_slice(&self.offset.to_le_bytes());
        header[24..28].copy_from_slice(&self.generation.to_le_bytes());
        header[28..32].copy_from_slice(&self.block_bytes.to_le_bytes());
    }
}

impl Stamper {
    /// For the target `target_index` (from 0) of a workload with this seed, in blocks of `block_bytes`.
    ///
    /// # Panics
    /// If a block is smaller than [`MIN_BLOCK_BYTES`] or exceeds `u32`; resolving a workload checks this.
    pub fn new(seed: u64, target_index: u32, block_bytes: usize) -> Self {
        assert!(block_bytes >= MIN_BLOCK_BYTES && u32::try_from(block_bytes).is_ok(), "a block is 64 bytes to 4 GiB");
        let key = derive_seed(seed ^ TARGET_SEED, u64::from(target_index));
        Stamper { key, block_bytes, crc_of_magic: crc32c::crc32c(&MAGIC) }
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Stamps the blocks of a write to `offset`; `generation` gives that of a block by its number in the target.
    ///
    /// # Panics
    /// When `offset` or the buffer's length is no multiple of the block, or a generation is [`UNWRITTEN`].
    #[inline]
    pub fn stamp(&self, buffer: &mut [u8], offset: u64, mut generation: impl FnMut(u64) -> u32) {
        let first = self.first_block(buffer.len(), offset);
        for (block, index) in buffer.chunks_exact_mut(self.block_bytes).zip(first..) {
            let generation = generation(index);
            assert_ne!(generation, UNWRITTEN, "the first write of a block is its generation 1");
            self.write_block(block, index * self.block_bytes as u64, generation);
        }
    }

    /// Checks the blocks of a read from `offset`; `admissible` gives the generations that a block may have, by its
    /// number in the target: one for a block at rest, `old..=new` for one whose write may or may not have happened. A
    /// range from [`UNWRITTEN`] on admits any data, because the old content is unknown.
    ///
    /// # Errors
    /// The first block that differs from the written one.
    ///
    /// # Panics
    /// When `offset` or the buffer's length is no multiple of the block.
    #[inline]
    pub fn check(
        &self,
        buffer: &[u8],
        offset: u64,
        mut admissible: impl FnMut(u64) -> RangeInclusive<u32>,
    ) -> Result<(), Mismatch> {
        let first = self.first_block(buffer.len(), offset);
        for (block, index) in buffer.chunks_exact(self.block_bytes).zip(first..) {
            let generations = admissible(index);
            let offset = index * self.block_bytes as u64;
            if *generations.start() != UNWRITTEN && !self.is_right(block, offset, &generations) {
                let rest = &buffer[(index - first) as usize * self.block_bytes..];
                return Err(diagnosis::diagnose(self, rest, offset, generations));
            }
        }
        Ok(())
    }

    /// The number of the block at `offset`.
    #[inline]
    fn first_block(&self, length: usize, offset: u64) -> u64 {
        let block_bytes = self.block_bytes as u64;
        assert!(offset.is_multiple_of(block_bytes), "offset {offset} is no multiple of {block_bytes}");
        assert!((length as u64).is_multiple_of(block_bytes), "length {length} is no multiple of {block_bytes}");
        offset / block_bytes
    }

    #[inline]
    fn is_right(&self, block: &[u8], offset: u64, generations: &RangeInclusive<u32>) -> bool {
        Header::read(block).is_some_and(|header| {
            header == self.header(offset, header.generation) && generations.contains(&header.generation)
        }) && self.has_right_crc(block)
    }

    /// The header of a block.
    #[inline]
    pub(super) fn header(&self, offset: u64, generation: u32) -> Header {
        Header { key: self.key, offset, generation, block_bytes: self.block_bytes as u32 }
    }

    #[inline]
    pub(super) fn has_right_crc(&self, block: &[u8]) -> bool {
        block[CRC] == self.crc(block).to_le_bytes()
    }

    /// CRC of a block less its own four bytes, the magic taken for right.
    #[inline]
    fn crc(&self, block: &[u8]) -> u32 {
        crc32c::crc32c_append(self.crc_of_magic, &block[CRC.end..])
    }

    /// Generates a block as written.
    #[inline]
    pub(super) fn write_block(&self, block: &mut [u8], offset: u64, generation: u32) {
        self.header(offset, generation).write(block);
        let base = self.place(offset).wrapping_add(u64::from(generation).wrapping_mul(GENERATION_STEP));
        sequence::write(&mut block[HEADER_BYTES..], base);
        let crc = self.crc(block);
        block[CRC].copy_from_slice(&crc.to_le_bytes());
    }

    /// The start of the data sequence of the block at `offset`.
    #[inline]
    fn place(&self, offset: u64) -> u64 {
        sequence::mix(self.key.wrapping_add(offset))
    }

    /// The generation of each word of a block's data that was written to this offset of this target. A foreign word is mistaken for
    /// one once in 2^32.
    pub(super) fn generations(&self, block: &[u8], offset: u64) -> impl Iterator<Item = u32> {
        const INVERSE: u64 = sequence::inverse(GENERATION_STEP);
        let place = self.place(offset);
        sequence::bases(&block[HEADER_BYTES..])
            .filter_map(move |base| u32::try_from(base.wrapping_sub(place).wrapping_mul(INVERSE)).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn crc_gives_the_numbers_of_rfc_3720() {
        let ascending: [u8; 32] = std::array::from_fn(|index| index as u8);
        let mut descending = ascending;
        descending.reverse();
        for (bytes, crc) in
            [([0; 32], 0x8a91_36aa), ([0xff; 32], 0x62a8_ab43), (ascending, 0x46dd_794e), (descending, 0x113f_db5c)]
        {
            assert_eq!(crc32c::crc32c(&bytes), crc, "{bytes:?}");
        }
    }

    /// Targets that were written stay verifiable: this block must never change.
    #[test]
    fn the_format_stays() {
        let mut block = [0; 72];
        Stamper::new(1, 2, 72).stamp(&mut block, 720, |index| {
            assert_eq!(index, 10, "blocks are numbered from the start of the target");
            3
        });
        let hex: String = block.iter().map(|byte| format!("{byte:02x}")).collect();
        let header = "48707756d1b74df04d0a278f6c6679d5d0020000000000000300000048000000";
        let data = "85b2e3bf685633bed4f4b30cc0e7124591400d73a0a9080075afe393bda383ff8d7724a993dea8c6";
        assert_eq!(hex, format!("{header}{data}"));
    }

    #[test]
    fn ten_thousand_random_requests_give_no_false_alarm() {
        let mut random = Random::new(4);
        let mut buffer = vec![0; 16 * 4096];
        for round in 0..10_000 {
            let block_bytes = [64, 100, 512, 520, 4096][round % 5];
            let stamper = Stamper::new(random.next_bits(), random.below(3) as u32, block_bytes);
            let request = &mut buffer[..block_bytes * (1 + random.below(16) as usize)];
            let offset = block_bytes as u64 * random.below(1 << 40);
            let first = random.below(u64::from(u32::MAX) - 20) as u32 + 1;
            let generation = |index: u64| first + (index % 17) as u32;
            stamper.stamp(request, offset, generation);
            let exact = |index| generation(index)..=generation(index);
            assert_eq!(stamper.check(request, offset, exact), Ok(()));
            let old_or_new = |index| generation(index).saturating_sub(1).max(1)..=generation(index);
            assert_eq!(stamper.check(request, offset, old_or_new), Ok(()));
        }
    }

    #[test]
    fn nothing_is_held_against_what_was_not_written() {
        let stamper = Stamper::new(1, 0, 512);
        assert_eq!(stamper.check(&[0; 512], 0, |_| UNWRITTEN..=UNWRITTEN), Ok(()));
        assert_eq!(stamper.check(&[9; 512], 0, |_| UNWRITTEN..=1), Ok(()));
        assert!(stamper.check(&[9; 512], 0, |_| 1..=1).is_err());
    }

    #[test]
    #[should_panic(expected = "offset 100 is no multiple of 512")]
    fn an_offset_between_blocks_is_refused() {
        Stamper::new(1, 0, 512).stamp(&mut [0; 512], 100, |_| 1);
    }
}
