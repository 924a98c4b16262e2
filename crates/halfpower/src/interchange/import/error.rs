//! Errors of an import: file, line, fault and remedy.

use std::fmt;

/// Maximum length of a message about a file.
const MAX_CHARS: usize = 250;

/// Why a file was not imported.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportError {
    /// The file cannot be opened or read.
    #[error("{file} cannot be read")]
    Unreadable { file: String, source: std::io::Error },
    /// Its format is unknown.
    #[error(
        "{file} has none of the forms that are known{what}; name one with --format if it has (`halfpower import --help`); \
         of our own exports only jsonl comes back"
    )]
    Unknown { file: String, what: String },
    /// It has no contents.
    #[error("{file}: it is empty; import the file that the program wrote")]
    Blank { file: String },
    /// Its format is known, but it has no result.
    #[error(
        "{file}: it has no result that could be read as {format}; {}",
        why.as_deref().unwrap_or("is it complete, and is that its form?")
    )]
    Empty { file: String, format: &'static str, why: Option<String> },
    /// A part of it is invalid.
    #[error("{file}{fault} (read as {format}){}", fault.remedy())]
    Broken { file: String, format: &'static str, fault: Fault },
}

/// A fault and its line, from 1; without a line it concerns the whole file, and the message has the remedy.
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

    /// A fault of the whole file; the message has the remedy.
    pub(super) fn whole(message: impl AsRef<str>) -> Self {
        Fault::new(None, message)
    }

    /// The same fault with `lines` more lines before it, for a part of a file.
    pub(super) fn behind(self, lines: u64) -> Self {
        Fault { line: self.line.map(|line| line + lines), ..self }
    }

    fn remedy(&self) -> &'static str {
        self.line.map_or("", |_| "; fix it there, or name the form with --format if it is another")
    }
}

/// A message of limited length: it may quote a line of any length.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(MAX_CHARS).collect()
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))?;
        write!(f, ": {}", self.message)
    }
}
