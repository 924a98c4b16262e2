//! Standard output and error: results, messages, and a progress bar on a terminal. No other part of the program writes
//! there. Control characters are replaced, even without a terminal, because a file may be shown on one later.

use crate::sanitize::{sanitize, sanitize_json, sanitize_lines};
use crate::text::causes;
use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Labels and their colours.
const WARNING: (&str, &str) = ("warning: ", "33");
const ERROR: (&str, &str) = ("error: ", "31");

/// Where a text is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Medium {
    /// In lines of at most `width` columns (minimum 20); with escape sequences if there is colour.
    Terminal {
        /// Columns.
        width: usize,
        /// Whether words are styled.
        colour: bool,
    },
    /// In an issue or a pull request. What a user or a device named is text there too.
    Markdown,
}

/// Standard output and error.
#[derive(Clone, Debug)]
pub(crate) struct Console {
    /// Colour on standard error, and on standard output.
    colour: bool,
    output_colour: bool,
    /// Whether standard error is a terminal that moves its cursor.
    is_terminal: bool,
    bar: Option<ProgressBar>,
    /// Whether each trial has a line.
    is_plain: bool,
    is_quiet: bool,
    /// Whether nothing is printed at all.
    is_silent: bool,
    /// Whether a run takes the whole terminal.
    is_whole: bool,
    /// Whether anything was printed on standard output.
    printed: Arc<AtomicBool>,
}

/// When output has colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    Always,
    Never,
}

/// Whether the terminal is covered.
static IS_COVERED: AtomicBool = AtomicBool::new(false);

/// Covers what the terminal shows, and hides the cursor.
pub(crate) fn cover_screen() {
    IS_COVERED.store(true, Ordering::SeqCst);
    let _ = rustix::io::write(std::io::stderr(), b"\x1b[?1049h\x1b[?25l");
}

/// Shows again what the terminal showed before it was covered. It takes no lock, so that a signal's thread can do it.
pub(crate) fn uncover_screen() {
    if IS_COVERED.swap(false, Ordering::SeqCst) {
        let _ = rustix::io::write(std::io::stderr(), b"\x1b[?25h\x1b[?1049l");
    }
}

