//! The text of a machine file with settings laid over it, and where in them a mistake is.
//!
//! A setting changes a value of the file before it is read, so that every key can be set and what no file may have cannot. `KEY`
//! alone is a key of the volume in use, `PART.KEY` one of a part by its name, and `KIND.PART.KEY` where two parts of different kinds
//! have the same. Values keep the place where they were written, line and column or the setting, and every refusal begins with it.

use super::error::{MachineError, Wrong};
use super::fitted::{self, Fitted};
use halfpower_model::Settings;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, Deserializer};

/// Longer texts are no machine's.
const MOST_TEXT: usize = 1 << 20;
/// How much of a value as it is written is told, in characters.
const MOST_TOLD: usize = 40;
/// How long a reason may be, in characters: names of a stranger's choice are in it.
const MOST_REASON: usize = 800;

/// Where a setting lies in the text.
#[derive(Clone, Debug)]
struct Setting {
    key: Range<usize>,
    value: Range<usize>,
}

/// What a machine is read from.
#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    pub(super) machine: String,
    /// The file, and behind it each setting on a line of its own.
    text: String,
    file_bytes: usize,
    /// The volume that settings are of which name no part.
    volume: String,
    settings: Vec<Setting>,
}

/// A file's table with the settings in it.
struct Document<'t> {
    table: Spanned<DeTable<'t>>,
    /// Of the file without them.
    crc32c: u32,
    /// The way to each setting's key from the top of the file.
    places: Vec<Vec<String>>,
}

impl Source {
    pub(super) fn new(machine: &str, text: &str, volume: &str, settings: &Settings) -> Source {
        let mut source = Source {
            machine: machine.to_owned(),
            text: text.to_owned(),
            file_bytes: text.len(),
            volume: volume.to_owned(),
            settings: Vec::new(),
        };
        for (key, value) in &settings.0 {
            let start = source.text.len() + 1;
            source.text += &format!("\n{key}={value}");
            let middle = start + key.len();
            source.settings.push(Setting { key: start..middle, value: middle + 1..source.text.len() });
        }
        source
    }

    /// What is said in it, the digest of what the file says, and the way to each setting's key from the top of the file. Settings are left
    /// out where their volume is none of the file's.
    pub(super) fn read<T: for<'de> Deserialize<'de>>(&self) -> Result<(T, u32, Vec<Vec<String>>), MachineError> {
        if self.file_bytes > MOST_TEXT {
            return Err(self.refuse(None, "it is longer than 1 MiB".to_owned()));
        }
        let Document { table, crc32c, places } = self.document()?;
        let read = T::deserialize(Deserializer::from(table)).map_err(|error| self.not_read(&error))?;
        Ok((read, crc32c, places))
    }

