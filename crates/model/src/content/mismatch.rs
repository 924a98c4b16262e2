//! A block that is not as it was written, and the sentence that says so.

use std::fmt;
use std::ops::RangeInclusive;

/// A block that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The first byte that differs from what was expected, counted from the start of the target.
    pub at: u64,
    /// What it should be.
    pub expected: u8,
    /// What it is.
    pub found: u8,
    /// Where the block starts in the target.
    pub block: u64,
    /// Its size.
    pub block_bytes: usize,
    /// The generations it might have had. Where the block has none of them, `expected` is of the newest.
    pub generations: RangeInclusive<u32>,
    /// What happened to it.
    pub what: Kind,
}

/// What happened to a block. The generation of zeros is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The right block of an admissible generation, with so many bits in so many bytes changed since: bit rot, or a part
    /// of it overwritten from elsewhere.
    Damaged(u64, u64),
    /// What was written for another place of this target, at that offset: a misdirected write or read.
    WrongPlace(u64),
    /// What was written to another target, or by a run with another seed; with the key in its stamp.
    OtherTarget(u64),
    /// It was stamped in blocks of another size.
    OtherBlockSize(u32),
    /// What was written to it earlier, with its generation: a later write was lost.
    Older(u32),
    /// A later write than any that was expected, with its generation.
    Newer(u32),
    /// Parts of it, cut at a sector, come from different writes: the generation of the first, where the next starts in the
    /// target, and the generation of that. Where there are more than two, these are the first. After a power cut this is
    /// to be expected of a write in flight that the drive does not promise to make whole.
    Torn(Option<u32>, u64, Option<u32>),
    /// All zeros: never written, or trimmed.
    Zeros,
    /// Nothing that was written here: no stamp, and hardly a byte of what should follow one.
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
