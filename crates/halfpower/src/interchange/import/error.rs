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
    /// Of no form that is known.
    #[error(
        "{file} has none of the forms that are known; name one with --format if it has (`halfpower import --help`); \
         of our own exports only jsonl comes back"
    )]
    Unknown { file: String },
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
    place: Place,
    message: String,
}

/// Where something is wrong.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// On a line, from 1.
    Line(u64),
    /// With the whole.
    Whole,
}

impl Place {
    /// What is wrong there.
    pub(super) fn wrong(self, message: impl AsRef<str>) -> What {
        What { place: self, message: shortened(message.as_ref()) }
    }
}

impl What {
    /// On a line, from 1.
    pub(super) fn at(line: u64, message: impl AsRef<str>) -> Self {
        Place::Line(line).wrong(message)
    }

    /// With the whole; the message says what to do.
    pub(super) fn whole(message: impl AsRef<str>) -> Self {
        Place::Whole.wrong(message)
    }

    /// The same in a file of which only a piece was read, so many lines behind its begin.
    pub(super) fn behind(mut self, lines: u64) -> Self {
        if let Place::Line(line) = &mut self.place {
            *line += lines;
        }
        self
    }

    fn remedy(&self) -> &'static str {
        match self.place {
            Place::Line(_) => "; mend it there, or name the form with --format if it is another",
            Place::Whole => "",
        }
    }
}

/// A message that a person can read: what it quotes from a file may be as long as a line.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(MAX_CHARS).collect()
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Line(line) => write!(f, ":{line}: {}", self.message),
            Place::Whole => write!(f, ": {}", self.message),
        }
    }
}
