//! A zlib stream (RFC 1950), inflated (RFC 1951) up to a bound, its checksum held against what came out.
//!
//! Of a stream that is damaged nothing is given back. Preset dictionaries are refused. The decoding of canonical codes bit
//! by bit is that of zlib's `contrib/puff`.

/// Longest code.
const MAX_BITS: usize = 15;
/// Literals and lengths, distances.
const MAX_SYMBOLS: [usize; 2] = [286, 30];
/// The order in which lengths of code lengths are written.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

const BREAKS_OFF: &str = "the compressed histogram breaks off";
const DAMAGED: &str = "the compressed histogram is damaged";

/// What a stream holds, at most `most` bytes of it.
///
/// # Errors
/// What is wrong with the stream, or that it holds more.
pub(super) fn inflated(stream: &[u8], most: usize) -> Result<Vec<u8>, &'static str> {
    let [method, flags, stream @ ..] = stream else { return Err(BREAKS_OFF) };
    let is_zlib = method & 15 == 8 && (u32::from(*method) << 8 | u32::from(*flags)) % 31 == 0 && flags & 32 == 0;
    if !is_zlib {
        return Err("the compressed histogram is no zlib stream");
    }
    let mut bits = Bits { bytes: stream, hold: 0, held: 0 };
    let mut out = Output { bytes: Vec::new(), most };
    loop {
        let is_last = bits.take(1)? == 1;
        match bits.take(2)? {
            0 => stored(&mut bits, &mut out)?,
            1 => coded(&mut bits, &mut out, &fixed())?,
            2 => {
                let codes = dynamic(&mut bits)?;
                coded(&mut bits, &mut out, &codes)?;
            }
            _ => return Err(DAMAGED),
        }
        if is_last {
            break;
        }
    }
    let sum = bits.bytes.first_chunk().map(|sum| u32::from_be_bytes(*sum)).ok_or(BREAKS_OFF)?;
    if sum != adler_32(&out.bytes) {
        return Err("the checksum of the compressed histogram is wrong");
    }
    Ok(out.bytes)
}

/// The checksum of a zlib stream.
pub(crate) fn adler_32(bytes: &[u8]) -> u32 {
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    high << 16 | low
}

/// Bits from the lowest of each byte on.
struct Bits<'a> {
    bytes: &'a [u8],
    hold: u32,
    held: u32,
}

impl Bits<'_> {
    /// At most 16.
    fn take(&mut self, count: u32) -> Result<u32, &'static str> {
        while self.held < count {
            let (byte, rest) = self.bytes.split_first().ok_or(BREAKS_OFF)?;
            self.bytes = rest;
            self.hold |= u32::from(*byte) << self.held;
            self.held += 8;
        }
        let taken = self.hold & ((1 << count) - 1);
        self.hold >>= count;
        self.held -= count;
        Ok(taken)
    }

    fn symbol(&mut self, code: &Code) -> Result<usize, &'static str> {
        let (mut word, mut first, mut index) = (0_i32, 0_i32, 0_i32);
        for count in &code.counts[1..] {
            word |= self.take(1)? as i32;
            let count = i32::from(*count);
            if word - count < first {
                return Ok(usize::from(code.symbols[(index + (word - first)) as usize]));
            }
            index += count;
            first = (first + count) << 1;
            word <<= 1;
        }
        Err(DAMAGED)
    }
}

struct Output {
    bytes: Vec<u8>,
    most: usize,
}

impl Output {
    fn has_room(&self, more: usize) -> Result<(), &'static str> {
        if self.bytes.len() + more > self.most {
            return Err("the compressed histogram inflates to more than any histogram has");
        }
        Ok(())
    }
}

/// A canonical code: how many words there are of each length, and their symbols in order.
struct Code {
    counts: [u16; MAX_BITS + 1],
    symbols: Vec<u16>,
}

