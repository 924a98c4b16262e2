//! Text of other programs: its encoding, its lines and its numbers.

use super::error::Fault;
use std::borrow::Cow;

/// Maximum length of a line.
const MAX_LINE_BYTES: usize = 1 << 20;
/// Maximum number of lines.
const MAX_LINES: u64 = 2_000_000;
/// Beyond any figure of storage: bytes, requests or nanoseconds.
const MAX_NUMBER: f64 = 9e18;

/// Text in UTF-8, or in UTF-16 with a byte order mark, as PowerShell writes it. Invalid bytes become U+FFFD. Colours of
/// terminals are removed.
pub(super) fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let characters = char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER));
        Cow::Owned(characters.collect())
    };
    let text = match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        _ => String::from_utf8_lossy(bytes),
    };
    if text.contains(CONTROL) { without_controls(&text).into() } else { text }
}

/// What begins a control sequence (ECMA-48): parameters follow, and a letter.
const CONTROL: &str = "\u{1b}[";

fn without_controls(text: &str) -> String {
    let mut parts = text.split(CONTROL);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| {
        let rest = part.trim_start_matches(|c: char| (' '..='?').contains(&c));
        kept + rest.strip_prefix(|c: char| ('@'..='~').contains(&c)).unwrap_or(rest)
    })
}

/// The lines with their numbers, from 1.
///
/// # Errors
/// At a line that is too long, and if there are too many.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Result<(u64, &str), Fault>> {
    (1..).zip(text.lines()).map(|(number, line)| {
        if number > MAX_LINES {
            return Err(Fault::whole(format!("it has more than {MAX_LINES} lines; split it")));
        }
        if line.len() > MAX_LINE_BYTES {
            return Err(Fault::at(number, format!("the line has more than {MAX_LINE_BYTES} bytes")));
        }
        Ok((number, line))
    })
}

/// A finite number that is not negative.
pub(super) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    text.parse().ok().filter(|value| plain && (0.0..=MAX_NUMBER).contains(value))
}

/// A whole number.
pub(super) fn whole(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|value| *value as f64 <= MAX_NUMBER)
}

/// Earliest year: an earlier one is cut, such as `20` of `2008`.
const FIRST_YEAR: i16 = 1990;

/// `Wed Jan 23 14:53:26 2008`, taken as UTC because it has no zone.
pub(super) fn c_time(text: &str) -> Option<jiff::Timestamp> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, month, day, time, year] = words[..] else { return None };
    let civil = jiff::civil::DateTime::strptime("%b %d %H:%M:%S %Y", format!("{month} {day} {time} {year}")).ok()?;
    if civil.year() < FIRST_YEAR {
        return None;
    }
    jiff::tz::TimeZone::UTC.to_timestamp(civil).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_figures_or_none() {
        assert_eq!([number("66.97"), number(" 0 "), number("1e3")], [Some(66.97), Some(0.0), Some(1000.0)]);
        for none in ["", "-1", "inf", "NaN", "1e999", "1e19", "0x10", "1,5", "5 MB"] {
            assert_eq!(number(none), None, "{none}");
        }
        assert_eq!((whole("24000"), whole("-1"), whole("1.5")), (Some(24_000), None, None));
    }

    #[test]
    fn powershell_writes_utf_16() {
        let wide: Vec<u8> = [0xfeff_u16].into_iter().chain("a,b".encode_utf16()).flat_map(u16::to_le_bytes).collect();
        assert_eq!(decoded(&wide), "a,b");
        assert_eq!(decoded(b"\xef\xbb\xbfa"), "a");
        assert_eq!(decoded(b"\xff\xfe"), "");
        assert_eq!(decoded(b"a\xe9b"), "a\u{fffd}b");
        assert_eq!(decoded(b"a\x1b[1;31mb\x1b[0m\nc\x1b[2"), "ab\nc");
    }

    #[test]
    fn dates_have_no_zone() {
        assert_eq!(c_time("Fri Mar 10 23:27:08 2000").unwrap().to_string(), "2000-03-10T23:27:08Z");
        for none in ["", "yesterday", "Fri Mar 32 23:27:08 2000", "Fri Mar 10 23:27:08 99999", "Fri Mar 10 23:00:05 20"]
        {
            assert_eq!(c_time(none), None, "{none}");
        }
    }
}
