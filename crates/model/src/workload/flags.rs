//! Flags of single reads and writes (RWF of preadv2(2) and pwritev2(2)): a set, written as a list of words.

use crate::words::{ChoiceError, by_text, words};
use std::fmt;
use std::str::FromStr;

words! {
    /// A flag of one read or write.
    pub enum RwFlag {
        /// RWF_HIPRI: polls the device for the completion.
        Hipri = "hipri",
        /// RWF_DSYNC: on the medium when the write returns.
        Dsync = "dsync",
        /// RWF_NOWAIT: transfers that would block are counted and repeated without the flag.
        Nowait = "nowait",
        /// RWF_DONTCACHE: leaves nothing in the page cache.
        Dontcache = "dontcache",
    }
}

/// A set of flags; written `none`, or `nowait,dontcache`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RwFlags(u8);

impl RwFlags {
    /// An example of every choice.
    pub const EXAMPLES: [&'static str; 5] = ["none", "hipri", "dsync", "nowait", "dontcache"];

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// Whether the flag is in the set.
    pub fn has(self, flag: RwFlag) -> bool {
        self.0 & (1 << flag as u8) != 0
    }

    /// The set with another flag.
    #[must_use]
    pub fn with(self, flag: RwFlag) -> RwFlags {
        RwFlags(self.0 | 1 << flag as u8)
    }

    /// Its flags, in the order of [`RwFlag::ALL`].
    pub fn iter(self) -> impl Iterator<Item = RwFlag> {
        RwFlag::ALL.iter().copied().filter(move |flag| self.has(*flag))
    }
}

impl fmt::Display for RwFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        let words: Vec<_> = self.iter().map(RwFlag::word).collect();
        f.write_str(&words.join(","))
    }
}

impl FromStr for RwFlags {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        if text == "none" {
            return Ok(RwFlags::default());
        }
        let unknown = |_| ChoiceError::new(text, format!("none, or a list of {}", RwFlag::WORDS.join(", ")));
        text.split(',')
            .try_fold(RwFlags::default(), |flags, word| word.trim().parse().map(|flag| flags.with(flag)))
            .map_err(unknown)
    }
}

by_text!(RwFlags);
