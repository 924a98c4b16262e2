//! Values and their texts: one table for reading, writing and listing them, in records, in studies and on the command
//! line.

use crate::units::{Bytes, Nanoseconds};
use serde::de::Visitor;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

/// An unknown word; the message lists the choices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not one of {choices}")]
pub struct ChoiceError {
    /// The word.
    pub word: String,
    /// The valid choices.
    pub choices: String,
}

impl ChoiceError {
    pub(crate) fn new(word: &str, choices: impl Into<String>) -> Self {
        ChoiceError { word: word.to_owned(), choices: choices.into() }
    }
}

/// A value as text.
pub(crate) trait Value {
    /// In a form that reads back as the same value; none if there is none.
    fn exact(&self) -> Option<String>;

    /// For people.
    fn shown(&self) -> String {
        self.exact().unwrap_or_else(|| "none".to_owned())
    }

    /// Its number, for the bounds; none for other values.
    fn number(&self) -> Option<u64> {
        None
    }
}

macro_rules! numbers {
    ($($type:ty: $number:expr, $exact:expr;)+) => {
        $(impl Value for $type {
            fn exact(&self) -> Option<String> {
                Some($exact(*self))
            }

            fn shown(&self) -> String {
                self.to_string()
            }

            fn number(&self) -> Option<u64> {
                Some($number(*self))
            }
        })+
    };
}

numbers! {
    u8: u64::from, |number: u8| number.to_string();
    u32: u64::from, |number: u32| number.to_string();
    u64: u64::from, |number: u64| number.to_string();
    Bytes: |bytes: Bytes| bytes.0, Bytes::exactly;
    Nanoseconds: |time: Nanoseconds| time.0, Nanoseconds::exactly;
}

impl<T: Value> Value for Option<T> {
    fn exact(&self) -> Option<String> {
        self.as_ref().and_then(T::exact)
    }

    fn shown(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_owned(), T::shown)
    }

    fn number(&self) -> Option<u64> {
        self.as_ref().and_then(T::number)
    }
}

impl Value for Vec<u32> {
    fn exact(&self) -> Option<String> {
        let numbers: Vec<String> = self.iter().map(u32::to_string).collect();
        (!numbers.is_empty()).then(|| numbers.join(","))
    }
}

/// The matching word, else the text itself. `-` and `_` inside a word are ignored, so `no-wait`, `no_wait` and `nowait` are
/// equal; at an end they are not.
pub(crate) fn settled<'w>(said: &'w str, words: &[&'w str]) -> &'w str {
    // The spelling of records.
    if let Some(word) = words.iter().find(|word| **word == said) {
        return word;
    }
    let letters = |word: &'w str| word.chars().filter(|letter| !matches!(letter, '-' | '_'));
    let is_said = |word: &&&'w str| letters(word).eq(letters(said));
    let whole = !said.starts_with(['-', '_']) && !said.ends_with(['-', '_']);
    words.iter().find(is_said).filter(|_| whole).copied().unwrap_or(said)
}

/// Enums without data, each variant with its word. The first variant is the default.
macro_rules! words {
    ($($(#[doc = $about:literal])+ pub enum $type:ident { $($(#[doc = $doc:literal])+ $name:ident = $word:literal,)+ })+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type { $($(#[doc = $doc])+ $name,)+ }

        impl $type {
            /// Every choice, in the order they are explained.
            pub const ALL: &'static [$type] = &[$($type::$name),+];
            /// Their words, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word for it.
            pub const fn word(self) -> &'static str {
                $type::WORDS[self as usize]
            }
        }

        impl Default for $type {
            fn default() -> Self {
                $type::ALL[0]
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::words::ChoiceError;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match $crate::words::settled(word, $type::WORDS) {
                    $($word => Ok($type::$name),)+
                    _ => Err($crate::words::ChoiceError::new(word, $type::WORDS.join(", "))),
                }
            }
        }

        $crate::words::by_text!($type);
    )+};
}

/// An enum of words, some with a value after `=`; several fields of a value are separated by slashes. Each line of the second part
/// names the function that reads the value, which gets an empty text without `=`.
macro_rules! forms {
    ($type:ident, $choices:expr, { $($word:literal => $plain:ident,)+ },
     { $($key:literal => $valued:ident { $($field:tt: $value:ident),+ } = $read:expr,)+ }) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                use $crate::words::Value;
                match self {
                    $($type::$plain => f.write_str($word),)+
                    $($type::$valued { $($field: $value),+ } => {
                        let values = [$($value.exact().unwrap_or_default()),+];
                        write!(f, concat!($key, "={}"), values.join("/"))
                    })+
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::words::ChoiceError;

            #[allow(unused_parens)]
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let (word, value) = text.split_once('=').map_or((text, None), |(word, value)| (word, Some(value)));
                let found = match ($crate::words::settled(word, &[$($word,)+ $($key),+]), value) {
                    $(($word, None) => Some($type::$plain),)+
                    $(($key, value) if value != Some("") => $read(value.unwrap_or_default()).map(|($($value),+)| $type::$valued { $($field: $value),+ }),)+
                    _ => None,
                };
                found.ok_or_else(|| $crate::words::ChoiceError::new(text, $choices(text)))
            }
        }

        $crate::words::by_text!($type);
    };
}

/// Serde by Display and FromStr. An empty text is no value.
macro_rules! by_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str($crate::words::Text(std::marker::PhantomData))
            }
        }

        impl $crate::words::Value for $type {
            fn exact(&self) -> Option<String> {
                Some(self.to_string()).filter(|text| !text.is_empty())
            }
        }
    };
}

pub(crate) use {by_text, forms, words};

/// Reads a type from text without allocating it, because a record has two dozen words.
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

/// A whole number of 1 or more.
pub(crate) fn positive(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number > 0)
}
