//! A histogram of HdrHistogram: base 64 (RFC 4648) of a zlib stream of its encoding, version 2.
//!
//! Source: HdrHistogram's Java, `AbstractHistogram.decodeFromByteBuffer` and `ZigZagEncoding`. Other versions,
//! histograms of fractions and shifted ones are rejected. With two or more digits and a unit of 1, a cell is at most as
//! wide as our buckets.
//!
//! The crate `hdrhistogram` (7.6.0) is not used: its memory and time follow the range in a header, not the bytes after
//! it. A header of 39 bytes takes 49 MB and 32 ms, and a file may have 100 000 of them. It also allocates up to 4 GB
//! before reading. Here both follow the counts.

use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_zlib_with_limit};

/// Cookies of version 2, without the four bits of the word size.
const COOKIE: u32 = 0x1c84_9303;
const COMPRESSED_COOKIE: u32 = 0x1c84_9304;
const WORD_BITS: u32 = 0xf0;
/// Maximum size of an inflated histogram: one of five digits with all cells from a microsecond to an hour is smaller.
const MAX_BYTES: usize = 1 << 20;
/// Bytes before the counts.
const HEAD_BYTES: usize = 40;

/// A range of values with one count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) low: u64,
    pub(super) width: u64,
    pub(super) count: u64,
}

impl Cell {
    pub(super) fn high(self) -> u64 {
        self.low + (self.width - 1)
    }

    pub(super) fn middle(self) -> u64 {
        self.low + self.width / 2
    }
}

/// The cells with counts, lowest first, and the inflated size in bytes.
///
/// # Errors
/// The fault of the text.
pub(super) fn decoded(text: &str) -> Result<(Vec<Cell>, usize), String> {
    let bytes = bytes_of(text).ok_or("the histogram is not base64, or was cut off")?;
    let (cookie, rest) = word(&bytes)?;
    if cookie & !WORD_BITS != COMPRESSED_COOKIE {
        return Err(format!(
            "the histogram begins with {cookie:#010x}, which is not the compressed encoding of version 2"
        ));
    }
    let (length, stream) = word(rest)?;
    if length as usize != stream.len() {
        return Err(format!("the histogram has {} bytes and says {length}", stream.len()));
    }
    let plain = inflated(stream, MAX_BYTES)?;
    Ok((cells(&plain)?, plain.len()))
}

/// Inflates a zlib stream (RFC 1950) of up to `most` bytes; a damaged one yields nothing.
fn inflated(stream: &[u8], most: usize) -> Result<Vec<u8>, &'static str> {
    decompress_to_vec_zlib_with_limit(stream, most).map_err(|wrong| match wrong.status {
        TINFLStatus::HasMoreOutput => "the compressed histogram holds more than any histogram has",
        TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput => "the compressed histogram breaks off",
        TINFLStatus::Adler32Mismatch => "the checksum of the compressed histogram is wrong",
        _ => "the compressed histogram is damaged, or no zlib stream",
    })
}

fn word(bytes: &[u8]) -> Result<(u32, &[u8]), &'static str> {
    let (word, rest) = bytes.split_first_chunk().ok_or("the histogram breaks off")?;
    Ok((u32::from_be_bytes(*word), rest))
}

fn cells(plain: &[u8]) -> Result<Vec<Cell>, String> {
    let (head, counts) = plain.split_at_checked(HEAD_BYTES).ok_or("the histogram breaks off")?;
    let (cookie, head) = word(head)?;
    let (length, head) = word(head)?;
    let (shift, head) = word(head)?;
    let (digits, head) = word(head)?;
    let long = |at: usize| head[at..at + 8].try_into().map(u64::from_be_bytes).unwrap_or_default();
    let (unit, ratio) = (long(0), f64::from_bits(long(16)));
    if cookie & !WORD_BITS != COOKIE {
        return Err(format!("the histogram is of the encoding {cookie:#010x}, which is not version 2"));
    }
    if shift != 0 || ratio != 1.0 {
        return Err("the histogram is shifted or of fractions, which no latency in whole units is".to_owned());
    }
    if digits > 5 || unit == 0 || unit > 1 << 62 {
        return Err(format!("a histogram of {digits} digits and a unit of {unit} cannot be"));
    }
    let mut counts = counts.get(..length as usize).ok_or("the histogram breaks off")?;
    let scale = Scale { half_bits: (2 * 10_u64.pow(digits)).next_power_of_two().ilog2() - 1, unit_bits: unit.ilog2() };
    let (mut cells, mut index, mut total) = (Vec::new(), 0_u64, 0_u64);
    while !counts.is_empty() {
        let number = zigzag(&mut counts).ok_or("a count of the histogram breaks off")?;
        if number < 0 {
            index = index.checked_add(number.unsigned_abs()).ok_or(BEYOND)?;
            continue;
        }
        if number > 0 {
            let count = number.unsigned_abs();
            total = total.checked_add(count).ok_or("the histogram counts more than there can be")?;
            let (low, width) = scale.cell(index).ok_or(BEYOND)?;
            cells.push(Cell { low, width, count });
        }
        index = index.checked_add(1).ok_or(BEYOND)?;
    }
    Ok(cells)
}