    fn document(&self) -> Result<Document<'_>, MachineError> {
        let parsed = DeTable::parse(&self.text[..self.file_bytes]);
        let mut document = parsed.map_err(|error| {
            let valueless = error.span().and_then(|span| self.without_value(span.start));
            self.refuse(error.span(), valueless.unwrap_or_else(|| reason(error.message())))
        })?;
        // Without comments and spaces, the keys of each table in order.
        let said = toml::from_str::<toml::Table>(&self.text[..self.file_bytes]);
        let crc32c = said.map_or(0, |said| crc32c::crc32c(format!("{said:?}").as_bytes()));
        let volumes = document.get_ref().get("volume").and_then(|volumes| volumes.get_ref().as_table());
        if !volumes.is_some_and(|volumes| volumes.contains_key(self.volume.as_str())) {
            return Ok(Document { table: document, crc32c, places: Vec::new() });
        }
        let mut places: Vec<Vec<String>> = Vec::new();
        for Setting { key, value } in &self.settings {
            let wrong = |message: String| self.refuse(Some(key.clone()), message);
            let place = place(document.get_ref(), &self.volume, &self.text[key.clone()]).map_err(wrong)?;
            if places.contains(&place) {
                return Err(wrong(format!("`{}` is set twice; set it once", place.join("."))));
            }
            set(document.get_mut(), &place, key, (&self.text[value.clone()], value));
            places.push(place);
        }
        Ok(Document { table: document, crc32c, places })
    }

    /// See [`fitted::counted`].
    pub(super) fn fitted(&self, entries: &BTreeMap<String, Vec<String>>) -> Result<Vec<Fitted>, MachineError> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        fitted::counted(entries, self.document()?.table.get_ref()).map_err(|wrong| self.wrong(&wrong))
    }

    /// What to say of a place behind a key where its value has to be, if there is none on the line.
    fn without_value(&self, at: usize) -> Option<String> {
        let (before, behind) = self.text[..self.file_bytes].split_at_checked(at)?;
        let key = before.rsplit('\n').next()?.trim_end().strip_suffix('=')?.trim();
        let rest = behind.lines().next().unwrap_or_default().trim();
        (rest.is_empty() || rest.starts_with('#')).then(|| format!("`{key}` has no value; write one after the ="))
    }

    /// Each setting's key as it was said.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.settings.iter().map(|setting| &self.text[setting.key.clone()])
    }

    /// The keys of a table as they are written, one a line, with the settings in it.
    pub(super) fn keys_of(&self, table: &[&str]) -> Result<String, MachineError> {
        let document = self.document()?.table;
        let mut found = Some(document.get_ref());
        for word in table {
            found = found.and_then(|found| found.get(*word)?.get_ref().as_table());
        }
        let mut lines = Vec::new();
        found.into_iter().for_each(|table| self.add_keys(table, "", &mut lines));
        lines.sort();
        Ok(lines.into_iter().map(|(_, line)| line + "\n").collect())
    }

    /// Adds the keys of a table behind a prefix, each with its place.
    fn add_keys(&self, table: &DeTable<'_>, prefix: &str, lines: &mut Vec<(usize, String)>) {
        for (key, value) in table {
            let (name, written) = (format!("{prefix}{}", key.get_ref()), &self.text[value.span()]);
            let value = match value.get_ref() {
                DeValue::Table(table) if !written.starts_with('{') => {
                    self.add_keys(table, &format!("{name}."), lines);
                    continue;
                }
                // A setting is a text without its quotes.
                DeValue::String(text) if !written.starts_with(['"', '\'']) => format!("{text:?}"),
                _ => written.to_owned(),
            };
            lines.push((key.span().start, format!("{name} = {value}")));
        }
    }

    /// Why the text cannot be read as a machine.
    fn not_read(&self, error: &toml::de::Error) -> MachineError {
        let reason = reason(error.message());
        // What the file lacks at its top is at no key of it.
        let Some(span) = error.span().filter(|span| *span != (0..0)) else { return self.refuse(None, reason) };
        let Ok(document) = self.document() else { return self.refuse(Some(span), reason) };
        let Some(found) = find(document.table.get_ref(), span.start) else { return self.refuse(Some(span), reason) };
        let is_value = found.value.is_some_and(|value| value.start <= span.start && span.end <= value.end);
        let said = is_value.then(|| span.clone());
        self.refuse_key(span, &found.key, said, &reason)
    }

    /// Why a key's value cannot be beside the others.
    pub(super) fn wrong(&self, wrong: &Wrong) -> MachineError {
        let document = match self.document() {
            Ok(document) => document.table,
            Err(error) => return error,
        };
        let (mut table, mut span, mut said) = (Some(document.get_ref()), 0..0, None);
        for word in &wrong.key {
            let Some(value) = table.and_then(|table| table.get(word.as_str())) else {
                said = None;
                break;
            };
            (span, table) = (value.span(), value.get_ref().as_table());
            said = table.is_none().then(|| span.clone());
        }
        self.refuse_key(span, &wrong.key, said, &wrong.message)
    }

    /// With the key, and its value as it is written.
    fn refuse_key(&self, span: Range<usize>, key: &[String], said: Option<Range<usize>>, reason: &str) -> MachineError {
        let is = said.map(|said| format!(" is {}", shortened(&self.text[said], MOST_TOLD))).unwrap_or_default();
        let colon = if key.is_empty() { String::new() } else { format!("`{}`{is}: ", key.join(".")) };
        self.refuse(Some(span), format!("{colon}{reason}"))
    }

    fn refuse(&self, span: Option<Range<usize>>, message: String) -> MachineError {
        let at = span.map_or(0, |span| span.start);
        let told = |setting: &Setting| shortened(&self.text[setting.key.start..setting.value.end], MOST_TOLD);
        let here = self.settings.iter().find(|setting| (setting.key.start..=setting.value.end).contains(&at));
        let place = match here {
            Some(setting) => format!(" with {}", told(setting)),
            None => {
                let all: Vec<String> = self.settings.iter().map(told).collect();
                let with = if all.is_empty() { String::new() } else { format!(" with {}", all.join(",")) };
                let before = &self.text[..at.min(self.file_bytes)];
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
                format!("{with}, line {line}, column {column}")
            }
        };
        let message = shortened(&message, MOST_REASON);
        MachineError(format!("machine {}{place}: {message}", self.machine))
    }
}

/// A parser's words in ours.
fn reason(message: &str) -> String {
    let is_of_kind = ["invalid type: ", "invalid length "].iter().any(|begin| message.starts_with(begin));
    let Some((_, expected)) = message.rsplit_once(", expected ").filter(|_| is_of_kind) else {
        return message.to_owned();
    };
    let kind = match expected {
        "a string" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        _ if expected.starts_with("struct ") => "a table",
        _ => return format!("it has to be {}", expected.replace("a tuple of size", "a list of")),
    };
    format!("it has to be {kind}")
}

