//! Kinds of data in writes, by how well they compress or deduplicate.
//!
//! Buffers are filled before the measurement ([`Data::fill`]). At submission a [`Freshener`] makes each unit of
//! 4 KiB unique, by its first eight bytes, so that a buffer that is written repeatedly is no duplicate of itself. So the
//! shares below hold for compression and deduplication in units of up to 4 KiB. They do not hold for a compressor over several
//! requests, which finds writes of the same buffer similar.

use super::freshener::{Freshener, UNIT_BYTES, duplicate_mark, mark};
use super::sequence;
use crate::random::Random;
use crate::words::{Value, forms};

/// The longest repeated pattern.
pub const MAX_REPEATED_BYTES: usize = 64;
/// The unit of the compressible share: the smallest request, so that none is all zeros or all random.
const STRETCH_BYTES: usize = 512;

/// The bytes of writes that are not verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Data {
    /// Random bytes: neither compressible nor duplicate.
    #[default]
    Incompressible,
    /// A share of each 512 bytes is zeros, the rest is incompressible; written `compressible=50`.
    Compressible {
        /// The share of zeros, 0 to 100.
        percent: u8,
    },
    /// A share of the 4 KiB units, drawn at random, are copies of others; all are incompressible in themselves; written
    /// `duplicate=50`.
    Duplicate {
        /// The share of copies, 0 to 100.
        percent: u8,
    },
    /// Zeros.
    Zeros,
    /// A few bytes repeated; written `pattern=c0ffee`.
    Repeated {
        /// 1 to [`MAX_REPEATED_BYTES`] bytes.
        bytes: Vec<u8>,
    },
}

impl Data {
    /// Fills a buffer before the measurement. Only data drawn from `random` differs between buffers.
    pub fn fill(&self, buffer: &mut [u8], random: &mut Random) {
        match self {
            Data::Incompressible => sequence::write(buffer, random.next_bits()),
            Data::Compressible { percent } => {
                sequence::write(buffer, random.next_bits());
                for stretch in buffer.chunks_mut(STRETCH_BYTES) {
                    let zeros = stretch.len() * usize::from(*percent) / 100;
                    let kept = stretch.len() - zeros;
                    stretch[kept..].fill(0);
                }
            }
            Data::Duplicate { .. } => {
                for (unit, index) in buffer.chunks_mut(UNIT_BYTES).zip(0..) {
                    sequence::write(unit, duplicate_mark(index));
                    mark(unit, duplicate_mark(index));
                }
            }
            Data::Zeros => buffer.fill(0),
            Data::Repeated { bytes } => {
                for (byte, repeated) in buffer.iter_mut().zip(bytes.iter().cycle()) {
                    *byte = *repeated;
                }
            }
        }
    }

    /// Makes a buffer unique at each submission; none for constant data. Each worker has its own, with its own seed.
    pub fn freshener(&self, seed: u64) -> Option<Freshener> {
        match self {
            Data::Incompressible | Data::Compressible { .. } => Some(Freshener::new(seed, 0)),
            Data::Duplicate { percent } => Some(Freshener::new(seed, *percent)),
            Data::Zeros | Data::Repeated { .. } => None,
        }
    }
}

const CHOICES: &str = "incompressible, compressible=PERCENT, duplicate=PERCENT (0 to 100), zeros, pattern=HEX (1 to 64 bytes of two digits)";

forms!(Data, |_| CHOICES, { "incompressible" => Incompressible, "zeros" => Zeros, }, {
    "compressible" => Compressible { percent: percent } = percent,
    "duplicate" => Duplicate { percent: percent } = percent,
    "pattern" => Repeated { bytes: bytes } = hex,
});