const BEYOND: &str = "the histogram has a value beyond all that it could count";

/// The scale of a histogram's cells.
struct Scale {
    /// log2 of half of the cells with the same width.
    half_bits: u32,
    /// log2 of the narrowest cell.
    unit_bits: u32,
}

impl Scale {
    /// The lowest value of a cell and its width; none beyond 2^63.
    fn cell(&self, index: u64) -> Option<(u64, u64)> {
        let half = 1_u64 << self.half_bits;
        let (octave, part) = match (index >> self.half_bits).checked_sub(1) {
            None => (0, index),
            Some(octave) => (octave, (index & (half - 1)) + half),
        };
        let shift = u32::try_from(octave).ok()?.checked_add(self.unit_bits)?;
        (shift.checked_add(self.half_bits + 1)? <= 63).then(|| (part << shift, 1 << shift))
    }
}

/// A number as ZigZag LEB128 of at most nine bytes.
fn zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0_u64;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let is_last = *byte < 0x80 || place == 8;
        let part = if place == 8 { *byte } else { byte & 0x7f };
        number |= u64::from(part) << (7 * place);
        if is_last {
            break;
        }
    }
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

/// The bytes of a padded text in base 64.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let plain = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - plain.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in plain.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for letter in chunk {
            let value = match letter {
                b'A'..=b'Z' => letter - b'A',
                b'a'..=b'z' => letter - b'a' + 26,
                b'0'..=b'9' => letter - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        let whole = (bits << (6 * (4 - chunk.len()))).to_be_bytes();
        bytes.extend(&whole[1..chunk.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_inflated_up_to_the_bound() {
        let bomb = miniz_oxide::deflate::compress_to_vec_zlib(&vec![0; MAX_BYTES + 1], 9);
        assert!(bomb.len() < 2048 && inflated(&bomb, MAX_BYTES).unwrap_err().contains("more than any histogram"));
        assert_eq!(inflated(&bomb, MAX_BYTES + 1).map(|bytes| bytes.len()), Ok(MAX_BYTES + 1));
        assert!(inflated(&bomb[..bomb.len() / 2], 2 * MAX_BYTES).unwrap_err().contains("breaks off"));
        assert!(inflated(&[0x1f, 0x8b, 8, 0], 9).unwrap_err().contains("no zlib stream"));
    }

    #[test]
    fn letters_are_bytes() {
        // RFC 4648, section 10.
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(bytes_of(coded).as_deref(), Some(plain.as_bytes()));
        }
        for none in ["Zg", "Zg=", "Z===", "Zm9v====", "Z!9v", "Zg==Zg=="] {
            assert_eq!(bytes_of(none), None, "{none}");
        }
    }

    #[test]
    fn cells_are_those_of_their_digits() {
        // HdrHistogram's scale: with three digits 2048 cells of width 1, then 1024 cells per octave.
        let scale = Scale { half_bits: 10, unit_bits: 0 };
        for (index, cell) in [(0, (0, 1)), (2047, (2047, 1)), (2048, (2048, 2)), (3071, (4094, 2)), (3072, (4096, 4))] {
            assert_eq!(scale.cell(index), Some(cell), "{index}");
        }
        assert_eq!(Scale { half_bits: 7, unit_bits: 9 }.cell(256), Some((256 << 9, 1 << 10)));
        assert_eq!((scale.cell(u64::MAX), scale.cell(1 << 16)), (None, None));
        // No digits: 2 cells of width 1, then a cell per octave.
        assert_eq!(Scale { half_bits: 0, unit_bits: 0 }.cell(3), Some((4, 4)));
    }

    #[test]
    fn numbers_are_whole_and_may_be_nine_bytes() {
        let one = |bytes: &[u8]| zigzag(&mut &*bytes);
        assert_eq!((one(&[0]), one(&[1]), one(&[2]), one(&[128, 1])), (Some(0), Some(-1), Some(1), Some(64)));
        assert_eq!(one(&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), Some(i64::MAX));
        assert_eq!((one(&[]), one(&[128])), (None, None));
    }
}
