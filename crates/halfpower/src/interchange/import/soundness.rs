//! Properties of every import: valid figures, and errors with place and remedy.

use super::{Format, ImportError, import_bytes};
use halfpower_model::Sample;

/// Maximum length of a message.
const MAX_MESSAGE_CHARS: usize = 400;

/// Imports the input in a format and returns the first violation. The name decides which quantity a log of fio has.
pub(crate) fn check_import(name: &str, input: &[u8], form: Format) -> Result<(), String> {
    match import_bytes(name, input, Some(form)) {
        Ok(imported) => {
            // Our own records have their own warnings.
            let own = if form == Format::Halfpower { &[][..] } else { &imported.warnings };
            for warning in own {
                is_short(&warning.message)?;
                if warning.code.is_empty() || warning.message.is_empty() || warning.remedy.is_empty() {
                    return Err(format!("a warning says too little: {warning:?}"));
                }
            }
            imported.samples.iter().try_for_each(comes_back)
        }
        Err(error) => has_place_and_remedy(name, &error),
    }
}

/// A sample survives a round trip through its record, so it has valid figures only.
fn comes_back(sample: &Sample) -> Result<(), String> {
    let record = serde_json::to_string(sample).map_err(|error| format!("{error}: {sample:?}"))?;
    let again: Sample = serde_json::from_str(&record).map_err(|error| format!("{error}: {record}"))?;
    if serde_json::to_string(&again).ok().as_ref() != Some(&record) {
        return Err(format!("a sample does not come back from its record: {record}"));
    }
    Ok(())
}

fn has_place_and_remedy(name: &str, error: &ImportError) -> Result<(), String> {
    let message = error.to_string();
    is_short(&message)?;
    if !message.starts_with(name) {
        return Err(format!("the message does not name the file: {message}"));
    }
    if !message.contains("; ") {
        return Err(format!("the message has no remedy: {message}"));
    }
    let place = &message[name.len()..];
    let on_a_line = place.strip_prefix(':').is_some_and(|line| line.starts_with(|digit: char| digit.is_ascii_digit()));
    // A fault of the whole file has no line.
    let of_the_whole = place.starts_with(": ") || matches!(error, ImportError::Empty { .. });
    if on_a_line || of_the_whole { Ok(()) } else { Err(format!("the message has no place: {message}")) }
}

fn is_short(message: &str) -> Result<(), String> {
    if message.chars().count() > MAX_MESSAGE_CHARS {
        Err(format!("the message is too long: {message}"))
    } else {
        Ok(())
    }
}
