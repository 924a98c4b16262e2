//! Why a file was not imported: the file, the line, what is wrong and what to do.

use std::fmt;

/// Longest message about a file.
const MAX_CHARS: usize = 250;

/// Why a file was not imported.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportError {
    /// The system does not give it.
    #[error("{file} cannot be read")]
    Unreadable { file: String, source: std::io::Error },
    /// Larger than any result should be.
    #[error("{file} has more than {most} MiB; split it")]
    TooLarge { file: String, most: u64 },
    /// Of no form that is known.
    #[error(
        "{file} has none of the forms that are known; name one with --format if it has (`halfpower import --help`)"
    )]
    Unknown { file: String },
    /// Of a form that is only written.
    #[error("{file} is {form}, which goes one way; export the run with --format jsonl or csv, and import that")]
    OneWay { file: String, form: &'static str },
    /// Of its form, and without a result.
    #[error("{file}: it has no result that could be read as {format}; is it complete, and is that its form?")]
    Empty { file: String, format: &'static str },
    /// It breaks off from its form.
    #[error("{file}{what} (read as {format}){}", what.remedy())]
    Broken { file: String, format: &'static str, what: What },
}

/// What is wrong, and where.
#[derive(Debug)]
pub(crate) struct What {
    line: Option<u64>,
    message: String,
}

impl What {
    /// On a line, from 1.
    pub(super) fn at(line: u64, message: impl AsRef<str>) -> Self {
        What { line: Some(line), message: shortened(message.as_ref()) }
    }

    /// With the whole; the message says what to do.
    pub(super) fn whole(message: impl AsRef<str>) -> Self {
        What { line: None, message: shortened(message.as_ref()) }
    }

    fn remedy(&self) -> &'static str {
        if self.line.is_some() { "; mend it there, or name the form with --format if it is another" } else { "" }
    }
}

/// A message that a person can read: what it quotes from a file may be as long as a line.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(MAX_CHARS).collect()
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, ":{line}: {}", self.message),
            None => write!(f, ": {}", self.message),
        }
    }
}