impl Console {
    /// For this process: colour and a bar only where standard error is a terminal, and no colour with NO_COLOR.
    pub(crate) fn new() -> Self {
        let terminal = std::io::stderr().is_terminal();
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let usable = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let is_terminal = terminal && usable;
        let bar = is_terminal.then(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()));
        let colour = is_terminal && wanted;
        let output_colour = colour && std::io::stdout().is_terminal();
        let (is_plain, is_quiet, is_silent, is_whole, printed) = (false, false, false, false, Arc::default());
        Console { colour, output_colour, is_terminal, bar, is_plain, is_quiet, is_silent, is_whole, printed }
    }

    /// With the options of the command line.
    pub(crate) fn with(mut self, colour: Colour, is_plain: bool, is_quiet: bool) -> Self {
        match colour {
            Colour::Auto => {}
            Colour::Always => (self.colour, self.output_colour) = (true, true),
            Colour::Never => (self.colour, self.output_colour) = (false, false),
        }
        if is_plain || is_quiet {
            self.bar = None;
        }
        Console { is_plain, is_quiet, ..self }
    }

    /// That prints nothing, on neither output.
    pub(crate) fn silent(self) -> Self {
        Console { is_silent: true, is_quiet: true, is_terminal: false, bar: None, ..self }
    }

    /// With the whole terminal for the progress of a run, where standard error is one.
    pub(crate) fn on_the_whole_terminal(self) -> Self {
        Console { is_whole: self.is_terminal, bar: None, ..self }
    }

    /// Whether the progress of a run takes the whole terminal.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Where a text on standard output is read.
    pub(crate) fn medium(&self) -> Medium {
        Medium::Terminal { width: self.output_width(), colour: self.output_colour }
    }

    /// Columns of standard output's terminal, at most 100; 100 without a terminal.
    pub(crate) fn output_width(&self) -> usize {
        columns_of(std::io::stdout()).map_or(100, |columns| columns.min(100))
    }

    /// Whether a question can be asked: standard input and error are terminals.
    pub(crate) fn can_ask(&self) -> bool {
        self.is_terminal && std::io::stdin().is_terminal()
    }

    /// Asks a question; any answer but yes is no.
    pub(crate) fn ask(&self, question: &str) -> bool {
        self.say(("", ""), &sanitize(&format!("{question} [y/N]")));
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
    }

    /// Prints a message on standard error, in one line whatever it quotes; nothing if quiet.
    pub(crate) fn message(&self, text: &str) {
        if !self.is_quiet {
            self.say(("", ""), &sanitize(text));
        }
    }

    /// Prints a line of the progress, if it is wanted in lines.
    pub(crate) fn plain_line(&self, text: &str) {
        if self.is_plain {
            self.message(text);
        }
    }

    fn say(&self, (label, code): (&str, &str), text: &str) {
        if self.is_silent {
            return;
        }
        let columns = if self.is_terminal { columns_of(std::io::stderr()) } else { None };
        let width = columns.unwrap_or(usize::MAX);
        let plain = format!("{label}{text}");
        let lines: Vec<_> = plain.split('\n').map(|line| folded(&sanitize(line), width)).collect();
        let coloured = if self.colour { format!("\x1b[1;{code}m{label}\x1b[0m") } else { label.to_owned() };
        let shown = if label.is_empty() { lines.join("\n") } else { lines.join("\n").replacen(label, &coloured, 1) };
        let print = || {
            // Fails if standard error is closed.
            let _ = writeln!(std::io::stderr(), "{shown}");
        };
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Prints a warning in one line.
    pub(crate) fn warning(&self, text: &str) {
        self.say(WARNING, &sanitize(text));
    }

    /// Prints an error with its causes, in one line, or in several for the mistakes in a study.
    pub(crate) fn error(&self, error: &anyhow::Error, has_lines: bool) {
        let text = causes(error.as_ref());
        self.say(ERROR, &if has_lines { text } else { sanitize(&text).into_owned() });
    }

    /// Shows a bar of `length` ticks in place of an earlier one; nothing without a terminal.
    pub(crate) fn start_bar(&self, length: u64) {
        self.end_bar();
        if let Some(bar) = &self.bar {
            let columns = columns_of(std::io::stderr()).unwrap_or(80);
            let style = ProgressStyle::with_template(&bar_template(columns));
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.reset();
            bar.set_prefix("");
            bar.set_message("");
            bar.set_length(length);
            bar.set_position(0);
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(Duration::from_millis(250));
        }
    }

    /// Moves the bar and shows the remaining time and the last figure.
    pub(crate) fn move_bar(&self, position: u64, length: u64, left: &str, figure: &str) {
        if let Some(bar) = &self.bar {
            bar.set_length(length);
            bar.set_position(position);
            bar.set_prefix(sanitize(left).into_owned());
            bar.set_message(sanitize_lines(figure).into_owned());
        }
    }

    /// The same with lines below the bar, each cut to the width.
    pub(crate) fn move_bar_of_run(&self, position: u64, length: u64, left: &str, lines: &[String]) {
        if self.bar.is_some() {
            let width = columns_of(std::io::stderr()).unwrap_or(80).saturating_sub(1);
            let shown = lines.iter().filter(|line| !line.is_empty());
            let below: String = shown.map(|line| format!("\n{}", cut(&sanitize(line), width))).collect();
            self.move_bar(position, length, left, &below);
        }
    }

    /// Takes the bar away.
    pub(crate) fn end_bar(&self) {
        if let Some(bar) = &self.bar {
            bar.disable_steady_tick();
            bar.finish_and_clear();
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
    }

    /// Prints a result on standard output, with control characters replaced.
    ///
    /// # Errors
    /// If standard output is closed or full.
    pub(crate) fn print(&self, text: &str) -> anyhow::Result<()> {
        self.print_styled(&sanitize_lines(text))
    }

    /// Prints a result in one line.
    ///
    /// # Errors
    /// If standard output is closed or full.
    pub(crate) fn print_line(&self, text: &str) -> anyhow::Result<()> {
        self.print_styled(&sanitize(text))
    }

    /// Prints a text as it is. Its only control characters are line ends and our own colours.
    ///
    /// # Errors
    /// If standard output is closed or full.
    pub(crate) fn print_styled(&self, text: &str) -> anyhow::Result<()> {
        if self.is_silent {
            return Ok(());
        }
        self.printed.store(true, Ordering::Relaxed);
        let mut output = std::io::stdout().lock();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let written = output.write_all(text.as_bytes()).and_then(|()| output.write_all(end.as_bytes()));
        written.and_then(|()| output.flush()).context("cannot write to standard output")
    }

    /// Whether anything was printed on standard output.
    pub(crate) fn has_printed(&self) -> bool {
        self.printed.load(Ordering::Relaxed)
    }

    /// Prints a JSON document on standard output.
    ///
    /// # Errors
    /// If standard output is closed or full.
    pub(crate) fn print_json(&self, value: &impl serde::Serialize) -> anyhow::Result<()> {
        self.print_styled(&sanitize_json(&serde_json::to_string_pretty(value)?))
    }

    /// Prints one of several JSON documents on a line.
    ///
    /// # Errors
    /// If standard output is closed or full.
    pub(crate) fn print_json_line(&self, value: &impl serde::Serialize) -> anyhow::Result<()> {
        self.print_styled(&sanitize_json(&serde_json::to_string(value)?))
    }
}

/// A line cut to a display width.
pub(crate) fn cut(line: &str, width: usize) -> String {
    if textwrap::core::display_width(line) <= width {
        return line.to_owned();
    }
    let mut kept = String::new();
    for character in line.chars() {
        kept.push(character);
        if textwrap::core::display_width(&kept) >= width {
            kept.pop();
            break;
        }
    }
    kept + "…"
}

/// Columns and rows of a terminal, which may not tell its rows; none for anything else.
pub(crate) fn size_of(stream: impl AsFd) -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some((usize::from(size.ws_col), usize::from(size.ws_row))).filter(|(columns, _)| *columns > 0)
}

