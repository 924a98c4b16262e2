//! Text from outside, a file's name say, made unable to steer a terminal or to turn what is written around it: control
//! characters and those that change the direction of writing are replaced by a mark. Source: Unicode Standard Annex 9,
//! section 2, for the latter.
//!
//! Everything that is printed goes through here (`cli/console.rs`), and so does every export that is text
//! (`interchange/export`), every emitted plan and every report.

use std::borrow::Cow;
use std::fmt::Write;

/// What stands in the place of each.
const MARK: char = '\u{fffd}';

/// A text on one line.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if text.contains(is_harmful) { text.replace(is_harmful, &MARK.to_string()).into() } else { text.into() }
}

/// A text that keeps its lines, however they end, and its tabs.
pub(crate) fn harmless_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unwanted_in_lines) {
        return text.into();
    }
    let mut kept = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let ends_line = character == '\r' && characters.peek() == Some(&'\n');
        kept.push(if is_unwanted_in_lines(character) && !ends_line { MARK } else { character });
    }
    kept.into()
}

/// A JSON text, in which such a character can only stand within a text of it: with its escape, so that nothing is lost.
pub(crate) fn harmless_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_unwanted_in_lines) {
        return json.into();
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_unwanted_in_lines(character) {
            // All of them are in the first plane. Writing to a text cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    escaped.into()
}

fn is_unwanted_in_lines(character: char) -> bool {
    !matches!(character, '\n' | '\t') && is_harmful(character)
}

/// Whether a character is replaced.
pub(crate) fn is_harmful(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // Both of them end a line for some who read it.
    let breaks = matches!(c, '\u{2028}' | '\u{2029}');
    c.is_control() || turns || breaks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_steer_the_terminal() {
        assert_eq!(harmless("a\x1b[31m\nb\u{9b}c"), "a\u{fffd}[31m\u{fffd}b\u{fffd}c");
        assert_eq!(harmless_lines("a\x1b\nb\r\tc\r\nd"), "a\u{fffd}\nb\u{fffd}\tc\r\nd");
        assert_eq!(harmless("ä b"), "ä b");
    }

    #[test]
    fn names_cannot_turn_what_is_written_around_them() {
        for turning in ['\u{202e}', '\u{2066}', '\u{200f}', '\u{61c}'] {
            assert_eq!(harmless(&format!("a{turning}txt.exe")), "a\u{fffd}txt.exe");
            assert_eq!(harmless_lines(&format!("a{turning}b")), "a\u{fffd}b");
        }
    }

    #[test]
    fn json_keeps_what_it_holds() {
        let text = "a\x1b\u{7f}\u{9b}\u{202e}\u{2028}\t\r\n\"ä";
        let json = serde_json::to_string_pretty(&[text]).unwrap();
        let shown = harmless_json(&json);
        assert!(!shown.replace('\n', "").contains(is_harmful), "{shown}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&shown).unwrap(), [text]);
    }
}
