//! Settings of a simulated machine beside its file: `pci.rate=533MB/s`.
//!
//! The simulator interprets the keys; here they are text. The key `volume` names another volume of the machine.

use crate::words::{ChoiceError, by_text};
use std::fmt;
use std::str::FromStr;

const FORMS: &str = "KEY=VALUE or several with commas between, like disks=4 or pci.rate=533MB/s,disks=4";

/// Settings of a simulated machine, in the order given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Settings(pub Vec<(String, String)>);

impl Settings {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The last value of a key, and the settings without that key.
    pub fn without(&self, key: &str) -> (Option<&str>, Settings) {
        let value = self.0.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
        (value, Settings(self.0.iter().filter(|(known, _)| known != key).cloned().collect()))
    }

    /// The settings of one key only.
    #[must_use]
    pub fn only(&self, key: &str) -> Settings {
        Settings(self.0.iter().filter(|(known, _)| known == key).cloned().collect())
    }

    /// These with others, which override equal keys.
    #[must_use]
    pub fn and(mut self, others: &Settings) -> Settings {
        self.0.retain(|(key, _)| !others.0.iter().any(|(other, _)| other == key));
        self.0.extend(others.0.iter().cloned());
        self
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (key, value)) in self.0.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(f, "{comma}{key}={value}")?;
        }
        Ok(())
    }
}

fn is_key(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !text.is_empty() && text.chars().all(is_part)
}

impl FromStr for Settings {
    type Err = ChoiceError;

    /// A comma without a key after it belongs to the value.
    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let wrong = || ChoiceError::new(text, FORMS);
        let mut settings: Vec<(String, String)> = Vec::new();
        for piece in text.split(',') {
            match (piece.split_once('='), settings.last_mut()) {
                (Some((key, value)), _) if is_key(key) => settings.push((key.to_owned(), value.to_owned())),
                (_, Some((_, value))) => *value = format!("{value},{piece}"),
                (_, None) => return Err(wrong()),
            }
        }
        if settings.iter().any(|(_, value)| value.is_empty() || value.contains(char::is_control)) {
            return Err(wrong());
        }
        Ok(Settings(settings))
    }
}

by_text!(Settings);