fn columns_of(stream: impl AsFd) -> Option<usize> {
    size_of(stream).map(|(columns, _)| columns)
}

/// A bar that fits on a line; a narrow one leaves out the less useful parts.
fn bar_template(columns: usize) -> String {
    match columns {
        0..24 => "{percent:>3} %".to_owned(),
        24..56 => "{percent:>3} %  {prefix}  {msg}".to_owned(),
        _ => format!("{{bar:{}.cyan/dim}} {{percent:>3}} %  {{prefix}}  {{msg}}", (columns - 48).min(32)),
    }
}

/// A line broken at blanks so that it fits `width` columns; a longer word stays whole. Indented lines quote a study and
/// stay as they are.
fn folded(line: &str, width: usize) -> String {
    if line.starts_with(' ') {
        return line.to_owned();
    }
    let options = Options::new(width).break_words(false).wrap_algorithm(WrapAlgorithm::FirstFit);
    let options = options.word_separator(WordSeparator::AsciiSpace).word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(line, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_blanks() {
        assert_eq!(folded("one two three", 8), "one two\nthree");
        assert_eq!(folded("one two three", usize::MAX), "one two three");
        assert_eq!(folded("a /long/path/name b", 6), "a\n/long/path/name\nb");
        assert_eq!(folded("  | a = 1   ^^^", 6), "  | a = 1   ^^^");
        assert_eq!(folded("", 6), "");
    }

    #[test]
    fn lines_are_cut_to_their_width_on_the_screen() {
        assert_eq!([cut("one two", 7), cut("one two", 6)], ["one two", "one t…"]);
        assert_eq!([cut("日本語", 6), cut("日本語", 5), cut("ab", 0)], ["日本語", "日本…", "…"]);
    }

    #[test]
    fn a_bar_leaves_room_for_what_it_says() {
        assert!(!bar_template(40).contains("bar") && bar_template(60).contains("{bar:12."));
        for columns in [1, 30, 40, 60, 80, 200] {
            assert!(ProgressStyle::with_template(&bar_template(columns)).is_ok());
        }
    }
}
