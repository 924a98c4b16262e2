//! What `--json` prints where a command has no result: one document that says why. Nothing is added to a result that is
//! out already: standard output has one document.

use super::Reported;
use crate::console::Console;
use crate::study::StudyErrors;
use crate::text::causes;
use std::ffi::OsString;

/// The name of the form.
const SCHEMA: &str = "halfpower.error/1";

/// Prints why there is no result, if nothing is printed yet.
pub(super) fn print(console: &Console, why: &str, status: u8) {
    if console.has_printed() {
        return;
    }
    let document = serde_json::json!({ "schema": SCHEMA, "error": why, "status": status });
    // Standard output is closed: there is nobody to tell.
    let _ = console.print_json(&document);
}

/// Prints an error: in one line, or the mistakes in a study with their lines.
pub(super) fn report(console: &Console, error: &anyhow::Error) {
    console.error(error, error.chain().any(|cause| cause.is::<StudyErrors>()));
}

/// Why, of an error that a command ended with.
pub(super) fn why(error: &anyhow::Error) -> String {
    if error.is::<Reported>() { "standard error says what is wrong".to_owned() } else { causes(error.as_ref()) }
}

/// Why the command line was not understood, in one line, without the usage that follows.
pub(super) fn not_understood(error: &clap::Error) -> String {
    let text = error.to_string();
    let sentence = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = sentence.trim_start_matches("error: ").split_whitespace().collect();
    words.join(" ")
}

/// Whether JSON was asked for on a command line that was not understood.
pub(super) fn is_json_asked(arguments: impl Iterator<Item = OsString>) -> bool {
    arguments.take_while(|argument| argument != "--").any(|argument| argument == "--json")
}
