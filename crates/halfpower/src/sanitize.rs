//! Sanitizes text from outside, such as file names: replaces control characters, which can control a terminal, and characters
//! that change the writing direction (Unicode Standard Annex 9, section 2).
//!
//! All output passes through here (`console.rs`), and every text export (`interchange/export`), emitted plan and report.

use std::borrow::Cow;
use std::fmt::Write;

/// The replacement of each.
const MARK: char = '\u{fffd}';

/// Text on one line.
pub(crate) fn sanitize(text: &str) -> Cow<'_, str> {
    if text.contains(is_unprintable) { text.replace(is_unprintable, &MARK.to_string()).into() } else { text.into() }
}

/// Text that keeps its line ends, LF or CRLF, and its tabs.
pub(crate) fn sanitize_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(is_replaced_in_lines) {
        return text.into();
    }
    let mut kept = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let ends_line = character == '\r' && characters.peek() == Some(&'\n');
        kept.push(if is_replaced_in_lines(character) && !ends_line { MARK } else { character });
    }
    kept.into()
}

/// JSON, where such a character is only found inside a string: replaced by its escape, so nothing is lost.
pub(crate) fn sanitize_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_replaced_in_lines) {
        return json.into();
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_replaced_in_lines(character) {
            // All of them are in the Basic Multilingual Plane. Writing to a string cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    escaped.into()
}

fn is_replaced_in_lines(character: char) -> bool {
    !matches!(character, '\n' | '\t') && is_unprintable(character)
}

/// Whether a character is replaced.
pub(crate) fn is_unprintable(c: char) -> bool {
    let reverses = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // Some programs end a line at both.
    let breaks = matches!(c, '\u{2028}' | '\u{2029}');
    c.is_control() || reverses || breaks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_control_the_terminal() {
        assert_eq!(sanitize("a\x1b[31m\nb\u{9b}c"), "a\u{fffd}[31m\u{fffd}b\u{fffd}c");
        assert_eq!(sanitize_lines("a\x1b\nb\r\tc\r\nd"), "a\u{fffd}\nb\u{fffd}\tc\r\nd");
        assert_eq!(sanitize("ä b"), "ä b");
    }

    #[test]
    fn names_cannot_reverse_the_text_around_them() {
        for mark in ['\u{202e}', '\u{2066}', '\u{200f}', '\u{61c}'] {
            assert_eq!(sanitize(&format!("a{mark}txt.exe")), "a\u{fffd}txt.exe");
            assert_eq!(sanitize_lines(&format!("a{mark}b")), "a\u{fffd}b");
        }
    }

    #[test]
    fn json_loses_nothing() {
        let text = "a\x1b\u{7f}\u{9b}\u{202e}\u{2028}\t\r\n\"ä";
        let json = serde_json::to_string_pretty(&[text]).unwrap();
        let shown = sanitize_json(&json);
        assert!(!shown.replace('\n', "").contains(is_unprintable), "{shown}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&shown).unwrap(), [text]);
    }
}
