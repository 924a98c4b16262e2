//! Files damaged from a seed: bytes, and parts of their syntax, which random bytes rarely hit.

use halfpower_model::random::Random;
use std::ops::Range;

/// Replacements of a figure or a word; the first is empty.
const ODD: &str = " 0 -1 1 0.5 1e308 1e999 NaN inf 9007199254740993 9223372036854775807 18446744073709551615 \
    18446744073709551616 4294967296 null true \"\" [] {} \u{fffd} \u{1b}[31m ' \" %s 100% 1,000";

/// `bytes` with one to four changes.
pub(crate) fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        damage(&mut bytes, random);
    }
    bytes
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = below(bytes.len() + 1, random);
    match random.below(10) {
        0 => bytes.truncate(at),
        1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.next_bits() as u8;
            }
        }
        2 => drop(bytes.splice(at..at, (0..random.below(9)).map(|bit| (bit * 37 + 128) as u8))),
        3 => {
            let nested = [&b"["[..], b"{\"a\":", b"<a>", b"\"", b",", b"\n"][below(6, random)];
            drop(bytes.splice(at..at, nested.repeat(below(300, random))));
        }
        4..=6 => {
            let (word, odd) = (word_at(bytes, at), ODD.split(' '));
            let odd = odd.clone().nth(below(odd.count(), random)).unwrap_or_default();
            drop(bytes.splice(word, odd.bytes()));
        }
        7 => drop(bytes.drain(line_at(bytes, at))),
        8 => {
            let line = bytes[line_at(bytes, at)].to_vec();
            let to = line_at(bytes, below(bytes.len() + 1, random)).start;
            drop(bytes.splice(to..to, line.repeat(1 + below(3, random))));
        }
        _ => drop(bytes.drain(enclosed_at(bytes, at))),
    }
}

fn below(bound: usize, random: &mut Random) -> usize {
    random.below(bound.max(1) as u64) as usize
}

/// The figure or word around a place.
fn word_at(bytes: &[u8], at: usize) -> Range<usize> {
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || b".+-_".contains(byte);
    let start = bytes[..at].iter().rposition(|byte| !inside(byte)).map_or(0, |before| before + 1);
    let end = bytes[at..].iter().position(|byte| !inside(byte)).map_or(bytes.len(), |length| at + length);
    start..end
}

/// The line of a place, with its end.
fn line_at(bytes: &[u8], at: usize) -> Range<usize> {
    let start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |before| before + 1);
    let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length + 1);
    start..end
}

/// From the next bracket after a place to the matching one: an object, a list, an element's tag.
fn enclosed_at(bytes: &[u8], at: usize) -> Range<usize> {
    let Some(start) = bytes[at..].iter().position(|byte| b"{[<".contains(byte)).map(|before| at + before) else {
        return at..at;
    };
    let mut depth = 0_usize;
    for (index, byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'{' | b'[' | b'<' => depth += 1,
            b'}' | b']' | b'>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return start..index + 1;
        }
    }
    start..bytes.len()
}
