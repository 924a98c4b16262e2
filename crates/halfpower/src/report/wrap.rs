//! Text for a terminal, styled words in lines no longer than the width; or the same in Markdown.

use super::table::Table;
use crate::console::Medium;
use crate::sanitize::sanitize;
use textwrap::core::display_width;
use textwrap::{Options, WordSplitter};

/// The style of a word, if there is colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// No style.
    Plain,
    /// The main figure.
    Strong,
    /// A detail.
    Quiet,
    /// A warning.
    Caution,
}

/// A blank at which no line is broken; printed as an ordinary one.
const UNBROKEN: &str = "\u{a0}";
/// Columns that a terminal is taken to have at least.
const WIDTH_MIN: usize = 20;
/// Indent of the rows of a table, in columns.
const ROW_INDENT: usize = 2;
/// Gaps between two columns of a table; the first with which it fits.
const COLUMN_GAPS: [usize; 2] = [2, 1];
/// Minimum width in which a last column is broken into lines.
const LAST_COLUMN_MIN: usize = 32;

/// Text that is laid out.
#[derive(Debug)]
pub(crate) struct Page {
    medium: Medium,
    text: String,
}

impl Page {
    /// An empty page.
    pub(crate) fn new(medium: Medium) -> Page {
        Page { medium, text: String::new() }
    }

    /// The text.
    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// An empty line.
    pub(super) fn gap(&mut self) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A table after an empty line; nothing without rows. The first column names the row. In the others, text in brackets is
    /// quiet. If the columns do not fit, the others go below the name; a second and last one is first broken into lines.
    pub(super) fn table<const COLUMNS: usize>(
        &mut self,
        head: [&str; COLUMNS],
        rows: impl IntoIterator<Item = [String; COLUMNS]>,
    ) {
        self.table_of(&Table::new(head, rows));
    }

    /// A table with any number of columns.
    pub(crate) fn table_of(&mut self, Table { head, rows }: &Table) {
        if rows.is_empty() {
            return;
        }
        self.gap();
        let Medium::Terminal { width, .. } = self.medium else {
            self.text += &markdown_row(head);
            self.text += &("|---".repeat(head.len()) + "|\n");
            self.text.extend(rows.iter().map(|row| markdown_row(row)));
            return self.gap();
        };
        let width_of = |column: usize| {
            let indent = if column == 0 { ROW_INDENT } else { 0 };
            let cells = rows.iter().map(|row| indent + display_width(&row[column]));
            cells.chain([display_width(&head[column])]).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..head.len()).map(width_of).collect();
        let last = if widths.len() == 2 { widths[1].min(LAST_COLUMN_MIN) } else { widths[widths.len() - 1] };
        let needed = |gap: usize| widths[..widths.len() - 1].iter().map(|width| width + gap).sum::<usize>() + last;
        let Some(gap) = COLUMN_GAPS.into_iter().find(|gap| needed(*gap) <= width.max(WIDTH_MIN)) else {
            // Too narrow for its columns.
            let others = format!("({})", head[1..].join(" · "));
            self.paragraph("", &[(Style::Plain, &head[0]), (Style::Quiet, &others)]);
            for row in rows {
                self.paragraph("  ", &[(Style::Plain, &row[0])]);
                self.paragraph("    ", &[(Style::Strong, &row[1..].join(" · "))]);
            }
            return;
        };
        let widths: Vec<usize> = widths.iter().map(|width| width + gap).collect();
        let name = |indent: usize, text: &str| format!("{:indent$}{}", "", padded(text, widths[0] - indent));
        self.paragraph(&name(0, &head[0]), &cells(&head[1..], &widths[1..], Style::Quiet));
        for row in rows {
            self.paragraph(&name(ROW_INDENT, &row[0]), &cells(&row[1..], &widths[1..], Style::Strong));
        }
    }

    /// A plain paragraph.
    pub(super) fn plain(&mut self, text: impl AsRef<str>) {
        self.paragraph("", &[(Style::Plain, text)]);
    }

    /// A paragraph with `first` before its first line, and an equal indent of the others.
    pub(crate) fn paragraph(&mut self, first: &str, spans: &[(Style, impl AsRef<str>)]) {
        let Medium::Terminal { width, .. } = self.medium else {
            let spans = spans.iter().map(|(style, text)| (style, escaped(text.as_ref())));
            let spans = spans.filter(|(_, text)| !text.is_empty());
            let spans = spans.map(|(style, text)| if *style == Style::Strong { format!("**{text}**") } else { text });
            let text = spans.collect::<Vec<_>>().join(" ");
            // An indented paragraph is an item of a list.
            self.text += &if first.is_empty() { format!("{text}\n\n") } else { format!("- {text}\n") };
            return;
        };
        let first = sanitize(first);
        let indent = " ".repeat(display_width(&first));
        let options = Options::new(width.max(WIDTH_MIN)).initial_indent(&first).subsequent_indent(&indent);
        let words = spans.iter().flat_map(|(style, text)| words(text.as_ref()).map(|word| self.styled(*style, word)));
        let words = words.collect::<Vec<_>>().join(" ");
        for line in textwrap::wrap(&words, options.word_splitter(WordSplitter::NoHyphenation)) {
            self.text.push_str(line.replace(UNBROKEN, " ").trim_end_matches(' '));
            self.text.push('\n');
        }
    }

