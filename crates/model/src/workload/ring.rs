//! Options of io_uring: each requested, declined, or left to the program.

use crate::words::{ChoiceError, by_text, words};
use std::fmt;
use std::str::FromStr;

words! {
    /// An option of io_uring.
    pub enum RingOption {
        /// Registers the targets once.
        RegisteredFiles = "registered_files",
        /// Pins the buffers once.
        RegisteredBuffers = "registered_buffers",
        /// Only one thread submits (Linux 6.0).
        SingleIssuer = "single_issuer",
        /// Completes requests when they are waited for (Linux 6.1).
        DeferTaskrun = "defer_taskrun",
        /// Does not interrupt the thread to complete requests (Linux 5.19).
        CoopTaskrun = "coop_taskrun",
        /// No index array beside the submission queue (Linux 6.6).
        NoSqarray = "no_sqarray",
        /// Registers the ring's descriptor (Linux 5.18).
        RegisteredRing = "registered_ring",
        /// A kernel thread polls for submissions.
        Sqpoll = "sqpoll",
        /// Polls the device for completions.
        Iopoll = "iopoll",
    }
}

/// The user's choice for an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// None: the program uses the usually fastest options that the kernel has.
    Default,
    /// Requested; reported if the kernel does not grant it.
    Asked,
    /// Declined.
    Declined,
}

/// The user's choice of options; written `default`, or as a list like `sqpoll,no-registered_files`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RingOptions {
    asked: u16,
    declined: u16,
}

impl RingOptions {
    /// The choice for one option.
    pub fn wish(self, option: RingOption) -> Wish {
        match (self.asked & option.bit() != 0, self.declined & option.bit() != 0) {
            (true, _) => Wish::Asked,
            (_, true) => Wish::Declined,
            _ => Wish::Default,
        }
    }

    /// The same with another choice for one option.
    #[must_use]
    pub fn with(self, option: RingOption, wish: Wish) -> Self {
        let (asked, declined) = (self.asked & !option.bit(), self.declined & !option.bit());
        match wish {
            Wish::Default => RingOptions { asked, declined },
            Wish::Asked => RingOptions { asked: asked | option.bit(), declined },
            Wish::Declined => RingOptions { asked, declined: declined | option.bit() },
        }
    }

    /// Whether all are left to the program.
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

    /// If an option is named twice, the last one counts.
    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        if text == "default" {
            return Ok(RingOptions::default());
        }
        text.split(',').map(str::trim).try_fold(RingOptions::default(), |options, word| {
            // `no_sqarray` is a name, so names are tried before prefixes.
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
