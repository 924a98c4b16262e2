//! Why a file was not imported: the file, the line, what is wrong and what to do.

use std::fmt;

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
    /// Of its form, and without a result.
    #[error("{file} has no result in it that could be read as {format}; is it complete, and is that its form?")]
    Empty { file: String, format: &'static str },
    /// It breaks off from its form.
    #[error("{file}{what} (read as {format})")]
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
    pub(super) fn at(line: u64, message: impl Into<String>) -> Self {
        What { line: Some(line), message: message.into() }
    }

    /// With the whole.
    pub(super) fn whole(message: impl Into<String>) -> Self {
        What { line: None, message: message.into() }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, ":{line}: {}", self.message),
            None => write!(f, ": {}", self.message),
        }
    }
}
