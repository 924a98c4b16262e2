//! The document that `--json` prints if a command has no result. Standard output has one document, so nothing follows a
//! printed result.

use crate::console::Console;
use crate::fio::job::JobErrors;
use crate::study::StudyErrors;
use std::ffi::OsString;

/// The schema of the document.
const SCHEMA: &str = "halfpower.error/1";

/// Prints the reason, unless a result is printed already.
pub(super) fn print(console: &Console, why: &str, status: u8) {
    if console.has_printed() {
        return;
    }
    let document = serde_json::json!({ "schema": SCHEMA, "error": why, "status": status });
    // Fails if standard output is closed.
    let _ = console.print_json(&document);
}

/// Prints an error: in one line, or the mistakes in a study or job file with their lines.
pub(super) fn report(console: &Console, error: &anyhow::Error) {
    console.error(error, error.chain().any(|cause| cause.is::<StudyErrors>() || cause.is::<JobErrors>()));
}

/// clap's error in one line, without the usage that follows.
pub(super) fn not_understood(error: &clap::Error) -> String {
    let text = error.to_string();
    let sentence = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = sentence.trim_start_matches("error: ").split_whitespace().collect();
    words.join(" ")
}

/// Whether a command line that clap rejected has `--json`.
pub(super) fn has_json_option(arguments: impl Iterator<Item = OsString>) -> bool {
    arguments.take_while(|argument| argument != "--").any(|argument| argument == "--json")
}
