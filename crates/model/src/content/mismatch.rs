//! A block that differs from the written one, with its message.

use std::fmt;
use std::ops::RangeInclusive;

/// A block that differs from the written one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Offset of the first wrong byte in the target.
    pub at: u64,
    /// The expected byte.
    pub expected: u8,
    /// The byte found.
    pub found: u8,
    /// Offset of the block in the target.
    pub block: u64,
    /// Its size.
    pub block_bytes: usize,
    /// The admissible generations. If the block has none of them, `expected` is of the newest.
    pub generations: RangeInclusive<u32>,
    /// The kind of damage.
    pub what: Kind,
}

/// Kinds of damage. A generation of none means zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An admissible generation with this number of changed bits and bytes: bit rot, or partly overwritten.
    Damaged(u64, u64),
    /// Data for another offset of this target: a misdirected write or read.
    WrongPlace(u64),
    /// Data of another target, or of a run with another seed; with the key of its stamp.
    OtherTarget(u64),
    /// It was stamped in blocks of another size.
    OtherBlockSize(u32),
    /// An earlier generation: a later write was lost.
    Older(u32),
    /// A later generation than any expected.
    Newer(u32),
    /// Sectors of different writes: the generation of the first, the offset of the next in the target, and its generation; the first
    /// two if there are more. Expected after a power loss during a write that the drive does not make atomic.
    Torn(Option<u32>, u64, Option<u32>),
    /// All zeros: never written, or trimmed.
    Zeros,
    /// Foreign data: no stamp, and hardly an expected byte.
    Foreign,
}

impl std::error::Error for Mismatch {}

impl fmt::Display for Mismatch {
    /// One sentence: what happened to the block, and its first bad byte.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { at, expected, found, block, block_bytes, .. } = self;
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let of =
            |generation: Option<u32>| generation.map_or("zeros".to_owned(), |number| format!("generation {number}"));
        match self.what {
            Kind::Damaged(bits, bytes) => {
                let (bit_s, byte_s) = (plural(bits), plural(bytes));
                write!(f, "{bits} bit{bit_s} in {bytes} byte{byte_s} of the block at {block} changed after the write")
            }
            Kind::WrongPlace(offset) => {
                write!(f, "the block at {block} holds what was written for {offset} (a misdirected write)")
            }
            Kind::OtherTarget(key) => {
                write!(f, "the block at {block} was stamped for another target or with another seed (key {key:016x})")
            }
            Kind::OtherBlockSize(stamped) => {
                write!(f, "the block at {block} was stamped in blocks of {stamped} bytes, not {block_bytes}")
            }
            Kind::Older(number) => {
                let oldest = self.generations.start();
                write!(f, "the block at {block} is of generation {number}, older than {oldest} (a lost write)")
            }
            Kind::Newer(number) => {
                let newest = self.generations.end();
                write!(f, "the block at {block} is of generation {number}, newer than {newest}")
            }
            Kind::Torn(first, cut, then) => {
                let (first, then) = (of(first), of(then));
                write!(f, "the block at {block} is of {first} up to {cut} and of {then} from there (a torn write)")
            }
            Kind::Zeros => write!(f, "the block at {block} is all zeros, as if it was never written"),
            Kind::Foreign => write!(f, "the block at {block} holds nothing that a run with this seed wrote there"),
        }?;
        write!(f, "; byte {at} is 0x{found:02x} instead of 0x{expected:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_one_plain_sentence() {
        for (what, sentence) in [
            (Kind::Damaged(1, 1), "1 bit in 1 byte of the block at 4096 changed after the write"),
            (Kind::WrongPlace(8192), "the block at 4096 holds what was written for 8192 (a misdirected write)"),
            (
                Kind::OtherTarget(0xabc),
                "the block at 4096 was stamped for another target or with another seed (key 0000000000000abc)",
            ),
            (Kind::OtherBlockSize(512), "the block at 4096 was stamped in blocks of 512 bytes, not 4096"),
            (Kind::Older(3), "the block at 4096 is of generation 3, older than 5 (a lost write)"),
            (Kind::Newer(7), "the block at 4096 is of generation 7, newer than 6"),
            (
                Kind::Torn(Some(6), 4608, None),
                "the block at 4096 is of generation 6 up to 4608 and of zeros from there (a torn write)",
            ),
            (Kind::Zeros, "the block at 4096 is all zeros, as if it was never written"),
            (Kind::Foreign, "the block at 4096 holds nothing that a run with this seed wrote there"),
        ] {
            let (at, block, block_bytes) = (4100, 4096, 4096);
            let mismatch = Mismatch { at, expected: 0x40, found: 0x0, block, block_bytes, generations: 5..=6, what };
            assert_eq!(mismatch.to_string(), format!("{sentence}; byte 4100 is 0x00 instead of 0x40"));
        }
    }
}
