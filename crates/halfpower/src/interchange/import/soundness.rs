//! What holds of every import, whatever the file is: a result has figures only, and an error says where and what to do.

use super::{Format, ImportError, import_bytes};
use halfpower_model::Sample;

/// Longest message that a person reads.
const MAX_MESSAGE_CHARS: usize = 400;

/// Imports the input as a form and says what is wrong with what came of it. The name says what a log of fio holds.
pub(crate) fn check_import(name: &str, input: &[u8], form: Format) -> Result<(), String> {
    match import_bytes(name, input, Some(form)) {
        Ok(imported) => {
            // Of records of our own the warnings are theirs.
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

/// A sample comes back from its record as that has it: so it has no figure that is none.
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
    // Of the whole: there is no line of it that is wrong, or no line at all.
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

#[cfg(test)]
mod tests {
    use super::super::damage::damaged;
    use super::*;
    use clap::ValueEnum;
    use halfpower_model::random::Random;
    use std::path::{Path, PathBuf};

    /// Damaged forms of each seed: `just fuzz` tries millions.
    const TRIES: u64 = 200;

    fn entries(folder: &Path) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }

    #[test]
    fn every_form_is_imported_whole_and_damaged_it_is_refused_with_a_place_and_a_remedy() {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/interchange/import/seeds");
        let folders = entries(&seeds);
        assert_eq!(folders.len(), Format::value_variants().len(), "a form without seeds is not tried");
        for folder in folders {
            let form = Format::from_str(&folder.file_name().unwrap().to_string_lossy(), false).unwrap();
            for path in entries(&folder) {
                let whole = std::fs::read(&path).unwrap();
                let name = path.to_string_lossy();
                let imported = import_bytes(&name, &whole, None).unwrap();
                assert_eq!(imported.format, form, "{name}");
                for seed in 0..TRIES {
                    let bytes = damaged(&whole, &mut Random::new(seed));
                    let checked = check_import(&name, &bytes, form);
                    assert!(checked.is_ok(), "{name} damaged with seed {seed}: {}", checked.unwrap_err());
                }
            }
        }
    }
}
