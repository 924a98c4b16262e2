//! The options of an io_uring: each asked for, declined, or left to the program.

use crate::words::{ChoiceError, by_text, words};
use std::fmt;
use std::str::FromStr;

words! {
    /// An option of a ring.
    pub enum RingOption {
        /// The kernel looks the targets up once, not at every request.
        RegisteredFiles = "registered_files",
        /// The kernel pins the buffers once, not at every request.
        RegisteredBuffers = "registered_buffers",
        /// One thread submits, and the kernel knows it (Linux 6.0).
        SingleIssuer = "single_issuer",
        /// The kernel finishes requests when they are waited for, not whenever it is entered (Linux 6.1).
        DeferTaskrun = "defer_taskrun",
        /// The kernel does not interrupt the program to finish requests (Linux 5.19).
        CoopTaskrun = "coop_taskrun",
        /// No table between the queue and its entries (Linux 6.6).
        NoSqarray = "no_sqarray",
        /// The ring itself is looked up once, not at every call (Linux 5.18).
        RegisteredRing = "registered_ring",
        /// A thread of the kernel looks for requests, so that submitting takes no call.
        Sqpoll = "sqpoll",
        /// The kernel asks the device whether requests are done, and takes no interrupt.
        Iopoll = "iopoll",
    }
}

/// What was said of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Nothing: what is fastest in general is taken where the kernel has it.
    Default,
    /// It is wanted, and missed where the kernel refuses it.
    Asked,
    /// It is not wanted.
    Declined,
}

/// What was said of the options of a ring; written `default`, or as a list like `sqpoll,no-registered_files`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RingOptions {
    asked: u16,
    declined: u16,
}

impl RingOptions {
    /// What was said of one.
    pub fn wish(self, option: RingOption) -> Wish {
        match (self.asked & option.bit() != 0, self.declined & option.bit() != 0) {
            (true, _) => Wish::Asked,
            (_, true) => Wish::Declined,
            _ => Wish::Default,
        }
    }

    /// The same, but for one option.
    #[must_use]
    pub fn with(self, option: RingOption, wish: Wish) -> Self {
        let (asked, declined) = (self.asked & !option.bit(), self.declined & !option.bit());
        match wish {
            Wish::Default => RingOptions { asked, declined },
            Wish::Asked => RingOptions { asked: asked | option.bit(), declined },
            Wish::Declined => RingOptions { asked, declined: declined | option.bit() },
        }
    }

    /// True when nothing was said of any.
    pub fn is_default(&self) -> bool {
        *self == RingOptions::default()
    }
}

impl RingOption {
    fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for RingOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_default() {
            return f.write_str("default");
        }
        let mut separator = "";
        for option in RingOption::ALL {
            let prefix = match self.wish(*option) {
                Wish::Default => continue,
                Wish::Asked => "",
                Wish::Declined => "no-",
            };
            write!(f, "{separator}{prefix}{option}")?;
            separator = ",";
        }
        Ok(())
    }
}

fn unknown(word: &str) -> ChoiceError {
    let words = RingOption::WORDS.join(", ");
    ChoiceError::new(word, format!("default, or a list of {words}, each with no- before it to turn it off"))
}

impl FromStr for RingOptions {
    type Err = ChoiceError;

    /// Where an option is named twice, the last time counts.
    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        if text == "default" {
            return Ok(RingOptions::default());
        }
        text.split(',').map(str::trim).try_fold(RingOptions::default(), |options, word| {
            // `no_sqarray` is a name; only what is none is looked at for a prefix.
            if let Ok(option) = word.parse() {
                return Ok(options.with(option, Wish::Asked));
            }
            let name = ["no-", "no_", "-"].iter().find_map(|prefix| word.strip_prefix(prefix));
            let option = name.and_then(|name| name.parse().ok()).ok_or_else(|| unknown(word))?;
            Ok(options.with(option, Wish::Declined))
        })
    }
}

by_text!(RingOptions);