impl Code {
    /// From the length of each symbol's word, 0 for none.
    fn of(lengths: &[u8]) -> Result<Code, &'static str> {
        let mut counts = [0_u16; MAX_BITS + 1];
        lengths.iter().for_each(|length| counts[usize::from(*length)] += 1);
        let mut left = 1_i32;
        for count in &counts[1..] {
            left = (left << 1) - i32::from(*count);
            if left < 0 {
                return Err(DAMAGED);
            }
        }
        // One word alone may stand for one symbol; else every word has to mean something.
        if left > 0 && lengths.len() - usize::from(counts[0]) > 1 {
            return Err(DAMAGED);
        }
        let mut symbols: Vec<u16> =
            (0..lengths.len() as u16).filter(|symbol| lengths[usize::from(*symbol)] > 0).collect();
        symbols.sort_by_key(|symbol| lengths[usize::from(*symbol)]);
        counts[0] = 0;
        Ok(Code { counts, symbols })
    }
}

fn stored(bits: &mut Bits<'_>, out: &mut Output) -> Result<(), &'static str> {
    // What is left of the byte is nothing; whole bytes are never held back by `take`.
    (bits.hold, bits.held) = (0, 0);
    let [a, b, c, d, rest @ ..] = bits.bytes else { return Err(BREAKS_OFF) };
    let (length, inverse) = (u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d]));
    if length != !inverse {
        return Err(DAMAGED);
    }
    let (block, rest) = rest.split_at_checked(usize::from(length)).ok_or(BREAKS_OFF)?;
    out.has_room(block.len())?;
    out.bytes.extend_from_slice(block);
    bits.bytes = rest;
    Ok(())
}

/// The codes of literals and lengths and of distances that every decoder knows.
fn fixed() -> [Code; 2] {
    let mut counts = [0_u16; MAX_BITS + 1];
    (counts[7], counts[8], counts[9]) = (24, 152, 112);
    let symbols = (256..280).chain(0..144).chain(280..288).chain(144..256).collect();
    let mut distances = [0_u16; MAX_BITS + 1];
    distances[5] = 30;
    [Code { counts, symbols }, Code { counts: distances, symbols: (0..30).collect() }]
}