/// So many characters of a text on one line, and none that could steer a terminal.
fn shortened(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut told = String::new();
    for c in line.chars().take(most) {
        if c.is_control() { told.extend(c.escape_debug()) } else { told.push(c) }
    }
    if line.chars().nth(most).is_some() {
        told.push('…');
    }
    told
}

/// What is written at a place of the text.
struct Found {
    key: Vec<String>,
    /// Its value's place; none of a table.
    value: Option<Range<usize>>,
}

fn find(table: &DeTable<'_>, at: usize) -> Option<Found> {
    table.iter().find_map(|(key, value)| {
        let word = || key.get_ref().to_string();
        let inner = value.get_ref().as_table();
        if let Some(mut found) = inner.and_then(|inner| find(inner, at)) {
            found.key.insert(0, word());
            return Some(found);
        }
        let is_here = |span: Range<usize>| span.contains(&at) || span.is_empty() && span.start == at;
        let value_is = inner.is_none().then(|| value.span());
        (is_here(key.span()) || is_here(value.span())).then(|| Found { key: vec![word()], value: value_is })
    })
}

/// The way to a setting's key from the top of the file.
fn place(table: &DeTable<'_>, volume: &str, key: &str) -> Result<Vec<String>, String> {
    let words: Vec<&str> = key.split('.').collect();
    if words.last() == Some(&"description") || words == ["cpu", "model"] {
        return Err(format!("{key} is only a text, so it would have no effect"));
    }
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let (first, rest) = (words[0], &words[1..]);
    if rest.is_empty() {
        return Ok(owned(&["volume", volume, first]));
    }
    if kinds(table).any(|(kind, _)| kind == first) || table.get(first).is_some_and(|value| value.get_ref().is_table()) {
        return Ok(owned(&words));
    }
    let of: Vec<&str> = kinds(table).filter(|(_, parts)| parts.contains_key(first)).map(|(kind, _)| kind).collect();
    match of[..] {
        [kind] => Ok(owned(&[&[kind][..], &words].concat())),
        [] => {
            let parts = kinds(table).filter(|(kind, _)| *kind != "volume");
            let parts =
                parts.flat_map(|(kind, parts)| parts.keys().map(move |name| format!("{kind}.{}", name.get_ref())));
            let known: Vec<String> = ["cpu", "system"].map(str::to_owned).into_iter().chain(parts).collect();
            Err(format!(
                "no part has the name {first}; parts are {}, and the volume has keys of its own",
                known.join(", ")
            ))
        }
        _ => Err(format!("{} have the name {first}; write {}.{key}", of.join(" and "), of[0])),
    }
}

/// The tables of parts: `bus`, `drive`, `volume`.
fn kinds<'t>(table: &'t DeTable<'_>) -> impl Iterator<Item = (&'t str, &'t DeTable<'t>)> {
    table.iter().filter_map(|(kind, parts)| {
        let parts = parts.get_ref().as_table()?;
        parts.values().all(|part| part.get_ref().is_table()).then_some((kind.get_ref().as_ref(), parts))
    })
}

/// Puts a value where it belongs; tables on the way are made.
fn set<'t>(table: &mut DeTable<'t>, place: &[String], key_span: &Range<usize>, value: (&'t str, &Range<usize>)) {
    let (text, span) = value;
    match place {
        [] => {}
        [key] => {
            let is_text = table.remove(key.as_str()).is_some_and(|value| value.get_ref().is_str());
            let written = DeValue::parse(text).ok().filter(|_| !is_text);
            let value = written.map_or(DeValue::String(text.into()), |written| written.into_inner());
            table.insert(Spanned::new(key_span.clone(), key.clone().into()), written_at(value, span));
        }
        [key, rest @ ..] => {
            let table_key = Spanned::new(key_span.clone(), key.clone().into());
            let made = || Spanned::new(span.clone(), DeValue::Table(DeTable::new()));
            // A value in the way is refused when the whole is read.
            if let DeValue::Table(next) = table.entry(table_key).or_insert_with(made).get_mut() {
                set(next, rest, key_span, value);
            }
        }
    }
}

/// A value with all that is in it, as one that stands there.
fn written_at<'t>(value: DeValue<'t>, span: &Range<usize>) -> Spanned<DeValue<'t>> {
    let value = match value {
        DeValue::Array(items) => {
            let mut array = DeArray::new();
            items.into_iter().for_each(|item| array.push(written_at(item.into_inner(), span)));
            DeValue::Array(array)
        }
        DeValue::Table(entries) => {
            let moved = |(key, value): (Spanned<_>, Spanned<DeValue<'t>>)| {
                (Spanned::new(span.clone(), key.into_inner()), written_at(value.into_inner(), span))
            };
            DeValue::Table(entries.into_iter().map(moved).collect())
        }
        other => other,
    };
    Spanned::new(span.clone(), value)
}
