//! Makes each write unique at submission, with one store per 4 KiB.
//!
//! Deduplicators work on units of 4 KiB and more, so eight new bytes at the start of each make it unique. If a share of the writes
//! is to be duplicates, the units drawn for it get the mark they were filled with, which is the same in every buffer.

use super::sequence;
use crate::random::derive_seed;

/// The unit of deduplicators: each unit of a write is unique, or a copy.
pub const UNIT_BYTES: usize = 4096;

/// From one mark to the next; odd, so that a worker's marks repeat after 2^64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// Where the marks of duplicates start.
const DUPLICATE_SEED: u64 = 0x6475_706c_6963_6174;

/// Makes buffers unique, one write after another.
#[derive(Clone, Debug)]
pub struct Freshener {
    next: u64,
    /// Units whose upper mark bits are below this are duplicates: a share of 2^32.
    duplicates_below: u64,
}

impl Freshener {
    /// From a worker's seed, with a share of duplicates of `duplicate_percent`.
    pub(super) fn new(seed: u64, duplicate_percent: u8) -> Self {
        Freshener {
            next: derive_seed(seed, DUPLICATE_SEED),
            duplicates_below: (u64::from(duplicate_percent) << 32) / 100,
        }
    }

    /// Makes every unit of the buffer differ from all that this worker wrote before, except for drawn duplicates.
    #[inline]
    pub fn freshen(&mut self, buffer: &mut [u8]) {
        for (unit, index) in buffer.chunks_mut(UNIT_BYTES).zip(0..) {
            self.next = self.next.wrapping_add(STEP);
            let unique = sequence::mix(self.next);
            // Selected by a mask: a random branch costs more than both marks.
            let duplicate = u64::from((unique >> 32) < self.duplicates_below).wrapping_neg();
            mark(unit, unique ^ ((unique ^ duplicate_mark(index)) & duplicate));
        }
    }
}

/// The mark of a duplicate unit, by its number in the buffer.
#[inline]
pub(super) fn duplicate_mark(index: u64) -> u64 {
    sequence::mix(DUPLICATE_SEED.wrapping_add(index.wrapping_mul(STEP)))
}

/// Stores a mark at the start of a unit.
#[inline]
pub(super) fn mark(unit: &mut [u8], mark: u64) {
    let mark = mark.to_le_bytes();
    match unit.first_chunk_mut() {
        Some(start) => *start = mark,
        None => unit.copy_from_slice(&mark[..unit.len()]),
    }
}
