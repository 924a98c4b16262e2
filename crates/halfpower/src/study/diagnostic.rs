//! Mistakes in a study file, with place, found value and expected value.
//!
//! The first 15 are shown, the rest are counted. Lines and columns count from 1, columns in characters, as in editors.
//! Shown text is safe for a terminal: tabs become spaces, control characters become a mark.

use crate::sanitize::{is_unprintable, sanitize};
use crate::text::counted;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

/// Maximum number of mistakes shown; a file that is not a study has thousands.
const MOST_KEPT: usize = 15;
/// Longest part of a source line that is shown.
const EXCERPT_CHARACTERS: usize = 100;
/// Longest message or help that is shown: both may quote the file.
const MOST_CHARACTERS: usize = 600;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What was expected, or the remedy.
    pub help: String,
    /// The source line and the carets under it.
    excerpt: [String; 2],
}

/// Every mistake of a study file, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) struct StudyErrors {
    /// The file as the user named it.
    pub file: String,
    /// The mistakes; never empty.
    pub diagnostics: Vec<Diagnostic>,
    /// Number of further mistakes.
    pub left_out: usize,
}

/// A mistake in one value, without its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub message: String,
    pub help: String,
}

impl Problem {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Problem { message: message.into(), help: help.into() }
    }
}

/// Kinds of mistakes. A syntax error makes valid parts look wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Syntax,
    Value,
    Missing,
}

/// Collects the mistakes while a text is read.
pub(super) struct Diagnostics<'t> {
    text: &'t str,
    /// Start of each line.
    line_starts: Vec<usize>,
    found: Vec<(Kind, Range<usize>, Problem)>,
}

impl<'t> Diagnostics<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Diagnostics { text, line_starts, found: Vec::new() }
    }

    /// Notes a mistake.
    pub(super) fn note(&mut self, kind: Kind, span: Range<usize>, problem: Problem) {
        self.found.push((kind, span, problem));
    }

    /// Notes an invalid key or value.
    pub(super) fn wrong(&mut self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        self.note(Kind::Value, span, Problem::new(message, help));
    }

    /// Notes a missing key.
    pub(super) fn missing(&mut self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        self.note(Kind::Missing, span, Problem::new(message, help));
    }

    /// The value of a result; an error is noted at `span`.
    pub(super) fn keep<T>(&mut self, span: Range<usize>, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.note(Kind::Value, span, problem)).ok()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Line of a byte, from 1.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }

    /// All mistakes, without those that only follow from a syntax error.
    pub(super) fn into_errors(mut self, file: &str) -> StudyErrors {
        let mut found = std::mem::take(&mut self.found);
        let syntax = found.iter().filter(|(kind, ..)| *kind == Kind::Syntax);
        let broken: BTreeSet<usize> = syntax.map(|(_, span, _)| self.line_of(span.start)).collect();
        found.retain(|(kind, span, _)| match kind {
            Kind::Syntax => true,
            Kind::Missing => broken.is_empty(),
            Kind::Value => !broken.contains(&self.line_of(span.start)),
        });
        found.sort_by_key(|(_, span, _)| span.start);
        let left_out = found.len().saturating_sub(MOST_KEPT);
        let diagnostics =
            found.into_iter().take(MOST_KEPT).map(|(_, span, problem)| self.locate(span, problem)).collect();
        StudyErrors { file: file.to_owned(), diagnostics, left_out }
    }

    fn locate(&self, span: Range<usize>, problem: Problem) -> Diagnostic {
        // The parser's places may be inside a character.
        let floor =
            |at: usize| (0..=at.min(self.text.len())).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
        let start = floor(span.start);
        let end = floor(span.end).max(start);
        let line = self.line_of(start);
        let line_start = self.line_starts[line - 1];
        let line_end = self.line_starts.get(line).map_or(self.text.len(), |next| next - 1);
        let source = self.text[line_start..line_end.max(line_start)].trim_end_matches('\r');
        let first = self.text[line_start..start].chars().count();
        let marked = self.text[start..end.min(line_end).max(start)].trim_end_matches('\r').chars().count();
        Diagnostic {
            line,
            column: first + 1,
            message: shortened(problem.message),
            help: shortened(problem.help),
            excerpt: excerpt(source, first, marked.max(1)),
        }
    }
}

/// The text, or its beginning and end if it is long.
fn shortened(text: String) -> String {
    let count = text.chars().count();
    if count <= MOST_CHARACTERS {
        return text;
    }
    let half = MOST_CHARACTERS / 2;
    let (begin, end) = (text.chars().take(half), text.chars().skip(count - half));
    begin.chain("…".chars()).chain(end).collect()
}

/// The part of a line around the marked characters, and carets under them.
fn excerpt(source: &str, first: usize, marked: usize) -> [String; 2] {
    let from = if first < EXCERPT_CHARACTERS - 20 { 0 } else { first - 20 };
    let mut line = if from > 0 { "… ".to_owned() } else { String::new() };
    let mut carets = " ".repeat(line.chars().count());
    for (place, character) in source.chars().enumerate().skip(from).take(EXCERPT_CHARACTERS) {
        let shown = match character {
            '\t' => "    ".to_owned(),
            harmful if is_unprintable(harmful) => "\u{fffd}".to_owned(),
            plain => plain.to_string(),
        };
        if place < first + marked {
            carets.push_str(&if place < first { " " } else { "^" }.repeat(shown.chars().count()));
        }
        line.push_str(&shown);
    }
    if !carets.ends_with('^') {
        carets.push('^');
    }
    [line, carets]
}

/// Text of a study that is safe to show: short, without control characters.
pub(super) fn shown(text: &str) -> String {
    let mut short: String = sanitize(text).chars().take(60).collect();
    if text.chars().nth(60).is_some() {
        short.push('…');
    }
    short
}

impl fmt::Display for StudyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, diagnostic) in self.diagnostics.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            let Diagnostic { line, column, message, help, excerpt } = diagnostic;
            let gutter = " ".repeat(line.to_string().len());
            writeln!(f, "{}:{line}:{column}: {}", sanitize(&self.file), sanitize(message))?;
            writeln!(f, " {line} | {}", excerpt[0])?;
            writeln!(f, " {gutter} | {}", excerpt[1])?;
            write!(f, " {gutter} = {}", sanitize(help))?;
        }
        if self.left_out > 0 {
            write!(f, "\nand {}", counted(self.left_out, "more mistake"))?;
        }
        Ok(())
    }
}