/// The codes that a block brings with it.
fn dynamic(bits: &mut Bits<'_>) -> Result<[Code; 2], &'static str> {
    let literals = bits.take(5)? as usize + 257;
    let distances = bits.take(5)? as usize + 1;
    let count = bits.take(4)? as usize + 4;
    if literals > MAX_SYMBOLS[0] || distances > MAX_SYMBOLS[1] {
        return Err(DAMAGED);
    }
    let mut lengths = [0_u8; 19];
    for place in &ORDER[..count] {
        lengths[*place] = bits.take(3)? as u8;
    }
    let code = Code::of(&lengths)?;
    let mut lengths: Vec<u8> = Vec::new();
    let wanted = literals + distances;
    while lengths.len() < wanted {
        let symbol = bits.symbol(&code)?;
        let (length, times) = match symbol {
            0..16 => (symbol as u8, 1),
            16 => (*lengths.last().ok_or(DAMAGED)?, 3 + bits.take(2)?),
            17 => (0, 3 + bits.take(3)?),
            _ => (0, 11 + bits.take(7)?),
        };
        lengths.extend((0..times).map(|_| length));
    }
    let (literals, distances) = lengths.split_at(literals);
    if lengths.len() > wanted || literals[256] == 0 {
        return Err(DAMAGED);
    }
    Ok([Code::of(literals)?, Code::of(distances)?])
}

/// A block of literals and of repetitions of what came out before.
fn coded(bits: &mut Bits<'_>, out: &mut Output, [literals, distances]: &[Code; 2]) -> Result<(), &'static str> {
    loop {
        let symbol = bits.symbol(literals)?;
        if symbol == 256 {
            return Ok(());
        }
        if symbol < 256 {
            out.has_room(1)?;
            out.bytes.push(symbol as u8);
            continue;
        }
        let length = match symbol - 257 {
            short @ 0..8 => short + 3,
            28 => 258,
            long @ 8..28 => based(long, 4, bits)? + 3,
            _ => return Err(DAMAGED),
        };
        let distance = match bits.symbol(distances)? {
            near @ 0..4 => near + 1,
            far => based(far, 2, bits)? + 1,
        };
        out.has_room(length)?;
        let from = out.bytes.len().checked_sub(distance).ok_or(DAMAGED)?;
        for at in from..from + length {
            out.bytes.push(out.bytes[at]);
        }
    }
}

/// A length or a distance: its symbol, `step` of which have a bit more than those before, says where the bits count from.
fn based(symbol: usize, step: usize, bits: &mut Bits<'_>) -> Result<usize, &'static str> {
    let extra = symbol / step - 1;
    Ok(((step + symbol % step) << extra) + bits.take(extra as u32)? as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What zlib 1.2.13 makes, at level 9, of a word and of letters that are worth a code of their own.
    #[test]
    fn streams_of_zlib_come_out_as_they_went_in() {
        let fixed = [120, 218, 11, 207, 204, 206, 44, 72, 77, 201, 76, 4, 0, 17, 230, 3, 152];
        assert_eq!(inflated(&fixed, 9).unwrap(), b"Wikipedia");
        assert!(inflated(&fixed, 8).unwrap_err().contains("more than any histogram"));
        let mut wrong = fixed;
        wrong[16] ^= 1;
        assert!(inflated(&wrong, 9).unwrap_err().contains("checksum"));
        for length in 0..fixed.len() {
            assert!(inflated(&fixed[..length], 9).is_err(), "{length}");
        }
        let dynamic = [
            120, 218, 229, 203, 201, 17, 192, 64, 8, 4, 177, 216, 122, 56, 22, 40, 200, 63, 29, 7, 98, 253, 5, 96, 109,
            168, 227, 73, 75, 195, 16, 233, 98, 158, 203, 139, 93, 142, 44, 25, 175, 146, 152, 59, 254, 90, 62, 128,
            103, 80, 221,
        ];
        let seventeenth = |number: u64| number * number * number / 9 % 17;
        let letters: Vec<u8> = (0..300).map(|number| 65 + (seventeenth(number).pow(2) / 20) as u8).collect();
        assert_eq!(inflated(&dynamic, 300).unwrap(), letters);
        for length in 0..dynamic.len() {
            assert!(inflated(&dynamic[..length], 300).is_err(), "{length}");
        }
    }

    #[test]
    fn a_bomb_is_let_out_up_to_the_bound() {
        // A zero, and that 258 times over (length 285, distance 1), again and again, in the code that every decoder knows.
        let mut bits: Vec<bool> = [1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0].map(|bit| bit == 1).to_vec();
        for _ in 0..100_000 {
            bits.extend([1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0].map(|bit| bit == 1));
        }
        let byte = |bits: &[bool]| bits.iter().rev().fold(0_u8, |byte, bit| byte << 1 | u8::from(*bit));
        let stream: Vec<u8> = [0x78, 0x01].into_iter().chain(bits.chunks(8).map(byte)).collect();
        assert!(inflated(&stream, 1 << 20).unwrap_err().contains("more than any histogram"));
        assert_eq!(inflated(&stream, 1 << 30).unwrap_err(), BREAKS_OFF, "so it would be 26 MB");
    }

    #[test]
    fn codes_that_mean_too_much_or_too_little_are_refused() {
        for lengths in [&[1, 1, 1][..], &[1, 2, 3, 3, 3], &[2, 2, 2]] {
            assert!(Code::of(lengths).is_err(), "{lengths:?}");
        }
        for lengths in [&[1, 1][..], &[1, 2, 3, 3], &[0, 1], &[0]] {
            assert!(Code::of(lengths).is_ok(), "{lengths:?}");
        }
        assert!(inflated(&[0x78, 0x01, 7], 9).is_err(), "a fourth kind of block");
        assert!(inflated(&[0x78, 0x01, 1, 1, 0, 0, 0, 9], 9).is_err(), "a length and another");
        assert!(inflated(&[0x1f, 0x8b, 8, 0], 9).unwrap_err().contains("no zlib stream"));
    }
}
