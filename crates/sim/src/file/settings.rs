//! Settings said beside a machine's file: each changes a value of the file before it is read, so that every key can be set
//! and what no file may have cannot.
//!
//! `KEY` alone is a key of the volume in use, `PART.KEY` one of a part by its name, and `KIND.PART.KEY` where two parts of
//! different kinds have the same.

use super::MachineError;
use halfpower_model::Settings;
use toml::{Table, Value};

/// A machine's text with settings in it.
///
/// # Errors
/// When the text is no TOML, or a setting names no part.
pub(super) fn table(name: &str, text: &str, volume: &str, settings: &Settings) -> Result<Table, MachineError> {
    let message = |message: String| MachineError::File { name: name.to_owned(), message };
    let mut table: Table = toml::from_str(text).map_err(|error| message(error.to_string()))?;
    for (key, value) in &settings.0 {
        let place = place(&table, volume, key).map_err(|message| MachineError::Setting {
            machine: name.to_owned(),
            setting: format!("{key}={value}"),
            message,
        })?;
        set(&mut table, &place, value);
    }
    Ok(table)
}

/// The way to a key from the top of the file.
fn place(table: &Table, volume: &str, key: &str) -> Result<Vec<String>, String> {
    let words: Vec<&str> = key.split('.').collect();
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let (first, rest) = (words[0], &words[1..]);
    if rest.is_empty() {
        return Ok(owned(&["volume", volume, first]));
    }
    if kinds(table).any(|(kind, _)| kind == first) || table.get(first).is_some_and(Value::is_table) {
        return Ok(owned(&words));
    }
    let of: Vec<&str> = kinds(table).filter(|(_, parts)| parts.contains_key(first)).map(|(kind, _)| kind).collect();
    match of[..] {
        [kind] => Ok(owned(&[&[kind][..], &words].concat())),
        [] => {
            let single = table.iter().filter(|(name, _)| !kinds(table).any(|(kind, _)| kind == *name));
            let single = single.filter(|(_, value)| value.is_table()).map(|(name, _)| name.as_str());
            let parts = kinds(table).filter(|(kind, _)| *kind != "volume").flat_map(|(_, parts)| parts.keys());
            let known: Vec<&str> = single.chain(parts.map(String::as_str)).collect();
            Err(format!("no part is called {first}; there are {}, and the keys of the volume", known.join(", ")))
        }
        _ => Err(format!("{} are called {first}; say {}.{key}", of.join(" and "), of[0])),
    }
}

/// The tables of parts: `bus`, `drive`, `volume`.
fn kinds(table: &Table) -> impl Iterator<Item = (&str, &Table)> {
    table.iter().filter_map(|(kind, parts)| {
        let parts = parts.as_table()?;
        parts.values().all(Value::is_table).then_some((kind.as_str(), parts))
    })
}

/// Puts a value where it belongs; tables on the way are made.
fn set(table: &mut Table, place: &[String], text: &str) {
    match place {
        [] => {}
        [key] => {
            let is_text = table.get(key).is_some_and(Value::is_str);
            let written = toml::from_str::<Table>(&format!("value = {text}")).ok();
            let value = written.and_then(|mut written| written.remove("value")).filter(|_| !is_text);
            table.insert(key.clone(), value.unwrap_or_else(|| Value::String(text.to_owned())));
        }
        [key, rest @ ..] => {
            let next = table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new()));
            // A value in the way is refused when the whole is read.
            if let Some(next) = next.as_table_mut() {
                set(next, rest, text);
            }
        }
    }
}
