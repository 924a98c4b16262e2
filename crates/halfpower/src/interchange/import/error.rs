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
    #[error("{file}{fault} (read as {format}){}", fault.remedy())]
    Broken { file: String, format: &'static str, fault: Fault },
}

/// What is wrong, and on which line, from 1; none for the whole file, and then the message says what to do.
#[derive(Debug)]
pub(crate) struct Fault {
    line: Option<u64>,
    message: String,
}

impl Fault {
    pub(super) fn new(line: Option<u64>, message: impl AsRef<str>) -> Self {
        Fault { line, message: shortened(message.as_ref()) }
    }

    /// On a line, from 1.
    pub(super) fn at(line: u64, message: impl AsRef<str>) -> Self {
        Fault::new(Some(line), message)
    }

    /// Of the whole file; the message says what to do.
    pub(super) fn whole(message: impl AsRef<str>) -> Self {
        Fault::new(None, message)
    }

    /// The same in a file of which only a piece was read, so many lines behind its begin.
    pub(super) fn behind(self, lines: u64) -> Self {
        Fault { line: self.line.map(|line| line + lines), ..self }
    }

    fn remedy(&self) -> &'static str {
        self.line.map_or("", |_| "; mend it there, or name the form with --format if it is another")
    }
}

/// A message that a person can read: what it quotes from a file may be as long as a line.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(MAX_CHARS).collect()
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))?;
        write!(f, ": {}", self.message)
    }
}
