//! Flags of single reads and writes (RWF of preadv2(2) and pwritev2(2)): a set, written as a list of words.

use crate::words::{ChoiceError, by_text, words};
use std::fmt;
use std::str::FromStr;

words! {
    /// A flag of one read or write.
    pub enum RwFlag {
        /// RWF_HIPRI: the program asks the device until it is done, instead of being woken.
        Hipri = "hipri",
        /// RWF_DSYNC: on the medium when the write returns.
        Dsync = "dsync",
        /// RWF_NOWAIT: only what can be done at once; the rest is counted, and done again without.
        Nowait = "nowait",
        /// RWF_DONTCACHE: through the page cache, which keeps nothing of it.
        Dontcache = "dontcache",
    }
}

/// A set of them; written `none`, or `nowait,dontcache`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RwFlags(u8);

impl RwFlags {
    /// Texts for every choice.
    pub const EXAMPLES: [&'static str; 5] = ["none", "hipri", "dsync", "nowait", "dontcache"];

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// True when the flag is in it.
    pub fn has(self, flag: RwFlag) -> bool {
        self.0 & (1 << flag as u8) != 0
    }

    /// The set with a flag more.
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
