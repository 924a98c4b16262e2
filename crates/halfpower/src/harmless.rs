//! Text from outside, a file's name say, made unable to steer a terminal or to turn what is written around it: control
//! characters and those that change the direction of writing are replaced by a mark. Source: Unicode Standard Annex 9,
//! section 2, for the latter.

use std::borrow::Cow;

/// What stands in the place of each.
const MARK: char = '\u{fffd}';

/// A text on one line.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    replaced(text, is_harmful)
}

/// A text that keeps its lines and tabs.
pub(crate) fn harmless_lines(text: &str) -> Cow<'_, str> {
    replaced(text, |c| !matches!(c, '\n' | '\t') && is_harmful(c))
}

fn replaced(text: &str, is_unwanted: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.contains(&is_unwanted) { text.replace(is_unwanted, &MARK.to_string()).into() } else { text.into() }
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
        assert_eq!(harmless_lines("a\x1b\nb\r\tc"), "a\u{fffd}\nb\u{fffd}\tc");
        assert_eq!(harmless("ä b"), "ä b");
    }

    #[test]
    fn names_cannot_turn_what_is_written_around_them() {
        for turning in ['\u{202e}', '\u{2066}', '\u{200f}', '\u{61c}'] {
            assert_eq!(harmless(&format!("a{turning}txt.exe")), "a\u{fffd}txt.exe");
            assert_eq!(harmless_lines(&format!("a{turning}b")), "a\u{fffd}b");
        }
    }
}
