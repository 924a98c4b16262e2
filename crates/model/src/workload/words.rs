//! Enums and their words: one table for reading, writing and listing them.

use serde::de::Visitor;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

/// A word that is none of the choices; the message lists them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not one of {choices}")]
pub struct ChoiceError {
    /// What was written.
    pub word: String,
    /// What would do.
    pub choices: &'static str,
}

impl ChoiceError {
    pub(crate) fn new(word: &str, choices: &'static str) -> Self {
        ChoiceError { word: word.to_owned(), choices }
    }
}

/// The one of these words that was said, else what was said. `-` and `_` inside a word count for nothing, so that
/// `no-wait`, `no_wait` and `nowait` are one; in front they are none of the word's.
pub(crate) fn settled<'w>(said: &'w str, words: &[&'w str]) -> &'w str {
    // Records have them so.
    if let Some(word) = words.iter().find(|word| **word == said) {
        return word;
    }
    let letters = |word: &'w str| word.chars().filter(|letter| !matches!(letter, '-' | '_'));
    let is_said = |word: &&&'w str| letters(word).eq(letters(said));
    let whole = !said.starts_with(['-', '_']) && !said.ends_with(['-', '_']);
    words.iter().find(is_said).filter(|_| whole).copied().unwrap_or(said)
}

/// Gives an enum without data its words.
macro_rules! words {
    ($type:ty, $choices:literal, $($word:literal => $value:expr),+ $(,)?) => {
        impl $type {
            /// Every choice, in the order they are explained.
            pub const ALL: &'static [$type] = &[$($value),+];

            /// The word for it, as in records and on the command line.
            pub fn word(self) -> &'static str {
                match self { $(v if v == $value => $word,)+ _ => unreachable!("every value has a word") }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::workload::words::ChoiceError;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match $crate::workload::words::settled(word, &[$($word),+]) {
                    $($word => Ok($value),)+
                    _ => Err($crate::workload::words::ChoiceError::new(word, $choices)),
                }
            }
        }

        $crate::workload::words::by_text!($type);
    };
}

/// In records, a type is what its Display says, and is read by its FromStr.
macro_rules! by_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str($crate::workload::words::Text(std::marker::PhantomData))
            }
        }
    };
}

pub(crate) use {by_text, words};

/// Reads a type from a text without keeping that: a record has two dozen words.
pub(crate) struct Text<T>(pub(crate) PhantomData<T>);

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::settled;

    #[test]
    fn a_word_is_known_with_either_mark_or_none() {
        let words = ["nowait", "io_uring", "no_sqarray"];
        for (said, word) in [
            ("no-wait", "nowait"),
            ("no_wait", "nowait"),
            ("io-uring", "io_uring"),
            ("iouring", "io_uring"),
            ("no-sqarray", "no_sqarray"),
        ] {
            assert_eq!(settled(said, &words), word);
        }
        for none in ["", "-", "-nowait", "_io_uring", "nowait-", "Nowait", "no wait", "uring"] {
            assert_eq!(settled(none, &words), none);
        }
    }
}