    /// A word with the escape sequences of its style. Each word has them, because a pager may draw a line alone.
    fn styled(&self, style: Style, word: String) -> String {
        let code = match style {
            Style::Plain => return word,
            Style::Strong => "1",
            Style::Quiet => "2",
            Style::Caution => "33",
        };
        let is_styled = matches!(self.medium, Medium::Terminal { colour: true, .. });
        if is_styled { format!("\x1b[{code}m{word}\x1b[0m") } else { word }
    }
}

/// Cells as wide as their columns. Only the last may be broken. Text in brackets is quiet. The blank between two words
/// completes the gap.
fn cells(texts: &[String], widths: &[usize], style: Style) -> Vec<(Style, String)> {
    let last = texts.len() - 1;
    let texts = texts.iter().enumerate().map(|(column, text)| {
        if column == last {
            return text.clone();
        }
        padded(text, widths[column] - 1).replace(' ', UNBROKEN)
    });
    let spans = texts.flat_map(|text| {
        let end = text.find(" (").or_else(|| text.find(&format!("{UNBROKEN}("))).unwrap_or(text.len());
        let (figure, rest) = text.split_at(end);
        let rest = rest.strip_prefix(UNBROKEN).unwrap_or(rest);
        [(style, figure.to_owned()), (Style::Quiet, rest.to_owned())]
    });
    spans.collect()
}

/// A text in which Markdown finds no mark-up.
fn escaped(text: &str) -> String {
    let is_special = |c: char| r"\`*_{}[]<>|#~".contains(c);
    let escape = |c: char| [is_special(c).then_some('\\'), Some(c)];
    sanitize(text).replace('\n', " ").chars().flat_map(escape).flatten().collect()
}

fn markdown_row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// A text padded with blanks to a width.
fn padded(text: &str, width: usize) -> String {
    text.to_owned() + &" ".repeat(width.saturating_sub(display_width(text)))
}

/// The words of a text, with control characters replaced. A number keeps its unit, and `±` its number.
fn words(text: &str) -> impl Iterator<Item = String> {
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains(char::is_alphabetic);
    let is_unit = |word: &str| word.starts_with(|c: char| c.is_alphabetic() || c == '%');
    let mut words: Vec<String> = Vec::new();
    let mut before = "";
    for word in text.split([' ', '\n', '\t']).filter(|word| !word.is_empty()) {
        let sanitized = sanitize(word).into_owned();
        let belongs = before == "±" || (is_number(before) && is_unit(word));
        match words.last_mut().filter(|_| belongs) {
            Some(last) => *last += &format!("{UNBROKEN}{sanitized}"),
            None => words.push(sanitized),
        }
        before = word;
    }
    words.into_iter()
}

/// A line, wrapped with a hanging indent.
pub(crate) fn wrap(text: &mut String, line: &str, indent: usize, width: usize) {
    let indent = " ".repeat(if indent + 20 > width { 4 } else { indent });
    let options = Options::new(width).subsequent_indent(&indent).word_splitter(WordSplitter::NoHyphenation);
    for part in textwrap::wrap(&sanitize(line), options.break_words(false)) {
        text.push_str(&part);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_paragraph_hangs_keeps_units_and_does_not_steer_the_terminal() {
        let wrapped = |first: &str, spans: &[(Style, &str)]| {
            let mut page = Page::new(Medium::Terminal { width: 20, colour: false });
            page.paragraph(first, spans);
            page.finish()
        };
        let spans = [(Style::Strong, "3.21 GB/s"), (Style::Quiet, "1 MiB, QD8")];
        assert_eq!(wrapped("  read  ", &spans), "  read  3.21 GB/s\n        1 MiB, QD8\n");
        let units = wrapped("", &[(Style::Plain, "seventeen or 3.21 GB/s, with ± 10 %")]);
        assert_eq!(units, "seventeen or\n3.21 GB/s, with\n± 10 %\n");
        let hostile = wrapped("", &[(Style::Plain, "a\x1b[31mb \u{202e}c\r")]);
        assert_eq!(hostile, "a\u{fffd}[31mb \u{fffd}c\u{fffd}\n");
    }

    #[test]
    fn a_table_has_columns_where_they_fit() {
        let rows = [["read", "3 GB/s (1 MiB)", "5 µs"], ["write", "none", "10 µs"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        let table = |width| {
            let mut page = Page::new(Medium::Terminal { width, colour: false });
            page.table(["Peak", "figure", "cost"], rows.clone());
            page.finish()
        };
        assert_eq!(
            table(30),
            "\n\
             Peak     figure          cost\n  \
               read   3 GB/s (1 MiB)  5 µs\n  \
               write  none            10 µs\n"
        );
        let closer = "\nPeak    figure         cost\n  read  3 GB/s (1 MiB) 5 µs\n  write none           10 µs\n";
        assert_eq!((table(29).as_str(), table(28).as_str()), (closer, closer));
        assert_eq!(table(27), "\nPeak (figure · cost)\n  read\n    3 GB/s (1 MiB) · 5 µs\n  write\n    none · 10 µs\n");
    }

    proptest! {
        #[test]
        fn no_line_is_longer_than_the_width(text in ".{0,200}", first in " {0,15}", width in 20_usize..100) {
            let mut page = Page::new(Medium::Terminal { width, colour: false });
            page.paragraph(&first, &[(Style::Plain, &text)]);
            for line in page.finish().lines() {
                prop_assert!(display_width(line) <= width, "{line}");
            }
        }
    }
}
