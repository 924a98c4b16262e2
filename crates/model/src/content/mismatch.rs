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

/// What happened to a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The right block of an admissible generation, with some of it changed since: bit rot, or a part of it overwritten
    /// from elsewhere.
    Damaged {
        /// Bits that differ.
        bits: u64,
        /// Bytes that differ.
        bytes: u64,
    },
    /// What was written for another place of this target: a misdirected write or read.
    WrongPlace {
        /// That place, in bytes from the start of the target.
        offset: u64,
    },
    /// What was written to another target, or by a run with another seed.
    OtherTarget {
        /// The key in its stamp.
        key: u64,
    },
    /// It was stamped in blocks of another size.
    OtherBlockSize {
        /// That size.
        block_bytes: u32,
    },
    /// What was written to it earlier: a later write was lost.
    Older {
        /// Its generation.
        generation: u32,
    },
    /// A later write than any that was expected.
    Newer {
        /// Its generation.
        generation: u32,
    },
    /// Parts of it, cut at a sector, come from different writes. Where there are more than two, these are the first. After
    /// a power cut this is to be expected of a write in flight that the drive does not promise to make whole.
    Torn {
        /// Generation of its first part; none: zeros.
        first: Option<u32>,
        /// Where the next part starts, in bytes from the start of the target.
        cut: u64,
        /// Generation of that part; none: zeros.
        then: Option<u32>,
    },
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
        match self.what {
            Kind::Damaged { bits, bytes } => {
                let (bit_s, byte_s) = (plural(bits), plural(bytes));
                write!(f, "{bits} bit{bit_s} in {bytes} byte{byte_s} of the block at {block} changed after the write")
            }
            Kind::WrongPlace { offset } => {
                write!(f, "the block at {block} holds what was written for {offset} (a misdirected write)")
            }
            Kind::OtherTarget { key } => {
                write!(f, "the block at {block} was stamped for another target or with another seed (key {key:016x})")
            }
            Kind::OtherBlockSize { block_bytes: stamped } => {
                write!(f, "the block at {block} was stamped in blocks of {stamped} bytes, not {block_bytes}")
            }
            Kind::Older { generation } => {
                write!(
                    f,
                    "the block at {block} is of {}, older than {}",
                    Part(Some(generation)),
                    self.generations.start()
                )?;
                f.write_str(" (a lost write)")
            }
            Kind::Newer { generation } => {
                write!(
                    f,
                    "the block at {block} is of {}, newer than {}",
                    Part(Some(generation)),
                    self.generations.end()
                )
            }
            Kind::Torn { first, cut, then } => {
                write!(
                    f,
                    "the block at {block} is of {} up to {cut} and of {} from there (a torn write)",
                    Part(first),
                    Part(then)
                )
            }
            Kind::Zeros => write!(f, "the block at {block} is all zeros, as if it was never written"),
            Kind::Foreign => write!(f, "the block at {block} holds nothing that a run with this seed wrote there"),
        }?;
        write!(f, "; byte {at} is 0x{found:02x} instead of 0x{expected:02x}")
    }
}

/// A part of a block in words.
struct Part(Option<u32>);

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(generation) => write!(f, "generation {generation}"),
            None => f.write_str("zeros"),
        }
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_one_plain_sentence() {
        for (what, sentence) in [
            (Kind::Damaged { bits: 1, bytes: 1 }, "1 bit in 1 byte of the block at 4096 changed after the write"),
            (
                Kind::WrongPlace { offset: 8192 },
                "the block at 4096 holds what was written for 8192 (a misdirected write)",
            ),
            (
                Kind::OtherTarget { key: 0xabc },
                "the block at 4096 was stamped for another target or with another seed (key 0000000000000abc)",
            ),
            (
                Kind::OtherBlockSize { block_bytes: 512 },
                "the block at 4096 was stamped in blocks of 512 bytes, not 4096",
            ),
            (Kind::Older { generation: 3 }, "the block at 4096 is of generation 3, older than 5 (a lost write)"),
            (Kind::Newer { generation: 7 }, "the block at 4096 is of generation 7, newer than 6"),
            (
                Kind::Torn { first: Some(6), cut: 4608, then: None },
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
