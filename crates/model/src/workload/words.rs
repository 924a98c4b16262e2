//! Enums and their words: one table for reading, writing and listing them.

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
            type Err = $crate::workload::ChoiceError;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word.replace('-', "_").as_str() {
                    $($word => Ok($value),)+
                    _ => Err($crate::workload::ChoiceError::new(word, $choices)),
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
                <String as serde::Deserialize>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use {by_text, words};