impl Value for Vec<u8> {
    fn exact(&self) -> Option<String> {
        Some(self.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

fn percent(share: &str) -> Option<u8> {
    share.trim_end_matches('%').parse().ok().filter(|percent| *percent <= 100)
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, odd) = text.strip_prefix("0x").unwrap_or(text).as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let bytes: Vec<u8> =
        pairs.iter().map(|[high, low]| Some((digit(*high)? * 16 + digit(*low)?) as u8)).collect::<Option<_>>()?;
    (odd.is_empty() && (1..=MAX_REPEATED_BYTES).contains(&bytes.len())).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn filled(word: &str, length: usize) -> Vec<u8> {
        let mut buffer = vec![0xee; length];
        word.parse::<Data>().unwrap().fill(&mut buffer, &mut Random::new(5));
        buffer
    }

    /// Writes of one buffer after another, as a worker with several slots makes them.
    fn written(word: &str, writes: usize, request_bytes: usize) -> Vec<Vec<u8>> {
        let data: Data = word.parse().unwrap();
        let mut random = Random::new(5);
        let mut slots = vec![vec![0; request_bytes]; 4];
        slots.iter_mut().for_each(|slot| data.fill(slot, &mut random));
        let mut freshener = data.freshener(9);
        let write = |index: usize| {
            let slot = &mut slots[index % 4];
            if let Some(freshener) = &mut freshener {
                freshener.freshen(slot);
            }
            slot.clone()
        };
        (0..writes).map(write).collect()
    }

    /// Share of the units that an earlier one is equal to.
    fn duplicate_share<'a>(writes: impl IntoIterator<Item = &'a Vec<u8>>) -> f64 {
        let units: Vec<&[u8]> = writes.into_iter().flat_map(|write| write.chunks(UNIT_BYTES)).collect();
        1.0 - units.iter().collect::<HashSet<_>>().len() as f64 / units.len() as f64
    }

    #[test]
    fn no_unit_is_written_twice_unless_it_is_meant_to_be() {
        for word in ["incompressible", "compressible=70", "compressible=100", "duplicate=0"] {
            let shares = [512, 4096, 65_536].map(|request_bytes| duplicate_share(&written(word, 100, request_bytes)));
            assert_eq!(shares, [0.0; 3], "{word}");
        }
        assert!(duplicate_share(&written("zeros", 300, 4096)) > 0.99);
        assert!(duplicate_share(&written("pattern=ab", 300, 4096)) > 0.99);
    }

    #[test]
    fn a_share_of_the_units_are_copies() {
        for (percent, request_bytes) in [(30, 4096), (50, 16_384), (90, 512)] {
            let share = duplicate_share(&written(&format!("duplicate={percent}"), 4000, request_bytes));
            // Five standard deviations of a binomial with n = 4000, and the first of each that is copied.
            assert!((share * 100.0 - f64::from(percent)).abs() < 4.1, "{percent} % asked, {share} found");
        }
        let all = written("duplicate=100", 100, 16_384);
        assert_eq!(duplicate_share(&all), 1.0 - 4.0 / 400.0);
        assert_eq!(all[0], filled("duplicate=100", 16_384), "a buffer that was drawn as a copy is as it was filled");
    }

    #[test]
    fn a_share_of_each_stretch_is_zeros() {
        for (percent, zeros) in [(0, 0), (35, 179), (100, 512)] {
            let buffer = filled(&format!("compressible={percent}"), 16_384);
            for stretch in buffer.chunks(STRETCH_BYTES) {
                assert!(stretch[512 - zeros..].iter().all(|byte| *byte == 0));
                let others = stretch[..512 - zeros].iter().filter(|byte| **byte == 0).count();
                assert!(others < 16, "{others} zeros in what should not compress");
            }
        }
    }

    #[test]
    fn incompressible_data_gives_a_compressor_nothing() {
        for word in ["incompressible", "duplicate=50"] {
            let buffer = filled(word, 1 << 20);
            let words: HashSet<&[u8]> = buffer.chunks(8).collect();
            assert_eq!(words.len(), buffer.len() / 8, "{word}: no word to point back to");
            let mut counts = [0_u32; 256];
            buffer.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
            // Five and a half standard deviations of a binomial with n = 2^20, p = 1/256.
            assert!(counts.iter().all(|count| count.abs_diff(4096) < 352), "{word}: no byte is more frequent");
        }
    }

    #[test]
    fn a_buffer_of_any_length_is_filled() {
        assert_eq!(filled("zeros", 1000), [0; 1000]);
        assert_eq!(filled("pattern=010203", 7), [1, 2, 3, 1, 2, 3, 1]);
        for word in ["incompressible", "compressible=35", "compressible=100", "duplicate=40", "pattern=c0ffee"] {
            for length in [0, 1, 7, 511, 4097] {
                let data: Data = word.parse().unwrap();
                let mut buffer = filled(word, length);
                if let Some(mut freshener) = data.freshener(1) {
                    freshener.freshen(&mut buffer);
                }
                assert_eq!(buffer.len(), length);
            }
        }
    }
}
